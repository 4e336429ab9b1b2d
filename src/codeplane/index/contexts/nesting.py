"""Which of some directories hold another one, without walking the list of them."""

from collections.abc import Mapping
from typing import Generic, TypeVar

from codeplane.core.paths import RepoPath

T = TypeVar("T")
# No directory has this name; it means the level above the root.
_ABOVE = "/"


def directory_text(directory: RepoPath) -> str:
    """Return the text of a directory as keys use it: empty for the root, so that it is a prefix of everything."""
    return "" if directory == RepoPath.ROOT else directory.text


def relative_text(directory: str, root: str) -> str:
    """Return the text of a directory as seen from a root that holds it; empty for the root itself."""
    return directory[len(root) + 1 :] if root else directory


class Nesting(Generic[T]):
    """Values of directories, found from any directory below them.

    Invariant: an answer depends on the values given at construction only; asked directories are remembered.
    """

    def __init__(self, by_directory: Mapping[str, T]) -> None:
        self._own = dict(by_directory)
        self._known: dict[str, tuple[T, ...]] = {_ABOVE: ()}

    def at_or_above(self, directory: str) -> tuple[T, ...]:
        """Return the values whose directory is this one or holds it, deepest first."""
        known = self._known.get(directory)
        return self._find(directory) if known is None else known

    def _find(self, directory: str) -> tuple[T, ...]:
        # A loop instead of recursion: paths may be deeper than Python's call stack.
        missing: list[str] = []
        while directory not in self._known:
            missing.append(directory)
            directory = directory.rpartition("/")[0] if directory else _ABOVE
        values = self._known[directory]
        for below in reversed(missing):
            if below in self._own:
                values = (self._own[below], *values)
            self._known[below] = values
        return values
