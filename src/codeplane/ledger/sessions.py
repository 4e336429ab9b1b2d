"""Sessions: who is at work, for how long, and how much they have read."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from codeplane.core.callers import Caller
from codeplane.core.clock import Clock
from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.ids import IdSource
from codeplane.core.settings import setting
from codeplane.store.sqlite import Database

_MAX_SESSIONS_IN_A_ROW: Final = 1_000


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How long sessions live and how much they may read."""

    idle_timeout_minutes: int = setting(30, doc="Idle minutes after which a session closes.", minimum=1, maximum=1440)
    read_budget_bytes: int = setting(
        4_000_000,
        doc="Bytes of source one session may read before it has to call `reset_budget`; 0 means no limit.",
        minimum=0,
        maximum=10**12,
    )


@dataclass(slots=True)
class Session:
    """One caller's stretch of work.

    Invariant: `session_id` is the secret and never leaves except to its own client; `label` is what everybody sees.
    """

    session_id: str
    label: str
    client: str
    opened_ms: int
    last_seen_ms: int
    read_bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def spend_read(self, n_bytes: int, budget: int) -> None:
        """Count bytes about to be delivered.

        Raises:
            CodePlaneError: READ_BUDGET_EXCEEDED; nothing is counted then.
        """
        with self._lock:
            if budget and self.read_bytes + n_bytes > budget:
                raise CodePlaneError(
                    "READ_BUDGET_EXCEEDED",
                    f"This session has read {self.read_bytes} of {budget} bytes; this answer needs {n_bytes} more.",
                    details={"budget_type": "read_bytes", "limit": budget, "current": self.read_bytes},
                )
            self.read_bytes += n_bytes

    def reset_reads(self) -> int:
        """Reset the read budget and return what had been used."""
        with self._lock:
            used, self.read_bytes = self.read_bytes, 0
            return used


@dataclass(frozen=True, slots=True)
class FoundSession:
    """A session and what the caller should know about how it was found."""

    session: Session
    is_new: bool
    warning: str = ""


