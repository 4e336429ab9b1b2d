"""The REST addresses of a running server."""

import http.client
import json
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.version import VERSION
from codeplane.operations.catalog import TOOLS
from codeplane.surfaces.server.host import _listen
from surfaces.support_processes import (
    DEADLINE_SECONDS,
    HttpPeer,
    Sandbox,
    UpServer,
    make_repo,
    make_sandbox,
    send_http,
    up,
    wait_until,
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def rest_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpServer]:
    """Return a server with a known history: three descriptions, two failed reads."""
    directory = tmp_path_factory.mktemp("rest")
    with make_sandbox(directory) as sandbox, up(sandbox, make_repo(sandbox, directory / "sample")) as server:
        for _ in range(3):
            server.operate("describe", {})
        for _ in range(2):
            server.operate("read_source", {"targets": ["missing.txt"]})
        yield server


def test_health_says_ok(rest_server: UpServer) -> None:
    reply = rest_server.get("/health")

    assert (reply.status, reply.json) == (200, {"status": "ok", "version": VERSION})


def test_ready_says_ready(rest_server: UpServer) -> None:
    wait_until(lambda: rest_server.get("/ready").json == {"status": "ready"}, "the first index is built")


@pytest.fixture
def old_token(rest_server: UpServer) -> Iterator[str]:
    """Return the operator token, for a test that replaces it; it is put back."""
    token = rest_server.sandbox.token
    yield token
    rest_server.sandbox.token_file.write_text(f"{token}\n", "ascii")


def test_a_deleted_token_is_worth_nothing_and_the_next_one_counts_at_once(
    rest_server: UpServer, old_token: str
) -> None:
    rest_server.sandbox.token_file.unlink()

    old = rest_server.post("/tasks", {}, {"Authorization": f"Bearer {old_token}"})
    current = rest_server.post("/tasks", {}, {"Authorization": f"Bearer {rest_server.sandbox.token}"})

    assert (old.status, current.status, rest_server.sandbox.token != old_token) == (401, 201, True)


@pytest.mark.parametrize("bearer", ["", "short", "{old}"])
def test_while_the_token_is_damaged_nobody_is_a_person(rest_server: UpServer, old_token: str, bearer: str) -> None:
    rest_server.sandbox.token_file.write_text("short\n", "ascii")
    headers = {"Authorization": f"Bearer {bearer.format(old=old_token)}"}

    assert (rest_server.post("/tasks", {}, headers).status, rest_server.get("/status").status) == (401, 200)


@pytest.mark.parametrize(
    "key",
    ["api_version", "repo_root", "repo_id", "repo_fingerprint", "last_reconcile", "last_error", "sessions", "port"],
)
def test_status_has_the_key(rest_server: UpServer, key: str) -> None:
    assert key in rest_server.get("/status").json


def test_status_shows_sessions_by_label_and_never_their_secret(rest_server: UpServer) -> None:
    secret = rest_server.operate("describe", {}).json["meta"]["session_id"]

    reply = rest_server.get("/status")

    labels = {session["label"][:2] for session in reply.json["sessions"]}
    assert (labels, secret in reply.body.decode()) == ({"s-"}, False)


@pytest.mark.parametrize(
    "line",
    [
        "process_resident_memory_bytes ",
        "process_cpu_seconds_total ",
        "process_open_fds ",
        "codeplane_sessions ",
        "codeplane_calls_in_flight 0.0",
        "codeplane_ledger_rows ",
        "# TYPE codeplane_call_seconds histogram",
        "# TYPE codeplane_reconcile_seconds histogram",
        "codeplane_index_head_drift ",
        'codeplane_language_files{language="python"} 1.0',
        'codeplane_language_files_with_symbols{language="python"} 1.0',
        'codeplane_language_files_linked{language="python"} ',
    ],
)
def test_metrics_show_calls_and_resources(rest_server: UpServer, line: str) -> None:
    assert line in rest_server.get("/metrics").body.decode()


def test_metrics_are_prometheus_text(rest_server: UpServer) -> None:
    assert rest_server.get("/metrics").headers["content-type"].startswith("text/plain; version=0.0.4")


def _rows(server: UpServer, query: str = "") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = server.get(f"/operations{query}").json["results"]
    return rows


def test_operations_come_newest_first(rest_server: UpServer) -> None:
    numbers = [row["seq"] for row in _rows(rest_server)]

    assert (len(numbers) >= 5, numbers) == (True, sorted(numbers, reverse=True))


def test_operations_can_be_filtered_by_type(rest_server: UpServer) -> None:
    assert [row["operation"] for row in _rows(rest_server, "?type=read_source")] == ["read_source"] * 2


