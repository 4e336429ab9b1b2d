"""The index of one working tree: opened on first use, brought up to date before it answers."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts.reader import FactCache, FactReader, reading
from codeplane.index.ignore_rules import IgnoreRules
from codeplane.index.index_store import IndexStore
from codeplane.index.lexical_index import LexicalHit
from codeplane.index.reconcile import IndexState, Reconciler, ReconcileReport
from codeplane.index.sweep import Sweeper

_KEPT_EPOCHS = 8


class RepositoryIndex:
    """Store, sweeper and reconciler of one working tree.

    Invariant: a state that was handed out stays readable as long as it is among the newest kept epochs.
    """

    def __init__(
        self,
        root: Path,
        directory: Path,
        rules: Callable[[], IgnoreRules],
        deciders: Callable[[], object],
        now_ns: Callable[[], int],
        holds_tracked: Callable[[str], bool],
    ) -> None:
        self.store = IndexStore(directory)
        self._reconciler = Reconciler(root, self.store, Sweeper(root, rules, deciders), now_ns, holds_tracked)
        self._states: OrderedDict[int, IndexState] = OrderedDict()
        self.last_report: ReconcileReport | None = None
        self._facts = FactCache()
        self._names = (-1, "")

    def refresh(self) -> ReconcileReport:
        """Bring the index up to date with the files."""
        report = self._reconciler.ensure_fresh()
        self.last_report = report
        state = self._reconciler.state
        if state is not None:
            self._states[state.epoch] = state
            while len(self._states) > _KEPT_EPOCHS:
                self._states.popitem(last=False)
        return report

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

    def lexical_search(
        self, query: str, limit: int, unit_id: int | None = None, language: str | None = None
    ) -> list[LexicalHit]:
        """Return the files that fit a query best (§7.2); `limit` is a hard cap."""
        self.state()
        return self._reconciler.ranked().lexical_search(query, limit, unit_id, language)

    def symbol_names(self, reader: FactReader) -> str:
        """Return the folded names of all definitions, one per line."""
        if self._names[0] != reader.epoch:
            rows = reader.connection.execute("SELECT DISTINCT folded FROM definitions ORDER BY folded")
            self._names = (reader.epoch, "\n".join(row[0] for row in rows))
        return self._names[1]

    def close(self) -> None:
        """Close the files."""
        self.store.close()
