"""Read from the syntax which type something plainly has."""

from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NONE
from codeplane.languages.nodes import children_of, first_child

_NAMED_TYPES: Final = frozenset({"type_identifier", "identifier"})
_BASES: Final = frozenset({"type_identifier", "qualified_type", "generic_type"})


def type_reference(node: Node | None) -> int:
    """Return the start of the reference that names a type, through one pointer; NONE for types without a name."""
    if node is not None and node.type == "pointer_type":
        node = first_child(node)
    return base_reference(node)


def base_reference(node: Node | None) -> int:
    """Return the start of the reference that names a type, NONE for pointers and types without a name."""
    while node is not None:
        kind = node.type
        if kind in _NAMED_TYPES:
            return NONE if node.is_missing else node.start_byte
        if kind == "qualified_type":
            node = node.child_by_field_name("name")
        elif kind == "generic_type":
            node = node.child_by_field_name("type")
        elif kind == "parenthesized_type":
            node = first_child(node)
        else:
            break
    return NONE


def embedded_reference(node: Node) -> int:
    """Return the start of the reference that a `type_elem` of an interface embeds, NONE for unions and the like."""
    children = children_of(node)
    return base_reference(children[0]) if len(children) == 1 and children[0].type in _BASES else NONE


def value_reference(value: Node | None) -> int:
    """Return the start of the reference that names the type of a value: `T{}`, `&T{}`, `new(T)`, `x.(T)`.

    For other calls it is the function that is called, or the type of a conversion.
    """
    if value is None:
        return NONE
    kind = value.type
    if kind == "unary_expression":
        operand = value.child_by_field_name("operand")
        operator = value.child_by_field_name("operator")
        if operand is None or operator is None or operator.type != "&" or operand.type != "composite_literal":
            return NONE
        return _literal_reference(operand)
    if kind == "composite_literal":
        return _literal_reference(value)
    if kind == "type_assertion_expression":
        return type_reference(value.child_by_field_name("type"))
    return _call_reference(value) if kind == "call_expression" else NONE


def value_types(values: Node, n_names: int) -> list[int]:
    """Return the type reference of each value of a list, if there is one value per name.

    The first of several results of a type assertion (`x, ok := y.(T)`) or a call has its type as well.
    """
    children = children_of(values)
    if len(children) == n_names:
        return [value_reference(child) for child in children]
    if len(children) == 1 and children[0].type in {"type_assertion_expression", "call_expression"}:
        return [value_reference(children[0]), *[NONE] * (n_names - 1)]
    return [NONE] * n_names


def result_reference(result: Node | None) -> int:
    """Return the start of the reference that names the type of a function's first result, NONE without a plain one."""
    if result is None or result.type != "parameter_list":
        return type_reference(result)
    first = first_child(result)
    return type_reference(first.child_by_field_name("type")) if first is not None else NONE


def receiver_name(node: Node | None) -> Node | None:
    """Return the name of the type in a receiver's parameter declaration."""
    while node is not None and node.type != "type_identifier":
        if node.type in {"pointer_type", "parenthesized_type"}:
            node = first_child(node)
        elif node.type == "generic_type":
            node = node.child_by_field_name("type")
        else:
            return None
    return node


def _literal_reference(literal: Node) -> int:
    return base_reference(literal.child_by_field_name("type"))


def _call_reference(call: Node) -> int:
    function = call.child_by_field_name("function")
    arguments = call.child_by_field_name("arguments")
    if function is None or arguments is None:
        return NONE
    if function.type == "selector_expression":
        name = function.child_by_field_name("field")
        return name.start_byte if name is not None and not name.is_missing else NONE
    if function.type != "identifier":
        return NONE
    if function.text != b"new":
        return function.start_byte
    types = children_of(arguments)
    return base_reference(types[0]) if len(types) == 1 else NONE
