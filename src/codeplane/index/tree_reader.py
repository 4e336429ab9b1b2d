"""Read many files of a tree quickly, never through a symlink.

Directories are opened one by one from the root and kept while files below them are read, so that nothing that is
swapped in on the way can lead out of the tree; resolving every path anew took four times as long.
"""

import os
import stat
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.index.source_text import open_source

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking, so that a named pipe cannot hold the reader up; regular files do not care.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class TreeReader:
    """Reads files below a root; paths in order are read fastest.

    Invariant: `_opened` holds the directories from the root to the last one used, each opened inside the one before.
    """

    def __init__(self, root: Path, max_bytes: int) -> None:
        self._root = root
        self._max_bytes = max_bytes
        self._opened: list[tuple[str, int]] = []

    def __enter__(self) -> Self:
        """Open the root."""
        self._opened.append(("", os.open(self._root, _DIRECTORY & ~os.O_NOFOLLOW)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every directory."""
        while self._opened:
            os.close(self._opened.pop()[1])

    def read(self, path: str) -> tuple[bytes | None, str]:
        """Return at most one byte more than the limit of a file; or None with the reason, empty when it is gone."""
        directory, _, name = path.rpartition("/")
        try:
            descriptor = os.open(name, _FILE, dir_fd=self._directory(directory))
        except OSError:
            return self._read_slowly(path)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None, ""
            return self._content(file)

    def _content(self, file: FileIO) -> tuple[bytes | None, str]:
        try:
            pieces = []
            left = self._max_bytes + 1
            while left > 0 and (piece := file.read(left)):
                pieces.append(piece)
                left -= len(piece)
            return b"".join(pieces), ""
        except OSError as error:
            return None, f"unreadable: {error.strerror}"

    def _directory(self, path: str) -> int:
        """Return a descriptor of a directory, opening what is not open yet.

        Raises:
            OSError: a part is missing, no directory, or a symlink.
        """
        while not _is_at_or_above(self._opened[-1][0], path):
            os.close(self._opened.pop()[1])
        above = self._opened[-1][0]
        for part in path[len(above) :].strip("/").split("/") if path != above else ():
            above = f"{above}/{part}" if above else part
            self._opened.append((above, os.open(part, _DIRECTORY, dir_fd=self._opened[-1][1])))
        return self._opened[-1][1]

    def _read_slowly(self, path: str) -> tuple[bytes | None, str]:
        """Read a file whose name is spelled otherwise on disk, or say why it cannot be read."""
        try:
            descriptor = open_source(self._root, RepoPath.parse(path))
        except CodePlaneError as error:
            return None, "" if error.code in {"FILE_NOT_FOUND", "NOT_A_FILE"} else error.message
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            return self._content(file)


def _is_at_or_above(directory: str, path: str) -> bool:
    return not directory or path == directory or path.startswith(f"{directory}/")
