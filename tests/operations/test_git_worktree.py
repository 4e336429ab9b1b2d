"""git_worktree: further working trees come and go, and what is in them is not lost."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from codeplane.git.repository import find_repository
from codeplane.git.state import forget_objects
from support.doors import call, error_of
from support.git_states import whole_state
from support.git_twins import Twins, make_twins
from support.repositories import git, make_repository, write


@pytest.fixture
def twins(tmp_path: Path) -> Twins:
    def prepare(root: Path) -> None:
        make_repository(root, {"a.txt": "a\n"})
        git(root, "branch", "side")

    return make_twins(tmp_path, prepare)


def listing(root: Path) -> str:
    """Return what git says of the working trees, without where they are."""
    return git(root, "worktree", "list", "--porcelain").replace(str(root.parent), "PLACE")


ADDED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "branch": ({"path": "../wt", "ref": "side"}, ["worktree", "add", "../wt", "side"]),
    "new branch": ({"path": "../wt", "create": "new"}, ["worktree", "add", "-b", "new", "../wt"]),
    "new branch elsewhere": (
        {"path": "../wt", "create": "new", "ref": "side"},
        ["worktree", "add", "-b", "new", "../wt", "side"],
    ),
    "detached": ({"path": "../wt", "detach": True}, ["worktree", "add", "--detach", "../wt"]),
    "inside": ({"path": "trees/wt", "ref": "side"}, ["worktree", "add", "trees/wt", "side"]),
    "named by its directory": ({"path": "../wt"}, ["worktree", "add", "../wt"]),
    "a path that looks like an option": ({"path": "--force", "ref": "side"}, ["worktree", "add", "./--force", "side"]),
}


@pytest.mark.parametrize("what", ADDED)
def test_adding_does_what_git_does(twins: Twins, what: str) -> None:
    arguments, by_hand = ADDED[what]
    result = twins.call("git_worktree", {"action": "add", **arguments})
    git(twins.theirs, *by_hand)
    assert listing(twins.ours) == listing(twins.theirs)
    assert (Path(result["path"]) / "a.txt").read_text() == "a\n"
    opened = twins.call("git_worktree", {"action": "open", "path": arguments["path"]})
    assert (opened["dirty"], opened["state"]) == (False, "none")
    twins.call("git_worktree", {"action": "remove", "path": arguments["path"]})
    git(twins.theirs, "worktree", "remove", "--", "./--force" if arguments["path"] == "--force" else arguments["path"])
    assert listing(twins.ours) == listing(twins.theirs)


def test_locked_trees_stay_and_gone_ones_are_forgotten(twins: Twins) -> None:
    for name in ("one", "two"):
        git(twins.ours, "worktree", "add", "-q", "--detach", f"../{name}")
    locked = twins.call("git_worktree", {"action": "lock", "path": "../one", "reason": "on a stick"})
    assert [one.get("locked") for one in locked["worktrees"]] == [None, "on a stick", None]
    twins.check_refused("git_worktree", {"action": "remove", "path": "../one"}, "GIT_WORKTREE_UNUSABLE")
    twins.call("git_worktree", {"action": "unlock", "path": "../one"})
    twins.call("git_worktree", {"action": "remove", "path": "../one"})
    gone = twins.ours.parent / "two"
    for path in (gone / "a.txt", gone / ".git"):
        path.unlink()
    gone.rmdir()
    twins.check_refused("git_worktree", {"action": "open", "path": "../two"}, "GIT_WORKTREE_UNUSABLE")
    assert twins.call("git_worktree", {"action": "list"})["worktrees"][1]["prunable"]
    assert len(twins.call("git_worktree", {"action": "prune"})["worktrees"]) == 1


def test_what_a_removed_tree_had_is_kept_as_a_commit(twins: Twins) -> None:
    git(twins.ours, "worktree", "add", "-q", "../wt", "side")
    tree = twins.ours.parent / "wt"
    write(tree, {"a.txt": "changed\n", "new.txt": "new\n"})
    twins.check_refused("git_worktree", {"action": "remove", "path": "../wt"}, "GIT_WOULD_OVERWRITE")
    result = twins.call("git_worktree", {"action": "remove", "path": "../wt", "force": True})
    assert not tree.exists()
    git(twins.ours, "reflog", "expire", "--expire=now", "--all")
    git(twins.ours, "gc", "-q", "--prune=now")
    assert git(twins.ours, "show", f"{result['kept']}:a.txt") == "changed\n"
    assert git(twins.ours, "show", f"{result['kept']}:new.txt") == "new\n"
    assert git(twins.ours, "rev-parse", f"{result['kept']}^") == git(twins.ours, "rev-parse", "side")


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no path": ({"action": "add"}, "INVALID_ARGUMENTS"),
    "exists": ({"action": "add", "path": "a.txt"}, "FILE_EXISTS"),
    "in git's directory": ({"action": "add", "path": ".git/wt"}, "PROTECTED_PATH"),
    "in our directory": ({"action": "add", "path": ".codeplane/wt"}, "PROTECTED_PATH"),
    "unknown ref": ({"action": "add", "path": "../x", "ref": "nope"}, "GIT_REF_UNKNOWN"),
    "option as ref": ({"action": "add", "path": "../x", "ref": "--force"}, "GIT_REF_INVALID"),
    "branch that is checked out": ({"action": "add", "path": "../x", "ref": "main"}, "GIT_WORKTREE_UNUSABLE"),
    "branch that exists": ({"action": "add", "path": "../x", "create": "side"}, "GIT_REF_EXISTS"),
    "remove the main one": ({"action": "remove", "path": "."}, "GIT_WORKTREE_UNUSABLE"),
    "remove nothing": ({"action": "remove", "path": "../nope"}, "GIT_WORKTREE_UNUSABLE"),
    "lock nothing": ({"action": "lock", "path": "../nope"}, "GIT_WORKTREE_UNUSABLE"),
    "a line break": ({"action": "add", "path": "../a\nb"}, "INVALID_ARGUMENTS"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_and_changes_nothing(twins: Twins, what: str) -> None:
    arguments, code = BAD[what]
    before = listing(twins.ours)
    twins.check_refused("git_worktree", arguments, code)
    assert listing(twins.ours) == before


def test_tools_work_in_a_linked_tree_and_undo_there_leaves_the_others_alone(twins: Twins) -> None:
    git(twins.ours, "worktree", "add", "-q", "../wt", "side")
    linked = Twins(twins.ours.parent / "wt", twins.ours)
    write(linked.ours, {"a.txt": "changed\n"})
    main = whole_state(twins.ours)
    result = linked.call("git_stash", {"action": "push"})
    assert (linked.ours / "a.txt").read_text() == "a\n"
    linked.undo(result)
    assert (linked.ours / "a.txt").read_text() == "changed\n"
    assert whole_state(twins.ours) == main
    with linked.door() as door:
        assert error_of(call(door, "git_worktree", {"action": "remove", "path": "."})) == "GIT_WORKTREE_UNUSABLE"


def test_locking_and_unlocking_can_be_undone(twins: Twins) -> None:
    git(twins.ours, "worktree", "add", "-q", "../wt", "side")
    for action in ("lock", "unlock"):
        before = listing(twins.ours)
        result = twins.call("git_worktree", {"action": action, "path": "../wt"})
        after = listing(twins.ours)
        assert after != before
        undone = twins.call("undo", {"operation": result["delta"]["mutation_id"]})
        assert listing(twins.ours) == before
        twins.call("undo", {"operation": undone["mutation_id"]})
        assert listing(twins.ours) == after


@pytest.mark.parametrize("action", ["remove", "prune"])
def test_the_commits_of_a_tree_on_no_branch_outlive_it(twins: Twins, action: str) -> None:
    place = twins.ours.parent / "wt"
    git(twins.ours, "worktree", "add", "-q", "--detach", str(place))
    git(place, "commit", "-q", "--allow-empty", "-m", "only here")
    commit = git(place, "rev-parse", "HEAD").strip()
    if action == "prune":
        shutil.rmtree(place)
    twins.call("git_worktree", {"action": action, **({"path": str(place)} if action == "remove" else {})})
    forget_objects(find_repository(twins.ours), frozenset())
    git(twins.ours, "reflog", "expire", "--expire=now", "--all")
    git(twins.ours, "gc", "-q", "--prune=now")
    assert git(twins.ours, "log", "-1", "--format=%s", commit) == "only here\n"


def test_ignored_files_that_go_with_a_tree_are_named(twins: Twins) -> None:
    place = twins.ours.parent / "wt"
    git(twins.ours, "worktree", "add", "-q", "--detach", str(place))
    write(place, {"x.log": "ignored\n"})
    git(place, "config", "core.excludesFile", str(twins.ours.parent / "excluded"))
    (twins.ours.parent / "excluded").write_text("*.log\n")
    with twins.door() as door:
        answer = call(door, "git_worktree", {"action": "remove", "path": str(place)})
    assert answer.error is None
    assert any("x.log" in warning for warning in answer.meta.warnings)
