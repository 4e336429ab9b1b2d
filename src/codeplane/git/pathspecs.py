"""Paths as git's arguments: literal, from the top, and never an option or a pattern."""

from collections.abc import Iterable

from codeplane.core.paths import RepoPath


def pathspecs(paths: Iterable[RepoPath]) -> tuple[str, ...]:
    """Return `--` and the paths; the root, like no path at all, means everything."""
    wanted = tuple(paths)
    if not wanted or RepoPath.ROOT in wanted:
        return ("--",)
    return ("--", *(f":(top,literal){path.text}" for path in wanted))
