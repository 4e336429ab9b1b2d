"""Bring the index up to date with the files: stat first, hash only what may have changed, publish an epoch.

Calls that arrive together share one sweep that began after they arrived; a failed update leaves the old epoch.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import fields, get_logger
from codeplane.index.discovery import LeftOut
from codeplane.index.facts.columns import decode_columns
from codeplane.index.file_order import file_rank
from codeplane.index.index_store import IndexedFile, IndexedText, IndexStore, write_meta
from codeplane.index.lexical_index import LexicalDocument, LexicalIndex, LexicalUpdate
from codeplane.index.sweep import FileStamp, Sweep, Sweeper
from codeplane.index.text_pack import TextPack
from codeplane.index.update import IndexUpdate, Progress, UpdateInput, UpdateResult

_log = get_logger(__name__)


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

    def __init__(
        self,
        root: Path,
        store: IndexStore,
        sweeper: Sweeper,
        now_ns: Callable[[], int],
        holds_tracked: Callable[[str], bool],
    ) -> None:
        self._root = root
        self.store = store
        self._sweeper = sweeper
        self._now_ns = now_ns
        self._holds_tracked = holds_tracked
        self.listeners: list[Progress] = []
        self.lexical = LexicalIndex(store.directory / "tantivy")
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

    def _reloaded(
        self, known: dict[str, IndexedFile], suspects: list[str], result: UpdateResult
    ) -> tuple[dict[str, IndexedFile], dict[int, IndexedText]]:
        """Return files and texts as they are now; after a change of content only written rows are read."""
        if self.state is None or result.added or result.removed or result.reaches_others:
            return self.store.files(), self.store.texts()
        fresh = self.store.files(suspects)
        texts = dict(self.state.texts)
        wanted = [one.text_id for one in fresh.values() if one.text_id is not None and one.text_id not in texts]
        texts.update(self.store.texts(wanted))
        return {**known, **fresh}, texts

    def _finish_ranked(
        self, connection: sqlite3.Connection, ranked: LexicalUpdate, result: UpdateResult, pack_size: int
    ) -> None:
        """Complete the ranked text before the commit, so that whoever sees the new epoch finds both.

        One that is ahead of the database, or could not be written, is built again by whoever next asks for it.
        """
        for path in result.removed:
            ranked.remove(path)
        if ranked.is_new:
            for document in self._documents(connection, pack_size, ranked.put_paths):
                ranked.put(document)
        try:
            self.lexical.finish(ranked, result.epoch)
        except CodePlaneError as error:
            _log.warning("the ranked text index could not be written", extra=fields(reason=error.message))

    def ranked(self) -> LexicalIndex:
        """Return the ranked text index, built anew when it is not of the published epoch.

        Raises:
            CodePlaneError: INDEX_CORRUPT when it cannot be built.
        """
        state = self.state
        if state is not None and not self.lexical.holds(state.epoch):
            with self._running, self.store.database.read() as connection:
                update = self.lexical.begin(state.epoch)
                if update is None:
                    raise CodePlaneError("INDEX_CORRUPT", "The ranked text index could not be built.")
                for document in self._documents(connection, state.pack_size, ()):
                    update.put(document)
                self.lexical.finish(update, state.epoch)
        return self.lexical

    def _documents(
        self, connection: sqlite3.Connection, pack_size: int, known: Collection[str]
    ) -> Iterator[LexicalDocument]:
        """Yield every file that is not known yet as the ranked index takes it."""
        rows = connection.execute(
            "SELECT path, language, offset, length, columns"
            " FROM files JOIN texts USING (text_id) LEFT JOIN facts USING (facts_id) ORDER BY path"
        )
        with self.store.pack.mapped(pack_size) as view:
            for path, language, offset, length, columns in rows:
                if path not in known:
                    text = view[offset : offset + length].decode("utf-8", "replace")
                    names = " ".join(decode_columns(columns).names) if columns is not None else ""
                    yield LexicalDocument(path, language, text, names)

    def _progress(self, n_done: int, n_all: int) -> None:
        for listener in self.listeners:
            listener(n_done, n_all)

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
        given = UpdateInput(found.files, known, removed, suspects, self._holds_tracked, self._progress)
        with self.store.database.write() as connection:
            epoch = int(_meta(connection, "epoch", "0"))
            size = int(_meta(connection, "pack_size", "0"))
            ranked = self.lexical.begin(epoch)
            try:
                with self.store.pack.appending(size) as writer:
                    update = IndexUpdate(self._root, self.store, connection, self._now_ns, ranked)
                    result = update.run(given, writer, epoch)
                if ranked is not None and (result.epoch != epoch or ranked.is_new):
                    self._finish_ranked(connection, ranked, result, writer.size)
            except BaseException:
                if ranked is not None:
                    ranked.cancel()
                raise
            write_meta(connection, {"epoch": str(result.epoch), "pack_size": str(writer.size)})
        files, texts = self._reloaded(known, suspects, result)
        self.state = IndexState(
            epoch=result.epoch,
            files=files,
            texts=texts,
            left_out=tuple(found.left_out),
            pack=self.store.pack,
            pack_size=self.store.pack_size(),
            in_order=tuple(sorted(files.values(), key=_rank)),
        )
        renamed = _renames(known, files, list(result.removed), list(result.added))
        return result.epoch, result.added, result.changed, result.removed, renamed


def _may_differ(known: IndexedFile | None, stamp: FileStamp) -> bool:
    return known is None or known.stamp != stamp or stamp.is_racy(known.checked_ns)


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
    return file_rank(file.path, file.language), file.path
