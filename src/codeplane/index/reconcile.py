"""Keep the index current: scan the tree, compare with the published state, let the writer apply the difference.

Calls that arrive together share one scan that began after they arrived. A failed update leaves the old epoch.
"""

import gc
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from operator import ne, not_
from typing import TYPE_CHECKING, Final

from codeplane.core.errors import CodePlaneError
from codeplane.index.discovery import LeftOut
from codeplane.index.file_order import file_rank
from codeplane.index.index_store import (
    DAMAGE,
    DECLARED,
    PACK_IS_CUT,
    IndexedFile,
    IndexStore,
    Published,
    StoredState,
    declared_text,
    published_in,
    stored_files,
    stored_state,
    write_meta,
)
from codeplane.index.scan import RACY_NS, FileStamp, Scan, Tree, scan, scan_from_text, scan_to_text
from codeplane.index.text_pack import TextPack
from codeplane.languages.facts import FileFacts
from codeplane.store.sqlite import Database

if TYPE_CHECKING:
    from codeplane.index.lexical_index import LexicalIndex
    from codeplane.index.structure import Structure
    from codeplane.index.update import Progress, UpdateResult

# The scan of an earlier process, in the index's own values.
_KEPT_SCAN: Final = "scan"
# From this many files on it pays to prepare for much work.
_MANY_FILES: Final = 1000
# Every scan makes a tuple for every file; looking for cycles after each 700 of them finds nothing.
_COLLECT_AFTER: Final = (50_000, 20, 50)


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
    """A consistent view: the files of one epoch, and what is left out of it.

    `stamps` are those of the files; `racy` are the files that may have been written again after they were read.
    """

    epoch: int
    files: dict[str, IndexedFile]
    left_out: tuple[LeftOut, ...]
    pack: TextPack
    pack_size: int
    stamps: dict[str, FileStamp]
    racy: frozenset[str]

    @cached_property
    def n_with_facts(self) -> int:
        """Return how many files have facts."""
        return sum(one.facts_id is not None for one in self.files.values())

    @cached_property
    def in_order(self) -> tuple[IndexedFile, ...]:
        """Return the files in the order in which answers show them."""
        return tuple(sorted(self.files.values(), key=lambda file: (file_rank(file.path, file.language), file.path)))

    @property
    def published(self) -> Published:
        """Return what tells whether another process has published."""
        return Published(self.epoch, self.pack.path.name)


