"""A process that dies in the middle of a git tool: the next call tells what happened, and undo goes back."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.ids import RandomIds
from codeplane.ledger.chain import FINAL_KINDS, RowFilter
from codeplane.operations.recovery import recover_interrupted
from support.children import run_children
from support.doors import call, open_test_workspace, result_of
from support.effort import spread
from support.git_commits import assert_sound, commit_files, exact_picture, git_door, identify, install_hook
from support.repositories import git, write

_TESTS = Path(__file__).resolve().parents[1]
# Tool, arguments, and the command of git around which the process dies.
_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("git_stage", {"all": True}, "add"),
    ("git_stage", {"paths": ["README.md"], "action": "discard"}, "checkout"),
    ("git_commit", {"message": "died"}, "commit"),
    ("git_stage_and_commit", {"paths": ["."], "message": "died"}, "commit"),
    ("git_checkout", {"ref": "other", "force": True}, "checkout"),
    ("git_reset", {"ref": "HEAD~1", "mode": "hard"}, "reset"),
    ("git_merge", {"ref": "clean"}, "merge"),
    ("git_merge", {"action": "cherry_pick", "refs": ["clean"]}, "cherry-pick"),
    ("git_rebase", {"action": "start", "upstream": "clean"}, "rebase"),
]
_SHIM = """#!/bin/sh
case " $* " in
  *" {command} "*)
    if [ {moment} = before ]; then kill -9 $PPID; exit 1; fi
    {git} "$@"; kill -9 $PPID; exit 1;;
esac
exec {git} "$@"
"""


@pytest.fixture(autouse=True)
def prepared(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make branches and changes; children find the support modules."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(_TESTS), str(_TESTS.parent / "src")]))
    identify(repo)
    commit_files(repo, "second", {"b.txt": "b\n"})
    for name in ("clean", "other"):
        git(repo, "checkout", "-q", "-b", name, "main")
        commit_files(repo, name, {f"{name}.txt": f"{name}\n", "src/pkg/mod.py": f"{name} = 1\n"})
    git(repo, "checkout", "-q", "main")
    commit_files(repo, "third", {"c.txt": "c\n"})


def _change(repo: Path) -> None:
    write(repo, {"README.md": "changed\n", "docs/guide.md": "staged\n", "new.txt": "new\n"})
    git(repo, "add", "docs/guide.md")


def _die(repo: Path, tool: str, arguments: dict[str, Any]) -> None:
    command = (sys.executable, "-m", "support.git_commits", str(repo), tool, json.dumps(arguments))
    run_children([command], repo, returncode=-signal.SIGKILL)


def _check_recovered(repo: Path, before: object, *, has_changed: bool) -> None:
    """Require that the next process ends the call truthfully and that undo brings the picture from before back."""
    assert_sound(repo)
    with open_test_workspace(repo, ids=RandomIds()) as workspace:
        door = git_door(workspace)
        recover_interrupted(workspace, door.operations)
        assert workspace.chain.open_calls() == ()
        final = workspace.chain.rows(RowFilter(kinds=FINAL_KINDS))[0]
        assert final.kind == "failed"
        assert final.body["error"] == ("OUTCOME_UNKNOWN" if has_changed else "CALL_INTERRUPTED")
        if has_changed:
            assert exact_picture(repo) != before
            result_of(call(door, "undo", {"operation": final.call_id}))
        assert exact_picture(repo) == before
        assert_sound(repo)
        result_of(call(door, "git_stage", {"all": True}))


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(("tool", "arguments", "command"), spread(_CALLS, 4))
def test_a_process_killed_around_its_git_command_is_explained_and_undone(
    repo: Path, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, Any], command: str, moment: str
) -> None:
    if tool not in {"git_merge", "git_rebase"}:
        _change(repo)
    before = exact_picture(repo)
    shims = repo.parent / "shims"
    shims.mkdir()
    real = next(path for path in (Path(one) / "git" for one in os.environ["PATH"].split(os.pathsep)) if path.is_file())
    (shims / "git").write_text(_SHIM.format(command=command, moment=moment, git=real), encoding="utf-8")
    (shims / "git").chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", f"{shims}{os.pathsep}{os.environ['PATH']}")
        _die(repo, tool, arguments)
    is_staged_first = tool == "git_stage_and_commit"
    _check_recovered(repo, before, has_changed=moment == "after" or is_staged_first)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "arguments", "hook"),
    [
        ("git_commit", {"message": "died"}, "pre-commit"),
        ("git_commit", {"message": "died"}, "post-commit"),
        ("git_stage_and_commit", {"paths": ["."], "message": "died"}, "commit-msg"),
        ("git_checkout", {"ref": "other", "force": True}, "post-checkout"),
        ("git_merge", {"ref": "clean"}, "commit-msg"),
        ("git_rebase", {"action": "start", "upstream": "clean"}, "post-checkout"),
    ],
)
def test_process_and_git_killed_together_are_explained_and_undone(
    repo: Path, tool: str, arguments: dict[str, Any], hook: str
) -> None:
    if tool not in {"git_merge", "git_rebase"}:
        _change(repo)
    install_hook(repo, hook, 'kill -9 "$CODEPLANE_TEST_PID"; kill -9 0')
    before = exact_picture(repo)
    _die(repo, tool, arguments)
    (repo / ".git" / "hooks" / hook).unlink()
    _check_recovered(repo, before, has_changed=(tool, hook) != ("git_commit", "pre-commit"))


@pytest.mark.slow
def test_processes_that_commit_at_the_same_time_wait_for_each_other(repo: Path) -> None:
    commands = []
    for number in range(4):
        write(repo, {f"by-{number}.txt": f"{number}\n"})
        arguments = json.dumps({"paths": [f"by-{number}.txt"], "message": f"by {number}"})
        commands.append((sys.executable, "-m", "support.git_commits", str(repo), "git_stage_and_commit", arguments))
    run_children(commands, repo)
    assert sorted(git(repo, "log", "-4", "--format=%s").splitlines()) == [f"by {number}" for number in range(4)]
    assert git(repo, "status", "--porcelain") == ""
    assert_sound(repo)
