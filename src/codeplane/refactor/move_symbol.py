"""Plan the move of a top-level symbol to another file, with what it needs and who uses it."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from tree_sitter import Node

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.reader import FactReader, Place
from codeplane.index.linking.stored_links import Tier
from codeplane.languages.catalog import dialect_of, linking_rules
from codeplane.languages.facts import Import, ReferenceRole
from codeplane.refactor.checking import Carried
from codeplane.refactor.extents import Extent, extents_of
from codeplane.refactor.import_graph import ImportGraph
from codeplane.refactor.import_lists import (
    TYPE_CHECKING,
    WantedImport,
    added_imports,
    import_lines,
    removed_imports,
    removes_block,
)
from codeplane.refactor.move_javascript import specifier
from codeplane.refactor.move_python import PythonSpelling
from codeplane.refactor.moved_tree import MovedTree, import_meant, nodes_of, refusal, syntax_of
from codeplane.refactor.plan import Draft, Edit, edit_at, edited, moved_offset, without_overlap
from codeplane.refactor.proof import hashes_of, prove
from codeplane.refactor.statements import Span, climb, newline_of, tidy_cut
from codeplane.refactor.unused_imports import left_unused

_FAMILIES: Final = {
    "python": "python",
    "javascript": "javascript",
    "typescript": "javascript",
    "tsx": "javascript",
    "go": "go",
}
_STATEMENTS: Final = frozenset({"import_statement", "import_from_statement", "export_statement"})
_MEMBERS: Final = frozenset({"attribute", "member_expression", "nested_type_identifier"})
_BETWEEN: Final = {"python": 2, "javascript": 1, "go": 1}
_WORD: Final = re.compile(rb"[^\W\d]\w*")
_REEXPORT: Final = "js_reexport"
_EXPORT_STAR: Final = "js_export_star"


def move_symbol(reader: FactReader, path: str, name: str, to_path: str) -> Draft:
    """Return the plan of moving `path::name` to another file.

    Raises:
        CodePlaneError: FILE_NOT_FOUND, CONTENT_NOT_FOUND, INVALID_ARGUMENTS or REFACTOR_CONFLICT with the places.
    """
    file = reader.file_at(path)
    if file is None or file.facts_id is None:
        raise CodePlaneError("FILE_NOT_FOUND", f"There is no file {path} with symbols.", details={"path": path})
    dialect = dialect_of(path)
    family = _FAMILIES.get(dialect)
    is_same = linking_rules(dialect_of(to_path)) is linking_rules(dialect)
    if family is None or not is_same or path == to_path:
        message = f"A symbol of {path} cannot move to {to_path}: the language or the file does not allow it."
        raise CodePlaneError("REFACTOR_CONFLICT", message, hint="Move the file, or edit it by hand.")
    if family == "go" and posixpath.dirname(path) != posixpath.dirname(to_path):
        message = "A Go symbol moves between the files of its package only; elsewhere its qualifier would change."
        raise CodePlaneError("REFACTOR_CONFLICT", message, details={"places": [path]})
    return _SymbolMove(reader, family, path, name, to_path).draft()


class _SymbolMove:
    """One symbol on its way to another file; edits are collected by path."""

    def __init__(self, reader: FactReader, family: str, path: str, name: str, target: str) -> None:
        self._reader = reader
        self._family = family
        self._path = path
        self._name = name
        self._target = target
        self._tree = MovedTree(reader, dialect_of(path), {}, (path, path))
        if target not in self._tree.files:
            self._tree.packages[target] = self._tree.files[path].package
        self._view = self._tree.view(path)
        self._text = self._view.text
        self._root = self._tree.root(path)
        self._extents = self._found_extents()
        self._places = self._moved_places()
        self._edits: list[Edit] = []
        self._wanted: dict[str, list[WantedImport]] = defaultdict(list)
        self._new_edges: dict[tuple[str, str], None] = {}

    def draft(self) -> Draft:
        """Return the plan."""
        self._check_target()
        self._check_quoted_types()
        inner = tuple(self._inner_edits())
        self._need_imports()
        if self._family != "go":
            self._redirect_users()
            if self._is_left():
                self._want(self._path, WantedImport(self._source_of(self._path, self._target), self._name))
                self._new_edges[self._path, self._target] = None
        self._check_cycles()
        self._leave_source()
        for path, wanted in self._wanted.items():
            if path != self._target:
                self._insert_imports(path, wanted)
        carried = self._arrive(inner)
        edits = without_overlap(self._edits)
        prove(self._reader, self._tree.language, edits, (), carried=carried)
        return Draft(
            "move", f"{self._path}::{self._name} -> {self._target}", edits=edits, details={"moved": []},
            hashes=hashes_of(self._reader, {one.path for one in edits}),
        )  # fmt: skip

    def _found_extents(self) -> list[Extent]:
        outline = self._view.outline
        numbers = [
            number
            for number, row in enumerate(outline.definition_rows)
            if row[2] == self._name and row[6] == 0 and number < outline.n_visible
        ]
        if not numbers:
            message = f"{self._path} has no `{self._name}` at its top."
            raise CodePlaneError("CONTENT_NOT_FOUND", message, hint="Only top-level symbols move: path::Name.")
        found = extents_of(self._root, self._text, outline, numbers)
        for one in found:
            if one.is_shared or not one.is_top:
                raise refusal(self._tree, self._path, one.node.start_byte, "it is not a statement of its own")
            words = self._text[one.node.start_byte : one.node.end_byte].split()[:2]
            if words == [b"export", b"default"]:
                raise refusal(self._tree, self._path, one.node.start_byte, "a default export has no name to follow")
        for node in nodes_of(self._root, frozenset({"global_statement"})):
            if self._covers(found, node.start_byte):
                raise refusal(self._tree, self._path, node.start_byte, "it changes a name of its module")
        return found

    @staticmethod
    def _covers(extents: Sequence[Extent], start: int) -> bool:
        return any(one.start <= start < one.end for one in extents)

    def _is_inside(self, start: int) -> bool:
        return self._covers(self._extents, start)

    def _moved_places(self) -> frozenset[Place]:
        rows = self._view.outline.definition_rows
        file_id = self._view.file.file_id
        return frozenset((file_id, number) for number, row in enumerate(rows) if self._is_inside(row[5]))

    def _tops(self) -> frozenset[Place]:
        rows = self._view.outline.definition_rows
        return frozenset(place for place in self._places if rows[place[1]][2] == self._name)

    def _check_target(self) -> None:
        known = self._reader.file_at(self._target)
        if known is None:
            return
        if known.facts_id is None:
            raise CodePlaneError("REFACTOR_CONFLICT", f"{self._target} cannot be read as code.")
        bound = self._reader.outline(known.facts_id).file_binds.get(self._name)
        if bound is not None and not self._imports_it(self._target):
            message = f"{self._target} has a `{self._name}` already."
            raise CodePlaneError("REFACTOR_CONFLICT", message, details={"places": [self._target]})

    def _imports_it(self, path: str) -> bool:
        view = self._tree.view(path)
        return any(view.meaning(number)[1] in self._tops() for number in range(len(view.columns.starts)))

    def _module(self, path: str) -> str:
        """Return what imports of a file are located as."""
        return self._tree.after.modules_of(path)[-1]

    def _source_of(self, importer: str, module_file: str, style: str = "") -> str:
        """Return how one file names another."""
        if self._family == "python":
            rows = self._tree.view(importer).outline.import_rows if importer in self._tree.files else ()
            is_relative = any(row[1].startswith(".") for row in rows) if not style else style.startswith(".")
            spelling = PythonSpelling(self._tree, importer)
            return spelling.spelled("." if is_relative else "", self._module(module_file))
        return specifier(self._tree, importer, (self._path, module_file), style)

    def _want(self, path: str, one: WantedImport) -> None:
        self._wanted[path].append(one)

    def _inner_edits(self) -> Iterator[Edit]:
        """Yield the edits inside the moved text: relative imports that are written in it."""
        for number, row in enumerate(self._view.outline.import_rows):
            if not self._is_inside(row[6]) or not row[1].startswith("."):
                continue
            one = self._view.outline.imported(number)
            new = self._respelled(one)
            node = self._root.descendant_for_byte_range(one.start, one.end)
            statement = climb(node, _STATEMENTS | {"call_expression"})
            at = self._text.find(one.source.encode(), statement.start_byte if statement is not None else one.start)
            if new != one.source and at >= 0:
                yield edit_at(self._path, self._text, (at, at + len(one.source)), new, anchor=-1)

    def _respelled(self, one: Import) -> str:
        """Return how the target names what an import of the source names."""
        module = self._tree.before.locate(self._path, one.source)
        if module is None:
            if one.source.startswith("."):
                raise refusal(self._tree, self._path, one.start, "what this imports is not in the repository")
            return one.source
        if self._family == "python":
            if one.source.startswith("."):
                return PythonSpelling(self._tree, self._target).spelled(".", module)
            return one.source
        if self._family == "go" or not one.source.startswith("."):
            return one.source
        return specifier(self._tree, self._target, (module, module), one.source)

    def _need_imports(self) -> None:
        """Collect what the moved text needs: imports of its file, and names that its file defines."""
        columns, back = self._view.columns, dict[int, str]()
        for position, start in enumerate(columns.starts):
            if not self._is_inside(start):
                continue
            number = import_meant(self._view, position)
            if number is not None:
                one = self._view.outline.imported(number)
                if not self._is_inside(one.start):
                    self._need_import(one)
            elif columns.roles[position] != ReferenceRole.DEFINITION:
                self._need_name(position, back)
        for number, name in back.items() if self._family != "go" else ():
            self._want(self._target, WantedImport(self._source_of(self._target, self._path), name))
            self._new_edges[self._target, self._path] = None
            self._export(number)

    def _need_name(self, position: int, back: dict[int, str]) -> None:
        """Note a name that no import of the file binds: of the file itself, or brought by an import of everything."""
        columns = self._view.columns
        tier, meant = self._view.meaning(position)
        if meant is None or meant in self._places or tier > Tier.STRONG:
            return
        if self._text[: columns.starts[position]].rstrip().endswith(b"."):
            return
        name = columns.names[columns.name_numbers[position]]
        if meant[0] == self._view.file.file_id:
            if self._view.outline.definition_rows[meant[1]][6] == 0:
                back[meant[1]] = name
            return
        holder = self._reader.file(meant[0])
        if self._family != "go" and holder is not None and holder.path != self._target:
            self._want(self._target, WantedImport(self._source_of(self._target, holder.path), name))

    def _need_import(self, one: Import) -> None:
        is_type = one.kind == "ts_import_type" or self._is_for_types(one)
        if one.is_conditional and self._family == "python" and not is_type:
            raise refusal(self._tree, self._path, one.start, "it uses an import that is made under a condition")
        if one.kind.startswith("js_require"):
            raise refusal(self._tree, self._path, one.start, "it uses a module that is loaded by a call")
        module = self._tree.before.locate(self._path, one.source)
        if module is not None and module in self._tree.after.modules_of(self._target):
            return
        if not self._has_import(self._target, one, module):
            if is_type and self._family == "python":
                self._want(self._target, WantedImport("typing", TYPE_CHECKING))
            self._want(self._target, WantedImport(self._respelled(one), one.imported_name, one.alias, is_type))

    def _is_for_types(self, one: Import) -> bool:
        """Tell whether an import is made for type checkers only."""
        around = climb(self._root.descendant_for_byte_range(one.start, one.end), frozenset({"if_statement"}))
        condition = around.child_by_field_name("condition") if around is not None else None
        said = self._text[condition.start_byte : condition.end_byte].decode() if condition is not None else ""
        return said.rpartition(".")[2] == TYPE_CHECKING

    def _check_quoted_types(self) -> None:
        """Refuse types in quotes that name something of the file and could not be read."""
        known = set(self._view.columns.starts)
        for node in nodes_of(self._root, frozenset({"type"})):
            for found in (
                _WORD.finditer(self._text, node.start_byte, node.end_byte) if self._is_inside(node.start_byte) else ()
            ):
                is_bound = found[0].decode() in self._view.outline.file_binds
                if is_bound and found.start() not in known and self._text[found.start() - 1 : found.start()] != b".":
                    raise refusal(self._tree, self._path, found.start(), "this type in quotes could not be read")

    def _has_import(self, path: str, wanted: Import, module: str | None) -> bool:
        """Tell whether a file imports the same under the same name.

        Raises:
            CodePlaneError: REFACTOR_CONFLICT when the name means something else there.
        """
        if path not in self._tree.files:
            return False
        outline = self._tree.view(path).outline
        local = wanted.alias or wanted.imported_name or wanted.source.split(".")[0]
        for number in range(len(outline.import_rows)):
            one = outline.imported(number)
            same = self._tree.before.locate(path, one.source) if module is not None else one.source
            if (same, one.imported_name, one.alias) == (module or wanted.source, wanted.imported_name, wanted.alias):
                return True
        if local in outline.file_binds and self._family != "go" and wanted.imported_name is not None:
            raise refusal(self._tree, path, 0, f"`{local}` means something else here than in {self._path}")
        return False

    def _export(self, number: int) -> None:
        """Make a definition of the source importable, where that has to be written."""
        if self._family != "javascript":
            return
        extent = extents_of(self._root, self._text, self._view.outline, [number])[0]
        if any(row[2] == number and row[1] == 0 for row in self._view.outline.export_rows):
            return
        at = extent.node.start_byte
        why = "the moved symbol uses it"
        self._edits.append(edit_at(self._path, self._text, (at, at), "export ", why=why))

    def _is_left(self) -> bool:
        """Tell whether the source still names the symbol."""
        columns = self._view.columns
        for place in self._tops():
            for position in self._view.positions_meaning(*place):
                if not self._is_inside(columns.starts[position]):
                    return True
        return any(row[0] == self._name and row[1] != 0 for row in self._view.outline.export_rows)

    def _users(self) -> Iterator[FileView]:
        ids: set[int] = set()
        for place in self._tops():
            ids.update(
                row[0]
                for row in self._reader.connection.execute(
                    "SELECT file_id FROM links WHERE target_file = ? AND target_number = ?", place
                )
            )
        module = self._tree.before.modules_of(self._path)[-1]
        ids.update(
            row[0] for row in self._reader.connection.execute("SELECT file_id FROM located WHERE module = ?", (module,))
        )
        for file_id in sorted(ids - {self._view.file.file_id}):
            file = self._reader.file(file_id)
            if file is not None and file.facts_id is not None:
                yield FileView(self._reader, file)

    def _redirect_users(self) -> None:
        module = self._tree.before.modules_of(self._path)[-1]
        for view in self._users():
            path = view.file.path
            rows = [view.outline.imported(number) for number in range(len(view.outline.import_rows))]
            here = [one for one in rows if self._tree.before.locate(path, one.source) == module]
            gone = [one for one in here if one.imported_name == self._name]
            if gone:
                self._redirect(view, gone, here)
            for one in here:
                if one.imported_name == "*" and not self._name.startswith("_"):
                    self._offer_on(view, one)
            self._plain_members(view)

    def _redirect(self, view: FileView, gone: list[Import], here: list[Import]) -> None:
        """Import the symbol from its new file where it was imported from the old one."""
        path, text = view.file.path, view.text
        root = syntax_of(path, text)
        if path == self._target:
            self._cut_imports(path, root, text, gone)
            return
        left: list[Import] = []
        for one in gone:
            new = self._source_of(path, self._target, one.source)
            statement = climb(root.descendant_for_byte_range(one.start, one.end), _STATEMENTS)
            if statement is None:
                raise refusal(self._tree, path, one.start, "this import cannot be rewritten")
            others = [
                other
                for other in here
                if other not in gone and statement.start_byte <= other.start < statement.end_byte
            ]
            source = statement.child_by_field_name("module_name") or statement.child_by_field_name("source")
            if others or source is None:
                left.append(one)
                self._add_redirected(view, statement, one, new)
            else:
                quote = 0 if self._family == "python" else 1
                span = (source.start_byte + quote, source.end_byte - quote)
                self._edits.append(edit_at(path, text, span, new, why="imports a symbol that moves", anchor=-1))
        self._cut_imports(path, root, text, left)
        if not all(one.is_conditional for one in gone):
            self._new_edges[path, self._target] = None

    def _add_redirected(self, view: FileView, statement: Node, one: Import, new: str) -> None:
        if one.kind == _REEXPORT or one.is_conditional:
            item = f"{one.imported_name} as {one.alias}" if one.alias else str(one.imported_name)
            line = f"from {new} import {item}"
            if self._family == "javascript":
                line = next(
                    iter(import_lines([WantedImport(new, one.imported_name, one.alias)], "javascript", view.text))
                )
                line = line.replace("import", "export", 1)
            at = statement.end_byte
            first = view.text.rfind(b"\n", 0, statement.start_byte) + 1
            indent = view.text[first : statement.start_byte].decode()
            added = newline_of(view.text) + indent + line
            self._edits.append(edit_at(view.file.path, view.text, (at, at), added, why="imports a symbol that moves"))
            return
        self._want(view.file.path, WantedImport(new, one.imported_name, one.alias, one.kind == "ts_import_type"))

    def _offer_on(self, view: FileView, star: Import) -> None:
        """Name the symbol where everything of the old file is imported or exported."""
        new = self._source_of(view.file.path, self._target, star.source)
        if star.kind == _EXPORT_STAR:
            line = next(iter(import_lines([WantedImport(new, self._name)], "javascript", view.text)))
            added = line.replace("import", "export", 1) + newline_of(view.text)
            end = view.text.find(b"\n", star.end)
            at = end + 1 if end >= 0 else len(view.text)
            self._edits.append(edit_at(view.file.path, view.text, (at, at), added, why="hands on a symbol that moves"))
        else:
            self._want(view.file.path, WantedImport(new, self._name))
        self._new_edges[view.file.path, self._target] = None

    def _plain_members(self, view: FileView) -> None:
        """Turn `module.name` into `name` with an import."""
        root = None
        path = view.file.path
        starts = {
            view.columns.starts[position]
            for place in self._tops()
            for position in view.positions_meaning(*place)
            if view.columns.roles[position] not in {ReferenceRole.IMPORT, ReferenceRole.EXPORT}
        }
        for start in sorted(starts):
            if not view.text[:start].rstrip().endswith(b"."):
                continue
            root = root or syntax_of(path, view.text)
            node = climb(root.descendant_for_byte_range(start, start + 1), _MEMBERS)
            bound = view.outline.file_binds.get(self._name)
            if node is None or bound is not None:
                raise refusal(self._tree, path, start, "this use cannot be written without its module")
            span = (node.start_byte, start + len(self._name.encode()))
            prefix = len(view.text[span[0] : start])
            edit = edit_at(
                path, view.text, span, self._name, why="names a symbol that moves", anchor=-1 if prefix else 0
            )
            self._edits.append(edit)
            if path != self._target:
                self._want(path, WantedImport(self._source_of(path, self._target), self._name))
                self._new_edges[path, self._target] = None

    def _cut_imports(self, path: str, root: Node, text: bytes, gone: Sequence[Import]) -> None:
        keeps_blank = path in self._wanted
        for span in removed_imports(root, text, gone, keeps_blank=keeps_blank) if gone else ():
            if removes_block(root, text, span):
                raise refusal(self._tree, path, span[0], "this block would be left without a statement")
            self._edits.append(edit_at(path, text, span, "", why="no longer needed here", anchor=-1))

    def _check_cycles(self) -> None:
        """Refuse imports that would wait for each other when the program starts.

        Raises:
            CodePlaneError: REFACTOR_CONFLICT naming the cycle.
        """
        if self._family == "go" or not self._new_edges:
            return
        graph = ImportGraph(self._tree)
        cycle = graph.cycle_with(self._new_edges)
        if cycle:
            way = " -> ".join(cycle)
            message = f"The move would make files import each other: {way}."
            raise CodePlaneError("REFACTOR_CONFLICT", message, details={"cycle": cycle, "places": cycle[:-1]})

    def _leave_source(self) -> None:
        for start, end in self._joined():
            span = tidy_cut(self._text, start, end)
            self._edits.append(edit_at(self._path, self._text, span, "", why="moves", anchor=-1))
        gone = [
            self._view.outline.imported(number)
            for number in left_unused(self._reader, self._view, lambda _path, start: self._is_inside(start))
            if not self._is_inside(self._view.outline.imported(number).start)
        ]
        self._cut_imports(self._path, self._root, self._text, gone)

    def _joined(self) -> list[Span]:
        """Return the spans of the extents with those as one that have only blank lines between."""
        found: list[Span] = []
        for one in self._extents:
            if found and not self._text[found[-1][1] : one.start].strip():
                found[-1] = (found[-1][0], one.end)
            else:
                found.append((one.start, one.end))
        return found

    def _insert_imports(self, path: str, wanted: list[WantedImport]) -> None:
        text = self._tree.text(path)
        for span, new in added_imports(syntax_of(path, text), text, self._family, wanted):
            self._edits.append(edit_at(path, text, span, new, why="the symbol is elsewhere afterwards"))

    def _arrive(self, inner: tuple[Edit, ...]) -> list[Carried]:
        """Write the moved text into the target and return where its pieces are."""
        text = self._tree.text(self._target) if self._target in self._tree.files else b""
        newline = newline_of(text or self._text)
        head = ""
        if text:
            self._insert_imports(self._target, self._wanted[self._target])
        elif self._wanted[self._target] or self._family == "go":
            head = self._head(newline)
        gap = newline * (_BETWEEN[self._family] + 1)
        base = text.rstrip()
        before = head + (gap if base else "")
        pieces: list[tuple[Span, int]] = []
        body = ""
        for start, end in self._joined():
            body += gap if body else ""
            export = self._export_word(start)
            raw = self._text[start:end].rstrip()
            changed = edited(self._text[: start + len(raw)], [one for one in inner if start <= one.start < end])[start:]
            at = len((before + body).encode()) + len(export)
            first = self._statement_start(start)
            lead = len(self._text[start:first])
            body += changed[:lead].decode() + export + changed[lead:].decode()
            pieces.append(((start, start + len(raw)), at))
        span = (len(base), len(text))
        insertion = edit_at(self._target, text, span, before + body + newline, why="moves here", anchor=-1)
        self._edits.append(insertion)
        others = [one for one in self._edits if one.path == self._target and one is not insertion]
        shift = moved_offset(span[0], [one for one in others if one.start <= span[0]])
        return [Carried(self._path, start, end, self._target, shift + at, tuple(inner)) for (start, end), at in pieces]

    def _statement_start(self, start: int) -> int:
        return next(one.node.start_byte for one in self._extents if one.start == start)

    def _export_word(self, start: int) -> str:
        """Return the word that makes the symbol importable, where it has none."""
        node = next(one.node for one in self._extents if one.start == start)
        is_needed = self._family == "javascript" and node.type != "export_statement" and bool(self._new_edges)
        return "export " if is_needed else ""

    def _head(self, newline: str) -> str:
        """Return the beginning of a file that does not exist yet."""
        groups: dict[tuple[str, bool], list[WantedImport]] = defaultdict(list)
        for one in dict.fromkeys(self._wanted[self._target]):
            groups[one.source, one.is_type].append(one)
        lines = [line for group in groups.values() for line in import_lines(group, self._family, self._text)]
        if self._family == "go":
            lines = [f"package {self._tree.files[self._path].package}", *([""] if lines else []), *lines]
        gap = newline * (_BETWEEN[self._family] + 1)
        return newline.join(lines) + (gap if lines else "")
