"""Domain anchors: the folders that friction and memories are about.

A folder is an anchor if it holds a tracked file, is not deeper than the limit, and no part of its name is excluded.
"""

import sqlite3
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from fnmatch import fnmatchcase
from itertools import accumulate
from typing import Final

from codeplane.memory.settings import FrictionSettings

_PREFIX: Final = "anchor:"
ROOT_ANCHOR: Final = "anchor:."


def anchor_of(directory: str) -> str:
    """Return the anchor of a folder; the root is `.` or empty."""
    return f"{_PREFIX}{directory or '.'}"


def folder_of(anchor: str) -> str:
    """Return the folder of an anchor, `.` for the root."""
    return anchor.removeprefix(_PREFIX)


def depth_of(anchor: str) -> int:
    """Return how deep an anchor's folder is; the root is 0."""
    return 0 if anchor == ROOT_ANCHOR else folder_of(anchor).count("/") + 1


def contains(anchor: str, path: str) -> bool:
    """Tell whether a file or folder is at or below an anchor."""
    folder = folder_of(anchor)
    return anchor == ROOT_ANCHOR or path == folder or path.startswith(f"{folder}/")


def resolve(paths: Iterable[str], directories: AbstractSet[str], settings: FrictionSettings) -> tuple[str, ...]:
    """Return the deepest anchor that contains all paths, then its parents up to the root; the root alone for none."""
    chains = [_folders_above(path) for path in paths]
    shared = [folders[0] for folders in zip(*chains, strict=False) if len(set(folders)) == 1] if chains else []
    # `shared` is a prefix: once two paths part, all deeper folders differ.
    known = [folder for folder in shared if folder in directories and _may_be_anchor(folder, settings)]
    return (*(anchor_of(folder) for folder in reversed(known)), ROOT_ANCHOR)


def seed_anchors(connection: sqlite3.Connection, directories: Iterable[str], settings: FrictionSettings) -> int:
    """Make the table of anchors fit the tracked folders; return how many anchors there are."""
    folders = {one for one in directories if one not in {"", "."} and _may_be_anchor(one, settings)}
    wanted = {(ROOT_ANCHOR, ".", None)} | {
        (anchor_of(one), one, anchor_of(one.rpartition("/")[0])) for one in sorted(folders)
    }
    stored = {tuple(row) for row in connection.execute("SELECT anchor_id, path, parent_id FROM domain_anchors")}
    gone = {row[0] for row in stored - wanted}
    connection.executemany("DELETE FROM domain_anchors WHERE anchor_id = ?", [(one,) for one in sorted(gone)])
    connection.executemany("INSERT INTO domain_anchors VALUES (?, ?, ?)", sorted(wanted - stored, key=str))
    return len(wanted)


def _folders_above(path: str) -> list[str]:
    """Return the folders of a file from the top, such as `src` and `src/app` for `src/app/x.py`."""
    return list(accumulate(path.split("/")[:-1], lambda above, name: f"{above}/{name}"))


def _may_be_anchor(folder: str, settings: FrictionSettings) -> bool:
    names = folder.split("/")
    return len(names) <= settings.anchor_auto_seed_max_depth and not any(
        fnmatchcase(name, pattern) for name in names for pattern in settings.anchor_exclude_patterns
    )
