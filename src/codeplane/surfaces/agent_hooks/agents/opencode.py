"""OpenCode: a plugin inside the agent starts our client; what it sends and honours is up to the plugin.

The plugin (`operations/opencode_plugin.py`) sends the two arguments of each hook as they are, and the session's parent.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from codeplane.operations.agent_events import AgentDecision, AgentEvent, EventKind, Reply, ToolKind
from codeplane.operations.upstream_names import OWN_SERVER
from codeplane.surfaces.agent_hooks.adapter import (
    Adapter,
    HookAnswer,
    Shape,
    kind_of,
    mapping,
    text,
    tool_use,
)

EVENTS: Final = {
    "session.created": EventKind.SESSION_START,
    "chat.message": EventKind.PROMPT,
    "tool.execute.before": EventKind.BEFORE_TOOL,
    "tool.execute.after": EventKind.AFTER_TOOL,
    "session.idle": EventKind.STOP,
}
SHAPES: Final[Mapping[str, Shape]] = {
    "apply_patch": Shape(ToolKind.WRITE, patch="patchText"),
    "bash": Shape(ToolKind.COMMAND, command="command", directory="workdir"),
    "edit": Shape(ToolKind.WRITE, paths=("filePath",), old="oldString", new="newString", everywhere="replaceAll"),
    "glob": Shape(ToolKind.READ),
    "grep": Shape(ToolKind.READ),
    "list": Shape(ToolKind.READ),
    "read": Shape(ToolKind.READ, paths=("filePath",)),
    "webfetch": Shape(ToolKind.NETWORK, urls=("url",)),
    "websearch": Shape(ToolKind.NETWORK),
    "write": Shape(ToolKind.WRITE, paths=("filePath",), content="content"),
    **dict.fromkeys(("question", "skill", "task", "todoread", "todowrite"), Shape(ToolKind.HARMLESS)),
}


def _server_and_tool(name: str) -> tuple[str, str] | None:
    """Split `server_tool`: nothing else tells that a tool is another server's."""
    if name.startswith(f"{OWN_SERVER}_"):
        return OWN_SERVER, name.removeprefix(f"{OWN_SERVER}_")
    server, separator, tool = name.partition("_")
    return (server, tool) if name not in SHAPES and separator and server and tool else None


def _reads(adapter: Adapter, name: str, document: Mapping[str, Any]) -> AgentEvent:
    given, output = mapping(document, "input"), mapping(document, "output")
    tool_name, session, parent = text(given, "tool"), text(given, "sessionID"), text(document, "parent")
    arguments = mapping(output, "args") or mapping(given, "args")
    model = mapping(mapping(output, "message"), "model")
    parts = output.get("parts")
    return AgentEvent(
        adapter.agent,
        kind_of(adapter, name),
        name,
        parent or session,
        call_id=text(given, "callID"),
        subagent=session if parent else "",
        version=text(document, "version"),
        model="/".join(filter(None, (text(model, "providerID"), text(model, "modelID")))),
        cwd=text(document, "directory"),
        tool=tool_use(adapter, tool_name, arguments) if tool_name else None,
        prompt="\n".join(text(one, "text") for one in parts if isinstance(one, dict))
        if isinstance(parts, list)
        else "",
    )


def _writes(event: AgentEvent, decision: AgentDecision) -> HookAnswer:
    if decision.reply in {Reply.DENY, Reply.HOLD}:
        return HookAnswer(2, "", f"{decision.reason}\n")
    told: dict[str, Any] = {"args": dict(decision.rewritten)} if decision.reply is Reply.REWRITE else {}
    if decision.context and event.kind in {EventKind.PROMPT, EventKind.AFTER_TOOL}:
        told["context"] = decision.context
    return HookAnswer(0, json.dumps(told) if told else "")


OPENCODE: Final = Adapter(
    agent="opencode",
    events=EVENTS,
    shapes=SHAPES,
    server_and_tool=_server_and_tool,
    reads=_reads,
    writes=_writes,
    hold_seconds=3600.0,
    known_version="1.18.33",
    starts_servers=True,
)
