"""What a graph answers, on every backend."""

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.store.graph.graph import Graph
from codeplane.store.graph.model import Direction, Edge, GraphStatus, Made, Node, Row, Stamp, Walk, in_order, line_of
from support.effort import repeated
from support.graphs import STAMP, edge, node, policy, synced, write_seeds

MADE = Made("2025-02-01T00:00:00.000Z", "digest")
#  a → b → c → d, a → c, d → a, c OWNS e
SMALL: tuple[Row, ...] = (
    *(node(one) for one in "abcde"),
    edge("a>b"), edge("b>c"), edge("c>d"), edge("a>c"), edge("d>a"), edge("c>e", "OWNS"),
)  # fmt: skip


def build(graph: Graph, rows: Iterable[Row]) -> None:
    with graph.rebuilding(MADE) as put:
        put(in_order(rows))


def ids(found: Iterable[Any]) -> list[str]:
    return [one.id for one in found]


def test_a_new_graph_is_empty(graph: Graph, backend: str) -> None:
    assert graph.status() == GraphStatus(backend)
    assert graph.rows() == []
    assert graph.node("a") is None
    assert list(graph.neighbours("a", Walk(3))) == []
    assert list(graph.paths("a", "b", Walk(3))) == []


def test_a_row_comes_back_as_it_was_written(graph: Graph) -> None:
    odd = {
        "text": "ä 😀 \u2028 'quoted' `tick`", "number": 1.5, "whole": 2**53 - 1, "yes": True, "none": None,
        "list": [1, "a", None], "deep": {"a": {"b": [{}]}},
        "_id": "mine", "id": "also mine", "": "empty name", "a b.c`": 1,
    }  # fmt: skip
    rows: list[Row] = [
        Node("a", "Thing", odd, replace(STAMP, type="ä`", updated_by="x\\'y")),
        node("ü😀`'\"\\ {}$", "Odd_1"),
        Edge("e", "a", "R_1", "ü😀`'\"\\ {}$", odd, STAMP),
    ]
    build(graph, rows)
    assert graph.rows() == in_order(rows)
    assert graph.node("a") == rows[0]
    assert graph.node("ü😀`'\"\\ {}$") == rows[1]
    assert list(graph.edges_of("a", Walk())) == [rows[2]]


def test_status_counts_labels_relations_and_local_rows(graph: Graph, backend: str) -> None:
    build(graph, [*SMALL, node("p", "Policy")])
    graph.upsert([node("new"), edge("new>a", "OWNS")])
    labels, rels = {"Policy": 1, "Thing": 6}, {"OWNS": 2, "USES": 5}
    assert graph.status() == GraphStatus(backend, 1, MADE.synced_at, MADE.seeds_digest, labels, rels, 2)


@pytest.mark.parametrize(
    ("label", "props", "expected"),
    [
        ("", {}, ["a", "b", "c", "d"]),
        ("X", {}, ["a", "b", "c"]),
        ("X", {"n": 1}, ["a"]),
        ("", {"n": 1}, ["a", "d"]),
        ("X", {"n": True}, ["b"]),
        ("X", {"n": "1"}, ["c"]),
        ("X", {"n": 1, "m": None}, ["a"]),
        ("X", {"n": 1, "m": 0}, []),
        ("None", {}, []),
        ("x", {}, []),
    ],
)
def test_nodes_are_found_by_label_and_properties(
    graph: Graph, label: str, props: dict[str, Any], expected: list[str]
) -> None:
    build(graph, [node("a", "X", n=1, m=None), node("b", "X", n=True), node("c", "X", n="1"), node("d", "Y", n=1.0)])
    assert ids(graph.find(label, props)) == expected


def test_found_nodes_are_in_the_order_of_their_characters(graph: Graph) -> None:
    names = ["Z", "a", "ä", "\uff5e", "😀", "1", "10", "2", "a b"]
    build(graph, [node(name) for name in names])
    assert ids(graph.find()) == sorted(names)
    assert ids(graph.find(limit=3)) == sorted(names)[:3]
    assert graph.find(limit=3).is_cut
    assert not graph.find(limit=len(names)).is_cut


