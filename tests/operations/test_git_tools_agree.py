"""On random repositories every tool that changes something ends where git by hand ends, and undo goes back."""

import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.errors import CodePlaneError
from codeplane.core.ids import RandomIds
from codeplane.core.paths import RepoPath
from codeplane.operations.answer import Answer
from codeplane.workspace.workspace import Workspace
from support.doors import call, open_test_workspace, result_of
from support.effort import examples
from support.git_commits import Picture, alike_picture, assert_sound, exact_picture, git_door, identify
from support.histories import History, make_history, run_plain_git

Deed = tuple[str, dict[str, Any], list[list[str]]]


@contextmanager
def _twin_repositories(seed: int) -> Iterator[tuple[History, Path]]:
    """Yield a random repository and its copy."""
    with tempfile.TemporaryDirectory(prefix="agree-") as name:
        history = make_history(Path(name) / "one", seed)
        identify(history.root)
        _give_remote(history)
        other = Path(name) / "two"
        shutil.copytree(history.root.parent, other, symlinks=True)
        if history.state == "worktree":
            run_plain_git(other / "repo", "worktree", "repair", str(other / "linked"))
        copied = other / history.root.name
        # A copy's files have other times than the index remembers.
        run_plain_git(copied, "update-index", "-q", "--refresh")
        yield history, copied


def _give_remote(history: History) -> None:
    """Let there be a remote `up` beside the repository, with a branch that the repository does not know yet."""
    place = history.root.with_name("up.git")
    run_plain_git(place.parent, "init", "--quiet", "--bare", str(place))
    if history.refs:
        history.git("push", "--quiet", str(place), *(f"{ref}:{ref}" for ref in history.refs))
        run_plain_git(place, "update-ref", "refs/heads/news", history.refs[-1] + "^{commit}")
    history.git("remote", "add", "up", "../up.git")


def _a_commit(history: History, dice: random.Random) -> str:
    found = history.try_git("rev-list", "--all", "--no-merges").stdout.split()
    return dice.choice(sorted(found)).decode() if found else "HEAD"


def _a_ref(history: History, dice: random.Random) -> str:
    names = [name.removeprefix("refs/heads/").removeprefix("refs/tags/") for name in history.refs]
    return dice.choice(names) if names else "HEAD"


def _a_path(history: History, dice: random.Random) -> str | None:
    listing = history.git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split(b"\0")
    names = []
    for raw in sorted(set(listing)):
        try:
            text = raw.decode()
            names.append(RepoPath.parse(text).text if raw and not raw.endswith(b"/") else "")
        except (UnicodeDecodeError, CodePlaneError):
            continue
    known = [name for name in names if name]
    return dice.choice(known) if known else None


def _deeds(history: History, dice: random.Random) -> list[Deed]:
    """Return what could be done, as a call and as commands."""
    ref, commit, path = _a_ref(history, dice), _a_commit(history, dice), _a_path(history, dice)
    literal = f":(top,literal){path}"
    mode = dice.choice(["soft", "mixed", "hard"])
    message = dice.choice(["Plain", "Two\n\nlines", "#12 number"])
    deeds: list[Deed] = [
        ("git_stage", {"all": True}, [["add", "-A"]]),
        ("git_stage", {"all": True, "action": "unstage"}, [["reset", "-q", "--", ":/"]]),
        ("git_commit", {"message": message}, [["commit", "-q", "-m", message]]),
        ("git_commit", {"message": message, "amend": True}, [["commit", "-q", "--amend", "-m", message]]),
        ("git_commit", {"message": message, "allow_empty": True}, [["commit", "-q", "--allow-empty", "-m", message]]),
        (
            "git_stage_and_commit",
            {"paths": ["."], "message": message},
            [["add", "-A"], ["commit", "-q", "-m", message]],
        ),
        ("git_checkout", {"ref": ref}, [["checkout", "-q", ref, "--"]]),
        ("git_checkout", {"ref": ref, "force": True}, [["checkout", "-q", "-f", ref, "--"]]),
        ("git_checkout", {"ref": commit, "detach": True}, [["checkout", "-q", "--detach", commit]]),
        ("git_checkout", {"ref": "fresh", "create": True}, [["checkout", "-q", "-b", "fresh"]]),
        ("git_reset", {"ref": commit, "mode": mode}, [["reset", "-q", f"--{mode}", commit]]),
        ("git_reset", {"mode": "hard"}, [["reset", "-q", "--hard"]]),
        ("git_merge", {"ref": ref}, [["merge", "-q", "--no-edit", ref]]),
        ("git_merge", {"ref": ref, "no_ff": True}, [["merge", "-q", "--no-edit", "--no-ff", ref]]),
        ("git_merge", {"ref": ref, "squash": True}, [["merge", "-q", "--squash", ref]]),
        ("git_merge", {"action": "cherry_pick", "ref": commit}, [["cherry-pick", commit]]),
        ("git_merge", {"action": "revert", "ref": commit}, [["revert", "--no-edit", commit]]),
        ("git_merge", {"action": "abort"}, [["merge", "--abort"]]),
        ("git_rebase", {"action": "start", "upstream": ref}, [["rebase", "-q", "--merge", ref]]),
        ("git_rebase", {"action": "start", "upstream": commit, "onto": ref}, [["rebase", "-q", "--onto", ref, commit]]),
    ]
    if history.state in {"cherrypick", "revert"}:
        command = "cherry-pick" if history.state == "cherrypick" else "revert"
        deeds = [("git_merge", {"action": "abort"}, [[command, "--abort"]])]
    if history.state == "rebase":
        deeds = [("git_rebase", {"action": word}, [["rebase", f"--{word}"]]) for word in ("abort", "skip")]
    deeds += _deeds_about_places(history, ref, commit)
    if path is not None:
        deeds += [
            ("git_stage", {"paths": [path]}, [["add", "-A", "--", literal]]),
            ("git_stage", {"paths": [path], "action": "unstage"}, [["reset", "-q", "--", literal]]),
            ("git_stage", {"paths": [path], "action": "discard"}, [["checkout", "-q", "--", literal]]),
            ("git_checkout", {"ref": commit, "paths": [path]}, [["checkout", "-q", commit, "--", literal]]),
            ("git_commit", {"message": message, "paths": [path]}, [["commit", "-q", "-m", message, "--", literal]]),
        ]
    # Where HEAD has no commit yet the tools take it for nothing at all, which git does not.
    return [deed for deed in deeds if history.refs or "HEAD" not in deed[1].values()]


