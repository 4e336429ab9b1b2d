"""`cpl task` and `/tasks`: people open, close and look at tasks, with or without a server."""

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.forks import run_forked
from surfaces.support_processes import Reply, Sandbox, UpServer, make_repo, make_sandbox, run_cpl, send_http, up

pytestmark = pytest.mark.slow

TESTS = Path(__file__).resolve().parents[1]


def _spend(sandbox: Sandbox, root: Path, count: int) -> list[str]:
    """Make that many changes in a process of its own and return their outcomes."""
    done = run_forked((sys.executable, "-m", "support.toys", "spend", str(root), str(count)), cwd=root, env=sandbox.env)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def _json(sandbox: Sandbox, root: Path, *arguments: str) -> dict[str, Any]:
    done = run_cpl(sandbox, root, "task", *arguments, "--json")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_a_task_opened_on_the_command_line_bounds_what_other_processes_do(sandbox: Sandbox, sample_repo: Path) -> None:
    opened = _json(sandbox, sample_repo, "open", "--max-mutations", "2")

    outcomes = _spend(sandbox, sample_repo, 3)

    shown = _json(sandbox, sample_repo, "show", opened["task_id"])
    assert outcomes == ["finished", "finished", "failed"]
    assert (shown["state"], shown["limit_triggered"]) == ("CLOSED_FAILED", "mutations")
    assert shown["counters"] == {"mutation_count": 2, "test_run_count": 0}
    assert (shown["explicit"], shown["session"], shown["worktree"]) == (True, None, "main")


def test_a_task_is_closed_once_and_with_success_unless_said_otherwise(sandbox: Sandbox, sample_repo: Path) -> None:
    task_id = _json(sandbox, sample_repo, "open")["task_id"]

    closed = _json(sandbox, sample_repo, "close", task_id, "--reason", "it works")
    again = run_cpl(sandbox, sample_repo, "task", "close", task_id, "--state", "failed")

    assert (closed["state"], closed["reason"], closed["closed_at"] is not None) == ("CLOSED_SUCCESS", "it works", True)
    assert (again.returncode, "A closed task stays closed" in again.stderr) == (2, True)
    assert _json(sandbox, sample_repo, "show", task_id)["state"] == "CLOSED_SUCCESS"


@pytest.mark.parametrize("state", ["failed", "interrupted", "CLOSED_FAILED"])
def test_a_task_can_be_closed_otherwise(sandbox: Sandbox, sample_repo: Path, state: str) -> None:
    task_id = _json(sandbox, sample_repo, "open")["task_id"]

    closed = _json(sandbox, sample_repo, "close", task_id, "--state", state)

    assert closed["state"] == f"CLOSED_{state.upper().removeprefix('CLOSED_')}"


def test_tasks_are_listed_newest_first_with_their_counters(sandbox: Sandbox, sample_repo: Path) -> None:
    _spend(sandbox, sample_repo, 1)
    task_id = _json(sandbox, sample_repo, "open", "--max-mutations", "7")["task_id"]

    listed = _json(sandbox, sample_repo, "list")
    only_open = _json(sandbox, sample_repo, "list", "--state", "open")
    text = run_cpl(sandbox, sample_repo, "task", "list").stdout.splitlines()

    assert [task["state"] for task in listed["results"]] == ["OPEN", "CLOSED_INTERRUPTED"]
    assert [task["task_id"] for task in only_open["results"]] == [task_id]
    assert text[0].split("\t")[:4] == [task_id, "OPEN", "working tree main", "0/7"]
    assert text[1].split("\t")[3] == "1/500"


def test_a_list_that_was_cut_says_so(sandbox: Sandbox, sample_repo: Path) -> None:
    for _ in range(2):
        _json(sandbox, sample_repo, "close", _json(sandbox, sample_repo, "open")["task_id"])

    listed = _json(sandbox, sample_repo, "list", "--limit", "1")

    assert (len(listed["results"]), listed["more"]) == (1, True)


