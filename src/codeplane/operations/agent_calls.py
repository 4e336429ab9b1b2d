"""Answer the hooks of agents: decide over their own tool calls, and end those when they are done.

An agent's session is a session of the door, so intents, seen files, grants and budgets are shared between its own tools
and ours. A call is decided once however often its hook is delivered. Whatever goes wrong before a tool, the tool is
refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError, ErrorReport
from codeplane.core.logs import fields, get_logger
from codeplane.govern.approvals import PENDING
from codeplane.govern.gate import HOOK_SURFACE
from codeplane.ledger.effects import EffectClass
from codeplane.ledger.policy import Decision, Verdict
from codeplane.operations.agent_context import AgentContextRequest, call_lines, prompt_request, told_at
from codeplane.operations.agent_events import (
    CANARY_SESSION,
    NO_OPINION,
    AgentDecision,
    AgentEvent,
    EventKind,
    Reply,
    ToolKind,
    ToolUse,
    kept_tool,
    tool_from,
)
from codeplane.operations.agent_files import AGENT_FILES
from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.call_record import BegunOutside, Call
from codeplane.operations.dispatch import dispatch
from codeplane.operations.manage_agents import problems_of
from codeplane.operations.outside_calls import (
    Classes,
    Ending,
    OutsideResult,
    classes_of,
    outside_operation,
    request_of,
)
from codeplane.operations.perform import Door, begin_outside, finish_outside, perform
from codeplane.operations.select_in_shell import cpl_words, selected_in_shell
from codeplane.operations.upstream_names import OWN_SERVER, SEPARATOR
from codeplane.workspace.command_bracket import CommandBracket, Mark
from codeplane.workspace.outside_book import ENDED, HELD, OPEN, REFUSED, OutsideBook, OutsideEntry
from codeplane.workspace.workspace import Workspace

_log = get_logger(__name__)
_PROGRAM: Final = "cpl"
# Deliveries of a call without an id that are closer than this are one call.
_TWICE_MS: Final = 2_000
_MAX_TOLD: Final = 500
_MAX_AT_HAND: Final = 50


def answer_event(door: Door, event: AgentEvent) -> AgentDecision:
    """Return what an agent is told; of a tool that could not be judged, that it may not run."""
    handler = _HANDLERS.get(event.kind)
    if handler is None:
        return NO_OPINION
    try:
        return handler(door, event)
    except CodePlaneError as error:
        _log.warning("an agent's event failed", extra=fields(event=event.name, error=error.code, reason=error.message))
        return refused(error.report()) if event.kind is EventKind.BEFORE_TOOL and may_change(event.tool) else NO_OPINION


def with_upstream_tool(door: Door, event: AgentEvent) -> AgentEvent:
    """Return an event about an upstream's tool behind our own server as one about our own operation.

    The door judges that call when it arrives; judged here as well, it would be decided and recorded twice.
    """
    tool, own = event.tool, f"{OWN_SERVER}{SEPARATOR}"
    if tool is None or tool.kind is not ToolKind.FOREIGN or not tool.operation.startswith(own):
        return event
    name = tool.operation.removeprefix(own)
    return replace(event, tool=replace(tool, operation=name, kind=ToolKind.OWN)) if name in door.operations else event


def as_foreign(door: Door, event: AgentEvent) -> AgentEvent:
    """Return a call of what calls itself our server, and is not, as one of a tool of others; people are told."""
    tool = event.tool
    if tool is None:
        return event
    name = f"{OWN_SERVER}{SEPARATOR}{tool.operation}"
    session = door.workspace.sessions.find(caller_of(door, event)).session.label
    door.workspace.alarm("foreign server", {"agent": event.agent, "operation": name}, session)
    return replace(event, tool=replace(tool, operation=name, kind=ToolKind.FOREIGN))


def refused(report: ErrorReport) -> AgentDecision:
    """Return the refusal of a tool call."""
    return AgentDecision(Reply.DENY, report=report)


def may_change(tool: ToolUse | None) -> bool:
    """Tell whether a tool may change something; one that the event does not name may."""
    return tool is None or tool.kind not in {ToolKind.OWN, ToolKind.HARMLESS, ToolKind.READ, ToolKind.NETWORK}


def is_waiting(workspace: Workspace, hold_id: str) -> bool:
    """Tell whether a held call still waits for a person."""
    try:
        return workspace.gate.approvals.find(hold_id).state_at(workspace.clock.now_ms()) == PENDING
    except CodePlaneError:
        return False


def caller_of(door: Door, event: AgentEvent) -> Caller:
    """Return the caller behind an event; a sub-agent is one of its own."""
    facts = _book(door.workspace).facts(connection_of(event, is_parent=True))
    version = event.version or facts.get("version", "")
    name = f"{event.agent}/{version}" if version else event.agent
    return Caller(
        CallerKind.AGENT,
        HOOK_SURFACE,
        connection_of(event),
        f"cpl doctor as {event.agent}" if event.session == CANARY_SESSION else name,
        is_lasting=True,
        model=event.model or facts.get("model", ""),
    )


def connection_of(event: AgentEvent, *, is_parent: bool = False) -> str:
    """Return the name of an agent's session as the door knows connections."""
    name = f"{HOOK_SURFACE}:{event.agent}:{event.session or 'unknown'}"
    return name if is_parent or not event.subagent else f"{name}:{event.subagent}"


