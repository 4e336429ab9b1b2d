"""Take names out of import statements, and put names into them."""

from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.languages.facts import Import
from codeplane.refactor.extents import TOP
from codeplane.refactor.move_python import python_import_place
from codeplane.refactor.statements import Span, indent_of, line_span, newline_of, tidy_cut, without_items

# Syntax whose children are imported or exported names; a list in brackets of its own goes when it is empty.
_LISTS: Final = frozenset({"named_imports", "export_clause", "use_list", "import_spec_list", "import_clause"})
_STATEMENTS: Final = frozenset(
    {"import_statement", "import_from_statement", "export_statement", "import_declaration", "use_declaration"}
)
_BY_LINES: Final = "import_spec_list"
TYPE_CHECKING: Final = "TYPE_CHECKING"


class WantedImport(NamedTuple):
    """A name to be imported; `name` None imports the module itself, `is_type` only for types.

    In Python, the latter are written under `if TYPE_CHECKING:`.
    """

    source: str
    name: str | None
    alias: str | None = None
    is_type: bool = False


def removed_imports(root: Node, text: bytes, gone: Iterable[Import], *, keeps_blank: bool = False) -> Iterator[Span]:
    """Yield the spans to cut so that some imported names are gone; whole statements where nothing else is left.

    With `keeps_blank`, the blank lines after the last statement stay, because others take its place.
    """
    nodes: dict[int, Node] = {}
    for one in gone:
        node = root.descendant_for_byte_range(one.start, max(one.start, one.end - 1))
        while node is not None and node.parent is not None and not _is_item(node):
            node = node.parent
        if node is not None and node.parent is not None:
            nodes[node.id] = node
    for span in _merged(_without(nodes, text)):
        is_lines = not span[0] or text[span[0] - 1 : span[0]] == b"\n" == text[span[1] - 1 : span[1]]
        yield tidy_cut(text, *span) if is_lines and not keeps_blank else span


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, with those that touch as one."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and span[0] <= found[-1][1]:
            found[-1] = (found[-1][0], max(span[1], found[-1][1]))
        else:
            found.append(span)
    return found


def _is_item(node: Node) -> bool:
    parent = node.parent
    if parent is None or node.type in _STATEMENTS:
        return True
    if parent.type in {"import_statement", "import_from_statement"}:
        return any(one.id == node.id for one in parent.children_by_field_name("name"))
    return parent.type in _LISTS or parent.type in TOP


def _items(holder: Node) -> list[Node]:
    names = holder.children_by_field_name("name")
    return names or [one for one in holder.named_children if "comment" not in one.type]


def _without(nodes: dict[int, Node], text: bytes) -> Iterator[Span]:
    holders: dict[int, tuple[Node, set[int]]] = {}
    for node in nodes.values():
        if node.type in _STATEMENTS or node.parent is None or node.parent.type in TOP:
            yield _whole(node, text)
            continue
        holder, gone = holders.setdefault(node.parent.id, (node.parent, set()))
        gone.add([one.id for one in _items(holder)].index(node.id))
    emptied: dict[int, Node] = {}
    for holder, gone in holders.values():
        items = _items(holder)
        if len(gone) == len(items):
            node = holder
            while node.type not in _STATEMENTS and not _has_others(node):
                node = node.parent or node
            emptied[node.id] = node
        elif holder.type == _BY_LINES:
            yield from (line_span(text, items[number].start_byte, items[number].end_byte) for number in sorted(gone))
        else:
            yield from without_items(items, gone, text)
    if emptied:
        yield from _without(emptied, text)


def _has_others(node: Node) -> bool:
    """Tell whether the list around a node holds something else."""
    parent = node.parent
    return parent is not None and parent.type in _LISTS and len(_items(parent)) > 1


def _whole(node: Node, text: bytes) -> Span:
    parent = node.parent
    if parent is not None and parent.type == "export_statement":
        node = parent
    return line_span(text, node.start_byte, node.end_byte)


def removes_block(root: Node, text: bytes, span: Span) -> bool:
    """Tell whether a cut leaves a block of Python without a statement."""
    cut = text[span[0] : span[1]]
    first = span[0] + len(cut) - len(cut.lstrip())
    node = root.descendant_for_byte_range(first, first)
    if root.type != "module" or not cut.strip():
        return False
    while node is not None and node.type != "block":
        node = node.parent
    if node is None:
        return False
    left = [one for one in node.named_children if not (span[0] <= one.start_byte and one.end_byte <= span[1])]
    return not [one for one in left if one.type != "comment"]


