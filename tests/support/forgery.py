"""What somebody does who can write `ledger.db` but has not got the key."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from codeplane.ledger.row_hash import HASHED_COLUMNS, row_hash
from codeplane.ledger.seals import row_sealer, seal_key
from codeplane.workspace.workspace import Workspace

Seal = Callable[[int, str], str | None]
STRANGER = seal_key(b"s" * 32)


def change(workspace: Workspace, statement: str, *values: object) -> int:
    """Change the database behind CodePlane's back; return how many rows that met."""
    with closing(sqlite3.connect(workspace.places.ledger)) as connection, connection:
        return connection.execute(statement, values).rowcount


def append(workspace: Workspace, seal: Seal, row: Mapping[str, Any]) -> None:
    """Append a row that follows the last one, with a seal of the forger's own making."""
    with closing(sqlite3.connect(workspace.places.ledger)) as connection, connection:
        seq, head = connection.execute("SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1").fetchone()
        session = row.get("session", "system")
        query = "SELECT COALESCE(MAX(session_seq), 0) + 1 FROM events WHERE session = ?"
        number = connection.execute(query, (session,)).fetchone()[0]
        named = {"call_id": None, "operation": None, "task_id": None, "worktree": "main", **row, "session": session}
        named |= {"seq": seq + 1, "session_seq": number, "prev_hash": head, "ts_ms": workspace.clock.now_ms()}
        named["body"] = json.dumps(row["body"], sort_keys=True, separators=(",", ":"))
        values = tuple(named[name] for name in HASHED_COLUMNS)
        own = row_hash(values)
        names = ", ".join((*HASHED_COLUMNS, "hash", "seal"))
        marks = ", ".join("?" * 13)
        connection.execute(f"INSERT INTO events ({names}) VALUES ({marks})", (*values, own, seal(seq + 1, own)))


def seals(workspace: Workspace) -> dict[str, Seal]:
    """Return the seals that a forger can put on a row."""
    return {
        "no seal": lambda _seq, _hash: None,
        "a wrong seal": lambda _seq, _hash: f"{_own_key_id(workspace)}:{'0' * 64}",
        "another key": row_sealer(STRANGER, workspace.repo_id).seal,
        "the seal of the row before": lambda seq, _hash: _seal_of(workspace, seq - 1),
    }


def _own_key_id(workspace: Workspace) -> str:
    return _seal_of(workspace, 1).partition(":")[0]


def _seal_of(workspace: Workspace, seq: int) -> str:
    with closing(sqlite3.connect(workspace.places.ledger)) as connection:
        return str(connection.execute("SELECT seal FROM events WHERE seq = ?", (seq,)).fetchone()[0])