# Before a tool


def _before_tool(door: Door, event: AgentEvent) -> AgentDecision:
    tool = event.tool
    if tool is None:
        report = ErrorReport("INVALID_FORMAT", f"The {event.name} event of {event.agent} names no tool.")
        return refused(report)
    if tool.kind in {ToolKind.OWN, ToolKind.HARMLESS}:
        # The door judges our own operations when they arrive.
        return NO_OPINION
    caller = caller_of(door, event)
    if event.subagent:
        _inherit_intent(door, event, caller)
    words = _own_command(door.workspace, tool)
    if words:
        return selected_in_shell(door, words, caller) or NO_OPINION
    with _book(door.workspace).locked(caller.connection):
        decision = _decided(door, event, tool, caller)
        return _with_greeting(door, event, caller, decision)


def _own_command(workspace: Workspace, tool: ToolUse) -> list[str]:
    """Return the words of a command of ours, which passes the door by itself; none for any other command."""
    words = cpl_words(tool)
    return words if words and _PROGRAM not in workspace.shadowed_programs(_PROGRAM) else []


def _with_greeting(door: Door, event: AgentEvent, caller: Caller, decision: AgentDecision) -> AgentDecision:
    """Add what is told at a start to the first tool call, for agents that can be told nothing earlier."""
    book = _book(door.workspace)
    facts = book.facts(caller.connection)
    row = AGENT_FILES.get(event.agent)
    if row is None or not row.greets_late or facts.get("is_greeted") or decision.reply is not Reply.ALLOW:
        return decision
    book.note(caller.connection, {**facts, "is_greeted": True})
    told = told_at(door, caller, AgentContextRequest(moment="start"))
    return replace(decision, context="\n".join(filter(None, (decision.context, told))))


def _decided(door: Door, event: AgentEvent, tool: ToolUse, caller: Caller) -> AgentDecision:
    """Judge a call, unless it was judged before; its session's lock is held."""
    workspace, book = door.workspace, _book(door.workspace)
    asked = _what(tool)
    rewritten = _rewritten(workspace, tool)
    tool = rewritten or tool
    # After the call the agent tells the rewritten form.
    key = key_of(event, tool)
    known = book.find(caller.connection, key)
    if known is not None and _is_delivered_again(known, event, asked, workspace.clock.now_ms()):
        return _kept_decision(known.answer)
    if known is not None and known.state == OPEN:
        # The agent uses an id for another call: the first one will not be reported any more.
        _end(door, known, caller, replace(event, tool=None))
    request = request_of(workspace, tool, event.cwd)
    classes = classes_of(workspace, tool, request)
    entry = OutsideEntry(
        caller.connection, key, OPEN, workspace.clock.now_ms(), tool=kept_tool(tool), cwd=event.cwd, asked=asked,
        begun={"effect": classes.effect.value, "tool_class": classes.tool_class},
    )  # fmt: skip
    begun = begin_outside(door, outside_operation(tool, request, classes), request, caller)
    if isinstance(begun, Call):
        decision = AgentDecision(Reply.REWRITE, rewritten={"command": tool.command}) if rewritten else NO_OPINION
        entry = replace(entry, begun={**entry.begun, **_kept_call(begun)}) if begun.is_begun else entry
    else:
        decision = _refusal(begun)
        entry = replace(entry, state=HELD if decision.reply is Reply.HOLD else REFUSED)
    if classes.effect.mutates or tool.kind is ToolKind.COMMAND:
        book.put(replace(entry, answer=_kept_answer(decision)))
    return decision


