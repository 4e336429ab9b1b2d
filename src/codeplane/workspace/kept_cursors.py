"""Where answers were cut: one small file per cursor, so another process can continue after this one has ended."""

import os
import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from codeplane.core.hashing import sha256_text

# A letter first: some clients would read digits alone as a number.
_ID: Final = re.compile(r"c[0-9a-f]{11}")
_FILE: Final = re.compile(rf"{_ID.pattern}(\.\d+-\d+)?")
_KEPT: Final = 2_000
_BETWEEN_TRIMS: Final = 200


class KeptCursors:
    """The newest cursors of one working tree.

    An id is a digest of the content, so equal states share an id and a damaged file is rejected. Files are
    replaced whole, so no process needs a lock. What cannot be written is kept in memory: an answer does not fail
    because the disk is full or read-only.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._unwritten: dict[str, str] = {}
        self._n_written = 0

    def keep(self, text: str) -> str:
        """Store a text and return its id."""
        cursor = _id_of(text)
        try:
            self._write(cursor, text)
        except OSError:
            self._unwritten[cursor] = text
            while len(self._unwritten) > _KEPT:
                # Another thread may drop the same one.
                self._unwritten.pop(next(iter(self._unwritten)), None)
        return cursor

    def find(self, cursor: str) -> str | None:
        """Return the text of an id, None when it is no longer stored."""
        text = self._unwritten.get(cursor)
        if text is None and self.is_id(cursor):
            with suppress(OSError, UnicodeDecodeError):
                text = (self._directory / cursor).read_text(encoding="utf-8")
        return text if text is not None and _id_of(text) == cursor else None

    @staticmethod
    def is_id(cursor: str) -> bool:
        """Tell whether a text looks like a cursor id."""
        return _ID.fullmatch(cursor) is not None

    def _write(self, cursor: str, text: str) -> None:
        self._directory.mkdir(mode=0o700, exist_ok=True)
        temporary = self._directory / f"{cursor}.{os.getpid()}-{threading.get_ident()}"
        try:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(self._directory / cursor)
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        if self._n_written % _BETWEEN_TRIMS == 0:
            with suppress(OSError):
                self._trim()
        self._n_written += 1

    def _trim(self) -> None:
        """Remove the oldest files when there are too many."""
        paths = [path for path in self._directory.iterdir() if _FILE.fullmatch(path.name)]
        if len(paths) > _KEPT:
            for path in sorted(paths, key=_age)[:-_KEPT]:
                path.unlink(missing_ok=True)


def _id_of(text: str) -> str:
    return f"c{sha256_text(text)[:11]}"


def _age(path: Path) -> int:
    """Return when a file was written; one that another process has just removed counts as old."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