def _deeds_about_places(history: History, ref: str, commit: str) -> list[Deed]:
    """Return what could be done with branches, stashes and the remote."""
    if history.state in {"cherrypick", "revert", "rebase", "merge"}:
        return []
    return [
        ("git_branch", {"action": "create", "name": "made", "ref": commit}, [["branch", "--no-track", "made", commit]]),
        ("git_branch", {"action": "delete", "name": ref, "force": True}, [["branch", "-D", ref]]),
        ("git_branch", {"action": "rename", "name": ref, "new_name": "x/y"}, [["branch", "-m", ref, "x/y"]]),
        ("git_branch", {"action": "tag", "name": "marked", "ref": commit}, [["tag", "marked", commit]]),
        ("git_stash", {"action": "push"}, [["stash", "push", "-q"]]),
        ("git_stash", {"action": "push", "include_untracked": True}, [["stash", "push", "-q", "-u"]]),
        ("git_stash", {"action": "pop"}, [["stash", "pop", "-q"]]),
        ("git_stash", {"action": "apply"}, [["stash", "apply", "-q"]]),
        ("git_stash", {"action": "drop"}, [["stash", "drop", "-q"]]),
        ("git_remote", {"action": "fetch", "name": "up"}, [["fetch", "-q", "up"]]),
        ("git_remote", {"action": "fetch", "name": "up", "prune": True}, [["fetch", "-q", "--prune", "up"]]),
        ("git_push", {"remote": "up", "set_upstream": False}, [["push", "-q", "up", "HEAD"]]),
        (
            "git_pull",
            {"remote": "up", "branch": "news", "rebase": False},
            [["pull", "-q", "--no-edit", "--no-rebase", "up", "news"]],
        ),
        ("git_pull", {"remote": "up", "branch": "news", "rebase": True}, [["pull", "-q", "--rebase", "up", "news"]]),
    ]


@pytest.mark.slow
@given(seed=st.integers(0, 1_000_000))
@examples(6)
def test_a_tool_ends_where_git_ends(seed: int) -> None:
    check_seed(seed)


def check_seed(seed: int) -> None:
    """Do one random thing in one random repository, and by hand in its copy."""
    dice = random.Random(seed)
    with _twin_repositories(seed) as (history, other):
        tool, arguments, commands = dice.choice(_deeds(history, dice))
        told = f"seed {seed}, {history.state}: {tool} {arguments}"
        before = exact_picture(history.root)
        is_done = all(run_plain_git(other, *command).returncode == 0 for command in commands)
        with open_test_workspace(history.root, ids=RandomIds()) as workspace:
            answer = call(git_door(workspace), tool, arguments)
            if answer.error is not None:
                # What git thinks of equal files may change when it looks at them again; the files themselves may not.
                now = _with_plain_endings(exact_picture(history.root))
                assert now == _with_plain_endings(before) or history.state == "sparse", told
                assert not is_done or _is_stricter(answer), (told, answer.error)
                return
            result = result_of(answer)
            # Outside of a sparse checkout git refuses to do nothing.
            assert result.get("success", True) == is_done or tool == "git_rebase" or history.state == "sparse", told
            assert alike_picture(history.root) == alike_picture(other), told
            # After a reset of nothing git itself misses the empty tree.
            if run_plain_git(other, "fsck", "--no-dangling", "--strict").returncode == 0:
                assert_sound(history.root)
            # What a sparse checkout leaves out is a mark in the index that no difference shows.
            if history.state != "sparse" and exact_picture(history.root) != before:
                _check_way_back(workspace, result["delta"]["mutation_id"], before, told)


def _is_stricter(answer: Answer) -> bool:
    """Tell whether the tool refuses on purpose what git does: nothing to bring back is said instead of ignored."""
    stricter = {"GIT_PATH_UNKNOWN", "GIT_NOTHING_TO_COMMIT", "GIT_REF_AMBIGUOUS"}
    return answer.error is not None and answer.error.error in stricter


def _check_way_back(workspace: Workspace, mutation_id: str, before: Picture, told: str) -> None:
    result_of(call(git_door(workspace), "undo", {"operation": mutation_id}))
    now = exact_picture(workspace.root)
    assert _with_plain_endings(now) == _with_plain_endings(before), told
    assert_sound(workspace.root)


def _with_plain_endings(picture: Picture) -> Picture:
    """Return a picture without line endings: git writes its own, whatever a file that it thinks clean had before."""
    return replace(
        picture,
        files={name: (mode, data.replace(b"\r\n", b"\n")) for name, (mode, data) in picture.files.items()},
        status=(),
    )
