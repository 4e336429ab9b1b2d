"""Upstreams behind an address: what they answer is bounded while it is read."""

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.surfaces.gateway import connection as connection_module
from codeplane.surfaces.gateway.connection import Connection
from codeplane.surfaces.gateway.lines import MAX_LINE_BYTES
from codeplane.surfaces.gateway.resolution import ResolvedUpstream
from codeplane.workspace.gateway_settings import GatewaySettings, UpstreamSettings
from support.upstreams import tool

GREETING = {"capabilities": {"tools": {}}, "serverInfo": {"name": "far", "version": "1"}}
CHUNK = b" " * 1_000_000


class _Far(BaseHTTPRequestHandler):
    """Shakes hands and lists nothing; what it says to a call is up to the test."""

    behaviour = ""
    n_sent = 0
    n_lists = 0

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in asked:
            self._send(202, b"")
        elif asked["method"] == "initialize":
            self._answer(asked, {**GREETING, "protocolVersion": asked["params"]["protocolVersion"]})
        elif asked["method"] == "tools/list":
            type(self).n_lists += 1
            n_tools = 1 + (self.n_lists > 2) if self.behaviour == "silent change" else 0
            self._answer(asked, {"tools": [tool(f"t{number}") for number in range(n_tools)]})
        else:
            self._misbehave(asked)

    def do_GET(self) -> None:
        self._send(405, b"")

    def _misbehave(self, asked: dict[str, Any]) -> None:
        if self.behaviour == "endless":
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            with suppress(OSError):
                for _ in range(500):
                    self.wfile.write(CHUNK)
                    type(self).n_sent += len(CHUNK)
        elif self.behaviour == "packed":
            self._send(200, gzip.compress(CHUNK * 50), ("Content-Encoding", "gzip"))
        elif self.behaviour == "large events":
            text = json.dumps({"content": [{"type": "text", "text": "x" * 3_000_000}]})
            body = f'event: message\ndata: {{"jsonrpc": "2.0", "id": {asked["id"]}, "result": {text}}}\n\n'.encode()
            self._send(200, body, ("Content-Type", "text/event-stream"))

    def _answer(self, asked: dict[str, Any], result: dict[str, Any]) -> None:
        self._send(200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode())

    def _send(self, status: int, body: bytes, header: tuple[str, str] | None = None) -> None:
        self.send_response(status)
        name, value = header or ("Content-Type", "application/json")
        if name != "Content-Type":
            self.send_header("Content-Type", "application/json")
        self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def far(behaviour: str) -> Iterator[tuple[str, type[_Far]]]:
    handler = type("Handler", (_Far,), {"behaviour": behaviour})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/mcp", handler
        server.shutdown()


async def called(url: str, tmp_path: Any) -> dict[str, Any]:
    """Return what a call of an upstream at this address ends with."""
    upstream = ResolvedUpstream((), {}, tmp_path, url, {}, ())
    connection = Connection("far", UpstreamSettings(url=url), GatewaySettings(), lambda: upstream, lambda _: None)
    task = asyncio.create_task(connection.run())
    try:
        return await connection.request("tools/call", {"name": "x", "arguments": {}}, 20.0, None)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.mark.parametrize(("behaviour", "told"), [("endless", "more than"), ("packed", "compressed")])
def test_an_answer_over_http_is_bounded_while_it_is_read(tmp_path: Any, behaviour: str, told: str) -> None:
    with far(behaviour) as (url, handler), pytest.raises(CodePlaneError, match=told):
        asyncio.run(called(url, tmp_path))
    # What is on its way in buffers comes on top.
    assert handler.n_sent < 5 * MAX_LINE_BYTES


def test_an_event_may_be_as_long_as_a_line(tmp_path: Any) -> None:
    with far("large events") as (url, _):
        assert len(asyncio.run(called(url, tmp_path))["content"][0]["text"]) == 3_000_000


async def tools_after_a_look(url: str, tmp_path: Any) -> list[int]:
    """Return how many tools were known, until that number has changed without a word of the server."""
    numbers: list[int] = []
    changed = asyncio.Event()

    def note(one: Connection) -> None:
        if one.found is not None:
            numbers.append(len(one.found.tools))
        if len(set(numbers)) > 1:
            changed.set()

    upstream = ResolvedUpstream((), {}, tmp_path, url, {}, ())
    task = asyncio.create_task(
        Connection("far", UpstreamSettings(url=url), GatewaySettings(), lambda: upstream, note).run()
    )
    try:
        await asyncio.wait_for(changed.wait(), 20)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    return numbers


def test_tools_that_change_without_a_word_are_noticed(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # The minute, as fast as it goes.
    monkeypatch.setattr(connection_module, "_LOOK_SECONDS", 0.01)
    with far("silent change") as (url, _):
        assert asyncio.run(tools_after_a_look(url, tmp_path)) == [1, 2]
