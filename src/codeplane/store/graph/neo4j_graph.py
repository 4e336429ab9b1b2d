"""The graph in a Neo4j server, reached over bolt.

Several graphs share a server, and a graph is built beside the one in use: every node and edge has the name of its
`space`, which is the graph and its generation. One node per graph says which generation is in use.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from codeplane.core.canonical_json import canonical_text
from codeplane.core.errors import CodePlaneError
from codeplane.store.graph.model import (
    Direction,
    Edge,
    GraphStatus,
    Hop,
    Made,
    Neighbour,
    Node,
    Row,
    Stamp,
    Walk,
    facts_of,
    in_order,
)

if TYPE_CHECKING:
    from neo4j import Driver, ManagedTransaction

T = TypeVar("T")

_CONSTRAINTS: Final = (
    "CREATE CONSTRAINT codeplane_graph IF NOT EXISTS FOR (g:CodePlaneGraph) REQUIRE g.name IS UNIQUE",
    "CREATE CONSTRAINT codeplane_node IF NOT EXISTS FOR (n:CodePlaneNode) REQUIRE n._key IS UNIQUE",
    "CREATE INDEX codeplane_space IF NOT EXISTS FOR (n:CodePlaneNode) ON (n._space)",
)
_PLAIN: Final = re.compile(r"[A-Za-z]\w{0,99}")
_DELETED_AT_ONCE: Final = 5_000
_TRIES: Final = 5
_ARROWS: Final = {Direction.OUT: "-[e]->", Direction.IN: "<-[e]-", Direction.BOTH: "-[e]-"}
# The properties of a server's node that are ours; those of a row whose names are not plain are only in `_props`.
_STAMPED: Final = (
    "_id: row.id, _space: $space, _props: row.props, _type: row.type, _version: row.version,"
    " _updated_at: row.updated_at, _updated_by: row.updated_by, _local: row.local"
)
_NODE: Final = (
    "n._id AS id, n._label AS label, n._props AS props, n._type AS type, n._version AS version,"
    " n._updated_at AS updated_at, n._updated_by AS updated_by, n._local AS local"
)
_EDGE: Final = (
    "e._id AS id, a._id AS source, type(e) AS rel, b._id AS target, e._props AS props, e._type AS type,"
    " e._version AS version, e._updated_at AS updated_at, e._updated_by AS updated_by, e._local AS local"
)


@dataclass(frozen=True, slots=True)
class Neo4jAddress:
    """Where the server is and which graph in it is ours; without a user there is no authentication."""

    url: str
    graph: str
    user: str = ""
    password: str = ""
    database: str = ""
    timeout_sec: float = 30.0


class Neo4jGraph:
    """A graph in a Neo4j server.

    Invariant: the generation in use is complete; others are leftovers, removed by the next rebuild.
    """

    def __init__(self, address: Neo4jAddress) -> None:
        self._address = address
        self._driver = _open_driver(address)

    def read(self, work: Callable[["Neo4jReading"], T]) -> T:
        """Return what `work` finds out about one generation."""
        for _ in range(_TRIES):
            found, is_same = self._transact(lambda transaction: self._read_once(transaction, work), "READ")
            if is_same:
                return found
        raise CodePlaneError("STORE_BUSY", "The graph was replaced again and again while it was read.")

    def _read_once(self, transaction: "ManagedTransaction", work: Callable[["Neo4jReading"], T]) -> tuple[T, bool]:
        """Return what was found, and whether the generation is still in use: Neo4j isolates statements only."""
        generation = self._generation(transaction)
        found = work(Neo4jReading(transaction, self._address.graph, generation))
        return found, self._generation(transaction) == generation

    def _generation(self, transaction: "ManagedTransaction") -> int:
        query = "MATCH (g:CodePlaneGraph {name: $name}) RETURN g.generation AS generation"
        return next((row["generation"] or 0 for row in transaction.run(query, name=self._address.graph)), 0)

    @contextmanager
    def building(self, made: Made) -> Iterator[Callable[[Sequence[Row]], None]]:
        """Give a function that puts rows into a new generation."""
        for statement in _CONSTRAINTS:
            self._write(statement)
        current = self._transact(self._generation, "READ")
        generation = current + 1
        # What an interrupted sync left behind, perhaps under this very number.
        self._remove_spaces(except_generation=current)
        space = _space(self._address.graph, generation)
        yield lambda rows: self._transact(lambda transaction: _create(transaction, space, rows), "WRITE")
        self._write(
            "MERGE (g:CodePlaneGraph {name: $name})"
            " SET g.generation = $generation, g.synced_at = $synced_at, g.seeds_digest = $seeds_digest",
            name=self._address.graph,
            generation=generation,
            synced_at=made.synced_at,
            seeds_digest=made.seeds_digest,
        )
        self._remove_spaces(except_generation=generation)

    def put(self, rows: Sequence[Row]) -> None:
        """Add or replace rows of the current generation."""

        def write(transaction: "ManagedTransaction") -> None:
            space = _space(self._address.graph, self._generation(transaction))
            ids = [row.id for row in rows if isinstance(row, Edge)]
            transaction.run(
                "MATCH (:CodePlaneNode {_space: $space})-[e]->() WHERE e._id IN $ids DELETE e", space=space, ids=ids
            ).consume()
            _create(transaction, space, rows)

        for statement in _CONSTRAINTS:
            self._write(statement)
        self._transact(write, "WRITE")

    def drop(self) -> None:
        """Remove everything; first the generation that is in use, so that no reader sees a part of it."""
        self._write("MATCH (g:CodePlaneGraph {name: $name}) DELETE g", name=self._address.graph)
        self._remove_spaces(except_generation=-1)

    def close(self) -> None:
        """Close the connections."""
        self._driver.close()

    def _remove_spaces(self, *, except_generation: int) -> None:
        """Remove all nodes and edges of this graph that are not of a generation, some at a time."""
        query = (
            "MATCH (n:CodePlaneNode) WHERE n._space STARTS WITH $prefix AND n._space <> $kept"
            f" WITH n LIMIT {_DELETED_AT_ONCE} DETACH DELETE n RETURN count(*) AS n"
        )
        names = {"prefix": f"{self._address.graph}#", "kept": _space(self._address.graph, except_generation)}
        while self._write(query, **names)[0]["n"]:
            pass

    def _write(self, query: str, **values: Any) -> list[Any]:
        # Queries are made of constants and checked names.
        return self._transact(lambda transaction: list(transaction.run(query, **values)), "WRITE")

    def _transact(self, work: Callable[["ManagedTransaction"], T], access: str) -> T:
        # 150 ms that only users of Neo4j need.
        from neo4j import unit_of_work  # noqa: PLC0415
        from neo4j.exceptions import DriverError, Neo4jError  # noqa: PLC0415

        limited = unit_of_work(timeout=self._address.timeout_sec)(work)
        try:
            with self._driver.session(database=self._address.database or None) as session:
                return session.execute_read(limited) if access == "READ" else session.execute_write(limited)
        except (DriverError, Neo4jError, OSError) as error:
            raise _unavailable(self._address, error) from error


def _space(graph: str, generation: int) -> str:
    return f"{graph}#{generation}"


def _open_driver(address: Neo4jAddress) -> "Driver":
    try:
        # As above; the package is optional.
        from neo4j import GraphDatabase  # noqa: PLC0415
    except ImportError as error:
        message = "graph.neo4j.url is set, but the Neo4j driver is not installed."
        raise CodePlaneError("CONFIG_INVALID", message, hint="Install codeplane[neo4j], or unset it.") from error
    return GraphDatabase.driver(
        address.url,
        auth=(address.user, address.password) if address.user else None,
        connection_timeout=min(address.timeout_sec, 10.0),
        connection_acquisition_timeout=address.timeout_sec,
        max_transaction_retry_time=min(address.timeout_sec, 5.0),
        notifications_min_severity="OFF",
        telemetry_disabled=True,
    )


def _unavailable(address: Neo4jAddress, error: Exception) -> CodePlaneError:
    # The driver's own text may quote a whole query; the first line says enough.
    said = (str(error).splitlines() or [type(error).__name__])[0][:300]
    return CodePlaneError("GRAPH_UNAVAILABLE", f"Neo4j at {address.url} failed: {said}")


def _create(transaction: "ManagedTransaction", space: str, rows: Sequence[Row]) -> None:
    nodes, edges = defaultdict(list), defaultdict(list)
    for row in rows:
        if isinstance(row, Node):
            found = _values(row) | {"facts": facts_of(row.props), "native": _native(row.props)}
            nodes[row.label].append(found | {"key": f"{space} {row.id}"})
        else:
            ends = {"source": f"{space} {row.source}", "target": f"{space} {row.target}"}
            edges[row.rel].append(_values(row) | ends)
    # Labels and relations cannot be parameters; they were checked to be plain names.
    for label, values in nodes.items():
        query = (
            f"UNWIND $rows AS row MERGE (n:CodePlaneNode {{_key: row.key}}) REMOVE n:$(coalesce(n._label, []))"
            f" SET n = row.native SET n += {{{_STAMPED}, _key: row.key, _label: $label, _facts: row.facts}}"
            f" SET n:`{label}`"
        )
        transaction.run(query, rows=values, space=space, label=label).consume()
    for rel, values in edges.items():
        query = (
            "UNWIND $rows AS row MATCH (a:CodePlaneNode {_key: row.source}) MATCH (b:CodePlaneNode {_key: row.target})"
            f" CREATE (a)-[:`{rel}` {{{_STAMPED}}}]->(b)"
        )
        transaction.run(query, rows=values, space=space).consume()


def _values(row: Row) -> dict[str, Any]:
    stamp = row.stamp
    return {
        "id": row.id, "props": canonical_text(dict(row.props)), "type": stamp.type, "version": stamp.version,
        "updated_at": stamp.updated_at, "updated_by": stamp.updated_by, "local": row.is_local,
    }  # fmt: skip


def _native(props: Mapping[str, Any]) -> dict[str, Any]:
    """Return the single values, for people who look at the graph with the server's own tools."""
    return {
        name: value
        for name, value in props.items()
        if isinstance(value, str | int | float | bool) and _PLAIN.fullmatch(name)
    }


