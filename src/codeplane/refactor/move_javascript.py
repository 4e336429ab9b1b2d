"""What has to change in JavaScript and TypeScript files when files move."""

import posixpath
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from codeplane.core.errors import CodePlaneError
from codeplane.index.linking.stored_links import Tier
from codeplane.refactor.moved_tree import MovedTree, nodes_of, refusal
from codeplane.refactor.plan import CODE, QUESTION, Edit, edit_at

_STRINGS: Final = frozenset({"string", "template_string"})
# Syntax whose string is a module, and calls whose first argument is one.
_STATEMENTS: Final = frozenset({"import_statement", "export_statement", "import_require_clause"})
_LOADS: Final = frozenset({"require", "import"})
_NAMED_BY_RULE: Final = frozenset(
    {
        *(f"{tool}.{verb}" for tool in ("jest", "vi") for verb in ("mock", "unmock", "doMock", "dontMock", "setMock")),
        *("jest.requireActual", "jest.requireMock", "vi.importActual", "vi.importMock"),
        *("require.resolve", "import.meta.resolve"),
    }
)
# The endings that a file may be written with instead of its own.
_WRITTEN: Final = {".ts": (".js",), ".tsx": (".js", ".jsx"), ".mts": (".mjs",), ".cts": (".cjs",)}
_ENDINGS: Final = (".d.ts", ".d.mts", ".d.cts", ".ts", ".tsx", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs")
_WHY: Final = {True: "the importing file moves", False: "imports a file that moves"}
_SETTLE: Final = "look at what reads this text; include the edit if it is a path to this file"


def javascript_edits(tree: MovedTree) -> Iterator[Edit]:
    """Yield the edits that keep every module specifier right."""
    words = {_stem(posixpath.basename(path)).encode() for path in tree.moves}
    words |= {posixpath.basename(posixpath.dirname(path)).encode() for path in tree.moves} - {b""}
    for path in tree.naming(lambda text: any(word in text for word in words)):
        yield from _edits_of(tree, path)


def _edits_of(tree: MovedTree, path: str) -> Iterator[Edit]:
    text = tree.text(path)
    for node in nodes_of(tree.root(path), _STRINGS):
        source = text[node.start_byte + 1 : node.end_byte - 1].decode("utf-8", "replace")
        if not source or any(mark in source for mark in "\n\\${"):
            continue
        kind = _kind(node, text)
        is_relative = source.startswith(("./", "../")) or source in {".", ".."}
        if kind == QUESTION and not is_relative:
            continue
        new = _new_source(tree, path, node, source)
        if new is None or new == source:
            continue
        span = (node.start_byte + 1, node.end_byte - 1)
        why = _WHY[path in tree.moves]
        if kind == QUESTION:
            why = "a string that reads as a path to this file"
            yield edit_at(path, text, span, new, group=QUESTION, tier=Tier.ANCHORED, why=why, settle=_SETTLE, anchor=-1)
        else:
            yield tree.edit(path, span, new, why)


def _kind(node: Node, text: bytes) -> str:
    """Return whether a string names a module by the rules of the language, or only may."""
    parent = node.parent
    if parent is None:
        return QUESTION
    if parent.type in _STATEMENTS:
        return CODE
    call = parent.parent
    if parent.type != "arguments" or call is None or call.type not in {"call_expression", "import_type"}:
        return CODE if parent.type == "literal_type" and call is not None and "import" in call.type else QUESTION
    function = call.child_by_field_name("function")
    name = text[function.start_byte : function.end_byte].decode("utf-8", "replace") if function is not None else ""
    is_first = parent.named_children[0].id == node.id
    return CODE if is_first and (name in _LOADS or name in _NAMED_BY_RULE) else QUESTION


def _located(tree: MovedTree, path: str, source: str) -> str | None:
    """Return the file that a specifier means as the files are; files that are not code are found by their path."""
    found = tree.before.locate(path, source)
    if found is None and source.startswith("."):
        named = posixpath.normpath(posixpath.join(posixpath.dirname(path), source))
        found = named if tree.reader.file_at(named) is not None else None
    return found


def _new_source(tree: MovedTree, path: str, node: Node, source: str) -> str | None:
    target = _located(tree, path, source)
    if target is None:
        return None
    new_path, new_target = tree.new_path(path), tree.new_path(target)
    if new_path == path and new_target == target:
        return None
    is_code = tree.before.locate(path, source) is not None
    for candidate in _spellings(tree, (path, new_path), (target, new_target), source):
        if not is_code or tree.after.locate(new_path, candidate) == new_target:
            return candidate
    raise refusal(tree, path, node.start_byte, f"no specifier from here reaches {new_target} after the move")


def _spellings(tree: MovedTree, paths: tuple[str, str], targets: tuple[str, str], source: str) -> Iterator[str]:
    """Yield how a file can be written, in the style of the old specifier first."""
    is_relative = source.startswith(("./", "../")) or source in {".", ".."}
    forms = list(_forms(targets[0]))
    here = posixpath.dirname(paths[0])
    written = posixpath.normpath(posixpath.join(here, source)) if is_relative else ""
    new_forms = dict(_forms(targets[1]))
    order = [style for style, form in forms if form == written] if is_relative else []
    if not is_relative:
        # A specifier through a package or an alias that still means the file is left as it is.
        if tree.after.locate(paths[1], source) == targets[1]:
            yield source
        yield from _through_alias(forms, new_forms, source)
        # One that a manifest or configuration maps to the file keeps its style when it becomes relative.
        order = [style for style, form in forms if form.endswith(source.rpartition("/")[2])]
    for style in dict.fromkeys([*order, *new_forms]):
        if style in new_forms:
            ends_with_slash = source.endswith("/") and source != "./"
            yield _relative(posixpath.dirname(paths[1]), new_forms[style], ends_with_slash=ends_with_slash)


def specifier(tree: MovedTree, path: str, files: tuple[str, str], source: str) -> str:
    """Return how a file names the second of two files, in the style in which `source` named the first.

    Without a source, the style is that of a relative specifier of the file.

    Raises:
        CodePlaneError: REFACTOR_CONFLICT when nothing reaches it.
    """
    style, known = source, files[0]
    if not style and path in tree.files:
        for row in tree.view(path).outline.import_rows:
            located = tree.before.locate(path, row[1]) if row[1].startswith(".") else None
            if located is not None:
                style, known = row[1], located
                break
    for candidate in _spellings(tree, (path, path), (known, files[1]), style or "./"):
        if tree.after.locate(path, candidate) == files[1]:
            return candidate
    message = f"{path}: no specifier from here reaches {files[1]}."
    raise CodePlaneError("REFACTOR_CONFLICT", message, details={"places": [path]})


def _through_alias(forms: list[tuple[str, str]], new_forms: dict[str, str], source: str) -> Iterator[str]:
    """Yield specifiers with the same beginning as before, for the parts of the path that it was written for."""
    parts = source.split("/")
    for style, form in forms:
        pieces = form.split("/")
        for n_same in range(min(len(parts), len(pieces)), 0, -1):
            if parts[-n_same:] != pieces[-n_same:]:
                continue
            beginning, directory = parts[:-n_same], pieces[:-n_same]
            for other in dict.fromkeys([style, *new_forms]):
                new = new_forms.get(other, "").split("/")
                if new != [""] and new[: len(directory)] == directory:
                    yield "/".join([*beginning, *new[len(directory) :]])


def _forms(path: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to write a file, by style."""
    stem = _stem(path)
    ending = path[len(stem) :]
    if posixpath.basename(stem) == "index":
        yield "directory", posixpath.dirname(stem) or "."
    yield "stem", stem
    for number, written in enumerate(_WRITTEN.get(ending, ())):
        yield f"written {number}", stem + written
    yield "whole", path


def _relative(directory: str, target: str, *, ends_with_slash: bool) -> str:
    found = posixpath.relpath(target, directory or ".")
    if not found.startswith("../") and found not in {".", ".."}:
        found = f"./{found}"
    return f"{found}/" if ends_with_slash else found


def _stem(path: str) -> str:
    for ending in _ENDINGS:
        if path.endswith(ending):
            return path.removesuffix(ending)
    return path
