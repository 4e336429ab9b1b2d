"""The text of a file, addressed by byte."""

import re
from typing import Final

from tree_sitter import Node

# Longer names are cut: a selector or a heading can be as long as the file.
MAX_NAME: Final = 200

_SPACE: Final = re.compile(r"\s")
_TIGHT: Final = (("( ", "("), ("[ ", "["), (", )", ")"), (" )", ")"), (", ]", "]"), (" ]", "]"), (", >", ">"))


class SourceText:
    """A file whose characters are addressed by byte.

    Invariant: `bytewise` has exactly one character per byte, so that slicing costs no decoding, and a newline after
    the last, so that looking one character back from the start is harmless. `size` does not count that newline.
    """

    __slots__ = ("bytewise", "is_ascii", "size")

    def __init__(self, source: bytes) -> None:
        self.bytewise = source.decode("latin-1") + "\n"
        self.is_ascii = source.isascii()
        self.size = len(source)

    def cut(self, start: int, end: int) -> str:
        """Return the real text between two byte offsets."""
        piece = self.bytewise[start:end]
        return piece if piece.isascii() else piece.encode("latin-1").decode("utf-8", "replace")

    def of(self, node: Node) -> str:
        """Return the text of a node."""
        return self.cut(*node.byte_range)

    def name(self, start: int, end: int) -> str:
        """Return the text between two offsets as a name: on one line and not longer than `MAX_NAME`."""
        text = self.cut(start, min(end, start + 4 * MAX_NAME))
        if _SPACE.search(text):
            text = " ".join(text.split())
        return text[:MAX_NAME]


def without_comments(text: str, string_or_comment: re.Pattern[str], instead: str) -> str:
    """Return a text with comments replaced; the first group of the pattern is a string, which is kept."""
    return string_or_comment.sub(lambda match: match.group(1) or instead, text)


def fold(text: str) -> str:
    """Return a text on one line, with no white space inside brackets."""
    if "\n" in text or "  " in text or "\t" in text:
        text = " ".join(text.split())
        for wide, tight in _TIGHT:
            text = text.replace(wide, tight)
    return text
