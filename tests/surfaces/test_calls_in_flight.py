"""Calls that take long: progress, cancellation, clients that leave, and bugs in a handler."""

import asyncio
import json
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from surfaces.support_processes import (
    TOY_CPL,
    HttpPeer,
    Sandbox,
    UpServer,
    error_of,
    initialize_params,
    stdio_peer,
    up,
    wait_until,
)
from surfaces.support_sdk import TRANSPORTS, sdk_client, text_in, with_client

pytestmark = pytest.mark.slow


def _rows_of(server: UpServer, operation: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = server.get(f"/operations?type={operation}&limit=500").json["results"]
    return rows


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_progress_reaches_the_client(toy_server: UpServer, tmp_path: Path, transport: str, mode: str) -> None:
    heard: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001 - the SDK's names.
        heard.append((progress, message))
        (tmp_path / "release").touch()

    async def work(client: Client) -> str:
        result = await client.call_tool("toy_wait", {"directory": str(tmp_path)}, progress_callback=hear)
        assert isinstance(result, CallToolResult)
        return text_in(result)

    answer = with_client(sdk_client(toy_server, transport, mode=mode), work)

    assert (heard[0], answer.startswith("looked ")) == ((1.0, "waiting"), True)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_cancelled_call_is_told_to_stop_and_the_session_goes_on(
    toy_server: UpServer, tmp_path: Path, transport: str, mode: str
) -> None:
    async def work(client: Client) -> bool:
        call = asyncio.create_task(client.call_tool("toy_wait", {"directory": str(tmp_path)}))
        await asyncio.to_thread(wait_until, (tmp_path / "started").exists, "the call has started")
        call.cancel()
        await asyncio.to_thread(wait_until, (tmp_path / "cancelled").exists, "the handler saw the cancellation")
        result = await client.call_tool("describe", {})
        return isinstance(result, CallToolResult) and not result.is_error

    assert with_client(sdk_client(toy_server, transport, mode=mode), work)


def test_cancelled_call_does_not_keep_the_stdio_client_waiting_at_the_end(toy_server: UpServer, tmp_path: Path) -> None:
    with stdio_peer(toy_server.sandbox, toy_server.root) as peer:
        peer.initialize()
        call = {"name": "toy_wait", "arguments": {"directory": str(tmp_path)}}
        peer.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call})
        wait_until((tmp_path / "started").exists, "the call has started")
        peer.notify("notifications/cancelled", {"requestId": 7})
        wait_until((tmp_path / "cancelled").exists, "the handler saw the cancellation")

        assert peer.finish() == 0


def test_cancelled_call_is_recorded(toy_server: UpServer, tmp_path: Path) -> None:
    before = len(_rows_of(toy_server, "toy_wait"))
    with stdio_peer(toy_server.sandbox, toy_server.root) as peer:
        peer.initialize()
        call = {"name": "toy_wait", "arguments": {"directory": str(tmp_path)}}
        peer.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call})
        wait_until((tmp_path / "started").exists, "the call has started")
        peer.notify("notifications/cancelled", {"requestId": 7})
        rows = wait_until(lambda: _rows_of(toy_server, "toy_wait")[: -before or None], "the call is recorded")

    assert rows[0]["error"] == "CANCELLED"


def test_cancelling_an_unknown_call_changes_nothing(toy_server: UpServer) -> None:
    with stdio_peer(toy_server.sandbox, toy_server.root) as peer:
        peer.initialize()
        peer.notify("notifications/cancelled", {"requestId": 12345})

        assert not peer.call("describe")["isError"]


def test_stdio_client_that_dies_in_a_call_leaves_the_server_alive(toy_server: UpServer, tmp_path: Path) -> None:
    before = len(_rows_of(toy_server, "toy_wait"))
    with stdio_peer(toy_server.sandbox, toy_server.root) as peer:
        peer.initialize()
        call = {"name": "toy_wait", "arguments": {"directory": str(tmp_path)}}
        peer.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call})
        wait_until((tmp_path / "started").exists, "the call has started")
        peer.process.kill()
    (tmp_path / "release").touch()
    rows = wait_until(lambda: _rows_of(toy_server, "toy_wait")[: -before or None], "the call is recorded")

    assert (toy_server.get("/health").status, len(rows)) == (200, 1)


def test_http_client_that_leaves_in_a_call_leaves_the_server_alive(toy_server: UpServer, tmp_path: Path) -> None:
    before = len(_rows_of(toy_server, "toy_wait"))
    peer = HttpPeer(toy_server.port)
    peer.initialize()
    call = {"name": "toy_wait", "arguments": {"directory": str(tmp_path)}}
    body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call})
    with socket.create_connection(("127.0.0.1", toy_server.port)) as connection:
        lines = [
            "POST /mcp HTTP/1.1",
            f"Host: 127.0.0.1:{toy_server.port}",
            f"Content-Length: {len(body)}",
            *(f"{name}: {value}" for name, value in peer.headers.items()),
        ]
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n" + body).encode())
        wait_until((tmp_path / "started").exists, "the call has started")
    (tmp_path / "release").touch()
    rows = wait_until(lambda: _rows_of(toy_server, "toy_wait")[: -before or None], "the call is recorded")

    assert (toy_server.get("/health").status, len(rows), peer.call("describe")["isError"]) == (200, 1, False)


