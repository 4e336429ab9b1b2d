"""The actions that patterns name by their captures, for languages with symbols.

Every action takes the region of its node as the region of what it defines. Parts that several actions know:

- `@name`: what is defined; `@body`: a part that opens no scope of its own; `@type`: the declared type;
- `@bases`: a list of base types; `@unseen`: there may be members that are not written in the body;
- `@until`: the name is visible after this part, with `(#set! visible file)` everywhere and with
  `(#set! visible end)` after the node; otherwise it is visible after itself;
- `(#set! unbound)`: no plain name can mean it; `(#set! each)`: all matches at one node count, not only the first;
- `(#set! space type|tag|value)`: the name space, if it does not follow from the kind.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NONE, SUPER, THIS, BindReason, DefinitionKind
from codeplane.languages.queries.patterns import SKIP, Action, Match
from codeplane.languages.queries.rules import CLASS, FUNCTION, HEADER, MEMBER, SPACES, VALUE
from codeplane.languages.queries.walking import (
    ALONE,
    AS_KEYWORD,
    AS_TAG,
    AS_TYPE,
    IGNORED,
    UNBOUND,
    Walk,
)

_END_OF_SIGNATURE: Final = re.compile(r"(?:\s|=>|->|[={;:]|\bdo\b|\bwhere\b)+$")
_MARKS: Final = MappingProxyType(
    {"alone": ALONE, "ignored": IGNORED, "keyword": AS_KEYWORD, "tag": AS_TAG, "type": AS_TYPE, "unbound": UNBOUND}
)


def signature(walk: Walk, start: int, end: int) -> str:
    """Return the text between a name and its body."""
    return _END_OF_SIGNATURE.sub("", walk.folded(start, max(start, end)))


def visible_from(match: Match) -> int:
    """Return the offset from which a name is visible, NONE for its own."""
    if "until" in match.parts:
        return match["until"].end_byte
    if not match.settings:
        return NONE
    visible = match.settings.get("visible")
    return 0 if visible == "file" else match.node.end_byte if visible == "end" else NONE


def define_class(  # noqa: PLR0913 - what constructs of a language may say besides the match
    walk: Walk,
    match: Match,
    kind: DefinitionKind,
    *,
    owner: str = "",
    bases: tuple[int, ...] | None = None,
    has_unseen: bool = False,
    always_has_members: bool = False,
) -> int:
    """Define a class or the like, with a scope for its header and one for its members; return the number of the latter.

    `owner` is the path before its name. `@end` is where its signature ends, if not where its body begins.
    """
    node, name, body = match.node, match["name"], match.get("body")
    text = f"{owner}.{walk.cut(name)}" if owner else walk.cut(name)
    walk.open_scope(HEADER, name.end_byte, node.end_byte, text)
    members = NONE
    if body is not None or always_has_members:
        region = body.byte_range if body is not None else (node.end_byte, node.end_byte)
        walk.merged.add(region[0])
        members = walk.open_scope(CLASS, *region, text)
        walk.scopes[members].has_unseen = has_unseen or "unseen" in match
    end = body.start_byte if body is not None else node.end_byte
    if "end" in match:
        end = match.all("end")[-1].end_byte
    walk.define(
        *(kind, name.byte_range, node.byte_range),
        path=walk.path_of(text),
        body_scope=members,
        visible_from=0,
        is_bound=not owner,
        signature=signature(walk, name.end_byte, end),
        bases=tuple(walk.type_start(base) for base in _bases(match)) if bases is None else bases,
        is_doubtful="doubt" in match,
        space=_space(match),
    )
    return members


def _bases(match: Match) -> Iterator[Node]:
    """Yield the base types in the parts `@bases`, with `(#set! bases FIELD)` only those in a field."""
    field = match.settings.get("bases")
    for part in match.all("bases"):
        children = part.named_children if field is None else part.children_by_field_name(field)
        # The words between the types may be in the field as well.
        yield from (child for child in children if child.is_named)


def define_function(walk: Walk, match: Match, kind: DefinitionKind | None = None) -> int:
    """Define a function or a method, with a scope from its name on; return the number of the scope.

    `@begin` is where the scope begins, if not after the name. `@owner` is a type of which it is a member. The signature
    ends at `@end` or the body; with `(#set! signature parameters)` it is the part `@parameters`. A function of the name
    `(#set! unbound-name NAME)` is bound to nothing.
    """
    node, name, body, begin, end = match.node, match["name"], match.get("body"), match.get("begin"), match.get("end")
    owner = ""
    if (owner_type := match.get("owner")) is not None:
        owner_name = walk.type_name(owner_type)
        owner = walk.cut(owner_name) if owner_name is not None else walk.folded(*owner_type.byte_range)
    path = f"{owner}.{walk.cut(name)}" if owner else walk.cut(name)
    if kind is None:
        kind = DefinitionKind.METHOD if walk.is_in_class() else DefinitionKind.FUNCTION
    scope = walk.open_scope(FUNCTION, name.end_byte if begin is None else begin.start_byte, node.end_byte, path)
    # Members of the owner come before what is outside.
    walk.scopes[scope].has_unseen = bool(owner)
    if body is not None:
        walk.merged.add(body.start_byte)
    last = end or body
    if "signature" in match:
        parameters = match.get("parameters")
        text = walk.folded(*parameters.byte_range) if parameters is not None else ""
    else:
        text = signature(walk, name.end_byte, last.start_byte if last is not None else node.end_byte)
    walk.define(
        *(kind, name.byte_range, node.byte_range),
        path=walk.path_of(path),
        body_scope=scope,
        signature=text,
        owner=owner,
        visible_from=visible_from(match),
        is_bound=not owner and "unbound" not in match and walk.cut(name) != match.settings.get("unbound-name"),
        space=_space(match),
    )
    return scope


def define(walk: Walk, match: Match, kind: DefinitionKind) -> None:
    """Define something that has little more than a name.

    `(#set! member KIND)` is the kind of a member of a class; a `@constant` is always a CONSTANT. With `(#set! global)`
    it belongs to the file, and `(#set! offset N)` leaves out the first N characters of its name.
    """
    name = match["name"]
    if name.is_missing:
        return
    if "constant" in match:
        kind = DefinitionKind.CONSTANT
    elif "member" in match and walk.is_in_class():
        kind = DefinitionKind[str(match.settings["member"]).upper()]
    start = name.start_byte + int(match.settings.get("offset") or 0)
    walk.define(
        *(kind, (start, name.end_byte), match.node.byte_range),
        path=walk.cut(name) if "global" in match else "",
        scope=0 if "global" in match else None,
        type_ref=walk.type_start(match.get("type")),
        visible_from=visible_from(match),
        is_bound="unbound" not in match,
        space=_space(match),
    )


def bind(walk: Walk, match: Match, kind: DefinitionKind) -> None:
    """Define a variable or a parameter in the current scope; with `(#set! span PART)` its region is a part of the node.

    With `(#set! weak)` it is defined only if nothing else has been said of the name.
    """
    name = match["name"]
    if "weak" in match and name.start_byte in walk.marks:
        return
    span = match[match.settings["span"] or ""] if "span" in match else match.node
    bind_name(walk, name, span, kind, type_ref=walk.type_start(match.get("type")), visible_from=visible_from(match))


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
    """Define a variable or a parameter in the current scope or another."""
    text = walk.cut(name)
    walk.define(
        *(kind, name.byte_range, node.byte_range),
        name=text,
        scope=walk.scope if scope is None else scope,
        path=walk.path_inside(text),
        type_ref=type_ref,
        visible_from=visible_from,
        reason=_REASONS.get(kind, BindReason.DEF_IN_SCOPE),
    )


def assign_name(walk: Walk, name: Node, node: Node, through: frozenset[str], *, visible_from: int = NONE) -> None:
    """Define a variable where it is first assigned, unless a scope around it that is looked through has it."""
    if not walk.sees_value(walk.cut(name), name.start_byte, through):
        bind_name(walk, name, node, visible_from=visible_from)


def _assign(walk: Walk, match: Match) -> None:
    """Define a variable at its first assignment; blocks of the kinds in the file's `assigned-through` see those around.

    With `(#set! span name)` its region is its name.
    """
    name = match["name"]
    assign_name(walk, name, name if "span" in match else match.node, walk.rules.assigned_through)


def _open_scope(kind: str) -> Action:
    """Open a scope over a node or its `@region`, unless it is the body of something that has opened one.

    With `(#set! always)` it is opened even so.
    """

    def act(walk: Walk, match: Match) -> None:
        node = match.get("region") or match.node
        if node.start_byte not in walk.merged or "always" in match:
            scope = walk.open_scope(kind, *node.byte_range)
            walk.scopes[scope].has_unseen = "unseen" in match
        for body in match.all("body"):
            walk.merged.add(body.start_byte)

    return act


def _condition(walk: Walk, match: Match) -> None:
    """Let definitions in a node be conditional."""
    walk.open_condition(*match.node.byte_range)


def _mark(mark: str) -> Action:
    """Say what a name is before it is met; with `(#set! weak)` only if nothing else has been said."""

    def act(walk: Walk, match: Match) -> None:
        start = match.node.start_byte
        if "weak" not in match or start not in walk.marks:
            walk.marks[start] = _MARKS[mark]

    return act


def _merge(walk: Walk, match: Match) -> None:
    """Let a node open no scope of its own."""
    walk.merged.add(match.node.start_byte)


def _take_marked(walk: Walk, match: Match) -> int:
    """Take a name only if something has been said of it; `(#set! offset N)` leaves out N characters before it."""
    start = match.node.start_byte + int(match.settings.get("offset") or 0)
    if start in walk.marks:
        walk.take(start, match.node.end_byte, VALUE)
    return SKIP


def _package(walk: Walk, match: Match) -> None:
    """Remember the package of the file; its name is not looked up."""
    walk.package = walk.package or walk.joined(match.node)
    walk.marks[match.node.start_byte] = UNBOUND


def _import(walk: Walk, match: Match) -> None:
    """Add an import of `@source` without the characters of `strip`; `(#set! imported NAME)` is what it imports.

    With `(#set! weak)` a node that something else has dealt with is left out.
    """
    if "weak" in match and match.node.start_byte in walk.merged:
        return
    walk.add_import(
        match.settings["kind"] or "",
        match.node.byte_range,
        walk.cut(match["source"]).strip(match.settings.get("strip") or ""),
        imported_name=match.settings.get("imported"),
    )


def _nothing(_walk: Walk, _match: Match) -> None:
    """Do nothing: the pattern sets properties of the file."""


def _space(match: Match) -> int | None:
    space = match.settings.get("space")
    return None if space is None else SPACES[space]


def _of_kind(act: Callable[[Walk, Match, DefinitionKind], object]) -> Callable[[str], Action]:
    def action(kind: str) -> Action:
        known = DefinitionKind[kind.upper()]

        def run(walk: Walk, match: Match) -> None:
            act(walk, match, known)

        return run

    return action


def _function(kind: str) -> Action:
    known = DefinitionKind[kind.upper()] if kind else None

    def act(walk: Walk, match: Match) -> None:
        define_function(walk, match, known)

    return act


_REASONS: Final = MappingProxyType(
    {DefinitionKind.PARAMETER: BindReason.PARAM, DefinitionKind.VARIABLE: BindReason.LOCAL_ASSIGN}
)
_SPACE_OF: Final = {**SPACES, "member": MEMBER}
ACTIONS: Final[Mapping[str, Callable[[str], Action | int]]] = MappingProxyType(
    {
        "file": lambda _: _nothing,
        "skip": lambda _: SKIP,
        "take": _SPACE_OF.__getitem__,
        "this": lambda _: THIS,
        "super": lambda _: SUPER,
        "class": _of_kind(define_class),
        "function": _function,
        "define": _of_kind(define),
        "bind": _of_kind(bind),
        "assign": lambda _: _assign,
        "scope": _open_scope,
        "condition": lambda _: _condition,
        "mark": _mark,
        "marked": lambda _: _take_marked,
        "merge": lambda _: _merge,
        "package": lambda _: _package,
        "import": lambda _: _import,
    }
)
