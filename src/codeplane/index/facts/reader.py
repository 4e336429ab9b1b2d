"""Read stored facts of files: outlines, columns, links and the texts they point into, inside one read transaction."""

import sqlite3
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts.columns import Columns, decode_columns
from codeplane.index.facts.outline import Outline
from codeplane.index.facts.outline_storage import decode_outline
from codeplane.index.index_store import IndexStore
from codeplane.index.linking.stored_links import Target, decode_resolution
from codeplane.index.symbol_names import folded
from codeplane.index.text_pack import TextPack

_SELECT_FILES = "SELECT file_id, path, language, text_id, facts_id, unit_id, module FROM files"
_MAX_KEPT = 400
_MAX_KEPT_FLAGS = 200_000
_MAX_SHELVED = 4_000
_T = TypeVar("_T")
Place = tuple[int, int]
"""A definition: the id of its file, and its number among the definitions of that file."""


class FactFile(NamedTuple):
    """A file that may have facts; a tuple, because a common name is defined in hundreds of them."""

    file_id: int
    path: str
    language: str
    text_id: int | None
    facts_id: int | None
    unit_id: int | None
    modules: str


class FactCache:
    """What was decoded lately, by the facts it belongs to; shared by all readers, because facts never change."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, int], object] = OrderedDict()
        self._flags: dict[str, dict[int, bool]] = {}
        self._shelf: OrderedDict[tuple[str, int], object] = OrderedDict()

    def get(self, kind: str, number: int, make: Callable[[], _T]) -> _T:
        """Return a kept value or make it."""
        key = (kind, number)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]  # type: ignore[return-value]  # put there by the same kind of caller
        value = make()
        with self._lock:
            self._kept[key] = value
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
        return value

    def shelved(self, kind: str, number: int, make: Callable[[], _T]) -> _T:
        """Return a kept value or make it; for small values of which thousands are needed at once."""
        key = (kind, number)
        with self._lock:
            if key in self._shelf:
                self._shelf.move_to_end(key)
                return self._shelf[key]  # type: ignore[return-value]  # put there by the same kind of caller
        value = make()
        with self._lock:
            self._shelf[key] = value
            while len(self._shelf) > _MAX_SHELVED:
                self._shelf.popitem(last=False)
        return value

    def flags(self, name: str) -> dict[int, bool]:
        """Return the kept answers to one question, by facts; these are small, so that many are kept."""
        known = self._flags.setdefault(name, {})
        if len(known) >= _MAX_KEPT_FLAGS:
            known.clear()
        return known


class FactReader:
    """Reads facts through one connection.

    Invariant: everything it returns is of one state of the database, `epoch`.
    """

    def __init__(self, connection: sqlite3.Connection, store: IndexStore, cache: FactCache) -> None:
        self.connection = connection
        self._cache = cache
        self._files: dict[int, FactFile | None] = {}
        self.epoch = int(self._meta("epoch") or 0)
        # An index that is built again reuses numbers, but has a pack of another name.
        self._generation = self._meta("pack") or ""
        # By the name that this state of the database gives: another process may have written a new one.
        self._pack = TextPack(store.directory / (self._meta("pack") or ""))

    def _meta(self, key: str) -> str | None:
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else None

    def file(self, file_id: int) -> FactFile | None:
        """Return a file by its id."""
        if file_id not in self._files:
            self._files[file_id] = self._file("file_id = ?", file_id)
        return self._files[file_id]

    def file_at(self, path: str) -> FactFile | None:
        """Return a file by its path."""
        return self._file("path = ?", path)

    def files_defining(self, name: str) -> frozenset[str]:
        """Return the paths of the files that define exactly this name."""
        rows = self.connection.execute(
            "SELECT DISTINCT path FROM definitions JOIN files USING (file_id) WHERE folded = ? AND name = ?",
            (folded(name), name),
        )
        return frozenset(str(row[0]) for row in rows)

    def definitions_like(self, word: str, limit: int) -> list[tuple[str, int, int, str]]:
        """Return path, file, number and name of definitions whose name is a word in any spelling, by path."""
        rows = self.connection.execute(
            "SELECT path, file_id, number, name FROM definitions JOIN files USING (file_id)"
            " WHERE folded = ? ORDER BY path, number LIMIT ?",
            (folded(word), limit),
        )
        return [(str(path), int(file_id), int(number), str(name)) for path, file_id, number, name in rows]

    def _file(self, condition: str, value: object) -> FactFile | None:
        row = self.connection.execute(f"{_SELECT_FILES} WHERE {condition}", (value,)).fetchone()
        return FactFile(*row) if row else None

    def files_with_facts(self, accepts_language: Callable[[str], bool]) -> Iterator[FactFile]:
        """Yield the files with facts whose language is accepted, by path."""
        rows = self.connection.execute(f"{_SELECT_FILES} WHERE facts_id IS NOT NULL ORDER BY path").fetchall()
        return (FactFile(*row) for row in rows if accepts_language(row[2]))

    def outline_of(self, file_id: int) -> Outline:
        """Return the outline of a file.

        Raises:
            CodePlaneError: INDEX_CORRUPT when it has none.
        """
        file = self.file(file_id)
        return self.outline(file.facts_id or 0 if file is not None else 0)

    def outline(self, facts_id: int) -> Outline:
        """Return the outline of some facts."""
        return self._cache.get(
            f"outline {self._generation}", facts_id, lambda: decode_outline(self._blob("outline", facts_id))
        )

    def flagged(self, name: str, facts_ids: Iterable[int], tell: Callable[[Outline], bool]) -> set[int]:
        """Return the facts of which something is true; kept, so that thousands are not decoded for each question."""
        known = self._cache.flags(f"{name} {self._generation}")
        found = set()
        for facts_id in facts_ids:
            is_true = known.get(facts_id)
            if is_true is None:
                is_true = known[facts_id] = tell(decode_outline(self._blob("outline", facts_id)))
            if is_true:
                found.add(facts_id)
        return found

    def of_epoch(self, name: str, make: Callable[[], _T]) -> _T:
        """Return something that follows from all facts of this epoch; made once, because it takes a second or so."""
        return self._cache.get(f"{name} {self._generation}", self.epoch, make)

    def kept(self, name: str, facts_id: int, make: Callable[[], _T]) -> _T:
        """Return something that follows from some facts and what `name` says; made once."""
        return self._cache.shelved(f"{name} {self._generation}", facts_id, make)

    def columns(self, facts_id: int) -> Columns:
        """Return the columns of some facts."""
        return self._cache.get(
            f"columns {self._generation}", facts_id, lambda: decode_columns(self._blob("columns", facts_id))
        )

    def _blob(self, name: str, facts_id: int) -> bytes:
        row = self.connection.execute(
            f"SELECT {name} FROM facts WHERE facts_id = ?",  # noqa: S608 - our own names
            (facts_id,),
        ).fetchone()
        if row is None:
            raise CodePlaneError("INDEX_CORRUPT", f"The facts {facts_id} are missing from the index.")
        return bytes(row[0])

    def resolution(self, file_id: int) -> tuple[list[Target], "array[int]"]:
        """Return what the expressions of a file mean; empty for a file that is not linked."""
        row = self.connection.execute("SELECT data FROM resolutions WHERE file_id = ?", (file_id,)).fetchone()
        return decode_resolution(row[0]) if row else ([], array("I"))

    def text(self, file: FactFile) -> bytes:
        """Return the text of a file."""
        row = self.connection.execute("SELECT offset, length FROM texts WHERE text_id = ?", (file.text_id,)).fetchone()
        data = self._pack.data(row[0], row[1]) if row else None
        if data is None:
            raise CodePlaneError("INDEX_CORRUPT", f"The text of {file.path} is missing from the index.")
        return data

    def uid(self, file_id: int, number: int) -> bytes | None:
        """Return the identity of a definition that others can name."""
        row = self.connection.execute(
            "SELECT uid FROM definitions WHERE file_id = ? AND number = ?", (file_id, number)
        ).fetchone()
        return bytes(row[0]) if row else None


@contextmanager
def reading(store: IndexStore, cache: FactCache) -> Iterator[FactReader]:
    """Give a reader whose answers are all of one epoch."""
    with store.database.read() as connection:
        connection.execute("BEGIN")
        try:
            yield FactReader(connection, store, cache)
        except CodePlaneError as error:
            if error.code == "INDEX_CORRUPT":
                # The next question finds it built again.
                store.distrust(error.message)
            raise
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")


def line_and_column(text: bytes, offset: int) -> tuple[int, int]:
    """Return the 1-based line and 0-based byte column of an offset."""
    start = text.rfind(b"\n", 0, offset) + 1
    return text.count(b"\n", 0, start) + 1, offset - start
