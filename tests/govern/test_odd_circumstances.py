"""The gate where something is unusual: no commit yet, a clock that jumps, sessions that are gone, large rewrites."""

from pathlib import Path

import pytest

from codeplane.core.clock import ManualClock
from codeplane.ledger.chain import RowFilter
from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, error_of, open_test_workspace
from support.governed import FILES, approve, write_intents
from support.repositories import git, make_repository, write

DELETION = {"edits": [{"path": "src/json/old.py", "action": "delete"}]}


def _hold(answer: Answer) -> str:
    assert answer.error is not None
    return str(answer.error.details["hold_id"])


def test_the_gate_stands_before_the_first_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "repo")
    root = tmp_path / "repo"
    write(root, FILES)
    write_intents(root)
    with open_test_workspace(root) as workspace:
        door = Door(workspace, OPERATIONS)
        edit = {"edits": [{"path": "src/json/old.py", "expected_content": "X = 1", "new_content": "X = 2"}]}
        assert error_of(call(door, "write_source", edit)) == "INTENT_REQUIRED"
        assert error_of(call(door, "git_commit", {"message": "m"})) == "INTENT_REQUIRED"
        call(door, "select_active_intent", {"intent_id": "INT-001"})
        assert call(door, "write_source", edit).outcome is Outcome.FINISHED
        assert error_of(call(door, "write_source", DELETION)) == "APPROVAL_PENDING"


@pytest.mark.parametrize("seconds", [-3_600.0, -86_400.0 * 400, 60.0])
def test_a_clock_that_jumps_loses_no_approval_and_makes_none(tmp_path: Path, seconds: float) -> None:
    root = make_repository(tmp_path / "repo", FILES)
    write_intents(root)
    clock = ManualClock()
    with open_test_workspace(root, clock=clock) as workspace:
        door = Door(workspace, OPERATIONS)
        call(door, "select_active_intent", {"intent_id": "INT-001"})
        hold_id = _hold(call(door, "write_source", DELETION))
        clock.advance(seconds)
        assert call(door, "write_source", DELETION).outcome is Outcome.HELD
        approve(workspace, hold_id)
        assert call(door, "write_source", DELETION).outcome is Outcome.FINISHED


def test_an_approval_for_a_session_that_is_gone_lets_nobody_through(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", FILES)
    write_intents(root)
    with open_test_workspace(root) as workspace:
        door = Door(workspace, OPERATIONS)
        call(door, "select_active_intent", {"intent_id": "INT-001"}, "gone")
        hold_id = _hold(call(door, "write_source", DELETION, "gone"))
        workspace.sessions.forget_connection("gone")
        approve(workspace, hold_id)
        call(door, "select_active_intent", {"intent_id": "INT-001"}, "other")
        assert call(door, "write_source", DELETION, "other").outcome is Outcome.HELD
        assert (root / "src/json/old.py").exists()


def test_a_held_call_and_its_answer_are_events_of_the_chain(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", FILES)
    write_intents(root)
    with open_test_workspace(root) as workspace:
        door = Door(workspace, OPERATIONS)
        call(door, "select_active_intent", {"intent_id": "INT-001"})
        hold_id = _hold(call(door, "write_source", DELETION))
        approve(workspace, hold_id)
        call(door, "write_source", DELETION)
        kinds = ("approval_requested", "held", "approval_decided", "approval_used", "finished")
        rows = [
            row for row in reversed(workspace.chain.rows(RowFilter(kinds=kinds))) if row.operation == "write_source"
        ]
        assert [row.kind for row in rows] == list(kinds)
        assert rows[-1].body["approval"] == hold_id
        assert workspace.chain.verify().first_bad_seq is None


def test_a_large_file_sent_whole_is_answered_with_a_hint(tmp_path: Path) -> None:
    lines = [f"x_{number} = {number}" for number in range(400)]
    root = make_repository(tmp_path / "repo", {"big.py": "\n".join(lines) + "\n"})
    with open_test_workspace(root) as workspace:
        door = Door(workspace, OPERATIONS)
        shown = call(door, "read_source", {"targets": "big.py"}).envelope()["result"]["files"][0]
        lines[7] = "x_7 = 8"
        edit = {"path": "big.py", "expected_file_sha256": shown["file_sha256"], "new_content": "\n".join(lines) + "\n"}
        answer = call(door, "write_source", {"edits": [edit]})
        assert answer.outcome is Outcome.FINISHED
        assert any("was sent whole" in warning for warning in answer.meta.warnings)
