"""What becomes of nodes that were running when the process of an earlier turn died.

Turns of a session are made one after the other, so a node that is running at the start of a turn was cut off.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from codeplane.controller.knowledge import Knowledge
from codeplane.controller.runs import NodeProgress, SessionRecord

# What `planned_hash` is when the file of the node is deleted.
GONE: Final = "gone"
_WRITTEN: Final = "The file was written before an earlier turn was cut off. The node is finished."
_NOT_WRITTEN: Final = "An earlier turn was cut off before the node was done. Run it again."
_UNKNOWN: Final = (
    "An earlier turn was cut off while its effect was under way. Look whether it happened. "
    "If it did not, submit a new plan with another commitGateId."
)


def settle_interrupted(record: SessionRecord, knowledge: Knowledge) -> tuple[SessionRecord, list[dict[str, str]]]:
    """Return the session without running nodes, and what to tell about each of them."""
    notes = []
    for node_id, progress in sorted(record.nodes.items()):
        if progress.state != "running":
            continue
        node = _node_of(record, node_id)
        if node.get("kind") == "side_effect" and node.get("commitGateId") in record.used_gates:
            settled, message = replace(progress, state="failed"), _UNKNOWN
        elif node.get("kind") == "change" and _is_written(record, progress, str(node["targetFile"]), knowledge):
            found = _hash_of(knowledge, str(node["targetFile"]))
            record = replace(record, n_finished=record.n_finished + 1)
            settled = replace(progress, state="finished", finished_at=record.n_finished, content_hash=found)
            message = _WRITTEN
        else:
            settled, message = replace(progress, state="pending"), _NOT_WRITTEN
        record = record.with_node(node_id, settled)
        notes.append({"planNodeId": node_id, "state": settled.state, "message": message})
    return record, notes


def _is_written(record: SessionRecord, progress: NodeProgress, path: str, knowledge: Knowledge) -> bool:
    """Tell whether the file is as the cut-off attempt, or an earlier one that succeeded, left it."""
    found = _hash_of(knowledge, path)
    if progress.planned_hash is not None and progress.planned_hash == (found or GONE):
        return True
    return progress.finished_at > 0 and found == record.own_hash(path)


def _hash_of(knowledge: Knowledge, path: str) -> str | None:
    text = knowledge.text(path)
    return text.content_hash if text is not None else None


def _node_of(record: SessionRecord, node_id: str) -> Mapping[str, Any]:
    nodes: Iterable[Mapping[str, Any]] = (record.plan or {}).get("nodes", ())
    return next((node for node in nodes if node["nodeId"] == node_id), {})
