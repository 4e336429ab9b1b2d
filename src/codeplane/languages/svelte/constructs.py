"""The constructs of Svelte that a pattern cannot express."""

from codeplane.languages.facts import DefinitionKind
from codeplane.languages.queries.outline import Outline
from codeplane.languages.queries.patterns import SKIP, Match


def declare_raw(outline: Outline, match: Match) -> int:
    """Add a script or a style."""
    signature = outline.text.name(*match["tag"].byte_range)
    outline.add(DefinitionKind.BLOCK, match["name"].byte_range, match.node.byte_range, signature=signature)
    return SKIP


def declare_snippet(outline: Outline, match: Match) -> None:
    """Add a snippet with its parameters."""
    signature = outline.text.name(match["name"].end_byte, match["start"].end_byte).removesuffix("}")
    outline.add(DefinitionKind.BLOCK, match["name"].byte_range, match.node.byte_range, signature=signature)
