"""One story through the door: intent, edit, approval, commit, blame, verify; and what may go wrong on the way."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.ids import RandomIds
from codeplane.govern.trace.exchange import record_problem
from codeplane.govern.trace.files import MAP_FILE, TRACE_FILE
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace
from support.doors import call, error_of, open_test_workspace, result_of
from support.governed import FILES, approve, write_intents
from support.repositories import git, make_repository, write
from support.traced import SETUP, traced_edit

EDIT = {"edits": [{"path": "src/json/provider.py", "expected_content": "str(value)", "new_content": "repr(value)"}]}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    root = make_repository(tmp_path / "repo", FILES)
    write_intents(root)
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@example.invalid")
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        yield Door(workspace, OPERATIONS)


def _lines(door: Door) -> list[dict[str, object]]:
    text = (door.workspace.root / TRACE_FILE).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_a_line_leads_to_intent_requirement_call_and_approver(door: Door) -> None:
    root = door.workspace.root
    result_of(call(door, "select_active_intent", {"intent_id": "INT-001"}))
    done = call(door, "write_source", EDIT)
    deletion = {"edits": [{"path": "src/json/old.py", "action": "delete"}]}
    approve(door.workspace, (call(door, "write_source", deletion).error or done.error).details["hold_id"])  # type: ignore[union-attr]  # one of both is set
    result_of(call(door, "write_source", deletion))
    group = result_of(call(door, "trace_blame", {"path": "src/json/provider.py:2"}))["groups"][0]
    assert {name: group[name] for name in ("status", "intent", "requirements", "contributor", "tool", "method")} == {
        "status": "traced", "intent": "INT-001", "requirements": ["REQ-12"], "contributor": "ai",
        "tool": "write_source", "method": "exact",
    }  # fmt: skip
    assert group["call_id"] == done.meta.request_id
    records = _lines(door)
    assert [record_problem(one) for one in records] == [None, None]
    deleted = records[1]["metadata"]["dev.codeplane"]  # type: ignore[index]  # JSON
    assert (deleted["change"], bool(deleted["approval"])) == ("delete", True)
    text = (root / TRACE_FILE).read_text(encoding="utf-8")
    assert str(Path.home()) not in text
    assert "@example" not in text
    shown = result_of(call(door, "show_intent", {"intent_id": "INT-001"}))
    assert (shown["live_lines"], [one["path"] for one in shown["files"]]) == (1, ["src/json/provider.py"])
    # A change of one name is a refactoring; the deletion evolves the intent.
    assert "- INT-001: `src/json/old.py`\n" in (root / MAP_FILE).read_text(encoding="utf-8")
    blamed = result_of(call(door, "git_inspect", {"action": "blame", "path": "src/json/provider.py"}))
    assert [one["intent"] for hunk in blamed["blame"] for one in hunk.get("trace") or ()] == ["INT-001"]


def test_a_commit_names_its_intent_and_takes_the_trace_along(door: Door) -> None:
    root = door.workspace.root
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "set up")
    result_of(call(door, "select_active_intent", {"intent_id": "INT-001"}))
    write(root, {TRACE_FILE: ""})
    git(root, "add", "--force", TRACE_FILE)
    git(root, "commit", "--quiet", "-m", "trace")
    result_of(call(door, "write_source", EDIT))
    result_of(call(door, "git_stage_and_commit", {"message": "Use repr", "paths": ["src/json/provider.py"]}))
    assert git(root, "log", "-1", "--format=%B").strip() == "Use repr\n\nIntent: INT-001"
    assert TRACE_FILE in git(root, "show", "--name-only", "--format=", "HEAD").split()
    found = result_of(call(door, "verify_range", {"range": "HEAD"}))
    assert found["ok"]


def test_a_change_by_a_person_between_calls_is_recorded_as_unknown(door: Door) -> None:
    result_of(call(door, "select_active_intent", {"intent_id": "INT-001"}))
    result_of(call(door, "write_source", EDIT))
    place = door.workspace.root / "src/json/provider.py"
    place.write_text(place.read_text(encoding="utf-8") + "written_by_a_person_alone = 1\n", encoding="utf-8")
    more = {"path": "src/json/provider.py", "expected_content": "def dumps", "new_content": "def dump_all"}
    result_of(call(door, "write_source", {"edits": [more]}))
    kinds = [
        (one["files"][0]["conversations"][0]["contributor"]["type"], one["metadata"]["dev.codeplane"]["agent_action"])  # type: ignore[index]  # JSON
        for one in _lines(door)
    ]
    assert kinds == [("ai", "write"), ("unknown", "outside"), ("ai", "write")]
    groups = result_of(call(door, "trace_blame", {"path": "src/json/provider.py"}))["groups"]
    assert [(one["start_line"], one["status"]) for one in groups] == [(1, "traced"), (2, "traced"), (3, "untraced")]


def test_an_undone_change_gives_the_lines_back_to_their_owner(door: Door) -> None:
    result_of(call(door, "select_active_intent", {"intent_id": "INT-001"}))
    done = call(door, "write_source", EDIT)
    answer = call(door, "undo", {"operation": done.meta.request_id})
    if answer.error is not None:
        approve(door.workspace, answer.error.details["hold_id"])
        answer = call(door, "undo", {"operation": done.meta.request_id})
    result_of(answer)
    groups = result_of(call(door, "trace_blame", {"path": "src/json/provider.py"}))["groups"]
    assert [one["status"] for one in groups] == ["untraced"]


BAD_INPUT = {
    "binary": (b"\0\1\2" * 100, "FILE_BINARY"),
    "missing": (None, "FILE_NOT_FOUND"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_blame_of_what_has_no_lines_says_so(name: str, door: Door) -> None:
    content, code = BAD_INPUT[name]
    if content is not None:
        (door.workspace.root / "odd.bin").write_bytes(content)
    assert error_of(call(door, "trace_blame", {"path": "odd.bin"})) == code


def test_blame_needs_no_commit(tmp_path: Path) -> None:
    root = tmp_path / "unborn"
    root.mkdir()
    git(root, "init", "--quiet", "--template=")
    write(root, {**SETUP})
    with open_workspace(WorkspaceRequest(root, ids=RandomIds())) as workspace:
        traced_edit(workspace, "INT-001", "new.py", "first_line_of_a_new_file = 1\n")
        door = Door(workspace, OPERATIONS)
        groups = result_of(call(door, "trace_blame", {"path": "new.py"}))["groups"]
        assert [one["intent"] for one in groups] == ["INT-001"]
        assert workspace.trace.verify().is_sound


@pytest.fixture
def traced(tmp_path: Path) -> Iterator[Workspace]:
    root = make_repository(tmp_path / "traced", {**SETUP, "a.py": "first = 1\n"})
    with open_workspace(WorkspaceRequest(root, ids=RandomIds())) as workspace:
        for number in range(3):
            traced_edit(workspace, "INT-001", "a.py", f"value_of_number_{number} = 1\n")
        yield workspace


def test_a_torn_last_line_is_dropped_and_written_again(traced: Workspace) -> None:
    place = traced.root / TRACE_FILE
    data = place.read_bytes()
    place.write_bytes(data[:-40])
    assert [number for number, _ in traced.trace.verify().problems][:1] == [3]
    traced_edit(traced, "INT-001", "a.py", "value_after_the_torn_line = 1\n")
    lines = [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]
    assert lines[-1]["metadata"]["dev.codeplane"]["chain"]["continues"]["seq"] == 3


def test_crlf_and_foreign_lines_are_not_an_alarm(traced: Workspace) -> None:
    place = traced.root / TRACE_FILE
    foreign = (
        '{"version":"0.1.0","id":"11111111-2222-4333-8444-555555555555","timestamp":"2026-01-01T00:00:00Z","files":[]}'
    )
    place.write_bytes(place.read_bytes().replace(b"\n", b"\r\n") + foreign.encode() + b"\r\n")
    report = traced.trace.verify()
    assert (report.problems, report.n_records, report.n_foreign) == ([], 3, 1)


def test_conflict_markers_are_named(traced: Workspace) -> None:
    place = traced.root / TRACE_FILE
    place.write_text("<<<<<<< HEAD\n" + place.read_text(encoding="utf-8"), encoding="utf-8")
    assert traced.trace.verify().problems[0] == (1, "a conflict marker; keep the lines of both sides")


def test_a_record_of_a_newer_form_is_kept_and_not_understood(traced: Workspace) -> None:
    place = traced.root / TRACE_FILE
    newer = place.read_text(encoding="utf-8").splitlines()[0].replace('"format":1', '"format":9')
    place.write_text(place.read_text(encoding="utf-8") + newer + "\n", encoding="utf-8")
    owners, index = traced.trace.owners_of("a.py", (traced.root / "a.py").read_bytes())
    assert index.count() == 3
    assert owners[0].number == 3


def test_a_clock_that_runs_backwards_breaks_nothing(tmp_path: Path) -> None:
    clock = ManualClock()
    root = make_repository(tmp_path / "repo", {**SETUP, "a.py": "first = 1\n"})
    with open_workspace(WorkspaceRequest(root, clock=clock, ids=RandomIds())) as workspace:
        traced_edit(workspace, "INT-001", "a.py", "value_of_the_first_call = 1\n")
        clock.advance(-86_400)
        traced_edit(workspace, "INT-002", "a.py", "value_of_the_second_call = 1\n")
        owners, index = workspace.trace.owners_of("a.py", (root / "a.py").read_bytes())
        entry = index.entry(owners[0].number)
        assert entry is not None
        assert (entry.intent, workspace.trace.verify().problems) == ("INT-002", [])


def test_without_intents_nothing_is_written_into_the_tree(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {"a.py": "first = 1\n"})
    with open_workspace(WorkspaceRequest(root, ids=RandomIds())) as workspace:
        door = Door(workspace, OPERATIONS)
        edit = {"path": "a.py", "expected_content": "first", "new_content": "second_name_of_it"}
        result_of(call(door, "write_source", {"edits": [edit]}))
        assert not (root / ".orchestration").exists()
        assert result_of(call(door, "trace_blame", {"path": "a.py"}))["groups"][0]["status"] == "traced"


_WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from codeplane.core.ids import RandomIds
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace
from support.traced import traced_edit
with open_workspace(WorkspaceRequest(Path(sys.argv[1]), ids=RandomIds())) as workspace:
    for number in range(int(sys.argv[4])):
        traced_edit(workspace, "INT-001", f"of_{sys.argv[2]}.py", f"value_of_{sys.argv[2]}_{number} = 1\\n")
"""


