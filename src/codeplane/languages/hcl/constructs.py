"""The constructs of HCL that a pattern cannot express."""

from itertools import takewhile

from codeplane.languages.facts import DefinitionKind
from codeplane.languages.nodes import first_named
from codeplane.languages.queries.outline import Outline
from codeplane.languages.queries.patterns import SKIP, Match


def declare_block(outline: Outline, match: Match) -> None:
    """Add a block under its type and labels."""
    labels = list(takewhile(lambda each: each.type in {"identifier", "string_lit"}, match.node.named_children))
    if not labels:
        return
    parts = [outline.text.name(*outline.unquoted(label)) for label in labels]
    outline.add(
        *(DefinitionKind.BLOCK, outline.unquoted(labels[-1]), match.node.byte_range),
        path_name=".".join(filter(None, parts)),
        signature=parts[0] if len(parts) > 1 else "",
    )


def declare_element(outline: Outline, match: Match) -> int | None:
    """Add the key of an object, unless it is computed or empty."""
    key = match.node.child_by_field_name("key")
    while key is not None and key.type not in {"identifier", "string_lit"}:
        key = first_named(key) if key.named_child_count == 1 else None
    if key is None or (key.type == "string_lit" and key.end_byte - key.start_byte < 3):
        return SKIP
    return None if outline.add_key(match.node, key) else SKIP
