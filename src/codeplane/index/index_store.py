"""What the index knows about files, in `index.db`, with their text in a pack beside it.

Everything here is derived: a file that is missing, damaged or of another schema is thrown away and built again.
"""

import json
import marshal
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_bytes
from codeplane.core.ids import RandomIds
from codeplane.core.logs import fields, get_logger
from codeplane.core.version import VERSION
from codeplane.index.facts.outline import FORMAT
from codeplane.index.sweep import FileStamp
from codeplane.index.text_pack import Extent, TextPack
from codeplane.store.sqlite import Database, Schema

_log = get_logger(__name__)

_FILE_COLUMNS = (
    "path, mtime_ns, ctime_ns, size, inode, checked_ns, text_id, problem, language, dialect, facts_id, unit_id, module,"
    " epoch"
)
_SELECT_FILES: Final = (
    "SELECT file_id, path, mtime_ns, ctime_ns, size, inode, checked_ns, text_id, problem, language, epoch, facts_id,"
    " unit_id, module, dialect FROM files"
)
_SELECT_TEXTS: Final = "SELECT text_id, offset, length, line_count FROM texts"

# What is said of a database that is not what it should be.
DAMAGE: Final = frozenset({"STORE_CORRUPT", "INDEX_CORRUPT", "QUERY_FAILED"})
PACK_IS_CUT: Final = "its text file is missing or cut"
# Other processes may be building the whole index.
_LOCK_SECONDS: Final = 600.0
# Of so many epochs it is kept which facts the files had.
KEPT_SNAPSHOTS: Final = 50
# Where it stands that the links of the newest epoch are still to be made.
UNLINKED: Final = "unlinked"
# Where it stands which contexts were declared when the index was made.
DECLARED: Final = "declared_contexts"
# So long a reader may go on with a pack that was replaced.
_READERS_SECONDS: Final = 600

# Facts are kept as this version writes them; those of another version are made anew.
FACTS_FORMAT = f"{VERSION}/{FORMAT}/{marshal.version}"

# Filling an index row by row takes longer than making it anew, from so many rows on.
_MANY_ROWS: Final = 10_000
# So many rows go into a table with one statement; row by row it takes twice as long.
_ROWS_AT_ONCE: Final = 32

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

    `problem` says why its text is not indexed, empty when it is; `module` names its modules, one per line, empty when
    it is not linked.
    """

    file_id: int
    path: str
    stamp: FileStamp
    checked_ns: int
    text_id: int | None
    problem: str
    language: str
    epoch: int
    facts_id: int | None = None
    unit_id: int | None = None
    module: str = ""
    dialect: str = ""


class IndexedText(NamedTuple):
    """A text by its content, shared by every file and branch that holds it."""

    text_id: int
    extent: Extent
    line_count: int


class StoredState(NamedTuple):
    """What the database holds of one epoch: the files, the rows of texts that some file holds, the size of the pack.

    A large first build publishes everything but the links before them: until these follow, it is not linked.
    """

    epoch: int
    files: dict[str, IndexedFile]
    text_rows: Sequence[tuple[Any, ...]]
    pack_size: int
    is_linked: bool = True


class Published(NamedTuple):
    """What tells one published state from every other: the epoch, the pack that holds its texts, and its links."""

    epoch: int
    pack: str
    is_linked: bool


def declared_text(declared: Iterable[tuple[str, str]]) -> str:
    """Return declared contexts as they are kept."""
    return json.dumps([list(one) for one in declared])


class IndexStore:
    """Opens `index.db` and its pack, and starts over when they cannot be trusted.

    `last_epoch` gives the last epoch that anybody was told of; those of a new database go on above it.
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
            if self.meta("format") != FACTS_FORMAT:
                self.set_meta({"format": FACTS_FORMAT, "epoch": str(max(self.epoch(), self._last_epoch()))})
        except CodePlaneError as error:
            if error.code not in DAMAGE:
                raise
            self.start_over("index.db was damaged")

    def _pack(self) -> TextPack:
        """Return this database's own pack; its name is drawn, so that no state of another index can read it."""
        with self.database.write() as connection:
            connection.execute("INSERT OR IGNORE INTO meta VALUES ('pack', ?)", (drawn_pack_name(),))
            name = str(connection.execute("SELECT value FROM meta WHERE key = 'pack'").fetchone()[0])
        self._remove_old_packs(name)
        return TextPack(self.directory / name)

    def _remove_old_packs(self, name: str) -> None:
        """Remove the packs that compaction replaced, unless somebody may still be reading them."""
        with suppress(OSError):
            newest = (self.directory / name).stat().st_mtime
            for pack in self.directory.glob("text-*.pack"):
                if pack.name != name and pack.stat().st_mtime < newest - _READERS_SECONDS:
                    pack.unlink()

    def follow_pack(self, connection: sqlite3.Connection) -> None:
        """Use the pack that the database names now; another process may have written a new one."""
        row = connection.execute("SELECT value FROM meta WHERE key = 'pack'").fetchone()
        if row is not None and row[0] != self.pack.path.name:
            self.pack = TextPack(self.directory / str(row[0]))

    def reopen(self) -> None:
        """Use the files that are there now, after another process removed or replaced them."""
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
        """Return what the newest state is known by."""
        with self.database.read() as connection:
            return published_in(connection)

    def pack_size(self) -> int:
        """Return how many bytes of the pack are in use or were."""
        return number_of(self.meta("pack_size", "0"))

    def load(self) -> StoredState:
        """Return everything that is known of the newest epoch, read in one transaction."""
        with self.database.read() as connection:
            connection.execute("BEGIN")
            try:
                self.follow_pack(connection)
                return stored_state(connection)
            finally:
                connection.execute("ROLLBACK")

    def text_by_hash(self, connection: sqlite3.Connection, sha256: str) -> IndexedText | None:
        """Return a text by its raw hash, also one that no file holds any more."""
        row = connection.execute(f"{_SELECT_TEXTS} WHERE sha256 = ?", (sha256,)).fetchone()
        return text_from(row) if row else None

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
        raise CodePlaneError("INDEX_CORRUPT", f"`{text[:40]}` stands in the index in the place of a number.") from error


