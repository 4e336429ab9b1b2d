"""What only a person may do is refused to agents, whatever way they try."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.ids import RandomIds
from codeplane.operations.answer import Outcome
from codeplane.operations.cards import cards_of
from codeplane.operations.catalog import COMMANDS, OPERATIONS, TOOLS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.operation import Audience
from codeplane.operations.perform import Door
from support.doors import call, caller, error_of, open_test_workspace, person, result_of
from support.governed import FILES, write_intents
from support.repositories import make_repository

FOR_PERSONS = [name for name in OPERATIONS if OPERATIONS[name].audience is Audience.PERSON]
DELETION = {"edits": [{"path": "src/json/old.py", "action": "delete"}]}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    """Return the door of people in a repository where a call waits for an approval."""
    root = make_repository(tmp_path / "repo", FILES)
    write_intents(root)
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        opened = Door(workspace, OPERATIONS)
        call(opened, "select_active_intent", {"intent_id": "INT-001"})
        yield opened


def _hold(door: Door) -> str:
    answer = call(door, "write_source", DELETION)
    assert answer.error is not None
    return str(answer.error.details["hold_id"])


def _arguments(name: str, hold_id: str) -> dict[str, Any]:
    (example, *_) = OPERATIONS[name].examples
    filled = {"hold_id": hold_id, "hold_ids": [hold_id], "intent_id": "INT-001", "mode": "off"}
    return {key: filled.get(key, value) for key, value in example.params.items()}


def test_audiences_are_those_of_the_catalog() -> None:
    assert {name for name in OPERATIONS if OPERATIONS[name].audience is Audience.AGENT} == set(TOOLS)
    assert set(COMMANDS) >= set(OPERATIONS) - set(TOOLS)


def test_cards_show_agents_their_own_tools_only() -> None:
    assert {card["name"] for card in cards_of(OPERATIONS)} == set(TOOLS)


@pytest.mark.parametrize("name", FOR_PERSONS)
def test_an_agent_is_refused_and_the_answer_says_what_for(door: Door, name: str) -> None:
    hold_id = _hold(door)
    intents = (door.workspace.root / ".orchestration/active_intents.yaml").read_bytes()
    answer = dispatch(door, name, _arguments(name, hold_id), caller())
    assert answer.error is not None
    assert (answer.outcome, answer.error.error) == (Outcome.DENIED, "OPERATOR_TOKEN_REQUIRED")
    assert answer.error.message.startswith("Only a person can ")
    assert answer.error.message != "Only a person can do this."
    assert door.workspace.gate.approvals.find(hold_id).state == "pending"
    assert (door.workspace.root / ".orchestration/active_intents.yaml").read_bytes() == intents


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - set(TOOLS)))
def test_the_tools_of_agents_reach_no_operation_for_people(door: Door, name: str) -> None:
    tools = Door(door.workspace, TOOLS)
    arguments = _arguments(name, "hold_none")
    assert error_of(dispatch(tools, name, arguments, caller())) == "UNKNOWN_OPERATION"
    assert error_of(dispatch(tools, "call", {"operation": name, "arguments": arguments}, person())) == (
        "UNKNOWN_OPERATION"
    )


@pytest.mark.parametrize(
    "program",
    [
        "approve_calls(hold_ids=['{hold}'])",
        "call('approve_calls', {'hold_ids': ['{hold}']})",
        "call(operation='approve_calls', arguments={'hold_ids': ['{hold}']})",
    ],
)
def test_a_program_does_not_approve(door: Door, program: str) -> None:
    hold_id = _hold(door)
    dispatch(Door(door.workspace, TOOLS), "run", {"program": program.replace("{hold}", hold_id)}, caller())
    assert door.workspace.gate.approvals.find(hold_id).state == "pending"


@pytest.mark.parametrize(
    "claims",
    [{"proof": "terminal"}, {"caller": "person"}, {"kind": "person"}, {"by": "me"}, {"audience": "person"}],
    ids=str,
)
def test_no_argument_makes_an_agent_a_person(door: Door, claims: dict[str, str]) -> None:
    hold_id = _hold(door)
    answer = dispatch(door, "approve_calls", {"hold_ids": [hold_id], **claims}, caller())
    assert answer.is_error
    assert door.workspace.gate.approvals.find(hold_id).state == "pending"


def test_a_proof_without_being_a_person_is_worth_nothing(door: Door) -> None:
    hold_id = _hold(door)
    forged = Caller(CallerKind.AGENT, "rest", "c9", "curl", proof="operator token over REST")
    assert error_of(dispatch(door, "approve_calls", {"hold_ids": [hold_id]}, forged)) == "OPERATOR_TOKEN_REQUIRED"


def test_a_person_answers_and_the_record_says_how(door: Door) -> None:
    hold_id = _hold(door)
    (answered,) = result_of(dispatch(door, "approve_calls", {"hold_ids": [hold_id]}, person()))["results"]
    assert (answered["state"], answered["decided_by"]) == ("approved", "test")


def test_limits_above_the_settings_need_a_person_and_others_do_not(door: Door) -> None:
    assert error_of(dispatch(door, "open_task", {"max_mutations": 501}, caller())) == "OPERATOR_TOKEN_REQUIRED"
    assert result_of(dispatch(door, "open_task", {"max_mutations": 7}, caller()))["limits"]["max_mutations"] == 7


def test_only_a_person_closes_the_task_of_a_person(door: Door) -> None:
    task_id = result_of(dispatch(door, "open_task", {}, person()))["task_id"]
    assert error_of(dispatch(door, "close_task", {"task_id": task_id}, caller())) == "OPERATOR_TOKEN_REQUIRED"
    assert result_of(dispatch(door, "close_task", {"task_id": task_id}, person()))["state"] == "CLOSED_SUCCESS"


def test_looking_at_records_leaves_no_row(door: Door) -> None:
    before = door.workspace.chain.last_seq()
    for name in ("list_tasks", "list_approvals", "list_rows", "verify_ledger", "show_policy", "list_intents"):
        result_of(dispatch(door, name, {}, caller()))
    assert door.workspace.chain.last_seq() == before
