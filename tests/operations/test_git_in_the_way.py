"""What other programs and the machine can do to git calls: locks, broken objects, kills; nothing is lost by it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.ids import RandomIds
from codeplane.ledger.chain import FINAL_KINDS, RowFilter
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.recovery import recover_interrupted
from support.children import run_children
from support.doors import call, error_of, open_test_workspace
from support.effort import spread
from support.forks import started_python
from support.git_states import whole_state
from support.git_twins import Twins
from support.repositories import copied, git, make_repository, write

TESTS = Path(__file__).resolve().parents[1]

# One call of every tool that changes something, in the repository of `tree`.
CHANGING: dict[str, tuple[str, dict[str, Any]]] = {
    "git_branch": ("git_branch", {"action": "delete", "name": "side", "force": True}),
    "git_checkout": ("git_checkout", {"ref": "side", "force": True}),
    "git_commit": ("git_commit", {"message": "staged things"}),
    "git_merge": ("git_merge", {"ref": "other"}),
    "git_pull": ("git_pull", {"branch": "other"}),
    "git_push": ("git_push", {"branch": "side"}),
    "git_rebase": ("git_rebase", {"action": "start", "upstream": "other"}),
    "git_remote": ("git_remote", {"action": "fetch"}),
    "git_reset": ("git_reset", {"ref": "HEAD~1", "mode": "hard"}),
    "git_stage": ("git_stage", {"paths": ["b.txt"]}),
    "git_stage_and_commit": ("git_stage_and_commit", {"paths": ["b.txt"], "message": "b"}),
    "git_stash": ("git_stash", {"action": "push", "include_untracked": True}),
    "git_submodule": ("git_submodule", {"action": "add", "url": "../library", "paths": "lib"}),
    "git_worktree": ("git_worktree", {"action": "add", "path": "../wt", "create": "fresh"}),
}
# These want a tree without changes.
CLEAN = frozenset({"git_merge", "git_pull", "git_rebase"})
# These change no index, so that its lock is not in their way.
WITHOUT_INDEX = frozenset({"git_branch", "git_push", "git_remote", "git_worktree"})


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text('[protocol "file"]\n\tallow = always\n', encoding="utf-8")
    return copied(tmp_path, "in the way", _make_tree) / "tree"


def _make_tree(base: Path) -> None:
    make_repository(base / "library", {"l.py": "L = 1\n"})
    root = make_repository(base / "tree", {"a.txt": "a\n", "b.txt": "b\n"})
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@example.invalid")
    write(root, {"a.txt": "a2\n"})
    git(root, "commit", "-q", "-a", "-m", "second")
    git(root, "checkout", "-q", "-b", "other", "HEAD~1")
    write(root, {"o.txt": "o\n"})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "other")
    git(root, "checkout", "-q", "-b", "side")
    write(root, {"s.txt": "s\n"})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "side")
    git(root, "checkout", "-q", "main")
    git(base, "clone", "-q", "--bare", str(root), "origin.git")
    git(root, "remote", "add", "origin", "../origin.git")
    git(root, "push", "-q", "-u", "origin", "main")
    git(base / "origin.git", "branch", "-f", "news", "side")


def make_dirty(root: Path, tool: str) -> None:
    """Leave staged, unstaged and untracked changes where the tool can live with them."""
    if tool not in CLEAN:
        write(root, {"b.txt": "changed\n", "new.txt": "untracked\n", "staged.txt": "staged\n"})
        git(root, "add", "staged.txt")


def test_every_tool_that_changes_something_is_tried() -> None:
    changing = {name for name, one in OPERATIONS.items() if name.startswith("git_") and one.effect.mutates}
    assert {tool for tool, _ in CHANGING.values()} == changing
    assert all(OPERATIONS[name].snapshots for name in changing)


def test_all_19_tools_of_the_specification_are_there() -> None:
    named = (
        "status diff commit stage_and_commit log push pull checkout merge reset stage branch remote stash rebase"
        " inspect history submodule worktree"
    )
    assert {f"git_{name}" for name in named.split()} == {name for name in OPERATIONS if name.startswith("git_")}


@pytest.mark.parametrize("tool", CHANGING)
def test_each_change_can_be_undone(tree: Path, tool: str) -> None:
    make_dirty(tree, tool)
    twins = Twins(tree, tree)
    before = whole_state(tree)
    name, arguments = CHANGING[tool]
    result = twins.call(name, arguments)
    assert whole_state(tree) != before
    if tool == "git_worktree":
        git(tree, "worktree", "remove", "--force", "../wt")
    twins.undo(result)
    after = whole_state(tree)
    if tool == "git_submodule":
        # The clone that was made stays where it is; git itself would not remove it either.
        after = {part: value for part, value in after.items() if part not in {"files", "status"}}
        before = {part: before[part] for part in after}
    assert after == before
    git(tree, "fsck", "--strict")


@pytest.mark.parametrize("tool", sorted(set(CHANGING) - WITHOUT_INDEX))
def test_a_lock_that_another_git_holds_refuses_the_call_and_nothing_changes(tree: Path, tool: str) -> None:
    make_dirty(tree, tool)
    lock = tree / ".git" / "index.lock"
    lock.write_bytes(b"")
    before = whole_state(tree)
    with Twins(tree, tree).door() as door:
        answer = call(door, *CHANGING[tool])
        assert error_of(answer) == "GIT_LOCKED", answer.error
        assert answer.error is not None
        assert answer.error.as_dict()["retryable"] is True
    assert whole_state(tree) == before
    assert lock.exists(), "it is not ours"


@pytest.mark.parametrize("tool", CHANGING)
def test_a_broken_object_in_the_way_is_said_and_nothing_changes(tree: Path, tool: str) -> None:
    make_dirty(tree, tool)
    commit = git(tree, "rev-parse", "other").strip()
    path = tree / ".git" / "objects" / commit[:2] / commit[2:]
    path.chmod(0o644)
    path.write_bytes(b"broken")
    files = whole_files(tree)
    with Twins(tree, tree).door() as door:
        answer = call(door, *CHANGING[tool])
    if answer.error is not None:
        assert answer.error.error.startswith("GIT_")
        assert whole_files(tree) == files


def whole_files(root: Path) -> dict[str, bytes]:
    """Return the working files, without asking git."""
    skipped = {".git", ".codeplane"}
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not skipped & set(path.relative_to(root).parts)
    }


# The others are tried with a toy in every run, and with every tool in the long one.
STEPS_TO_DIE_AFTER = ["work"]
if os.environ.get("CODEPLANE_SOAK"):
    STEPS_TO_DIE_AFTER += ["take_snapshot", "finish_snapshot"]
KILLED = """
import os, signal, sys, json
from pathlib import Path
from dataclasses import replace
from support.doors import call, door_with, open_test_workspace
from codeplane.core.ids import RandomIds
with open_test_workspace(Path(sys.argv[1]), ids=RandomIds()) as workspace:
    def kill(step):
        # A call that waits for a person has begun nothing.
        if step == sys.argv[4] and workspace.chain.open_calls():
            os.kill(os.getpid(), signal.SIGKILL)
    answer = call(replace(door_with(workspace), after_step=kill), sys.argv[2], json.loads(sys.argv[3]))
    print(answer.error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS_TO_DIE_AFTER)
