"""Add and remove members and items of a JSON text without touching any other byte.

Settings of other programs have comments, trailing commas and indentation of their owners; all of it stays.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from codeplane.core.errors import CodePlaneError

_MAX_DEPTH: Final = 100
_BLANK: Final = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_LITERAL: Final = re.compile(r"true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_INDENT: Final = re.compile(r"\n([ \t]+)\S")


@dataclass(slots=True)
class Node:
    """A value with its place in the text; `members` of an object by key, `items` of an array.

    `key_start` is where the key of a member begins, the same as `start` for items and the whole document.
    """

    start: int
    end: int
    key_start: int
    value: Any
    members: dict[str, "Node"] = field(default_factory=dict)
    items: list["Node"] = field(default_factory=list)

    @property
    def children(self) -> list["Node"]:
        """Return what is in it, in the order of the text."""
        return list(self.members.values()) or self.items


def parse_json(text: str) -> Node:
    """Return the document; comments and trailing commas are allowed.

    Raises:
        CodePlaneError: INVALID_FORMAT with the line of the first problem.
    """
    parser = _Parser(text)
    node = parser.value(parser.blank(0), 0)
    if parser.blank(node.end) != len(text):
        raise parser.problem(node.end, "more text after the document")
    return node


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with a member at a path of keys; objects on the way are made where they are missing.

    Raises:
        CodePlaneError: INVALID_FORMAT when the text is not JSON, or something else than an object is on the way.
    """
    text = _with_containers(text, path[:-1], {})
    parent = _at(text, path[:-1])
    if path[-1] in parent.members:
        old = parent.members[path[-1]]
        return text[: old.start] + _dumped(value) + text[old.end :]
    return _inserted(text, parent, len(path) - 1, path[-1], value)


