"""`cpl ledger`: what people see of the record, and an export that proves itself without CodePlane."""

import hashlib
import hmac
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.workspace.places import UserPlaces
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace
from support.doors import caller
from surfaces.support_processes import Sandbox, UpServer, git, run_cpl

pytestmark = pytest.mark.slow


@pytest.fixture
def recorded_repo(sandbox: Sandbox, sample_repo: Path) -> Path:
    """Return a repository whose ledger has four calls, one of which failed."""
    user = UserPlaces(sandbox.home / "config" / "codeplane", sandbox.home / "state" / "codeplane", sandbox.run)
    calls: list[tuple[str, dict[str, object]]] = [
        ("describe", {}), ("list_files", {}), ("read_source", {"targets": ["missing.txt"]}), ("describe", {}),
    ]  # fmt: skip
    with open_workspace(WorkspaceRequest(sample_repo, user=user)) as workspace:
        for number, (name, arguments) in enumerate(calls):
            dispatch(Door(workspace, OPERATIONS), name, arguments, caller(f"c-{number}"))
    return sample_repo


def _json(sandbox: Sandbox, repo: Path, *arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run_cpl(sandbox, repo, "ledger", *arguments, "--json").stdout)
    return document


def _change(repo: Path, statement: str) -> None:
    with closing(sqlite3.connect(repo / ".codeplane" / "ledger.db")) as connection, connection:
        connection.execute(statement)


def _state(sandbox: Sandbox) -> Path:
    return sandbox.home / "state" / "codeplane" / "ledgers"


@pytest.mark.parametrize(
    ("arguments", "numbers"),
    [
        ((), [4, 3, 2, 1]),
        (("--limit", "2"), [4, 3]),
        (("--before", "3"), [2, 1]),
        (("--operation", "describe"), [4, 1]),
        (("--outcome", "failed"), [3]),
        (("--outcome", "finished", "--operation", "list_files"), [2]),
        (("--since", "2001-01-01"), [4, 3, 2, 1]),
        (("--until", "2001-01-01T00:00:00Z"), []),
        (("--since", "2101-01-01"), []),
        (("--session", "nobody"), []),
        (("--task", "nothing"), []),
    ],
)
def test_log_shows_the_rows_that_fit(
    sandbox: Sandbox, recorded_repo: Path, arguments: tuple[str, ...], numbers: list[int]
) -> None:
    done = run_cpl(sandbox, recorded_repo, "ledger", "log", *arguments)
    shown = [int(line.split("\t")[0]) for line in done.stdout.splitlines()]
    assert (shown, done.returncode) == (numbers, 0 if numbers else 1)


def test_log_as_json_has_every_field_and_the_way_on(sandbox: Sandbox, recorded_repo: Path) -> None:
    first = _json(sandbox, recorded_repo, "log", "--limit", "3")
    rest = _json(sandbox, recorded_repo, "log", "--before", str(first["next_before"]))
    assert ([row["seq"] for row in first["rows"] + rest["rows"]], rest["next_before"]) == ([4, 3, 2, 1], None)
    assert first["rows"][1]["body"]["error"] == "FILE_NOT_FOUND"
    session = first["rows"][0]["session"]
    assert [row["seq"] for row in _json(sandbox, recorded_repo, "log", "--session", session)["rows"]] == [4]


def test_show_takes_a_row_or_a_call(sandbox: Sandbox, recorded_repo: Path) -> None:
    (row,) = _json(sandbox, recorded_repo, "show", "2")["rows"]
    (same,) = _json(sandbox, recorded_repo, "show", row["call_id"])["rows"]
    text = run_cpl(sandbox, recorded_repo, "ledger", "show", "2").stdout
    assert (row, row["operation"]) == (same, "list_files")
    assert f"hash: {row['hash']}" in text


@pytest.mark.parametrize("name", ["99", "0", "req_nothing", "9" * 40])
def test_show_of_nothing_is_told(sandbox: Sandbox, recorded_repo: Path, name: str) -> None:
    done = run_cpl(sandbox, recorded_repo, "ledger", "show", name)
    assert (done.returncode, "NOT_FOUND" in done.stderr) == (2, True)


@pytest.mark.parametrize("command", ["log", "verify", "export", "anchor"])
def test_a_repository_that_is_not_set_up_is_told_and_stays_so(
    sandbox: Sandbox, sample_repo: Path, command: str
) -> None:
    done = run_cpl(sandbox, sample_repo, "ledger", command)
    assert (done.returncode, "no ledger yet" in done.stderr) == (2, True)
    assert not (sample_repo / ".codeplane").exists()


