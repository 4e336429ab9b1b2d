"""A call that changes git or files by other means than the editor is bracketed: it can be undone, whatever it did."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.ids import RandomIds
from codeplane.git.repository import find_repository
from codeplane.git.stale_locks import remove_stale_locks
from codeplane.ledger.chain import RowFilter
from codeplane.operations.recovery import recover_interrupted
from support.children import run_children
from support.doors import call, door_with, error_of, open_test_workspace, result_of
from support.git_states import TOY_GIT, whole_state
from support.repositories import git, make_repository, write

FILES: dict[str, str | bytes] = {
    "a.py": "def a():\n    return 1\n",
    "b.py": "def b():\n    return 2\n",
    "crlf.txt": b"one\r\ntwo\r\n",
    "run.sh": "#!/bin/sh\n",
    "deep/er/c.py": "C = 3\n",
    ".gitattributes": "*.txt text eol=crlf\n",
    ".gitignore": "ignored.txt\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with two branches that conflict, a merged history, stashes, and changes that are nowhere else."""
    root = make_repository(tmp_path / "tree", FILES)
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@example.invalid")
    (root / "run.sh").chmod(0o755)
    git(root, "commit", "-qam", "mode")
    git(root, "checkout", "-qb", "side")
    write(root, {"a.py": "def a():\n    return 'side'\n", "new_on_side.py": "N = 1\n", "crlf.txt": b"one\r\nside\r\n"})
    (root / "b.py").unlink()
    git(root, "add", "-A")
    git(root, "commit", "-qm", "on side")
    git(root, "checkout", "-q", "main")
    write(root, {"a.py": "def a():\n    return 'main'\n", "deep/er/d.py": "D = 4\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "on main")
    for number in (1, 2):
        write(root, {"deep/er/c.py": f"C = {number}\n"})
        git(root, "stash", "push", "-qm", f"stash {number}")
    return root


def dirty(root: Path) -> None:
    """Leave changes of every kind that no commit has."""
    write(root, {"b.py": "def b():\n    return 'changed'\n", "untracked.txt": "mine\n", "ignored.txt": "also mine\n"})
    write(root, {"staged.py": "S = 1\n"})
    git(root, "add", "staged.py")
    write(root, {"staged.py": "S = 2\n"})


ALWAYS: dict[str, list[list[str]]] = {
    "hard reset": [["reset", "--hard", "HEAD~1"]],
    "hard reset to the same commit": [["reset", "--hard"]],
    "mixed reset": [["reset", "--mixed", "HEAD~1"]],
    "soft reset": [["reset", "--soft", "HEAD~1"]],
    "forced checkout": [["checkout", "-f", "side"]],
    "detached checkout": [["checkout", "-f", "--detach", "HEAD~1"]],
    "new branch": [["checkout", "-b", "fresh"]],
    "branch deleted": [["branch", "-D", "side"]],
    "branch renamed": [["branch", "-m", "side", "side/deeper"]],
    "current branch renamed": [["branch", "-m", "other"]],
    "tag": [["tag", "-a", "v1", "-m", "one"]],
    "commit of everything": [["add", "-A"], ["commit", "-m", "all"]],
    "staged": [["add", "-A"]],
    "unstaged": [["reset", "-q", "--", "staged.py"]],
    "discarded": [["checkout", "--", "b.py"]],
    "removed": [["rm", "-q", "-f", "a.py", "deep/er/d.py"]],
    "forgotten but kept": [["rm", "-q", "--cached", "a.py"]],
    "moved": [["mv", "a.py", "deep/a.py"]],
    "amended": [["commit", "--amend", "-m", "another"]],
    "stash dropped": [["stash", "drop", "-q", "stash@{1}"]],
    "stashes cleared": [["stash", "clear"]],
    "stashed": [["stash", "push", "-q"]],
    "merge with conflict": [["stash", "push", "-q"], ["merge", "side"]],
    "stash applied": [["stash", "push", "-q"], ["stash", "apply", "-q", "stash@{1}"]],
    "rebase that stops": [["reset", "--hard", "-q"], ["rebase", "side"]],
    "rebase": [["reset", "--hard", "-q"], ["rebase", "-X", "theirs", "side"]],
    "cherry-pick that stops": [["reset", "--hard", "-q"], ["cherry-pick", "side"]],
    "revert": [["reset", "--hard", "-q"], ["revert", "--no-edit", "HEAD"]],
    "remote added": [["remote", "add", "origin", "../elsewhere.git"]],
    "orphan branch": [["checkout", "-q", "--orphan", "empty"]],
    "everything cleaned": [["clean", "-fdq"]],
    "mode": [["update-index", "--chmod=+x", "a.py"]],
}
TOUCHED = {
    "everything cleaned": ["untracked.txt"],
    "staged": ["untracked.txt"],
    "commit of everything": ["untracked.txt"],
}


CHANGES_NOTHING = {
    (what, False)
    for what in (
        "hard reset to the same commit",
        "commit of everything",
        "staged",
        "unstaged",
        "discarded",
        "stashed",
        "everything cleaned",
    )
}


@pytest.mark.parametrize("is_dirty", [False, True], ids=["clean", "dirty"])
@pytest.mark.parametrize("what", ALWAYS)
def test_whatever_git_did_undo_restores_everything_and_can_itself_be_undone(
    tree: Path, what: str, is_dirty: bool
) -> None:
    if is_dirty:
        dirty(tree)
    with open_test_workspace(tree) as workspace:
        door = door_with(workspace, TOY_GIT)
        before = whole_state(tree)
        arguments = {"commands": ALWAYS[what], "may_fail": True, "touched": TOUCHED.get(what, [])}
        delta = result_of(call(door, "toy_git", arguments))["delta"]
        after = whole_state(tree)
        if after == before:
            assert (what, is_dirty) in CHANGES_NOTHING
            assert not delta["files"]
            assert not delta["refs"]
            return
        undone = result_of(call(door, "undo", {"operation": delta["mutation_id"]}))
        assert whole_state(tree) == before
        again = result_of(call(door, "undo", {"operation": undone["mutation_id"]}))
        assert again["applied"]
        assert whole_state(tree) == after
        git(tree, "fsck", "--strict")


def test_untracked_and_ignored_files_in_the_way_of_a_checkout_come_back(tree: Path) -> None:
    write(tree, {"new_on_side.py": "mine, not theirs\n"})
    with open_test_workspace(tree) as workspace:
        door = door_with(workspace, TOY_GIT)
        before = whole_state(tree)
        arguments = {"commands": [["checkout", "-f", "side"]], "touched": ["new_on_side.py"]}
        delta = result_of(call(door, "toy_git", arguments))["delta"]
        assert (tree / "new_on_side.py").read_text() == "N = 1\n"
        assert "had a copy made first" in delta["snapshot"]
        result_of(call(door, "undo", {"operation": delta["mutation_id"]}))
        assert whole_state(tree) == before


def test_what_a_failed_call_changed_is_taken_back(tree: Path) -> None:
    dirty(tree)
    with open_test_workspace(tree) as workspace:
        door = door_with(workspace, TOY_GIT)
        before = whole_state(tree)
        arguments = {
            "commands": [["add", "-A"], ["commit", "-m", "x"], ["reset", "--hard", "HEAD~2"]],
            "then_fail": True,
        }
        assert error_of(call(door, "toy_git", arguments | {"touched": ["untracked.txt"]})) == "GIT_FAILED"
        assert whole_state(tree) == before
        assert result_of(call(door, "undo", {}))["candidates"] == []


def test_objects_that_only_undo_needs_outlive_garbage_collection(tree: Path) -> None:
    dirty(tree)
    with open_test_workspace(tree) as workspace:
        door = door_with(workspace, TOY_GIT)
        before = whole_state(tree)
        commands = [["branch", "-D", "side"], ["stash", "clear"], ["reset", "--hard", "HEAD~1"]]
        delta = result_of(call(door, "toy_git", {"commands": commands}))["delta"]
        git(tree, "reflog", "expire", "--expire=now", "--all")
        git(tree, "gc", "-q", "--prune=now")
        result_of(call(door, "undo", {"operation": delta["mutation_id"]}))
        assert whole_state(tree) == before
        git(tree, "fsck", "--strict")


def test_the_delta_names_refs_files_symbols_and_where_they_changed(tree: Path) -> None:
    with open_test_workspace(tree) as workspace:
        door = door_with(workspace, TOY_GIT)
        delta = result_of(call(door, "toy_git", {"commands": [["checkout", "-q", "side"]]}))["delta"]
    by_path = {one["path"]: one for one in delta["files"]}
    assert {path: one["action"] for path, one in by_path.items()} == {
        "a.py": "updated",
        "b.py": "deleted",
        "crlf.txt": "updated",
        "deep/er/d.py": "deleted",
        "new_on_side.py": "created",
    }
    assert by_path["a.py"]["changed_in"] == ["head", "index", "working_tree"]
    assert (by_path["a.py"]["insertions"], by_path["a.py"]["deletions"]) == (1, 1)
    assert delta["refs"] == [{"ref": "HEAD", "old": "ref: refs/heads/main", "new": "ref: refs/heads/side"}]
    assert set(delta["symbols_changed"]) == {"a", "b", "D", "N"}
    assert delta["repository"]["branch"] == "side"


def test_a_later_change_of_the_same_ref_is_in_the_way_and_nothing_is_undone(tree: Path) -> None:
    with open_test_workspace(tree) as workspace:
        door = door_with(workspace, TOY_GIT)
        delta = result_of(call(door, "toy_git", {"commands": [["reset", "--hard", "HEAD~1"]]}))["delta"]
        git(tree, "commit", "-q", "--allow-empty", "-m", "by hand")
        now = whole_state(tree)
        refused = call(door, "undo", {"operation": delta["mutation_id"]})
        assert error_of(refused) == "UNDO_CONFLICT"
        assert refused.error is not None
        assert "refs/heads/main has moved since" in refused.error.message
        assert whole_state(tree) == now


def test_edits_and_git_of_one_session_are_undone_together(tree: Path) -> None:
    with open_test_workspace(tree) as workspace:
        door = door_with(workspace, TOY_GIT)
        before = whole_state(tree)
        edit = {"path": "a.py", "expected_content": "'main'", "new_content": "'edited'"}
        answer = call(door, "write_source", {"edits": [edit]})
        result_of(answer)
        result_of(call(door, "toy_git", {"commands": [["commit", "-qam", "edited"], ["checkout", "-q", "side"]]}))
        edit = {"path": "new_on_side.py", "expected_content": "1", "new_content": "2"}
        result_of(call(door, "write_source", {"edits": [edit]}))
        result_of(call(door, "undo", {"session": answer.meta.session}))
        assert whole_state(tree) == before


def test_calls_that_change_git_wait_for_each_other(tree: Path) -> None:
    errors: list[Any] = []
    with open_test_workspace(tree, ids=RandomIds()) as workspace:
        door = door_with(workspace, TOY_GIT)

        def commit(number: int) -> None:
            commands = [["commit", "-q", "--allow-empty", "-m", f"number {number}"]]
            answer = call(door, "toy_git", {"commands": commands}, connection=f"c{number}")
            if answer.error is not None:
                errors.append(answer.error)

        threads = [threading.Thread(target=commit, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors
    assert git(tree, "log", "--format=%s").count("number ") == 8


KILLED = """
import os, signal, sys
from pathlib import Path
from support.doors import call, door_with, open_test_workspace
from support.git_states import TOY_GIT
from codeplane.core.ids import RandomIds
with open_test_workspace(Path(sys.argv[1]), ids=RandomIds()) as workspace:
    door = door_with(workspace, TOY_GIT)
    def kill(step):
        if step == sys.argv[2]:
            os.kill(os.getpid(), signal.SIGKILL)
    from dataclasses import replace
    commands = [["reset", "--hard", "HEAD~1"], ["branch", "-D", "side"]]
    call(replace(door, after_step=kill), "toy_git", {"commands": commands})
"""


def test_a_lock_that_a_killed_git_left_is_removed_and_one_of_a_living_git_is_not(tree: Path) -> None:
    repository = find_repository(tree)
    lock = tree / ".git" / "index.lock"
    lock.write_bytes(b"")
    assert remove_stale_locks(repository, since_ns=time.time_ns() + 60_000_000_000) == ()
    assert lock.exists(), "it is older than the call that was interrupted"
    arguments = ["git", "cat-file", "--batch-check"]
    with subprocess.Popen(arguments, cwd=tree, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as living:
        assert living.stdin is not None
        assert living.stdout is not None
        living.stdin.write(b"HEAD\n")
        living.stdin.flush()
        assert living.stdout.readline(), "it runs and waits"
        assert remove_stale_locks(repository, since_ns=0, wait_seconds=0.2) == ()
        assert lock.exists(), "a git is still running there"
        living.stdin.close()
        living.wait()
    assert remove_stale_locks(repository, since_ns=0) == ("index.lock",)
    assert not lock.exists()


@pytest.mark.parametrize("step", ["append_begun", "take_snapshot", "call_handler", "finish_snapshot", "observe_after"])
def test_a_call_killed_in_the_middle_is_explained_and_can_be_undone(
    tree: Path, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dirty(tree)
    before = whole_state(tree)
    tests = Path(__file__).resolve().parents[1]
    monkeypatch.setenv("PYTHONPATH", f"{tests}:{tests.parent / 'src'}")
    run_children([(sys.executable, "-c", KILLED, str(tree), step)], tmp_path, returncode=-signal.SIGKILL)
    with open_test_workspace(tree, ids=RandomIds()) as workspace:
        door = door_with(workspace, TOY_GIT)
        assert recover_interrupted(workspace, door.operations) == 1
        row = workspace.chain.rows(RowFilter(kinds=("failed",), limit=1))[0]
        has_run = step not in {"append_begun", "take_snapshot"}
        assert row.body["error"] == ("OUTCOME_UNKNOWN" if has_run else "CALL_INTERRUPTED")
        if has_run:
            assert set(row.body["git_refs"]) == {"refs/heads/main", "refs/heads/side"}
            result_of(call(door, "undo", {"operation": row.call_id}))
        assert whole_state(tree) == before
        git(tree, "fsck", "--strict")
