"""Several `cpl mcp` on one working tree: who serves, who bridges, and who takes over when a server dies."""

import json
import os
import signal
import sqlite3
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

import codeplane.surfaces.bridge
from codeplane.operations.catalog import TOOLS
from codeplane.operations.tool_list import repeatable_names
from codeplane.surfaces import bridge
from surfaces.support_processes import (
    TOY_CPL,
    Sandbox,
    StdioPeer,
    end,
    run_cpl,
    stdio_peer,
    text_of,
    up,
    wait_until,
)

pytestmark = pytest.mark.slow

TOY_MCP = (*TOY_CPL, "mcp")
BRIDGE_ALONE = (sys.executable, "-I", "-S", codeplane.surfaces.bridge.__file__)


def _server_pid(root: Path) -> int:
    facts = root / ".codeplane" / "server.json"
    wait_until(facts.exists, "a server tells who it is")
    pid: int = json.loads(facts.read_text(encoding="utf-8"))["pid"]
    return pid


def _start(stack: ExitStack, sandbox: Sandbox, root: Path, **options: Any) -> StdioPeer:
    peer = stack.enter_context(stdio_peer(sandbox, root, **options))
    peer.initialize()
    # The bridge answers the handshake by itself while a server starts.
    wait_until((root / ".codeplane" / "server.sock").exists, "a server listens")
    return peer


def _kill(peer: StdioPeer) -> None:
    end(peer.process)


def _reads(peer: StdioPeer) -> bool:
    return "A sample repository." in text_of(peer.call("read_source", {"targets": ["README.md"]}))


def test_first_stdio_client_becomes_the_server(sandbox: Sandbox, sample_repo: Path) -> None:
    with ExitStack() as stack:
        first = _start(stack, sandbox, sample_repo)
        second = _start(stack, sandbox, sample_repo)

        assert (_server_pid(sample_repo), _reads(first), _reads(second)) == (first.process.pid, True, True)


@pytest.mark.parametrize("command", [(sys.executable, "-m", "codeplane", "mcp"), BRIDGE_ALONE], ids=["cpl", "alone"])
def test_idle_client_keeps_its_session_when_the_server_is_killed(
    sandbox: Sandbox, sample_repo: Path, command: tuple[str, ...]
) -> None:
    with ExitStack() as stack:
        first = _start(stack, sandbox, sample_repo)
        second = _start(stack, sandbox, sample_repo, command=command)
        _reads(second)
        _kill(first)

        assert (_reads(second), _server_pid(sample_repo)) == (True, second.process.pid)


def test_the_session_is_the_same_after_a_take_over(sandbox: Sandbox, sample_repo: Path) -> None:
    def session_id(peer: StdioPeer) -> str:
        return str(peer.call("describe")["_meta"]["codeplane/meta"]["session_id"])

    with ExitStack() as stack:
        first = _start(stack, sandbox, sample_repo)
        second = _start(stack, sandbox, sample_repo)
        before = session_id(second)
        _kill(first)

        assert session_id(second) == before


def test_take_over_shows_the_client_no_second_handshake(sandbox: Sandbox, sample_repo: Path) -> None:
    with ExitStack() as stack:
        first = _start(stack, sandbox, sample_repo)
        second = _start(stack, sandbox, sample_repo)
        _kill(first)
        _reads(second)

        assert [json.loads(line)["id"] for line in second.lines] == [101, 102]


