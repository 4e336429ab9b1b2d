"""Lua."""

from types import MappingProxyType
from typing import Final

import tree_sitter_lua
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import THIS, DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.actions import bind_name, child, field, ignored, keyword, opens
from codeplane.languages.tables.comments import comment_style
from codeplane.languages.tables.rules import (
    BLOCK,
    FILE,
    FUNCTION,
    SKIP,
    VALUE,
    Scoping,
    SymbolRules,
    symbol_table,
)
from codeplane.languages.tables.symbols import extract_symbols
from codeplane.languages.tables.tree import first_named, second_named
from codeplane.languages.tables.walking import Walk

_GRAMMAR: Final = Grammar(tree_sitter_lua.language())
_EVERYWHERE: Final = frozenset({FUNCTION, BLOCK})


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the facts of a Lua file."""
    return extract_symbols(source, _RULES, clock)


def _meet_locals(walk: Walk, node: Node) -> None:
    """Define local variables, or import what they are set to; they are seen after the statement."""
    inner = first_named(node)
    is_set = inner is not None and inner.type == "assignment_statement"
    names, values = _sides(inner if is_set and inner is not None else node)
    if is_set and inner is not None:
        walk.merged.add(inner.start_byte)
    for index, name in enumerate(names):
        value = values[index] if index < len(values) else None
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


def _sides(node: Node) -> tuple[list[Node], list[Node]]:
    """Return what is assigned to, and the values, of an assignment or a declaration."""
    targets, values = first_named(node), second_named(node)
    return (
        targets.children_by_field_name("name") if targets is not None and targets.type == "variable_list" else [],
        values.children_by_field_name("value") if values is not None and values.type == "expression_list" else [],
    )


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


def _meet_call(walk: Walk, node: Node) -> None:
    module = _required(walk, node) if node.start_byte not in walk.merged else None
    if module is not None:
        walk.add_import("lua_require", node.byte_range, module)


def _meet_function(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    if name.type != "identifier":
        _define_member(walk, node, name, node)
        return
    text = walk.cut(name)
    scope = _open_function(walk, node, text)
    if walk.bytewise.startswith("local", node.start_byte):
        _define_function(walk, name, node, scope, node, visible_from=name.start_byte)
    else:
        is_local = walk.sees_value(text, node.start_byte, _EVERYWHERE)
        walk.define(
            *(DefinitionKind.FUNCTION, name.byte_range, node.byte_range),
            scope=0,
            body_scope=scope,
            signature=_signature(walk, node),
            visible_from=0,
            # Other files set the same names.
            is_doubtful=True,
            is_bound=not is_local,
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
    last = name.child_by_field_name("method") if is_method else name.child_by_field_name("field")
    table = name.child_by_field_name("table")
    if last is None or table is None or last.type != "identifier":
        _open_function(walk, function, "")
        return
    path = f"{walk.folded(*table.byte_range).replace(' ', '')}.{walk.cut(last)}"
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


def _meet_anonymous_function(walk: Walk, node: Node) -> None:
    if node.start_byte not in walk.merged:
        _open_function(walk, node, "")


def _meet_parameters(walk: Walk, node: Node) -> None:
    for name in node.children_by_field_name("name"):
        bind_name(walk, name, name, DefinitionKind.PARAMETER)


def _meet_assignment(walk: Walk, node: Node) -> None:
    """Define global variables where they are first set, and functions that are set in tables."""
    if node.start_byte in walk.merged:
        return
    names, values = _sides(node)
    for index, name in enumerate(names):
        value = values[index] if index < len(values) else None
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


def _meet_for(walk: Walk, node: Node) -> None:
    scope = walk.open_scope(BLOCK, *node.byte_range)
    clause, body = node.child_by_field_name("clause"), node.child_by_field_name("body")
    if body is not None:
        walk.merged.add(body.start_byte)
    if clause is None:
        return
    names = child("variable_list")(clause) or clause
    for name in names.children_by_field_name("name"):
        bind_name(walk, name, clause, scope=scope, visible_from=clause.end_byte)


def _meet_repeat(walk: Walk, node: Node) -> None:
    """The condition after a loop sees what is local in it."""
    walk.open_scope(BLOCK, *node.byte_range)
    body = node.child_by_field_name("body")
    if body is not None:
        walk.merged.add(body.start_byte)


def _meet_field(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None and name.type == "identifier" and not walk.bytewise.startswith("[", node.start_byte):
        _KEYWORD(walk, node)


_KEYWORD: Final = keyword(field("name"))
_NAME: Final = child("identifier")
_RULES: Final = SymbolRules(
    _GRAMMAR,
    symbol_table(
        _GRAMMAR,
        {
            "identifier": VALUE,
            "variable_declaration": _meet_locals,
            "assignment_statement": _meet_assignment,
            "function_declaration": _meet_function,
            "function_definition": _meet_anonymous_function,
            "function_call": _meet_call,
            "parameters": _meet_parameters,
            "for_statement": _meet_for,
            "repeat_statement": _meet_repeat,
            "block": opens(BLOCK),
            "field": _meet_field,
            "goto_statement": ignored(_NAME),
            "label_statement": ignored(_NAME),
            "attribute": SKIP,
            "comment": SKIP,
            "string": SKIP,
        },
    ),
    Scoping(ordered=frozenset({FILE, FUNCTION, BLOCK})),
    separators=(":", "."),
    words=MappingProxyType({"self": THIS}),
    comments=comment_style("---", "--", block=("--[[", "]]")),
)
LANGUAGE: Final = Language("lua", Depth.SYMBOLS, extract)
