"""Staging, unstaging and discarding do what git does, and nothing thrown away is lost."""

import os
from pathlib import Path
from typing import Any

import pytest

from codeplane.workspace.workspace import Workspace
from support.doors import call, open_test_workspace, result_of
from support.git_commits import (
    by_git,
    check_refused,
    check_same_as_by_hand,
    check_undo,
    commit_files,
    exact_picture,
    git_door,
    identify,
)
from support.repositories import git, write


@pytest.fixture(autouse=True)
def changed(repo: Path) -> None:
    """Change one file, delete one, add one, ignore one."""
    identify(repo)
    commit_files(repo, "ignore", {".gitignore": "*.log\n"})
    write(repo, {"src/app.py": "x = 1\n", "new/file.txt": "new\n", "noise.log": "noise\n"})
    (repo / "README.md").unlink()


@pytest.mark.parametrize(
    ("arguments", "by_hand"),
    [
        ({"paths": ["src/app.py", "README.md"]}, ("add", "-A", "--", "src/app.py", "README.md")),
        ({"paths": "src"}, ("add", "-A", "--", "src")),
        ({"paths": ["."]}, ("add", "-A")),
        ({"all": True}, ("add", "-A")),
        ({"paths": ["new/"]}, ("add", "-A", "--", "new")),
        ({"path": "noise.log", "allow_ignored": True}, ("add", "-f", "--", "noise.log")),
    ],
)
def test_staging_does_what_git_add_does(
    workspace: Workspace, arguments: dict[str, Any], by_hand: tuple[str, ...]
) -> None:
    check_same_as_by_hand(workspace, "git_stage", arguments, by_git(*by_hand))


def test_the_answer_says_what_is_staged_and_what_is_not(workspace: Workspace) -> None:
    answer = call(git_door(workspace), "git_stage", {"paths": ["README.md", "new"]})
    result = result_of(answer)
    assert [(one["path"], one["status"]) for one in result["staged"]] == [
        ("README.md", "deleted"),
        ("new/file.txt", "added"),
    ]
    assert (result["not_staged_count"], result["untracked_count"]) == (1, 0)
    assert answer.text().splitlines() == [
        "staged: README.md deleted, new/file.txt added",
        " also: 1 changed but not staged",
    ]


@pytest.mark.parametrize("arguments", [{"paths": ["src/app.py"]}, {"all": True}, {"paths": ["."]}])
def test_unstaging_does_what_git_reset_does(workspace: Workspace, repo: Path, arguments: dict[str, Any]) -> None:
    git(repo, "add", "-A")
    paths = arguments.get("paths", ["."])
    check_same_as_by_hand(
        workspace, "git_stage", {**arguments, "action": "unstage"}, by_git("reset", "-q", "--", *paths)
    )


def test_unstaging_on_a_branch_without_commits_leaves_the_files(tmp_path: Path) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    git(root, "init", "--quiet", "--template=")
    write(root, {"a.txt": "a\n", "b.txt": "b\n"})
    git(root, "add", "-A")
    with open_test_workspace(root) as workspace:
        by_hand = by_git("rm", "-q", "--cached", "a.txt")
        check_same_as_by_hand(workspace, "git_stage", {"action": "unstage", "paths": "a.txt"}, by_hand)
        by_hand = by_git("rm", "-q", "--cached", "b.txt")
        check_same_as_by_hand(workspace, "git_stage", {"action": "unstage", "all": True}, by_hand)


def test_unstaging_in_a_merge_does_not_end_the_merge(workspace: Workspace, repo: Path) -> None:
    git(repo, "checkout", "-q", "--", ".")
    git(repo, "checkout", "-q", "-b", "other")
    commit_files(repo, "theirs", {"theirs.txt": "theirs\n"})
    git(repo, "checkout", "-q", "main")
    commit_files(repo, "ours", {"ours.txt": "ours\n"})
    git(repo, "merge", "-q", "--no-commit", "other")
    result = result_of(call(git_door(workspace), "git_stage", {"action": "unstage", "all": True}))
    assert result["delta"]["repository"]["state"] == "merge"


def test_discarding_brings_back_what_is_staged_or_committed_and_undo_what_was_there(
    workspace: Workspace, repo: Path
) -> None:
    git(repo, "add", "src/app.py")
    write(repo, {"src/app.py": "x = 2\n"})
    arguments = {"action": "discard", "paths": ["src/app.py", "README.md"]}
    answer = check_same_as_by_hand(
        workspace, "git_stage", arguments, by_git("checkout", "--", "src/app.py", "README.md")
    )
    assert "saved first" in answer.text()


