"""Cut texts out of the source: signatures, receivers, docstrings."""

import re
import unicodedata
from typing import Final

from codeplane.languages.source_text import SourceText, without_comments

_STRING_OR_COMMENT: Final = re.compile(
    r"""('''[\s\S]*?'''|\"\"\"[\s\S]*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")|#[^\n]*"""
)
_DOCSTRING: Final = re.compile(
    r"""[rRuU]?(?:\"\"\"((?>(?:[^"\\]++|\\[\s\S]|"(?!\"\"))*))\"\"\"|\'\'\'((?>(?:[^'\\]++|\\[\s\S]|'(?!''))*))\'\'\'"""
    r"""|"((?>(?:[^"\\\n]++|\\[\s\S])*))"|'((?>(?:[^'\\\n]++|\\[\s\S])*))')[ \t\f]*[\r\n;#]"""
)
_BLANK_LINE: Final = re.compile(r"\n[ \t\r]*\n")


class PythonText(SourceText):
    """The text of a Python file."""

    __slots__ = ()

    def folded(self, start: int, end: int) -> str:
        """Return the text with comments dropped and white space folded."""
        text = self.cut(start, end)
        if "#" in text:
            text = without_comments(text, _STRING_OR_COMMENT, "")
        if "\n" not in text and "  " not in text and "\t" not in text:
            return text
        text = " ".join(text.replace("\\\n", " ").split())
        return text.replace("( ", "(").replace("[ ", "[").replace(", )", ")").replace(" )", ")").replace(" ]", "]")

    def docstring(self, start: int) -> str:
        """Return the first paragraph of the docstring that starts a body, on one line; empty when there is none."""
        found = _DOCSTRING.match(self.bytewise, start)
        if found is None:
            return ""
        begin, end = found.span(found.lastindex or 0)
        return " ".join(_BLANK_LINE.split(self.cut(begin, end).strip(), maxsplit=1)[0].split())


def scoping_key(name: str, class_name: str) -> str:
    """Return the name that Python's scoping compares: normalised, and mangled when private to a class."""
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
    if class_name and name[:2] == "__" and not name.endswith("__"):
        return f"_{class_name}{name}"
    return name
