"""Traces and metrics reach the endpoint that a person has configured, and nobody waits for it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from codeplane.core.errors import CodePlaneError
from codeplane.core.tracing import TracedCall, TracedStep
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.surfaces.server import telemetry
from codeplane.surfaces.server.telemetry import TelemetrySender, open_telemetry
from codeplane.workspace.workspace import Workspace
from support.doors import call, open_test_workspace
from surfaces.support_processes import Sandbox, UpServer, run_cpl, up, wait_until

CALL = TracedCall("req_1", "describe", 1_700_000_000_000, 5_000, {}, (TracedStep("work", 1_000, 2_000),))


@dataclass
class Receiver:
    """An OTLP receiver on loopback; `answers` gives the status of each request, `gate` lets answers out."""

    answers: Callable[[int], int]
    bodies: list[tuple[str, bytes]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def spans(self) -> list[Span]:
        found = [ExportTraceServiceRequest.FromString(body) for path, body in self.bodies if path == "/v1/traces"]
        return [span for one in found for part in one.resource_spans for s in part.scope_spans for span in s.spans]

    def calls(self) -> dict[str, Span]:
        return {span.name: span for span in self.spans() if not span.parent_span_id}

    def metrics(self) -> dict[str, Any]:
        found = [ExportMetricsServiceRequest.FromString(body) for path, body in self.bodies if path == "/v1/metrics"]
        scopes = [scope for one in found for part in one.resource_metrics for scope in part.scope_metrics]
        return {metric.name: metric for scope in scopes for metric in scope.metrics}


@contextmanager
def receiving(answers: Callable[[int], int] = lambda _number: 200, *, is_open: bool = True) -> Iterator[Receiver]:
    receiver = Receiver(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.headers.append(dict(self.headers))
            receiver.bodies.append((self.path, body))
            receiver.gate.wait()
            self.send_response(receiver.answers(len(receiver.bodies)))
            self.send_header("Location", f"{receiver.url}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.port = server.server_port
    if is_open:
        receiver.gate.set()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield receiver
    finally:
        receiver.gate.set()
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def sending(repo: Path, receiver: Receiver, *overrides: str) -> Iterator[tuple[Door, TelemetrySender]]:
    """Open a workspace that sends to a receiver."""
    chosen = (f"otel.endpoint={receiver.url}", "otel.metrics_seconds=3600", *overrides)
    with open_test_workspace(repo, overrides=chosen) as workspace:
        sender = open_telemetry(workspace)
        assert sender is not None
        workspace.tracer = sender
        sender.start()
        yield Door(workspace, OPERATIONS), sender
        sender.stop()


def _values(span: Span) -> dict[str, Any]:
    return {one.key: one.value.string_value or one.value.int_value or one.value for one in span.attributes}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telemetry, "_GATHER_SECONDS", 0.01)
    monkeypatch.setattr(telemetry, "_FIRST_PAUSE_SECONDS", 0.01)


@pytest.mark.slow
def test_a_server_sends_its_calls_and_its_metrics(sandbox: Sandbox, sample_repo: Path) -> None:
    with receiving() as receiver:
        sandbox.global_config.parent.mkdir(parents=True, exist_ok=True)
        text = f"otel:\n  endpoint: {receiver.url}\n  metrics_seconds: 0.2\n"
        sandbox.global_config.write_text(text, encoding="utf-8")
        with up(sandbox, sample_repo) as server:
            answered = server.operate("read_source", {"targets": ["nowhere.txt"]})
            span = wait_until(lambda: receiver.calls().get("codeplane.read_source"), "the call is received")
            counted = wait_until(lambda: receiver.metrics().get("codeplane_calls"), "the metrics are received")
            state = server.get("/status").json["telemetry"]

    call_id = answered.json["meta"]["request_id"]
    steps = [one for one in receiver.spans() if one.parent_span_id == span.span_id]
    assert (_values(span)["codeplane.call"], span.status.message) == (call_id, "FILE_NOT_FOUND")
    assert [step.name for step in steps][:2] == ["codeplane.step.recover_interrupted", "codeplane.step.find_session"]
    assert all(step.trace_id == span.trace_id for step in steps)
    assert (counted.sum.is_monotonic, state["problem"]) == (True, None)
    assert {"codeplane_index_staleness_seconds", "process_resident_memory_bytes"} <= set(receiver.metrics())


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("is_wanted", [False, True])
def test_paths_are_sent_only_if_a_person_wants_it(repo: Path, is_wanted: bool) -> None:
    (repo / "read_this_file.txt").write_text("text", encoding="utf-8")
    with receiving() as receiver, sending(repo, receiver, f"otel.paths={str(is_wanted).lower()}") as (door, _sender):
        call(door, "read_source", {"targets": ["read_this_file.txt"]})
        wait_until(receiver.calls, "the call is received")
    sent = b"".join(body for _path, body in receiver.bodies)
    assert (b"read_this_file" in sent, str(repo).encode() in sent) == (is_wanted, False)


@pytest.mark.usefixtures("quick")
def test_arguments_are_never_sent(repo: Path) -> None:
    with receiving() as receiver, sending(repo, receiver, "otel.paths=true") as (door, _sender):
        call(door, "search", {"query": "a_word_of_the_prompt"})
        wait_until(receiver.calls, "the call is received")
    assert b"a_word_of_the_prompt" not in b"".join(body for _path, body in receiver.bodies)


@pytest.mark.usefixtures("quick")
def test_calls_are_answered_while_the_endpoint_hangs(repo: Path) -> None:
    with receiving(is_open=False) as receiver, sending(repo, receiver) as (door, _sender):
        call(door, "describe")
        wait_until(lambda: receiver.bodies, "the endpoint has a request that it does not answer")
        answers = [call(door, "describe").outcome.value for _ in range(20)]
        n_requests = len(receiver.bodies)
    assert (answers, n_requests) == (["finished"] * 20, 1)


@pytest.mark.usefixtures("quick")
def test_an_endpoint_that_is_away_is_one_line_in_the_log_and_its_return_another(
    repo: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with receiving(lambda number: 503 if number < 6 else 200) as receiver, sending(repo, receiver) as (door, sender):
        call(door, "describe")
        wait_until(lambda: len(receiver.bodies) >= 6 and not sender.problem, "the endpoint takes it at last")
    said = [record.getMessage() for record in caplog.records if "telemetry" in record.getMessage()]
    assert said == ["telemetry cannot be sent", "telemetry is sent again"]
    assert "codeplane.describe" in receiver.calls()


@pytest.mark.usefixtures("quick")
def test_nothing_is_sent_to_where_a_redirect_leads(repo: Path) -> None:
    with receiving(lambda _number: 307) as receiver, sending(repo, receiver) as (door, sender):
        call(door, "describe")
        wait_until(lambda: sender.problem, "the answer is no success")
    assert {path for path, _body in receiver.bodies} == {"/v1/traces"}


@pytest.mark.usefixtures("quick")
def test_a_proxy_of_the_environment_is_not_used(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiving() as proxy, receiving() as receiver:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        with sending(repo, receiver) as (door, _sender):
            call(door, "describe")
            wait_until(receiver.calls, "the call is received")
    assert proxy.bodies == []


@pytest.mark.usefixtures("quick")
def test_the_headers_that_the_collector_wants_are_sent(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=one%20two, x-other = 3")
    with receiving() as receiver, sending(repo, receiver) as (door, _sender):
        call(door, "describe")
        wait_until(receiver.calls, "the call is received")
    assert (receiver.headers[0]["x-key"], receiver.headers[0]["x-other"]) == ("one two", "3")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("headers", ["x-key=s3cr3t%0d%0ax: y", "x-key=s3cr3t%E2%82%AC", "=s3cr3t"])
def test_a_header_that_cannot_be_sent_is_a_problem_that_is_told_without_it(
    repo: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, headers: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", headers)
    with receiving() as receiver, sending(repo, receiver) as (door, sender):
        call(door, "describe")
        wait_until(lambda: sender.problem, "it is not sent")
        said = f"{sender.problem} {caplog.text}"
    assert ("OTEL_EXPORTER_OTLP_HEADERS" in said, "s3cr3t" in said, receiver.bodies) == (True, False, [])


def test_what_waits_is_bounded_and_the_oldest_is_lost(workspace: Workspace) -> None:
    sender = TelemetrySender(workspace, 0)
    for _ in range(5_000):
        sender.record(CALL)
    assert (sender.state["waiting"], sender.n_lost) == (2_048, 2_952)


def test_without_an_endpoint_nothing_is_sent(workspace: Workspace) -> None:
    assert open_telemetry(workspace) is None


@pytest.mark.parametrize("text", ["endpoint: {url}", "endpoint: {url}\n  paths: true"])
def test_an_endpoint_that_comes_with_the_repository_is_not_contacted(
    repo: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (repo / ".codeplane").mkdir()
    (repo / ".codeplane/config.yaml").write_text(f"otel:\n  {text.format(url='http://127.0.0.1:9')}\n", "utf-8")
    with open_test_workspace(repo) as workspace:
        assert open_telemetry(workspace) is None
    assert "a person sets this" in caplog.text


def test_an_agent_cannot_choose_the_endpoint(sandbox: Sandbox, sample_repo: Path) -> None:
    done = run_cpl(sandbox, sample_repo, "up", "--set", "otel.endpoint=http://127.0.0.1:9")
    assert "Only a person can loosen otel.endpoint" in done.stderr


@pytest.mark.parametrize(
    "endpoint", ["localhost:4318", "ftp://host", "http://", "http://user:word@host", "http://host?key=1", "http://h:x"]
)
def test_what_is_no_address_is_refused(repo: Path, endpoint: str) -> None:
    with pytest.raises(CodePlaneError) as caught:
        open_test_workspace(repo, overrides=(f"otel.endpoint={endpoint}",))
    assert caught.value.code == "CONFIG_INVALID"


def test_a_server_without_an_endpoint_says_so(shared_server: UpServer) -> None:
    assert shared_server.get("/status").json["telemetry"] is None
