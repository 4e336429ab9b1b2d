"""Hints about work that could be split."""

from typing import Any

from codeplane.controller.runs import NodeProgress, SessionRecord
from codeplane.controller.sub_agents import hints_of
from support.plans import contract_plan


def _plan(n_changes: int, *, joined: bool = False) -> dict[str, Any]:
    plan = contract_plan()
    change, check = plan["nodes"][0], plan["nodes"][1]
    nodes: list[dict[str, Any]] = []
    for number in range(1, n_changes + 1):
        path = f"src/m{number}.py"
        after = [f"c{number - 1}"] if joined and number > 1 else []
        nodes.append(
            {
                **change,
                "nodeId": f"c{number}",
                "targetFile": path,
                "dependsOn": after,
                "atomicityBoundary": f"file:{path}",
            }
        )
        nodes.append({**check, "nodeId": f"v{number}", "dependsOn": [f"c{number}"], "mapsToNodeIds": [f"c{number}"]})
    return {**plan, "nodes": nodes}


def _hints(plan: dict[str, Any] | None, **nodes: NodeProgress) -> dict[str, Any]:
    return hints_of(SessionRecord("r", "w", "a", "", plan=plan, nodes=nodes))


def test_without_a_plan_nothing_is_recommended() -> None:
    assert _hints(None) == {"recommended": False, "splits": []}


def test_independent_changes_are_split_with_their_checks() -> None:
    found = _hints(_plan(4))
    assert found["recommended"] is True
    assert [one["nodeIds"] for one in found["splits"]] == [["c1", "v1"], ["c2", "v2"], ["c3", "v3"], ["c4", "v4"]]
    assert [one["splitId"] for one in found["splits"]] == ["s1", "s2", "s3", "s4"]
    assert found["splits"][0]["files"] == ["src/m1.py"]
    assert found["splits"][0]["estimatedTokens"] > 0


def test_few_changes_or_dependent_ones_are_not_split() -> None:
    assert _hints(_plan(3))["recommended"] is False
    assert _hints(_plan(5, joined=True))["recommended"] is False


def test_there_are_at_most_four_splits_and_finished_changes_do_not_count() -> None:
    assert len(_hints(_plan(6))["splits"]) == 4
    done = {f"c{number}": NodeProgress("", "finished") for number in (1, 2, 3)}
    assert _hints(_plan(6), **done)["recommended"] is False
