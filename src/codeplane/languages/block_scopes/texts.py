"""Cut texts out of the source of a language with `//` and `/* */` comments."""

import re
from typing import Final

from codeplane.languages.source_text import SourceText, fold, without_comments

_STRING_OR_COMMENT: Final = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'|`[^`]*`)|//[^\n]*|/\*[\s\S]*?\*/""")
_MAX_DOCUMENTATION: Final = 1_000


class BlockText(SourceText):
    """The text of a file with such comments."""

    __slots__ = ()

    def folded(self, start: int, end: int) -> str:
        """Return the text with comments dropped and white space folded."""
        text = self.cut(start, end)
        if "/" in text:
            text = without_comments(text, _STRING_OR_COMMENT, " ")
        return fold(text).strip()

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
