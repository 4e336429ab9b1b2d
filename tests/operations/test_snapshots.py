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
from support.effort import spread
from support.git_states import TOY_GIT, whole_state
from support.repositories import copied, git, make_repository, write

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
    return copied(tmp_path / "tree", "snapshots", _make_tree)


def _make_tree(root: Path) -> None:
    make_repository(root, FILES)
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


@pytest.mark.parametrize("is_dirty", spread([True, False], 1), ids=spread(["dirty", "clean"], 1))
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
        assert "saved first" in delta["snapshot"]
        result_of(call(door, "undo", {"operation": delta["mutation_id"]}))
        assert whole_state(tree) == before


ODD_NAMES = (
    "tab\there",
    "line\nbreak",
    'quo"te',
    "back\\slash",
    "not\udcff utf-8",
    "cafe\u0301",
    " space ",
    "-dash",
    "~home",
)


def test_files_whose_names_no_caller_can_send_are_kept_and_come_back_too(tree: Path) -> None:
    for name in ODD_NAMES:
        (tree / name).write_bytes(b"committed\n")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "odd")
    for name in ODD_NAMES[:5]:
        (tree / name).write_bytes(b"not committed\n")
    with open_test_workspace(tree) as workspace:
        door = door_with(workspace, TOY_GIT)
        before = whole_state(tree)
        answer = call(door, "toy_git", {"commands": [["reset", "--hard", "HEAD~1"]]})
        assert not (tree / ODD_NAMES[0]).exists()
        assert not [one for one in answer.meta.warnings if "no copy" in one]
        undone = result_of(call(door, "undo", {"operation": result_of(answer)["delta"]["mutation_id"]}))
        assert whole_state(tree) == before
        assert len(undone["files"]) == len(ODD_NAMES)
        failing = {"commands": [["reset", "--hard", "HEAD~1"]], "then_fail": True}
        assert error_of(call(door, "toy_git", failing)) == "GIT_FAILED"
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


def test_a_call_that_only_moves_refs_is_not_told_to_have_changed_nothing(tree: Path) -> None:
    with open_test_workspace(tree) as workspace:
        door = door_with(workspace, TOY_GIT)
        arguments = {"commands": [["branch", "one"]], "touched": ["a.py"]}
        answers = [call(door, "toy_git", arguments)]
        arguments = {"commands": [["branch", "two"]], "touched": ["a.py"]}
        answers.append(call(door, "toy_git", arguments))
        assert [one for answer in answers for one in answer.meta.warnings] == []
        again = call(door, "toy_git", {"commands": [["status"]], "touched": ["a.py"]})
        assert [one for one in again.meta.warnings if "left the files" in one]


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


@pytest.mark.parametrize("step", ["append_begun", "take_snapshot", "work", "finish_snapshot", "observe_after"])
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


def check_undone_and_done_again(root: Path, name: str, arguments: dict[str, Any]) -> None:
    """Call, undo, undo the undo: the states on both sides are the same each time."""
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        door = door_with(workspace, TOY_GIT)
        before = whole_state(root)
        delta = result_of(call(door, name, arguments))["delta"]
        after = whole_state(root)
        assert after != before
        undone = result_of(call(door, "undo", {"operation": delta["mutation_id"]}))
        assert whole_state(root) == before
        result_of(call(door, "undo", {"operation": undone["mutation_id"]}))
        assert whole_state(root) == after
        git(root, "fsck", "--strict")


def two_branches(root: Path, main: dict[str, str | bytes], side: dict[str, str | bytes]) -> Path:
    """Return a repository on `main` whose branch `side` has other files instead."""
    make_repository(root, main)
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@example.invalid")
    git(root, "checkout", "-qb", "side")
    git(root, "rm", "-rqf", ".")
    write(root, side)
    git(root, "add", "-Af")
    git(root, "commit", "-qm", "side")
    git(root, "checkout", "-q", "main")
    return root


@pytest.mark.parametrize(
    ("main", "side"),
    [
        ({"a": "file\n"}, {"a/b": "x\n", "a/c/d": "y\n"}),
        ({"a/b": "x\n", "a/c/d": "y\n"}, {"a": "file\n"}),
        ({"a": "file\n", "a.x": "1\n"}, {"a.x/y": "2\n", "a/a/a": "3\n"}),
    ],
)
def test_files_and_directories_that_took_each_others_place_are_exchanged_back(
    tmp_path: Path, main: dict[str, str | bytes], side: dict[str, str | bytes]
) -> None:
    root = two_branches(tmp_path / "tree", {"k": "k\n", **main}, {"k": "k\n", **side})
    check_undone_and_done_again(root, "git_checkout", {"ref": "side"})