def _refusal(answer: Answer) -> AgentDecision:
    report = answer.error or ErrorReport("INTERNAL_ERROR", "The call was not judged.")
    if answer.outcome is Outcome.HELD:
        return AgentDecision(Reply.HOLD, report=report, hold_id=str(report.details.get("hold_id", "")))
    return refused(report)


def key_of(event: AgentEvent, tool: ToolUse) -> str:
    """Return what names a call: the agent's own id for it, else what it does."""
    return f"id {event.call_id}" if event.call_id else _what(tool)


def _what(tool: ToolUse) -> str:
    """Return what a call does, whatever its agent calls the tool at the moment."""
    return digest({"kind": tool.kind.value, "essence": dict(tool.essence)})


def _is_delivered_again(known: OutsideEntry, event: AgentEvent, asked: str, now_ms: int) -> bool:
    """Tell whether a call was decided already; a held one is asked for again, because a person may have answered."""
    if known.state in {HELD, ENDED} or known.asked != asked:
        return False
    return bool(event.call_id) or (known.state == OPEN and now_ms - known.at_ms < _TWICE_MS)


def _permission(door: Door, event: AgentEvent) -> AgentDecision:
    """Answer an agent that is about to ask its user: what our gate refuses, nobody needs to be asked."""
    if event.tool is None or not may_change(event.tool):
        return NO_OPINION
    known = _book(door.workspace).find(caller_of(door, event).connection, key_of(event, event.tool))
    return _before_tool(door, event) if known is None and event.call_id else NO_OPINION


def _rewritten(workspace: Workspace, tool: ToolUse) -> ToolUse | None:
    """Return a command as an accepted policy file wants it, None when it stays."""
    command = workspace.gate.rules().rewritten(tool.command) if tool.command else None
    return replace(tool, command=command, essence={**tool.essence, "command": command}) if command else None


def _inherit_intent(door: Door, event: AgentEvent, caller: Caller) -> None:
    """Let a sub-agent work under its parent's intent until it selects one of its own."""
    workspace = door.workspace
    memory = workspace.gate.memory
    own = workspace.sessions.find(caller).session.label
    parent = replace(caller, connection=connection_of(event, is_parent=True))
    intent = memory.selected(workspace.sessions.find(parent).session.label)
    if intent is not None and memory.selected(own) is None:
        dispatch(door, "select_active_intent", {"intent_id": intent}, caller)


# After a tool


def _after_tool(door: Door, event: AgentEvent) -> AgentDecision:
    tool = event.tool
    if tool is None or tool.kind in {ToolKind.OWN, ToolKind.HARMLESS}:
        return NO_OPINION
    caller = caller_of(door, event)
    workspace, book = door.workspace, _book(door.workspace)
    with book.locked(caller.connection):
        known = book.find(caller.connection, key_of(event, tool))
        if known is not None and known.state != OPEN:
            return NO_OPINION
        if known is not None:
            return _end(door, known, caller, event)
    if _own_command(workspace, tool):
        return NO_OPINION
    request = request_of(workspace, tool, event.cwd)
    classes = classes_of(workspace, tool, request)
    if classes.effect.mutates:
        _note_ungated(workspace, tool.operation, caller)
    else:
        perform(door, outside_operation(tool, request, classes, Ending(event.is_error)), request, caller)
    return NO_OPINION


