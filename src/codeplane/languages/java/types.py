"""Read from the syntax which type something plainly has."""

from tree_sitter import Node

from codeplane.languages.facts import NONE
from codeplane.languages.nodes import children_of


def type_name(node: Node | None) -> Node | None:
    """Return the last name of a type, None for arrays, primitive types and the like."""
    while node is not None:
        kind = node.type
        if kind == "type_identifier":
            return None if node.is_missing else node
        children = children_of(node)
        if kind == "generic_type":
            node = children[0] if children else None
        elif kind in {"scoped_type_identifier", "annotated_type"}:
            node = children[-1] if children else None
        else:
            break
    return None


def type_reference(node: Node | None) -> int:
    """Return the start of the reference that names a type, NONE when it has no name."""
    name = type_name(node)
    return NONE if name is None else name.start_byte


def created_type(value: Node | None) -> int:
    """Return the start of the reference that names the type of `new T(…)`, NONE for other values."""
    if value is None or value.type != "object_creation_expression":
        return NONE
    return type_reference(value.child_by_field_name("type"))


def base_types(node: Node | None) -> list[Node]:
    """Return the types that an `extends` or `implements` clause names."""
    found: list[Node] = []
    for child in children_of(node):
        found.extend(children_of(child) if child.type == "type_list" else [child])
    return found
