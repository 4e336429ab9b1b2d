"""`rename_identifier_in_file`: identifier tokens, not strings, comments or keys of object literals."""

from collections.abc import Mapping
from typing import Any

from tree_sitter import Node

from codeplane.controller.codemods.codemod import Codemod, CodemodError, leaves, replaced, schema, text_of
from codeplane.index.call_sites import root_of


def _apply(path: str, source: bytes, params: Mapping[str, Any]) -> tuple[bytes, int]:
    root = root_of(path, source)
    if root is None:
        raise CodemodError(f"{path} is of a language that is not parsed.")
    before, after = params["from"], params["to"]
    if not after.isidentifier():
        raise CodemodError(f"{after!r} is not an identifier.")
    tokens = [node for node in leaves(root) if "identifier" in node.type]
    if any(text_of(node, source) == after for node in tokens):
        raise CodemodError(f"{after} already occurs as an identifier in {path}.")
    found = [node for node in tokens if text_of(node, source) == before and not _is_key(node)]
    return replaced(source, ((node.start_byte, node.end_byte, after.encode()) for node in found))


def _is_key(node: Node) -> bool:
    """Tell whether a token is the key of an object literal; a shorthand is a name and its key at once."""
    parent = node.parent
    return parent is not None and parent.type == "pair" and parent.child_by_field_name("key") == node


CODEMOD = Codemod("rename_identifier_in_file", schema(("from", "to")), _apply)
