"""What may run after acceptance: reservations that collide, files that changed, and gates of side effects."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from codeplane.controller.codes import Code, Violation
from codeplane.controller.plan import Node, Plan

_WHY_CLOSED: Final = MappingProxyType(
    {
        "node_kind": "It is not a side_effect node.",
        "effect_other": "sideEffectType is not the one of the node.",
        "gate_used": "It was used before. For another effect, submit a new plan with another commitGateId.",
        "node_not_ready": "A node that it depends on is not finished.",
        "check_outdated": "A change ran after its check. Run the check again.",
        "review_missing": "A person must review a node that it depends on.",
    }
)


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds a reservation; an owner never collides with itself."""

    work_id: str
    run_session_id: str
    node_id: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a plan is: the number of the last run of each finished node, gates used, reviews still missing."""

    finished: Mapping[str, int]
    used_gates: frozenset[str] = frozenset()
    missing_reviews: frozenset[str] = frozenset()


def reserved_keys(node: Node, payload_paths: Iterable[str] = ()) -> frozenset[str]:
    """Return what a node takes while it runs."""
    if node.kind == "change":
        return frozenset({f"file:{node.target_file}"})
    if node.kind == "side_effect":
        files = (f"file:{path}" for path in payload_paths)
        return frozenset({f"effect:{node.document['commitGateId']}", *files})
    return frozenset()


def find_collision(keys: frozenset[str], owner: Owner, held: Mapping[str, Owner]) -> Violation | None:
    """Return the first reservation of another owner that excludes one of the keys."""
    for other, holder in sorted(held.items()):
        if holder != owner and any(_excludes(key, other) for key in keys):
            message = f"{other} is held by work {holder.work_id}, session {holder.run_session_id}."
            return Violation(Code.COLLISION, "reserved", message, node_id=owner.node_id, actual=holder)
    return None


def find_drift(node: Node, content_hash: str, own_hash: str | None) -> Violation | None:
    """Refuse a file that is neither as the plan's evidence has it nor as the run itself last wrote it."""
    evidence = node.document["codeEvidence"]
    known = {code["contentHash"] for code in evidence if code["file"] == node.target_file}
    if not known or content_hash in {*known, own_hash}:
        return None
    message = f"{node.target_file} changed after the plan was accepted."
    return Violation(Code.COLLISION, "content_drift", message, node_id=node.node_id, actual=content_hash)


def check_side_effect(plan: Plan, node_id: str, effect: str, progress: Progress) -> Violation | None:
    """Refuse a side effect whose gate is not open."""
    node = plan.by_id.get(node_id)
    if node is None:
        return Violation(Code.SCOPE, "node_unknown", "The plan has no such node.", node_id=node_id)
    detail = _why_closed(plan, node, effect, progress)
    if detail is None:
        return None
    message = f"The gate of {node_id} is not open. {_WHY_CLOSED[detail]}"
    return Violation(Code.UNGATED, detail, message, node_id=node_id)


def _why_closed(plan: Plan, node: Node, effect: str, progress: Progress) -> str | None:
    if node.kind != "side_effect":
        return "node_kind"
    before = [other for other in plan.nodes if plan.is_after(node, other)]
    reasons = (
        ("effect_other", node.document["sideEffectType"] != effect),
        ("gate_used", node.document["commitGateId"] in progress.used_gates),
        ("node_not_ready", any(other.node_id not in progress.finished for other in before)),
        ("check_outdated", any(_is_outdated(other, progress) for other in before)),
        ("review_missing", any(other.node_id in progress.missing_reviews for other in before)),
    )
    return next((detail for detail, is_closed in reasons if is_closed), None)


def _is_outdated(node: Node, progress: Progress) -> bool:
    """Tell whether a change ran after the check that covers it."""
    finished = progress.finished
    changes = node.document["mapsToNodeIds"] if node.kind == "validate" else ()
    return any(finished.get(change, 0) > finished.get(node.node_id, 0) for change in changes)


def _excludes(key: str, other: str) -> bool:
    """Tell whether two keys are equal, or one is the file of the other."""
    files = {one.removeprefix("file:") for one in (key, other) if one.startswith("file:")}
    owners = {one.removeprefix("symbol:").rpartition("#")[0] for one in (key, other) if one.startswith("symbol:")}
    return key == other or not files.isdisjoint(owners)
