"""What is remembered of each session: the selected intent, the files it has seen, the calls that keep failing.

Memory of a process; what a session selected and saw is read from the ledger again when another process resumes it.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from codeplane.ledger.chain import EventChain, RowFilter

SELECT_OPERATION: Final = "select_active_intent"
_MAX_SESSIONS: Final = 2_000
_MAX_FILES: Final = 5_000
_ROWS_READ_AGAIN: Final = 300


@dataclass(slots=True)
class _Remembered:
    intent: str | None = None
    seen: OrderedDict[str, str] = field(default_factory=OrderedDict)
    failures: dict[str, tuple[str, int]] = field(default_factory=dict)


class SessionsMemory:
    """Facts about sessions that policies ask for.

    Invariant: changed and read under one lock; the oldest sessions and files are forgotten beyond the limits.
    """

    def __init__(self, chain: EventChain) -> None:
        self._chain = chain
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, _Remembered] = OrderedDict()

    def selected(self, session: str) -> str | None:
        """Return the intent that a session has selected."""
        with self._lock:
            return self._of(session).intent

    def select(self, session: str, intent_id: str | None) -> None:
        """Remember what a session has selected; None forgets it."""
        with self._lock:
            self._of(session).intent = intent_id

    def last_seen(self, session: str, path: str) -> str | None:
        """Return the hash of a file when a session last saw it."""
        with self._lock:
            return self._of(session).seen.get(path)

    def saw(self, session: str, files: Mapping[str, str | None]) -> None:
        """Remember what files a session saw; None is a file that is gone."""
        if not files:
            return
        with self._lock:
            seen = self._of(session).seen
            for path, sha256 in files.items():
                seen.pop(path, None)
                if sha256 is not None:
                    seen[path] = sha256
            while len(seen) > _MAX_FILES:
                seen.popitem(last=False)

    def adopt(self, session: str, into: str) -> None:
        """Let another session know what this one saw, once: what it saw itself counts more."""
        with self._lock:
            seen, known = self._of(session).seen, self._of(into).seen
            for path, sha256 in seen.items():
                known.setdefault(path, sha256)
            seen.clear()

    def n_equal_failures(self, session: str, call: str) -> int:
        """Return how often the same call has failed in the same way since a change last succeeded."""
        with self._lock:
            return self._of(session).failures.get(call, ("", 0))[1]

    def failed(self, session: str, call: str, error: str) -> None:
        """Count a failure."""
        with self._lock:
            failures = self._of(session).failures
            known, count = failures.get(call, ("", 0))
            failures[call] = (error, count + 1 if known == error else 1)

    def succeeded(self, session: str) -> None:
        """Forget failures: a change has succeeded."""
        with self._lock:
            self._of(session).failures.clear()

    def _of(self, session: str) -> _Remembered:
        found = self._sessions.get(session)
        if found is None:
            found = self._sessions[session] = self._read_again(session)
            while len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end(session)
        return found

    def _read_again(self, session: str) -> _Remembered:
        found = _Remembered()
        rows = self._chain.rows(RowFilter(session=session, kinds=("finished",), limit=_ROWS_READ_AGAIN))
        for row in reversed(rows):
            seen = row.body.get("seen")
            if isinstance(seen, dict):
                found.seen.update({str(path): str(sha) for path, sha in seen.items()})
            if row.operation == SELECT_OPERATION and "selected_intent" in row.body:
                found.intent = row.body["selected_intent"]
        return found