def test_discarding_untracked_files_deletes_them_when_asked_and_undo_brings_them_back(
    workspace: Workspace, repo: Path
) -> None:
    write(repo, {"new/deep/er.bin": b"\0\xff"})
    (repo / "new" / "link").symlink_to("nowhere")

    def by_hand(root: Path) -> None:
        git(root, "checkout", "--", ":/")
        git(root, "clean", "-fdq")

    check_same_as_by_hand(
        workspace, "git_stage", {"action": "discard", "all": True, "include_untracked": True}, by_hand
    )


def test_resolving_a_conflict_by_staging_warns_about_marks_that_are_left(workspace: Workspace, repo: Path) -> None:
    git(repo, "checkout", "-q", "--", ".")
    git(repo, "checkout", "-q", "-b", "other")
    commit_files(repo, "theirs", {"docs/guide.md": "theirs\n"})
    git(repo, "checkout", "-q", "main")
    commit_files(repo, "ours", {"docs/guide.md": "ours\n"})
    door = git_door(workspace)
    result_of(call(door, "git_merge", {"ref": "other"}))
    check_refused(workspace, "git_stage", {"action": "discard", "paths": "docs/guide.md"}, "GIT_CONFLICTS")
    answer = call(door, "git_stage", {"paths": ["docs/guide.md"]})
    assert result_of(answer)["conflicts"] == []
    assert any("markers at lines 1-5" in warning for warning in answer.meta.warnings)
    before = exact_picture(repo)
    result = result_of(call(door, "git_stage", {"paths": ["docs/guide.md"], "action": "unstage"}))
    check_undo(workspace, result["delta"]["mutation_id"], before)


def test_names_that_no_tool_can_address_are_staged_with_everything(workspace: Workspace, repo: Path) -> None:
    odd = [b"new\nline", b"ta\tb", b'quo"te', b"\xff\xfe", b"-dash", b":(top)magic", b"a\\b"]
    for name in odd:
        Path(os.fsdecode(os.fsencode(repo) + b"/" + name)).write_bytes(name)
    answer = check_same_as_by_hand(workspace, "git_stage", {"all": True}, by_git("add", "-A"))
    assert len(result_of(answer)["staged"]) == len(odd) + 3
    assert "\\xff\\xfe" in [one["path"] for one in result_of(answer)["delta"]["files"]]
    assert "\\xff\\xfe added" in answer.text()


@pytest.mark.parametrize("name", ["-dash", ":(top)magic", "*", "sp ace", "ünï.txt", "HEAD", "'q'"])
def test_names_are_taken_literally(workspace: Workspace, repo: Path, name: str) -> None:
    write(repo, {name: "x\n"})
    result_of(call(git_door(workspace), "git_stage", {"paths": [name]}))
    assert git(repo, "diff", "--cached", "--name-only", "-z").split("\0") == [name, ""]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "INVALID_ARGUMENTS"),
        ({"paths": [], "all": False}, "INVALID_ARGUMENTS"),
        ({"paths": ["src"], "all": True}, "INVALID_ARGUMENTS"),
        ({"paths": ["src"], "action": "burn"}, "INVALID_ARGUMENTS"),
        ({"paths": ["no/such.py"]}, "GIT_PATH_UNKNOWN"),
        ({"paths": ["noise.log"]}, "FILE_IGNORED"),
        ({"paths": [".git/config"]}, "PROTECTED_PATH"),
        ({"paths": ["src/.git"]}, "PROTECTED_PATH"),
        ({"paths": [".codeplane"]}, "PROTECTED_PATH"),
        ({"paths": ["/etc/passwd"]}, "PATH_OUTSIDE_REPOSITORY"),
        ({"paths": ["new"], "action": "unstage"}, "GIT_PATH_UNKNOWN"),
        ({"paths": ["new"], "action": "discard"}, "GIT_PATH_UNKNOWN"),
        ({"paths": [".mcp.json"], "action": "discard"}, "PROTECTED_PATH"),
        ({"all": True, "action": "discard"}, "PROTECTED_PATH"),
    ],
)
def test_bad_input_is_refused_and_nothing_changes(
    workspace: Workspace, repo: Path, arguments: dict[str, Any], code: str
) -> None:
    write(repo, {".mcp.json": "{}\n"})
    git(repo, "add", ".mcp.json")
    write(repo, {".mcp.json": "{ }\n"})
    check_refused(workspace, "git_stage", arguments, code)


def test_a_mistaken_path_is_answered_with_the_one_that_was_meant(workspace: Workspace) -> None:
    answer = check_refused(workspace, "git_stage", {"paths": ["src/ap.py"]}, "GIT_PATH_UNKNOWN")
    assert answer.error is not None
    assert "src/app.py" in answer.error.required_action
