"""How each agent speaks to its hooks and what it makes of their answers, as `docs/agents.md` has it.

Written from what the agents do, not from the adapters: the JSON they send, and what exit code and output lead to.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

RUNS, BLOCKED = "runs", "blocked"


@dataclass(frozen=True, slots=True)
class Heard:
    """What an agent makes of an answer: the tool runs or not, with which input; what the model reads."""

    tool: str
    model_reads: str = ""
    new_input: Mapping[str, Any] | None = None
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """An event as it goes to the hook command."""

    event: str
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """Something that happens in an agent: in which session, with which tool."""

    session: str
    root: str
    call_id: str = ""
    tool: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    subagent: str = ""
    prompt: str = ""
    stop_active: bool = False


@dataclass(frozen=True, slots=True)
class Speaker:
    """One agent. `names` are its events by what they are; what it does not have is not in it.

    `builds` makes the JSON of an event, `hears` reads exit code, output and error output. `write`, `command` and `mcp`
    give name and input of its tools.
    """

    agent: str
    names: Mapping[str, str]
    builds: Callable[["Speaker", str, Said], dict[str, Any]]
    hears: Callable[[str, int, str, str], Heard]
    write: Callable[[str, str], tuple[str, dict[str, Any]]]
    command: Callable[[str], tuple[str, dict[str, Any]]]
    mcp: Callable[[str, str], str]
    read: Callable[[str], tuple[str, dict[str, Any]]]
    has_call_ids: bool = True
    has_subagents: bool = True
    sends_call_id_to_mcp: str = ""
    rewrites: bool = True
    tells_at_start: bool = True
    tells_at_prompt: bool = True
    tells_why_it_failed: bool = True

    def says(self, what: str, said: Said) -> Sent:
        """Return an event: `start`, `prompt`, `before`, `after`, `stop`."""
        is_mcp = what == "before" and "mcp" in self.names and said.tool.startswith("MCP:")
        return Sent(self.names["mcp" if is_mcp else what], self.builds(self, what, said))

    def about(self, said: Said, tool: tuple[str, dict[str, Any]]) -> Said:
        """Return what is said with a tool."""
        return replace(said, tool=tool[0], given=tool[1])


def _claude_json(speaker: Speaker, what: str, said: Said) -> dict[str, Any]:
    document: dict[str, Any] = {
        "session_id": said.session,
        "transcript_path": "/home/user/.claude/projects/x.jsonl",
        "cwd": said.root,
        "hook_event_name": speaker.names[what],
        "permission_mode": "default",
    }
    document |= {"agent_id": said.subagent, "agent_type": "general-purpose"} if said.subagent else {}
    if what in {"before", "after"}:
        document |= {"tool_name": said.tool, "tool_input": dict(said.given), "tool_use_id": said.call_id}
    if what == "after":
        document |= {"tool_response": {"stdout": "", "stderr": "", "interrupted": False}, "duration_ms": 5}
    extras: dict[str, dict[str, Any]] = {
        "start": {"source": "startup"},
        "prompt": {"prompt": said.prompt},
        "stop": {"stop_hook_active": said.stop_active},
    }
    return document | extras.get(what, {})


def _claude_hears(what: str, code: int, out: str, err: str) -> Heard:
    """Exit code 2 blocks before a tool whatever is on stdout; JSON counts otherwise; failures block by `onFailure`."""
    if what == "before" and code == 2:
        return Heard(BLOCKED, err)
    document = _json(out)
    specific = document.get("hookSpecificOutput", {})
    if what == "stop":
        return Heard(RUNS, document.get("reason", ""), goes_on=document.get("decision") == "block" or code == 2)
    if what == "before" and (code != 0 or specific.get("permissionDecision") == "deny"):
        return Heard(BLOCKED, specific.get("permissionDecisionReason", err))
    return Heard(RUNS, specific.get("additionalContext", ""), specific.get("updatedInput"))


def _codex_hears(what: str, code: int, out: str, err: str) -> Heard:
    """Exit code 2 blocks only with a reason on stderr; a new input counts only beside an allow."""
    if what == "before" and code == 2 and err.strip():
        return Heard(BLOCKED, err)
    document = _json(out) if code == 0 else {}
    specific = document.get("hookSpecificOutput", {})
    if what == "stop":
        goes_on = document.get("decision") == "block" or (code == 2 and bool(err.strip()))
        return Heard(RUNS, document.get("reason", err), goes_on=goes_on)
    if what == "before" and specific.get("permissionDecision") == "deny" and specific.get("permissionDecisionReason"):
        return Heard(BLOCKED, specific["permissionDecisionReason"])
    is_allowed = specific.get("permissionDecision") == "allow"
    return Heard(RUNS, specific.get("additionalContext", ""), specific.get("updatedInput") if is_allowed else None)


def _gemini_json(speaker: Speaker, what: str, said: Said) -> dict[str, Any]:
    document = _claude_json(speaker, what, replace(said, subagent=""))
    for name in ("tool_use_id", "permission_mode"):
        document.pop(name, None)
    document["timestamp"] = "2026-11-18T21:17:38.296Z"
    if said.tool.startswith("mcp_"):
        server, tool = said.tool.removeprefix("mcp_").split("_", 1)
        document["mcp_context"] = {"server_name": server, "tool_name": tool, "command": "x", "args": []}
    return document


def _gemini_hears(what: str, code: int, out: str, err: str) -> Heard:
    """Exit codes above 1 block with stderr; Claude's own fields are ignored."""
    if what == "before" and code > 1 and err.strip():
        return Heard(BLOCKED, err)
    document = _json(out)
    if what == "stop":
        return Heard(RUNS, document.get("reason", ""), goes_on=document.get("decision") in {"deny", "block"})
    if what == "before" and document.get("decision") in {"deny", "block"}:
        return Heard(BLOCKED, document.get("reason", ""))
    specific = document.get("hookSpecificOutput", {})
    text = specific.get("additionalContext", "") if what != "before" else ""
    return Heard(RUNS, text, specific.get("tool_input"))


