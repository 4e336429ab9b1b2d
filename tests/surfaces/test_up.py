"""`cpl up` as a process: how it starts, who may start it, how it stops, and what it survives."""

import json
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from support.effort import some_of
from surfaces.support_processes import (
    CPL,
    DEADLINE_SECONDS,
    TOY_CPL,
    Reply,
    Sandbox,
    UpServer,
    git,
    make_repo,
    run_cpl,
    stdio_peer,
    up,
    wait_until,
)

pytestmark = pytest.mark.slow

SERVER_FILES = ("port", "url", "server.json", "server.sock")


def test_up_prints_the_address_it_serves(shared_server: UpServer) -> None:
    url = (shared_server.private / "url").read_text(encoding="utf-8").strip()
    assert (url.startswith(f"{shared_server.url}/s/"), f"  {url} " in shared_server.banner) == (True, True)


def test_up_writes_its_port_to_the_port_file(shared_server: UpServer) -> None:
    assert (shared_server.private / "port").read_text(encoding="utf-8") == f"{shared_server.port}\n"


def test_up_with_json_prints_one_document(sandbox: Sandbox, sample_repo: Path) -> None:
    with up(sandbox, sample_repo, "--json") as server:
        assert json.loads(server.banner)["mcp"] == (server.private / "url").read_text(encoding="utf-8").strip()


def test_up_sets_an_unprepared_repository_up(shared_server: UpServer) -> None:
    assert (shared_server.root / ".cplignore").is_file()


def test_second_up_prints_the_address_of_the_first_and_ends_well(shared_server: UpServer) -> None:
    second = run_cpl(shared_server.sandbox, shared_server.root, "up")

    assert (second.returncode, "already runs" in second.stdout, shared_server.url in second.stdout) == (0, True, True)


def test_second_up_started_in_a_subdirectory_finds_the_first(shared_server: UpServer) -> None:
    second = run_cpl(shared_server.sandbox, shared_server.root / "src", "up", "--json")

    assert json.loads(second.stdout)["already_running"] is True


def test_two_ups_at_the_same_time_tell_one_address(sandbox: Sandbox, sample_repo: Path) -> None:
    command = (*CPL, "up", "--json")
    processes = [
        subprocess.Popen(command, cwd=sample_repo, env=sandbox.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(3)
    ]
    try:
        wait_until(lambda: sum(process.poll() is not None for process in processes) == 2, "two of them have ended")
        wait_until((sample_repo / ".codeplane" / "port").exists, "the third one serves")
    finally:
        for process in processes:
            process.terminate()
        outputs = [json.loads(process.communicate()[0]) for process in processes]

    assert (len({output["url"] for output in outputs}), [process.returncode for process in processes]) == (1, [0] * 3)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_the_server_with_exit_code_0(sandbox: Sandbox, sample_repo: Path, number: signal.Signals) -> None:
    with up(sandbox, sample_repo) as server:
        assert server.stop(number) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_leaves_none_of_the_server_files(sandbox: Sandbox, sample_repo: Path, number: signal.Signals) -> None:
    with up(sandbox, sample_repo) as server:
        server.stop(number)

    assert [name for name in SERVER_FILES if (sample_repo / ".codeplane" / name).exists()] == []


def test_signal_with_a_connected_client_ends_the_server(sandbox: Sandbox, sample_repo: Path) -> None:
    with up(sandbox, sample_repo) as server, stdio_peer(sandbox, sample_repo) as peer:
        peer.initialize()
        assert server.stop() == 0


def _operate_in_background(server: UpServer, arguments: object) -> tuple[threading.Thread, list[Reply]]:
    replies: list[Reply] = []
    thread = threading.Thread(target=lambda: replies.append(server.operate("toy_wait", arguments)), daemon=True)
    thread.start()
    return thread, replies


def test_call_in_flight_at_sigterm_is_still_answered(sandbox: Sandbox, sample_repo: Path, tmp_path: Path) -> None:
    with up(sandbox, sample_repo, program=TOY_CPL) as server:
        thread, replies = _operate_in_background(server, {"directory": str(tmp_path)})
        wait_until((tmp_path / "started").exists, "the call has started")
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: server.get("/ready").status == 503, "the server refuses new work")
        (tmp_path / "release").touch()
        code = server.process.wait(DEADLINE_SECONDS)
        thread.join(DEADLINE_SECONDS)

    assert (code, [reply.status for reply in replies]) == (0, [200])


