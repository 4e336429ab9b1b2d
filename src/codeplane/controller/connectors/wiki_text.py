"""The wiki markup of Jira Data Center as blocks."""

import re
from collections.abc import Iterator
from typing import Final

from codeplane.controller.connectors.blocks import BOLD_LEVEL, Block, BlockKind

_HEADING: Final = re.compile(r"\s*h([1-6])\.\s*(.*)")
_ITEM: Final = re.compile(r"\s*([*#-]{1,10})\s+(\S.*)")
_BOLD: Final = re.compile(r"\s*\*([^*]+)\*:?\s*")
_CODE: Final = re.compile(r"\{(code|noformat)(?::[^}\n]{0,200})?\}")
_TITLE: Final = re.compile(r"\{panel:[^}\n]{0,300}?title=([^|}\n]{1,200})[^}\n]{0,300}\}")
_BRACES: Final = re.compile(r"\{/?(?:color|panel|quote|anchor|expand|status|toc)(?::[^}\n]{0,300})?\}")
_LINK: Final = re.compile(r"\[(?:([^|\]\n]{1,300})\|)?([^|\]\n]{1,1000})(?:\|[^\]\n]{0,100})?\]")
_IMAGE: Final = re.compile(r"(?<!\S)!([^\s!|]{1,200})(?:\|[^!\n]{0,200})?!")
_MARKS: Final = re.compile(r"(?<!\w)(\*|_|\+|\?\?|\{\{|-)(\S(?:[^\n*_+?{}]{0,500}\S)?)(?:\1|\}\})(?!\w)")
_BOX: Final = re.compile(r"\[[ xX]?\]")


def blocks_of_wiki_text(text: str) -> tuple[Block, ...]:
    """Return the blocks of a text."""
    return tuple(block for block in _blocks(text.replace("\r\n", "\n").replace("\r", "\n")) if block.text)


def _blocks(text: str) -> Iterator[Block]:
    """Yield the blocks; code between two equal marks is not looked into."""
    position = 0
    while mark := _CODE.search(text, position):
        end = text.find(f"{{{mark[1]}}}", mark.end())
        if end < 0:
            break
        yield from _text_blocks(text[position : mark.start()])
        yield Block(BlockKind.CODE, text[mark.end() : end].strip("\n"))
        position = end + len(mark[1]) + 2
    yield from _text_blocks(text[position:])


def _text_blocks(text: str) -> Iterator[Block]:
    paragraph: list[str] = []
    for line in text.split("\n"):
        title = _TITLE.search(line)
        found = Block(BlockKind.HEADING, title[1].strip(), BOLD_LEVEL) if title else _line_block(line)
        plain = "" if title else _plain(line)
        if found is None and plain:
            paragraph.extend(plain.split("\n"))
            continue
        yield Block(BlockKind.PARAGRAPH, "\n".join(paragraph))
        paragraph = []
        if found is not None:
            yield found
    yield Block(BlockKind.PARAGRAPH, "\n".join(paragraph))


def _line_block(line: str) -> Block | None:
    """Return a line that is a block of its own: a heading, a bold line, an item or a row of a table."""
    if heading := _HEADING.fullmatch(line):
        return Block(BlockKind.HEADING, _plain(heading[2]), int(heading[1]))
    if bold := _BOLD.fullmatch(line):
        return Block(BlockKind.HEADING, _plain(bold[1]), BOLD_LEVEL)
    if item := _ITEM.fullmatch(line):
        return Block(BlockKind.ITEM, _plain(item[2]), len(item[1]))
    if line.lstrip().startswith("|"):
        cells = (_plain(cell) for cell in re.split(r"\|\|?", line.strip().strip("|")))
        return Block(BlockKind.ITEM, " | ".join(cell for cell in cells if cell), 1)
    return None


def _plain(text: str) -> str:
    text = _LINK.sub(_linked, _BRACES.sub("", text))
    text = _MARKS.sub(r"\2", _IMAGE.sub(r"\1", text))
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\\\\"))))


def _linked(match: re.Match[str]) -> str:
    if _BOX.fullmatch(match[0]):
        return match[0]
    label, target = match[1], match[2].removeprefix("mailto:").removeprefix("~")
    return f"{label} ({target})" if label and label != target else target
