"""Nix."""

from typing import Final

import tree_sitter_nix
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.keys import add_key, unquoted
from codeplane.languages.tables.outline import Outline, extract_outline, outline_rules, skip
from codeplane.languages.tables.tree import child_of_kind


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the bindings of a Nix file."""
    return extract_outline(source, _RULES, clock)


def _add_binding(outline: Outline, node: Node) -> bool:
    path = node.child_by_field_name("attrpath")
    if path is None:
        return True
    name = ".".join(outline.text.name(*unquoted(outline, part)) for part in path.named_children)
    return add_key(outline, node, path, name=name)


def _add_inherited(outline: Outline, node: Node) -> bool:
    names = child_of_kind(node, "inherited_attrs")
    for name in names.named_children if names is not None else ():
        add_key(outline, name, name)
    return False


def _enter_list(outline: Outline, node: Node) -> bool:
    outline.number(child for child in node.named_children if child.type != "comment")
    return True


_RULES: Final = outline_rules(
    Grammar(tree_sitter_nix.language()),
    {
        "binding": _add_binding,
        "inherit": _add_inherited,
        "inherit_from": _add_inherited,
        "list_expression": _enter_list,
        "attrset_expression": Outline.enter_element,
        "rec_attrset_expression": Outline.enter_element,
        "string_fragment": skip,
        "formals": skip,
    },
)
LANGUAGE: Final = Language("nix", Depth.STRUCTURE, extract)
