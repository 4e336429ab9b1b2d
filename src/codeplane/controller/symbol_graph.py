"""The neighbourhood of symbols: who refers to whom, as far as the index has proved it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.outline import LAST_LINE, NAME_LINE, PATH, START
from codeplane.index.facts.reader import FactReader, Place
from codeplane.index.linking.stored_links import Tier
from codeplane.index.reference_search import reference_positions, symbols_of
from codeplane.index.symbol_search import SymbolHit, symbol_at
from codeplane.languages.facts import DefinitionKind, ReferenceRole

EDGE_TYPES: Final = ("references", "imports", "contains")
DIRECTIONS: Final = ("in", "out", "both")
_SURE: Final = frozenset({Tier.PROVEN, Tier.STRONG})
_LOCAL: Final = frozenset({DefinitionKind.PARAMETER})
_MAX_EDGES_PER_NODE: Final = 200


@dataclass(frozen=True, slots=True)
class GraphQuery:
    """How far to go from the start."""

    depth: int
    direction: str
    edge_types: frozenset[str]
    limit: int


@dataclass(slots=True)
class SymbolGraph:
    """Nodes by id and the edges between them; `is_cut` when the limit ended the search."""

    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    is_cut: bool = False


def trace(
    reader: FactReader, starts: list[SymbolHit], query: GraphQuery, accepts_path: Callable[[str], bool]
) -> SymbolGraph:
    """Return what is connected with some definitions, nearest first."""
    graph = SymbolGraph()
    front = [(hit.file.file_id, hit.number) for hit in starts if accepts_path(hit.file.path)]
    seen = set(front)
    for place in front:
        _add_node(reader, graph, place, query.limit)
    for _ in range(query.depth):
        following: list[Place] = []
        for place in front:
            for source, kind, target in _edges(reader, place, query, accepts_path):
                if not _add_edge(reader, graph, (source, kind, target), query.limit):
                    continue
                other = target if source == place else source
                if other not in seen:
                    seen.add(other)
                    following.append(other)
        front = following
    return graph


def _edges(
    reader: FactReader, place: Place, query: GraphQuery, accepts_path: Callable[[str], bool]
) -> Iterator[tuple[Place, str, Place]]:
    n_edges = 0
    for edge in _all_edges(reader, place, query, accepts_path):
        if edge[1] in query.edge_types and edge[0] != edge[2]:
            n_edges += 1
            yield edge
        if n_edges >= _MAX_EDGES_PER_NODE:
            return


def _all_edges(
    reader: FactReader, place: Place, query: GraphQuery, accepts_path: Callable[[str], bool]
) -> Iterator[tuple[Place, str, Place]]:
    hit = symbol_at(reader, *place)
    if hit is None:
        return
    if query.direction != "out":
        yield from _incoming(reader, hit, place, accepts_path)
    if query.direction != "in":
        yield from _outgoing(reader, hit, place, accepts_path)


def _incoming(
    reader: FactReader, hit: SymbolHit, place: Place, accepts_path: Callable[[str], bool]
) -> Iterator[tuple[Place, str, Place]]:
    for symbol in symbols_of(reader, [hit]):
        for view, position, tier in reference_positions(reader, symbol, accepts_path, None):
            if tier not in _SURE:
                continue
            user = _around(view, view.columns.starts[position])
            if user is not None:
                is_import = view.columns.roles[position] == ReferenceRole.IMPORT
                yield user, "imports" if is_import else "references", place


def _outgoing(
    reader: FactReader, hit: SymbolHit, place: Place, accepts_path: Callable[[str], bool]
) -> Iterator[tuple[Place, str, Place]]:
    view = FileView(reader, hit.file)
    outline = reader.outline(hit.file.facts_id or 0)
    start, end = _span(outline, hit.number)
    inner = hit.lexical_path + "."
    for number, path in enumerate(outline.definition_rows.column(PATH)):
        if path.startswith(inner) and "." not in path[len(inner) :]:
            member = symbol_at(reader, hit.file.file_id, number)
            if member is not None and member.kind not in _LOCAL:
                yield place, "contains", (hit.file.file_id, number)
    for position, offset in enumerate(view.columns.starts):
        if not start <= offset < end:
            continue
        tier, meant = view.meaning(position)
        if meant is None or tier not in _SURE or view.columns.roles[position] == ReferenceRole.DEFINITION:
            continue
        target = reader.file(meant[0])
        if target is not None and accepts_path(target.path) and not _is_local(reader, meant, place, inner):
            yield place, "references", meant


def _is_local(reader: FactReader, meant: Place, place: Place, inner: str) -> bool:
    """Tell whether a name is bound inside the definition itself."""
    found = symbol_at(reader, *meant)
    return found is None or found.kind in _LOCAL or (meant[0] == place[0] and found.lexical_path.startswith(inner))


def _span(outline: Any, number: int) -> tuple[int, int]:
    definition = outline.definition(number)
    return int(definition.start), int(definition.end)


def _around(view: FileView, offset: int) -> Place | None:
    """Return the innermost definition around an offset that is not a local one."""
    outline = view.outline
    best: tuple[int, int] | None = None
    for number, start in enumerate(outline.definition_rows.column(START)):
        if start > offset:
            continue
        definition = outline.definition(number)
        if definition.kind in _LOCAL or not definition.start <= offset < definition.end:
            continue
        if definition.kind in {DefinitionKind.VARIABLE, DefinitionKind.FIELD, DefinitionKind.PROPERTY}:
            continue
        if best is None or start > best[0]:
            best = (start, number)
    return (view.file.file_id, best[1]) if best is not None else None


def _add_node(reader: FactReader, graph: SymbolGraph, place: Place, limit: int) -> str | None:
    hit = symbol_at(reader, *place)
    if hit is None:
        return None
    node_id = f"{hit.file.path}::{hit.lexical_path}"
    if node_id not in graph.nodes:
        if len(graph.nodes) >= limit:
            graph.is_cut = True
            return None
        outline = reader.outline(hit.file.facts_id or 0)
        graph.nodes[node_id] = {
            "id": node_id,
            "symbol": hit.lexical_path,
            "kind": hit.kind.label,
            "file": hit.file.path,
            "startLine": int(outline.lines.column(NAME_LINE)[hit.number]),
            "endLine": int(outline.lines.column(LAST_LINE)[hit.number]),
        }
    return node_id


def _add_edge(reader: FactReader, graph: SymbolGraph, edge: tuple[Place, str, Place], limit: int) -> bool:
    source, kind, target = edge
    ids = _add_node(reader, graph, source, limit), _add_node(reader, graph, target, limit)
    if ids[0] is None or ids[1] is None:
        return False
    graph.edges[ids[0], kind, ids[1]] = {"from": ids[0], "type": kind, "to": ids[1]}
    return True
