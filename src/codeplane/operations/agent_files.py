"""Where each agent keeps its hooks and MCP servers, and what CodePlane writes there.

Every entry carries the mark, so that ours are known from those of others.
"""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from codeplane.operations.opencode_plugin import plugin_text

MARK: Final = "codeplane-hook"
SERVER_NAME: Final = "codeplane"
_LONG: Final = 600
_SHORT: Final = 60

Level = Literal["project", "user"]


@dataclass(frozen=True, slots=True)
class Installation:
    """What the written commands start: this interpreter, this program, this working tree.

    `root` is empty at user level: there the hook finds its repository itself.
    """

    python: str
    hook_client: str
    bridge: str
    root: str
    profile: str = ""

    def words(self, agent: str, event: str) -> list[str]:
        """Return the words of the command that answers an event."""
        return [self.python, "-I", "-S", self.hook_client, agent, event, self.root, MARK]

    def hook(self, agent: str, event: str) -> str:
        """Return the shell command that answers an event; `exec` spares the agent a process."""
        return "exec " + shlex.join(self.words(agent, event))

    def gate(self, agent: str, event: str) -> str:
        """Return the same for agents that let a tool run when its hook fails: whatever fails ends with exit code 2."""
        failed = "CodePlane could not judge this call; `cpl doctor` tells why."
        command = shlex.join(self.words(agent, event))
        return f"{command} || {{ [ $? = 2 ] || echo {shlex.quote(failed)} >&2; exit 2; }}"

    def server(self) -> dict[str, Any]:
        """Return the MCP server as most agents write it."""
        repo = ["--repo", self.root] if self.root else []
        profile = ["--profile", self.profile] if self.profile else []
        return {"command": self.python, "args": ["-I", "-S", self.bridge, *repo, *profile], "env": {"CODEPLANE": MARK}}


@dataclass(frozen=True, slots=True)
class Entry:
    """A value at a path of keys: an item of the array there, or the member itself."""

    path: tuple[str, ...]
    value: Any
    is_item: bool = False


@dataclass(frozen=True, slots=True)
class AgentFile:
    """One file of an agent. `entries` go into JSON, `block` into text between marks, `content` is the whole file.

    `place` is relative to the working tree, or with `~/` to the home directory. `claims` is the table of TOML that the
    block brings; where somebody has written it already, theirs stays.
    """

    place: str
    entries: tuple[Entry, ...] = ()
    block: str = ""
    claims: str = ""
    content: str = ""
    is_executable: bool = False


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """What connecting an agent writes, and what a person still has to do or know.

    `signs` are programs and files by which the agent is found on a machine. `instructions` is the file that it reads at
    its start. `session_variable` has its session's id in the environment of its shell. `greets_late` marks an agent
    whose hooks can tell nothing before its first tool call.
    """

    name: str
    files: Callable[[Installation, Level], tuple[AgentFile, ...]]
    signs: tuple[str, ...]
    instructions: str = ""
    session_variable: str = ""
    greets_late: bool = False
    to_do: tuple[str, ...] = ()
    gaps: tuple[str, ...] = field(default=())


def _claude(installation: Installation, level: Level) -> tuple[AgentFile, ...]:
    """Hooks that fail block the call; servers of `.mcp.json` are approved in advance."""
    gates = {"PreToolUse", "PermissionRequest"}
    events = (
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure",
        "PreCompact", "SubagentStart", "SubagentStop", "Stop", "SessionEnd", "ConfigChange",
    )  # fmt: skip
    entries = []
    for event in events:
        hook: dict[str, Any] = {"type": "command", "command": installation.hook("claude", event)}
        hook |= {"timeout": _LONG, "onFailure": "block"} if event in gates else {"timeout": _SHORT}
        entries.append(Entry(("hooks", event), {"hooks": [hook]}, is_item=True))
    server = Entry(("mcpServers", SERVER_NAME), {"type": "stdio", **installation.server()})
    if level == "user":
        return AgentFile("~/.claude/settings.json", tuple(entries)), AgentFile("~/.claude.json", (server,))
    approved = Entry(("enabledMcpjsonServers",), SERVER_NAME, is_item=True)
    return AgentFile(".claude/settings.local.json", (*entries, approved)), AgentFile(".mcp.json", (server,))