def test_a_directory_and_a_link_that_took_each_others_place_are_exchanged_back(tmp_path: Path) -> None:
    root = two_branches(tmp_path / "tree", {"d/x": "1\n"}, {"e/x": "2\n"})
    git(root, "checkout", "-q", "side")
    (root / "d").symlink_to("e")
    git(root, "add", "d")
    git(root, "commit", "-qm", "link")
    check_undone_and_done_again(root, "git_checkout", {"ref": "main"})
    git(root, "checkout", "-q", "side")
    check_undone_and_done_again(root, "git_reset", {"ref": "main", "mode": "hard"})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("git_reset", {"mode": "hard"}),
        ("git_stash", {"action": "push"}),
        ("git_stage", {"action": "discard", "paths": ["a"]}),
        ("git_checkout", {"ref": "side", "force": True}),
    ],
)
def test_untracked_files_in_a_directory_where_a_file_was_deleted_come_back(
    tmp_path: Path, name: str, arguments: dict[str, Any]
) -> None:
    root = two_branches(tmp_path / "tree", {"a": "1\n"}, {"a": "2\n"})
    (root / "a").unlink()
    write(root, {"a/mine": "nowhere else\n"})
    check_undone_and_done_again(root, name, arguments)


def test_undo_names_files_and_directories_that_it_exchanged(tmp_path: Path) -> None:
    root = two_branches(tmp_path / "tree", {"a": "1\n", "d/x": "1\n"}, {"a/b": "2\n", "d": "2\n"})
    with open_test_workspace(root) as workspace:
        door = door_with(workspace)
        delta = result_of(call(door, "git_checkout", {"ref": "side"}))["delta"]
        undone = result_of(call(door, "undo", {"operation": delta["mutation_id"]}))
    told = {(file["path"], file["action"]) for file in undone["files"]}
    assert told == {("a", "recreated"), ("a/b", "removed"), ("d", "removed"), ("d/x", "recreated")}


def test_a_new_file_in_a_directory_that_has_to_go_is_in_the_way_of_undo(tmp_path: Path) -> None:
    root = two_branches(tmp_path / "tree", {"a": "1\n"}, {"a/b": "2\n"})
    with open_test_workspace(root) as workspace:
        door = door_with(workspace)
        delta = result_of(call(door, "git_checkout", {"ref": "side"}))["delta"]
        write(root, {"a/later": "mine\n"})
        now = whole_state(root)
        refused = call(door, "undo", {"operation": delta["mutation_id"]})
        assert error_of(refused) == "UNDO_CONFLICT"
        assert refused.error is not None
        assert "a/later is in the way" in refused.error.message
        assert whole_state(root) == now


ATTRIBUTES = "*.t text eol=crlf\n*.nb filter=strip\n"


@pytest.mark.parametrize(
    ("attributes", "path", "working"),
    [
        (ATTRIBUTES, "a.t", b"1\n2\n"),
        (ATTRIBUTES, "a.nb", b"1\r\nOUTPUT that only this file has\n2\r\n"),
        ("*.t -text\n", "a.t", None),
    ],
    ids=["other line ends", "what a filter strips", "attributes that change, too"],
)
def test_files_that_git_takes_for_unchanged_come_back_byte_by_byte(
    tmp_path: Path, attributes: str, path: str, working: bytes | None
) -> None:
    root = two_branches(
        tmp_path / "tree",
        {".gitattributes": ATTRIBUTES, path: b"1\r\n2\r\n"},
        {".gitattributes": attributes, path: b"1\r\n3\r\n"},
    )
    git(root, "config", "filter.strip.clean", "sed /OUTPUT/d")
    if working is not None:
        write(root, {path: working})
        git(root, "add", path)
        assert git(root, "status", "--porcelain") == ""
    check_undone_and_done_again(root, "git_checkout", {"ref": "side"})


@pytest.mark.parametrize("side", [{"k": "k\n", "a": "2\n"}, {"k": "k\n"}], ids=["rewritten", "deleted"])
def test_modes_that_git_does_not_know_come_back(tmp_path: Path, side: dict[str, str | bytes]) -> None:
    root = two_branches(tmp_path / "tree", {"k": "k\n", "a": "1\n"}, side)
    (root / "a").chmod(0o600)
    check_undone_and_done_again(root, "git_checkout", {"ref": "side"})


def marks(root: Path) -> str:
    """Return which entries git was told to skip."""
    return git(root, "ls-files", "-v")


