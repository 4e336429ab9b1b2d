"""Stage and unstage changes, and discard changes of the working tree."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git.commands import Conditions, ask_git, must_change
from codeplane.git.pathspecs import pathspecs


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs under some paths: between HEAD and index, index and working tree, and untracked files."""

    staged: tuple[str, ...]
    unstaged: tuple[str, ...]
    untracked: tuple[str, ...]

    @property
    def all_paths(self) -> tuple[str, ...]:
        """Return every path once."""
        return tuple(dict.fromkeys((*self.staged, *self.unstaged, *self.untracked)))

    def under(self, paths: tuple[RepoPath, ...]) -> "Differences":
        """Return the part that is under some paths; no path means everything."""
        if not paths or RepoPath.ROOT in paths:
            return self
        names = {path.text for path in paths}
        below = tuple(f"{name}/" for name in names)

        def part(found: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(one for one in found if one.rstrip("/") in names or one.startswith(below))

        return Differences(part(self.staged), part(self.unstaged), part(self.untracked))


def differences(root: Path, paths: tuple[RepoPath, ...] = ()) -> Differences:
    """Return what differs under paths, everywhere without paths."""
    listing = ask_git(root, *_STATUS, *pathspecs(paths))
    staged, unstaged, untracked = [], [], []
    for item in os.fsdecode(listing).split("\0"):
        kind = item[:2]
        if kind == "? ":
            untracked.append(item[2:])
        elif kind in _FIELDS:
            # A path in conflict differs on both sides.
            path, states = item.split(" ", _FIELDS[kind])[-1], item[2:4] if kind == "1 " else "UU"
            if states[0] != ".":
                staged.append(path)
            if states[1] != ".":
                unstaged.append(path)
    return Differences(tuple(staged), tuple(unstaged), tuple(untracked))


def staged_paths(root: Path, paths: tuple[RepoPath, ...] = ()) -> tuple[str, ...]:
    """Return the paths whose index entry differs from HEAD."""
    return _names(root, (*_DIFF, "--cached"), pathspecs(paths))


def unstaged_paths(root: Path, paths: tuple[RepoPath, ...] = ()) -> tuple[str, ...]:
    """Return the tracked paths whose working file differs from the index, conflicts among them."""
    return _names(root, _DIFF, pathspecs(paths))


def ignored_files(root: Path, paths: tuple[RepoPath, ...] = ()) -> tuple[str, ...]:
    """Return the untracked files under paths that git ignores."""
    arguments = ("ls-files", "--others", "--ignored", "--exclude-standard", "-z")
    return _names(root, arguments, (*rooted_pathspecs(paths), _NOT_PRIVATE))


def check_known(root: Path, paths: tuple[RepoPath, ...]) -> None:
    """Refuse paths that are neither in the working tree nor known to git.

    Raises:
        CodePlaneError: GIT_PATH_UNKNOWN naming the first.
    """
    missing = tuple(path for path in paths if not os.path.lexists(root / path.text))
    if not missing:
        return
    unknown = without_tracked(root, missing)
    if unknown:
        message = f"`{unknown[0]}` is neither in the working tree nor known to git."
        details = {"path": unknown[0].text, "paths": [path.text for path in unknown]}
        raise CodePlaneError("GIT_PATH_UNKNOWN", message, details=details)


def without_tracked(root: Path, paths: tuple[RepoPath, ...]) -> tuple[RepoPath, ...]:
    """Return the paths that are not tracked and have no tracked files below them."""
    known = _names(root, ("ls-files", "-z"), pathspecs(paths))
    return tuple(
        path
        for path in paths
        if path != RepoPath.ROOT and not any(name == path.text or name.startswith(f"{path.text}/") for name in known)
    )


def stage(root: Path, paths: tuple[RepoPath, ...], conditions: Conditions, *, allow_ignored: bool = False) -> None:
    """Stage the working tree's content, deletions too; no paths mean everything.

    Raises:
        CodePlaneError: FILE_IGNORED, GIT_PATH_UNKNOWN, GIT_LOCKED.
    """
    specs = (*rooted_pathspecs(paths), _NOT_PRIVATE) if allow_ignored else pathspecs(paths)
    must_change(root, "add", "--all", *(("--force",) if allow_ignored else ()), *specs, conditions=conditions)


def unstage(root: Path, paths: tuple[RepoPath, ...], conditions: Conditions) -> None:
    """Reset the index to HEAD; the working tree stays."""
    # With a path, even the root, git leaves a merge that is in progress alone.
    must_change(root, "reset", "--quiet", *rooted_pathspecs(paths), conditions=conditions)


def discard(root: Path, paths: tuple[RepoPath, ...], conditions: Conditions, *, include_untracked: bool) -> None:
    """Reset the working tree to the index.

    Raises:
        CodePlaneError: GIT_CONFLICTS for files in conflict.
    """
    if unstaged_paths(root, paths):
        unknown = without_tracked(root, paths)
        specs = rooted_pathspecs(path for path in paths if path not in unknown)
        must_change(root, "checkout", "--quiet", *specs, conditions=conditions)
    if include_untracked:
        must_change(root, "clean", "--force", "-d", "--quiet", *pathspecs(paths), conditions=conditions)


def resolved_paths(root: Path) -> tuple[str, ...]:
    """Return the paths that were in conflict in this merge and have been staged since."""
    listing = os.fsdecode(ask_git(root, "ls-files", "--resolve-undo", "--full-name", "-z"))
    return tuple(dict.fromkeys(item.partition("\t")[2] for item in listing.split("\0") if item))


def rooted_pathspecs(paths: Iterable[RepoPath]) -> tuple[str, ...]:
    """Return `--` and the paths, the root by name, because some commands give no path another meaning."""
    specs = pathspecs(paths)
    return specs if len(specs) > 1 else (*specs, ":/")


# CodePlane's own files change with every call and must not be committed.
_NOT_PRIVATE = ":(top,exclude).codeplane"
_DIFF = ("diff", "--name-only", "--no-renames", "-z")
_STATUS = ("status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames")
# The number of fields before the path in a line of this kind.
_FIELDS = {"1 ": 8, "u ": 10}


def _names(root: Path, arguments: tuple[str, ...], specs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in os.fsdecode(ask_git(root, *arguments, *specs)).split("\0") if name))