def with_item(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with one more item in the array at a path of keys, which is made where it is missing.

    Raises:
        CodePlaneError: as `with_member`.
    """
    text = _with_containers(text, path, [])
    return _inserted(text, _at(text, path), len(path), None, value)


def without(text: str, path: Sequence[str | int]) -> str:
    """Return the text without the member or item at a path; the same text when there is none."""
    parent = parse_json(text)
    for step in path[:-1]:
        found = _child(parent, step)
        if found is None:
            return text
        parent = found
    node = _child(parent, path[-1])
    if node is None:
        return text
    siblings = parent.children
    at = siblings.index(node)
    last_comma = _after_last_comma(text, node.end, parent.end - 1)
    if at > 0 and last_comma > node.end:
        start, end = _after_last_comma(text, siblings[at - 1].end, parent.end - 1), last_comma
    elif at > 0:
        # From the end of the one before, so that its comma goes and what follows stays.
        start, end = siblings[at - 1].end, node.end
    elif len(siblings) > 1:
        start, end = node.key_start, siblings[1].key_start
    else:
        return text[: parent.start + 1] + text[last_comma:]
    return text[:start] + text[end:]


def _child(node: Node, step: str | int) -> Node | None:
    if isinstance(step, str):
        return node.members.get(step)
    return node.items[step] if 0 <= step < len(node.items) else None


def _with_containers(text: str, path: Sequence[str], last: Any) -> str:
    """Return the text with an object for every key of a path, and `last` at its end, where they are missing."""
    if not text.strip("\ufeff \t\r\n"):
        text = "{}\n"
    for depth, key in enumerate(path):
        parent = _at(text, path[:depth])
        if not isinstance(parent.value, dict):
            raise _wrong_kind("an object")
        if key not in parent.members:
            text = _inserted(text, parent, depth, key, last if depth == len(path) - 1 else {})
    if not isinstance(_at(text, path).value, type(last) if path else dict):
        raise _wrong_kind("an array" if last == [] else "an object")
    return text


def _at(text: str, path: Sequence[str]) -> Node:
    node = parse_json(text)
    for key in path:
        node = node.members[key]
    return node


def _inserted(text: str, parent: Node, depth: int, key: str | None, value: Any) -> str:
    indent, newline = _style(text)
    name = f"{json.dumps(key)}: " if key is not None else ""
    told = name + _dumped(value)
    inner, outer = indent * (depth + 1), indent * depth
    is_one_line = newline not in text.strip()
    if parent.children:
        last = parent.children[-1]
        comma_end = _after_last_comma(text, last.end, parent.end - 1)
        gap = " " if is_one_line else newline + inner
        if comma_end > last.end:
            # The owner writes a comma after the last one, too.
            return text[:comma_end] + gap + told + "," + text[comma_end:]
        return text[: last.end] + "," + gap + told + text[last.end :]
    if is_one_line and text.strip() != "{}":
        return text[: parent.start + 1] + told + text[parent.start + 1 :]
    return text[: parent.start + 1] + newline + inner + told + newline + outer + text[parent.end - 1 :]


def _after_last_comma(text: str, start: int, end: int) -> int:
    """Return where a trailing comma between two places ends, or the first place when there is none."""
    blank = _BLANK.match(text, start, end)
    at = blank.end() if blank is not None else start
    return at + 1 if text[at : at + 1] == "," and at < end else start


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _style(text: str) -> tuple[str, str]:
    """Return how the owner indents and ends lines."""
    found = _INDENT.search(text)
    return (found[1] if found is not None else "  "), ("\r\n" if "\r\n" in text else "\n")


def _wrong_kind(wanted: str) -> CodePlaneError:
    return CodePlaneError("INVALID_FORMAT", f"Something else is where {wanted} belongs; the file stays as it is.")


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text

    def blank(self, at: int) -> int:
        """Return where blanks and comments end."""
        found = _BLANK.match(self._text, at)
        return found.end() if found is not None else at

    def problem(self, at: int, what: str) -> CodePlaneError:
        line = self._text.count("\n", 0, at) + 1
        return CodePlaneError("INVALID_FORMAT", f"This is not JSON at line {line}: {what}.")

    def value(self, at: int, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            raise self.problem(at, "it is nested too deeply")
        opening = self._text[at : at + 1]
        if opening == "{":
            return self._object(at, depth)
        if opening == "[":
            return self._array(at, depth)
        found = _STRING.match(self._text, at) or _LITERAL.match(self._text, at)
        if found is None:
            raise self.problem(at, "a value is missing")
        try:
            return Node(at, found.end(), at, json.loads(found[0]))
        except ValueError as error:
            raise self.problem(at, "a text is damaged") from error

    def _object(self, start: int, depth: int) -> Node:
        node = Node(start, start, start, {})
        at = self.blank(start + 1)
        while self._text[at : at + 1] != "}":
            key = _STRING.match(self._text, at)
            if key is None:
                raise self.problem(at, "a key is missing")
            name = json.loads(key[0])
            colon = self.blank(key.end())
            if self._text[colon : colon + 1] != ":":
                raise self.problem(colon, "a colon is missing")
            child = self.value(self.blank(colon + 1), depth + 1)
            child.key_start = at
            if name in node.members:
                raise self.problem(at, f"`{name[:40]}` is there twice")
            node.members[name], node.value[name] = child, child.value
            at = self._next(child.end, "}")
        node.end = at + 1
        return node

    def _array(self, start: int, depth: int) -> Node:
        node = Node(start, start, start, [])
        at = self.blank(start + 1)
        while self._text[at : at + 1] != "]":
            child = self.value(at, depth + 1)
            node.items.append(child)
            node.value.append(child.value)
            at = self._next(child.end, "]")
        node.end = at + 1
        return node

    def _next(self, end: int, closing: str) -> int:
        at = self.blank(end)
        if self._text[at : at + 1] == ",":
            return self.blank(at + 1)
        if self._text[at : at + 1] != closing:
            raise self.problem(at, f"`,` or `{closing}` is missing")
        return at
