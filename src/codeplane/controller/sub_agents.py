"""Hints about work that could be split among agents; the controller starts nothing itself."""

from collections.abc import Mapping
from typing import Any, Final

from codeplane.controller.plan import Node, Plan, canonical_json
from codeplane.controller.runs import SessionRecord
from codeplane.controller.structure import read_plan

_NONE: Final[Mapping[str, Any]] = {"recommended": False, "splits": []}
_MIN_CHANGES: Final = 4
_MAX_SPLITS: Final = 4
_BYTES_PER_TOKEN: Final = 4
# The usual length of a line of code, for what cited lines cost.
_BYTES_PER_LINE: Final = 40


def hints_of(record: SessionRecord) -> dict[str, Any]:
    """Return the independent parts of the unfinished work, the one with the smallest node first."""
    plan = read_plan(record.plan) if record.plan is not None else None
    if not isinstance(plan, Plan):
        return dict(_NONE)
    changes = [node for node in plan.of_kind("change") if not _is_finished(record, node)]
    parts = _merged(_components(plan, changes))
    if len(parts) < 2 or len(changes) < _MIN_CHANGES:
        return dict(_NONE)
    splits = [_split(plan, nodes, number) for number, nodes in enumerate(parts, 1)]
    return {"recommended": True, "splits": splits}


def _is_finished(record: SessionRecord, node: Node) -> bool:
    progress = record.nodes.get(node.node_id)
    return progress is not None and progress.state == "finished"


def _components(plan: Plan, changes: list[Node]) -> list[list[Node]]:
    groups = {node.node_id: {node.node_id} for node in changes}
    for one in changes:
        for other in changes:
            if one is not other and _are_joined(plan, one, other):
                joined = groups[one.node_id] | groups[other.node_id]
                for node_id in joined:
                    groups[node_id] = joined
    distinct = {min(group): group for group in groups.values()}
    return [[plan.by_id[node_id] for node_id in sorted(group)] for _, group in sorted(distinct.items())]


def _are_joined(plan: Plan, one: Node, other: Node) -> bool:
    if plan.is_after(one, other) or plan.is_after(other, one) or one.target_file == other.target_file:
        return True
    return any(
        plan.is_after(effect, one) and plan.is_after(effect, other) and not _has_common_check(plan, effect, one, other)
        for effect in plan.of_kind("side_effect")
    )


def _has_common_check(plan: Plan, effect: Node, one: Node, other: Node) -> bool:
    return any(
        plan.is_after(effect, check) and plan.is_after(check, one) and plan.is_after(check, other)
        for check in plan.of_kind("validate")
    )


def _merged(parts: list[list[Node]]) -> list[list[Node]]:
    """Merge the smallest parts until there are few enough."""
    parts = [list(part) for part in parts]
    while len(parts) > _MAX_SPLITS:
        parts.sort(key=lambda part: (len(part), min(node.node_id for node in part)))
        parts = [parts[0] + parts[1], *parts[2:]]
    return sorted(parts, key=lambda part: min(node.node_id for node in part))


def _split(plan: Plan, changes: list[Node], number: int) -> dict[str, Any]:
    ids = {node.node_id for node in changes}
    checks = [node for node in plan.of_kind("validate") if ids & set(node.document["mapsToNodeIds"])]
    nodes = sorted([*changes, *checks], key=lambda node: node.node_id)
    size = sum(len(canonical_json(node.document)) for node in nodes)
    lines = sum(code["endLine"] - code["startLine"] + 1 for node in changes for code in node.document["codeEvidence"])
    return {
        "splitId": f"s{number}",
        "nodeIds": [node.node_id for node in nodes],
        "files": sorted({node.target_file for node in changes}),
        "estimatedTokens": (size + lines * _BYTES_PER_LINE) // _BYTES_PER_TOKEN,
    }
