"""The running server: what it holds, how it starts, what it does meanwhile, how it stops."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import anyio
import anyio.to_thread
import uvicorn
from anyio.abc import TaskGroup, TaskStatus
from filelock import FileLock
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from codeplane.core.clock import iso_from_ms
from codeplane.core.errors import CodePlaneError, ErrorReport
from codeplane.core.logs import fields, get_logger
from codeplane.core.version import API_VERSION, VERSION
from codeplane.ledger.chain import LedgerRow
from codeplane.operations.profiles import profile_for
from codeplane.operations.recovery import recover_interrupted
from codeplane.operations.run import Door
from codeplane.surfaces.mcp.binding import CallRunner, ConnectionName, InFlight, RequestContext, build_server
from codeplane.surfaces.server.facts import ServerFacts, remove_facts, write_facts
from codeplane.surfaces.server.guard import Guard
from codeplane.surfaces.server.http_protocol import http_protocol
from codeplane.surfaces.server.metrics import Metrics
from codeplane.surfaces.server.operator_token import operator_token
from codeplane.surfaces.server.rest import broken, not_found, refused, routes, wrong_method
from codeplane.surfaces.server.unix_socket import bind_unix_socket, serve_unix_socket
from codeplane.workspace.workspace import Workspace

_log = get_logger(__name__)
_MAX_BODY = 16 * 1024 * 1024
_HOUSEKEEPING_SECONDS = 0.25
_KEEPALIVE_SECONDS = 15.0
_EVENT_PAGE = 200


@dataclass(slots=True)
class ServerHost:
    """One server for one working tree.

    Invariant: whoever builds it holds the tree's server lock until `serve` has returned.
    """

    workspace: Workspace
    door: Door
    lock: FileLock
    mode: str
    metrics: Metrics
    facts: ServerFacts
    token: str
    listener: socket.socket
    is_ready: bool = False
    is_stopping: bool = False
    last_error: dict[str, Any] | None = None
    in_flight: InFlight = field(default_factory=InFlight)
    exchanges: InFlight = field(default_factory=InFlight)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _rows_changed: asyncio.Event = field(default_factory=asyncio.Event)
    _limiter: anyio.CapacityLimiter | None = None
    _managers: dict[str, StreamableHTTPSessionManager] = field(default_factory=dict)
    _tasks: TaskGroup | None = None

    @property
    def runner(self) -> CallRunner:
        """Return what runs calls for every surface of this server."""
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self.workspace.settings.server.worker_threads)
        return CallRunner(self.door, self._limiter, self._admit, self.in_flight)

    def _admit(self) -> ErrorReport | None:
        return ErrorReport("SERVER_SHUTTING_DOWN", "The server is stopping.") if self.is_stopping else None

    def request_stop(self) -> None:
        """Begin to stop; called on the event loop."""
        self._stop.set()

    async def serve(self, *, started: Callable[[], None] = lambda: None, http_first: bool = True) -> None:
        """Serve until asked to stop, then finish what is in flight within the grace period.

        `http_first=False` opens the Unix socket before the HTTP side is imported and bound to it, for a quick start.
        """
        http = self._http_server()
        # Before the tasks: a failure here is one clean error, not a group of them.
        local_listener = bind_unix_socket(self.workspace.places)
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            await tasks.start(serve_unix_socket, self, local_listener)
            if not http_first:
                started()
            await self._manager("core")
            tasks.start_soon(self._serve_http, http)
            tasks.start_soon(self._keep_house)
            write_facts(self.workspace.places, self.facts)
            self.is_ready = True
            if http_first:
                started()
            await self._stop.wait()
            await self._wind_down(http)
            tasks.cancel_scope.cancel()

    async def _serve_http(self, http: "_HttpServer") -> None:
        await http.serve(sockets=[self.listener])

    async def _wind_down(self, http: "_HttpServer") -> None:
        """Refuse new calls, tell event streams, give calls in flight the grace period."""
        self.is_ready = False
        self.is_stopping = True
        self._rows_changed.set()
        grace = self.workspace.settings.server.shutdown_grace_seconds
        with anyio.move_on_after(grace):
            await self.in_flight.wait_until_idle()
            await self.exchanges.wait_until_idle()
        if self.in_flight.count:
            _log.warning("calls were cut off at shutdown", extra=fields(calls=self.in_flight.count))
        # A few turns of the loop let the last answers reach the local clients.
        await anyio.sleep(0.05)
        http.should_exit = True
        http.force_exit = True

    async def _keep_house(self) -> None:
        """Feed metrics, commit waiting rows, close idle sessions; four times a second, while there is something."""
        subscription = self.workspace.events.subscribe()
        last_save = self.workspace.clock.monotonic()
        while True:
            await anyio.sleep(_HOUSEKEEPING_SECONDS)
            events = subscription.wait(0)
            for event in events:
                self.metrics.count(event)
                if event.data.get("error") == "INTERNAL_ERROR":
                    self.last_error = {"error": "INTERNAL_ERROR", "operation": event.data["operation"]}
            is_due = self.workspace.clock.monotonic() - last_save > 10
            if events or is_due:
                await anyio.to_thread.run_sync(self._save, is_due)
                last_save = self.workspace.clock.monotonic() if is_due else last_save
                self._rows_changed.set()

    def _save(self, with_sessions: bool) -> None:  # noqa: FBT001 - handed to a worker thread by position.
        try:
            self.workspace.chain.flush()
            if with_sessions:
                self.workspace.sessions.save()
                self.workspace.sessions.sweep()
        except CodePlaneError as error:
            self.last_error = error.report().as_dict()
            _log.warning("rows could not be committed yet", extra=fields(error=error.code, reason=error.message))

    async def rows_from(self, start: int | None) -> AsyncIterator[LedgerRow | None]:
        """Yield rows after `start` (None: from now on) as they are committed; None now and then; ends at shutdown."""
        chain = self.workspace.chain
        last = start if start is not None else await anyio.to_thread.run_sync(chain.last_seq)
        quiet = 0.0
        while True:
            rows = await anyio.to_thread.run_sync(chain.rows_after, last, _EVENT_PAGE)
            for row in rows:
                last = row.seq
                yield row
            if self.is_stopping:
                return
            if rows:
                quiet = 0.0
                continue
            # Rows of other processes do not wake this one, so it also looks once a second.
            self._rows_changed.clear()
            with anyio.move_on_after(1.0):
                await self._rows_changed.wait()
            quiet += 1.0
            if quiet >= _KEEPALIVE_SECONDS:
                quiet = 0.0
                yield None

    def _http_server(self) -> "_HttpServer":
        app = Starlette(
            routes=[Route("/mcp", endpoint=_McpEndpoint(self)), *routes(self)],
            exception_handlers={404: not_found, 405: wrong_method, 500: broken, CodePlaneError: refused},
        )
        root = str(self.workspace.root)
        config = uvicorn.Config(
            Guard(_CountedExchanges(app, self.exchanges), self.facts.port, root),
            http=http_protocol(root),
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        return _HttpServer(config)

    async def _manager(self, profile_name: str) -> StreamableHTTPSessionManager:
        """Return the HTTP side of one profile, starting it on first use."""
        profile = profile_for(profile_name, self.door.operations)
        manager = self._managers.get(profile.name)
        if manager is not None:
            return manager
        if len(self._managers) >= 32 or self._tasks is None:
            raise CodePlaneError("UNKNOWN_PROFILE", "Too many different tool lists are in use.")
        server = build_server(self.runner, profile, "mcp-http", _http_connection)
        idle = self.workspace.settings.sessions.idle_timeout_minutes * 60.0
        manager = StreamableHTTPSessionManager(server, session_idle_timeout=idle, max_request_body_size=_MAX_BODY)
        self._managers[profile.name] = manager
        await self._tasks.start(_keep_running, manager)
        return manager

    async def handle_mcp(self, scope: Scope, receive: Receive, send: Send, profile_name: str) -> None:
        """Pass an HTTP request on to the profile it asks for."""
        manager = await self._manager(profile_name)
        await manager.handle_request(scope, receive, send)

    def status(self) -> dict[str, Any]:
        """Return what `/status` and `cpl status` show."""
        workspace = self.workspace
        return {
            "api_version": API_VERSION,
            "version": VERSION,
            "repo_root": str(workspace.root),
            "repo_id": workspace.repo_id,
            "repo_fingerprint": workspace.fingerprint(),
            "worktree": workspace.repository.worktree_id,
            "pid": self.facts.pid,
            "port": self.facts.port,
            "mode": self.mode,
            "started": iso_from_ms(self.facts.started_ms),
            "ready": self.is_ready,
            "index": {"status": "not available yet", "last_reconcile": None},
            "last_reconcile": None,
            "last_error": self.last_error,
            "calls_in_flight": self.in_flight.count,
            "ledger_rows": workspace.chain.last_seq(),
            "sessions": [
                {
                    "label": session.label,
                    "client": session.client,
                    "opened": iso_from_ms(session.opened_ms),
                    "last_seen": iso_from_ms(session.last_seen_ms),
                    "read_bytes": session.read_bytes,
                }
                for session in workspace.sessions.live()
            ],
        }

    def metrics_text(self) -> bytes:
        """Return the text of `/metrics`."""
        return self.metrics.text(
            sessions=len(self.workspace.sessions.live()),
            in_flight=self.in_flight.count,
            rows=self.workspace.chain.last_seq(),
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
    """The ASGI end of `/mcp`."""

    host: ServerHost

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        profile = query.get("profile", [""])[-1]
        await self.host.handle_mcp(scope, receive, send, profile or self.host.workspace.settings.mcp.profile)


@dataclass(frozen=True, slots=True)
class _CountedExchanges:
    """Counts requests until their last byte is handed over, so that a stopping server can wait for them."""

    app: ASGIApp
    exchanges: InFlight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A client's listening stream at /mcp has no end of its own; nothing is lost by cutting it.
        if scope["type"] != "http" or (scope["path"] == "/mcp" and scope["method"] == "GET"):
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


@dataclass(frozen=True, slots=True)
class HostRequest:
    """How to start a server."""

    workspace: Workspace
    door: Door
    lock: FileLock
    mode: str


def build_host(request: HostRequest) -> ServerHost:
    """Check the repository, bind the port and prepare the server.

    Raises:
        CodePlaneError: GIT_CORRUPT, PORT_UNAVAILABLE or PERMISSION_DENIED; nothing is left running then.
    """
    workspace = request.workspace
    head = workspace.head()
    for problem in workspace.chain.database.problems():
        _log.error("the ledger's file has a problem", extra=fields(problem=problem))
    recovered = recover_interrupted(workspace, request.door.operations)
    profile_for(workspace.settings.mcp.profile, request.door.operations)
    token = operator_token(workspace.places.user.operator_token)
    listener = _listen(workspace.settings.server.port)
    port = int(listener.getsockname()[1])
    facts = ServerFacts(os.getpid(), port, workspace.clock.now_ms(), VERSION, request.mode, workspace.repo_id)
    workspace.record(
        "server_started", {"mode": request.mode, "port": port, "head": head.commit, "recovered_calls": recovered}
    )
    _log.info("server started", extra=fields(port=port, mode=request.mode, head=(head.commit or "unborn")[:12]))
    metrics = Metrics(frozenset(request.door.operations))
    return ServerHost(workspace, request.door, request.lock, request.mode, metrics, facts, token, listener)


def close_host(host: ServerHost) -> None:
    """Write the last row, take the address back and give up the server role."""
    with suppress(CodePlaneError):
        host.workspace.record("server_stopped", {"mode": host.mode})
    remove_facts(host.workspace.places)
    host.listener.close()
    host.workspace.close()
    host.lock.release()
    _log.info("server stopped")


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        message = f"Port {port} on 127.0.0.1 cannot be used: {error.strerror}."
        raise CodePlaneError("PORT_UNAVAILABLE", message, details={"port": port}) from error
    return listener
