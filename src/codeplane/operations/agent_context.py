"""`agent_context`: what an agent is told at a moment of its session: facts about its work here, in under 2 kB."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from pydantic import Field

from codeplane.core.callers import Caller
from codeplane.core.logs import fields, get_logger
from codeplane.govern.intents import Intent
from codeplane.ledger.effects import EffectClass
from codeplane.memory.hook_events import HookMemory, prompt_submitted, stopped
from codeplane.memory.workflow_gates import active_preset
from codeplane.operations.context_pack import ContextPackRequest, lessons_for
from codeplane.operations.list_test_runs import last_failures
from codeplane.operations.memory_access import origin_of
from codeplane.operations.memory_automation import project_context
from codeplane.operations.memory_cycle import cycle_parts
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import Audience, CallContext, Example, Operation, planned
from codeplane.operations.outside_calls import OutsideResult
from codeplane.operations.perform import Door, perform
from codeplane.workspace.workspace import Workspace

_log = get_logger(__name__)
MAX_BYTES: Final = 1_900
_LESSON_BYTES: Final = 700
_SHOWN: Final = 5
_MAX_PATHS: Final = 50
_MAX_PROMPT: Final = 20_000

Moment = Literal["start", "prompt", "edit", "compaction", "stop"]


class AgentContextRequest(Request):
    """At which moment, and what is known of the work at hand."""

    moment: Moment = "start"
    prompt: str = Field("", max_length=_MAX_PROMPT)
    paths: list[str] = Field(default_factory=list, max_length=_MAX_PATHS, description="Files at hand.")
    knows_criteria: bool = Field(False, description="The agent was told before when its intent is done.")
    is_repeated: bool = Field(False, description="A stop that a hook at the stop has caused.")


class AgentContextResult(Result):
    """The lines that the agent gets."""

    lines: list[str]


def _handle(context: CallContext, request: AgentContextRequest) -> AgentContextResult:
    lines = list(_PARTS[request.moment](context, request))
    return AgentContextResult(lines=_cut(lines))


def _at_start(context: CallContext, request: AgentContextRequest) -> Iterable[str]:
    yield from _intent_lines(context)
    yield from _waiting_lines(context)
    yield from _project_lines(context, "summary", "highlights", "reminders", "preImplementation")
    yield from _lesson_lines(context, request)


def _at_prompt(context: CallContext, request: AgentContextRequest) -> Iterable[str]:
    yield from _intent_lines(context)
    yield from _waiting_lines(context)
    yield from _cycle_lines(context, request)
    yield from _project_lines(context, "reminders", "preImplementation")
    yield from _lesson_lines(context, request)


def _at_edit(context: CallContext, request: AgentContextRequest) -> Iterable[str]:
    yield from _lesson_lines(context, request)
    yield from _project_lines(context, "postImplementation")


def _at_compaction(context: CallContext, _request: AgentContextRequest) -> Iterable[str]:
    yield from _intent_lines(context)
    yield from _waiting_lines(context)


def _at_stop(context: CallContext, request: AgentContextRequest) -> Iterable[str]:
    workspace = context.workspace
    if _has_workflow(workspace):
        stopped(_memory(context), is_repeated=request.is_repeated)
    if not _has_changed(context):
        return
    failing = last_failures(workspace, context.session.opened_ms)
    if failing:
        yield f"The last test run had failures: {_listed(failing)}."
    intent = _selected(context)
    if intent is not None and intent.acceptance_criteria and not request.knows_criteria:
        yield f"{intent.id} is done when (nobody has confirmed it yet):"
        yield from (f"- {_line(one)}" for one in intent.acceptance_criteria[:_SHOWN])


def _intent_lines(context: CallContext) -> Iterable[str]:
    rules, now = context.workspace.gate.rules(), context.workspace.clock.now_ms()
    if not rules.is_enforced:
        return
    intent = _selected(context)
    if intent is not None and rules.why_not_valid(intent.id, now, context.session.label) is None:
        yield f"Selected intent: {intent.id} ({_line(intent.name)}). Scope: {', '.join(intent.owned_scope[:_SHOWN])}."
        yield from (f"- constraint: {_line(one)}" for one in intent.constraints[:_SHOWN])
        yield from (f"- done when: {_line(one)}" for one in intent.acceptance_criteria[:_SHOWN])
        return
    active = [one for name in rules.active_ids(now) if (one := rules.find(name)) is not None]
    yield "Changes here need a selected intent (tool select_active_intent). None is selected yet."
    for one in active[:_SHOWN]:
        yield f"- {one.id} ({_line(one.name)}): {', '.join(one.owned_scope[:_SHOWN])}"
    if not active:
        yield "- No intent is active; a person adds one."


def _waiting_lines(context: CallContext) -> Iterable[str]:
    holds = [
        one for one in context.workspace.gate.approvals.holds("pending") if one.key.session == context.session.label
    ]
    if holds:
        named = ", ".join(f"{one.hold_id} ({one.key.operation})" for one in holds[:_SHOWN])
        yield f"Calls of this session that wait for a person: {named}."


def _project_lines(context: CallContext, *names: str) -> Iterable[str]:
    project = project_context(context.workspace)
    if project is None:
        return
    titles = {"preImplementation": "Before edits", "postImplementation": "After edits", "reminders": "Reminder"}
    for name in names:
        texts = [project[name]] if isinstance(project[name], str) else project[name]
        yield from (f"{titles.get(name, 'Project')}: {_line(text)}" for text in texts if text)


def _lesson_lines(context: CallContext, request: AgentContextRequest) -> Iterable[str]:
    workspace = context.workspace
    if not (workspace.settings.memory.memory_enabled and workspace.has_memory):
        return
    wanted = ContextPackRequest(
        query=request.prompt,
        paths=list(request.paths),
        byte_budget=_LESSON_BYTES,
        max_cells=3,
        max_experiences=3,
    )
    lines = lessons_for(context, wanted)
    if lines:
        yield "Lessons recorded here:"
        yield from (f"- {_line(one)}" for one in lines)


def _cycle_lines(context: CallContext, request: AgentContextRequest) -> Iterable[str]:
    if _has_workflow(context.workspace):
        yield prompt_submitted(_memory(context), request.prompt, None)


def _has_workflow(workspace: Workspace) -> bool:
    return workspace.settings.memory.memory_enabled and active_preset(workspace.chain) is not None


def _memory(context: CallContext) -> HookMemory:
    return HookMemory(context.workspace.memory, cycle_parts(context), origin_of(context))


def _selected(context: CallContext) -> Intent | None:
    gate = context.workspace.gate
    selected = gate.selected_of(context.session.label, context.caller, context.workspace.repository.worktree_id)
    return gate.rules().find(selected) if selected is not None else None


def _has_changed(context: CallContext) -> bool:
    task = context.workspace.tasks.current_task(context.session.label, context.workspace.repository.worktree_id)
    return task is not None and task.mutation_count > 0


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


def _cut(lines: Sequence[str]) -> list[str]:
    """Return as many whole lines as fit."""
    found: list[str] = []
    room = MAX_BYTES
    for line in lines:
        room -= len(line.encode("utf-8", "replace")) + 1
        if room < 0:
            found.append("…")
            break
        found.append(line)
    return found


_PARTS: Final = {
    "start": _at_start,
    "prompt": _at_prompt,
    "edit": _at_edit,
    "compaction": _at_compaction,
    "stop": _at_stop,
}


AGENT_CONTEXT = Operation(
    name="agent_context",
    family="memory",
    summary="Tell an agent what matters for its work at a moment of its session.",
    request_type=AgentContextRequest,
    result_type=AgentContextResult,
    effect=EffectClass.RECORD,
    plan=planned(_handle),
    render=lambda result: "\n".join(result.lines),
    audience=Audience.SHELL,
    examples=(Example("At the start of a session", {"moment": "start"}),),
)


def told_at(door: Door, caller: Caller, request: AgentContextRequest) -> str:
    """Return what an agent is told; when that cannot be had, it goes on without."""
    answer = perform(door, AGENT_CONTEXT, request, caller)
    if answer.error is not None:
        _log.warning("an agent was told nothing", extra=fields(moment=request.moment, error=answer.error.error))
        return ""
    return answer.text()


def prompt_request(workspace: Workspace, prompt: str) -> AgentContextRequest:
    """Return the request for a prompt: files that it names are at hand."""
    tracked = workspace.tracked().files
    named = (word.strip("`'\"()[]<>,.:;@").removeprefix("./") for word in prompt[:_MAX_PROMPT].split())
    paths = [word for word in dict.fromkeys(named) if word in tracked]
    return AgentContextRequest(moment="prompt", prompt=prompt[:_MAX_PROMPT], paths=paths[:_MAX_PATHS])


def call_lines(result: OutsideResult) -> list[str]:
    """Return what an agent should know of its own call that it cannot see itself."""
    lines = [f"{path} is protected; it was put back as it was." for path in result.restored[:_SHOWN]]
    lines += [f"{path} was changed by somebody else just before this write." for path in result.overwritten[:_SHOWN]]
    if result.out_of_scope:
        lines.append(f"Not in the scope of the selected intent: {_listed(result.out_of_scope)}.")
    lines += [f"{one.path} no longer parses at line {one.line}." for one in result.syntax_errors[:_SHOWN]]
    if result.tests_affected:
        lines.append(f"Affected tests: {_listed(result.tests_affected)}.")
    return lines


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
