"""One step from changed files to a commit, as a whole or not at all."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codeplane.operations.git_stage_and_commit import GIT_STAGE_AND_COMMIT
from codeplane.operations.schema import input_schema
from codeplane.workspace.workspace import Workspace
from support.doors import call, error_of, result_of
from support.git_commits import check_refused, check_same_as_by_hand, exact_picture, git_door, identify, install_hook
from support.governed import write_intents
from support.repositories import git, write


@pytest.fixture(autouse=True)
def changed(repo: Path) -> None:
    """Change one file, delete one, add one."""
    identify(repo)
    write(repo, {"src/app.py": "x = 1\n", "new/file.txt": "new\n"})
    (repo / "README.md").unlink()


def _by_hand(*paths: str, message: str = "it") -> Any:
    def do(root: Path) -> None:
        git(root, "add", "-A", "--", *paths)
        git(root, "commit", "-q", "-m", message)

    return do


@pytest.mark.parametrize("paths", [["src/app.py"], ["README.md", "new"], ["."]])
def test_paths_become_the_commit_that_git_makes(workspace: Workspace, paths: list[str]) -> None:
    answer = check_same_as_by_hand(
        workspace, "git_stage_and_commit", {"paths": paths, "message": "it"}, _by_hand(*paths)
    )
    assert answer.text().startswith("committed ")


def test_what_was_staged_before_goes_in_and_is_named(workspace: Workspace, repo: Path) -> None:
    git(repo, "add", "new")
    answer = check_same_as_by_hand(
        workspace, "git_stage_and_commit", {"paths": "src/app.py", "message": "it"}, _by_hand("src/app.py")
    )
    assert result_of(answer)["also_committed"] == ["new/file.txt"]
    assert "is included: new/file.txt" in answer.text()


def test_what_others_commit_between_plan_and_work_is_not_claimed(workspace: Workspace, repo: Path) -> None:
    git(repo, "add", "new")

    def commits_it(step: str) -> None:
        if step == "plan":
            git(repo, "commit", "-q", "-m", "theirs")

    door = replace(git_door(workspace), after_step=commits_it)
    made = result_of(call(door, "git_stage_and_commit", {"paths": "src/app.py", "message": "ours"}))
    assert made["also_committed"] == []


def test_what_others_stage_between_plan_and_work_is_judged(workspace: Workspace, repo: Path) -> None:
    write_intents(repo)
    write(repo, {"src/json/a.py": "x = 1\n"})
    door = git_door(workspace)
    call(door, "select_active_intent", {"intent_id": "INT-001"})

    def stages_it(step: str) -> None:
        if step == "plan":
            git(repo, "add", "new")

    arguments = {"paths": "src/json/a.py", "message": "ours"}
    assert error_of(call(replace(door, after_step=stages_it), "git_stage_and_commit", arguments)) == "SCOPE_VIOLATION"


def test_amending_joins_the_paths_with_the_last_commit(workspace: Workspace) -> None:
    def by_hand(root: Path) -> None:
        git(root, "add", "-A", "--", "new")
        git(root, "commit", "-q", "--amend", "--no-edit")

    check_same_as_by_hand(workspace, "git_stage_and_commit", {"paths": "new", "amend": True}, by_hand)


@pytest.mark.parametrize("hook", ["pre-commit", "commit-msg"])
def test_nothing_stays_staged_when_a_hook_refuses(workspace: Workspace, repo: Path, hook: str) -> None:
    git(repo, "add", "src/app.py")
    write(repo, {"src/app.py": "x = 2\n"})
    install_hook(repo, hook, "echo no; exit 1")
    answer = check_refused(workspace, "git_stage_and_commit", {"paths": ["."], "message": "it"}, "GIT_HOOK_FAILED")
    assert answer.error is not None
    assert answer.error.details["hook"] == hook


def test_what_a_mending_hook_makes_of_the_files_is_committed(workspace: Workspace, repo: Path) -> None:
    """As formatters do: they rewrite the file and refuse until the new text is staged."""
    install_hook(repo, "pre-commit", "grep -q tidy src/app.py && exit 0; echo '# tidy' >> src/app.py; exit 1")
    answer = call(git_door(workspace), "git_stage_and_commit", {"paths": ["src/app.py"], "message": "it"})
    result = result_of(answer)
    assert result["hook_changed"] == ["src/app.py"]
    assert git(repo, "show", "HEAD:src/app.py") == "x = 1\n# tidy\n"
    assert git(repo, "status", "--porcelain", "src") == ""


def test_a_hook_that_never_agrees_is_asked_twice_and_everything_is_taken_back(workspace: Workspace, repo: Path) -> None:
    install_hook(repo, "pre-commit", "echo '# again' >> src/app.py; exit 1")
    check_refused(workspace, "git_stage_and_commit", {"paths": ["src", "new"], "message": "it"}, "GIT_HOOK_FAILED")


def test_no_hook_runs_when_asked(workspace: Workspace, repo: Path) -> None:
    install_hook(repo, "pre-commit", "exit 1")
    result_of(call(git_door(workspace), "git_stage_and_commit", {"paths": ["."], "message": "it", "pre_commit": False}))


def test_it_concludes_a_merge(workspace: Workspace, repo: Path) -> None:
    git(repo, "checkout", "-q", "--", ".")
    git(repo, "checkout", "-q", "-b", "other")
    write(repo, {"README.md": "theirs\n"})
    git(repo, "commit", "-qam", "theirs")
    git(repo, "checkout", "-q", "main")
    write(repo, {"README.md": "ours\n"})
    git(repo, "commit", "-qam", "ours")
    door = git_door(workspace)
    assert result_of(call(door, "git_merge", {"ref": "other"}))["success"] is False
    write(repo, {"README.md": "both\n"})
    result = result_of(call(door, "git_stage_and_commit", {"paths": ["README.md"], "message": "joined"}))
    assert len(git(repo, "rev-list", "--parents", "-1", "HEAD").split()) == 3
    assert result["delta"]["repository"]["state"] == "none"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"message": "x"}, "INVALID_ARGUMENTS"),
        ({"paths": [], "message": "x"}, "INVALID_ARGUMENTS"),
        ({"paths": ["."]}, "INVALID_ARGUMENTS"),
        ({"paths": ["."], "message": ""}, "INVALID_ARGUMENTS"),
        ({"paths": ["."], "message": "x", "author": "nobody"}, "INVALID_ARGUMENTS"),
        ({"paths": ["docs"], "message": "x"}, "GIT_NOTHING_TO_COMMIT"),
        ({"paths": ["no/such"], "message": "x"}, "GIT_PATH_UNKNOWN"),
        ({"paths": [".codeplane/config.yaml"], "message": "x"}, "PROTECTED_PATH"),
        ({"paths": ["..", "src"], "message": "x"}, "PATH_OUTSIDE_REPOSITORY"),
    ],
)
def test_bad_input_is_refused_and_nothing_changes(workspace: Workspace, arguments: dict[str, Any], code: str) -> None:
    check_refused(workspace, "git_stage_and_commit", arguments, code)


def test_a_locked_index_is_told(workspace: Workspace, repo: Path) -> None:
    before = exact_picture(repo)
    (repo / ".git" / "index.lock").touch()
    answer = call(git_door(workspace), "git_stage_and_commit", {"paths": ["."], "message": "x"})
    assert answer.error is not None
    assert answer.error.error == "GIT_LOCKED"
    (repo / ".git" / "index.lock").unlink()
    assert exact_picture(repo) == before


def test_its_schema_is_small_enough_for_the_core_profile() -> None:
    assert len(json.dumps(input_schema(GIT_STAGE_AND_COMMIT))) < 600
