"""Read many files of a tree quickly, never through a symlink.

Directories are opened one by one from the root and kept while files below them are read, so that nothing that is
swapped in on the way can lead out of the tree; resolving every path from the root took four times as long.
"""

import errno
import os
import stat
import unicodedata
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking, so that a named pipe cannot hold the reader up; regular files do not care.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# Errors for an entry that is gone or no longer a file; a symlink and a socket are among them.
_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EMLINK})
_PIECE: Final = 1 << 16
# How the reason begins when an existing file cannot be read.
UNREADABLE: Final = "unreadable: "


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
        """Return the content, at most one byte over the limit; or None and the reason, empty when the file is gone.

        A file that became a directory, a symlink or something special since it was listed counts as gone.
        """
        directory, _, name = path.rpartition("/")
        try:
            descriptor = _open_spelled(name, _FILE, self._directory(directory))
        except OSError as error:
            return None, "" if error.errno in _GONE else f"{UNREADABLE}{error.strerror}"
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            return None, ""
        with FileIO(descriptor, "rb") as file:
            return self._content(file, status.st_size)

    def _content(self, file: FileIO, size: int) -> tuple[bytes | None, str]:
        """Return the content of a file; `size` is the expected size and only decides how much to read first."""
        try:
            pieces = []
            left = self._max_bytes + 1
            room = size + 1
            while left > 0 and (piece := file.read(min(left, room))):
                pieces.append(piece)
                left -= len(piece)
                room = _PIECE
            return b"".join(pieces), ""
        except OSError as error:
            return None, f"{UNREADABLE}{error.strerror}"

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
            self._opened.append((above, _open_spelled(part, _DIRECTORY, self._opened[-1][1])))
        return self._opened[-1][1]


def _open_spelled(name: str, flags: int, directory: int) -> int:
    """Open an entry of a directory; where there is none of this name, the one that is spelled in decomposed form.

    Raises:
        OSError: there is none, or it cannot be opened.
    """
    try:
        return os.open(name, flags, dir_fd=directory)
    except FileNotFoundError:
        if name.isascii():
            raise
        for spelling in sorted(os.listdir(directory)):
            if unicodedata.normalize("NFC", spelling) == name:
                return os.open(spelling, flags, dir_fd=directory)
        raise


def _is_at_or_above(directory: str, path: str) -> bool:
    return not directory or path == directory or path.startswith(f"{directory}/")
