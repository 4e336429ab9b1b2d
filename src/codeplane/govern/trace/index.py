"""`trace.db`: all known records by state and by line; derived from the ledger and the file, and made again if lost."""

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from codeplane.govern.trace.lines import as_number, is_distinctive, loose_of
from codeplane.govern.trace.records import ReadRecord, read_record
from codeplane.store.sqlite import Database, Schema

_MANY: Final = 500
SCHEMA: Final = Schema(
    "trace",
    (
        """
        CREATE TABLE sources (name TEXT PRIMARY KEY, position TEXT NOT NULL);
        CREATE TABLE records (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            at TEXT NOT NULL,
            call_id TEXT NOT NULL,
            session TEXT NOT NULL,
            path TEXT NOT NULL,
            before_blob TEXT,
            after_blob TEXT,
            intent TEXT,
            worktree TEXT NOT NULL,
            is_own INTEGER NOT NULL,
            body BLOB NOT NULL
        );
        CREATE INDEX records_by_after ON records (after_blob);
        CREATE INDEX records_by_before ON records (before_blob);
        CREATE INDEX records_by_path ON records (path);
        CREATE INDEX records_by_call ON records (call_id);
        CREATE INDEX records_by_intent ON records (intent);
        CREATE TABLE lines (loose INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (loose, number))
            WITHOUT ROWID;
        """,
    ),
)


@dataclass(frozen=True)
class Entry:
    """One record of the index; `number` is its place in time as far as it is known."""

    number: int
    id: str
    call_id: str
    session: str
    path: str
    before: str | None
    after: str | None
    intent: str | None
    packed_body: bytes

    @property
    def reason(self) -> str | None:
        """Return what allowed the change: its intent, or the node of an accepted plan."""
        node = self.record.ours.get("plan_node") if self.intent is None else None
        return self.intent or (f"plan:{node}" if node else None)

    @cached_property
    def record(self) -> ReadRecord:
        """Return the whole record."""
        found = read_record(json.loads(zlib.decompress(self.packed_body)))
        if found is None:
            raise ValueError("an indexed record cannot be read")
        return found


