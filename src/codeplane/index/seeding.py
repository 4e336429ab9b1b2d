"""Begin the index of a new worktree with that of the main tree, so that only what differs has to be parsed.

Files of the new tree have other stamps, so every one is read and hashed once; texts and facts are found by content.
Everything is derived: an index that cannot be copied is built from the files.
"""

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from filelock import FileLock

from codeplane.core.logs import fields, get_logger

_log = get_logger(__name__)
_CHUNK = 1024 * 1024


def seed_index(source: Path, target: Path) -> bool:
    """Copy the index in one directory into another that has none; return whether that was done."""
    database = target / "index.db"
    if database.exists() or not (source / "index.db").is_file():
        return False
    with FileLock(f"{database}.lock"):
        if database.exists():
            return False
        unfinished = target / "index.db.seed"
        try:
            _copy(source, target, unfinished)
        except (OSError, sqlite3.Error) as error:
            _log.warning("the main tree's index could not be taken over", extra=fields(reason=str(error)))
            for left in (unfinished, *target.glob("text-*.pack")):
                left.unlink(missing_ok=True)
            shutil.rmtree(target / "tantivy", ignore_errors=True)
            return False
    return True


def _copy(source: Path, target: Path, unfinished: Path) -> None:
    """Copy database, text and ranked text; the database gets its name last, when all it rests on is there."""
    unfinished.unlink(missing_ok=True)
    with (
        closing(sqlite3.connect(f"{(source / 'index.db').as_uri()}?mode=ro", uri=True)) as held,
        closing(sqlite3.connect(unfinished)) as copied,
    ):
        held.backup(copied)
        values = dict(copied.execute("SELECT key, value FROM meta WHERE key IN ('pack', 'pack_size')").fetchall())
    if "pack" in values:
        _copy_bytes(source / values["pack"], target / values["pack"], int(values.get("pack_size", 0)))
    # A merge in the main tree may remove files meanwhile; an incomplete copy is built again when it is opened.
    with suppress(OSError, shutil.Error):
        shutil.copytree(source / "tantivy", target / "tantivy", ignore=shutil.ignore_patterns("*.lock"))
    unfinished.replace(target / "index.db")


def _copy_bytes(source: Path, target: Path, size: int) -> None:
    with source.open("rb") as held, target.open("wb") as copied:
        while size > 0:
            data = held.read(min(size, _CHUNK))
            if not data:
                raise OSError(f"{source.name} is shorter than its index says")
            copied.write(data)
            size -= len(data)
