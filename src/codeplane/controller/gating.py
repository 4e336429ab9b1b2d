"""Which verb is offered when, the gates before a turn, and what to call after a denial."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from codeplane.controller.budget import cost_of
from codeplane.controller.codes import Code, Violation, codes_of, in_report_order
from codeplane.controller.states import Event, Run, RunState, after, after_denial
from codeplane.controller.verb import Verb
from codeplane.controller.verbs.catalog import VERBS

BUDGET_SAFE: Final = frozenset(
    {"list_available_verbs", "get_original_prompt", "request_evidence_guidance", "signal_task_complete"}
)
_BEFORE_A_PLAN: Final = tuple(name for name, verb in VERBS.items() if not verb.is_mutation)
_ENDED: Final = ("list_available_verbs", "get_original_prompt", "signal_task_complete")
OFFERED: Final[Mapping[RunState, tuple[str, ...]]] = MappingProxyType(
    {
        RunState.PLAN_REQUIRED: _BEFORE_A_PLAN,
        RunState.PLAN_ACCEPTED: tuple(VERBS),
        RunState.EXECUTION_ENABLED: tuple(VERBS),
        RunState.BLOCKED_BUDGET: ("list_available_verbs", "get_original_prompt", "request_evidence_guidance"),
        RunState.FAILED: _ENDED,
        RunState.COMPLETED: _ENDED,
    }
)
# What to call after a denial, by detail and then by code; None is the same verb again.
_AFTER_DETAIL: Final = MappingProxyType(
    {"verb_unknown": "list_available_verbs", "budget_blocked": "list_available_verbs"}
)
_AFTER_CODE: Final = MappingProxyType(
    {
        Code.MISSING_FIELDS: None,
        Code.SCOPE: "list_scoped_files",
        Code.ORIGIN: "trace_symbol_graph",
        Code.FEDERATION: "trace_symbol_graph",
        Code.CONTRACT: "fetch_api_spec",
        Code.COLLISION: "list_available_verbs",
        Code.UNGATED: "submit_execution_plan",
    }
)


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a turn may go on: the run with its cost counted, and what stands against it."""

    run: Run
    violations: tuple[Violation, ...] = ()

    @property
    def deny_reasons(self) -> tuple[Code, ...]:
        """The codes of the denial."""
        return codes_of(self.violations)


def admit(run: Run, request: Mapping[str, Any]) -> Admission:
    """Ask the state, then the budget, then the arguments; the cost of the whole request counts in every case."""
    try:
        cost = cost_of(request)
    except ValueError as error:
        return _denied(run, Violation(Code.MISSING_FIELDS, "arg_type", str(error)))
    run = after(run, Event.BUDGET_RAISED)
    charged = replace(run, budget=replace(run.budget, used_tokens=run.budget.used_tokens + cost))
    verb = VERBS.get(request["verb"]) if isinstance(request.get("verb"), str) else None
    if verb is None or verb.name not in OFFERED[run.state]:
        detail = "verb_not_in_state" if verb else "verb_unknown"
        return _denied(charged, Violation(Code.SCOPE, detail, f"The state {run.state} does not offer this verb."))
    if verb.name not in BUDGET_SAFE and not run.budget.admits(cost):
        message = f"The turn costs {cost} tokens, which is more than is left."
        # Only turns that arrive while the run is blocked count towards its end.
        blocked = after(charged, Event.BUDGET_REFUSED)
        return Admission(blocked, (Violation(Code.SCOPE, "budget_blocked", message),))
    return _denied(charged, *_check_arguments(verb, request.get("args")))


def suggested_verb(run: Run, verb: str, violations: tuple[Violation, ...]) -> str:
    """Return what to call after a denial."""
    first = in_report_order(violations)[0]
    if first.detail == "verb_not_in_state" and run.state is RunState.PLAN_REQUIRED:
        return "submit_execution_plan"
    if first.code is Code.EVIDENCE:
        return "read_file_lines" if first.detail == "code_sources" else "get_original_prompt"
    if first.detail in _AFTER_DETAIL:
        return _AFTER_DETAIL[first.detail]
    return _AFTER_CODE.get(first.code, "request_evidence_guidance") or verb


def suggested_action(
    run: Run, verb: str, arguments: Mapping[str, Any], violations: tuple[Violation, ...]
) -> dict[str, Any]:
    """Return the verb to call after a denial, why, and the arguments that are known."""
    first = in_report_order(violations)[0]
    name = suggested_verb(run, verb, violations)
    filled = _known_arguments(name, verb, arguments, violations)
    if name not in VERBS or name not in OFFERED[run.state]:
        name, filled = "list_available_verbs", {}
    action: dict[str, Any] = {"verb": name, "reason": first.message}
    return action | ({"args": filled} if filled else {})


def _known_arguments(
    name: str, verb: str, arguments: Mapping[str, Any], violations: tuple[Violation, ...]
) -> dict[str, Any]:
    first = violations[0]
    if name == verb and name in VERBS and first.code is Code.MISSING_FIELDS:
        known = {*VERBS[name].required, *VERBS[name].optional}
        # A plan is too long to be sent back.
        return {key: value for key, value in arguments.items() if key in known and key != "planGraph"}
    if name == "request_evidence_guidance":
        return {"blockingReasons": [code.value for code in codes_of(violations)]}
    if name in {"read_file_lines", "trace_symbol_graph"}:
        path = _target_of(arguments, first.node_id)
        return {"targetFile": path} if path else {}
    return {}


def _target_of(arguments: Mapping[str, Any], node_id: str | None) -> str | None:
    plan = arguments.get("planGraph")
    nodes = plan.get("nodes") if isinstance(plan, Mapping) else None
    for node in nodes if isinstance(nodes, list) else ():
        if isinstance(node, Mapping) and node.get("nodeId") == node_id and isinstance(node.get("targetFile"), str):
            return str(node["targetFile"])
    return None


def _denied(run: Run, *violations: Violation) -> Admission:
    if violations:
        return Admission(after_denial(run), in_report_order(violations))
    return Admission(replace(run, n_denied_while_blocked=0))


def _check_arguments(verb: Verb, given: Any) -> Iterator[Violation]:
    arguments: Any = {} if given is None else given
    if not isinstance(arguments, Mapping):
        yield Violation(Code.MISSING_FIELDS, "arg_type", "args is an object.", "/args")
        return
    for name, wanted in verb.required.items():
        value = arguments.get(name)
        is_blank = isinstance(value, str) and not value.strip() and name not in verb.may_be_blank
        if value is None or is_blank:
            yield Violation(Code.MISSING_FIELDS, "arg_missing", f"{verb.name} needs {name}.", f"/args/{name}")
        else:
            yield from _check_type(verb, name, value, wanted)
    for name, wanted in verb.optional.items():
        if arguments.get(name) is not None:
            yield from _check_type(verb, name, arguments[name], wanted)
    if verb.one_of and not any(isinstance(one := arguments.get(name), str) and one.strip() for name in verb.one_of):
        message = f"{verb.name} needs one of {', '.join(verb.one_of)}."
        yield Violation(Code.MISSING_FIELDS, "arg_missing", message, f"/args/{verb.one_of[0]}")


def _check_type(verb: Verb, name: str, value: Any, wanted: type) -> Iterator[Violation]:
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        message = f"{name} of {verb.name} is of type {wanted.__name__}."
        yield Violation(Code.MISSING_FIELDS, "arg_type", message, f"/args/{name}", expected=wanted.__name__)
