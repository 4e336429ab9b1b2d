"""`rewrite_template_tag`: tags of templates, in files of their own or inside components."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from tree_sitter import Node

from codeplane.controller.codemods.codemod import (
    Codemod,
    CodemodError,
    nodes_of,
    replaced,
    schema,
    string_span,
    text_of,
)
from codeplane.index.call_sites import root_of
from codeplane.languages.catalog import load_grammar
from codeplane.languages.parsing import SYSTEM_CLOCK, TIME_LIMIT_S, OutOfTimeError, parse

_TEMPLATES: Final = (".html", ".htm", ".svelte", ".vue")


def _apply(path: str, source: bytes, params: Mapping[str, Any]) -> tuple[bytes, int]:
    changes: list[tuple[int, int, bytes]] = []
    for first, text in _templates(path, source):
        root = _parsed(text)
        if root is None:
            raise CodemodError(f"The template in {path} cannot be parsed.")
        changes += [
            (first + node.start_byte, first + node.end_byte, params["toTag"].encode())
            for node in nodes_of(root, "tag_name", "erroneous_end_tag_name")
            if text_of(node, text) == params["fromTag"]
        ]
    return replaced(source, changes)


def _parsed(text: bytes) -> Node | None:
    grammar, deadline = load_grammar("html"), SYSTEM_CLOCK.monotonic() + TIME_LIMIT_S
    if grammar is None:
        return None
    try:
        return parse(text, grammar, lambda: SYSTEM_CLOCK.monotonic() > deadline)
    except OutOfTimeError:
        return None


def _templates(path: str, source: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the templates of a file with their places."""
    if path.endswith(_TEMPLATES):
        yield 0, source
        return
    root = root_of(path, source)
    if root is None:
        raise CodemodError(f"{path} has no template.")
    for pair in nodes_of(root, "pair"):
        key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        if key is not None and value is not None and text_of(key, source) == "template":
            span = _literal_span(value, source)
            if span is not None:
                yield span[0], source[span[0] : span[1]]


def _literal_span(value: Node, source: bytes) -> tuple[int, int] | None:
    if value.type == "template_string":
        return value.start_byte + 1, value.end_byte - 1
    return string_span(value, source)


CODEMOD = Codemod("rewrite_template_tag", schema(("fromTag", "toTag")), _apply)
