"""A host on this machine that answers as a test tells it to, and remembers what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from codeplane.controller.connectors.kernel import Attempt, Kernel
from codeplane.core.clock import ManualClock
from codeplane.workspace.controller_settings import ConnectorSettings

TOKEN = "planted-secret-Zq7/xY+9=0123456789"


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    # Writes the rest of the answer itself; gets the place to write to and the event that ends the test.
    act: Callable[[Any, threading.Event], None] | None = None


def as_json(value: Any, status: int = 200, **headers: str) -> Reply:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(status, json.dumps(value).encode(), named)


def hangs(_file: Any, ended: threading.Event) -> None:
    ended.wait(20)


def drips(file: Any, ended: threading.Event) -> None:
    """Send a header without end, one byte at a time."""
    file.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not ended.wait(0.01):
        file.write(b"x")
        file.flush()


def closes(_file: Any, _ended: threading.Event) -> None:
    """Send nothing at all."""


def sends_50_megabytes(file: Any, _ended: threading.Event) -> None:
    file.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    for _ in range(800):
        file.write(b" " * 65_536)


def stops_early(file: Any, _ended: threading.Event) -> None:
    file.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")


@dataclass
class Peer:
    """Replies per path without query: each is given once, the last one for ever."""

    port: int
    replies: dict[str, list[Reply]]
    asked: list[tuple[str, dict[str, str]]]

    def url(self, path: str = "") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def answers(self, path: str, *replies: Reply) -> None:
        self.replies[path] = list(replies)

    @property
    def tokens(self) -> list[str | None]:
        return [headers.get("authorization") for _, headers in self.asked]


@contextmanager
def running_peer() -> Iterator[Peer]:
    ended = threading.Event()
    peer = Peer(0, {}, [])

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            peer.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            waiting = peer.replies.get(self.path.partition("?")[0], [Reply(404)])
            reply = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            try:
                self._send(reply)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _send(self, reply: Reply) -> None:
            if reply.act is not None:
                reply.act(self.wfile, ended)
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in {"Content-Type": reply.content_type, **reply.headers}.items():
                self.send_header(name, value)
            if "Content-Length" not in reply.headers:
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        peer.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield peer
        finally:
            ended.set()
            server.shutdown()
            thread.join()


@dataclass
class Bench:
    """A kernel whose waits only move its clock, with what it waited and traced."""

    kernel: Kernel
    clock: ManualClock
    waits: list[float]
    traces: list[Attempt]


def bench(settings: ConnectorSettings, cache: Path | None = None) -> Bench:
    clock = ManualClock()
    waits: list[float] = []
    traces: list[Attempt] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        clock.advance(seconds)

    kernel = Kernel(settings, cache, traces.append, clock, sleep, jitter=lambda: 1.0)
    return Bench(kernel, clock, waits, traces)


def write_token(directory: Path, name: str = "jira.token", token: str = TOKEN) -> None:
    directory.mkdir(mode=0o700, exist_ok=True)
    file = directory / name
    file.write_text(f"{token}\n", encoding="ascii")
    file.chmod(0o600)
