"""The whole text of a definition: decorators, attributes, the comment above it, and what belongs to it."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.index.facts.outline import Outline
from codeplane.refactor.statements import line_span

# Syntax that holds statements or members one after the other.
_CONTAINERS: Final = frozenset(
    {
        *("module", "program", "source_file", "block", "statement_block", "class_body", "interface_body", "enum_body"),
        *(
            "declaration_list",
            "field_declaration_list",
            "enum_body_declarations",
            "object_type",
            "annotation_type_body",
        ),
        *("enum_variant_list", "field_list", "constructor_body"),
    }
)
TOP: Final = frozenset({"module", "program", "source_file"})
_ABOVE: Final = frozenset({"comment", "line_comment", "block_comment", "attribute_item"})
_OVERLOAD: Final = "function_signature"


class Extent(NamedTuple):
    """The lines of one statement; `is_shared`: it defines other names, too; `is_top`: it is in no block."""

    start: int
    end: int
    node: Node
    is_shared: bool
    is_top: bool


def extents_of(root: Node, text: bytes, outline: Outline, numbers: Iterable[int]) -> list[Extent]:
    """Return where some definitions are as a whole, in order; overload signatures come with what they announce."""
    found: dict[int, Extent] = {}
    for number in numbers:
        one = outline.definition(number)
        whole = _statement(root, one.name_start)
        others = {
            row[2]
            for row in outline.definition_rows
            if whole.start_byte <= row[5] < whole.end_byte and row[6] == one.scope and row[2] != one.lexical_path
        }
        node: Node | None = whole
        while node is not None:
            start = _start_with_comments(node, text)
            first, last = line_span(text, start, node.end_byte)
            is_top = node.parent is not None and node.parent.type in TOP
            found[node.start_byte] = Extent(first, last, node, bool(others), is_top)
            node = _signature_before(node, text, one.name)
    return [found[start] for start in sorted(found)]


def _statement(root: Node, start: int) -> Node:
    node = root.descendant_for_byte_range(start, start + 1) or root
    while node.parent is not None and node.parent.type not in _CONTAINERS:
        node = node.parent
    return node


def _start_with_comments(node: Node, text: bytes) -> int:
    start, before = node.start_byte, node.prev_sibling
    while before is not None and before.type in _ABOVE and _is_just_above(before, start, text):
        start, before = before.start_byte, before.prev_sibling
    return start


def _is_just_above(comment: Node, start: int, text: bytes) -> bool:
    """Tell whether a comment has its line for itself and nothing is between it and what follows."""
    between = text[comment.end_byte : start]
    line = text[text.rfind(b"\n", 0, comment.start_byte) + 1 : comment.start_byte]
    is_script = text[comment.start_byte : comment.start_byte + 2] == b"#!" and comment.type == "comment"
    n_lines = between.count(b"\n") + text[comment.start_byte : comment.end_byte].endswith(b"\n")
    return n_lines <= 1 and not between.strip() and not line.strip() and not is_script


def _signature_before(node: Node, text: bytes, name: str) -> Node | None:
    """Return the overload signature just before a function, with the `export` around it."""
    before = node.prev_sibling
    while before is not None and before.type == "comment":
        before = before.prev_sibling
    inner = (
        before.child_by_field_name("declaration")
        if before is not None and before.type == "export_statement"
        else before
    )
    if before is None or inner is None or inner.type != _OVERLOAD:
        return None
    word = inner.child_by_field_name("name")
    return before if word is not None and text[word.start_byte : word.end_byte].decode() == name else None