def test_operations_can_be_filtered_by_outcome(rest_server: UpServer) -> None:
    assert {(row["kind"], row["error"]) for row in _rows(rest_server, "?outcome=failed")} == {
        ("failed", "FILE_NOT_FOUND")
    }


def test_operations_can_be_filtered_by_session(rest_server: UpServer) -> None:
    label = _rows(rest_server)[0]["session"]

    assert {row["session"] for row in _rows(rest_server, f"?session={label}")} == {label}


def test_operations_of_an_unknown_task_are_none(rest_server: UpServer) -> None:
    assert _rows(rest_server, "?task=task_nobody") == []


def test_operations_since_the_future_are_none(rest_server: UpServer) -> None:
    assert _rows(rest_server, "?since=2999-01-01T00:00:00Z") == []


def test_operations_until_the_past_are_none(rest_server: UpServer) -> None:
    assert _rows(rest_server, "?until=2001-01-01T00:00:00Z") == []


def test_operations_between_two_times_are_all_of_them(rest_server: UpServer) -> None:
    found = _rows(rest_server, "?type=read_source&since=2001-01-01T00:00:00Z&until=2999-01-01T00:00:00Z")

    assert len(found) == 2


def test_pages_of_operations_join_without_gap_or_overlap(rest_server: UpServer) -> None:
    all_numbers = [row["seq"] for row in _rows(rest_server, "?type=describe")]
    paged: list[int] = []
    cursor = ""
    while True:
        page = rest_server.get(f"/operations?type=describe&limit=2{cursor}").json
        paged += [row["seq"] for row in page["results"]]
        if page["pagination"]["next_cursor"] is None:
            break
        cursor = f"&cursor={page['pagination']['next_cursor']}"

    assert paged == all_numbers


@pytest.mark.parametrize(
    "query",
    [
        "?outcome=perhaps",
        "?limit=0",
        "?limit=501",
        "?limit=ten",
        "?limit=%C2%B2",
        "?limit=" + "9" * 5000,
        "?cursor=-1",
        "?cursor=" + "9" * 30,
        "?since=yesterday",
        "?until=",
        "?colour=red",
    ],
)
def test_bad_filter_is_refused_with_a_registry_error(rest_server: UpServer, query: str) -> None:
    reply = rest_server.get(f"/operations{query}")

    assert (reply.status, reply.json["error"]) == (400, "INVALID_ARGUMENTS")


