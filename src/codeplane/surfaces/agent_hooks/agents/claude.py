"""Claude Code: hooks in its settings, JSON on standard input; exit code 2 blocks and cannot be overruled."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from codeplane.operations.agent_events import AgentEvent, EventKind, ToolKind
from codeplane.surfaces.agent_hooks.adapter import (
    Adapter,
    Shape,
    answer_in_claudes_form,
    double_underscore,
    event_from,
    mapping,
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


CLAUDE: Final = Adapter(
    agent="claude",
    events=EVENTS,
    shapes=SHAPES,
    server_and_tool=double_underscore,
    reads=_reads,
    writes=answer_in_claudes_form,
    hold_seconds=570.0,
    known_version="2.1.327",
)