def test_verify_of_a_sound_ledger_ends_with_0(sandbox: Sandbox, recorded_repo: Path) -> None:
    done = run_cpl(sandbox, recorded_repo, "ledger", "verify")
    found = _json(sandbox, recorded_repo, "verify")
    assert (done.returncode, done.stdout.startswith("Sound: 4 rows verified")) == (0, True)
    assert (found["verdict"], found["rows"], found["sealed_from"], found["sealed_to"]) == ("sound", 4, 1, 4)


@pytest.mark.parametrize(
    ("statement", "row"),
    [
        ("UPDATE events SET operation = 'innocent' WHERE seq = 3", 3),
        ("DELETE FROM events WHERE seq > 2", 3),
        ("DELETE FROM events", 1),
        ("UPDATE meta SET value = 'repo_x' WHERE key = 'repo_id'", 1),
    ],
)
def test_verify_of_a_changed_ledger_ends_with_1_and_names_the_row(
    sandbox: Sandbox, recorded_repo: Path, statement: str, row: int
) -> None:
    _change(recorded_repo, statement)
    done = run_cpl(sandbox, recorded_repo, "ledger", "verify")
    assert (done.returncode, done.stdout.startswith(f"TAMPERED: row {row}: ")) == (1, True)
    run_cpl(sandbox, recorded_repo, "call", "describe")
    found = _json(sandbox, recorded_repo, "verify")
    assert (found["verdict"], found["first_bad_row"]) == ("tampered", row)


@pytest.mark.parametrize("how", ["deleted", "cut", "overwritten"])
def test_verify_misses_a_ledger_file_that_is_gone(sandbox: Sandbox, recorded_repo: Path, how: str) -> None:
    ledger = recorded_repo / ".codeplane" / "ledger.db"
    if how == "deleted":
        ledger.unlink()
    else:
        ledger.write_bytes(ledger.read_bytes()[:5000] if how == "cut" else b"nothing to see here" * 500)
    done = run_cpl(sandbox, recorded_repo, "ledger", "verify")
    assert (done.returncode, "TAMPERED: row 1" in done.stdout, "with 4 rows" in done.stdout) == (1, True, True)


def test_verify_without_the_state_directory_says_what_is_still_proven(sandbox: Sandbox, recorded_repo: Path) -> None:
    shutil.rmtree(_state(sandbox))
    done = run_cpl(sandbox, recorded_repo, "ledger", "verify")
    assert (done.returncode, "anchor" in done.stdout, "TAMPERED" in done.stdout) == (0, True, False)
    assert _json(sandbox, recorded_repo, "verify")["verdict"] == "anchor missing"
    run_cpl(sandbox, recorded_repo, "call", "describe")
    found = _json(sandbox, recorded_repo, "verify")
    assert (found["verdict"], found["sealed_from"]) == ("sound", 5)


@pytest.mark.parametrize("arguments", [("clear",), ("clear", "--all", "--yes")], ids=" ".join)
def test_clearing_is_not_taken_for_tampering(sandbox: Sandbox, recorded_repo: Path, arguments: tuple[str, ...]) -> None:
    run_cpl(sandbox, recorded_repo, "clear", "--all", "--yes")
    cleared = run_cpl(sandbox, recorded_repo, *arguments, env={"CODEPLANE_OPERATOR_TOKEN": sandbox.token})
    assert cleared.returncode == 0, cleared.stderr
    run_cpl(sandbox, recorded_repo, "call", "describe")
    done = run_cpl(sandbox, recorded_repo, "ledger", "verify")
    assert (done.returncode, done.stdout.splitlines()[0].startswith("Sound: ")) == (0, True), done.stdout


def test_a_newer_ledger_is_refused_with_a_clear_error(sandbox: Sandbox, recorded_repo: Path) -> None:
    _change(recorded_repo, "PRAGMA user_version=99")
    done = run_cpl(sandbox, recorded_repo, "ledger", "verify")
    assert (done.returncode, "MIGRATION_FAILED" in done.stderr, "99" in done.stderr) == (2, True, True)


def test_every_command_works_beside_a_running_server(shared_server: UpServer) -> None:
    for command in ("log", "verify", "export"):
        assert run_cpl(shared_server.sandbox, shared_server.root, "ledger", command).returncode == 0


