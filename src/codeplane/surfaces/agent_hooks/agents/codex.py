"""Codex: hooks in the form of Claude Code; every shell tool is `Bash`, files are changed by patches."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from codeplane.operations.agent_events import EventKind, ToolKind
from codeplane.surfaces.agent_hooks.adapter import (
    Adapter,
    Shape,
    answer_in_claudes_form,
    double_underscore,
    event_from,
)

EVENTS: Final = {
    "SessionStart": EventKind.SESSION_START,
    "UserPromptSubmit": EventKind.PROMPT,
    "PreToolUse": EventKind.BEFORE_TOOL,
    "PermissionRequest": EventKind.PERMISSION,
    "PostToolUse": EventKind.AFTER_TOOL,
    "PreCompact": EventKind.BEFORE_COMPACTION,
    "SubagentStart": EventKind.SUBAGENT_START,
    "SubagentStop": EventKind.SUBAGENT_STOP,
    "Stop": EventKind.STOP,
    "SessionEnd": EventKind.SESSION_END,
}
_COLLABORATION: Final = ("followup_task", "interrupt_agent", "list_agents", "send_message", "spawn_agent", "wait_agent")
_HARMLESS: Final = (
    "clock__curr_time", "create_goal", "get_goal", "list_mcp_resource_templates", "list_mcp_resources",
    "read_mcp_resource", "request_user_input", "tool_search", "update_goal", "update_plan",
    *(f"collaboration{name}" for name in _COLLABORATION),
)  # fmt: skip
SHAPES: Final[Mapping[str, Shape]] = {
    "Bash": Shape(ToolKind.COMMAND, command="command"),
    "apply_patch": Shape(ToolKind.WRITE, patch="command"),
    "view_image": Shape(ToolKind.READ, paths=("path",)),
    **dict.fromkeys(_HARMLESS, Shape(ToolKind.HARMLESS)),
}

CODEX: Final = Adapter(
    agent="codex",
    events=EVENTS,
    shapes=SHAPES,
    server_and_tool=double_underscore,
    reads=event_from,
    # A new input counts only beside an allow, which does not replace the agent's own approval.
    writes=partial(answer_in_claudes_form, rewriting={"permissionDecision": "allow"}),
    hold_seconds=570.0,
    known_version="0.169.0",
    starts_servers=True,
)
