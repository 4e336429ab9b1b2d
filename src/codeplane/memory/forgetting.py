"""Forgetting: rows, full text and what was made of them are gone; the chain keeps that something was forgotten."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from codeplane.memory.experiences import TEXT_FIELDS, newer_versions, row_of
from codeplane.memory.near_duplicates import bands_of, shape_of
from codeplane.memory.store import MemoryStore, Writing

PURGE_DUE = "purge_due"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The rows that are gone, and the four texts of each version, by which copies elsewhere can be recognised."""

    experiences: tuple[int, ...]
    n_rows: int
    texts: tuple[tuple[str, ...], ...]


def forget(writing: Writing, key: int) -> Forgotten:
    """Delete an experience in all its versions, its episodes, and the cells that rest on nothing else.

    Raises:
        CodePlaneError: EXPERIENCE_NOT_FOUND.
    """
    keys = _versions(writing.connection, key)
    rows = [row_of(writing.connection, one) for one in keys]
    texts = tuple(tuple(str(row[name]) for name in TEXT_FIELDS) for row in rows)
    n_before = len(writing.noted)
    episodes = _ids(writing.connection, "SELECT experience_id FROM episodic_experiences WHERE experience_ref IN", keys)
    cells = _ids(writing.connection, "SELECT DISTINCT cell_id FROM cell_evidence WHERE experience_id IN", episodes)
    for one in _ids(writing.connection, "SELECT id FROM cell_evidence WHERE experience_id IN", episodes):
        writing.delete("cell_evidence", one)
    for cell in cells:
        _forget_cell(writing, cell)
    for one in episodes:
        writing.delete("episodic_experiences", one)
    writing.connection.execute(
        f"UPDATE reasoning_sessions SET experience_id = NULL WHERE experience_id IN ({_marks(keys)})",  # noqa: S608 - marks.
        keys,
    )
    for one in reversed(keys):
        writing.connection.execute("DELETE FROM activity_log WHERE json_extract(details, '$.experience') = ?", (one,))
        writing.delete("experiences", one)
    # Removed by `purge`: if the process ends before it, `verify` says so and `repair` completes it.
    writing.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, '1')", (PURGE_DUE,))
    return Forgotten(tuple(keys), len(writing.noted) - n_before, texts)


def purge(store: MemoryStore) -> None:
    """Remove what deleted rows left in the file: full-text segments, free pages, the write-ahead log, backups."""
    with store.write() as writing:
        for table in ("experiences_fts", "cells_fts"):
            writing.connection.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")  # noqa: S608 - constants.
    store.database.compact()
    with store.write() as writing:
        writing.connection.execute("DELETE FROM meta WHERE key = ?", (PURGE_DUE,))
    for backup in backups_of(store.path):
        backup.unlink(missing_ok=True)


def is_purge_due(connection: sqlite3.Connection) -> bool:
    """Tell whether rows were forgotten whose text may still be in the file."""
    return connection.execute("SELECT 1 FROM meta WHERE key = ?", (PURGE_DUE,)).fetchone() is not None


def backups_of(path: Path) -> list[Path]:
    """Return the copies that migrations made."""
    return sorted(path.parent.glob(f"{path.name}.v*.bak"))


def rebuild_derived(store: MemoryStore) -> None:
    """Make everything that is derived from rows again: full text, places and the buckets of near duplicates."""
    with store.write() as writing:
        connection = writing.connection
        for table in ("experiences_fts", "cells_fts"):
            connection.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")  # noqa: S608 - constants.
        connection.execute("DELETE FROM experience_places")
        for value, column in (("value", "paths"), ("'::' || value", "symbols")):
            places = f"SELECT {value}, experiences.id FROM experiences, json_each({column})"  # noqa: S608 - constants.
            connection.execute(f"INSERT OR IGNORE INTO experience_places {places}")
        connection.execute("DELETE FROM experience_bands")
        query = "SELECT id, situation, approach, outcome, reasoning FROM experiences"
        for key, *texts in connection.execute(query).fetchall():
            bands = dict.fromkeys(bands_of(shape_of(" ".join(texts))))
            connection.executemany("INSERT INTO experience_bands VALUES (?, ?)", [(band, key) for band in bands])


def _versions(connection: sqlite3.Connection, key: int) -> list[int]:
    first = key
    while (older := row_of(connection, first)["revision_of"]) is not None:
        first = int(older)
    return [first, *newer_versions(connection, first)]


def _forget_cell(writing: Writing, cell: int) -> None:
    """Delete a cell that has no support left; one that others support is counted again."""
    query = "SELECT COUNT(*) FROM cell_evidence WHERE cell_id = ? AND relation = 'supports'"
    n_left = int(writing.connection.execute(query, (cell,)).fetchone()[0])
    if n_left:
        writing.update("cells", cell, evidence_count=n_left)
        return
    for one in _ids(writing.connection, "SELECT cell_id FROM cells WHERE supersedes_cell_id IN", [cell]):
        writing.update("cells", one, supersedes_cell_id=None)
    for one in _ids(writing.connection, "SELECT id FROM cell_evidence WHERE cell_id IN", [cell]):
        writing.delete("cell_evidence", one)
    writing.delete("cells", cell)


def _ids(connection: sqlite3.Connection, query: str, keys: Iterable[int]) -> list[int]:
    values = list(keys)
    return [int(row[0]) for row in connection.execute(f"{query} ({_marks(values)}) ORDER BY 1", values)]


def _marks(values: list[int]) -> str:
    return ", ".join("?" * len(values))
