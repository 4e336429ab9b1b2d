"""Answers: the same bytes for the same question, short by default, with every promised field."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from codeplane.operations.perform import Door
from support.doors import call, door_with, open_test_workspace
from support.repositories import write

QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("describe", {}),
    ("describe", {"action": "tool", "name": "read_source"}),
    ("describe", {"action": "error", "name": "STALE_FILE"}),
    ("list_files", {}),
    ("list_files", {"pattern": "*.py"}),
    ("list_files", {"limit": 1}),
    ("read_source", {"targets": ["src/app.py", "docs/guide.md:1-2", "missing.py"]}),
    ("read_source", {"targets": ["big.txt"]}),
    ("read_source", {"targest": 1}),
    ("read_file_full", {"path": "src/app.py"}),
    ("read_file_full", {"path": "src/app.py", "confirm": True}),
    ("read_file_full", {"path": "../x"}),
    ("reset_budget", {}),
    ("call", {"operation": "list_files", "path": "docs"}),
    ("nothing", {}),
]


def _envelopes(repo: Path) -> list[str]:
    shutil.rmtree(repo / ".codeplane", ignore_errors=True)
    with open_test_workspace(repo) as workspace:
        door = door_with(workspace)
        return [call(door, name, arguments).envelope_text() for name, arguments in QUESTIONS]


def test_the_same_questions_get_the_same_bytes_in_a_fresh_workspace(repo: Path) -> None:
    write(repo, {"big.txt": "line\n" * 5000})
    assert _envelopes(repo) == _envelopes(repo)


@pytest.mark.parametrize(("name", "arguments"), QUESTIONS, ids=[str(i) for i in range(len(QUESTIONS))])
def test_a_default_answer_is_short(door: Door, name: str, arguments: dict[str, Any]) -> None:
    write(door.workspace.root, {"big.txt": f"{'a line of ordinary length, as in most source files':70}\n" * 5000})
    write(door.workspace.root, {f"module_with_a_long_name_{i:04d}.py": "" for i in range(400)})
    assert len(call(door, name, arguments).text().encode()) < 9_000


@pytest.mark.parametrize(("name", "arguments"), QUESTIONS, ids=[str(i) for i in range(len(QUESTIONS))])
def test_every_envelope_has_its_promised_fields(door: Door, name: str, arguments: dict[str, Any]) -> None:
    envelope = json.loads(call(door, name, arguments).envelope_text())
    assert envelope["_session"] == envelope["meta"]
    assert set(envelope["meta"]) == {
        "session_id", "request_id", "timestamp_ms", "task_id", "task_state", "index_epoch", "complete", "incomplete",
        "warnings", "understood",
    }  # fmt: skip
    if "result" not in envelope:
        assert set(envelope) - {"meta", "_session"} == {
            "code", "error", "message", "retryable", "details", "required_action", "error_code", "recoverable",
            "suggestion",
        }  # fmt: skip
        assert envelope["error"] == envelope["error_code"]
        assert envelope["required_action"] == envelope["suggestion"]


def test_reset_budget_tells_what_was_used(door: Door) -> None:
    call(door, "read_source", {"targets": ["docs/guide.md"]})
    assert call(door, "reset_budget").text() == "Read budget reset: 14 bytes had been read, 4000000 are available."
