"""YAML."""

from typing import Final

import tree_sitter_yaml
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.keys import add_key
from codeplane.languages.tables.outline import Outline, extract_outline, outline_rules, skip

_PROPERTIES: Final = frozenset({"anchor", "tag", "comment"})
_SCALARS: Final = frozenset({"plain_scalar", "double_quote_scalar", "single_quote_scalar"})


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the keys of a YAML file."""
    return extract_outline(source, _RULES, clock)


def _add_pair(outline: Outline, node: Node) -> bool:
    key = node.child_by_field_name("key")
    # A list of one pair: `[a: 1]`.
    outline.enter_element(node)
    if key is None:
        return True
    content = [child for child in key.named_children if child.type not in _PROPERTIES]
    if len(content) != 1 or content[0].type not in _SCALARS:
        return False
    return add_key(outline, node, content[0])


def _enter_list(outline: Outline, node: Node) -> bool:
    outline.number(child for child in node.named_children if child.type not in _PROPERTIES)
    return True


_RULES: Final = outline_rules(
    Grammar(tree_sitter_yaml.language()),
    {
        "block_mapping_pair": _add_pair,
        "flow_pair": _add_pair,
        "block_sequence": _enter_list,
        "flow_sequence": _enter_list,
        "block_sequence_item": Outline.enter_element,
        "flow_node": Outline.enter_element,
        "block_scalar": skip,
        "plain_scalar": skip,
        "double_quote_scalar": skip,
        "single_quote_scalar": skip,
    },
)
LANGUAGE: Final = Language("yaml", Depth.STRUCTURE, extract)
