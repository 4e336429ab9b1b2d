"""The constructs of Nix that a pattern cannot express."""

from codeplane.languages.queries.outline import Outline
from codeplane.languages.queries.patterns import SKIP, Match


def declare_binding(outline: Outline, match: Match) -> int | None:
    """Add a binding under its whole path."""
    path = match["path"]
    name = ".".join(outline.text.name(*outline.unquoted(part)) for part in path.named_children)
    return None if outline.add_key(match.node, path, name) else SKIP
