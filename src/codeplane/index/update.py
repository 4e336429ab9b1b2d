"""One update of the index: read what may have changed, extract facts, give files their units, link.

Everything happens inside one transaction, so that readers see the old epoch or the new one and nothing between.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from codeplane.core.hashing import sha256_bytes, sha256_normalised
from codeplane.core.secrets import holds_private_key
from codeplane.index.extraction import (
    MANY_BYTES,
    BackgroundTask,
    ExtractionJob,
    ExtractionPool,
    OfferedFacts,
    extract_here,
)
from codeplane.index.facts.encoded import EncodedFacts
from codeplane.index.head_start import FactsByText, HeadStart
from codeplane.index.index_store import IndexedFile, IndexStore, write_files
from codeplane.index.lexical_index import LexicalUpdate, documents_to_rank
from codeplane.index.linking.update import forget_links
from codeplane.index.structure import FileChanges, Links, Structure, StructureUpdate
from codeplane.index.sweep import FileStamp
from codeplane.index.text_pack import PackWriter
from codeplane.index.tree_reader import UNREADABLE, TreeReader
from codeplane.index.units import OwnershipInputs
from codeplane.languages.catalog import LANGUAGES, dialect_of
from codeplane.languages.file_names import language_of

MAX_TEXT_BYTES = 32 * 1024 * 1024
_SNIFF = 8192
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class UpdateInput:
    """What one update works on: the sweep's files, what is known, and what differs by stamp.

    `offered`, `ahead` and `pool` are facts and processes that are at hand already. `is_linked` says that what is known
    has its links.
    """

    found: Mapping[str, FileStamp]
    known: Mapping[str, IndexedFile]
    removed: list[str]
    suspects: list[str]
    holds_tracked: Callable[[str], bool]
    declared: tuple[tuple[str, str], ...]
    progress: Progress
    offered: OfferedFacts
    pool: ExtractionPool | None
    ahead: HeadStart | None
    is_linked: bool


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """What one update found to differ, and the epoch it makes.

    `reaches_others` says that rows of other files changed too; one that is not linked waits for `IndexUpdate.link`.
    """

    epoch: int
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    reaches_others: bool = True
    is_linked: bool = True


@dataclass(slots=True)
class _Reading:
    """A file as it was read, on its way into the index."""

    path: str
    stamp: FileStamp
    checked_ns: int
    text_id: int | None
    problem: str
    dialect: str
    facts_id: int | None = None


class IndexUpdate:
    """Carries one update through its steps inside a transaction.

    `structure` is what the update before left, and afterwards what this one leaves for the next. A large first build
    leaves its links and the ranked text to a second transaction, so that definitions and lines can be asked for before.
    """

    def __init__(
        self,
        root: Path,
        store: IndexStore,
        connection: sqlite3.Connection,
        now_ns: Callable[[], int],
        ranked: LexicalUpdate | None,
        kept: Structure | None,
    ) -> None:
        self.root = root
        self.store = store
        self.connection = connection
        self.now_ns = now_ns
        self.ranked = ranked
        self.structure = kept
        self._background_tasks = ExitStack()
        self._left: list[Callable[[], None]] = []

    def close(self) -> None:
        """End what works for this update."""
        self._background_tasks.close()

    def link(self) -> None:
        """Rank the text and make the links, which the update left to a transaction of their own."""
        for step in self._left:
            step()
        self._left = []
        self._wait_for_ranked()

    def run(self, given: UpdateInput, writer: PackWriter, epoch: int) -> UpdateResult:
        """Write everything that differs; the epoch goes up by one when anything does, or when it is the first."""
        before = {path: given.known[path] for path in given.removed if path in given.known}
        is_much = self._n_source_bytes(given) >= MANY_BYTES
        with TreeReader(self.root, MAX_TEXT_BYTES) as reader:
            intake = _Intake(self, given, reader, writer)
            readings, gone = intake.read_with_others() if is_much else intake.read_here()
        # Linking reads configuration files out of the pack.
        writer.flush()
        removed = sorted({*before, *(path for path in gone if path in given.known)})
        added = [one.path for one in readings if one.path not in given.known]
        changed = [
            one.path
            for one in readings
            if one.path in given.known and _differs(given.known[one.path], one.text_id, one.problem)
        ]
        is_new = bool(added or changed or removed) or epoch == 0
        epoch += is_new
        made = Links.LATER if is_much and not given.known else Links.REACHED if given.is_linked else Links.ALL
        gone_ids = [(given.known[path].file_id,) for path in removed]
        self._forget(gone_ids)
        self._write_files(readings, given.known, epoch)
        rank = partial(self._rank, [*added, *changed], removed, intake.names, epoch if is_much else None)
        if made is not Links.LATER:
            rank()
        reaches_others = False
        if is_new or made is Links.ALL:
            changes = FileChanges(given.known, frozenset(added), frozenset(changed), frozenset(removed))
            asked = OwnershipInputs(self._text_of_path, given.holds_tracked, given.declared)
            update = StructureUpdate(self.connection, asked, self.structure, intake.nameable)
            reaches_others = update.run(changes, epoch, made)
            self.structure = update.structure
            self._left = [rank, update.link_all] if made is Links.LATER else []
        if not self._left:
            self._wait_for_ranked()
        is_linked = not self._left
        return UpdateResult(epoch, tuple(added), tuple(changed), tuple(removed), reaches_others, is_linked)

    def _wait_for_ranked(self) -> None:
        if self.ranked is not None and self.ranked.filled is not None:
            self.ranked.filled()

    def _forget(self, file_ids: list[tuple[int]]) -> None:
        self.connection.executemany("DELETE FROM files WHERE file_id = ?", file_ids)
        forget_links(self.connection, file_ids)

    def _write_files(self, readings: Iterable[_Reading], known: Mapping[str, IndexedFile], epoch: int) -> None:
        rows = []
        for one in readings:
            old = known.get(one.path)
            is_same = old is not None and not _differs(old, one.text_id, one.problem)
            unit_id, module = (old.unit_id, old.module) if old is not None else (None, "")
            rows.append(
                (one.path, *one.stamp, one.checked_ns, one.text_id, one.problem, language_of(one.path), one.dialect,
                 one.facts_id, unit_id, module, old.epoch if is_same and old is not None else epoch)
            )  # fmt: skip
        write_files(self.connection, rows)

    def _background_task(self, name: str, *values: object) -> BackgroundTask:
        return self._background_tasks.enter_context(closing(BackgroundTask(self.store.pack.path, name, *values)))

    def _rank(
        self, differing: Iterable[str], removed: Iterable[str], names: Mapping[int, str], apart_epoch: int | None
    ) -> None:
        """Collect what the ranked text needs of this update; everything when it is filled anew.

        With much to do, another process fills it as the state of an epoch: linking needs one processor only.
        """
        ranked = self.ranked
        if ranked is None:
            return
        ranked.removed.extend(removed)
        wanted = None if ranked.is_new else frozenset(differing)
        ranked.documents.extend(documents_to_rank(self.connection, names, wanted))
        if apart_epoch is not None and ranked.directory is not None:
            documents = [tuple(one) for one in ranked.documents]
            ranked.filled = self._background_task("rank", str(ranked.directory), documents, apart_epoch).answer

    @staticmethod
    def _n_source_bytes(given: UpdateInput) -> int:
        return sum(given.found[path].size for path in given.suspects if dialect_of(path) in LANGUAGES)

    def _text_of_path(self, path: str) -> str | None:
        row = self.connection.execute(
            "SELECT offset, length FROM files JOIN texts USING (text_id) WHERE path = ?", (path,)
        ).fetchone()
        return self.store.pack.text(row[0], row[1]) if row else None


class _Intake:
    """Reads files, puts new texts into the pack and new facts into the database."""

    def __init__(self, update: IndexUpdate, given: UpdateInput, reader: TreeReader, writer: PackWriter) -> None:
        self._given = given
        self._reader = reader
        self._store = update.store
        self._connection = update.connection
        self._writer = writer
        self._now_ns = update.now_ns
        self._wanted: dict[tuple[int, str], list[_Reading]] = {}
        self._jobs: list[tuple[int, str]] = []
        # The identifiers of the facts that were extracted, where the ranked text will ask for them.
        self._wants_names = update.ranked is not None
        self.names: dict[int, str] = {}
        # In a first build outlines are not read before definitions are.
        self.nameable: dict[int, bytes] = {}
        self._head_start = given.ahead
        self._ahead: FactsByText = {}

    def read_here(self) -> tuple[list[_Reading], list[str]]:
        """Read and extract in this process."""
        given = self._given
        readings, gone = [], []
        for number, path in enumerate(given.suspects, start=1):
            reading, job, data = self._reading(path, given.found[path])
            if reading is None:
                gone.append(path)
                continue
            readings.append(reading)
            if job is not None:
                self._keep(job, extract_here(job, data, given.offered))
            given.progress(number, len(given.suspects))
        return readings, gone

    def read_with_others(self) -> tuple[list[_Reading], list[str]]:
        """Read in this process while others extract."""
        with closing(self._given.pool or ExtractionPool(self._store.pack.path)) as pool:
            return self._read_with(pool)

    def _read_with(self, pool: ExtractionPool) -> tuple[list[_Reading], list[str]]:
        given = self._given
        if self._head_start is not None:
            self._head_start.end_soon()
        readings, gone = [], []
        n_jobs = 0
        for path in given.suspects:
            reading, job, _ = self._reading(path, given.found[path])
            if reading is None:
                gone.append(path)
                continue
            readings.append(reading)
            if job is not None:
                n_jobs += 1
                if pool.submit(job):
                    self._writer.flush()
                    pool.send()
        self._writer.flush()
        if self._head_start is not None:
            # By now everything it could have is extracted by others, or will be.
            self._head_start.close()
        n_here = len(given.suspects) - n_jobs
        for number, (job, facts) in enumerate(pool.results(), start=1):
            self._keep(job, facts)
            given.progress(n_here + number, len(given.suspects))
        return readings, gone

    def _reading(self, path: str, stamp: FileStamp) -> tuple[_Reading | None, ExtractionJob | None, bytes]:
        """Return a file as it is, and the job to do when its facts are not known; None when it is gone by now."""
        checked_ns = self._now_ns()
        data, problem = read_text(self._reader, path, stamp.size)
        if data is None and not problem:
            return None, None, b""
        if problem.startswith(UNREADABLE):
            # What could not be read may be readable the next time, without any change of the file.
            checked_ns = 0
        reading = _Reading(path, stamp, checked_ns, None, problem, dialect_of(path))
        if data is None:
            return reading, None, b""
        sha256 = sha256_bytes(data)
        reading.text_id, offset = self._text(data, sha256)
        job = self._job(reading, offset, len(data))
        known = self._facts_ahead().pop((sha256, reading.dialect), None) if job is not None else None
        if job is not None and known is not None:
            self._keep(job, known)
            job = None
        return reading, job, data

    def _facts_ahead(self) -> FactsByText:
        """Return what a head start has extracted, as soon as it is there."""
        if self._head_start is not None and self._head_start.has_ended:
            self._ahead = self._head_start.facts()
            self._head_start = None
        return self._ahead

    def _job(self, reading: _Reading, offset: int, length: int) -> ExtractionJob | None:
        if reading.dialect not in LANGUAGES or reading.text_id is None:
            return None
        key = (reading.text_id, reading.dialect)
        if key in self._wanted:
            self._wanted[key].append(reading)
            return None
        row = self._connection.execute("SELECT facts_id FROM facts WHERE text_id = ? AND dialect = ?", key).fetchone()
        if row is not None:
            reading.facts_id = row[0]
            return None
        self._wanted[key] = [reading]
        self._jobs.append(key)
        return ExtractionJob(len(self._jobs) - 1, offset, length, reading.dialect)

    def _keep(self, job: ExtractionJob, facts: EncodedFacts | None) -> None:
        if facts is None:
            return
        key = self._jobs[job.key]
        cursor = self._connection.execute(
            "INSERT INTO facts (text_id, dialect, link_hash, package, problem, outline, columns)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*key, facts.link_hash, facts.package, facts.problem, facts.outline, facts.columns),
        )
        facts_id = int(cursor.lastrowid or 0)
        if self._wants_names:
            self.names[facts_id] = facts.names
            self.nameable[facts_id] = facts.nameable
        for reading in self._wanted[key]:
            reading.facts_id = facts_id
        # A later file of the same text finds the facts in the database.
        del self._wanted[key]

    def _text(self, data: bytes, sha256: str) -> tuple[int, int]:
        """Return the id of a text and where it lies, adding it when it is new."""
        known = self._store.text_by_hash(self._connection, sha256)
        if known is not None:
            return known.text_id, known.extent.offset
        extent = self._writer.append(data)
        n_lines = data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
        normalised = sha256_normalised(data) if b"\r\n" in data else sha256
        cursor = self._connection.execute(
            "INSERT INTO texts (sha256, normalised, offset, length, line_count) VALUES (?, ?, ?, ?, ?)",
            (sha256, normalised, extent.offset, extent.length, n_lines),
        )
        return int(cursor.lastrowid or 0), extent.offset


def _differs(known: IndexedFile, text_id: int | None, problem: str) -> bool:
    """Tell whether the content differs, not only the stamp."""
    return (known.text_id, known.problem) != (text_id, problem)


def read_text(reader: TreeReader, path: str, size: int) -> tuple[bytes | None, str]:
    """Return the text of a file that had so many bytes; None with the reason why it has none, empty when it is gone."""
    too_large = f"larger than {MAX_TEXT_BYTES} bytes"
    if size > MAX_TEXT_BYTES:
        return None, too_large
    data, problem = reader.read(path)
    if data is not None:
        problem = too_large if len(data) > MAX_TEXT_BYTES else _text_problem(data)
    return None if problem else data, problem


def _text_problem(data: bytes) -> str:
    """Return why these bytes are not indexed as text, empty when they are."""
    if b"\0" in data[:_SNIFF]:
        return "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "binary"
    if holds_private_key(data):
        return "a private key"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "not utf-8"
    return ""
