"""One upstream: started, listed, called, and started again when it ends."""

# Before anything else that imports the SDK.
import codeplane.surfaces.mcp.sdk_models  # noqa: F401 - it decides how the models of the SDK are made.

# isort: split
import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import httpx2
import mcp_types as types
from mcp import ClientSession
from mcp.client.session import ClientRequestContext
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import CallOptions, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher

from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import fields, get_logger
from codeplane.core.version import VERSION
from codeplane.operations.upstream_tools import MAX_TOOLS, read_documents
from codeplane.surfaces.gateway.answers import cleaned
from codeplane.surfaces.gateway.bounded_http import bounded_client
from codeplane.surfaces.gateway.lines import MAX_LAST_WORDS, MAX_LINE_BYTES, Program, program_streams
from codeplane.surfaces.gateway.resolution import ResolvedUpstream
from codeplane.workspace.gateway_settings import GatewaySettings, UpstreamSettings

_log = get_logger(__name__)
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
# What was up for so long has not failed at its start.
_LONG_ENOUGH: Final = 30.0
_LIST_SECONDS: Final = 0.2
# A server that changes its tools and does not say so is noticed after this time.
_LOOK_SECONDS: Final = 60.0
_LIST_CHANGES: Final = (
    types.ToolListChangedNotification, types.ResourceListChangedNotification, types.PromptListChangedNotification,
)  # fmt: skip
_MAX_PAGES: Final = 50
_HTTP_SECONDS: Final = 30.0

# Puts something that comes during a call to the thread that waits for it.
Tell = Callable[[Callable[["Waiting"], None]], None]


@dataclass(slots=True)
class Waiting:
    """The caller's side of one call, used in the caller's own thread."""

    report_progress: Callable[[float, float | None, str], None]
    ask_client: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None


@dataclass(frozen=True, slots=True)
class Found:
    """What an upstream offers: tools that can be offered, why others cannot, resources, their templates, prompts."""

    tools: tuple[Mapping[str, Any], ...] = ()
    problems: tuple[str, ...] = ()
    resources: tuple[Mapping[str, Any], ...] = ()
    templates: tuple[Mapping[str, Any], ...] = ()
    prompts: tuple[Mapping[str, Any], ...] = ()


