"""Tasks, budgets and fingerprints at the door: what counts, what does not, and that a limit holds for everybody."""

import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.ids import RandomIds
from codeplane.ledger.chain import FINAL_KINDS, LedgerRow, RowFilter
from codeplane.ledger.effects import EffectClass
from codeplane.ledger.fingerprints import FileChange
from codeplane.ledger.policy import CallFacts, Decision
from codeplane.ledger.task_book import TaskFilter, TaskRequest
from codeplane.ledger.tasks import Task, TaskLimits, TaskState
from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.call_record import CallControls
from codeplane.operations.operation import CallContext
from codeplane.operations.perform import Door, perform
from codeplane.operations.recovery import recover_interrupted
from codeplane.workspace.workspace import Workspace
from support.children import run_children
from support.doors import call, caller, door_with, error_of, open_test_workspace
from support.toys import (
    ALLOWS,
    DENIES,
    HOLDS,
    TOY_EDIT,
    TOY_TEST,
    TOY_WRITE,
    Says,
    ToyRequest,
    toy_doing,
)

TESTS = Path(__file__).resolve().parents[1]
EDIT = {"path": "a.txt", "content": "def one\ntwo\n"}


@pytest.fixture
def toys(workspace: Workspace) -> Door:
    return door_with(workspace, TOY_EDIT, TOY_TEST, TOY_WRITE)


def _limited(repo: Path, clock: ManualClock, **limits: int) -> Workspace:
    overrides = tuple(f"tasks.{name}={value}" for name, value in limits.items())
    return open_test_workspace(repo, clock=clock, overrides=overrides)


def _final(workspace: Workspace) -> LedgerRow:
    return workspace.chain.rows(RowFilter(kinds=FINAL_KINDS, limit=1))[0]


def _task(workspace: Workspace) -> Task:
    (task,) = workspace.tasks.tasks(TaskFilter())
    return task


def _counters(workspace: Workspace) -> tuple[int, int]:
    task = _task(workspace)
    return task.mutation_count, task.test_run_count


# What counts.


def test_a_session_gets_a_task_at_its_first_call_that_counts(toys: Door) -> None:
    read = call(toys, "describe")
    assert (read.meta.task_id, read.meta.task_state) == (None, None)
    edited = call(toys, "toy_edit", EDIT)
    assert edited.meta.task_id == _task(toys.workspace).task_id
    assert edited.envelope()["meta"]["task_state"] == "OPEN"
    assert _task(toys.workspace).session == edited.meta.session
    later = call(toys, "describe")
    assert (later.meta.task_id, later.meta.task_state) == (edited.meta.task_id, "OPEN")
    assert _final(toys.workspace).task_id == edited.meta.task_id


def test_a_test_run_opens_a_task_too_and_counts_as_one(toys: Door) -> None:
    call(toys, "toy_test")
    assert _counters(toys.workspace) == (0, 1)


def test_a_task_remembers_where_the_repository_stood(toys: Door) -> None:
    call(toys, "toy_edit", EDIT)
    assert _task(toys.workspace).repo_snapshot.git_head == toys.workspace.head().commit


def test_mutations_count_whether_they_succeed_or_fail(workspace: Workspace) -> None:
    def fail(_context: CallContext, _request: ToyRequest) -> None:
        raise CodePlaneError("FILE_WRITE_FAILED")

    call(door_with(workspace, toy_doing(fail)), "toy", {"path": "a.txt"})
    call(door_with(workspace, TOY_WRITE), "toy_write", {"path": "a.txt"})
    assert _counters(workspace) == (2, 0)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("describe", {}),
        ("list_files", {}),
        ("reset_budget", {}),
        ("toy_edit", {**EDIT, "dry_run": True}),
        ("toy_edit", {"path": 5}),
        ("toy_edit", {"path": "../out"}),
        ("nothing", {}),
    ],
    ids=["read", "list", "record", "dry run", "wrong type", "outside", "unknown"],
)
def test_nothing_else_counts_and_opens_no_task(toys: Door, name: str, arguments: Mapping[str, Any]) -> None:
    call(toys, name, arguments)
    assert toys.workspace.tasks.tasks(TaskFilter()) == ()
    kinds = {row.kind for row in toys.workspace.chain.rows(RowFilter())}
    assert not kinds & {"begun", "task_opened"}