@contextmanager
def event_stream(server: UpServer, headers: dict[str, str] | None = None) -> Iterator[Iterator[dict[str, str]]]:
    """Open `/stream/events` and give its events as dictionaries of their fields."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE_SECONDS)
    try:
        connection.request("GET", "/stream/events", headers=headers or {})
        yield _events(connection.getresponse())
    finally:
        connection.close()


def _events(response: http.client.HTTPResponse) -> Iterator[dict[str, str]]:
    event: dict[str, str] = {}
    for line in response:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            event[name] = value
        elif event:
            yield event
            event = {}


def test_event_stream_shows_a_call_as_it_happens(rest_server: UpServer) -> None:
    with event_stream(rest_server, {"Last-Event-ID": str(_rows(rest_server)[0]["seq"])}) as events:
        rest_server.operate("list_files", {})
        # Rows of earlier reads are committed in groups, so they may come first.
        event = next(event for event in events if json.loads(event["data"])["operation"] == "list_files")

    assert event["event"] == "finished"


def test_event_ids_are_row_numbers(rest_server: UpServer) -> None:
    with event_stream(rest_server, {"Last-Event-ID": "0"}) as events:
        assert [next(events)["id"] for _ in range(4)] == ["1", "2", "3", "4"]


def test_event_stream_resumes_after_the_last_event_id(rest_server: UpServer) -> None:
    with event_stream(rest_server, {"Last-Event-ID": "2"}) as events:
        assert next(events)["id"] == "3"


@pytest.mark.parametrize("value", ["-1", "last", "\u00b2", "9" * 30, "9" * 5000])
def test_bad_last_event_id_is_refused(rest_server: UpServer, value: str) -> None:
    reply = rest_server.get("/stream/events", {"Last-Event-ID": value})

    assert (reply.status, reply.json["error"]) == (400, "INVALID_ARGUMENTS")


def test_every_event_stream_gets_a_shutdown_event(sandbox: Sandbox, sample_repo: Path) -> None:
    last: list[str] = []
    connected = threading.Barrier(17)

    def follow(server: UpServer) -> None:
        with event_stream(server, {"Last-Event-ID": "0"}) as events:
            next(events)
            connected.wait(DEADLINE_SECONDS)
            last.append([event["event"] for event in events][-1])

    with up(sandbox, sample_repo) as server:
        threads = [threading.Thread(target=follow, args=(server,), daemon=True) for _ in range(16)]
        for thread in threads:
            thread.start()
        connected.wait(DEADLINE_SECONDS)
        server.stop(signal.SIGTERM)
        for thread in threads:
            thread.join(DEADLINE_SECONDS)

    assert last == ["shutdown"] * 16


@pytest.mark.parametrize(
    ("path", "status"),
    [("/health", 200), ("/metrics", 200), ("/operations?limit=0", 400), ("/nowhere", 404), ("/", 400), ("/mcp", 400)],
)
def test_every_answer_names_the_repository(rest_server: UpServer, path: str, status: int) -> None:
    accept: dict[str, str | None] = {"Accept": "application/json, text/event-stream"}
    reply = rest_server.get(path, accept)

    assert (reply.status, reply.headers["x-codeplane-repo"]) == (status, str(rest_server.root))


def test_wrong_method_names_the_repository_and_the_right_method(rest_server: UpServer) -> None:
    reply = rest_server.post("/health", {})

    assert (reply.status, reply.json["error"], reply.headers["x-codeplane-repo"]) == (
        405,
        "METHOD_NOT_ALLOWED",
        str(rest_server.root),
    )


def test_unknown_address_is_told_with_the_error_object(rest_server: UpServer) -> None:
    assert rest_server.get("/nowhere").json["error"] == "NOT_FOUND"


def test_mcp_answers_name_the_repository(rest_server: UpServer) -> None:
    reply = HttpPeer(rest_server.port).post({"jsonrpc": "2.0", "id": 1, "method": "ping"})

    assert reply.headers["x-codeplane-repo"] == str(rest_server.root)


def test_event_streams_name_the_repository(rest_server: UpServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", rest_server.port, timeout=DEADLINE_SECONDS)
    connection.request("GET", "/stream/events")
    with connection.getresponse() as response:
        header = response.getheader("X-CodePlane-Repo")
    connection.close()

    assert header == str(rest_server.root)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "INVALID_FORMAT"),
        (b"[1]", "INVALID_FORMAT"),
        (b"\xff\xfe", "INVALID_FORMAT"),
        (b"[" * 100_000, "INVALID_FORMAT"),
        (b'{"a": "' + b"x" * (17 * 1024 * 1024) + b'"}', "PAYLOAD_TOO_LARGE"),
    ],
    ids=["cut", "array", "not-utf8", "deep", "large"],
)
def test_bad_body_is_refused_with_a_registry_error(rest_server: UpServer, body: bytes, code: str) -> None:
    reply = send_http(rest_server.port, "POST", "/operations/describe", {}, body)

    assert (reply.status, reply.json["error"]) == (400, code)


def test_half_a_surrogate_pair_in_an_argument_is_answered(rest_server: UpServer) -> None:
    reply = rest_server.operate("describe", {"action": "tool", "name": "\ud800"})

    assert (reply.status in {400, 422}, "error" in reply.json) == (True, True)


def test_failed_operation_is_422_with_the_error_object(rest_server: UpServer) -> None:
    reply = rest_server.operate("list_files", {"path": "nowhere"})

    assert (reply.status, reply.json["error"], reply.json["meta"]["complete"]) == (422, "FILE_NOT_FOUND", True)


def test_unknown_operation_is_answered_with_the_nearest(rest_server: UpServer) -> None:
    reply = rest_server.operate("read_sources", {})

    assert (reply.status, reply.json["error"], "read_source" in reply.json["required_action"]) == (
        422,
        "UNKNOWN_OPERATION",
        True,
    )


def test_no_request_of_this_module_left_a_traceback(rest_server: UpServer) -> None:
    rest_server.operate("describe", {"action": "tool", "name": "\ud800"})
    rest_server.get("/operations?limit=%C2%B2")

    assert "Traceback" not in rest_server.stderr


def test_the_openapi_document_lists_every_operation(rest_server: UpServer) -> None:
    paths = rest_server.get("/openapi.json").json["paths"]

    assert {f"/operations/{name}" for name in TOOLS} <= set(paths)


def test_anonymous_callers_do_not_share_a_session(rest_server: UpServer) -> None:
    first = rest_server.operate("describe", {}).json["meta"]["session_id"]

    assert rest_server.operate("describe", {}).json["meta"]["session_id"] != first


def test_the_listener_names_its_protocol_so_that_answers_are_not_delayed() -> None:
    with _listen(0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
