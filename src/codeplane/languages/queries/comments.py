"""Comments: those before a definition, and text without them."""

import re
from dataclasses import dataclass
from typing import Final

_MAX_COMMENT: Final = 4_000
_BLANK: Final = frozenset(" \t\r")
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]*>")
_STRING: Final = r'("(?>(?:\\.|[^"\\\n])*)"|\'(?>(?:\\.|[^\'\\\n])*)\')'


@dataclass(frozen=True, slots=True)
class CommentStyle:
    """How comments look in a language.

    `line` are the marks of comments to the end of the line, the longest first, `block` the marks around others.
    `found` fits a string, as its first group, or a comment.
    """

    line: tuple[str, ...]
    block: tuple[str, str] | None
    found: re.Pattern[str]


def comment_style(line: list[str], block: list[str]) -> CommentStyle:
    """Return the style with these marks; `block` has two or none."""
    kinds = [f"{re.escape(mark)}[^\\n]*+" for mark in line]
    if block:
        kinds.append(f"{re.escape(block[0])}(?s:.*?){re.escape(block[1])}")
    return CommentStyle(tuple(line), (block[0], block[1]) if block else None, re.compile("|".join([_STRING, *kinds])))


def without_comments(text: str, style: CommentStyle) -> str:
    """Return a text with a space in the place of each comment."""
    return style.found.sub(lambda found: found.group(1) or " ", text)


def comment_before(text: str, start: int, style: CommentStyle) -> str:
    """Return the first paragraph of the comment that ends on the line above a place, on one line."""
    line_start = text.rfind("\n", 0, start) + 1
    if line_start == 0 or not _BLANK.issuperset(text[line_start:start]):
        return ""
    end = line_start - 1
    lines = _block_lines(text, end, style) or _line_lines(text, end, style)
    return _first_paragraph(lines)


def _block_lines(text: str, end: int, style: CommentStyle) -> list[str]:
    """Return the lines of a comment between marks that ends before a place and begins its own line."""
    if style.block is None:
        return []
    opening, closing = style.block
    while end > 0 and text[end - 1] in _BLANK:
        end -= 1
    if not text.endswith(closing, 0, end):
        return []
    begin = text.rfind(opening, max(0, end - _MAX_COMMENT), end)
    if begin < 0 or not _BLANK.issuperset(text[text.rfind("\n", 0, begin) + 1 : begin]):
        return []
    inner = text[begin + len(opening) : end - len(closing)]
    return [line.strip().lstrip("*!|^").strip() for line in inner.rstrip("*").split("\n")]


def _line_lines(text: str, end: int, style: CommentStyle) -> list[str]:
    """Return the lines of the comments that fill whole lines directly before a place."""
    lines: list[str] = []
    limit = max(0, end - _MAX_COMMENT)
    while end > limit:
        begin = text.rfind("\n", 0, end) + 1
        line = text[begin:end].strip()
        mark = next((mark for mark in style.line if line.startswith(mark)), "")
        if not mark or line.startswith("#!"):
            break
        lines.append(line[len(mark) :].strip().lstrip("/!|^-#").strip())
        end = begin - 1
    return lines[::-1]


def _first_paragraph(lines: list[str]) -> str:
    taken: list[str] = []
    for line in lines:
        plain = _TAG.sub("", line).strip() if "<" in line else line
        if plain:
            taken.append(plain)
        elif taken:
            break
    text = " ".join(taken)
    return text if text.isascii() else text.encode("latin-1", "replace").decode("utf-8", "replace")
