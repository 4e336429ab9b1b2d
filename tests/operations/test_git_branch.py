"""git_branch: what it says is what git says, what it does is what git does, and all of it can be undone."""

from pathlib import Path
from typing import Any

import pytest

from support.doors import call, error_of, result_of
from support.git_twins import Twins, make_twins
from support.repositories import git, make_repository


@pytest.fixture
def twins(tmp_path: Path) -> Twins:
    def prepare(root: Path) -> None:
        make_repository(root, {"a.txt": "a\n"})
        git(root, "branch", "merged")
        git(root, "checkout", "-q", "-b", "topic/one")
        git(root, "commit", "-q", "--allow-empty", "-m", "on topic")
        git(root, "checkout", "-q", "main")
        git(root, "tag", "old")
        git(root, "remote", "add", "origin", str(root))
        git(root, "fetch", "-q", "origin")
        git(root, "branch", "-q", "--set-upstream-to=origin/main", "main")
        git(root, "commit", "-q", "--allow-empty", "-m", "ahead")

    return make_twins(tmp_path, prepare)


ACTIONS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "create": ({"action": "create", "name": "new"}, ["branch", "new"]),
    "create elsewhere": ({"action": "create", "name": "new", "ref": "topic/one"}, ["branch", "new", "topic/one"]),
    "move": (
        {"action": "create", "name": "merged", "ref": "topic/one", "force": True},
        ["branch", "-f", "merged", "topic/one"],
    ),
    "delete": ({"action": "delete", "name": "merged"}, ["branch", "-d", "merged"]),
    "delete what is not merged": (
        {"action": "delete", "branch": "topic/one", "force": True},
        ["branch", "-D", "topic/one"],
    ),
    "rename": ({"action": "rename", "name": "merged", "new_name": "x/y"}, ["branch", "-m", "merged", "x/y"]),
    "rename the current one": ({"action": "rename", "new_name": "trunk"}, ["branch", "-m", "trunk"]),
    "rename into its own directory": (
        {"action": "rename", "name": "merged", "new_name": "merged/deeper"},
        ["branch", "-m", "merged", "merged/deeper"],
    ),
    "upstream": (
        {"action": "set_upstream", "name": "merged", "ref": "origin/main"},
        ["branch", "--set-upstream-to=origin/main", "merged"],
    ),
    "no upstream": ({"action": "set_upstream"}, ["branch", "--unset-upstream"]),
    "tag": ({"action": "tag", "name": "v1"}, ["tag", "v1"]),
    "tag moved": (
        {"action": "tag", "name": "old", "ref": "topic/one", "force": True},
        ["tag", "-f", "old", "topic/one"],
    ),
    "tag deleted": ({"action": "delete_tag", "name": "old"}, ["tag", "-d", "old"]),
}


@pytest.mark.parametrize("what", ACTIONS)
def test_each_action_does_what_git_does_and_can_be_undone(twins: Twins, what: str) -> None:
    arguments, by_hand = ACTIONS[what]
    twins.check("git_branch", arguments, [by_hand])


def test_an_annotated_tag_has_its_message_and_is_gone_after_undo(twins: Twins) -> None:
    result = twins.call("git_branch", {"action": "tag", "name": "v2", "message": "Two\n\nwords"})
    assert git(twins.ours, "cat-file", "-t", "v2").strip() == "tag"
    assert git(twins.ours, "tag", "-l", "--format=%(contents)", "v2").strip() == "Two\n\nwords"
    assert result["oid"] == git(twins.ours, "rev-parse", "refs/tags/v2").strip()
    twins.undo(result)