def _codex(installation: Installation, level: Level) -> tuple[AgentFile, ...]:
    """Hooks in JSON, the server in TOML; the server's tools are approved, because CodePlane judges them itself."""
    gates = {"PreToolUse", "PermissionRequest"}
    events = (
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "PreCompact",
        "SubagentStart", "SubagentStop", "Stop",
    )  # fmt: skip
    entries = []
    for event in events:
        command = installation.gate("codex", event) if event in gates else installation.hook("codex", event)
        hook = {"type": "command", "command": command, "timeout": _LONG if event in gates else _SHORT}
        entries.append(Entry(("hooks", event), {"hooks": [hook]}, is_item=True))
    server = installation.server()
    lines = [
        f"[mcp_servers.{SERVER_NAME}]",
        f"command = {json.dumps(server['command'])}",
        f"args = {json.dumps(server['args'])}",
        'default_tools_approval_mode = "approve"',
        f"[mcp_servers.{SERVER_NAME}.env]",
        f"CODEPLANE = {json.dumps(MARK)}",
    ]
    folder = "~/.codex" if level == "user" else ".codex"
    return (
        AgentFile(f"{folder}/hooks.json", tuple(entries)),
        AgentFile(f"{folder}/config.toml", block="\n".join(lines), claims=f"mcp_servers.{SERVER_NAME}"),
    )


def _gemini(installation: Installation, level: Level) -> tuple[AgentFile, ...]:
    """One file for both; time limits are in milliseconds. PreCompress is left out: it comes with every request."""
    entries = []
    for event in ("SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"):
        is_gate = event == "BeforeTool"
        command = installation.gate("gemini", event) if is_gate else installation.hook("gemini", event)
        hook = {"type": "command", "name": MARK, "command": command, "timeout": 1000 * (_LONG if is_gate else _SHORT)}
        entries.append(Entry(("hooks", event), {"hooks": [hook]}, is_item=True))
    server = Entry(("mcpServers", SERVER_NAME), {**installation.server(), "trust": True})
    place = "~/.gemini/settings.json" if level == "user" else ".gemini/settings.json"
    return (AgentFile(place, (*entries, server)),)


def _copilot(installation: Installation, level: Level) -> tuple[AgentFile, ...]:
    """A hook file of our own; hooks that fail block by themselves, and only a JSON answer carries a reason."""
    hooks: dict[str, list[dict[str, Any]]] = {}
    events = (
        "sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse", "postToolUseFailure", "agentStop",
        "subagentStart", "subagentStop", "sessionEnd",
    )  # fmt: skip
    for event in events:
        limit = _LONG if event == "preToolUse" else _SHORT
        hooks[event] = [{"type": "command", "bash": installation.hook("copilot", event), "timeoutSec": limit}]
    content = json.dumps({"version": 1, "hooks": hooks}, indent=2) + "\n"
    server = {"type": "local", **installation.server(), "tools": ["*"]}
    if level == "user":
        place = AgentFile("~/.copilot/hooks/codeplane.json", content=content)
        return place, AgentFile("~/.copilot/mcp-config.json", (Entry(("mcpServers", SERVER_NAME), server),))
    shared = Entry(("mcpServers", SERVER_NAME), {"type": "stdio", **installation.server()})
    return AgentFile(".github/hooks/codeplane.json", content=content), AgentFile(".mcp.json", (shared,))


