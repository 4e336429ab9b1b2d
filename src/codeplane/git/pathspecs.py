"""Paths as git's arguments: literal, and never an option or a pattern.

They are valid for git run at the root of the tree. `:(top)` would work too, but keeps git from using the changed
paths of a commit-graph.
"""

from collections.abc import Iterable

from codeplane.core.paths import RepoPath


def pathspecs(paths: Iterable[RepoPath]) -> tuple[str, ...]:
    """Return `--` and the paths; the root, like no path at all, means everything."""
    wanted = tuple(paths)
    if not wanted or RepoPath.ROOT in wanted:
        return ("--",)
    return ("--", *(f":(literal){path.text}" for path in wanted))
