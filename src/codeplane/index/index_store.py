"""What the index knows about files, in `index.db`, with their text in a pack beside it.

Everything here is derived: a file that is missing, damaged or of another schema is thrown away and built again.
"""

import json
import marshal
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_bytes
from codeplane.core.ids import RandomIds
from codeplane.core.logs import fields, get_logger
from codeplane.core.version import VERSION
from codeplane.index.facts.outline import FORMAT
from codeplane.index.scan import FileStamp
from codeplane.index.text_pack import TextPack
from codeplane.store.sqlite import Database, Schema

_log = get_logger(__name__)

_SELECT_FILES: Final = (
    "SELECT file_id, path, mtime_ns, ctime_ns, size, inode, checked_ns, text_id, problem, language, epoch, facts_id,"
    " unit_id, module, dialect, coalesce(offset, 0), coalesce(length, 0), coalesce(line_count, 0)"
    " FROM files LEFT JOIN texts USING (text_id)"
)

# Error codes of a database that is damaged.
DAMAGE: Final = frozenset({"STORE_CORRUPT", "INDEX_CORRUPT", "QUERY_FAILED"})
PACK_IS_CUT: Final = "its text file is missing or cut"
# Another process may be building the whole index.
_LOCK_SECONDS: Final = 600.0
# For this many epochs the index knows which facts the files had.
KEPT_SNAPSHOTS: Final = 50
# Under this number are the facts that files had before the oldest of these epochs.
BEFORE_SNAPSHOTS: Final = 0
# The contexts that were declared when the index was built.
DECLARED: Final = "declared_contexts"
# This many bytes of text that no file holds are kept, whatever the size of the rest.
MAX_UNUSED_BYTES: Final = 16 * 1024 * 1024

# Facts are stored as this version writes them; those of another version are extracted again.
FACTS_FORMAT = f"{VERSION}/{FORMAT}/{marshal.version}"

INDEX_SCHEMA = Schema(
    "index",
    (
        """
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE texts (
            text_id INTEGER PRIMARY KEY AUTOINCREMENT,
            sha256 TEXT NOT NULL UNIQUE,
            normalised TEXT NOT NULL,
            offset INTEGER NOT NULL,
            length INTEGER NOT NULL,
            line_count INTEGER NOT NULL
        );
        CREATE TABLE files (
            file_id INTEGER PRIMARY KEY,
            path TEXT NOT NULL UNIQUE,
            mtime_ns INTEGER NOT NULL,
            ctime_ns INTEGER NOT NULL,
            size INTEGER NOT NULL,
            inode INTEGER NOT NULL,
            checked_ns INTEGER NOT NULL,
            text_id INTEGER REFERENCES texts,
            problem TEXT NOT NULL,
            language TEXT NOT NULL,
            epoch INTEGER NOT NULL
        );
        CREATE INDEX files_by_text ON files (text_id);
        """,
        """
        DELETE FROM files;
        ALTER TABLE files ADD COLUMN dialect TEXT NOT NULL DEFAULT '';
        ALTER TABLE files ADD COLUMN facts_id INTEGER;
        ALTER TABLE files ADD COLUMN unit_id INTEGER;
        ALTER TABLE files ADD COLUMN module TEXT NOT NULL DEFAULT '';
        CREATE TABLE units (
            unit_id INTEGER PRIMARY KEY,
            context_id TEXT NOT NULL UNIQUE,
            family TEXT NOT NULL,
            root TEXT NOT NULL,
            status TEXT NOT NULL,
            reason TEXT NOT NULL
        );
        CREATE TABLE facts (
            facts_id INTEGER PRIMARY KEY AUTOINCREMENT,
            text_id INTEGER NOT NULL,
            dialect TEXT NOT NULL,
            link_hash BLOB NOT NULL,
            package TEXT NOT NULL,
            problem TEXT NOT NULL,
            outline BLOB NOT NULL,
            columns BLOB NOT NULL
        );
        CREATE UNIQUE INDEX facts_by_text ON facts (text_id, dialect);
        CREATE TABLE definitions (
            file_id INTEGER NOT NULL,
            number INTEGER NOT NULL,
            uid BLOB NOT NULL,
            kind INTEGER NOT NULL,
            name TEXT NOT NULL,
            folded TEXT NOT NULL,
            PRIMARY KEY (file_id, number)
        ) WITHOUT ROWID;
        CREATE INDEX definitions_by_name ON definitions (folded);
        CREATE INDEX definitions_by_uid ON definitions (uid);
        CREATE TABLE resolutions (file_id INTEGER PRIMARY KEY, data BLOB NOT NULL);
        CREATE TABLE links (
            target_file INTEGER NOT NULL,
            target_number INTEGER NOT NULL,
            file_id INTEGER NOT NULL,
            uses INTEGER NOT NULL,
            PRIMARY KEY (target_file, target_number, file_id)
        ) WITHOUT ROWID;
        CREATE TABLE asked (
            module TEXT NOT NULL, file_id INTEGER NOT NULL, PRIMARY KEY (module, file_id)
        ) WITHOUT ROWID;
        CREATE TABLE located (
            file_id INTEGER NOT NULL, source TEXT NOT NULL, module TEXT, name TEXT NOT NULL,
            PRIMARY KEY (file_id, source)
        ) WITHOUT ROWID;
        CREATE INDEX located_by_name ON located (name);
        CREATE TABLE snapshots (
            epoch INTEGER NOT NULL, path TEXT NOT NULL, facts_id INTEGER, PRIMARY KEY (epoch, path)
        ) WITHOUT ROWID;
        CREATE TABLE successors (
            uid BLOB NOT NULL, successor BLOB NOT NULL, epoch INTEGER NOT NULL, PRIMARY KEY (uid, successor)
        ) WITHOUT ROWID;
        """,
    ),
)