class Reconciler:
    """Keeps one working tree's index current.

    Invariant: `state` is what the newest finished update published; it is replaced, never changed.
    """

    def __init__(
        self,
        tree: Tree,
        store: IndexStore,
        holds_tracked: Callable[[str], bool],
        declared: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.store = store
        self.state: IndexState | None = None
        self.listeners: list[Progress] = []
        self.offered: dict[tuple[str, bytes], FileFacts] = {}
        self._tree = tree
        self._holds_tracked = holds_tracked
        self._declared = declared
        self._scan: Scan | None = None
        self._structure: tuple[Database, Structure] | None = None
        self._running = threading.Lock()
        self._n_begun = 0
        self._last: ReconcileReport | None = None

    @cached_property
    def lexical(self) -> "LexicalIndex":
        """The ranked text index, which may be behind."""
        # 10 ms that most questions do not need.
        from codeplane.index.lexical_index import LexicalIndex  # noqa: PLC0415

        return LexicalIndex(self.store.directory / "tantivy")

    def ensure_fresh(self) -> ReconcileReport:
        """Return after an update that began after this call; several callers may share it.

        Raises:
            CodePlaneError: the update failed; the index keeps its old epoch.
        """
        n_begun = self._n_begun
        with self._running:
            if self._n_begun > n_begun and self._last is not None:
                return self._last
            self._n_begun += 1
            self._last = None
            is_first = self.state is None
            # What the first pass makes stays; looking for garbage among it would take a tenth of its time.
            with _without_collecting(is_large=is_first):
                report = self._update()
            if is_first and report.n_files >= _MANY_FILES:
                gc.freeze()
                gc.set_threshold(*_COLLECT_AFTER)
            self._last = report
            return report

    def ranked(self) -> "LexicalIndex":
        """Return the ranked text index, brought to the published epoch.

        Raises:
            CodePlaneError: INDEX_CORRUPT when it cannot be built.
        """
        state = self.state
        if state is not None and self.lexical.epoch() != state.epoch:
            # Under the lock of the database, because another process may be about to do the same.
            with self._running, self.store.database.write() as connection:
                self.lexical.follow(connection, self.store.pack.path, published_in(connection).epoch)
        return self.lexical

    def left_out(self) -> Iterable[LeftOut]:
        """Return what is left out, before the first scan as far as an earlier process kept it."""
        if self.state is not None:
            return self.state.left_out
        kept = self._kept_scan()
        listings = kept.listings.values() if kept is not None else ()
        return [entry for one in listings for entry in one.entries.values() if isinstance(entry, LeftOut)]

    def _update(self) -> ReconcileReport:
        begun = time.perf_counter()
        is_first = self.state is None
        if is_first and self._declares_other_contexts():
            self.store.distrust("other contexts are declared")
        if self.store.distrusted:
            self.store.start_over(self.store.distrusted)
            self.state = None
        kept = self._kept_scan() if self._scan is None else None
        found = self._scan = scan(self._tree, self._scan or kept)
        scanned = time.perf_counter()
        try:
            report = self._apply(found)
        except CodePlaneError as error:
            self._mend(error)
            report = self._apply(found)
        if is_first and (kept is None or kept.listings != found.listings or kept.decided_by != found.decided_by):
            self.store.set_meta({_KEPT_SCAN: scan_to_text(found)})
        return replace(
            report,
            n_files=len(found.files),
            sweep_ms=(scanned - begun) * 1000,
            total_ms=(time.perf_counter() - begun) * 1000,
            healed=self.store.healed,
        )

    def _declares_other_contexts(self) -> bool:
        """Tell whether the stored index was made with other declared contexts."""
        try:
            return self.store.epoch() > 0 and self.store.meta(DECLARED, "[]") != declared_text(self._declared)
        except CodePlaneError as error:
            return _will_be_mended(error)

    def _kept_scan(self) -> Scan | None:
        """Return the scan that an earlier process kept, so that only what changed since is listed and decided."""
        try:
            return scan_from_text(self.store.meta(_KEPT_SCAN))
        except CodePlaneError as error:
            _will_be_mended(error)
            return None

    def _mend(self, error: CodePlaneError) -> None:
        """Start over after damage, or use the files that another process put in place; raise any other error."""
        if error.code in DAMAGE:
            self.store.start_over(PACK_IS_CUT if error.message == PACK_IS_CUT else "index.db was damaged")
        elif error.code == "DATABASE_UNAVAILABLE":
            self.store.reopen()
        else:
            raise error
        self.state = None

    def _apply(self, found: Scan) -> ReconcileReport:
        """Bring the index to what a scan found."""
        # Another process may have replaced the files, or have published since.
        self.store.database.check_file()
        before = self.state
        if before is None or self.store.published() != before.published:
            before = self._state_of(self.store.load(), found)
        if not before.pack.holds(before.pack_size):
            raise CodePlaneError("INDEX_CORRUPT", PACK_IS_CUT)
        if before.epoch and not before.racy and found.files == before.stamps:
            self.state = before if before.left_out == found.left_out else replace(before, left_out=found.left_out)
            return ReconcileReport(before.epoch)
        return self._publish(found, before)

    def _publish(self, found: Scan, before: IndexState) -> ReconcileReport:
        # A start that finds nothing changed needs none of it.
        from codeplane.index.update import UpdateInput, apply_changes  # noqa: PLC0415

        offered, self.offered = self.offered, {}
        kept, self._structure = self._structure, None
        with self.store.database.write() as connection:
            if published_in(connection) != before.published:
                # Another process published while this one waited for its turn.
                before = self._state_of(stored_state(connection), found)
            removed, suspects = _difference(before, found)
            given = UpdateInput(
                root=self._tree.root,
                found=found.files,
                known=before.files,
                removed=removed,
                suspects=suspects,
                epoch=before.epoch,
                holds_tracked=self._holds_tracked,
                declared=self._declared,
                now_ns=self._tree.now_ns,
                progress=self._progress,
                offered=offered,
            )
            pack = self.store.pack
            is_large = len(removed) + len(suspects) >= _MANY_FILES
            with pack.appending(before.pack_size) as writer, _without_collecting(is_large=is_large):
                # An update that fails may leave a structure half changed, so it is handed over only once.
                structure = kept[1] if kept is not None and kept[0] is self.store.database else None
                result = apply_changes(connection, pack, writer, given, structure)
            values = {"epoch": str(result.epoch), "pack_size": str(writer.size), "pack_stamp": pack.stamp()}
            write_meta(connection, values)
            stored = StoredState(result.epoch, self._files_after(connection, before, suspects, result), writer.size)
        self.state = self._state_of(stored, found)
        if result.structure is not None:
            self._structure = (self.store.database, result.structure)
        renamed = _renames(before.files, stored.files, result.removed, result.added)
        return ReconcileReport(result.epoch, result.added, result.changed, result.removed, renamed)

    @staticmethod
    def _files_after(
        connection: sqlite3.Connection, before: IndexState, suspects: list[str], result: "UpdateResult"
    ) -> dict[str, IndexedFile]:
        """Return the files as they are now; when only contents changed, only the written rows are read."""
        if result.added or result.removed or result.reaches_others:
            return stored_state(connection).files
        return {**before.files, **stored_files(connection, suspects)}

    def _state_of(self, stored: StoredState, found: Scan) -> IndexState:
        files = stored.files
        return IndexState(
            epoch=stored.epoch,
            files=files,
            left_out=found.left_out,
            pack=self.store.pack,
            pack_size=stored.pack_size,
            stamps={path: one.stamp for path, one in files.items()},
            # As `FileStamp.is_racy` says, without a call for each of thousands.
            racy=frozenset([path for path, one in files.items() if max(one.stamp[:2]) > one.checked_ns - RACY_NS]),
        )

    def _progress(self, n_done: int, n_all: int) -> None:
        for listener in self.listeners:
            listener(n_done, n_all)


@contextmanager
def _without_collecting(*, is_large: bool) -> Iterator[None]:
    """Collect no garbage meanwhile: a large update makes a million tuples and no cycles to find among them."""
    if not is_large or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _will_be_mended(error: CodePlaneError) -> bool:
    """Return false for damage, which is found again and mended when the update begins; raise any other error."""
    if error.code not in DAMAGE | {"DATABASE_UNAVAILABLE"}:
        raise error
    return False


def _difference(before: IndexState, found: Scan) -> tuple[list[str], list[str]]:
    """Return the files that are gone, and those that may have changed since they were read."""
    # Of thousands of files a few differ: the loop over all of them runs in C.
    is_other = map(ne, found.files.values(), map(before.stamps.get, found.files))
    suspects = set(compress(found.files, is_other)).union(path for path in before.racy if path in found.files)
    is_gone = map(not_, map(found.files.__contains__, before.stamps))
    return sorted(compress(before.stamps, is_gone)), sorted(suspects)


def _renames(
    before: dict[str, IndexedFile], after: dict[str, IndexedFile], removed: Iterable[str], added: Iterable[str]
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
