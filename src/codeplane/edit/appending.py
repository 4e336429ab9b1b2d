"""Append whole lines to a file of the working tree, for files that only CodePlane writes."""

import os
from pathlib import Path
from typing import Final

from codeplane.core.paths import STAGED_PREFIX, RepoPath
from codeplane.edit.directories import Directories

_TAIL_BYTES: Final = 256 * 1024
_APPEND: Final = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_MODE: Final = 0o644


def append_lines(root: Path, path: RepoPath, lines: list[str]) -> None:
    """Append lines in one write; a last line that another program left without its end gets one first.

    Raises:
        OSError: the file or its directory cannot be written, or is a link.
    """
    with Directories(root) as directories:
        if not directories.exists(path.parent):
            directories.make(path.parent)
        place = directories.place(path)
        descriptor = os.open(place.name, _APPEND | os.O_CREAT, _NEW_MODE, dir_fd=place.directory)
        try:
            size = os.fstat(descriptor).st_size
            is_cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            data = memoryview((b"\n" if is_cut else b"") + "".join(f"{line}\n" for line in lines).encode())
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)


def read_tail(root: Path, path: RepoPath, most_bytes: int = _TAIL_BYTES) -> bytes | None:
    """Return the end of a file, from the start of a line on; None when there is no such file."""
    try:
        with (root / path.text).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = max(0, size - most_bytes)
            file.seek(start)
            data = file.read(most_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return data if start == 0 else data[data.find(b"\n") + 1 :]


def cut_tail(root: Path, path: RepoPath, n_bytes: int) -> None:
    """Remove the last bytes of a file: a line that a dead process did not finish."""
    with (root / path.text).open("r+b") as file:
        file.truncate(max(0, os.fstat(file.fileno()).st_size - n_bytes))


def replace_file(root: Path, path: RepoPath, data: bytes) -> None:
    """Replace a file that can be written again at any time, in one step; nothing is kept for undo.

    Raises:
        OSError: it cannot be written.
    """
    with Directories(root) as directories:
        if not directories.exists(path.parent):
            directories.make(path.parent)
        place = directories.place(path)
        unseen = f"{STAGED_PREFIX}{os.getpid()}-{path.name}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(unseen, flags, _NEW_MODE, dir_fd=place.directory)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.rename(unseen, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
