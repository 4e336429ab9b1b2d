"""The constructs of SQL that a pattern cannot express."""

from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import DefinitionKind
from codeplane.languages.nodes import child_of_kind
from codeplane.languages.queries.outline import Outline
from codeplane.languages.queries.patterns import SKIP, Match

_QUOTES: Final = str.maketrans("", "", '"`[]')


def declare_created(outline: Outline, match: Match) -> None:
    """Add what a statement creates."""
    _add_named(outline, match.node, DefinitionKind.BLOCK)


def declare_changed(outline: Outline, match: Match) -> int:
    """Add a statement that changes or drops something."""
    _add_named(outline, match.node, DefinitionKind.STATEMENT)
    return SKIP


def _add_named(outline: Outline, node: Node, kind: DefinitionKind) -> None:
    name = child_of_kind(node, "object_reference", "identifier", "literal")
    if name is not None:
        words = outline.text.name(node.start_byte, name.start_byte).upper()
        text = outline.text.name(*name.byte_range).translate(_QUOTES)
        outline.add(kind, name.byte_range, node.byte_range, name=text, signature=words)
