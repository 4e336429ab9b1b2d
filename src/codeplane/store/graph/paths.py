"""Ways from one node to another, the shortest first."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.store.graph.model import Found, Hop, Path, Reading, Walk

MAX_HOPS: Final = 200_000
MAX_STEPS: Final = 50_000
_Hops = Mapping[str, list[Hop]]


def find_paths(reading: Reading, source: str, target: str, walk: Walk, limit: int) -> Found[Path]:
    """Return paths by length, then by the ids of their edges.

    Raises:
        CodePlaneError: OUT_OF_RANGE when too many edges are within reach.
    """
    if len(reading.nodes(sorted({source, target}))) < len({source, target}):
        return Found(())
    hops = _collect(reading, source, target, walk)
    distance = _distances(hops, target)
    found: list[list[Hop]] = []
    is_cut = False
    if source in distance:
        for way in _ways(hops, distance, source, target, walk.depth):
            is_cut = way is None or len(found) == limit
            if way is None or is_cut:
                break
            found.append(way)
    return Found(tuple(_filled(reading, source, found)), is_cut)


def _collect(reading: Reading, source: str, target: str, walk: Walk) -> _Hops:
    """Return the edges within reach of the source, by the node they leave, each list by edge id."""
    hops: dict[str, list[Hop]] = {}
    frontier = {source}
    n_hops = 0
    for _ in range(walk.depth):
        met: dict[str, set[Hop]] = defaultdict(set)
        # Nothing that follows the target is of use: a path meets it once.
        for hop in reading.hops(sorted(frontier - {target}), walk.direction, walk.rels):
            met[hop.near].add(hop)
        hops |= {near: sorted(found, key=lambda hop: (hop.edge, hop.far)) for near, found in met.items()}
        n_hops += sum(map(len, met.values()))
        if n_hops > MAX_HOPS:
            message = f"More than {MAX_HOPS} edges are within reach."
            raise CodePlaneError("OUT_OF_RANGE", message, hint="Name relations, or less depth.")
        frontier = {hop.far for found in met.values() for hop in found} - hops.keys() - {target}
        if not frontier:
            break
    return hops


def _distances(hops: _Hops, target: str) -> dict[str, int]:
    """Return how many edges each node is away from the target."""
    before: dict[str, set[str]] = defaultdict(set)
    for near, found in hops.items():
        for hop in found:
            before[hop.far].add(near)
    distance = {target: 0}
    frontier = {target}
    while frontier:
        frontier = {near for far in frontier for near in before[far] if near not in distance}
        distance |= dict.fromkeys(frontier, max(distance.values()) + 1)
    return distance


def _ways(hops: _Hops, distance: Mapping[str, int], source: str, target: str, depth: int) -> Iterator[list[Hop] | None]:
    """Yield the ways; None when the rest would take too long. One of the shortest is always found."""
    n_steps = 0
    for length in range(distance[source], depth + 1):
        waiting: list[list[Hop]] = [[]]
        while waiting:
            way = waiting.pop()
            end = way[-1].far if way else source
            if len(way) == length and end == target:
                yield way
                continue
            met = {source, *(hop.far for hop in way)}
            further = [
                [*way, hop]
                for hop in hops.get(end, ())
                if hop.far not in met and distance.get(hop.far, length) <= length - len(way) - 1
            ]
            n_steps += 1 + len(further)
            if n_steps > MAX_STEPS:
                yield None
                return
            # The last one is taken next.
            waiting += reversed(further)


def _filled(reading: Reading, source: str, ways: list[list[Hop]]) -> Iterator[Path]:
    nodes = {node.id: node for node in reading.nodes(sorted({source, *(hop.far for way in ways for hop in way)}))}
    met = {hop.edge: hop.near for way in ways for hop in way}
    edges = {edge.id: edge for edge in reading.edges(sorted(met), sorted(set(met.values())))}
    for way in ways:
        ids = (source, *(hop.far for hop in way))
        yield Path(tuple(nodes[one] for one in ids), tuple(edges[hop.edge] for hop in way))
