"""The signature selects the strategy; five events switch it; proofs and operations are asked for where they matter."""

from dataclasses import replace
from typing import Any

import pytest

from codeplane.controller.codes import Code
from codeplane.controller.signature import Signature, SignatureFacts, TargetFile, signature_of
from codeplane.controller.strategy import (
    Rejection,
    RunHistory,
    Trigger,
    is_proved,
    next_strategy,
    select_strategy,
    triggers_of,
)
from codeplane.controller.world import Memory, MemoryState, Signal, Turn
from support.plans import contract_world, judge, put


@pytest.mark.parametrize(
    ("signature", "strategy"),
    [
        (Signature(), "debug_symptom_trace"),
        (Signature(has_jira=True, touches_shadow_dom=True), "debug_symptom_trace"),
        (Signature(has_swagger=True), "api_contract_feature"),
        (Signature(contract_anchor_present=True), "api_contract_feature"),
        (Signature(mentions_ag_grid=True, has_swagger=True), "ui_aggrid_feature"),
        (Signature(migration_adp_detected=True, mentions_ag_grid=True), "migration_adp_to_sdf"),
    ],
)
def test_the_first_strategy_whose_condition_holds_is_selected(signature: Signature, strategy: str) -> None:
    assert select_strategy(signature) == strategy


@pytest.mark.parametrize(
    ("facts", "feature", "value"),
    [
        (SignatureFacts("see PAY-12"), "has_jira", False),
        (SignatureFacts("see PAY-12", has_ticket_connector=True), "has_jira", True),
        (SignatureFacts(has_fetched_ticket=True), "has_jira", True),
        (SignatureFacts(has_fetched_spec=True), "has_swagger", True),
        (SignatureFacts(targets=(TargetFile(is_api_description=True),)), "has_swagger", True),
        (SignatureFacts("the AG-Grid column"), "mentions_ag_grid", True),
        (SignatureFacts("set columndefs"), "mentions_ag_grid", True),
        (SignatureFacts("a grid"), "mentions_ag_grid", False),
        (SignatureFacts(targets=(TargetFile("this.attachShadow({})"),)), "touches_shadow_dom", True),
        (SignatureFacts(targets=(TargetFile(federation_unit="a"),)), "crosses_federation_boundary", False),
        (
            SignatureFacts(targets=(TargetFile(federation_unit="a"), TargetFile(federation_unit="b"))),
            "crosses_federation_boundary",
            True,
        ),
        (SignatureFacts("from ADP to SDF"), "migration_adp_detected", True),
        (SignatureFacts("from ADPX to SDF"), "migration_adp_detected", False),
        (SignatureFacts(has_resolved_operation=True), "contract_anchor_present", True),
        (SignatureFacts(), "confidence_in_tests", 0),
        (SignatureFacts(targets=(TargetFile(has_mapped_tests=True), *[TargetFile()] * 2)), "confidence_in_tests", 1),
        (SignatureFacts(targets=(TargetFile(has_mapped_tests=True), TargetFile())), "confidence_in_tests", 2),
        (
            SignatureFacts(has_passed_mapped_tests=True, targets=(TargetFile(has_mapped_tests=True),)),
            "confidence_in_tests",
            3,
        ),
    ],
)
def test_each_feature_is_read_from_its_facts(facts: SignatureFacts, feature: str, value: Any) -> None:
    assert getattr(signature_of(facts), feature) == value


def _rejections(*codes: Code, file: str = "a.ts") -> RunHistory:
    return RunHistory(rejections=tuple(Rejection((code,), frozenset({file})) for code in codes))


@pytest.mark.parametrize(
    ("history", "triggers"),
    [
        (RunHistory(), ()),
        (_rejections(Code.SCOPE, Code.SCOPE), ()),
        (_rejections(Code.SCOPE, Code.SCOPE, Code.SCOPE), (Trigger.PLAN_REJECTED,)),
        (_rejections(Code.SCOPE, Code.POLICY, Code.SCOPE), ()),
        (RunHistory(conflicting_policies=(("a", "b"),)), (Trigger.POLICY_CONFLICT,)),
        (RunHistory(node_failures={"n1": 2}), ()),
        (RunHistory(node_failures={"n1": 3}), (Trigger.REPEATED_FAILURE,)),
        (RunHistory(actions=(("read", "x"),) * 3), ()),
        (RunHistory(actions=(("read", "x"),) * 4), (Trigger.REPEATED_ACTION,)),
        (RunHistory(actions=(*[("read", "x")] * 4, ("read", "y"))), ()),
        (_rejections(Code.ORIGIN), ()),
        (_rejections(Code.ORIGIN, Code.SCOPE, Code.FEDERATION), (Trigger.MISSING_PROOF,)),
        (_rejections(Code.ORIGIN, Code.SCOPE), ()),
    ],
)
def test_each_switch_trigger_fires_at_its_threshold(history: RunHistory, triggers: tuple[Trigger, ...]) -> None:
    assert triggers_of(history) == triggers


