"""The one writer of the index: applies the changes that a scan found, inside one transaction.

Readers see the old epoch or the new one and nothing between. An update reads what may have changed, extracts facts,
gives files their units, and links.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from codeplane.core.hashing import sha256_bytes, sha256_normalised
from codeplane.core.secrets import holds_private_key
from codeplane.index.extraction import MANY_BYTES, ExtractionJob, ExtractionPool
from codeplane.index.facts.encoded import EncodedFacts, encode_facts
from codeplane.index.index_store import IndexedFile
from codeplane.index.linking.update import forget_links
from codeplane.index.scan import FileStamp
from codeplane.index.structure import FileChanges, Structure, StructureUpdate
from codeplane.index.text_pack import PackWriter, TextPack
from codeplane.index.tree_reader import UNREADABLE, TreeReader
from codeplane.index.units import OwnershipInputs
from codeplane.languages.catalog import LANGUAGES, dialect_of, language_of
from codeplane.languages.facts import FileFacts

MAX_TEXT_BYTES: Final = 32 * 1024 * 1024
_SNIFF: Final = 8192
Progress = Callable[[int, int], None]
OfferedFacts = Mapping[tuple[str, bytes], FileFacts]
"""Facts that an edit has just extracted, by dialect and text."""

_COLUMNS: Final = (
    "path, mtime_ns, ctime_ns, size, inode, checked_ns, text_id, problem, language, dialect, unit_id, module, epoch"
)
_WRITE_FILE: Final = (
    f"INSERT INTO files ({_COLUMNS}, facts_id) VALUES ({', '.join('?' * 13)},"  # noqa: S608 - our own words
    " (SELECT facts_id FROM facts WHERE text_id = ?7 AND dialect = ?10)) ON CONFLICT (path) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in (*_COLUMNS.split(", ")[1:], "facts_id"))
)


@dataclass(frozen=True, slots=True)
class UpdateInput:
    """What one update works on.

    `found` are the files of the scan, `known` those of the epoch before, `removed` and `suspects` the paths that are
    gone and those that may have changed.
    """

    root: Path
    found: Mapping[str, FileStamp]
    known: Mapping[str, IndexedFile]
    removed: list[str]
    suspects: list[str]
    epoch: int
    holds_tracked: Callable[[str], bool]
    declared: tuple[tuple[str, str], ...]
    now_ns: Callable[[], int]
    progress: Progress
    offered: OfferedFacts


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """What one update found to differ, the epoch it makes, and the structure that the next update can go on with.

    `reaches_others` says that rows of other files changed too.
    """

    epoch: int
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    reaches_others: bool
    structure: Structure | None


class _Reading(NamedTuple):
    """A file as it was read, on its way into the index."""

    path: str
    stamp: FileStamp
    checked_ns: int
    text_id: int | None
    problem: str
    dialect: str

    def differs_from(self, known: IndexedFile) -> bool:
        """Tell whether the content differs, not only the stamp."""
        return (known.text_id, known.problem) != (self.text_id, self.problem)


def apply_changes(
    connection: sqlite3.Connection, pack: TextPack, writer: PackWriter, given: UpdateInput, kept: Structure | None
) -> UpdateResult:
    """Write everything that differs; the epoch goes up by one when anything does, or when it is the first."""
    known = given.known
    with TreeReader(given.root, MAX_TEXT_BYTES) as reader:
        readings = {one.path: one for one in _read_files(connection, pack, writer, given, reader)}
    # Linking reads configuration files out of the pack.
    writer.flush()
    removed = [path for path in (*given.removed, *given.suspects) if path in known and path not in readings]
    added = [path for path in readings if path not in known]
    changed = [path for path, one in readings.items() if path in known and one.differs_from(known[path])]
    is_new = bool(added or changed or removed) or given.epoch == 0
    epoch = given.epoch + is_new
    gone = [(known[path].file_id,) for path in removed]
    connection.executemany("DELETE FROM files WHERE file_id = ?", gone)
    forget_links(connection, gone)
    connection.executemany(_WRITE_FILE, [_row(one, known.get(one.path), epoch) for one in readings.values()])
    reaches_others = False
    if is_new:
        changes = FileChanges(known, frozenset(added), frozenset(changed), frozenset(removed))
        asked = OwnershipInputs(_text_of(connection, pack), given.holds_tracked, given.declared)
        update = StructureUpdate(connection, asked, kept)
        reaches_others = update.run(changes, epoch)
        kept = update.structure
    return UpdateResult(epoch, tuple(added), tuple(changed), tuple(sorted(removed)), reaches_others, kept)


def _read_files(
    connection: sqlite3.Connection, pack: TextPack, writer: PackWriter, given: UpdateInput, reader: TreeReader
) -> Iterator[_Reading]:
    """Read the suspects, keep their texts and facts, and yield those that still exist."""
    n_bytes = sum(given.found[path].size for path in given.suspects if dialect_of(path) in LANGUAGES)
    n_all = len(given.suspects)
    if n_bytes < MANY_BYTES:
        for number, path in enumerate(given.suspects, start=1):
            reading, job, data = _read_file(connection, writer, given, reader, path)
            if job is not None:
                known = given.offered.get((job.dialect, data))
                _keep_facts(connection, job, encode_facts(data, job.dialect, known))
            if reading is not None:
                yield reading
            given.progress(number, n_all)
        return
    asked: set[tuple[int, str]] = set()
    with closing(ExtractionPool(pack.path)) as pool:
        for path in given.suspects:
            reading, job, _ = _read_file(connection, writer, given, reader, path)
            if job is not None and job[:2] not in asked:
                asked.add(job[:2])
                if pool.submit(job):
                    writer.flush()
                    pool.send()
            if reading is not None:
                yield reading
        writer.flush()
        for number, (job, facts) in enumerate(pool.results(), start=n_all - len(asked) + 1):
            _keep_facts(connection, job, facts)
            given.progress(number, n_all)


def _read_file(
    connection: sqlite3.Connection, writer: PackWriter, given: UpdateInput, reader: TreeReader, path: str
) -> tuple[_Reading | None, ExtractionJob | None, bytes]:
    """Return a file as it is, None when it is gone; and the job to do when its facts are not known."""
    stamp, checked_ns, dialect = given.found[path], given.now_ns(), dialect_of(path)
    data, problem = _read_text(reader, path, stamp.size)
    if data is None and not problem:
        return None, None, b""
    if problem.startswith(UNREADABLE):
        # It may be readable the next time, without any change of the file.
        checked_ns = 0
    if data is None:
        return _Reading(path, stamp, checked_ns, None, problem, dialect), None, b""
    text_id, offset = _keep_text(connection, writer, data)
    reading = _Reading(path, stamp, checked_ns, text_id, problem, dialect)
    query = "SELECT 1 FROM facts WHERE text_id = ? AND dialect = ?"
    if dialect not in LANGUAGES or connection.execute(query, (text_id, dialect)).fetchone() is not None:
        return reading, None, data
    return reading, ExtractionJob(text_id, dialect, offset, len(data)), data


def _keep_text(connection: sqlite3.Connection, writer: PackWriter, data: bytes) -> tuple[int, int]:
    """Return the id of a text and its offset in the pack, adding it when it is new."""
    sha256 = sha256_bytes(data)
    known = connection.execute("SELECT text_id, offset FROM texts WHERE sha256 = ?", (sha256,)).fetchone()
    if known is not None:
        return known[0], known[1]
    offset = writer.append(data)
    n_lines = data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
    normalised = sha256_normalised(data) if b"\r\n" in data else sha256
    cursor = connection.execute(
        "INSERT INTO texts (sha256, normalised, offset, length, line_count) VALUES (?, ?, ?, ?, ?)",
        (sha256, normalised, offset, len(data), n_lines),
    )
    return int(cursor.lastrowid or 0), offset


def _keep_facts(connection: sqlite3.Connection, job: ExtractionJob, facts: EncodedFacts | None) -> None:
    if facts is not None:
        connection.execute(
            "INSERT INTO facts (text_id, dialect, outline, columns, link_hash, package, problem)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (job.text_id, job.dialect, *facts),
        )


def _row(one: _Reading, old: IndexedFile | None, epoch: int) -> tuple[object, ...]:
    unit_id, module = (old.unit_id, old.module) if old is not None else (None, "")
    changed = old.epoch if old is not None and not one.differs_from(old) else epoch
    return (one.path, *one.stamp, one.checked_ns, one.text_id, one.problem, language_of(one.path), one.dialect,
            unit_id, module, changed)  # fmt: skip


def _text_of(connection: sqlite3.Connection, pack: TextPack) -> Callable[[str], str | None]:
    """Return a function that gives the text of an indexed file, None when it has none."""

    def read(path: str) -> str | None:
        row = connection.execute(
            "SELECT offset, length FROM files JOIN texts USING (text_id) WHERE path = ?", (path,)
        ).fetchone()
        return pack.text(row[0], row[1]) if row else None

    return read


def _read_text(reader: TreeReader, path: str, size: int) -> tuple[bytes | None, str]:
    """Return the text of a file of this size; or None and the reason, empty when the file is gone."""
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
