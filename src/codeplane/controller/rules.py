"""Stage 6: policies of the team and rules that were learned."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from codeplane.controller.case import Case
from codeplane.controller.codes import Code, Violation
from codeplane.controller.conditions import ConditionError, ConditionTooCostlyError, Not, holds, parse_condition
from codeplane.controller.world import Rule


@dataclass(frozen=True, slots=True)
class MemoryRuleResult:
    """What one learned rule said about the plan."""

    memory_id: str
    condition: str
    satisfied: bool
    deny_code: Code | None = None


@dataclass(frozen=True, slots=True)
class RuleReport:
    """Violations, the results of learned rules, and the ids of rules that could not be parsed."""

    violations: tuple[Violation, ...] = ()
    memory_results: tuple[MemoryRuleResult, ...] = ()
    broken: tuple[str, ...] = ()


def check_rules(case: Case, strategy: str) -> RuleReport:
    """Judge the plan by every active policy and every enforced rule, in the order of their ids."""
    violations = list(_check_versions(case))
    results: list[MemoryRuleResult] = []
    broken: list[str] = []
    for owner, rule, is_memory in _rules(case):
        try:
            is_satisfied = _is_satisfied(case, rule, strategy)
        except ConditionError:
            broken.append(owner)
            is_satisfied = True
        code = None if is_satisfied else _code_of(rule)
        if code is not None:
            message = f"The plan violates {owner}: {rule.condition}"
            violations.append(Violation(code, "rule_violated", message, "/nodes", actual=owner))
        if is_memory:
            results.append(MemoryRuleResult(owner, rule.condition, is_satisfied, code))
    return RuleReport(tuple(violations), tuple(results), tuple(broken))


def conflicting_policies(case: Case, strategy: str) -> tuple[tuple[str, str], ...]:
    """Return pairs of policies that both apply to the plan and require opposite steps."""
    steps = {
        policy.policy_id: frozenset(parse_condition(step) for step in policy.rule.required_steps)
        for policy in sorted(case.world.policies, key=lambda one: one.policy_id)
        if policy.is_active and _is_readable(policy.rule) and _applies(case, policy.rule, strategy)
    }
    return tuple(
        (first, second)
        for first, second in combinations(steps, 2)
        if any(Not(one) in steps[second] for one in steps[first])
        or any(Not(one) in steps[first] for one in steps[second])
    )


def _check_versions(case: Case) -> Iterator[Violation]:
    named = case.plan.document["policyVersionSet"]
    for policy in case.world.policies:
        if policy.is_active and named.get(policy.policy_id) != policy.version:
            message = f"policyVersionSet must name {policy.policy_id} in version {policy.version}."
            yield Violation(Code.POLICY, "policy_version", message, "/policyVersionSet", expected=policy.version)


def _rules(case: Case) -> Iterator[tuple[str, Rule, bool]]:
    for policy in sorted(case.world.policies, key=lambda one: one.policy_id):
        if policy.is_active:
            yield policy.policy_id, policy.rule, False
    for memory_id, memory in sorted(case.world.memories.items()):
        if memory.rule is not None and memory.is_enforced:
            yield memory_id, memory.rule, True


def _is_satisfied(case: Case, rule: Rule, strategy: str) -> bool:
    """Decide a rule; one that is too costly to decide on this plan is violated, so that no plan can outgrow it."""
    steps = [parse_condition(step) for step in rule.required_steps]
    try:
        if not _applies(case, rule, strategy):
            return True
        root = case.root(strategy)
        return bool(steps) and all(holds(step, root) for step in steps)
    except ConditionTooCostlyError:
        return False


def _applies(case: Case, rule: Rule, strategy: str) -> bool:
    condition = parse_condition(rule.condition)
    return case.is_below(rule.anchors) and holds(condition, case.root(strategy))


def _is_readable(rule: Rule) -> bool:
    try:
        for text in (rule.condition, *rule.required_steps):
            parse_condition(text)
    except ConditionError:
        return False
    return True


def _code_of(rule: Rule) -> Code:
    """Return the rule's code; one that is not in the table becomes the general one, so that the rule still counts."""
    return Code(rule.deny_code) if rule.deny_code in set(Code) else Code.POLICY