def drawn_pack_name() -> str:
    """Return a new name for a pack."""
    return f"text-{RandomIds().new('p')[2:12]}.pack"


def published_in(connection: sqlite3.Connection) -> Published:
    """Return what the newest state that a connection sees is known by."""
    rows = connection.execute("SELECT key, value FROM meta WHERE key IN ('epoch', 'pack', ?)", (UNLINKED,))
    values = {row[0]: row[1] for row in rows}
    return Published(number_of(values.get("epoch", "0")), str(values.get("pack", "")), values.get(UNLINKED, "") == "")


def write_meta(connection: sqlite3.Connection, values: Mapping[str, str]) -> None:
    """Write values of the index's own inside a transaction."""
    connection.executemany(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", list(values.items())
    )


def insert_rows(
    connection: sqlite3.Connection, into: str, rows: Sequence[tuple[object, ...]], on_conflict: str = ""
) -> None:
    """Insert rows; `into` is the statement before their values and `on_conflict` what stands after them."""
    if not rows:
        return
    one = f"({', '.join('?' * len(rows[0]))})"
    n_together = len(rows) - len(rows) % _ROWS_AT_ONCE
    if n_together:
        firsts = range(0, n_together, _ROWS_AT_ONCE)
        together = (tuple(chain.from_iterable(rows[first : first + _ROWS_AT_ONCE])) for first in firsts)
        connection.executemany(f"{into} VALUES {', '.join([one] * _ROWS_AT_ONCE)} {on_conflict}", together)
    connection.executemany(f"{into} VALUES {one} {on_conflict}", rows[n_together:])


@contextmanager
def filling_definitions(connection: sqlite3.Connection, n_rows: int) -> Iterator[None]:
    """Insert rows into `definitions`; where there were none, its indexes are made at the end."""
    is_first = connection.execute("SELECT 1 FROM definitions LIMIT 1").fetchone() is None
    if n_rows < _MANY_ROWS or not is_first:
        yield
        return
    indexes = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'definitions' AND sql IS NOT NULL"
    ).fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    yield
    for _, statement in indexes:
        connection.execute(statement)


def write_files(connection: sqlite3.Connection, rows: Sequence[tuple[object, ...]]) -> None:
    """Insert or replace files; a row has the columns of `_FILE_COLUMNS`."""
    names = _FILE_COLUMNS.split(", ")
    updates = ", ".join(f"{name} = excluded.{name}" for name in names[1:])
    insert_rows(connection, f"INSERT INTO files ({_FILE_COLUMNS})", rows, f"ON CONFLICT (path) DO UPDATE SET {updates}")


def stored_state(connection: sqlite3.Connection) -> StoredState:
    """Return everything that is known of the epoch that a connection sees."""
    published = published_in(connection)
    size = connection.execute("SELECT value FROM meta WHERE key = 'pack_size'").fetchone()
    held = f"{_SELECT_TEXTS} WHERE text_id IN (SELECT text_id FROM files WHERE text_id IS NOT NULL)"  # noqa: S608 - ours
    return StoredState(
        published.epoch,
        {row[1]: _file(row) for row in _rows(connection, _SELECT_FILES)},
        _rows(connection, held),
        number_of(size[0] if size else "0"),
        published.is_linked,
    )


def stored_files(connection: sqlite3.Connection, paths: Iterable[str]) -> dict[str, IndexedFile]:
    """Return some files by path; one that is not there is left out."""
    found = (connection.execute(f"{_SELECT_FILES} WHERE path = ?", (path,)).fetchone() for path in paths)
    return {row[1]: _file(row) for row in found if row is not None}


def stored_texts(connection: sqlite3.Connection, text_ids: Iterable[int | None]) -> list[tuple[Any, ...]]:
    """Return the rows of some texts."""
    found = (connection.execute(f"{_SELECT_TEXTS} WHERE text_id = ?", (text_id,)).fetchone() for text_id in text_ids)
    return [tuple(row) for row in found if row is not None]


def _rows(connection: sqlite3.Connection, query: str) -> list[tuple[Any, ...]]:
    """Return all rows of a query as plain tuples, which are made much faster than rows with names."""
    cursor = connection.cursor()
    cursor.row_factory = None
    # All at once takes a fifth less than one by one.
    return cursor.execute(query).fetchall()


def _file(row: Sequence[Any]) -> IndexedFile:
    # Naming the fields would take twice as long.
    new = tuple.__new__
    return new(IndexedFile, (row[0], row[1], new(FileStamp, row[2:6]), *row[6:]))


def text_from(row: Sequence[Any]) -> IndexedText:
    """Return a text from its row."""
    return IndexedText(row[0], Extent(row[1], row[2]), row[3])