_COPILOT_EVENTS = {
    "start": "sessionStart", "prompt": "userPromptSubmitted", "before": "preToolUse", "after": "postToolUse",
    "stop": "agentStop",
}  # fmt: skip


def _copilot_json(_speaker: Speaker, what: str, said: Said) -> dict[str, Any]:
    """Its own camelCase form; a sub-agent has a session of its own and names its parent's."""
    document: dict[str, Any] = {
        "sessionId": said.subagent or said.session,
        "timestamp": 1795038473111,
        "cwd": said.root,
    }
    if said.subagent:
        document |= {"agentId": said.subagent, "agentType": "general-purpose", "parentAgentId": said.session}
    if what in {"before", "after"}:
        document |= {"toolName": said.tool, "toolArgs": said.given.get("patch", dict(said.given))}
    if what == "after":
        document |= {"toolResult": {"resultType": "success", "textResultForLlm": "done"}}
    extras: dict[str, dict[str, Any]] = {
        "start": {"source": "new", "initialPrompt": "go"},
        "prompt": {"prompt": said.prompt},
        "stop": {"stopReason": "end_turn", "stop_hook_active": said.stop_active},
    }
    return document | extras.get(what, {})


def _copilot_hears(what: str, code: int, out: str, _err: str) -> Heard:
    """Every exit code but 0 blocks, its reason lost; Claude's nested form is ignored in these events."""
    document = _json(out) if code == 0 else {}
    if what == "before" and code != 0:
        return Heard(BLOCKED, "")
    if what == "stop":
        return Heard(RUNS, document.get("reason", ""), goes_on=document.get("decision") == "block")
    if what == "before" and document.get("permissionDecision") == "deny":
        return Heard(BLOCKED, document.get("permissionDecisionReason", ""))
    return Heard(RUNS, document.get("additionalContext", ""), document.get("modifiedArgs"))


_OPENCODE_EVENTS = {
    "start": "session.created", "prompt": "chat.message", "before": "tool.execute.before",
    "after": "tool.execute.after", "stop": "session.idle",
}  # fmt: skip


def _opencode_json(_speaker: Speaker, what: str, said: Said) -> dict[str, Any]:
    """What the plugin sends: the two arguments of the agent's hook."""
    given: dict[str, Any] = {"sessionID": said.subagent or said.session}
    output: dict[str, Any] = {}
    if what in {"before", "after"}:
        given |= {"tool": said.tool, "callID": said.call_id}
        output = {"args": dict(said.given)}
    if what == "prompt":
        output = {
            "message": {"model": {"providerID": "lab", "modelID": "m"}},
            "parts": [{"type": "text", "text": said.prompt}],
        }
    return {"directory": said.root, "parent": said.session if said.subagent else "", "input": given, "output": output}


def _opencode_hears(what: str, code: int, out: str, err: str) -> Heard:
    """The plugin throws for every exit code but 0, and for an answer that it cannot read."""
    if what == "before" and (code != 0 or (out.strip() and not _json(out))):
        return Heard(BLOCKED, err)
    document = _json(out)
    return Heard(RUNS, document.get("context", ""), document.get("args"))


