"""Only sealed rows say what a budget is: whoever writes tables or rows without the key gets no further call."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.clock import ManualClock
from codeplane.ledger.chain import RowFilter
from codeplane.ledger.task_book import TaskRequest
from codeplane.ledger.tasks import TaskLimits
from codeplane.operations.answer import Outcome
from codeplane.operations.perform import Door
from support.doors import call, door_with, open_test_workspace
from support.forgery import append, change, seals
from support.toys import TOY_WRITE

SEALS = ("no seal", "a wrong seal", "another key", "the seal of the row before")
DAY = 24 * 3_600
LARGE = {"max_mutations": 1000, "max_test_runs": 1000, "max_duration_sec": 86_400}


@pytest.fixture
def door(repo: Path, clock: ManualClock) -> Iterator[Door]:
    """Return a door whose working tree has used its two mutations."""
    with open_test_workspace(repo, clock=clock, overrides=("tasks.max_mutations=2",)) as workspace:
        opened = door_with(workspace, TOY_WRITE)
        assert [_write(opened, str(number)) for number in range(2)] == [Outcome.FINISHED] * 2
        yield opened


def _write(door: Door, name: str, connection: str = "c1") -> Outcome:
    return call(door, "toy_write", {"path": name}, connection).outcome


def check_nothing_more(door: Door) -> None:
    assert [_write(door, f"more-{name}", name) for name in ("c1", "c2", "c3", "c1")] == [Outcome.FAILED] * 4
    assert not list(door.workspace.root.glob("more-*"))


def test_another_session_gets_no_new_budget(door: Door) -> None:
    check_nothing_more(door)


def test_a_new_process_gets_no_new_budget(door: Door, clock: ManualClock) -> None:
    root = door.workspace.root
    with open_test_workspace(root, clock=clock, overrides=("tasks.max_mutations=2",)) as workspace:
        check_nothing_more(door_with(workspace, TOY_WRITE))


def test_the_budget_starts_again_after_24_hours(door: Door, clock: ManualClock) -> None:
    clock.advance(DAY - 1)
    check_nothing_more(door)
    clock.advance(1)
    assert _write(door, "next-day", "c9") is Outcome.FINISHED


def test_a_person_resets_the_budget_and_a_sealed_row_says_so(door: Door) -> None:
    check_nothing_more(door)
    door.workspace.tasks.reset("main", "test")
    assert [_write(door, f"after-{n}") for n in range(3)] == [Outcome.FINISHED, Outcome.FINISHED, Outcome.FAILED]
    (row,) = door.workspace.chain.rows(RowFilter(kinds=("budget_reset",)))
    assert (row.body["by"], row.body["used"]["mutations"], row.seal is not None) == ("test", 2, True)


TABLES = {
    "limits raised": "UPDATE task_states SET task = json_set(task, '$.limits.max_mutations', 1000)",
    "counters lowered": "UPDATE task_states SET task = json_set(task, '$.mutation_count', 0)",
    "state opened": "UPDATE task_states SET state = 'OPEN', task = json_set(task, '$.state', 'OPEN')",
    "states removed": "DELETE FROM task_states",
    "made explicit": "UPDATE task_states SET scope = 'worktree:main', task = json_set(task, '$.session', NULL,"
    " '$.is_explicit', json('true'), '$.limits.max_mutations', 1000)",
}


@pytest.mark.parametrize("forgery", TABLES)
def test_a_change_of_the_table_gives_no_further_call(door: Door, forgery: str) -> None:
    assert change(door.workspace, TABLES[forgery]) >= 1
    check_nothing_more(door)


def _account(limits: dict[str, int] | None = None) -> dict[str, Any]:
    used = {"since_ms": None, "mutations": 0, "test_runs": 0}
    tasks = [
        {"task_id": "task_x", "scope": "worktree:main", "opened_seq": 1, "limits": limits, "used": used,
         "limit_triggered": None}
    ] if limits else []  # fmt: skip
    return {"used": used, "tasks": tasks, "limit_triggered": None}


def _opening() -> dict[str, Any]:
    body: dict[str, Any] = {"session": None, "explicit": True, "owner": None, "caller": "person", "limits": LARGE}
    body["repo_snapshot"] = {"git_head": None, "index_version": None}
    return {"kind": "task_opened", "task_id": "task_x", "body": body}


ROWS = {
    "a reset": {"kind": "budget_reset", "body": {"by": "forger", "used": {}, "account": _account()}},
    "a task of a person": _opening(),
    "a call with another account": {
        "kind": "begun",
        "call_id": "x",
        "body": {"budget": "mutations", "owner": "x", "account": _account(LARGE)},
    },
}


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("seal", SEALS)
def test_a_forged_row_gives_no_further_call(door: Door, seal: str, row: str) -> None:
    append(door.workspace, seals(door.workspace)[seal], ROWS[row])
    check_nothing_more(door)


HIDDEN = {
    "removed": "DELETE FROM events WHERE kind = 'begun'",
    "the last one removed": "DELETE FROM events WHERE seq >= (SELECT MAX(seq) FROM events WHERE kind = 'begun')",
    "another kind": "UPDATE events SET kind = 'finished' WHERE kind = 'begun'",
    "another working tree": "UPDATE events SET worktree = 'other' WHERE kind = 'begun'",
    "another time": "UPDATE events SET ts_ms = 1 WHERE kind = 'begun'",
    "another account": "UPDATE events SET body = json_set(body, '$.account.used.mutations', 0) WHERE kind = 'begun'",
}


@pytest.mark.parametrize("hiding", HIDDEN)
def test_hidden_calls_give_no_further_call(door: Door, hiding: str) -> None:
    assert change(door.workspace, HIDDEN[hiding]) >= 1
    check_nothing_more(door)


def test_a_reset_heals_what_cannot_be_proven(door: Door) -> None:
    change(door.workspace, HIDDEN["the last one removed"])
    check_nothing_more(door)
    door.workspace.tasks.reset("main", "test")
    assert _write(door, "after") is Outcome.FINISHED


def _persons_task(door: Door, limit: int) -> str:
    limits = TaskLimits(limit, limit, 86_400)
    request = TaskRequest("main", limits, door.workspace.snapshot(), opened_by={"caller": "person"})
    return door.workspace.tasks.open(request).task_id


def test_a_task_of_a_person_has_a_budget_of_its_own(door: Door) -> None:
    _persons_task(door, 3)
    assert [_write(door, f"own-{n}", f"c{n}") for n in range(4)] == [*[Outcome.FINISHED] * 3, Outcome.FAILED]


def test_a_task_that_an_agent_opened_gives_no_new_budget(door: Door) -> None:
    limits = TaskLimits(2, 2, 86_400)
    door.workspace.tasks.open(TaskRequest("main", limits, door.workspace.snapshot(), opened_by={"caller": "agent"}))
    check_nothing_more(door)


@pytest.mark.parametrize("forgery", ["limits raised", "states removed"])
def test_limits_of_a_persons_task_hold_whatever_the_table_says(door: Door, forgery: str) -> None:
    door.workspace.tasks.reset("main", "test")
    _persons_task(door, 1)
    assert _write(door, "one") is Outcome.FINISHED
    change(door.workspace, TABLES[forgery])
    check_nothing_more(door)


def test_a_tight_task_is_not_ended_by_the_table(door: Door) -> None:
    door.workspace.tasks.reset("main", "test")
    _persons_task(door, 0)
    change(door.workspace, "UPDATE task_states SET state = 'CLOSED_SUCCESS'")
    check_nothing_more(door)


def test_a_table_that_contradicts_the_rows_is_named(door: Door) -> None:
    assert door.workspace.contradictions() == ()
    change(door.workspace, TABLES["limits raised"])
    assert any("task_states" in one for one in door.workspace.contradictions())
