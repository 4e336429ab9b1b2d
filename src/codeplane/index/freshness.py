"""Whether the published state still says what a file holds, told file by file (§7.6).

A question about some files need not wait for an update of others: it is enough that these files, and the rules that
let them in, are as the state knows them.
"""

import os
from collections.abc import Iterable
from enum import Enum
from pathlib import Path

from codeplane.index.ignore_rules import IGNORE_FILE
from codeplane.index.reconcile import IndexState
from codeplane.index.sweep import FileStamp


class Freshness(Enum):
    """What the published state knows of a file."""

    FRESH = "fresh"
    DIRTY = "dirty"
    UNINDEXED = "unindexed"


def freshness_of(root: Path, state: IndexState, path: str) -> Freshness:
    """Return whether a file is as the state knows it."""
    known = state.stamps.get(path)
    if known is None:
        return Freshness.UNINDEXED
    is_same = path not in state.racy and _stamp(root / path) == known
    return Freshness.FRESH if is_same and _rules_are_same(root, state, path) else Freshness.DIRTY


def are_fresh(root: Path, state: IndexState, paths: Iterable[str]) -> bool:
    """Tell whether every one of some files is as the state knows it."""
    return all(freshness_of(root, state, path) is Freshness.FRESH for path in paths)


def _rules_are_same(root: Path, state: IndexState, path: str) -> bool:
    """Tell whether the ignore files above a file are as the state knows them; one of them may leave it out by now."""
    directory = path
    while directory:
        directory = directory.rpartition("/")[0]
        rules = f"{directory}/{IGNORE_FILE}" if directory else IGNORE_FILE
        if rules in state.racy or _stamp(root / rules) != state.stamps.get(rules):
            return False
    return True


def _stamp(path: Path) -> FileStamp | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return FileStamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
