"""The one append-only event chain, in `ledger.db`.

Each row's hash covers all of its fields and the hash of the row before, so any edit, deletion, insertion or reordering
inside the chain breaks it. Rows of mutations are committed one by one before the answer leaves; rows of reads wait in
memory and are committed in groups.
"""

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock

from codeplane.core.canonical_json import canonical_bytes, canonical_text, digest
from codeplane.core.clock import Clock
from codeplane.core.errors import CodePlaneError
from codeplane.store.sqlite import Database, Schema

GENESIS = "0" * 64
GROUP_SIZE = 128
# How many rows of reads are kept while the file cannot be written.
_WAITING_LIMIT = 64 * GROUP_SIZE
FINAL_KINDS = ("finished", "failed", "denied", "held")

LEDGER_SCHEMA = Schema(
    "ledger",
    (
        """
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE events (
            seq INTEGER PRIMARY KEY,
            kind TEXT NOT NULL,
            call_id TEXT,
            operation TEXT,
            session TEXT NOT NULL,
            session_seq INTEGER NOT NULL,
            task_id TEXT,
            worktree TEXT NOT NULL,
            ts_ms INTEGER NOT NULL,
            body TEXT NOT NULL,
            prev_hash TEXT NOT NULL,
            hash TEXT NOT NULL
        );
        CREATE INDEX events_by_session ON events (session, session_seq);
        CREATE INDEX events_by_call ON events (call_id) WHERE call_id IS NOT NULL;
        CREATE INDEX events_by_time ON events (ts_ms);
        CREATE TABLE open_calls (
            call_id TEXT PRIMARY KEY,
            owner TEXT NOT NULL,
            begun_seq INTEGER NOT NULL
        );
        CREATE TABLE sessions (
            id_digest TEXT PRIMARY KEY,
            label TEXT NOT NULL UNIQUE,
            client TEXT NOT NULL,
            opened_ms INTEGER NOT NULL,
            last_seen_ms INTEGER NOT NULL,
            closed_ms INTEGER,
            read_bytes INTEGER NOT NULL DEFAULT 0
        );
        """,
    ),
)


# One look into every table and every index.
_PROBES = (
    "SELECT * FROM meta",
    "SELECT 1 FROM meta WHERE key = 'repo_id'",
    "SELECT * FROM events ORDER BY seq DESC LIMIT 1",
    "SELECT MAX(session_seq) FROM events WHERE session = ''",
    "SELECT 1 FROM events WHERE call_id = ''",
    "SELECT MAX(ts_ms) FROM events",
    "SELECT * FROM open_calls",
    "SELECT 1 FROM open_calls WHERE call_id = ''",
    "SELECT * FROM sessions LIMIT 1",
    "SELECT 1 FROM sessions WHERE id_digest = ''",
    "SELECT 1 FROM sessions WHERE label = ''",
)


@dataclass(frozen=True, slots=True)
class NewEvent:
    """A row before it is appended."""

    kind: str
    session: str
    body: Mapping[str, Any]
    call_id: str | None = None
    operation: str | None = None
    task_id: str | None = None
    worktree: str = "main"


_Stamped = tuple[NewEvent, int]


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """A row of the chain."""

    seq: int
    kind: str
    call_id: str | None
    operation: str | None
    session: str
    session_seq: int
    task_id: str | None
    worktree: str
    ts_ms: int
    body: dict[str, Any]
    prev_hash: str
    hash: str


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows to return, newest first."""

    kinds: tuple[str, ...] = ()
    operation: str | None = None
    task_id: str | None = None
    session: str | None = None
    call_id: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    before_seq: int | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A begun call without a final row."""

    call_id: str
    owner: str
    begun: LedgerRow


@dataclass(frozen=True, slots=True)
class Verification:
    """What verifying the chain found; `first_bad_seq` is None when every row holds."""

    rows: int
    head: str
    first_bad_seq: int | None
    problem: str = ""


