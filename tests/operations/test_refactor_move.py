"""Moves and deletions through the door: planned, applied, taken back."""

import signal
import sys
from pathlib import Path

import pytest

from codeplane.operations.answer import Answer
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace
from support.doors import call, open_test_workspace, result_of
from support.forks import started_python
from support.repositories import git, make_repository, write

FILES: dict[str, str | bytes] = {
    "pyproject.toml": "[project]\nname = 'p'\n",
    "p/__init__.py": "",
    "p/a.py": "def f():\n    return 1\n",
    "p/unused.py": "import os\n\n\ndef g():\n    return os.sep\n",
    "m.py": b"from p.a import f\r\nfrom p import a\r\n\r\nf(a)\r\n",
    "docs.md": "See `p/a.py`.\n",
}


def _apply(door: Door, plan: Answer, **more: object) -> Answer:
    return call(door, "refactor_apply", {"refactor_id": result_of(plan)["refactor_id"], **more})


def _all_bytes(root: Path) -> dict[str, bytes]:
    paths = (
        path
        for path in root.rglob("*")
        if path.is_file() and path.relative_to(root).parts[0] not in {".git", ".codeplane"}
    )
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def test_a_clean_file_moves_in_git_too_and_one_undo_takes_back_both(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", FILES)
    before = _all_bytes(root)
    with open_test_workspace(root) as workspace:
        door = Door(workspace, OPERATIONS)
        plan = call(door, "refactor_move", {"from_path": "p/a.py", "to_path": "p/q/b.py"})
        assert result_of(plan)["moves"] == [{"file_moved": True, "from": "p/a.py", "to": "p/q/b.py", "git_mv": True}]
        applied = result_of(_apply(door, plan))
        assert applied["moves"][0]["git_mv"] is True
        assert (root / "m.py").read_bytes() == b"from p.q.b import f\r\nfrom p.q import b\r\n\r\nf(b)\r\n"
        assert "R  p/a.py -> p/q/b.py" in git(root, "status", "--porcelain").splitlines()
        result_of(call(door, "undo", {"operation": applied["delta"]["mutation_id"]}))
    assert _all_bytes(root) == before
    assert git(root, "status", "--porcelain", "-uno") == ""
    assert not (root / "p/q").exists()


@pytest.mark.parametrize("is_tracked", [True, False])
def test_a_changed_or_untracked_file_moves_on_disk_only(tmp_path: Path, is_tracked: bool) -> None:
    root = make_repository(tmp_path / "repo", FILES)
    path = "p/a.py" if is_tracked else "p/fresh.py"
    write(root, {path: "def f():\n    return 2\n"})
    with open_test_workspace(root) as workspace:
        door = Door(workspace, OPERATIONS)
        plan = call(door, "refactor_move", {"from_path": path, "to_path": "p/b.py"})
        applied = result_of(_apply(door, plan))
        assert applied["moves"][0]["git_mv"] is False
        assert (root / "p/b.py").read_text() == "def f():\n    return 2\n"
        assert "p/b.py" not in git(root, "ls-files").split()
        result_of(call(door, "undo", {"operation": applied["delta"]["mutation_id"]}))
    assert (root / path).read_text() == "def f():\n    return 2\n"


def test_a_directory_moves_with_links_and_bytes_that_are_not_text(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {**FILES, "p/image.png": b"\x89PNG\0\xff\xfe"})
    (root / "p/link.py").symlink_to("a.py")
    git(root, "add", "--all")
    git(root, "commit", "-q", "-m", "link")
    with open_test_workspace(root) as workspace:
        door = Door(workspace, OPERATIONS)
        plan = call(door, "refactor_move", {"from_path": "p", "to_path": "lib/p2"})
        applied = result_of(_apply(door, plan))
        assert (root / "lib/p2/image.png").read_bytes() == b"\x89PNG\0\xff\xfe"
        assert (root / "lib/p2/link.py").readlink() == Path("a.py")
        assert not (root / "p").exists()
        result_of(call(door, "undo", {"operation": applied["delta"]["mutation_id"]}))
    assert (root / "p/link.py").readlink() == Path("a.py")
    assert git(root, "status", "--porcelain", "-uno") == ""


def test_documentation_follows_when_it_is_wanted(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", FILES)
    with open_test_workspace(root) as workspace:
        door = Door(workspace, OPERATIONS)
        plan = call(door, "refactor_move", {"from_path": "p/a.py", "to_path": "p/b.py"})
        shown = result_of(plan)["doc_edits"]
        assert [(one["path"], one["confidence"]) for one in shown["matches"]] == [("docs.md", "high")]
        result_of(_apply(door, plan, include=["docs"]))
    assert (root / "docs.md").read_text() == "See `p/b.py`.\n"


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [
        ("p/a.py", "p/unused.py", "FILE_EXISTS"),
        ("p/none.py", "p/b.py", "FILE_NOT_FOUND"),
        ("p/a.py", "../b.py", "PATH_OUTSIDE_REPOSITORY"),
        ("p/a.py", ".git/b.py", "PROTECTED_PATH"),
        ("p", "p/inner", "INVALID_ARGUMENTS"),
    ],
)
def test_a_move_that_cannot_be_is_refused_when_it_is_planned(
    tmp_path: Path, source: str, target: str, code: str
) -> None:
    root = make_repository(tmp_path / "repo", FILES)
    with open_test_workspace(root) as workspace:
        answer = call(Door(workspace, OPERATIONS), "refactor_move", {"from_path": source, "to_path": target})
    assert answer.error is not None
    assert answer.error.error == code


def test_an_unused_function_is_deleted_and_comes_back(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", FILES)
    before = _all_bytes(root)
    with open_test_workspace(root) as workspace:
        door = Door(workspace, OPERATIONS)
        plan = call(door, "refactor_impact", {"target": "p/unused.py::g"})
        assert result_of(plan)["status"] == "ready"
        applied = result_of(_apply(door, plan))
        assert (root / "p/unused.py").read_text().strip() == ""
        result_of(call(door, "undo", {"operation": applied["delta"]["mutation_id"]}))
        assert _all_bytes(root) == before
        gone = result_of(_apply(door, call(door, "refactor_impact", {"target": "p/unused.py"})))
        assert not (root / "p/unused.py").exists()
        result_of(call(door, "undo", {"operation": gone["delta"]["mutation_id"]}))
    assert _all_bytes(root) == before


def test_what_is_used_is_blocked_and_cannot_be_applied(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", FILES)
    with open_test_workspace(root) as workspace:
        door = Door(workspace, OPERATIONS)
        plan = call(door, "refactor_impact", {"target": "p/a.py::f"})
        assert result_of(plan)["status"] == "blocked"
        assert result_of(plan)["details"]["importing_files"] == ["m.py"]
        answer = _apply(door, plan)
    assert answer.error is not None
    assert answer.error.error == "REFACTOR_CONFLICT"
    assert (root / "p/a.py").exists()


_CHILD = """
import os, signal, sys
from pathlib import Path
from codeplane.core.callers import Caller, CallerKind
from codeplane.git import state
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.workspace import index_moves
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

real = getattr(index_moves, sys.argv[2])

def die(*arguments, **named):
    if sys.argv[3] == "after":
        real(*arguments, **named)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(index_moves, sys.argv[2], die)
door = Door(open_workspace(WorkspaceRequest(Path(sys.argv[1]))), OPERATIONS)
caller = Caller(CallerKind.AGENT, "test", "c", "pytest", None)
plan = dispatch(door, "refactor_move", {"from_path": "p/a.py", "to_path": "p/b.py"}, caller)
dispatch(door, "refactor_apply", {"refactor_id": plan.result.refactor_id}, caller)
"""


@pytest.mark.parametrize(
    ("step", "when"), [("keep_objects", "before"), ("write_state", "before"), ("write_state", "after")]
)
def test_a_killed_move_is_completed_in_files_and_git(tmp_path: Path, step: str, when: str) -> None:
    root = make_repository(tmp_path / "repo", FILES)
    argv = [sys.executable, "-c", _CHILD, str(root), step, when]
    with started_python(argv, start_new_session=True) as child:
        assert child.wait(60) == -signal.SIGKILL
    with open_workspace(WorkspaceRequest(root)) as workspace:
        door = Door(workspace, OPERATIONS)
        result_of(call(door, "read_source", {"targets": ["p/b.py"]}))
        assert workspace.chain.open_calls() == ()
        assert list(workspace.editor.records.unfinished()) == []
    assert "R  p/a.py -> p/b.py" in git(root, "status", "--porcelain").splitlines()
    assert (root / "m.py").read_bytes().startswith(b"from p.b import f\r\n")