@pytest.mark.parametrize("policy", [DENIES, HOLDS])
def test_refusals_do_not_count(toys: Door, policy: Says) -> None:
    toys.workspace.policies = policy
    call(toys, "toy_edit", EDIT)
    assert toys.workspace.tasks.tasks(TaskFilter()) == ()
    toys.workspace.policies = ALLOWS
    call(toys, "toy_edit", EDIT)
    toys.workspace.policies = policy
    call(toys, "toy_edit", EDIT)
    assert _counters(toys.workspace) == (1, 0)


@dataclass
class _Sees:
    """A gate that remembers what it was asked."""

    facts: list[CallFacts] = field(default_factory=list)

    def decide(self, facts: CallFacts) -> Decision:
        self.facts.append(facts)
        return ALLOWS.decision


def test_a_dry_run_is_judged_as_a_read_and_changes_nothing(toys: Door) -> None:
    sees = _Sees()
    toys.workspace.policies = sees
    answer = call(toys, "toy_edit", {**EDIT, "dry_run": True})
    call(toys, "toy_edit", EDIT)
    assert answer.outcome is Outcome.FINISHED
    assert [facts.effect for facts in sees.facts] == [EffectClass.READ, EffectClass.WRITE]


def test_a_call_that_was_cancelled_after_its_beginning_counts(toys: Door) -> None:
    request = ToyRequest(path="a.txt")
    perform(toys, TOY_WRITE, request, caller(), CallControls(is_cancelled=lambda: True))
    assert _counters(toys.workspace) == (1, 0)


# Limits.


def test_call_n_plus_1_is_refused_as_the_specification_says(repo: Path, clock: ManualClock) -> None:
    with _limited(repo, clock, max_mutations=2) as workspace:
        door = door_with(workspace, TOY_EDIT)
        answers = [call(door, "toy_edit", {"path": "a.txt", "content": str(number)}) for number in range(3)]
        assert [answer.outcome for answer in answers] == [Outcome.FINISHED, Outcome.FINISHED, Outcome.FAILED]
        assert (repo / "a.txt").read_text(encoding="utf-8") == "1"
        envelope = answers[-1].envelope()
        assert {name: envelope[name] for name in ("code", "error", "message", "retryable", "details")} == {
            "code": 6001,
            "error": "TASK_BUDGET_EXCEEDED",
            "message": "Mutation budget exceeded (2/2)",
            "retryable": False,
            "details": {"budget_type": "mutations", "limit": 2, "current": 2},
        }
        assert envelope["_session"]["task_state"] == "FAILED"
        assert _task(workspace).state is TaskState.CLOSED_FAILED
        row = _final(workspace)
        assert (row.kind, row.task_id, row.body["limit_triggered"]) == ("failed", _task(workspace).task_id, "mutations")
        assert workspace.chain.open_calls() == ()


def test_all_further_mutations_are_refused_and_reads_are_not(repo: Path, clock: ManualClock) -> None:
    with _limited(repo, clock, max_mutations=1) as workspace:
        door = door_with(workspace, TOY_EDIT, TOY_TEST)
        for number in range(2):
            call(door, "toy_edit", {"path": "a.txt", "content": str(number)})
        later = [call(door, name, arguments) for name, arguments in (("toy_edit", EDIT), ("toy_test", {}))]
        assert [error_of(answer) for answer in later] == ["TASK_BUDGET_EXCEEDED"] * 2
        assert call(door, "describe").outcome is Outcome.FINISHED
        assert call(door, "toy_edit", {**EDIT, "dry_run": True}).outcome is Outcome.FINISHED
        kinds = [row.kind for row in workspace.chain.rows(RowFilter(kinds=("task_closed", "task_opened")))]
        assert kinds == ["task_closed", "task_opened"]


def test_test_runs_have_a_limit_of_their_own(repo: Path, clock: ManualClock) -> None:
    with _limited(repo, clock, max_test_runs=1) as workspace:
        door = door_with(workspace, TOY_EDIT, TOY_TEST)
        assert call(door, "toy_test").outcome is Outcome.FINISHED
        assert call(door, "toy_edit", EDIT).outcome is Outcome.FINISHED
        refused = call(door, "toy_test")
        assert refused.error is not None
        assert refused.error.message == "Test run budget exceeded (1/1)"
        assert refused.error.details == {"budget_type": "test_runs", "limit": 1, "current": 1}