class IndexedFile(NamedTuple):
    """One file as the index knows it; a tuple, because one is made for every file when a process starts.

    `problem` says why its text is not indexed, empty when it is. `module` names its modules, one per line, empty when
    it is not linked. `offset`, `length` and `line_count` describe its text in the pack.
    """

    file_id: int
    path: str
    stamp: FileStamp
    checked_ns: int
    text_id: int | None
    problem: str
    language: str
    epoch: int
    facts_id: int | None
    unit_id: int | None
    module: str
    dialect: str
    offset: int
    length: int
    line_count: int


class StoredState(NamedTuple):
    """What the database holds of one epoch: the files, and the size of the pack."""

    epoch: int
    files: dict[str, IndexedFile]
    pack_size: int


class Published(NamedTuple):
    """What tells one published state from every other: the epoch, and the pack that holds its texts."""

    epoch: int
    pack: str


def declared_text(declared: Iterable[tuple[str, str]]) -> str:
    """Return declared contexts as they are kept."""
    return json.dumps([list(one) for one in declared])


class IndexStore:
    """Opens `index.db` and its pack, and starts over when they cannot be trusted.

    `last_epoch` gives the newest epoch in the ledger; those of a new database go on above it.
    Invariant: `healed` says in words what was thrown away, empty when nothing was.
    """

    def __init__(self, directory: Path, last_epoch: Callable[[], int] = lambda: 0) -> None:
        self.directory = directory
        self.healed = ""
        self._last_epoch = last_epoch
        self.distrusted = ""
        self._open_both()

    def _open_both(self) -> None:
        self.database = self._open()
        try:
            self.pack = self._pack()
            if not self.pack.holds(self.pack_size()):
                self.start_over(PACK_IS_CUT)
            elif not self._pack_is_as_left() and not self._pack_holds_its_texts():
                self.start_over("its text file was changed")
            elif self.meta("format", FACTS_FORMAT) != FACTS_FORMAT:
                self.start_over("its facts were made by another version")
            elif self._is_mostly_unused():
                self.start_over("most of its text was no longer in use")
            if self.meta("format") != FACTS_FORMAT:
                self.set_meta({"format": FACTS_FORMAT, "epoch": str(max(self.epoch(), self._last_epoch()))})
        except CodePlaneError as error:
            if error.code not in DAMAGE:
                raise
            self.start_over("index.db was damaged")

    def _pack(self) -> TextPack:
        """Return this database's own pack; its name is drawn, so that no state of another index can read it."""
        with self.database.write() as connection:
            drawn = f"text-{RandomIds().new('p')[2:12]}.pack"
            connection.execute("INSERT OR IGNORE INTO meta VALUES ('pack', ?)", (drawn,))
            name = str(connection.execute("SELECT value FROM meta WHERE key = 'pack'").fetchone()[0])
        return TextPack(self.directory / name)

    def _is_mostly_unused(self) -> bool:
        """Tell whether texts of earlier states take more room than the texts in use, and more than a little.

        Texts of other branches are kept for a while, so that switching back to a branch costs no parsing.
        """
        size = self.pack_size()
        if size <= MAX_UNUSED_BYTES:
            return False
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT coalesce(sum(length), 0) FROM texts WHERE text_id IN (SELECT text_id FROM files)"
            ).fetchone()
        return size > 2 * int(row[0]) + MAX_UNUSED_BYTES

    def reopen(self) -> None:
        """Open the current files, after another process removed or replaced them."""
        self.database.close()
        self._open_both()

    def _open(self) -> Database:
        try:
            return Database(self.directory / "index.db", INDEX_SCHEMA, durable=False, lock_timeout=_LOCK_SECONDS)
        except CodePlaneError as error:
            if error.code not in {"STORE_CORRUPT", "MIGRATION_FAILED", "QUERY_FAILED"}:
                raise
            self._remove(f"index.db could not be read ({error.code})")
            return Database(self.directory / "index.db", INDEX_SCHEMA, durable=False, lock_timeout=_LOCK_SECONDS)

    def distrust(self, reason: str) -> None:
        """Have the index built again by the next update, because something in it cannot be read."""
        self.distrusted = reason

    def start_over(self, reason: str) -> None:
        """Throw the index away and begin with an empty one, whose epochs go on above the old."""
        self.distrusted = ""
        epoch = self._last_epoch()
        with suppress(CodePlaneError):
            epoch = max(epoch, self.epoch())
        self.database.close()
        self._remove(reason)
        self.database = Database(self.directory / "index.db", INDEX_SCHEMA, durable=False, lock_timeout=_LOCK_SECONDS)
        self.pack = self._pack()
        self.set_meta({"epoch": str(epoch), "format": FACTS_FORMAT})

    def _remove(self, reason: str) -> None:
        self.healed = f"The index was built again: {reason}."
        _log.warning("the index is built again", extra=fields(reason=reason))
        for name in ("index.db", "index.db-wal", "index.db-shm"):
            (self.directory / name).unlink(missing_ok=True)
        for pack in self.directory.glob("text-*.pack"):
            if pack.is_dir():
                shutil.rmtree(pack, ignore_errors=True)
            else:
                pack.unlink(missing_ok=True)

    def _pack_is_as_left(self) -> bool:
        return self.meta("pack_stamp") == self.pack.stamp()

    def _pack_holds_its_texts(self) -> bool:
        """Tell whether every text is what its hash says; asked only when something wrote the file after the index."""
        with self.database.read() as connection, self.pack.mapped(self.pack_size()) as view:
            for sha256, offset, length in connection.execute("SELECT sha256, offset, length FROM texts"):
                if sha256_bytes(view[offset : offset + length]) != sha256:
                    return False
        self.set_meta({"pack_stamp": self.pack.stamp()})
        return True

    def meta(self, key: str, default: str = "") -> str:
        """Return a value of the index's own."""
        with self.database.read() as connection:
            record = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(record[0]) if record else default

    def set_meta(self, values: Mapping[str, str]) -> None:
        """Keep values of the index's own."""
        with self.database.write() as connection:
            write_meta(connection, values)

    def epoch(self) -> int:
        """Return the number of the newest published state."""
        return number_of(self.meta("epoch", "0"))

    def published(self) -> Published:
        """Return what identifies the newest state."""
        with self.database.read() as connection:
            return published_in(connection)

    def pack_size(self) -> int:
        """Return how many bytes of the pack were written."""
        return number_of(self.meta("pack_size", "0"))

    def load(self) -> StoredState:
        """Return everything that is known of the newest epoch, read in one transaction."""
        with self.database.read() as connection:
            connection.execute("BEGIN")
            try:
                return stored_state(connection)
            finally:
                connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def number_of(text: str) -> int:
    """Return a number that is kept as text.

    Raises:
        CodePlaneError: INDEX_CORRUPT when it is none.
    """
    try:
        return int(text)
    except ValueError as error:
        raise CodePlaneError("INDEX_CORRUPT", f"The index holds `{text[:40]}` where a number belongs.") from error


