"""Paths that git could not merge: their versions in the index, and the markers in the working file."""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.git.commands import ask_git

GITLINK: Final = "160000"
LINK: Final = "120000"
_MARKER_SIZE: Final = 7
_MAX_WORKING_FILE_BYTES: Final = 8_000_000
_KINDS: Final = {
    (True, False, False): "both deleted",
    (False, True, False): "added by us",
    (True, True, False): "deleted by them",
    (False, False, True): "added by them",
    (True, False, True): "deleted by us",
    (False, True, True): "both added",
    (True, True, True): "both modified",
}


@dataclass(frozen=True, slots=True)
class Version:
    """One side's version of a path, as the index has it."""

    mode: str
    oid: str


@dataclass(frozen=True, slots=True)
class UnmergedPath:
    """A path with several versions; a side that has none deleted the path, or never had it."""

    path: str
    ancestor: Version | None
    ours: Version | None
    theirs: Version | None

    @property
    def kind(self) -> str:
        """Return git's description of what both sides did."""
        return _KINDS[self.ancestor is not None, self.ours is not None, self.theirs is not None]


@dataclass(frozen=True, slots=True)
class MarkedBlock:
    """The lines, from 1, of a conflict's markers in the working file."""

    start_line: int
    base_line: int | None
    middle_line: int
    end_line: int


def unmerged_paths(root: Path) -> tuple[UnmergedPath, ...]:
    """Return every path that is in conflict, in git's order."""
    found: dict[str, dict[int, Version]] = {}
    for item in os.fsdecode(ask_git(root, "ls-files", "--unmerged", "--full-name", "-z")).split("\0"):
        if item:
            head, _, path = item.partition("\t")
            mode, oid, stage = head.split(" ")
            found.setdefault(path, {})[int(stage)] = Version(mode, oid)
    return tuple(UnmergedPath(path, one.get(1), one.get(2), one.get(3)) for path, one in found.items())


def check_resolved(root: Path) -> None:
    """Refuse to continue while paths are in conflict.

    Raises:
        CodePlaneError: GIT_CONFLICTS.
    """
    paths = [one.path for one in unmerged_paths(root)]
    if paths:
        raise CodePlaneError("GIT_CONFLICTS", f"Still in conflict: {', '.join(paths[:5])}.", details={"paths": paths})


def marker_sizes(root: Path, paths: Sequence[str]) -> Mapping[str, int]:
    """Return the marker length in each file; an attribute can change it."""
    asked = b"".join(os.fsencode(path) + b"\0" for path in paths)
    answer = ask_git(root, "check-attr", "-z", "--stdin", "conflict-marker-size", stdin=asked)
    fields = os.fsdecode(answer).split("\0")
    values = zip(fields[0::3], fields[2::3], strict=False)
    return {path: int(value) if value.isdecimal() and int(value) > 0 else _MARKER_SIZE for path, value in values}


def marked_blocks(data: bytes, size: int = _MARKER_SIZE) -> tuple[MarkedBlock, ...]:
    """Return the conflicts with complete markers; text that only looks like one marker does not count."""
    found = []
    start = base = middle = None
    for number, line in enumerate(data.split(b"\n"), start=1):
        if _is_mark(line, b"<", size):
            start, base, middle = number, None, None
        elif start is not None and middle is None and base is None and _is_mark(line, b"|", size):
            base = number
        elif start is not None and middle is None and _is_mark(line, b"=", size):
            middle = number
        elif start is not None and middle is not None and _is_mark(line, b">", size):
            found.append(MarkedBlock(start, base, middle, number))
            start = base = middle = None
    return tuple(found)


def working_bytes(root: Path, path: str) -> bytes | None:
    """Return a working file's bytes; None for anything but a regular file inside the tree, and for large ones."""
    place = root / path
    try:
        if not place.parent.resolve().is_relative_to(root.resolve()):
            return None
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_WORKING_FILE_BYTES:
            return None
        return file.read()


def _is_mark(line: bytes, character: bytes, size: int) -> bool:
    if not line.startswith(character * size):
        return False
    rest = line[size:].rstrip(b"\r")
    return not rest or rest.startswith(b" ")
