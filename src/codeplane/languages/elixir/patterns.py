"""Which names a pattern of Elixir binds."""

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from codeplane.languages.tables.walking import Walk

_CONTAINERS: Final = frozenset({"list", "tuple", "map", "map_content", "keywords", "bitstring", "arguments", "block"})
# Of these only the left side is a pattern.
_LEFT_ONLY: Final = frozenset({"\\\\", "::", "in", "when", "<-"})


def operator_of(node: Node) -> str:
    """Return the sign of an operator."""
    sign = node.child_by_field_name("operator")
    return sign.type if sign is not None else ""


def names_in(walk: Walk, pattern: Node) -> Iterator[Node]:
    """Yield the variables of a pattern, in their order."""
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        kind = node.type
        if kind == "identifier":
            text = walk.cut(node)
            if text != "_" and not text.startswith("__"):
                yield node
        elif kind in _CONTAINERS:
            waiting.extend(reversed(node.named_children))
        elif kind == "pair":
            value = node.child_by_field_name("value")
            waiting += [value] if value is not None else []
        elif kind == "binary_operator":
            sides = ["left"] if operator_of(node) in _LEFT_ONLY else ["right", "left"]
            parts = (node.child_by_field_name(side) for side in sides)
            waiting += [part for part in parts if part is not None]
