"""Resets do what git's do, and undo brings back what even a hard one threw away."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from codeplane.workspace.workspace import Workspace
from support.doors import call, open_test_workspace, result_of
from support.git_commits import (
    by_git,
    check_refused,
    check_same_as_by_hand,
    commit_files,
    git_door,
    identify,
)
from support.repositories import copied, git, write


@pytest.fixture
def repo(tmp_path: Path, repo_template: Path) -> Path:
    return copied(tmp_path / "repo", "reset", lambda base: _make_history(base, repo_template))


def _make_history(repo: Path, template: Path) -> None:
    """Make three commits and every kind of change on top."""
    shutil.copytree(template, repo, dirs_exist_ok=True)
    identify(repo)
    commit_files(repo, "two", {"src/app.py": "two\n", "gone.txt": "here\n"})
    commit_files(repo, "three", {"src/app.py": "three\n", "gone.txt": None, "added.txt": "three\n"})
    write(repo, {"src/app.py": "staged\n", "staged.txt": "staged\n"})
    git(repo, "add", "src/app.py", "staged.txt")
    write(repo, {"src/app.py": "working\n", "docs/guide.md": "working\n", "gone.txt": "untracked, in the way\n"})


@pytest.mark.parametrize("mode", ["soft", "mixed", "hard"])
@pytest.mark.parametrize("ref", ["HEAD", "HEAD~1", "HEAD~2"])
def test_a_reset_does_what_gits_does(workspace: Workspace, mode: str, ref: str) -> None:
    check_same_as_by_hand(workspace, "git_reset", {"ref": ref, "mode": mode}, by_git("reset", "-q", f"--{mode}", ref))


def test_without_arguments_everything_is_unstaged(workspace: Workspace) -> None:
    answer = check_same_as_by_hand(workspace, "git_reset", {}, by_git("reset", "-q"))
    assert "stays at" in answer.text()


def test_a_hard_reset_says_that_it_kept_a_copy(workspace: Workspace) -> None:
    answer = call(git_door(workspace), "git_reset", {"ref": "HEAD~1", "mode": "hard"})
    result = result_of(answer)
    assert "saved first; undo: operation=" in answer.text()
    assert result["previous_head"] != result["head"]


@pytest.mark.parametrize("paths", [["src/app.py"], ["."], ["gone.txt", "added.txt"], ["src"]])
@pytest.mark.parametrize("ref", ["HEAD", "HEAD~1"])
def test_paths_are_reset_in_the_index_only(workspace: Workspace, paths: list[str], ref: str) -> None:
    if ref == "HEAD" and "gone.txt" in paths:
        check_refused(workspace, "git_reset", {"ref": ref, "paths": paths}, "GIT_PATH_UNKNOWN")
        return
    check_same_as_by_hand(
        workspace, "git_reset", {"ref": ref, "paths": paths}, by_git("reset", "-q", ref, "--", *paths)
    )


def test_a_hard_reset_ends_a_merge_and_undo_brings_the_merge_back(workspace: Workspace, repo: Path) -> None:
    git(repo, "checkout", "-q", "-f", "-b", "other", "HEAD~1")
    commit_files(repo, "theirs", {"src/app.py": "theirs\n"})
    git(repo, "checkout", "-q", "-f", "main")
    assert result_of(call(git_door(workspace), "git_merge", {"ref": "other"}))["success"] is False
    write(repo, {"src/app.py": "half resolved\n"})
    check_refused(workspace, "git_reset", {"mode": "soft", "ref": "HEAD~1"}, "GIT_OPERATION_IN_PROGRESS")
    check_same_as_by_hand(workspace, "git_reset", {"mode": "hard"}, by_git("reset", "-q", "--hard"))


def test_a_branch_without_commits_can_be_unstaged(tmp_path: Path) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    git(root, "init", "--quiet", "--template=")
    write(root, {"a.txt": "a\n"})
    git(root, "add", "a.txt")
    with open_test_workspace(root) as workspace:
        check_refused(workspace, "git_reset", {"mode": "soft"}, "GIT_NO_COMMITS")
        check_same_as_by_hand(workspace, "git_reset", {}, by_git("rm", "-q", "--cached", "a.txt"))
        git(root, "add", "a.txt")
        check_same_as_by_hand(workspace, "git_reset", {"mode": "hard"}, by_git("rm", "-q", "-f", "a.txt"))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"ref": "no-such"}, "GIT_REF_UNKNOWN"),
        ({"ref": "--hard"}, "GIT_REF_INVALID"),
        ({"ref": "a\nb"}, "GIT_REF_INVALID"),
        ({"ref": "both"}, "GIT_REF_AMBIGUOUS"),
        ({"mode": "harder"}, "INVALID_ARGUMENTS"),
        ({"mode": "hard", "paths": ["src"]}, "INVALID_ARGUMENTS"),
        ({"paths": ["no/such"]}, "GIT_PATH_UNKNOWN"),
        ({"paths": ["../x"]}, "PATH_OUTSIDE_REPOSITORY"),
        ({"paths": [".git"]}, "PROTECTED_PATH"),
        ({"ref": "HEAD:src"}, "GIT_REF_UNKNOWN"),
    ],
)
def test_bad_input_is_refused_and_nothing_changes(
    workspace: Workspace, repo: Path, arguments: dict[str, Any], code: str
) -> None:
    git(repo, "branch", "both")
    git(repo, "tag", "both", "HEAD~1")
    check_refused(workspace, "git_reset", arguments, code)


def test_undo_knows_what_was_only_intended_to_be_added(workspace: Workspace, repo: Path) -> None:
    write(repo, {"intended.txt": "not staged yet\n"})
    git(repo, "add", "--intent-to-add", "intended.txt")
    assert "1 .A" in git(repo, "status", "--porcelain=v2", "intended.txt")
    check_same_as_by_hand(workspace, "git_reset", {"mode": "hard"}, by_git("reset", "-q", "--hard"))


def test_undo_makes_the_directory_of_a_submodule_again(workspace: Workspace, repo: Path) -> None:
    git(repo, "reset", "-q", "--hard")
    git(repo, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    git(repo, "commit", "-q", "-m", "module")
    (repo / "module").mkdir()
    check_same_as_by_hand(
        workspace, "git_reset", {"ref": "HEAD~1", "mode": "hard"}, by_git("reset", "-q", "--hard", "HEAD~1")
    )


def test_changes_that_git_was_told_to_overlook_are_not_overwritten(workspace: Workspace, repo: Path) -> None:
    git(repo, "update-index", "--assume-unchanged", "added.txt")
    write(repo, {"added.txt": "mine, overlooked\n"})
    check_refused(workspace, "git_reset", {"ref": "HEAD~1", "mode": "hard"}, "GIT_WOULD_OVERWRITE")


def test_a_file_that_no_tool_can_address_is_kept_and_comes_back(workspace: Workspace, repo: Path) -> None:
    commit_files(repo, "odd", {"ta\tb": "committed\n"})
    write(repo, {"ta\tb": "changed\n"})
    answer = call(git_door(workspace), "git_reset", {"mode": "hard"})
    assert answer.meta.warnings == ()
    assert (repo / "ta\tb").read_text() == "committed\n"
    result_of(call(git_door(workspace), "undo", {"operation": result_of(answer)["delta"]["mutation_id"]}))
    assert (repo / "ta\tb").read_text() == "changed\n"
