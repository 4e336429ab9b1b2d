"""What a codemod is."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tree_sitter import Node


class CodemodError(Exception):
    """The codemod cannot be applied to this file; the message says why."""


@dataclass(frozen=True, slots=True)
class Codemod:
    """A change of one text; `params` is a JSON Schema, `apply` returns the new bytes and the number of places."""

    codemod_id: str
    params: Mapping[str, Any]
    apply: Callable[[str, bytes, Mapping[str, Any]], tuple[bytes, int]]


def schema(required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the schema of parameters that are texts, with `expectCount`."""
    texts = {name: {"type": "string", "minLength": 1} for name in (*required, *optional)}
    return {
        "type": "object",
        "properties": {**texts, "expectCount": {"type": "integer", "minimum": 1}},
        "required": list(required),
        "additionalProperties": False,
    }


def replaced(source: bytes, changes: Iterable[tuple[int, int, bytes]]) -> tuple[bytes, int]:
    """Return a text with spans replaced, and how many there were."""
    ordered = sorted(set(changes))
    pieces, position = [], 0
    for start, end, new in ordered:
        pieces += [source[position:start], new]
        position = end
    return b"".join([*pieces, source[position:]]), len(ordered)


def leaves(root: Node) -> Iterable[Node]:
    """Yield the nodes without children, in the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.child_count:
            waiting.extend(reversed(node.children))
        else:
            yield node


def nodes_of(root: Node, *types: str) -> Iterable[Node]:
    """Yield the nodes of some types, in the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in types:
            yield node
        waiting.extend(reversed(node.children))


def text_of(node: Node, source: bytes) -> str:
    """Return the text of a node."""
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def string_span(node: Node, source: bytes) -> tuple[int, int] | None:
    """Return the place of what is between the quotes of a string without parts to compute; None for others."""
    text = source[node.start_byte : node.end_byte]
    for quote in (b'"""', b"'''", b'"', b"'", b"`"):
        if text.startswith(quote) and text.endswith(quote) and len(text) >= 2 * len(quote):
            inner = text[len(quote) : len(text) - len(quote)]
            is_computed = quote == b"`" and b"${" in inner
            return None if is_computed else (node.start_byte + len(quote), node.end_byte - len(quote))
    return None