@dataclass(slots=True)
class Connection:
    """One upstream. Everything here runs on the gateway's own event loop.

    Invariant: `found` is what the running upstream says; None while it is not up. `changed` is called after each change
    of `state` or `found`.
    """

    name: str
    settings: UpstreamSettings
    limits: GatewaySettings
    resolve: Callable[[], ResolvedUpstream]
    changed: Callable[["Connection"], None]
    state: str = "starting"
    error: str = ""
    last_words: str = ""
    found: Found | None = None
    resolved: ResolvedUpstream | None = None
    n_starts: int = 0
    _dispatcher: "JSONRPCDispatcher[Any] | None" = None
    _version: str = ""
    _settled: asyncio.Event = field(default_factory=asyncio.Event)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _lost: asyncio.Event = field(default_factory=asyncio.Event)
    _stale: asyncio.Event = field(default_factory=asyncio.Event)
    _tells: list[Tell] = field(default_factory=list)

    async def run(self) -> None:
        """Keep it up until cancelled."""
        pause = _FIRST_PAUSE
        while True:
            started = anyio.current_time()
            try:
                await self._serve()
            except Exception as error:  # noqa: BLE001 - a stranger's program must end nothing but its own connection.
                self._down(_reason(error))
            if anyio.current_time() - started > _LONG_ENOUGH:
                pause = _FIRST_PAUSE
            # Whoever calls meanwhile shortens the pause, but not to nothing.
            await asyncio.sleep(_FIRST_PAUSE)
            with anyio.move_on_after(pause - _FIRST_PAUSE):
                await self._wake.wait()
            self._wake.clear()
            pause = min(2 * pause, _LONGEST_PAUSE)
            self._set("starting", self.error)

    async def request(
        self, method: str, params: Mapping[str, Any], seconds: float, tell: Tell | None
    ) -> dict[str, Any]:
        """Send one request and return its result as it came.

        Raises:
            CodePlaneError: UPSTREAM_UNAVAILABLE, UPSTREAM_TIMEOUT or UPSTREAM_FAILED.
        """
        dispatcher = await self._ready()
        options: CallOptions = {"timeout": seconds, "headers": {MCP_PROTOCOL_VERSION_HEADER: self._version}}
        if tell is not None:
            options["on_progress"] = _progress_to(tell, self._clean)
            self._tells.append(tell)
        try:
            return await dispatcher.send_raw_request(method, params, options)
        except MCPError as error:
            raise self._explained(error, seconds) from error
        finally:
            if tell is not None:
                self._tells.remove(tell)

    async def _ready(self) -> "JSONRPCDispatcher[Any]":
        if self.state == "starting":
            with anyio.move_on_after(self.limits.start_timeout_sec):
                await self._settled.wait()
        if self._dispatcher is None:
            # The next try need not wait for the whole pause.
            self._wake.set()
            told = f": {self.error}" if self.error else "."
            raise CodePlaneError(
                "UPSTREAM_UNAVAILABLE", f"The MCP server {self.name} is not up{told}", details={"upstream": self.name}
            )
        return self._dispatcher

    def _explained(self, error: MCPError, seconds: float) -> CodePlaneError:
        details = {"upstream": self.name}
        message = self._clean(error.message)[:1_000]
        if error.code == types.REQUEST_TIMEOUT:
            told = f"The MCP server {self.name} did not answer within {seconds:g} seconds."
            return CodePlaneError("UPSTREAM_TIMEOUT", told, details=details)
        if error.code == types.CONNECTION_CLOSED:
            self._lost.set()
            told = f"The MCP server {self.name} broke off while it worked on this call."
            return CodePlaneError("UPSTREAM_FAILED", told, details=details)
        if self.settings.kind != "stdio" and ("Session terminated" in message or error.code == types.INTERNAL_ERROR):
            # The server behind an address may be another one than a moment ago.
            self._lost.set()
        return CodePlaneError(
            "UPSTREAM_FAILED", f"The MCP server {self.name} refused the call: {message}", details=details
        )

    def _clean(self, text: str) -> str:
        return self.resolved.without_secrets(text) if self.resolved is not None else text

    async def _serve(self) -> None:
        """Connect, list, and stay until it is lost."""
        self.resolved = self.resolve()
        self.n_starts += 1
        self._lost, self._stale = asyncio.Event(), asyncio.Event()
        async with self._streams(self.resolved) as (reader, writer, program):
            dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(reader, writer)
            session = ClientSession(
                dispatcher=dispatcher,
                client_info=types.Implementation(name="codeplane", version=VERSION),
                elicitation_callback=self._elicit,
                message_handler=self._on_message,
            )
            async with session:
                try:
                    await self._stay(session, dispatcher, program)
                finally:
                    self._dispatcher = None
                    if program is not None:
                        # Cut after secrets were taken out: half of one would not be known.
                        self.last_words = self._clean(program.last_words)[-MAX_LAST_WORDS:]

    async def _stay(
        self, session: ClientSession, dispatcher: "JSONRPCDispatcher[Any]", program: Program | None
    ) -> None:
        ended = program.ended if program is not None else asyncio.Event()
        try:
            async with asyncio.timeout(self.limits.start_timeout_sec):
                greeting = await session.initialize()
                self._version = str(session.protocol_version)
                found = await self._listed(dispatcher, greeting.capabilities)
        except TimeoutError:
            raise CodePlaneError(
                "UPSTREAM_TIMEOUT", f"it was not ready within {self.limits.start_timeout_sec:g} seconds"
            ) from None
        except MCPError as error:
            how = f"it {program.how_it_ended}" if program is not None and program.ended.is_set() else error.message
            raise CodePlaneError("UPSTREAM_FAILED", self._clean(how)[:500]) from error
        self._dispatcher, self.found = dispatcher, found
        self._set("up")
        while not (ended.is_set() or self._lost.is_set()):
            with anyio.move_on_after(_LOOK_SECONDS):
                await _first_of(ended, self._lost, self._stale)
            if not (ended.is_set() or self._lost.is_set()):
                await self._look_again(dispatcher, greeting.capabilities)
        raise CodePlaneError("UPSTREAM_FAILED", f"it {program.how_it_ended}" if program is not None else "it was lost")

    async def _look_again(self, dispatcher: "JSONRPCDispatcher[Any]", offered: types.ServerCapabilities) -> None:
        """List again what the upstream has: it says that it changed, or has not been asked for long."""
        if self._stale.is_set():
            # One that says so all the time is asked now and then.
            await asyncio.sleep(_LIST_SECONDS)
            self._stale.clear()
        try:
            found = await self._listed(dispatcher, offered)
        except MCPError:
            # Its calls will tell whether it still answers.
            return
        if found != self.found:
            self.found = found
            self._set("up")

    @asynccontextmanager
    async def _streams(self, upstream: ResolvedUpstream) -> AsyncIterator[tuple[Any, Any, Program | None]]:
        if self.settings.kind == "stdio":
            async with program_streams(upstream) as (reader, writer, program):
                yield reader, writer, program
        elif self.settings.kind == "sse":
            async with sse_client(upstream.url, dict(upstream.headers), httpx_client_factory=_sse_client) as streams:
                yield *streams, None
        else:
            patience = httpx2.Timeout(_HTTP_SECONDS, read=self.limits.call_timeout_sec)
            async with (
                bounded_client(upstream.headers, patience, MAX_LINE_BYTES) as client,
                streamable_http_client(upstream.url, http_client=client, max_sse_event_size=MAX_LINE_BYTES) as (
                    reader,
                    writer,
                ),
            ):
                yield reader, writer, None

    async def _listed(self, dispatcher: "JSONRPCDispatcher[Any]", offered: types.ServerCapabilities) -> Found:
        """Ask for everything that the upstream says it has."""
        tools = await self._pages(dispatcher, "tools/list", "tools") if offered.tools is not None else []
        more: dict[str, list[Any]] = {"resources": [], "resourceTemplates": [], "prompts": []}
        lists = (
            (offered.resources, "resources/list", "resources"),
            (offered.resources, "resources/templates/list", "resourceTemplates"),
            (offered.prompts, "prompts/list", "prompts"),
        )
        for capability, method, key in lists:
            if capability is not None:
                with suppress(MCPError):
                    more[key] = await self._pages(dispatcher, method, key)
        documents, problems = await asyncio.to_thread(read_documents, tools)
        return Found(tuple(documents), tuple(problems), *(tuple(_objects(one)) for one in more.values()))

    async def _pages(self, dispatcher: "JSONRPCDispatcher[Any]", method: str, key: str) -> list[Any]:
        found: list[Any] = []
        cursor: object = None
        for _ in range(_MAX_PAGES):
            options: CallOptions = {
                "timeout": self.limits.start_timeout_sec, "headers": {MCP_PROTOCOL_VERSION_HEADER: self._version},
            }  # fmt: skip
            page = await dispatcher.send_raw_request(method, {"cursor": cursor} if cursor else {}, options)
            items = page.get(key)
            found += cleaned(items, self._clean) if isinstance(items, list) else []
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or not cursor or len(found) > MAX_TOOLS:
                break
        return found

    async def _on_message(self, message: object) -> None:
        if isinstance(message, _LIST_CHANGES):
            self._stale.set()

    async def _elicit(
        self,
        context: ClientRequestContext,  # noqa: ARG002 - the name is part of the SDK's protocol.
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult | types.ErrorData:
        """Pass a question on to the one caller that waits; with several nobody can tell whose it is."""
        if len(self._tells) != 1:
            return types.ErrorData(code=types.INVALID_REQUEST, message="It cannot be told which call asks.")
        answered: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        question = cleaned(params.model_dump(by_alias=True, mode="json", exclude_none=True), self._clean)
        self._tells[0](_question(question, answered))
        try:
            return types.ElicitResult.model_validate(await answered, by_name=False)
        except CodePlaneError as error:
            return types.ErrorData(code=types.INVALID_REQUEST, message=error.message)

    def _down(self, reason: str) -> None:
        self._dispatcher, self.found = None, None
        _log.warning("an upstream is down", extra=fields(upstream=self.name, reason=self._clean(reason)))
        self._set("down", self._clean(reason))

    def _set(self, state: str, error: str = "") -> None:
        self.state, self.error = state, error
        if state == "starting":
            self._settled.clear()
        else:
            self._settled.set()
        self.changed(self)


def _question(question: Mapping[str, Any], answered: "asyncio.Future[Mapping[str, Any]]") -> Callable[[Waiting], None]:
    """Return what the caller's thread does with a question: it asks the client and hands the answer back."""
    loop = answered.get_loop()

    def settle(result: Mapping[str, Any] | None, error: CodePlaneError | None) -> None:
        if answered.done():
            return
        if error is not None:
            answered.set_exception(error)
        else:
            answered.set_result(result or {"action": "cancel"})

    def ask(waiting: Waiting) -> None:
        result, error = None, None
        if waiting.ask_client is None:
            error = CodePlaneError("UPSTREAM_FAILED", "The client cannot be asked.")
        else:
            try:
                result = waiting.ask_client(question)
            except CodePlaneError as problem:
                error = problem
        loop.call_soon_threadsafe(settle, result, error)

    return ask


def _progress_to(tell: Tell, clean: Callable[[str], str]) -> ProgressFnT:
    """Return what passes progress on to the thread that waits."""

    async def report(progress: float, total: float | None, message: str | None) -> None:
        told = clean(message or "")[:500]
        tell(lambda waiting: waiting.report_progress(progress, total, told))

    return report


def _sse_client(
    headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
) -> httpx2.AsyncClient:
    del auth
    return bounded_client(headers or {}, timeout or httpx2.Timeout(_HTTP_SECONDS), MAX_LINE_BYTES)


def _objects(items: Sequence[Any]) -> list[Mapping[str, Any]]:
    return [one for one in items if isinstance(one, dict)]


async def _first_of(*events: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(one.wait()) for one in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


def _reason(error: BaseException) -> str:
    """Return the innermost reason of a failure in words."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, CodePlaneError):
        return error.message
    return f"{type(error).__name__}: {str(error)[:300]}"
