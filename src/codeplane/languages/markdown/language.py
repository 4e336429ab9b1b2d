"""Markdown."""

import re
from typing import Final, NamedTuple

import tree_sitter_markdown
from tree_sitter import Language as Grammar
from tree_sitter import Node, Query

from codeplane.core.clock import Clock
from codeplane.languages.facts import NONE, Definition, DefinitionKind, FileFacts, Scope
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK, IsOver, capture, extract_within_limits
from codeplane.languages.tables.text import SourceText
from codeplane.languages.tables.tree import count_errors

_GRAMMAR: Final = Grammar(tree_sitter_markdown.language())
_QUERY: Final = Query(
    _GRAMMAR,
    """
    [(atx_heading) (setext_heading)] @heading
    [(block_quote) (list_item)] @container
    (ERROR) @error
    """,
)
_CLOSING: Final = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")


class _Heading(NamedTuple):
    """A heading; `limit` is where the innermost of the quotations and list items around it ends, or the file."""

    level: int
    start: int
    name_start: int
    name: str
    n_around: int
    limit: int


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the headings of a Markdown file."""
    return extract_within_limits(source, _GRAMMAR, _read, clock)


def _read(source: bytes, root: Node, is_over: IsOver) -> FileFacts:
    captures = capture(_QUERY, root, is_over)
    errors = [node.byte_range for node in captures.get("error", ())]
    headings = sorted(captures.get("heading", ()), key=_start_of)
    if errors:
        headings = [node for node in headings if not any(start <= node.start_byte < end for start, end in errors)]
    containers = sorted((node.byte_range for node in captures.get("container", ())), reverse=True)
    facts = FileFacts([Scope("file", NONE, 0, len(source))])
    facts.definitions = _sections(_headings(SourceText(source), headings, containers, len(source)))
    facts.n_errors = count_errors(root, is_over)
    return facts


def _headings(text: SourceText, nodes: list[Node], containers: list[tuple[int, int]], file_end: int) -> list[_Heading]:
    """Return what the nodes say; `containers` are the ranges of quotations and list items, the last first."""
    headings = []
    limits = [file_end + 1]
    for node in nodes:
        while containers and containers[-1][0] <= node.start_byte:
            while limits[-1] <= containers[-1][0]:
                limits.pop()
            limits.append(containers.pop()[1])
        while limits[-1] <= node.start_byte:
            limits.pop()
        content = node.child_by_field_name("heading_content")
        begin, end = content.byte_range if content is not None else (node.start_byte, node.start_byte)
        name = _CLOSING.sub("", text.name(begin, end)) if node.type == "atx_heading" else text.name(begin, end)
        limit = min(limits[-1], file_end)
        headings.append(_Heading(_level_of(node), node.start_byte, begin, name, len(limits), limit))
    return headings


def _level_of(node: Node) -> int:
    """Return the level of a heading from the kind of its marker: `atx_h2_marker`, `setext_h1_underline`."""
    kinds = (child.type for child in node.children)
    return next((int(kind[kind.index("_h") + 2]) for kind in kinds if re.match(r"(?:atx|setext)_h\d", kind)), 1)


def _sections(headings: list[_Heading]) -> list[Definition]:
    """Return the definitions: a section ends at the next heading of its level or above, or with what is around it."""
    sections: list[Definition] = []
    ends = [heading.limit for heading in headings]
    opened: list[tuple[int, str]] = []
    for number, heading in enumerate(headings):
        while opened and _is_over(headings[opened[-1][0]], heading):
            ended, _ = opened.pop()
            ends[ended] = min(ends[ended], heading.start)
        path = ".".join(filter(None, (opened[-1][1] if opened else "", heading.name)))
        opened.append((number, path))
        sections.append(Definition(DefinitionKind.HEADING, heading.name, path, heading.start, 0, heading.name_start, 0))
    return [section._replace(end=end) for section, end in zip(sections, ends, strict=True) if section.name]


def _is_over(before: _Heading, heading: _Heading) -> bool:
    """Say whether the section of an earlier heading is over at a later one."""
    is_around = before.n_around == heading.n_around and before.level >= heading.level
    return before.limit <= heading.start or is_around


def _start_of(node: Node) -> int:
    return node.start_byte


LANGUAGE: Final = Language("markdown", Depth.STRUCTURE, extract)
