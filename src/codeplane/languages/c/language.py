"""C."""

from typing import Final

import tree_sitter_c
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.c.declaring import (
    declared,
    meet_composite,
    meet_condition,
    meet_declaration,
    meet_enumerator,
    meet_fields,
    meet_include,
    meet_macro,
    meet_parameter,
    meet_parameters,
    meet_type_definition,
    open_parameters,
    signature,
)
from codeplane.languages.facts import KEYWORD, DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.actions import opens
from codeplane.languages.tables.rules import (
    BLOCK,
    FUNCTION,
    MEMBER,
    SKIP,
    TAG,
    VALUE,
    Scoping,
    SymbolRules,
    symbol_table,
)
from codeplane.languages.tables.symbols import extract_symbols
from codeplane.languages.tables.walking import Walk

_GRAMMAR: Final = Grammar(tree_sitter_c.language())


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the facts of a C file."""
    return extract_symbols(source, _RULES, clock)


def _meet_function(walk: Walk, node: Node) -> None:
    declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
    found = declared(declarator) if declarator is not None else None
    if found is None or found.call is None or body is None or not found.is_function:
        return
    walk.merged.add(body.start_byte)
    scope = open_parameters(walk, found.call, node.end_byte, walk.cut(found.name))
    walk.define(
        *(DefinitionKind.FUNCTION, found.name.byte_range, node.byte_range),
        body_scope=scope,
        signature=signature(walk, node.child_by_field_name("type"), found),
    )


_RULES: Final = SymbolRules(
    _GRAMMAR,
    symbol_table(
        _GRAMMAR,
        {
            "identifier": VALUE,
            "type_identifier": VALUE,
            "field_identifier": MEMBER,
            "function_definition": _meet_function,
            "declaration": meet_declaration,
            "parameter_declaration": meet_parameter,
            "field_declaration": meet_fields,
            "type_definition": meet_type_definition(TAG, VALUE),
            "struct_specifier": meet_composite,
            "union_specifier": meet_composite,
            "enum_specifier": meet_composite,
            "enumerator": meet_enumerator,
            "function_declarator": meet_parameters,
            "abstract_function_declarator": meet_parameters,
            "compound_statement": opens(BLOCK),
            "for_statement": opens(BLOCK),
            "preproc_include": meet_include("c_include"),
            "preproc_def": meet_macro,
            "preproc_function_def": meet_macro,
            "preproc_params": SKIP,
            "preproc_if": meet_condition,
            "preproc_ifdef": meet_condition,
            "preproc_elif": meet_condition,
            "preproc_elifdef": meet_condition,
            "preproc_else": meet_condition,
            "comment": SKIP,
            "string_literal": SKIP,
        },
    ),
    Scoping(ordered=frozenset({FUNCTION, BLOCK})),
    separators=("->", "."),
    leading={".": KEYWORD},
    type_kinds=frozenset(),
)
LANGUAGE: Final = Language("c", Depth.SYMBOLS, extract)
