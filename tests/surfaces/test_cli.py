"""The command line: help, exit codes, JSON, plain text, and what each command does."""

import json
import re
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import click
import pytest

from codeplane.surfaces.cli.main import COMMANDS, root
from surfaces.support_processes import CPL, Sandbox, UpServer, end, git, run_cpl, up, wait_until

pytestmark = pytest.mark.slow

ESCAPE = "\x1b"


@pytest.mark.parametrize("command", sorted(COMMANDS))
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_command_has_help(sandbox: Sandbox, tmp_path: Path, command: str, option: str) -> None:
    done = run_cpl(sandbox, tmp_path, command, option)

    assert (done.returncode, f"Usage: cpl {command}" in done.stdout, ESCAPE in done.stdout) == (0, True, False)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_help_table_says_what_the_command_itself_says(command: str) -> None:
    found = root.get_command(click.Context(root), command)

    assert found is not None
    assert found.short_help == COMMANDS[command]


def test_root_help_lists_every_command(sandbox: Sandbox, tmp_path: Path) -> None:
    text = run_cpl(sandbox, tmp_path, "--help").stdout

    assert [name for name in COMMANDS if not re.search(rf"^  {name} ", text, re.MULTILINE)] == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--help",), 0),
        (("--version",), 0),
        (("status",), 0),
        (("doctor",), 0),
        (("init",), 0),
        (("clear",), 0),
        (("clear", "--all", "--yes"), 2),
        (("call", "describe"), 0),
        (("completion", "bash"), 0),
        (("version",), 0),
        (("down",), 1),
        (("uninstall", "--dry-run"), 0),
        (("uninstall",), 2),
        (("search", "def"), 0),
        (("search", "no such text at all"), 1),
        (("search", "(", "--regex"), 2),
        (("call", "nope"), 2),
        (("call", "read_source", "targets=missing.txt"), 2),
        (("call", "read_source", "targets=.env"), 2),
        (("call", "read_source"), 2),
        (("call", "describe", "--session", "sess_unknown"), 2),
        ((), 2),
        (("nonsense",), 2),
        (("--nonsense",), 2),
        (("status", "--nonsense"), 2),
        (("status", "extra"), 2),
        (("call",), 2),
        (("call", "describe", "loose"), 2),
        (("call", "describe", "{"), 2),
        (("status", "--set", "server.prot=1"), 2),
        (("up", "--port", "70000"), 2),
        (("up", "--set", "server.port=many"), 2),
        (("completion", "tcsh"), 2),
        (("status", "--repo", "/nonexistent"), 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_exit_code_tells_how_it_went(
    sandbox: Sandbox, sample_repo: Path, arguments: tuple[str, ...], code: int
) -> None:
    done = run_cpl(sandbox, sample_repo, *arguments)

    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


def test_doctor_with_a_problem_is_exit_code_1(sandbox: Sandbox, sample_repo: Path) -> None:
    assert run_cpl(sandbox, sample_repo, "doctor", "--set", "server.prot=1").returncode == 1


JSON_COMMANDS: list[tuple[str, ...]] = [
    ("init",),
    ("status",),
    ("status", "--verbose"),
    ("doctor",),
    ("doctor", "--logs"),
    ("clear",),
    ("clear", "--all", "--yes"),
    ("call", "describe"),
    ("call", "nope"),
    ("status", "--set", "server.prot=1"),
]


@pytest.mark.parametrize("arguments", JSON_COMMANDS, ids=" ".join)
def test_json_option_prints_one_document(sandbox: Sandbox, sample_repo: Path, arguments: tuple[str, ...]) -> None:
    assert isinstance(json.loads(run_cpl(sandbox, sample_repo, *arguments, "--json").stdout), dict)


@pytest.mark.parametrize("arguments", JSON_COMMANDS, ids=" ".join)
def test_text_in_a_pipe_has_no_escape_codes(sandbox: Sandbox, sample_repo: Path, arguments: tuple[str, ...]) -> None:
    done = run_cpl(sandbox, sample_repo, *arguments, env={"FORCE_COLOR": "1"})

    assert (ESCAPE in done.stdout, ESCAPE in done.stderr) == (False, False)


@pytest.mark.parametrize("word", ["statsu", "inti", "dotor", "cal", "claer"])
def test_mistyped_command_names_the_nearest(sandbox: Sandbox, tmp_path: Path, word: str) -> None:
    done = run_cpl(sandbox, tmp_path, word)

    assert (done.returncode, "Did you mean `cpl " in done.stderr) == (2, True)


def _settings(sandbox: Sandbox, repo: Path, *arguments: str, **env: str) -> dict[str, dict[str, Any]]:
    done = run_cpl(sandbox, repo, "status", "--json", *arguments, env=env)
    settings: dict[str, dict[str, Any]] = json.loads(done.stdout)["settings"]
    return settings


def test_status_shows_each_setting_with_where_it_came_from(sandbox: Sandbox, sample_repo: Path) -> None:
    sandbox.global_config.parent.mkdir()
    sandbox.global_config.write_text("mcp:\n  profile: full\n", encoding="utf-8")
    (sample_repo / ".codeplane").mkdir()
    (sample_repo / ".codeplane" / "config.yaml").write_text("reads:\n  page_bytes: 900\n", encoding="utf-8")

    found = _settings(sandbox, sample_repo, "--set", "server.port=12345", CODEPLANE__SERVER__WORKER_THREADS="3")

    assert found["sessions.idle_timeout_minutes"] == {"value": 30, "from": "default"}
    assert found["mcp.profile"] == {"value": "full", "from": f"{sandbox.global_config}:2"}
    assert found["reads.page_bytes"] == {"value": 900, "from": ".codeplane/config.yaml:2"}
    assert found["server.worker_threads"] == {"value": 3, "from": "CODEPLANE__SERVER__WORKER_THREADS"}
    assert found["server.port"] == {"value": 12345, "from": "--set"}


LAYERS = ["global", "repository", "environment", "--set"]


@pytest.mark.parametrize("highest", range(4), ids=LAYERS)
def test_higher_layer_wins(sandbox: Sandbox, sample_repo: Path, highest: int) -> None:
    env: dict[str, str] = {}
    arguments: tuple[str, ...] = ()
    sandbox.global_config.parent.mkdir()
    sandbox.global_config.write_text("server:\n  port: 1000\n", encoding="utf-8")
    if highest >= 1:
        (sample_repo / ".codeplane").mkdir()
        (sample_repo / ".codeplane" / "config.yaml").write_text("server:\n  port: 1001\n", encoding="utf-8")
    if highest >= 2:
        env["CODEPLANE__SERVER__PORT"] = "1002"
    if highest >= 3:
        arguments = ("--set", "server.port=1003")

    assert _settings(sandbox, sample_repo, *arguments, **env)["server.port"]["value"] == 1000 + highest


def test_status_without_a_set_up_repository_writes_nothing(sandbox: Sandbox, sample_repo: Path) -> None:
    run_cpl(sandbox, sample_repo, "status")

    assert not (sample_repo / ".codeplane").exists()


def test_status_says_what_the_index_does_not_hold(sandbox: Sandbox, sample_repo: Path) -> None:
    (sample_repo / "picture.bin").write_bytes(b"\0\1")
    (sample_repo / "page.vue").write_text("<template/>\n", encoding="utf-8")
    (sample_repo / ".env").write_text("A=1\n", encoding="utf-8")
    (sample_repo / ".cplignore").write_text("hidden/\n", encoding="utf-8")
    (sample_repo / "hidden").mkdir()
    run_cpl(sandbox, sample_repo, "init")

    lines = run_cpl(sandbox, sample_repo, "status").stdout.splitlines()

    assert "not searched: 1 binary" in lines
    assert "left out: 1 .env (built-in secrets), 1 hidden/ (.cplignore:1)" in lines
    assert "as text only: 1 vue" in lines
    assert "as text only: 1 vue" in run_cpl(sandbox, sample_repo, "doctor").stdout


def test_status_shows_the_running_server(shared_server: UpServer) -> None:
    done = run_cpl(shared_server.sandbox, shared_server.root, "status")

    assert f"running at {shared_server.url}" in done.stdout


def test_status_verbose_shows_settings_and_log_lines(shared_server: UpServer) -> None:
    done = run_cpl(shared_server.sandbox, shared_server.root, "status", "--verbose")

    assert ("server.port\t0\tdefault" in done.stdout, '"event":"server started"' in done.stdout) == (True, True)


def test_status_verbose_json_carries_log_lines(shared_server: UpServer) -> None:
    done = run_cpl(shared_server.sandbox, shared_server.root, "status", "--verbose", "--json")

    assert json.loads(json.loads(done.stdout)["log"][0])["event"] == "server started"


def test_status_follow_prints_new_log_lines_until_interrupted(sandbox: Sandbox, sample_repo: Path) -> None:
    with up(sandbox, sample_repo) as server:
        follower = subprocess.Popen(
            (*CPL, "status", "--follow"), cwd=sample_repo, env=sandbox.env, stdout=subprocess.PIPE, text=True
        )
        try:
            assert follower.stdout is not None
            assert any(line.startswith("last error") for line in follower.stdout)
            server.stop()
            line = follower.stdout.readline()
            follower.send_signal(signal.SIGINT)
            code = follower.wait(30)
        finally:
            end(follower)
            follower.communicate()

    assert (code, json.loads(line)["event"]) == (0, "server stopped")


def test_server_log_is_json_lines_with_time_level_and_event(shared_server: UpServer) -> None:
    lines = (shared_server.private / "logs" / "server.jsonl").read_text(encoding="utf-8").splitlines()
    documents = [json.loads(line) for line in lines]

    assert [document for document in documents if not {"ts", "level", "event"} <= set(document)] == []
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", documents[0]["ts"])


def test_init_says_what_it_did(sandbox: Sandbox, sample_repo: Path) -> None:
    done = run_cpl(sandbox, sample_repo, "init")

    assert (done.returncode, done.stdout.startswith("Set up: "), ".cplignore   written" in done.stdout) == (
        0,
        True,
        True,
    )


def test_second_init_changes_nothing_and_says_so(sandbox: Sandbox, sample_repo: Path) -> None:
    first = json.loads(run_cpl(sandbox, sample_repo, "init", "--json").stdout)
    second = json.loads(run_cpl(sandbox, sample_repo, "init", "--json").stdout)

    assert (first["already_initialised"], second["already_initialised"], second["wrote_cplignore"]) == (
        False,
        True,
        False,
    )
    assert first["repo_id"] == second["repo_id"]


def test_init_after_a_search_sets_up_and_tells_what_to_commit(sandbox: Sandbox, sample_repo: Path) -> None:
    run_cpl(sandbox, sample_repo, "search", "main")
    first, second = (run_cpl(sandbox, sample_repo, "init").stdout for _ in range(2))
    assert first.startswith("Set up: ")
    assert second.startswith("Already set up: ")
    assert ["Commit what was written" in text for text in (first, second)] == [True, False]


def test_init_keeps_an_ignore_file_that_is_there(sandbox: Sandbox, sample_repo: Path) -> None:
    (sample_repo / ".cplignore").write_text("mine\n", encoding="utf-8")
    run_cpl(sandbox, sample_repo, "init")

    assert (sample_repo / ".cplignore").read_text(encoding="utf-8") == "mine\n"


def test_init_hides_the_private_directory_from_git(sandbox: Sandbox, sample_repo: Path) -> None:
    run_cpl(sandbox, sample_repo, "init")

    assert git(sandbox, sample_repo, "status", "--porcelain") == "?? .cplignore\n?? .gitattributes\n"


def test_clear_removes_derived_data_and_keeps_the_ledger(sandbox: Sandbox, sample_repo: Path) -> None:
    with up(sandbox, sample_repo) as server:
        server.stop()
    done = run_cpl(sandbox, sample_repo, "clear")

    left = {path.name for path in (sample_repo / ".codeplane").iterdir()}
    assert (done.returncode, "logs" in left, "ledger.db" in left) == (0, False, True)


def test_clear_all_without_yes_lists_the_losses_and_removes_nothing(sandbox: Sandbox, sample_repo: Path) -> None:
    run_cpl(sandbox, sample_repo, "init")
    done = run_cpl(sandbox, sample_repo, "clear", "--all")

    assert (done.returncode, "ledger.db: the record of every call" in done.stderr) == (1, True)
    assert (sample_repo / ".codeplane" / "ledger.db").exists()


def test_clear_all_takes_a_person(sandbox: Sandbox, sample_repo: Path) -> None:
    run_cpl(sandbox, sample_repo, "init")
    refused = run_cpl(sandbox, sample_repo, "clear", "--all", "--yes")
    assert (refused.returncode, "OPERATOR_TOKEN_REQUIRED" in refused.stderr) == (2, True)
    assert (sample_repo / ".codeplane" / "ledger.db").exists()

    done = run_cpl(sandbox, sample_repo, "clear", "--all", "--yes", env={"CODEPLANE_OPERATOR_TOKEN": sandbox.token})
    assert (done.returncode, (sample_repo / ".codeplane").exists()) == (0, False)
    assert run_cpl(sandbox, sample_repo, "init").returncode == 0
    assert run_cpl(sandbox, sample_repo, "ledger", "verify").returncode == 0


def test_a_ledger_that_somebody_removed_is_missing_evidence(sandbox: Sandbox, sample_repo: Path) -> None:
    run_cpl(sandbox, sample_repo, "call", "describe")
    shutil.rmtree(sample_repo / ".codeplane")
    for _ in range(2):
        done = run_cpl(sandbox, sample_repo, "ledger", "verify")
        assert (done.returncode, done.stdout.startswith("EVIDENCE MISSING")) == (1, True), done.stdout
        assert "`cpl clear --all` starts a fresh record" in done.stdout
        run_cpl(sandbox, sample_repo, "call", "describe")


LOOSER = ("tasks.max_mutations=501", "sessions.read_budget_bytes=0", "retention.days=1", "edits.allowed=src/**")


@pytest.mark.parametrize("setting", LOOSER)
def test_a_looser_setting_for_one_command_takes_a_person(sandbox: Sandbox, sample_repo: Path, setting: str) -> None:
    key, _, value = setting.partition("=")
    variable = {f"CODEPLANE__{key.replace('.', '__').upper()}": value}
    run_cpl(sandbox, sample_repo, "init")
    for refused in (
        run_cpl(sandbox, sample_repo, "call", "describe", "--set", setting),
        run_cpl(sandbox, sample_repo, "call", "describe", env=variable),
    ):
        assert (refused.returncode, key in refused.stderr) == (2, True), refused
    token = {"CODEPLANE_OPERATOR_TOKEN": sandbox.token}
    assert run_cpl(sandbox, sample_repo, "call", "describe", "--set", setting, env=token).returncode == 0


def test_a_tighter_setting_for_one_command_takes_nobody(sandbox: Sandbox, sample_repo: Path) -> None:
    tighter = ("--set", "tasks.max_mutations=1", "--set", "retention.days=30", "--set", "server.port=1")
    assert run_cpl(sandbox, sample_repo, "call", "describe", *tighter).returncode == 0


def test_only_a_person_resets_the_budget(sandbox: Sandbox, sample_repo: Path) -> None:
    refused = run_cpl(sandbox, sample_repo, "task", "reset")
    assert (refused.returncode, "OPERATOR_TOKEN_REQUIRED" in refused.stderr) == (2, True)
    token = {"CODEPLANE_OPERATOR_TOKEN": sandbox.token}
    done = run_cpl(sandbox, sample_repo, "task", "reset", "--json", env=token)
    assert json.loads(done.stdout) == {"reset": True, "mutations_before": 0, "test_runs_before": 0}


def test_clearing_twice_is_fine(sandbox: Sandbox, sample_repo: Path) -> None:
    run_cpl(sandbox, sample_repo, "clear", "--all", "--yes")
    token = {"CODEPLANE_OPERATOR_TOKEN": sandbox.token}
    done = [run_cpl(sandbox, sample_repo, "clear", "--all", "--yes", env=token).returncode for _ in range(2)]
    assert done == [0, 0]


@pytest.mark.parametrize("arguments", [("clear",), ("clear", "--all", "--yes")], ids=" ".join)
def test_clear_is_refused_while_a_server_runs(shared_server: UpServer, arguments: tuple[str, ...]) -> None:
    done = run_cpl(shared_server.sandbox, shared_server.root, *arguments)

    assert (done.returncode, "SERVER_ALREADY_RUNNING" in done.stderr) == (2, True)


def test_clear_is_refused_while_a_server_runs_whose_files_are_gone(sandbox: Sandbox, sample_repo: Path) -> None:
    with up(sandbox, sample_repo) as server:
        (server.private / "server.json").unlink()
        done = run_cpl(sandbox, sample_repo, "clear", "--all", "--yes")

    assert (done.returncode, (sample_repo / ".codeplane" / "ledger.db").exists()) == (2, True)


def _doctor(sandbox: Sandbox, repo: Path) -> tuple[int, dict[str, str]]:
    done = run_cpl(sandbox, repo, "doctor", "--json")
    return done.returncode, {check["name"]: check["state"] for check in json.loads(done.stdout)["checks"]}


def test_doctor_finds_nothing_in_a_healthy_repository(sandbox: Sandbox, sample_repo: Path) -> None:
    run_cpl(sandbox, sample_repo, "init")
    code, states = _doctor(sandbox, sample_repo)

    assert (code, states.pop("gates"), set(states.values())) == (0, "not available", {"ok"})


def test_doctor_sets_nothing_up(sandbox: Sandbox, sample_repo: Path) -> None:
    code, states = _doctor(sandbox, sample_repo)

    assert (code, states["set up"], (sample_repo / ".codeplane").exists()) == (0, "not available", False)


def test_doctor_finds_a_row_that_was_edited(sandbox: Sandbox, sample_repo: Path) -> None:
    run_cpl(sandbox, sample_repo, "init")
    run_cpl(sandbox, sample_repo, "call", "describe")
    with closing(sqlite3.connect(sample_repo / ".codeplane" / "ledger.db")) as database, database:
        database.execute("UPDATE events SET operation = 'nothing' WHERE operation = 'describe'")

    code, states = _doctor(sandbox, sample_repo)

    assert (code, states["event chain"]) == (1, "problem")


def test_doctor_finds_a_row_that_was_removed(sandbox: Sandbox, sample_repo: Path) -> None:
    for _ in range(3):
        run_cpl(sandbox, sample_repo, "call", "describe")
    with closing(sqlite3.connect(sample_repo / ".codeplane" / "ledger.db")) as database, database:
        database.execute("DELETE FROM events WHERE seq = 2")

    assert _doctor(sandbox, sample_repo)[1]["event chain"] == "problem"


def test_doctor_finds_a_ledger_that_is_no_database(sandbox: Sandbox, sample_repo: Path) -> None:
    run_cpl(sandbox, sample_repo, "init")
    (sample_repo / ".codeplane" / "ledger.db").write_bytes(b"this is not a database" * 100)

    code, states = _doctor(sandbox, sample_repo)

    assert (code, states["ledger file"]) == (1, "problem")


def test_doctor_finds_a_ledger_damaged_in_the_middle(sandbox: Sandbox, sample_repo: Path) -> None:
    for _ in range(3):
        run_cpl(sandbox, sample_repo, "call", "describe")
    ledger = sample_repo / ".codeplane" / "ledger.db"
    data = bytearray(ledger.read_bytes())
    data[4096 * 2 : 4096 * 4] = b"\xa5" * 8192
    ledger.write_bytes(data)

    done = run_cpl(sandbox, sample_repo, "doctor")

    assert (done.returncode, "PROBLEM" in done.stdout, "Traceback" in done.stderr) == (1, True, False)


def test_doctor_finds_a_wrong_configuration(sandbox: Sandbox, sample_repo: Path) -> None:
    run_cpl(sandbox, sample_repo, "init")
    (sample_repo / ".codeplane" / "config.yaml").write_text("server: 7\n", encoding="utf-8")

    code, states = _doctor(sandbox, sample_repo)

    assert (code, states["configuration"]) == (1, "problem")


def test_doctor_reaches_the_running_server(shared_server: UpServer) -> None:
    done = run_cpl(shared_server.sandbox, shared_server.root, "doctor")

    assert f"answers at {shared_server.url}" in done.stdout


def test_doctor_logs_adds_versions_settings_and_log(shared_server: UpServer) -> None:
    bundle = json.loads(run_cpl(shared_server.sandbox, shared_server.root, "doctor", "--logs", "--json").stdout)[
        "bundle"
    ]

    assert (set(bundle) >= {"codeplane", "python", "platform", "settings", "log"}, len(bundle["log"]) > 0) == (
        True,
        True,
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("targets=README.md",), ""),
        (("targets=README.md", "targets=src/app.py"), ""),
        (('targets=["README.md", "src/app.py"]',), ""),
        (('{"targets": ["README.md"]}',), ""),
        (('  {"targets": "README.md"}',), ""),
        (("-",), '{"targets": ["README.md"]}'),
        (("path=README.md", "start_line=1", "end_line=2"), ""),
    ],
)
def test_call_takes_arguments_in_every_form(
    sandbox: Sandbox, sample_repo: Path, arguments: tuple[str, ...], text: str
) -> None:
    done = run_cpl(sandbox, sample_repo, "call", "read_source", *arguments, text=text)

    assert (done.returncode, "README.md lines 1-" in done.stdout) == (0, True)


