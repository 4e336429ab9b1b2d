"""`cpl up`: the server in the foreground, stopped by Ctrl+C or SIGTERM."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from codeplane.core.errors import CodePlaneError
from codeplane.operations.catalog import TOOLS
from codeplane.operations.perform import Door
from codeplane.surfaces.server.client import get_json
from codeplane.surfaces.server.facts import ServerFacts, is_served, read_facts, try_server_lock
from codeplane.surfaces.server.host import HostRequest, ServerHost, build_host, close_host
from codeplane.surfaces.server.logging_setup import start_server_logging
from codeplane.workspace.places import Places
from codeplane.workspace.workspace import Workspace

_OTHER_SECONDS = 5.0
_START_SECONDS = 30.0
_POLL_SECONDS = 0.05


def serve_in_foreground(workspace: Workspace, announce: Callable[[ServerFacts], None]) -> ServerFacts | None:
    """Serve until a signal comes; when a server already runs, return its facts at once instead.

    Raises:
        CodePlaneError: the server cannot start.
    """
    lock = try_server_lock(workspace.places)
    if lock is None:
        workspace.close()
        return _facts_of_the_other(workspace.places)
    may_abandon = False
    with start_server_logging(workspace, to_terminal=True):
        try:
            host = build_host(HostRequest(workspace, Door(workspace, TOOLS), lock, "up"))
        except BaseException:
            lock.release()
            workspace.close()
            raise
        try:
            asyncio.run(_serve(host, announce))
        finally:
            may_abandon = close_host(host)
    if may_abandon:
        end_at_once(0)
    return None


def end_at_once(code: int) -> NoReturn:
    """End the process without waiting for threads that nothing can interrupt."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _facts_of_the_other(places: Places) -> ServerFacts:
    """Return the facts of the server that runs, giving one that is just starting the time to tell them."""
    facts: ServerFacts | None = None
    deadline = time.monotonic() + _OTHER_SECONDS
    while time.monotonic() < deadline:
        facts = read_facts(places)
        # Facts without a running server were left behind by one that died.
        if facts is not None and _is_answered(facts):
            return facts
        time.sleep(0.05)
    return facts or ServerFacts(0, 0, 0, "", "starting", "")


def wait_for_server(places: Places, pid: int) -> ServerFacts | None:
    """Return the facts of a server that is starting in another process; None when that process ended instead."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and _is_running(pid):
        facts = read_facts(places)
        if facts is not None and _is_answered(facts):
            return facts
        time.sleep(_POLL_SECONDS)
    return None


def _is_running(pid: int) -> bool:
    """Tell whether a child of this process, or a process of another one, has not ended."""
    with suppress(ChildProcessError):
        return os.waitpid(pid, os.WNOHANG) == (0, 0)
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, 0)
        return True
    return False


def stop_server(places: Places, facts: ServerFacts, seconds: float) -> bool:
    """Ask a server to stop and wait until it has; false when it is still there after so many seconds."""
    with suppress(ProcessLookupError):
        os.kill(facts.pid, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not is_served(places):
            return True
        time.sleep(_POLL_SECONDS)
    return False


def _is_answered(facts: ServerFacts) -> bool:
    try:
        return bool(get_json(facts, "/status").get("pid") == facts.pid)
    except CodePlaneError:
        return False


async def _serve(host: ServerHost, announce: Callable[[ServerFacts], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, host.request_stop)
    await host.serve(started=lambda: announce(host.facts))
