"""GitHub Copilot CLI: events in two spellings, its own and Claude Code's, whose settings it reads, too.

Calls have no id. A refusal is told in JSON, because the reason beside an exit code is lost.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from codeplane.operations.agent_events import AgentDecision, AgentEvent, EventKind, Reply, ToolKind
from codeplane.operations.upstream_names import OWN_SERVER
from codeplane.surfaces.agent_hooks.adapter import (
    Adapter,
    HookAnswer,
    Shape,
    event_from,
    found,
    text,
)

_NAMES: Final = {
    "sessionStart": EventKind.SESSION_START,
    "userPromptSubmitted": EventKind.PROMPT,
    "preToolUse": EventKind.BEFORE_TOOL,
    "permissionRequest": EventKind.PERMISSION,
    "postToolUse": EventKind.AFTER_TOOL,
    "postToolUseFailure": EventKind.AFTER_FAILURE,
    "preCompact": EventKind.BEFORE_COMPACTION,
    "subagentStart": EventKind.SUBAGENT_START,
    "subagentStop": EventKind.SUBAGENT_STOP,
    "agentStop": EventKind.STOP,
    "sessionEnd": EventKind.SESSION_END,
}
# What differs from the own name by more than its first letter.
_CLAUDES: Final = {"UserPromptSubmit": EventKind.PROMPT, "Stop": EventKind.STOP}
EVENTS: Final = {**_NAMES, **{name[0].upper() + name[1:]: kind for name, kind in _NAMES.items()}, **_CLAUDES}
_CREATE: Final = Shape(ToolKind.WRITE, paths=("path", "file_path"), content="file_text")
_EDIT: Final = Shape(ToolKind.WRITE, paths=("path", "file_path"), old="old_str", new="new_str")
_BASH: Final = Shape(ToolKind.COMMAND, command="command")
_VIEW: Final = Shape(ToolKind.READ, paths=("path",))
_HARMLESS: Final = (
    "Agent", "ask_user", "list_agents", "list_bash", "read_agent", "read_bash", "report_intent", "session_store_sql",
    "skill", "sql", "stop_bash", "task", "update_todo", "write_agent",
)  # fmt: skip
SHAPES: Final[Mapping[str, Shape]] = {
    "Bash": _BASH,
    "Edit": _EDIT,
    "Glob": Shape(ToolKind.READ),
    "Grep": Shape(ToolKind.READ),
    "Read": _VIEW,
    "Write": _CREATE,
    "apply_patch": Shape(ToolKind.WRITE, patch="patch"),
    "bash": _BASH,
    "create": _CREATE,
    "edit": _EDIT,
    "fetch": Shape(ToolKind.NETWORK, urls=("url",)),
    "glob": Shape(ToolKind.READ),
    "grep": Shape(ToolKind.READ),
    "rg": Shape(ToolKind.READ),
    "view": _VIEW,
    "web_fetch": Shape(ToolKind.NETWORK, urls=("url",)),
    "web_search": Shape(ToolKind.NETWORK),
    **dict.fromkeys(_HARMLESS, Shape(ToolKind.HARMLESS)),
}


def _server_and_tool(name: str) -> tuple[str, str] | None:
    """Split `server-tool`, or `server/tool` of a permission request; the agent's own tools have neither."""
    for separator in ("/", "-"):
        if name.startswith(f"{OWN_SERVER}{separator}"):
            return OWN_SERVER, name.removeprefix(f"{OWN_SERVER}{separator}")
    server, separator, tool = name.partition("/" if "/" in name else "-")
    return (server, tool) if separator and server and tool else None


def _reads(adapter: Adapter, name: str, document: Mapping[str, Any]) -> AgentEvent:
    given = found(document, "tool_args", "tool_input")
    if isinstance(given, str) and given.startswith("*** Begin Patch"):
        # Claude's name for it is `Edit`, whatever the patch does.
        document = {**document, "toolName": "apply_patch", "tool_name": "apply_patch", "toolArgs": {"patch": given}}
        document.pop("tool_input", None)
    event = event_from(adapter, name, document)
    parent = text(document, "parent_agent_id")
    # A sub-agent's session is its own; its parent's is that of the user.
    return replace(event, session=parent, subagent=event.session) if parent else event


def _writes(event: AgentEvent, decision: AgentDecision) -> HookAnswer:
    is_own_form = event.name[:1].islower()
    fields: dict[str, Any] = {}
    if decision.reply in {Reply.DENY, Reply.HOLD}:
        if event.kind is EventKind.PERMISSION:
            return _told({"behavior": "deny", "message": decision.reason})
        fields = {"permissionDecision": "deny", "permissionDecisionReason": decision.reason}
    elif decision.reply is Reply.REWRITE:
        fields = {"modifiedArgs": {**event.raw_input, **decision.rewritten}}
    elif event.kind is EventKind.STOP:
        return _told({"decision": "block", "reason": decision.context}) if decision.goes_on else HookAnswer()
    elif decision.context:
        fields = {"additionalContext": decision.context}
    if not fields:
        return HookAnswer()
    return _told(fields if is_own_form else {**fields, "hookSpecificOutput": {"hookEventName": event.name, **fields}})


def _told(document: Mapping[str, Any]) -> HookAnswer:
    return HookAnswer(0, json.dumps(document))


COPILOT: Final = Adapter(
    agent="copilot",
    events=EVENTS,
    shapes=SHAPES,
    server_and_tool=_server_and_tool,
    reads=_reads,
    writes=_writes,
    hold_seconds=570.0,
    known_version="1.0.102",
    starts_servers=True,
)