def test_call_takes_a_value_with_equals_signs(sandbox: Sandbox, sample_repo: Path) -> None:
    (sample_repo / "a=b=c.txt").write_text("equal\n", encoding="utf-8")

    assert "equal" in run_cpl(sandbox, sample_repo, "call", "read_source", "targets=a=b=c.txt").stdout


def test_call_works_beside_a_running_server(shared_server: UpServer) -> None:
    done = run_cpl(shared_server.sandbox, shared_server.root, "call", "describe", "--json")

    assert json.loads(done.stdout)["result"]["repo_root"] == str(shared_server.root)


def test_call_resumes_a_session_of_the_server(shared_server: UpServer) -> None:
    session = json.loads(run_cpl(shared_server.sandbox, shared_server.root, "call", "describe", "--json").stdout)[
        "meta"
    ]
    again = run_cpl(
        shared_server.sandbox, shared_server.root, "call", "describe", "--json", "--session", session["session_id"]
    )

    assert json.loads(again.stdout)["meta"]["session_id"] == session["session_id"]


def test_call_with_half_a_surrogate_pair_is_answered(sandbox: Sandbox, sample_repo: Path) -> None:
    done = run_cpl(sandbox, sample_repo, "call", "describe", '{"action": "tool", "name": "\\ud800"}', "--json")

    assert (done.returncode, "error" in json.loads(done.stdout), "Traceback" in done.stderr) == (2, True, False)


