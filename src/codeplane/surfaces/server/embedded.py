"""A server inside another program: what the first `cpl mcp` of a working tree becomes."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import LoggingHandle
from codeplane.operations.catalog import TOOLS
from codeplane.operations.perform import Door
from codeplane.surfaces.server.facts import try_server_lock
from codeplane.surfaces.server.host import HostRequest, ServerHost, build_host, close_host
from codeplane.surfaces.server.logging_setup import start_server_logging
from codeplane.surfaces.server.operator_token import has_token
from codeplane.workspace.config import loosened_settings
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace

_START_SECONDS = 15.0
_STOP_SECONDS = 10.0


class EmbeddedServer:
    """A server in a thread of its own.

    Invariant: `stop` returns only when the server role has been given up; `may_abandon` then tells whether threads are
    left that the process need not wait for.
    """

    def __init__(self, host: ServerHost, logging: LoggingHandle) -> None:
        self._host = host
        self.may_abandon = False
        self._logging = logging
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = threading.Event()
        self._failure: CodePlaneError | None = None
        self._thread = threading.Thread(target=self._run, name="codeplane-server", daemon=True)

    def start(self) -> None:
        """Start serving and return when the socket accepts clients."""
        self._thread.start()
        if not self._started.wait(_START_SECONDS):
            raise CodePlaneError("SERVER_UNREACHABLE", "The server did not start in time.")
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Stop serving, with the grace period for calls in flight."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._host.request_stop)
        self._thread.join(self._host.workspace.settings.server.shutdown_grace_seconds + _STOP_SECONDS)
        self._logging.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except CodePlaneError as error:
            self._failure = error
        finally:
            self.may_abandon = close_host(self._host)
            self._started.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._host.serve(started=self._started.set, http_first=False)


def start_embedded(start: str, overrides: Sequence[str]) -> EmbeddedServer | None:
    """Become the server of the working tree at `start`; None when another process is.

    Raises:
        CodePlaneError: no server can run here.
    """
    workspace = open_workspace(WorkspaceRequest(Path(start), tuple(overrides)))
    try:
        _check_overrides(workspace, overrides)
    except CodePlaneError:
        workspace.close()
        raise
    lock = try_server_lock(workspace.places)
    if lock is None:
        workspace.close()
        return None
    try:
        return _start(workspace, HostRequest(workspace, Door(workspace, TOOLS), lock, "mcp"))
    except BaseException:
        lock.release()
        workspace.close()
        raise


def _check_overrides(workspace: Workspace, overrides: Sequence[str]) -> None:
    """Refuse settings that allow more than the files do: an agent may have started this.

    Raises:
        CodePlaneError: OPERATOR_TOKEN_REQUIRED.
    """
    places = workspace.places
    keys = loosened_settings(places, overrides)
    if keys and not has_token(places.user.operator_token):
        message = f"Only a person can loosen {', '.join(keys)} for an agent's server."
        raise CodePlaneError("OPERATOR_TOKEN_REQUIRED", message, hint="Write it into .codeplane/config.yaml.")


def _start(workspace: Workspace, request: HostRequest) -> EmbeddedServer:
    # Standard error belongs to the agent's own display, so only the log file and warnings are written.
    logging = start_server_logging(workspace, to_terminal=False)
    try:
        server = EmbeddedServer(build_host(request), logging)
        server.start()
    except BaseException:
        logging.close()
        raise
    return server
