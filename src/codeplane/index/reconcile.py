"""Bring the index up to date with the files: stat first, hash only what may have changed, publish an epoch.

Calls that arrive together share one sweep that began after they arrived; a failed update leaves the old epoch.
"""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_bytes, sha256_normalised
from codeplane.core.paths import RepoPath
from codeplane.index.discovery import LeftOut
from codeplane.index.index_store import IndexedFile, IndexedText, IndexStore, write_files, write_meta
from codeplane.index.source_text import holds_private_key, open_source
from codeplane.index.sweep import FileStamp, Sweep, Sweeper
from codeplane.index.text_pack import PackWriter, TextPack
from codeplane.languages.detect import language_of

MAX_TEXT_BYTES = 32 * 1024 * 1024
_SNIFF = 8192
_PROSE = frozenset({"markdown", "rst", "text", "json", "yaml", "toml", "xml", "ini", "html", "css", "unknown"})
_TEST_MARKS = ("test/", "tests/", "testing/", "spec/", "__tests__/", "test_", "_test.", ".test.", ".spec.")


@dataclass(frozen=True, slots=True)
class ReconcileReport:
    """What one update did; `renamed` pairs old and new paths whose content is the same."""

    epoch: int
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    n_files: int = 0
    sweep_ms: float = 0.0
    total_ms: float = 0.0
    healed: str = ""

    @property
    def is_unchanged(self) -> bool:
        """Tell whether nothing differed."""
        return not (self.added or self.changed or self.removed)


@dataclass(frozen=True, slots=True)
class IndexState:
    """A consistent view: the files and texts of one epoch, and what is left out of it."""

    epoch: int
    files: dict[str, IndexedFile]
    texts: dict[int, IndexedText]
    left_out: tuple[LeftOut, ...]
    pack: TextPack
    pack_size: int
    in_order: tuple[IndexedFile, ...]


class Reconciler:
    """Keeps one working tree's index current.

    Invariant: `state` is what the newest finished update published; it is replaced, never changed.
    """

    def __init__(self, root: Path, store: IndexStore, sweeper: Sweeper, now_ns: Callable[[], int]) -> None:
        self._root = root
        self.store = store
        self._sweeper = sweeper
        self._now_ns = now_ns
        self._running = threading.Lock()
        self._turn = threading.Condition()
        self._started = 0
        self._finished = 0
        self._last: ReconcileReport | None = None
        self._failure: CodePlaneError | None = None
        self._kept_decisions: tuple[str, list[LeftOut]] | None = None
        self.state: IndexState | None = None

    def ensure_fresh(self) -> ReconcileReport:
        """Return after an update that began after this call; several callers may share it.

        Raises:
            CodePlaneError: the update failed; the index keeps its old epoch.
        """
        with self._turn:
            wanted = self._started + 1
        with self._running:
            with self._turn:
                if self._finished >= wanted and self._last is not None and self._failure is None:
                    return self._last
                self._started += 1
                number = self._started
            try:
                self._last = self._update()
                self._failure = None
            except CodePlaneError as error:
                self._failure = error
                raise
            finally:
                with self._turn:
                    self._finished = number
            return self._last

    def _update(self) -> ReconcileReport:
        begun = time.perf_counter()
        if self.state is None:
            self._take_over_decisions()
        found = self._sweeper.sweep()
        swept = time.perf_counter()
        try:
            report = self._apply(found)
        except CodePlaneError as error:
            if error.code == "STORE_CORRUPT":
                self.store.start_over("index.db was damaged")
            elif error.code == "DATABASE_UNAVAILABLE":
                self.store.reopen()
            else:
                raise
            self.state = None
            report = self._apply(found)
        self._keep_decisions(found)
        ended = time.perf_counter()
        return ReconcileReport(
            *report, n_files=len(found.files), sweep_ms=(swept - begun) * 1000, total_ms=(ended - begun) * 1000,
            healed=self.store.healed,
        )  # fmt: skip

    def _apply(
        self, found: Sweep
    ) -> tuple[int, tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...]]:
        # Before anything is compared: another process may have put other files in the place of these.
        self.store.database.check_file()
        known = self._known_files()
        removed = [path for path in known if path not in found.files]
        suspects = [path for path, stamp in found.files.items() if _may_differ(known.get(path), stamp)]
        if not removed and not suspects and self.state is not None:
            self._publish_left_out(found)
            return self.state.epoch, (), (), (), ()
        return self._write(found, known, sorted(removed), sorted(suspects))

    def _known_files(self) -> dict[str, IndexedFile]:
        """Return what the database knows, from memory unless another process has published since."""
        if self.state is not None and self.store.epoch() == self.state.epoch:
            return self.state.files
        self.state = None
        return self.store.files()

    def _take_over_decisions(self) -> None:
        """Let the first sweep of this process use what the last one decided about paths."""
        kept = self.store.meta("left_out")
        if kept:
            stamps = {path: file.stamp for path, file in self.store.files().items()}
            self._sweeper.prime(stamps, [LeftOut(*row) for row in json.loads(kept)], self.store.meta("decided_by"))

    def _keep_decisions(self, found: Sweep) -> None:
        """Keep what was decided for the next process, when it differs from what is kept."""
        now = (self._sweeper.decided_by, found.left_out)
        if now == self._kept_decisions:
            return
        rows = [[item.path, item.rule, item.source, item.is_directory] for item in found.left_out]
        self.store.set_meta({"left_out": json.dumps(rows), "decided_by": self._sweeper.decided_by})
        self._kept_decisions = now

    def _publish_left_out(self, found: Sweep) -> None:
        if self.state is not None and list(self.state.left_out) != found.left_out:
            state = self.state
            self.state = replace(state, left_out=tuple(found.left_out))

    def _write(
        self, found: Sweep, known: dict[str, IndexedFile], removed: list[str], suspects: list[str]
    ) -> tuple[int, tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...]]:
        added: list[str] = []
        changed: list[str] = []
        with self.store.database.write() as connection:
            epoch = int(_meta(connection, "epoch", "0"))
            size = int(_meta(connection, "pack_size", "0"))
            with self.store.pack.appending(size) as writer:
                intake = _Intake(self._root, self.store, connection, writer, self._now_ns)
                rows = []
                for path in suspects:
                    row = intake.row(path, found.files[path], known.get(path), epoch + 1)
                    if row is None:
                        removed.append(path)
                        continue
                    rows.append(row)
                    if path not in known:
                        added.append(path)
                    elif intake.differs(known[path], row):
                        changed.append(path)
            removed = [path for path in removed if path in known]
            connection.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in removed])
            write_files(connection, rows)
            is_new_epoch = bool(added or changed or removed) or epoch == 0
            epoch += is_new_epoch
            write_meta(connection, {"epoch": str(epoch), "pack_size": str(writer.size)})
        files = self.store.files()
        renamed = _renames(known, files, removed, added)
        self.state = IndexState(
            epoch=epoch,
            files=files,
            texts=self.store.texts(),
            left_out=tuple(found.left_out),
            pack=self.store.pack,
            pack_size=self.store.pack_size(),
            in_order=tuple(sorted(files.values(), key=_rank)),
        )
        return epoch, tuple(added), tuple(changed), tuple(removed), renamed


