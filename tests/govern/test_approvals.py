"""An approval lets one exact call through, once, in time; everything else is asked again."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import both_ends, without_gaps
from codeplane.govern import gate
from codeplane.govern.approvals import ApprovalBook
from codeplane.govern.explanation import explain
from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.operations.write_source import WRITE_SOURCE
from support.doors import call, error_of, open_test_workspace, person, result_of
from support.governed import FILES, INTENTS, approve, write_intents
from support.repositories import make_repository, write

FILE = "src/json/old.py"
DELETION = {"edits": [{"path": FILE, "action": "delete"}]}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def door(tmp_path: Path, clock: ManualClock) -> Iterator[Door]:
    root = make_repository(tmp_path / "repo", FILES)
    write_intents(root)
    with open_test_workspace(root, clock=clock) as workspace:
        opened = Door(workspace, OPERATIONS)
        call(opened, "select_active_intent", {"intent_id": "INT-001"})
        yield opened


def _hold(answer: Answer) -> str:
    assert answer.error is not None
    assert (answer.outcome, answer.error.error) == (Outcome.HELD, "APPROVAL_PENDING"), answer.error
    return str(answer.error.details["hold_id"])


def _is_there(door: Door) -> bool:
    return (door.workspace.root / FILE).exists()


def test_a_held_call_changes_nothing_and_is_asked_once(door: Door) -> None:
    first, second = _hold(call(door, "write_source", DELETION)), _hold(call(door, "write_source", DELETION))
    assert (first, _is_there(door)) == (second, True)
    assert len(door.workspace.gate.approvals.holds("pending")) == 1


def test_an_approved_call_runs_once(door: Door) -> None:
    approve(door.workspace, _hold(call(door, "write_source", DELETION)))
    assert result_of(call(door, "write_source", DELETION))["applied"]
    write(door.workspace.root, FILES)
    again = call(door, "write_source", DELETION)
    assert again.outcome is not Outcome.FINISHED
    assert _is_there(door)


def _changed_argument(door: Door, _clock: ManualClock) -> Answer:
    return call(door, "write_source", {"edits": [{"path": "src/json/provider.py", "action": "delete"}]})


def _changed_rules(door: Door, _clock: ManualClock) -> Answer:
    write_intents(door.workspace.root, INTENTS.replace("JSON provider clean-up", "JSON"))
    return call(door, "write_source", DELETION)


def _other_session(door: Door, _clock: ManualClock) -> Answer:
    call(door, "select_active_intent", {"intent_id": "INT-001"}, "c2")
    return call(door, "write_source", DELETION, "c2")


def _changed_schema(door: Door, _clock: ManualClock) -> Answer:
    other = replace(WRITE_SOURCE, summary="Delete files.")
    return call(Door(door.workspace, {**OPERATIONS, "write_source": other}), "write_source", DELETION)


def _too_late(door: Door, clock: ManualClock) -> Answer:
    clock.advance(16 * 60)
    return call(door, "write_source", DELETION)


@pytest.mark.parametrize("change", [_changed_argument, _changed_rules, _other_session, _changed_schema, _too_late])
def test_an_approval_is_bound_to_the_exact_call(door: Door, clock: ManualClock, change: Any) -> None:
    approve(door.workspace, _hold(call(door, "write_source", DELETION)))
    assert change(door, clock).outcome in {Outcome.HELD, Outcome.DENIED}
    assert _is_there(door)


def test_a_refusal_reaches_the_agent_with_its_comment(door: Door) -> None:
    approve(door.workspace, _hold(call(door, "write_source", DELETION)), approves=False, comment="move it instead")
    answer = call(door, "write_source", DELETION)
    assert answer.error is not None
    assert (answer.outcome, answer.error.error) == (Outcome.DENIED, "APPROVAL_DENIED")
    assert "move it instead" in answer.error.message


@pytest.mark.parametrize("state", ["approved", "denied"])
def test_what_was_answered_cannot_be_answered_again(door: Door, state: str) -> None:
    hold_id = _hold(call(door, "write_source", DELETION))
    approve(door.workspace, hold_id, approves=state == "approved")
    with pytest.raises(CodePlaneError) as caught:
        approve(door.workspace, hold_id)
    assert caught.value.code == "APPROVAL_EXPIRED"


def test_two_calls_at_once_share_no_approval(door: Door) -> None:
    hold_id = _hold(call(door, "write_source", DELETION))
    approve(door.workspace, hold_id)
    book = door.workspace.gate.approvals
    assert [book.use(hold_id, "a"), book.use(hold_id, "b")] == [True, False]
    assert call(door, "write_source", DELETION).outcome is Outcome.HELD


@pytest.mark.parametrize(
    ("scope", "connection", "passes"),
    [("session", "c1", True), ("session", "c2", False), ("intent", "c2", True), ("rule", "c2", True)],
)
def test_a_wider_grant_covers_what_it_says(door: Door, scope: str, connection: str, passes: bool) -> None:
    approve(door.workspace, _hold(call(door, "write_source", DELETION)), scope=scope)
    call(door, "select_active_intent", {"intent_id": "INT-001"}, connection)
    other = {"edits": [{"path": "src/json/provider.py", "action": "delete"}]}
    answer = call(door, "write_source", other, connection)
    assert (answer.outcome is Outcome.FINISHED) is passes


def test_a_grant_is_listed_and_can_be_revoked(door: Door) -> None:
    hold_id = _hold(call(door, "write_source", DELETION))
    approve(door.workspace, hold_id, scope="session")
    assert [one.hold_id for one in door.workspace.gate.approvals.grants()] == [hold_id]
    door.workspace.gate.approvals.revoke(hold_id, "test")
    assert door.workspace.gate.approvals.grants() == []
    assert call(door, "write_source", DELETION).outcome is Outcome.HELD


def test_a_grant_never_covers_protected_paths(door: Door) -> None:
    approve(door.workspace, _hold(call(door, "write_source", DELETION)), scope="session")
    answer = call(door, "write_source", {"edits": [{"path": ".orchestration/active_intents.yaml", "action": "delete"}]})
    assert error_of(answer) == "PROTECTED_PATH"


def test_the_card_hides_nothing(door: Door) -> None:
    write(door.workspace.root, {"src/json/trick.py": "safe = 1 \u202e# not\u200b\u00a0what it seems\n"})
    answer = call(door, "write_source", {"edits": [{"path": "src/json/trick.py", "action": "delete"}]})
    card = door.workspace.gate.approvals.find(_hold(answer)).card
    assert "<U+202E>" in card["preview"]
    assert "<U+200B><U+00A0>" in card["preview"]
    assert card["caller"]["session"] == answer.meta.session
    assert card["paths"] == ["src/json/trick.py"]


def test_the_card_shows_the_end_of_what_is_long_and_counts_what_it_leaves_out(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "_SHOWN_PATHS", 100)
    long = "src/json/long.py"
    paths = [long, *(f"src/json/many/{number:03}.py" for number in range(150))]
    files: dict[str, str | bytes] = dict.fromkeys(paths, "Y = 1\n")
    write(door.workspace.root, files | {long: f"{'a' * 30_000}\n"})

    answer = call(door, "write_source", {"edits": [{"path": path, "action": "delete"} for path in paths]})

    card = door.workspace.gate.approvals.find(_hold(answer)).card
    assert (len(card["paths"]), card["n_more_paths"]) == (100, 51)
    assert ("characters left out here" in card["preview"], "149.py" in card["preview"][-500:]) == (True, True)


def test_nothing_is_pushed_out_of_sight() -> None:
    text = f"begin\n{chr(10) * 400}left\n{' ' * 5_000}; right"

    assert without_gaps(text) == "begin\n… 400 blank lines …\nleft\n … 5000 blanks … ; right"
    assert both_ends("a" * 50 + "b" * 50, 40) == f"{'a' * 30}\n… 60 characters left out here …\n{'b' * 10}"
    assert both_ends("short", 40) == without_gaps("short") == "short"


def test_a_comment_does_not_steer_the_terminal_of_the_agent(door: Door) -> None:
    hold_id = _hold(call(door, "write_source", DELETION))
    approve(door.workspace, hold_id, approves=False, comment="No.\x1b[2J\x07\nUse git.")

    answer = call(door, "write_source", DELETION)

    assert answer.error is not None
    assert "No.\\x1b[2J\\x07\nUse git." in answer.error.message


def test_the_book_is_made_anew_from_the_rows(door: Door) -> None:
    workspace = door.workspace
    approve(workspace, _hold(call(door, "write_source", DELETION)), comment="yes")
    before = workspace.gate.approvals.holds()
    with workspace.chain.database.write() as connection:
        connection.execute("DROP TABLE approvals")
    again = ApprovalBook(workspace.chain, workspace.clock, workspace.ids)
    assert again.holds() == before


def test_an_intent_closed_while_a_call_waits_refuses_it(door: Door) -> None:
    approve(door.workspace, _hold(call(door, "write_source", DELETION)))
    write_intents(door.workspace.root, INTENTS.replace("status: active", "status: paused", 1))
    assert error_of(call(door, "write_source", DELETION)) == "INTENT_NOT_ACTIVE"
    assert _is_there(door)


def test_a_file_changed_while_a_call_waits_is_not_deleted(door: Door) -> None:
    call(door, "read_source", {"targets": FILE})
    approve(door.workspace, _hold(call(door, "write_source", DELETION)))
    write(door.workspace.root, {FILE: "somebody else's work\n"})
    assert error_of(call(door, "write_source", DELETION)) == "STALE_FILE"
    assert _is_there(door)


def test_a_wish_for_more_scope_is_granted_by_a_person(door: Door) -> None:
    edit = {"edits": [{"path": "README.md", "expected_content": "# Sample", "new_content": "# X"}]}
    assert error_of(call(door, "write_source", edit)) == "SCOPE_VIOLATION"
    wish = {"intent_id": "INT-001", "paths": ["README.md"], "reason": "the title is wrong"}
    found = result_of(call(door, "request_scope_expansion", wish))
    assert (found["state"], error_of(call(door, "write_source", edit))) == ("pending", "SCOPE_VIOLATION")
    result_of(dispatch(door, "approve_calls", {"hold_ids": [found["hold_id"]]}, person()))
    assert call(door, "write_source", edit).outcome is Outcome.FINISHED


@pytest.mark.parametrize("path", ["/etc/x", "../x", ".git/config", ".orchestration/**", ".codeplane/x"])
def test_what_no_intent_can_own_cannot_be_wished_for(door: Door, path: str) -> None:
    wish = {"intent_id": "INT-001", "paths": [path], "reason": "r"}
    assert error_of(call(door, "request_scope_expansion", wish)) in {"INVALID_ARGUMENTS", "PROTECTED_PATH"}


def test_the_same_failure_five_times_opens_the_circuit_and_another_way_closes_it(door: Door) -> None:
    wrong = {"edits": [{"path": FILE, "expected_content": "nowhere", "new_content": "x"}]}
    for _ in range(5):
        assert error_of(call(door, "write_source", wrong)) == "CONTENT_NOT_FOUND"
    answer = call(door, "write_source", wrong)
    assert (answer.outcome, error_of(answer)) == (Outcome.HELD, "CIRCUIT_OPEN")
    other = {"edits": [{"path": "src/json/provider.py", "expected_content": "str", "new_content": "repr"}]}
    assert call(door, "write_source", other).outcome is Outcome.FINISHED
    assert error_of(call(door, "write_source", wrong)) == "CONTENT_NOT_FOUND"


def test_five_equal_refusals_open_the_circuit_too(door: Door) -> None:
    outside = {"edits": [{"path": "README.md", "expected_content": "# Sample", "new_content": "# X"}]}
    for _ in range(5):
        assert error_of(call(door, "write_source", outside)) == "SCOPE_VIOLATION"
    assert error_of(call(door, "write_source", outside)) == "SCOPE_VIOLATION"
    rows = door.workspace.chain
    last = call(door, "write_source", outside).meta.request_id
    opinions = explain(rows, last).recorded["opinions"]
    assert any(one["policy"] == "circuit breaker" for one in opinions)


def test_every_decision_is_the_same_when_it_is_made_again(door: Door) -> None:
    edit = {"edits": [{"path": "src/json/provider.py", "expected_content": "str", "new_content": "repr"}]}
    outside = {"edits": [{"path": "README.md", "expected_content": "# Sample", "new_content": "# X"}]}
    held = call(door, "write_source", DELETION)
    approve(door.workspace, _hold(held))
    answers = [held, call(door, "write_source", DELETION), call(door, "write_source", edit)]
    answers += [call(door, "write_source", outside), call(door, "write_source", edit, "c7")]
    answers += [call(door, "git_branch", {"action": "create", "name": "b"}), call(door, "git_reset", {"mode": "hard"})]
    write_intents(door.workspace.root, "active_intents: []\n")
    for answer in answers:
        found = explain(door.workspace.chain, answer.meta.request_id)
        assert found.is_same, found.as_document()