def test_a_switch_goes_to_the_next_strategy_that_holds_and_around_the_end() -> None:
    signature = Signature(mentions_ag_grid=True, has_swagger=True)
    assert next_strategy("ui_aggrid_feature", signature) == "api_contract_feature"
    assert next_strategy("debug_symptom_trace", signature) == "ui_aggrid_feature"
    assert next_strategy("debug_symptom_trace", Signature()) == "debug_symptom_trace"


def test_after_a_switch_the_plan_must_name_the_new_strategy() -> None:
    world = replace(contract_world(), switched_strategy="migration_adp_to_sdf")
    assert judge(world=world).codes == ("PLAN_STRATEGY_MISMATCH",)
    switched = put("/knowledgeStrategyId", "migration_adp_to_sdf")
    assert judge(switched, world=world).codes == ("PACK_REQUIRED_ANCHOR_UNRESOLVED",)
    known = replace(world, migration_modules=frozenset({"source", "target"}))
    assert judge(switched, world=known).is_accepted


def test_an_enforced_signal_changes_the_strategy_of_files_below_its_anchor() -> None:
    signal = Signal("hasSwagger", True, ("anchor:src/billing",))
    elsewhere = Signal("mentionsAgGrid", True, ("anchor:web",))
    wrong_type = Signal("mentionsAgGrid", "yes")
    memories = {
        "m1": Memory("m1", MemoryState.PROVISIONAL, signal=signal),
        "m2": Memory("m2", MemoryState.APPROVED, signal=elsewhere),
        "m3": Memory("m3", MemoryState.APPROVED, signal=wrong_type),
        "m4": Memory("m4", MemoryState.PENDING, signal=Signal("migrationAdpDetected", True)),
    }
    verdict = judge(world=replace(contract_world(), memories=memories))
    assert verdict.strategy == "api_contract_feature"
    later = Memory("m9", MemoryState.APPROVED, signal=Signal("hasSwagger", False), created_at="2026-01-01")
    verdict = judge(world=replace(contract_world(), memories={**memories, "m9": later}))
    assert verdict.is_accepted


def test_an_operation_of_a_fetched_description_is_a_contract_anchor() -> None:
    world = contract_world(
        [put("/signature/hasSwagger", True), put("/specs/0123456789ab", ["getRate", "/paths/~1rate"])]
    )
    world = replace(world, turns={**world.turns, "tr:run1:7": Turn("w1", frozenset({"swagger:0123456789ab"}))})
    named = put("/knowledgeStrategyId", "api_contract_feature")
    citation = {"sourceType": "swagger", "ref": "swagger:0123456789ab", "traceRef": "tr:run1:7", "locator": "getRate"}
    assert judge(named, put("/nodes/0/citations/-", citation), world=world).confidence == 100
    unknown = {**citation, "locator": "getNothing"}
    verdict = judge(named, put("/nodes/0/citations/-", unknown), world=world)
    assert verdict.codes == ("PLAN_MISSING_CONTRACT_ANCHOR",)


def test_a_reason_may_name_one_source_of_a_turn() -> None:
    place = "/knowledgeStrategyReasons/0/evidenceRef"
    assert judge(put(place, "tr:run1:1#prompt:original")).is_accepted
    assert judge(put(place, "tr:run1:1#jira:X-1")).codes == ("PLAN_STRATEGY_MISMATCH",)


@pytest.mark.parametrize(
    ("chains", "expected"),
    [
        ((), False),
        (("complete",), True),
        (("complete", "terminated:no_nav_trigger"), True),
        (("complete", "broken_at:Route"), False),
    ],
)
def test_a_chain_is_a_proof_when_it_is_complete_or_ends_for_a_reason(chains: tuple[str, ...], expected: bool) -> None:
    assert is_proved(chains) is expected