def test_a_git_note_is_a_witness(sandbox: Sandbox, recorded_repo: Path) -> None:
    anchored = _json(sandbox, recorded_repo, "anchor")
    note = git(sandbox, recorded_repo, "notes", "--ref=codeplane", "show", "HEAD")
    assert (anchored["row"] >= 4, anchored["hash"] in note) == (True, True)
    assert _json(sandbox, recorded_repo, "verify", "--git-notes")["verdict"] == "sound"
    shutil.rmtree(_state(sandbox))
    _change(recorded_repo, "DELETE FROM events WHERE seq > 2")
    _change(recorded_repo, "DELETE FROM task_states")
    assert _json(sandbox, recorded_repo, "verify")["verdict"] == "anchor missing"
    found = _json(sandbox, recorded_repo, "verify", "--git-notes")
    assert (found["verdict"], found["first_bad_row"]) == ("tampered", 3)


def _first_bad_line(lines: list[str], key: bytes) -> int | None:
    """Follow the recipe with nothing but the standard library; return the number of the first line that is wrong."""
    ledger = json.loads(lines[0])["ledger"]
    key_id = hashlib.sha256(b"codeplane-ledger-key\n" + key).hexdigest()[:16]
    head = "0" * 64
    for number, line in enumerate(lines[1:-1], start=1):
        document = json.loads(line)
        text = line[line.index('"row":') + len('"row":') : line.rindex(',"seal":')]
        own_hash = hashlib.sha256(text.encode()).hexdigest()
        message = f"codeplane-ledger-row-1\n{ledger['repo_id']}\n{document['row']['seq']}\n{own_hash}"
        seal = f"{key_id}:{hmac.new(key, message.encode(), hashlib.sha256).hexdigest()}"
        if (document["hash"], document["row"]["prev_hash"], document["seal"]) != (own_hash, head, seal):
            return number
        head = own_hash
    end = json.loads(lines[-1])["end"]
    unsigned = {name: value for name, value in end["sealed_head"].items() if name != "mac"}
    text = json.dumps(unsigned, sort_keys=True, separators=(",", ":"))
    mac = hmac.new(key, f"codeplane-ledger-head-1\n{text}".encode(), hashlib.sha256).hexdigest()
    is_whole = (end["rows"], end["hash"], end["sealed_head"]["mac"]) == (len(lines) - 2, head, mac)
    return None if is_whole else len(lines) - 1


def test_an_export_can_be_verified_without_codeplane(sandbox: Sandbox, recorded_repo: Path, tmp_path: Path) -> None:
    target = tmp_path / "ledger.jsonl"
    assert run_cpl(sandbox, recorded_repo, "ledger", "export", "--output", str(target)).returncode == 0
    text = target.read_text(encoding="utf-8")
    assert run_cpl(sandbox, recorded_repo, "ledger", "export").stdout == text
    lines = text.split("\n")[:-1]
    (key_file,) = _state(sandbox).glob("*/key")
    key = key_file.read_bytes()
    assert (len(lines), _first_bad_line(lines, key)) == (6, None)
    assert _first_bad_line([line.replace("list_files", "list_filez") for line in lines], key) == 2
    assert _first_bad_line([*lines[:3], *lines[4:]], key) == 3
    assert _first_bad_line([*lines[:4], lines[-1]], key) == 4
    assert _first_bad_line(lines, b"x" * 32) == 1


def test_the_recipe_is_told(sandbox: Sandbox, tmp_path: Path) -> None:
    done = run_cpl(sandbox, tmp_path, "ledger", "export", "--recipe")
    assert (done.returncode, "SHA-256" in done.stdout, "HMAC-SHA-256" in done.stdout) == (0, True, True)


@pytest.mark.parametrize(
    "arguments", [("log", "--since", "yesterday"), ("log", "--limit", "0"), ("log", "--outcome", "lost"), ("nonsense",)]
)
def test_arguments_that_mean_nothing_are_refused(
    sandbox: Sandbox, recorded_repo: Path, arguments: tuple[str, ...]
) -> None:
    done = run_cpl(sandbox, recorded_repo, "ledger", *arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


def test_control_characters_in_a_row_do_not_reach_the_terminal(sandbox: Sandbox, recorded_repo: Path) -> None:
    run_cpl(sandbox, recorded_repo, "call", "bad\x1b[31m\nname")
    done = run_cpl(sandbox, recorded_repo, "ledger", "log", "--limit", "1")
    assert ("\x1b" in done.stdout, len(done.stdout.splitlines())) == (False, 1)