def test_time_has_a_limit(repo: Path, clock: ManualClock) -> None:
    with _limited(repo, clock, max_duration_sec=60) as workspace:
        door = door_with(workspace, TOY_EDIT)
        call(door, "toy_edit", EDIT)
        clock.advance(60)
        assert call(door, "toy_edit", {**EDIT, "content": "x"}).outcome is Outcome.FINISHED
        clock.advance(1)
        refused = call(door, "toy_edit", EDIT)
        assert refused.error is not None
        assert refused.error.details == {"budget_type": "duration", "limit": 60, "current": 60}
        assert _final(workspace).body["limit_triggered"] == "duration"
        clock.advance(-3600)
        assert error_of(call(door, "toy_edit", EDIT)) == "TASK_BUDGET_EXCEEDED"


def test_the_short_text_tells_of_a_budget_that_is_nearly_used_and_not_before(repo: Path, clock: ManualClock) -> None:
    with _limited(repo, clock, max_mutations=5) as workspace:
        door = door_with(workspace, TOY_EDIT)
        texts = [call(door, "toy_edit", {"path": "a.txt", "content": str(number)}).text() for number in range(5)]
    assert texts == ["edited a.txt"] * 4 + ["edited a.txt\nNote: 5 of 5 mutations of this task are used"]


def test_sessions_of_one_working_tree_share_its_budget(repo: Path, clock: ManualClock) -> None:
    with _limited(repo, clock, max_mutations=1) as workspace:
        door = door_with(workspace, TOY_WRITE)
        outcomes = [
            call(door, "toy_write", {"path": f"{connection}{number}"}, connection).outcome
            for connection in ("c1", "c2")
            for number in range(2)
        ]
    assert outcomes == [Outcome.FINISHED, *[Outcome.FAILED] * 3]


def test_threads_at_the_limit_never_get_more_than_the_limit(repo: Path, clock: ManualClock) -> None:
    with _limited(repo, clock, max_mutations=10) as workspace:
        door = door_with(workspace, TOY_WRITE)
        call(door, "describe")
        barrier = threading.Barrier(8)

        def work(number: int) -> list[Answer]:
            barrier.wait()
            return [call(door, "toy_write", {"path": f"{number}-{i}.txt"}) for i in range(5)]

        with ThreadPoolExecutor(8) as pool:
            answers = [answer for found in pool.map(work, range(8)) for answer in found]
        outcomes = [answer.outcome for answer in answers]
        assert (outcomes.count(Outcome.FINISHED), outcomes.count(Outcome.FAILED)) == (10, 30)
        assert _counters(workspace) == (10, 0)
        assert len(list(repo.glob("*-*.txt"))) == 10
        assert workspace.chain.verify().first_bad_seq is None


@pytest.fixture
def _children_find_the_toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), str(TESTS.parent / "src")]))


def _toys(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "support.toys", *arguments)


@pytest.mark.slow
@pytest.mark.usefixtures("_children_find_the_toys")
def test_processes_at_the_limit_never_get_more_than_the_limit(repo: Path) -> None:
    with open_test_workspace(repo, ids=RandomIds()) as workspace:
        task = workspace.tasks.open(TaskRequest("main", TaskLimits(15, 1, 86_400 * 3650), workspace.snapshot()))
        results = run_children([_toys("spend", str(repo), "10") for _ in range(3)], repo)
        outcomes = [line for result in results for line in result.stdout.split()]
        assert (outcomes.count("finished"), outcomes.count("failed")) == (15, 15)
        found = workspace.tasks.find(task.task_id)
        assert (found.mutation_count, found.state) == (15, TaskState.CLOSED_FAILED)
        assert len(list(repo.glob("*-*.txt"))) == 15
        assert workspace.chain.verify().first_bad_seq is None


# Interruptions.


