"""Start `cpl` as real processes and end them, whatever happens to the test."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.forks import run_forked, started_python

CPL = (sys.executable, "-m", "codeplane")
# The same program with two more operations: one that waits for a file, one that breaks.
TOY_CPL = (sys.executable, str(Path(__file__).with_name("support_toy_cpl.py")))
DEADLINE_SECONDS = 30.0
SECRET_TEXT = "PAYMENT_KEY=sk_live_4eC39HqLyjWDarjtT1zdp7dc\n"
SAMPLE_FILES = {
    "README.md": "# Sample\n\nA sample repository.\n",
    "src/app.py": "def main() -> int:\n    return 0\n",
    "src/large.txt": "".join(f"line {number} of a long file\n" for number in range(1, 5001)),
    ".env": SECRET_TEXT,
}


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A home directory of its own, so that no test meets the user's files; `run` is short enough for sockets."""

    home: Path
    run: Path

    @property
    def env(self) -> dict[str, str]:
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("CODEPLANE__", "GIT_", "XDG_")) and key != "CI"
        }
        return kept | {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "XDG_RUNTIME_DIR": str(self.run),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "TERM": "xterm-256color",
        }

    @property
    def token(self) -> str:
        return self.token_file.read_text(encoding="ascii").strip()

    @property
    def token_file(self) -> Path:
        return self.home / "state" / "codeplane" / "operator.token"

    @property
    def global_config(self) -> Path:
        return self.home / "config" / "codeplane" / "config.yaml"


@contextmanager
def make_sandbox(parent: Path) -> Iterator[Sandbox]:
    with tempfile.TemporaryDirectory(prefix="cpl-") as run:
        sandbox = Sandbox(parent / "home", Path(run))
        for name in ("config", "state"):
            (sandbox.home / name).mkdir(parents=True)
        yield sandbox


