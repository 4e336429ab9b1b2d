"""The one door: what is recorded, what is refused, and that the answer never says more or less than what happened."""

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.ids import RandomIds
from codeplane.ledger.chain import FINAL_KINDS, LedgerRow, RowFilter
from codeplane.ledger.effects import EffectClass
from codeplane.ledger.policy import Decides
from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.call_record import CallControls
from codeplane.operations.operation import CallContext
from codeplane.operations.perform import STEPS, Door, perform
from codeplane.operations.recovery import recover_interrupted
from codeplane.workspace.workspace import Workspace
from support.doors import call, caller, door_with, error_of, open_test_workspace, result_of
from support.toys import (
    ALLOWS,
    DENIES,
    HOLDS,
    TOY_WRITE,
    BreaksAfterwards,
    NeedsApproval,
    ToyRequest,
    Watches,
    toy_doing,
)

WRITE = {"path": "a.txt", "content": "new"}


@pytest.fixture
def toy_door(workspace: Workspace) -> Door:
    return door_with(workspace, TOY_WRITE)


def _govern(workspace: Workspace, gate: Decides) -> None:
    workspace.policies = gate


CALL_KINDS = ("begun", *FINAL_KINDS)


def _rows(workspace: Workspace, **wanted: Any) -> tuple[LedgerRow, ...]:
    """Return the rows of calls, oldest first; tasks have tests of their own."""
    return tuple(reversed(workspace.chain.rows(RowFilter(**{"kinds": CALL_KINDS} | wanted))))


def _kinds(workspace: Workspace) -> list[str]:
    return [row.kind for row in _rows(workspace)]


def _content(workspace: Workspace) -> str | None:
    path = workspace.root / "a.txt"
    return path.read_text(encoding="utf-8") if path.exists() else None


def _in_file(workspace: Workspace) -> list[str]:
    """Look at the file with a connection of our own: only what is committed is there."""
    connection = sqlite3.connect(workspace.places.ledger)
    kinds = [str(row[0]) for row in connection.execute("SELECT kind FROM events ORDER BY seq")]
    connection.close()
    return [kind for kind in kinds if kind in CALL_KINDS]


def test_a_write_that_is_allowed_happens_and_leaves_two_rows_with_the_states_around_it(toy_door: Door) -> None:
    workspace = toy_door.workspace
    (workspace.root / "a.txt").write_text("old", encoding="utf-8")
    answer = call(toy_door, "toy_write", WRITE)
    assert (answer.outcome, _content(workspace)) == (Outcome.FINISHED, "new")
    begun, finished = _rows(workspace)
    assert (begun.kind, finished.kind) == ("begun", "finished")
    assert begun.body["before"] == {"a.txt": sha256_text("old")}
    assert finished.body["after"] == {"a.txt": sha256_text("new")}
    assert begun.call_id == finished.call_id == answer.meta.request_id
    assert workspace.chain.open_calls() == ()


def test_a_row_tells_operation_effects_arguments_surface_and_policy(toy_door: Door) -> None:
    _govern(toy_door.workspace, ALLOWS)
    call(toy_door, "toy_write", WRITE)
    (begun, _) = _rows(toy_door.workspace)
    assert (begun.operation, begun.worktree) == ("toy_write", "main")
    assert begun.body["effects"] == {"writes": ["a.txt"]}
    assert begun.body["arguments"] == WRITE
    assert (begun.body["surface"], begun.body["caller"]) == ("test", "agent")
    assert (begun.body["effect"], begun.body["policy"]) == ("write", "allows")


def test_long_arguments_are_recorded_by_their_digest_only(toy_door: Door) -> None:
    call(toy_door, "toy_write", {"path": "a.txt", "content": "x" * 10_000})
    begun = _rows(toy_door.workspace)[0]
    assert "arguments" not in begun.body
    assert len(begun.body["arguments_digest"]) == 64


def test_secrets_in_arguments_do_not_reach_the_ledger(toy_door: Door) -> None:
    secret = "ghp_" + "a1B2" * 9
    call(toy_door, "toy_write", {"path": "a.txt", "content": secret})
    toy_door.workspace.chain.flush()
    stored = b"".join(path.read_bytes() for path in toy_door.workspace.places.shared.glob("ledger.db*"))
    assert b"toy_write" in stored
    assert secret.encode() not in stored


