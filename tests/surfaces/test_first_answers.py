"""A stdio client whose server still starts gets the handshake and the tool list at once, as the server would say it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from codeplane.surfaces.mcp.first_answers import PROTOCOL_VERSIONS, FirstAnswers
from surfaces.support_processes import (
    Sandbox,
    StdioPeer,
    UpServer,
    initialize_params,
    stdio_peer,
    text_of,
    up,
)

pytestmark = pytest.mark.slow

RULES = "rules:\n  - id: no-undo\n    decide: deny\n    operations: [undo]\n"


@contextmanager
def _no_server_can_start(root: Path) -> Iterator[None]:
    """Hold the server role without serving, as a server does that takes forever to start."""
    (root / ".codeplane").mkdir(mode=0o700, exist_ok=True)
    with FileLock(root / ".codeplane" / "server.lock"):
        yield


@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "1999-01-01", "2099-01-01"])
def test_the_handshake_is_what_the_server_would_say(shared_server: UpServer, version: str) -> None:
    with stdio_peer(shared_server.sandbox, shared_server.root) as peer:
        said = peer.request("initialize", initialize_params(version))["result"]

    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params(version)}
    first = FirstAnswers("core").answer(request)
    assert first is not None
    assert first == said


@pytest.mark.parametrize("profile", ["core", "full", "search,write_source", "git_status"])
@pytest.mark.parametrize("version", [HANDSHAKE_PROTOCOL_VERSIONS[0], HANDSHAKE_PROTOCOL_VERSIONS[-1]])
def test_the_tool_list_is_what_the_server_would_say(shared_server: UpServer, profile: str, version: str) -> None:
    with stdio_peer(shared_server.sandbox, shared_server.root, "--profile", profile) as peer:
        peer.initialize(version)
        said = peer.request("tools/list")["result"]

    answers = FirstAnswers(profile)
    answers.answer({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params(version)})
    assert answers.answer({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}) == said


def test_the_versions_are_those_of_the_sdk() -> None:
    assert PROTOCOL_VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS


@pytest.mark.parametrize(
    "params",
    [None, {}, {"protocolVersion": 7}, {"protocolVersion": "2025-11-25", "capabilities": {}}, [], "x"],
)
def test_a_handshake_that_is_wrong_is_left_to_the_server(params: object) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}

    assert FirstAnswers("core").answer(request) is None


def _greet_and_list(peer: StdioPeer) -> list[str]:
    peer.initialize()
    assert peer.request("ping")["result"] == {}
    return [tool["name"] for tool in peer.request("tools/list")["result"]["tools"]]


def test_a_client_gets_its_tools_before_there_is_a_server(sandbox: Sandbox, sample_repo: Path) -> None:
    with stdio_peer(sandbox, sample_repo) as peer:
        with _no_server_can_start(sample_repo):
            names = _greet_and_list(peer)
            peer.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": _READ})
        answer = peer.receive_answer(7)["result"]
        code = peer.finish()

    assert (len(names), "A sample repository." in text_of(answer), code) == (9, True, 0)
    assert [json.loads(line).get("id") for line in peer.lines] == [101, 102, 103, 7]


_READ = {"name": "read_source", "arguments": {"targets": ["README.md"]}}


@pytest.mark.parametrize(
    ("text", "arguments", "n_tools"),
    [
        ("", ("--profile", "full"), 30),
        ("", ("--profile", "search,describe"), 2),
        ("mcp:\n  profile: search\n", (), 1),
        ("# profile: full\n", (), 9),
        ("", ("--set", "mcp.profile=search,describe"), 2),
    ],
)
def test_the_profile_decides_what_is_listed_before_there_is_a_server(
    sandbox: Sandbox, sample_repo: Path, text: str, arguments: tuple[str, ...], n_tools: int
) -> None:
    with _no_server_can_start(sample_repo):
        (sample_repo / ".codeplane" / "config.yaml").write_text(text, encoding="utf-8")
        with stdio_peer(sandbox, sample_repo, *arguments) as peer:
            names = _greet_and_list(peer)

    assert len(names) == n_tools if n_tools < 30 else len(names) >= 30


def test_a_client_is_told_to_ask_again_when_rules_hide_a_tool(sandbox: Sandbox, sample_repo: Path) -> None:
    (sample_repo / ".orchestration").mkdir()
    (sample_repo / ".orchestration" / "hook_policy.yaml").write_text(RULES, encoding="utf-8")
    with stdio_peer(sandbox, sample_repo) as peer:
        with _no_server_can_start(sample_repo):
            before = _greet_and_list(peer)
        told = peer.receive()
        after = [tool["name"] for tool in peer.request("tools/list")["result"]["tools"]]

    assert (told["method"], set(before) - set(after)) == ("notifications/tools/list_changed", {"undo"})


def test_an_unknown_profile_is_refused_by_the_server(sandbox: Sandbox, sample_repo: Path) -> None:
    with up(sandbox, sample_repo), stdio_peer(sandbox, sample_repo, "--profile", "nonsense") as peer:
        warm = peer.request("initialize", initialize_params("2025-11-25"))["error"]["data"]["error"]
    with stdio_peer(sandbox, sample_repo, "--profile", "nonsense") as peer:
        cold = peer.request("initialize", initialize_params("2025-11-25"))["error"]["data"]["error"]

    assert (warm, cold) == ("UNKNOWN_PROFILE", "UNKNOWN_PROFILE")


def test_a_server_that_cannot_start_is_told_to_the_model_with_each_call(sandbox: Sandbox, sample_repo: Path) -> None:
    (sample_repo / ".codeplane").mkdir(mode=0o700)
    (sample_repo / ".codeplane" / "config.yaml").write_text("nonsense: 1\n", encoding="utf-8")
    with stdio_peer(sandbox, sample_repo) as peer:
        _greet_and_list(peer)
        result = peer.call("read_source", {"targets": ["README.md"]})

    assert (result["isError"], text_of(result).split(":")[0]) == (True, "CONFIG_INVALID")


def test_a_client_that_leaves_while_the_server_starts_gets_its_answers(sandbox: Sandbox, sample_repo: Path) -> None:
    with stdio_peer(sandbox, sample_repo) as peer:
        with _no_server_can_start(sample_repo):
            _greet_and_list(peer)
            peer.send_raw(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": _READ}).encode())
            assert peer.process.stdin is not None
            peer.process.stdin.close()
        answer = peer.receive_answer(7)["result"]
        code = peer.process.wait(30)

    assert (answer["isError"], code) == (False, 0)


def test_a_signal_while_the_server_starts_ends_the_bridge(sandbox: Sandbox, sample_repo: Path) -> None:
    with _no_server_can_start(sample_repo), stdio_peer(sandbox, sample_repo) as peer:
        _greet_and_list(peer)
        peer.process.terminate()

        assert (peer.process.wait(30), "Traceback" in peer.stderr) == (0, False)
