"""States, verbs and budget of a run: what is offered when, and the order of the gates."""

import random
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from codeplane.controller.budget import Budget, cost_of
from codeplane.controller.codes import Code, Violation
from codeplane.controller.gating import BUDGET_SAFE, OFFERED, Admission, suggested_verb
from codeplane.controller.gating import admit as admit_request
from codeplane.controller.states import Event, Run, RunState, after, after_exhausted, after_plan
from codeplane.controller.verbs.catalog import VERBS
from support.effort import repeated
from support.plans import judge, put

PATCH = {"planNodeId": "n1", "targetFile": "src/billing/rates.py", "edits": [{"type": "replace_text"}]}
NOTE = {"relativePath": "note.txt", "content": "x" * 39_900}


def admit(run: Run, verb: str, arguments: dict[str, Any]) -> Admission:
    return admit_request(run, _request(verb, arguments))


def _request(verb: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"verb": verb, "args": arguments}


def _details(run: Run, verb: str, arguments: dict[str, Any]) -> list[str]:
    return [violation.detail for violation in admit(run, verb, arguments).violations]


def test_there_are_eighteen_verbs_and_each_state_offers_its_own() -> None:
    assert len(VERBS) == 18
    assert {state: len(names) for state, names in OFFERED.items()} == {
        RunState.PLAN_REQUIRED: 14,
        RunState.PLAN_ACCEPTED: 18,
        RunState.EXECUTION_ENABLED: 18,
        RunState.BLOCKED_BUDGET: 3,
        RunState.FAILED: 3,
        RunState.COMPLETED: 3,
    }
    assert "signal_task_complete" not in OFFERED[RunState.BLOCKED_BUDGET]


@pytest.mark.parametrize("state", RunState)
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_is_refused_exactly_where_its_state_does_not_offer_it(state: RunState, verb: str) -> None:
    is_refused = "verb_not_in_state" in _details(Run(state), verb, {})
    assert is_refused == (verb not in OFFERED[state])


def test_a_patch_before_a_plan_is_refused_and_a_plan_is_suggested() -> None:
    admission = admit(Run(), "apply_code_patch", PATCH)
    assert admission.run.state is RunState.PLAN_REQUIRED
    assert admission.deny_reasons == ("PLAN_SCOPE_VIOLATION",)
    assert suggested_verb(admission.run, "apply_code_patch", admission.violations) == "submit_execution_plan"


def test_a_missing_argument_is_named_and_the_same_verb_is_suggested() -> None:
    admission = admit(Run(), "read_file_lines", {"startLine": 1})
    assert admission.deny_reasons == ("PLAN_MISSING_REQUIRED_FIELDS",)
    assert admission.violations[0].pointer == "/args/targetFile"
    assert suggested_verb(admission.run, "read_file_lines", admission.violations) == "read_file_lines"


def _blocked() -> Run:
    run = Run()
    for _ in range(1000):
        admission = admit(run, "write_scratch_file", NOTE)
        if admission.violations:
            assert [violation.detail for violation in admission.violations] == ["budget_blocked"]
            assert (
                run.budget.used_tokens
                <= 60_000
                < run.budget.used_tokens + cost_of(_request("write_scratch_file", NOTE))
            )
            return admission.run
        run = admission.run
    raise AssertionError


def test_the_first_turn_over_the_threshold_blocks_the_run() -> None:
    run = _blocked()
    assert run.state is RunState.BLOCKED_BUDGET
    assert run.is_blocked
    assert admit(run, "signal_task_complete", {}).deny_reasons == ("PLAN_SCOPE_VIOLATION",)
    assert admit(run, "get_original_prompt", {}).deny_reasons == ()


def test_a_raised_limit_returns_the_run_to_the_state_before() -> None:
    run = _blocked()
    raised = replace(run, budget=replace(run.budget, max_tokens=200_000))
    admission = admit(raised, "write_scratch_file", NOTE)
    assert (admission.run.state, admission.deny_reasons) == (RunState.PLAN_REQUIRED, ())
    assert admit(run, "list_available_verbs", {}).run.state is RunState.BLOCKED_BUDGET


def test_the_fifth_denial_in_a_row_while_blocked_ends_the_run() -> None:
    run = _blocked()
    for _ in range(4):
        run = admit(run, "write_scratch_file", NOTE).run
    assert run.state is RunState.BLOCKED_BUDGET
    pardoned = admit(run, "get_original_prompt", {}).run
    assert admit(pardoned, "write_scratch_file", NOTE).run.state is RunState.BLOCKED_BUDGET
    assert admit(run, "write_scratch_file", NOTE).run.state is RunState.FAILED


@pytest.mark.parametrize("verb", sorted(BUDGET_SAFE))
def test_a_budget_safe_verb_is_never_stopped_by_the_budget(verb: str) -> None:
    run = Run(RunState.EXECUTION_ENABLED, Budget(used_tokens=99_999))
    assert admit(run, verb, {"blockingReasons": ["x"]}).deny_reasons == ()


def test_denied_turns_cost_as_much_as_others() -> None:
    run = admit(Run(), "apply_code_patch", PATCH).run
    assert run.budget.used_tokens == cost_of(_request("apply_code_patch", PATCH))