@pytest.mark.parametrize(
    ("policy", "outcome", "code"),
    [(DENIES, Outcome.DENIED, "POLICY_DENIED"), (HOLDS, Outcome.HELD, "APPROVAL_PENDING")],
)
def test_a_write_that_is_refused_is_not_begun_and_nothing_is_written(
    toy_door: Door, policy: Decides, outcome: Outcome, code: str
) -> None:
    _govern(toy_door.workspace, policy)
    answer = call(toy_door, "toy_write", WRITE)
    assert (answer.outcome, error_of(answer)) == (outcome, code)
    assert (_kinds(toy_door.workspace), _content(toy_door.workspace)) == ([outcome.value], None)


def test_a_refusal_of_a_write_is_durable_before_it_is_told(toy_door: Door) -> None:
    _govern(toy_door.workspace, DENIES)
    call(toy_door, "toy_write", WRITE)
    assert _in_file(toy_door.workspace) == ["denied"]


def test_a_hold_tells_who_holds_it_and_until_when(toy_door: Door) -> None:
    _govern(toy_door.workspace, HOLDS)
    answer = call(toy_door, "toy_write", WRITE)
    assert answer.error is not None
    assert answer.error.details == {"hold_id": "hold-1", "expires_ms": 99, "policy": "holds"}


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (CodePlaneError("FILE_WRITE_FAILED", "It broke."), "FILE_WRITE_FAILED"),
        (ZeroDivisionError("secret detail"), "INTERNAL_ERROR"),
        (OSError(28, "No space left on device"), "DISK_FULL"),
        (OSError(5, "Input/output error"), "FILE_READ_FAILED"),
    ],
)
def test_a_handler_that_fails_is_recorded_and_answered_without_a_stack_trace(
    workspace: Workspace, failure: Exception, code: str
) -> None:
    def fail(_context: CallContext, _request: ToyRequest) -> None:
        raise failure

    answer = call(door_with(workspace, toy_doing(fail)), "toy", WRITE)
    assert (answer.outcome, error_of(answer)) == (Outcome.FAILED, code)
    begun, failed = _rows(workspace)
    assert (begun.kind, failed.kind, failed.body["error"]) == ("begun", "failed", code)
    for text in (answer.text(), answer.envelope_text()):
        assert "Traceback" not in text
        assert "secret detail" not in text


def test_a_call_that_was_cancelled_before_its_handler_does_nothing(toy_door: Door) -> None:
    request = ToyRequest(**WRITE)
    answer = perform(toy_door, TOY_WRITE, request, caller(), CallControls(is_cancelled=lambda: True))
    assert (error_of(answer), _content(toy_door.workspace)) == ("CANCELLED", None)
    assert _kinds(toy_door.workspace) == ["begun", "failed"]


def test_after_policies_see_the_outcome_and_their_warnings_reach_the_caller(toy_door: Door) -> None:
    watches = Watches()
    toy_door.workspace.after_policies = (watches, BreaksAfterwards())
    answer = call(toy_door, "toy_write", WRITE)
    assert watches.seen == [("toy_write", "finished", {"path": "a.txt"})]
    assert answer.meta.warnings == ("seen finished", "breaks failed; see the log")
    assert answer.outcome is Outcome.FINISHED


def test_after_policies_also_see_what_was_refused(toy_door: Door) -> None:
    watches = Watches()
    toy_door.workspace.after_policies = (watches,)
    _govern(toy_door.workspace, DENIES)
    call(toy_door, "toy_write", WRITE)
    assert watches.seen == [("toy_write", "denied", None)]


def _traced_door(workspace: Workspace, effect: EffectClass, *, reads_index: bool) -> tuple[Door, list[str]]:
    trace: list[str] = []
    workspace.refreshers = (lambda: trace.append("refresh"),)
    operation = toy_doing(lambda _context, _request: trace.append("handler"), effect, reads_index=reads_index)
    return door_with(workspace, operation), trace


@pytest.mark.parametrize(
    ("effect", "reads_index", "expected"),
    [
        (EffectClass.READ, True, ["refresh", "handler"]),
        (EffectClass.READ, False, ["handler"]),
        (EffectClass.WRITE, False, ["handler", "refresh"]),
        (EffectClass.WRITE, True, ["refresh", "handler", "refresh"]),
    ],
)
def test_the_index_is_brought_up_to_date_before_reading_it_and_after_writing(
    workspace: Workspace, effect: EffectClass, reads_index: bool, expected: list[str]
) -> None:
    door, trace = _traced_door(workspace, effect, reads_index=reads_index)
    call(door, "toy", WRITE)
    assert trace == expected


