"""Read `use` declarations into single names."""

from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.languages.block_scopes.texts import BlockText
from codeplane.languages.nodes import children_of, first_child

GLOBAL: Final = ""  # the first part of a path that starts with `::`
_WORDS: Final = frozenset({"identifier", "self", "super", "crate", "type_identifier"})


class Segment(NamedTuple):
    """A part of a path and where it is; the part before a leading `::` is nowhere."""

    start: int
    name: str


class UsedName(NamedTuple):
    """One imported name.

    `path` is what comes before it, `name` is None for everything of the path. `words` are the segments that are in
    this place of the tree and not in a part that is shared with other names.
    """

    path: tuple[Segment, ...]
    name: Segment | None
    alias: Segment | None
    start: int
    end: int


def read_use(argument: Node, text: BlockText) -> list[UsedName]:
    """Return the names that the tree of a `use` declaration imports, in order."""
    found: list[UsedName] = []
    waiting: list[tuple[Node, tuple[Segment, ...]]] = [(argument, ())]
    while waiting:
        node, prefix = waiting.pop()
        if node.type == "use_list":
            waiting.extend((child, prefix) for child in reversed(children_of(node)))
        elif node.type == "scoped_use_list":
            path, names = node.child_by_field_name("path"), node.child_by_field_name("list")
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


def read_path(node: Node | None, text: BlockText) -> tuple[Segment, ...]:
    """Return the parts of a path; nothing for a path with anything but names in it."""
    found: list[Segment] = []
    while node is not None and node.type == "scoped_identifier":
        name = node.child_by_field_name("name")
        if name is None or name.is_missing:
            return ()
        found.append(Segment(name.start_byte, text.of(name)))
        path = node.child_by_field_name("path")
        if path is None:
            return (Segment(node.start_byte, GLOBAL), *reversed(found))
        node = path
    if node is None or node.type not in _WORDS or node.is_missing:
        return ()
    found.append(Segment(node.start_byte, text.of(node)))
    return tuple(reversed(found))


def _read_renamed(node: Node, prefix: tuple[Segment, ...], text: BlockText, found: list[UsedName]) -> None:
    path, alias = node.child_by_field_name("path"), node.child_by_field_name("alias")
    segments = prefix + read_path(path, text)
    if segments and alias is not None and not alias.is_missing:
        renamed = Segment(alias.start_byte, text.of(alias))
        found.append(UsedName(segments[:-1], segments[-1], renamed, *node.byte_range))


def _global(node: Node, text: BlockText) -> tuple[Segment, ...]:
    is_global = text.bytewise.startswith("::", node.start_byte)
    return (Segment(node.start_byte, GLOBAL),) if is_global else ()