@pytest.mark.parametrize("value", [[1], {"a": 1}, "x" * 300])
def test_nodes_are_not_found_by_lists_objects_or_long_texts(graph: Graph, value: object) -> None:
    with pytest.raises(CodePlaneError, match="short single values"):
        graph.find("Thing", {"a": value})


@pytest.mark.parametrize(
    ("walk", "expected"),
    [
        (Walk(1), ["b1", "c1"]),
        (Walk(2), ["b1", "c1", "d2", "e2"]),
        (Walk(10), ["b1", "c1", "d2", "e2"]),
        (Walk(1, Direction.IN), ["d1"]),
        (Walk(2, Direction.IN), ["d1", "c2"]),
        (Walk(1, Direction.BOTH), ["b1", "c1", "d1"]),
        (Walk(2, Direction.BOTH), ["b1", "c1", "d1", "e2"]),
        (Walk(10, rels=frozenset({"USES"})), ["b1", "c1", "d2"]),
        (Walk(10, rels=frozenset({"OWNS"})), []),
        (Walk(2, rels=frozenset({"OWNS", "USES"})), ["b1", "c1", "d2", "e2"]),
        (Walk(2, rels=frozenset({"no such"})), []),
    ],
)
def test_neighbours_are_the_nodes_within_reach(graph: Graph, walk: Walk, expected: list[str]) -> None:
    build(graph, SMALL)
    assert [f"{one.node.id}{one.depth}" for one in graph.neighbours("a", walk)] == expected


def test_neighbours_beyond_the_limit_are_said_to_be_left_out(graph: Graph) -> None:
    build(graph, SMALL)
    found = graph.neighbours("a", Walk(2), limit=3)
    assert ([one.node.id for one in found], found.is_cut) == (["b", "c", "d"], True)
    assert not graph.neighbours("a", Walk(2), limit=4).is_cut


def test_edges_at_a_node_are_given_by_direction_and_relation(graph: Graph) -> None:
    build(graph, [*SMALL, edge("c>c", "SELF")])
    assert ids(graph.edges_of("c", Walk())) == ["c>c:SELF", "c>d:USES", "c>e:OWNS"]
    assert ids(graph.edges_of("c", Walk(direction=Direction.IN))) == ["a>c:USES", "b>c:USES", "c>c:SELF"]
    assert ids(graph.edges_of("c", Walk(direction=Direction.BOTH, rels=frozenset({"OWNS"})))) == ["c>e:OWNS"]
    cut = graph.edges_of("c", Walk(direction=Direction.BOTH), limit=2)
    assert (ids(cut), cut.is_cut) == (["a>c:USES", "b>c:USES"], True)


@pytest.mark.parametrize(
    ("ends", "walk", "expected"),
    [
        ("ad", Walk(10), ["acd", "abcd"]),
        ("ad", Walk(2), ["acd"]),
        ("ad", Walk(1), []),
        ("ae", Walk(10, rels=frozenset({"USES"})), []),
        ("ea", Walk(10), []),
        ("ea", Walk(10, Direction.IN), ["eca", "ecba"]),
        ("da", Walk(10, Direction.BOTH), ["da", "dca", "dcba"]),
        ("aa", Walk(10), ["a"]),
        ("xx", Walk(10), []),
        ("ax", Walk(10), []),
    ],
)
def test_paths_are_found_shortest_first(graph: Graph, ends: str, walk: Walk, expected: list[str]) -> None:
    build(graph, SMALL)
    found = graph.paths(ends[0], ends[1], walk, limit=10)
    assert ["".join(ids(path.nodes)) for path in found] == expected
    for path in found:
        joined = [{one.source, one.target} for one in path.edges]
        assert joined == [{a.id, b.id} for a, b in zip(path.nodes, path.nodes[1:], strict=False)]