def test_branches_are_listed_as_git_lists_them_page_by_page(twins: Twins) -> None:
    for number in range(7):
        git(twins.ours, "branch", f"many-{number}")
    names: list[str] = []
    cursor = None
    while True:
        page = twins.call("git_branch", {"which": "all", "limit": 3, "cursor": cursor})
        names += [("remotes/" if one["remote"] else "") + one["name"] for one in page["branches"]]
        cursor = page["pagination"].get("next_cursor")
        if cursor is None:
            break
    expected = [
        line[2:].split(" ")[0]
        for line in git(twins.ours, "branch", "-a", "--format=x %(refname:lstrip=2)").splitlines()
    ]
    expected = ["remotes/" + name if name.startswith("origin/") else name for name in expected]
    assert names == expected
    main = next(one for one in twins.call("git_branch", {})["branches"] if one["name"] == "main")
    assert (main["current"], main["upstream"], main["ahead"], main["behind"]) == (True, "origin/main", 1, 0)
    by_name = {one["name"]: one for one in twins.call("git_branch", {})["branches"]}
    assert (by_name["merged"]["merged"], by_name["topic/one"]["merged"]) == (True, False)
    only = twins.call("git_branch", {"contains": "topic/one"})["branches"]
    assert [one["name"] for one in only] == ["topic/one"]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "an option as a name": ({"action": "create", "name": "--force"}, "GIT_REF_INVALID"),
    "a line break": ({"action": "create", "name": "a\nb"}, "GIT_REF_INVALID"),
    "two dots": ({"action": "create", "name": "a..b"}, "GIT_REF_INVALID"),
    "HEAD": ({"action": "create", "name": "HEAD"}, "GIT_REF_INVALID"),
    "exists": ({"action": "create", "name": "merged"}, "GIT_REF_EXISTS"),
    "where a branch is": ({"action": "create", "name": "topic"}, "GIT_REF_EXISTS"),
    "unknown start": ({"action": "create", "name": "x", "ref": "nowhere"}, "GIT_REF_UNKNOWN"),
    "unknown branch": ({"action": "delete", "name": "mergd"}, "GIT_REF_UNKNOWN"),
    "not merged": ({"action": "delete", "name": "topic/one"}, "GIT_NOT_MERGED"),
    "current": ({"action": "delete", "name": "main", "force": True}, "GIT_WORKTREE_UNUSABLE"),
    "rename onto another": ({"action": "rename", "name": "merged", "new_name": "main"}, "GIT_REF_EXISTS"),
    "tag exists": ({"action": "tag", "name": "old"}, "GIT_REF_EXISTS"),
    "no such tag": ({"action": "delete_tag", "name": "older"}, "GIT_REF_UNKNOWN"),
    "no name": ({"action": "delete"}, "INVALID_ARGUMENTS"),
    "unknown upstream": ({"action": "set_upstream", "ref": "origin/nowhere"}, "GIT_REF_UNKNOWN"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_and_changes_nothing(twins: Twins, what: str) -> None:
    arguments, code = BAD[what]
    twins.check_refused("git_branch", arguments, code)


def test_a_mistyped_name_is_answered_with_the_right_one(twins: Twins) -> None:
    with twins.door() as door:
        answer = call(door, "git_branch", {"action": "delete", "name": "mergd"})
    assert answer.error is not None
    assert "merged" in answer.error.required_action


def test_without_a_commit_there_is_nothing_to_branch_from(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "empty")
    twins = Twins(tmp_path / "empty", tmp_path / "empty")
    with twins.door() as door:
        assert error_of(call(door, "git_branch", {"action": "create", "name": "x"})) == "GIT_NO_COMMITS"
        assert result_of(call(door, "git_branch", {}))["branches"] == []


def test_a_branch_of_a_new_working_tree_is_not_taken_away_by_undo(twins: Twins, tmp_path: Path) -> None:
    result = twins.call("git_branch", {"action": "create", "name": "elsewhere"})
    git(twins.ours, "worktree", "add", "-q", str(tmp_path / "elsewhere"), "elsewhere")
    with twins.door() as door:
        refused = call(door, "undo", {"operation": result["delta"]["mutation_id"]})
    assert error_of(refused) == "UNDO_CONFLICT"