class EventChain:
    """Appends to and reads from the chain.

    Invariant: rows reach the file in the order of their `seq`, each hashed over the one before.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database = database
        self._clock = clock
        self._waiting: list[_Stamped] = []
        self._waiting_lock = threading.Lock()

    def append(self, *events: NewEvent) -> tuple[LedgerRow, ...]:
        """Append rows durably, after all rows that wait in the group."""
        stamped = [(event, self._clock.now_ms()) for event in events]
        with self._writing() as (connection, waiting):
            return tuple(self._insert(connection, waiting + stamped)[-len(events) :])

    def begin_call(self, event: NewEvent, owner: str) -> LedgerRow:
        """Append a `begun` row and note who is working on it."""
        stamped = (event, self._clock.now_ms())
        with self._writing() as (connection, waiting):
            row = self._insert(connection, [*waiting, stamped])[-1]
            connection.execute("INSERT INTO open_calls VALUES (?, ?, ?)", (event.call_id, owner, row.seq))
        return row

    def end_call(self, event: NewEvent) -> LedgerRow | None:
        """Append the final row of a begun call, once; None if somebody else has ended it already."""
        stamped = (event, self._clock.now_ms())
        with self._writing() as (connection, waiting):
            ended = connection.execute("DELETE FROM open_calls WHERE call_id = ?", (event.call_id,)).rowcount
            rows = self._insert(connection, [*waiting, stamped] if ended else waiting)
        return rows[-1] if ended else None

    def append_later(self, event: NewEvent) -> None:
        """Queue a row of a read; it is committed with its group, or before the next durable row.

        Raises:
            CodePlaneError: VALIDATION_ERROR when its body cannot be written; one bad row must not hold up its group.
        """
        canonical_bytes([event.body, event.session, event.call_id, event.operation, event.task_id])
        with self._waiting_lock:
            self._waiting.append((event, self._clock.now_ms()))
            is_full = len(self._waiting) >= GROUP_SIZE
        if is_full:
            self.flush()

    def flush(self) -> None:
        """Commit the rows that wait."""
        if not self._waiting:
            return
        with self._writing() as (connection, waiting):
            self._insert(connection, waiting)

    @contextmanager
    def _writing(self) -> Iterator[tuple[sqlite3.Connection, list[_Stamped]]]:
        """Give a transaction and the rows that wait; if it fails they wait again, ahead of those that came since."""
        waiting: list[_Stamped] = []
        try:
            with self.database.write() as connection:
                with self._waiting_lock:
                    waiting, self._waiting = self._waiting, []
                yield connection, waiting
        except BaseException:
            with self._waiting_lock:
                self._waiting = (waiting + self._waiting)[-_WAITING_LIMIT:]
            raise

    def _insert(self, connection: sqlite3.Connection, events: Sequence[_Stamped]) -> list[LedgerRow]:
        last = connection.execute("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1").fetchone()
        seq, head = (int(last["seq"]), str(last["hash"])) if last else (0, GENESIS)
        next_in_session: dict[str, int] = {}
        rows: list[LedgerRow] = []
        for event, ts_ms in events:
            if event.session not in next_in_session:
                next_in_session[event.session] = _last_in_session(connection, event.session)
            next_in_session[event.session] += 1
            seq += 1
            row = _link(event, seq, next_in_session[event.session], ts_ms, head)
            head = row.hash
            rows.append(row)
        connection.executemany(
            "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [_columns(row) for row in rows]
        )
        return rows

    def rows(self, wanted: RowFilter) -> tuple[LedgerRow, ...]:
        """Return matching rows, newest first, rows that still wait included."""
        self.flush()
        clauses, values = _conditions(wanted)
        where = f"WHERE {' AND '.join(clauses)}" if clauses else ""
        # The clauses are fixed strings from _conditions; values travel as parameters.
        query = f"SELECT * FROM events {where} ORDER BY seq DESC LIMIT ?"  # noqa: S608
        with self.database.read() as connection:
            return tuple(_row(record) for record in connection.execute(query, (*values, wanted.limit)))

    def rows_after(self, seq: int, limit: int) -> tuple[LedgerRow, ...]:
        """Return committed rows that follow `seq`, oldest first."""
        with self.database.read() as connection:
            records = connection.execute("SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?", (seq, limit))
            return tuple(_row(record) for record in records)

    def last_seq(self) -> int:
        """Return the number of the newest committed row, 0 for an empty chain."""
        with self.database.read() as connection:
            return int(connection.execute("SELECT COALESCE(MAX(seq), 0) FROM events").fetchone()[0])

    def last_index_epoch(self, worktree: str) -> int:
        """Return the highest epoch of the index that a call in a working tree was answered from, 0 for none."""
        self.flush()
        query = (
            "SELECT COALESCE(MAX(CAST(json_extract(body, '$.index_epoch') AS INTEGER)), 0) FROM events"
            " WHERE worktree = ? AND json_valid(body)"
        )
        with self.database.read() as connection:
            return int(connection.execute(query, (worktree,)).fetchone()[0])

    def open_calls(self) -> tuple[OpenCall, ...]:
        """Return the begun calls that nobody has ended, oldest first."""
        query = "SELECT e.*, o.owner FROM open_calls o JOIN events e ON e.seq = o.begun_seq ORDER BY e.seq"
        with self.database.read() as connection:
            if connection.execute("SELECT 1 FROM open_calls LIMIT 1").fetchone() is None:
                return ()
            return tuple(
                OpenCall(str(record["call_id"]), str(record["owner"]), _row(record))
                for record in connection.execute(query)
            )

    def verify(self) -> Verification:
        """Recompute every hash and name the first row that does not hold."""
        self.flush()
        count, head, session_numbers = 0, GENESIS, dict[str, int]()
        for record in self._all_records():
            problem = _problem(record, count + 1, head, session_numbers)
            if problem:
                return Verification(count, head, int(record["seq"]), problem)
            count, head = count + 1, str(record["hash"])
        return Verification(count, head, None)

    def _all_records(self) -> Iterator[sqlite3.Row]:
        with self.database.read() as connection:
            yield from connection.execute("SELECT * FROM events ORDER BY seq")

    def meta(self, key: str) -> str | None:
        """Return a value kept beside the chain, such as the repository id."""
        with self.database.read() as connection:
            record = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(record[0]) if record else None

    def set_meta_once(self, key: str, value: str) -> str:
        """Keep a value unless one is there already; return the one that holds."""
        with self.database.write() as connection:
            connection.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (key, value))
            return str(connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()[0])


def open_ledger_database(path: Path, clock: Clock) -> tuple[Database, Path | None]:
    """Open `ledger.db`; a damaged file is kept under another name and a new chain starts.

    Returns the database and where the damaged file is kept, if there was one.
    """
    try:
        return _open_sound(path), None
    except CodePlaneError as error:
        if error.code != "STORE_CORRUPT":
            raise
    # Of several processes that find the damage one moves the file away; the others get the new one.
    with FileLock(f"{path}.replace.lock", timeout=30):
        try:
            return _open_sound(path), None
        except CodePlaneError as error:
            if error.code != "STORE_CORRUPT":
                raise
        return _replaced(path, path.with_name(f"{path.name}.damaged-{clock.now_ms()}"))


def _open_sound(path: Path) -> Database:
    """Open the file and look where every call will look, so that damage shows here and not in the first call."""
    database = Database(path, LEDGER_SCHEMA, durable=True)
    try:
        with database.read() as connection:
            for query in _PROBES:
                connection.execute(query).fetchall()
    except BaseException:
        database.close()
        raise
    return database


def _replaced(path: Path, kept: Path) -> tuple[Database, Path]:
    path.rename(kept)
    for suffix in ("-wal", "-shm"):
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            beside.rename(kept.with_name(kept.name + suffix))
    return Database(path, LEDGER_SCHEMA, durable=True), kept


def _link(event: NewEvent, seq: int, session_seq: int, ts_ms: int, prev_hash: str) -> LedgerRow:
    body = json.loads(canonical_text(dict(event.body)))
    row = LedgerRow(
        seq, event.kind, event.call_id, event.operation, event.session, session_seq, event.task_id, event.worktree,
        ts_ms, body, prev_hash, "",
    )  # fmt: skip
    return replace(row, hash=_hash(row))


def _fields(row: LedgerRow) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in LedgerRow.__slots__)


def _columns(row: LedgerRow) -> tuple[Any, ...]:
    return tuple(canonical_text(value) if isinstance(value, dict) else value for value in _fields(row))


def _hash(row: LedgerRow) -> str:
    return digest({name: getattr(row, name) for name in LedgerRow.__slots__ if name != "hash"})


def _row(record: sqlite3.Row) -> LedgerRow:
    values = {name: record[name] for name in LedgerRow.__slots__}
    values["body"] = json.loads(values["body"])
    return LedgerRow(**values)


def _last_in_session(connection: sqlite3.Connection, session: str) -> int:
    query = "SELECT COALESCE(MAX(session_seq), 0) FROM events WHERE session = ?"
    return int(connection.execute(query, (session,)).fetchone()[0])


def _conditions(wanted: RowFilter) -> tuple[list[str], list[Any]]:
    pairs = [
        ("operation = ?", wanted.operation),
        ("task_id = ?", wanted.task_id),
        ("session = ?", wanted.session),
        ("call_id = ?", wanted.call_id),
        ("ts_ms >= ?", wanted.since_ms),
        ("ts_ms <= ?", wanted.until_ms),
        ("seq < ?", wanted.before_seq),
    ]
    clauses = [clause for clause, value in pairs if value is not None]
    values: list[Any] = [value for _, value in pairs if value is not None]
    if wanted.kinds:
        clauses.append(f"kind IN ({', '.join('?' * len(wanted.kinds))})")
        values.extend(wanted.kinds)
    return clauses, values


def _problem(record: sqlite3.Row, expected_seq: int, head: str, session_numbers: dict[str, int]) -> str:
    if record["seq"] != expected_seq:
        return f"row {expected_seq} is missing"
    if record["prev_hash"] != head:
        return "it does not follow the row before"
    try:
        row = _row(record)
        if _hash(row) != row.hash or canonical_text(row.body) != record["body"]:
            return "its content does not match its hash"
    except (ValueError, TypeError, RecursionError, CodePlaneError):
        return "its content cannot be read"
    if row.session_seq != session_numbers.get(row.session, 0) + 1:
        return "its place in the session is wrong"
    session_numbers[row.session] = row.session_seq
    return ""
