"""The constructs of Lua that a pattern cannot express."""

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import DefinitionKind
from codeplane.languages.nodes import first_named
from codeplane.languages.queries.actions import bind_name
from codeplane.languages.queries.patterns import Match
from codeplane.languages.queries.rules import BLOCK, FUNCTION
from codeplane.languages.queries.walking import Walk

_EVERYWHERE: Final = frozenset({FUNCTION, BLOCK})


def declare_locals(walk: Walk, match: Match) -> None:
    """Define local variables, or import what they are set to; they are seen after the statement."""
    node = match.node
    inner = first_named(node)
    is_set = inner is not None and inner.type == "assignment_statement"
    if inner is not None and is_set:
        walk.merged.add(inner.start_byte)
    for name, value in _pairs(inner if inner is not None and is_set else node):
        module = _required(walk, value)
        if module is not None and value is not None:
            walk.merged.add(value.start_byte)
            text = walk.cut(name)
            walk.add_import(
                *("lua_require", node.byte_range, module), alias=text, local_name=text, names=[name.start_byte]
            )
        elif value is not None and value.type == "function_definition":
            scope = _open_function(walk, value, walk.cut(name))
            _define_function(walk, name, node, scope, value, visible_from=node.end_byte)
        else:
            bind_name(walk, name, node, visible_from=node.end_byte)


def _pairs(node: Node) -> Iterator[tuple[Node, Node | None]]:
    """Yield what an assignment or a declaration sets, each with its value."""
    targets, values = [*node.named_children, None, None][:2]
    names = targets.children_by_field_name("name") if targets is not None and targets.type == "variable_list" else []
    given = values.children_by_field_name("value") if values is not None and values.type == "expression_list" else []
    for index, name in enumerate(names):
        yield name, given[index] if index < len(given) else None


def _required(walk: Walk, value: Node | None) -> str | None:
    """Return the module that a call of `require` with one text names."""
    if value is None or value.type != "function_call":
        return None
    name, arguments = value.child_by_field_name("name"), value.child_by_field_name("arguments")
    if name is None or arguments is None or walk.cut(name) != "require" or arguments.named_child_count != 1:
        return None
    text = first_named(arguments)
    content = text.child_by_field_name("content") if text is not None and text.type == "string" else None
    return walk.cut(content) if content is not None else None


def declare_function(walk: Walk, match: Match) -> None:
    """Define a function: local, global, or a member of a table."""
    name, node = match["name"], match.node
    if name.type != "identifier":
        _define_member(walk, node, name, node)
        return
    text = walk.cut(name)
    scope = _open_function(walk, node, text)
    if walk.bytewise.startswith("local", node.start_byte):
        _define_function(walk, name, node, scope, node, visible_from=name.start_byte)
    else:
        walk.define(
            *(DefinitionKind.FUNCTION, name.byte_range, node.byte_range),
            scope=0,
            body_scope=scope,
            signature=_signature(walk, node),
            visible_from=0,
            # Other files set the same names.
            is_doubtful=True,
            is_bound=not walk.sees_value(text, node.start_byte, _EVERYWHERE),
        )


def _define_function(walk: Walk, name: Node, node: Node, scope: int, function: Node, *, visible_from: int) -> None:
    walk.define(
        *(DefinitionKind.FUNCTION, name.byte_range, node.byte_range),
        body_scope=scope,
        signature=_signature(walk, function),
        visible_from=visible_from,
    )


def _define_member(walk: Walk, node: Node, name: Node, function: Node) -> None:
    """Define a function that is set in a table: `M.f`, `M:f`."""
    is_method = name.type == "method_index_expression"
    last = name.child_by_field_name("method" if is_method else "field")
    table = name.child_by_field_name("table")
    if last is None or table is None or last.type != "identifier":
        _open_function(walk, function, "")
        return
    path = f"{walk.joined(table)}.{walk.cut(last)}"
    scope = _open_function(walk, function, path)
    walk.define(
        *(DefinitionKind.METHOD if is_method else DefinitionKind.FUNCTION, last.byte_range, node.byte_range),
        path=walk.path_of(path),
        body_scope=scope,
        signature=_signature(walk, function),
        owner=walk.cut(table).rpartition(".")[2],
        is_bound=False,
    )


def _open_function(walk: Walk, node: Node, name: str) -> int:
    parameters, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
    walk.merged.add(node.start_byte)
    if body is not None:
        walk.merged.add(body.start_byte)
    begin = parameters.start_byte if parameters is not None else node.start_byte
    return walk.open_scope(FUNCTION, begin, node.end_byte, name)


def _signature(walk: Walk, node: Node) -> str:
    parameters = node.child_by_field_name("parameters")
    return walk.folded(*parameters.byte_range) if parameters is not None else ""


def open_anonymous_function(walk: Walk, match: Match) -> None:
    """Open the scope of a function without a name."""
    if match.node.start_byte not in walk.merged:
        _open_function(walk, match.node, "")


def assign(walk: Walk, match: Match) -> None:
    """Define global variables where they are first set, and functions that are set in tables."""
    node = match.node
    if node.start_byte in walk.merged:
        return
    for name, value in _pairs(node):
        is_function = value is not None and value.type == "function_definition"
        if name.type == "identifier":
            if not walk.sees_value(walk.cut(name), name.start_byte, _EVERYWHERE):
                kind = DefinitionKind.FUNCTION if is_function else DefinitionKind.VARIABLE
                walk.define(
                    *(kind, name.byte_range, node.byte_range),
                    path=walk.cut(name),
                    scope=0,
                    visible_from=0,
                    is_doubtful=True,
                )
        elif is_function and value is not None and name.type == "dot_index_expression":
            _define_member(walk, node, name, value)
