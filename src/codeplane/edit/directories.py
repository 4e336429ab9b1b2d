"""Directories of the tree, opened step by step so that no symlink put there meanwhile leads out of it."""

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from codeplane.core.paths import RepoPath

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Place(NamedTuple):
    """A name in an open directory."""

    directory: int
    name: str


class Directories:
    """Open directories below one root.

    Invariant: every descriptor was reached from the root without following a symlink. Paths are real ones: whoever
    asks has resolved the symlinks that are meant.
    """

    def __init__(self, root: Path) -> None:
        self._open = {RepoPath.ROOT: os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)}

    def place(self, path: RepoPath) -> Place:
        """Return where a path is.

        Raises:
            FileNotFoundError: its directory is not there.
            OSError: something on the way is no directory, or a symlink by now.
        """
        return Place(self.descriptor(path.parent), path.name)

    def descriptor(self, path: RepoPath) -> int:
        """Return an open directory."""
        known = self._open.get(path)
        if known is None:
            known = os.open(path.name, _OPEN, dir_fd=self.descriptor(path.parent))
            self._open[path] = known
        return known

    def exists(self, path: RepoPath) -> bool:
        """Tell whether a directory is there."""
        try:
            self.descriptor(path)
        except FileNotFoundError:
            return False
        return True

    def make(self, path: RepoPath) -> None:
        """Make a directory that is not there, durable when this returns."""
        above = self.descriptor(path.parent)
        with suppress(FileExistsError):
            os.mkdir(path.name, dir_fd=above)
        os.fsync(above)

    def remove(self, path: RepoPath) -> None:
        """Remove a directory if it is empty."""
        with suppress(OSError):
            descriptor = self._open.pop(path, None)
            if descriptor is not None:
                os.close(descriptor)
            os.rmdir(path.name, dir_fd=self.descriptor(path.parent))

    def close(self) -> None:
        """Close all of them."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
