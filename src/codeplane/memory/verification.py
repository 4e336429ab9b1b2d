"""Whether anybody changed memory behind our back: every protected row against its hash, its seal and the ledger.

The ledger names every row that was ever written, with its hash. So an edit, a deleted row, a cut tail and a row that
was put back in an older form are found; a new hash without the key is found by the seal.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from codeplane.memory.schema import PROTECTED
from codeplane.memory.store import Signs, hash_of_row, is_sealed_by

RowName = tuple[str, int]


@dataclass(frozen=True, slots=True)
class MemoryVerdict:
    """What was found: problems name the row; notes are no accusation."""

    rows: int
    problems: tuple[str, ...]
    notes: tuple[str, ...]


def written_rows(noted: Iterable[Iterable[Any]]) -> dict[RowName, str | None]:
    """Return the newest hash of every row that was noted, oldest entry first; None for a deleted row.

    Processes may reach the ledger in another order than they wrote, so the generation decides; old notes have none.
    """
    found: dict[RowName, tuple[int, str | None]] = {}
    for table, key, row_hash, *generations in noted:
        name, generation = (str(table), int(key)), int(generations[0]) if generations else 0
        if generation >= found.get(name, (0, None))[0]:
            found[name] = generation, row_hash
    return {name: row_hash for name, (_, row_hash) in found.items()}


def verify_rows(
    connection: sqlite3.Connection, signer: Signs | None, recorded: Mapping[RowName, str | None]
) -> MemoryVerdict:
    """Compare every row of every protected table."""
    problems: list[str] = []
    seen: set[RowName] = set()
    n_unrecorded = 0
    for table, protected in PROTECTED.items():
        for row in connection.execute(f"SELECT * FROM {table} ORDER BY {protected.key}"):  # noqa: S608 - constants.
            name = (table, int(row[protected.key]))
            seen.add(name)
            problem = _problem(row, name, signer, recorded)
            if problem:
                problems.append(f"{table} {name[1]} {problem}")
            n_unrecorded += name not in recorded
    missing = sorted(name for name, row_hash in recorded.items() if row_hash is not None and name not in seen)
    problems += [f"{table} {key} was deleted" for table, key in missing]
    problems += _derived_problems(connection)
    notes = []
    if n_unrecorded:
        notes.append(f"{n_unrecorded} sealed rows are not in the ledger: a process ended before it could record them.")
    if signer is None:
        notes.append("Seals were not checked: the key of this repository is missing.")
    return MemoryVerdict(len(seen), tuple(problems), tuple(notes))


def _problem(
    row: sqlite3.Row, name: RowName, signer: Signs | None, recorded: Mapping[RowName, str | None]
) -> str | None:
    table, key = name
    row_hash = hash_of_row(table, row)
    if row_hash != row["row_hash"]:
        return "was changed"
    if signer is not None and not is_sealed_by(signer, table, key, row):
        is_foreign = ":" in str(row["seal"]) and not str(row["seal"]).startswith(f"{signer.key_id}:")
        return "was sealed with another key (another user or home directory)" if is_foreign else "has no valid seal"
    if name not in recorded:
        return None if signer is not None else "is not in the ledger"
    if recorded[name] is None:
        return "was forgotten and is back"
    return None if recorded[name] == row_hash else "is not the version that the ledger names"


def _derived_problems(connection: sqlite3.Connection) -> list[str]:
    """Check what is derived from the rows: full text and places."""
    problems = []
    for table in ("experiences_fts", "cells_fts"):
        try:
            connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")  # noqa: S608 - constants.
        except sqlite3.DatabaseError as error:
            if not error.sqlite_errorname.startswith("SQLITE_CORRUPT"):
                # The check counts as writing: the file is read-only or another process writes.
                continue
            problems.append(f"{table} does not match its rows; `cpl memory repair` rebuilds it")
    wanted = (
        "SELECT value, experiences.id FROM experiences, json_each(paths) UNION"
        " SELECT '::' || value, experiences.id FROM experiences, json_each(symbols)"
    )
    stored = "SELECT place, experience_id FROM experience_places"
    for one, other in ((wanted, stored), (stored, wanted)):
        query = f"SELECT 1 FROM (SELECT * FROM ({one}) EXCEPT SELECT * FROM ({other})) LIMIT 1"  # noqa: S608 - constants.
        if connection.execute(query).fetchone() is not None:
            problems.append("experience_places does not match its rows; `cpl memory repair` rebuilds it")
            break
    return problems
