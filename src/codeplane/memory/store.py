"""`memory.db`: reading, and writing in one transaction that redacts, seals and names every protected row."""

import hashlib
import hmac
import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from codeplane.core.canonical_json import digest
from codeplane.core.clock import Clock, iso_from_ms
from codeplane.core.errors import CodePlaneError
from codeplane.core.redaction import redact
from codeplane.memory.schema import MEMORY_SCHEMA, PROTECTED
from codeplane.store.sqlite import Database

_NOTES = "notes "
_SEAL_COLUMNS = frozenset({"row_hash", "seal"})


class Signs(Protocol):
    """The key of this repository's ledger."""

    @property
    def key_id(self) -> str:
        """Return what tells this key from another one."""
        ...

    def sign(self, label: str, text: str) -> str:
        """Return the signature of a text in hexadecimal."""
        ...


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a row comes from: the working tree, its branch and HEAD, and the session that wrote it."""

    worktree: str = "main"
    branch: str = ""
    commit_id: str = ""
    session: str = ""
    author: str = ""


@dataclass(slots=True)
class Writing:
    """One transaction of the store.

    Invariant: every row that it inserts or updates in a protected table has a hash over its protected columns and a
    seal over the hash; `noted` lists them as `[table, key, hash, generation]` for the ledger, with None for a deleted
    row. The store keeps a sealed copy of `noted` until the ledger has it.
    """

    connection: sqlite3.Connection
    now_ms: int
    signer: Signs | None
    origin: Origin
    generation: int
    noted: list[list[Any]] = field(default_factory=list)

    @property
    def now(self) -> str:
        """Return the time of this transaction in ISO form."""
        return iso_from_ms(self.now_ms)

    def insert(self, table: str, **values: Any) -> int:
        """Insert a row, secrets redacted, and return its key."""
        values = _redacted(values)
        columns = ", ".join(values)
        marks = ", ".join("?" * len(values))
        statement = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 - names come from the code.
        key = int(self.connection.execute(statement, tuple(values.values())).lastrowid or 0)
        self._seal(table, key)
        return key

    def update(self, table: str, key: int, **values: Any) -> None:
        """Change columns of a row, secrets redacted."""
        values = _redacted(values)
        changes = ", ".join(f"{name} = ?" for name in values)
        statement = f"UPDATE {table} SET {changes} WHERE {PROTECTED[table].key} = ?"  # noqa: S608 - as above.
        self.connection.execute(statement, (*values.values(), key))
        if not PROTECTED[table].derived.issuperset(values):
            self._seal(table, key)

    def delete(self, table: str, key: int) -> None:
        """Delete a row; the ledger keeps that it existed."""
        self.connection.execute(f"DELETE FROM {table} WHERE {PROTECTED[table].key} = ?", (key,))  # noqa: S608 - as above.
        self.noted.append([table, key, None, self.generation])

    def log(self, event_type: str, details: str = "{}") -> None:
        """Add a line to the activity log."""
        self.connection.execute(
            "INSERT INTO activity_log (timestamp, event_type, session_id, details) VALUES (?, ?, ?, ?)",
            (self.now_ms, event_type, self.origin.session, redact(details)),
        )

    def _seal(self, table: str, key: int) -> None:
        if table not in PROTECTED:
            return
        name = PROTECTED[table].key
        row = self.connection.execute(f"SELECT * FROM {table} WHERE {name} = ?", (key,)).fetchone()  # noqa: S608 - as above.
        row_hash = hash_of_row(table, row)
        seal = seal_of(self.signer, table, key, row_hash) if self.signer is not None else None
        self.connection.execute(
            f"UPDATE {table} SET row_hash = ?, seal = ? WHERE {name} = ?",  # noqa: S608 - as above.
            (row_hash, seal, key),
        )
        self.noted = [one for one in self.noted if one[:2] != [table, key]]
        self.noted.append([table, key, row_hash, self.generation])


class MemoryStore:
    """The rows of one repository, or of the user for all repositories.

    Invariant: one transaction per call; `generation` grows with every transaction that wrote.
    """

    def __init__(self, path: Path, clock: Clock, signer: Signs | None) -> None:
        self.path = path
        self.signer = signer
        self._clock = clock
        self._accessed: Counter[int] = Counter()
        self._accessed_lock = threading.Lock()
        self._in_ledger: set[int] = set()
        self.database = Database(path, MEMORY_SCHEMA, durable=True)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that sees one state of the store."""
        with self.database.read() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")

    @contextmanager
    def write(self, origin: Origin | None = None) -> Iterator[Writing]:
        """Give one transaction; an exception rolls it back."""
        with self.database.write() as connection:
            generation = generation_of(connection) + 1
            writing = Writing(connection, self._clock.now_ms(), self.signer, origin or Origin(), generation)
            yield writing
            self._count_accesses(writing)
            self._keep_notes(writing)
            connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")

    def generation(self) -> int:
        """Return how many transactions have written."""
        with self.read() as connection:
            return generation_of(connection)

    def note_access(self, keys: Iterable[int]) -> None:
        """Remember that experiences were read; the next transaction counts them, so reads never write."""
        with self._accessed_lock:
            self._accessed.update(keys)

    def _count_accesses(self, writing: Writing) -> None:
        with self._accessed_lock:
            accessed, self._accessed = self._accessed, Counter()
        rows = [(n, writing.now_ms, key) for key, n in sorted(accessed.items())]
        writing.connection.executemany(
            "UPDATE experiences SET access_count = access_count + ?, last_accessed_at = ? WHERE id = ?", rows
        )

    def note_recorded(self, noted: Iterable[Sequence[Any]]) -> None:
        """Remember that the ledger has these notes durably; the next transaction drops the copies."""
        with self._accessed_lock:
            self._in_ledger.update(int(note[3]) for note in noted)

    def _keep_notes(self, writing: Writing) -> None:
        """Keep what the ledger is about to learn, because the process may end before it does."""
        with self._accessed_lock:
            recorded, self._in_ledger = self._in_ledger, set()
        names = [(f"{_NOTES}{generation}",) for generation in sorted(recorded)]
        writing.connection.executemany("DELETE FROM meta WHERE key = ?", names)
        if writing.noted and self.signer is not None:
            text = json.dumps(writing.noted)
            kept = json.dumps([text, self.signer.sign("memory notes", text)])
            writing.connection.execute("INSERT INTO meta VALUES (?, ?)", (f"{_NOTES}{writing.generation}", kept))

    def close(self) -> None:
        """Close the file."""
        if self._accessed or self._in_ledger:
            with suppress(CodePlaneError), self.write():
                pass
        self.database.close()


