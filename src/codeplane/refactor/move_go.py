"""What has to change in Go files when packages move: a directory is a package."""

import posixpath
from collections.abc import Iterator
from typing import Final

from codeplane.languages.facts import ReferenceRole
from codeplane.languages.go.structure import default_name
from codeplane.refactor.moved_tree import MovedTree, import_meant, nodes_of, refusal
from codeplane.refactor.plan import Edit

_TEST: Final = "_test"
_CLAUSE: Final = frozenset({"package_clause"})


def go_edits(tree: MovedTree) -> Iterator[Edit]:
    """Yield the edits of package clauses, import paths and qualifiers."""
    packages = _packages(tree)
    yield from _clauses(tree, packages)
    if not packages:
        return
    modules = {
        tree.before.modules_of(path)[0]: path
        for path in tree.moved()
        if posixpath.dirname(path) in packages and tree.before.modules_of(path) and not path.endswith("_test.go")
    }
    for module, path in modules.items():
        tree.names[module] = tree.after.modules_of(tree.moves[path])[0]
    words = {name.encode() for name in modules}
    for path in tree.naming(lambda text: any(word in text for word in words)):
        yield from _imports(tree, path, modules)


def _packages(tree: MovedTree) -> dict[str, str]:
    """Return the directories of packages that move, with their new ones.

    Raises:
        CodePlaneError: REFACTOR_CONFLICT when only a part of a package would move, or two packages would meet.
    """
    found: dict[str, str] = {}
    for path in tree.moved():
        old, new = posixpath.dirname(path), posixpath.dirname(tree.moves[path])
        if old == new:
            if _constraint(path) != _constraint(tree.moves[path]):
                raise refusal(tree, path, 0, "the ending of a file's name decides when Go builds it")
            continue
        left = [one for one in tree.files if posixpath.dirname(one) == old and one not in tree.moves]
        if left:
            why = f"a package is a whole directory in Go; {left[0]} would stay behind, so move {old} instead"
            raise refusal(tree, path, 0, why)
        met = [one for one in tree.files if posixpath.dirname(one) == new and one not in tree.moves]
        if met:
            raise refusal(tree, path, 0, f"{new} is a package already, with {met[0]}")
        found[old] = new
    return found


def _constraint(path: str) -> tuple[str, ...]:
    """Return the parts of a file's name that may decide when it is built."""
    return tuple(posixpath.basename(path).removesuffix(".go").split("_")[1:][-2:])


def _clauses(tree: MovedTree, packages: dict[str, str]) -> Iterator[Edit]:
    """Yield the edits of package clauses that followed the name of their directory."""
    for path in tree.moved():
        old, new = posixpath.dirname(path), packages.get(posixpath.dirname(path))
        package = tree.files[path].package
        base = package.removesuffix(_TEST) if path.endswith("_test.go") else package
        if new is None or base != default_name(tree.before.modules_of(path)[0].removesuffix(_TEST)):
            continue
        name = default_name(new) if new else base
        if name == base or not name.isidentifier() or old == new:
            continue
        tree.packages[tree.moves[path]] = name + package[len(base) :]
        for clause in nodes_of(tree.root(path), _CLAUSE):
            word = clause.named_children[0]
            span = (word.start_byte, word.end_byte)
            yield tree.edit(path, span, name + package[len(base) :], "the package is called like its directory")
            break


def _imports(tree: MovedTree, path: str, modules: dict[str, str]) -> Iterator[Edit]:
    view = tree.view(path)
    for number in range(len(view.outline.import_rows)):
        one = view.outline.imported(number)
        module = tree.before.locate(path, one.source)
        if module not in modules:
            continue
        moved = modules[module]
        target = tree.after.modules_of(tree.moves[moved])[0]
        if tree.after.locate(tree.new_path(path), target) != target:
            raise refusal(tree, path, one.start, f"{target} cannot be imported from here")
        old_name = tree.files[moved].package
        new_name = tree.packages.get(tree.moves[moved], old_name)
        alias, uses = _name_in(tree, path, number, (old_name, new_name, target))
        yield from uses
        span = (one.end - 1 - len(one.source.encode()), one.end - 1)
        if tree.text(path)[span[0] : span[1]].decode("utf-8", "replace") != one.source:
            raise refusal(tree, path, one.start, "this import is written in an unusual way")
        if alias:
            yield tree.edit(path, (one.start, one.start), f"{alias} ", "keeps the name that the file uses")
        if target != one.source:
            yield tree.edit(path, span, target, "imports a package that moves")


def _name_in(tree: MovedTree, path: str, number: int, names: tuple[str, str, str]) -> tuple[str, list[Edit]]:
    """Return the alias that an import needs, and the edits of qualifiers where it needs none."""
    old_name, new_name, target = names
    view = tree.view(path)
    one = view.outline.imported(number)
    if one.alias is not None or one.imported_name is not None or default_name(one.source) != old_name:
        return "", []
    if new_name == old_name:
        return ("" if default_name(target) == old_name else old_name), []
    if new_name in view.columns.names:
        return old_name, []
    edits = []
    for position, start in enumerate(view.columns.starts):
        name = view.columns.names[view.columns.name_numbers[position]]
        is_use = name == old_name and view.columns.roles[position] != ReferenceRole.IMPORT
        if is_use and import_meant(view, position) == number:
            span = (start, start + len(name.encode()))
            edits.append(tree.edit(path, span, new_name, "names a package that moves", anchor=0))
    return "", edits
