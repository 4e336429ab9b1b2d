"""Leave out what lies in the parts of a file that the grammar could not understand."""

from tree_sitter import Node

from codeplane.languages.facts import EXPRESSION, NONE, FileFacts
from codeplane.languages.parsing import Captures


def outside_errors(captures: Captures) -> Captures:
    """Return the captures without the nodes that lie in an ERROR node or are not really there."""
    regions: list[tuple[int, int]] = []
    for start, end in sorted(node.byte_range for node in captures["error"]):
        if not regions or start >= regions[-1][1]:
            regions.append((start, end))
    return {name: _outside(nodes, regions) for name, nodes in captures.items()}


def _outside(nodes: list[Node], regions: list[tuple[int, int]]) -> list[Node]:
    """Return the nodes that start outside of all regions; regions are sorted and apart."""
    kept = []
    waiting = regions[::-1]
    for node in sorted(nodes, key=_start_of):
        start = node.start_byte
        while waiting and waiting[-1][1] <= start:
            waiting.pop()
        if (not waiting or start < waiting[-1][0]) and not node.is_missing:
            kept.append(node)
    return kept


def _start_of(node: Node) -> int:
    return node.start_byte


def repair(facts: FileFacts) -> None:
    """Cut what leads to identifiers that were left out: receivers become EXPRESSION, types and bases NONE."""
    starts = {reference[0] for reference in facts.references}
    facts.references = [
        one if one[4] < 0 or one[4] in starts else (*one[:4], EXPRESSION, one[5]) for one in facts.references
    ]
    for number, one in enumerate(facts.definitions):
        if (one.type_ref != NONE and one.type_ref not in starts) or not starts.issuperset(one.bases):
            facts.definitions[number] = one._replace(
                type_ref=one.type_ref if one.type_ref in starts else NONE,
                bases=tuple(base if base in starts else NONE for base in one.bases),
            )
