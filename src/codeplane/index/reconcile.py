"""Bring the index up to date with the files: stat first, hash only what may have changed, publish an epoch.

Calls that arrive together share one sweep that began after they arrived; a failed update leaves the old epoch.
"""

import gc
import json
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import compress
from operator import ne, not_
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import fields, get_logger
from codeplane.index.compaction import SPARE_BYTES, compact, is_worthwhile
from codeplane.index.discovery import LeftOut
from codeplane.index.file_order import file_rank
from codeplane.index.index_store import (
    DAMAGE,
    DECLARED,
    KEPT_SNAPSHOTS,
    PACK_IS_CUT,
    UNLINKED,
    IndexedFile,
    IndexedText,
    IndexStore,
    Published,
    StoredState,
    declared_text,
    number_of,
    published_in,
    stored_files,
    stored_state,
    stored_texts,
    text_from,
    write_meta,
)
from codeplane.index.stamps import Stamp
from codeplane.index.sweep import MANY_FILES, RACY_NS, FileStamp, Sweep, Sweeper
from codeplane.index.text_pack import TextPack
from codeplane.index.tree_reader import TreeReader
from codeplane.languages.catalog import LANGUAGES, dialect_of
from codeplane.languages.facts import FileFacts
from codeplane.store.sqlite import Database

if TYPE_CHECKING:
    from codeplane.index.extraction import ExtractionPool
    from codeplane.index.head_start import HeadStart
    from codeplane.index.lexical_index import LexicalIndex, LexicalUpdate
    from codeplane.index.structure import Structure
    from codeplane.index.update import IndexUpdate, Progress, UpdateResult

_log = get_logger(__name__)
# So many rows of texts that no file holds any more may be kept before they are read anew.
_SPARE_ROWS: Final = 1000
_NO_EPOCH: Final = -2
_DIRECTORIES: Final = "directories"
_SWEPT_NS: Final = "swept_ns"
_LEADS_OUT: Final = re.compile(r'\.\./|//|"/')
# What decisions about paths rest on, what they leave out, and which names asked what git tracks.
_Decisions = tuple[str, list[LeftOut], frozenset[str]]


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


@dataclass(frozen=True)
class IndexState:
    """A consistent view: the files and texts of one epoch, and what is left out of it.

    `stamps` are those of the files; `racy` are the files that may have been written again after they were read.
    `order_before` is an order to take over when it is that of the same files. One that is not linked has everything
    but links. What only some questions need is made when it is first asked for, because every start makes a state.
    """

    epoch: int
    files: dict[str, IndexedFile]
    text_rows: Sequence[tuple[Any, ...]]
    left_out: tuple[LeftOut, ...]
    pack: TextPack
    pack_size: int
    stamps: dict[str, FileStamp]
    racy: frozenset[str]
    order_before: tuple[IndexedFile, ...] = ()
    is_linked: bool = True

    @cached_property
    def texts(self) -> dict[int, IndexedText]:
        """Return the texts that files hold, by id."""
        held = {file.text_id for file in self.files.values()}
        return {row[0]: text_from(row) for row in self.text_rows if row[0] in held}

    @cached_property
    def n_with_facts(self) -> int:
        """Return how many files have facts."""
        return sum(one.facts_id is not None for one in self.files.values())

    @cached_property
    def in_order(self) -> tuple[IndexedFile, ...]:
        """Return the files in the order in which answers show them."""
        files = self.files
        if len(self.order_before) == len(files) and all(one.path in files for one in self.order_before):
            return tuple(files[one.path] for one in self.order_before)
        return tuple(sorted(files.values(), key=_rank))

    @property
    def published(self) -> Published:
        """Return what tells whether another process has published."""
        return Published(self.epoch, self.pack.path.name, self.is_linked)


