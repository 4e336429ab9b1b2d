"""The files of one language family before and after some of them get other paths."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from tree_sitter import Node

from codeplane.core.errors import CodePlaneError
from codeplane.index.call_sites import root_of
from codeplane.index.facts.columns import FIRST_EXPRESSION, LOCAL
from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.outline import Op
from codeplane.index.facts.reader import FactFile, FactReader
from codeplane.index.structure import SELECT_FILES, tree_file
from codeplane.index.units import unit_roots
from codeplane.languages.catalog import linking_rules
from codeplane.languages.facts import BindTarget
from codeplane.languages.linking import Linker, LinkingRules, UnitView
from codeplane.refactor.plan import Edit, edit_at


class MovedTree:
    """One family of files, with the linkers of both states.

    `moves` gives the new path of each file that moves, `places` that of the file or directory that was named.
    `packages` and `texts` are what files declare and contain afterwards, by new path, where that differs; a planner
    fills them before it asks for `after`. `warnings` are what a person should know, `names` the new name
    of each module that has one which texts may use.
    """

    def __init__(self, reader: FactReader, language: str, moves: Mapping[str, str], place: tuple[str, str]) -> None:
        rules = linking_rules(language)
        if rules is None:
            raise CodePlaneError("INVALID_ARGUMENTS", f"Files of {language} are not linked.")
        self.reader = reader
        self.language = language
        self.rules: LinkingRules = rules
        self.moves = moves
        self.source, self.target = place
        rows = [tree_file(row) for row in reader.connection.execute(SELECT_FILES)]
        self.files = {
            one.path: one for one in rows if one.facts_id is not None and linking_rules(one.dialect) is self.rules
        }
        roots = unit_roots(reader.connection)
        families = {
            roots[one.unit_id][0] for one in self.files.values() if one.unit_id is not None and one.unit_id in roots
        }
        self._roots = tuple(sorted({root for family, root in roots.values() if family in families}))
        self.packages: dict[str, str] = {}
        self.texts: dict[str, bytes] = {}
        self.warnings: list[str] = []
        self.names: dict[str, str] = {}

    @cached_property
    def before(self) -> Linker:
        """Return what is known about modules as the files are."""
        packages = {path: one.package for path, one in self.files.items()}
        return self.rules.build(
            UnitView(tuple(sorted(packages)), self._roots, lambda path: packages.get(path, ""), self._text_before)
        )

    @cached_property
    def after(self) -> Linker:
        """Return what is known about modules once the files have moved."""
        packages = {self.new_path(path): one.package for path, one in self.files.items()} | self.packages
        back = {target: source for source, target in self.moves.items()}

        def text_of(path: str) -> str | None:
            if path in self.texts:
                return self.texts[path].decode("utf-8", "replace")
            return None if path in self.moves and path not in back else self._text_before(back.get(path, path))

        paths = tuple(sorted(packages))
        roots = tuple(sorted({self.new_place(root) if root else "" for root in self._roots}))
        return self.rules.build(UnitView(paths, roots, lambda path: packages.get(path, ""), text_of))

    def new_path(self, path: str) -> str:
        """Return the path of a file afterwards."""
        return self.moves.get(path, path)

    def new_place(self, path: str) -> str:
        """Return the path of a file or directory afterwards."""
        if path == self.source or path.startswith(f"{self.source}/"):
            return self.target + path[len(self.source) :]
        return self.moves.get(path, path)

    def near(self, place: str) -> bool:
        """Tell whether a directory or file without its ending holds, is, or is inside of what moves."""
        stem = self.source.rpartition(".")[0] if self.source in self.moves else self.source
        return not place or f"{stem}/".startswith(f"{place}/") or place.startswith(f"{stem}/")

    def moved(self) -> Iterator[str]:
        """Yield the files of the family that move, by path."""
        return (path for path in sorted(self.moves) if path in self.files)

    def file(self, path: str) -> FactFile:
        """Return an indexed file of the family."""
        found = self.reader.file_at(path)
        if found is None:
            raise CodePlaneError("FILE_NOT_FOUND", f"There is no indexed file {path}.")
        return found

    def text(self, path: str) -> bytes:
        """Return the text of a file as it is."""
        return self.reader.text(self.file(path))

    def view(self, path: str) -> FileView:
        """Return the references of a file as they are."""
        return FileView(self.reader, self.file(path))

    def root(self, path: str) -> Node:
        """Return the syntax tree of a file as it is."""
        return syntax_of(path, self.text(path))

    def naming(self, words: Callable[[bytes], bool]) -> Iterator[str]:
        """Yield the files of the family that move or whose text is accepted, by path."""
        for path in sorted(self.files):
            if path in self.moves or words(self.text(path)):
                yield path

    def edit(self, path: str, span: tuple[int, int], new: str, why: str, anchor: int = -1) -> Edit:
        """Return an edit of a file; without an anchor, the names it replaces are not looked for again."""
        return edit_at(path, self.text(path), span, new, why=why, anchor=anchor)

    def _text_before(self, path: str) -> str | None:
        file = self.reader.file_at(path)
        text = self.reader.text(file) if file is not None and file.text_id is not None else None
        return text.decode("utf-8", "replace") if text is not None else None


def syntax_of(path: str, text: bytes) -> Node:
    """Return the syntax tree of a text.

    Raises:
        CodePlaneError: REFACTOR_CONFLICT when it cannot be parsed in time.
    """
    found = root_of(path, text)
    if found is None:
        raise CodePlaneError("REFACTOR_CONFLICT", f"{path} cannot be parsed.", details={"places": [path]})
    return found


def import_meant(view: FileView, position: int) -> int | None:
    """Return the number of the import that a plain name means, None when it means something else."""
    columns, outline = view.columns, view.outline
    link = columns.links[position]
    if link >= FIRST_EXPRESSION:
        op, operand, name = outline.expression(link - FIRST_EXPRESSION)
        if op == Op.IMPORT:
            return int(operand)
        bound = outline.file_binds.get(name) if op == Op.OWN else None
        return bound[1] if bound is not None and bound[0] == BindTarget.IMPORT else None
    bind = columns.bind_numbers[position] - 1
    if bind >= 0 and link == LOCAL and columns.bind_kinds[bind] == BindTarget.IMPORT:
        return columns.bind_targets[bind] - 1
    return None


def nodes_of(root: Node, kinds: frozenset[str]) -> Iterator[Node]:
    """Yield the nodes of some kinds in the order of the source."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in kinds:
            yield node
        waiting.extend(reversed(node.children))


def refusal(tree: MovedTree, path: str, start: int, why: str) -> CodePlaneError:
    """Return the error for a place that keeps a plan from being right."""
    place = edit_at(path, tree.text(path), (start, start), "")
    return CodePlaneError(
        "REFACTOR_CONFLICT", f"{path}:{place.line}: {why}: {place.text}", details={"places": [f"{path}:{place.line}"]}
    )
