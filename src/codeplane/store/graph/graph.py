"""The graph itself: a dozen operations, the same on every backend."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, TypeVar

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import printable_name
from codeplane.store.graph.model import (
    MAX_DEPTH,
    MAX_RESULTS,
    Backend,
    Edge,
    Found,
    GraphStatus,
    Made,
    Neighbour,
    Node,
    Path,
    Reading,
    Row,
    Walk,
    facts_of,
    in_order,
    line_of,
)
from codeplane.store.graph.paths import find_paths

T = TypeVar("T")
_DEFAULT_LIMIT: Final = 1000


class Graph:
    """A graph of one working tree.

    Invariant: every answer is of one generation and in an order that depends on the rows alone.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def status(self) -> GraphStatus:
        """Return where the graph is, and how many rows of each label and relation it has."""
        return self._backend.read(lambda reading: reading.status())

    def node(self, node_id: str) -> Node | None:
        """Return one node."""
        return next(iter(self._backend.read(lambda reading: reading.nodes([node_id]))), None)

    def find(self, label: str = "", props: Mapping[str, Any] | None = None, limit: int = _DEFAULT_LIMIT) -> Found[Node]:
        """Return the nodes that have this label (empty: any) and these properties, by id.

        Only properties with a single value of at most about 200 characters can be asked for.

        Raises:
            CodePlaneError: VALIDATION_ERROR, OUT_OF_RANGE.
        """
        _check_limit(limit)
        wanted = dict(props or {})
        facts = facts_of(wanted)
        if len(facts) < len(wanted):
            raise CodePlaneError("VALIDATION_ERROR", "Nodes are found by short single values, not by lists or objects.")
        return _found(self._backend.read(lambda reading: reading.find(label, facts, limit + 1)), limit)

    def edges_of(self, node_id: str, walk: Walk, limit: int = _DEFAULT_LIMIT) -> Found[Edge]:
        """Return the edges at a node, by id.

        Raises:
            CodePlaneError: OUT_OF_RANGE.
        """
        _check_limit(limit)

        def look(reading: Reading) -> list[Edge]:
            ids = sorted({hop.edge for hop in reading.hops([node_id], walk.direction, walk.rels)})
            return _sorted(reading.edges(ids[: limit + 1], [node_id]))

        return _found(self._backend.read(look), limit)

    def neighbours(self, node_id: str, walk: Walk, limit: int = _DEFAULT_LIMIT) -> Found[Neighbour]:
        """Return the nodes within `walk.depth` edges of a node, the nearest first, then by id.

        Raises:
            CodePlaneError: OUT_OF_RANGE.
        """
        _check_walk(walk)
        _check_limit(limit)
        return _found(self._backend.read(lambda reading: reading.reach(node_id, walk, limit + 1)), limit)

    def paths(self, source: str, target: str, walk: Walk, limit: int = 1) -> Found[Path]:
        """Return the shortest ways from one node to another within `walk.depth` edges: by length, then by edge ids.

        `is_cut` also says that the search for longer ones was given up.

        Raises:
            CodePlaneError: OUT_OF_RANGE, also when too many edges are within reach.
        """
        _check_walk(walk)
        _check_limit(limit)
        return self._backend.read(lambda reading: find_paths(reading, source, target, walk, limit))

    def rows(self, *, only_local: bool = False) -> list[Row]:
        """Return every row, or those that are not from the seeds, in the order of an export."""
        return in_order(self._backend.read(lambda reading: reading.rows(only_local=only_local)))

    def upsert(self, rows: Iterable[Row]) -> int:
        """Add rows that no seed has; of an id that exists the higher version wins. Return how many were written.

        Raises:
            CodePlaneError: VALIDATION_ERROR for an edge without its nodes, or the same version with other content.
        """
        given = in_order(rows)
        ids = sorted({row.id for row in given})
        ends = sorted({end for row in given if isinstance(row, Edge) for end in (row.source, row.target)})
        known = {row.id: row for row in self._backend.read(lambda reading: _known(reading, [*ids, *ends]))}
        wanted: dict[str, Row] = {}
        for row in given:
            if _is_news(row, wanted.get(row.id) or known.get(row.id)):
                wanted[row.id] = _as_local(row)
        nodes = {row.id for row in (*known.values(), *wanted.values()) if isinstance(row, Node)}
        check_ends(wanted.values(), nodes)
        if wanted:
            self._backend.put(in_order(wanted.values()))
        return len(wanted)

    def rebuilding(self, made: Made) -> AbstractContextManager[Callable[[Sequence[Row]], None]]:
        """Give a function that puts rows, nodes before edges, into a new generation, which replaces the old one."""
        return self._backend.building(made)

    def drop(self) -> None:
        """Remove everything, local rows included."""
        self._backend.drop()

    def close(self) -> None:
        """Close what is open."""
        self._backend.close()


def check_ends(rows: Iterable[Row], nodes: set[str]) -> None:
    """Refuse edges between nodes that do not exist.

    Raises:
        CodePlaneError: VALIDATION_ERROR.
    """
    for row in rows:
        missing = missing_end(row, nodes)
        if missing:
            shown = printable_name(row.id)
            raise CodePlaneError("VALIDATION_ERROR", f"The edge {shown} needs the node {printable_name(missing)}.")


def missing_end(row: Row, nodes: set[str]) -> str:
    """Return the node that an edge lacks; empty when it has both."""
    ends = (row.source, row.target) if isinstance(row, Edge) else ()
    return next((end for end in ends if end not in nodes), "")


def _known(reading: Reading, ids: Sequence[str]) -> list[Row]:
    return [*reading.nodes(ids), *reading.edges(ids)]


def _is_news(row: Row, known: Row | None) -> bool:
    if known is None:
        return True
    if type(known) is not type(row):
        raise CodePlaneError("VALIDATION_ERROR", f"{printable_name(row.id)} is both a node and an edge.")
    if known.stamp.version == row.stamp.version and line_of(known) != line_of(row):
        shown = f"{printable_name(row.id)} exists in version {row.stamp.version} with other content."
        raise CodePlaneError("VALIDATION_ERROR", shown, hint="Read it again, then raise the version.")
    return row.stamp.version > known.stamp.version


def _as_local(row: Row) -> Row:
    if isinstance(row, Node):
        return Node(row.id, row.label, row.props, row.stamp, is_local=True)
    return Edge(row.id, row.source, row.rel, row.target, row.props, row.stamp, is_local=True)


def _check_walk(walk: Walk) -> None:
    if not 1 <= walk.depth <= MAX_DEPTH:
        raise CodePlaneError("OUT_OF_RANGE", f"A walk has 1 to {MAX_DEPTH} steps, not {walk.depth}.")


def _check_limit(limit: int) -> None:
    if not 1 <= limit <= MAX_RESULTS:
        raise CodePlaneError("OUT_OF_RANGE", f"A limit is 1 to {MAX_RESULTS}, not {limit}.")


def _sorted(edges: list[Edge]) -> list[Edge]:
    return sorted(edges, key=lambda edge: edge.id)


def _found(items: Sequence[T], limit: int) -> Found[T]:
    return Found(tuple(items[:limit]), len(items) > limit)