def test_parallel_edges_are_paths_of_their_own(graph: Graph) -> None:
    build(graph, [node("a"), node("b"), edge("a>b", "X"), edge("a>b", "X", "other"), edge("a>b", "Y"), edge("a>a")])
    assert [ids(path.edges) for path in graph.paths("a", "b", Walk(3), limit=9)] == [["a>b:X"], ["a>b:Y"], ["other"]]
    cut = graph.paths("a", "b", Walk(3), limit=2)
    assert (len(cut), cut.is_cut) == (2, True)


def test_a_search_among_too_many_ways_ends_and_says_so(graph: Graph) -> None:
    names = [f"n{i}" for i in range(14)]
    crowd = [edge(f"{a}>{b}") for a in names for b in names if a != b]
    # The goal is at the start, so that every longer way is in vain.
    build(graph, [*map(node, names), node("goal"), *crowd, edge("n0>goal")])
    found = graph.paths("n0", "goal", Walk(10), limit=10)
    assert ([ids(path.nodes) for path in found], found.is_cut) == ([["n0", "goal"]], True)


@pytest.mark.parametrize(
    "ask",
    [
        lambda graph: graph.neighbours("a", Walk(0)),
        lambda graph: graph.neighbours("a", Walk(11)),
        lambda graph: graph.neighbours("a", Walk(1), limit=0),
        lambda graph: graph.paths("a", "b", Walk(11)),
        lambda graph: graph.find(limit=10_001),
        lambda graph: graph.edges_of("a", Walk(), limit=0),
    ],
)
def test_limits_are_checked(graph: Graph, ask: Callable[[Graph], object]) -> None:
    with pytest.raises(CodePlaneError) as caught:
        ask(graph)
    assert caught.value.code == "OUT_OF_RANGE"


def test_a_rebuild_replaces_everything(graph: Graph) -> None:
    build(graph, SMALL)
    build(graph, [node("x", "Other", n=1), node("a")])
    assert ids(graph.rows()) == ["a", "x"]
    assert graph.status().generation == 2
    assert ids(graph.find("", {"n": 1})) == ["x"]


def test_a_rebuild_that_fails_leaves_the_old_graph(graph: Graph) -> None:
    build(graph, SMALL)
    before = graph.rows(), graph.status()

    def fail() -> None:
        with graph.rebuilding(MADE) as put:
            put([node("x"), node("a", "Other")])
            raise OSError("no more space")

    with pytest.raises(OSError, match="no more space"):
        fail()
    assert (graph.rows(), graph.status()) == before
    build(graph, [node("y")])
    assert ids(graph.rows()) == ["y"]


def test_readers_see_the_old_graph_until_the_new_one_is_complete(graph: Graph) -> None:
    build(graph, SMALL)
    before = graph.rows()
    with graph.rebuilding(MADE) as put:
        put([node("x")])
        assert graph.rows() == before
        assert [one.node.id for one in graph.neighbours("a", Walk(1))] == ["b", "c"]
    assert ids(graph.rows()) == ["x"]


def test_a_dropped_graph_is_empty_and_can_be_used_again(graph: Graph, backend: str) -> None:
    build(graph, SMALL)
    graph.upsert([node("new")])
    graph.drop()
    assert (graph.rows(), graph.status()) == ([], GraphStatus(backend))
    graph.upsert([node("new")])
    assert ids(graph.rows()) == ["new"]


