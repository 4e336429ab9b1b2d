"""The constructs of CSS that a pattern cannot express."""

from codeplane.languages.facts import DefinitionKind
from codeplane.languages.queries.outline import Outline
from codeplane.languages.queries.patterns import SKIP, Match


def declare_property(outline: Outline, match: Match) -> int:
    """Add a custom property; a predicate would be asked for every property."""
    if outline.text.bytewise.startswith("--", match.node.start_byte):
        outline.add(DefinitionKind.VARIABLE, match["name"].byte_range, match.node.byte_range)
    return SKIP
