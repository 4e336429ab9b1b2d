"""Other users of the machine stay outside; clients of the owner, and clients with a secret, get in."""

import asyncio
import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client

from codeplane.surfaces.server.access import owner_of, split_secret
from surfaces.support_processes import (
    DEADLINE_SECONDS,
    Reply,
    Sandbox,
    UpServer,
    make_repo,
    make_sandbox,
    run_cpl,
    send_http,
    up,
    wait_until,
)

pytestmark = pytest.mark.slow

STRANGER_CPL = (sys.executable, str(Path(__file__).with_name("support_stranger_cpl.py")))
CLOSED = (
    "/status",
    "/metrics",
    "/operations",
    "/tasks",
    "/approvals",
    "/stream/events",
    "/openapi.json",
    "/mcp",
    "/",
    "/dashboard",
)
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
_MCP_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module", params=["another", "unknown"])
def told(request: pytest.FixtureRequest) -> str:
    """Return what the system says about whose a connection is."""
    return str(request.param)


@pytest.fixture(scope="module")
def strange_server(told: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpServer]:
    """Return a server to which the system calls every client another user's, or does not say whose it is."""
    directory = tmp_path_factory.mktemp("strange")
    with make_sandbox(directory) as sandbox:
        root = make_repo(sandbox, directory / "sample")
        with up(sandbox, root, program=STRANGER_CPL, env={"TOLD": told}) as server:
            yield server


def _secret(sandbox: Sandbox) -> str:
    return (sandbox.home / "state" / "codeplane" / "access.secret").read_text(encoding="ascii").strip()


def test_a_login_link_opens_the_dashboard_unless_the_system_says_that_another_user_follows_it(
    strange_server: UpServer, told: str
) -> None:
    headers = {"Authorization": f"Bearer {strange_server.sandbox.token}"}
    link = send_http(strange_server.port, "POST", "/dashboard/login-links", headers).json["url"]
    connection = http.client.HTTPConnection("127.0.0.1", strange_server.port, timeout=DEADLINE_SECONDS)
    connection.request("GET", link.partition(f":{strange_server.port}")[2])
    answer = connection.getresponse()
    cookies = [value.partition(";")[0] for name, value in answer.getheaders() if name.lower() == "set-cookie"]
    connection.close()

    found = [strange_server.get("/dashboard", {"Cookie": "; ".join(cookies[:n])}).status for n in (1, 2)]

    assert (answer.status, len(cookies), found) == {"another": (401, 0, [401, 401]), "unknown": (303, 2, [401, 200])}[
        told
    ]


@pytest.mark.parametrize("path", CLOSED)
def test_another_user_gets_401_and_learns_nothing(strange_server: UpServer, path: str) -> None:
    reply = strange_server.get(path)

    assert (reply.status, reply.json["error"]) == (401, "ACCESS_SECRET_REQUIRED")
    assert ("x-codeplane-repo" in reply.headers, str(strange_server.root) in reply.body.decode()) == (False, False)


@pytest.mark.parametrize("path", ["/mcp", "/", "/s/wrong/mcp", "/s//mcp", "/operations/describe"])
def test_another_user_cannot_post(strange_server: UpServer, path: str) -> None:
    assert strange_server.post(path, _INITIALIZE, _MCP_HEADERS).status == 401


@pytest.mark.parametrize("headers", [{"Authorization": "Bearer wrong"}, {"Cookie": "codeplane_access=wrong"}])
def test_wrong_secret_opens_nothing(strange_server: UpServer, headers: dict[str, str]) -> None:
    assert {strange_server.get(path, headers).status for path in CLOSED} == {401}


@pytest.mark.parametrize("way", ["header", "cookie", "path"])
@pytest.mark.parametrize("path", ["/status", "/metrics", "/operations"])
def test_the_access_secret_opens_reading(strange_server: UpServer, way: str, path: str) -> None:
    assert _with_secret(strange_server, way, "GET", path).status == 200


