"""A sync replaces the graph as a whole; what only the graph has is kept until a seed has it."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.store.graph.exchange import delta_text, full_text, write_export
from codeplane.store.graph.graph import Graph
from codeplane.store.graph.model import Made, Row, in_order
from codeplane.store.graph.neo4j_graph import Neo4jAddress, Neo4jGraph
from codeplane.store.graph.seeds import SEED_FOLDER, read_seeds
from codeplane.store.graph.sqlite_graph import SqliteGraph
from support.children import run_children
from support.effort import repeated
from support.forks import run_forked
from support.graphs import edge, node, policy, synced, write_seeds
from support.neo4j_server import Neo4jServer

OLD: list[Row] = [node("a"), node("b"), edge("a>b")]
NEW: list[Row] = [node("a", version=2, n=1), node("c"), edge("c>a")]


def ids(graph: Graph) -> list[str]:
    return [row.id for row in graph.rows()]


def test_a_sync_takes_every_seed(graph: Graph, tmp_path: Path) -> None:
    write_seeds(tmp_path, {"a.jsonl": OLD, "p.jsonl": [policy("p")]})
    done = synced(graph, tmp_path)
    assert (done.generation, done.n_seeds, done.n_kept) == (1, 4, 0)
    assert ids(graph) == ["a", "b", "p", "a>b:USES"]
    assert graph.status().seeds_digest == read_seeds(tmp_path).digest


def test_rows_that_left_the_seeds_leave_the_graph(graph: Graph, tmp_path: Path) -> None:
    write_seeds(tmp_path, {"a.jsonl": OLD})
    synced(graph, tmp_path)
    write_seeds(tmp_path, {"a.jsonl": NEW})
    assert synced(graph, tmp_path).generation == 2
    assert graph.rows() == in_order(NEW)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([*NEW, "{"], r"a\.jsonl:4: The line is not JSON"),
        ([*NEW, node("c", n=2)], r"a\.jsonl:4: c has version 1 with other content at .*a\.jsonl:2"),
        ([*NEW, edge("c>gone")], r"a\.jsonl:4: The edge c>gone:USES needs the node gone"),
        (
            [*NEW, edge("c>c>a:USES".replace("c>c>a", "c>x"), row_id="e")],
            r"a\.jsonl:4: The edge e needs the node x:USES",
        ),
    ],
)
def test_seeds_with_errors_leave_the_old_graph(graph: Graph, tmp_path: Path, rows: list[Row], message: str) -> None:
    write_seeds(tmp_path, {"a.jsonl": OLD})
    synced(graph, tmp_path)
    write_seeds(tmp_path, {"a.jsonl": rows})
    with pytest.raises(CodePlaneError, match=message) as caught:
        synced(graph, tmp_path)
    assert caught.value.code == "SEEDS_INVALID"
    assert (graph.rows(), graph.status().generation) == (in_order(OLD), 1)


def test_rows_that_no_seed_has_survive_a_sync_until_a_seed_has_them(graph: Graph, tmp_path: Path) -> None:
    write_seeds(tmp_path, {"a.jsonl": OLD})
    synced(graph, tmp_path)
    graph.upsert([node("mine"), edge("mine>a"), node("b", version=2, n=1)])
    done = synced(graph, tmp_path)
    assert (done.n_seeds, done.n_kept) == (2, 3)
    assert graph.status().n_local == 3
    (tmp_path / SEED_FOLDER / "b.jsonl").write_text(delta_text(graph, read_seeds(tmp_path)), encoding="utf-8")
    done = synced(graph, tmp_path)
    assert (done.n_seeds, done.n_kept, done.n_superseded) == (5, 0, 3)
    assert (graph.status().n_local, delta_text(graph, read_seeds(tmp_path))) == (0, "")


def test_rows_that_no_seed_has_can_be_discarded(graph: Graph, tmp_path: Path) -> None:
    write_seeds(tmp_path, {"a.jsonl": OLD})
    synced(graph, tmp_path)
    graph.upsert([node("mine"), edge("mine>b")])
    write_seeds(tmp_path, {"a.jsonl": NEW})
    with pytest.raises(CodePlaneError, match="in the graph: The edge mine>b:USES needs the node b"):
        synced(graph, tmp_path)
    synced(graph, tmp_path, discards=True)
    assert graph.rows() == in_order(NEW)


def test_a_seed_with_the_version_of_a_local_row_and_other_content_is_refused(graph: Graph, tmp_path: Path) -> None:
    write_seeds(tmp_path, {"a.jsonl": OLD})
    synced(graph, tmp_path)
    graph.upsert([node("b", version=2, n=1)])
    write_seeds(tmp_path, {"b.jsonl": [node("b", version=2, n=2)]})
    with pytest.raises(CodePlaneError, match=r"b\.jsonl:1: b has version 2 with other content in the graph"):
        synced(graph, tmp_path)
    write_seeds(tmp_path, {"b.jsonl": [node("b", version=3, n=2)]})
    assert synced(graph, tmp_path).n_superseded == 1


def test_export_then_sync_then_export_gives_equal_bytes(graph: Graph, tmp_path: Path) -> None:
    for seed in range(repeated(3)):
        chance = random.Random(seed)
        tree = tmp_path / str(seed)
        write_seeds(tree, {f"{name}/é.jsonl": _random_rows(chance, name) for name in "ab"})
        graph.drop()
        synced(graph, tree)
        graph.upsert([node("local", m=chance.random()), edge("local>a0", "R", "le"), node("b0", "Y", 99)])
        first = delta_text(graph, read_seeds(tree)), full_text(graph)
        synced(graph, tree)
        assert (delta_text(graph, read_seeds(tree)), full_text(graph)) == first
        # The whole graph as the only seed gives the same graph.
        (tmp_path / f"{seed}-again").mkdir()
        write_seeds(tmp_path / f"{seed}-again", {"all.jsonl": first[1].split("\n")[:-1]})
        graph.drop()
        synced(graph, tmp_path / f"{seed}-again")
        assert full_text(graph) == first[1]


def _random_rows(chance: random.Random, name: str) -> list[Row]:
    values: list[Any] = [0, -1.5, 1e300, True, None, "ä😀\u2028", [1, [2]], {"z": 1, "a": {}}, "x" * 300]
    names = [f"{name}{i}" for i in range(6)]
    nodes: list[Row] = [node(one, chance.choice("XY"), **{"p é": chance.choice(values)}) for one in names]
    ends = [(chance.choice(names), chance.choice(names)) for _ in range(8)]
    return [*nodes, *(edge(f"{a}>{b}", "R", f"{name}-e{i}", w=i / 3) for i, (a, b) in enumerate(ends))]


def test_an_export_is_replaced_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out/delta.jsonl"
    write_export(target, "old\n")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(CodePlaneError, match=r"delta\.jsonl cannot be written: No space left") as caught:
        write_export(target, "new\n")
    assert caught.value.code == "FILE_WRITE_FAILED"
    assert [path.name for path in target.parent.iterdir()] == ["delta.jsonl"]
    assert target.read_text("utf-8") == "old\n"


# Counts statements that change something and dies before one of them, or after the last.
_DYING_SQLITE = """
import os, signal, sys
from pathlib import Path
from codeplane.store.graph.graph import Graph
from codeplane.store.graph.sqlite_graph import SqliteGraph
from support.graphs import synced

