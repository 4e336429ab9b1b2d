"""VS Code: hooks in the form of Claude Code, with tools of its own; it reads Claude's and Copilot's hook files, too."""

from collections.abc import Mapping
from typing import Any, Final

from codeplane.operations.agent_events import AgentEvent, EventKind, ToolKind
from codeplane.operations.upstream_names import OWN_SERVER
from codeplane.surfaces.agent_hooks.adapter import (
    Adapter,
    Shape,
    answer_in_claudes_form,
    event_from,
)

EVENTS: Final = {
    "SessionStart": EventKind.SESSION_START,
    "UserPromptSubmit": EventKind.PROMPT,
    "PreToolUse": EventKind.BEFORE_TOOL,
    "PostToolUse": EventKind.AFTER_TOOL,
    "PreCompact": EventKind.BEFORE_COMPACTION,
    "SubagentStart": EventKind.SUBAGENT_START,
    "SubagentStop": EventKind.SUBAGENT_STOP,
    "Stop": EventKind.STOP,
}
_PATH: Final = ("filePath",)
_REPLACE: Final = Shape(ToolKind.WRITE, paths=_PATH, old="oldString", new="newString")
_READS: Final = (
    "copilot_getNotebookSummary", "fetch_webpage", "file_search", "get_changed_files", "get_errors",
    "get_project_setup_info", "get_search_view_results", "get_vscode_api", "github_repo", "grep_search", "list_dir",
    "list_code_usages", "read_notebook_cell_output", "semantic_search", "test_failure", "test_search",
    "vscode_listCodeUsages",
)  # fmt: skip
_HARMLESS: Final = (
    "ask_questions", "await_terminal", "get_task_output", "get_terminal_output", "manage_todo_list", "memory",
    "open_simple_browser", "runSubagent", "search_subagent", "switch_agent", "terminal_last_command",
    "terminal_selection", "think", "tool_search", "vscode_askQuestions",
)  # fmt: skip
SHAPES: Final[Mapping[str, Shape]] = {
    "apply_patch": Shape(ToolKind.WRITE, patch="input"),
    "create_directory": Shape(ToolKind.WRITE, paths=("dirPath",)),
    "create_file": Shape(ToolKind.WRITE, paths=_PATH, content="content"),
    "create_new_jupyter_notebook": Shape(ToolKind.UNKNOWN),
    "edit_notebook_file": Shape(ToolKind.WRITE, paths=_PATH),
    "insert_edit_into_file": Shape(ToolKind.WRITE, paths=_PATH),
    "multi_replace_string_in_file": Shape(
        ToolKind.WRITE, paths=("replacements",), old="oldString", new="newString", edits="replacements"
    ),
    "read_file": Shape(ToolKind.READ, paths=_PATH),
    "replace_string_in_file": _REPLACE,
    "run_in_terminal": Shape(ToolKind.COMMAND, command="command"),
    "view_image": Shape(ToolKind.READ, paths=_PATH),
    **dict.fromkeys(_READS, Shape(ToolKind.READ)),
    **dict.fromkeys(_HARMLESS, Shape(ToolKind.HARMLESS)),
}


def _server_and_tool(name: str) -> tuple[str, str] | None:
    """Split `mcp_server_tool`: sure for our own server, else at the first place."""
    if name.startswith(f"mcp_{OWN_SERVER}_"):
        return OWN_SERVER, name.removeprefix(f"mcp_{OWN_SERVER}_")
    server, separator, tool = name.removeprefix("mcp_").partition("_")
    return (server, tool) if name.startswith("mcp_") and separator and server and tool else None


def _reads(adapter: Adapter, name: str, document: Mapping[str, Any]) -> AgentEvent:
    # In a file of the Copilot CLI the names of events begin with a small letter.
    own = name if name in EVENTS else name[:1].upper() + name[1:]
    return event_from(adapter, own, document)


VSCODE: Final = Adapter(
    agent="vscode",
    events=EVENTS,
    shapes=SHAPES,
    server_and_tool=_server_and_tool,
    reads=_reads,
    writes=answer_in_claudes_form,
    hold_seconds=570.0,
)
