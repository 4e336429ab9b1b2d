"""Cursor: `hooks.json` with one event for every tool; it can also run hooks of Claude Code's settings."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from codeplane.operations.agent_events import AgentDecision, AgentEvent, EventKind, Reply, ToolKind
from codeplane.operations.catalog import TOOLS
from codeplane.operations.upstream_names import OWN_SERVER
from codeplane.surfaces.agent_hooks.adapter import (
    Adapter,
    HookAnswer,
    Shape,
    double_underscore,
    event_from,
    found,
    text,
)

EVENTS: Final = {
    "sessionStart": EventKind.SESSION_START,
    "beforeSubmitPrompt": EventKind.PROMPT,
    "preToolUse": EventKind.BEFORE_TOOL,
    "beforeShellExecution": EventKind.BEFORE_TOOL,
    "beforeMCPExecution": EventKind.BEFORE_TOOL,
    "beforeReadFile": EventKind.BEFORE_TOOL,
    "postToolUse": EventKind.AFTER_TOOL,
    "postToolUseFailure": EventKind.AFTER_FAILURE,
    "preCompact": EventKind.BEFORE_COMPACTION,
    "subagentStart": EventKind.SUBAGENT_START,
    "subagentStop": EventKind.SUBAGENT_STOP,
    "stop": EventKind.STOP,
    "sessionEnd": EventKind.SESSION_END,
    # As it runs hooks of Claude Code.
    "SessionStart": EventKind.SESSION_START,
    "UserPromptSubmit": EventKind.PROMPT,
    "PreToolUse": EventKind.BEFORE_TOOL,
    "PostToolUse": EventKind.AFTER_TOOL,
    "PostToolUseFailure": EventKind.AFTER_FAILURE,
    "PreCompact": EventKind.BEFORE_COMPACTION,
    "SubagentStop": EventKind.SUBAGENT_STOP,
    "Stop": EventKind.STOP,
    "SessionEnd": EventKind.SESSION_END,
}
_PATH: Final = ("file_path", "path", "target_file")
_SHELL: Final = Shape(ToolKind.COMMAND, command="command", directory="working_directory")
_OURS: Final = re.compile(r"codeplane[/\\]surfaces[/\\]bridge\.py|(?:^|[/\\\s])cpl\s+mcp\b")
_HARMLESS: Final = ("AskQuestion", "CreatePlan", "SwitchMode", "Task", "TodoWrite", "UpdateCurrentStep")
SHAPES: Final[Mapping[str, Shape]] = {
    "Bash": _SHELL,
    "Delete": Shape(ToolKind.WRITE, deletes=_PATH),
    "Edit": Shape(ToolKind.WRITE, paths=_PATH, old="old_string", new="new_string", everywhere="replace_all"),
    "Glob": Shape(ToolKind.READ),
    "Grep": Shape(ToolKind.READ),
    "LS": Shape(ToolKind.READ),
    "List": Shape(ToolKind.READ),
    "Read": Shape(ToolKind.READ, paths=_PATH),
    "ReadLints": Shape(ToolKind.READ),
    "SemanticSearch": Shape(ToolKind.READ),
    "Shell": _SHELL,
    "StrReplace": Shape(ToolKind.WRITE, paths=_PATH, old="old_string", new="new_string", everywhere="replace_all"),
    "WebFetch": Shape(ToolKind.NETWORK, urls=("url",)),
    "WebSearch": Shape(ToolKind.NETWORK),
    "Write": Shape(ToolKind.WRITE, paths=_PATH, content="contents"),
    **dict.fromkeys(_HARMLESS, Shape(ToolKind.HARMLESS)),
}


def _server_and_tool(name: str) -> tuple[str, str] | None:
    """Split `mcp__server__tool`, as hooks of Claude Code get it."""
    return double_underscore(name)


def _reads(adapter: Adapter, name: str, document: Mapping[str, Any]) -> AgentEvent:
    document = {**document, **_as_tool(name, document)}
    event = event_from(adapter, name, document, _server_of(name, document))
    roots = found(document, "workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    event = replace(event, version=text(document, "cursor_version"), cwd=event.cwd or first)
    if event.tool is not None and event.tool.name.startswith("MCP:"):
        # The server is not named here; `beforeMCPExecution` follows, which tells how it is reached.
        tool = event.tool.name.removeprefix("MCP:").strip()
        kind = ToolKind.OWN if tool in TOOLS else ToolKind.HARMLESS
        event = replace(event, tool=replace(event.tool, operation=tool, kind=kind))
    return event


def _as_tool(name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tool of an event that is about one kind of tool only."""
    if name == "beforeShellExecution":
        return {"tool_name": "Shell", "tool_input": {"command": text(document, "command")}}
    if name == "beforeReadFile":
        return {"tool_name": "Read", "tool_input": {"file_path": text(document, "file_path")}}
    return {}


def _server_of(name: str, document: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return server and tool of an MCP call; ours is known by the program that it is reached by."""
    tool = text(document, "tool_name")
    if name != "beforeMCPExecution" or not tool:
        return None
    reached = f"{text(document, 'command')} {text(document, 'url')}"
    return (OWN_SERVER if _OURS.search(reached) else text(document, "server_name") or "mcp"), tool


def _writes(event: AgentEvent, decision: AgentDecision) -> HookAnswer:
    if decision.reply in {Reply.DENY, Reply.HOLD}:
        told = {"permission": "deny", "user_message": decision.reason, "agent_message": decision.reason}
        return HookAnswer(2, json.dumps(told), f"{decision.reason}\n")
    if decision.reply is Reply.REWRITE and event.name == "preToolUse":
        return HookAnswer(0, json.dumps({"updated_input": {**event.raw_input, **decision.rewritten}}))
    if event.kind is EventKind.STOP:
        return HookAnswer(0, json.dumps({"followup_message": decision.context})) if decision.goes_on else HookAnswer()
    if decision.context and event.kind in {EventKind.SESSION_START, EventKind.AFTER_TOOL, EventKind.AFTER_FAILURE}:
        return HookAnswer(0, json.dumps({"additional_context": decision.context}))
    return HookAnswer()


CURSOR: Final = Adapter(
    agent="cursor",
    events=EVENTS,
    shapes=SHAPES,
    server_and_tool=_server_and_tool,
    reads=_reads,
    writes=_writes,
    hold_seconds=570.0,
)
