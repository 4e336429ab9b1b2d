"""The constructs of YAML that a pattern cannot express."""

from typing import Final

from codeplane.languages.queries.outline import Outline
from codeplane.languages.queries.patterns import SKIP, Match

_PROPERTIES: Final = frozenset({"anchor", "tag", "comment"})
_SCALARS: Final = frozenset({"plain_scalar", "double_quote_scalar", "single_quote_scalar"})


def declare_pair(outline: Outline, match: Match) -> int | None:
    """Add a key that is a scalar; a list of one pair is written `[a: 1]`."""
    outline.enter_element(match.node)
    key = match.get("key")
    if key is None:
        return None
    content = [child for child in key.named_children if child.type not in _PROPERTIES]
    if len(content) != 1 or content[0].type not in _SCALARS:
        return SKIP
    return None if outline.add_key(match.node, content[0]) else SKIP