def _call_that_waits(peer: StdioPeer, marks: Path, request_id: int) -> None:
    marks.mkdir()
    call = {"name": "toy_wait", "arguments": {"directory": str(marks)}}
    peer.send({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": call})
    wait_until((marks / "started").exists, "the call has started")


def _answers_to(peer: StdioPeer, request_id: int) -> list[dict[str, Any]]:
    documents = [json.loads(line) for line in peer.lines]
    return [document for document in documents if document.get("id") == request_id]


def test_call_in_flight_at_the_kill_is_answered_once(sandbox: Sandbox, sample_repo: Path, tmp_path: Path) -> None:
    with ExitStack() as stack:
        first = _start(stack, sandbox, sample_repo, command=TOY_MCP)
        second = _start(stack, sandbox, sample_repo, command=TOY_MCP)
        _call_that_waits(second, tmp_path / "marks", 7)
        _kill(first)
        lost = second.receive_answer(7)["result"]
        works = _reads(second)
        second.finish()

    assert (lost["isError"], text_of(lost).split(" ")[0], works) == (True, "SERVER_LOST", True)
    assert len(_answers_to(second, 7)) == 1


def test_each_lost_call_is_answered_once_when_two_servers_die_in_a_row(
    sandbox: Sandbox, sample_repo: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        with up(sandbox, sample_repo, program=TOY_CPL) as first:
            client = _start(stack, sandbox, sample_repo)
            # Stopped, this client cannot take over, so that the second `cpl up` is sure to get the server role.
            _call_that_waits(client, tmp_path / "first", 7)
            os.kill(client.process.pid, signal.SIGSTOP)
            first.stop(signal.SIGKILL)
        with up(sandbox, sample_repo, program=TOY_CPL) as second:
            os.kill(client.process.pid, signal.SIGCONT)
            assert client.receive_answer(7)["result"]["isError"]
            _call_that_waits(client, tmp_path / "second", 8)
            second.stop(signal.SIGKILL)
            assert client.receive_answer(8)["result"]["isError"]
        assert _reads(client)
        client.finish()

    answered = [json.loads(line)["id"] for line in client.lines]
    assert answered == [101, 7, 8, 102]


def test_long_session_gets_no_second_handshake_when_the_server_dies(sandbox: Sandbox, sample_repo: Path) -> None:
    """After much traffic the bridge forgets what was answered, but not that the handshake was."""
    with ExitStack() as stack:
        first = _start(stack, sandbox, sample_repo)
        second = _start(stack, sandbox, sample_repo)
        for _ in range(5):
            second.call("read_file_full", {"path": "src/large.txt", "confirm": True, "inline": True})
        _kill(first)
        assert _reads(second)

    assert [json.loads(line)["id"] for line in second.lines] == [101, 102, 103, 104, 105, 106, 107]


def test_server_that_dies_after_the_last_request_still_leaves_an_answer(
    sandbox: Sandbox, sample_repo: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack, up(sandbox, sample_repo, program=TOY_CPL) as server:
        client = _start(stack, sandbox, sample_repo)
        _call_that_waits(client, tmp_path / "marks", 7)
        assert client.process.stdin is not None
        client.process.stdin.close()
        server.stop(signal.SIGKILL)

        assert client.receive_answer(7)["result"]["isError"]


def test_cancelled_call_is_not_answered_when_the_server_dies(
    sandbox: Sandbox, sample_repo: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        with up(sandbox, sample_repo, program=TOY_CPL) as server:
            client = _start(stack, sandbox, sample_repo)
            _call_that_waits(client, tmp_path / "marks", 7)
            client.notify("notifications/cancelled", {"requestId": 7})
            wait_until((tmp_path / "marks" / "cancelled").exists, "the handler saw the cancellation")
            server.stop(signal.SIGKILL)
        assert _reads(client)

    assert _answers_to(client, 7) == []


def test_request_in_flight_that_is_no_call_gets_a_real_answer(sandbox: Sandbox, sample_repo: Path) -> None:
    with ExitStack() as stack:
        with up(sandbox, sample_repo) as server:
            client = _start(stack, sandbox, sample_repo)
            os.kill(client.process.pid, signal.SIGSTOP)
            client.send({"jsonrpc": "2.0", "id": 7, "method": "tools/list"})
            server.stop(signal.SIGKILL)
            os.kill(client.process.pid, signal.SIGCONT)

        assert len(client.receive_answer(7)["result"]["tools"]) == 9


def test_half_sent_request_at_the_kill_is_answered(sandbox: Sandbox, sample_repo: Path) -> None:
    line = b'{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}\n'
    with ExitStack() as stack:
        first = _start(stack, sandbox, sample_repo)
        second = _start(stack, sandbox, sample_repo)
        second.send_raw(line[:20])
        _kill(first)
        wait_until(lambda: _server_pid(sample_repo) == second.process.pid, "the second serves")
        second.send_raw(line[20:])

        assert len(second.receive_answer(7)["result"]["tools"]) == 9


def test_one_of_three_bridges_takes_over(sandbox: Sandbox, sample_repo: Path) -> None:
    with ExitStack() as stack:
        first = _start(stack, sandbox, sample_repo)
        bridges = [_start(stack, sandbox, sample_repo) for _ in range(3)]
        _kill(first)
        works = [_reads(bridge) for bridge in bridges]
        logged = (sample_repo / ".codeplane" / "logs" / "server.jsonl").read_text(encoding="utf-8")

        assert (works, _server_pid(sample_repo) in {bridge.process.pid for bridge in bridges}) == ([True] * 3, True)
        assert logged.count("server started") == 2


def test_bridges_follow_a_server_that_ends_well(sandbox: Sandbox, sample_repo: Path) -> None:
    with ExitStack() as stack:
        first = _start(stack, sandbox, sample_repo)
        second = _start(stack, sandbox, sample_repo)
        assert first.finish() == 0

        assert _reads(second)


def test_bridge_moves_from_a_stopped_up_to_a_server_of_its_own(sandbox: Sandbox, sample_repo: Path) -> None:
    with ExitStack() as stack:
        with up(sandbox, sample_repo) as server:
            client = _start(stack, sandbox, sample_repo)
            server.stop()

        assert (_reads(client), _server_pid(sample_repo)) == (True, client.process.pid)


def test_up_beside_an_embedded_server_says_who_serves(sandbox: Sandbox, sample_repo: Path) -> None:
    with stdio_peer(sandbox, sample_repo) as peer:
        peer.initialize()
        _server_pid(sample_repo)
        done = run_cpl(sandbox, sample_repo, "up")

    assert (done.returncode, "`cpl mcp`" in done.stdout) == (0, True)


def test_server_that_can_not_come_back_ends_the_client_with_an_answer(
    sandbox: Sandbox, sample_repo: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        with up(sandbox, sample_repo, program=TOY_CPL) as server:
            client = _start(stack, sandbox, sample_repo)
            _call_that_waits(client, tmp_path / "marks", 7)
            (sample_repo / ".codeplane" / "config.yaml").write_text("nonsense: 1\n", encoding="utf-8")
            server.stop(signal.SIGKILL)
        answer = client.receive_answer(7)["result"]
        client.process.wait(30)

    assert (answer["isError"], "Traceback" in client.stderr, len(_answers_to(client, 7))) == (True, False, 1)


def test_session_of_a_dead_server_can_be_resumed_by_its_id(sandbox: Sandbox, sample_repo: Path) -> None:
    with ExitStack() as stack:
        first = _start(stack, sandbox, sample_repo)
        second = _start(stack, sandbox, sample_repo)
        session = second.call("describe")["_meta"]["codeplane/meta"]["session_id"]
        _kill(first)
        result = second.call("describe", {"session_id": session})

    assert result["_meta"]["codeplane/meta"]["session_id"] == session


def test_interrupted_bridge_ends_well(sandbox: Sandbox, sample_repo: Path) -> None:
    with stdio_peer(sandbox, sample_repo) as peer:
        peer.initialize()
        peer.process.send_signal(signal.SIGINT)

        assert (peer.process.wait(30), "Traceback" in peer.stderr) == (0, False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_it_stops_does_not_keep_it_from_stopping(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients close standard input and send SIGTERM soon afterwards."""
    handlers = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
    has_stopped = False

    class Server:
        may_abandon = False

        def stop(self) -> None:
            nonlocal has_stopped
            os.kill(os.getpid(), number)
            has_stopped = True

    one = bridge._Bridge(bridge._Options())
    monkeypatch.setattr(one, "_embedded", Server())
    try:
        signal.signal(signal.SIGTERM, bridge._stop_in_order)
        one.close()
        assert has_stopped
    finally:
        for signal_number, handler in handlers.items():
            signal.signal(signal_number, handler)


def test_tools_that_a_bridge_repeats_are_those_that_only_read() -> None:
    reading = {name for name, operation in TOOLS.items() if operation.effect.value == "read" and name != "call"}

    assert reading == repeatable_names()


def test_a_server_role_that_is_terminated_commits_its_rows(sandbox: Sandbox, sample_repo: Path) -> None:
    with ExitStack() as stack:
        peer = _start(stack, sandbox, sample_repo)
        for _ in range(5):
            assert _reads(peer)
        peer.process.terminate()
        peer.process.wait(timeout=30)

    with closing(sqlite3.connect(sample_repo / ".codeplane" / "ledger.db")) as database:
        rows = database.execute("SELECT COUNT(*) FROM events WHERE operation = 'read_source'").fetchone()[0]
    assert (rows, (sample_repo / ".codeplane" / "server.sock").exists()) == (5, False)
