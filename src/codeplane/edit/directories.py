"""Directories of the tree, opened step by step so that no symlink put there meanwhile leads out of it."""

import os
import unicodedata
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
        above = self.descriptor(path.parent)
        return Place(above, _spelled(above, path.name))

    def descriptor(self, path: RepoPath) -> int:
        """Return an open directory."""
        known = self._open.get(path)
        if known is None:
            above = self.descriptor(path.parent)
            known = os.open(_spelled(above, path.name), _OPEN, dir_fd=above)
            self._open[path] = known
        return known

    def exists(self, path: RepoPath) -> bool:
        """Tell whether a directory is there; a file of that name is none."""
        try:
            self.descriptor(path)
        except (FileNotFoundError, NotADirectoryError):
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
            above = self.descriptor(path.parent)
            os.rmdir(_spelled(above, path.name), dir_fd=above)

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


def _spelled(directory: int, name: str) -> str:
    """Return a name as the disk has it: a RepoPath is in NFC, a file may have been created with a decomposed name."""
    if name.isascii():
        return name
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        entries = sorted(os.listdir(directory))
        return next((entry for entry in entries if unicodedata.normalize("NFC", entry) == name), name)
    return name