@pytest.mark.parametrize("tool", spread(CHANGING, 6))
def test_a_call_killed_in_the_middle_leaves_a_usable_repository_a_true_row_and_an_undo(
    tree: Path, tool: str, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_dirty(tree, tool)
    before = whole_state(tree)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), str(TESTS.parent / "src")]))
    name, arguments = CHANGING[tool]
    argv = (sys.executable, "-c", KILLED, str(tree), name, json.dumps(arguments), step)
    run_children([argv], tmp_path, returncode=-signal.SIGKILL)
    with open_test_workspace(tree, ids=RandomIds()) as workspace:
        assert recover_interrupted(workspace, OPERATIONS) == 1
        row = workspace.chain.rows(RowFilter(kinds=FINAL_KINDS, limit=1))[0]
        assert row.kind == "failed"
        assert workspace.chain.verify().first_bad_seq is None
    git(tree, "fsck", "--strict")
    if tool in {"git_worktree", "git_submodule"}:
        git(tree, "status")
        return
    if row.body["error"] == "OUTCOME_UNKNOWN":
        assert step != "take_snapshot"
        Twins(tree, tree).call("undo", {"operation": row.call_id})
    assert whole_state(tree) == before


@pytest.mark.slow
def test_a_git_that_is_killed_itself_leaves_no_lock_behind(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter makes the checkout hang while git holds the lock of the index; then everything is killed."""
    write(tree, {".gitattributes": "s.txt filter=slow\n"})
    git(tree, "config", "filter.slow.smudge", "sleep 60")
    git(tree, "add", ".gitattributes")
    git(tree, "commit", "-q", "-m", "slow")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), str(TESTS.parent / "src")]))
    before = whole_state(tree)
    argv = [sys.executable, "-c", KILLED, str(tree), "git_merge", '{"ref": "side"}', "never"]
    with started_python(argv, cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True) as child:
        lock = tree / ".git" / "index.lock"
        for _ in range(600):
            if lock.exists():
                break
            child.poll()
            signal.sigtimedwait([], 0.05)
        assert lock.exists()
        child.kill()
        child.wait()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if (place / "cwd").readlink() == tree and (place / "comm").read_text().startswith("git"):
                os.kill(int(place.name), signal.SIGKILL)
        except OSError:
            continue
    subprocess.run(["pkill", "-KILL", "-f", "sleep 60"], check=False)
    assert lock.exists(), "a killed git leaves its lock"
    with open_test_workspace(tree, ids=RandomIds()) as workspace:
        assert recover_interrupted(workspace, OPERATIONS) == 1
        row = workspace.chain.rows(RowFilter(kinds=FINAL_KINDS, limit=1))[0]
    assert row.body["removed_locks"] == ["index.lock"]
    if row.body["error"] == "OUTCOME_UNKNOWN":
        Twins(tree, tree).call("undo", {"operation": row.call_id})
    assert whole_state(tree) == before
    git(tree, "fsck", "--strict")
