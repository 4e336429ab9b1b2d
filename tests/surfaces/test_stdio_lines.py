"""What `cpl mcp` does with lines that no good client would send."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import codeplane.surfaces.bridge
from support.forks import run_forked
from surfaces.support_processes import (
    CPL,
    SAMPLE_FILES,
    Sandbox,
    StdioPeer,
    UpServer,
    initialize_params,
    stdio_peer,
    text_of,
    up,
)

pytestmark = pytest.mark.slow

BRIDGE_ALONE = (sys.executable, "-I", "-S", codeplane.surfaces.bridge.__file__)


@pytest.fixture
def peer(shared_server: UpServer) -> Iterator[StdioPeer]:
    with stdio_peer(shared_server.sandbox, shared_server.root) as made:
        made.initialize()
        yield made


def _refusal(peer: StdioPeer, line: bytes) -> tuple[int, object]:
    peer.send_raw(line + b"\n")
    answer = peer.receive()
    return answer["error"]["code"], answer["id"]


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"this is not JSON", -32700, None),
        (b"{", -32700, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "pi\xff\xfeng"}', -32700, 1),
        (b'{"jsonrpc": "2.0", "id": 8, "params": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", -32700, 8),
        (b"[" * 100_000 + b"]" * 100_000, -32700, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600, None),
        (b"42", -32600, None),
        (b'"ping"', -32600, None),
        (b"null", -32600, None),
        (b"true", -32600, None),
        (b"{}", -32600, None),
        (b'{"jsonrpc": "1.0", "id": 5, "method": "ping"}', -32600, 5),
        (b'{"id": 5, "method": "ping"}', -32600, 5),
        (b'{"jsonrpc": "2.0", "id": "five"}', -32600, "five"),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": 5, "method": 7}', -32600, 5),
        (b'{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": 7}', -32600, 5),
        (b"x" * (16 * 1024 * 1024 + 70_000), -32600, None),
    ],
    ids=[
        "text", "cut", "not-utf8", "deep-params", "deep", "empty-array", "batch", "number", "string", "null", "true",
        "empty-object",
        "jsonrpc-1", "no-jsonrpc", "no-method", "boolean-id", "object-id", "method-number", "params-number", "huge",
    ],
)  # fmt: skip
def test_bad_line_gets_the_right_error(peer: StdioPeer, line: bytes, code: int, request_id: object) -> None:
    assert _refusal(peer, line) == (code, request_id)


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense",
        b"[]",
        b'{"jsonrpc": "1.0", "id": 5, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 5, "method": "no/such"}',
        b"x" * (16 * 1024 * 1024 + 70_000),
        b"[" * 100_000,
    ],
    ids=["text", "array", "jsonrpc-1", "unknown-method", "huge", "deep"],
)
def test_session_goes_on_after_a_bad_line(peer: StdioPeer, line: bytes) -> None:
    _refusal(peer, line)

    assert not peer.call("describe")["isError"]


@pytest.mark.parametrize(
    "line", [b"nonsense", b"[]", b"x" * (16 * 1024 * 1024 + 70_000)], ids=["text", "array", "huge"]
)
def test_refusal_carries_the_registry_object(peer: StdioPeer, line: bytes) -> None:
    peer.send_raw(line + b"\n")

    assert set(peer.receive()["error"]["data"]) >= {"code", "error", "message", "retryable", "required_action"}


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b"\r",
        b'{"jsonrpc": "2.0", "method": "notifications/unknown"}',
        b'{"jsonrpc": "1.0", "method": "notifications/initialized"}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 999}}',
        b'{"jsonrpc": "2.0", "id": 999, "result": {}}',
    ],
    ids=["empty", "spaces", "cr", "unknown", "jsonrpc-1", "cancelled", "stray-answer"],
)
def test_line_that_wants_no_answer_gets_none(peer: StdioPeer, line: bytes) -> None:
    before = len(peer.lines)
    peer.send_raw(line + b"\n")
    peer.request("ping")

    assert len(peer.lines) == before + 1


def test_lines_may_end_with_crlf(peer: StdioPeer) -> None:
    peer.send_raw(b'{"jsonrpc": "2.0", "id": 5, "method": "ping"}\r\n')

    assert peer.receive() == {"jsonrpc": "2.0", "id": 5, "result": {}}


def test_request_may_arrive_in_pieces(peer: StdioPeer) -> None:
    for byte in b'{"jsonrpc": "2.0", "id": 5, "method": "ping"}\n':
        peer.send_raw(bytes([byte]))

    assert peer.receive()["id"] == 5


def test_many_requests_may_arrive_at_once(peer: StdioPeer) -> None:
    lines = [json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}) for number in range(500)]
    peer.send_raw("\n".join(lines).encode() + b"\n")

    assert {peer.receive()["id"] for _ in lines} == set(range(500))


def test_large_answer_arrives_whole(peer: StdioPeer) -> None:
    result = peer.call("read_file_full", {"path": "src/large.txt", "confirm": True, "inline": True})

    assert SAMPLE_FILES["src/large.txt"] in text_of(result)


def _script(*requests: dict[str, Any]) -> str:
    return "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests)


CONVERSATION = _script(
    {"id": 1, "method": "initialize", "params": initialize_params("2025-11-25")},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
    {"id": 3, "method": "tools/call", "params": {"name": "describe", "arguments": {}}},
    {"id": 4, "method": "tools/call", "params": {"name": "read_source", "arguments": {"targets": ["README.md"]}}},
)


def _piped(sandbox: Sandbox, root: Path, command: tuple[str, ...], text: str) -> "subprocess.CompletedProcess[str]":
    if command is BRIDGE_ALONE:
        return subprocess.run(
            command, cwd=root, env=sandbox.env, input=text, capture_output=True, text=True, timeout=60, check=False
        )
    return run_forked(command, cwd=root, env=sandbox.env, input=text)


@pytest.mark.parametrize("command", [(*CPL, "mcp"), BRIDGE_ALONE], ids=["cpl", "alone"])
@pytest.mark.parametrize("has_server", [True, False])
def test_piped_requests_are_all_answered_before_the_end(
    sandbox: Sandbox, sample_repo: Path, command: tuple[str, ...], has_server: bool
) -> None:
    if has_server:
        with up(sandbox, sample_repo):
            done = _piped(sandbox, sample_repo, command, CONVERSATION)
    else:
        done = _piped(sandbox, sample_repo, command, CONVERSATION)

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, sorted(answer["id"] for answer in answers), done.stderr) == (0, [1, 2, 3, 4], "")


def test_last_line_without_newline_is_answered(shared_server: UpServer) -> None:
    done = _piped(shared_server.sandbox, shared_server.root, (*CPL, "mcp"), CONVERSATION.rstrip("\n"))

    assert len(done.stdout.splitlines()) == 4


def test_empty_input_ends_at_once_and_well(shared_server: UpServer) -> None:
    done = _piped(shared_server.sandbox, shared_server.root, (*CPL, "mcp"), "")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_embedded_server_leaves_nothing_behind(sandbox: Sandbox, sample_repo: Path) -> None:
    _piped(sandbox, sample_repo, (*CPL, "mcp"), CONVERSATION)

    left = {path.name for path in (sample_repo / ".codeplane").iterdir()}
    assert left & {"port", "url", "server.json", "server.sock"} == set()


def test_stdout_carries_json_rpc_even_when_logging_is_verbose(sandbox: Sandbox, sample_repo: Path) -> None:
    settings = ("--set", "logging.level=debug", "--set", 'logging.outputs=[{"destination": "stdout"}]')
    done = _piped(sandbox, sample_repo, (*CPL, "mcp", *settings), CONVERSATION)

    assert [json.loads(line)["jsonrpc"] for line in done.stdout.splitlines()] == ["2.0"] * 4


@pytest.mark.parametrize("command", [(*CPL, "mcp"), BRIDGE_ALONE], ids=["cpl", "alone"])
def test_outside_a_repository_initialize_gets_the_registry_error(
    sandbox: Sandbox, tmp_path: Path, command: tuple[str, ...]
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    done = _piped(sandbox, plain, command, CONVERSATION)

    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, {answer["error"]["data"]["error"] for answer in answers}) == (2, {"NOT_A_REPOSITORY"})
    assert ([answer["id"] for answer in answers], "Traceback" in done.stderr) == ([1, 2, 3, 4], False)


def test_outside_a_repository_a_last_line_without_newline_is_answered(sandbox: Sandbox, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    done = _piped(sandbox, plain, (*CPL, "mcp"), CONVERSATION.rstrip("\n"))

    assert len(done.stdout.splitlines()) == 4


def test_invalid_configuration_is_told_with_each_call(sandbox: Sandbox, sample_repo: Path) -> None:
    done = _piped(sandbox, sample_repo, (*CPL, "mcp", "--set", "server.prot=1"), CONVERSATION)

    results = [json.loads(line)["result"] for line in done.stdout.splitlines()]
    assert [text_of(one).split(":")[0] for one in results if one.get("isError")] == ["CONFIG_INVALID"] * 2


def test_server_that_cannot_bind_its_socket_is_told_with_each_call(sandbox: Sandbox, sample_repo: Path) -> None:
    (sample_repo / ".codeplane").mkdir()
    (sample_repo / ".codeplane" / "server.sock").mkdir()
    done = _piped(sandbox, sample_repo, (*CPL, "mcp"), CONVERSATION)

    last = json.loads(done.stdout.splitlines()[-1])["result"]
    assert (text_of(last).split(":")[0], "Traceback" in done.stderr) == ("SERVER_UNREACHABLE", False)


@pytest.mark.parametrize("option", ["--colour", "extra", "--profile"])
def test_wrong_option_is_exit_code_2_and_shows_the_usage(shared_server: UpServer, option: str) -> None:
    done = _piped(shared_server.sandbox, shared_server.root, (*CPL, "mcp", option), "")

    assert (done.returncode, done.stdout, "usage: cpl mcp" in done.stderr) == (2, "", True)


def test_repository_is_found_from_a_subdirectory(shared_server: UpServer) -> None:
    with stdio_peer(shared_server.sandbox, shared_server.root / "src") as made:
        made.initialize()

        assert not made.call("describe")["isError"]


def test_repository_can_be_named_by_option(shared_server: UpServer, tmp_path: Path) -> None:
    with stdio_peer(shared_server.sandbox, tmp_path, f"--repo={shared_server.root}") as made:
        made.initialize()

        assert str(shared_server.root) in text_of(made.call("describe"))


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        (b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "%s"}}', 7),
        (b'{"method": "tools/call", "params": {"id": 1, "name": "%s"}, "jsonrpc": "2.0", "id": "seven"}', "seven"),
        (b'{"params": {"name": "%s"}, "id": 7, "jsonrpc": "2.0", "method": "tools/call"}', 7),
        (b'{"params": {"name": "%s", "id": 7}}', None),
    ],
    ids=["before", "after", "between", "none"],
)
def test_message_that_is_too_long_is_answered_and_the_session_goes_on(
    sandbox: Sandbox, sample_repo: Path, line: bytes, request_id: object
) -> None:
    with stdio_peer(sandbox, sample_repo) as peer:
        peer.initialize()
        peer.send_raw(line % (b"x" * 21_000_000) + b"\n")
        answer = peer.receive()
        works = peer.call("describe")["isError"] is False

    assert (answer["id"], answer["error"]["data"]["error"], works) == (request_id, "PAYLOAD_TOO_LARGE", True)
