"""Text of a ticket as blocks, whatever its markup was, and the acceptance criteria in it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_CRITERIA: Final = re.compile(
    r"\W*(?:acceptance\s+(?:criteri(?:a|on)|tests?|conditions?)|conditions?\s+of\s+acceptance|definition\s+of\s+done|ac|acs)"
    r"\W*",
    re.IGNORECASE,
)
_NUMBERED: Final = re.compile(r"\W*AC[-_ ]?#?\d{1,3}\s*[:.)\-\u2013]\s*(?P<text>\S.*)", re.IGNORECASE | re.DOTALL)
_BOX: Final = re.compile(r"\[[ xX]?\]\s*|[☐☑✅✔]\s*")


class BlockKind(StrEnum):
    """What a block is, as far as reading it depends on that."""

    HEADING = "heading"
    ITEM = "item"
    PARAGRAPH = "paragraph"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Block:
    """A heading (`level` 1 to 6), an item of a list (`level` is its depth), a paragraph or a piece of code.

    A paragraph that is wholly in bold is a heading of the level below all others.
    """

    kind: BlockKind
    text: str
    level: int = 0


BOLD_LEVEL: Final = 7


def as_text(blocks: Iterable[Block]) -> str:
    """Return the blocks as plain text: headings and paragraphs apart, items with a dash."""
    lines: list[str] = []
    before: BlockKind | None = None
    for block in blocks:
        if lines and not (block.kind is before is BlockKind.ITEM):
            lines.append("")
        dash = "  " * (block.level - 1) + "- " if block.kind is BlockKind.ITEM else ""
        lines.append(dash + block.text)
        before = block.kind
    return "\n".join(lines)


def is_criteria_title(text: str) -> bool:
    """Tell whether a heading or the name of a field announces acceptance criteria."""
    return _CRITERIA.fullmatch(text) is not None


def criteria_in(blocks: Sequence[Block]) -> tuple[str, ...]:
    """Return the criteria below headings that announce them, and lines such as `AC1: …` anywhere else."""
    found: list[str] = []
    for section, is_announced in _sections(blocks):
        if is_announced:
            found.extend(all_criteria(section))
        else:
            numbered = (_NUMBERED.fullmatch(line) for block in section for line in block.text.splitlines())
            found.extend(match["text"].strip() for match in numbered if match)
    return tuple(dict.fromkeys(found))


def all_criteria(blocks: Sequence[Block]) -> tuple[str, ...]:
    """Return the items of lists; where there are none, the paragraphs."""
    items = [block for block in blocks if block.kind is BlockKind.ITEM]
    chosen = items or [block for block in blocks if block.kind is not BlockKind.HEADING]
    return tuple(text for block in chosen if (text := _plain(block.text)))


def _sections(blocks: Sequence[Block]) -> Iterator[tuple[list[Block], bool]]:
    """Yield stretches of blocks, and whether each is below a heading that announces criteria.

    Such a stretch ends at the next heading of the same or a higher rank.
    """
    section: list[Block] = []
    level = 0
    for block in blocks:
        rank = _rank_of_title(block)
        if rank and is_criteria_title(block.text):
            yield section, level > 0
            section, level = [], rank
        elif level and rank and rank <= level:
            yield section, True
            section, level = [block], 0
        else:
            section.append(block)
    yield section, level > 0


def _rank_of_title(block: Block) -> int:
    """Return the rank of what works as a heading, 0 for anything else; a short line that announces criteria is one."""
    if block.kind is BlockKind.HEADING:
        return block.level
    is_title = block.kind is BlockKind.PARAGRAPH and is_criteria_title(block.text) and len(block.text) > 2
    return BOLD_LEVEL if is_title else 0


def _plain(text: str) -> str:
    text = _BOX.sub("", text.strip(), count=1) if _BOX.match(text.strip()) else text.strip()
    numbered = _NUMBERED.fullmatch(text)
    return numbered["text"].strip() if numbered else text
