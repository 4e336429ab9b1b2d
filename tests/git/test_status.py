"""What `read_status` says is what other git commands say, on random repositories in every state."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.git.repository import find_repository
from codeplane.git.status import CHANGES, ChangedPath, Status, read_status
from support.effort import examples
from support.histories import STATES, History, make_history
from support.repositories import git, make_repository, write

_SEEDS = st.integers(0, 2**32 - 1)


def _names(listing: bytes) -> list[str]:
    return [os.fsdecode(name) for name in listing.split(b"\0") if name]


def _changes(listing: bytes) -> set[tuple[str, str, str | None]]:
    """Return (path, status, old path) of `--name-status -z`."""
    fields = iter(_names(listing))
    found = set()
    for status in fields:
        old_path = next(fields) if status[0] in "RC" else None
        found.add((next(fields), CHANGES[status[0]], old_path))
    return found


def _told(changes: tuple[ChangedPath, ...]) -> set[tuple[str, str, str | None]]:
    return {(change.path, change.status, change.old_path) for change in changes}


def _check_against_plumbing(history: History, status: Status) -> None:
    conflicts: dict[str, list[str | None]] = {}
    for entry in _names(history.git("ls-files", "-u", "-z")):
        facts, _, name = entry.partition("\t")
        _, oid, stage = facts.split(" ")
        conflicts.setdefault(name, [None, None, None])[int(stage) - 1] = oid
    assert {c.path: [c.ancestor_oid, c.ours_oid, c.theirs_oid] for c in status.conflicts} == conflicts
    staged = _changes(history.git("diff", "--cached", "--name-status", "-z", "-M"))
    assert _told(status.staged) == {change for change in staged if change[0] not in conflicts}
    # Unlike `git status`, `git diff` overlooks untracked files of submodules unless it is told otherwise.
    changed = _changes(history.git("diff", "--ignore-submodules=none", "--name-status", "-z", "-M"))
    assert _told(status.modified) == {change for change in changed if change[0] not in conflicts}
    untracked = history.git("ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z")
    assert sorted(status.untracked) == sorted(_names(untracked))
    modes = _modes(history.git("diff", "--ignore-submodules=none", "--raw", "-z", "--no-renames", "--no-abbrev"))
    for change in status.modified:
        if change.old_path is None and change.old_mode is not None:
            assert modes[change.path] == (change.old_mode, change.new_mode)


def _modes(raw: bytes) -> dict[str, tuple[str, str]]:
    fields = _names(raw)
    return {path: (facts[1:7], facts[8:14]) for facts, path in zip(fields[::2], fields[1::2], strict=True)}


def _check_head(history: History, status: Status) -> None:
    branch = history.try_git("symbolic-ref", "--quiet", "--short", "HEAD")
    commit = history.try_git("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    assert (status.branch or "") == branch.stdout_text.strip()
    assert (status.head_commit or "") == commit.stdout_text.strip()
    assert status.n_stashes == len(history.git("stash", "list").splitlines())
    upstream = history.try_git("rev-parse", "--symbolic-full-name", "@{upstream}")
    if upstream.returncode == 0:
        counts = history.git("rev-list", "--left-right", "--count", "HEAD...@{upstream}").split()
        assert (status.ahead, status.behind) == (int(counts[0]), int(counts[1]))
    else:
        assert status.ahead is None


_SENTENCES = {
    "merge": b"git merge --abort|still merging",
    "rebase": b"rebas",
    "cherrypick": b"cherry-pick",
    "revert": b"revert",
    "bisect": b"bisecting",
}


@given(seed=_SEEDS)
@examples(10)
def test_status_is_what_other_commands_say(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    history = make_history(tmp_path_factory.mktemp("h") / "x", seed)
    status = read_status(find_repository(history.root))
    _check_against_plumbing(history, status)
    _check_head(history, status)
    words = history.git("status")
    for state, sentence in _SENTENCES.items():
        is_said = re.search(sentence, words.split(b"\n\n")[0]) is not None
        assert (status.progress == state) == is_said, (state, words)


@pytest.mark.parametrize("state", sorted(set(STATES)))
def test_every_state_is_told(tmp_path: Path, state: str) -> None:
    history = make_history(tmp_path / "x", 7, state)
    status = read_status(find_repository(history.root))
    expected = state if state in _SENTENCES else "none"
    assert status.progress == expected
    assert (status.head_commit is None) == (state == "unborn")
    assert (status.branch is None) == (state in {"detached", "rebase"})
    assert bool(status.conflicts) == (state in {"merge", "cherrypick", "revert", "rebase"})
    assert (status.rebased_branch == "main") == (state == "rebase")


def test_asking_does_not_touch_the_index(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"a": "1\n"})
    # A file whose time changed would be refreshed in the index by a plain `git status`.
    os.utime(root / "a", (1, 1))
    before = (root / ".git" / "index").stat().st_mtime_ns, (root / ".git" / "index").read_bytes()
    read_status(find_repository(root))
    assert ((root / ".git" / "index").stat().st_mtime_ns, (root / ".git" / "index").read_bytes()) == before


def test_an_index_that_is_locked_is_read_all_the_same(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"a": "1\n"})
    write(root, {"a": "2\n", ".git/index.lock": ""})
    assert [change.path for change in read_status(find_repository(root)).modified] == ["a"]


def test_mail_that_is_being_applied_is_told_from_a_rebase(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"a": "1\n"})
    git(root, "checkout", "-q", "-b", "other")
    write(root, {"a": "2\n"})
    git(root, "commit", "-qam", "two")
    mail = git(root, "format-patch", "-1", "--stdout")
    git(root, "checkout", "-q", "main")
    write(root, {"a": "3\n", "mail": mail})
    git(root, "commit", "-qam", "three")
    with pytest.raises(AssertionError):
        git(root, "am", "-q", "mail")
    status = read_status(find_repository(root))
    assert (status.progress, status.applies_mail) == ("rebase", True)