class Neo4jReading:
    """What the server says about one generation."""

    def __init__(self, transaction: "ManagedTransaction", graph: str, generation: int) -> None:
        self._transaction = transaction
        self._graph = graph
        self._generation = generation
        self._space = _space(graph, generation)

    def _run(self, query: str, **values: Any) -> Iterator[Any]:
        # As for writing.
        yield from self._transaction.run(query, space=self._space, **values)

    def _keys(self, ids: Sequence[str]) -> list[str]:
        return [f"{self._space} {one}" for one in ids]

    def status(self) -> GraphStatus:
        """Return what there is."""
        made = next(self._run("MATCH (g:CodePlaneGraph {name: $name}) RETURN g", name=self._graph), None)
        node = {} if made is None else made["g"]
        labels = self._counted("MATCH (n:CodePlaneNode {_space: $space}) RETURN n._label AS name, count(*) AS n")
        rels = self._counted("MATCH (:CodePlaneNode {_space: $space})-[e]->() RETURN type(e) AS name, count(*) AS n")
        local = "MATCH (n:CodePlaneNode {_space: $space}) WHERE n._local RETURN 'local' AS name, count(*) AS n"
        edges = "MATCH (:CodePlaneNode {_space: $space})-[e]->() WHERE e._local RETURN 'local' AS name, count(*) AS n"
        n_local = sum(self._counted(one).get("local", 0) for one in (local, edges))
        notes = node.get("synced_at", ""), node.get("seeds_digest", "")
        return GraphStatus("neo4j", self._generation, *notes, labels, rels, n_local)

    def _counted(self, query: str) -> dict[str, int]:
        return dict(sorted((row["name"], row["n"]) for row in self._run(query)))

    def nodes(self, ids: Sequence[str]) -> list[Node]:
        """Return the nodes that exist."""
        query = f"UNWIND $keys AS key MATCH (n:CodePlaneNode {{_key: key}}) RETURN {_NODE}"
        return [_node(row) for row in self._run(query, keys=self._keys(ids))]

    def edges(self, ids: Sequence[str], near: Sequence[str] | None = None) -> list[Edge]:
        """Return the edges that exist; without `near` all edges of the graph are looked at."""
        if not ids:
            return []
        start = "MATCH (n:CodePlaneNode {_space: $space})-[e]->()"
        if near is not None:
            start = "UNWIND $keys AS key MATCH (n:CodePlaneNode {_key: key})-[e]-()"
        query = f"{start} WHERE e._id IN $ids WITH DISTINCT e, startNode(e) AS a, endNode(e) AS b RETURN {_EDGE}"
        return [_edge(row) for row in self._run(query, ids=list(ids), keys=self._keys(near or ()))]

    def find(self, label: str, facts: Sequence[str], limit: int) -> list[Node]:
        """Return nodes in the order of their ids that have this label and all these facts."""
        query = (
            "MATCH (n:CodePlaneNode {_space: $space}) WHERE ($label = '' OR n._label = $label)"
            f" AND all(fact IN $facts WHERE fact IN n._facts) RETURN {_NODE} ORDER BY n._id LIMIT $limit"
        )
        return [_node(row) for row in self._run(query, label=label, facts=list(facts), limit=limit)]

    def hops(self, ids: Sequence[str], direction: Direction, rels: frozenset[str]) -> list[Hop]:
        """Return the edges at these nodes."""
        query = (
            f"UNWIND $keys AS key MATCH (n:CodePlaneNode {{_key: key}}){_ARROWS[direction]}(m)"
            " WHERE size($rels) = 0 OR type(e) IN $rels RETURN n._id AS near, e._id AS edge, m._id AS far"
        )
        return [Hop(**row) for row in self._run(query, keys=self._keys(ids), rels=sorted(rels))]

    def reach(self, start: str, walk: Walk, limit: int) -> list[Neighbour]:
        """Return the nearest nodes, in the order of depth and id, without the start."""
        depths = {start: 0}
        frontier = [start]
        for depth in range(1, walk.depth + 1):
            met = {hop.far for hop in self.hops(frontier, walk.direction, walk.rels)} - depths.keys()
            frontier = sorted(met)
            depths |= dict.fromkeys(frontier, depth)
            if not frontier or len(depths) > limit:
                break
        nearest = sorted(depths.items() - {(start, 0)}, key=lambda one: (one[1], one[0]))[:limit]
        nodes = {node.id: node for node in self.nodes([one for one, _ in nearest])}
        return [Neighbour(nodes[one], depth) for one, depth in nearest]

    def rows(self, *, only_local: bool) -> list[Row]:
        """Return every row, or those that are not from the seeds."""
        nodes = f"MATCH (n:CodePlaneNode {{_space: $space}}) WHERE n._local OR NOT $local RETURN {_NODE}"
        edges = f"MATCH (a:CodePlaneNode {{_space: $space}})-[e]->(b) WHERE e._local OR NOT $local RETURN {_EDGE}"
        found: list[Row] = [_node(row) for row in self._run(nodes, local=only_local)]
        found += [_edge(row) for row in self._run(edges, local=only_local)]
        return in_order(found)


def _stamp(row: Mapping[str, Any]) -> Stamp:
    return Stamp(row["type"], row["version"], row["updated_at"], row["updated_by"])


def _node(row: Mapping[str, Any]) -> Node:
    return Node(row["id"], row["label"], json.loads(row["props"]), _stamp(row), is_local=row["local"])


def _edge(row: Mapping[str, Any]) -> Edge:
    ends = row["source"], row["rel"], row["target"]
    return Edge(row["id"], *ends, json.loads(row["props"]), _stamp(row), is_local=row["local"])