def test_a_sparse_checkout_stays_sparse_after_undo(tmp_path: Path) -> None:
    root = two_branches(
        tmp_path / "tree", {"in/a": "1\n", "out/b": "1\n"}, {"in/a": "2\n", "out/b": "2\n", "out/c": "3\n"}
    )
    git(root, "sparse-checkout", "set", "in")
    before = marks(root)
    with open_test_workspace(root) as workspace:
        door = door_with(workspace)
        state = whole_state(root)
        delta = result_of(call(door, "git_checkout", {"ref": "side"}))["delta"]
        after = marks(root)
        undone = result_of(call(door, "undo", {"operation": delta["mutation_id"]}))
        assert (marks(root), whole_state(root)) == (before, state)
        result_of(call(door, "undo", {"operation": undone["mutation_id"]}))
        assert marks(root) == after


def test_files_that_git_was_told_to_take_for_unchanged_are_not_lost_by_a_stash(tmp_path: Path) -> None:
    root = two_branches(tmp_path / "tree", {"a": "1\n", "k": "k\n"}, {"a": "2\n"})
    git(root, "update-index", "--assume-unchanged", "a")
    write(root, {"a": "my own\n", "k": "changed\n"})
    check_undone_and_done_again(root, "git_stash", {"action": "push"})


@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
def test_what_git_was_told_not_to_look_at_is_so_again_after_undo(tmp_path: Path, mark: str) -> None:
    root = two_branches(tmp_path / "tree", {"a": "1\n", "k": "k\n"}, {"a": "2\n"})
    git(root, "update-index", mark, "a")
    before = marks(root)
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        door = door_with(workspace)
        delta = result_of(call(door, "git_merge", {"ref": "side", "no_ff": True}))["delta"]
        result_of(call(door, "undo", {"operation": delta["mutation_id"]}))
    assert marks(root) == before


def test_an_entry_that_was_never_checked_out_leaves_no_file_when_it_comes_back(tmp_path: Path) -> None:
    root = two_branches(tmp_path / "tree", {"k": "k\n"}, {"k": "side\n"})
    write(root, {"hidden": "h\n"})
    git(root, "add", "hidden")
    git(root, "commit", "-qm", "hidden")
    git(root, "update-index", "--skip-worktree", "hidden")
    (root / "hidden").unlink()
    check_undone_and_done_again(root, "git_reset", {"ref": "HEAD~1"})


@pytest.mark.parametrize("name", ["git_reset", "git_stage_and_commit", "git_stash"])
def test_repositories_with_long_object_names_are_undone_alike(tmp_path: Path, name: str) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    git(root, "init", "-q", "--object-format=sha256")
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@example.invalid")
    for number in (1, 2):
        write(root, {"a": f"{number}\n", f"only{number}": ""})
        git(root, "add", "-A")
        git(root, "commit", "-qm", f"{number}")
    write(root, {"new": "new\n"})
    arguments: dict[str, dict[str, Any]] = {
        "git_reset": {"ref": "HEAD~1", "mode": "hard"},
        "git_stage_and_commit": {"paths": ["new"], "message": "new"},
        "git_stash": {"action": "push", "include_untracked": True},
    }
    check_undone_and_done_again(root, name, arguments[name])


def test_a_configuration_that_is_closed_to_others_stays_closed(tree: Path) -> None:
    config = tree / ".git" / "config"
    config.chmod(0o600)
    arguments = {"action": "add", "name": "origin", "url": "https://user:password@example.invalid/x.git"}
    check_undone_and_done_again(tree, "git_remote", arguments)
    assert config.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("then", ["exit 0", "exit 1"])
def test_what_a_hook_does_to_untracked_files_is_taken_back(tree: Path, then: str) -> None:
    hook = tree / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho formatted >> mine.txt\nrm -f other.txt\ngit add -A\n{then}\n")
    hook.chmod(0o755)
    write(tree, {"a.py": "A = 1\n", "mine.txt": "mine\n", "other.txt": "other\n"})
    before = whole_state(tree)
    with open_test_workspace(tree, ids=RandomIds()) as workspace:
        door = door_with(workspace)
        answer = call(door, "git_stage_and_commit", {"paths": ["a.py"], "message": "m"})
        if answer.error is None:
            result_of(call(door, "undo", {"operation": result_of(answer)["delta"]["mutation_id"]}))
        assert (answer.error is None) == (then == "exit 0")
    assert whole_state(tree) == before


KILLED_UNDO = """
import os, signal, sys
from pathlib import Path
from support.doors import call, door_with, open_test_workspace
from codeplane.core.ids import RandomIds
from codeplane.workspace import rollback
root, operation, moment = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
write_state = rollback.write_state
def write_and_die(repository, target):
    if moment == "after":
        write_state(repository, target)
    os.kill(os.getpid(), signal.SIGKILL)
rollback.write_state = write_and_die
with open_test_workspace(root, ids=RandomIds()) as workspace:
    call(door_with(workspace), "undo", {"operation": operation})
"""