@pytest.mark.parametrize("way", ["header", "cookie", "path"])
@pytest.mark.parametrize("path", ["/mcp", "/"])
def test_the_access_secret_opens_mcp(strange_server: UpServer, way: str, path: str) -> None:
    reply = _with_secret(strange_server, way, "POST", path, json.dumps(_INITIALIZE).encode())

    assert (reply.status, b'"serverInfo"' in reply.body) == (200, True)


def test_the_access_secret_opens_the_event_stream(strange_server: UpServer) -> None:
    request = f"GET /s/{_secret(strange_server.sandbox)}/stream/events?last_event_id=0 HTTP/1.1\r\n"
    with socket.create_connection(("127.0.0.1", strange_server.port), timeout=DEADLINE_SECONDS) as connection:
        connection.sendall(f"{request}Host: 127.0.0.1:{strange_server.port}\r\n\r\n".encode())
        answer = connection.recv(65536)

    assert (answer.startswith(b"HTTP/1.1 200"), b"text/event-stream" in answer) == (True, True)


def test_the_access_secret_never_makes_its_caller_a_person(strange_server: UpServer) -> None:
    secret = _secret(strange_server.sandbox)
    edit = {"edits": [{"path": "new.txt", "action": "create", "content": "x"}]}

    replies = [
        strange_server.operate("write_source", edit, secret),
        strange_server.post("/tasks", {}, {"Authorization": f"Bearer {secret}"}),
        strange_server.get("/approvals", {"Authorization": f"Bearer {secret}"}),
    ]

    assert [(one.status, one.json["error"]) for one in replies] == [(401, "OPERATOR_TOKEN_REQUIRED")] * 3
    assert secret != strange_server.sandbox.token


def test_the_operator_token_opens_the_door_too(strange_server: UpServer) -> None:
    assert strange_server.operate("describe", {}, strange_server.sandbox.token).status == 200


def test_a_replaced_operator_token_opens_the_door_no_more(strange_server: UpServer) -> None:
    file, old = strange_server.sandbox.token_file, strange_server.sandbox.token
    try:
        file.write_text("y" * 43, "ascii")
        found = [strange_server.operate("describe", {}, token).status for token in (old, "y" * 43)]
    finally:
        file.write_text(f"{old}\n", "ascii")

    assert found == [401, 200]


@pytest.mark.parametrize("path", ["/health", "/ready"])
def test_monitoring_needs_no_secret_and_learns_nothing(strange_server: UpServer, path: str) -> None:
    wait_until(lambda: strange_server.get("/ready").status == 200, "the first index is built")

    reply = strange_server.get(path)

    assert (reply.status, set(reply.json) <= {"status", "version"}) == (200, True)
    assert "x-codeplane-repo" not in reply.headers


def test_unreadable_request_of_another_user_is_not_told_the_repository(strange_server: UpServer) -> None:
    with socket.create_connection(("127.0.0.1", strange_server.port), timeout=DEADLINE_SECONDS) as connection:
        connection.sendall(b"nonsense\r\n\r\n")
        answer = connection.recv(65536)

    assert (b" 400 " in answer, str(strange_server.root).encode() in answer) == (True, False)


def test_the_setting_opens_the_metrics_and_nothing_else(sandbox: Sandbox, sample_repo: Path) -> None:
    (sample_repo / ".codeplane").mkdir(exist_ok=True)
    (sample_repo / ".codeplane/config.yaml").write_text("metrics:\n  open: true\n", encoding="utf-8")
    with up(sandbox, sample_repo, program=STRANGER_CPL) as server:
        codes = {path: server.get(path).status for path in CLOSED}

    assert codes == dict.fromkeys(CLOSED, 401) | {"/metrics": 200}


def test_the_url_file_works_for_an_mcp_client_and_is_private(strange_server: UpServer) -> None:
    file = strange_server.private / "url"

    async def tools() -> int:
        async with Client(file.read_text(encoding="utf-8").strip()) as client:
            return len((await client.list_tools()).tools)

    assert (file.stat().st_mode & 0o777, asyncio.run(tools()) > 0) == (0o600, True)
    assert (strange_server.private / "server.json").stat().st_mode & 0o777 == 0o600
    assert file.read_text(encoding="utf-8").strip() in strange_server.banner


