"""Bind a profile of operations to the protocol SDK."""

# Before anything else that imports the SDK.
import codeplane.surfaces.mcp.sdk_models  # noqa: F401 - it decides how the models of the SDK are made.

# isort: split
import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar
from urllib.parse import unquote

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import BaseModel, ValidationError

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.errors import CodePlaneError, ErrorReport
from codeplane.core.version import VERSION
from codeplane.operations.answer import RESOURCE_PREFIX, Answer
from codeplane.operations.call_record import CallControls
from codeplane.operations.dispatch import dispatch, nearest_names
from codeplane.operations.perform import Door, reject
from codeplane.operations.profiles import Profile, upstream_tools
from codeplane.operations.tool_list import CALL, CLASSIC, CORE, FOREIGN_MARK, FULL, foreign_names
from codeplane.surfaces.gateway.holder import OfferedBesides
from codeplane.surfaces.mcp.first_answers import SERVER_NAME, SERVER_TITLE, instructions_for

META_KEY = "codeplane/meta"
UPSTREAM_PREFIX = "codeplane://upstream/"
ERROR_KEY = "codeplane/error"
# The same is told so often at most: a client needs no more, and telling it of every file took a third of reading them.
_PROGRESS_SECONDS = 0.1
# So many calls of one upstream wait for it at once.
_CALLS_OF_UPSTREAM = 16
_HAS_LEFT = (anyio.ClosedResourceError, anyio.BrokenResourceError)
_MAX_UPSTREAMS = 200
_MAX_TOLD = 200
_TELL_SECONDS = 1.0
# So long a person may think about a question of an upstream.
_ASK_SECONDS = 600.0

