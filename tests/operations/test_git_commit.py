"""Commits are made as git makes them, and a refused one leaves nothing behind."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codeplane.workspace.workspace import Workspace
from support.doors import call, error_of, open_test_workspace, result_of
from support.git_commits import (
    by_git,
    check_refused,
    check_same_as_by_hand,
    commit_files,
    exact_picture,
    git_door,
    identify,
    install_hook,
)
from support.governed import write_intents
from support.repositories import git, write


@pytest.fixture(autouse=True)
def identity(repo: Path) -> None:
    identify(repo)


def test_what_is_staged_becomes_the_commit_that_git_makes(workspace: Workspace, repo: Path) -> None:
    write(repo, {"src/app.py": "x = 1\n", "new.txt": "new\n", "docs/guide.md": "not staged\n"})
    git(repo, "add", "src/app.py", "new.txt")
    answer = check_same_as_by_hand(
        workspace,
        "git_commit",
        {"message": "Say  it\n\n\n# not a comment\nbody  \n"},
        by_git("commit", "-q", "-m", "Say  it\n\n\n# not a comment\nbody  \n"),
    )
    result = result_of(answer)
    assert git(repo, "rev-parse", "HEAD", "--short", "HEAD").split() == [result["oid"], result["short_oid"]]
    assert [one["path"] for one in result["delta"]["files"]] == ["new.txt", "src/app.py"]
    assert answer.text().startswith(f"committed {result['short_oid']} on main")


def test_named_paths_are_committed_as_they_are_and_what_is_staged_stays(workspace: Workspace, repo: Path) -> None:
    write(repo, {"src/app.py": "x = 1\n", "docs/guide.md": "staged\n"})
    (repo / "README.md").unlink()
    git(repo, "add", "docs/guide.md")
    check_same_as_by_hand(
        workspace,
        "git_commit",
        {"message": "two", "paths": ["src/app.py", "README.md"]},
        by_git("commit", "-q", "-m", "two", "--", "src/app.py", "README.md"),
    )
    assert git(repo, "diff", "--cached", "--name-only").split() == ["docs/guide.md"]


@pytest.mark.parametrize(
    ("arguments", "by_hand"),
    [
        ({"message": "other", "amend": True}, ["-m", "other", "--amend"]),
        ({"amend": True}, ["--amend", "--no-edit"]),
        ({"message": "nothing", "allow_empty": True}, ["-m", "nothing", "--allow-empty"]),
        (
            {"message": "hers", "author": {"name": "Ada L", "email": "ada@example.invalid"}},
            ["-m", "hers", "--author=Ada L <ada@example.invalid>"],
        ),
        (
            {"message": "hers", "author": "Ada L <ada@example.invalid>"},
            ["-m", "hers", "--author=Ada L <ada@example.invalid>"],
        ),
        ({"message": "-m --amend"}, ["-m", "-m --amend"]),
    ],
)
def test_options_do_what_gits_do(
    workspace: Workspace, repo: Path, arguments: dict[str, Any], by_hand: list[str]
) -> None:
    commit_files(repo, "second", {"b.txt": "b\n"})
    if "allow_empty" not in arguments:
        write(repo, {"b.txt": "bb\n"})
        git(repo, "add", "b.txt")
    check_same_as_by_hand(workspace, "git_commit", arguments, by_git("commit", "-q", *by_hand))


def test_a_branch_without_commits_gets_its_first(tmp_path: Path) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    git(root, "init", "--quiet", "--template=")
    identify(root)
    write(root, {"a.txt": "a\n"})
    git(root, "add", "a.txt")
    with open_test_workspace(root) as workspace:
        check_same_as_by_hand(
            workspace,
            "git_commit",
            {"message": "first"},
            by_git("commit", "-q", "-m", "first"),
        )


def test_a_detached_head_moves_without_a_branch(workspace: Workspace, repo: Path) -> None:
    git(repo, "checkout", "-q", "--detach")
    write(repo, {"a.txt": "a\n"})
    git(repo, "add", "a.txt")
    answer = check_same_as_by_hand(workspace, "git_commit", {"message": "loose"}, by_git("commit", "-q", "-m", "loose"))
    assert "detached HEAD" in answer.text()


def test_hooks_run_and_may_change_the_message(workspace: Workspace, repo: Path) -> None:
    install_hook(repo, "commit-msg", 'echo "Checked: yes" >> "$1"')
    write(repo, {"a.txt": "a\n"})
    git(repo, "add", "a.txt")
    result_of(call(git_door(workspace), "git_commit", {"message": "with hook"}))
    assert "Checked: yes" in git(repo, "log", "-1", "--format=%B")


@pytest.mark.parametrize("hook", ["pre-commit", "commit-msg", "prepare-commit-msg"])
def test_a_hook_that_refuses_is_named_with_its_words(workspace: Workspace, repo: Path, hook: str) -> None:
    install_hook(repo, hook, "echo 'nothing to commit: your local changes are ugly' >&2; exit 3")
    write(repo, {"a.txt": "a\n"})
    git(repo, "add", "a.txt")
    answer = check_refused(workspace, "git_commit", {"message": "no"}, "GIT_HOOK_FAILED")
    assert answer.error is not None
    assert answer.error.details["hook"] == hook
    assert "ugly" in answer.error.message


def test_hooks_are_left_out_when_asked(workspace: Workspace, repo: Path) -> None:
    install_hook(repo, "pre-commit", "exit 1")
    install_hook(repo, "commit-msg", "exit 1")
    write(repo, {"a.txt": "a\n"})
    git(repo, "add", "a.txt")
    result_of(call(git_door(workspace), "git_commit", {"message": "quick", "pre_commit": False}))
    assert git(repo, "log", "-1", "--format=%s").strip() == "quick"


def test_what_a_refusing_hook_changed_is_taken_back_and_named(workspace: Workspace, repo: Path) -> None:
    install_hook(repo, "pre-commit", "echo tidy > src/app.py; echo tidy > made.txt; exit 1")
    write(repo, {"a.txt": "a\n"})
    git(repo, "add", "a.txt")
    before = exact_picture(repo)
    answer = call(git_door(workspace), "git_commit", {"message": "no"})
    assert answer.error is not None
    assert answer.error.error == "GIT_HOOK_FAILED"
    assert "src/app.py" in answer.error.required_action
    (repo / "made.txt").unlink()
    assert exact_picture(repo) == before


def test_a_missing_identity_is_told_and_an_author_stands_in(workspace: Workspace, repo: Path) -> None:
    git(repo, "config", "--unset", "user.name")
    git(repo, "config", "--unset", "user.email")
    git(repo, "config", "user.useConfigOnly", "true")
    write(repo, {"a.txt": "a\n"})
    git(repo, "add", "a.txt")
    answer = check_refused(workspace, "git_commit", {"message": "who"}, "GIT_IDENTITY_MISSING")
    assert answer.error is not None
    assert "user.name" in answer.error.required_action
    author = {"name": "Ada", "email": "ada@example.invalid"}
    result_of(call(git_door(workspace), "git_commit", {"message": "me", "author": author}))
    assert git(repo, "log", "-1", "--format=%an %ae %cn %ce").split() == ["Ada", "ada@example.invalid"] * 2


def test_a_signature_that_cannot_be_made_is_told(workspace: Workspace, repo: Path) -> None:
    git(repo, "config", "commit.gpgsign", "true")
    git(repo, "config", "gpg.program", "false")
    write(repo, {"a.txt": "a\n"})
    git(repo, "add", "a.txt")
    check_refused(workspace, "git_commit", {"message": "signed"}, "GIT_SIGNING_FAILED")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"message": "empty"}, "GIT_NOTHING_TO_COMMIT"),
        ({"message": "same", "paths": ["README.md"]}, "GIT_NOTHING_TO_COMMIT"),
        ({"message": " \n"}, "INVALID_ARGUMENTS"),
        ({"message": "nul\0"}, "INVALID_ARGUMENTS"),
        ({}, "INVALID_ARGUMENTS"),
        ({"message": 7}, "INVALID_ARGUMENTS"),
        ({"message": "x", "paths": ["no/such.py"]}, "GIT_PATH_UNKNOWN"),
        ({"message": "x", "paths": ["untracked.txt"]}, "GIT_PATH_UNKNOWN"),
        ({"message": "x", "paths": ["../outside"]}, "PATH_OUTSIDE_REPOSITORY"),
        ({"message": "x", "paths": [".git/config"]}, "PROTECTED_PATH"),
        ({"message": "x", "paths": [".codeplane/ledger.db"]}, "PROTECTED_PATH"),
        ({"message": "x", "paths": ["--amend"]}, "GIT_PATH_UNKNOWN"),
        ({"message": "x", "paths": ["a\nb"]}, "PATH_INVALID"),
        ({"message": "x", "author": {"name": "A <b>", "email": "x"}}, "INVALID_ARGUMENTS"),
        ({"message": "x", "author": {"name": "A\nB", "email": "x"}}, "INVALID_ARGUMENTS"),
        ({"message": "x", "author": "nobody"}, "INVALID_ARGUMENTS"),
    ],
)
def test_bad_input_is_refused_and_nothing_changes(
    workspace: Workspace, repo: Path, arguments: dict[str, Any], code: str
) -> None:
    write(repo, {"untracked.txt": "nothing to commit\n"})
    check_refused(workspace, "git_commit", arguments, code)


def test_nothing_staged_says_how_much_could_be(workspace: Workspace, repo: Path) -> None:
    write(repo, {"new.txt": "x\n", "README.md": "y\n"})
    answer = check_refused(workspace, "git_commit", {"message": "x"}, "GIT_NOTHING_TO_COMMIT")
    assert answer.error is not None
    assert "2 changed or untracked files" in answer.error.required_action


def test_amending_what_is_not_there_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    git(root, "init", "--quiet", "--template=")
    identify(root)
    with open_test_workspace(root) as workspace:
        check_refused(workspace, "git_commit", {"message": "x", "amend": True}, "GIT_NO_COMMITS")


def test_an_index_that_is_locked_is_told(workspace: Workspace, repo: Path) -> None:
    write(repo, {"README.md": "y\n"})
    git(repo, "add", "README.md")
    lock = repo / ".git" / "index.lock"
    before = exact_picture(repo)
    lock.touch()
    answer = call(git_door(workspace), "git_commit", {"message": "x"})
    assert answer.error is not None
    assert answer.error.error == "GIT_LOCKED"
    lock.unlink()
    assert exact_picture(repo) == before


def test_conflicts_are_not_committed(workspace: Workspace, repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "other")
    commit_files(repo, "theirs", {"README.md": "theirs\n"})
    git(repo, "checkout", "-q", "main")
    commit_files(repo, "ours", {"README.md": "ours\n"})
    result = result_of(call(git_door(workspace), "git_merge", {"ref": "other"}))
    assert result["success"] is False
    check_refused(workspace, "git_commit", {"message": "x"}, "GIT_CONFLICTS")
    check_refused(workspace, "git_commit", {"message": "x", "paths": ["docs"]}, "GIT_OPERATION_IN_PROGRESS")


def test_everything_that_is_tracked_can_be_committed_by_naming_the_root(workspace: Workspace, repo: Path) -> None:
    write(repo, {"src/app.py": "changed = 1\n"})
    check_same_as_by_hand(workspace, "git_commit", {"message": "all", "paths": ["."]}, by_git("commit", "-qam", "all"))


def test_what_others_stage_between_plan_and_work_is_judged(workspace: Workspace, repo: Path) -> None:
    write_intents(repo)
    write(repo, {"src/json/a.py": "x = 1\n", "elsewhere.txt": "x\n"})
    git(repo, "add", "src/json/a.py")
    door = git_door(workspace)
    call(door, "select_active_intent", {"intent_id": "INT-001"})

    def stages_it(step: str) -> None:
        if step == "plan":
            git(repo, "add", "elsewhere.txt")

    answer = call(replace(door, after_step=stages_it), "git_commit", {"message": "ours"})
    assert error_of(answer) == "SCOPE_VIOLATION"
