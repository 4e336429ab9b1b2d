"""Read `__all__`."""

from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.languages.facts import NO_RECEIVER, NONE, BindTarget, Certainty, Export
from codeplane.languages.python.tables import EXPORTS, Tables
from codeplane.languages.python.texts import PythonText, scoping_key

LITERAL: Final = "__all__literal"
COMPUTED: Final = "__all__computed"
CONDITIONAL: Final = "__all__conditional"


class _Statement(NamedTuple):
    """What one statement adds to `__all__`; `value` is None when it cannot be read."""

    node: Node
    value: Node | None
    replaces: bool


def read_exports(tables: Tables, root: Node, text: PythonText) -> list[Export]:
    """Return the entries of `__all__` and add them to the names; an entry without a name where it cannot be read."""
    statements = []
    for watched in tables.watched:
        if watched.name == "__all__" and watched.scope == 0:
            node = root.descendant_for_byte_range(watched.start, watched.end)
            statement = _statement_around(node, text) if node is not None else None
            if statement is not None:
                statements.append(statement)
    is_replaced = sum(statement.replaces for statement in statements) > 1
    found: list[Export] = []
    for statement in statements:
        entries, is_literal = _entries(statement.value)
        contents = [(entry.start_byte, text.of(entry)) for entry in entries]
        evidence = LITERAL if is_literal else COMPUTED
        if is_literal and (is_replaced or _is_conditional(statement.node)):
            evidence = CONDITIONAL
        certainty = Certainty.CERTAIN if evidence == LITERAL else Certainty.UNCERTAIN
        found.extend(Export(name, BindTarget.UNKNOWN, NONE, certainty, evidence) for _, name in contents)
        if not is_literal:
            found.append(Export("", BindTarget.UNKNOWN, NONE, certainty, evidence))
        tables.names.extend((start, name, scoping_key(name, ""), 0, EXPORTS, NO_RECEIVER) for start, name in contents)
    return found


def _statement_around(node: Node, text: PythonText) -> _Statement | None:
    """Return the statement in which `__all__` is set or extended; None when it is only read."""
    parent = node.parent
    if parent is None:
        return None
    if parent.type in {"assignment", "augmented_assignment"} and parent.start_byte == node.start_byte:
        value = parent.child_by_field_name("right")
        is_declaration = value is None
        return None if is_declaration else _Statement(parent, value, parent.type == "assignment")
    if parent.type == "subscript" and parent.start_byte == node.start_byte:
        outer = parent.parent
        is_changed = outer is not None and (
            outer.type == "delete_statement" or (outer.type == "assignment" and outer.start_byte == node.start_byte)
        )
        return _Statement(parent, None, False) if is_changed else None
    if parent.type == "attribute" and parent.start_byte == node.start_byte:
        return _method_call(parent, text)
    if parent.type in {"pattern_list", "tuple_pattern", "list_pattern"}:
        return _Statement(parent, None, True)
    return None


def _method_call(attribute: Node, text: PythonText) -> _Statement | None:
    """Read `__all__.extend([…])`, `__all__.append("…")` and the methods that make it unreadable."""
    member = attribute.child_by_field_name("attribute")
    call = attribute.parent
    if member is None or call is None or call.type != "call":
        return None
    method = text.of(member)
    if method not in {"extend", "append", "remove", "insert", "clear", "pop"}:
        return None
    arguments = call.child_by_field_name("arguments")
    values = arguments.named_children if arguments is not None else []
    value = values[0] if len(values) == 1 and method in {"extend", "append"} else None
    is_readable = value is not None and (value.type == "string") == (method == "append")
    return _Statement(call, value if is_readable else None, False)


def _entries(value: Node | None) -> tuple[list[Node], bool]:
    """Return the contents of the literal strings in a value, and whether it holds nothing else."""
    entries: list[Node] = []
    is_literal = value is not None
    waiting = [value] if value is not None else []
    while waiting:
        node = waiting.pop()
        if node.type in {"list", "tuple", "expression_list", "parenthesized_expression", "binary_operator"}:
            waiting.extend(reversed(node.named_children))
            is_literal = is_literal and (node.type != "binary_operator")
        elif node.type == "string":
            content = node.named_child(1) if node.named_child_count == 3 else None
            if content is not None and content.type == "string_content" and not content.named_child_count:
                entries.append(content)
            else:
                is_literal = False
        elif node.type != "comment":
            is_literal = False
    return entries, is_literal


def _is_conditional(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type == "expression_statement":
        parent = parent.parent
    return parent is not None and parent.type != "module"
