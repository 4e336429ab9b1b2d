"""A range of commits against the trace: what no intent covers, and notes in the form of git-ai."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from codeplane.core.ids import RandomIds
from codeplane.govern.trace.exchange import parse_note, record_problem
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace
from support.doors import call, person, result_of
from support.effort import repeated
from support.governed import approve
from support.repositories import git, make_repository, write
from support.traced import SETUP, traced_edit


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    files = {f"src/file_{i}.py": "".join(f"start_of_{i}_{j} = {j}\n" for j in range(20)) for i in range(5)}
    root = make_repository(tmp_path / "repo", {**SETUP, **files})
    with open_workspace(WorkspaceRequest(root, ids=RandomIds())) as opened:
        yield opened


def _commit(root: Path, message: str) -> str:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", message)
    return git(root, "rev-parse", "HEAD").strip()


def test_exactly_the_files_without_an_intent_are_named(workspace: Workspace) -> None:
    root, rng = workspace.root, Random(7)
    base = git(root, "rev-parse", "HEAD").strip()
    expected = set()
    for number in range(repeated(10)):
        by_hand, commit_files = [], rng.sample(range(5), 3)
        for name in commit_files:
            path = f"src/file_{name}.py"
            text = (root / path).read_text(encoding="utf-8") + f"line_of_commit_{number}_{rng.getrandbits(40):x} = 1\n"
            if rng.random() < 0.4:
                write(root, {path: text})
                by_hand.append(path)
            else:
                traced_edit(workspace, "INT-001", path, text)
        if rng.random() < 0.3:
            write(root, {f"new_{number}.py": f"brand_new_file_{number} = 1\n"})
            by_hand.append(f"new_{number}.py")
        commit = _commit(root, f"commit {number}")
        expected |= {(commit, path) for path in by_hand}
    found = result_of(call(Door(workspace, OPERATIONS), "verify_range", {"range": f"{base}..HEAD"}))
    assert {(one["commit"], one["path"]) for one in found["uncovered"]} == expected
    assert found["ok"] is (not expected)


def test_a_trailer_covers_what_its_intent_owns(workspace: Workspace) -> None:
    write(workspace.root, {"src/file_0.py": "written_by_hand_alone = 1\n"})
    _commit(workspace.root, "By hand\n\nIntent: INT-002")
    found = result_of(call(Door(workspace, OPERATIONS), "verify_range", {"range": "HEAD"}))
    assert (found["ok"], found["covered"][0]["how"], found["covered"][0]["intents"]) == (True, "trailer", ["INT-002"])


def test_a_traced_deletion_is_covered_and_one_by_hand_is_not(workspace: Workspace) -> None:
    door = Door(workspace, OPERATIONS)
    call(door, "select_active_intent", {"intent_id": "INT-001"}, by=person())
    edits = {"edits": [{"path": "src/file_1.py", "action": "delete"}]}
    result_of(call(door, "select_active_intent", {"intent_id": "INT-001"}))
    held = call(door, "write_source", edits)
    if held.error is not None:
        approve(workspace, held.error.details["hold_id"])
        result_of(call(door, "write_source", edits))
    (workspace.root / "src/file_2.py").unlink()
    _commit(workspace.root, "deletions")
    found = result_of(call(door, "verify_range", {"range": "HEAD"}))
    assert [one["path"] for one in found["uncovered"]] == ["src/file_2.py"]


def test_notes_follow_the_grammar_and_come_back(workspace: Workspace, tmp_path: Path) -> None:
    root, door = workspace.root, Door(workspace, OPERATIONS)
    traced_edit(workspace, "INT-001", "src/file_0.py", "line_of_the_first_intent = 1\nline_of_the_second = 2\n")
    commit = _commit(root, "work")
    done = result_of(call(door, "export_trace", {"format": "git-ai"}, by=person()))
    assert (done["notes"], git(root, "config", "notes.rewriteRef").strip()) == (1, "refs/notes/ai")
    note = parse_note(git(root, "notes", "--ref=ai", "show", commit))
    [(path, keys)] = note.files.items()
    [lines] = keys.values()
    [session] = note.sessions.values()
    assert (path, lines, session.attributes["intent_id"]) == ("src/file_0.py", (1, 2), "INT-001")

    git(tmp_path, "clone", "--quiet", str(root), "clone")
    git(tmp_path / "clone", "fetch", "--quiet", "origin", "refs/notes/ai:refs/notes/ai")
    git(tmp_path / "clone", "rm", "--quiet", "--cached", ".orchestration/agent_trace.jsonl")
    (tmp_path / "clone/.orchestration/agent_trace.jsonl").unlink()
    with open_workspace(WorkspaceRequest(tmp_path / "clone", ids=RandomIds())) as clone:
        other = Door(clone, OPERATIONS)
        assert result_of(call(other, "import_trace", {}, by=person()))["imported"] == 1
        blamed = result_of(call(other, "trace_blame", {"path": "src/file_0.py:1"}))["groups"][0]
    assert (blamed["status"], blamed["intent"]) == ("traced", "INT-001")


def test_an_export_imports_without_loss(workspace: Workspace, tmp_path: Path) -> None:
    traced_edit(workspace, "INT-001", "src/file_0.py", "line_of_the_first_intent = 1\n")
    door = Door(workspace, OPERATIONS)
    records = result_of(call(door, "export_trace", {}, by=person()))["records"]
    assert [record_problem(one) for one in records] == [None]

    root = make_repository(tmp_path / "other", {"trace.jsonl": "".join(json.dumps(one) + "\n" for one in records)})
    with open_workspace(WorkspaceRequest(root, ids=RandomIds())) as other:
        second = Door(other, OPERATIONS)
        assert result_of(call(second, "import_trace", {"path": "trace.jsonl"}, by=person()))["imported"] == 1
        assert result_of(call(second, "import_trace", {"path": "trace.jsonl"}, by=person()))["known"] == 1
        assert result_of(call(second, "export_trace", {}, by=person()))["records"] == records


def test_a_foreign_record_is_imported_with_its_lines(workspace: Workspace) -> None:
    head = git(workspace.root, "rev-parse", "HEAD").strip()
    foreign = (
        '{"version":"0.1.0","id":"11111111-2222-4333-8444-555555555555","timestamp":"2026-01-01T00:00:00Z",'
        f'"vcs":{{"type":"git","revision":"{head}"}},"tool":{{"name":"other","version":"1"}},'
        '"files":[{"path":"src/file_3.py","conversations":[{"contributor":{"type":"ai","model_id":"x/y"},'
        '"ranges":[{"start_line":2,"end_line":3}]}]}]}\n{"version":"1.0"}\nnot json\n'
    )
    write(workspace.root, {"foreign.jsonl": foreign})
    door = Door(workspace, OPERATIONS)
    done = result_of(call(door, "import_trace", {"path": "foreign.jsonl"}, by=person()))
    assert (done["imported"], done["n_refused"]) == (1, 2)
    groups = result_of(call(door, "trace_blame", {"path": "src/file_3.py"}))["groups"]
    assert [(one["start_line"], one["end_line"], one["status"]) for one in groups][:2] == [
        (1, 1, groups[0]["status"]),
        (2, 3, "traced"),
    ]