@pytest.mark.parametrize(
    ("arguments", "cost"), [({}, 1), ({"a": 1}, 2), ({"a": 10}, 2), ({"a": 100}, 3), ({"é": "é"}, 3)]
)
def test_a_token_is_four_bytes_of_canonical_json_rounded_up(arguments: dict[str, Any], cost: int) -> None:
    assert cost_of(arguments) == cost


def test_the_threshold_is_read_as_a_decimal_and_rounded_down() -> None:
    assert Budget().threshold_tokens == 60_000
    assert Budget(max_tokens=10, threshold=Decimal("0.29")).threshold_tokens == 2
    assert Budget(max_tokens=100, threshold=Decimal("0.29")).threshold_tokens == 29


def test_a_refused_plan_leaves_state_and_plan_as_they_were() -> None:
    accepted, refused = judge(), judge(put("/nodes/0/editIntent/summary", "Change the rounding as needed."))
    run = after_plan(Run(), accepted.fingerprint or "", is_accepted=accepted.is_accepted)
    assert run.state is RunState.PLAN_ACCEPTED
    assert after_plan(run, refused.fingerprint or "", is_accepted=refused.is_accepted) == run
    assert run.plan_fingerprint == accepted.fingerprint


def test_a_run_goes_from_plan_through_execution_to_completion() -> None:
    run = after(after_plan(Run(), "f1", is_accepted=True), Event.MUTATION_RAN)
    assert run.state is RunState.EXECUTION_ENABLED
    assert after_plan(run, "f2", is_accepted=True).state is RunState.PLAN_ACCEPTED
    assert after_exhausted(run, 1).state is RunState.EXECUTION_ENABLED
    assert after_exhausted(run, 2).state is RunState.FAILED
    completed = after(run, Event.COMPLETION_SIGNALLED)
    assert completed.state is RunState.COMPLETED
    assert all(after(completed, event).state is RunState.COMPLETED for event in Event)


@pytest.mark.parametrize(
    ("code", "detail", "verb"),
    [
        (Code.SCOPE, "verb_unknown", "list_available_verbs"),
        (Code.SCOPE, "budget_blocked", "list_available_verbs"),
        (Code.SCOPE, "outside_allowlist", "list_scoped_files"),
        (Code.EVIDENCE, "code_sources", "read_file_lines"),
        (Code.EVIDENCE, "requirement_sources", "get_original_prompt"),
        (Code.ORIGIN, "chain_broken", "trace_symbol_graph"),
        (Code.CONTRACT, "operation_missing", "fetch_api_spec"),
        (Code.AMBIGUOUS, "hedge", "request_evidence_guidance"),
        (Code.PACK, "pack_stale", "request_evidence_guidance"),
        (Code.COLLISION, "reserved", "list_available_verbs"),
        (Code.UNGATED, "gate_missing", "submit_execution_plan"),
    ],
)
def test_the_first_code_decides_what_is_suggested(code: Code, detail: str, verb: str) -> None:
    assert suggested_verb(Run(), "submit_execution_plan", (Violation(code, detail, "."),)) == verb


@pytest.mark.parametrize(
    ("verb", "arguments", "details"),
    [
        ("no_such_verb", {}, ["verb_unknown"]),
        ("trace_symbol_graph", {}, ["arg_missing"]),
        ("trace_symbol_graph", {"query": " "}, ["arg_missing"]),
        ("trace_symbol_graph", {"query": "rates"}, []),
        ("write_scratch_file", {"relativePath": "a", "content": ""}, []),
        ("write_scratch_file", {"relativePath": 3}, ["arg_missing", "arg_type"]),
        ("submit_execution_plan", {"planGraph": "text"}, ["arg_type"]),
        ("request_evidence_guidance", {"blockingReasons": None}, ["arg_missing"]),
    ],
)
def test_arguments_are_checked_by_the_table_of_verbs(verb: str, arguments: dict[str, Any], details: list[str]) -> None:
    assert _details(Run(), verb, arguments) == details


@pytest.mark.parametrize("request_", [{}, {"verb": None}, {"verb": 3}, {"verb": ["x"]}, {"verb": "Read_File_Lines"}])
def test_a_request_without_a_known_verb_is_refused(request_: dict[str, Any]) -> None:
    assert [violation.detail for violation in admit_request(Run(), request_).violations] == ["verb_unknown"]


@pytest.mark.parametrize("arguments", ["text", [], 3, True])
def test_arguments_that_are_not_an_object_are_refused(arguments: Any) -> None:
    admission = admit_request(Run(), {"verb": "list_scoped_files", "args": arguments})
    assert [violation.pointer for violation in admission.violations] == ["/args"]


def test_a_request_nested_too_deeply_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert admit(Run(), "read_file_lines", {"targetFile": deep}).deny_reasons == ("PLAN_MISSING_REQUIRED_FIELDS",)


def test_no_sequence_of_turns_spends_more_than_the_threshold_on_what_is_not_safe() -> None:
    chance = random.Random(3)
    for _ in range(repeated(20)):
        run = Run(budget=Budget(max_tokens=200))
        spent = 0
        for _ in range(40):
            verb = chance.choice(list(VERBS))
            arguments = {"targetFile": "x" * chance.randint(0, 200), "symbol": "s"}
            cost = cost_of(_request(verb, arguments))
            admission = admit(run, verb, arguments)
            if not admission.violations and verb not in BUDGET_SAFE:
                spent += cost
            assert admission.run.budget.used_tokens == run.budget.used_tokens + cost
            run = admission.run
        assert spent <= run.budget.threshold_tokens