def test_a_refresher_that_fails_after_a_write_does_not_hide_the_write(workspace: Workspace) -> None:
    def fail() -> None:
        raise CodePlaneError("INDEX_CORRUPT", "The index is damaged.")

    workspace.refreshers = (fail,)
    answer = call(door_with(workspace, TOY_WRITE), "toy_write", WRITE)
    assert answer.outcome is Outcome.FINISHED
    assert answer.meta.warnings == (
        "the index could not be refreshed, so affected tests are not known: The index is damaged.",
    )


def test_the_begun_row_is_durable_before_the_handler_and_the_final_row_before_the_answer(workspace: Workspace) -> None:
    seen: list[list[str]] = []
    operation = toy_doing(lambda _context, _request: seen.append(_in_file(workspace)))
    call(door_with(workspace, operation), "toy", WRITE)
    assert seen == [["begun"]]
    assert _in_file(workspace) == ["begun", "finished"]


def test_rows_of_reads_are_written_in_groups(door: Door) -> None:
    call(door, "describe")
    assert _in_file(door.workspace) == []
    assert _kinds(door.workspace) == ["finished"]


def test_a_held_call_blocks_nobody_and_passes_once_it_is_approved(toy_door: Door, clock: ManualClock) -> None:
    policy = NeedsApproval()
    _govern(toy_door.workspace, policy)
    assert call(toy_door, "toy_write", WRITE).outcome is Outcome.HELD
    for i in range(5):
        clock.advance(120)
        assert call(toy_door, "describe", connection=f"other-{i}").outcome is Outcome.FINISHED
    assert call(toy_door, "toy_write", WRITE).outcome is Outcome.HELD
    policy.approved.add(policy.asked[0])
    assert call(toy_door, "toy_write", {**WRITE, "content": "other"}).outcome is Outcome.HELD
    assert call(toy_door, "toy_write", WRITE).outcome is Outcome.FINISHED
    assert _content(toy_door.workspace) == "new"


def _make_read_only(workspace: Workspace) -> None:
    workspace.chain.database._writer.execute("PRAGMA query_only=ON")


def _fill_disk(workspace: Workspace) -> None:
    connection = workspace.chain.database._writer
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")
    while connection.execute("PRAGMA freelist_count").fetchone()[0]:
        connection.execute("INSERT INTO meta VALUES (hex(randomblob(8)), hex(zeroblob(1000)))")


LONG = {"path": "a.txt", "content": "ledger " * 500}


@pytest.mark.parametrize(("damage", "code"), [(_make_read_only, "DATABASE_UNAVAILABLE"), (_fill_disk, "DISK_FULL")])
def test_a_ledger_that_cannot_record_the_beginning_refuses_the_write(toy_door: Door, damage: Any, code: str) -> None:
    workspace = toy_door.workspace
    call(toy_door, "describe")
    damage(workspace)
    answers = [call(toy_door, "toy_write", LONG) for _ in range(12)]
    assert error_of(answers[-1]) == code
    finished = sum(answer.outcome is Outcome.FINISHED for answer in answers)
    assert (_content(workspace) is not None) == (finished > 0)
    assert workspace.chain.open_calls() == ()


def test_a_ledger_that_cannot_record_the_end_keeps_the_answer_and_warns(workspace: Workspace) -> None:
    operation = toy_doing(lambda context, _request: _make_read_only(context.workspace))
    answer = call(door_with(workspace, operation), "toy", WRITE)
    assert answer.outcome is Outcome.FINISHED
    (warning,) = answer.meta.warnings
    assert warning.startswith("append final failed: ")
    assert len(workspace.chain.open_calls()) == 1


def test_a_call_that_a_living_process_works_on_is_not_completed_by_another(workspace: Workspace, repo: Path) -> None:
    recovered: list[int] = []

    def look_from_outside(_context: CallContext, _request: ToyRequest) -> None:
        with open_test_workspace(repo, ids=RandomIds()) as other:
            assert len(other.chain.open_calls()) == 1
            recovered.append(recover_interrupted(other, {}))

    answer = call(door_with(workspace, toy_doing(look_from_outside)), "toy", WRITE)
    assert (answer.outcome, recovered) == (Outcome.FINISHED, [0])
    assert _kinds(workspace) == ["begun", "finished"]


