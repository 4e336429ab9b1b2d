"""Switching and bringing files back do what git does; what is overwritten can be undone."""

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
    check_undo,
    commit_files,
    exact_picture,
    git_door,
    identify,
    install_hook,
)
from support.repositories import copied, git, write


@pytest.fixture
def repo(tmp_path: Path, repo_template: Path) -> Path:
    return copied(tmp_path / "repo", "checkout", lambda base: _make_history(base, repo_template))


def _make_history(repo: Path, template: Path) -> None:
    """Make `other`, which changes, adds, moves and deletes, and come back to main."""
    shutil.copytree(template, repo, dirs_exist_ok=True)
    identify(repo)
    commit_files(repo, "ignore", {".gitignore": "*.log\n"})
    git(repo, "checkout", "-q", "-b", "other")
    git(repo, "mv", "docs/guide.md", "docs/manual.md")
    commit_files(repo, "other", {"src/app.py": "other = 1\n", "kept.log": "tracked there\n", "README.md": None})
    git(repo, "tag", "v1")
    git(repo, "checkout", "-q", "main")


@pytest.mark.parametrize(
    ("arguments", "by_hand"),
    [
        ({"ref": "other"}, ("checkout", "-q", "other")),
        ({"branch": "other"}, ("checkout", "-q", "other")),
        ({"ref": "refs/heads/other"}, ("checkout", "-q", "other")),
        ({"ref": "v1"}, ("checkout", "-q", "v1")),
        ({"ref": "other", "detach": True}, ("checkout", "-q", "--detach", "other")),
        ({"ref": "HEAD~1"}, ("checkout", "-q", "HEAD~1")),
        ({"ref": "new/one", "create": True}, ("checkout", "-q", "-b", "new/one")),
        ({"ref": "new", "create": True, "start_point": "v1"}, ("checkout", "-q", "-b", "new", "v1")),
        ({"ref": "other", "create": True, "force": True}, ("checkout", "-q", "-B", "other")),
        ({"ref": "main"}, ("checkout", "-q", "main")),
    ],
)
def test_switching_does_what_git_checkout_does(
    workspace: Workspace, arguments: dict[str, Any], by_hand: tuple[str, ...]
) -> None:
    check_same_as_by_hand(workspace, "git_checkout", arguments, by_git(*by_hand))


def test_changes_that_are_not_in_the_way_come_along(workspace: Workspace, repo: Path) -> None:
    write(repo, {"src/pkg/mod.py": "changed\n", "new.txt": "new\n"})
    git(repo, "add", "new.txt")
    answer = check_same_as_by_hand(workspace, "git_checkout", {"ref": "other"}, by_git("checkout", "-q", "other"))
    result = result_of(answer)
    assert (result["branch"], result["previous_branch"], result["detached"]) == ("other", "main", False)
    assert answer.text().startswith("on other (")


def test_changes_in_the_way_refuse_and_force_keeps_a_copy_first(workspace: Workspace, repo: Path) -> None:
    write(repo, {"src/app.py": "mine\n"})
    git(repo, "add", "src/app.py")
    write(repo, {"src/app.py": "mine and more\n"})
    check_refused(workspace, "git_checkout", {"ref": "other"}, "GIT_WOULD_OVERWRITE")
    answer = check_same_as_by_hand(
        workspace, "git_checkout", {"ref": "other", "force": True}, by_git("checkout", "-q", "-f", "other")
    )
    assert "saved first" in answer.text()


def test_ignored_and_untracked_files_that_are_overwritten_come_back_by_undo(workspace: Workspace, repo: Path) -> None:
    write(repo, {"kept.log": "mine, ignored\n"})
    check_same_as_by_hand(workspace, "git_checkout", {"ref": "other"}, by_git("checkout", "-q", "other"))


def test_untracked_files_where_a_forced_checkout_writes_come_back_by_undo(workspace: Workspace, repo: Path) -> None:
    write(repo, {"docs/manual.md": "mine\n"})
    check_refused(workspace, "git_checkout", {"ref": "other"}, "GIT_WOULD_OVERWRITE")
    by_hand = by_git("checkout", "-q", "-f", "other")
    check_same_as_by_hand(workspace, "git_checkout", {"ref": "other", "force": True}, by_hand)


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("docs/new.log", "docs/new.log/deep/file.txt"),
        ("deep.log/er/file.txt", "deep.log"),
    ],
)
def test_a_file_and_a_directory_of_one_name_are_exchanged_again_by_undo(
    workspace: Workspace, repo: Path, there: str, here: str
) -> None:
    git(repo, "checkout", "-q", "other")
    commit_files(repo, "deep", {there: "theirs\n"})
    git(repo, "checkout", "-q", "main")
    write(repo, {here: "mine\n"})
    door = git_door(workspace)
    before = exact_picture(repo)
    result = result_of(call(door, "git_checkout", {"ref": "other", "force": True}))
    after = exact_picture(repo)
    undone = result_of(call(door, "undo", {"operation": result["delta"]["mutation_id"]}))
    assert exact_picture(repo) == before
    result_of(call(door, "undo", {"operation": undone["mutation_id"]}))
    assert exact_picture(repo) == after