def test_new_call_at_shutdown_is_refused_with_a_registry_error(
    sandbox: Sandbox, sample_repo: Path, tmp_path: Path
) -> None:
    with up(sandbox, sample_repo, program=TOY_CPL) as server:
        thread, _ = _operate_in_background(server, {"directory": str(tmp_path)})
        wait_until((tmp_path / "started").exists, "the call has started")
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: server.get("/ready").status == 503, "the server refuses new work")
        refused = server.operate("describe", {})
        (tmp_path / "release").touch()
        server.process.wait(DEADLINE_SECONDS)
        thread.join(DEADLINE_SECONDS)

    assert (refused.status, refused.json["error"]) == (503, "SERVER_SHUTTING_DOWN")


def test_call_that_outlives_the_grace_period_does_not_keep_the_server(
    sandbox: Sandbox, sample_repo: Path, tmp_path: Path
) -> None:
    with up(sandbox, sample_repo, "--set", "server.shutdown_grace_seconds=0.2", program=TOY_CPL) as server:
        process = subprocess.Popen(
            (*TOY_CPL, "mcp"), cwd=sample_repo, env=sandbox.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        try:
            assert process.stdin is not None
            params = {"name": "toy_wait", "arguments": {"directory": str(tmp_path)}}
            hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _initialize()}
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
            process.stdin.write("".join(json.dumps(item) + "\n" for item in (hello, call)).encode())
            process.stdin.flush()
            wait_until((tmp_path / "started").exists, "the call has started")
            assert server.stop() == 0
        finally:
            process.kill()
            process.communicate()


