"""Claude Code: hooks in its settings, JSON on standard input, and a refused tool told in JSON."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from codeplane.operations.agent_events import AgentDecision, AgentEvent, EventKind, Reply, ToolKind
from codeplane.surfaces.agent_hooks.adapter import (
    Adapter,
    HookAnswer,
    Shape,
    answer_in_claudes_form,
    double_underscore,
    event_from,
    mapping,
    specific,
)

EVENTS: Final = {
    "SessionStart": EventKind.SESSION_START,
    "UserPromptSubmit": EventKind.PROMPT,
    "PreToolUse": EventKind.BEFORE_TOOL,
    "PermissionRequest": EventKind.PERMISSION,
    "PostToolUse": EventKind.AFTER_TOOL,
    "PostToolUseFailure": EventKind.AFTER_FAILURE,
    "PreCompact": EventKind.BEFORE_COMPACTION,
    "SubagentStart": EventKind.SUBAGENT_START,
    "SubagentStop": EventKind.SUBAGENT_STOP,
    "Stop": EventKind.STOP,
    "SessionEnd": EventKind.SESSION_END,
    "ConfigChange": EventKind.SETTINGS_CHANGED,
}
_HARMLESS: Final = (
    "Agent", "AskUserQuestion", "BashOutput", "CronCreate", "CronDelete", "CronList", "EnterPlanMode", "ExitPlanMode",
    "KillBash", "KillShell", "LSP", "ListAgents", "ListMcpResourcesTool", "ReadMcpResourceTool", "ReportFindings",
    "ScheduleWakeup", "SendMessage", "Skill", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop",
    "TaskUpdate", "TodoWrite", "ToolSearch",
)  # fmt: skip
_EDIT: Final = Shape(ToolKind.WRITE, paths=("file_path",), old="old_string", new="new_string", everywhere="replace_all")
SHAPES: Final[Mapping[str, Shape]] = {
    "Bash": Shape(ToolKind.COMMAND, command="command"),
    "Edit": _EDIT,
    "Glob": Shape(ToolKind.READ),
    "Grep": Shape(ToolKind.READ),
    "LS": Shape(ToolKind.READ),
    "Monitor": Shape(ToolKind.COMMAND, command="command"),
    "MultiEdit": replace(_EDIT, edits="edits"),
    "NotebookEdit": Shape(ToolKind.WRITE, paths=("notebook_path",)),
    "NotebookRead": Shape(ToolKind.READ, paths=("notebook_path",)),
    "Read": Shape(ToolKind.READ, paths=("file_path",)),
    "WebFetch": Shape(ToolKind.NETWORK, urls=("url",)),
    "WebSearch": Shape(ToolKind.NETWORK),
    "Write": Shape(ToolKind.WRITE, paths=("file_path",), content="content"),
    **dict.fromkeys(_HARMLESS, Shape(ToolKind.HARMLESS)),
}


def _reads(adapter: Adapter, name: str, document: Mapping[str, Any]) -> AgentEvent:
    event = event_from(adapter, name, document)
    response = mapping(document, "tool_response")
    original = response.get("originalFile", response.get("original_file"))
    if event.tool is not None and isinstance(original, str):
        event = replace(event, tool=replace(event.tool, original=original))
    return event


def _writes(event: AgentEvent, decision: AgentDecision) -> HookAnswer:
    """Refuse a tool in JSON: for exit code 2 the model reads the hook's whole command line before the reason."""
    if event.kind is EventKind.BEFORE_TOOL and decision.reply in {Reply.DENY, Reply.HOLD}:
        return specific(event, {"permissionDecision": "deny", "permissionDecisionReason": decision.reason})
    return answer_in_claudes_form(event, decision)


CLAUDE: Final = Adapter(
    agent="claude",
    events=EVENTS,
    shapes=SHAPES,
    server_and_tool=double_underscore,
    reads=_reads,
    writes=_writes,
    hold_seconds=570.0,
    known_version="2.1.327",
    starts_servers=True,
)
