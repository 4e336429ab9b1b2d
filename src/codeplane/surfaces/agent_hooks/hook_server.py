"""Hooks at the server: one event in, one decision out, and the wait for a person in between."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import get_logger
from codeplane.operations.agent_calls import answer_event, as_foreign, connection_of, is_waiting, with_upstream_tool
from codeplane.operations.agent_events import AgentDecision, AgentEvent, EventKind, Reply, ToolKind
from codeplane.surfaces.agent_hooks.adapter import Adapter
from codeplane.surfaces.agent_hooks.processes import agent_process, has_our_server
from codeplane.surfaces.agent_hooks.translation import GATES, MAX_EVENT, claims_ours, read_event, refusal_of, render

if TYPE_CHECKING:
    from codeplane.surfaces.server.host import ServerHost

_log = get_logger(__name__)
_SIGN_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 0.2
_AT_ONCE: Final = 32


@dataclass(frozen=True, slots=True)
class _Sent:
    agent: str
    name: str
    payload: bytes
    pid: int


class HookServer:
    """Answers the hooks of every agent that works in this tree."""

    def __init__(self, host: "ServerHost") -> None:
        self._host = host
        # Agents wait for hooks, so they do not queue behind long operations.
        self._limiter = anyio.CapacityLimiter(_AT_ONCE)
        # Processes of agents that have started our server.
        self._known: set[str] = set()

    async def serve(
        self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pid: int
    ) -> None:
        """Read one event and answer it."""
        size = hello.get("size")
        if not isinstance(size, int) or not 0 <= size <= MAX_EVENT:
            return
        sent = _Sent(str(hello.get("agent", "")), str(hello.get("event", "")), await reader.readexactly(size), pid)
        signs = asyncio.create_task(_give_signs(writer))
        try:
            with self._host.in_flight:
                code, out, err = await self._answered(sent)
        finally:
            signs.cancel()
            with suppress(asyncio.CancelledError):
                await signs
        writer.write(f"{code} {len(out)} {len(err)}\n".encode() + out + err)
        await writer.drain()

    async def _answered(self, sent: _Sent) -> tuple[int, bytes, bytes]:
        try:
            adapter, event = await self._in_thread(self._understood, sent)
            self._announce(event)
            decision = await self._in_thread(answer_event, self._host.door, event)
            decision = await self._waited(adapter, event, decision)
            return render(adapter, event, decision)
        except CodePlaneError as error:
            return refusal_of(sent.agent, sent.name, sent.payload, error.message)

    async def _waited(self, adapter: Adapter, event: AgentEvent, decision: AgentDecision) -> AgentDecision:
        """Wait until a person has answered, as long as the agent does; then the call is judged once more."""
        patience = min(adapter.hold_seconds, self._host.workspace.settings.hooks.wait_seconds)
        deadline = anyio.current_time() + patience
        while decision.reply is Reply.HOLD and event.kind in GATES and not self._host.is_stopping:
            if anyio.current_time() > deadline:
                break
            if await self._in_thread(is_waiting, self._host.workspace, decision.hold_id):
                await anyio.sleep(_POLL_SECONDS)
                continue
            later = await self._in_thread(answer_event, self._host.door, event)
            if later.hold_id == decision.hold_id:
                break
            decision = later
        return decision

    def _understood(self, sent: _Sent) -> tuple[Adapter, AgentEvent]:
        """Return whose event it is, and the event with its tool as it is known here."""
        adapter, event = _read(sent)
        event = with_upstream_tool(self._host.door, event)
        return adapter, event if self._is_ours(adapter, event) else as_foreign(self._host.door, event)

    def _is_ours(self, adapter: Adapter, event: AgentEvent) -> bool:
        """Tell whether a call goes to our server, as far as that can be known; over HTTP it cannot."""
        if not claims_ours(adapter, event) or event.process in self._known or self._host.bindings.is_used_over_http:
            return True
        is_ours = has_our_server(event.process)
        if is_ours:
            self._known.add(event.process)
        return is_ours

    def _announce(self, event: AgentEvent) -> None:
        if event.kind is EventKind.BEFORE_TOOL and event.tool is not None and event.tool.kind is ToolKind.OWN:
            tool = event.tool
            self._host.bindings.announce(
                connection_of(event), event.call_id, tool.operation, tool.essence, event.process
            )

    async def _in_thread(self, work: Any, *arguments: Any) -> Any:
        return await anyio.to_thread.run_sync(work, *arguments, limiter=self._limiter)


def _read(sent: _Sent) -> tuple[Adapter, AgentEvent]:
    return read_event(sent.agent, sent.name, sent.payload, agent_process(sent.pid))


async def _give_signs(writer: asyncio.StreamWriter) -> None:
    """Tell the client every second that it has not been forgotten."""
    while True:
        await asyncio.sleep(_SIGN_SECONDS)
        writer.write(b".")
        await writer.drain()