def _opencode(installation: Installation, level: Level) -> tuple[AgentFile, ...]:
    """A plugin, because there are no hook programs."""
    server = installation.server()
    entry = {
        "type": "local",
        "command": [server["command"], *server["args"]],
        "environment": server["env"],
        "enabled": True,
    }
    folder, settings = ("~/.config/opencode", "~/.config/opencode/opencode.json")
    if level == "project":
        has_comments = (Path(installation.root) / "opencode.jsonc").exists()
        folder, settings = ".opencode", f"opencode.json{'c' * has_comments}"
    plugin = AgentFile(f"{folder}/plugins/codeplane.js", content=plugin_text(installation.words("opencode", "EVENT")))
    return plugin, AgentFile(settings, (Entry(("mcp", SERVER_NAME), entry),))


def _cursor(installation: Installation, level: Level) -> tuple[AgentFile, ...]:
    """Flat entries; a hook that fails blocks where that is asked for."""
    events = (
        "sessionStart", "beforeSubmitPrompt", "preToolUse", "beforeMCPExecution", "postToolUse", "postToolUseFailure",
        "preCompact", "subagentStart", "subagentStop", "stop", "sessionEnd",
    )  # fmt: skip
    gates = {"preToolUse", "beforeMCPExecution"}
    entries = [Entry(("version",), 1)]
    for event in events:
        hook: dict[str, Any] = {"command": installation.hook("cursor", event)}
        hook |= {"timeout": _LONG, "failClosed": True} if event in gates else {"timeout": _SHORT}
        entries.append(Entry(("hooks", event), hook, is_item=True))
    folder = "~/.cursor" if level == "user" else ".cursor"
    server = Entry(("mcpServers", SERVER_NAME), installation.server())
    return AgentFile(f"{folder}/hooks.json", tuple(entries)), AgentFile(f"{folder}/mcp.json", (server,))


def _vscode(installation: Installation, level: Level) -> tuple[AgentFile, ...]:
    """A hook file of our own beside that of the Copilot CLI."""
    hooks: dict[str, list[dict[str, Any]]] = {}
    events = (
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PreCompact", "SubagentStart",
        "SubagentStop", "Stop",
    )  # fmt: skip
    for event in events:
        is_gate = event == "PreToolUse"
        command = installation.gate("vscode", event) if is_gate else installation.hook("vscode", event)
        hooks[event] = [{"type": "command", "command": command, "timeout": _LONG if is_gate else _SHORT}]
    content = json.dumps({"hooks": hooks}, indent=2) + "\n"
    if level == "user":
        # Its own MCP settings lie in a directory that differs from system to system; the project's file serves.
        return (AgentFile("~/.copilot/hooks/codeplane-vscode.json", content=content),)
    server = Entry(("servers", SERVER_NAME), {"type": "stdio", **installation.server()})
    return AgentFile(".github/hooks/codeplane-vscode.json", content=content), AgentFile(".vscode/mcp.json", (server,))