def test_call_is_recorded_in_the_ledger(sandbox: Sandbox, sample_repo: Path) -> None:
    run_cpl(sandbox, sample_repo, "call", "list_files")

    with closing(sqlite3.connect(sample_repo / ".codeplane" / "ledger.db")) as database:
        rows = database.execute("SELECT kind, operation FROM events WHERE call_id IS NOT NULL").fetchall()
    assert rows == [("finished", "list_files")]


def test_reader_of_a_pipe_may_leave_early(sandbox: Sandbox, sample_repo: Path) -> None:
    process = subprocess.Popen(
        (*CPL, "call", "read_file_full", "path=src/large.txt", "confirm=true", "inline=true"),
        cwd=sample_repo,
        env=sandbox.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()

    assert (process.wait(30), errors) == (0, b"")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_names_the_program(sandbox: Sandbox, tmp_path: Path, shell: str) -> None:
    done = run_cpl(sandbox, tmp_path, "completion", shell)

    assert (done.returncode, "_CPL_COMPLETE" in done.stdout) == (0, True)


def test_bash_accepts_the_completion_script(sandbox: Sandbox, tmp_path: Path) -> None:
    script = tmp_path / "cpl.bash"
    script.write_text(run_cpl(sandbox, tmp_path, "completion", "bash").stdout, encoding="utf-8")

    assert subprocess.run(("bash", "-n", str(script)), capture_output=True, timeout=30, check=False).returncode == 0


def test_completion_completes_command_names(sandbox: Sandbox, tmp_path: Path) -> None:
    env = {"_CPL_COMPLETE": "bash_complete", "COMP_WORDS": "cpl st", "COMP_CWORD": "1"}

    assert "plain,status" in run_cpl(sandbox, tmp_path, env=env).stdout


def test_demo_tells_its_story_and_ends_well(sandbox: Sandbox, tmp_path: Path) -> None:
    done = run_cpl(sandbox, tmp_path, "demo")

    key_lines = (
        "1. A sample repository",
        "2. The server runs on http://127.0.0.1:",
        "SECRET_FILE",
        "did you mean `targets`",
        "3. A second agent speaks stdio",
        "the event chain is verified",
    )
    assert (done.returncode, [line for line in key_lines if line not in done.stdout]) == (0, [])


def test_demo_leaves_no_sample_behind(sandbox: Sandbox, tmp_path: Path) -> None:
    run_cpl(sandbox, tmp_path, "demo", env={"TMPDIR": str(sandbox.run)})

    assert wait_until(lambda: not list(sandbox.run.glob("codeplane-demo-*")), "the sample is gone")


def test_a_full_output_is_told_without_a_traceback(sandbox: Sandbox, sample_repo: Path) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            (*CPL, "call", "describe"),
            cwd=sample_repo,
            env=sandbox.env,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    assert (done.returncode, done.stderr.splitlines()[0][:24], "Exception" in done.stderr) == (
        2,
        "FILE_WRITE_FAILED (2016)",
        False,
    )