@pytest.mark.slow
@pytest.mark.usefixtures("_children_find_the_toys")
@pytest.mark.parametrize("step", ["append_begun", "work", "append_final"])
def test_a_call_whose_process_was_killed_after_its_beginning_counts_once(repo: Path, step: str) -> None:
    run_children([_toys("write", "toy_write", str(repo), step)], repo, returncode=-signal.SIGKILL)
    with open_test_workspace(repo, ids=RandomIds()) as workspace:
        assert _counters(workspace) == (1, 0)
        assert _task(workspace).is_open
        recover_interrupted(workspace, {TOY_WRITE.name: TOY_WRITE})
        assert workspace.tasks.interrupt_orphans(workspace.ownership) == 1
        assert (_task(workspace).state, _counters(workspace)) == (TaskState.CLOSED_INTERRUPTED, (1, 0))
        before = workspace.tasks.tasks(TaskFilter())
        workspace.tasks.rebuild()
        assert workspace.tasks.tasks(TaskFilter()) == before


@pytest.mark.slow
@pytest.mark.usefixtures("_children_find_the_toys")
@pytest.mark.parametrize("step", ["recover_interrupted", "find_session", "ask_policies"])
def test_a_call_whose_process_was_killed_before_its_beginning_does_not_count(repo: Path, step: str) -> None:
    run_children([_toys("write", "toy_write", str(repo), step)], repo, returncode=-signal.SIGKILL)
    with open_test_workspace(repo, ids=RandomIds()) as workspace:
        assert workspace.tasks.tasks(TaskFilter()) == ()


@pytest.mark.slow
@pytest.mark.usefixtures("_children_find_the_toys")
def test_the_next_call_of_another_process_closes_the_task_of_a_killed_one(repo: Path) -> None:
    run_children([_toys("write", "toy_write", str(repo), "work")], repo, returncode=-signal.SIGKILL)
    with open_test_workspace(repo, ids=RandomIds()) as workspace:
        call(door_with(workspace, TOY_WRITE), "describe")
        assert _task(workspace).state is TaskState.CLOSED_INTERRUPTED


def test_a_task_survives_as_a_record_and_ends_with_the_process_that_had_it(repo: Path, clock: ManualClock) -> None:
    with open_test_workspace(repo, clock=clock, ids=RandomIds()) as workspace:
        edited = call(door_with(workspace, TOY_EDIT), "toy_edit", EDIT)
    with open_test_workspace(repo, clock=clock, ids=RandomIds()) as workspace:
        task = _task(workspace)
        assert (task.task_id, task.state) == (edited.meta.task_id, TaskState.CLOSED_INTERRUPTED)
        assert (task.mutation_count, task.last_mutation_fingerprint) == (1, edited.meta.signals.mutation_fingerprint)  # type: ignore[union-attr] # a mutation has signals
        arguments = {**EDIT, "content": "x", "session_id": edited.meta.session_id}
        resumed = call(door_with(workspace, TOY_EDIT), "toy_edit", arguments, "c2")
        assert resumed.meta.session == edited.meta.session
        assert resumed.meta.task_id != task.task_id


def test_a_session_resumed_after_its_process_died_gets_a_new_task(repo: Path, clock: ManualClock) -> None:
    dead = open_test_workspace(repo, clock=clock, ids=RandomIds())
    first = call(door_with(dead, TOY_EDIT), "toy_edit", EDIT)
    # What the operating system does when a process dies.
    dead.ownership.release()
    dead.sessions.save()
    with open_test_workspace(repo, clock=clock, ids=RandomIds()) as workspace:
        arguments = {**EDIT, "content": "x", "session_id": first.meta.session_id}
        second = call(door_with(workspace, TOY_EDIT), "toy_edit", arguments, "c2")
        assert first.meta.task_id is not None
        assert workspace.tasks.find(first.meta.task_id).state is TaskState.CLOSED_INTERRUPTED
        assert second.meta.task_id != first.meta.task_id
    dead.chain.database.close()


def test_states_that_somebody_broke_are_made_anew_from_the_rows(toys: Door) -> None:
    call(toys, "toy_edit", EDIT)
    with toys.workspace.chain.database.write() as connection:
        connection.execute("UPDATE task_states SET task = 'nonsense'")
    assert call(toys, "toy_edit", {**EDIT, "content": "x"}).outcome is Outcome.FINISHED
    assert _counters(toys.workspace) == (2, 0)


def test_without_its_task_a_change_is_refused_and_a_read_is_answered(toys: Door) -> None:
    call(toys, "describe")
    with toys.workspace.chain.database.write() as connection:
        connection.execute("DROP TABLE task_states")
    assert call(toys, "describe").outcome is Outcome.FINISHED
    assert error_of(call(toys, "toy_edit", EDIT)) == "QUERY_FAILED"
    assert not (toys.workspace.root / "a.txt").exists()