@pytest.mark.parametrize(
    ("arguments", "by_hand"),
    [
        ({"paths": ["src/app.py"]}, ("checkout", "--", "src/app.py")),
        ({"paths": ["."]}, ("checkout", "--", ".")),
        ({"ref": "other", "paths": ["src", "docs"]}, ("checkout", "other", "--", "src", "docs")),
        ({"ref": "v1", "paths": ["kept.log"]}, ("checkout", "v1", "--", "kept.log")),
        ({"ref": "HEAD", "paths": ["src/app.py"]}, ("checkout", "HEAD", "--", "src/app.py")),
    ],
)
def test_bringing_files_back_does_what_git_checkout_does(
    workspace: Workspace, repo: Path, arguments: dict[str, Any], by_hand: tuple[str, ...]
) -> None:
    write(repo, {"src/app.py": "staged\n", "kept.log": "mine, ignored\n"})
    git(repo, "add", "src/app.py")
    write(repo, {"src/app.py": "more\n", "docs/guide.md": "changed\n"})
    answer = check_same_as_by_hand(workspace, "git_checkout", arguments, by_git(*by_hand))
    assert result_of(answer)["restored"]


def _conflict(workspace: Workspace, repo: Path) -> None:
    commit_files(repo, "ours", {"src/app.py": "main = 1\n"})
    assert result_of(call(git_door(workspace), "git_merge", {"ref": "other"}))["success"] is False


@pytest.mark.parametrize("side", ["ours", "theirs", "merge"])
def test_one_side_of_a_conflict_is_taken(workspace: Workspace, repo: Path, side: str) -> None:
    _conflict(workspace, repo)
    write(repo, {"src/app.py": "half resolved\n"})
    by_hand = by_git("checkout", f"--{side}", "--", "src/app.py")
    check_same_as_by_hand(workspace, "git_checkout", {"paths": "src/app.py", "side": side}, by_hand)


def test_a_conflict_is_not_overwritten_without_saying_from_where(workspace: Workspace, repo: Path) -> None:
    _conflict(workspace, repo)
    check_refused(workspace, "git_checkout", {"paths": ["src"]}, "GIT_CONFLICTS")
    check_refused(workspace, "git_checkout", {"paths": ["docs"], "side": "ours"}, "GIT_PATH_UNKNOWN")
    check_refused(workspace, "git_checkout", {"ref": "other"}, "GIT_CONFLICTS")


def test_a_branch_that_only_a_remote_has_is_made_and_follows_it(
    workspace: Workspace, repo: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repo), "remote.git")
    git(repo, "remote", "add", "origin", str(tmp_path / "remote.git"))
    git(repo, "fetch", "-q", "origin")
    git(repo, "branch", "-D", "-q", "other")
    check_same_as_by_hand(workspace, "git_checkout", {"ref": "other"}, by_git("checkout", "-q", "other"))
    assert git(repo, "rev-parse", "--abbrev-ref", "other@{upstream}").strip() == "origin/other"


def test_two_remotes_with_the_same_branch_are_told(workspace: Workspace, repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repo), "remote.git")
    for name in ("one", "two"):
        git(repo, "remote", "add", name, str(tmp_path / "remote.git"))
        git(repo, "fetch", "-q", name)
    git(repo, "branch", "-D", "-q", "other")
    check_refused(workspace, "git_checkout", {"ref": "other"}, "GIT_REF_AMBIGUOUS")


def test_a_branch_goes_before_a_tag_of_its_name(workspace: Workspace, repo: Path) -> None:
    git(repo, "tag", "other", "main")
    check_same_as_by_hand(workspace, "git_checkout", {"ref": "other"}, by_git("checkout", "-q", "other"))


def test_a_hook_that_fails_after_the_switch_is_a_warning(workspace: Workspace, repo: Path) -> None:
    install_hook(repo, "post-checkout", "exit 7")
    answer = call(git_door(workspace), "git_checkout", {"ref": "other"})
    assert result_of(answer)["branch"] == "other"
    assert any("post-checkout" in warning for warning in answer.meta.warnings)


