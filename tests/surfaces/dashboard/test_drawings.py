"""What is computed for drawings: places of the nodes of a plan, and the heat of a map."""

from typing import Any

from codeplane.surfaces.dashboard.views.controller import drawing
from codeplane.surfaces.dashboard.views.memory import heat


def _node(name: str, *after: str) -> dict[str, Any]:
    return {"id": name, "kind": "change", "after": list(after), "what": "a.py", "summary": None, "state": "waiting"}


def test_a_node_stands_right_of_everything_it_needs() -> None:
    found = drawing([_node("a"), _node("b", "a"), _node("c", "a"), _node("d", "b", "c"), _node("e", "a", "d")], [])
    x = {box["id"]: box["x"] for box in found["boxes"]}
    assert x["a"] < x["b"] == x["c"] < x["d"] < x["e"]
    assert len({(box["x"], box["y"]) for box in found["boxes"]}) == 5
    assert len(found["lines"]) == 6
    assert all(box["x"] + found["box_width"] <= found["width"] for box in found["boxes"])
    assert all(box["y"] + found["box_height"] <= found["height"] for box in found["boxes"])


def test_a_violation_is_at_its_node() -> None:
    found = drawing([_node("a"), _node("b")], [{"code": "X", "nodeId": "b", "message": "m"}])
    assert {box["id"]: len(box["faults"]) for box in found["boxes"]} == {"a": 0, "b": 1}


def test_a_plan_without_nodes_is_drawn_as_nothing() -> None:
    found = drawing([], [])
    assert (found["boxes"], found["lines"]) == ([], [])


def test_the_hottest_place_has_the_most_heat_and_an_empty_one_none() -> None:
    cells = [
        {"code": "A", "anchor": "anchor:x", "n": 100},
        {"code": "A", "anchor": "anchor:y", "n": 1},
        {"code": "B", "anchor": "anchor:y", "n": 50},
    ]
    found = heat(cells)
    assert found["folders"] == ["anchor:x", "anchor:y"]
    assert found["rows"] == [("A", [(100, 4), (1, 1)]), ("B", [(0, 0), (50, 2)])]


def test_a_map_without_friction_is_empty() -> None:
    assert heat([]) == {"folders": [], "rows": []}
