"""git_stash: changes are put aside and come back, and nothing that is thrown away is lost."""

from pathlib import Path
from typing import Any

import pytest

from support.doors import call, error_of
from support.git_twins import Twins, make_twins
from support.repositories import git, make_repository, write


@pytest.fixture
def twins(tmp_path: Path) -> Twins:
    """Two stashes, staged and unstaged changes, an untracked and an ignored file."""

    def prepare(root: Path) -> None:
        make_repository(root, {"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n", ".gitignore": "ignored\n"})
        for number in (1, 2):
            write(root, {"c.txt": f"stash {number}\n"})
            git(root, "stash", "push", "-q", "-m", f"number {number}")
        write(root, {"a.txt": "staged\n", "new.txt": "untracked\n", "ignored": "i\n"})
        git(root, "add", "a.txt")
        write(root, {"b.txt": "not staged\n"})

    return make_twins(tmp_path, prepare)


ACTIONS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "push": ({"action": "push"}, ["stash", "push"]),
    "push with a message": ({"action": "push", "message": "why -x"}, ["stash", "push", "-m", "why -x"]),
    "push untracked": ({"action": "push", "include_untracked": True}, ["stash", "push", "-u"]),
    "push a path": ({"action": "push", "paths": "b.txt"}, ["stash", "push", "--", "b.txt"]),
    "push and keep the index": ({"action": "push", "keep_index": True}, ["stash", "push", "-k"]),
    "push only what is staged": ({"action": "push", "staged": True}, ["stash", "push", "--staged"]),
    "pop": ({"action": "pop"}, ["stash", "pop"]),
    "pop another": ({"action": "pop", "index": "stash@{1}"}, ["stash", "pop", "stash@{1}"]),
    "apply": ({"action": "apply", "index": 1}, ["stash", "apply", "stash@{1}"]),
    "drop": ({"action": "drop", "index": 1}, ["stash", "drop", "stash@{1}"]),
    "clear": ({"action": "clear"}, ["stash", "clear"]),
}


@pytest.mark.parametrize("what", ACTIONS)
def test_each_action_does_what_git_does_and_can_be_undone(twins: Twins, what: str) -> None:
    arguments, by_hand = ACTIONS[what]
    twins.check("git_stash", arguments, [by_hand])


def test_what_was_staged_can_be_staged_again(twins: Twins) -> None:
    for root in (twins.ours, twins.theirs):
        git(root, "stash", "push", "-q", "-u")
    twins.check("git_stash", {"action": "pop", "with_index": True}, [["stash", "pop", "--index"]])


def test_a_pop_that_meets_conflicts_keeps_the_stash_and_says_so(twins: Twins) -> None:
    git(twins.ours, "stash", "push", "-q", "-u", "-m", "aside")
    write(twins.ours, {"a.txt": "another\n"})
    git(twins.ours, "commit", "-q", "-a", "-m", "in the way")
    before = git(twins.ours, "status", "--porcelain=v2")
    result = twins.call("git_stash", {"action": "pop"})
    assert result["success"] is False
    assert [one["path"] for one in result["conflicts"]] == ["a.txt"]
    assert result["total"] == 3
    assert any("action=drop" in one for one in result["next"])
    twins.undo(result)
    assert git(twins.ours, "status", "--porcelain=v2") == before


def test_stashes_are_listed_and_shown_as_git_does(twins: Twins) -> None:
    git(twins.ours, "stash", "push", "-q", "-u", "-m", "aside")
    first = twins.call("git_stash", {"limit": 2})
    rest = twins.call("git_stash", {"limit": 2, "cursor": first["pagination"]["next_cursor"]})
    listed = [f"stash@{{{one['index']}}}: {one['message']}" for one in [*first["stashes"], *rest["stashes"]]]
    assert listed == git(twins.ours, "stash", "list").splitlines()
    shown = twins.call("git_stash", {"action": "show", "index": 0})["files"]
    assert {(one["path"], one["untracked"]) for one in shown} == {("a.txt", False), ("b.txt", False), ("new.txt", True)}
    assert "next_cursor" not in rest["pagination"]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no such stash": ({"action": "pop", "index": 7}, "GIT_REF_UNKNOWN"),
    "negative": ({"action": "drop", "index": -1}, "INVALID_ARGUMENTS"),
    "not a number": ({"action": "drop", "index": "--all"}, "INVALID_ARGUMENTS"),
    "unknown path": ({"action": "push", "paths": ["nope.txt"]}, "GIT_PATH_UNKNOWN"),
    "path outside": ({"action": "push", "paths": ["../x"]}, "PATH_OUTSIDE_REPOSITORY"),
    "git's own": ({"action": "push", "paths": [".git/config"]}, "PROTECTED_PATH"),
    "message without push": ({"action": "pop", "message": "x"}, "INVALID_ARGUMENTS"),
    "unknown action": ({"action": "save"}, "INVALID_ARGUMENTS"),
    "a cursor of nobody": ({"cursor": "x"}, "CURSOR_INVALID"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_and_changes_nothing(twins: Twins, what: str) -> None:
    arguments, code = BAD[what]
    twins.check_refused("git_stash", arguments, code)


def test_where_nothing_has_changed_there_is_nothing_to_put_aside(twins: Twins) -> None:
    git(twins.ours, "stash", "push", "-q")
    error = twins.check_refused("git_stash", {"action": "push"}, "GIT_NOTHING_TO_COMMIT")
    assert "include_untracked" in error.required_action


def test_a_stash_over_local_changes_of_the_same_file_is_refused_as_git_does(twins: Twins) -> None:
    write(twins.ours, {"c.txt": "mine\n"})
    twins.check_refused("git_stash", {"action": "pop"}, "GIT_WOULD_OVERWRITE")


def test_without_a_commit_nothing_can_be_put_aside(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "empty")
    write(tmp_path / "empty", {"a.txt": "a\n"})
    with Twins(tmp_path / "empty", tmp_path).door() as door:
        assert error_of(call(door, "git_stash", {"action": "push", "include_untracked": True})) == "GIT_NO_COMMITS"