def _end(door: Door, entry: OutsideEntry, caller: Caller, event: AgentEvent) -> AgentDecision:
    """End a call that the agent has reported, or given up; its session's lock is held."""
    workspace = door.workspace
    tool = tool_from(entry.tool)
    request = request_of(workspace, tool, entry.cwd)
    classes = Classes(EffectClass(entry.begun["effect"]), entry.begun["tool_class"])
    ending = Ending(event.is_error, _originals(workspace, entry.cwd, event.tool))
    operation = outside_operation(tool, request, classes, ending)
    _book(workspace).put(replace(entry, state=ENDED))
    if "call_id" not in entry.begun:
        perform(door, operation, request, caller)
        return NO_OPINION
    answer = finish_outside(door, operation, request, caller, _begun_from(entry.begun))
    result = answer.result if isinstance(answer.result, OutsideResult) else OutsideResult()
    lines = [*call_lines(result), *_lessons_of(door, caller, result.changed)]
    return AgentDecision(context="\n".join(lines))


def _lessons_of(door: Door, caller: Caller, changed: Sequence[str]) -> list[str]:
    """Return what is recorded about changed files, and the team's list for after edits; once for each file."""
    book = _book(door.workspace)
    facts = book.facts(caller.connection)
    told = facts.get("told_paths", [])
    fresh = [path for path in changed if path not in told]
    if not fresh:
        return []
    book.note(caller.connection, {**facts, "told_paths": [*told, *fresh][-_MAX_TOLD:]})
    return told_at(door, caller, AgentContextRequest(moment="edit", paths=fresh[:_MAX_AT_HAND])).splitlines()


def _originals(workspace: Workspace, cwd: str, tool: ToolUse | None) -> dict[str, bytes]:
    """Return the file as the agent says that it was just before it wrote."""
    if tool is None or tool.original is None or len(tool.writes) != 1:
        return {}
    return {path: tool.original.encode() for path in request_of(workspace, tool, cwd).writes}


def end_open_calls(door: Door, event: AgentEvent, caller: Caller) -> None:
    """End what the agent has begun and will not report any more: a person refused it, or it was interrupted."""
    book = _book(door.workspace)
    with book.locked(caller.connection):
        for entry in book.open_calls(caller.connection):
            _end(door, entry, caller, replace(event, tool=None))


def _note_ungated(workspace: Workspace, operation: str, caller: Caller) -> None:
    """Record that a tool ran without having been judged: its agent has lost the hook before it."""
    session = workspace.sessions.find(caller).session.label
    workspace.alarm("ungated call", {"operation": operation, "client": caller.client}, session)


# What is kept between two events


def _book(workspace: Workspace) -> OutsideBook:
    return OutsideBook(workspace.places.private / "outside", workspace.clock)


def _kept_call(call: Call) -> dict[str, Any]:
    bracket = call.context.bracket if call.context is not None else None
    mark = bracket.mark if isinstance(bracket, CommandBracket) else None
    decision = call.decision or Decision(Verdict.ALLOW, "default")
    return {
        "call_id": call.call_id,
        "started_ms": call.started_ms,
        "before": call.before,
        "repo_before": call.evidence.repo_before,
        "mutation_number": call.mutation_number,
        "decision": {
            "policy": decision.policy,
            "intent": decision.intent,
            "approval": decision.approval,
            "rules": decision.explanation.get("rules"),
        },
        "mark": mark.as_dict() if mark is not None else None,
    }


def _begun_from(kept: Mapping[str, Any]) -> BegunOutside:
    said, mark = kept["decision"], kept["mark"]
    explanation = {"rules": said["rules"]} if said["rules"] else {}
    return BegunOutside(
        kept["call_id"],
        kept["started_ms"],
        kept["before"],
        kept["repo_before"],
        kept["mutation_number"],
        Decision(
            Verdict.ALLOW, said["policy"], explanation=explanation, intent=said["intent"], approval=said["approval"]
        ),
        Mark.from_dict(mark) if mark is not None else None,
    )


def _kept_answer(decision: AgentDecision) -> dict[str, Any]:
    report = asdict(decision.report) if decision.report is not None else None
    return {
        "reply": decision.reply.value,
        "report": report,
        "hold_id": decision.hold_id,
        "rewritten": dict(decision.rewritten),
    }


def _kept_decision(kept: Mapping[str, Any]) -> AgentDecision:
    report = ErrorReport(**kept["report"]) if kept["report"] is not None else None
    return AgentDecision(Reply(kept["reply"]), report=report, hold_id=kept["hold_id"], rewritten=kept["rewritten"])


# Sessions and turns