def _cline(installation: Installation, level: Level) -> tuple[AgentFile, ...]:
    """One script for each event; its MCP settings exist for the user only."""
    folder = "~/.cline/hooks" if level == "user" else ".clinerules/hooks"
    files = []
    for event in ("TaskStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "TaskComplete", "TaskCancel"):
        command = shlex.join(installation.words("cline", event))
        if event == "PreToolUse":
            failed = '{"cancel": true, "errorMessage": "CodePlane could not judge this call."}'
            command = f"answer=$({command}) && printf '%s' \"$answer\" || printf '%s' {shlex.quote(failed)}"
        files.append(AgentFile(f"{folder}/{event}", content=f"#!/bin/sh\n# {MARK}\n{command}\n", is_executable=True))
    anywhere = replace(installation, root="")
    server = Entry(("mcpServers", SERVER_NAME), anywhere.server())
    return *files, AgentFile("~/.cline/data/settings/cline_mcp_settings.json", (server,))


AGENT_FILES: Final[Mapping[str, AgentFiles]] = {
    "claude": AgentFiles(
        "Claude Code",
        _claude,
        signs=("claude", "~/.claude.json"),
        instructions="CLAUDE.md",
        session_variable="CLAUDE_CODE_SESSION_ID",
        gaps=(
            "Versions before 2.1.295 run a tool when its hook cannot be started or takes too long.",
            "`--bare`, `--safe-mode`, `--setting-sources` and `disableAllHooks` switch hooks off.",
            "Files named with @ in a prompt are read without a hook.",
        ),
    ),
    "cline": AgentFiles(
        "Cline",
        _cline,
        signs=("cline", "~/.cline"),
        instructions="AGENTS.md",
        greets_late=True,
        gaps=(
            "A refusal ends the run: the model never reads the reason, the person does.",
            "A hook that is killed or takes longer than 120 seconds lets the tool run.",
            "Its sub-agents, tasks and prompts start without a hook that can tell them anything.",
        ),
    ),
    "codex": AgentFiles(
        "Codex",
        _codex,
        signs=("codex", "~/.codex"),
        instructions="AGENTS.md",
        session_variable="CODEX_SESSION_ID",
        to_do=("Start `codex` here, trust the directory and review the hooks with /hooks: until then it skips them.",),
        gaps=(
            "A hook that takes longer than its time limit lets the tool run.",
            "What is typed into a running terminal (write_stdin) has no hook; a bare shell or interpreter is held.",
            "The directory that a command runs in (workdir) is not told.",
        ),
    ),
    "copilot": AgentFiles(
        "GitHub Copilot CLI",
        _copilot,
        signs=("copilot", "~/.copilot"),
        instructions="AGENTS.md",
        session_variable="COPILOT_AGENT_SESSION_ID",
        to_do=("Trust this directory when `copilot` asks; in an untrusted one it loads no hooks.",),
        gaps=(
            "A hook that takes longer than its time limit lets the tool run.",
            "Settings of Claude Code count too: its `disableAllHooks` does not reach ours, its hooks run beside ours.",
        ),
    ),
    "cursor": AgentFiles(
        "Cursor",
        _cursor,
        signs=("cursor", "cursor-agent", "~/.cursor"),
        instructions="AGENTS.md",
        gaps=(
            "Not tried with the real program: it is in no package registry.",
            "Cloud agents run no hooks for MCP tools.",
            "The server of an MCP tool is not named; policies see `mcp__<tool>`.",
            "A sub-agent has a conversation of its own and selects its intent itself.",
            "Completions of the editor (Tab) have no hook before them.",
        ),
    ),
    "gemini": AgentFiles(
        "Gemini CLI",
        _gemini,
        signs=("gemini", "~/.gemini"),
        instructions="GEMINI.md",
        to_do=("Trust this directory when `gemini` asks; in an untrusted one it loads no hooks.",),
        gaps=(
            "A hook that takes longer than its time limit lets the tool run.",
            "Sub-agents cannot be told from their parent.",
            "`--skip-trust` runs without the project's hooks.",
        ),
    ),
    "opencode": AgentFiles(
        "OpenCode",
        _opencode,
        signs=("opencode", "~/.config/opencode"),
        instructions="AGENTS.md",
        session_variable="OPENCODE_SESSION_ID",
        gaps=(
            "A plugin that cannot be loaded is left out without a word, and every tool runs.",
            "`--pure` and OPENCODE_DISABLE_PROJECT_CONFIG switch plugins off.",
            "Nothing can be told when a session starts; the first prompt brings it.",
        ),
    ),
    "vscode": AgentFiles(
        "VS Code",
        _vscode,
        signs=("code", "~/.vscode"),
        instructions="AGENTS.md",
        to_do=("Trust the workspace; for sessions of Copilot, Claude or Codex inside VS Code connect these, too.",),
        gaps=(
            "Not tried with the real program.",
            "A hook that takes longer than its time limit lets the tool run.",
            "What is typed into the integrated terminal has no hook.",
        ),
    ),
}


def is_ours(value: Any) -> bool:
    """Tell whether an entry carries the mark; the bare name of our server in a list is ours too."""
    return value == SERVER_NAME or MARK in json.dumps(value)
