"""The text of a file, addressed by byte."""

import re
from typing import Final

# Longer names are cut: a selector or a heading can be as long as the file.
MAX_NAME: Final = 200

_SPACE: Final = re.compile(r"\s")


class SourceText:
    """A file whose characters are addressed by byte.

    Invariant: `bytewise` has exactly one character per byte, so that slicing costs no decoding, and a newline after
    the last, so that looking one character back from the start is harmless.
    """

    __slots__ = ("bytewise", "is_ascii")

    def __init__(self, source: bytes) -> None:
        self.bytewise = source.decode("latin-1") + "\n"
        self.is_ascii = source.isascii()

    def cut(self, start: int, end: int) -> str:
        """Return the real text between two byte offsets."""
        piece = self.bytewise[start:end]
        return piece if piece.isascii() else piece.encode("latin-1").decode("utf-8", "replace")

    def name(self, start: int, end: int) -> str:
        """Return the text between two offsets as a name: on one line and not longer than `MAX_NAME`."""
        text = self.cut(start, min(end, start + 4 * MAX_NAME))
        if _SPACE.search(text):
            text = " ".join(text.split())
        return text[:MAX_NAME]
