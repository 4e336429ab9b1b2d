"""JSON, with comments as well."""

from typing import Final

import tree_sitter_json
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.keys import add_key
from codeplane.languages.tables.outline import Outline, extract_outline, outline_rules, skip


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the keys of a JSON file."""
    return extract_outline(source, _RULES, clock)


def _add_pair(outline: Outline, node: Node) -> bool:
    return add_key(outline, node, node.child_by_field_name("key"))


def _enter_array(outline: Outline, node: Node) -> bool:
    # Numbers and texts have no keys, and there may be millions of them.
    if outline.text.bytewise.find("{", *node.byte_range) < 0:
        return False
    is_near = outline.enter_element(node)
    outline.number(child for child in node.named_children if child.type != "comment")
    return is_near


_RULES: Final = outline_rules(
    Grammar(tree_sitter_json.language()),
    {
        "array": _enter_array,
        "object": Outline.enter_element,
        "pair": _add_pair,
        "string": skip,
    },
)
LANGUAGE: Final = Language("json", Depth.STRUCTURE, extract)