def _session_start(door: Door, event: AgentEvent) -> AgentDecision:
    caller = caller_of(door, event)
    book = _book(door.workspace)
    session = door.workspace.sessions.find(caller).session
    facts = {
        **book.facts(caller.connection),
        "agent": event.agent,
        "version": event.version,
        "session": session.label,
        "connection": caller.connection,
        "process": event.process,
        "at_ms": door.workspace.clock.now_ms(),
    }
    book.note(caller.connection, facts | ({"model": event.model} if event.model else {}))
    book.prune()
    broken = problems_of(door.workspace, event.agent)
    if broken:
        door.workspace.alarm("hooks changed", {"agent": event.agent, "problems": broken}, session.label)
    return AgentDecision(context=told_at(door, caller, AgentContextRequest(moment="start")))


def _prompt(door: Door, event: AgentEvent) -> AgentDecision:
    caller = caller_of(door, event)
    end_open_calls(door, event, caller)
    session = door.workspace.sessions.find(caller).session.label
    door.workspace.gate.begin_turn(session)
    book = _book(door.workspace)
    book.note(caller.connection, {**book.facts(caller.connection), "was_stopped": False})
    return AgentDecision(context=told_at(door, caller, prompt_request(door.workspace, event.prompt)))


def _subagent_start(door: Door, event: AgentEvent) -> AgentDecision:
    if not event.subagent:
        return NO_OPINION
    caller = caller_of(door, event)
    _inherit_intent(door, event, caller)
    return AgentDecision(context=told_at(door, caller, AgentContextRequest(moment="start")))


def _subagent_stop(door: Door, event: AgentEvent) -> AgentDecision:
    if event.subagent:
        end_open_calls(door, event, caller_of(door, event))
    return NO_OPINION


def _compaction(door: Door, event: AgentEvent) -> AgentDecision:
    return AgentDecision(context=told_at(door, caller_of(door, event), AgentContextRequest(moment="compaction")))


def _stop(door: Door, event: AgentEvent) -> AgentDecision:
    """Tell what is open before an agent stops: failing tests once after each prompt, criteria once for an intent."""
    caller = caller_of(door, event)
    end_open_calls(door, event, caller)
    workspace, book = door.workspace, _book(door.workspace)
    facts = book.facts(caller.connection)
    session = workspace.sessions.find(caller).session.label
    intent = workspace.gate.selected_of(session, caller, workspace.repository.worktree_id)
    request = AgentContextRequest(
        moment="stop", knows_criteria=intent == facts.get("told_criteria"), is_repeated=event.is_repeated
    )
    told = told_at(door, caller, request)
    if not told or event.is_repeated or facts.get("was_stopped"):
        return NO_OPINION
    book.note(caller.connection, {**facts, "was_stopped": True, "told_criteria": intent})
    return AgentDecision(context=told, goes_on=True)


def _session_end(door: Door, event: AgentEvent) -> AgentDecision:
    end_open_calls(door, event, caller_of(door, event))
    return NO_OPINION


def _settings_changed(door: Door, event: AgentEvent) -> AgentDecision:
    """Refuse new settings of an agent that has lost our hooks; it goes on with the old ones, as long as it runs."""
    broken = problems_of(door.workspace, event.agent)
    if not broken:
        return NO_OPINION
    session = door.workspace.sessions.find(caller_of(door, event)).session.label
    door.workspace.alarm("hooks changed", {"agent": event.agent, "problems": broken}, session)
    return refused(ErrorReport("PROTECTED_PATH", f"{broken[0]}.", "A person connects the agent again: `cpl connect`."))


_HANDLERS: Final[Mapping[EventKind, Callable[[Door, AgentEvent], AgentDecision]]] = {
    EventKind.SESSION_START: _session_start,
    EventKind.PROMPT: _prompt,
    EventKind.BEFORE_TOOL: _before_tool,
    EventKind.PERMISSION: _permission,
    EventKind.AFTER_TOOL: _after_tool,
    EventKind.AFTER_FAILURE: _after_tool,
    EventKind.BEFORE_COMPACTION: _compaction,
    EventKind.SUBAGENT_START: _subagent_start,
    EventKind.SUBAGENT_STOP: _subagent_stop,
    EventKind.STOP: _stop,
    EventKind.SESSION_END: _session_end,
    EventKind.SETTINGS_CHANGED: _settings_changed,
}
