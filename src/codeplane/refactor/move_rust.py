"""What has to change in Rust files when a module moves: `mod` lines, paths, and trees of `use`."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.index.linking.stored_links import Tier
from codeplane.languages.facts import DefinitionKind
from codeplane.refactor.moved_tree import MovedTree, import_meant, nodes_of, refusal
from codeplane.refactor.plan import Edit
from codeplane.refactor.statements import climb, indent_of, line_span, newline_of, without_items

_SEPARATOR: Final = "::"
_PATH: Final = re.compile(rb"(?<![\w:$'.])(?:::)?[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*")
_WORD: Final = re.compile(rb"[A-Za-z_]\w*")
_WORDS: Final = frozenset({"identifier", "self", "super", "crate", "type_identifier"})
_HIDDEN: Final = frozenset(
    {"line_comment", "block_comment", "string_literal", "raw_string_literal", "use_declaration", "char_literal"}
)
_BESIDE: Final = frozenset({"attribute_item", "line_comment", "block_comment"})
_OPEN_HOLDERS: Final = frozenset({DefinitionKind.TRAIT, DefinitionKind.ENUM})


class _Move(NamedTuple):
    """The module that moves with everything inside, and the files that declare it before and afterwards."""

    old: str
    new: str
    old_parent: str
    new_parent: str

    @property
    def is_rename(self) -> bool:
        """Tell whether the module stays in its parent."""
        return self.old_parent == self.new_parent

    def holds(self, module: str) -> bool:
        """Tell whether a module moves."""
        return module == self.old or module.startswith(self.old + _SEPARATOR)


def rust_edits(tree: MovedTree) -> Iterator[Edit]:
    """Yield the edits of `mod` lines, of paths through the module, and of paths that start inside it."""
    move = _move_of(tree)
    if move is None:
        return
    word = move.old.rpartition(_SEPARATOR)[2].encode()
    edits: list[Edit] = []
    users: list[str] = []
    for path in tree.naming(lambda text: word in text):
        found = list(_RustFile(tree, path, move).edits()) if tree.before.modules_of(path) else []
        edits += found
        if found and path not in tree.moves:
            users.append(path)
    yield from edits
    yield from _declarations(tree, move, users)


def _move_of(tree: MovedTree) -> _Move | None:
    """Return which module moves where; None when the files belong to no crate."""
    modules = {path: tree.before.modules_of(path) for path in tree.moved()}
    known = {path: names for path, names in modules.items() if names}
    if not known:
        tree.warnings.append("The Rust files that move belong to no crate; nothing else was changed.")
        return None
    first = min(known, key=lambda path: known[path][0].count(_SEPARATOR))
    if any(len(names) != 1 for names in known.values()):
        raise refusal(tree, first, 0, "the file belongs to more than one crate")
    old = known[first][0]
    if _SEPARATOR not in old:
        raise refusal(tree, first, 0, "the file is the root of a crate, which the manifest names")
    outside = [path for path, names in known.items() if names[0] != old and not names[0].startswith(old + _SEPARATOR)]
    staying = [
        path
        for path in tree.files
        if path not in tree.moves and any(one.startswith(old + _SEPARATOR) for one in tree.before.modules_of(path))
    ]
    if outside or staying:
        why = f"a module moves with everything inside it; {(outside or staying)[0]} would be torn from it"
        raise refusal(tree, first, 0, why)
    name, parent = _new_parent(tree, tree.moves[first])
    crate = old.partition(_SEPARATOR)[0]
    holder = tree.before.modules_of(parent)[0] if parent else ""
    if not parent or holder.partition(_SEPARATOR)[0] != crate:
        raise refusal(tree, first, 0, f"no module of the crate {crate} declares files of that directory")
    old_parent = _file_of(tree, old.rpartition(_SEPARATOR)[0])
    return _Move(old, f"{holder}{_SEPARATOR}{name}", old_parent, parent)


def _new_parent(tree: MovedTree, target: str) -> tuple[str, str]:
    """Return the name of a module at a path and the file that has to declare it, empty when there is none."""
    directory, file_name = posixpath.split(target)
    name = file_name.removesuffix(".rs")
    if file_name == "mod.rs":
        directory, name = posixpath.split(directory)
    candidates = [posixpath.join(directory, one) for one in ("mod.rs", "lib.rs", "main.rs")] + [f"{directory}.rs"]
    found = [one for one in candidates if one in tree.files and one not in tree.moves and tree.before.modules_of(one)]
    return name, found[0] if len(found) == 1 else ""


def _file_of(tree: MovedTree, module: str) -> str:
    return next((path for path in sorted(tree.files) if module in tree.before.modules_of(path)), "")


def _declaration(tree: MovedTree, path: str, name: str) -> Node:
    """Return the `mod` line of a module."""
    found = [
        node
        for node in nodes_of(tree.root(path), frozenset({"mod_item"}))
        if node.child_by_field_name("body") is None and _named(node, tree.text(path)) == name.encode()
    ]
    if len(found) != 1 or (found[0].parent is not None and found[0].parent.type != "source_file"):
        raise refusal(tree, path, found[0].start_byte if found else 0, f"the one `mod {name};` cannot be found")
    return found[0]


def _named(node: Node, text: bytes) -> bytes:
    name = node.child_by_field_name("name")
    return text[name.start_byte : name.end_byte] if name is not None else b""


def _declarations(tree: MovedTree, move: _Move, users: Sequence[str]) -> Iterator[Edit]:
    """Yield the edits that take the `mod` line out of one file and put it into another."""
    old_name, new_name = (one.rpartition(_SEPARATOR)[2] for one in (move.old, move.new))
    path, text = move.old_parent, tree.text(move.old_parent)
    node = _declaration(tree, path, old_name)
    name = node.child_by_field_name("name")
    if name is None:
        return
    if move.is_rename:
        if new_name != old_name:
            yield tree.edit(path, name.byte_range, new_name, "declares the module")
        return
    start, before = node.start_byte, node.prev_sibling
    while before is not None and before.type in _BESIDE and text[before.end_byte : start].count(b"\n") <= 1:
        if before.type == "attribute_item" and b"path" in text[before.start_byte : before.end_byte]:
            raise refusal(tree, path, before.start_byte, "an attribute says where the file of the module is")
        start, before = before.start_byte, before.prev_sibling
    span = line_span(text, start, node.end_byte)
    yield tree.edit(path, span, "", "declares the module elsewhere afterwards")
    visible = next((child for child in node.children if child.type == "visibility_modifier"), None)
    head = text[start : node.start_byte].decode()
    said = text[visible.start_byte : visible.end_byte].decode() + " " if visible is not None else ""
    parent = move.new.rpartition(_SEPARATOR)[0]
    inside = (parent, parent + _SEPARATOR)
    is_seen = all(
        any(one == inside[0] or one.startswith(inside[1]) for one in tree.before.modules_of(u)) for u in users
    )
    if not is_seen and said != "pub ":
        said = "pub(crate) "
    yield _added_line(tree, move.new_parent, f"{head}{said}mod {new_name};")


def _added_line(tree: MovedTree, path: str, line: str) -> Edit:
    """Put a `mod` line after the others of a file, or before its first item."""
    text, root = tree.text(path), tree.root(path)
    newline = newline_of(text)
    mods = [node for node in root.children if node.type == "mod_item" and node.child_by_field_name("body") is None]
    if mods:
        at = line_span(text, mods[-1].start_byte, mods[-1].end_byte)[1]
        return tree.edit(path, (at, at), line + newline, "declares the module")
    first = next(
        (node for node in root.named_children if "inner" not in node.type and "comment" not in node.type), None
    )
    at = first.start_byte if first is not None else len(text)
    return tree.edit(path, (at, at), f"{line}{newline}{newline}", "declares the module")


class _RustFile:
    """One file of the crate, and the paths in it that have to change."""

    def __init__(self, tree: MovedTree, path: str, move: _Move) -> None:
        self._tree = tree
        self._path = path
        self._move = move
        self._text = tree.text(path)
        self._view = tree.view(path)
        self._root = tree.root(path)
        self._module = tree.before.modules_of(path)[0]
        self._positions = {start: number for number, start in enumerate(self._view.columns.starts)}

    def edits(self) -> Iterator[Edit]:
        """Yield the edits of the file."""
        for use in nodes_of(self._root, frozenset({"use_declaration"})):
            argument = use.child_by_field_name("argument")
            if argument is not None:
                yield from self._in_use(use, argument, argument, None)
        for match in _PATH.finditer(self._text):
            node = self._root.descendant_for_byte_range(match.start(), match.end())
            if climb(node, _HIDDEN) is None and not (node is not None and self._is_declared(node)):
                segments = [(found.start(), found[0].decode()) for found in _WORD.finditer(self._text, *match.span())]
                # A module alone is never a value: a single name is a field, a label or a variable.
                yield from self._in_path(segments) if len(segments) > 1 else ()
        if self._path in self._tree.moves and not self._move.is_rename:
            yield from self._visibilities()
            self._check_private_uses()

    @staticmethod
    def _is_declared(node: Node) -> bool:
        parent = node.parent
        return parent is not None and parent.type == "mod_item"

    def _around(self, start: int) -> str:
        """Return the module around a place, inline ones included."""
        names = []
        node = climb(self._root.descendant_for_byte_range(start, start), frozenset({"mod_item"}))
        while node is not None:
            if node.child_by_field_name("body") is not None:
                names.append(_named(node, self._text).decode())
            node = climb(node.parent, frozenset({"mod_item"}))
        return _SEPARATOR.join([self._module, *reversed(names)])

    def _first(self, start: int, name: str) -> str | None:
        """Return the module that the first name of a path means."""
        if name == "crate":
            return self._module.partition(_SEPARATOR)[0]
        if name == "self":
            return self._around(start)
        if name == "super":
            return self._around(start).rpartition(_SEPARATOR)[0] or None
        position = self._positions.get(start)
        number = import_meant(self._view, position) if position is not None else None
        if number is None:
            return self._tree.before.locate(self._path, name) if position is None or self._is_free(position) else None
        one = self._view.outline.imported(number)
        return self._tree.before.locate(self._path, one.source) if one.kind == "rust_mod" else None

    def _is_free(self, position: int) -> bool:
        return self._view.columns.bind_numbers[position] == 0

    def _follow(self, segments: Sequence[tuple[int, str]], current: str | None) -> tuple[int, int]:
        """Return which segment reaches the moved module, and how many `super` lead out of a moved one, -1 for none."""
        n_up = 0
        start = current is None
        for number, (at, name) in enumerate(segments):
            if start and number == 0:
                current = self._first(at, name)
                n_up = int(name == "super")
            elif name == "super" and n_up == number:
                current, n_up = (current or "").rpartition(_SEPARATOR)[0], n_up + 1
            elif name != "self":
                current = self._submodule(current, name)
            if current is None:
                break
            if current == self._move.old and name not in {"self", "super"}:
                return number, n_up
        return -1, n_up

    def _submodule(self, module: str | None, name: str) -> str | None:
        return self._tree.before.submodule(module, name) if module is not None else None

    def _in_path(self, segments: list[tuple[int, str]]) -> Iterator[Edit]:
        reached, n_up = self._follow(segments, None)
        if reached >= 0:
            at, name = segments[reached]
            is_own = reached == 0 and self._move.is_rename
            new = self._move.new.rpartition(_SEPARATOR)[2] if is_own else self._spelled(segments[0])
            yield self._edit((segments[0][0], at + len(name)), new)
        elif n_up and len(segments) > n_up:
            yield from self._out(segments, n_up)

    def _out(self, segments: Sequence[tuple[int, str]], n_up: int) -> Iterator[Edit]:
        """Rewrite `super::` of a moved file that leads out of what moves."""
        start = segments[0][0]
        here = self._around(start)
        if not self._move.holds(here):
            return
        meant = _up(here, n_up)
        if self._move.holds(meant) or _up(self._move.new + here[len(self._move.old) :], n_up) == meant:
            return
        at, name = segments[n_up - 1]
        yield self._edit((start, at + len(name)), _from_crate(meant))

    def _spelled(self, first: tuple[int, str]) -> str:
        """Return the new path of the module, as this file can write it."""
        self._check_reach(first[0])
        crate = self._module.partition(_SEPARATOR)[0]
        own = self._move.old.partition(_SEPARATOR)[0]
        return _from_crate(self._move.new) if crate == own else first[1] + self._move.new[len(own) :]

    def _check_reach(self, start: int) -> None:
        """Refuse a use from where a private module on the way cannot be seen."""
        module = self._move.new.rpartition(_SEPARATOR)[0]
        while _SEPARATOR in module:
            outer, _, name = module.rpartition(_SEPARATOR)
            is_inside = self._module == outer or self._module.startswith(outer + _SEPARATOR)
            file = _file_of(self._tree, outer)
            if not is_inside and file and not _is_open(_declaration(self._tree, file, name)):
                raise refusal(self._tree, self._path, start, f"the module {module} is private to {outer}")
            module = outer

    def _in_use(self, use: Node, argument: Node, item: Node, current: str | None) -> Iterator[Edit]:
        """Go through a tree of `use`; `current` is the module that the part before the item means."""
        if item.type == "use_list":
            for child in item.named_children:
                yield from self._in_use(use, argument, child, current)
            return
        names = item.child_by_field_name("list") if item.type == "scoped_use_list" else None
        head = item.child_by_field_name("path") if item.type in {"scoped_use_list", "use_as_clause"} else item
        segments = [
            (node.start_byte, self._text[node.start_byte : node.end_byte].decode())
            for node in (nodes_of(head, _WORDS) if head is not None else ())
        ]
        reached, n_up = self._follow(segments, current)
        if reached >= 0:
            yield from self._moved_item(use, argument, item, segments[: reached + 1])
        elif n_up and current is None:
            yield from self._out(segments, n_up)
        if reached < 0 and names is not None:
            yield from self._in_use(use, argument, names, self._end_of(segments, current))

    def _end_of(self, segments: Sequence[tuple[int, str]], current: str | None) -> str | None:
        """Return the module at the end of a path; a name that is none ends the way."""
        for number, (at, name) in enumerate(segments):
            if current is None:
                current = self._first(at, name)
            elif name == "super" and number:
                current = current.rpartition(_SEPARATOR)[0]
            elif name != "self":
                current = self._submodule(current, name)
            if current is None:
                return ""
        return current

    def _moved_item(self, use: Node, argument: Node, item: Node, segments: Sequence[tuple[int, str]]) -> Iterator[Edit]:
        end = segments[-1][0] + len(segments[-1][1])
        rest = self._text[end : item.end_byte].decode()
        new = self._spelled(segments[0])
        last, old_last = self._move.new.rpartition(_SEPARATOR)[2], segments[-1][1]
        if not rest and last != old_last:
            rest = f" as {old_last}"
            yield from ()
        if item == argument:
            yield self._edit((item.start_byte, item.end_byte), new + rest)
            return
        items = item.parent.named_children if item.parent is not None else []
        if len(items) == 1:
            if item.parent is None or item.parent.parent != argument:
                raise refusal(self._tree, self._path, item.start_byte, "this tree of `use` cannot be split")
            yield self._edit(argument.byte_range, new + rest)
            return
        number = [one.id for one in items].index(item.id)
        for span in without_items(items, {number}, self._text):
            yield self._edit(span, "")
        head = self._text[use.start_byte : argument.start_byte].decode()
        line = newline_of(self._text) + indent_of(self._text, use.start_byte) + head + new + rest + ";"
        yield self._edit((use.end_byte, use.end_byte), line)

    def _visibilities(self) -> Iterator[Edit]:
        for node in nodes_of(self._root, frozenset({"visibility_modifier"})):
            said = self._text[node.start_byte : node.end_byte]
            if b"in" in said.split(b"(")[-1].split() or (
                b"super" in said and self._around(node.start_byte) != self._module
            ):
                continue
            if b"super" in said:
                yield self._edit(node.byte_range, "pub(crate)")

    def _check_private_uses(self) -> None:
        """Refuse the use of private names of modules that the moved one is no longer inside of."""
        for position, start in enumerate(self._view.columns.starts):
            tier, meant = self._view.meaning(position)
            file = self._tree.reader.file(meant[0]) if meant is not None and tier <= Tier.STRONG else None
            if file is None or meant is None or file.path in self._tree.moves:
                continue
            holder = (self._tree.before.modules_of(file.path) or ("",))[0]
            if self._move.new.startswith(holder + _SEPARATOR):
                continue
            outline = self._tree.view(file.path).outline
            one = outline.definition(meant[1])
            around = one.lexical_path.rpartition(".")[0]
            is_member = any(row[2] == around and row[0] in _OPEN_HOLDERS for row in outline.definition_rows)
            said = self._tree.text(file.path)[one.start : one.name_start].split()
            if b"pub" not in b" ".join(said) and not is_member and not one.owner:
                raise refusal(self._tree, self._path, start, f"{one.lexical_path} is private to {holder}")

    def _edit(self, span: tuple[int, int], new: str) -> Edit:
        why = "the file moves" if self._path in self._tree.moves else "names a module that moves"
        return self._tree.edit(self._path, span, new, why)


def _up(module: str, count: int) -> str:
    for _ in range(count):
        module = module.rpartition(_SEPARATOR)[0]
    return module


def _from_crate(module: str) -> str:
    _, separator, rest = module.partition(_SEPARATOR)
    return f"crate{separator}{rest}"


def _is_open(node: Node) -> bool:
    return any(child.type == "visibility_modifier" for child in node.children)
