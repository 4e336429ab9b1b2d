"""`cpl up`: the server in the foreground, stopped by Ctrl+C or SIGTERM."""

import asyncio
import signal
from collections.abc import Callable

from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.run import Door
from codeplane.surfaces.server.facts import ServerFacts, read_facts, try_server_lock
from codeplane.surfaces.server.host import HostRequest, ServerHost, build_host, close_host
from codeplane.surfaces.server.logging_setup import start_server_logging
from codeplane.workspace.workspace import Workspace


def serve_in_foreground(workspace: Workspace, announce: Callable[[ServerFacts], None]) -> ServerFacts | None:
    """Serve until a signal comes; when a server already runs, return its facts at once instead.

    Raises:
        CodePlaneError: the server cannot start.
    """
    lock = try_server_lock(workspace.places)
    if lock is None:
        facts = read_facts(workspace.places)
        workspace.close()
        return facts or ServerFacts(0, 0, 0, "", "starting", "")
    with start_server_logging(workspace, to_terminal=True):
        try:
            host = build_host(HostRequest(workspace, Door(workspace, OPERATIONS), lock, "up"))
        except BaseException:
            lock.release()
            workspace.close()
            raise
        try:
            asyncio.run(_serve(host, announce))
        finally:
            close_host(host)
    return None


async def _serve(host: ServerHost, announce: Callable[[ServerFacts], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, host.request_stop)
    await host.serve(started=lambda: announce(host.facts))