def added_imports(
    root: Node, text: bytes, language: str, wanted: Collection[WantedImport]
) -> Iterator[tuple[Span, str]]:
    """Yield the insertions that import some names, into statements of the same source where there are such."""
    lines: dict[tuple[str, bool], list[WantedImport]] = {}
    for one in dict.fromkeys(wanted):
        node = _statement_of(root, text, one) if one.name is not None and not one.is_type else None
        if node is None:
            lines.setdefault((one.source, one.is_type), []).append(one)
            continue
        items = _items(node)
        last = items[-1]
        is_column = len(items) > 1 and items[-2].end_point[0] != last.start_point[0]
        between = f",{newline_of(text)}{indent_of(text, last.start_byte)}" if is_column else ", "
        yield (last.end_byte, last.end_byte), between + _item(one)
    if lines:
        at = import_place(root, text, language)
        newline = newline_of(text)
        before = newline if at and text[at - 1 : at] != b"\n" else ""
        new = "".join(line + newline for group in lines.values() for line in import_lines(group, language, text))
        if language == "go" and not _has_imports(root):
            before += newline
        after = newline if _is_code(text, at) else ""
        yield (at, at), before + new + after


def _is_code(text: bytes, at: int) -> bool:
    """Tell whether a line of code follows that is not an import."""
    line = text[at:].partition(b"\n")[0].strip()
    return bool(line) and not line.startswith((b"import", b"from"))


def _has_imports(root: Node) -> bool:
    return any(node.type in _STATEMENTS for node in root.named_children)


def import_place(root: Node, text: bytes, language: str) -> int:
    """Return where a further import is written."""
    if language == "python":
        return python_import_place(root, text)
    imports = [node for node in root.named_children if node.type in {"import_statement", "import_declaration"}]
    if imports:
        return line_span(text, imports[-1].start_byte, imports[-1].end_byte)[1]
    clause = next((node for node in root.named_children if node.type == "package_clause"), None)
    return line_span(text, clause.start_byte, clause.end_byte)[1] if clause is not None else 0


def _statement_of(root: Node, text: bytes, one: WantedImport) -> Node | None:
    """Return the list of names of a statement that imports names from the same source."""
    for node in root.named_children:
        source = node.child_by_field_name("module_name") or node.child_by_field_name("source")
        if source is None or text[source.start_byte : source.end_byte].decode().strip("'\"") != one.source:
            continue
        if node.type == "import_from_statement" and node.children_by_field_name("name"):
            return node
        head = text[node.start_byte : node.end_byte].split()[1:2]
        clause = node.named_children[0] if node.type == "import_statement" else None
        names = [
            child for child in (clause.named_children if clause is not None else ()) if child.type == "named_imports"
        ]
        if names and names[0].named_children and head != [b"type"]:
            return names[0]
    return None


def _item(one: WantedImport) -> str:
    return f"{one.name} as {one.alias}" if one.alias and one.alias != one.name else str(one.name)


def import_lines(wanted: list[WantedImport], language: str, text: bytes) -> Iterator[str]:
    """Yield the statements that import some names of one source, in the style of a text."""
    source = wanted[0].source
    names = [one for one in wanted if one.name not in {None, "default"}]
    if language == "python":
        yield from _python_lines(wanted, names, newline_of(text))
        return
    if language == "go":
        yield from (f'import {one.alias + " " if one.alias else ""}"{source}"' for one in wanted)
        return
    quote = '"' if text.count(b'"') > text.count(b"'") else "'"
    end = ";" if b";\n" in text or b";\r\n" in text or not text else ""
    word = "import type" if wanted[0].is_type else "import"
    for one in wanted:
        if one.name == "default":
            yield f"{word} {one.alias} from {quote}{source}{quote}{end}"
        elif one.name is None:
            yield f"{word} * as {one.alias} from {quote}{source}{quote}{end}"
    if names:
        listed = ", ".join(_item(one) for one in names)
        yield f"{word} {{ {listed} }} from {quote}{source}{quote}{end}"


def _python_lines(wanted: list[WantedImport], names: list[WantedImport], newline: str) -> Iterator[str]:
    source = wanted[0].source
    lines = [f"import {source}" + (f" as {one.alias}" if one.alias else "") for one in wanted if one.name is None]
    if names:
        lines.append(f"from {source} import {', '.join(map(_item, names))}")
    head = f"{newline}if {TYPE_CHECKING}:{newline}    " if wanted[0].is_type else ""
    yield from (head + line for line in lines)
