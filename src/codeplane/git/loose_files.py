"""Working files that take the place of a directory, or make room for one.

They cannot be exchanged one by one, so they are removed and written together; git stores their contents.
"""

import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import STAGED_PREFIX
from codeplane.core.printable import printable_name
from codeplane.git.commands import Conditions, ask_git, must_change


@dataclass(frozen=True, slots=True)
class LooseFile:
    """The blob of a file, or of a link's target; without a mode it gets what the process gives new files."""

    oid: str
    mode: int | None
    is_link: bool


def is_alike(one: LooseFile | None, other: LooseFile | None) -> bool:
    """Tell whether both are the same kind of thing with the same content and, where both say so, the same mode."""
    if one is None or other is None:
        return one is other
    if (one.oid, one.is_link) != (other.oid, other.is_link):
        return False
    return one.is_link or None in {one.mode, other.mode} or one.mode == other.mode


def kept_loose(root: Path, data: bytes, mode: int | None, *, is_link: bool) -> LooseFile:
    """Store a file's content in git and return it."""
    conditions = Conditions(stdin=data, runs_hooks=False)
    oid = must_change(root, "hash-object", "-w", "--no-filters", "--stdin", conditions=conditions).stdout_text.strip()
    return LooseFile(oid, None if is_link else mode, is_link)


def read_loose(root: Path, paths: Iterable[str]) -> dict[str, LooseFile | None]:
    """Return the files and links at paths; None for directories and for paths behind a link."""
    found: dict[str, LooseFile | None] = {}
    for path in paths:
        status = file_status_at(root, path)
        if status is None:
            found[path] = None
        elif stat.S_ISLNK(status.st_mode):
            target = os.fsencode((root / path).readlink())
            found[path] = kept_loose(root, target, None, is_link=True)
        else:
            data = (root / path).read_bytes()
            found[path] = kept_loose(root, data, stat.S_IMODE(status.st_mode), is_link=False)
    return found


def file_status_at(root: Path, path: str) -> os.stat_result | None:
    """Return the status of the file or link at a path, None for a directory or a path through a link."""
    parent = os.path.dirname(path)  # noqa: PTH120 - names may end in what `Path` would drop.
    while parent:
        if (root / parent).is_symlink():
            return None
        parent = os.path.dirname(parent)  # noqa: PTH120 - as above.
    try:
        status = (root / path).lstat()
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode) else None


def is_inside(root: Path, directory: Path) -> bool:
    """Tell whether a directory is inside the tree; a link or a loop of links may lead elsewhere."""
    return Path(os.path.realpath(directory)).is_relative_to(os.path.realpath(root))


def in_the_way_of(root: Path, wanted: Mapping[str, LooseFile | None]) -> list[str]:
    """Return the files in place of wanted ones that will not be removed."""
    found: dict[str, None] = {}
    for path, one in wanted.items():
        if one is None:
            continue
        place = root / path
        if place.is_dir() and not place.is_symlink():
            for directory, directories, names in os.walk(place):
                links = [name for name in directories if (Path(directory) / name).is_symlink()]
                below = [(Path(directory) / name).relative_to(root).as_posix() for name in (*names, *links)]
                found.update(dict.fromkeys(name for name in below if name not in wanted))
        parent = os.path.dirname(path)  # noqa: PTH120 - as above.
        while parent:
            above = root / parent
            if (above.is_symlink() or above.is_file()) and parent not in wanted:
                found[parent] = None
            parent = os.path.dirname(parent)  # noqa: PTH120 - as above.
    return list(found)


def write_loose(root: Path, wanted: Mapping[str, LooseFile | None]) -> None:
    """Remove all unwanted files, then write all wanted ones. It is safe to repeat.

    Raises:
        CodePlaneError: STALE_FILE when something else is in the way now.
    """
    now = read_loose(root, wanted)
    changed = {path: one for path, one in wanted.items() if not is_alike(now[path], one)}
    for path in sorted(changed, key=lambda name: -name.count("/")):
        if now[path] is not None:
            (root / path).unlink()
            _remove_empty_above(root, path)
    for path in sorted(changed, key=lambda name: name.count("/")):
        one = changed[path]
        if one is not None:
            try:
                _write(root, path, one)
            except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
                message = f"{printable_name(path)} cannot be restored: something else is in its place."
                raise CodePlaneError("STALE_FILE", message, details={"path": path}) from error


def _write(root: Path, path: str, one: LooseFile) -> None:
    data = ask_git(root, "cat-file", "blob", one.oid)
    place = root / path
    if place.is_dir() and not place.is_symlink():
        _remove_empty_below(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    if not is_inside(root, place.parent):
        raise NotADirectoryError(path)
    unseen = place.with_name(f"{STAGED_PREFIX}loose")
    unseen.unlink(missing_ok=True)
    if one.is_link:
        unseen.symlink_to(os.fsdecode(data))
    else:
        with unseen.open("wb") as file:
            file.write(data)
            if one.mode is not None:
                os.fchmod(file.fileno(), one.mode)
            file.flush()
            os.fsync(file.fileno())
    unseen.rename(place)


def _remove_empty_above(root: Path, path: str) -> None:
    parent = (root / path).parent
    with suppress(OSError):
        while parent != root:
            parent.rmdir()
            parent = parent.parent


def _remove_empty_below(place: Path) -> None:
    for directory, _, _ in os.walk(place, topdown=False):
        with suppress(OSError):
            Path(directory).rmdir()
