"""The HTTP side of a server: MCP at `/mcp` and `/`, the REST addresses, metrics."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import anyio
import anyio.to_thread
import uvicorn
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from codeplane.core.errors import CodePlaneError
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.profiles import profile_for
from codeplane.surfaces.mcp.binding import ConnectionName, InFlight, RequestContext, build_server
from codeplane.surfaces.server.guard import Guard
from codeplane.surfaces.server.http_protocol import http_protocol
from codeplane.surfaces.server.metrics import Metrics, task_gauges
from codeplane.surfaces.server.rest import broken, not_found, refused, routes, wrong_method

if TYPE_CHECKING:
    from prometheus_client import Metric

    from codeplane.surfaces.server.host import ServerHost

_MCP_PATHS = ("/mcp", "/")
_DASHBOARD_PATHS = ("/dashboard", "/dashboard/{rest:path}")
_MAX_BODY = 16 * 1024 * 1024
# Each keeps about 40 kB until it is closed or idle for too long.
_MAX_SESSIONS = 1000


class HttpSide:
    """What a server offers over HTTP.

    Invariant: the listener was bound by the host, so the address is known before the first request.
    """

    def __init__(self, host: "ServerHost") -> None:
        self._host = host
        self.metrics = Metrics(frozenset(OPERATIONS))
        self._managers: dict[str, StreamableHTTPSessionManager] = {}
        self._tasks: TaskGroup | None = None
        self._server = self._http_server()

    async def serve(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Answer requests until stopped or cancelled."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            await self._manager("core")
            task_status.started()
            await self._server.serve(sockets=list(self._host.listeners))
            tasks.cancel_scope.cancel()

    def stop(self) -> None:
        """End without waiting for connections that stay open."""
        self._server.should_exit = True
        self._server.force_exit = True

    def _http_server(self) -> "_HttpServer":
        dashboard = _LazyDashboard(self._host)
        app = Starlette(
            routes=[
                *(Route(path, endpoint=_McpEndpoint(self)) for path in _MCP_PATHS),
                *routes(self._host, self.metrics_text),
                *(Route(path, endpoint=dashboard) for path in _DASHBOARD_PATHS),
            ],
            exception_handlers={404: not_found, 405: wrong_method, 500: broken, CodePlaneError: refused},
        )
        root = str(self._host.workspace.root)
        config = uvicorn.Config(
            Guard(_CountedExchanges(app, self._host.exchanges), self._host.ports, root, self._host.access),
            http=http_protocol(root, self._host.access),
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        return _HttpServer(config)

    async def _manager(self, profile_name: str) -> StreamableHTTPSessionManager:
        """Return the HTTP side of one profile, starting it on first use."""
        profile = profile_for(profile_name, self._host.door.operations)
        manager = self._managers.get(profile.name)
        if manager is not None:
            return manager
        if len(self._managers) >= 32 or self._tasks is None:
            raise CodePlaneError("UNKNOWN_PROFILE", "Too many different tool lists are in use.")
        server = build_server(self._host.runner, profile, "mcp-http", _http_connection, self._host.bindings.session_of)
        idle = self._host.workspace.settings.sessions.idle_timeout_minutes * 60.0
        manager = StreamableHTTPSessionManager(
            server, session_idle_timeout=idle, max_request_body_size=_MAX_BODY, max_sessions=_MAX_SESSIONS
        )
        self._managers[profile.name] = manager
        await self._tasks.start(_keep_running, manager)
        return manager

    async def handle_mcp(self, scope: Scope, receive: Receive, send: Send, profile_name: str) -> None:
        """Pass an HTTP request on to the profile it asks for."""
        self._host.bindings.is_used_over_http = True
        manager = await self._manager(profile_name or self._host.workspace.settings.mcp.profile)
        await manager.handle_request(scope, receive, send)

    def metrics_text(self) -> bytes:
        """Return the text of `/metrics`."""
        with self.metrics.lock:
            self._set_gauges()
            return self.metrics.text()

    def metric_families(self) -> "tuple[Metric, ...]":
        """Return what `/metrics` shows as data."""
        with self.metrics.lock:
            self._set_gauges()
            return self.metrics.families()

    def health(self) -> dict[str, Any]:
        """Return the index by language, how long comparisons took, and what the process uses."""
        workspace = self._host.workspace
        with self.metrics.lock:
            self.metrics.observe_index(workspace.reconcile_durations(), {})
            languages = {
                name: {"files": files, "files_with_symbols": symbols, "files_linked": linked, "size_bytes": size}
                for name, (files, symbols, linked, size) in workspace.language_gauges().items()
            }
            return {"languages": languages, "gauges": workspace.index_gauges(), **self.metrics.health()}

    def _set_gauges(self) -> None:
        workspace = self._host.workspace
        self.metrics.observe_index(workspace.reconcile_durations(), workspace.language_gauges())
        self.metrics.set_gauges(
            sessions=len(workspace.sessions.live()),
            in_flight=self._host.in_flight.count,
            rows=workspace.chain.last_seq(),
            index=workspace.index_gauges(),
            tasks=task_gauges(workspace),
        )


async def _keep_running(
    manager: StreamableHTTPSessionManager, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    async with manager.run():
        task_status.started()
        await anyio.sleep_forever()


def _http_connection(context: RequestContext) -> ConnectionName:
    """Name the HTTP client's connection: its protocol session, else its TCP connection.

    Newer protocol versions have no session. Two agents must never share one of ours by accident, so a client that
    opens a new connection gets a new session unless it sends the session_id it was given.
    """
    request = context.request
    if request is None:
        return ConnectionName(f"http:{context.session.protocol_version}:unknown")
    session_id = request.headers.get("mcp-session-id")
    if session_id:
        return ConnectionName(f"http:{session_id}")
    return ConnectionName(f"http:{request.client.host}:{request.client.port}" if request.client else "http:unknown")


@dataclass(frozen=True, slots=True)
class _McpEndpoint:
    """The ASGI end of MCP."""

    http: HttpSide

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        profile = query.get("profile", [""])[-1]
        await self.http.handle_mcp(scope, receive, send, profile)


@dataclass(slots=True)
class _LazyDashboard:
    """The ASGI end of the dashboard, imported at the first visit."""

    host: "ServerHost"
    app: ASGIApp | None = None
    lock: anyio.Lock = field(default_factory=anyio.Lock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self.lock:
            if self.app is None:
                self.app = await anyio.to_thread.run_sync(_dashboard, self.host)
        # What this address matched is nothing that a page asks for.
        await self.app({**scope, "path_params": {}}, receive, send)


def _dashboard(host: "ServerHost") -> ASGIApp:
    # 60 ms and 4 MB that a server nobody looks at need not spend.
    from codeplane.surfaces.dashboard.pages import dashboard_app  # noqa: PLC0415

    return dashboard_app(host)


@dataclass(frozen=True, slots=True)
class _CountedExchanges:
    """Counts requests until their last byte is handed over, so that a stopping server can wait for them."""

    app: ASGIApp
    exchanges: InFlight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A client's listening MCP stream has no end of its own; nothing is lost by cutting it.
        if scope["type"] != "http" or (scope["path"] in _MCP_PATHS and scope["method"] == "GET"):
            await self.app(scope, receive, send)
            return
        with self.exchanges:
            await self.app(scope, receive, send)


class _HttpServer(uvicorn.Server):
    """uvicorn without its signal handlers: the process that hosts the server decides when to stop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield
