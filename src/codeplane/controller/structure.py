"""Stage 1: a plan is a document of known size with all fields, unique nodes and dependencies without a cycle."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from codeplane.controller.codes import Code, Violation
from codeplane.controller.fields import check_fields
from codeplane.controller.plan import AUTO, Node, Plan, fingerprint_of

MAX_DEPTH: Final = 32
MAX_NODES: Final = 2_000
_MAX_INTEGER: Final = 2**53


def read_plan(document: Any) -> Plan | tuple[Violation, ...]:
    """Return the plan, or everything that is wrong with its structure."""
    if not isinstance(document, dict):
        return (_fault("plan_type", "A plan is a JSON object.", ""),)
    not_json = _what_is_not_json(document)
    if not_json is not None:
        return (not_json,)
    faults = (*check_fields(document), *_check_anchor_forms(document))
    return faults or _linked(document)


def _linked(document: Mapping[str, Any]) -> Plan | tuple[Violation, ...]:
    nodes = tuple(
        Node(one["nodeId"], one["kind"], tuple(one["dependsOn"]), place, one)
        for place, one in enumerate(document["nodes"])
    )
    faults = tuple(_check_nodes(nodes))
    if faults:
        return faults
    ancestors = _ancestors(nodes)
    if len(ancestors) < len(nodes):
        looped = [node for node in nodes if node.node_id not in ancestors]
        names = ", ".join(node.node_id for node in looped[:10])
        message = f"These nodes wait for each other, or for nodes that do: {names}."
        return (_fault("dependency_cycle", message, looped[0].pointer("dependsOn"), looped[0].node_id),)
    return _fingerprinted(Plan(document, nodes, MappingProxyType(ancestors)))


def _fingerprinted(plan: Plan) -> Plan | tuple[Violation, ...]:
    given, actual = plan.document["planFingerprint"], fingerprint_of(plan.document)
    if given in {AUTO, actual}:
        return plan
    message = "planFingerprint is not the digest of this plan. Send `auto`."
    return (_fault("fingerprint_mismatch", message, "/planFingerprint"),)


def _check_nodes(nodes: tuple[Node, ...]) -> Iterator[Violation]:
    if not nodes:
        yield _fault("nodes_empty", "A plan has at least one node.", "/nodes")
    if len(nodes) > MAX_NODES:
        yield _fault("nodes_too_many", f"A plan has at most {MAX_NODES} nodes.", "/nodes")
    known: set[str] = set()
    for node in nodes:
        if node.node_id in known:
            yield _fault("node_duplicate", "Another node has this nodeId.", node.pointer("nodeId"), node.node_id)
        known.add(node.node_id)
    for node in nodes:
        for number, other in enumerate(node.depends_on):
            if other not in known:
                place = node.pointer(f"dependsOn/{number}")
                yield _fault("dependency_unknown", f"There is no node {other[:80]!r}.", place, node.node_id)


def _ancestors(nodes: tuple[Node, ...]) -> dict[str, int]:
    """Return the ancestors of every node that is in no cycle and behind none."""
    by_id = {node.node_id: node for node in nodes}
    waiting = {node.node_id: set(node.depends_on) for node in nodes}
    followers: dict[str, list[str]] = {}
    for node in nodes:
        for other in set(node.depends_on):
            followers.setdefault(other, []).append(node.node_id)
    ready = [node_id for node_id, others in waiting.items() if not others]
    found: dict[str, int] = {}
    while ready:
        node_id = ready.pop()
        bits = 0
        for other in by_id[node_id].depends_on:
            bits |= found[other] | 1 << by_id[other].place
        found[node_id] = bits
        for follower in followers.get(node_id, ()):
            waiting[follower].discard(node_id)
            if not waiting[follower]:
                ready.append(follower)
    return found


def _check_anchor_forms(document: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield the anchors that have neither text nor symbol, or both; the table of fields cannot say `one of`."""
    nodes = document.get("nodes")
    for place, node in enumerate(nodes if isinstance(nodes, list) else ()):
        intent = node.get("editIntent") if isinstance(node, dict) and node.get("kind") == "change" else None
        anchors = intent.get("anchors") if isinstance(intent, dict) else None
        for number, anchor in enumerate(anchors if isinstance(anchors, list) else ()):
            if isinstance(anchor, dict) and (anchor.get("text") is None) == (anchor.get("symbol") is None):
                pointer = f"/nodes/{place}/editIntent/anchors/{number}"
                yield _fault("field_missing", "An anchor has either `text` or `symbol`.", pointer)


def _what_is_not_json(document: Any) -> Violation | None:
    """Find what cannot be hashed the same way everywhere: depth, fractions, large integers, lone surrogates."""
    level: list[Any] = [document]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for value in level:
            reason = _reason_against(value)
            if reason is not None:
                return _fault("not_canonical", f"A plan holds no {reason}.", "")
            if isinstance(value, dict):
                below.extend(value)
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
        if not below:
            return None
        level = below
    return _fault("too_deep", f"A plan is nested at most {MAX_DEPTH} levels deep.", "")


def _reason_against(value: Any) -> str | None:
    if isinstance(value, str):
        return None if value.isascii() or _is_unicode(value) else "lone surrogates"
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return None if -_MAX_INTEGER < value < _MAX_INTEGER else "integers of 2**53 and more"
    if isinstance(value, dict):
        return None if all(isinstance(name, str) for name in value) else "keys that are not texts"
    return None if isinstance(value, list) else f"{type(value).__name__} values"


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _fault(detail: str, message: str, pointer: str, node_id: str | None = None) -> Violation:
    return Violation(Code.MISSING_FIELDS, detail, message, pointer or None, node_id)