def test_a_session_that_idled_too_long_takes_its_task_with_it(toys: Door, clock: ManualClock) -> None:
    first = call(toys, "toy_edit", EDIT)
    clock.advance(30 * 60 + 1)
    second = call(toys, "toy_edit", {**EDIT, "content": "x"})
    assert first.meta.task_id is not None
    assert toys.workspace.tasks.find(first.meta.task_id).state is TaskState.CLOSED_INTERRUPTED
    assert second.meta.task_id != first.meta.task_id


def test_a_client_that_left_ends_its_task(toys: Door) -> None:
    call(toys, "toy_edit", EDIT)
    toys.workspace.sessions.forget_connection("c1")
    assert (_task(toys.workspace).state, _task(toys.workspace).reason) == (
        TaskState.CLOSED_INTERRUPTED,
        "its session ended",
    )


# Fingerprints in rows and answers.


def test_a_mutation_is_told_by_states_paths_numbers_and_fingerprint(toys: Door) -> None:
    answer = call(toys, "toy_edit", EDIT)
    body = _final(toys.workspace).body
    assert body["changed_paths"] == ["a.txt"]
    assert body["diff_stats"] == {"files_changed": 1, "insertions": 2, "deletions": 0}
    assert body["short_diff"] == "+ a.txt"
    assert (len(body["repo_before"]), len(body["repo_after"])) == (64, 64)
    assert body["repo_before"] != body["repo_after"]
    meta = answer.envelope()["meta"]
    assert meta["mutation_fingerprint"] == body["mutation_fingerprint"]
    assert set(meta["mutation"]) == {"files_changed_hash", "diff_stats", "symbol_changes"}
    assert (meta["mutation"]["symbol_changes"], meta["is_no_op"]) == (["one"], False)
    assert "failure_fingerprint" not in meta


def test_the_view_of_operations_has_what_the_row_says(toys: Door) -> None:
    call(toys, "toy_edit", EDIT)
    body = _final(toys.workspace).body
    with toys.workspace.chain.database.read() as connection:
        (record,) = connection.execute("SELECT * FROM operations WHERE op_type = 'toy_edit'").fetchall()
    assert (record["task_id"], record["success"]) == (_task(toys.workspace).task_id, 1)
    assert (record["repo_before_hash"], record["repo_after_hash"]) == (body["repo_before"], body["repo_after"])
    assert json.loads(record["changed_paths"]) == ["a.txt"]
    assert record["mutation_fingerprint"] == body["mutation_fingerprint"]


def test_the_next_mutation_begins_where_the_last_one_ended(toys: Door) -> None:
    call(toys, "toy_edit", EDIT)
    after = _final(toys.workspace).body["repo_after"]
    call(toys, "toy_edit", {**EDIT, "content": "x"})
    assert _final(toys.workspace).body["repo_before"] == after


def test_an_operation_that_says_nothing_is_told_by_the_files(toys: Door) -> None:
    answer = call(toys, "toy_write", {"path": "a.txt", "content": "a"})
    body = _final(toys.workspace).body
    assert (body["changed_paths"], body["short_diff"]) == (["a.txt"], "+ a.txt")
    assert answer.envelope()["meta"]["mutation"]["diff_stats"]["files_changed"] == 1


def test_the_same_edit_again_is_a_no_op_that_counts_and_is_said(toys: Door) -> None:
    call(toys, "toy_edit", EDIT)
    again = call(toys, "toy_edit", EDIT)
    assert again.envelope()["meta"]["is_no_op"] is True
    assert again.text().splitlines()[1].startswith("Note: this change left the files as the previous call did")
    assert _final(toys.workspace).body["is_no_op"] is True
    assert _counters(toys.workspace) == (2, 0)


def test_an_edit_that_somebody_took_back_and_that_is_made_again_is_a_repeat(toys: Door) -> None:
    first = call(toys, "toy_edit", EDIT)
    (toys.workspace.root / "a.txt").unlink()
    again = call(toys, "toy_edit", EDIT)
    assert first.meta.signals is not None
    assert again.meta.signals is not None
    assert again.meta.signals.mutation_fingerprint == first.meta.signals.mutation_fingerprint
    assert again.meta.signals.is_no_op