class SessionRegistry:
    """All live sessions of this process, backed by `ledger.db` so that an id can be resumed after a restart.

    `on_end` is told the label of a session that was closed or whose client has gone.
    Invariant: the database holds only digests of the secret ids.
    """

    def __init__(self, database: Database, clock: Clock, ids: IdSource, settings: SessionSettings) -> None:
        self._database = database
        self._clock = clock
        self._ids = ids
        self.settings = settings
        self.on_end: Callable[[str], None] = _ignore
        self._by_id: dict[str, Session] = {}
        self._by_connection: dict[str, Session] = {}
        self._lock = threading.Lock()

    def find(self, caller: Caller) -> FoundSession:
        """Return the caller's session: the one it names, else its connection's, else a new one.

        Raises:
            CodePlaneError: SESSION_NOT_FOUND or SESSION_EXPIRED for a session id that cannot be resumed.
        """
        with self._lock:
            now = self._clock.now_ms()
            if caller.session_id is not None:
                session = self._resume(caller.session_id, now)
                self._by_connection[caller.connection] = session
                return FoundSession(_touch(session, now), is_new=False)
            session_of_connection = self._by_connection.get(caller.connection)
            if session_of_connection is None:
                return self._find_first(caller, now)
            if self._is_expired(session_of_connection.last_seen_ms, now):
                self._close(session_of_connection, now)
                minutes = self.settings.idle_timeout_minutes
                warning = f"The session was idle for over {minutes} minutes and was closed; this is a new one."
                return replace(self._find_first(caller, now), is_new=True, warning=warning)
            return FoundSession(_touch(session_of_connection, now), is_new=False)

    def live(self) -> tuple[Session, ...]:
        """Return this process's sessions that have not timed out, oldest first."""
        with self._lock:
            now = self._clock.now_ms()
            sessions = [s for s in self._by_id.values() if not self._is_expired(s.last_seen_ms, now)]
        return tuple(sorted(sessions, key=lambda session: (session.opened_ms, session.label)))

    def clients(self, labels: Iterable[str]) -> dict[str, tuple[str, int]]:
        """Return the client and the time of opening of sessions that have not ended, of whatever process, by label."""
        wanted = tuple(labels)
        marks = ", ".join("?" * len(wanted))
        query = f"SELECT label, client, opened_ms FROM sessions WHERE closed_ms IS NULL AND label IN ({marks})"  # noqa: S608
        with self._database.read() as connection:
            return {str(label): (str(client), int(ms)) for label, client, ms in connection.execute(query, wanted)}

    def label_of(self, connection: str) -> str | None:
        """Return the public name of the session that a connection has in this process."""
        with self._lock:
            session = self._by_connection.get(connection)
            return session.label if session is not None else None

    def is_known(self, label: str) -> bool:
        """Tell whether an open session, of whatever process, has this label."""
        query = "SELECT 1 FROM sessions WHERE label = ? AND closed_ms IS NULL"
        with self._database.read() as connection:
            return connection.execute(query, (label,)).fetchone() is not None

    def forget_connection(self, connection: str) -> None:
        """Drop the link from a connection that ended; its session can still be resumed by id."""
        with self._lock:
            session = self._by_connection.pop(connection, None)
            if session is None or session in self._by_connection.values():
                return
            self._save(session, closed_ms=None)
            self._by_id.pop(session.session_id, None)
            self.on_end(session.label)

    def save(self) -> None:
        """Write what changes with every call: last use and bytes read."""
        with self._lock:
            for session in self._by_id.values():
                self._save(session, closed_ms=None)

    def sweep(self) -> int:
        """Close the sessions that have been idle too long; return how many."""
        with self._lock:
            now = self._clock.now_ms()
            idle = [s for s in self._by_id.values() if self._is_expired(s.last_seen_ms, now)]
            for session in idle:
                self._close(session, now)
        return len(idle)

    def _is_expired(self, last_seen_ms: int, now: int) -> bool:
        return now - last_seen_ms > self.settings.idle_timeout_minutes * 60_000

    def _find_first(self, caller: Caller, now: int) -> FoundSession:
        """Return the session of a connection that this process has not seen before."""
        if not caller.is_lasting:
            return FoundSession(self._create(caller, now, self._ids.new("sess")), is_new=True)
        # The id follows from the connection's own secret, so that the next process finds the session again. One that
        # was idle for too long is followed by the next of its row.
        for number in range(_MAX_SESSIONS_IN_A_ROW):
            suffix = f" {number}" if number else ""
            session_id = f"sess_{sha256_text(f'session of {caller.connection}{suffix}')[:26]}"
            try:
                session = self._resume(session_id, now)
            except CodePlaneError as error:
                if error.code == "SESSION_NOT_FOUND":
                    return FoundSession(self._create(caller, now, session_id), is_new=True)
                continue
            self._by_connection[caller.connection] = session
            return FoundSession(_touch(session, now), is_new=False)
        return FoundSession(self._create(caller, now, self._ids.new("sess")), is_new=True)

    def _create(self, caller: Caller, now: int, session_id: str) -> Session:
        label = f"s-{sha256_text(session_id)[:10]}"
        session = Session(session_id, label, caller.client, now, now)
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO sessions VALUES (?, ?, ?, ?, ?, NULL, 0)",
                (sha256_text(session_id), label, session.client, now, now),
            )
        self._by_id[session_id] = session
        self._by_connection[caller.connection] = session
        return session

    def _resume(self, session_id: str, now: int) -> Session:
        session = self._by_id.get(session_id) or self._load(session_id)
        if session is None:
            raise CodePlaneError("SESSION_NOT_FOUND", "No session has the given session_id.")
        if self._is_expired(session.last_seen_ms, now):
            self._close(session, now)
            raise _expired(session.label)
        self._by_id[session_id] = session
        return session

    def _load(self, session_id: str) -> Session | None:
        query = "SELECT * FROM sessions WHERE id_digest = ?"
        with self._database.read() as connection:
            record = connection.execute(query, (sha256_text(session_id),)).fetchone()
        if record is None:
            return None
        if record["closed_ms"] is not None:
            raise _expired(record["label"])
        return Session(
            session_id,
            record["label"],
            record["client"],
            record["opened_ms"],
            record["last_seen_ms"],
            record["read_bytes"],
        )

    def _close(self, session: Session, now: int) -> None:
        self._save(session, closed_ms=now)
        self._by_id.pop(session.session_id, None)
        for connection in [key for key, value in self._by_connection.items() if value is session]:
            del self._by_connection[connection]
        self.on_end(session.label)

    def _save(self, session: Session, *, closed_ms: int | None) -> None:
        with self._database.write() as connection:
            connection.execute(
                "UPDATE sessions SET last_seen_ms = ?, read_bytes = ?, closed_ms = ? WHERE id_digest = ?",
                (session.last_seen_ms, session.read_bytes, closed_ms, sha256_text(session.session_id)),
            )


def _ignore(_label: str) -> None:
    """Ignore the end of a session."""


def _expired(label: str) -> CodePlaneError:
    return CodePlaneError("SESSION_EXPIRED", f"Session {label} was idle too long and is closed.")


def _touch(session: Session, now: int) -> Session:
    session.last_seen_ms = now
    return session