def _initialize() -> dict[str, object]:
    return {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tester", "version": "1"}}


def test_up_works_after_the_server_was_killed(sandbox: Sandbox, sample_repo: Path) -> None:
    with up(sandbox, sample_repo) as server:
        server.stop(signal.SIGKILL)
    assert (sample_repo / ".codeplane" / "port").exists()

    with up(sandbox, sample_repo) as server:
        wait_until(lambda: server.get("/ready").status == 200, "the server is ready")


def test_status_after_a_kill_says_that_no_server_runs(sandbox: Sandbox, sample_repo: Path) -> None:
    with up(sandbox, sample_repo) as server:
        server.stop(signal.SIGKILL)

    status = json.loads(run_cpl(sandbox, sample_repo, "status", "--json").stdout)

    assert status["server"] == {"running": False}


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        yield holder.getsockname()[1]


def test_taken_port_is_told_with_exit_code_2(sandbox: Sandbox, sample_repo: Path, taken_port: int) -> None:
    done = run_cpl(sandbox, sample_repo, "up", "--port", str(taken_port))

    assert (done.returncode, "PORT_UNAVAILABLE" in done.stderr, "Traceback" in done.stderr) == (2, True, False)


def test_taken_port_leaves_no_server_files(sandbox: Sandbox, sample_repo: Path, taken_port: int) -> None:
    run_cpl(sandbox, sample_repo, "up", "--port", str(taken_port))

    assert [name for name in SERVER_FILES if (sample_repo / ".codeplane" / name).exists()] == []


def test_taken_port_does_not_keep_the_server_role(sandbox: Sandbox, sample_repo: Path, taken_port: int) -> None:
    run_cpl(sandbox, sample_repo, "up", "--port", str(taken_port))

    with up(sandbox, sample_repo) as server:
        assert server.get("/health").status == 200


def test_configured_port_is_used(sandbox: Sandbox, sample_repo: Path, taken_port: int) -> None:
    done = run_cpl(sandbox, sample_repo, "up", env={"CODEPLANE__SERVER__PORT": str(taken_port)})

    assert f"Port {taken_port}" in done.stderr


def test_invalid_configuration_names_file_line_key_and_nearest_key(sandbox: Sandbox, sample_repo: Path) -> None:
    config = sample_repo / ".codeplane" / "config.yaml"
    config.parent.mkdir()
    config.write_text("logging:\n  level: info\nserver:\n  prot: 80\n", encoding="utf-8")

    done = run_cpl(sandbox, sample_repo, "up")

    assert done.returncode == 2
    wanted = ("CONFIG_INVALID", "config.yaml:4", "server.prot", "server.port")
    assert [part for part in wanted if part not in done.stderr] == []


def test_invalid_configuration_starts_nothing(sandbox: Sandbox, sample_repo: Path) -> None:
    config = sample_repo / ".codeplane" / "config.yaml"
    config.parent.mkdir()
    config.write_text("server: [\n", encoding="utf-8")

    run_cpl(sandbox, sample_repo, "up")

    assert sorted(path.name for path in config.parent.iterdir()) == ["config.yaml"]


def test_unborn_head_is_served(sandbox: Sandbox, tmp_path: Path) -> None:
    root = make_repo(sandbox, tmp_path / "empty", {})
    with up(sandbox, root) as server:
        answer = server.operate("describe", {})

    assert (answer.status, answer.json["result"].get("head_commit")) == (200, None)


@pytest.mark.parametrize("command", [("up",), ("init",), ("status",), ("doctor",), ("clear",), ("call", "describe")])
def test_bare_repository_is_refused_with_a_registry_error(
    sandbox: Sandbox, tmp_path: Path, command: tuple[str, ...]
) -> None:
    bare = tmp_path / "bare.git"
    bare.mkdir()
    git(sandbox, bare, "init", "-q", "--bare")

    done = run_cpl(sandbox, bare, *command)

    assert (done.returncode, "BARE_REPOSITORY" in done.stderr, "Traceback" in done.stderr) == (2, True, False)


@pytest.mark.parametrize("command", [("up",), ("init",), ("status",), ("doctor",), ("clear",), ("call", "describe")])
def test_outside_a_repository_is_refused_with_a_registry_error(
    sandbox: Sandbox, tmp_path: Path, command: tuple[str, ...]
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()

    done = run_cpl(sandbox, plain, *command)

    assert (done.returncode, "NOT_A_REPOSITORY" in done.stderr, "Traceback" in done.stderr) == (2, True, False)


@pytest.mark.parametrize("command", [("up",), ("init",), ("status",), ("clear",), ("call", "describe")])
def test_regular_file_in_place_of_the_private_directory_is_no_traceback(
    sandbox: Sandbox, sample_repo: Path, command: tuple[str, ...]
) -> None:
    (sample_repo / ".codeplane").write_text("", encoding="utf-8")

    done = run_cpl(sandbox, sample_repo, *command)

    assert (done.returncode in {0, 2}, "Traceback" in done.stderr) == (True, False)


def test_regular_file_in_place_of_the_private_directory_keeps_up_from_starting(
    sandbox: Sandbox, sample_repo: Path
) -> None:
    (sample_repo / ".codeplane").write_text("", encoding="utf-8")

    done = run_cpl(sandbox, sample_repo, "up")

    assert (done.returncode, "Not a directory" in done.stderr) == (2, True)


@pytest.fixture
def used_repo(sandbox: Sandbox, sample_repo: Path) -> Path:
    """Return a repository whose server was killed, so that every file it uses is there."""
    with up(sandbox, sample_repo) as server:
        server.operate("describe", {})
        server.stop(signal.SIGKILL)
    return sample_repo


@pytest.mark.parametrize(
    "name",
    some_of(
        ("ledger.db", "ledger.db-wal", "server.lock", "server.sock"),
        (".gitignore", "ledger.db-shm", "ledger.db.lock", "logs", "port", "server.json", "url"),
    ),
)
def test_up_works_after_a_private_file_was_deleted(sandbox: Sandbox, used_repo: Path, name: str) -> None:
    victim = used_repo / ".codeplane" / name
    if victim.is_dir():
        shutil.rmtree(victim)
    else:
        victim.unlink()

    with up(sandbox, used_repo) as server:
        answer = server.operate("read_source", {"targets": ["README.md"]})
        code = server.stop()

    assert (answer.status, code, "Traceback" in server.stderr) == (200, 0, False)


@pytest.mark.parametrize(
    "name", some_of(("ledger.db", "server.sock", ""), ("port", "server.json", "server.lock", "logs"))
)
def test_server_survives_the_loss_of_a_private_file(sandbox: Sandbox, sample_repo: Path, name: str) -> None:
    with up(sandbox, sample_repo) as server:
        wait_until(lambda: server.get("/status").json["index"]["epoch"], "the index is built")
        victim = sample_repo / ".codeplane" / name
        if victim.is_dir():
            shutil.rmtree(victim)
        else:
            victim.unlink()
        answer = server.operate("read_source", {"targets": ["README.md"]})
        status = server.get("/status")
        alive = server.get("/health").status
        code = server.stop()

    assert (answer.status == 200 or "error" in answer.json, alive, code) == (True, 200, 0)
    assert (status.status == 200 or "error" in status.json, "Traceback" in server.stderr) == (True, False)


def test_long_repository_path_still_gets_a_socket(sandbox: Sandbox, tmp_path: Path) -> None:
    root = make_repo(sandbox, tmp_path / ("d" * 100) / ("e" * 60))
    with up(sandbox, root) as server, stdio_peer(sandbox, root) as peer:
        peer.initialize()
        peer.call("describe")
        assert [session["client"] for session in server.get("/status").json["sessions"]] == ["tester/1"]


def test_long_repository_path_leaves_no_socket_behind(sandbox: Sandbox, tmp_path: Path) -> None:
    root = make_repo(sandbox, tmp_path / ("d" * 100) / ("e" * 60))
    with up(sandbox, root) as server:
        server.stop()

    assert list(sandbox.run.rglob("*.sock")) == []


@pytest.fixture
def linked_tree(sandbox: Sandbox, sample_repo: Path, tmp_path: Path) -> Path:
    git(sandbox, sample_repo, "worktree", "add", "-q", str(tmp_path / "linked"))
    return (tmp_path / "linked").resolve()


def test_linked_worktree_has_a_server_of_its_own(sandbox: Sandbox, sample_repo: Path, linked_tree: Path) -> None:
    with up(sandbox, sample_repo) as main, up(sandbox, linked_tree) as linked:
        roots = [server.get("/status").json["repo_root"] for server in (main, linked)]

    assert roots == [str(sample_repo), str(linked_tree)]


def test_linked_worktree_shares_the_ledger(sandbox: Sandbox, sample_repo: Path, linked_tree: Path) -> None:
    with up(sandbox, linked_tree) as linked:
        linked.operate("describe", {})
        linked.stop()

    with closing(sqlite3.connect(sample_repo / ".codeplane" / "ledger.db")) as database:
        rows = database.execute("SELECT worktree FROM events WHERE operation = 'describe'").fetchall()
    assert (len(rows), (linked_tree / ".codeplane" / "ledger.db").exists()) == (1, False)


@pytest.mark.parametrize(("name", "shown"), [("straße", "stra%C3%9Fe"), ("two\nlines", "two%0Alines"), ("a b", "a b")])
def test_unusual_repository_path_travels_in_the_header(sandbox: Sandbox, tmp_path: Path, name: str, shown: str) -> None:
    root = make_repo(sandbox, tmp_path / name)
    with up(sandbox, root) as server:
        reply = server.get("/health")

    assert (reply.status, reply.headers["x-codeplane-repo"].rpartition("/")[2]) == (200, shown)


def test_something_else_in_the_place_of_the_socket_is_told(sandbox: Sandbox, tmp_path: Path) -> None:
    root = make_repo(sandbox, tmp_path / "repository")
    (root / ".codeplane" / "server.sock").mkdir(parents=True)

    done = run_cpl(sandbox, root, "up", "--json")

    assert (done.returncode, json.loads(done.stdout)["error"], "Traceback" in done.stderr) == (
        2,
        "SERVER_UNREACHABLE",
        False,
    )