def test_rest_client_that_leaves_in_a_call_leaves_the_server_alive(toy_server: UpServer, tmp_path: Path) -> None:
    before = len(_rows_of(toy_server, "toy_wait"))
    body = json.dumps({"directory": str(tmp_path)})
    with socket.create_connection(("127.0.0.1", toy_server.port)) as connection:
        head = f"POST /operations/toy_wait HTTP/1.1\r\nHost: 127.0.0.1:{toy_server.port}\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        wait_until((tmp_path / "started").exists, "the call has started")
    (tmp_path / "release").touch()
    rows = wait_until(lambda: _rows_of(toy_server, "toy_wait")[: -before or None], "the call is recorded")

    assert (toy_server.get("/health").status, len(rows)) == (200, 1)


def test_slow_call_does_not_hold_up_other_calls(toy_server: UpServer, tmp_path: Path) -> None:
    with stdio_peer(toy_server.sandbox, toy_server.root) as peer:
        peer.initialize()
        call = {"name": "toy_wait", "arguments": {"directory": str(tmp_path)}}
        peer.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call})
        wait_until((tmp_path / "started").exists, "the call has started")
        quick = peer.call("describe")
        (tmp_path / "release").touch()
        slow = peer.receive_answer(7)

    assert (quick["isError"], slow["result"]["isError"]) == (False, False)


def test_bug_in_a_handler_is_an_internal_error_for_the_client(toy_server: UpServer) -> None:
    peer = HttpPeer(toy_server.port)
    peer.initialize()

    assert error_of(peer.call("toy_break")) == "INTERNAL_ERROR"


def test_bug_in_a_handler_is_one_line_in_the_log(sandbox: Sandbox, sample_repo: Path) -> None:
    with up(sandbox, sample_repo, program=TOY_CPL) as server:
        server.operate("toy_break", {})
        lines = (server.private / "logs" / "server.jsonl").read_text(encoding="utf-8").splitlines()

    events = [json.loads(line)["event"] for line in lines]
    assert events == ["server started", "an operation failed unexpectedly"]


def test_bug_in_a_handler_floods_no_terminal(sandbox: Sandbox, sample_repo: Path) -> None:
    with up(sandbox, sample_repo, program=TOY_CPL) as server:
        for _ in range(50):
            server.operate("toy_break", {})
        server.stop()

    told = server.stderr.count("an operation failed unexpectedly")
    assert (told, len(server.stderr.splitlines()) < 10, "Traceback" in server.stderr) == (1, True, False)


def test_bug_in_a_handler_is_shown_as_the_last_error(toy_server: UpServer) -> None:
    toy_server.operate("toy_break", {})

    shown = wait_until(lambda: toy_server.get("/status").json["last_error"], "the error is shown")
    assert shown["operation"] == "toy_break"


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("toy_break", {"text": "token SECRET"}),
        ("read_source", {"targets": ["SECRET.txt"]}),
        ("list_files", {"SECRET": 1}),
        ("list_files", {"path": "SECRET"}),
        ("SECRET", {}),
    ],
    ids=["failure", "path", "unknown-argument", "directory", "operation"],
)
def test_secret_in_arguments_reaches_neither_log_nor_ledger(
    toy_server: UpServer, operation: str, arguments: dict[str, Any]
) -> None:
    secret = f"ghp_Zk3Qm8Rt1Vx5Wp7Ln2Jb9Hd4Fs6Gc0YaU{len(operation) % 10}{len(str(arguments)) % 10}"
    body = json.loads(json.dumps(arguments).replace("SECRET", secret))
    toy_server.operate(operation.replace("SECRET", secret), body)
    toy_server.get("/operations")  # Commits the rows that wait.

    names = ("logs/server.jsonl", "ledger.db", "ledger.db-wal")
    kept = {name: (toy_server.private / name).read_bytes() for name in names if (toy_server.private / name).exists()}
    assert [name for name, data in kept.items() if secret.encode() in data] == []


def test_secret_in_arguments_reaches_no_terminal(sandbox: Sandbox, sample_repo: Path) -> None:
    secret = "ghp_" + "Ak3Qm8Rt1Vx5Wp7Ln2Jb9Hd4Fs6Gc0YaUe2"
    with up(sandbox, sample_repo, program=TOY_CPL) as server:
        server.operate("toy_break", {"text": f"token {secret}"})
        server.stop()

    assert ("an operation failed" in server.stderr, secret in server.stderr) == (True, False)


def test_embedded_server_of_a_client_that_leaves_in_a_call_ends_by_itself(toy_server: UpServer, tmp_path: Path) -> None:
    sandbox = toy_server.sandbox
    root = tmp_path / "alone"
    subprocess.run(("git", "clone", "-q", str(toy_server.root), str(root)), env=sandbox.env, check=True, timeout=60)
    marks = tmp_path / "marks"
    marks.mkdir()
    with stdio_peer(sandbox, root, command=(*TOY_CPL, "mcp")) as peer:
        peer.request("initialize", initialize_params("2025-11-25"))
        call = {"name": "toy_wait", "arguments": {"directory": str(marks)}}
        peer.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call})
        wait_until((marks / "started").exists, "the call has started")
        assert peer.process.stdin is not None
        peer.process.stdin.close()
        (marks / "release").touch()

        assert (peer.receive_answer(7)["result"]["isError"], peer.process.wait(30)) == (False, 0)
