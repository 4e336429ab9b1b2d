"""Bash, and the shells that are written alike."""

import re
from typing import Final

import tree_sitter_bash
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import NONE, BindReason, DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.comments import HASHES
from codeplane.languages.tables.rules import FUNCTION, SKIP, TAG, VALUE, Scoping, SymbolRules, symbol_table
from codeplane.languages.tables.symbols import extract_symbols
from codeplane.languages.tables.tree import first_named
from codeplane.languages.tables.walking import Walk

_GRAMMAR: Final = Grammar(tree_sitter_bash.language())
_NAME: Final = re.compile(r"[A-Za-z_][\w.:+-]*")
_LOCAL: Final = frozenset({"local", "declare", "typeset"})


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the facts of a shell script."""
    return extract_symbols(source, _RULES, clock)


def _meet_function(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    scope = walk.open_scope(FUNCTION, name.end_byte, node.end_byte, walk.cut(name))
    walk.define(DefinitionKind.FUNCTION, name.byte_range, node.byte_range, body_scope=scope, space=TAG)
    walk.take(*name.byte_range, TAG)


def _take_command(walk: Walk, node: Node) -> int | None:
    """Take the name of a command, which may be that of a function."""
    word = first_named(node)
    if word is None or word.type != "word":
        return None
    if _NAME.fullmatch(walk.cut(word)):
        walk.take(*word.byte_range, TAG)
    return SKIP


def _take_variable(walk: Walk, node: Node) -> int:
    if not walk.bytewise[node.start_byte].isdigit():
        walk.take(*node.byte_range, VALUE)
    return SKIP


def _meet_command(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    for each in node.named_children:
        if each.type != "variable_assignment":
            break
        # What is set before a command is set for that command alone.
        walk.merged.add(each.start_byte)
    if name is not None and walk.cut(name) in {"source", "."}:
        argument = node.child_by_field_name("argument")
        if argument is not None:
            walk.add_import("shell_source", node.byte_range, walk.cut(argument).strip("\"'"), imported_name="*")


def _meet_declaration(walk: Walk, node: Node) -> None:
    text = walk.cut(node.children[0]) if node.children else ""
    flags = "".join(walk.cut(each) for each in node.named_children if each.type == "word")
    is_constant = text == "readonly" or ("r" in flags and text in _LOCAL)
    kind = DefinitionKind.CONSTANT if is_constant else DefinitionKind.VARIABLE
    is_local = text in _LOCAL and "g" not in flags
    for each in node.named_children:
        name = each.child_by_field_name("name") if each.type == "variable_assignment" else each
        walk.merged.add(each.start_byte)
        if name is not None and name.type == "variable_name":
            _assign(walk, name, each, kind, scope=walk.scope if is_local else 0)


def _meet_assignment(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None and name.type == "subscript":
        name = name.child_by_field_name("name")
    if name is not None and node.start_byte not in walk.merged:
        _assign(walk, name, node)


def _meet_loop(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("variable")
    if name is not None:
        _assign(walk, name, name)


def _assign(
    walk: Walk, name: Node, node: Node, kind: DefinitionKind = DefinitionKind.VARIABLE, scope: int = NONE
) -> None:
    """Define a variable where it is first set: in the function if it is local there, else in the file."""
    text = walk.cut(name)
    if scope == NONE:
        scope = walk.scope if text in walk.scopes[walk.scope].places else 0
    if text not in walk.scopes[scope].places:
        walk.define(
            *(kind, name.byte_range, node.byte_range),
            path=walk.path_inside(text) if scope else text,
            scope=scope,
            visible_from=node.end_byte if scope else 0,
            reason=BindReason.LOCAL_ASSIGN,
        )


_RULES: Final = SymbolRules(
    _GRAMMAR,
    symbol_table(
        _GRAMMAR,
        {
            "variable_name": _take_variable,
            "command_name": _take_command,
            "function_definition": _meet_function,
            "command": _meet_command,
            "declaration_command": _meet_declaration,
            "variable_assignment": _meet_assignment,
            "for_statement": _meet_loop,
            "comment": SKIP,
            "raw_string": SKIP,
        },
    ),
    Scoping(ordered=frozenset({FUNCTION}), closed_to_values=frozenset({FUNCTION}), types_are_values=False),
    separators=(),
    comments=HASHES,
)
LANGUAGE: Final = Language("shell", Depth.SYMBOLS, extract)