_CURSOR_EVENTS = {
    "start": "sessionStart", "prompt": "beforeSubmitPrompt", "before": "preToolUse", "after": "postToolUse",
    "stop": "stop", "mcp": "beforeMCPExecution",
}  # fmt: skip


def _cursor_json(speaker: Speaker, what: str, said: Said) -> dict[str, Any]:
    """As documented: MCP tools have an event of their own, which tells how their server is reached."""
    is_mcp = what == "before" and said.tool.startswith("MCP:")
    document: dict[str, Any] = {
        "conversation_id": said.session,
        "generation_id": "g",
        "model": "m",
        "hook_event_name": speaker.names["mcp" if is_mcp else what],
        "cursor_version": "2.4.0",
        "workspace_roots": [said.root],
    }
    if is_mcp:
        server, tool = said.tool.removeprefix("MCP:").split("/")
        reached = "python -I -S /x/codeplane/surfaces/bridge.py" if server == "codeplane" else f"npx {server}"
        return document | {"tool_name": tool, "tool_input": json.dumps(dict(said.given)), "command": reached}
    if what in {"before", "after"}:
        document |= {
            "tool_name": said.tool,
            "tool_input": dict(said.given),
            "tool_use_id": said.call_id,
            "cwd": said.root,
        }
    extras: dict[str, dict[str, Any]] = {
        "prompt": {"prompt": said.prompt, "attachments": []},
        "stop": {"status": "completed", "loop_count": 0},
    }
    return document | extras.get(what, {})


def _cursor_hears(what: str, code: int, out: str, err: str) -> Heard:
    """Exit code 2 or `deny` blocks; other failures block too, because `failClosed` is set."""
    document = _json(out)
    if what == "before" and (code != 0 or document.get("permission") == "deny" or (out.strip() and not document)):
        return Heard(BLOCKED, document.get("agent_message", err))
    if what == "stop":
        return Heard(RUNS, document.get("followup_message", ""), goes_on="followup_message" in document)
    return Heard(RUNS, document.get("additional_context", ""), document.get("updated_input"))


def _vscode_json(speaker: Speaker, what: str, said: Said) -> dict[str, Any]:
    document = _claude_json(speaker, what, replace(said, subagent=""))
    document.pop("permission_mode")
    return document | {"timestamp": "2026-11-18T10:00:00.000Z"}


def _vscode_hears(what: str, code: int, out: str, err: str) -> Heard:
    """Exit code 2 blocks; any other code is a warning, and the tool runs."""
    if what == "before" and code == 2:
        return Heard(BLOCKED, err)
    document = _json(out) if code == 0 else {}
    specific = document.get("hookSpecificOutput", {})
    if what == "stop":
        return Heard(RUNS, document.get("reason", ""), goes_on=document.get("decision") == "block")
    if what == "before" and specific.get("permissionDecision") == "deny":
        return Heard(BLOCKED, specific.get("permissionDecisionReason", ""))
    return Heard(RUNS, specific.get("additionalContext", ""), specific.get("updatedInput"))


_CLINE_EVENTS = {
    "start": "TaskStart", "prompt": "UserPromptSubmit", "before": "PreToolUse", "after": "PostToolUse",
    "stop": "TaskComplete",
}  # fmt: skip


def _cline_json(speaker: Speaker, what: str, said: Said) -> dict[str, Any]:
    name = speaker.names[what]
    key = name[:1].lower() + name[1:]
    document: dict[str, Any] = {
        "clineVersion": "",
        "timestamp": "2026-11-18T21:51:14.394Z",
        "taskId": "conv_1",
        "sessionContext": {"rootSessionId": said.session},
        "workspaceRoots": [said.root],
        "agent_id": said.subagent or "agent_main",
        "parent_agent_id": "agent_main" if said.subagent else None,
        key: {"prompt": said.prompt} if what == "prompt" else {},
    }
    if what in {"before", "after"}:
        call = {"id": said.call_id, "name": said.tool, "input": dict(said.given)}
        texts = {name: one if isinstance(one, str) else json.dumps(one) for name, one in said.given.items()}
        document |= {"tool_call" if what == "before" else "tool_result": call}
        document[key] = {"toolName": said.tool, "parameters": texts}
    return document


def _cline_hears(what: str, _code: int, out: str, _err: str) -> Heard:
    """Only the JSON counts; a refusal ends the run, and its text is for the person."""
    document = _json(out)
    if what == "before" and document.get("cancel") is True:
        return Heard(BLOCKED, document.get("errorMessage", ""))
    return Heard(RUNS, document.get("contextModification", ""), document.get("overrideInput"))


