"""Cut texts out of the source: signatures, documentation, what comes before a name."""

import re
from typing import Final

from codeplane.languages.source_text import SourceText, fold, without_comments

_STRING_OR_COMMENT: Final = re.compile(
    r"""('(?>(?:\\.|[^'\\\n])*)'|"(?>(?:\\.|[^"\\\n])*)"|`(?>(?:\\[\s\S]|[^`\\])*)`)|//[^\n]*|/\*[\s\S]*?\*/"""
)
_TRIVIA: Final = r"(?>(?:\s|//[^\n]*\n|/\*(?>(?:[^*]|\*(?!/))*)\*/)*)"
_LINK: Final = re.compile(rf"{_TRIVIA}!?{_TRIVIA}\??\.{_TRIVIA}")
_PREFIX: Final = re.compile(r"(?>(?:(?:export|default|declare|abstract|async|const|let|var)\s+)*)$")
_TAG: Final = re.compile(r"^\s*@", re.MULTILINE)
_BLANK_LINE: Final = re.compile(r"\n[ \t\r]*\n")
_MAX_LINK: Final = 2_000
_MAX_TEXT: Final = 1_000
_MAX_COMMENT: Final = 20_000
_FAR: Final = 4_000


class ScriptText(SourceText):
    """The text of a JavaScript or TypeScript file."""

    __slots__ = ()

    def folded(self, start: int, end: int) -> str:
        """Return the text with comments dropped and white space folded, cut where it is very long."""
        text = self.cut(start, min(end, start + _FAR))
        if "/" in text:
            text = without_comments(text, _STRING_OR_COMMENT, " ")
        return fold(text)[:_MAX_TEXT].strip()

    def are_linked(self, end: int, start: int) -> bool:
        """Say whether between two names there is nothing but the dot of a member access."""
        return 0 <= start - end <= _MAX_LINK and _LINK.fullmatch(self.bytewise, end, start) is not None

    def mark_before(self, start: int) -> str:
        """Return the last character before a place that is not white space; `/` where it may belong to a comment."""
        text = self.bytewise
        place = start - 1
        has_line_end = False
        while place >= 0 and text[place].isspace():
            has_line_end = has_line_end or text[place] == "\n"
            place -= 1
        if has_line_end and "//" in text[text.rfind("\n", 0, place + 1) + 1 : place + 1]:
            return "/"
        return text[place] if place >= 0 else ""

    def documentation(self, start: int) -> str:
        """Return the first paragraph of the `/** … */` right before a declaration, on one line."""
        text = self.bytewise
        place = start
        while place and text[place - 1].isspace():
            place -= 1
        if place and text[place - 1].isalpha():
            # What is between comment and declaration is part of the statement.
            prefix = _PREFIX.search(text, max(0, place - 60), place + 1)
            place = prefix.start() if prefix is not None else place
            while place and text[place - 1].isspace():
                place -= 1
        if text[max(0, place - 2) : place] != "*/":
            return ""
        begin = text.rfind("/*", max(0, place - _MAX_COMMENT), place - 2)
        if begin < 0 or text[begin : begin + 3] != "/**":
            return ""
        return _first_paragraph(self.cut(begin + 3, place - 2))


def _first_paragraph(comment: str) -> str:
    lines = [line.strip().removeprefix("*").strip() for line in comment.split("\n")]
    words = _BLANK_LINE.split(_TAG.split("\n".join(lines).strip(), maxsplit=1)[0].strip(), maxsplit=1)[0]
    return " ".join(words.split())[:_MAX_TEXT]
