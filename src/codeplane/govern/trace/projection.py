"""Write the ledger's records into `.orchestration/agent_trace.jsonl`, as lines of this writer's segment.

A working tree is one writer. Whatever git does to the file, lines are only appended: when the newest line of our
segment in the file is not the head, a new segment starts and names the head that it continues.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from codeplane.core.paths import RepoPath
from codeplane.edit.appending import append_lines, cut_tail, read_tail
from codeplane.govern.trace.files import TRACE_FILE
from codeplane.govern.trace.segments import Head, chained, head_of, read_line

TRACE_PATH: Final = RepoPath.parse(TRACE_FILE)
# How much of the file's end is searched for our newest line, before all of it is read.
_WAIT_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 0.001
_SHORT_TAIL: Final = 16 * 1024
_WHOLE: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Marker:
    """What was written last: the head of our segment, and the ledger's row up to which records are in the file."""

    head: Head
    row: int

    def as_text(self) -> str:
        """Return the form that is kept beside the index."""
        return json.dumps({"head": self.head.as_dict(), "row": self.row})


class Projection:
    """The file of one working tree.

    Invariant: whoever appends holds the lock, so a segment never gets two lines of one number.
    """

    def __init__(self, root: Path, private: Path, new_segment: Callable[[], str]) -> None:
        self._root = root
        self._private = private
        self._new_segment = new_segment
        self._marker = private / "trace.json"

    @property
    def place(self) -> Path:
        """Return where the file is."""
        return self._root / TRACE_FILE

    @contextmanager
    def writing(self, wait_seconds: float = _WAIT_SECONDS) -> Iterator[bool]:
        """Hold the lock of this tree's writer; false when another one keeps it, such as a git operation that runs."""
        descriptor = os.open(self._private / "trace.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield _is_taken(descriptor, time.monotonic() + wait_seconds)
        finally:
            os.close(descriptor)

    def marker(self) -> Marker | None:
        """Return what was written last, None when that is not known here."""
        try:
            found = json.loads(self._marker.read_text(encoding="utf-8"))
            head = head_of(found["head"])
            return Marker(head, int(found["row"])) if head is not None else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def append(self, records: Sequence[dict[str, Any]], known: Marker | None, row: int) -> Head | None:
        """Append records as lines and return the new head; the caller holds the lock."""
        if not records:
            return None
        self._drop_torn_line()
        head, continues = self._next(known)
        lines = []
        for record in records:
            text, head = chained(record, head, continues)
            continues = None
            lines.append(text)
        append_lines(self._root, TRACE_PATH, lines)
        self.note(Marker(head, row))
        return head

    def note(self, marker: Marker) -> None:
        """Keep what was written last; if this is lost or torn, the file and the ledger's heads tell.

        It is overwritten in place: replacing a file makes some file systems wait for the disk.
        """
        data = marker.as_text().encode()
        descriptor = os.open(self._marker, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(descriptor, data, 0)
            os.ftruncate(descriptor, len(data))
        finally:
            os.close(descriptor)

    def ids(self) -> set[str]:
        """Return the ids of all records in the file, for when nobody knows what was written last."""
        found: set[str] = set()
        try:
            file = self.place.open("rb")
        except OSError:
            return found
        with file:
            for line in file:
                with suppress(ValueError, TypeError):
                    one = read_line(line.decode("utf-8").rstrip("\r\n"))
                    if one is not None:
                        found.add(one.record_id)
        return found

    def _next(self, known: Marker | None) -> tuple[Head, Head | None]:
        """Return the head to go on from: ours if the file still ends with it, else that of a new segment."""
        if known is None:
            return Head(self._new_segment()), None
        if self._newest(known.head.segment) == known.head:
            return known.head, None
        return Head(self._new_segment()), known.head

    def _newest(self, segment: str) -> Head | None:
        """Return the newest line of a segment in the file."""
        for limit in (_SHORT_TAIL, 1024 * 1024, _WHOLE):
            data = read_tail(self._root, TRACE_PATH, limit)
            if data is None:
                return None
            found = _newest_in(data, segment)
            if found is not None or self.place.stat().st_size <= limit:
                return found
        return None

    def _drop_torn_line(self) -> None:
        """Remove a last line that a dead process did not finish; the ledger has its record."""
        tail = read_tail(self._root, TRACE_PATH, _SHORT_TAIL) or b""
        if len(tail) == _SHORT_TAIL and b"\n" not in tail:
            tail = read_tail(self._root, TRACE_PATH, _WHOLE) or b""
        last = tail[tail.rfind(b"\n") + 1 :]
        if not last:
            return
        try:
            json.loads(last)
        except ValueError:
            cut_tail(self._root, TRACE_PATH, len(last))


def _is_taken(descriptor: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_SECONDS)
        else:
            return True


def _newest_in(data: bytes, segment: str) -> Head | None:
    wanted = f'"segment":"{segment}"'.encode()
    best: Head | None = None
    for line in data.split(b"\n"):
        if wanted not in line:
            continue
        with suppress(ValueError, TypeError):
            found = read_line(line.decode("utf-8"))
            if found is not None and found.head.segment == segment and (best is None or found.head.seq > best.seq):
                best = found.head
    return best
