"""GraphQL."""

from typing import Final

import tree_sitter_graphql
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.outline import Action, Outline, extract_outline, outline_rules, skip
from codeplane.languages.tables.tree import child_of_kind


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the types and operations of a GraphQL file."""
    return extract_outline(source, _RULES, clock)


def _add(kind: DefinitionKind, *name_kinds: str) -> Action:
    """Return the action that adds something by its name; `name_kinds` lead to it."""

    def add(outline: Outline, node: Node) -> bool:
        name: Node | None = node
        for name_kind in name_kinds:
            name = child_of_kind(name, name_kind) if name is not None else None
        if name is not None:
            signature = outline.text.name(name.end_byte, node.end_byte) if kind is DefinitionKind.FIELD else ""
            outline.add(kind, name.byte_range, node.byte_range, signature=signature)
        return True

    return add


_TYPE: Final = _add(DefinitionKind.TYPE, "name")
_INTERFACE: Final = _add(DefinitionKind.INTERFACE, "name")
_ENUM: Final = _add(DefinitionKind.ENUM, "name")
_FIELD: Final = _add(DefinitionKind.FIELD, "name")
_BLOCK: Final = _add(DefinitionKind.BLOCK, "name")
_RULES: Final = outline_rules(
    Grammar(tree_sitter_graphql.language()),
    {
        "object_type_definition": _TYPE,
        "object_type_extension": _TYPE,
        "input_object_type_definition": _TYPE,
        "input_object_type_extension": _TYPE,
        "scalar_type_definition": _TYPE,
        "scalar_type_extension": _TYPE,
        "union_type_definition": _TYPE,
        "union_type_extension": _TYPE,
        "interface_type_definition": _INTERFACE,
        "interface_type_extension": _INTERFACE,
        "enum_type_definition": _ENUM,
        "enum_type_extension": _ENUM,
        "enum_value_definition": _add(DefinitionKind.CONSTANT, "enum_value", "name"),
        "field_definition": _FIELD,
        "input_value_definition": _FIELD,
        "directive_definition": _BLOCK,
        "operation_definition": _BLOCK,
        "fragment_definition": _add(DefinitionKind.BLOCK, "fragment_name", "name"),
        "arguments_definition": skip,
        "selection_set": skip,
        "description": skip,
    },
)
LANGUAGE: Final = Language("graphql", Depth.STRUCTURE, extract)