@pytest.mark.parametrize("by_hand", [False, True], ids=["at once", "after a commit by hand"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_an_undo_that_was_killed_is_completed_but_not_over_what_was_committed_since(
    tree: Path, tmp_path: Path, moment: str, by_hand: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    dirty(tree)
    before = whole_state(tree)
    with open_test_workspace(tree, ids=RandomIds()) as workspace:
        door = door_with(workspace)
        delta = result_of(call(door, "git_reset", {"ref": "HEAD~1", "mode": "hard"}))["delta"]
    tests = Path(__file__).resolve().parents[1]
    monkeypatch.setenv("PYTHONPATH", f"{tests}:{tests.parent / 'src'}")
    command = (sys.executable, "-c", KILLED_UNDO, str(tree), delta["mutation_id"], moment)
    run_children([command], tmp_path, returncode=-signal.SIGKILL)
    if by_hand:
        git(tree, "commit", "-q", "--allow-empty", "-m", "by hand")
    commit = git(tree, "rev-parse", "main")
    with open_test_workspace(tree, ids=RandomIds()) as workspace:
        assert recover_interrupted(workspace, door_with(workspace).operations) == 1
    if by_hand:
        assert git(tree, "rev-parse", "main") == commit
    else:
        assert whole_state(tree) == before
    git(tree, "fsck", "--strict")


def test_a_branch_that_another_working_tree_has_by_now_is_not_moved_under_it(tree: Path, tmp_path: Path) -> None:
    with open_test_workspace(tree) as workspace:
        door = door_with(workspace)
        moved = {"action": "create", "name": "side", "ref": "main", "force": True}
        delta = result_of(call(door, "git_branch", moved))["delta"]
        git(tree, "worktree", "add", "-q", str(tmp_path / "elsewhere"), "side")
        refused = call(door, "undo", {"operation": delta["mutation_id"]})
        assert error_of(refused) == "UNDO_CONFLICT"
    assert git(tmp_path / "elsewhere", "status", "--porcelain") == ""


def test_a_change_of_the_configuration_is_undone_beside_later_ones_of_other_sections(tree: Path) -> None:
    git(tree, "config", "branch.side.description", "about side")
    with open_test_workspace(tree) as workspace:
        door = door_with(workspace)
        added = {"action": "add", "name": "one", "url": "https://one.invalid/x.git"}
        first = result_of(call(door, "git_remote", added))["delta"]["mutation_id"]
        gone = {"action": "delete", "name": "side", "force": True}
        second = result_of(call(door, "git_branch", gone))["delta"]["mutation_id"]
        git(tree, "remote", "add", "two", "https://two.invalid/x.git")
        result_of(call(door, "undo", {"operation": first}))
        assert git(tree, "remote") == "two\n"
        result_of(call(door, "undo", {"operation": second}))
        assert git(tree, "config", "branch.side.description") == "about side\n"
        again = result_of(call(door, "git_remote", added))["delta"]["mutation_id"]
        git(tree, "remote", "set-url", "one", "https://other.invalid/x.git")
        assert error_of(call(door, "undo", {"operation": again})) == "UNDO_CONFLICT"
    assert git(tree, "remote", "get-url", "one") == "https://other.invalid/x.git\n"


def test_the_first_commit_of_a_repository_with_long_object_names_can_be_made_and_undone(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    git(root, "init", "-q", "--object-format=sha256")
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@example.invalid")
    write(root, {"a": "1\n"})
    check_undone_and_done_again(root, "git_stage_and_commit", {"paths": ["a"], "message": "first"})


def test_an_undo_that_is_killed_while_git_holds_its_lock_is_completed_by_the_next_call(tree: Path) -> None:
    with open_test_workspace(tree, ids=RandomIds()) as workspace:
        door = door_with(workspace, TOY_GIT)
        before = whole_state(tree)
        delta = result_of(call(door, "toy_git", {"commands": [["reset", "--hard", "HEAD~1"]]}))["delta"]
        lock = tree / ".git" / "index.lock"

        def die(_repository: object, _state: object) -> None:
            lock.write_bytes(b"")
            raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("codeplane.workspace.rollback.write_state", die)
            # As after a kill: the files are in place, nothing else is, and nobody has taken anything back.
            patch.setattr("codeplane.edit.editor.Editor._roll_back", lambda *_: ())
            with pytest.raises(KeyboardInterrupt):
                call(door, "undo", {"operation": delta["mutation_id"]})
        assert whole_state(tree)["refs"] != before["refs"]
        owner = workspace.ownership.owner
        assert [one.owner for one in workspace.chain.open_calls()] == [owner]
    with open_test_workspace(tree, ids=RandomIds()) as workspace:
        door = door_with(workspace, TOY_GIT)
        assert recover_interrupted(workspace, door.operations) == 1
        assert workspace.chain.open_calls() == ()
    assert whole_state(tree) == before
