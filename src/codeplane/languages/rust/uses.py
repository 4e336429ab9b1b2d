"""Read `use` declarations into single names."""

from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.languages.block_scopes.nodes import children_of, first_child
from codeplane.languages.block_scopes.texts import SourceText
from codeplane.languages.rust.syntax import ALIAS_FIELD, LIST_FIELD, NAME_FIELD, PATH_FIELD

GLOBAL: Final = ""  # the first part of a path that starts with `::`
_WORDS: Final = frozenset({"identifier", "self", "super", "crate", "type_identifier"})


class Segment(NamedTuple):
    """A part of a path and where it stands; the part before a leading `::` stands nowhere."""

    start: int
    name: str


class UsedName(NamedTuple):
    """One imported name.

    `path` is what stands before it, `name` is None for everything of the path. `words` are the segments that stand in
    this place of the tree and not in a part that is shared with other names.
    """

    path: tuple[Segment, ...]
    name: Segment | None
    alias: Segment | None
    start: int
    end: int


def read_use(argument: Node, text: SourceText) -> list[UsedName]:
    """Return the names that the tree of a `use` declaration imports, in order."""
    found: list[UsedName] = []
    waiting: list[tuple[Node, tuple[Segment, ...]]] = [(argument, ())]
    while waiting:
        node, prefix = waiting.pop()
        if node.type == "use_list":
            waiting.extend((child, prefix) for child in reversed(children_of(node)))
        elif node.type == "scoped_use_list":
            path, names = node.child_by_field_id(PATH_FIELD), node.child_by_field_id(LIST_FIELD)
            inner = prefix + read_path(path, text) if path is not None else (*prefix, *_global(node, text))
            if names is not None:
                waiting.append((names, inner))
        elif node.type == "use_wildcard":
            path = first_child(node)
            inner = prefix + read_path(path, text) if path is not None else (*prefix, *_global(node, text))
            found.append(UsedName(inner, None, None, *node.byte_range))
        elif node.type == "use_as_clause":
            _read_renamed(node, prefix, text, found)
        else:
            segments = prefix + read_path(node, text)
            if segments:
                found.append(UsedName(segments[:-1], segments[-1], None, *node.byte_range))
    return found


def read_path(node: Node | None, text: SourceText) -> tuple[Segment, ...]:
    """Return the parts of a path; nothing for a path with anything but names in it."""
    found: list[Segment] = []
    while node is not None and node.type == "scoped_identifier":
        name = node.child_by_field_id(NAME_FIELD)
        if name is None or name.is_missing:
            return ()
        found.append(Segment(name.start_byte, text.cut(*name.byte_range)))
        path = node.child_by_field_id(PATH_FIELD)
        if path is None:
            return (Segment(node.start_byte, GLOBAL), *reversed(found))
        node = path
    if node is None or node.type not in _WORDS or node.is_missing:
        return ()
    found.append(Segment(node.start_byte, text.cut(*node.byte_range)))
    return tuple(reversed(found))


def _read_renamed(node: Node, prefix: tuple[Segment, ...], text: SourceText, found: list[UsedName]) -> None:
    path, alias = node.child_by_field_id(PATH_FIELD), node.child_by_field_id(ALIAS_FIELD)
    segments = prefix + read_path(path, text)
    if segments and alias is not None and not alias.is_missing:
        renamed = Segment(alias.start_byte, text.cut(*alias.byte_range))
        found.append(UsedName(segments[:-1], segments[-1], renamed, *node.byte_range))


def _global(node: Node, text: SourceText) -> tuple[Segment, ...]:
    is_global = text.bytewise.startswith("::", node.start_byte)
    return (Segment(node.start_byte, GLOBAL),) if is_global else ()
