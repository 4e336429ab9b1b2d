"""All indexed text in one file, so that searching needs no opening of thousands of files.

Texts are appended and never changed; unused ones stay until the index is built again. Readers map the file.
Searching 37 MB for a literal takes about 25 ms, half of what ripgrep needs to open 5,500 files (`bench/search.py`).
"""

import mmap
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from codeplane.core.errors import CodePlaneError


class TextPack:
    """One pack file.

    Invariant: bytes below the size that the index database knows never change; a torn append lies above it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def appending(self, size: int) -> Iterator["PackWriter"]:
        """Append after `size`, dropping what an interrupted writer left there; flushed to disk at the end."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "r+b") as file:
            if os.fstat(descriptor).st_size < size:
                raise CodePlaneError("STORE_CORRUPT", f"{self.path.name} is shorter than the index says.")
            file.truncate(size)
            file.seek(size)
            yield PackWriter(file, size)
            file.flush()
            os.fdatasync(descriptor) if hasattr(os, "fdatasync") else os.fsync(descriptor)

    def holds(self, size: int) -> bool:
        """Tell whether the file exists and has at least `size` bytes; one that was never written holds nothing."""
        try:
            status = self.path.stat()
        except OSError:
            return size == 0
        return stat.S_ISREG(status.st_mode) and status.st_size >= size

    def stamp(self) -> str:
        """Return a text that changes when anything writes into the file."""
        try:
            status = self.path.stat()
        except OSError:
            return ""
        return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"

    def data(self, offset: int, length: int) -> bytes | None:
        """Return the bytes of one text, None when they cannot be read."""
        try:
            with self.path.open("rb") as file:
                data = os.pread(file.fileno(), length, offset)
        except OSError:
            return None
        return data if len(data) == length else None

    def text(self, offset: int, length: int) -> str | None:
        """Return one text, None when it cannot be read."""
        data = self.data(offset, length)
        return data.decode("utf-8", "replace") if data is not None else None

    @contextmanager
    def mapped(self, size: int) -> Iterator["mmap.mmap | bytes"]:
        """Give the first `size` bytes for reading.

        Raises:
            OSError, ValueError: the file is missing or shorter than the index says.
        """
        if size == 0:
            yield b""
            return
        with self.path.open("rb") as file, mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) as view:
            yield view


class PackWriter:
    """Appends texts one after the other."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self.size = size

    def flush(self) -> None:
        """Let other processes see what was appended so far."""
        self._file.flush()

    def append(self, text: bytes) -> int:
        """Append one text and a newline that keeps it apart from the next; return its offset."""
        offset = self.size
        self._file.write(text)
        self._file.write(b"\n")
        self.size += len(text) + 1
        return offset