def test_the_text_of_a_task_names_what_a_person_wants_to_know(sandbox: Sandbox, sample_repo: Path) -> None:
    task_id = _json(sandbox, sample_repo, "open")["task_id"]

    lines = run_cpl(sandbox, sample_repo, "task", "show", task_id).stdout.splitlines()

    assert lines[:3] == [f"task: {task_id}", "state: OPEN", "of: every session of the working tree main"]
    assert "mutations: 0 of 500" in lines


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "task_nobody"), "NOT_FOUND"),
        (("close", "task_nobody"), "NOT_FOUND"),
        (("close", "task_nobody", "--state", "open"), "INVALID_ARGUMENTS"),
        (("close", "task_nobody", "--state", "perhaps"), "INVALID_ARGUMENTS"),
        (("close",), "TASK_ID"),
        (("show",), "TASK_ID"),
        (("list", "--state", "perhaps"), "INVALID_ARGUMENTS"),
        (("list", "--limit", "0"), "1<=x<=500"),
        (("list", "--limit", "many"), "integer"),
        (("open", "--max-mutations", "many"), "integer"),
        (("open", "--max-mutations", "-1"), "0<=x<=1000000"),
        (("open", "--max-duration-sec", "0"), "1<=x<=31536000"),
        (("open", "--session", "s-nobody"), "SESSION_NOT_FOUND"),
        (("open", "--session", " "), "`session`"),
        (("open", "extra"), "extra"),
        (("reopen",), "reopen"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_told_and_changes_nothing(
    sandbox: Sandbox, sample_repo: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = run_cpl(sandbox, sample_repo, "task", *arguments)

    assert (done.returncode, words in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr
    assert _json(sandbox, sample_repo, "list")["results"] == []


def test_a_second_task_for_the_working_tree_is_refused_and_the_first_is_named(
    sandbox: Sandbox, sample_repo: Path
) -> None:
    task_id = _json(sandbox, sample_repo, "open")["task_id"]

    refused = _json(sandbox, sample_repo, "open")

    assert (refused["error"], refused["details"]) == ("INVALID_ARGUMENTS", {"task_id": task_id})


def test_nobody_but_a_person_gets_more_than_the_settings_allow(sandbox: Sandbox, sample_repo: Path) -> None:
    refused = _json(sandbox, sample_repo, "open", "--max-mutations", "501")
    run_cpl(sandbox, sample_repo, "call", "describe", env={"CODEPLANE_OPERATOR_TOKEN": "x"})
    allowed = run_cpl(
        sandbox,
        sample_repo,
        "task",
        "open",
        "--max-mutations",
        "501",
        "--json",
        env={"CODEPLANE_OPERATOR_TOKEN": sandbox.token},
    )

    assert refused["error"] == "OPERATOR_TOKEN_REQUIRED"
    assert json.loads(allowed.stdout)["limits"]["max_mutations"] == 501


@pytest.fixture(scope="module")
def task_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpServer]:
    directory = tmp_path_factory.mktemp("tasks")
    with make_sandbox(directory) as sandbox, up(sandbox, make_repo(sandbox, directory / "sample")) as server:
        yield server


def _post(server: UpServer, path: str, document: object) -> Reply:
    return server.post(path, document, {"Authorization": f"Bearer {server.sandbox.token}"})


@pytest.fixture
def open_task(task_server: UpServer) -> Iterator[dict[str, Any]]:
    """Return a task that was opened over REST and is closed afterwards."""
    task: dict[str, Any] = _post(task_server, "/tasks", {"max_mutations": 3}).json
    yield task
    _post(task_server, f"/tasks/{task['task_id']}/close", {})


def test_a_task_is_opened_shown_listed_and_closed_over_rest(task_server: UpServer) -> None:
    opened = _post(task_server, "/tasks", {"max_mutations": 3, "max_test_runs": 4, "max_duration_sec": 5})
    path = f"/tasks/{opened.json['task_id']}"

    shown = task_server.get(path)
    listed = task_server.get("/tasks?state=OPEN")
    closed = _post(task_server, f"{path}/close", {"state": "CLOSED_SUCCESS", "reason": "done"})

    assert (opened.status, shown.status, closed.status) == (201, 200, 200)
    assert shown.json["limits"] == {"max_mutations": 3, "max_test_runs": 4, "max_duration_sec": 5}
    assert [task["task_id"] for task in listed.json["results"]] == [opened.json["task_id"]]
    assert (closed.json["state"], closed.json["reason"]) == ("CLOSED_SUCCESS", "done")
    assert _post(task_server, f"{path}/close", {}).status == 400


def test_status_shows_open_tasks_with_counters_and_limits(task_server: UpServer, open_task: dict[str, Any]) -> None:
    _spend(task_server.sandbox, task_server.root, 2)

    (task,) = task_server.get("/status").json["tasks"]

    assert (task["task_id"], task["counters"]["mutation_count"]) == (open_task["task_id"], 2)
    assert (task["limits"]["max_mutations"], task["budget_used"]["mutations"]) == (3, 0.6667)


def test_operations_of_a_task_show_their_evidence(task_server: UpServer, open_task: dict[str, Any]) -> None:
    _spend(task_server.sandbox, task_server.root, 4)

    rows = task_server.get(f"/operations?task={open_task['task_id']}").json["results"]

    assert [row["kind"] for row in rows] == ["failed", "finished", "finished", "finished"]
    assert rows[0]["limit_triggered"] == "mutations"
    assert rows[1]["diff_stats"]["files_changed"] == 1
    assert rows[1]["short_diff"] == f"+ {rows[1]['changed_paths'][0]}"
    assert (len(rows[1]["mutation_fingerprint"]), rows[1]["is_no_op"]) == (64, False)


def test_metrics_show_tasks_budgets_and_exhaustion(task_server: UpServer, open_task: dict[str, Any]) -> None:
    _spend(task_server.sandbox, task_server.root, 1)

    text = task_server.get("/metrics").body.decode()

    assert open_task["state"] == "OPEN"
    assert "codeplane_tasks_open 1.0" in text
    assert 'codeplane_task_budget_used_ratio{budget="mutations"} 0.33' in text
    for line in (
        "codeplane_tasks_opened_total ",
        'codeplane_tasks_closed_total{state="CLOSED_SUCCESS"} ',
        'codeplane_tasks_exhausted_total{budget="mutations"} ',
        "codeplane_task_exhaustion_ratio ",
        'codeplane_fingerprint_repeats_total{of="mutation"} ',
        'codeplane_fingerprint_repeats_total{of="failure"} ',
        "# TYPE codeplane_mutation_interval_seconds histogram",
        "codeplane_calls_last_minute ",
    ):
        assert line in text


@pytest.mark.parametrize("path", ["/tasks", "/tasks/task_nobody/close"])
def test_changing_tasks_over_rest_needs_the_token(task_server: UpServer, path: str) -> None:
    reply = task_server.post(path, {})

    assert (reply.status, reply.json["error"]) == (401, "OPERATOR_TOKEN_REQUIRED")


@pytest.mark.parametrize(
    "document",
    [
        {"max_mutations": "3"},
        {"max_mutations": 3.5},
        {"max_mutations": True},
        {"max_mutations": -1},
        {"max_mutations": 10**9},
        {"max_mutations": [3]},
        {"max_duration_sec": 0},
        {"session": 5},
        {"session": ""},
        {"session": {"label": "s-1"}},
        {"colour": "red"},
        {"state": "OPEN"},
    ],
    ids=str,
)
def test_a_wrong_field_is_refused_and_opens_nothing(task_server: UpServer, document: dict[str, Any]) -> None:
    reply = _post(task_server, "/tasks", document)

    assert (reply.status, reply.json["error"]) == (400, "INVALID_ARGUMENTS")
    assert task_server.get("/tasks?state=OPEN").json["results"] == []


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b'"text"'])
def test_a_body_that_is_no_object_is_refused(task_server: UpServer, body: bytes) -> None:
    headers = {"Authorization": f"Bearer {task_server.sandbox.token}"}
    reply = send_http(task_server.port, "POST", "/tasks", headers, body)

    assert (reply.status, reply.json["error"]) == (400, "INVALID_FORMAT")


