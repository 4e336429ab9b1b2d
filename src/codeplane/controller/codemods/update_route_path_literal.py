"""`update_route_path_literal`: the value of `path` in the objects of a route array."""

from collections.abc import Mapping
from typing import Any

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


def _apply(path: str, source: bytes, params: Mapping[str, Any]) -> tuple[bytes, int]:
    root = root_of(path, source)
    if root is None:
        raise CodemodError(f"{path} is of a language that is not parsed.")
    changes = []
    for pair in nodes_of(root, "pair"):
        key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        if key is None or value is None or text_of(key, source).strip("'\"") != "path" or not _is_in_array(pair):
            continue
        span = string_span(value, source)
        if span is not None and source[span[0] : span[1]].decode("utf-8", "replace") == params["from"]:
            changes.append((*span, params["to"].encode()))
    return replaced(source, changes)


def _is_in_array(pair: Node) -> bool:
    literal = pair.parent
    return literal is not None and literal.parent is not None and literal.parent.type in {"array", "list"}


CODEMOD = Codemod("update_route_path_literal", schema(("from", "to")), _apply)
