"""Stage 4a: a node is one step that can be taken, checked and taken back alone."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from codeplane.controller.case import Case, node_fault
from codeplane.controller.codes import Code, Violation
from codeplane.controller.plan import Node
from codeplane.controller.scope import ID_FORM, target_fault

MAX_TARGET_SYMBOLS: Final = 5
_WORD: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
BOUNDARY_FORMS: Final[Mapping[str, re.Pattern[str]]] = MappingProxyType(
    {
        "change": re.compile(r"file:(?P<path>.+)|symbol:(?P<owner>[^#]+)#[^#]+"),
        "validate": re.compile(f"check:{_WORD}"),
        "escalate": re.compile(f"evidence:{_WORD}"),
        "side_effect": re.compile(r"effect:.+"),
    }
)


def check_atomicity(case: Case) -> Iterator[Violation]:
    """Yield boundaries that do not fit, nodes with too many symbols, and nodes that would meet on a file or gate."""
    for node in case.plan.nodes:
        yield from _check_boundary(node, case)
    for node in case.changes:
        if len(node.document["targetSymbols"]) > MAX_TARGET_SYMBOLS:
            message = f"A change node has at most {MAX_TARGET_SYMBOLS} target symbols."
            yield node_fault(Code.NOT_ATOMIC, "too_many_symbols", node, "targetSymbols", message)
    yield from _check_shared_files(case)
    yield from _check_shared_gates(case)


def _check_boundary(node: Node, case: Case) -> Iterator[Violation]:
    boundary = node.document["atomicityBoundary"]
    match = BOUNDARY_FORMS[node.kind].fullmatch(boundary)
    if match is None:
        message = f"This is not a boundary of a {node.kind} node."
        yield node_fault(Code.NOT_ATOMIC, "boundary_form", node, "atomicityBoundary", message)
    elif node.kind == "change":
        # A target out of scope is one fault, not two.
        is_elsewhere = node.target_file not in {match["path"], match["owner"]}
        if is_elsewhere and target_fault(node, case.world) is None:
            message = "The boundary is not around targetFile."
            yield node_fault(Code.NOT_ATOMIC, "boundary_elsewhere", node, "atomicityBoundary", message)
    elif node.kind == "side_effect":
        gate = node.document.get("commitGateId")
        if gate and ID_FORM.fullmatch(gate) and boundary != f"effect:{gate}":
            message = "The boundary is not the node's own commitGateId."
            yield node_fault(Code.NOT_ATOMIC, "boundary_elsewhere", node, "atomicityBoundary", message)


def _check_shared_files(case: Case) -> Iterator[Violation]:
    on_file: dict[str, list[Node]] = {}
    for node in case.changes:
        on_file.setdefault(node.target_file, []).append(node)
    for nodes in on_file.values():
        # A node with more ancestors never comes before one with fewer, so neighbours show every gap.
        ordered = sorted(nodes, key=lambda node: (case.plan.ancestors[node.node_id].bit_count(), node.place))
        for first, second in pairwise(ordered):
            if not case.plan.is_after(second, first):
                message = f"{first.node_id} changes the same file, and neither depends on the other."
                yield node_fault(Code.NOT_ATOMIC, "file_shared", second, "targetFile", message)


def _check_shared_gates(case: Case) -> Iterator[Violation]:
    owners: dict[str, str] = {}
    for node in case.plan.of_kind("side_effect"):
        gate = node.document.get("commitGateId")
        if gate and owners.setdefault(gate, node.node_id) != node.node_id:
            message = f"{owners[gate]} uses the same gate."
            yield node_fault(Code.NOT_ATOMIC, "gate_shared", node, "commitGateId", message)
