"""Look at the children of a node."""

from typing import Final

from tree_sitter import Node

_EXTRAS: Final = frozenset({"comment", "line_comment", "block_comment", "ERROR"})


def first_child(node: Node) -> Node | None:
    """Return the first named child that is neither a comment nor an error, None when there is none."""
    if not node.named_child_count:
        return None
    child = node.named_child(0)
    if child is not None and child.type not in _EXTRAS:
        return child
    return next(iter(children_of(node)), None)


def children_of(node: Node) -> list[Node]:
    """Return the named children that are neither comments nor errors."""
    return [child for child in node.named_children if child.type not in _EXTRAS]
