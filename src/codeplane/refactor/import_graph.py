"""Which files import which when a program starts, to find cycles that a move would make."""

from collections import defaultdict
from collections.abc import Iterable

from codeplane.refactor.moved_tree import MovedTree


class ImportGraph:
    """The files of a family with the files that each imports at its top, not inside functions or conditions."""

    def __init__(self, tree: MovedTree) -> None:
        self._tree = tree
        self._files: dict[str, list[str]] = defaultdict(list)
        for path in tree.files:
            for module in tree.before.modules_of(path)[-1:]:
                self._files[module].append(path)
        self._known: dict[str, frozenset[str]] = {}

    def imported_by(self, path: str) -> frozenset[str]:
        """Return the files that a file imports when it is loaded."""
        if path not in self._known:
            found: set[str] = set()
            outline = self._tree.view(path).outline if path in self._tree.files else None
            for row in outline.import_rows if outline is not None else ():
                if row[0] != 0 or row[8] or row[4] == "ts_import_type":
                    continue
                module = self._tree.before.locate(path, row[1])
                inner = self._tree.before.submodule(module, row[2]) if module is not None and row[2] else None
                found.update(self._files.get(inner or module or "", ()))
            self._known[path] = frozenset(found - {path})
        return self._known[path]

    def cycle_with(self, added: Iterable[tuple[str, str]]) -> list[str]:
        """Return the first cycle that some further imports would make, from a file back to itself; empty for none."""
        new = [edge for edge in added if edge[1] not in self.imported_by(edge[0])]
        for start, end in new:
            way = self._way(end, start, new)
            if way:
                return [start, *way]
        return []

    def _way(self, start: str, end: str, added: list[tuple[str, str]]) -> list[str]:
        """Return the files on a way of imports from one file to another."""
        before: dict[str, str] = {start: ""}
        waiting = [start]
        while waiting:
            path = waiting.pop(0)
            if path == end:
                way = [path]
                while before[way[0]]:
                    way.insert(0, before[way[0]])
                return way
            for other in sorted({*self.imported_by(path), *(to for one, to in added if one == path)}):
                if other not in before:
                    before[other] = path
                    waiting.append(other)
        return []
