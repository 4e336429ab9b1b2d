"""All upstreams of one server: which of them run, what they offer, and the way of a call to them.

The connections live on an event loop in a thread of their own, so that a flood from an upstream does not delay ours.
"""

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import fields, get_logger
from codeplane.operations.operation import AnyOperation, CallContext
from codeplane.operations.upstream_names import PROMPTS, SEPARATOR, server_names, tool_names
from codeplane.operations.upstream_tools import (
    UpstreamAnswer,
    UpstreamTool,
    resource_address,
    tools_of,
    upstream_operations,
)
from codeplane.surfaces.gateway.answers import checked_answer
from codeplane.surfaces.gateway.holder import OfferedBesides
from codeplane.surfaces.gateway.resolution import resolved
from codeplane.workspace.config import load_workspace_settings
from codeplane.workspace.gateway_settings import GatewaySettings
from codeplane.workspace.upstream_states import write_state
from codeplane.workspace.workspace import Workspace

if TYPE_CHECKING:
    from codeplane.surfaces.gateway.connection import Connection, Waiting

_log = get_logger(__name__)
_POLL_SECONDS: Final = 0.1
# What an upstream tells faster than its caller can pass on is dropped.
_MAX_TOLD: Final = 1_000
_STOP_SECONDS: Final = 5.0


