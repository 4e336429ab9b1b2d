"""The one append-only event chain, in `ledger.db`.

Each row's hash covers all of its fields and the hash of the row before, so any edit, deletion, insertion or reordering
inside the chain breaks it; `seals.py` says what the seals add. Rows of mutations are committed one by one before the
answer leaves; rows of reads wait in memory and are committed in groups.
"""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from codeplane.core.canonical_json import canonical_bytes, canonical_text
from codeplane.core.clock import Clock
from codeplane.core.errors import CodePlaneError
from codeplane.ledger.checkpoint import take_over
from codeplane.ledger.ledger_views import INVOCATIONS_VIEW, OPERATIONS_VIEW, RECEIPTS_VIEW, TASKS_VIEW
from codeplane.ledger.row_hash import HASHED_COLUMNS, row_hash
from codeplane.ledger.seals import ChainEnd, Sealer, SealKey
from codeplane.ledger.verification import Verification, Witness, chain_end, verify_chain
from codeplane.store.sqlite import Database, Schema

GROUP_SIZE = 128
# The session of rows that CodePlane writes about itself.
SYSTEM_SESSION = "system"
# How many rows of reads are kept while the file cannot be written.
_MAX_WAITING = 64 * GROUP_SIZE
# Whole numbers from here on are not exact in every reader of JSON.
_LARGEST = 2**53
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
        f"""
        ALTER TABLE events ADD COLUMN seal TEXT;
        CREATE TABLE checkpoint (id INTEGER PRIMARY KEY CHECK (id = 1), body TEXT NOT NULL, seal TEXT NOT NULL);
        CREATE INDEX events_by_task ON events (task_id) WHERE task_id IS NOT NULL;
        CREATE INDEX events_of_tasks ON events (kind) WHERE kind IN ('task_opened', 'task_closed');
        {TASKS_VIEW}
        {OPERATIONS_VIEW}
        """,
        """
        CREATE INDEX events_of_budgets ON events (worktree, seq) WHERE kind IN ('begun', 'budget_reset');
        CREATE INDEX events_of_acceptance ON events (seq) WHERE kind = 'governance_decided';
        """,
        f"""
        CREATE INDEX events_of_presets ON events (seq) WHERE kind = 'preset_applied';
        CREATE INDEX events_of_receipts ON events (seq) WHERE kind = 'receipt';
        {INVOCATIONS_VIEW}
        {RECEIPTS_VIEW}
        """,
        """
        DROP INDEX events_by_time;
        CREATE INDEX events_by_time ON events (ts_ms, kind);
        """,
    ),
)