def test_a_task_for_a_session_that_is_not_there_is_refused(task_server: UpServer) -> None:
    reply = _post(task_server, "/tasks", {"session": "s-nobody"})

    assert (reply.status, reply.json["error"]) == (400, "SESSION_NOT_FOUND")


def test_a_task_can_be_opened_for_one_session(task_server: UpServer) -> None:
    task_server.operate("describe", {})
    label = task_server.get("/status").json["sessions"][-1]["label"]

    opened = _post(task_server, "/tasks", {"session": label})

    assert (opened.status, opened.json["session"]) == (201, label)
    assert _spend(task_server.sandbox, task_server.root, 1) == ["finished"]
    assert task_server.get(f"/tasks/{opened.json['task_id']}").json["counters"]["mutation_count"] == 0
    _post(task_server, f"/tasks/{opened.json['task_id']}/close", {})


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("/tasks/task_nobody", 404, "NOT_FOUND"),
        ("/tasks/%00", 404, "NOT_FOUND"),
        ("/tasks?state=perhaps", 400, "INVALID_ARGUMENTS"),
        ("/tasks?limit=0", 400, "INVALID_ARGUMENTS"),
        ("/tasks?limit=%C2%B2", 400, "INVALID_ARGUMENTS"),
        ("/tasks?cursor=-1", 400, "INVALID_ARGUMENTS"),
        ("/tasks?colour=red", 400, "INVALID_ARGUMENTS"),
        ("/tasks/x/close", 405, "METHOD_NOT_ALLOWED"),
    ],
)
def test_a_wrong_question_is_answered_with_a_registry_error(
    task_server: UpServer, path: str, status: int, error: str
) -> None:
    reply = task_server.get(path)

    assert (reply.status, reply.json["error"]) == (status, error)