class TraceIndex:
    """Finds records by the state they left, by the state they found, and by the lines they brought."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, SCHEMA, durable=False)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def position(self, source: str) -> str | None:
        """Return how far a source was read."""
        with self._database.read() as connection:
            found = connection.execute("SELECT position FROM sources WHERE name = ?", (source,)).fetchone()
        return str(found[0]) if found is not None else None

    def add(self, source: str, position: str, bodies: Iterable[dict[str, Any]], *, are_own: bool) -> int:
        """Add records that are not known yet, and note how far the source was read; return how many were new."""
        n_new = 0
        with self._database.write() as connection:
            for body in bodies:
                record = read_record(body)
                n_new += record is not None and _insert(connection, record, are_own=are_own)
            connection.execute("INSERT OR REPLACE INTO sources VALUES (?, ?)", (source, position))
        return n_new

    def count(self) -> int:
        """Return how many records are known."""
        with self._database.read() as connection:
            return int(connection.execute("SELECT COUNT(*) FROM records").fetchone()[0])

    def producer(self, blob: str, before: int | None = None) -> Entry | None:
        """Return the record that first left a file in this state; None when an earlier one found it so already."""
        limit = before if before is not None else 1 << 62
        with self._database.read() as connection:
            query = f"SELECT {_COLUMNS} FROM records WHERE after_blob = ? AND number < ? ORDER BY number LIMIT 1"  # noqa: S608
            found = connection.execute(query, (blob, limit)).fetchone()
            if found is None:
                return None
            query = "SELECT MIN(number) FROM records WHERE before_blob = ?"
            earliest = connection.execute(query, (blob,)).fetchone()[0]
        return Entry(*found) if earliest is None or earliest > found[0] else None

    def first_use(self, blob: str) -> int | None:
        """Return the number of the first record that found a file in this state."""
        with self._database.read() as connection:
            found = connection.execute("SELECT MIN(number) FROM records WHERE before_blob = ?", (blob,)).fetchone()
        return int(found[0]) if found[0] is not None else None

    def knows_state(self, blob: str) -> bool:
        """Tell whether a record left or found a file in this state."""
        query = "SELECT 1 FROM records WHERE after_blob = ? OR before_blob = ? LIMIT 1"
        with self._database.read() as connection:
            return connection.execute(query, (blob, blob)).fetchone() is not None

    def last_at(self, path: str, worktree: str) -> Entry | None:
        """Return the newest record of a path in a working tree."""
        return self._one("path = ? AND worktree = ? ORDER BY number DESC", (path, worktree))

    def entry(self, number: int) -> Entry | None:
        """Return a record by its number."""
        return self._one("number = ?", (number,))

    def by_id(self, record_id: str) -> Entry | None:
        """Return a record by its id."""
        return self._one("id = ?", (record_id,))

    def of_call(self, call_id: str) -> tuple[Entry, ...]:
        """Return the records of a call."""
        return self._all("call_id = ? ORDER BY number", (call_id,))

    def of_path(self, path: str) -> tuple[Entry, ...]:
        """Return the records of a path, oldest first."""
        return self._all("path = ? ORDER BY number", (path,))

    def of_intent(self, intent: str) -> tuple[Entry, ...]:
        """Return the records under an intent, oldest first."""
        return self._all("intent = ? ORDER BY number", (intent,))

    def every(self) -> tuple[Entry, ...]:
        """Return all records, oldest first."""
        return self._all("1 ORDER BY number", ())

    def before_in_session(self, entry: Entry, most: int) -> tuple[Entry, ...]:
        """Return the records of the same session shortly before one."""
        where = "session = ? AND number < ? AND number >= ? ORDER BY number DESC"
        return self._all(where, (entry.session, entry.number, entry.number - most))

    def introductions(self, loose: Sequence[bytes], before: int | None = None) -> dict[bytes, list[int]]:
        """Return which records brought lines like these, oldest first."""
        limit = before if before is not None else 1 << 62
        wanted = {as_number(one): one for one in loose}
        found: dict[bytes, list[int]] = {}
        numbers = list(wanted)
        with self._database.read() as connection:
            for start in range(0, len(numbers), _MANY):
                part = numbers[start : start + _MANY]
                marks = ",".join("?" * len(part))
                query = f"SELECT loose, number FROM lines WHERE loose IN ({marks}) AND number < ? ORDER BY number"  # noqa: S608
                for number, record in connection.execute(query, (*part, limit)):
                    found.setdefault(wanted[number], []).append(record)
        return found

    def _one(self, where: str, values: tuple[Any, ...]) -> Entry | None:
        return next(iter(self._all(f"{where} LIMIT 1", values)), None)

    def _all(self, where: str, values: tuple[Any, ...]) -> tuple[Entry, ...]:
        # The conditions are fixed texts of this module; values travel as parameters.
        query = f"SELECT {_COLUMNS} FROM records WHERE {where}"  # noqa: S608
        with self._database.read() as connection:
            return tuple(Entry(*found) for found in connection.execute(query, values))


_COLUMNS: Final = "number, id, call_id, session, path, before_blob, after_blob, intent, body"


def _insert(connection: sqlite3.Connection, record: ReadRecord, *, are_own: bool) -> bool:
    ours = record.ours
    values = (
        record.id, record.timestamp, ours.get("call_id", ""), ours.get("session", ""), record.path,
        ours.get("before_blob"), ours.get("after_blob"), ours.get("intent_id"), ours.get("worktree", ""), are_own,
        zlib.compress(json.dumps(record.body).encode(), 1),
    )  # fmt: skip
    query = (
        "INSERT OR IGNORE INTO records (id, at, call_id, session, path, before_blob, after_blob, intent, worktree,"
        " is_own, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    cursor = connection.execute(query, values)
    if not cursor.rowcount:
        return False
    rows = ((as_number(loose), cursor.lastrowid) for loose in _distinctive(record))
    connection.executemany("INSERT OR IGNORE INTO lines VALUES (?, ?)", rows)
    return True


def _distinctive(record: ReadRecord) -> Iterator[bytes]:
    for hunk in record.hunks():
        for key in hunk.keys:
            loose = loose_of(key)
            if is_distinctive(loose):
                yield loose
