"""From the bytes of a hook to an event of ours, and from a decision to what the agent is sent."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from codeplane.core.errors import CodePlaneError, ErrorReport
from codeplane.operations.agent_calls import may_change
from codeplane.operations.agent_events import NO_OPINION, AgentDecision, AgentEvent, EventKind, Reply, ToolKind
from codeplane.operations.command_risk import only_reads
from codeplane.surfaces.agent_hooks.adapter import Adapter, HookAnswer
from codeplane.surfaces.agent_hooks.agents.catalog import ADAPTERS, speaker_of

MAX_EVENT: Final = 64 * 1024 * 1024
# What gates: in these events nothing but an answer of ours lets a tool run.
GATES: Final = frozenset({EventKind.BEFORE_TOOL, EventKind.PERMISSION})


def adapter_of(agent: str) -> Adapter:
    """Return the adapter of an agent.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS for an agent without one.
    """
    adapter = ADAPTERS.get(agent)
    if adapter is None:
        known = ", ".join(sorted(ADAPTERS))
        raise CodePlaneError("INVALID_ARGUMENTS", f"`{agent[:40]}` is not an agent with hooks; known: {known}.")
    return adapter


def read_event(agent: str, name: str, payload: bytes, process: str = "") -> tuple[Adapter, AgentEvent]:
    """Return the agent that really speaks and its event; what cannot be read is an event without content."""
    adapter = adapter_of(agent)
    document = _document(payload)
    # One settings file fires in several agents: the JSON tells which.
    adapter = speaker_of(adapter, document)
    return adapter, replace(adapter.reads(adapter, name, document), raw_input=_raw_input(document), process=process)


def claims_ours(adapter: Adapter, event: AgentEvent) -> bool:
    """Tell whether an event asks for a tool of a server with our name, of an agent whose servers are its children."""
    is_own = event.tool is not None and event.tool.kind is ToolKind.OWN
    return is_own and event.kind in GATES and adapter.starts_servers and bool(event.process)


def render(adapter: Adapter, event: AgentEvent, decision: AgentDecision) -> tuple[int, bytes, bytes]:
    """Return exit code, output and error output for a decision."""
    answer: HookAnswer = adapter.writes(event, decision)
    return answer.exit_code, answer.stdout.encode("utf-8", "replace"), answer.stderr.encode("utf-8", "replace")


def refusal_of(agent: str, name: str, payload: bytes, reason: str) -> tuple[int, bytes, bytes]:
    """Return the answer when nobody can judge: reads pass, what may change something is refused."""
    adapter, event = read_event(agent, name, payload)
    command = event.tool.command if event.tool is not None else ""
    if event.kind not in GATES or not may_change(event.tool) or (command and only_reads(command, event.cwd or ".")):
        return render(adapter, event, NO_OPINION)
    action = "A person looks at `cpl doctor`; reads still work."
    report = ErrorReport("SERVER_UNREACHABLE", reason, action)
    return render(adapter, event, AgentDecision(Reply.DENY, report=report))


def _document(payload: bytes) -> Mapping[str, Any]:
    if len(payload) > MAX_EVENT:
        return {}
    try:
        document = json.loads(payload.decode("utf-8", "replace")) if payload.strip() else {}
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _raw_input(document: Mapping[str, Any]) -> Mapping[str, Any]:
    for holder in (document, document.get("tool_call")):
        if isinstance(holder, dict):
            names = ("tool_input", "toolInput", "toolArgs") if holder is document else ("input",)
            found = (holder.get(name) for name in names)
            given = next((one for one in found if isinstance(one, dict)), None)
            if given is not None:
                return dict(given)
    return {}
