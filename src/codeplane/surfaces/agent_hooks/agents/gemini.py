"""Gemini CLI: hooks in its settings; calls have no id, so before and after are joined by what the call does."""

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
    mapping,
    text,
)

EVENTS: Final = {
    "SessionStart": EventKind.SESSION_START,
    "BeforeAgent": EventKind.PROMPT,
    "BeforeTool": EventKind.BEFORE_TOOL,
    "AfterTool": EventKind.AFTER_TOOL,
    "PreCompress": EventKind.BEFORE_COMPACTION,
    "AfterAgent": EventKind.STOP,
    "SessionEnd": EventKind.SESSION_END,
}
_HARMLESS: Final = (
    "activate_skill", "ask_user", "complete_task", "enter_plan_mode", "exit_plan_mode", "invoke_agent",
    "list_background_processes", "read_background_output", "update_topic", "write_todos",
)  # fmt: skip
SHAPES: Final[Mapping[str, Shape]] = {
    "glob": Shape(ToolKind.READ),
    "google_web_search": Shape(ToolKind.NETWORK),
    "grep_search": Shape(ToolKind.READ),
    "list_directory": Shape(ToolKind.READ),
    "read_file": Shape(ToolKind.READ, paths=("file_path",)),
    "read_many_files": Shape(ToolKind.READ, paths=("paths",)),
    "replace": Shape(
        ToolKind.WRITE, paths=("file_path",), old="old_string", new="new_string", everywhere="allow_multiple"
    ),
    "run_shell_command": Shape(ToolKind.COMMAND, command="command", directory="dir_path"),
    "search_file_content": Shape(ToolKind.READ),
    "web_fetch": Shape(ToolKind.NETWORK),
    "write_file": Shape(ToolKind.WRITE, paths=("file_path",), content="content"),
    **dict.fromkeys(_HARMLESS, Shape(ToolKind.HARMLESS)),
}


def _server_and_tool(name: str) -> tuple[str, str] | None:
    """Split `mcp_server_tool`: sure for our own server, else at the first place."""
    if name.startswith(f"mcp_{OWN_SERVER}_"):
        return OWN_SERVER, name.removeprefix(f"mcp_{OWN_SERVER}_")
    server, separator, tool = name.removeprefix("mcp_").partition("_")
    return (server, tool) if name.startswith("mcp_") and separator and server and tool else None


def _reads(adapter: Adapter, name: str, document: Mapping[str, Any]) -> AgentEvent:
    context = mapping(document, "mcp_context")
    server, tool = text(context, "server_name"), text(context, "tool_name")
    event = event_from(adapter, name, document, (server, tool) if server and tool else None)
    if event.tool is None:
        return event
    use = event.tool
    return replace(event, tool=replace(use, reads=_without_at(use.reads), writes=_without_at(use.writes)))


def _without_at(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Add what `@name` means where there is no such file: the agent takes it for a mention of `name`."""
    mentioned = (one[1:].lstrip("/\\") for one in paths if one.startswith("@"))
    return tuple(dict.fromkeys((*paths, *filter(None, mentioned))))


def _writes(event: AgentEvent, decision: AgentDecision) -> HookAnswer:
    if decision.reply in {Reply.DENY, Reply.HOLD}:
        return HookAnswer(2, "", f"{decision.reason}\n")
    if decision.reply is Reply.REWRITE:
        # It replaces the whole input.
        return _specific(event, {"tool_input": {**event.raw_input, **decision.rewritten}})
    if event.kind is EventKind.STOP:
        goes_on = {"decision": "deny", "reason": decision.context}
        return HookAnswer(0, json.dumps(goes_on)) if decision.goes_on else HookAnswer()
    if decision.context and event.kind in {EventKind.SESSION_START, EventKind.PROMPT, EventKind.AFTER_TOOL}:
        return _specific(event, {"additionalContext": decision.context})
    return HookAnswer()


def _specific(event: AgentEvent, fields: Mapping[str, Any]) -> HookAnswer:
    return HookAnswer(0, json.dumps({"hookSpecificOutput": {"hookEventName": event.name, **fields}}))


GEMINI: Final = Adapter(
    agent="gemini",
    events=EVENTS,
    shapes=SHAPES,
    server_and_tool=_server_and_tool,
    reads=_reads,
    writes=_writes,
    hold_seconds=570.0,
    known_version="0.61.0",
    starts_servers=True,
)