def _interrupted(repo: Path) -> None:
    """Leave a begun call behind, as a process that was killed does."""
    workspace = open_test_workspace(repo, ids=RandomIds())
    operation = toy_doing(lambda context, _request: _make_read_only(context.workspace))
    call(door_with(workspace, operation), "toy", WRITE)
    workspace.ownership.release()
    workspace.chain.database.close()


def test_the_next_call_of_any_process_completes_an_interrupted_one(repo: Path) -> None:
    _interrupted(repo)
    with open_test_workspace(repo, ids=RandomIds()) as workspace:
        call(door_with(workspace), "describe")
        assert _kinds(workspace) == ["begun", "failed", "finished"]
        failed = _rows(workspace)[1]
        assert (failed.body["error"], failed.body["recovered"]) == ("CALL_INTERRUPTED", True)


@pytest.mark.parametrize("failure", [CodePlaneError("GIT_FAILED"), OSError(5, "Input/output error")])
def test_a_recovery_that_fails_falls_back_on_the_files(repo: Path, failure: Exception) -> None:
    def recover(*_arguments: object) -> Any:
        raise failure

    _interrupted(repo)
    with open_test_workspace(repo, ids=RandomIds()) as workspace:
        operation = toy_doing(lambda _context, _request: None)
        door = door_with(workspace, replace(operation, recover=recover))
        assert call(door, "describe").outcome is Outcome.FINISHED
        assert workspace.chain.open_calls() == ()


def test_a_recovery_that_breaks_refuses_changes_but_not_looking(repo: Path) -> None:
    def recover(*_arguments: object) -> Any:
        raise ZeroDivisionError

    _interrupted(repo)
    with open_test_workspace(repo, ids=RandomIds()) as workspace:
        broken = replace(toy_doing(lambda _context, _request: None), recover=recover)
        door = door_with(workspace, broken, TOY_WRITE)
        looked = call(door, "describe")
        assert looked.outcome is Outcome.FINISHED
        assert looked.meta.warnings == (
            "interrupted calls could not be completed; changes are refused until recovery succeeds",
        )
        assert error_of(call(door, "toy_write", WRITE)) == "INTERNAL_ERROR"
        assert _content(workspace) is None


def test_every_step_is_told_once_and_in_order(workspace: Workspace) -> None:
    passed: list[str] = []
    door = Door(workspace, {"toy_write": TOY_WRITE}, passed.append)
    call(door, "toy_write", WRITE)
    assert passed == [step.name for step in STEPS]


def test_a_call_is_announced_with_its_outcome(toy_door: Door, clock: ManualClock) -> None:
    with toy_door.workspace.events.subscribe() as subscription:
        call(toy_door, "toy_write", WRITE)
        (event,) = subscription.wait(0)
    assert dict(event.data) == {
        "operation": "toy_write",
        "outcome": "finished",
        "duration_ms": 0,
        "error": None,
        "at_ms": clock.now_ms(),
        "budget": "mutations",
        "is_look": False,
        "is_no_op": False,
        "non_progress": False,
    }


def _answer_with_unknown_session(door: Door) -> Answer:
    return perform(door, TOY_WRITE, ToyRequest(**WRITE), caller("c1", "sess_unknown"))


def test_an_unknown_session_is_refused_before_anything_happens(toy_door: Door) -> None:
    answer = _answer_with_unknown_session(toy_door)
    assert (error_of(answer), _content(toy_door.workspace)) == ("SESSION_NOT_FOUND", None)
    assert _kinds(toy_door.workspace) == ["failed"]


def test_a_new_session_after_idling_is_told_in_the_answer(toy_door: Door, clock: ManualClock) -> None:
    first = call(toy_door, "describe").meta.session
    clock.advance(30 * 60 + 1)
    answer = call(toy_door, "describe")
    assert answer.meta.session != first
    assert "this is a new one" in answer.meta.warnings[0]


def test_a_session_id_among_the_arguments_resumes_that_session(toy_door: Door) -> None:
    first = call(toy_door, "describe")
    resumed = call(toy_door, "toy_write", {**WRITE, "session_id": first.meta.session_id}, connection="c2")
    assert resumed.meta.session == first.meta.session
    assert result_of(resumed) == {"path": "a.txt"}