class Gateway:
    """The upstreams of one server.

    Invariant: a connection exists exactly for the configured servers whose settings a person has accepted, while
    started. `_lock` guards what is read from several threads.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._settings: GatewaySettings = workspace.settings.gateway
        self._lock = threading.RLock()
        self._connections: dict[str, Connection] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stamp: object = None
        self._tools: tuple[UpstreamTool, ...] | None = None
        self._operations: tuple[object, Mapping[str, AnyOperation]] | None = None
        self._is_stopped = False
        self.on_change: Callable[[], None] = lambda: None

    # What is offered

    def operations(self) -> Mapping[str, AnyOperation]:
        """Return the tools of all accepted upstreams as operations under the rules in force."""
        if not self._settings.servers:
            return {}
        rules = self._workspace.gate.rules()
        with self._lock:
            # What a person has just accepted counts for the next call already.
            basis = (rules.digest, self._workspace.upstream_pins.stamp())
            if self._operations is None or self._operations[0] != basis:
                self._tools = None
                found = upstream_operations(self._all_tools(), self._settings.servers, rules, self.call)
                self._operations = (basis, found)
            return self._operations[1]

    def _all_tools(self) -> tuple[UpstreamTool, ...]:
        if self._tools is None:
            pins, names = self._workspace.upstream_pins.load(), server_names(self._settings.servers)
            found: list[UpstreamTool] = []
            for name, settings in self._settings.servers.items():
                pin = pins.get(name)
                if pin is None or pin.settings != settings.digest:
                    continue
                connection = self._connections.get(name)
                seen = connection.found.tools if connection is not None and connection.found is not None else None
                found += tools_of(name, names[name], pin, seen)
            self._tools = tuple(found)
        return self._tools

    def offered(self) -> OfferedBesides:
        """Return resources, templates and prompts of all upstreams that are up, under names of ours."""
        names = server_names(self._settings.servers)
        with self._lock:
            up = [(names[name], one.found) for name, one in self._connections.items() if one.found is not None]
        return OfferedBesides(
            [_readdressed(name, one, "uri") for name, found in up for one in found.resources],
            [_readdressed(name, one, "uriTemplate") for name, found in up for one in found.templates],
            [
                {**one, "name": ours}
                for name, found in up
                for one, ours in zip(found.prompts, _prompt_names(name, found.prompts).values(), strict=False)
            ],
        )

    def listing(self) -> str:
        """Return what differs when other tools or resources are offered than before."""
        cards = [one.card for one in self.operations().values() if one.card is not None]
        return digest([[card["name"], card["upstream"]["digest"], card["upstream"]["state"]] for card in cards])

    def why_missing(self, name: str) -> CodePlaneError | None:
        """Return why a tool that an upstream may have is not there."""
        first = name.partition(SEPARATOR)[0]
        for server, prefix in server_names(self._settings.servers).items():
            if prefix != first or name == first:
                continue
            pin = self._workspace.upstream_pins.load().get(server)
            details = {"upstream": server}
            if pin is None or pin.settings != self._settings.servers[server].digest:
                message = f"No person has accepted the MCP server {server} as it is configured."
                hint = f"A person looks at it and accepts it: cpl gateway show {server}, cpl gateway accept {server}."
                return CodePlaneError("UPSTREAM_NOT_ACCEPTED", message, hint=hint, details=details)
            if pin.tools is None:
                connection = self._connections.get(server)
                told = f": {connection.error}" if connection is not None and connection.error else " yet."
                message = f"The MCP server {server} has not been up{told}"
                return CodePlaneError("UPSTREAM_UNAVAILABLE", message, details=details)
        return None

    # Calls

    def call(self, tool: UpstreamTool, arguments: Mapping[str, Any], context: CallContext) -> UpstreamAnswer:
        """Carry a call to its upstream and wait for the answer, in the caller's thread."""
        if tool.state == "method":
            result = self.request(tool.server, tool.original, self._params_of(tool, arguments), context)
            result = {"content": _contents(result)}
        else:
            params = {"name": tool.original, "arguments": dict(arguments)}
            result = self.request(tool.server, "tools/call", params, context)
        connection = self._connections.get(tool.server)
        clean = connection.resolved.without_secrets if connection is not None and connection.resolved else str
        return checked_answer(tool.server, result, clean, self._settings.max_answer_bytes)

    def _params_of(self, tool: UpstreamTool, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters of a method; a prompt is named as its server names it."""
        if tool.original != PROMPTS:
            return {"uri": arguments.get("uri")}
        connection = self._connections.get(tool.server)
        found = connection.found.prompts if connection is not None and connection.found is not None else ()
        prefix = server_names(self._settings.servers)[tool.server]
        own = next((own for own, ours in _prompt_names(prefix, found).items() if ours == arguments.get("name")), None)
        if own is None:
            raise CodePlaneError("UPSTREAM_FAILED", f"The MCP server {tool.server} has no such prompt.")
        return {"name": own, "arguments": arguments.get("arguments") or {}}

    def request(
        self, server: str, method: str, params: Mapping[str, Any], context: CallContext | None
    ) -> Mapping[str, Any]:
        """Send a request to an upstream; progress and questions that come meanwhile go to the call's client.

        Raises:
            CodePlaneError: UPSTREAM_UNAVAILABLE, UPSTREAM_TIMEOUT, UPSTREAM_FAILED or CANCELLED.
        """
        self.refresh()
        connection, loop = self._connections.get(server), self._loop
        if connection is None or loop is None:
            raise CodePlaneError("UPSTREAM_UNAVAILABLE", f"The MCP server {server} is not running.")
        told: queue.SimpleQueue[Callable[[Waiting], None] | None] = queue.SimpleQueue()

        def tell(item: "Callable[[Waiting], None]") -> None:
            if told.qsize() < _MAX_TOLD:
                told.put(item)

        work = connection.request(method, params, self._settings.call_timeout_sec, tell if context else None)
        future = asyncio.run_coroutine_threadsafe(work, loop)
        future.add_done_callback(lambda _done: told.put(None))
        while (item := self._next(told, future, context)) is not None:
            item(_waiting(context))
        return future.result()

    @staticmethod
    def _next(told: Any, future: Any, context: CallContext | None) -> Any:
        """Return what comes next; None at the end of the call."""
        while True:
            try:
                return told.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                if context is not None and context.is_cancelled():
                    future.cancel()
                    raise CodePlaneError("CANCELLED") from None

    # What runs

    def refresh(self) -> None:
        """Follow changes of the settings and of what people have accepted; cheap when there are none."""
        with self._lock:
            stamp = self._stamp_now()
            if stamp == self._stamp or self._is_stopped:
                return
            self._stamp = stamp
            self._reload()
        self.on_change()

    def _stamp_now(self) -> object:
        places = self._workspace.places
        return (
            *(_stamp_of(path) for path in (places.user.config_file, places.config_file)),
            self._workspace.upstream_pins.stamp(),
        )

    def _reload(self) -> None:
        try:
            loaded = load_workspace_settings(self._workspace.places, self._workspace.overrides)
            self._settings = loaded.values.gateway
        except CodePlaneError as error:
            _log.warning("the settings of upstreams cannot be read", extra=fields(reason=error.message))
        pins = self._workspace.upstream_pins.load()
        accepted = {
            name: one
            for name, one in self._settings.servers.items()
            if name in pins and pins[name].settings == one.digest
        }
        self._tools = self._operations = None
        for name in list(self._connections):
            if name not in accepted or self._connections[name].settings != accepted[name]:
                self._end(name)
        for name in accepted.keys() - self._connections.keys():
            self._start(name)

    def _start(self, name: str) -> None:
        # 150 ms that only servers with accepted upstreams need.
        from codeplane.surfaces.gateway.connection import Connection  # noqa: PLC0415

        settings = self._settings.servers[name]
        connection = Connection(
            name,
            settings,
            self._settings,
            lambda: resolved(settings, self._workspace.root, self._workspace.upstream_secrets),
            self._changed,
        )
        self._connections[name] = connection
        self._on_loop(self._keep(connection))

    async def _keep(self, connection: "Connection") -> None:
        self._tasks[connection.name] = asyncio.create_task(connection.run())

    def _end(self, name: str) -> None:
        del self._connections[name]
        self._on_loop(self._cancel(name))

    async def _cancel(self, name: str) -> None:
        task = self._tasks.pop(name, None)
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def _on_loop(self, work: Coroutine[Any, Any, None]) -> Any:
        if self._loop is None:
            loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_run, args=(loop,), name="codeplane-gateway", daemon=True)
            self._thread.start()
            self._loop = loop
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def status(self) -> list[dict[str, Any]]:
        """Return how each configured upstream is, and how many of its tools are pinned and held."""
        with self._lock:
            tools = self._all_tools()
            return [
                {
                    "name": name,
                    "state": self._connections[name].state if name in self._connections else "not accepted",
                    "error": self._connections[name].error if name in self._connections else "",
                    "pinned": sum(one.server == name and one.state == "pinned" for one in tools),
                    "held": sum(one.server == name and one.state in {"changed", "added"} for one in tools),
                }
                for name in self._settings.servers
            ]

    def stop(self) -> None:
        """End all upstreams."""
        with self._lock:
            self._is_stopped = True
            loop, thread, names = self._loop, self._thread, list(self._connections)
            self._connections.clear()
        if loop is None or thread is None:
            return

        async def end_all() -> None:
            await asyncio.gather(*(self._cancel(name) for name in names))

        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(end_all(), loop).result(_STOP_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_STOP_SECONDS)

    def _changed(self, connection: "Connection") -> None:
        """Note what an upstream offers; on the gateway's loop."""
        with self._lock:
            if self._connections.get(connection.name) is not connection:
                return
            found = connection.found
            if found is not None:
                self._pin_first(connection, found.tools)
            self._tools = self._operations = None
            write_state(self._workspace.places, connection.name, _state_of(connection))
        self.on_change()

    def _pin_first(self, connection: "Connection", tools: tuple[Mapping[str, Any], ...]) -> None:
        """Pin what an accepted server offers when it is reached for the first time."""
        pin = self._workspace.upstream_pins.load().get(connection.name)
        if pin is None or pin.tools is not None:
            return
        with self._workspace.upstream_pins.changed() as pins:
            now = pins.get(connection.name)
            if now is not None and now.tools is None and now.settings == connection.settings.digest:
                pins[connection.name] = replace(now, tools={str(one["name"]): one for one in tools})
        self._stamp = self._stamp_now()
        body: dict[str, object] = {"upstream": connection.name, "tools": len(tools)}
        self._workspace.record("upstream_pinned", body)


def _contents(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the contents of a resource, or the messages of a prompt, as blocks of an answer."""
    for key, kind in (("contents", "resource"), ("messages", "message")):
        if isinstance(result.get(key), list):
            return [{"type": kind, kind: one} for one in result[key]]
    return []


def _readdressed(server_name: str, listed: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {**listed, key: resource_address(server_name, str(listed.get(key, "")))}


def _prompt_names(server_name: str, prompts: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return our names of a server's prompts by its own, in its order."""
    return tool_names(server_name, dict.fromkeys(str(one.get("name", "")) for one in prompts))


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


def _waiting(context: CallContext | None) -> "Waiting":
    # The module is loaded already where something runs.
    from codeplane.surfaces.gateway.connection import Waiting  # noqa: PLC0415

    if context is None:
        return Waiting(lambda *_: None, None)
    return Waiting(context.report_progress, context.ask_client)


def _stamp_of(path: os.PathLike[str]) -> tuple[int, ...]:
    try:
        found = os.stat(path)  # noqa: PTH116 - as in the other places that compare stamps.
    except OSError:
        return ()
    return (found.st_ino, found.st_size, found.st_mtime_ns)


def _state_of(connection: "Connection") -> dict[str, Any]:
    found = connection.found
    return {
        "state": connection.state,
        "error": connection.error,
        "last_words": connection.last_words,
        "tools": list(found.tools) if found is not None else None,
        "problems": list(found.problems) if found is not None else [],
    }
