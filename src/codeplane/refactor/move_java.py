"""What has to change in Java files when files move: package lines, imports, and names that need an import."""

import posixpath
from collections.abc import Iterator
from typing import Final, NamedTuple

from codeplane.index.facts.file_view import FileView
from codeplane.index.linking.stored_links import Tier
from codeplane.languages.facts import DefinitionKind, ReferenceRole
from codeplane.refactor.moved_tree import MovedTree, nodes_of, refusal
from codeplane.refactor.plan import Edit
from codeplane.refactor.statements import newline_of

_TYPES: Final = frozenset({DefinitionKind.CLASS, DefinitionKind.INTERFACE, DefinitionKind.ENUM, DefinitionKind.TYPE})
_PACKAGE: Final = frozenset({"package_declaration"})
_IMPORT: Final = frozenset({"import_declaration"})
# What every package sees, and what only the own one does.
_OPEN: Final = frozenset({b"public", b"protected"})


class _Type(NamedTuple):
    """A type at the top of a file, with its packages before and after."""

    name: str
    old: str
    new: str


def java_edits(tree: MovedTree) -> Iterator[Edit]:
    """Yield the edits of package lines, imports and names written in full."""
    packages = _new_packages(tree)
    if not packages:
        return
    moved = [one for path in packages for one in _types(tree, path, packages).values()]
    tree.names.update({f"{one.old}.{one.name}": f"{one.new}.{one.name}" for one in moved if one.old != one.new})
    words = {one.name.encode() for one in moved} | {one.old.encode() for one in moved}
    for path in tree.naming(lambda text: any(word in text for word in words)):
        yield from _JavaFile(tree, path, packages).edits()


def _new_packages(tree: MovedTree) -> dict[str, str]:
    """Return the package of each moved file afterwards, where it follows the directory."""
    roots = {
        posixpath.dirname(path)[: -len(one.package)].rstrip("/")
        for path, one in tree.files.items()
        if one.package and f"/{posixpath.dirname(path)}".endswith("/" + one.package.replace(".", "/"))
    }
    found = {}
    for path in tree.moved():
        package, directory = tree.files[path].package, posixpath.dirname(path)
        new = tree.moves[path]
        if posixpath.basename(path) != posixpath.basename(new):
            raise refusal(tree, path, 0, "a Java file is called like its public type; rename the type instead")
        fits = [root for root in roots if not root or f"{new}/".startswith(f"{root}/")]
        if not package or not f"/{directory}".endswith("/" + package.replace(".", "/")) or not fits:
            tree.warnings.append(f"{path}: its package does not follow its directory and is left as it is.")
            continue
        root = max(fits, key=len)
        target = posixpath.dirname(new)[len(root) :].strip("/").replace("/", ".")
        if not target or not all(part.isidentifier() for part in target.split(".")):
            raise refusal(tree, path, 0, f"{posixpath.dirname(new)} is not the directory of a package")
        if target != package:
            found[path] = target
    tree.packages.update({tree.moves[path]: package for path, package in found.items()})
    return found


def _types(tree: MovedTree, path: str, packages: dict[str, str]) -> dict[int, _Type]:
    """Return the types at the top of a file by their number."""
    outline = tree.view(path).outline
    old = tree.files[path].package
    return {
        number: _Type(str(row[1]), old, packages.get(path, old))
        for number, row in enumerate(outline.definition_rows)
        if row[0] in _TYPES and row[2] == row[1]
    }


