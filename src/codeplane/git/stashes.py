"""Stashes: list, create, apply and drop them."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git.commands import Conditions, ask_git, change_git, check_result, must_change
from codeplane.git.pathspecs import pathspecs
from codeplane.git.remotes import has_conflicts
from codeplane.git.repository import run_git


@dataclass(frozen=True, slots=True)
class Stash:
    """One entry: its place in the list, newest first, its commit, what it says, and when it was made."""

    number: int
    oid: str
    message: str
    time: str
    has_untracked: bool

    @property
    def name(self) -> str:
        """Return git's name for it."""
        return f"stash@{{{self.number}}}"


@dataclass(frozen=True, slots=True)
class StashedFile:
    """A file of a stash."""

    path: str
    insertions: int
    deletions: int
    is_binary: bool
    is_untracked: bool


@dataclass(frozen=True, slots=True)
class WantedStash:
    """What to stash; by default everything that is tracked."""

    message: str | None = None
    paths: tuple[RepoPath, ...] = ()
    include_untracked: bool = False
    keep_index: bool = False
    only_staged: bool = False


def list_stashes(root: Path) -> list[Stash]:
    """Return the stashes, newest first."""
    if run_git(root, "rev-parse", "--verify", "--quiet", "refs/stash").returncode != 0:
        return []
    listing = ask_git(root, "log", "-g", "-z", "--format=%H%x1f%gs%x1f%cI%x1f%P", "refs/stash", "--")
    found = []
    for number, item in enumerate(part for part in os.fsdecode(listing).split("\0") if part):
        oid, message, time, parents = item.split("\x1f")
        found.append(Stash(number, oid, message, time, len(parents.split()) > 2))
    return found


def find_stash(root: Path, number: int) -> Stash:
    """Return a stash by its place.

    Raises:
        CodePlaneError: GIT_REF_UNKNOWN.
    """
    stashes = list_stashes(root)
    if number < len(stashes):
        return stashes[number]
    there = f"There are {len(stashes)}, numbered from 0." if stashes else "There is none."
    raise CodePlaneError("GIT_REF_UNKNOWN", f"There is no stash {number}. {there}", hint="List them: action list.")


def files_of(root: Path, stash: Stash) -> list[StashedFile]:
    """Return what a stash would change."""
    found = _numbers(ask_git(root, "diff", "--numstat", "-z", "--no-renames", f"{stash.oid}^1", stash.oid))
    if stash.has_untracked:
        listing = ask_git(root, "diff-tree", "--root", "--no-commit-id", "-r", "--numstat", "-z", f"{stash.oid}^3")
        found.extend(_numbers(listing, is_untracked=True))
    return found


def push_stash(root: Path, wanted: WantedStash, conditions: Conditions) -> bool:
    """Stash changes; return false when there was nothing to stash."""
    before = [one.oid for one in list_stashes(root)]
    options = []
    if wanted.include_untracked:
        options.append("--include-untracked")
    if wanted.keep_index:
        options.append("--keep-index")
    if wanted.only_staged:
        options.append("--staged")
    if wanted.message is not None:
        options.append(f"--message={wanted.message}")
    paths = pathspecs(wanted.paths) if wanted.paths else ()
    must_change(root, "stash", "push", *options, *paths, conditions=conditions)
    return [one.oid for one in list_stashes(root)] != before


def apply_stash(root: Path, stash: Stash, conditions: Conditions, *, drop: bool, with_index: bool) -> bool:
    """Apply a stash; return false on conflicts, in which case the stash is kept."""
    options = ["--index"] if with_index else []
    arguments = ("stash", "pop" if drop else "apply", *options, stash.name)
    result = change_git(root, *arguments, conditions=conditions)
    if result.returncode != 0 and has_conflicts(root):
        return False
    check_result(arguments, result, root)
    return True


def drop_stash(root: Path, stash: Stash, conditions: Conditions) -> None:
    """Drop a stash."""
    must_change(root, "stash", "drop", "--quiet", stash.name, conditions=conditions)


def clear_stashes(root: Path, conditions: Conditions) -> None:
    """Drop all stashes."""
    must_change(root, "stash", "clear", conditions=conditions)


def _numbers(listing: bytes, *, is_untracked: bool = False) -> list[StashedFile]:
    return [
        StashedFile(path, *_counts(added, removed), is_binary=added == "-", is_untracked=is_untracked)
        for added, removed, path in _rows(os.fsdecode(listing).split("\0"))
    ]


def _rows(items: Iterable[str]) -> Iterable[list[str]]:
    return (item.split("\t", 2) for item in items if item)


def _counts(added: str, removed: str) -> tuple[int, int]:
    return (0, 0) if added == "-" else (int(added), int(removed))
