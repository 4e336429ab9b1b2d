"""Watches a report that grows while tests run: which file is at work and since when, and whether all tests ended."""

import json
import time
from dataclasses import dataclass, field
from pathlib import Path

_MAX_READ = 4_000_000
# What a process may still do after its last test, such as clearing old temporary directories.
_GRACE_SECONDS = 10.0
_END = b'{"kind": "end"}'


@dataclass(slots=True)
class Watch:
    """Follows one report file. A target is over time when it alone has run longer than the limit.

    `is_ended` says that all tests were told; a process that goes on after that is no target's fault.
    """

    path: Path
    limit: float
    startup: float
    at_work: str = ""
    is_over: bool = False
    is_ended: bool = False
    _offset: int = 0
    _rest: bytes = b""
    _since: float = field(default_factory=time.monotonic)

    def look(self) -> None:
        """Read what was added, and compare the time."""
        for line in self._lines():
            if line == _END and not self.is_ended:
                self.is_ended, self._since = True, time.monotonic()
            started = _started_file(line)
            if started and started != self.at_work:
                self.at_work, self._since = started, time.monotonic()
        allowed = self.limit if self.at_work else self.limit + self.startup
        allowed = min(allowed, _GRACE_SECONDS) if self.is_ended else allowed
        self.is_over = self.is_over or time.monotonic() - self._since > allowed

    def _lines(self) -> list[bytes]:
        try:
            if self.path.stat().st_size == self._offset:
                return []
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(_MAX_READ)
        except OSError:
            return []
        self._offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return lines


def _started_file(line: bytes) -> str:
    if b'"start"' not in line:
        return ""
    try:
        event = json.loads(line)
    except ValueError:
        return ""
    return str(event.get("file") or "") if isinstance(event, dict) and event.get("kind") == "start" else ""
