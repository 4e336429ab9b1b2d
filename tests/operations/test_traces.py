"""How long each step of a call took, in the ledger and in traces."""

from dataclasses import replace

from codeplane.core.clock import ManualClock
from codeplane.ledger.chain import FINAL_KINDS, LedgerRow, RowFilter
from codeplane.ledger.effects import Effects
from codeplane.operations.operation import AnyOperation, CallContext, planned
from codeplane.workspace.workspace import Workspace
from support.doors import call, door_with
from support.toys import TOY_WRITE, ToyRequest, ToyResult


def _final(workspace: Workspace) -> LedgerRow:
    return workspace.chain.rows(RowFilter(kinds=FINAL_KINDS, limit=1))[0]


def _toy_that_takes(clock: ManualClock, seconds: float) -> AnyOperation:
    def work(_context: CallContext, request: ToyRequest) -> ToyResult:
        clock.advance(seconds)
        return ToyResult(path=request.path)

    return replace(TOY_WRITE, plan=planned(work, lambda _workspace, _request: Effects()))


def test_the_final_row_says_how_long_a_step_took(workspace: Workspace, clock: ManualClock) -> None:
    door = door_with(workspace, _toy_that_takes(clock, 0.25))
    call(door, "toy_write", {"path": "a.txt"})
    spans = _final(workspace).body["spans"]
    assert [name for name, _start, _duration in spans] == ["work"]
    assert [duration for _name, _start, duration in spans] == [250_000]


def test_steps_that_take_no_time_are_not_recorded(workspace: Workspace, clock: ManualClock) -> None:
    call(door_with(workspace, _toy_that_takes(clock, 0.0)), "toy_write", {"path": "a.txt"})
    assert "spans" not in _final(workspace).body
