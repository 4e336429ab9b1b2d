"""What agents do wrong again and again becomes a memory, through the real door."""

import json
import sqlite3

from codeplane.operations.perform import Door
from support.doors import call, error_of

WRONG = {"path": "src/app.py", "old": "no such line", "new": "x"}


def _edit(door: Door, old: str, connection: str = "c1", path: str = "src/app.py") -> str:
    answer = call(door, "write_source", {"edits": [{"path": path, "old": old, "new": "x = 1"}]}, connection)
    return error_of(answer) if answer.error is not None else "OK"


def _rows(door: Door, table: str) -> list[sqlite3.Row]:
    with door.workspace.memory.read() as connection:
        return connection.execute(f"SELECT * FROM {table}").fetchall()


def test_the_same_mistake_three_times_makes_a_candidate(door: Door) -> None:
    assert [_edit(door, f"no such line {n}") for n in range(3)] == ["CONTENT_NOT_FOUND"] * 3
    (memory,) = _rows(door, "memory_records")
    assert (memory["state"], memory["enforcement_type"]) == ("pending", "few_shot")
    assert json.loads(memory["domain_anchor_ids"]) == ["anchor:src"]
    assert memory["note"].startswith("write_source failed 3 times in src (CONTENT_NOT_FOUND).")
    assert "src/app.py" in json.loads(memory["few_shot"])["before"]
    assert [row["rejection_count"] for row in _rows(door, "friction_ledger")] == [1, 2, 3]