# One look into every table and every index. Texts of rows are read as bytes: whether they are text is for `verify`.
_PROBES = (
    "SELECT * FROM meta",
    "SELECT 1 FROM meta WHERE key = 'repo_id'",
    "SELECT CAST(body AS BLOB), CAST(hash AS BLOB), CAST(seal AS BLOB) FROM events ORDER BY seq DESC LIMIT 1",
    "SELECT MAX(session_seq) FROM events WHERE session = ''",
    "SELECT 1 FROM events WHERE call_id = ''",
    "SELECT MAX(ts_ms) FROM events",
    "SELECT 1 FROM events WHERE task_id = ''",
    "SELECT 1 FROM events WHERE kind IN ('task_opened', 'task_closed')",
    "SELECT MAX(seq) FROM events WHERE kind IN ('begun', 'budget_reset') AND worktree = ''",
    "SELECT MAX(seq) FROM events WHERE kind = 'governance_decided'",
    "SELECT MAX(seq) FROM events WHERE kind = 'preset_applied'",
    "SELECT MAX(seq) FROM events WHERE kind = 'receipt'",
    "SELECT CAST(body AS BLOB) FROM checkpoint",
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


@dataclass(frozen=True, slots=True)
class _WrittenEvent(NewEvent):
    """An event whose body is written out already, so that this is not done while others wait for the lock."""

    body_text: str = ""


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
    seal: str | None = None


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows to return, newest first.

    `body_holds` is a text, or several, that the body contains; `among_newest` bounds how many rows are looked through.
    """

    kinds: tuple[str, ...] = ()
    operation: str | None = None
    task_id: str | None = None
    session: str | None = None
    call_id: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    before_seq: int | None = None
    body_holds: str | tuple[str, ...] | None = None
    among_newest: int | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A begun call without a final row."""

    call_id: str
    owner: str
    begun: LedgerRow


class LedgerDatabase(Database):
    """`ledger.db`, whose write lock can be held beyond a commit, for what has to follow it."""

    def held(self) -> AbstractContextManager[None]:
        """Hold the write lock; a transaction inside uses the same one."""
        return self._locked()


class EventChain:
    """Appends to and reads from the chain; with a `sealer` every row is sealed.

    Invariant: rows reach the file in the order of their `seq`, each hashed over the one before.
    """

    def __init__(self, database: Database, clock: Clock, sealer: Sealer | None = None) -> None:
        self.database = database
        self.sealer = sealer
        self._clock = clock
        self._waiting: list[_Stamped] = []
        self._waiting_lock = threading.Lock()
        # What the running transaction does; only touched by the holder of the write lock.
        self._added: list[LedgerRow] = []
        self._n_removed = 0
        self._notices: list[_Stamped] | None = None

    def append(self, *events: NewEvent) -> tuple[LedgerRow, ...]:
        """Append rows durably, after all rows that wait in the group."""
        stamped = [self._stamp(event) for event in events]
        with self._writing() as (connection, waiting):
            return tuple(self._insert(connection, waiting + stamped)[-len(events) :])

    def begin_call(self, event: NewEvent, owner: str) -> LedgerRow:
        """Append a `begun` row and note who is working on it."""
        stamped = self._stamp(event)
        with self._writing() as (connection, waiting):
            row = self._insert(connection, [*waiting, stamped])[-1]
            connection.execute("INSERT INTO open_calls VALUES (?, ?, ?)", (event.call_id, owner, row.seq))
        return row

    def end_call(self, event: NewEvent) -> LedgerRow | None:
        """Append the final row of a begun call, once; None if it has ended already."""
        stamped = self._stamp(event)
        with self._writing() as (connection, waiting):
            ended = connection.execute("DELETE FROM open_calls WHERE call_id = ?", (event.call_id,)).rowcount
            rows = self._insert(connection, [*waiting, stamped] if ended else waiting)
        return rows[-1] if ended else None

    def append_after(self, change: Callable[[sqlite3.Connection, SealKey | None], NewEvent | None]) -> LedgerRow | None:
        """Let `change` rewrite the file and append the row that tells of it, in one transaction; None for no row."""
        with self._writing() as (connection, waiting):
            self._look(connection, chain_end(connection))
            self._insert(connection, waiting)
            n_before = chain_end(connection).count()
            event = change(connection, self.sealer.key if self.sealer is not None else None)
            if event is None:
                return None
            n_removed = n_before - chain_end(connection).count()
            row = self._insert(connection, [self._stamp(event)])[-1]
            self._n_removed = n_removed
        return row

    def append_later(self, event: NewEvent) -> None:
        """Queue a row of a read; it is committed with its group, or before the next durable row.

        Raises:
            CodePlaneError: VALIDATION_ERROR when its body cannot be written; one bad row must not hold up its group.
        """
        stamped = self._stamp(event)
        with self._waiting_lock:
            self._waiting.append(stamped)
            is_full = len(self._waiting) >= GROUP_SIZE
        if is_full:
            self.flush()

    def flush(self) -> None:
        """Commit the rows that wait."""
        if not self._waiting:
            return
        with self._writing(is_durable=False) as (connection, waiting):
            self._insert(connection, waiting)

    def _stamp(self, event: NewEvent) -> _Stamped:
        ts_ms = self._clock.now_ms()
        written = _WrittenEvent(
            event.kind, event.session, event.body, event.call_id, event.operation, event.task_id, event.worktree,
            _body_text(event),
        )  # fmt: skip
        return written, ts_ms

    @contextmanager
    def _writing(self, *, is_durable: bool = True) -> Iterator[tuple[sqlite3.Connection, list[_Stamped]]]:
        """Give a transaction and the rows that wait; if it fails they wait again, ahead of those that came since.

        The head outside moves after the commit and before anybody else can write.
        """
        waiting: list[_Stamped] = []
        try:
            with self._held():
                with self.database.write() as connection:
                    self._added, self._n_removed, self._notices = [], 0, None
                    with self._waiting_lock:
                        waiting, self._waiting = self._waiting, []
                    yield connection, waiting
                if self.sealer is not None and self._added:
                    last = self._added[-1]
                    n_more = len(self._added) - self._n_removed
                    self.sealer.move(last.seq, last.hash, n_more, is_durable=is_durable)
        except BaseException:
            with self._waiting_lock:
                self._waiting = (waiting + self._waiting)[-_MAX_WAITING:]
            raise

    def _held(self) -> AbstractContextManager[None]:
        return self.database.held() if isinstance(self.database, LedgerDatabase) else nullcontext()

    def _insert(self, connection: sqlite3.Connection, events: Sequence[_Stamped]) -> list[LedgerRow]:
        if not events and not self._notices:
            return []
        end = chain_end(connection)
        first = self._look(connection, end)
        seq, head = end.seq, end.hash
        next_in_session: dict[str, int] = {}
        rows: list[LedgerRow] = []
        for event, ts_ms in [*first, *events]:
            session = event.session
            if session not in next_in_session:
                next_in_session[session] = _last_in_session(connection, session)
            next_in_session[session] += 1
            seq += 1
            values = _values(event, ts_ms, seq, next_in_session[session], head)
            head = row_hash(values)
            seal = self.sealer.seal(seq, head) if self.sealer is not None else None
            connection.execute(_INSERT, (*values, head, seal))
            rows.append(_new_row(values, head, seal))
        self._added += rows
        self._notices = []
        return rows

    def _look(self, connection: sqlite3.Connection, end: ChainEnd) -> list[_Stamped]:
        """Return the rows that tell of a lost anchor or of tampering, which come before anything else."""
        if self.sealer is None:
            return []
        if self._notices is None:
            found = self.sealer.look(end)
            if self.sealer.is_taking_over and self.sealer.key is not None:
                take_over(connection, self.sealer.key)
            self._notices = [self._stamp(NewEvent(kind, SYSTEM_SESSION, body)) for kind, body in found]
        return self._notices

    def rows(self, wanted: RowFilter) -> tuple[LedgerRow, ...]:
        """Return matching rows, newest first, rows that still wait included."""
        self.flush()
        clauses, values = _conditions(wanted)
        where = f"WHERE {' AND '.join(clauses)}" if clauses else ""
        # The clauses are fixed strings from _conditions; values travel as parameters.
        query = f"SELECT * FROM events {where} ORDER BY seq DESC LIMIT ?"  # noqa: S608
        with self.database.read() as connection:
            return tuple(_shown_row(record) for record in connection.execute(query, (*values, wanted.limit)))

    def rows_after(self, seq: int, limit: int) -> tuple[LedgerRow, ...]:
        """Return committed rows that follow `seq`, oldest first."""
        with self.database.read() as connection:
            records = connection.execute("SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?", (seq, limit))
            return tuple(_shown_row(record) for record in records)

    def counts(self, task_id: str | None, since_ms: int, until_ms: int, part_ms: int) -> dict[tuple[int, str], int]:
        """Return how many rows there are of each kind in each part of a span of time; parts count from 0."""
        self.flush()
        of_task, values = (" AND task_id = ?", [task_id]) if task_id is not None else ("", [])
        # Without a task the index alone can tell.
        query = (
            "SELECT (ts_ms - ?) / ? AS part, kind, COUNT(*) FROM events"  # noqa: S608 - made of constants
            f" WHERE ts_ms >= ? AND ts_ms < ?{of_task} GROUP BY part, kind"
        )
        with self.database.read() as connection:
            found = connection.execute(query, (since_ms, part_ms, since_ms, until_ms, *values))
            return {(int(part), str(kind)): int(count) for part, kind, count in found}

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
        """Return the begun calls that have not ended, oldest first."""
        query = "SELECT e.*, o.owner FROM open_calls o JOIN events e ON e.seq = o.begun_seq ORDER BY e.seq"
        with self.database.read() as connection:
            if connection.execute("SELECT 1 FROM open_calls LIMIT 1").fetchone() is None:
                return ()
            return tuple(
                OpenCall(str(record["call_id"]), str(record["owner"]), row_of_record(record))
                for record in connection.execute(query)
            )

    def verify(self, witnesses: Sequence[Witness] = ()) -> Verification:
        """Recompute every hash and seal and name the first row that does not hold."""
        self.flush()
        return verify_chain(self.database, self.sealer.anchor if self.sealer is not None else None, witnesses)

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
    database = LedgerDatabase(path, LEDGER_SCHEMA, durable=True)
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
    return LedgerDatabase(path, LEDGER_SCHEMA, durable=True), kept


# Made of constants.
_INSERT = f"INSERT INTO events ({', '.join(HASHED_COLUMNS)}, hash, seal) VALUES ({', '.join('?' * 13)})"  # noqa: S608


def _body_text(event: NewEvent) -> str:
    """Return the canonical JSON of a body, refusing what a row cannot carry."""
    names = [event.kind, event.session, event.call_id, event.operation, event.task_id, event.worktree]
    if not all(name is None or name.isascii() for name in names):
        # Lone surrogates, which UTF-8 does not have.
        canonical_bytes(names)
    body = dict(event.body)
    if _is_plain(body):
        # The same text in a fifth of the time: canonical JSON differs in numbers with a fraction and in the order of
        # keys beyond the basic plane only.
        return json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return canonical_text(body)


def _is_plain(value: Any) -> bool:
    """Tell whether a value holds nothing but ASCII texts, small whole numbers, and lists and tables of such."""
    kind = type(value)
    if kind is str:
        # Other texts may hold half a surrogate pair.
        return bool(value.isascii())
    if kind is dict:
        return all(type(key) is str and key.isascii() and _is_plain(item) for key, item in value.items())
    if kind is list:
        return all(map(_is_plain, value))
    return value is None or kind is bool or (kind is int and -_LARGEST < value < _LARGEST)


def _values(event: NewEvent, ts_ms: int, seq: int, session_seq: int, prev_hash: str) -> tuple[Any, ...]:
    """Return a row's values in the order of `HASHED_COLUMNS`."""
    body_text = event.body_text if isinstance(event, _WrittenEvent) else _body_text(event)
    return (
        body_text, event.call_id, event.kind, event.operation, prev_hash, seq, event.session, session_seq,
        event.task_id, ts_ms, event.worktree,
    )  # fmt: skip


def _new_row(values: tuple[Any, ...], own_hash: str, seal: str | None) -> LedgerRow:
    named = dict(zip(HASHED_COLUMNS, values, strict=True))
    named["body"] = json.loads(named["body"])
    return LedgerRow(**named, hash=own_hash, seal=seal)


def row_of_record(record: sqlite3.Row) -> LedgerRow:
    """Return a record of `events` as a row; raises ValueError for a body that is not JSON."""
    values = {name: record[name] for name in LedgerRow.__slots__}
    values["body"] = json.loads(values["body"])
    return LedgerRow(**values)


def _shown_row(record: sqlite3.Row) -> LedgerRow:
    """Return a record as a row for somebody who reads; one that was damaged does not hide all others."""
    try:
        row = row_of_record(record)
    except (ValueError, TypeError, RecursionError):
        row = None
    if row is not None and isinstance(row.body, dict):
        return row
    body = {"error": "CHAIN_BROKEN", "message": "The content of this row is damaged: `cpl ledger verify` says more."}
    return LedgerRow(**{name: record[name] for name in LedgerRow.__slots__} | {"body": body})


def _last_in_session(connection: sqlite3.Connection, session: str) -> int:
    query = "SELECT COALESCE(MAX(session_seq), 0) FROM events WHERE session = ?"
    return int(connection.execute(query, (session,)).fetchone()[0])


def _texts(texts: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else texts or ()


def _conditions(wanted: RowFilter) -> tuple[list[str], list[Any]]:
    pairs = [
        ("operation = ?", wanted.operation),
        ("task_id = ?", wanted.task_id),
        ("session = ?", wanted.session),
        ("call_id = ?", wanted.call_id),
        ("ts_ms >= ?", wanted.since_ms),
        ("ts_ms <= ?", wanted.until_ms),
        ("seq < ?", wanted.before_seq),
        ("seq > (SELECT MAX(seq) FROM events) - ?", wanted.among_newest),
        *(("instr(body, ?)", text) for text in _texts(wanted.body_holds)),
    ]
    clauses = [clause for clause, value in pairs if value is not None]
    values: list[Any] = [value for _, value in pairs if value is not None]
    if wanted.kinds:
        clauses.append(f"kind IN ({', '.join('?' * len(wanted.kinds))})")
        values.extend(wanted.kinds)
    return clauses, values