@pytest.mark.parametrize("document", [{"state": "OPEN"}, {"state": 5}, {"state": "perhaps"}, {"reason": 5}, {"x": 1}])
def test_a_wrong_closing_is_refused_and_closes_nothing(
    task_server: UpServer, open_task: dict[str, Any], document: dict[str, Any]
) -> None:
    reply = _post(task_server, f"/tasks/{open_task['task_id']}/close", document)

    assert (reply.status, reply.json["error"]) == (400, "INVALID_ARGUMENTS")
    assert task_server.get(f"/tasks/{open_task['task_id']}").json["state"] == "OPEN"


def test_pages_of_tasks_join_without_gap_or_overlap(task_server: UpServer) -> None:
    for _ in range(3):
        _post(task_server, f"/tasks/{_post(task_server, '/tasks', {}).json['task_id']}/close", {})
    everything = [task["task_id"] for task in task_server.get("/tasks?limit=500").json["results"]]
    paged: list[str] = []
    cursor = ""
    while True:
        page = task_server.get(f"/tasks?limit=2{cursor}").json
        paged += [task["task_id"] for task in page["results"]]
        if page["pagination"]["next_cursor"] is None:
            break
        cursor = f"&cursor={page['pagination']['next_cursor']}"

    assert paged == everything


def test_the_openapi_document_lists_the_task_addresses(task_server: UpServer) -> None:
    paths = task_server.get("/openapi.json").json["paths"]

    assert set(paths["/tasks"]) == {"get", "post"}
    assert {"/tasks/{task_id}", "/tasks/{task_id}/close"} <= set(paths)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_restart_interrupts_the_tasks_of_the_server_and_nothing_goes_on(
    sandbox: Sandbox, sample_repo: Path, number: signal.Signals
) -> None:
    with up(sandbox, sample_repo) as server:
        opened = _post(server, "/tasks", {}).json
        server.stop(number)
    with up(sandbox, sample_repo) as server:
        after = server.get(f"/tasks/{opened['task_id']}").json
        assert server.get("/status").json["tasks"] == []

    assert (after["state"], after["reason"]) == ("CLOSED_INTERRUPTED", "its process ended")


def test_a_task_that_waits_for_the_server_is_still_open_when_it_starts(sandbox: Sandbox, sample_repo: Path) -> None:
    opened = _json(sandbox, sample_repo, "open", "--max-mutations", "5")

    with up(sandbox, sample_repo) as server:
        assert [task["task_id"] for task in server.get("/status").json["tasks"]] == [opened["task_id"]]
