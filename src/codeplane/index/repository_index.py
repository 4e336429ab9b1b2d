"""The index of one working tree: opened on first use, brought up to date before it answers."""

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_bytes
from codeplane.index.discovery import count_left_out
from codeplane.index.facts.queries import MAX_LIMIT
from codeplane.index.facts.reader import FactCache, FactReader, reading
from codeplane.index.ignore_rules import IgnoreRules
from codeplane.index.index_store import IndexStore
from codeplane.index.reconcile import IndexState, Reconciler, ReconcileReport
from codeplane.index.repository_map import list_contexts
from codeplane.index.scan import Tree, directories_tell
from codeplane.index.seeding import seed_index
from codeplane.languages.catalog import is_text_only
from codeplane.languages.facts import Definition, FileFacts

if TYPE_CHECKING:
    from codeplane.index.impact import AffectedTests, Evidence
    from codeplane.index.update import Progress

_MAX_KEPT_EPOCHS = 8
_MAX_KEPT_DURATIONS = 10_000


@dataclass(frozen=True, slots=True)
class LexicalHit:
    """A file that fits a query, with its score; higher is better."""

    file_id: int
    unit_id: int | None
    path: str
    score: float


@dataclass(frozen=True, slots=True)
class IndexCounts:
    """How much an index holds, and what it does not: reasons, rules and languages with their numbers of files."""

    files: int
    without_text: int
    with_symbols: int
    definitions: int
    linked_references: int
    size_bytes: int
    problems: dict[str, int]
    left_out: dict[str, int]
    text_only: dict[str, int]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an index asks of the repository it belongs to.

    `tracking_stamps` differ when git may track other files. `last_epoch` is the newest epoch in the ledger. `seed` is
    the directory of an index to begin with when this tree has none. `has_overlay` says that files are indexed which git
    does not track; `rules` say the same. `declared_contexts` are families and roots that a person declared.
    """

    rules: Callable[[], IgnoreRules]
    tracking_stamps: Callable[[], object]
    holds_tracked: Callable[[str], bool]
    now_ns: Callable[[], int]
    last_epoch: Callable[[], int]
    seed: Path | None
    has_overlay: bool = True
    declared_contexts: tuple[tuple[str, str], ...] = ()


class RepositoryIndex:
    """Store and reconciler of one working tree.

    Invariant: a state that was handed out stays readable as long as it is among the newest kept epochs.
    """

    def __init__(self, root: Path, directory: Path, around: Surroundings) -> None:
        self.was_seeded = around.seed is not None and seed_index(around.seed, directory)
        self.store = IndexStore(directory, around.last_epoch)
        tree = Tree(
            root,
            around.rules,
            around.tracking_stamps,
            around.now_ns,
            directories_tell=directories_tell(directory),
            policy="overlay" if around.has_overlay else "tracked",
        )
        self._reconciler = Reconciler(tree, self.store, around.holds_tracked, around.declared_contexts)
        self._states: OrderedDict[int, IndexState] = OrderedDict()
        self.last_report: ReconcileReport | None = None
        self.n_refreshes = 0
        self.n_updates = 0
        self.refresh_seconds = 0.0
        # Durations that were not collected yet; the oldest are dropped.
        self.durations: deque[float] = deque(maxlen=_MAX_KEPT_DURATIONS)
        self._facts = FactCache()
        self._names = (-1, b"")
        self._content = (-1, "")

    @contextmanager
    def listening(self, listener: "Progress") -> Iterator[None]:
        """Tell a listener how far updates are, as long as this lasts."""
        self._reconciler.listeners.append(listener)
        try:
            yield
        finally:
            self._reconciler.listeners.remove(listener)

    def refresh(self) -> ReconcileReport:
        """Bring the index up to date with the files."""
        report = self._reconciler.ensure_fresh()
        self.last_report = report
        self.n_refreshes += 1
        self.n_updates += not report.is_unchanged
        self.refresh_seconds += report.total_ms / 1000
        self.durations.append(report.total_ms / 1000)
        state = self._reconciler.state
        if state is not None:
            self._states[state.epoch] = state
            while len(self._states) > _MAX_KEPT_EPOCHS:
                self._states.popitem(last=False)
        return report

    def offer(self, dialect: str, source: bytes, facts: FileFacts) -> None:
        """Give facts that were just extracted from a text to the next update, which need not extract them again."""
        self._reconciler.offered[dialect, source] = facts

    def known_definitions(self, path: str, source: bytes) -> list[Definition] | None:
        """Return the definitions of a file that holds these bytes; None when the published state knows others."""
        with self.facts() as reader:
            file = reader.file_at(path)
            if file is None or file.facts_id is None or reader.text(file) != source:
                return None
            outline = reader.outline(file.facts_id)
            return [outline.definition(number) for number in range(len(outline.definition_rows))]

    def state(self, epoch: int | None = None) -> IndexState:
        """Return the newest state, or that of an epoch that is still kept.

        Raises:
            CodePlaneError: CURSOR_EXPIRED when the epoch is not kept any more.
        """
        if epoch is None:
            if self._reconciler.state is None:
                self.refresh()
            state = self._reconciler.state
        else:
            state = self._states.get(epoch)
        if state is None:
            raise CodePlaneError("CURSOR_EXPIRED", f"Epoch {epoch} of the index is no longer kept.")
        return state

    @contextmanager
    def facts(self) -> Iterator[FactReader]:
        """Give a reader of the facts of one epoch."""
        with reading(self.store, self._facts) as reader:
            yield reader

    def affected_tests(
        self,
        changed_files: Iterable[str],
        symbols: Mapping[str, Collection[str]] | None = None,
        evidence: "Evidence | None" = None,
    ) -> "AffectedTests":
        """Return the test files that changes may affect (§11.9); `symbols` are what changed in a file, if known."""
        # 9 ms that only changes need.
        from codeplane.index.impact import Evidence, affected_tests  # noqa: PLC0415

        with self.facts() as reader:
            state = self._reconciler.state
            is_same = state is not None and state.epoch == reader.epoch
            files = state.files.values() if state and is_same else None
            return affected_tests(reader, changed_files, files, symbols or {}, evidence or Evidence())

    def lexical_search(
        self, query: str, limit: int, unit_id: int | None = None, language: str | None = None
    ) -> list[LexicalHit]:
        """Return the files that fit a query best (§7.2); `limit` is a hard cap."""
        self.state()
        ranked = self._reconciler.ranked()
        files = self.state().files
        wanted = limit
        while True:
            found = ranked.rank(query, min(wanted, MAX_LIMIT), language)
            hits = [
                LexicalHit(file.file_id, file.unit_id, one.path, one.score)
                for one in found
                if (file := files.get(one.path)) is not None and (unit_id is None or file.unit_id == unit_id)
            ]
            if len(hits) >= limit or len(found) < wanted or wanted >= MAX_LIMIT:
                return hits[:limit]
            wanted *= 4

    def files_with_any(self, words: Iterable[str], limit: int) -> "tuple[list[str], dict[str, int]]":
        """Return the files that fit some words best, and how many files hold each word."""
        self.state()
        ranked, counts = self._reconciler.ranked().rank_any(words, limit)
        known = self.state().files
        return [one.path for one in ranked if one.path in known], counts

    def symbol_names(self, reader: FactReader) -> bytes:
        """Return the folded names of all definitions, one per line, in the form that is searched fastest."""
        if self._names[0] != reader.epoch:
            # Put together by the database, which takes two thirds of the time that its rows would.
            row = reader.connection.execute(
                "SELECT group_concat(folded, char(10)) FROM (SELECT DISTINCT folded FROM definitions ORDER BY folded)"
            ).fetchone()
            self._names = (reader.epoch, (row[0] or "").encode("utf-8", "surrogatepass"))
        return self._names[1]

    def content_digest(self) -> str | None:
        """Return a digest over the paths and contents of all files of the published epoch; None before there is one.

        A file without text (binary, too large) counts by its size and time.
        """
        epoch = self.store.epoch()
        if not epoch:
            return None
        if self._content[0] != epoch:
            with self.store.database.read() as connection:
                rows = connection.execute(
                    "SELECT path, coalesce(sha256, size || ' ' || mtime_ns) FROM files LEFT JOIN texts USING (text_id)"
                    " ORDER BY path"
                )
                found = sha256_bytes("\0".join("\0".join(row) for row in rows).encode("utf-8", "surrogatepass"))
            self._content = (epoch, found)
        return self._content[1]

    def contexts(self) -> list[dict[str, object]]:
        """Return the contexts that own files or were refused, with their state."""
        with self.facts() as reader:
            return [
                {"root": one.root or ".", "family": one.family, "status": one.status, "reason": one.reason,
                 "files": one.n_files}
                for one in list_contexts(reader)
            ]  # fmt: skip

    def language_counts(self) -> dict[str, tuple[int, int, int, int]]:
        """Return for each language its files, those with symbols, those with linked references, and all bytes."""
        with self.store.database.read() as connection:
            rows = connection.execute(
                "SELECT language, count(*), sum(facts_id IS NOT NULL),"
                " sum(file_id IN (SELECT file_id FROM links)), sum(size)"
                " FROM files WHERE problem = '' GROUP BY 1 ORDER BY 1"
            ).fetchall()
        return {
            str(name or "text"): (int(files), int(symbols), int(linked), int(size))
            for name, files, symbols, linked, size in rows
        }

    def counts(self) -> IndexCounts:
        """Return how much the published epoch holds."""
        with self.store.database.read() as connection:
            one = connection.execute(
                "SELECT (SELECT count(*) FROM files), (SELECT count(*) FROM files WHERE problem <> ''),"
                " (SELECT count(*) FROM files WHERE facts_id IS NOT NULL), (SELECT count(*) FROM definitions),"
                " (SELECT coalesce(sum(uses), 0) FROM links)"
            ).fetchone()
            problems = connection.execute(
                "SELECT problem, count(*) FROM files WHERE problem <> '' GROUP BY 1 ORDER BY 1"
            ).fetchall()
            languages = connection.execute(
                "SELECT language, count(*) FROM files WHERE problem = '' GROUP BY 1 ORDER BY 1"
            ).fetchall()
        database = self.store.directory / "index.db"
        size = sum(path.stat().st_size for path in (database, self.store.pack.path) if path.exists())
        return IndexCounts(
            files=one[0],
            without_text=one[1],
            with_symbols=one[2],
            definitions=one[3],
            linked_references=one[4],
            size_bytes=size + self._reconciler.lexical.size_bytes(),
            problems={str(reason): int(count) for reason, count in problems},
            left_out=count_left_out(self._reconciler.left_out()),
            text_only={str(name): int(count) for name, count in languages if is_text_only(name)},
        )

    def close(self) -> None:
        """Close the files."""
        self.store.close()
