"""Cline: scripts named like the event, of which only the JSON counts; a refusal ends the run.

The command line program and the editor extension have different tools; both are here.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from codeplane.operations.agent_events import AgentDecision, AgentEvent, EventKind, Reply, ToolKind
from codeplane.surfaces.agent_hooks.adapter import (
    Adapter,
    HookAnswer,
    Shape,
    found,
    kind_of,
    mapping,
    text,
    tool_use,
)

EVENTS: Final = {
    "TaskStart": EventKind.SESSION_START,
    "TaskResume": EventKind.SESSION_START,
    "UserPromptSubmit": EventKind.PROMPT,
    "PreToolUse": EventKind.BEFORE_TOOL,
    "PostToolUse": EventKind.AFTER_TOOL,
    "PreCompact": EventKind.BEFORE_COMPACTION,
    "TaskCancel": EventKind.STOP,
    "TaskComplete": EventKind.STOP,
    "SessionShutdown": EventKind.SESSION_END,
}
_HARMLESS: Final = (
    "ask_followup_question", "ask_question", "attempt_completion", "condense", "focus_chain", "load_mcp_documentation",
    "new_task", "plan_mode_respond", "report_bug", "spawn_agent", "summarize_task", "use_skill", "use_subagents",
)  # fmt: skip
_READS: Final = (
    "access_mcp_resource", "list_code_definition_names", "list_files", "search_codebase", "search_files"
)  # fmt: skip
SHAPES: Final[Mapping[str, Shape]] = {
    "apply_patch": Shape(ToolKind.WRITE, patch="input"),
    "editor": Shape(ToolKind.WRITE, paths=("path",), old="old_text", new="new_text", content="content"),
    "execute_command": Shape(ToolKind.COMMAND, command="command"),
    "fetch_web_content": Shape(ToolKind.NETWORK),
    "new_rule": Shape(ToolKind.WRITE, paths=("path",), content="content"),
    "read_file": Shape(ToolKind.READ, paths=("path",)),
    "read_files": Shape(ToolKind.READ, paths=("files", "file_paths", "paths", "path", "file_path")),
    "replace_in_file": Shape(ToolKind.WRITE, paths=("path",)),
    "run_commands": Shape(ToolKind.COMMAND, command="commands"),
    "web_fetch": Shape(ToolKind.NETWORK, urls=("url",)),
    "web_search": Shape(ToolKind.NETWORK),
    "write_to_file": Shape(ToolKind.WRITE, paths=("path",), content="content"),
    **dict.fromkeys(_READS, Shape(ToolKind.READ)),
    **dict.fromkeys(_HARMLESS, Shape(ToolKind.HARMLESS)),
}


def _reads(adapter: Adapter, name: str, document: Mapping[str, Any]) -> AgentEvent:
    about = mapping(document, name[:1].lower() + name[1:])
    real = mapping(document, "tool_call") or mapping(document, "tool_result")
    tool_name = text(real, "name") or text(about, "tool_name")
    given = mapping(real, "input") or mapping(about, "parameters")
    if tool_name == "read_files" and isinstance(real.get("input"), list | str):
        # The list of files may also be the whole input.
        given = {"files": real["input"]}
    server_and_tool = None
    if tool_name == "use_mcp_tool":
        server_and_tool = (text(given, "server_name"), text(given, "tool_name"))
        given = _arguments(given)
    elif tool_name == "editor" and not text(given, "old_text") and "insert_line" not in given:
        # Without an old text it makes a file.
        given = {"path": given.get("path"), "content": given.get("new_text")}
    roots, parent = found(document, "workspace_roots"), text(document, "parent_agent_id")
    return AgentEvent(
        adapter.agent,
        kind_of(adapter, name),
        name,
        text(mapping(document, "session_context"), "root_session_id") or text(document, "task_id"),
        call_id=text(real, "id"),
        subagent=text(document, "agent_id") if parent else "",
        version=text(document, "cline_version"),
        cwd=roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else "",
        tool=tool_use(adapter, tool_name, given, server_and_tool) if tool_name else None,
        prompt=text(about, "prompt"),
        is_error=about.get("success") is False,
    )


def _arguments(given: Mapping[str, Any]) -> Mapping[str, Any]:
    arguments = given.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return {}
    return arguments if isinstance(arguments, dict) else {}


def _server_and_tool(name: str) -> tuple[str, str] | None:
    """Split `server__tool`."""
    server, separator, tool = name.partition("__")
    return (server, tool) if name not in SHAPES and separator and server and tool else None


def _writes(event: AgentEvent, decision: AgentDecision) -> HookAnswer:
    told: dict[str, Any] = {}
    if decision.reply in {Reply.DENY, Reply.HOLD}:
        told = {"cancel": True, "errorMessage": decision.reason}
    elif decision.reply is Reply.REWRITE:
        command = str(decision.rewritten.get("command", ""))
        is_list = event.tool is not None and event.tool.name == "run_commands"
        changed: dict[str, Any] = {"commands": command.split("\n")} if is_list else {"command": command}
        told = {"overrideInput": {**event.raw_input, **changed}}
    elif decision.context and event.kind is not EventKind.STOP:
        told = {"contextModification": decision.context}
    return HookAnswer(0, json.dumps(told) if told else "")


CLINE: Final = Adapter(
    agent="cline",
    events=EVENTS,
    shapes=SHAPES,
    server_and_tool=_server_and_tool,
    reads=_reads,
    writes=_writes,
    # It kills a hook after 120 seconds and runs the tool then.
    hold_seconds=100.0,
    known_version="3.0.65",
)