class _JavaFile:
    """One file of the repository, and what has to change in it."""

    def __init__(self, tree: MovedTree, path: str, packages: dict[str, str]) -> None:
        self._tree = tree
        self._path = path
        self._packages = packages
        self._text = tree.text(path)
        self._view: FileView = tree.view(path)
        self._old = tree.files[path].package
        self._new = packages.get(path, self._old)
        self._imported = {
            (one.source, one.imported_name)
            for one in map(self._view.outline.imported, range(len(self._view.outline.import_rows)))
        }
        self._needed: dict[str, None] = {}
        self._known: dict[int, dict[int, _Type]] = {}

    def edits(self) -> Iterator[Edit]:
        """Yield the edits of the file."""
        root = self._tree.root(self._path)
        if self._new != self._old:
            for node in nodes_of(root, _PACKAGE):
                span = node.named_children[-1].byte_range
                yield self._tree.edit(self._path, span, self._new, "the package follows the directory")
        yield from self._uses()
        yield from self._imports()
        if self._needed:
            yield self._additions([*nodes_of(root, _PACKAGE), *nodes_of(root, _IMPORT)][-1].end_byte)

    def _type_meant(self, position: int) -> tuple[str, int, _Type | None] | None:
        """Return path, number and, of a type at the top of a file, the type that a reference means elsewhere."""
        tier, meant = self._view.meaning(position)
        if meant is None or tier > Tier.STRONG or meant[0] == self._view.file.file_id:
            return None
        file = self._tree.reader.file(meant[0])
        if file is None or file.path not in self._tree.files:
            return None
        if meant[0] not in self._known:
            self._known[meant[0]] = _types(self._tree, file.path, self._packages)
        return file.path, meant[1], self._known[meant[0]].get(meant[1])

    def _uses(self) -> Iterator[Edit]:
        columns = self._view.columns
        for position, start in enumerate(columns.starts):
            meant = self._type_meant(position)
            if meant is None:
                continue
            path, number, one = meant
            self._check_access(path, number, start)
            if one is None or columns.roles[position] == ReferenceRole.IMPORT:
                continue
            full = f"{one.old}.".encode()
            if self._text[:start].endswith(full):
                if one.new != one.old:
                    span = (start - len(full), start - 1)
                    yield self._tree.edit(self._path, span, one.new, "names a type that moves in full")
            elif not self._text[:start].rstrip().endswith(b".") and not self._is_visible(one):
                self._needed[f"{one.new}.{one.name}"] = None

    def _is_visible(self, one: _Type) -> bool:
        """Tell whether a type is seen afterwards by its name: same package, imported, or with its whole package."""
        if one.new == self._new or (one.old, one.name) in self._imported:
            return True
        return (one.new, "*") in self._imported or ((one.old, "*") in self._imported and self._all_moves(one.old))

    def _all_moves(self, package: str) -> bool:
        """Tell whether all files of a package go to one other package."""
        files = [path for path, one in self._tree.files.items() if one.package == package]
        return len({self._packages.get(path, package) for path in files}) == 1

    def _check_access(self, path: str, number: int, start: int) -> None:
        """Refuse a use of what only the own package sees, once the two are in different ones."""
        old, new = self._tree.files[path].package, self._packages.get(path, self._tree.files[path].package)
        if new == self._new or old != self._old or (new == old and self._new == self._old):
            return
        outline = self._tree.view(path).outline
        one = outline.definition(number)
        words = self._tree.text(path)[one.start : one.name_start].split()
        holder = next((row for row in outline.definition_rows if row[2] == one.lexical_path.rpartition(".")[0]), None)
        is_implied = holder is not None and holder[0] in {DefinitionKind.INTERFACE, DefinitionKind.ENUM}
        if not _OPEN & set(words) and not is_implied and one.kind != DefinitionKind.PARAMETER:
            why = f"{one.lexical_path} of {path} is seen by its own package only"
            raise refusal(self._tree, self._path, start, why)

    def _imports(self) -> Iterator[Edit]:
        moved = {
            f"{one.old}.{one.name}": f"{one.new}.{one.name}"
            for path in self._packages
            for one in _types(self._tree, path, self._packages).values()
        }
        whole = {self._tree.files[path].package: new for path, new in self._packages.items()}
        for number in range(len(self._view.outline.import_rows)):
            one = self._view.outline.imported(number)
            dotted = one.source if one.imported_name == "*" else f"{one.source}.{one.imported_name}"
            old = next((name for name in moved if dotted == name or dotted.startswith(f"{name}.")), None)
            new = moved[old] if old is not None else ""
            if old is None and one.imported_name == "*" and one.source in whole and self._all_moves(one.source):
                old, new = one.source, whole[one.source]
            if old is None:
                continue
            at = self._text.find(old.encode(), one.start, one.end)
            if at < 0:
                raise refusal(self._tree, self._path, one.start, "this import is written in an unusual way")
            yield self._tree.edit(self._path, (at, at + len(old.encode())), new, "imports a type that moves")

    def _additions(self, after: int) -> Edit:
        newline = newline_of(self._text)
        end = self._text.find(b"\n", after)
        at = end + 1 if end >= 0 else len(self._text)
        has_imports = any(True for _ in self._view.outline.import_rows)
        lines = "".join(f"import {name};{newline}" for name in sorted(self._needed))
        return self._tree.edit(
            self._path, (at, at), lines if has_imports else newline + lines, "the type is in another package afterwards"
        )