_COLLECT_AFTER = (50_000, 20, 50)
# So long a first build lets those go first who wait for its definitions.
_PATIENCE_SECONDS: Final = 1.0


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
        self.offered: dict[tuple[str, bytes], FileFacts] = {}
        self.head_start: HeadStart | None = None
        self.declared: tuple[tuple[str, str], ...] = ()
        self._running = threading.Lock()
        self._turn = threading.Condition()
        self._started = 0
        self._finished = 0
        self._last: ReconcileReport | None = None
        self._has_failed = False
        self._kept_decisions: _Decisions | None = None
        self._kept_directories: dict[str, Stamp] = {}
        self.state: IndexState | None = None
        self._structure: tuple[Database, Structure] | None = None
        self._compact_above = 0
        self._pool: ExtractionPool | None = None
        self._sweeping = threading.Lock()
        # Whether a first build is at work; None while an update has not found out yet.
        self._is_building: bool | None = False
        self._unlinked: IndexState | None = None
        self._n_asking = 0

    @cached_property
    def lexical(self) -> "LexicalIndex":
        """The ranked text index, which may be behind."""
        # 10 ms that a start which finds nothing changed, and most first questions, do not need.
        from codeplane.index.lexical_index import LexicalIndex  # noqa: PLC0415

        return LexicalIndex(self.store.directory / "tantivy")

    def ensure_defined(self) -> ReconcileReport:
        """Return when everything but the links is as the files were after this call.

        While a first build makes its links, files that are still as it read them need not wait for these.

        Raises:
            CodePlaneError: the update failed; the index keeps its old epoch.
        """
        with self._turn:
            self._n_asking += 1
            while self._is_building is not False and self._unlinked is None:
                self._turn.wait()
            unlinked = self._unlinked
        try:
            report = self._report_unlinked(unlinked) if unlinked is not None else None
        finally:
            with self._turn:
                self._n_asking -= 1
                self._turn.notify_all()
        return report if report is not None else self.ensure_fresh()

    def _report_unlinked(self, unlinked: IndexState) -> ReconcileReport | None:
        """Return what a build has published without links; None when the files are not as it read them."""
        with self._sweeping:
            found = self._sweeper.sweep()
        is_same = found.files == unlinked.stamps and found.left_out == list(unlinked.left_out)
        if not is_same or not self._holds_the_same(unlinked):
            return None
        return ReconcileReport(unlinked.epoch, n_files=len(found.files))

    def _holds_the_same(self, unlinked: IndexState) -> bool:
        """Read those files again that may have been written after they were read, as all are right after a clone."""
        # It is at work at this moment.
        from codeplane.index.update import MAX_TEXT_BYTES, read_text  # noqa: PLC0415

        checked_ns = self._now_ns()
        with TreeReader(self._root, MAX_TEXT_BYTES) as reader:
            for path in sorted(unlinked.racy):
                known = unlinked.files[path]
                text = unlinked.texts[known.text_id] if known.text_id is not None else None
                held = unlinked.pack.data(*text.extent) if text is not None else None
                is_known = text is None or held is not None
                if not is_known or read_text(reader, path, known.stamp.size) != (held, known.problem):
                    return False
        settled = frozenset(path for path in unlinked.racy if not unlinked.stamps[path].is_racy(checked_ns))
        with self._turn:
            if settled and self._unlinked is unlinked:
                self._unlinked = replace(unlinked, racy=unlinked.racy - settled)
        return True

    def ensure_fresh(self) -> ReconcileReport:
        """Return after an update that began after this call; several callers may share it.

        Raises:
            CodePlaneError: the update failed; the index keeps its old epoch.
        """
        with self._turn:
            wanted = self._started + 1
        with self._running:
            with self._turn:
                if self._finished >= wanted and self._last is not None and not self._has_failed:
                    return self._last
                self._started += 1
                number = self._started
                self._is_building = None if self.state is None else False
            try:
                self._has_failed = True
                self._last = self._update()
                self._has_failed = False
            finally:
                with self._turn:
                    self._finished = number
                    self._is_building = False
                    self._turn.notify_all()
            return self._last

    @staticmethod
    def _reloaded(
        connection: sqlite3.Connection, before: IndexState, suspects: list[str], result: "UpdateResult"
    ) -> StoredState:
        """Return files and texts as they are now; after a change of content only written rows are read."""
        is_long = len(before.text_rows) > 2 * len(before.files) + _SPARE_ROWS
        if result.added or result.removed or result.reaches_others or is_long:
            return stored_state(connection)
        fresh = stored_files(connection, suspects)
        rows = [*before.text_rows, *stored_texts(connection, (one.text_id for one in fresh.values()))]
        return StoredState(result.epoch, {**before.files, **fresh}, rows, 0)

    def _finish_ranked(self, ranked: "LexicalUpdate", epoch: int) -> None:
        """Complete the ranked text before the commit, so that whoever sees the new epoch finds both.

        One that is ahead of the database, or could not be written, is built again by whoever next asks for it.
        """
        try:
            self.lexical.finish(ranked, self.store.pack.path, epoch)
        except CodePlaneError as error:
            _log.warning("the ranked text index could not be written", extra=fields(reason=error.message))

    def ranked(self) -> "LexicalIndex":
        """Return the ranked text index, brought to the published epoch.

        Raises:
            CodePlaneError: INDEX_CORRUPT when it cannot be built.
        """
        state = self.state
        if state is not None and self.lexical.epoch() != state.epoch:
            # Under the lock of the database, because another process may be about to do the same.
            with self._running, self.store.database.write() as connection:
                self.store.follow_pack(connection)
                epoch, held = number_of(_meta(connection, "epoch", "0")), self.lexical.epoch()
                if held != epoch:
                    self._rank_again(connection, held, epoch)
        return self.lexical

    def _rank_again(self, connection: sqlite3.Connection, held: int, epoch: int) -> None:
        """Put what changed since an epoch into the ranked text, everything when that is not kept any more."""
        # As above.
        from codeplane.index.lexical_index import documents_to_rank  # noqa: PLC0415

        is_kept = max(0, epoch - KEPT_SNAPSHOTS) < held < epoch
        update = self.lexical.begin(held if is_kept else _NO_EPOCH)
        if update is None:
            raise CodePlaneError("INDEX_CORRUPT", "The ranked text index could not be built.")
        changed: frozenset[str] | None = None
        if not update.is_new:
            rows = connection.execute("SELECT DISTINCT path FROM snapshots WHERE epoch > ?", (held,))
            changed = frozenset(row[0] for row in rows)
            update.removed.extend(changed)
        update.documents.extend(documents_to_rank(connection, {}, changed))
        self.lexical.finish(update, self.store.pack.path, epoch)

    def _progress(self, n_done: int, n_all: int) -> None:
        for listener in self.listeners:
            listener(n_done, n_all)

    def _update(self) -> ReconcileReport:
        is_new = self.state is None
        # What the first pass makes stays; looking for garbage among it would take a tenth of its time.
        with _without_collecting(is_new):
            report = self._brought_up_to_date()
            if is_new and self.state is not None and len(self.state.stamps) >= MANY_FILES:
                # It lives as long as the process; looking through it for garbage takes longer than answers do.
                gc.freeze()
                # Every sweep makes a tuple for every file; looking for cycles after each 700 of them finds nothing.
                gc.set_threshold(*_COLLECT_AFTER)
        return report

    def _brought_up_to_date(self) -> ReconcileReport:
        begun = time.perf_counter()
        before = self.state
        if before is None and self._declares_other_contexts():
            self.store.distrust("other contexts are declared")
        if self.store.distrusted:
            self.store.start_over(self.store.distrusted)
            self.state = None
        with ExitStack() as ends:
            stored = self._stored()
            is_first = stored is not None and not stored.files
            ends.enter_context(self._building(is_first))
            with self._sweeping:
                found = self._sweeper.sweep(partial(self._expect_many, ends) if is_first else None)
                decided = (self._sweeper.decided_by, found.left_out, self._sweeper.by_tracking)
                # Later ones are not worth the room they would take in every small update.
                directories = self._sweeper.settled_directories() if before is None else None
            swept = time.perf_counter()
            report = self._applied(found, stored)
        self._keep_decisions(decided)
        if directories is not None:
            self._keep_directories(directories, found.begun_ns)
        self._compact_if_worthwhile()
        return replace(
            report,
            n_files=len(found.files),
            sweep_ms=(swept - begun) * 1000,
            total_ms=(time.perf_counter() - begun) * 1000,
            healed=self.store.healed,
        )

    def _declares_other_contexts(self) -> bool:
        """Tell whether the stored index was made with other declared contexts."""
        try:
            return self.store.epoch() > 0 and self.store.meta(DECLARED, "[]") != declared_text(self.declared)
        except CodePlaneError as error:
            if error.code not in DAMAGE | {"DATABASE_UNAVAILABLE"}:
                raise
            # Damage is found again, and mended, when the update begins.
            return False

    def _expect_many(self, ends: ExitStack, files: Mapping[str, FileStamp]) -> None:
        """Start the processes that will extract facts, while the sweep goes on; they end with the update."""
        # A start that finds nothing changed needs none of it.
        from codeplane.index.extraction import ExtractionPool  # noqa: PLC0415

        dialects = sorted({dialect_of(path) for path in files}.intersection(LANGUAGES))
        self._pool = ends.enter_context(closing(ExtractionPool(self.store.pack.path, dialects)))

    def _applied(self, found: Sweep, stored: StoredState | None) -> ReconcileReport:
        """Bring the index to what was found; one that is damaged is built again."""
        try:
            return self._apply(found, stored)
        except CodePlaneError as error:
            if error.code in DAMAGE:
                self.store.start_over(PACK_IS_CUT if error.message == PACK_IS_CUT else "index.db was damaged")
            elif error.code == "DATABASE_UNAVAILABLE":
                self.store.reopen()
            else:
                raise
            self.state = None
            return self._apply(found, self.store.load())

    def _stored(self) -> StoredState | None:
        """Return what the database knows, None when that is in memory; the first sweep takes its decisions over."""
        try:
            # Another process may have put other files in the place of these, or have published since.
            self.store.database.check_file()
            if self.state is not None and self.store.published() == self.state.published:
                return None
            stored = self.store.load()
            if self.state is None:
                self._take_over_decisions(stored)
        except CodePlaneError as error:
            if error.code not in DAMAGE | {"DATABASE_UNAVAILABLE"}:
                raise
            # Said again, and mended, when the update begins.
            return None
        return stored

    def _apply(self, found: Sweep, stored: StoredState | None) -> ReconcileReport:
        self.store.database.check_file()
        before = self._state_of(stored, found, None) if stored is not None else self.state
        if before is None or self.store.published() != before.published:
            before = self._state_of(self.store.load(), found, None)
        # Only now: another process may have replaced the pack that the state before was read from.
        if not before.pack.holds(before.pack_size):
            raise CodePlaneError("INDEX_CORRUPT", PACK_IS_CUT)
        if not before.racy and found.files == before.stamps and before.epoch and before.is_linked:
            self.state = _with_left_out(before, found)
            return ReconcileReport(before.epoch)
        return self._write(found, before)

    def _compact_if_worthwhile(self) -> None:
        state = self.state
        if state is None or state.pack_size < self._compact_above:
            return
        used = sum(one.stamp.size for one in state.files.values() if one.text_id is not None)
        if is_worthwhile(used, state.pack_size):
            compact(self.store)
            self.state = self._state_of(self.store.load(), Sweep(left_out=list(state.left_out)), state)
            # What kept epochs still need cannot be given back; it is looked at again when there is much more.
            used = self.state.pack_size
        self._compact_above = 2 * used + SPARE_BYTES

    def _state_of(
        self, stored: StoredState, found: Sweep, before: IndexState | None, differing: list[str] | None = None
    ) -> IndexState:
        """Return a state; where one is given that it follows, its order is taken over.

        `differing` are the only files that are not as in the state before.
        """
        files = stored.files
        if before is not None and differing is not None and len(files) == len(before.files):
            looked_at = [files[path] for path in differing if path in files]
            stamps = {**before.stamps, **{one.path: one.stamp for one in looked_at}}
            racy = before.racy.difference(differing).union(
                one.path for one in looked_at if one.stamp.is_racy(one.checked_ns)
            )
        else:
            stamps = {path: one.stamp for path, one in files.items()}
            # As `FileStamp.is_racy` says, without a call for each of thousands: stamp and time of checking.
            racy = frozenset([path for path, one in files.items() if max(one[2][:2]) > one[3] - RACY_NS])
        return IndexState(
            epoch=stored.epoch,
            files=files,
            text_rows=stored.text_rows,
            left_out=tuple(found.left_out),
            pack=self.store.pack,
            pack_size=stored.pack_size,
            stamps=stamps,
            racy=racy,
            order_before=before.in_order if before is not None and "in_order" in before.__dict__ else (),
            is_linked=stored.is_linked,
        )

    def _take_over_decisions(self, stored: StoredState) -> None:
        """Let the first sweep of this process use what the last one decided about paths."""
        try:
            kept = [LeftOut(*row) for row in json.loads(self.store.meta("left_out") or "[]")]
            by_tracking = frozenset(json.loads(self.store.meta("by_tracking") or "[]"))
        except (ValueError, TypeError):
            # Whatever stands there, every path is simply decided again.
            return
        if kept:
            stamps = {path: file.stamp for path, file in stored.files.items()}
            decided_by = self.store.meta("decided_by")
            self._sweeper.prime(stamps, kept, decided_by, by_tracking)
            self._kept_decisions = (decided_by, kept, by_tracking)
            if decided_by == self._sweeper.decided_by:
                self._take_over_directories(stamps, kept)

    def _take_over_directories(self, files: Mapping[str, FileStamp], left_out: list[LeftOut]) -> None:
        """Let the first sweep list only directories that changed since an earlier process listed them.

        Files that were found by an older pass than the directories were listed by may lack one that was listed.
        """
        text = self.store.meta(_DIRECTORIES)
        try:
            # A name that leads out of the tree is none that was kept, or so rare that all are listed again.
            listed_ns, rows = (0, {}) if _LEADS_OUT.search(text) else json.loads(text)
            directories = {str(prefix): tuple(row) for prefix, row in rows.items()}
            if int(self.store.meta(_SWEPT_NS)) < listed_ns:
                return
        except (ValueError, TypeError, AttributeError):
            # Whatever stands there, every directory is simply listed.
            return
        self._kept_directories = directories
        self._sweeper.prime_listings(directories, files, left_out)

    def _keep_directories(self, directories: dict[str, Stamp], listed_ns: int) -> None:
        """Keep the stamps of directories for the next process, if the published files are those of the same pass."""
        if directories == self._kept_directories or self.state is None:
            return
        text = json.dumps((listed_ns, directories), separators=(",", ":"))
        with self.store.database.write() as connection:
            if published_in(connection) == self.state.published:
                write_meta(connection, {_DIRECTORIES: text, _SWEPT_NS: str(listed_ns)})
                self._kept_directories = directories

    def _keep_decisions(self, now: _Decisions) -> None:
        """Keep what was decided for the next process, when it differs from what is kept."""
        if now == self._kept_decisions:
            return
        decided_by, left_out, by_tracking = now
        rows = [[item.path, item.rule, item.source, item.is_directory] for item in left_out]
        names = json.dumps(sorted(by_tracking))
        self.store.set_meta({"left_out": json.dumps(rows), "decided_by": decided_by, "by_tracking": names})
        self._kept_decisions = now

    def _taken_structure(self) -> "Structure | None":
        """Return the structure that the last update left, once: an update that fails may leave it half changed."""
        kept, self._structure = self._structure, None
        return kept[1] if kept is not None and kept[0] is self.store.database else None

    def _taken_pool(self) -> "ExtractionPool | None":
        """Return the processes that were started in advance, once, and only for the texts they know of."""
        pool, self._pool = self._pool, None
        return pool if pool is not None and pool.pack == self.store.pack.path else None

    def _taken_head_start(self) -> "HeadStart | None":
        """Return what was extracted before the first update, once."""
        ahead, self.head_start = self.head_start, None
        return ahead

    def _write(self, found: Sweep, before: IndexState) -> ReconcileReport:
        # A start that finds nothing changed needs none of what updates are made with.
        from codeplane.index.update import IndexUpdate, UpdateInput  # noqa: PLC0415

        offered, self.offered = self.offered, {}
        with ExitStack() as ends:
            with self.store.database.write() as connection:
                self.store.follow_pack(connection)
                published = published_in(connection)
                if published != before.published:
                    # Another process published while this one waited for its turn.
                    before = self._state_of(stored_state(connection), found, None)
                removed, suspects = _difference(before, found)
                given = UpdateInput(
                    found=found.files,
                    known=before.files,
                    removed=removed,
                    suspects=suspects,
                    holds_tracked=self._holds_tracked,
                    declared=self.declared,
                    progress=self._progress,
                    offered=offered,
                    pool=self._taken_pool(),
                    ahead=self._taken_head_start(),
                    is_linked=before.is_linked,
                )
                size = number_of(_meta(connection, "pack_size", "0"))
                is_large = len(removed) + len(suspects) >= MANY_FILES or self.lexical.epoch() < 0
                ranked = self.lexical.begin(published.epoch) if is_large else None
                if ranked is not None:
                    ends.callback(ranked.drop)
                structure = self._taken_structure()
                update = IndexUpdate(self._root, self.store, connection, self._now_ns, ranked, structure)
                ends.callback(update.close)
                with self.store.pack.appending(size) as writer, _without_collecting(is_large):
                    result = update.run(given, writer, published.epoch)
                if ranked is not None and result.is_linked and (result.epoch != published.epoch or ranked.is_new):
                    self._finish_ranked(ranked, result.epoch)
                stamp = self.store.pack.stamp()
                values = {"epoch": str(result.epoch), "pack_size": str(writer.size), "pack_stamp": stamp}
                values |= {_SWEPT_NS: str(found.begun_ns), UNLINKED: "" if result.is_linked else "1"}
                write_meta(connection, values)
                stored = self._reloaded(connection, before, suspects, result)._replace(pack_size=writer.size)
            has_few = not (result.added or result.removed or result.reaches_others)
            self.state = self._state_of(stored, found, before, suspects if has_few else None)
            if not result.is_linked and not self._linked(update, self.state, ranked):
                return self._apply(found, None)
            update.close()
            ends.pop_all()
        if update.structure is not None:
            self._structure = (self.store.database, update.structure)
        renamed = _renames(before.files, stored.files, list(result.removed), list(result.added))
        return ReconcileReport(result.epoch, result.added, result.changed, result.removed, renamed)

    def _linked(self, update: "IndexUpdate", unlinked: IndexState, ranked: "LexicalUpdate | None") -> bool:
        """Make the links of a first build, whose definitions and texts can be asked for meanwhile.

        Return false when another process has published since.
        """
        with self._turn:
            self._unlinked = unlinked
            self._turn.notify_all()
            # Linking and their look at the files would take the interpreter from each other for longer than both take.
            self._turn.wait_for(lambda: not self._n_asking, _PATIENCE_SECONDS)
        with self.store.database.write() as connection, _without_collecting(is_large=True):
            if published_in(connection) != unlinked.published:
                return False
            update.link()
            if ranked is not None:
                self._finish_ranked(ranked, unlinked.epoch)
            write_meta(connection, {UNLINKED: ""})
        self.state = replace(unlinked, is_linked=True)
        return True

    @contextmanager
    def _building(self, is_first: bool) -> Iterator[None]:  # noqa: FBT001 - used in one place
        """Let whoever needs no links wait for less than a whole first build."""
        with self._turn:
            self._is_building = is_first
            self._turn.notify_all()
        try:
            yield
        finally:
            with self._turn:
                self._is_building, self._unlinked = False, None
                self._turn.notify_all()


@contextmanager
def _without_collecting(is_large: bool) -> Iterator[None]:  # noqa: FBT001 - used in one place
    """Collect no garbage meanwhile: a large update makes a million tuples and no cycles to find among them."""
    if not is_large or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _difference(before: IndexState, found: Sweep) -> tuple[list[str], list[str]]:
    """Return the files that are gone, and those that may have changed since they were read."""
    # Thousands of files, of which a few differ: what is repeated for each runs without the interpreter.
    is_other = map(ne, found.files.values(), map(before.stamps.get, found.files))
    suspects = set(compress(found.files, is_other)).union(path for path in before.racy if path in found.files)
    is_gone = map(not_, map(found.files.__contains__, before.stamps))
    return sorted(compress(before.stamps, is_gone)), sorted(suspects)


def _with_left_out(state: IndexState, found: Sweep) -> IndexState:
    """Return a state with what is left out now."""
    return state if list(state.left_out) == found.left_out else replace(state, left_out=tuple(found.left_out))


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
