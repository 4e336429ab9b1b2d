"""Carry lines that are not committed yet across what git does to the file: checkout, stash, rebase, reset, merge.

They wait in a file of their own beside the index. If the process dies, the next one brings them back.
"""

import os
from pathlib import Path
from typing import Final

from codeplane.edit.appending import append_lines, cut_tail
from codeplane.govern.trace.projection import TRACE_PATH

_ASIDE: Final = "trace-aside.jsonl"


class CarriedLines:
    """The lines of one working tree that wait; whoever moves them holds the writer's lock."""

    def __init__(self, root: Path, private: Path) -> None:
        self._root = root
        self._file = root / TRACE_PATH.text
        self._aside = private / _ASIDE

    @property
    def are_waiting(self) -> bool:
        """Tell whether lines wait to be brought back."""
        return self._aside.exists()

    def set_aside(self, committed: bytes | None) -> bool:
        """Put the lines aside that follow the committed version; false when the file does not begin with that.

        Without a committed version the whole file is put aside, so that git can check one out.
        """
        try:
            data = self._file.read_bytes()
        except OSError:
            return False
        n_kept = _prefix(data, committed or b"")
        if n_kept is None or n_kept == len(data) or self.are_waiting:
            return False
        with self._aside.open("xb") as file:
            file.write(data[n_kept:])
            file.flush()
            os.fsync(file.fileno())
        if committed is None:
            self._file.unlink()
        else:
            cut_tail(self._root, TRACE_PATH, len(data) - n_kept)
        return True

    def bring_back(self) -> None:
        """Append what waits, except lines that the file has by now."""
        if not self.are_waiting:
            return
        waiting = self._aside.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        try:
            there = set(self._file.read_text(encoding="utf-8", errors="surrogateescape").splitlines())
        except OSError:
            there = set()
        missing = [line for line in waiting if line and line not in there]
        if missing:
            append_lines(self._root, TRACE_PATH, missing)
        self._aside.unlink()


def _prefix(data: bytes, committed: bytes) -> int | None:
    """Return how many bytes of the file are the committed version, whatever its line ends; None when they are not."""
    at = 0
    for line in committed.splitlines(keepends=True):
        end = data.find(b"\n", at)
        found = data[at : end + 1] if end >= 0 else data[at:]
        if found.rstrip(b"\r\n") != line.rstrip(b"\r\n"):
            return None
        at += len(found)
    return at
