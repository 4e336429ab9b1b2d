"""Cut texts out of the source of a language with `//` and `/* */` comments."""

import re
from typing import Final

_STRING_OR_COMMENT: Final = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|`[^`]*`)|//[^\n]*|/\*[\s\S]*?\*/""")
_TIGHT: Final = (("( ", "("), ("[ ", "["), (", )", ")"), (" )", ")"), (", ]", "]"), (" ]", "]"), (", >", ">"))
_MAX_DOCUMENTATION: Final = 1_000


class SourceText:
    """A file whose characters are addressed by byte.

    Invariant: `bytewise` has exactly one character per byte, so that slicing costs no decoding.
    """

    __slots__ = ("bytewise", "is_ascii")

    def __init__(self, source: bytes) -> None:
        self.bytewise = source.decode("latin-1")
        self.is_ascii = source.isascii()

    def cut(self, start: int, end: int) -> str:
        """Return the real text between two byte offsets."""
        piece = self.bytewise[start:end]
        if self.is_ascii or piece.isascii():
            return piece
        return piece.encode("latin-1").decode("utf-8", "replace")

    def folded(self, start: int, end: int) -> str:
        """Return the text with comments dropped and white space folded."""
        text = self.cut(start, end)
        if "/" in text:
            text = _STRING_OR_COMMENT.sub(_keep_strings, text)
        if "\n" not in text and "  " not in text and "\t" not in text:
            return text.strip()
        text = " ".join(text.split())
        for wide, tight in _TIGHT:
            text = text.replace(wide, tight)
        return text

    def comment_above(self, start: int, line_marks: tuple[str, ...] = ("//",)) -> str:
        """Return the first paragraph of the comment that ends on the line above, on one line; empty without one."""
        text = self.bytewise
        line_start = text.rfind("\n", 0, start) + 1
        line_above = text[text.rfind("\n", 0, max(0, line_start - 1)) + 1 : line_start].strip()
        if not line_above.startswith(line_marks) and not line_above.endswith("*/"):
            return ""
        if text[line_start:start].strip():
            return ""
        begin = line_start
        while begin:
            above = text.rfind("\n", 0, begin - 1) + 1
            if not text[above : begin - 1].lstrip().startswith(line_marks):
                break
            begin = above
        if begin < line_start:
            return _first_paragraph([line.strip() for line in self.cut(begin, line_start).split("\n")], line_marks)
        before = text[max(0, line_start - 3) : line_start].rstrip()
        if not before.endswith("*/"):
            return ""
        begin = text.rfind("/*", 0, line_start)
        lines = self.cut(begin, line_start).rstrip().removesuffix("*/").removeprefix("/*").split("\n")
        return _first_paragraph([line.strip() for line in lines], ("*",))


def _first_paragraph(lines: list[str], marks: tuple[str, ...]) -> str:
    """Return the lines up to the first empty one or the first tag (`@param`), without their marks."""
    words: list[str] = []
    for line in lines:
        bare = line
        for mark in marks:
            if bare.startswith(mark):
                bare = bare.removeprefix(mark).lstrip(mark[0])
                break
        bare = bare.strip()
        if bare.startswith("@"):
            break
        if bare:
            words.append(bare)
        elif words:
            break
    return " ".join(" ".join(words).split())[:_MAX_DOCUMENTATION]


def _keep_strings(match: re.Match[str]) -> str:
    return match.group(1) or " "
