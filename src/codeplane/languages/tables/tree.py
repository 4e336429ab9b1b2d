"""Small questions to a syntax tree."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeVar

from tree_sitter import Language, Node

from codeplane.languages.parsing import OutOfTimeError

# The kind of every node that the grammar could not understand.
ERROR_KIND: Final = 0xFFFF
LOOKS: Final = 1 << 12

T = TypeVar("T")


def kind_ids(grammar: Language, names: Iterable[str]) -> frozenset[int]:
    """Return the numbers of node kinds, named or not.

    Raises:
        LookupError: the grammar knows no such kind; a table that names it is wrong.
    """
    wanted = frozenset(names)
    numbers = {
        number: name
        for number in range(grammar.node_kind_count)
        if (name := grammar.node_kind_for_id(number)) in wanted and grammar.node_kind_is_visible(number)
    }
    if unknown := wanted.difference(numbers.values()):
        raise LookupError(f"the grammar has no {', '.join(sorted(unknown))}")
    return frozenset(numbers)


def by_kind_id(grammar: Language, table: Mapping[str, T]) -> dict[int, T]:
    """Return a table by kind names as a table by kind numbers."""
    return {number: value for name, value in table.items() for number in kind_ids(grammar, [name])}


def first_named(node: Node) -> Node | None:
    """Return the first named child; the binding's own `named_child` raises where there is none."""
    return node.named_child(0) if node.named_child_count else None


def second_named(node: Node) -> Node | None:
    """Return the second named child."""
    return node.named_child(1) if node.named_child_count > 1 else None


def last_named(node: Node) -> Node | None:
    """Return the last named child."""
    return node.named_child(node.named_child_count - 1) if node.named_child_count else None


def child_of_kind(node: Node, *kinds: str) -> Node | None:
    """Return the first named child of one of some kinds."""
    return next((child for child in node.named_children if child.type in kinds), None)


def chain_by_field(node: Node, field: str) -> Iterator[Node]:
    """Yield a node, then its child of a field, the child of that, and so on."""
    current: Node | None = node
    while current is not None:
        yield current
        current = current.child_by_field_name(field)


def count_errors(root: Node, is_over: Callable[[], bool]) -> int:
    """Return how many places the grammar could not understand.

    Only branches with errors are entered; a query would do, but compiling one takes 10 ms in large grammars.

    Raises:
        OutOfTimeError: `is_over` said so.
    """
    if not root.has_error:
        return 0
    n_errors = n_looks = 0
    cursor = root.walk()
    while True:
        n_looks += 1
        if n_looks % LOOKS == 0 and is_over():
            raise OutOfTimeError
        node = cursor.node
        if node is not None and node.has_error:
            n_errors += node.is_error or node.is_missing
            if cursor.goto_first_child():
                continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return n_errors
