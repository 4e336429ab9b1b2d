"""What a server says while it builds its first index, and how it stops meanwhile."""

import json
import signal
import threading
from pathlib import Path

import pytest

from surfaces.support_processes import (
    DEADLINE_SECONDS,
    TOY_CPL,
    Reply,
    Sandbox,
    run_cpl,
    stdio_peer,
    text_of,
    up,
    wait_until,
)
from surfaces.test_terminated_server import HELD_CPL

pytestmark = pytest.mark.slow
SHORT_GRACE = ("--set", "server.shutdown_grace_seconds=0.2")


def test_a_server_is_not_ready_and_says_how_far_it_is_until_its_first_index_can_answer(
    sandbox: Sandbox, sample_repo: Path, tmp_path: Path
) -> None:
    held = {"MARKS": str(tmp_path), "HELD": "indexing"}
    with up(sandbox, sample_repo, program=HELD_CPL, env=held) as server:
        wait_until((tmp_path / "held").exists, "the index is about to be written")
        ready, index = server.get("/ready"), server.get("/status").json["index"]
        shown = run_cpl(sandbox, sample_repo, "status").stdout
        (tmp_path / "release").touch()
        wait_until(lambda: server.get("/ready").status == 200, "the index can answer")
        wait_until(lambda: server.get("/status").json["index"]["status"] == "ready", "the index is built")

    assert (ready.status, ready.json["error"], index["status"]) == (503, "INDEX_BUILDING", "building")
    assert set(index["progress"]) == {"done", "total"}
    assert "building, " in shown


def test_an_index_that_is_being_written_does_not_keep_a_stopped_server(
    sandbox: Sandbox, sample_repo: Path, tmp_path: Path
) -> None:
    held = {"MARKS": str(tmp_path), "HELD": "indexing"}
    with up(sandbox, sample_repo, *SHORT_GRACE, program=HELD_CPL, env=held) as server:
        wait_until((tmp_path / "held").exists, "the index is about to be written")

        assert (server.stop(), "Traceback" in server.stderr) == (0, False)


def test_a_call_that_waits_for_the_first_index_is_answered_when_the_server_stops(
    sandbox: Sandbox, sample_repo: Path, tmp_path: Path
) -> None:
    held = {"MARKS": str(tmp_path), "HELD": "indexing"}
    replies: list[Reply] = []
    with up(sandbox, sample_repo, *SHORT_GRACE, program=HELD_CPL, env=held) as server:
        wait_until((tmp_path / "held").exists, "the index is about to be written")
        thread = threading.Thread(target=lambda: replies.append(server.operate("search", {"query": "main"})))
        thread.start()
        wait_until(lambda: server.get("/status").json["calls_in_flight"] == 1, "the call waits")
        server.process.send_signal(signal.SIGTERM)
        thread.join(DEADLINE_SECONDS)
        server.process.wait(DEADLINE_SECONDS)

    rows = json.loads(run_cpl(sandbox, sample_repo, "ledger", "log", "--json").stdout)
    assert "SERVER_SHUTTING_DOWN" in replies[0].body.decode()
    assert "SERVER_SHUTTING_DOWN" in json.dumps(rows)


def test_a_stdio_call_that_is_cut_off_is_answered_with_the_registry_error(
    sandbox: Sandbox, sample_repo: Path, tmp_path: Path
) -> None:
    with up(sandbox, sample_repo, *SHORT_GRACE, program=TOY_CPL) as server, stdio_peer(sandbox, sample_repo) as peer:
        peer.initialize()
        call = {"name": "toy_wait", "arguments": {"directory": str(tmp_path)}}
        peer.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call})
        wait_until((tmp_path / "started").exists, "the call has started")
        server.process.send_signal(signal.SIGTERM)
        answer = peer.receive_answer(7)["result"]

    assert (answer["isError"], text_of(answer).split(" ")[0]) == (True, "SERVER_SHUTTING_DOWN")
