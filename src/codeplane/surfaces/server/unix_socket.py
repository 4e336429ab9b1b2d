"""The Unix socket: local clients of the same user, such as the stdio bridge.

A client first sends one line, `{"codeplane": 1, "speak": "mcp", "profile": "core"}`, then speaks MCP in lines.
A bridge adds `"connection"`, an unguessable name by which the next server finds its session again.
An agent's hook client says `"speak": "hook"` with agent, event and size, sends the event, and gets one answer.
Approvals are never taken here.
"""

import asyncio
import json
import os
import re
import socket
import struct
from contextlib import suppress
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskStatus

from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import fields, get_logger
from codeplane.operations.profiles import profile_for
from codeplane.surfaces.agent_hooks.processes import ancestors
from codeplane.surfaces.mcp.binding import ConnectionName, build_server
from codeplane.surfaces.mcp.line_connection import refuse_lines, serve_lines
from codeplane.workspace.places import Places

if TYPE_CHECKING:
    from codeplane.surfaces.server.host import ServerHost

_log = get_logger(__name__)
_MAX_HELLO = 4096
_HELLO_SECONDS = 10.0
_LASTING_NAME = re.compile("[0-9a-f]{32}")


def bind_unix_socket(places: Places) -> socket.socket:
    """Return the socket for local clients, bound where they look for it; only the owner may use it.

    Raises:
        CodePlaneError: PERMISSION_DENIED, or SERVER_UNREACHABLE when the place is not good for a socket.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _bind(listener, places)
    except OSError as error:
        listener.close()
        message = f"The socket {places.socket} cannot be used: {error.strerror or error}."
        hint = "Let XDG_RUNTIME_DIR name a short path that you can write to, then start again."
        raise CodePlaneError("SERVER_UNREACHABLE", message, hint=hint) from error
    except CodePlaneError:
        listener.close()
        raise
    return listener


def _bind(listener: socket.socket, places: Places) -> None:
    for path in {places.socket, places.socket_link}:
        # Only the holder of the server lock comes here, so an existing socket is a leftover.
        path.unlink(missing_ok=True)
    places.socket.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if places.socket.parent.stat().st_uid != os.getuid():
        raise CodePlaneError("PERMISSION_DENIED", f"{places.socket.parent} belongs to another user.")
    listener.bind(os.fsencode(places.socket))
    places.socket.chmod(0o600)
    if places.socket != places.socket_link:
        places.socket_link.symlink_to(places.socket)


async def serve_unix_socket(host: "ServerHost", listener: socket.socket, *, task_status: TaskStatus[None]) -> None:
    """Accept local clients until cancelled."""
    connections = _Connections(host)
    server = await asyncio.start_unix_server(connections.accept, sock=listener)
    async with server:
        task_status.started()
        try:
            await anyio.sleep_forever()
        finally:
            connections.close()


class _Connections:
    """The clients that are connected now.

    Invariant: every accepted writer is closed, by the client's end or by `close`.
    """

    def __init__(self, host: "ServerHost") -> None:
        self._host = host
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[Any]] = set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            await self._serve(reader, writer)
        except (ConnectionError, TimeoutError, asyncio.CancelledError):
            # The client left, never spoke, or the server is stopping: the connection is over either way.
            pass
        except Exception:  # noqa: BLE001 - one client's failure must not end the others.
            _log.exception("a local connection failed")
        finally:
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("socket")
        if not _is_same_user(peer):
            _log.warning("a connection of another user was refused")
            return
        try:
            hello = await asyncio.wait_for(_hello(reader), _HELLO_SECONDS)
            if hello["speak"] == "hook":
                await self._host.hooks.serve(hello, reader, writer, _peer_pid(peer))
                return
            wanted = str(hello.get("profile") or self._host.workspace.settings.mcp.profile)
            profile = profile_for(wanted, self._host.door.operations)
        except CodePlaneError as error:
            _log.warning("a local client was refused", extra=fields(error=error.code))
            await refuse_lines(error.report(), reader, writer)
            return
        name = self._name_of(hello)
        processes = frozenset(one.mark for one in ancestors(_peer_pid(peer)))
        binding = partial(self._host.bindings.session_of, processes=processes)
        server = build_server(self._host.runner, profile, "mcp-stdio", lambda _context: name, binding)
        try:
            await serve_lines(server, reader, writer)
        finally:
            await anyio.to_thread.run_sync(self._host.workspace.sessions.forget_connection, name.text)

    def _name_of(self, hello: dict[str, Any]) -> ConnectionName:
        given = hello.get("connection")
        if isinstance(given, str) and _LASTING_NAME.fullmatch(given):
            return ConnectionName(f"bridge:{given}", is_lasting=True)
        return ConnectionName(f"unix:{os.getpid()}:{next(self._numbers)}")

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()


async def _hello(reader: asyncio.StreamReader) -> dict[str, Any]:
    try:
        # A line beyond the reader's own limit is a ValueError too.
        document = json.loads((await reader.readline())[:_MAX_HELLO])
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get("codeplane") != 1 or document.get("speak") not in {"mcp", "hook"}:
        raise CodePlaneError("INVALID_FORMAT", "The first line must be the hello of a CodePlane client.")
    return document


def _peer_pid(peer: socket.socket) -> int:
    """Return the process at the other end, 0 where the system does not tell."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    return int(struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))[0])


def _is_same_user(peer: socket.socket) -> bool:
    """Tell whether the other end runs as this user, by what the kernel says of it."""
    if hasattr(socket, "SO_PEERCRED"):
        credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return bool(struct.unpack("3i", credentials)[1] == os.getuid())
    # macOS: LOCAL_PEERCRED (1) at level SOL_LOCAL (0) gives `struct xucred`, whose second field is the user id.
    credentials = peer.getsockopt(0, 1, 76)
    return bool(struct.unpack_from("2I", credentials)[1] == os.getuid())
