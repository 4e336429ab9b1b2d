"""Find the keys of composite literals that name fields; the others are expressions."""

import re
from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.languages.block_scopes.texts import BlockText
from codeplane.languages.facts import KEYWORD
from codeplane.languages.go.types import base_reference
from codeplane.languages.nodes import children_of, first_child

_LISTS: Final = frozenset({"slice_type", "array_type", "implicit_length_array_type"})
_WRAPPED: Final = frozenset({"pointer_type", "parenthesized_type"})
# The grammar takes predeclared values for words of the language, but they can name fields.
_NAMES: Final = frozenset({"identifier", "iota", "nil", "true", "false"})
_NAMED: Final = frozenset({"type_identifier", "qualified_type", "generic_type"})


# `x: …` and `x: {…}` without nodes for each part; anything in between makes the nodes speak.
_SIMPLE_KEY: Final = re.compile(r"([A-Za-z_]\w*)[ \t]*:\s*([^\s/])", re.ASCII)


class _Element(NamedTuple):
    """One entry of a literal; a key or value is given as node only where it is a literal without a type."""

    start: int
    is_field: bool
    key: Node | None
    value: Node | None


def field_keys(literal: Node, text: BlockText) -> list[tuple[int, int]]:
    """Return the start of each key that names a field, with the start of the reference to the literal's type.

    The second is KEYWORD where the type has no name here. Literals inside whose type is left out (`[]T{{x: 1}}`)
    belong to this one. Keys beside which there is something that a struct literal cannot have are expressions.
    """
    found: list[tuple[int, int]] = []
    body = literal.child_by_field_name("body")
    if body is None or text.bytewise.find(":", *body.byte_range) < 0:
        return found
    waiting: list[tuple[Node, Node | None]] = [(body, literal.child_by_field_name("type"))]
    while waiting:
        body, type_node = waiting.pop()
        elements = [_element(child, text.bytewise) for child in children_of(body)]
        key_type, value_type = _inner_types(type_node)
        waiting.extend((one.key, key_type) for one in elements if one.key is not None)
        waiting.extend((one.value, value_type) for one in elements if one.value is not None)
        if _may_be_struct(type_node) and all(one.is_field for one in elements):
            is_named = type_node is not None and type_node.type in _NAMED
            owner = base_reference(type_node) if is_named else KEYWORD
            found.extend((one.start, owner) for one in elements)
    return found


def _inner_types(node: Node | None) -> tuple[Node | None, Node | None]:
    """Return the types of the keys and of the elements of a literal of a type, without a pointer before them."""
    if node is None:
        return None, None
    if node.type in _LISTS:
        return None, _bare(node.child_by_field_name("element"))
    if node.type == "map_type":
        return _bare(node.child_by_field_name("key")), _bare(node.child_by_field_name("value"))
    return None, None


def _bare(node: Node | None) -> Node | None:
    while node is not None and node.type in _WRAPPED:
        node = first_child(node)
    return node


def _may_be_struct(node: Node | None) -> bool:
    return node is None or node.type in _NAMED or node.type == "struct_type"


def _element(node: Node, bytewise: str) -> _Element:
    start = node.start_byte
    if node.type != "keyed_element":
        value = _bare_literal(node) if bytewise[start] == "{" else None
        return _Element(start, False, None, value)
    simple = _SIMPLE_KEY.match(bytewise, start)
    if simple is not None and simple[2] != "{":
        return _Element(start, True, None, None)
    key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    content = first_child(key) if key is not None else None
    bare_value = _bare_literal(value)
    is_field = content is not None and content.type in _NAMES and bare_value is None
    return _Element(start, is_field, _bare_literal(key), bare_value)


def _bare_literal(element: Node | None) -> Node | None:
    content = first_child(element) if element is not None else None
    return content if content is not None and content.type == "literal_value" else None