class _Intake:
    """Reads files that may have changed and puts new texts into the pack."""

    def __init__(
        self,
        root: Path,
        store: IndexStore,
        connection: sqlite3.Connection,
        writer: PackWriter,
        now_ns: Callable[[], int],
    ) -> None:
        self._root = root
        self._store = store
        self._connection = connection
        self._writer = writer
        self._now_ns = now_ns

    def row(self, path: str, stamp: FileStamp, known: IndexedFile | None, epoch: int) -> tuple[object, ...] | None:
        """Return the row for one file, None when it is gone by now."""
        checked_ns = self._now_ns()
        text_id: int | None = None
        problem = ""
        if stamp.size > MAX_TEXT_BYTES:
            problem = f"larger than {MAX_TEXT_BYTES} bytes"
        else:
            data, problem = self._read(path)
            if data is None and not problem:
                return None
            if data is not None:
                problem = _text_problem(data)
                text_id = None if problem else self._text_id(data)
        is_same = known is not None and known.text_id == text_id and known.problem == problem
        fields = (stamp.mtime_ns, stamp.ctime_ns, stamp.size, stamp.inode, checked_ns, text_id, problem)
        return (path, *fields, language_of(path), known.epoch if is_same and known is not None else epoch)

    @staticmethod
    def differs(known: IndexedFile, row: tuple[object, ...]) -> bool:
        """Tell whether the content differs, not only the stamp."""
        return (known.text_id, known.problem) != (row[6], row[7])

    def _read(self, path: str) -> tuple[bytes | None, str]:
        try:
            descriptor = open_source(self._root, RepoPath.parse(path))
        except CodePlaneError as error:
            return None, "" if error.code in {"FILE_NOT_FOUND", "NOT_A_FILE"} else error.message
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            try:
                return file.read(MAX_TEXT_BYTES + 1), ""
            except OSError as error:
                return None, f"unreadable: {error.strerror}"

    def _text_id(self, data: bytes) -> int:
        sha256 = sha256_bytes(data)
        known = self._store.text_by_hash(self._connection, sha256)
        if known is not None:
            return known.text_id
        extent = self._writer.append(data)
        n_lines = data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))
        normalised = sha256_normalised(data) if b"\r\n" in data else sha256
        cursor = self._connection.execute(
            "INSERT INTO texts (sha256, normalised, offset, length, line_count) VALUES (?, ?, ?, ?, ?)",
            (sha256, normalised, extent.offset, extent.length, n_lines),
        )
        return int(cursor.lastrowid or 0)


def _may_differ(known: IndexedFile | None, stamp: FileStamp) -> bool:
    return known is None or known.stamp != stamp or stamp.is_racy(known.checked_ns)


def _text_problem(data: bytes) -> str:
    """Return why these bytes are not indexed as text, empty when they are."""
    if len(data) > MAX_TEXT_BYTES:
        return f"larger than {MAX_TEXT_BYTES} bytes"
    if b"\0" in data[:_SNIFF]:
        return "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "binary"
    if holds_private_key(data[:256]):
        return "a private key"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "not utf-8"
    return ""


def _meta(connection: sqlite3.Connection, key: str, default: str) -> str:
    record = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return str(record[0]) if record else default


def _renames(
    before: dict[str, IndexedFile], after: dict[str, IndexedFile], removed: list[str], added: list[str]
) -> tuple[tuple[str, str], ...]:
    """Pair removed and added files of the same content, each at most once, in path order."""
    by_text: dict[int, list[str]] = {}
    for path in sorted(added):
        text_id = after[path].text_id
        if text_id is not None:
            by_text.setdefault(text_id, []).append(path)
    pairs = []
    for path in sorted(removed):
        text_id = before[path].text_id
        if text_id is not None and by_text.get(text_id):
            pairs.append((path, by_text[text_id].pop(0)))
    return tuple(pairs)


def _rank(file: IndexedFile) -> tuple[int, str]:
    """Order files as answers show them: code, then tests, then the rest."""
    if file.language in _PROSE:
        return 2, file.path
    lowered = file.path.lower()
    return int(any(mark in lowered for mark in _TEST_MARKS)), file.path