def test_a_branch_can_be_named_before_its_first_commit(tmp_path: Path) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    git(root, "init", "--quiet", "--template=")
    write(root, {"a.txt": "a\n"})
    with open_test_workspace(root) as workspace:
        by_hand = by_git("checkout", "-q", "-b", "trunk")
        check_same_as_by_hand(workspace, "git_checkout", {"ref": "trunk", "create": True}, by_hand)
        check_refused(workspace, "git_checkout", {"ref": "main"}, "GIT_REF_UNKNOWN")
        check_refused(workspace, "git_checkout", {"ref": "HEAD"}, "GIT_NO_COMMITS")


def test_a_branch_of_another_worktree_is_refused(workspace: Workspace, repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked"), "other")
    check_refused(workspace, "git_checkout", {"ref": "other"}, "GIT_WORKTREE_UNUSABLE")


def test_it_works_in_a_linked_worktree(repo: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(repo, "worktree", "add", "-q", "-b", "third", str(linked))
    write(linked, {"src/app.py": "mine\n"})
    with open_test_workspace(linked) as workspace:
        before = exact_picture(linked)
        result = result_of(call(git_door(workspace), "git_checkout", {"ref": "other", "force": True}))
        assert result["branch"] == "other"
        check_undo(workspace, result["delta"]["mutation_id"], before)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "INVALID_ARGUMENTS"),
        ({"ref": ""}, "INVALID_ARGUMENTS"),
        ({"ref": "no-such"}, "GIT_REF_UNKNOWN"),
        ({"ref": "othr"}, "GIT_REF_UNKNOWN"),
        ({"ref": "--force"}, "GIT_REF_INVALID"),
        ({"ref": "-"}, "GIT_REF_INVALID"),
        ({"ref": "a\nb"}, "GIT_REF_INVALID"),
        ({"ref": "'other'"}, "GIT_REF_UNKNOWN"),
        ({"ref": "--force", "create": True}, "GIT_REF_INVALID"),
        ({"ref": "a b", "create": True}, "GIT_REF_INVALID"),
        ({"ref": "a..b", "create": True}, "GIT_REF_INVALID"),
        ({"ref": "HEAD", "create": True}, "GIT_REF_INVALID"),
        ({"ref": "@{-1}", "create": True}, "GIT_REF_INVALID"),
        ({"ref": "other", "create": True}, "GIT_REF_EXISTS"),
        ({"ref": "other/deeper", "create": True}, "GIT_REF_EXISTS"),
        ({"ref": "new", "create": True, "start_point": "--orphan"}, "GIT_REF_INVALID"),
        ({"ref": "new", "create": True, "start_point": "no-such"}, "GIT_REF_UNKNOWN"),
        ({"ref": "other", "start_point": "v1"}, "INVALID_ARGUMENTS"),
        ({"ref": "0000000000000000000000000000000000000000"}, "GIT_REF_UNKNOWN"),
        ({"paths": ["no/such.py"]}, "GIT_PATH_UNKNOWN"),
        ({"paths": ["no/such.py"], "ref": "other"}, "GIT_PATH_UNKNOWN"),
        ({"paths": ["README.md"], "ref": "other"}, "GIT_PATH_UNKNOWN"),
        ({"paths": [".git/config"], "ref": "other"}, "PROTECTED_PATH"),
        ({"paths": ["../x"], "ref": "other"}, "PATH_OUTSIDE_REPOSITORY"),
        ({"paths": ["src"], "create": True}, "INVALID_ARGUMENTS"),
        ({"paths": ["src"], "ref": "other", "side": "ours"}, "INVALID_ARGUMENTS"),
        ({"ref": "main:README.md"}, "GIT_REF_UNKNOWN"),
    ],
)
def test_bad_input_is_refused_and_nothing_changes(workspace: Workspace, arguments: dict[str, Any], code: str) -> None:
    check_refused(workspace, "git_checkout", arguments, code)


def test_protected_files_are_not_brought_back_from_elsewhere(workspace: Workspace, repo: Path) -> None:
    git(repo, "checkout", "-q", "other")
    commit_files(repo, "looser", {".cplignore": "", ".claude/settings.json": "{}\n"})
    git(repo, "checkout", "-q", "main")
    for path in (".", ".claude", ".cplignore"):
        check_refused(workspace, "git_checkout", {"ref": "other", "paths": [path]}, "PROTECTED_PATH")


def test_an_object_that_cannot_be_read_refuses_and_nothing_changes(workspace: Workspace, repo: Path) -> None:
    oid = git(repo, "rev-parse", "other:src/app.py").strip()
    place = repo / ".git" / "objects" / oid[:2] / oid[2:]
    place.chmod(0o644)
    kept = place.read_bytes()
    before = exact_picture(repo)
    place.write_bytes(b"broken")
    answer = call(git_door(workspace), "git_checkout", {"ref": "other"})
    place.write_bytes(kept)
    assert answer.error is not None
    assert answer.error.error == "GIT_CORRUPT"
    assert exact_picture(repo) == before
