"""The running server: what it holds, how it starts, what it does meanwhile, how it stops."""

import asyncio
import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from filelock import FileLock

from codeplane.core.clock import iso_from_ms
from codeplane.core.errors import CodePlaneError, ErrorReport
from codeplane.core.logs import fields, get_logger
from codeplane.core.version import API_VERSION, VERSION
from codeplane.operations.catalog import OPERATIONS, Catalog, OfferedTools
from codeplane.operations.perform import Door
from codeplane.operations.profiles import profile_for
from codeplane.operations.recorded_calls import newest_rows, rows_after
from codeplane.operations.recovery import recover_interrupted
from codeplane.surfaces.agent_hooks.bindings import Bindings
from codeplane.surfaces.gateway.holder import GatewayHolder
from codeplane.surfaces.mcp.binding import CallRunner, InFlight, Upstreams
from codeplane.surfaces.server.access import Access
from codeplane.surfaces.server.facts import ServerFacts, remove_facts, write_facts
from codeplane.surfaces.server.operator_token import kept_secret, operator_token, token_in_force
from codeplane.surfaces.server.unix_socket import bind_unix_socket, serve_unix_socket
from codeplane.workspace.workspace import Workspace, prepare_private

if TYPE_CHECKING:
    from codeplane.surfaces.agent_hooks.hook_server import HookServer
    from codeplane.surfaces.server.http_side import HttpSide
    from codeplane.surfaces.server.telemetry import TelemetrySender

# A second port of the same server, for tools that expect one at a fixed place.
_MORE_PORT = "MCP_DASHBOARD_PORT"
_log = get_logger(__name__)
# What may be asked without a secret, by monitoring and by a browser with a login link; the answers tell nothing about
# the repository.
_OPEN = frozenset({"/dashboard/login", "/health", "/ready"})
_HOUSEKEEPING_SECONDS = 0.25
# So often while somebody watches: what happened is on the page before it looks late.
_WATCHED_SECONDS = 0.1
_WATCHED_ROWS = 25
_KEEPALIVE_SECONDS = 15.0
_EVENT_PAGE = 200
_REPAIR_SECONDS = 5.0
_FOLLOW_SECONDS = 1.0
_HTTP_DELAY_SECONDS = 0.5
# A first call is answered before HTTP comes up, unless it takes so long.
_HTTP_PATIENCE_SECONDS = 2.0
# So long when it waits for a first index, which needs every processor.
_HTTP_PATIENCE_WHILE_BUILDING = 20.0
# From here on indexing takes long enough to say how far it is.
_MANY_FILES = 500
# A mark of life that is younger may belong to a process that is just about to lock it.
_YOUNG_SECONDS = 60.0
# What was told to stop does so within a few milliseconds.
_LAST_SECONDS = 1.0