def git(sandbox: Sandbox, directory: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.invalid")
    done = subprocess.run(
        ("git", *identity, *arguments),
        cwd=directory,
        env=sandbox.env,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout


def make_repo(sandbox: Sandbox, root: Path, files: Mapping[str, str] = SAMPLE_FILES) -> Path:
    """Return a repository with one commit, or with an unborn HEAD when there are no files."""
    root.mkdir(parents=True)
    git(sandbox, root, "init", "-q", "-b", "main")
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    if files:
        git(sandbox, root, "add", ".")
        git(sandbox, root, "commit", "-q", "-m", "First")
    return root.resolve()


def run_cpl(
    sandbox: Sandbox, directory: Path, *arguments: str, text: str = "", env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run one command to its end."""
    return run_forked((*CPL, *arguments), cwd=directory, env=sandbox.env | dict(env or {}), input=text)


def wait_until(condition: Callable[[], Any], what: str, seconds: float = DEADLINE_SECONDS) -> Any:
    """Return the condition's first true value; the deadline only keeps a failing test from hanging."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not in {seconds} s: {what}")


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def send_http(
    port: int,
    method: str,
    path: str,
    headers: Mapping[str, str | None] | None = None,
    body: bytes = b"",
) -> Reply:
    """Send one request; a header whose value is None is left out, `Host` included."""
    wanted: dict[str, str | None] = {"Host": f"127.0.0.1:{port}", **(headers or {})}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_SECONDS)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in wanted.items():
            if value is not None:
                connection.putheader(name, value)
        if body or method == "POST":
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


@dataclass(slots=True)
class UpServer:
    """A running `cpl up`."""

    process: "subprocess.Popen[str]"
    root: Path
    sandbox: Sandbox
    port: int
    banner: str
    errors: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def private(self) -> Path:
        return self.root / ".codeplane"

    @property
    def stderr(self) -> str:
        return "".join(self.errors)

    def get(self, path: str, headers: Mapping[str, str | None] | None = None) -> Reply:
        return send_http(self.port, "GET", path, headers)

    def post(self, path: str, document: object, headers: Mapping[str, str | None] | None = None) -> Reply:
        return send_http(self.port, "POST", path, headers, json.dumps(document).encode())

    def operate(self, name: str, arguments: object, token: str | None = None) -> Reply:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self.post(f"/operations/{name}", arguments, headers)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_SECONDS)


@contextmanager
def up(
    sandbox: Sandbox,
    root: Path,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    program: Sequence[str] = CPL,
) -> Iterator[UpServer]:
    """Run `cpl up` until the block ends."""
    process = started_python(
        (*program, "up", *arguments),
        cwd=root,
        env=sandbox.env | dict(env or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    errors: list[str] = []
    reader = threading.Thread(target=_collect, args=(process.stderr, errors), daemon=True)
    reader.start()
    try:
        banner = _banner(process)
        assert banner, f"no banner: {''.join(errors)}"
        port = int(re.findall(r"127\.0\.0\.1:(\d+)", banner)[0])
        yield UpServer(process, root, sandbox, port, banner, errors)
    finally:
        end(process)
        reader.join(DEADLINE_SECONDS)
        _close_pipes(process)


def _banner(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if "Ctrl+C" in line or line == "}\n":
            return "".join(lines)
    return ""


def _collect(stream: Any, lines: list[str]) -> None:
    lines.extend(stream)


def end(process: "subprocess.Popen[Any]") -> None:
    """End a process and wait for it."""
    if process.poll() is None:
        process.kill()
    process.wait(DEADLINE_SECONDS)


def _close_pipes(process: "subprocess.Popen[Any]") -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            try:
                stream.close()
            except BrokenPipeError:
                # What was not flushed to a process that is gone is not wanted any more.
                continue


class StdioPeer:
    """A client of one `cpl mcp` process that speaks raw lines, so that a test can send what no SDK would.

    Invariant: `lines` holds every line the process wrote, in order, also those already given out by `receive`.
    """

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.lines: list[bytes] = []
        self.errors: list[bytes] = []
        self._next = 0
        self._next_id = 100
        self._is_closed = False
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._read_output, daemon=True),
            threading.Thread(target=_collect, args=(process.stderr, self.errors), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def stderr(self) -> str:
        return b"".join(self.errors).decode("utf-8", "replace")

    def _read_output(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(line)
                self._changed.notify_all()
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, document: object) -> None:
        self.send_raw(json.dumps(document).encode() + b"\n")

    def receive(self, seconds: float = DEADLINE_SECONDS) -> dict[str, Any]:
        """Return the next message."""
        with self._changed:
            ready = self._changed.wait_for(lambda: len(self.lines) > self._next or self._is_closed, seconds)
            assert ready, f"no line in {seconds} s; stderr: {self.stderr}"
            assert len(self.lines) > self._next, f"the output ended; stderr: {self.stderr}"
            line = self.lines[self._next]
            self._next += 1
        document = json.loads(line)
        assert isinstance(document, dict)
        return document

    def receive_answer(self, request_id: object) -> dict[str, Any]:
        """Return the answer to one request, passing over everything before it."""
        while True:
            document = self.receive()
            if "method" not in document and document.get("id") == request_id:
                return document

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its answer."""
        self._next_id += 1
        self.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": dict(params or {})})
        return self.receive_answer(self._next_id)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": dict(params or {})})

    def initialize(self, version: str = "2025-11-25") -> dict[str, Any]:
        answer = self.request("initialize", initialize_params(version))
        self.notify("notifications/initialized")
        return answer

    def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        answer = self.request("tools/call", {"name": name, "arguments": dict(arguments or {})})
        result: dict[str, Any] = answer["result"]
        return result

    def finish(self) -> int:
        """Close the client's side and return the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(DEADLINE_SECONDS)
        for thread in self._threads:
            thread.join(DEADLINE_SECONDS)
        return code

    def close(self) -> None:
        end(self.process)
        for thread in self._threads:
            thread.join(DEADLINE_SECONDS)
        _close_pipes(self.process)


def initialize_params(version: str) -> dict[str, Any]:
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "tester", "version": "1"}}


@contextmanager
def stdio_peer(
    sandbox: Sandbox, root: Path, *arguments: str, command: Sequence[str] = (*CPL, "mcp")
) -> Iterator[StdioPeer]:
    """Run `cpl mcp` until the block ends."""
    process = started_python(
        (*command, *arguments),
        cwd=root,
        env=sandbox.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    peer = StdioPeer(process)
    try:
        yield peer
    finally:
        peer.close()


class HttpPeer:
    """A client of `/mcp` that speaks raw JSON-RPC over HTTP."""

    def __init__(self, port: int, profile: str = "") -> None:
        self._port = port
        self._path = f"/mcp?profile={profile}" if profile else "/mcp"
        self._next_id = 100
        self.headers: dict[str, str | None] = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }

    def post(self, document: object) -> Reply:
        return send_http(self._port, "POST", self._path, self.headers, json.dumps(document).encode())

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        self._next_id += 1
        document = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": dict(params or {})}
        reply = self.post(document)
        session = reply.headers.get("mcp-session-id")
        if session:
            self.headers["Mcp-Session-Id"] = session
        return _answer_in(reply)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        self.post({"jsonrpc": "2.0", "method": method, "params": dict(params or {})})

    def initialize(self, version: str = "2025-11-25") -> dict[str, Any]:
        answer = self.request("initialize", initialize_params(version))
        self.headers["Mcp-Protocol-Version"] = version
        self.notify("notifications/initialized")
        return answer

    def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = self.request("tools/call", {"name": name, "arguments": dict(arguments or {})})[
            "result"
        ]
        return result


def _answer_in(reply: Reply) -> dict[str, Any]:
    """Return the message of a JSON or an event-stream answer."""
    if "text/event-stream" not in reply.headers.get("content-type", ""):
        document: dict[str, Any] = json.loads(reply.body)
        return document
    for line in reply.body.decode().splitlines():
        if line.startswith("data:") and line.removeprefix("data:").strip():
            message: dict[str, Any] = json.loads(line.removeprefix("data:"))
            if "method" not in message:
                return message
    raise AssertionError(f"no answer in {reply.body!r}")


RawPeer = StdioPeer | HttpPeer
OpenPeer = Callable[..., RawPeer]


def text_of(result: Mapping[str, Any]) -> str:
    """Return a tool result's text."""
    return "\n".join(item["text"] for item in result["content"] if item["type"] == "text")


def error_of(result: Mapping[str, Any]) -> str:
    """Return the registry's name of the error that a tool result carries."""
    assert result["isError"], result
    return text_of(result).split(" ", 1)[0]
