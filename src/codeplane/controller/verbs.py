"""The verbs of the controller: what each needs, in which states it is offered, and what follows a denial."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from codeplane.controller.budget import cost_of
from codeplane.controller.codes import Code, Violation, codes_of, in_report_order
from codeplane.controller.states import Event, Run, RunState, after, after_denial


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb; an argument `a|b` is given as either."""

    name: str
    description: str
    when_to_use: str
    required: Mapping[str, type]
    optional: tuple[str, ...] = ()
    is_mutation: bool = False


def _verb(name: str, words: tuple[str, str], *optional: str, **required: type) -> Verb:
    return Verb(name, *words, MappingProxyType(required), optional)


def _mutation(name: str, words: tuple[str, str], *optional: str, **required: type) -> Verb:
    return replace(_verb(name, words, *optional, **required), is_mutation=True)


VERBS: Final[Mapping[str, Verb]] = MappingProxyType({verb.name: verb for verb in (
    _verb("list_available_verbs", ("Lists the verbs of the current state.", "You do not know what to call.")),
    _verb("list_scoped_files", ("Lists the files in scope.", "Before naming a file in a plan."),
          "prefix", "limit", "cursor"),
    _verb("list_directory_contents", ("Lists a directory.", "To look around."), targetDir=str),
    _verb("read_file_lines", ("Reads lines of a file.", "To collect code evidence."),
          "startLine", "endLine", targetFile=str),
    _verb("lookup_symbol_definition", ("Finds definitions of a symbol.", "Before naming a target symbol."),
          "kind", "file", "limit", symbol=str),
    _verb("trace_symbol_graph", ("Finds related symbols.", "To see what a change reaches."),
          "symbol", "targetFile", "query", "depth", "direction", "edgeTypes", "limit"),
    _verb("search_codebase_text", ("Searches text in scope.", "You know a word, not a symbol."),
          "regex", "ignoreCase", "glob", "limit", pattern=str),
    _verb("fetch_jira_ticket", ("Fetches a ticket.", "The prompt names a ticket."), "expand", ticketKey=str),
    _verb("fetch_api_spec", ("Fetches an API description.", "The change follows a contract."),
          "operationIds", "pathGlob", specUrl=str),
    _verb("get_original_prompt", ("Returns the prompt of this work.", "To cite the requirement.")),
    _verb("write_scratch_file", ("Writes a file outside the tree.", "For notes and payloads."),
          relativePath=str, content=str),
    _verb("submit_execution_plan", ("Submits a plan for validation.", "When the evidence is complete."),
          "dryRun", planGraph=dict),
    _verb("request_evidence_guidance", ("Says what is missing.", "You are stuck."), blockingReasons=list),
    _verb("signal_task_complete", ("Ends the run with a retrospective.", "All work is done."), "summary"),
    _mutation("apply_code_patch", ("Patches the file of a change node.", "To carry out a change node."),
              planNodeId=str, targetFile=str, edits=list),
    _mutation("run_sandboxed_code", ("Runs a program without files and network.", "To compute something."),
              "declaredInputs", "timeoutMs", "memoryMb", "expectedReturn", planNodeId=str, code=str),
    _mutation("execute_gated_side_effect", ("Carries out a side_effect node.", "All its checks have passed."),
              planNodeId=str, sideEffectType=str),
    _mutation("run_automation_recipe", ("Runs a named recipe.", "A recipe fits the node."),
              "params", recipeId=str, planNodeId=str, artifactBundleRef=str, diffSummaryRef=str),
)})  # fmt: skip
# One of these is enough for the verb.
ONE_OF: Final = MappingProxyType({"trace_symbol_graph": ("symbol", "targetFile", "query")})
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
        if value is None or (isinstance(value, str) and not value.strip() and name != "content"):
            yield Violation(Code.MISSING_FIELDS, "arg_missing", f"{verb.name} needs {name}.", f"/args/{name}")
        elif not isinstance(value, wanted):
            message = f"{name} is of another type than {verb.name} needs."
            yield Violation(Code.MISSING_FIELDS, "arg_type", message, f"/args/{name}", expected=wanted.__name__)
    names = ONE_OF.get(verb.name, ())
    if names and not any(isinstance(arguments.get(name), str) and arguments[name].strip() for name in names):
        message = f"{verb.name} needs one of {', '.join(names)}."
        yield Violation(Code.MISSING_FIELDS, "arg_missing", message, f"/args/{names[0]}")