def test_a_call_that_failed_and_changed_nothing_has_no_mutation_fingerprint(workspace: Workspace) -> None:
    def pretend(context: CallContext, request: ToyRequest) -> None:
        context.changes.append(FileChange(request.path, None, sha256_text("x"), 1, 0))
        raise CodePlaneError("FILE_WRITE_FAILED")

    answer = call(door_with(workspace, toy_doing(pretend)), "toy", {"path": "a.txt"})
    body = _final(workspace).body
    assert "mutation_fingerprint" not in body
    assert "changed_paths" not in body
    assert answer.meta.signals is None


def test_a_call_that_failed_halfway_is_told_by_what_it_left(workspace: Workspace) -> None:
    def break_off(context: CallContext, request: ToyRequest) -> None:
        (context.workspace.root / request.path).write_text("half", encoding="utf-8")
        raise CodePlaneError("FILE_WRITE_FAILED")

    call(door_with(workspace, toy_doing(break_off)), "toy", {"path": "a.txt"})
    assert (_final(workspace).kind, _final(workspace).body["changed_paths"]) == ("failed", ["a.txt"])


FAILING = {"failing": ["t.py::test_a"], "stack": 'File "/x/t.py", line 3\nboom at 0x7f'}
MOVED = {"failing": ["t.py::test_a"], "stack": 'File "/y/z/t.py", line 9\nboom at 0x55'}


def test_a_failure_is_told_by_its_fingerprint_class_and_tests(toys: Door) -> None:
    answer = call(toys, "toy_test", FAILING)
    body = _final(toys.workspace).body
    assert (body["failure_class"], body["failing_tests"]) == ("assertion", ["t.py::test_a"])
    meta = answer.envelope()["meta"]
    assert (meta["failure_fingerprint"], meta["non_progress"]) == (body["failure_fingerprint"], False)
    assert "mutation_fingerprint" not in meta
    assert answer.text() == "1 failed"


def test_the_same_failure_after_a_mutation_is_said_to_be_no_progress(toys: Door) -> None:
    call(toys, "toy_test", FAILING)
    assert call(toys, "toy_test", MOVED).envelope()["meta"]["non_progress"] is False
    call(toys, "toy_edit", EDIT)
    answer = call(toys, "toy_test", MOVED)
    assert answer.envelope()["meta"]["non_progress"] is True
    assert answer.text() == "1 failed\nNote: same failure as before, although something changed since"
    assert _final(toys.workspace).body["non_progress"] is True


def test_another_failure_after_a_mutation_is_progress(toys: Door) -> None:
    call(toys, "toy_test", FAILING)
    call(toys, "toy_edit", EDIT)
    assert call(toys, "toy_test", {"failing": ["t.py::test_b"]}).envelope()["meta"]["non_progress"] is False


def test_a_failure_that_a_read_shows_is_fingerprinted_too(toys: Door) -> None:
    reading = replace(TOY_TEST, name="toy_look", effect=EffectClass.READ, runs_tests=False)
    door = door_with(toys.workspace, reading, TOY_EDIT, TOY_TEST)
    alone = call(door, "toy_look", FAILING)
    assert alone.meta.signals is not None
    assert alone.meta.signals.failure_fingerprint is not None
    call(door, "toy_edit", EDIT)
    call(door, "toy_look", FAILING)
    call(door, "toy_edit", {**EDIT, "content": "x"})
    again = call(door, "toy_look", FAILING)
    assert again.meta.signals is not None
    assert again.meta.signals.non_progress
    assert _counters(toys.workspace) == (2, 0)


def test_signals_of_a_handler_that_lies_about_types_are_dropped_and_the_call_is_still_ended(
    workspace: Workspace,
) -> None:
    def confuse(context: CallContext, _request: ToyRequest) -> None:
        context.changes.append("a.txt")  # type: ignore[arg-type] # what a careless handler might do

    answer = call(door_with(workspace, toy_doing(confuse)), "toy", {"path": "a.txt"})
    assert answer.outcome is Outcome.FINISHED
    assert answer.meta.warnings[0].startswith("take fingerprints failed")
    assert workspace.chain.open_calls() == ()
    assert _final(workspace).kind == "finished"
