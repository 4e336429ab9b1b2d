"""How fast the graph answers and syncs, beside bare SQLite in the same run.

Three hops from random nodes of a graph with a million edges: ours returns whole nodes, checked and in order; bare
SQLite only counts what a recursive query reaches over two integers per edge.
"""

import argparse
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from codeplane.store.graph.exchange import SyncRequest, full_text, sync
from codeplane.store.graph.graph import Graph
from codeplane.store.graph.model import Direction, Edge, Made, Node, Stamp, Walk, line_of
from codeplane.store.graph.seeds import SEED_FOLDER, read_seeds
from codeplane.store.graph.sqlite_graph import SqliteGraph

_STAMP = Stamp("fact", 1, "2025-01-31T12:00:00Z", "bench")
_BARE = (
    "WITH RECURSIVE reached (key, depth) AS (SELECT ?, 0 UNION SELECT target, depth + 1 FROM reached"
    " JOIN edges ON source = reached.key WHERE depth < 3) SELECT COUNT(DISTINCT key) FROM reached"
)


def _rows(n_nodes: int, n_edges: int) -> tuple[list[Node], list[tuple[int, int]]]:
    chance = random.Random(1)
    nodes = [Node(f"node-{i}", "Thing", {"name": f"thing {i}", "n": i}, _STAMP) for i in range(n_nodes)]
    return nodes, [(chance.randrange(n_nodes), chance.randrange(n_nodes)) for _ in range(n_edges)]


def _edge(number: int, ends: tuple[int, int]) -> Edge:
    return Edge(f"edge-{number}", f"node-{ends[0]}", "USES", f"node-{ends[1]}", {}, _STAMP)


def _median_ms(ask: Callable[[int], object], starts: list[int]) -> float:
    times = []
    for start in starts:
        begun = time.perf_counter()
        ask(start)
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times)


def hops(folder: Path, n_edges: int, n_questions: int) -> None:
    """Print the time of three hops, and that of bare SQLite."""
    n_nodes = n_edges // 2
    nodes, pairs = _rows(n_nodes, n_edges)
    bare = sqlite3.connect(folder / "bare.db")
    bare.execute("CREATE TABLE edges (source INTEGER, target INTEGER)")
    bare.executemany("INSERT INTO edges VALUES (?, ?)", pairs)
    bare.execute("CREATE INDEX edges_out ON edges (source, target)")
    bare.commit()
    graph = Graph(SqliteGraph(folder / "graph.db"))
    with graph.rebuilding(Made("", "")) as put:
        put(nodes)
        put([_edge(number, ends) for number, ends in enumerate(pairs)])
    chance = random.Random(2)
    starts = [chance.randrange(n_nodes) for _ in range(n_questions)]
    walk = Walk(3, Direction.OUT)
    for _ in range(2):  # The first round fills the caches of both.
        floor = _median_ms(lambda start: bare.execute(_BARE, (start,)).fetchone(), starts)
        ours = _median_ms(lambda start: graph.neighbours(f"node-{start}", walk), starts)
    found = statistics.mean(len(graph.neighbours(f"node-{start}", walk)) for start in starts)
    print(f"3 hops, {n_edges} edges, {found:.0f} nodes reached: {ours:.3f} ms")
    print(f"  bare SQLite, which only counts them: {floor:.3f} ms; ratio {ours / floor:.2f}")
    graph.close()
    bare.close()


def syncing(folder: Path, n_rows: int) -> None:
    """Print the time to read, sync and export this many rows."""
    nodes, pairs = _rows(n_rows // 2, n_rows // 2)
    seed = folder / SEED_FOLDER / "all.jsonl"
    seed.parent.mkdir(parents=True)
    lines = [*map(line_of, nodes), *(line_of(_edge(number, ends)) for number, ends in enumerate(pairs))]
    seed.write_text("".join(lines), encoding="utf-8")
    graph = Graph(SqliteGraph(folder / "synced.db"))
    marks = [time.perf_counter()]
    seeds = read_seeds(folder)
    marks.append(time.perf_counter())
    for _ in range(2):
        sync(graph, SyncRequest(seeds, "", folder / "sync.lock"))
        marks.append(time.perf_counter())
    full_text(graph)
    marks.append(time.perf_counter())
    read, first, again, export = (after - before for before, after in pairwise(marks))
    print(f"{n_rows} rows: read {read:.2f} s, sync {first:.2f} s, sync again {again:.2f} s, export {export:.2f} s")
    graph.close()


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        hops(Path(folder), arguments.edges, arguments.questions)
        syncing(Path(folder), arguments.rows)


if __name__ == "__main__":
    main()
