"""Stages 4b and 4d: every change is checked by something that can fail, and every side effect has a gate."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import re2

from codeplane.controller.case import Case, node_fault
from codeplane.controller.codes import Code, Violation
from codeplane.controller.plan import Node

# Commands that succeed whatever the code does.
_PROVES_NOTHING: Final = frozenset({"true", "false", ":", "echo", "printf", "cat", "ls", "pwd", "sleep", "exit"})


def check_verification(case: Case) -> Iterator[Violation]:
    """Yield changes without a strong check, criteria that no program can check, and effects before their checks."""
    for node in case.changes:
        yield from _check_change(node, case)
    for node in case.plan.of_kind("validate"):
        yield from _check_validate(node, case)
    for node in case.plan.of_kind("side_effect"):
        yield from _check_side_effect(node, case)
    yield from _check_hook_ids(case)


def check_gates(case: Case) -> Iterator[Violation]:
    """Yield side effects without a gate."""
    for node in case.plan.of_kind("side_effect"):
        if not (node.document.get("commitGateId") or "").strip():
            message = "A side_effect node needs a commitGateId."
            yield node_fault(Code.UNGATED, "gate_missing", node, "commitGateId", message)


def is_strong(hook: Mapping[str, Any]) -> bool:
    """Tell whether a hook can fail because of the code."""
    command = hook.get("command") or [":"]
    # `/bin/true` is `true`.
    program = command[0].strip().rpartition("/")[2]
    return hook["kind"] != "lint" and (bool(hook.get("recipeId")) or program not in _PROVES_NOTHING)


def is_checkable(criteria: Any) -> bool:
    """Tell whether a program can decide success."""
    match criteria:
        case {"type": "exit_code", "equals": int() as code}:
            return not isinstance(code, bool)
        case {"type": "output_regex", "pattern": str() as pattern}:
            return _is_expression(pattern)
        case {"type": "json_pointer", "pointer": str() as pointer, "equals": _}:
            return pointer == "" or pointer.startswith("/")
    return False


def _check_change(node: Node, case: Case) -> Iterator[Violation]:
    if not node.document["verificationHooks"]:
        message = "A change node names at least one verification hook."
        yield node_fault(Code.VERIFICATION, "hook_missing", node, "verificationHooks", message)
    covering = case.plan.covering.get(node.node_id, ())
    if not any(is_strong(hook) for check in covering for hook in check.document["verificationHooks"]):
        message = f"No validate node with a strong hook names {node.node_id} and depends on it."
        yield node_fault(Code.VERIFICATION, "cover_missing", node, "nodeId", message)


def _check_validate(node: Node, case: Case) -> Iterator[Violation]:
    if not is_checkable(node.document["successCriteria"]):
        message = "successCriteria is not an exit_code, output_regex or json_pointer object."
        yield node_fault(Code.VERIFICATION, "criteria_form", node, "successCriteria", message)
    named = [case.plan.by_id.get(node_id) for node_id in node.document["mapsToNodeIds"]]
    if not named or any(one is None or one.kind != "change" for one in named):
        message = "mapsToNodeIds names at least one node, and change nodes only."
        yield node_fault(Code.VERIFICATION, "maps_to_no_change", node, "mapsToNodeIds", message)


def _check_side_effect(node: Node, case: Case) -> Iterator[Violation]:
    """Yield the first change that the effect would make final unchecked; one is enough, there may be very many."""
    plan = case.plan
    for change in plan.of_kind("change"):
        covering = plan.covering.get(change.node_id, ())
        # A change that nothing covers is reported at the change.
        if plan.is_after(node, change) and covering and not any(plan.is_after(node, check) for check in covering):
            message = f"It depends on {change.node_id} but on no validate node that covers it."
            yield node_fault(Code.VERIFICATION, "effect_before_check", node, "dependsOn", message)
            return


def _check_hook_ids(case: Case) -> Iterator[Violation]:
    """Yield hooks that share their id with another one: which of them runs must not be open."""
    seen: dict[str, Any] = {}
    for node in case.plan.nodes:
        for number, hook in enumerate(node.document.get("verificationHooks", ())):
            if seen.setdefault(hook["hookId"], hook) != hook:
                message = f"Another hook of this plan has the id {hook['hookId'][:64]}, too."
                place = f"verificationHooks/{number}/hookId"
                yield node_fault(Code.VERIFICATION, "hook_ambiguous", node, place, message)


def _is_expression(pattern: str) -> bool:
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error:
        return False
    return True
