"""What has to change in Python files when modules move."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts.file_view import FileView
from codeplane.languages.facts import BindTarget, ReferenceRole
from codeplane.refactor.moved_tree import MovedTree, import_meant, refusal
from codeplane.refactor.plan import Edit
from codeplane.refactor.statements import climb, indent_of, newline_of, without_items

_STATEMENTS: Final = frozenset({"import_statement", "import_from_statement"})
_IMPORTS: Final = _STATEMENTS | {"future_import_statement"}
_INIT: Final = ("__init__.py", "__init__.pyi")
# The files that a module may be, by its place.
_FILES: Final = (".py", ".pyi", "/__init__.py", "/__init__.pyi")
WHY_IMPORT: Final = "imports a module that moves"
WHY_INSIDE: Final = "the importing file moves"
WHY_USE: Final = "names a module that moves"


def python_edits(tree: MovedTree) -> Iterator[Edit]:
    """Yield the edits that keep every import and every dotted use of a moved module right."""
    for path in tree.moved():
        if path.endswith(_INIT) and path == tree.source and _has_others(tree, path):
            raise refusal(tree, path, 0, "this file makes its directory a package; move the directory instead")
        tree.names[tree.before.modules_of(path)[0]] = tree.after.modules_of(tree.moves[path])[0]
    names = {tree.before.modules_of(path)[0].rpartition(".")[2].encode() for path in tree.moved()}
    names |= {part.encode() for part in (tree.source.rpartition("/")[2].partition(".")[0],)}
    for path in tree.naming(lambda text: any(name in text for name in names)):
        yield from _PythonFile(tree, path).edits()


class _Row(NamedTuple):
    """An import: its place, what it says, the module it is from, and the module it binds if it binds one."""

    number: int
    source: str
    name: str | None
    alias: str | None
    start: int
    end: int
    module: str | None
    bound: str | None


class _PythonFile:
    """One file of the repository, and what has to change in it."""

    def __init__(self, tree: MovedTree, path: str) -> None:
        self._tree = tree
        self._path = path
        self._new_path = tree.new_path(path)
        self._text = tree.text(path)
        self._view: FileView = tree.view(path)
        self._spelling = PythonSpelling(tree, path)
        self._added: list[str] = []
        # Local names that get another spelling, by the import that binds them.
        self._renamed: dict[int, str] = {}

    def edits(self) -> Iterator[Edit]:
        """Yield the edits of the file."""
        rows = [self._row(number) for number in range(len(self._view.outline.import_rows))]
        if self._path not in self._tree.moves and not any(self._is_concerned(row) for row in rows):
            return
        statements: dict[tuple[int, int], list[_Row]] = defaultdict(list)
        root = None
        for row in rows:
            if row.module is None:
                continue
            root = root or self._tree.root(self._path)
            statement = climb(root.descendant_for_byte_range(row.start, row.end), _STATEMENTS)
            if statement is not None:
                statements[statement.byte_range].append(row)
        for span, group in statements.items():
            node = root.descendant_for_byte_range(*span) if root is not None else None
            statement = climb(node, _STATEMENTS)
            if statement is not None and statement.type == "import_from_statement":
                yield from self._from_statement(statement, group)
            elif statement is not None:
                yield from self._import_statement(statement, group)
        yield from self._uses({row.number: row for row in rows})
        yield from self._additions(root)

    def _is_concerned(self, row: _Row) -> bool:
        """Tell whether an import has to do with what moves: it names it, or something around or inside it."""
        near = self._tree.near
        return any(one is not None and near(one[1:]) for one in (row.module, row.bound))

    def _row(self, number: int) -> _Row:
        one = self._view.outline.imported(number)
        module = self._tree.before.locate(self._path, one.source)
        bound = None
        if module is not None and one.imported_name is None:
            first = one.source.split(".")[0]
            bound = module if one.alias else self._tree.before.locate(self._path, first)
        elif module is not None and one.imported_name not in {None, "*"}:
            bound = self._submodule(module, str(one.imported_name))
        return _Row(number, one.source, one.imported_name, one.alias, one.start, one.end, module, bound)

    def _submodule(self, module: str, name: str) -> str | None:
        """Return the module that a name of a package means, None when the package defines something else by it."""
        found = self._tree.before.submodule(module, name)
        if found is None:
            return None
        for ending in _INIT:
            file = self._tree.reader.file_at(f"{module[1:]}/{ending}")
            if file is None or file.facts_id is None:
                continue
            outline = self._tree.reader.outline(file.facts_id)
            bind = outline.file_binds.get(name)
            if bind is not None and bind[0] == BindTarget.IMPORT:
                row = outline.imported(bind[1])
                held = self._tree.before.locate(file.path, row.source)
                is_same = held is not None and self._tree.before.submodule(held, row.imported_name or "") == found
                return found if is_same or row.imported_name is None else None
            return None if bind is not None else found
        return found

    def _new_module(self, module: str) -> str:
        """Return the place of a module afterwards."""
        for ending in _FILES:
            path = module[1:] + ending
            if path in self._tree.moves and (ending in _FILES[:2] or path == self._tree.source):
                stem = self._tree.moves[path].rpartition(".")[0]
                return "/" + stem.removesuffix("/__init__")
        return "/" + self._tree.new_place(module[1:])

    def _from_statement(self, node: Node, rows: list[_Row]) -> Iterator[Edit]:
        module = rows[0].module or ""
        names = node.children_by_field_name("name")
        source = node.child_by_field_name("module_name")
        leaving: dict[str, list[_Row]] = defaultdict(list)
        for row in rows:
            if row.bound is not None:
                parent, _, last = self._new_module(row.bound).rpartition("/")
                if parent != self._new_module(module) or last != row.name:
                    leaving[parent].append(row)
        gone = {row.number for group in leaving.values() for row in group}
        if source is None:
            return
        if not gone:
            new = self._spelling.spelled(rows[0].source, self._new_module(module))
            if new != rows[0].source:
                yield self._edit(source.byte_range, new)
        elif len(leaving) == 1 and len(gone) == len(rows) and len(rows) == len(names):
            parent = next(iter(leaving))
            yield self._edit(source.byte_range, self._spelling.spelled(rows[0].source, parent))
            for row in rows:
                yield from self._renamed_item(row)
        else:
            yield from self._split(node, rows, leaving)

    def _split(self, node: Node, rows: list[_Row], leaving: dict[str, list[_Row]]) -> Iterator[Edit]:
        """Take the names of modules that go elsewhere out of a statement into statements of their own."""
        names = node.children_by_field_name("name")
        starts = [name.start_byte for name in names]
        gone = {starts.index(row.start) for group in leaving.values() for row in group}
        lines = []
        for parent, group in leaving.items():
            items = ", ".join(self._item(row) for row in group)
            lines.append(f"from {self._spelling.spelled(rows[0].source, parent)} import {items}")
        indent = indent_of(self._text, node.start_byte)
        between = newline_of(self._text) + indent
        source = node.child_by_field_name("module_name")
        if len(gone) == len(names):
            yield self._edit(node.byte_range, between.join(lines))
            return
        for span in without_items(names, gone, self._text):
            yield self._edit(span, "")
        new = self._spelling.spelled(rows[0].source, self._new_module(rows[0].module or ""))
        if source is not None and new != rows[0].source:
            yield self._edit(source.byte_range, new)
        yield self._edit((node.end_byte, node.end_byte), between + between.join(lines))

    def _item(self, row: _Row) -> str:
        """Return how a module is named in a list of imported names, and note the name its uses get."""
        last = self._new_module(row.bound or "").rpartition("/")[2]
        if row.alias is not None:
            return last if row.alias == last else f"{last} as {row.alias}"
        if last == row.name:
            return last
        if last in self._view.columns.names or self._is_surface():
            return f"{last} as {row.name}"
        self._renamed[row.number] = last
        return last

    def _is_surface(self) -> bool:
        """Tell whether the names of this file may be used through it: a package that lists what it offers."""
        return bool(self._view.outline.export_rows)

    def _renamed_item(self, row: _Row) -> Iterator[Edit]:
        new = self._item(row)
        old = self._text[row.start : row.end].decode("utf-8", "replace")
        if new != old:
            yield self._edit((row.start, row.end), new)

    def _import_statement(self, node: Node, rows: list[_Row]) -> Iterator[Edit]:
        for row in rows:
            module = self._new_module(row.module or "")
            new = self._spelling.spelled(row.source, module)
            if new == row.source:
                continue
            first = row.source.split(".")[0]
            if row.alias is None and new.split(".")[0] != first and self._is_still_needed(row, first):
                new = f"{first}, {new}"
            end = row.start + len(row.source.encode())
            if self._text[row.start : end].decode("utf-8", "replace") != row.source:
                raise refusal(self._tree, self._path, row.start, "this import is written in an unusual way")
            yield self._edit((row.start, end), new)
        if node.type != "import_statement":
            raise refusal(self._tree, self._path, node.start_byte, "this import cannot be read")

    def _is_still_needed(self, row: _Row, first: str) -> bool:
        """Tell whether the first part of `import a.b` is used for something else, and only this import binds it."""
        others = [
            one
            for one in self._view.outline.import_rows
            if one[2] is None and one[3] is None and one[1] != row.source and one[1].split(".")[0] == first
        ]
        pattern = _chain(row.source.split("."))
        starts = self._starts_of(first)
        return not others and any(pattern.match(self._text, start) is None for start in starts)

    def _starts_of(self, name: str) -> list[int]:
        """Return where a name is used that an import binds."""
        columns = self._view.columns
        if name not in columns.names:
            return []
        wanted = columns.names.index(name)
        return [
            start
            for position, start in enumerate(columns.starts)
            if columns.name_numbers[position] == wanted
            and columns.roles[position] not in {ReferenceRole.IMPORT, ReferenceRole.DEFINITION}
            and import_meant(self._view, position) is not None
        ]

    def _uses(self, rows: dict[int, _Row]) -> Iterator[Edit]:
        """Yield the edits of dotted uses: `a.b.name` after `import a.b`."""
        columns = self._view.columns
        for position, start in enumerate(columns.starts):
            if columns.roles[position] in {ReferenceRole.IMPORT, ReferenceRole.DEFINITION}:
                continue
            number = import_meant(self._view, position)
            row = rows.get(number) if number is not None else None
            if row is None or row.bound is None:
                continue
            name = columns.names[columns.name_numbers[position]]
            new = self._renamed.get(row.number)
            if new is not None:
                yield self._edit((start, start + len(name.encode())), new, WHY_USE, anchor=0)
                continue
            yield from self._chain_use(row, start, name)

    def _chain_use(self, row: _Row, start: int, name: str) -> Iterator[Edit]:
        """Rewrite `root.part.part` when it reaches a module that is called otherwise afterwards."""
        module, end = row.bound or "", start + len(name.encode())
        parts = [name]
        is_plain = row.name is None and row.alias is None
        found: tuple[str, int, list[str]] | None = (module, end, parts) if is_plain else None
        while (step := _STEP.match(self._text, end)) is not None:
            word = step[1].decode()
            inner = self._submodule(module, word)
            if inner is None:
                break
            module, end = inner, step.end(1)
            parts = [*parts, word]
            found = (module, end, parts)
        if found is None:
            return
        module, end, parts = found
        new = self._new_chain(row, name, module, parts)
        if new is not None and new != ".".join(parts):
            yield self._edit((start, end), new, WHY_USE)

    def _new_chain(self, row: _Row, name: str, module: str, parts: list[str]) -> str | None:
        """Return how a module is reached through a name that an import binds."""
        target = self._new_module(module)
        if row.name is None and row.alias is None:
            dotted = self._spelling.spelled(".".join(parts), target)
            if dotted.split(".")[0] != name and not self._has_import_of(module):
                self._added.append(f"import {dotted}")
            return dotted
        holder = self._new_module(row.bound or "")
        if target.startswith(f"{holder}/"):
            return f"{name}.{target[len(holder) + 1 :].replace('/', '.')}"
        dotted = self._spelling.spelled("", target)
        self._added.append(f"import {dotted}")
        return dotted

    def _has_import_of(self, module: str) -> bool:
        """Tell whether a plain import of a module or of something in it is rewritten anyway."""
        rows = self._view.outline.import_rows
        found = [self._tree.before.locate(self._path, row[1]) for row in rows if row[2] is None and row[3] is None]
        return any(one is not None and (one == module or one.startswith(f"{module}/")) for one in found)

    def _additions(self, root: Node | None) -> Iterator[Edit]:
        if not self._added:
            return
        root = root or self._tree.root(self._path)
        newline = newline_of(self._text)
        at = python_import_place(root, self._text)
        lines = "".join(line + newline for line in dict.fromkeys(self._added))
        yield self._edit((at, at), lines)

    def _edit(self, span: tuple[int, int], new: str, why: str = "", anchor: int = -1) -> Edit:
        why = why or (WHY_INSIDE if self._path in self._tree.moves else WHY_IMPORT)
        return self._tree.edit(self._path, span, new, why, anchor)


class PythonSpelling:
    """How one file names modules afterwards, in the style it did before."""

    def __init__(self, tree: MovedTree, path: str) -> None:
        self._tree = tree
        self._path = path
        self._new_path = tree.new_path(path)

    def spelled(self, source: str, target: str) -> str:
        """Return how the file names a module.

        Raises:
            CodePlaneError: REFACTOR_CONFLICT when nothing reaches it.
        """
        after = self._tree.after
        for candidate in self._spellings(source, target):
            if candidate and after.locate(self._new_path, candidate) == target:
                return candidate
        message = f"{self._path}: no import from here reaches {target[1:]} after the move."
        raise CodePlaneError("REFACTOR_CONFLICT", message, details={"places": [self._path]})

    def _spellings(self, source: str, target: str) -> Iterator[str]:
        absolute = list(self._absolute(source, target))
        relative = self._relative(target)
        if source.startswith("."):
            # What still means the same is left as it is.
            yield source
            if relative is not None:
                yield relative
            yield from absolute
            return
        yield source
        yield from absolute
        if relative is not None:
            yield relative

    def _absolute(self, source: str, target: str) -> Iterator[str]:
        old = self._tree.before.locate(self._path, source) if source and not source.startswith(".") else None
        if old is not None:
            # Written from the same directory of the search path as before.
            base = old[1:].split("/")[: -len(source.split("."))]
            inner = target[1:].split("/")
            if inner[: len(base)] == base:
                yield ".".join(inner[len(base) :])
        parts = target[1:].split("/")
        name = _dotted(self._tree, target)
        if name:
            yield name
        for number in range(len(parts)):
            yield ".".join(parts[number:])

    def _relative(self, target: str) -> str | None:
        here = self._new_path.split("/")[:-1]
        parts = [part for part in target[1:].split("/") if part]
        n_common = 0
        while n_common < min(len(here), len(parts)) and here[n_common] == parts[n_common]:
            n_common += 1
        ups = len(here) - n_common
        dotted = self._tree.after.modules_of(self._new_path)[0].split(".")
        depth = len(dotted) - (not self._new_path.endswith(_INIT))
        return "." * (ups + 1) + ".".join(parts[n_common:]) if ups < depth else None


_STEP: Final = re.compile(rb"\s*\.\s*([^\W\d]\w*)")


def _chain(parts: list[str]) -> "re.Pattern[bytes]":
    return re.compile(rb"\s*\.\s*".join(re.escape(part.encode()) for part in parts) + rb"(?!\w)")


def _has_others(tree: MovedTree, path: str) -> bool:
    """Tell whether the directory of a file holds other files of the language."""
    directory = path.rpartition("/")[0]
    return any(other != path and other.startswith(f"{directory}/") for other in tree.files)


def _dotted(tree: MovedTree, target: str) -> str:
    """Return the dotted name of a module afterwards."""
    for ending in _FILES:
        modules = tree.after.modules_of(target[1:] + ending)
        if len(modules) > 1:
            return modules[0]
    return ""


def python_import_place(root: Node, text: bytes) -> int:
    """Return where a further import is written: after the imports at the top, or after the documentation."""
    at = 0
    for child in root.named_children:
        inner = child.named_children[0].type if child.named_children else ""
        is_head = child.type == "comment" and child.start_byte <= at + 1
        is_documentation = child.type == "expression_statement" and inner == "string"
        if child.type in _IMPORTS or is_head or is_documentation:
            at = child.end_byte
        elif child.type != "comment":
            break
    newline = text.find(b"\n", at)
    return (newline + 1 if newline >= 0 else len(text)) if at else 0
