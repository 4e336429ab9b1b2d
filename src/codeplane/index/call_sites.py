"""Tell calls from other uses of a name, by the syntax around it."""

from collections.abc import Iterable
from typing import Final

from tree_sitter import Node

from codeplane.languages.catalog import dialect_of, load_language
from codeplane.languages.parsing import SYSTEM_CLOCK, TIME_LIMIT_S, OutOfTimeError, parse

_FIRST: Final = "first"
_LAST: Final = "last"
# Syntax that calls or constructs something, and the field that names it; the node types of all grammars together.
_CALLS: Final = {
    "call": "function",
    "call_expression": "function",
    "composite_literal": "type",
    "decorator": _FIRST,
    "jsx_opening_element": "name",
    "jsx_self_closing_element": "name",
    "macro_invocation": "macro",
    "method_invocation": "name",
    "new_expression": "constructor",
    "object_creation_expression": "type",
    "struct_expression": "name",
}
# Syntax that names the same thing as one of its parts.
_SAME: Final = {
    "attribute": "attribute",
    "field_expression": "field",
    "generic_function": "function",
    "generic_type": _FIRST,
    "index_expression": "operand",
    "instantiation_expression": _FIRST,
    "member_expression": "property",
    "nested_type_identifier": "name",
    "non_null_expression": _FIRST,
    "parenthesized_expression": _FIRST,
    "qualified_type": "name",
    "scoped_identifier": "name",
    "scoped_type_identifier": _LAST,
    "selector_expression": "field",
    "subscript": "value",
    "type_instantiation_expression": "type",
}
_MACRO_ARGUMENTS: Final = "token_tree"


def root_of(path: str, text: bytes) -> Node | None:
    """Return the syntax tree of a file; None without a grammar or when it takes too long."""
    language = load_language(dialect_of(path))
    if language is None or language.grammar is None:
        return None
    deadline = SYSTEM_CLOCK.monotonic() + TIME_LIMIT_S
    try:
        return parse(text, language.grammar, lambda: SYSTEM_CLOCK.monotonic() > deadline)
    except OutOfTimeError:
        return None


def calls_among(path: str, text: bytes, starts: Iterable[int]) -> frozenset[int] | None:
    """Return which of the names that start at these offsets are called; None when the syntax is not known."""
    root = root_of(path, text)
    if root is None:
        return None
    return frozenset(start for start in starts if _is_called(root, text, start))


def _is_called(root: Node, text: bytes, start: int) -> bool:
    node = root.descendant_for_byte_range(start, start + 1)
    if node is not None and node.parent is not None and node.parent.type == _MACRO_ARGUMENTS:
        return text[node.end_byte :].lstrip()[:1] == b"("
    while node is not None and (parent := node.parent) is not None:
        if parent.type in _CALLS and _is_part(parent, _CALLS[parent.type], node):
            return True
        if parent.type not in _SAME or not _is_part(parent, _SAME[parent.type], node):
            return False
        node = parent
    return False


def _is_part(parent: Node, field: str, node: Node) -> bool:
    if field in {_FIRST, _LAST}:
        named = parent.named_children
        return bool(named) and named[0 if field == _FIRST else -1].id == node.id
    part = parent.child_by_field_name(field)
    return part is not None and part.id == node.id
