"""Who may reach the server, and what the operator token opens."""

import socket
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from surfaces.support_processes import DEADLINE_SECONDS, Sandbox, UpServer, run_cpl, send_http

pytestmark = pytest.mark.slow


def test_foreign_host_is_refused(shared_server: UpServer) -> None:
    reply = shared_server.get("/status", {"Host": f"evil.example:{shared_server.port}"})

    assert (reply.status, reply.json["error"]) == (403, "HOST_NOT_ALLOWED")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "", "127.0.0.1.evil.example", "0.0.0.0"])
def test_host_that_is_not_this_server_is_refused(shared_server: UpServer, host: str) -> None:
    reply = shared_server.get("/status", {"Host": host})

    assert (reply.status, reply.json["error"]) == (403, "HOST_NOT_ALLOWED")


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_loopback_names_are_accepted(shared_server: UpServer, name: str) -> None:
    assert shared_server.get("/status", {"Host": f"{name}:{shared_server.port}"}).status == 200


def _talk(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_SECONDS) as connection:
        connection.sendall(data)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_old_request_without_a_host_is_refused(shared_server: UpServer) -> None:
    answer = _talk(shared_server.port, b"GET /status HTTP/1.0\r\n\r\n")

    assert (b" 403 " in answer, b"HOST_NOT_ALLOWED" in answer) == (True, True)


@pytest.mark.parametrize("data", [b"GET /status HTTP/1.1\r\n\r\n", b"nonsense\r\n\r\n"], ids=["no-host", "not-http"])
def test_request_that_is_not_http_names_repository_and_error(shared_server: UpServer, data: bytes) -> None:
    answer = _talk(shared_server.port, data)

    assert (answer.startswith(b"HTTP/1.1 400 "), b"INVALID_FORMAT" in answer) == (True, True)
    assert f"x-codeplane-repo: {shared_server.root}\r\n".encode() in answer.lower().replace(
        str(shared_server.root).lower().encode(), str(shared_server.root).encode()
    )


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "file://", ""])
@pytest.mark.parametrize("path", ["/status", "/mcp", "/stream/events"])
def test_foreign_origin_is_refused(shared_server: UpServer, origin: str, path: str) -> None:
    reply = shared_server.get(path, {"Origin": origin})

    assert (reply.status, reply.json["error"]) == (403, "ORIGIN_NOT_ALLOWED")


def test_foreign_origin_cannot_call_operations(shared_server: UpServer) -> None:
    reply = shared_server.post("/operations/describe", {}, {"Origin": "https://evil.example"})

    assert reply.status == 403


def test_own_origin_is_accepted(shared_server: UpServer) -> None:
    assert shared_server.get("/status", {"Origin": shared_server.url}).status == 200


def test_refusals_name_the_repository(shared_server: UpServer) -> None:
    reply = shared_server.get("/status", {"Origin": "https://evil.example"})

    assert reply.headers["x-codeplane-repo"] == str(shared_server.root)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("describe", {}),
        ("list_files", {}),
        ("read_source", {"targets": ["README.md"]}),
        ("read_file_full", {"path": "README.md"}),
    ],
)
def test_reading_over_rest_needs_no_token(shared_server: UpServer, name: str, arguments: dict[str, object]) -> None:
    assert shared_server.operate(name, arguments).status == 200


CHANGES: list[tuple[str, dict[str, object]]] = [
    ("reset_budget", {}),
    ("call", {"operation": "describe"}),
    ("call", {"operation": "reset_budget"}),
]


@pytest.mark.parametrize(("name", "arguments"), CHANGES)
def test_changing_over_rest_needs_the_token(shared_server: UpServer, name: str, arguments: dict[str, object]) -> None:
    reply = shared_server.operate(name, arguments)

    assert (reply.status, reply.json["error"]) == (401, "OPERATOR_TOKEN_REQUIRED")


@pytest.mark.parametrize(("name", "arguments"), CHANGES)
def test_the_token_opens_changes_over_rest(shared_server: UpServer, name: str, arguments: dict[str, object]) -> None:
    assert shared_server.operate(name, arguments, shared_server.sandbox.token).status == 200


@pytest.mark.parametrize(
    "header", ["Bearer wrong", "Bearer ", "Bearer", "Basic {token}", "{token}", "Bearer {token}x", "Bearer \u00e9"]
)
def test_anything_but_the_token_is_refused(shared_server: UpServer, header: str) -> None:
    value = header.format(token=shared_server.sandbox.token)

    assert shared_server.post("/operations/reset_budget", {}, {"Authorization": value}).status == 401


def test_only_the_owner_can_read_the_token_file(shared_server: UpServer) -> None:
    assert stat.S_IMODE(shared_server.sandbox.token_file.stat().st_mode) == 0o600


def test_only_the_owner_can_use_the_socket(shared_server: UpServer) -> None:
    assert stat.S_IMODE((shared_server.private / "server.sock").resolve().stat().st_mode) == 0o600


def test_the_token_reaches_no_log_ledger_or_status(shared_server: UpServer) -> None:
    token = shared_server.sandbox.token
    shared_server.operate("reset_budget", {}, token)
    shared_server.get("/operations")  # Commits the rows that wait.
    places = [shared_server.private / name for name in ("logs/server.jsonl", "ledger.db", "ledger.db-wal")]
    kept = b"".join(place.read_bytes() for place in places if place.exists())

    status = run_cpl(shared_server.sandbox, shared_server.root, "status", "--json", "--verbose")

    assert token.encode() not in kept + shared_server.get("/status").body + status.stdout.encode()


def test_the_server_listens_on_loopback_only(shared_server: UpServer) -> None:
    table = Path(f"/proc/{shared_server.process.pid}/net/tcp")
    if not table.exists():
        # Without /proc: only a wildcard listener would answer at another loopback address.
        with socket.socket() as other:
            other.settimeout(2)
            assert other.connect_ex(("127.0.0.2", shared_server.port)) != 0
        return
    listening = {
        line.split()[1] for line in table.read_text(encoding="ascii").splitlines()[1:] if line.split()[3] == "0A"
    }

    assert [address for address in listening if address.endswith(f":{shared_server.port:04X}")] == [
        f"0100007F:{shared_server.port:04X}"
    ]


def test_rest_calls_with_the_token_are_recorded_as_a_persons(shared_server: UpServer) -> None:
    shared_server.operate("reset_budget", {}, shared_server.sandbox.token)
    shared_server.get("/operations")

    with closing(sqlite3.connect(shared_server.private / "ledger.db")) as database:
        query = "SELECT body FROM events WHERE operation = 'reset_budget' ORDER BY seq DESC LIMIT 1"
        body = database.execute(query).fetchone()[0]
    assert '"caller":"person"' in body


def test_socket_client_without_the_hello_is_told(shared_server: UpServer) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(DEADLINE_SECONDS)
        connection.connect(str((shared_server.private / "server.sock").resolve()))
        connection.sendall(b'hello\n{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
        answer = connection.recv(65536)

    assert b"INVALID_FORMAT" in answer


def test_websocket_request_with_a_foreign_host_is_refused(shared_server: UpServer) -> None:
    upgrade: dict[str, str | None] = {
        "Host": "evil.example",
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version": "13",
    }

    assert send_http(shared_server.port, "GET", "/mcp", upgrade).status == 403


def test_an_agents_server_does_not_start_with_looser_settings(sandbox: Sandbox, sample_repo: Path) -> None:
    done = run_cpl(sandbox, sample_repo, "mcp", "--set", "tasks.max_mutations=100000")
    assert done.returncode != 0
    assert "Only a person can loosen tasks.max_mutations" in done.stderr