def generation_of(connection: sqlite3.Connection) -> int:
    """Return how many transactions had written in the state that a connection sees."""
    return int(connection.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()[0])


def kept_notes(connection: sqlite3.Connection, signer: Signs | None) -> list[list[Any]]:
    """Return what was written and may not be in the ledger; copies without our signature count for nothing."""
    found: list[list[Any]] = []
    for row in connection.execute("SELECT value FROM meta WHERE key GLOB ? ORDER BY key", (f"{_NOTES}*",)):
        with suppress(ValueError, TypeError):
            text, signature = json.loads(row[0])
            if signer is not None and hmac.compare_digest(signer.sign("memory notes", text), signature):
                found += json.loads(text)
    return found


def protected_values(table: str, row: sqlite3.Row) -> dict[str, Any]:
    """Return the columns of a row that its hash covers."""
    derived = PROTECTED[table].derived | _SEAL_COLUMNS
    return {name: row[name] for name in row.keys() if name not in derived}  # noqa: SIM118 - a Row iterates values.


def hash_of_row(table: str, row: sqlite3.Row) -> str:
    """Return the hash over the protected columns."""
    return digest({"table": table, "row": protected_values(table, row)})


def seal_of(signer: Signs, table: str, key: int, row_hash: str) -> str:
    """Return the seal of a row: the key's id and its signature."""
    return f"{signer.key_id}:{signer.sign('memory', f'{table} {key} {row_hash}')}"


def is_sealed_by(signer: Signs, table: str, key: int, row: sqlite3.Row) -> bool:
    """Tell whether a row's seal was made with this key for this content."""
    expected = seal_of(signer, table, key, hash_of_row(table, row))
    return hmac.compare_digest(str(row["seal"] or "").encode(), expected.encode())


def text_hash(*parts: str) -> str:
    """Return one hash over several texts."""
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _redacted(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: redact(value) if isinstance(value, str) else value for name, value in values.items()}