def published_in(connection: sqlite3.Connection) -> Published:
    """Return what identifies the newest state that a connection sees."""
    values = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('epoch', 'pack')").fetchall())
    return Published(number_of(values.get("epoch", "0")), str(values.get("pack", "")))


def write_meta(connection: sqlite3.Connection, values: Mapping[str, str]) -> None:
    """Write values of the index's own inside a transaction."""
    connection.executemany(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", list(values.items())
    )


def stored_state(connection: sqlite3.Connection) -> StoredState:
    """Return everything that is known of the epoch that a connection sees."""
    size = connection.execute("SELECT value FROM meta WHERE key = 'pack_size'").fetchone()
    cursor = connection.cursor()
    # Plain tuples, all at once: rows with names take much longer to make.
    cursor.row_factory = None
    rows = cursor.execute(_SELECT_FILES).fetchall()
    epoch = published_in(connection).epoch
    return StoredState(epoch, {row[1]: _file(row) for row in rows}, number_of(size[0] if size else "0"))


def stored_files(connection: sqlite3.Connection, paths: Iterable[str]) -> dict[str, IndexedFile]:
    """Return some files by path; those that are not indexed are left out."""
    found = (connection.execute(f"{_SELECT_FILES} WHERE path = ?", (path,)).fetchone() for path in paths)
    return {row[1]: _file(row) for row in found if row is not None}


def _file(row: Sequence[Any]) -> IndexedFile:
    # Naming the fields would take twice as long.
    new = tuple.__new__
    return new(IndexedFile, (row[0], row[1], new(FileStamp, row[2:6]), *row[6:]))
