"""Markdown: a section has no node of its own; it ends where a later heading or what is around it ends it."""

import re
from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.languages.facts import NONE, Definition, DefinitionKind
from codeplane.languages.queries.outline import Outline
from codeplane.languages.queries.patterns import Match

_CLOSING: Final = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
_MARKER: Final = re.compile(r"(?:atx|setext)_h(\d)")


class _Section(NamedTuple):
    """A section that is not over yet; `number` is its definition, NONE for a heading without text."""

    number: int
    level: int
    n_around: int
    limit: int
    path: str


def open_container(outline: Outline, match: Match) -> None:
    """Open a quotation or a list item; what is in it ends with it."""
    start, end = match.node.byte_range
    _containers_at(outline, start).append(end)


def _containers_at(outline: Outline, start: int) -> list[int]:
    """Return the ends of the quotations and list items around a place."""
    ends: list[int] = outline.notes.setdefault("containers", [])
    while ends and ends[-1] <= start:
        ends.pop()
    return ends


def declare_heading(outline: Outline, match: Match) -> None:
    """Begin a section; it ends those before it of the same level or below, and those that are over anyway."""
    node, start = match.node, match.node.start_byte
    containers = _containers_at(outline, start)
    level, n_around = _level_of(node), len(containers)
    sections: list[_Section] = outline.notes.setdefault("sections", [])
    while sections and _is_over(sections[-1], start, level, n_around):
        ended = sections.pop()
        if ended.number != NONE:
            row = outline.definitions[ended.number]
            outline.definitions[ended.number] = row._replace(end=min(row.end, start))
    content = node.child_by_field_name("heading_content")
    begin, end = content.byte_range if content is not None else (start, start)
    name = outline.text.name(begin, end)
    if node.type == "atx_heading":
        name = _CLOSING.sub("", name)
    path = ".".join(filter(None, (sections[-1].path if sections else "", name)))
    limit = min([*containers[-1:], outline.size])
    sections.append(_Section(len(outline.definitions) if name else NONE, level, n_around, limit, path))
    if name:
        outline.levels.append(len(sections) - 1)
        outline.definitions.append(Definition(DefinitionKind.HEADING, name, path, start, limit, begin, 0))


def _is_over(section: _Section, start: int, level: int, n_around: int) -> bool:
    return section.limit <= start or (section.n_around == n_around and section.level >= level)


def _level_of(node: Node) -> int:
    """Return the level of a heading from the kind of its marker: `atx_h2_marker`, `setext_h1_underline`."""
    found = (_MARKER.match(child.type) for child in node.children)
    return next((int(marker[1]) for marker in found if marker is not None), 1)
