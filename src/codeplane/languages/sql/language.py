"""SQL."""

from typing import Final

import tree_sitter_sql
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.outline import Outline, extract_outline, outline_rules, skip
from codeplane.languages.tables.tree import child_of_kind


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the named statements of an SQL file."""
    return extract_outline(source, _RULES, clock)


def _add_created(outline: Outline, node: Node) -> bool:
    return _add_named(outline, node, DefinitionKind.BLOCK)


def _add_changed(outline: Outline, node: Node) -> bool:
    _add_named(outline, node, DefinitionKind.STATEMENT)
    return False


def _add_named(outline: Outline, node: Node, kind: DefinitionKind) -> bool:
    name = child_of_kind(node, "object_reference", "identifier", "literal")
    if name is None:
        return True
    words = outline.text.name(node.start_byte, name.start_byte).upper()
    outline.add(kind, name.byte_range, node.byte_range, name=_unquoted(outline, name), signature=words)
    return True


def _add_query(outline: Outline, node: Node) -> bool:
    name = child_of_kind(node, "identifier")
    if name is not None:
        outline.add(
            DefinitionKind.BLOCK, name.byte_range, node.byte_range, name=_unquoted(outline, name), signature="WITH"
        )
    return True


def _add_column(outline: Outline, node: Node) -> bool:
    name = node.child_by_field_name("name")
    if name is not None:
        signature = outline.text.name(name.end_byte, node.end_byte)
        outline.add(
            *(DefinitionKind.FIELD, name.byte_range, node.byte_range),
            name=_unquoted(outline, name),
            signature=signature,
        )
    return False


def _unquoted(outline: Outline, name: Node) -> str:
    return outline.text.name(*name.byte_range).translate(_QUOTES)


_QUOTES: Final = str.maketrans("", "", '"`[]')
_CREATED: Final = (
    *("create_database", "create_extension", "create_function", "create_index", "create_materialized_view"),
    *("create_role", "create_schema", "create_sequence", "create_table", "create_trigger", "create_type"),
    "create_view",
)
_CHANGED: Final = (
    *("alter_database", "alter_index", "alter_role", "alter_schema", "alter_sequence", "alter_table", "alter_type"),
    *("alter_view", "drop_database", "drop_extension", "drop_function", "drop_index", "drop_role", "drop_schema"),
    *("drop_sequence", "drop_table", "drop_type", "drop_view"),
)
_RULES: Final = outline_rules(
    Grammar(tree_sitter_sql.language()),
    {
        **dict.fromkeys(_CREATED, _add_created),
        **dict.fromkeys(_CHANGED, _add_changed),
        "cte": _add_query,
        "column_definition": _add_column,
        "list": skip,
        "term": skip,
    },
)
LANGUAGE: Final = Language("sql", Depth.STRUCTURE, extract)