root, last = Path(sys.argv[1]), int(sys.argv[2])
graph = Graph(SqliteGraph(root / "graph.db"))
n = 0

def count(statement):
    global n
    if not statement.startswith(("BEGIN", "SELECT")):
        n += 1
        if n == last:
            os.kill(os.getpid(), signal.SIGKILL)

graph._backend._database._writer.set_trace_callback(count)
synced(graph, root)
graph._backend._database._writer.set_trace_callback(None)
print(n)
"""
_DYING_NEO4J = """
import os, signal, sys
from pathlib import Path
from neo4j import ManagedTransaction
from codeplane.store.graph.graph import Graph
from codeplane.store.graph.neo4j_graph import Neo4jAddress, Neo4jGraph
from support.graphs import synced

root, last = Path(sys.argv[1]), int(sys.argv[2])
graph = Graph(Neo4jGraph(Neo4jAddress(sys.argv[3], str(root))))
n, real = 0, ManagedTransaction._commit

def commit(transaction):
    global n
    n += 1
    if n == last:
        os.kill(os.getpid(), signal.SIGKILL)
    real(transaction)

ManagedTransaction._commit = commit
synced(graph, root)
print(n)
"""


def _run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return run_forked([sys.executable, "-c", script, *map(str, arguments)])


@pytest.mark.slow
def test_a_sync_that_is_killed_leaves_the_old_graph_and_the_next_one_succeeds(
    graph: Graph, neo4j_url: str, tmp_path: Path
) -> None:
    write_seeds(tmp_path, {"a.jsonl": OLD})
    synced(graph, tmp_path)
    graph.upsert([node("mine")])
    write_seeds(tmp_path, {"a.jsonl": NEW})
    script = _DYING_NEO4J if neo4j_url else _DYING_SQLITE
    expected = in_order([*NEW, *graph.rows(only_local=True)])
    outcomes = set()
    for last in range(1, 100):
        before = graph.rows()
        done = _run(script, tmp_path, last, neo4j_url)
        outcomes.add("new" if graph.rows() == expected else "old")
        assert graph.rows() in (before, expected), last
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert last > 8, "Too few points were tried."
    assert (graph.rows(), "old" in outcomes) == (expected, True)
    if isinstance(graph._backend, Neo4jGraph):
        left = graph._backend._write(
            "MATCH (n:CodePlaneNode) WHERE n._space STARTS WITH $g RETURN count(*) AS n", g=str(tmp_path)
        )
        assert left[0]["n"] == len([row for row in expected if "label" in row.document]), "Leftovers are removed."


@pytest.mark.slow
def test_a_server_that_dies_during_a_sync_comes_back_with_the_old_graph(
    graph: Graph, neo4j_url: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if not neo4j_url:
        # A file has no server; a process that dies is tried above.
        return
    server: Neo4jServer = request.getfixturevalue("neo4j_server")
    hasty = Graph(Neo4jGraph(Neo4jAddress(neo4j_url, str(tmp_path), timeout_sec=1)))
    write_seeds(tmp_path, {"a.jsonl": OLD})
    synced(graph, tmp_path)

    def lose_server() -> None:
        with hasty.rebuilding(Made("2025-02-01T00:00:00.000Z", "")) as put:
            put([node("x")])
            server.kill()
            put([node("y")])

    with pytest.raises(CodePlaneError) as caught:
        lose_server()
    assert caught.value.code == "GRAPH_UNAVAILABLE"
    hasty.close()
    server.start()
    assert graph.rows() == in_order(OLD)
    write_seeds(tmp_path, {"a.jsonl": NEW})
    synced(graph, tmp_path)
    assert graph.rows() == in_order(NEW)


@pytest.mark.slow
def test_many_rows_are_synced_and_exported(graph: Graph, backend: str, tmp_path: Path) -> None:
    count = repeated(5_000 if backend == "sqlite" else 1_000)
    rows: list[Row] = [node(f"n{i}", n=i) for i in range(count)]
    rows += [edge(f"n{i}>n{i * 7 % count}", row_id=f"e{i}") for i in range(count)]
    write_seeds(tmp_path, {"many.jsonl": rows})
    assert synced(graph, tmp_path).n_seeds == 2 * count
    assert synced(graph, tmp_path).generation == 2
    assert full_text(graph).count("\n") == 2 * count


@pytest.mark.slow
def test_two_syncs_at_once_both_succeed(tmp_path: Path) -> None:
    write_seeds(tmp_path, {"a.jsonl": OLD})
    SqliteGraph(tmp_path / "graph.db").close()
    run_children([(sys.executable, "-c", _DYING_SQLITE, str(tmp_path), "0")] * 2, tmp_path)
    graph = Graph(SqliteGraph(tmp_path / "graph.db"))
    assert (graph.rows(), graph.status().generation) == (in_order(OLD), 2)
    graph.close()
