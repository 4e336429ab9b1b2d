"""`update_import_specifier`: modules and names in imports, exports from modules and dynamic imports."""

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

_STATEMENTS: Final = ("import_statement", "export_statement", "import_from_statement")
_SPECIFIERS: Final = ("import_specifier", "export_specifier", "dotted_name", "aliased_import")
_DYNAMIC: Final = frozenset({"import", "require"})


def _apply(path: str, source: bytes, params: Mapping[str, Any]) -> tuple[bytes, int]:
    root = root_of(path, source)
    if root is None:
        raise CodemodError(f"{path} is of a language that is not parsed.")
    to_module, from_name, to_name = params.get("toModule"), params.get("fromName"), params.get("toName")
    if (from_name is None) != (to_name is None) or (to_module is None and to_name is None):
        raise CodemodError("Give toModule, or fromName with toName, or all three.")
    changes: list[tuple[int, int, bytes]] = []
    for statement, span in _imports(root, source, params["fromModule"]):
        names = _names(statement, source, from_name) if from_name is not None else []
        if from_name is not None and not names:
            continue
        if to_module is not None:
            changes.append((*span, to_module.encode()))
        changes += [(start, end, str(to_name).encode()) for start, end in names]
    return replaced(source, changes)


def _imports(root: Node, source: bytes, module: str) -> Iterator[tuple[Node, tuple[int, int]]]:
    """Yield the statements that import from a module, with the place of its name."""
    for node in nodes_of(root, *_STATEMENTS, "call_expression"):
        for name, span in _modules(node, source):
            if name == module:
                yield node, span


def _modules(node: Node, source: bytes) -> Iterator[tuple[str, tuple[int, int]]]:
    if node.type == "call_expression":
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None or arguments is None or text_of(function, source) not in _DYNAMIC:
            return
        strings = [one for one in arguments.named_children if one.type in {"string", "template_string"}]
    elif (named := node.child_by_field_name("module_name")) is not None:
        yield text_of(named, source), (named.start_byte, named.end_byte)
        return
    elif (literal := node.child_by_field_name("source")) is not None:
        strings = [literal]
    else:
        for one in nodes_of(node, "dotted_name") if node.type == "import_statement" else ():
            yield text_of(one, source), (one.start_byte, one.end_byte)
        return
    for one in strings:
        span = string_span(one, source)
        if span is not None:
            yield source[span[0] : span[1]].decode("utf-8", "replace"), span


def _names(statement: Node, source: bytes, name: str) -> list[tuple[int, int]]:
    """Return where a name is imported; the local name behind `as` stays."""
    module = statement.child_by_field_name("module_name")
    found = []
    for one in nodes_of(statement, *_SPECIFIERS):
        if module is not None and one.start_byte == module.start_byte:
            continue
        named = one.child_by_field_name("name") or one
        if text_of(named, source) == name and named.type != "aliased_import":
            found.append((named.start_byte, named.end_byte))
    return sorted(set(found))


CODEMOD = Codemod("update_import_specifier", schema(("fromModule",), ("toModule", "fromName", "toName")), _apply)