def _json(out: str) -> dict[str, Any]:
    try:
        document = json.loads(out)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _patch(path: str, content: str) -> tuple[str, dict[str, Any]]:
    lines = "".join(f"+{line}\n" for line in content.splitlines())
    return "apply_patch", {"command": f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"}


CLAUDE = Speaker(
    agent="claude",
    names={"start": "SessionStart", "prompt": "UserPromptSubmit", "before": "PreToolUse", "after": "PostToolUse",
           "stop": "Stop"},
    builds=_claude_json,
    hears=_claude_hears,
    write=lambda path, content: ("Write", {"file_path": path, "content": content}),
    command=lambda command: ("Bash", {"command": command, "description": "Run it"}),
    mcp=lambda server, tool: f"mcp__{server}__{tool}",
    read=lambda path: ("Read", {"file_path": path}),
    sends_call_id_to_mcp="claudecode/toolUseId",
)  # fmt: skip
CODEX = replace(
    CLAUDE,
    agent="codex",
    hears=_codex_hears,
    write=_patch,
    command=lambda command: ("Bash", {"command": command}),
    read=lambda path: ("Bash", {"command": f"cat {path}"}),
    sends_call_id_to_mcp="callId",
)
GEMINI = replace(
    CLAUDE,
    agent="gemini",
    names={"start": "SessionStart", "prompt": "BeforeAgent", "before": "BeforeTool", "after": "AfterTool",
           "stop": "AfterAgent"},
    builds=_gemini_json,
    hears=_gemini_hears,
    write=lambda path, content: ("write_file", {"file_path": path, "content": content}),
    command=lambda command: ("run_shell_command", {"command": command, "description": "Run it"}),
    mcp=lambda server, tool: f"mcp_{server}_{tool}",
    read=lambda path: ("read_file", {"file_path": path}),
    has_call_ids=False,
    has_subagents=False,
    sends_call_id_to_mcp="",
)  # fmt: skip
COPILOT = replace(
    CLAUDE,
    agent="copilot",
    names=_COPILOT_EVENTS,
    builds=_copilot_json,
    hears=_copilot_hears,
    write=lambda path, content: ("create", {"path": path, "file_text": content}),
    command=lambda command: ("bash", {"command": command, "description": "Run it"}),
    mcp=lambda server, tool: f"{server}-{tool}",
    read=lambda path: ("view", {"path": path}),
    has_call_ids=False,
    sends_call_id_to_mcp="",
    tells_why_it_failed=False,
)
OPENCODE = replace(
    CLAUDE,
    agent="opencode",
    names=_OPENCODE_EVENTS,
    builds=_opencode_json,
    hears=_opencode_hears,
    write=lambda path, content: ("write", {"filePath": path, "content": content}),
    command=lambda command: ("bash", {"command": command, "description": "Run it"}),
    mcp=lambda server, tool: f"{server}_{tool}",
    read=lambda path: ("read", {"filePath": path}),
    sends_call_id_to_mcp="",
    tells_at_start=False,
)
CURSOR = replace(
    CLAUDE,
    agent="cursor",
    names=_CURSOR_EVENTS,
    builds=_cursor_json,
    hears=_cursor_hears,
    write=lambda path, content: ("Write", {"path": path, "contents": content}),
    command=lambda command: ("Shell", {"command": command, "working_directory": ""}),
    mcp=lambda server, tool: f"MCP:{server}/{tool}",
    read=lambda path: ("Read", {"path": path}),
    has_subagents=False,
    sends_call_id_to_mcp="",
    tells_at_prompt=False,
)
VSCODE = replace(
    CLAUDE,
    agent="vscode",
    builds=_vscode_json,
    hears=_vscode_hears,
    write=lambda path, content: ("create_file", {"filePath": path, "content": content}),
    command=lambda command: ("run_in_terminal", {"command": command, "explanation": "x", "isBackground": False}),
    mcp=lambda server, tool: f"mcp_{server}_{tool}",
    read=lambda path: ("read_file", {"filePath": path}),
    has_subagents=False,
    sends_call_id_to_mcp="",
)
CLINE = replace(
    CLAUDE,
    agent="cline",
    names=_CLINE_EVENTS,
    builds=_cline_json,
    hears=_cline_hears,
    write=lambda path, content: ("editor", {"path": path, "new_text": content}),
    command=lambda command: ("run_commands", {"commands": [command]}),
    mcp=lambda server, tool: f"{server}__{tool}",
    read=lambda path: ("read_files", {"files": [{"path": path}]}),
    sends_call_id_to_mcp="",
)
SPEAKERS = (CLAUDE, CLINE, CODEX, COPILOT, CURSOR, GEMINI, OPENCODE, VSCODE)