RequestContext = ServerRequestContext[Any, Any]
ProgressReporter = Callable[[float, float | None, str | None], Coroutine[Any, Any, None]]
ClientQuestion = Callable[[Mapping[str, Any]], Coroutine[Any, Any, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class ConnectionName:
    """What a connection is called, and whether that name is unguessable and outlives this server."""

    text: str
    is_lasting: bool = False


class Upstreams:
    """What bindings share about upstreams: whose turn calls wait for, what else upstreams offer, who listed tools.

    Invariant: used on the event loop's thread only.
    """

    def __init__(self, offered: Callable[[], OfferedBesides] = OfferedBesides) -> None:
        self.limiters: dict[str, anyio.CapacityLimiter] = {}
        self.offered = offered
        self._clients: dict[str, ServerSession] = {}

    def listed(self, connection: str, session: ServerSession) -> None:
        """Note that a client knows a list of tools; it is told when the list changes."""
        self._clients.pop(connection, None)
        self._clients[connection] = session
        while len(self._clients) > _MAX_TOLD:
            del self._clients[next(iter(self._clients))]

    async def tell_changed(self) -> None:
        """Tell every client that knows a list of tools that it is another one now."""
        await asyncio.gather(*(self._tell(connection) for connection in list(self._clients)))

    async def _tell(self, connection: str) -> None:
        try:
            with anyio.move_on_after(_TELL_SECONDS):
                await self._clients[connection].send_tool_list_changed()
        except (MCPError, RuntimeError, *_HAS_LEFT):
            # It has left.
            self._clients.pop(connection, None)


@dataclass(frozen=True, slots=True)
class CallRunner:
    """Runs door calls in worker threads and counts them, so that a stopping server can wait for them."""

    door: Door
    limiter: anyio.CapacityLimiter
    admit: Callable[[], ErrorReport | None]
    in_flight: "InFlight"
    upstreams: Upstreams = field(default_factory=Upstreams)

    async def run(
        self,
        name: str,
        arguments: dict[str, Any],
        caller: Caller,
        progress: ProgressReporter | None,
        ask: ClientQuestion | None = None,
    ) -> Answer | ErrorReport:
        """Run one call; a refusal to take calls at all comes back as an error report.

        `ask` puts a question of an upstream to the client.
        """
        refusal = self.admit()
        if refusal is not None:
            return refusal
        cancelled = threading.Event()
        asking = partial(_ask_from_thread, ask) if ask is not None else None
        controls = CallControls(_progress_from_thread(progress, cancelled), cancelled.is_set, ask_client=asking)
        work = partial(dispatch, self.door, name, arguments, caller, controls)
        with self.in_flight:
            with anyio.CancelScope() as scope:
                self.in_flight.scopes.add(scope)
                try:
                    limiter = self._limiter_for(name, arguments)
                    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)
                except anyio.get_cancelled_exc_class():
                    # The thread goes on until it looks; what it has begun, it ends and records.
                    cancelled.set()
                    raise
                finally:
                    self.in_flight.scopes.discard(scope)
            return await anyio.to_thread.run_sync(self._cut_off, name, arguments, caller)

    def _limiter_for(self, name: str, arguments: Mapping[str, Any]) -> anyio.CapacityLimiter:
        """Return whose turn a call waits for: one upstream that hangs delays neither our calls nor those of others."""
        inner = arguments.get("operation") or arguments.get("name") if name == CALL else name
        server, mark, _tool = (inner if isinstance(inner, str) else name).partition(FOREIGN_MARK)
        known = self.upstreams.limiters
        if not mark or (server not in known and len(known) >= _MAX_UPSTREAMS):
            return self.limiter
        return known.setdefault(server, anyio.CapacityLimiter(_CALLS_OF_UPSTREAM))

    def _cut_off(self, name: str, arguments: dict[str, Any], caller: Caller) -> Answer | ErrorReport:
        """Answer a call that the grace period of a stopping server has not been long enough for.

        A change has a row already, which the next server completes with what really happened.
        """
        inner = arguments.get("operation") if name == CALL else name
        operation = self.door.operations.get(inner if isinstance(inner, str) else name)
        if operation is not None and operation.effect.mutates:
            action = "Look at the files first to see whether the change happened."
            return ErrorReport("SERVER_SHUTTING_DOWN", "The server stopped before the call ended.", action)
        report = ErrorReport("SERVER_SHUTTING_DOWN", "The server stopped before the call ended.")
        return reject(self.door.workspace, name, caller, report, ())


class InFlight:
    """How many calls are being worked on.

    Invariant: `count` changes only on the event loop's thread.
    """

    def __init__(self) -> None:
        self.count = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()
        self.scopes: set[anyio.CancelScope] = set()

    def cut_off(self) -> None:
        """End the wait for every call that is being worked on."""
        for scope in tuple(self.scopes):
            scope.cancel()

    async def wait_until_idle(self) -> None:
        """Return when no call is being worked on."""
        await self._is_idle.wait()

    def __enter__(self) -> None:
        """Count one more."""
        self.count += 1
        self._is_idle.clear()

    def __exit__(self, *_: object) -> None:
        """Count one less."""
        self.count -= 1
        if not self.count:
            self._is_idle.set()


def _ask_from_thread(ask: ClientQuestion, question: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put a question to the client and wait for the answer.

    Raises:
        CodePlaneError: UPSTREAM_FAILED when it cannot be asked.
    """
    try:
        return anyio.from_thread.run(ask, question)
    except (MCPError, RuntimeError, ValidationError, TimeoutError, *_HAS_LEFT) as error:
        raise CodePlaneError("UPSTREAM_FAILED", "The client cannot be asked.") from error


def _progress_from_thread(
    progress: ProgressReporter | None, cancelled: threading.Event
) -> Callable[[float, float | None, str], None]:
    told, told_at = "", 0.0

    def report(done: float, total: float | None, message: str) -> None:
        nonlocal told, told_at
        if progress is None or cancelled.is_set():
            return
        now = time.monotonic()
        if message == told and done != total and now - told_at < _PROGRESS_SECONDS:
            return
        told, told_at = message, now
        try:
            anyio.from_thread.run(progress, done, total, message)
        except (RuntimeError, anyio.ClosedResourceError, anyio.BrokenResourceError):
            # The client left while the work goes on.
            cancelled.set()

    return report


# Returns the agent's session that a call belongs to, by connection, tool, arguments and what came with the call.
SessionOf = Callable[[str, str, Mapping[str, Any], Mapping[str, Any]], str | None]


def build_server(
    runner: CallRunner,
    profile: Profile,
    surface: str,
    connection: Callable[[RequestContext], ConnectionName],
    session_of: SessionOf = lambda *_: None,
) -> Server[Any]:
    """Return an SDK server that offers the profile's tools; `connection` names the caller's connection.

    Where hooks have told of a call, it is made in the session of the agent behind them.
    """
    binding = _Binding(runner, profile, surface, connection, session_of)
    server: Server[Any] = _Server(
        SERVER_NAME,
        version=VERSION,
        title=SERVER_TITLE,
        instructions=instructions_for(profile.name),
        get_tool_input_schema=lambda _name: None,
        on_list_tools=binding.list_tools,
        on_call_tool=binding.call_tool,
        on_list_resources=binding.list_resources,
        on_list_resource_templates=binding.list_resource_templates,
        on_read_resource=binding.read_resource,
        on_list_prompts=binding.list_prompts,
        on_get_prompt=binding.get_prompt,
    )
    server.middleware.append(_with_registry_errors)
    return server


class _Server(Server[Any]):
    """A server that says that its list of tools may change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Return what a client is told at the start."""
        told = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(told, experimental_capabilities, extensions)


async def _with_registry_errors(ctx: RequestContext, call_next: CallNext) -> HandlerResult:
    """Give faults of the protocol an error object too; wrong arguments of a tool call reach the model."""
    try:
        return await call_next(ctx)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        report = ErrorReport("INVALID_ARGUMENTS", f"{ctx.method}: `{where}`: {first['msg']}.", _CALL_SHAPE)
        if ctx.method == "tools/call":
            return _error_result(report)
        raise MCPError(types.INVALID_PARAMS, report.message, report.as_dict()) from error
    except MCPError as error:
        if isinstance(error.data, dict):
            raise
        report = ErrorReport("INVALID_FORMAT", f"{ctx.method}: {error.message}", _CALL_SHAPE)
        raise MCPError(error.code, error.message, report.as_dict()) from error


_CALL_SHAPE = 'A tool call: {"method": "tools/call", "params": {"name": "describe", "arguments": {}}}'


@dataclass(frozen=True, slots=True)
class _Binding:
    runner: CallRunner
    profile: Profile
    surface: str
    connection: Callable[[RequestContext], ConnectionName]
    session_of: SessionOf

    async def list_tools(
        self, context: RequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        self.runner.upstreams.listed(self.connection(context).text, context.session)
        # What a setting switches off, or a rule denies whatever the arguments, is not offered; the door refuses it.
        tools, hidden = await anyio.to_thread.run_sync(self._offered)
        offered = [tool for tool in tools if tool["name"] not in hidden]
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in offered])

    def _offered(self) -> tuple[list[Any], frozenset[str]]:
        door = self.runner.door
        foreign = upstream_tools(self.profile, door.operations, door.workspace.settings.gateway.in_core)
        tools = [*self.profile.tools, *foreign]
        return tools, self._never_offered(tuple(tool["name"] for tool in tools))

    def _never_offered(self, names: tuple[str, ...]) -> frozenset[str]:
        workspace = self.runner.door.workspace
        off = {name for name in names if name.startswith(workspace.switched_off)}
        return workspace.gate.rules().never_offered(names) | off

    async def call_tool(self, context: RequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        if not self._is_offered(params.name):
            message = f"The tool `{params.name[:80]}` is not in this client's tool list."
            near = ", ".join(nearest_names(params.name, self.profile.names))
            if self.profile.plain:
                raise MCPError(types.INVALID_PARAMS, f"{message} There is only {near}.")
            return _error_result(ErrorReport("UNKNOWN_OPERATION", message, f"Nearest: {near}."))
        answer = await self.runner.run(
            params.name,
            dict(params.arguments or {}),
            self._caller_of(context, params),
            context.session.report_progress,
            partial(_ask_client, context),
        )
        if self.profile.plain:
            return turn_result(answer, dict(params.arguments or {}))
        if isinstance(answer, ErrorReport):
            return _error_result(answer)
        content = getattr(answer.result, "content", None)
        if isinstance(content, list):
            return upstream_result(answer, content)
        return compact_result(answer) if self.profile.compact else envelope_result(answer)

    def _is_offered(self, name: str) -> bool:
        # core and full reach everything anyway; an explicit list means exactly that list.
        if self.profile.name in {CORE, CLASSIC, FULL}:
            return True
        return name in self.profile.names or name in foreign_names(self.profile.name)

    def _caller_of(self, context: RequestContext, params: types.CallToolRequestParams) -> Caller:
        """Return the caller of a tool: the agent's session where its hooks have told of this call."""
        caller = self._caller(context)
        session = self.session_of(caller.connection, params.name, params.arguments or {}, dict(params.meta or {}))
        if session is None:
            return caller
        self.runner.door.workspace.adopt_session(caller.connection, session)
        return replace(caller, connection=session, is_lasting=True)

    def _caller(self, context: RequestContext) -> Caller:
        client = context.session.client_params.client_info if context.session.client_params else None
        name = f"{client.name}/{client.version}" if client else "unknown"
        connection = self.connection(context)
        return Caller(CallerKind.AGENT, self.surface, connection.text, name[:120], is_lasting=connection.is_lasting)

    async def list_resources(
        self, _context: RequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        offered = await anyio.to_thread.run_sync(self.runner.upstreams.offered)
        return types.ListResourcesResult(resources=_valid(types.Resource, offered.resources))

    async def list_resource_templates(
        self, _context: RequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            name="file",
            uri_template=f"{RESOURCE_PREFIX}{{+path}}",
            description="A text file of the repository.",
            mime_type="text/plain",
        )
        offered = await anyio.to_thread.run_sync(self.runner.upstreams.offered)
        return types.ListResourceTemplatesResult(
            resource_templates=[template, *_valid(types.ResourceTemplate, offered.templates)]
        )

    async def list_prompts(
        self, _context: RequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        offered = await anyio.to_thread.run_sync(self.runner.upstreams.offered)
        return types.ListPromptsResult(prompts=_valid(types.Prompt, offered.prompts))

    async def get_prompt(self, context: RequestContext, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        server_name = params.name.partition(FOREIGN_MARK)[0]
        arguments = {"name": params.name, "arguments": dict(params.arguments or {})}
        blocks = await self._by_method(context, server_name, "prompts/get", arguments)
        messages = [one["message"] for one in blocks if isinstance(one.get("message"), dict)]
        return types.GetPromptResult.model_validate({"messages": messages}, by_name=False)

    async def _read_of_upstream(self, context: RequestContext, uri: str) -> types.ReadResourceResult:
        # 30 ms that only servers with upstreams need.
        from codeplane.operations.upstream_tools import resource_of  # noqa: PLC0415

        server_name, own_uri = resource_of(uri)
        blocks = await self._by_method(context, server_name, "resources/read", {"uri": own_uri})
        contents = [{**one["resource"], "uri": uri} for one in blocks if isinstance(one.get("resource"), dict)]
        return types.ReadResourceResult.model_validate({"contents": contents}, by_name=False)

    async def _by_method(
        self, context: RequestContext, server_name: str, method: str, arguments: dict[str, Any]
    ) -> list[Any]:
        """Carry out a method of an upstream and return the blocks of its answer."""
        # As above.
        from codeplane.operations.upstream_tools import method_of  # noqa: PLC0415

        name = await anyio.to_thread.run_sync(method_of, self.runner.door.operations, server_name, method)
        if name is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no upstream {server_name[:80]}.")
        answer = await self.runner.run(name, arguments, self._caller(context), None)
        report = answer if isinstance(answer, ErrorReport) else answer.error
        if report is not None:
            raise MCPError(types.INVALID_PARAMS, report.message, report.as_dict())
        return list(getattr(answer.result, "content", [])) if isinstance(answer, Answer) else []

    async def read_resource(
        self, context: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        if uri.startswith(UPSTREAM_PREFIX):
            return await self._read_of_upstream(context, uri)
        if not uri.startswith(RESOURCE_PREFIX):
            raise MCPError(types.INVALID_PARAMS, f"There is no resource {uri[:200]}.")
        arguments = {"path": unquote(uri.removeprefix(RESOURCE_PREFIX)), "confirm": True, "inline": True}
        answer = await self.runner.run("read_file_full", arguments, self._caller(context), None)
        report = answer if isinstance(answer, ErrorReport) else answer.error
        if report is not None:
            raise MCPError(types.INVALID_PARAMS, report.message, report.as_dict())
        content = getattr(answer.result, "content", "") if isinstance(answer, Answer) else ""
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type="text/plain", text=content or "")]
        )


async def _ask_client(context: RequestContext, question: Mapping[str, Any]) -> Mapping[str, Any]:
    """Ask the client what an upstream asks."""
    params = types.ElicitRequest.model_validate(
        {"method": "elicitation/create", "params": dict(question)}, by_name=False
    )
    with anyio.fail_after(_ASK_SECONDS):
        found = await context.session.send_request(
            params, types.ElicitResult, metadata=ServerMessageMetadata(related_request_id=context.request_id)
        )
    return found.model_dump(by_alias=True, mode="json", exclude_none=True)


ModelT = TypeVar("ModelT", bound=BaseModel)


def _valid(model: type[ModelT], documents: list[Any]) -> list[ModelT]:
    """Return what can be read of what strangers list."""
    found = []
    for one in documents:
        try:
            found.append(model.model_validate(one, by_name=False))
        except ValidationError:
            continue
    return found


def compact_result(answer: Answer) -> types.CallToolResult:
    """Return short text for the model; everything else travels in `_meta`."""
    meta: dict[str, Any] = {META_KEY: answer.meta.as_dict()}
    if answer.error is not None:
        meta[ERROR_KEY] = answer.error.as_dict()
    return types.CallToolResult(
        content=[types.TextContent(text=answer.text()), *_links(answer)], is_error=answer.is_error, meta=meta
    )


def upstream_result(answer: Answer, content: list[Any]) -> types.CallToolResult:
    """Return what an upstream answered as it came; what we have to add follows in a block of its own."""
    # Loaded already where there is such an answer.
    from codeplane.operations.upstream_tools import UpstreamResult, file_lines  # noqa: PLC0415

    result = answer.result
    added = [f"Note: {one}" for one in answer.meta.warnings]
    if isinstance(result, UpstreamResult):
        added = [*file_lines(result), *added]
    document: dict[str, Any] = {
        "content": [*content, *({"type": "text", "text": "\n".join(added)} for _ in added[:1])],
        "isError": bool(getattr(result, "is_error", False)),
        "_meta": {META_KEY: answer.meta.as_dict()},
    }
    structured = getattr(result, "structured", None)
    if structured is not None:
        document["structuredContent"] = structured
    try:
        return types.CallToolResult.model_validate(document, by_name=False)
    except ValidationError:
        # Blocks that no version of the protocol knows: their text is what can be passed on.
        return types.CallToolResult(content=[types.TextContent(text=answer.text())], is_error=document["isError"])


def envelope_result(answer: Answer) -> types.CallToolResult:
    """Return the envelope, as structured content and as the same JSON in text."""
    return types.CallToolResult(
        content=[types.TextContent(text=answer.envelope_text()), *_links(answer)],
        structured_content=answer.envelope(),
        is_error=answer.is_error,
    )


def turn_result(answer: Answer | ErrorReport, arguments: dict[str, Any]) -> types.CallToolResult:
    """Return a turn of the controller; one that did not get that far is a complete answer, too."""
    # 150 ms that only profile `controller` needs.
    from codeplane.controller.plan import canonical_json  # noqa: PLC0415
    from codeplane.controller.response import TurnResponse, boot_failure  # noqa: PLC0415

    report = answer if isinstance(answer, ErrorReport) else answer.error
    result = answer.result if isinstance(answer, Answer) else None
    if report is None and isinstance(result, TurnResponse):
        document, is_error = result.as_json(), result.is_error
    else:
        cause = f"{report.message} {report.required_action or ''}".strip() if report is not None else "No answer."
        document, is_error = boot_failure(arguments, cause), True
    text = canonical_json(document).decode("utf-8", "replace")
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=document, is_error=is_error)


def _links(answer: Answer) -> list[types.ResourceLink]:
    return [
        types.ResourceLink(name=link.name, uri=link.uri, mime_type=link.mime_type, size=link.size)
        for link in answer.resource_links
    ]


def _error_result(report: ErrorReport) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(text=report.as_text())], is_error=True, meta={ERROR_KEY: report.as_dict()}
    )
