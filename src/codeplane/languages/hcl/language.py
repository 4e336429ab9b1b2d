"""HCL, the language of Terraform."""

from typing import Final

import tree_sitter_hcl
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.keys import add_key, unquoted
from codeplane.languages.tables.outline import Outline, extract_outline, outline_rules, skip
from codeplane.languages.tables.tree import child_of_kind, first_named


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the blocks and keys of an HCL file."""
    return extract_outline(source, _RULES, clock)


def _add_block(outline: Outline, node: Node) -> bool:
    labels = []
    for each in node.named_children:
        if each.type not in {"identifier", "string_lit"}:
            break
        labels.append(each)
    if not labels:
        return True
    parts = [outline.text.name(*unquoted(outline, label)) for label in labels]
    outline.add(
        *(DefinitionKind.BLOCK, unquoted(outline, labels[-1]), node.byte_range),
        path_name=".".join(filter(None, parts)),
        signature=parts[0] if len(parts) > 1 else "",
    )
    return True


def _add_attribute(outline: Outline, node: Node) -> bool:
    return add_key(outline, node, child_of_kind(node, "identifier"))


def _add_element(outline: Outline, node: Node) -> bool:
    key = node.child_by_field_name("key")
    while key is not None and key.type not in {"identifier", "string_lit"}:
        key = first_named(key) if key.named_child_count == 1 else None
    if key is None or (key.type == "string_lit" and key.end_byte - key.start_byte < 3):
        return False
    return add_key(outline, node, key)


def _enter_list(outline: Outline, node: Node) -> bool:
    if outline.text.bytewise.find("{", *node.byte_range) < 0:
        return False
    outline.number(child for child in node.named_children if child.type == "expression")
    return True


_RULES: Final = outline_rules(
    Grammar(tree_sitter_hcl.language()),
    {
        "block": _add_block,
        "attribute": _add_attribute,
        "object_elem": _add_element,
        "tuple": _enter_list,
        "expression": Outline.enter_element,
        "template_expr": skip,
        "string_lit": skip,
        "heredoc_template": skip,
    },
)
LANGUAGE: Final = Language("hcl", Depth.STRUCTURE, extract)
