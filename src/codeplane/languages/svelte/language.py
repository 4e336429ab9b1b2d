"""Svelte."""

import re
from typing import Final

import tree_sitter_svelte
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.markup import element_action
from codeplane.languages.tables.outline import Outline, extract_outline, outline_rules, skip
from codeplane.languages.tables.tree import child_of_kind, first_named

# Components, `svelte:head` and the like, and elements of one's own.
_OWN_ELEMENT: Final = re.compile(r"[A-Z]|svelte:|[a-z][^\s/>]*-|[a-z]\w*\.")


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the parts of a Svelte file."""
    return extract_outline(source, _RULES, clock)


def _add_raw(outline: Outline, node: Node) -> bool:
    """Add a script or a style."""
    tag = first_named(node)
    name = first_named(tag) if tag is not None else None
    if tag is not None and name is not None:
        signature = outline.text.name(*tag.byte_range)
        outline.add(DefinitionKind.BLOCK, name.byte_range, node.byte_range, signature=signature)
    return False


def _add_snippet(outline: Outline, node: Node) -> bool:
    start = child_of_kind(node, "snippet_start")
    name = child_of_kind(start, "snippet_name") if start is not None else None
    if start is not None and name is not None:
        signature = outline.text.name(name.end_byte, start.end_byte).removesuffix("}")
        outline.add(DefinitionKind.BLOCK, name.byte_range, node.byte_range, signature=signature)
    return True


_RULES: Final = outline_rules(
    Grammar(tree_sitter_svelte.language()),
    {
        "element": element_action(_OWN_ELEMENT),
        "script_element": _add_raw,
        "style_element": _add_raw,
        "snippet_statement": _add_snippet,
        "start_tag": skip,
        "self_closing_tag": skip,
        "end_tag": skip,
        "expression": skip,
    },
)
LANGUAGE: Final = Language("svelte", Depth.STRUCTURE, extract)
