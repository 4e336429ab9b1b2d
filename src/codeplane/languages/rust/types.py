"""Read from the syntax which type something plainly has."""

from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NONE

_TRAITS: Final = frozenset({"dynamic_type", "abstract_type"})


def type_reference(node: Node | None) -> int:
    """Return the start of the reference that names a type, through references and for `dyn` and `impl` of one trait.

    NONE for types without a name. Boxes and other smart pointers have methods of their own: they are what is named.
    """
    while node is not None and node.type == "reference_type":
        node = node.child_by_field_name("type")
    if node is not None and node.type in _TRAITS:
        node = node.child_by_field_name("trait")
    return named_type(node)


def named_type(node: Node | None) -> int:
    """Return the start of the reference that names a type, NONE for anything but a name with arguments."""
    found = type_name(node)
    return NONE if found is None else found.start_byte


def type_name(node: Node | None) -> Node | None:
    """Return the last name of a type's path, None for types without a name."""
    while node is not None:
        if node.type == "type_identifier":
            return None if node.is_missing else node
        if node.type == "generic_type":
            node = node.child_by_field_name("type")
        elif node.type == "scoped_type_identifier":
            node = node.child_by_field_name("name")
        else:
            break
    return None


def value_type(node: Node | None) -> int:
    """Return the start of the reference that names the type of `T { … }` or `&T { … }`, or the function of a call.

    NONE for other values.
    """
    if node is not None and node.type == "reference_expression":
        node = node.child_by_field_name("value")
    if node is None:
        return NONE
    if node.type == "call_expression":
        return _called_function(node.child_by_field_name("function"))
    return named_type(node.child_by_field_name("name")) if node.type == "struct_expression" else NONE


def _called_function(function: Node | None) -> int:
    if function is not None and function.type == "generic_function":
        function = function.child_by_field_name("function")
    name = function
    if function is not None and function.type == "scoped_identifier":
        name = function.child_by_field_name("name")
    elif function is not None and function.type == "field_expression":
        name = function.child_by_field_name("field")
    is_name = name is not None and name.type in {"identifier", "field_identifier"} and not name.is_missing
    return name.start_byte if name is not None and is_name else NONE


def implemented_type(node: Node | None) -> Node | None:
    """Return the path of the type that an `impl` is for, through references: a value of the type has its members."""
    while node is not None and node.type == "reference_type":
        node = node.child_by_field_name("type")
    while node is not None and node.type == "generic_type":
        node = node.child_by_field_name("type")
    return node if type_name(node) is not None else None


def bound_references(node: Node | None) -> tuple[int, ...]:
    """Return the starts of the references in a list of bounds that name traits."""
    if node is None:
        return ()
    found = (named_type(child) for child in node.named_children if child.type != "ERROR")
    return tuple(start for start in found if start != NONE)
