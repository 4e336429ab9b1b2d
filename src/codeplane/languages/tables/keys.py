"""Keys of data files."""

from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import DefinitionKind
from codeplane.languages.tables.outline import Outline

# Keys deeper than this are data more than structure; the indexes of lists do not count.
MAX_KEY_LEVELS: Final = 6
_QUOTES: Final = frozenset("\"'")


def add_key(outline: Outline, pair: Node, key: Node | None, name: str = "") -> bool:
    """Add the key of a pair; what is inside is looked at only where keys of it would be listed.

    `name` is given where it is not simply the text of the key without its quotes.
    """
    if key is None:
        return False
    level = outline.level_at(pair.start_byte)
    is_listed = outline.add(DefinitionKind.KEY, unquoted(outline, key), pair.byte_range, name=name)
    return is_listed and level + 1 < MAX_KEY_LEVELS


def unquoted(outline: Outline, key: Node) -> tuple[int, int]:
    """Return the range of a key without its quotes."""
    start, end = key.byte_range
    if end - start > 1 and outline.text.bytewise[start] in _QUOTES:
        return start + 1, end - 1
    return start, end
