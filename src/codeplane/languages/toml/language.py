"""TOML."""

from typing import Final

import tree_sitter_toml
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.keys import add_key, unquoted
from codeplane.languages.tables.outline import Outline, extract_outline, outline_rules, skip
from codeplane.languages.tables.tree import first_named, last_named


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the tables and keys of a TOML file."""
    return extract_outline(source, _RULES, clock)


def _add_table(outline: Outline, node: Node) -> bool:
    return _add_named_table(outline, node, _parts_of_key(outline, node))


def _add_table_of_list(outline: Outline, node: Node) -> bool:
    parts = _parts_of_key(outline, node)
    path = _path_of_table(outline, parts)
    outline.n_times[path] = outline.n_times.get(path, 0) + 1
    return _add_named_table(outline, node, parts)


def _add_named_table(outline: Outline, node: Node, parts: list[str]) -> bool:
    key = first_named(node)
    if key is None or not parts:
        return False
    path = _path_of_table(outline, parts)
    if path in outline.n_times:
        path += f".{outline.n_times[path] - 1}"
    return outline.add(DefinitionKind.BLOCK, key.byte_range, node.byte_range, name=".".join(parts), path_name=path)


def _path_of_table(outline: Outline, parts: list[str]) -> str:
    """Return the path of a table; where a part is a list of tables, the last one of it is meant."""
    path = parts[0] if parts else ""
    for part in parts[1:]:
        if path in outline.n_times:
            path += f".{outline.n_times[path] - 1}"
        path += f".{part}"
    return path


def _add_pair(outline: Outline, node: Node) -> bool:
    parts = _parts_of_key(outline, node)
    return bool(parts) and add_key(outline, node, first_named(node), name=".".join(parts))


def _parts_of_key(outline: Outline, node: Node) -> list[str]:
    """Return the parts of a table's or a pair's key; dotted keys lean to the left, one node per dot."""
    parts: list[str] = []
    key = first_named(node)
    while key is not None and key.type == "dotted_key":
        last = last_named(key)
        if last is not None:
            parts.append(outline.text.name(*unquoted(outline, last)))
        key = first_named(key)
    if key is None or key.type not in {"bare_key", "quoted_key"}:
        return []
    parts.append(outline.text.name(*unquoted(outline, key)))
    return parts[::-1]


def _enter_array(outline: Outline, node: Node) -> bool:
    # Numbers and texts have no keys.
    if outline.text.bytewise.find("{", *node.byte_range) < 0:
        return False
    is_near = outline.enter_element(node)
    outline.number(child for child in node.named_children if child.type != "comment")
    return is_near


_RULES: Final = outline_rules(
    Grammar(tree_sitter_toml.language()),
    {
        "table": _add_table,
        "table_array_element": _add_table_of_list,
        "pair": _add_pair,
        "array": _enter_array,
        "inline_table": Outline.enter_element,
        "string": skip,
    },
)
LANGUAGE: Final = Language("toml", Depth.STRUCTURE, extract)
