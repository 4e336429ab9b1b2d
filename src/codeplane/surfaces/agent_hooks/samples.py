"""Events as agents send them, for proving that a gate works: a write, a read, and how a refusal looks."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from codeplane.operations.agent_events import CANARY_SESSION


@dataclass(frozen=True, slots=True)
class Sample:
    """The event of a gate, a write and a read as its JSON, and what tells a refusal from exit code and output."""

    event: str
    write: dict[str, Any]
    read: dict[str, Any]
    is_refusal: Callable[[int, str], bool]


def sample(agent: str, root: str, forbidden: str) -> Sample:
    """Return the sample of an agent."""
    return _SAMPLES[agent](root, forbidden)


def _claude(root: str, forbidden: str) -> Sample:
    write = {"file_path": f"{root}/{forbidden}", "content": "canary"}
    found = _like_claude("PreToolUse", root, ("Write", write), ("Read", {"file_path": f"{root}/README.md"}))
    return replace(found, is_refusal=_is_claudes_refusal)


def _is_claudes_refusal(code: int, out: str) -> bool:
    specific = _says(out, "hookSpecificOutput")
    return code == 2 or (isinstance(specific, dict) and specific.get("permissionDecision") == "deny")


def _codex(root: str, forbidden: str) -> Sample:
    patch = f"*** Begin Patch\n*** Add File: {forbidden}\n+canary\n*** End Patch\n"
    return _like_claude("PreToolUse", root, ("apply_patch", {"command": patch}), ("Bash", {"command": "ls"}))


def _gemini(root: str, forbidden: str) -> Sample:
    write = {"file_path": forbidden, "content": "canary"}
    return _like_claude("BeforeTool", root, ("write_file", write), ("read_file", {"file_path": "README.md"}))


def _copilot(root: str, forbidden: str) -> Sample:
    base = {"sessionId": CANARY_SESSION, "timestamp": 0, "cwd": root}
    write = {**base, "toolName": "create", "toolArgs": {"path": f"{root}/{forbidden}", "file_text": "canary"}}
    read = {**base, "toolName": "view", "toolArgs": {"path": f"{root}/README.md"}}
    return Sample("preToolUse", write, read, lambda code, out: code != 0 or _says(out, "permissionDecision") == "deny")


def _cursor(root: str, forbidden: str) -> Sample:
    base = {
        "conversation_id": CANARY_SESSION,
        "hook_event_name": "preToolUse",
        "cursor_version": "",
        "workspace_roots": [root],
    }
    write = {**base, "tool_name": "Write", "tool_input": {"path": f"{root}/{forbidden}", "contents": "canary"}}
    read = {**base, "tool_name": "Read", "tool_input": {"path": f"{root}/README.md"}}
    return Sample("preToolUse", write, read, lambda code, _out: code == 2)


def _vscode(root: str, forbidden: str) -> Sample:
    write = {"filePath": f"{root}/{forbidden}", "content": "canary"}
    found = _like_claude("PreToolUse", root, ("create_file", write), ("read_file", {"filePath": f"{root}/README.md"}))
    more = {"timestamp": "", "transcript_path": ""}
    return Sample(found.event, {**found.write, **more}, {**found.read, **more}, found.is_refusal)


def _cline(root: str, forbidden: str) -> Sample:
    base = {"clineVersion": "", "taskId": CANARY_SESSION, "workspaceRoots": [root]}
    write = {"id": "1", "name": "editor", "input": {"path": f"{root}/{forbidden}", "new_text": "canary"}}
    read = {"id": "2", "name": "read_files", "input": {"files": [{"path": f"{root}/README.md"}]}}
    documents = [{**base, "tool_call": one} for one in (write, read)]
    return Sample("PreToolUse", documents[0], documents[1], lambda _code, out: _says(out, "cancel") is True)


def _opencode(root: str, forbidden: str) -> Sample:
    base = {"directory": root, "parent": ""}
    documents = [
        {**base, "input": {"tool": tool, "sessionID": CANARY_SESSION, "callID": tool}, "output": {"args": given}}
        for tool, given in (
            ("write", {"filePath": f"{root}/{forbidden}", "content": "canary"}),
            ("read", {"filePath": f"{root}/README.md"}),
        )
    ]
    return Sample("tool.execute.before", documents[0], documents[1], lambda code, _out: code != 0)


def _like_claude(
    event: str, root: str, write: tuple[str, Mapping[str, Any]], read: tuple[str, Mapping[str, Any]]
) -> Sample:
    base = {"session_id": CANARY_SESSION, "cwd": root, "hook_event_name": event}
    documents = [{**base, "tool_name": tool, "tool_input": dict(given)} for tool, given in (write, read)]
    return Sample(event, documents[0], documents[1], lambda code, _out: code == 2)


def _says(out: str, name: str) -> Any:
    """Return a field of an answer in JSON."""
    try:
        document = json.loads(out)
    except ValueError:
        return None
    return document.get(name) if isinstance(document, dict) else None


_SAMPLES: Final[Mapping[str, Callable[[str, str], Sample]]] = MappingProxyType(
    {
        "claude": _claude,
        "cline": _cline,
        "codex": _codex,
        "copilot": _copilot,
        "cursor": _cursor,
        "gemini": _gemini,
        "opencode": _opencode,
        "vscode": _vscode,
    }
)
