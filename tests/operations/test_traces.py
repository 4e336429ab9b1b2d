"""How long each step of a call took, in the ledger and in traces."""

from dataclasses import dataclass, field, replace

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.tracing import TracedCall
from codeplane.ledger.chain import FINAL_KINDS, LedgerRow, RowFilter
from codeplane.ledger.effects import Effects
from codeplane.operations.operation import AnyOperation, CallContext, planned
from codeplane.workspace.workspace import Workspace
from support.doors import call, door_with
from support.toys import TOY_EDIT, TOY_TEST, TOY_WRITE, ToyRequest, ToyResult


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


@dataclass
class _Traces:
    """Keeps the traces of calls."""

    calls: list[TracedCall] = field(default_factory=list)

    def record(self, call: TracedCall) -> None:
        self.calls.append(call)


@pytest.fixture
def traces(workspace: Workspace) -> _Traces:
    kept = _Traces()
    workspace.tracer = kept
    return kept


def test_a_call_makes_one_trace_with_its_facts_and_its_steps(workspace: Workspace, traces: _Traces) -> None:
    answer = call(door_with(workspace, TOY_EDIT), "toy_edit", {"path": "a.txt", "content": "def one\ntwo\n"})
    (trace,) = traces.calls
    assert {name: trace.attributes[f"codeplane.{name}"] for name in ("operation", "outcome", "task", "call")} == {
        "operation": "toy_edit",
        "outcome": "finished",
        "task": answer.meta.task_id,
        "call": answer.meta.request_id,
    }
    assert trace.attributes["codeplane.files_changed"] == 1
    assert [step.name for step in trace.steps][:2] == ["recover_interrupted", "find_session"]


def test_files_and_symbols_are_named_apart_from_the_rest(workspace: Workspace, traces: _Traces) -> None:
    call(door_with(workspace, TOY_EDIT), "toy_edit", {"path": "a.txt", "content": "def one\ntwo\n"})
    (trace,) = traces.calls
    assert trace.names == {"codeplane.paths_changed": ("a.txt",), "codeplane.symbols_changed": ("one",)}
    assert "a.txt" not in str(trace.attributes)


def test_a_trace_has_neither_arguments_nor_content(workspace: Workspace, traces: _Traces) -> None:
    call(door_with(workspace, TOY_EDIT), "toy_edit", {"path": "a.txt", "content": "a sentence of the prompt"})
    call(door_with(workspace), "search", {"query": "another sentence of the prompt"})
    assert "sentence" not in str(traces.calls)


def test_a_failed_call_says_so_and_secrets_stay_out(workspace: Workspace, traces: _Traces) -> None:
    secret = "ghp_" + "a1B2" * 9
    door = door_with(workspace, TOY_TEST)
    call(door, "list_files", {"path": f"{secret}/nowhere"})
    call(door, "toy_test", {"failing": ["t.py::test_a"]})
    failed, tested = traces.calls
    assert (failed.error, secret in str(failed)) == ("FILE_NOT_FOUND", False)
    assert tested.names["codeplane.failing_tests"] == ("t.py::test_a",)
    assert tested.attributes["codeplane.tests_failed"] == 1
    assert "codeplane.failure_fingerprint" in tested.attributes
