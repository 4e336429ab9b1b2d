"""Read import statements."""

from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.languages.facts import KEYWORD, NO_RECEIVER, Certainty, Import
from codeplane.languages.python.texts import PythonText

IMPORT: Final = "python_import"
FROM: Final = "python_from"
_BLOCKS: Final = frozenset(
    {"if_statement", "try_statement", "while_statement", "for_statement", "with_statement", "match_statement"}
)


class ImportName(NamedTuple):
    """An identifier of an import statement; `is_local` says that it means what the import binds."""

    start: int
    name: str
    receiver: int
    is_local: bool


class ImportItem(NamedTuple):
    """One imported name with its identifiers; the module path of a `from` import has no fact of its own."""

    fact: Import | None
    names: list[ImportName]


def is_conditional(node: Node) -> bool:
    """Say whether an import that is not in a function is inside `if`, `try` or another block."""
    if node.start_point[1] == 0:
        return False
    parent = node.parent
    while parent is not None:
        if parent.type in _BLOCKS:
            return True
        parent = parent.parent
    return False


def local_name(fact: Import) -> str:
    """Return the name that an import binds; `import a.b` binds `a`."""
    return fact.alias or fact.imported_name or fact.source.split(".")[0]


def read_import(node: Node, text: PythonText, scope: int, conditional: bool) -> list[ImportItem]:  # noqa: FBT001 - a fact
    """Return what an import statement says, in the order of its identifiers."""
    if node.type == "import_statement":
        return [_read_module(child, text, scope, conditional) for child in node.children_by_field_name("name")]
    items = []
    source = "__future__"
    if node.type == "import_from_statement":
        module = node.child_by_field_name("module_name")
        source, names = _read_source(module, text)
        items.append(ImportItem(None, names))
    items.extend(_read_name(child, text, scope, source, conditional) for child in node.children_by_field_name("name"))
    if "*" in text.bytewise[node.start_byte : node.end_byte]:
        items.extend(
            ImportItem(_fact(child, scope, (source, "*", None), FROM, conditional), [])
            for child in node.named_children
            if child.type == "wildcard_import"
        )
    return items


def _read_module(node: Node, text: PythonText, scope: int, conditional: bool) -> ImportItem:  # noqa: FBT001 - a fact
    """Read `a.b` or `a.b as c`; without alias the first part is the local name."""
    path, alias = _path_and_alias(node)
    parts = _identifiers(path, text)
    source = ".".join(name for _, name in parts)
    names = _path_names(parts, NO_RECEIVER)
    local_alias = None
    if alias is None and names:
        names[0] = names[0]._replace(is_local=True)
    elif alias is not None:
        local_alias = text.of(alias)
        names.append(ImportName(alias.start_byte, local_alias, NO_RECEIVER, True))
    return ImportItem(_fact(node, scope, (source, None, local_alias), IMPORT, conditional), names)


def _read_name(node: Node, text: PythonText, scope: int, source: str, conditional: bool) -> ImportItem:  # noqa: FBT001 - a fact
    """Read `c` or `c as d` of a `from` import; both identifiers mean the import."""
    path, alias = _path_and_alias(node)
    names = [ImportName(start, name, NO_RECEIVER, True) for start, name in _identifiers(path, text)]
    local_alias = None
    if alias is not None:
        local_alias = text.of(alias)
        names.append(ImportName(alias.start_byte, local_alias, NO_RECEIVER, True))
    imported = names[0].name if names else ""
    return ImportItem(_fact(node, scope, (source, imported, local_alias), FROM, conditional), names)


def _read_source(module: Node | None, text: PythonText) -> tuple[str, list[ImportName]]:
    """Return the module text of a `from` import, dots included, and its identifiers."""
    if module is None:
        return "", []
    dots = ""
    path: Node | None = module
    if module.type == "relative_import":
        path = None
        for child in module.named_children:
            if child.type == "import_prefix":
                dots = "".join(text.of(child).split())
            else:
                path = child
    parts = _identifiers(path, text)
    return dots + ".".join(name for _, name in parts), _path_names(parts, KEYWORD)


def _path_names(parts: list[tuple[int, str]], before: int) -> list[ImportName]:
    """Return the identifiers of a module path, each with the one before it as receiver."""
    names = []
    for start, name in parts:
        names.append(ImportName(start, name, before, False))
        before = start
    return names


def _path_and_alias(node: Node) -> tuple[Node | None, Node | None]:
    if node.type == "aliased_import":
        return node.child_by_field_name("name"), node.child_by_field_name("alias")
    return node, None


def _identifiers(path: Node | None, text: PythonText) -> list[tuple[int, str]]:
    if path is None:
        return []
    start, end = path.byte_range
    whole = text.bytewise[start:end]
    if not whole.isascii() or not whole.replace(".", "_").isidentifier():
        return [(child.start_byte, text.of(child)) for child in path.named_children if child.type == "identifier"]
    found = []
    for name in whole.split("."):
        found.append((start, name))
        start += len(name) + 1
    return found


def _fact(
    node: Node,
    scope: int,
    said: tuple[str, str | None, str | None],
    kind: str,
    conditional: bool,  # noqa: FBT001 - a fact
) -> Import:
    source, imported_name, alias = said
    start, end = node.byte_range
    return Import(scope, source, imported_name, alias, kind, Certainty.CERTAIN, start, end, conditional)
