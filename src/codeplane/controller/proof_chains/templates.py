"""Angular templates as lists of elements: what HTML has no grammar for is masked before parsing."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tree_sitter import Node

from codeplane.core.clock import SystemClock
from codeplane.languages.catalog import load_grammar
from codeplane.languages.nodes import first_named
from codeplane.languages.parsing import OutOfTimeError, parse

_TIME_LIMIT_S: Final = 2.0
_BLOCK: Final = re.compile(
    r"@(?:if|else if|else|for|empty|switch|case|default|defer|placeholder|loading|error)\s*"
    r"(?:\([^{}]{0,500}?\)[^{}<>]{0,100})?\{|@let\s[^;]{0,500};"
)
_INTERPOLATION: Final = re.compile(r"\{\{.{0,2000}?\}\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Element:
    """A tag with the attributes as written, brackets included; `line` counts from 1."""

    tag: str
    attributes: Mapping[str, str]
    line: int


def elements_of(text: str) -> tuple[Element, ...]:
    """Return the elements of a template, in order."""
    grammar = load_grammar("html")
    if grammar is None or "<" not in text:
        return ()
    source = text.encode("utf-8")
    clock = SystemClock()
    deadline = clock.monotonic() + _TIME_LIMIT_S
    try:
        root = parse(masked(text).encode("utf-8"), grammar, lambda: clock.monotonic() > deadline)
    except OutOfTimeError:
        return ()
    return tuple(_element(tag, source) for tag in _tags(root))


def masked(text: str) -> str:
    """Return a template in which interpolations and control flow are blank, every character in its place."""
    # The closing brace of a block is plain text to HTML; only conditions such as `a < b` are not.
    return _BLOCK.sub(_blank, _INTERPOLATION.sub(_blank, text))


def _blank(match: re.Match[str]) -> str:
    # As many bytes as before, and the same lines.
    return "".join(one if one == "\n" else " " * len(one.encode("utf-8")) for one in match[0])


def _tags(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in {"start_tag", "self_closing_tag"}:
            yield node
        else:
            waiting.extend(reversed(node.named_children))


def _element(tag: Node, source: bytes) -> Element:
    name = first_named(tag)
    attributes = {}
    for attribute in tag.named_children:
        if attribute.type != "attribute":
            continue
        label = first_named(attribute)
        value = attribute.named_child(1) if attribute.named_child_count > 1 else None
        if value is not None and value.type == "quoted_attribute_value":
            start, end = value.start_byte + 1, value.end_byte - 1
        else:
            start, end = value.byte_range if value is not None else (0, 0)
        if label is not None:
            attributes[_cut(source, *label.byte_range)] = _cut(source, start, end)
    return Element(_cut(source, *name.byte_range) if name else "", attributes, tag.start_point[0] + 1)


def _cut(source: bytes, start: int, end: int) -> str:
    return source[start:end].decode("utf-8", "replace")
