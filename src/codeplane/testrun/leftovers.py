"""What tests leave behind in the working tree, told by git's status before and after."""

import os
from collections.abc import Mapping
from pathlib import Path

from codeplane.git.repository import Repository
from codeplane.git.status import read_status

Marks = Mapping[str, tuple[int, int] | None]


def tree_marks(repository: Repository) -> Marks:
    """Return every changed or new file with its time and size; ignored files are left out.

    Raises:
        CodePlaneError: git failed.
    """
    status = read_status(repository)
    paths = [*status.untracked, *(one.path for one in status.modified), *(one.path for one in status.staged)]
    return {path: _mark(repository.root / path) for path in paths}


def left_behind(before: Marks, after: Marks) -> tuple[str, ...]:
    """Return the paths that differ."""
    return tuple(sorted(path for path in {**before, **after} if before.get(path, ()) != after.get(path, ())))


def _mark(path: Path) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
