"""Find the names that a pattern binds, and those in it that name fields."""

from dataclasses import dataclass, field
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import EXPRESSION, NONE
from codeplane.languages.nodes import children_of
from codeplane.languages.rust.types import named_type

# Parts of a pattern that bind nothing: paths, constants, values.
_OPAQUE: Final = frozenset(
    {
        "scoped_identifier",
        "range_pattern",
        "macro_invocation",
        "const_block",
        "string_literal",
        "negative_literal",
        "generic_type",
        "scoped_type_identifier",
        "type_identifier",
        "generic_pattern",
    }
)
_BINDERS: Final = frozenset({"identifier", "shorthand_field_identifier"})
_WITH_TYPE: Final = frozenset({"tuple_struct_pattern", "struct_pattern"})


@dataclass(slots=True)
class PatternNames:
    """The nodes of the names that a pattern binds, in order, and the fields it names with the type before them."""

    binders: list[Node] = field(default_factory=list)
    fields: list[tuple[int, int]] = field(default_factory=list)


def read_pattern(pattern: Node) -> PatternNames:
    """Return what a pattern binds; whether a plain name is a constant is left to the caller."""
    found = PatternNames()
    if pattern.type == "identifier":
        found.binders.append(pattern)
        return found
    waiting: list[tuple[Node, int]] = [(pattern, NONE)]
    while waiting:
        node, owner = waiting.pop()
        kind = node.type
        if kind in _BINDERS:
            found.binders.append(node)
        elif kind == "field_pattern":
            _read_field(node, owner, found, waiting)
        elif kind in _WITH_TYPE:
            type_node = node.child_by_field_name("type")
            start = _owner(type_node)
            type_id = type_node.id if type_node is not None else NONE
            waiting.extend((child, start) for child in reversed(children_of(node)) if child.id != type_id)
        elif kind not in _OPAQUE:
            waiting.extend((child, NONE) for child in reversed(children_of(node)))
    return found


def _read_field(node: Node, owner: int, found: PatternNames, waiting: list[tuple[Node, int]]) -> None:
    name, inner = node.child_by_field_name("name"), node.child_by_field_name("pattern")
    if name is not None and name.type == "shorthand_field_identifier":
        found.binders.append(name)
    elif name is not None and name.type == "field_identifier":
        found.fields.append((name.start_byte, owner))
    if inner is not None:
        waiting.append((inner, NONE))


def _owner(type_node: Node | None) -> int:
    """Return the start of the reference to the type whose fields a pattern names."""
    start = named_type(type_node)
    return EXPRESSION if start == NONE else start
