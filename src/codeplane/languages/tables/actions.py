"""The actions that tables are made of."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NONE, BindReason, DefinitionKind
from codeplane.languages.tables.rules import BLOCK, CLASS, FUNCTION, HEADER, Action
from codeplane.languages.tables.walking import AS_KEYWORD, IGNORED, Walk

# Finds the part of a node that matters.
Finder = Callable[[Node], Node | None]

_END_OF_SIGNATURE: Final = re.compile(r"(?:\s|=>|->|[={;:]|\bdo\b|\bwhere\b)+$")
_LOCAL: Final = frozenset({DefinitionKind.VARIABLE})


def opens(kind: str = BLOCK) -> Action:
    """Return the action that opens a scope over a node."""

    def open_scope(walk: Walk, node: Node) -> None:
        if node.start_byte not in walk.merged:
            walk.open_scope(kind, *node.byte_range)

    return open_scope


def condition(walk: Walk, node: Node) -> None:
    """Say that what is defined in a node may not be there."""
    walk.open_condition(*node.byte_range)


def field(name: str) -> Finder:
    """Return the finder of the child in a field."""

    def find(node: Node) -> Node | None:
        return node.child_by_field_name(name)

    return find


def child(*kinds: str) -> Finder:
    """Return the finder of the first child of some kinds."""
    wanted = frozenset(kinds)

    def find(node: Node) -> Node | None:
        return next((each for each in node.named_children if each.type in wanted), None)

    return find


def keyword(find: Finder) -> Action:
    """Return the action that makes a name one that belongs to something not written here."""
    return _marks(find, AS_KEYWORD)


def ignored(find: Finder) -> Action:
    """Return the action that makes a name none: a label, a directive."""
    return _marks(find, IGNORED)


def _marks(find: Finder, mark: int) -> Action:
    def mark_name(walk: Walk, node: Node) -> None:
        name = find(node)
        if name is not None:
            walk.marks[name.start_byte] = mark

    return mark_name


def define_type(  # noqa: PLR0913 - one parameter per field of a fact
    walk: Walk,
    node: Node,
    kind: DefinitionKind,
    name: Node,
    body: Node | None,
    *,
    bases: tuple[int, ...] = (),
    has_unseen: bool = False,
    is_doubtful: bool = False,
    owner: str = "",
    end: int = NONE,
    always_has_members: bool = False,
    space: int | None = None,
) -> int:
    """Define a class or the like, with a scope for its header and one for its members; return the number of the latter.

    `has_unseen`: it may have members that are not written in this body. `owner` is the path before its name.
    """
    text = f"{owner}.{walk.cut(name)}" if owner else walk.cut(name)
    walk.open_scope(HEADER, name.end_byte, node.end_byte, text)
    members = NONE
    if body is not None or always_has_members:
        region = body.byte_range if body is not None else (node.end_byte, node.end_byte)
        walk.merged.add(region[0])
        members = walk.open_scope(CLASS, *region, text)
        walk.scopes[members].has_unseen = has_unseen
    if end == NONE:
        end = body.start_byte if body is not None else node.end_byte
    walk.define(
        *(kind, name.byte_range, node.byte_range),
        path=walk.path_of(text),
        body_scope=members,
        visible_from=0,
        is_bound=not owner,
        signature=signature(walk, name.end_byte, end),
        bases=bases,
        is_doubtful=is_doubtful,
        space=space,
    )
    return members


def define_function(  # noqa: PLR0913 - one parameter per field of a fact
    walk: Walk,
    node: Node,
    name: Node,
    body: Node | None,
    *,
    begin: int = NONE,
    kind: DefinitionKind | None = None,
    owner: str = "",
    visible_from: int = NONE,
    is_bound: bool = True,
    end: int = NONE,
) -> int:
    """Define a function or a method, with a scope from `begin` (or the end of its name) on; return the scope.

    `end` is where its signature ends, if not where its body begins.
    """
    text = walk.cut(name)
    path = f"{owner}.{text}" if owner else text
    if kind is None:
        kind = DefinitionKind.METHOD if walk.is_in_class() else DefinitionKind.FUNCTION
    scope = walk.open_scope(FUNCTION, name.end_byte if begin == NONE else begin, node.end_byte, path)
    if body is not None:
        walk.merged.add(body.start_byte)
    if end == NONE:
        end = body.start_byte if body is not None else node.end_byte
    walk.define(
        *(kind, name.byte_range, node.byte_range),
        path=walk.path_of(path),
        body_scope=scope,
        signature=signature(walk, name.end_byte, end),
        owner=owner,
        visible_from=visible_from,
        is_bound=is_bound,
    )
    return scope


def signature(walk: Walk, start: int, end: int) -> str:
    """Return what stands between a name and its body."""
    return _END_OF_SIGNATURE.sub("", walk.folded(start, max(start, end)))


def bind_name(  # noqa: PLR0913 - one parameter per field of a fact
    walk: Walk,
    name: Node,
    node: Node,
    kind: DefinitionKind = DefinitionKind.VARIABLE,
    *,
    type_ref: int = NONE,
    visible_from: int = NONE,
    scope: int | None = None,
) -> None:
    """Define a variable or a parameter in the current scope."""
    text = walk.cut(name)
    walk.define(
        kind,
        name.byte_range,
        node.byte_range,
        name=text,
        scope=walk.scope if scope is None else scope,
        path=walk.path_inside(text),
        type_ref=type_ref,
        visible_from=visible_from,
        reason=_reason(kind),
    )


def assign_name(walk: Walk, name: Node, node: Node, through: frozenset[str], *, visible_from: int = NONE) -> None:
    """Define a variable where it is first assigned, unless a scope around it that is looked through has it."""
    if not walk.sees_value(walk.cut(name), name.start_byte, through):
        bind_name(walk, name, node, visible_from=visible_from)


def _reason(kind: DefinitionKind) -> BindReason:
    if kind is DefinitionKind.PARAMETER:
        return BindReason.PARAM
    return BindReason.LOCAL_ASSIGN if kind in _LOCAL else BindReason.DEF_IN_SCOPE


def binds(kind: DefinitionKind, find: Finder) -> Action:
    """Return the action that defines a variable, a parameter or the like by its name."""

    def bind(walk: Walk, node: Node) -> None:
        name = find(node)
        if name is not None:
            bind_name(walk, name, node, kind)

    return bind


def defines(kind: DefinitionKind, find: Finder) -> Action:
    """Return the action that defines something which has nothing but a name."""

    def define(walk: Walk, node: Node) -> None:
        name = find(node)
        if name is not None and not name.is_missing:
            walk.define(kind, name.byte_range, node.byte_range)

    return define


def in_turn(*actions: Action) -> Action:
    """Return the action that does several things."""

    def act(walk: Walk, node: Node) -> None:
        for action in actions:
            action(walk, node)

    return act


def starts(nodes: Iterable[Node | None]) -> tuple[int, ...]:
    """Return where nodes begin, NONE for none."""
    return tuple(NONE if node is None else node.start_byte for node in nodes)
