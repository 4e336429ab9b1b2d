"""The graph in one SQLite file."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, Final, TypeVar

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
)
from codeplane.store.sqlite import Database, Schema

T = TypeVar("T")

_SCHEMA: Final = Schema(
    "graph",
    (
        """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE nodes (
  key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, label TEXT NOT NULL, props TEXT NOT NULL, type TEXT NOT NULL,
  version INTEGER NOT NULL, updated_at TEXT NOT NULL, updated_by TEXT NOT NULL, is_local INTEGER NOT NULL
);
CREATE INDEX nodes_by_label ON nodes (label, id);
CREATE TABLE facts (fact TEXT NOT NULL, node INTEGER NOT NULL REFERENCES nodes (key), PRIMARY KEY (fact, node))
  WITHOUT ROWID;
CREATE INDEX facts_by_node ON facts (node);
CREATE TABLE edges (
  key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, source INTEGER NOT NULL REFERENCES nodes (key), rel TEXT NOT NULL,
  target INTEGER NOT NULL REFERENCES nodes (key), props TEXT NOT NULL, type TEXT NOT NULL, version INTEGER NOT NULL,
  updated_at TEXT NOT NULL, updated_by TEXT NOT NULL, is_local INTEGER NOT NULL
);
CREATE INDEX edges_out ON edges (source, rel, target);
CREATE INDEX edges_in ON edges (target, rel, source);
""",
    ),
)
_STAMP: Final = "type, version, updated_at, updated_by, is_local"
_NODES: Final = f"SELECT id, label, props, {_STAMP} FROM nodes"  # noqa: S608 - constants.
_EDGES: Final = (
    "SELECT edges.id, a.id, rel, b.id, edges.props, edges.type, edges.version, edges.updated_at, edges.updated_by,"
    " edges.is_local FROM edges JOIN nodes a ON a.key = source JOIN nodes b ON b.key = target"
)
# Which end of an edge is here and which is there, for each way to follow edges.
_ENDS: Final = {
    Direction.OUT: (("source", "target"),),
    Direction.IN: (("target", "source"),),
    Direction.BOTH: (("source", "target"), ("target", "source")),
}


class SqliteGraph:
    """A graph in one file.

    Invariant: a generation is written in one transaction, so readers and a killed process see the old or the new one.
    """

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _SCHEMA, durable=True)

    def read(self, work: Callable[["SqliteReading"], T]) -> T:
        """Return what `work` finds out about one generation."""
        with self._database.read() as connection:
            connection.execute("BEGIN")
            result = work(SqliteReading(connection))
            connection.execute("COMMIT")
            return result

    @contextmanager
    def building(self, made: Made) -> Iterator[Callable[[Sequence[Row]], None]]:
        """Give a function that puts rows into a new generation."""
        with self._database.write() as connection:
            generation = SqliteReading(connection).generation + 1
            _empty(connection)
            yield lambda rows: _insert(connection, rows)
            _note(connection, generation, made)

    def put(self, rows: Sequence[Row]) -> None:
        """Add or replace rows of the current generation."""
        with self._database.write() as connection:
            _insert(connection, rows)

    def drop(self) -> None:
        """Remove everything."""
        with self._database.write() as connection:
            _empty(connection)
            connection.execute("DELETE FROM meta")

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _empty(connection: sqlite3.Connection) -> None:
    for table in ("edges", "facts", "nodes"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - constants.


def _note(connection: sqlite3.Connection, generation: int, made: Made) -> None:
    values = {"generation": str(generation), "synced_at": made.synced_at, "seeds_digest": made.seeds_digest}
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


def _insert(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    for kind, group in groupby(rows, key=type):
        if kind is Node:
            _insert_nodes(connection, [row for row in group if isinstance(row, Node)])
        else:
            _insert_edges(connection, [row for row in group if isinstance(row, Edge)])


def _insert_nodes(connection: sqlite3.Connection, nodes: Sequence[Node]) -> None:
    # Updated in place: the keys of nodes are in edges.
    connection.executemany(
        "INSERT INTO nodes (id, label, props, type, version, updated_at, updated_by, is_local)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET label = excluded.label,"
        " props = excluded.props, type = excluded.type, version = excluded.version, updated_at = excluded.updated_at,"
        " updated_by = excluded.updated_by, is_local = excluded.is_local",
        [(node.id, node.label, canonical_text(dict(node.props)), *_stamp_values(node)) for node in nodes],
    )
    connection.executemany(
        "DELETE FROM facts WHERE node = (SELECT key FROM nodes WHERE id = ?)", [(node.id,) for node in nodes]
    )
    connection.executemany(
        "INSERT INTO facts SELECT ?, key FROM nodes WHERE id = ?",
        [(fact, node.id) for node in nodes for fact in facts_of(node.props)],
    )


def _insert_edges(connection: sqlite3.Connection, edges: Sequence[Edge]) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO edges (id, source, rel, target, props, type, version, updated_at, updated_by, is_local)"
        " VALUES (?, (SELECT key FROM nodes WHERE id = ?), ?, (SELECT key FROM nodes WHERE id = ?), ?, ?, ?, ?, ?, ?)",
        [
            (edge.id, edge.source, edge.rel, edge.target, canonical_text(dict(edge.props)), *_stamp_values(edge))
            for edge in edges
        ],
    )


def _stamp_values(row: Row) -> tuple[str, int, str, str, bool]:
    stamp = row.stamp
    return stamp.type, stamp.version, stamp.updated_at, stamp.updated_by, row.is_local


class SqliteReading:
    """What the file says, in one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @property
    def generation(self) -> int:
        """Return the number of the generation."""
        return int(self._meta().get("generation", 0))

    def _meta(self) -> dict[str, str]:
        return dict(map(tuple, self._connection.execute("SELECT name, value FROM meta")))

    def status(self) -> GraphStatus:
        """Return what there is."""
        meta = self._meta()
        labels, rels = (
            dict(map(tuple, self._connection.execute(f"SELECT {name}, COUNT(*) FROM {table} GROUP BY 1 ORDER BY 1")))  # noqa: S608 - constants.
            for table, name in (("nodes", "label"), ("edges", "rel"))
        )
        local = "SELECT (SELECT SUM(is_local) FROM nodes), (SELECT SUM(is_local) FROM edges)"
        n_local = sum(one or 0 for one in self._connection.execute(local).fetchone())
        made = meta.get("synced_at", ""), meta.get("seeds_digest", "")
        return GraphStatus("sqlite", int(meta.get("generation", 0)), *made, labels, rels, n_local)

    def nodes(self, ids: Sequence[str]) -> list[Node]:
        """Return the nodes that exist."""
        return [_node(row) for row in self._connection.execute(f"{_NODES} WHERE id IN {_LISTED}", _listed(ids))]

    def edges(self, ids: Sequence[str], near: Sequence[str] | None = None) -> list[Edge]:
        """Return the edges that exist; their ids are enough."""
        del near
        return [_edge(row) for row in self._connection.execute(f"{_EDGES} WHERE edges.id IN {_LISTED}", _listed(ids))]

    def find(self, label: str, facts: Sequence[str], limit: int) -> list[Node]:
        """Return nodes in the order of their ids that have this label and all these facts."""
        conditions = ["label = ?"] if label else []
        conditions += ["key IN (SELECT node FROM facts WHERE fact = ?)"] * len(facts)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        values = (*((label,) if label else ()), *facts, limit)
        return [_node(row) for row in self._connection.execute(f"{_NODES}{where} ORDER BY id LIMIT ?", values)]

    def hops(self, ids: Sequence[str], direction: Direction, rels: frozenset[str]) -> list[Hop]:
        """Return the edges at these nodes."""
        followed, values = _followed(rels)
        found = []
        for here, there in _ENDS[direction]:
            query = (
                "SELECT a.id, edges.id, b.id FROM json_each(?) AS listed JOIN nodes a ON a.id = listed.value"  # noqa: S608 - constants.
                f" JOIN edges ON edges.{here} = a.key{followed} JOIN nodes b ON b.key = edges.{there}"
            )
            found += [Hop(*row) for row in self._connection.execute(query, (json.dumps(ids), *values))]
        return found

    def reach(self, start: str, walk: Walk, limit: int) -> list[Neighbour]:
        """Return the nearest nodes, in the order of depth and id, without the start."""
        followed, values = _followed(walk.rels)
        steps = " UNION ".join(
            f"SELECT edges.{there}, depth + 1 FROM reached CROSS JOIN edges ON edges.{here} = reached.key{followed}"  # noqa: S608 - constants.
            " WHERE depth < ?"
            for here, there in _ENDS[walk.direction]
        )
        query = (
            f"WITH RECURSIVE reached (key, depth) AS (SELECT key, 0 FROM nodes WHERE id = ? UNION {steps})"  # noqa: S608 - constants.
            f" SELECT id, label, props, {_STAMP}, MIN(depth) AS nearest FROM reached CROSS JOIN nodes USING (key)"
            " GROUP BY key HAVING nearest > 0 ORDER BY nearest, id LIMIT ?"
        )
        step_values = (*values, walk.depth) * len(_ENDS[walk.direction])
        rows = self._connection.execute(query, (start, *step_values, limit))
        return [Neighbour(_node(row), row[8]) for row in rows]

    def rows(self, *, only_local: bool) -> list[Row]:
        """Return every row, or those that are not from the seeds."""
        nodes = f"{_NODES} WHERE is_local" if only_local else _NODES
        edges = f"{_EDGES} WHERE edges.is_local" if only_local else _EDGES
        found: list[Row] = [_node(row) for row in self._connection.execute(nodes)]
        found += [_edge(row) for row in self._connection.execute(edges)]
        return found


_LISTED: Final = "(SELECT value FROM json_each(?))"


def _listed(ids: Sequence[str]) -> tuple[str]:
    return (json.dumps(list(ids)),)


def _followed(rels: frozenset[str]) -> tuple[str, tuple[str, ...]]:
    """Return the condition on relations and its values."""
    names = tuple(sorted(rels))
    return (f" AND edges.rel IN ({', '.join('?' * len(names))})", names) if names else ("", ())


def _node(row: Any) -> Node:
    return Node(row[0], row[1], _props(row[2]), Stamp(*row[3:7]), is_local=bool(row[7]))


def _edge(row: Any) -> Edge:
    return Edge(row[0], row[1], row[2], row[3], _props(row[4]), Stamp(*row[5:9]), is_local=bool(row[9]))


def _props(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise CodePlaneError("STORE_CORRUPT", "graph.db has properties that are not an object.")
    return found
