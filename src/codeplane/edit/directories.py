"""Directories of the tree, opened step by step so a symlink created meanwhile cannot lead out of it."""

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

    Invariant: every descriptor was reached from the root without following a symlink. Paths are real ones: the
    caller has resolved the intended symlinks.
    """

    def __init__(self, root: Path) -> None:
        self._open = {RepoPath.ROOT: os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)}

    def place(self, path: RepoPath) -> Place:
        """Return where a path is.

        Raises:
            FileNotFoundError: its directory does not exist.
            OSError: a component is not a directory, or is now a symlink.
        """
        above = self.descriptor(path.parent)
        return Place(above, _name_on_disk(above, path.name))

    def descriptor(self, path: RepoPath) -> int:
        """Return an open directory."""
        known = self._open.get(path)
        if known is None:
            above = self.descriptor(path.parent)
            known = os.open(_name_on_disk(above, path.name), _OPEN, dir_fd=above)
            self._open[path] = known
        return known

    def exists(self, path: RepoPath) -> bool:
        """Tell whether a directory exists; a file of that name does not count."""
        try:
            self.descriptor(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def make(self, path: RepoPath) -> None:
        """Create a missing directory, durable when this returns."""
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
            os.rmdir(_name_on_disk(above, path.name), dir_fd=above)

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


def _name_on_disk(directory: int, name: str) -> str:
    """Return a name as the disk has it: a RepoPath is in NFC, a file may have been created with a decomposed name."""
    if name.isascii():
        return name
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        entries = sorted(os.listdir(directory))
        return next((entry for entry in entries if unicodedata.normalize("NFC", entry) == name), name)
    return name