@dataclass
class ServerHost:
    """One server for one working tree.

    Invariant: the builder holds the tree's server lock until `serve` has returned.
    """

    workspace: Workspace
    door: Door
    lock: FileLock
    mode: str
    facts: ServerFacts
    access: Access
    listeners: tuple[socket.socket, ...]
    gateway: GatewayHolder
    is_ready: bool = False
    is_recording: bool = True
    is_stopping: bool = False
    is_indexed: bool = False
    index_progress: tuple[int, int] = (0, 0)
    last_error: dict[str, Any] | None = None
    in_flight: InFlight = field(default_factory=InFlight)
    exchanges: InFlight = field(default_factory=InFlight)
    background: InFlight = field(default_factory=InFlight)
    bindings: Bindings = field(default_factory=lambda: Bindings(time.monotonic))
    upstreams: Upstreams = field(default_factory=Upstreams)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _rows_changed: asyncio.Event = field(default_factory=asyncio.Event)
    _n_watching: int = 0
    _limiter: anyio.CapacityLimiter | None = None
    http: "HttpSide | None" = None
    telemetry: "TelemetrySender | None" = None
    _tasks: TaskGroup | None = None
    _earlier_threads: tuple[threading.Thread, ...] = field(default_factory=lambda: tuple(threading.enumerate()))

    @cached_property
    def hooks(self) -> "HookServer":
        """Return what answers the hooks of agents."""
        # 20 ms that a server without connected agents need not spend.
        from codeplane.surfaces.agent_hooks.hook_server import HookServer  # noqa: PLC0415

        return HookServer(self)

    @property
    def token(self) -> str:
        """Return the operator token, read each time: whoever deletes its file ends what the old one could do."""
        return token_in_force(self.workspace.places.user.operator_token)

    @property
    def ports(self) -> tuple[int, ...]:
        """Return the ports that the server listens on."""
        return tuple(int(one.getsockname()[1]) for one in self.listeners)

    @property
    def runner(self) -> CallRunner:
        """Return what runs the calls of agents."""
        return self._runner(self.door)

    @property
    def runner_for_people(self) -> CallRunner:
        """Return what runs the operations behind REST addresses; agents have no way to it."""
        return self._runner(replace(self.door, operations=OPERATIONS))

    def _runner(self, door: Door) -> CallRunner:
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self.workspace.settings.server.worker_threads)
        return CallRunner(door, self._limiter, self._admit, self.in_flight, self.upstreams)

    def _admit(self) -> ErrorReport | None:
        return ErrorReport("SERVER_SHUTTING_DOWN", "The server is stopping.") if self.is_stopping else None

    def request_stop(self) -> None:
        """Begin to stop; called on the event loop."""
        self._stop.set()

    async def serve(self, *, started: Callable[[], None] = lambda: None, http_first: bool = True) -> None:
        """Serve until asked to stop, then finish what is in flight within the grace period.

        `http_first=False` opens the Unix socket first and the HTTP side a moment later, for a quick start.
        """
        # Before the tasks: a failure here is one clean error, not a group of them.
        local_listener = bind_unix_socket(self.workspace.places)
        self._start_telemetry()
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            await tasks.start(serve_unix_socket, self, local_listener)
            is_building = not http_first and not self.workspace.has_index
            if is_building:
                tasks.start_soon(self._build_index)
            if not http_first:
                started()
                patience = _HTTP_PATIENCE_WHILE_BUILDING if is_building else _HTTP_PATIENCE_SECONDS
                await self._leave_clients_the_first_moment(patience)
            if not self._stop.is_set():
                self.http = await anyio.to_thread.run_sync(_http_side, self)
                if self.telemetry is not None:
                    self.telemetry.families = self.http.metric_families
                await tasks.start(self.http.serve)
                tasks.start_soon(self._keep_house, self.http)
                write_facts(self.workspace.places, self.facts)
                self.is_ready = True
                if not is_building:
                    tasks.start_soon(self._build_index)
                tasks.start_soon(self._verify_chain)
                tasks.start_soon(self._load_operations)
                tasks.start_soon(self._follow_upstreams)
            if http_first:
                started()
            await self._stop.wait()
            await self._wind_down()
            tasks.cancel_scope.cancel()

    def _start_telemetry(self) -> None:
        if not self.workspace.settings.otel.endpoint:
            return
        # 10 ms that only servers with an endpoint need.
        from codeplane.surfaces.server.telemetry import open_telemetry  # noqa: PLC0415

        self.telemetry = open_telemetry(self.workspace)
        if self.telemetry is not None:
            self.workspace.tracer = self.telemetry
            self.telemetry.start()

    async def _leave_clients_the_first_moment(self, patience: float) -> None:
        """Return when the moment has passed and no call is running, after that many seconds, or at the stop."""
        with anyio.move_on_after(_HTTP_DELAY_SECONDS):
            await self._stop.wait()
        with anyio.move_on_after(patience):
            async with anyio.create_task_group() as waiting:

                async def end_with(wait: Callable[[], Awaitable[object]]) -> None:
                    await wait()
                    waiting.cancel_scope.cancel()

                waiting.start_soon(end_with, self._stop.wait)
                waiting.start_soon(end_with, self.in_flight.wait_until_idle)

    async def _build_index(self) -> None:
        """Build or refresh the index in the background, so that the first question need not wait for it."""
        try:
            with self.background:
                await anyio.to_thread.run_sync(self._refresh_index, abandon_on_cancel=True)
            self.is_indexed = True
        except CodePlaneError as error:
            if self.is_stopping:
                return
            self.last_error = error.report().as_dict()
            _log.warning("the index could not be built yet", extra=fields(error=error.code, reason=error.message))

    def _refresh_index(self) -> None:
        steps = dict.fromkeys(range(10, 100, 10), False)
        own_thread = threading.get_ident()

        def tell(n_done: int, n_all: int) -> None:
            # An update that a call waits for is told here, too; that one goes on, so that the call has its answer.
            if self.is_stopping and threading.get_ident() == own_thread:
                raise CodePlaneError("SERVER_SHUTTING_DOWN")
            self.index_progress = (n_done, n_all)
            percent = 10 * int(10 * n_done / max(n_all, 1))
            if n_all >= _MANY_FILES and steps.get(percent) is False:
                steps[percent] = True
                _log.info("indexing", extra=fields(percent=percent, files=n_all))

        self.workspace.refresh_index(tell)

    async def _load_operations(self) -> None:
        """Import every operation while no call is worked on.

        No first call has to wait for it then, and an upgrade under a server that goes on mixes nothing.
        """
        for name in self.door.operations:
            await self.in_flight.wait_until_idle()
            try:
                await anyio.to_thread.run_sync(self.door.operations.get, name, abandon_on_cancel=True)
            except CodePlaneError as error:
                self.last_error = error.report().as_dict()
                _log.error("an operation cannot be loaded", extra=fields(reason=error.message))

    async def _follow_upstreams(self) -> None:
        """Start the upstreams that people have accepted, and follow what they change."""
        self.upstreams.offered = self.gateway.offered
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        listing = ""

        def tell() -> None:
            loop.call_soon_threadsafe(changed.set)

        self.gateway.on_change = tell
        while True:
            await anyio.to_thread.run_sync(self.gateway.refresh, abandon_on_cancel=True)
            found = await anyio.to_thread.run_sync(self.gateway.listing, abandon_on_cancel=True)
            if found != listing:
                listing = found
                await self.upstreams.tell_changed()
            with anyio.move_on_after(_FOLLOW_SECONDS):
                await changed.wait()
            changed.clear()

    async def _verify_chain(self) -> None:
        """Check the whole chain in the background and say it where people look, if it does not hold."""
        found = await anyio.to_thread.run_sync(self.workspace.chain.verify, abandon_on_cancel=True)
        if found.first_bad_seq is not None:
            message = f"Row {found.first_bad_seq} of the ledger: {found.problem}."
            self.last_error = ErrorReport("CHAIN_BROKEN", message).as_dict()
            _log.error("the event chain does not verify", extra=fields(row=found.first_bad_seq, problem=found.problem))
            return
        try:
            await anyio.to_thread.run_sync(self.workspace.promote_memories, abandon_on_cancel=True)
            n_rows = await anyio.to_thread.run_sync(self.workspace.retire_rows, abandon_on_cancel=True)
        except CodePlaneError as error:
            _log.warning("maintenance after the start failed", extra=fields(error=error.code, reason=error.message))
            return
        if n_rows:
            _log.info("old rows of the ledger were retired", extra=fields(rows=n_rows))

    async def _wind_down(self) -> None:
        """Refuse new calls, tell event streams, give calls in flight the grace period.

        A change that is only planned ends at once, one that is being put in place is taken back: both are answered.
        """
        self.is_stopping = True
        self._rows_changed.set()
        await anyio.to_thread.run_sync(self._stop_editing)
        # Last, so that a client that sees 503 on /ready knows that edits are being rolled back.
        self.is_ready = False
        grace = self.workspace.settings.server.shutdown_grace_seconds
        with anyio.move_on_after(grace):
            await self.in_flight.wait_until_idle()
            await self.exchanges.wait_until_idle()
            await self.background.wait_until_idle()
        if self.in_flight.count:
            _log.warning("calls were cut off at shutdown", extra=fields(calls=self.in_flight.count))
            self.in_flight.cut_off()
            with anyio.move_on_after(_LAST_SECONDS):
                await self.in_flight.wait_until_idle()
                await self.exchanges.wait_until_idle()
        await anyio.to_thread.run_sync(self.gateway.stop)
        # A few turns of the loop let the last answers reach the local clients.
        await anyio.sleep(0.05)
        if self.http is not None:
            self.http.stop()

    def _stop_editing(self) -> None:
        self.workspace.editor.stop()

    async def _keep_house(self, http: "HttpSide") -> None:
        """Feed metrics, commit waiting rows, close idle sessions; four times a second, more often while watched."""
        subscription = self.workspace.events.subscribe()
        last_save = self.workspace.clock.monotonic()
        while True:
            await anyio.sleep(_WATCHED_SECONDS if self._n_watching else _HOUSEKEEPING_SECONDS)
            events = subscription.wait(0)
            for event in events:
                http.metrics.count(event)
                if event.data.get("error") == "INTERNAL_ERROR":
                    self.last_error = {"error": "INTERNAL_ERROR", "operation": event.data["operation"]}
            is_due = self.workspace.clock.monotonic() - last_save > _REPAIR_SECONDS
            if events or is_due:
                await anyio.to_thread.run_sync(self._save, is_due)
                if is_due:
                    await self._repair()
                last_save = self.workspace.clock.monotonic() if is_due else last_save
                self._rows_changed.set()

    async def _repair(self) -> None:
        """Restore files that were removed under a running server, so that clients find it again."""
        places = self.workspace.places
        if not places.server_facts.exists() or not places.port_file.exists() or not places.url_file.exists():
            prepare_private(places)
            write_facts(places, self.facts)
        if not places.socket_link.is_symlink() and not places.socket_link.exists() and self._tasks is not None:
            _log.warning("the socket was removed; it is bound again")
            await self._tasks.start(serve_unix_socket, self, bind_unix_socket(places))

    def _save(self, with_sessions: bool) -> None:  # noqa: FBT001 - handed to a worker thread by position.
        try:
            self.workspace.chain.database.check_file()
            self.workspace.chain.flush()
            if with_sessions:
                self.workspace.sessions.save()
                self.workspace.sessions.sweep()
            self.is_recording = True
        except CodePlaneError as error:
            self.is_recording = False
            self.last_error = error.report().as_dict()
            _log.warning("rows could not be committed yet", extra=fields(error=error.code, reason=error.message))

    def busy_threads(self, seconds: float) -> int:
        """Give the threads that serving has left behind a while to end; return how many have not."""
        deadline = self.workspace.clock.monotonic() + seconds
        earlier = {*self._earlier_threads, threading.current_thread()}
        left = [one for one in threading.enumerate() if one not in earlier and not one.daemon]
        for thread in left:
            thread.join(max(0.0, deadline - self.workspace.clock.monotonic()))
        return sum(one.is_alive() for one in left)

    async def rows_from(self, start: int | None, *, is_live: bool = False) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the rows after `start` (None: from now on) as they are committed, now and then none; end at shutdown.

        `is_live` for somebody who watches: waiting rows are committed more often meanwhile, and of many at once only
        the newest are told.
        """
        workspace = self.workspace
        last = start if start is not None else await anyio.to_thread.run_sync(workspace.chain.last_seq)
        quiet = 0.0
        self._n_watching += is_live
        try:
            while True:
                read = newest_rows if is_live else rows_after
                rows = await anyio.to_thread.run_sync(read, workspace, last, _WATCHED_ROWS if is_live else _EVENT_PAGE)
                if rows:
                    last, quiet = rows[-1]["seq"], 0.0
                    yield rows
                if self.is_stopping:
                    return
                if rows:
                    continue
                # Rows of other processes do not wake this one, so it also looks once a second.
                self._rows_changed.clear()
                with anyio.move_on_after(1.0):
                    await self._rows_changed.wait()
                quiet += 1.0
                if quiet >= _KEEPALIVE_SECONDS:
                    quiet = 0.0
                    yield []
        finally:
            self._n_watching -= is_live

    def can_answer(self) -> bool:
        """Tell whether the index can answer: it was brought up to date, or an earlier server has published one."""
        return self.is_indexed or (self.workspace.has_index and self.workspace.index.store.epoch() > 0)

    def _index_status(self) -> dict[str, Any]:
        summary = self.workspace.index_summary()
        is_first = summary["status"] != "ready" or bool(self.index_progress[1])
        if self.background.count and is_first:
            n_done, n_all = self.index_progress
            return {**summary, "status": "building", "progress": {"done": n_done, "total": n_all}}
        return summary

    def health(self) -> dict[str, Any]:
        """Return what `/status/health` shows: it takes longer than the status."""
        return self.http.health() if self.http is not None else {}

    def status(self) -> dict[str, Any]:
        """Return what `/status` and `cpl status` show."""
        workspace = self.workspace
        reconciled = workspace.last_reconcile_ms
        return {
            "api_version": API_VERSION,
            "version": VERSION,
            "repo_root": str(workspace.root),
            "repo_id": workspace.repo_id,
            "repo_fingerprint": workspace.fingerprint(),
            **workspace.head_summary(),
            "worktree": workspace.repository.worktree_id,
            "pid": self.facts.pid,
            "port": self.facts.port,
            "mode": self.mode,
            "started": iso_from_ms(self.facts.started_ms),
            "ready": self.is_ready,
            "index": self._index_status(),
            "last_reconcile": iso_from_ms(reconciled) if reconciled is not None else None,
            "last_error": self.last_error,
            "calls_in_flight": self.in_flight.count,
            "ledger_rows": workspace.chain.last_seq(),
            "leases": workspace.leases(),
            "undo": workspace.undo_summary(),
            "governance": workspace.governance_summary(),
            "telemetry": self.telemetry.state if self.telemetry is not None else None,
            "upstreams": self.gateway.status(),
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


def _http_side(host: ServerHost) -> "HttpSide":
    # 40 ms of imports that a client of the Unix socket need not wait for.
    from codeplane.surfaces.server.http_side import HttpSide  # noqa: PLC0415

    return HttpSide(host)


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
    interrupted = workspace.tasks.interrupt_orphans(workspace.ownership)
    _remove_marks_of_the_dead(workspace)
    profile_for(workspace.settings.mcp.profile, request.door.operations)
    token_file = workspace.places.user.operator_token
    operator_token(token_file)
    secret = kept_secret(workspace.places.user.access_secret, "access secret")
    listeners = [_listen(workspace.settings.server.port)]
    port = int(listeners[0].getsockname()[1])
    more = os.environ.get(_MORE_PORT, "").strip()
    if more and more != str(port):
        listeners.append(_listen(_port_of(more)))
    now = workspace.clock.now_ms()
    facts = ServerFacts(os.getpid(), port, now, VERSION, request.mode, workspace.repo_id, secret)
    open_paths = _OPEN | ({"/metrics"} if workspace.settings.metrics.open else frozenset())
    access = Access(lambda: (secret, token_in_force(token_file)), open_paths)
    started = {"mode": request.mode, "port": port, "head": head.commit, "recovered_calls": recovered}
    workspace.record("server_started", {**started, "interrupted_tasks": interrupted})
    _log.info("server started", extra=fields(port=port, mode=request.mode, head=(head.commit or "unborn")[:12]))
    gateway = GatewayHolder(workspace)
    door = request.door
    if isinstance(door.operations, Catalog):
        door = replace(door, operations=OfferedTools(door.operations, gateway.operations, gateway.why_missing))
    return ServerHost(workspace, door, request.lock, request.mode, facts, access, tuple(listeners), gateway)


def _remove_marks_of_the_dead(workspace: Workspace) -> None:
    """Remove marks of life that no row names: their processes died before their first change was on record."""
    youngest = workspace.clock.now_ms() / 1000 - _YOUNG_SECONDS
    for mark in workspace.places.owners.glob("*.lock"):
        with suppress(OSError):
            if mark.stat().st_mtime < youngest:
                with workspace.ownership.inherit(mark.stem):
                    # A mark that can be taken is removed when it is given back.
                    continue


def close_host(host: ServerHost) -> bool:
    """Write the last row, take the address back and give up the server role.

    Return whether threads are left that only read or index: the process need not wait for them, because what they have
    not committed is derived from the files. A change that is being put in place is waited for.
    """
    if host.telemetry is not None:
        host.telemetry.stop()
    with suppress(CodePlaneError):
        host.workspace.record("server_stopped", {"mode": host.mode})
    remove_facts(host.workspace.places)
    for listener in host.listeners:
        listener.close()
    n_busy, is_changing = host.busy_threads(_LAST_SECONDS), False
    if n_busy:
        # They own what they work on until they or the process end; taken from under them it would look damaged.
        _log.warning("threads are still at work at the end", extra=fields(threads=n_busy))
        with suppress(CodePlaneError):
            host.workspace.chain.flush()
            host.workspace.sessions.save()
            is_changing = bool(host.workspace.chain.open_calls())
    else:
        host.workspace.close()
    host.lock.release()
    _log.info("server stopped")
    return bool(n_busy) and not is_changing


def _port_of(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise CodePlaneError("CONFIG_INVALID", f"{_MORE_PORT} is not a port: {text[:40]!r}.")
    return int(text)


def _listen(port: int) -> socket.socket:
    # The protocol is named because asyncio turns off Nagle's algorithm only then; with it every answer on a connection
    # that is kept alive waits 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        message = f"Port {port} on 127.0.0.1 cannot be used: {error.strerror}."
        raise CodePlaneError("PORT_UNAVAILABLE", message, details={"port": port}) from error
    return listener