@pytest.mark.slow
def test_parallel_writers_leave_no_torn_line(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {**SETUP})
    n_each = 100 * int(os.environ.get("CODEPLANE_SOAK", "1")) // 10 or 10
    tests = str(Path(__file__).parents[1])
    running = [
        subprocess.Popen((sys.executable, "-c", _WRITER, str(root), str(number), tests, str(n_each)))
        for number in range(4)
    ]
    assert [one.wait(timeout=240) for one in running] == [0, 0, 0, 0]
    with open_workspace(WorkspaceRequest(root, ids=RandomIds())) as workspace:
        workspace.trace.project()
        report = workspace.trace.verify()
    assert (report.problems, report.n_records, len(report.segments)) == ([], 4 * n_each, 1)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["work", "trace", "append_final"])
def test_a_killed_call_is_traced_by_the_next_one(step: str, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {**SETUP, "a.py": "first = 1\n"})
    program = (
        "import os, sys; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path\n"
        "from codeplane.core.ids import RandomIds\n"
        "from codeplane.operations.catalog import OPERATIONS\n"
        "from codeplane.operations.perform import Door\n"
        "from codeplane.workspace.workspace import WorkspaceRequest, open_workspace\n"
        "from support.doors import call\n"
        "workspace = open_workspace(WorkspaceRequest(Path(sys.argv[1]), ids=RandomIds()))\n"
        "call(Door(workspace, OPERATIONS), 'select_active_intent', {'intent_id': 'INT-001'})\n"
        "stop = lambda name: os.kill(os.getpid(), 9) if name == sys.argv[3] else None\n"
        "edit = {'path': 'a.py', 'expected_content': 'first', 'new_content': 'value_of_the_killed_call'}\n"
        "call(Door(workspace, OPERATIONS, stop), 'write_source', {'edits': [edit]})\n"
    )
    arguments = (sys.executable, "-c", program, str(root), str(Path(__file__).parents[1]), step)
    assert subprocess.run(arguments, timeout=60, check=False).returncode == -9
    with open_workspace(WorkspaceRequest(root, ids=RandomIds())) as workspace:
        door = Door(workspace, OPERATIONS)
        group = result_of(call(door, "trace_blame", {"path": "a.py"}))["groups"][0]
        assert (group["status"], group["intent"]) == ("traced", "INT-001")
        traced_edit(workspace, "INT-002", "b.py", "value_of_the_next_call = 1\n")
        report = workspace.trace.verify()
        assert (report.problems, report.n_records) == ([], 2)
