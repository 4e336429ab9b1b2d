"""Move HEAD and the working tree (switch, restore, reset), and find the working files that this would touch."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from codeplane.core.paths import RepoPath
from codeplane.git.commands import Conditions, ask_git, must_change
from codeplane.git.contents import empty_tree_beside
from codeplane.git.hooks import HookedResult, change_with_hooks, check_hooked
from codeplane.git.pathspecs import pathspecs
from codeplane.git.repository import run_git
from codeplane.git.staging import rooted_pathspecs

# A post-checkout hook may install packages.
SWITCH_SECONDS: Final = 600.0
Mode = Literal["soft", "mixed", "hard"]
Side = Literal["ours", "theirs", "merge"]


@dataclass(frozen=True, slots=True)
class Switch:
    """Where to go: a branch, or a commit without one; `creates` makes the branch at `start` first."""

    ref: str
    creates: bool = False
    start: str | None = None
    detaches: bool = False
    forces: bool = False


def switch(root: Path, wanted: Switch, conditions: Conditions) -> HookedResult:
    """Switch; the result has the output of a hook that ran afterwards.

    Raises:
        CodePlaneError: GIT_WOULD_OVERWRITE, GIT_REF_EXISTS, GIT_WORKTREE_UNUSABLE, GIT_OPERATION_IN_PROGRESS, ...
    """
    arguments = ["checkout", "--quiet", "--no-recurse-submodules"]
    arguments.extend(["--force"] if wanted.forces else [])
    if wanted.creates:
        # Two options of git: with force an existing branch is moved too.
        arguments.extend(["-B" if wanted.forces else "-b", wanted.ref])
        arguments.extend([wanted.start] if wanted.start is not None else [])
    else:
        arguments.extend(["--detach"] if wanted.detaches else [])
        arguments.append(wanted.ref)
    arguments.append("--")
    longer = replace(conditions, timeout_seconds=max(conditions.timeout_seconds, SWITCH_SECONDS))
    result = change_with_hooks(root, *arguments, conditions=longer)
    check_hooked(tuple(arguments), result)
    return result


def restore(root: Path, paths: tuple[RepoPath, ...], source: str | None, conditions: Conditions) -> None:
    """Restore paths from a commit, or from the index without one; files that it lacks stay.

    Raises:
        CodePlaneError: GIT_PATH_UNKNOWN, GIT_CONFLICTS.
    """
    from_ref = [source] if source is not None else []
    specs = rooted_pathspecs(paths)
    must_change(root, "checkout", "--quiet", "--no-recurse-submodules", *from_ref, *specs, conditions=conditions)


def take_side(root: Path, paths: tuple[RepoPath, ...], side: Side, conditions: Conditions) -> None:
    """Write one side of conflicted files, or the conflict markers, into the working tree; they stay in conflict.

    Raises:
        CodePlaneError: GIT_PATH_UNKNOWN when that side has no such file.
    """
    must_change(root, "checkout", "--quiet", f"--{side}", *rooted_pathspecs(paths), conditions=conditions)


def reset(root: Path, ref: str | None, mode: Mode, conditions: Conditions) -> None:
    """Move the branch, and with it the index (mixed) and the working tree (hard); no ref when HEAD has no commit.

    Raises:
        CodePlaneError: GIT_OPERATION_IN_PROGRESS for a soft reset in the middle of a merge.
    """
    target = [ref] if ref is not None else []
    arguments = ("reset", "--quiet", "--no-recurse-submodules", f"--{mode}", *target, "--")
    must_change(root, *arguments, conditions=conditions)


def reset_paths(root: Path, ref: str | None, paths: tuple[RepoPath, ...], conditions: Conditions) -> None:
    """Reset the index to a commit at paths."""
    target = [ref] if ref is not None else []
    must_change(root, "reset", "--quiet", *target, *rooted_pathspecs(paths), conditions=conditions)


def branch_exists(root: Path, name: str) -> bool:
    """Tell whether there is a local branch of that name."""
    return run_git(root, "show-ref", "--verify", "--quiet", f"refs/heads/{name}").returncode == 0


def remote_branches(root: Path, name: str) -> tuple[str, ...]:
    """Return the branches of that name that remotes have; with exactly one, git creates a local one from it."""
    listing = ask_git(root, "for-each-ref", "--format=%(refname)", f"refs/remotes/*/{name}")
    return tuple(os.fsdecode(listing).split())


def is_valid_branch(root: Path, name: str) -> bool:
    """Tell whether git would allow a branch of that name."""
    # Not by `--branch`, which takes `@{-1}` for the name of the branch before.
    return run_git(root, "check-ref-format", f"refs/heads/{name}").returncode == 0


def names_between(root: Path, old: str | None, new: str | None) -> tuple[str, ...]:
    """Return the paths that differ between two commits or trees; None means an empty tree."""
    sides = (old or empty_tree_beside(new), new or empty_tree_beside(old))
    arguments = ("diff-tree", "-r", "--name-only", "--no-renames", "-z", *sides)
    return _split(ask_git(root, *arguments))


def names_off(
    root: Path, ref: str | None, paths: tuple[RepoPath, ...] = (), *, only_in_ref: bool = False
) -> tuple[str, ...]:
    """Return the paths at which index or working tree differ from a commit, or the working tree from the index."""
    source = [ref] if ref is not None else []
    # Seen from the commit, a file that only the working tree has is added; restoring does not touch it.
    options = ["--diff-filter=a"] if only_in_ref else []
    arguments = ("diff", "--name-only", "--no-renames", "--ignore-submodules=all", "-z", *options, *source)
    found = _split(ask_git(root, *arguments, *pathspecs(paths)))
    if ref is None:
        return found
    # A staged change that is gone from the working tree is visible only in the index.
    cached = _split(ask_git(root, "diff", "--cached", *arguments[1:], *pathspecs(paths)))
    return tuple(dict.fromkeys((*found, *cached)))


def names_staged_off(root: Path, ref: str | None, paths: tuple[RepoPath, ...] = ()) -> tuple[str, ...]:
    """Return the paths at which the index differs from a commit; without one, everything that the index holds."""
    if ref is None:
        return _split(ask_git(root, "ls-files", "-z", *pathspecs(paths)))
    arguments = ("diff", "--cached", "--name-only", "--no-renames", "-z", ref)
    return _split(ask_git(root, *arguments, *pathspecs(paths)))


def in_the_way(root: Path, names: Iterable[str]) -> tuple[str, ...]:
    """Return what is in the way of files to be written: files below their names, or a file in place of a directory.

    Git overwrites such things when it is forced to, and ignored ones always.
    """
    found: dict[str, None] = {}
    looked_at: set[str] = set()
    for name in names:
        place = root / name
        if place.is_dir() and not place.is_symlink():
            found.update(dict.fromkeys(_files_below(root, place)))
        parent = name.rpartition("/")[0]
        while parent and parent not in looked_at:
            looked_at.add(parent)
            above = root / parent
            if above.is_symlink() or above.is_file():
                found[parent] = None
            parent = parent.rpartition("/")[0]
    return tuple(found)


def _files_below(root: Path, place: Path) -> Iterator[str]:
    for directory, directories, names in os.walk(place):
        directories[:] = [name for name in directories if name != ".git"]
        for name in names:
            yield (Path(directory) / name).relative_to(root).as_posix()


def _split(listing: bytes) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in os.fsdecode(listing).split("\0") if name))