def test_own_commands_work_where_the_system_tells_no_owner(strange_server: UpServer) -> None:
    status = json.loads(run_cpl(strange_server.sandbox, strange_server.root, "status", "--json").stdout)
    doctor = json.loads(run_cpl(strange_server.sandbox, strange_server.root, "doctor", "--json").stdout)

    assert (status["pid"], status["last_error"]) == (strange_server.process.pid, None)
    assert {check["name"]: check["state"] for check in doctor["checks"]}["server"] == "ok"


def test_secret_in_the_path_is_never_told_or_logged(strange_server: UpServer) -> None:
    secret = _secret(strange_server.sandbox)

    reply = strange_server.get(f"/s/{secret}/nowhere")

    log = (strange_server.private / "logs" / "server.jsonl").read_text(encoding="utf-8")
    assert (reply.status, secret in reply.body.decode(), secret in log) == (404, False, False)


_AS_NOBODY = """
import http.client, json, os, sys
port, paths = int(sys.argv[1]), sys.argv[2:]
os.setgroups([]); os.setgid(65534); os.setuid(65534)
def ask(path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    answer = connection.getresponse()
    return [answer.status, answer.getheader("x-codeplane-repo")]
print(json.dumps([ask(path) for path in paths]))
"""


@pytest.mark.skipif(os.getuid() != 0 or sys.platform != "linux", reason="needs root to become another user")
def test_a_process_of_another_user_is_refused_for_real(shared_server: UpServer) -> None:
    paths = (*CLOSED, "/health")

    done = subprocess.run(
        (sys.executable, "-I", "-S", "-c", _AS_NOBODY, str(shared_server.port), *paths),
        cwd="/", capture_output=True, check=True, timeout=60,
    )  # fmt: skip

    assert json.loads(done.stdout) == [[401, None]] * len(CLOSED) + [[200, None]]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the owner of a socket")
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_the_system_names_the_owner_of_a_connection(family: socket.AddressFamily) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(family) as client:
        host, port = listener.getsockname()
        client.connect((host if family is socket.AF_INET else f"::ffff:{host}", port))
        accepted, peer = listener.accept()
        with accepted:
            assert owner_of((peer[0], peer[1]), (host, port)) == os.getuid()


def test_closed_socket_that_the_system_lists_as_root_names_nobody(tmp_path: Path) -> None:
    table = tmp_path / "tcp"
    table.write_text(
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:9C40 0100007F:1F90 06 00000000:00000000 03:00000176 00000000     0        0 0 3 0\n"
        "   1: 0100007F:9C41 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 77 1 0\n"
    )

    assert owner_of(("127.0.0.1", 40000), ("127.0.0.1", 8080), (table,)) is None
    assert owner_of(("127.0.0.1", 40001), ("127.0.0.1", 8080), (table,)) == 1000
    assert owner_of(("127.0.0.1", 40001), ("127.0.0.1", 8080), (tmp_path / "none",)) is None


@pytest.mark.parametrize(
    ("path", "parts"),
    [("/s/abc/mcp", ("abc", "/mcp")), ("/s/abc", ("abc", "/")), ("/s/abc/", ("abc", "/")), ("/mcp", ("", "/mcp")),
     ("/status", ("", "/status")), ("/s/a b/mcp", ("", "/s/a b/mcp"))],
)  # fmt: skip
def test_secret_is_split_from_the_path(path: str, parts: tuple[str, str]) -> None:
    assert split_secret(path) == parts


def _with_secret(server: UpServer, way: str, method: str, path: str, body: bytes = b"") -> Reply:
    secret = _secret(server.sandbox)
    headers = {"header": {"Authorization": f"Bearer {secret}"}, "cookie": {"Cookie": f"codeplane_access={secret}"}}
    sent = (_MCP_HEADERS if body else {}) | headers.get(way, {})
    return send_http(server.port, method, f"/s/{secret}{path}" if way == "path" else path, sent, body)
