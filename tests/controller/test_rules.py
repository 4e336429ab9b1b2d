"""Policies and learned rules refuse plans; broken rules are ignored and named; no plan outgrows a rule."""

from dataclasses import replace

import pytest

from codeplane.controller.case import Case
from codeplane.controller.plan import Plan
from codeplane.controller.rules import conflicting_policies
from codeplane.controller.structure import read_plan
from codeplane.controller.world import Memory, MemoryState, Policy, Rule, World
from support.plans import contract_plan, contract_world, judge, put

APPROVED = MemoryState.APPROVED
BILLING = 'any(nodes.change where targetFile ~ "src/billing/**")'
HAS_TEST = 'any(nodes.validate where any(verificationHooks where kind == "test"))'


def _with_rules(*rules: Rule, state: MemoryState = APPROVED) -> World:
    memories = {f"m{number}": Memory(f"m{number}", state, rule) for number, rule in enumerate(rules)}
    return replace(contract_world(), memories=memories)


@pytest.mark.parametrize(
    ("rule", "codes"),
    [
        (Rule(BILLING), ("PLAN_POLICY_VIOLATION",)),
        (Rule(BILLING, deny_code="PLAN_VERIFICATION_WEAK"), ("PLAN_VERIFICATION_WEAK",)),
        (Rule(BILLING, deny_code="NO_SUCH_CODE"), ("PLAN_POLICY_VIOLATION",)),
        (Rule(BILLING, (HAS_TEST,)), ()),
        (Rule(BILLING, (HAS_TEST, "plan.ticket")), ("PLAN_POLICY_VIOLATION",)),
        (Rule('any(nodes where kind == "unheard")'), ()),
        (Rule(BILLING, anchors=("anchor:web",)), ()),
        (Rule(BILLING, anchors=("anchor:src",)), ("PLAN_POLICY_VIOLATION",)),
        (Rule(BILLING, anchors=("anchor:src/bill",)), ()),
        (Rule(BILLING, anchors=("anchor:.",)), ("PLAN_POLICY_VIOLATION",)),
    ],
)
def test_a_rule_that_applies_needs_its_steps(rule: Rule, codes: tuple[str, ...]) -> None:
    verdict = judge(world=_with_rules(rule))
    assert verdict.codes == codes
    (result,) = verdict.memory_results
    assert (result.memory_id, result.satisfied, result.deny_code) == ("m0", not codes, codes[0] if codes else None)


@pytest.mark.parametrize("state", [MemoryState.PENDING, MemoryState.REJECTED, MemoryState.EXPIRED])
def test_a_rule_that_is_not_enforced_is_not_looked_at(state: MemoryState) -> None:
    verdict = judge(world=_with_rules(Rule(BILLING), state=state))
    assert verdict.is_accepted
    assert verdict.memory_results == ()


def test_a_rule_that_does_not_parse_is_ignored_and_named() -> None:
    verdict = judge(world=_with_rules(Rule("any("), Rule(BILLING, ("oops oops",)), Rule("plan.ticket")))
    assert verdict.is_accepted
    assert verdict.broken_rules == ("m0", "m1")
    assert [result.satisfied for result in verdict.memory_results] == [True, True, True]


def test_a_plan_cannot_outgrow_a_rule() -> None:
    rule = Rule("all(nodes where any(plan.padding where any(plan.padding where x)))", ("plan.ticket",))
    verdict = judge(put("/padding", [{}] * 1000), world=_with_rules(rule))
    assert verdict.codes == ("PLAN_POLICY_VIOLATION",)


def test_inactive_policies_neither_refuse_nor_need_a_version() -> None:
    policy = Policy("p", "3", Rule(BILLING))
    world = replace(contract_world(), policies=(policy,))
    assert [one.detail for one in judge(world=world).violations] == ["rule_violated", "policy_version"]
    assert judge(world=replace(world, policies=(replace(policy, is_active=False),))).is_accepted


def test_policies_that_require_opposite_steps_are_in_conflict() -> None:
    policies = (
        Policy("a", "1", Rule(BILLING, ("plan.ticket",))),
        Policy("b", "1", Rule(BILLING, ("not plan.ticket",))),
        Policy("c", "1", Rule("plan.missing", ("not plan.ticket",))),
        Policy("d", "1", Rule("any(", ("not plan.ticket",))),
    )
    plan = read_plan(contract_plan())
    assert isinstance(plan, Plan)
    case = Case(plan, replace(contract_world(), policies=policies))
    assert conflicting_policies(case, "debug_symptom_trace") == (("a", "b"),)
