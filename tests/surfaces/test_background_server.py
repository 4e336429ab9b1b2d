"""A server in the background, named sessions, and removal: what a developer does once and then forgets."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from surfaces.support_processes import Sandbox, git, run_cpl, send_http

pytestmark = pytest.mark.slow


def test_a_server_in_the_background_outlives_its_command_and_down_stops_it(sandbox: Sandbox, sample_repo: Path) -> None:
    started = json.loads(run_cpl(sandbox, sample_repo, "up", "--detach", "--json").stdout)
    try:
        port = int(started["url"].rpartition(":")[2])
        assert send_http(port, "GET", "/health").status == 200
        again = json.loads(run_cpl(sandbox, sample_repo, "up", "--detach", "--json").stdout)
        assert (again["pid"], again["already_running"]) == (started["pid"], True)
    finally:
        stopped = run_cpl(sandbox, sample_repo, "down")
    assert (stopped.returncode, stopped.stdout) == (0, f"The server (pid {started['pid']}) has stopped.\n")
    assert (sample_repo / ".codeplane/logs/up.log").exists()
    assert run_cpl(sandbox, sample_repo, "down").returncode == 1


def test_a_named_session_is_created_and_found_again(sandbox: Sandbox, sample_repo: Path) -> None:
    sessions = [
        json.loads(run_cpl(sandbox, sample_repo, "call", "describe", "--session", name, "--json").stdout)["meta"]
        for name in ("mine", "mine", "other")
    ]
    ids = [one["session_id"] for one in sessions]
    assert ids[0] == ids[1] != ids[2]


def test_the_task_of_a_single_call_ends_as_the_call_did(sandbox: Sandbox, sample_repo: Path) -> None:
    edit = {"edits": [{"path": "new.txt", "action": "create", "content": "x\n"}]}
    for _ in range(2):
        run_cpl(sandbox, sample_repo, "call", "write_source", json.dumps(edit))
    tasks = json.loads(run_cpl(sandbox, sample_repo, "task", "list", "--json").stdout)
    assert [one["state"] for one in tasks["results"]] == ["CLOSED_FAILED", "CLOSED_SUCCESS"]


def test_the_log_shows_calls_and_what_was_asked_and_explain_takes_a_row(sandbox: Sandbox, sample_repo: Path) -> None:
    edit = {"edits": [{"path": "new.txt", "action": "create", "content": "x\n"}]}
    run_cpl(sandbox, sample_repo, "call", "write_source", json.dumps(edit))
    row = run_cpl(sandbox, sample_repo, "ledger", "log", "--operation", "write_source").stdout.splitlines()[0]
    number, _, kind, operation, asked, call = row.split("\t")[:6]
    assert (kind, operation, "new.txt" in asked, call.startswith("req_")) == ("finished", "write_source", True, True)
    by_row = run_cpl(sandbox, sample_repo, "explain", number)
    assert by_row.stdout == run_cpl(sandbox, sample_repo, "explain", call).stdout
    assert by_row.returncode == 0


def test_uninstall_takes_a_person_and_leaves_what_is_yours(sandbox: Sandbox, sample_repo: Path) -> None:
    edit = {"edits": [{"path": "new.txt", "action": "create", "content": "x\n"}]}
    run_cpl(sandbox, sample_repo, "call", "write_source", json.dumps(edit))
    run_cpl(sandbox, sample_repo, "call", "git_branch", "action=create", "name=topic")
    refused = run_cpl(sandbox, sample_repo, "uninstall")
    assert (refused.returncode, "OPERATOR_TOKEN_REQUIRED" in refused.stderr) == (2, True)
    assert (sample_repo / ".codeplane/ledger.db").exists()
    token = next(sandbox.home.rglob("operator.token")).read_text().strip()
    done = run_cpl(sandbox, sample_repo, "uninstall", env={"CODEPLANE_OPERATOR_TOKEN": token})
    assert (done.returncode, (sample_repo / ".codeplane").exists()) == (0, False), done.stderr
    assert git(sandbox, sample_repo, "for-each-ref", "refs/codeplane").strip() == ""
    assert (sample_repo / "new.txt").exists()
    assert list(sandbox.home.rglob("ledgers/*")) == []


def test_uninstall_disconnects_agents_in_all_working_trees(sandbox: Sandbox, sample_repo: Path) -> None:
    linked = sample_repo.with_name("linked")
    git(sandbox, sample_repo, "worktree", "add", "-q", str(linked))
    run_cpl(sandbox, sample_repo, "connect", "claude")
    token = {"CODEPLANE_OPERATOR_TOKEN": sandbox.token}
    for tree in (sample_repo, linked):
        assert run_cpl(sandbox, tree, "connect", "claude", env=token).returncode == 0
    listed = run_cpl(sandbox, sample_repo, "uninstall", "--dry-run").stdout
    assert f"{linked}/.mcp.json: the hooks and the MCP server of claude" in listed
    assert (sample_repo / ".mcp.json").exists()
    done = run_cpl(sandbox, sample_repo, "uninstall", env=token)
    assert done.returncode == 0, done.stderr
    assert [tree.name for tree in (sample_repo, linked) if (tree / ".mcp.json").exists()] == []
    assert not list(sample_repo.glob(".claude/*"))


def test_a_search_at_a_terminal_is_coloured_and_a_persons(sandbox: Sandbox, sample_repo: Path) -> None:
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "codeplane", "search", "def", "--repo", str(sample_repo)]
    subprocess.run(
        command, stdin=follower, stdout=follower, env={**sandbox.env, "TERM": "xterm"}, timeout=60, check=True
    )
    os.close(follower)
    assert b"\x1b[" in os.read(leader, 10_000)
    os.close(leader)
    row = json.loads(run_cpl(sandbox, sample_repo, "ledger", "log", "--json", "--limit", "1").stdout)["rows"][0]
    assert row["body"]["caller"] == "person"
