"""Elements of markup, for HTML and Svelte."""

import re
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import DefinitionKind
from codeplane.languages.nodes import first_named, last_named
from codeplane.languages.queries.outline import Outline
from codeplane.languages.queries.patterns import Match
from codeplane.languages.source_text import MAX_NAME

_TAG: Final = re.compile(r"<([A-Za-z][^\s/>]*)")
_ID: Final = re.compile(r"""[\s"']id\s*=""", re.IGNORECASE)
_HEADING: Final = re.compile(r"h[1-6]", re.IGNORECASE)
_MARKUP: Final = re.compile(r"<[^<>]*>")
_PLAIN_ID: Final = re.compile(r"[^{<$]+")


def declare_element(outline: Outline, match: Match) -> None:
    """Add an element that is a heading, has an id, or whose tag fits the regular expression of `(#set! own REGEX)`."""
    node, tag_node = match.node, match["tag"]
    found = _TAG.match(outline.text.bytewise, node.start_byte)
    if found is None:
        return
    tag = found[1]
    id_range = _id_range(outline, tag_node)
    identity = outline.text.name(*id_range) if id_range else ""
    kind, name_range, name = DefinitionKind.BLOCK, found.span(1), ""
    if _HEADING.fullmatch(tag) and (heading := _text_inside(outline, node)):
        kind, name_range, name = DefinitionKind.HEADING, (tag_node.end_byte, tag_node.end_byte), heading
    elif id_range:
        name_range = id_range
    elif not re.match(match.settings["own"] or "", tag):
        return
    signature = f"{tag}#{identity}" if identity else tag
    outline.add(kind, name_range, node.byte_range, name=name, signature=signature)


def _attribute_value(outline: Outline, tag: Node, wanted: str) -> tuple[int, int] | None:
    """Return the range of an attribute's value without quotes, None when there is none."""
    for attribute in tag.named_children:
        if attribute.type != "attribute" or attribute.named_child_count < 2:
            continue
        name, value = first_named(attribute), attribute.named_child(1)
        if name is None or value is None or outline.text.of(name).lower() != wanted:
            continue
        if value.type == "quoted_attribute_value":
            value = first_named(value)
        return value.byte_range if value is not None and value.type == "attribute_value" else None
    return None


def _id_range(outline: Outline, tag: Node) -> tuple[int, int] | None:
    # Asking the text first spares the walk over the attributes of most tags.
    if _ID.search(outline.text.bytewise, *tag.byte_range) is None:
        return None
    found = _attribute_value(outline, tag, "id")
    return found if found and _PLAIN_ID.fullmatch(outline.text.bytewise, *found) else None


def _text_inside(outline: Outline, element: Node) -> str:
    """Return the text of an element without the tags in it."""
    first, last = first_named(element), last_named(element)
    if first is None or last is None or last.type != "end_tag":
        return ""
    begin, end = first.end_byte, min(last.start_byte, first.end_byte + 16 * MAX_NAME)
    return " ".join(_MARKUP.sub(" ", outline.text.cut(begin, end)).split())[:MAX_NAME]
