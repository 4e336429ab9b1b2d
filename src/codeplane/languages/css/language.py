"""CSS."""

from typing import Final

import tree_sitter_css
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.outline import Outline, extract_outline, outline_rules, skip
from codeplane.languages.tables.tree import child_of_kind, first_named


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the rules, at-rules with a block and custom properties of a style sheet."""
    return extract_outline(source, _RULES, clock)


def _add_rule(outline: Outline, node: Node) -> bool:
    """Add something whose name is all that stands before its block."""
    block = child_of_kind(node, "block")
    if block is not None:
        outline.add(DefinitionKind.BLOCK, (node.start_byte, block.start_byte), node.byte_range)
    return True


def _add_keyframes(outline: Outline, node: Node) -> bool:
    name = child_of_kind(node, "keyframes_name")
    if name is not None:
        outline.add(DefinitionKind.BLOCK, name.byte_range, node.byte_range, signature="@keyframes")
    return False


def _add_custom_property(outline: Outline, node: Node) -> bool:
    if outline.text.bytewise.startswith("--", node.start_byte):
        name = first_named(node)
        if name is not None:
            outline.add(DefinitionKind.VARIABLE, name.byte_range, node.byte_range)
    return False


_RULES: Final = outline_rules(
    Grammar(tree_sitter_css.language()),
    {
        "rule_set": _add_rule,
        "media_statement": _add_rule,
        "supports_statement": _add_rule,
        "at_rule": _add_rule,
        "scope_statement": _add_rule,
        "keyframes_statement": _add_keyframes,
        "declaration": _add_custom_property,
        "selectors": skip,
        "comment": skip,
    },
)
LANGUAGE: Final = Language("css", Depth.STRUCTURE, extract)
