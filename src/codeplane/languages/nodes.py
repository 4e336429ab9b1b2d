"""Small questions to a syntax tree."""

from collections.abc import Callable
from typing import Final

from tree_sitter import Node

from codeplane.languages.parsing import OutOfTimeError

_CHUNK: Final = 1 << 12
_EXTRAS: Final = frozenset({"comment", "line_comment", "block_comment", "ERROR"})


def first_named(node: Node) -> Node | None:
    """Return the first named child; the binding's own `named_child` raises where there is none."""
    return node.named_child(0) if node.named_child_count else None


def last_named(node: Node) -> Node | None:
    """Return the last named child."""
    return node.named_child(node.named_child_count - 1) if node.named_child_count else None


def child_of_kind(node: Node, *kinds: str) -> Node | None:
    """Return the first named child of one of some kinds."""
    return next((child for child in node.named_children if child.type in kinds), None)


def name_of(node: Node) -> Node | None:
    """Return the name of a declaration, None where it is missing or empty."""
    name = node.child_by_field_name("name")
    return name if name is not None and name.end_byte > name.start_byte else None


def first_child(node: Node) -> Node | None:
    """Return the first named child that is neither a comment nor an error, None when there is none."""
    child = first_named(node)
    if child is None or child.type not in _EXTRAS:
        return child
    return next(iter(children_of(node)), None)


def children_of(node: Node | None) -> list[Node]:
    """Return the named children that are neither comments nor errors."""
    return [child for child in node.named_children if child.type not in _EXTRAS] if node is not None else []


def children_in(node: Node, field: str) -> list[Node]:
    """Return the children of a field of a node, none where it has no such field."""
    return children_of(node.child_by_field_name(field))


def count_errors(root: Node, is_over: Callable[[], bool]) -> int:
    """Return the number of places the grammar could not understand.

    Only branches with errors are entered.

    Raises:
        OutOfTimeError: `is_over` said so.
    """
    if not root.has_error:
        return 0
    n_errors = n_nodes = 0
    waiting = [root]
    while waiting:
        node = waiting.pop()
        n_nodes += 1
        if n_nodes % _CHUNK == 0 and is_over():
            raise OutOfTimeError
        n_errors += node.is_error or node.is_missing
        waiting.extend(child for child in node.children if child.has_error or child.is_missing)
    return n_errors