def test_of_two_versions_the_higher_one_is_kept(graph: Graph) -> None:
    build(graph, [node("a", "X", 2, n=1), node("b"), edge("a>b", version=2)])
    assert graph.upsert([node("a", "X", 1, n=0), edge("a>b", version=1)]) == 0
    assert graph.upsert([node("a", "X", 2, n=1)]) == 0
    assert graph.upsert([node("a", "Y", 3, m=5), edge("b>a", "OWNS", "a>b:USES", 3)]) == 2
    found = graph.node("a")
    assert found is not None
    assert (found.label, dict(found.props), found.stamp.version, found.is_local) == ("Y", {"m": 5}, 3, True)
    assert ids(graph.find("X")) == ids(graph.find("", {"n": 1})) == []
    assert ids(graph.find("Y", {"m": 5})) == ["a"]
    assert [(one.source, one.rel, one.target) for one in graph.edges_of("a", Walk(direction=Direction.BOTH))] == [
        ("b", "OWNS", "a")
    ]
    assert graph.status().labels == {"Thing": 1, "Y": 1}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([node("a", "Y")], "exists in version 1 with other content"),
        ([node("new", n=1), node("new", n=2)], "exists in version 1 with other content"),
        ([node("a>b:USES")], "both a node and an edge"),
        ([edge("a>b", row_id="a")], "both a node and an edge"),
        ([node("new"), edge("new>nobody")], "needs the node nobody"),
        ([node("new"), edge("new>a>b".replace("a>b", "a"), row_id="x"), edge("x>a")], "needs the node x"),
    ],
)
def test_rows_that_do_not_fit_change_nothing(graph: Graph, rows: list[Row], message: str) -> None:
    build(graph, SMALL)
    before = graph.rows()
    with pytest.raises(CodePlaneError, match=message) as caught:
        graph.upsert(rows)
    assert caught.value.code == "VALIDATION_ERROR"
    assert graph.rows() == before


def test_random_graphs_are_walked_like_a_plain_search_does(graph: Graph) -> None:
    for seed in range(repeated(3)):
        chance = random.Random(seed)
        names = [f"n{i}" for i in range(chance.randrange(2, 15))]
        edges = [
            edge(f"{chance.choice(names)}>{chance.choice(names)}", chance.choice("XY"), f"e{i}")
            for i in range(chance.randrange(40))
        ]
        build(graph, [*map(node, names), *edges])
        for _ in range(5):
            _check_walk(graph, edges, chance, names)


def _check_walk(graph: Graph, edges: list[Edge], chance: random.Random, names: list[str]) -> None:
    rels = frozenset(chance.sample("XY", chance.randrange(3)))
    walk = Walk(chance.randrange(1, 5), chance.choice(list(Direction)), rels)
    start, goal = chance.choice(names), chance.choice(names)
    steps = [(one.source, one.id, one.target) for one in edges if not rels or one.rel in rels]
    back = [(b, e, a) for a, e, b in steps]
    steps = {Direction.OUT: steps, Direction.IN: back, Direction.BOTH: [*steps, *back]}[walk.direction]
    ways = _simple_ways(steps, start, walk.depth)
    depths: dict[str, int] = {}
    for way in ways:
        end = way[-1][2] if way else start
        depths[end] = min(depths.get(end, 99), len(way))
    del depths[start]
    assert {one.node.id: one.depth for one in graph.neighbours(start, walk)} == depths
    expected = sorted((len(way), [e for _, e, _ in way]) for way in ways if (way[-1][2] if way else start) == goal)
    found = graph.paths(start, goal, walk, limit=10_000)
    assert [(len(path.edges), ids(path.edges)) for path in found] == expected


Step = tuple[str, str, str]


def _simple_ways(steps: list[Step], start: str, depth: int) -> list[list[Step]]:
    """Return every way that meets no node twice; equal ones once."""
    ways: list[list[Step]] = [[]]
    for way in ways:
        end = way[-1][2] if way else start
        met = {start, *(far for _, _, far in way)}
        if len(way) < depth:
            ways += [[*way, step] for step in sorted(set(steps)) if step[0] == end and step[2] not in met]
    return ways


def test_policies_are_nodes_whose_fields_are_their_properties(graph: Graph, tmp_path: Path) -> None:
    row = policy("policy.one", title="No generated files", condition="true", active=True)
    write_seeds(tmp_path, {"policies.jsonl": [row]})
    synced(graph, tmp_path)
    found = graph.node("policy.one")
    assert found is not None
    assert (found.label, found.props["title"]) == ("policy", "No generated files")
    assert ids(graph.find("policy", {"active": True})) == ["policy.one"]
    assert found.document == row
    assert found.stamp == Stamp("policy", 1, STAMP.updated_at, STAMP.updated_by)
    assert line_of(found) == line_of(graph.rows()[0])
