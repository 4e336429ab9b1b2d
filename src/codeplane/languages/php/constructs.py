"""The constructs of PHP that a pattern cannot express."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NONE, SUPER, THIS, DefinitionKind
from codeplane.languages.nodes import child_of_kind, last_named
from codeplane.languages.queries.actions import assign_name
from codeplane.languages.queries.patterns import SKIP, Match
from codeplane.languages.queries.rules import CLASS, FUNCTION, MEMBER, MODULE, VALUE
from codeplane.languages.queries.walking import ALONE, Walk

_TARGETS: Final = frozenset({"list_literal", "pair", "by_ref"})


def take_variable(walk: Walk, match: Match) -> int:
    """Take `$x` as a whole, a property after `::` or in its declaration without the dollar, and `$this` as no name."""
    start, end = match.node.byte_range
    if walk.text.cut(start, end) == "$this":
        walk.remember(THIS, end)
    elif start + 1 in walk.marks and start not in walk.marks:
        walk.take(start + 1, end, MEMBER)
    elif walk.bytewise.startswith("::", start - 2):
        walk.receivers[start + 1] = walk.receiver_of(start)
        walk.take(start + 1, end, MEMBER)
    else:
        walk.marks.setdefault(start, ALONE)
        walk.take(start, end, VALUE)
    return SKIP


def take_relative_scope(walk: Walk, match: Match) -> int:
    """Take `self`, `static` or `parent` before `::`."""
    walk.remember(SUPER if walk.cut(match.node) == "parent" else THIS, match.node.end_byte)
    return SKIP


def find_namespaces(walk: Walk, match: Match) -> None:
    """Note where each namespace without braces ends: at the next one, or with the file."""
    starts = [each.start_byte for each in match.node.named_children if each.type == "namespace_definition"]
    for start, end in pairwise([*starts, walk.scopes[0].end]):
        walk.notes["end of namespace", start] = end


def declare_namespace(walk: Walk, match: Match) -> None:
    """Define a namespace."""
    node, name, body = match.node, match["name"], match.get("body")
    path = walk.cut(name)
    walk.package = walk.package or path
    if body is not None:
        region = body.byte_range
        walk.merged.add(body.start_byte)
    else:
        region = (node.end_byte, walk.notes.get(("end of namespace", node.start_byte), walk.scopes[0].end))
    scope = walk.open_scope(MODULE, *region, path)
    last = last_named(name)
    if last is not None:
        walk.define(
            *(DefinitionKind.MODULE, last.byte_range, (node.start_byte, max(node.end_byte, region[1]))),
            path=path,
            body_scope=scope,
            is_bound=False,
        )


def import_names(walk: Walk, match: Match) -> None:
    """Add the imports of a `use` declaration."""
    prefix, group = child_of_kind(match.node, "namespace_name"), child_of_kind(match.node, "namespace_use_group")
    for clause in (group or match.node).named_children:
        if clause.type == "namespace_use_clause":
            _add_use(walk, clause, walk.cut(prefix) if prefix is not None and group is not None else "")


def _add_use(walk: Walk, clause: Node, prefix: str) -> None:
    path, alias = child_of_kind(clause, "qualified_name", "name"), clause.child_by_field_name("alias")
    if path is None or path == alias:
        return
    last = path if path.type == "name" else last_named(path)
    if last is None:
        return
    name = walk.cut(last)
    inner = walk.text.cut(path.start_byte, last.start_byte)
    source = "\\".join(part.strip("\\") for part in (prefix, inner) if part.strip("\\"))
    local = walk.cut(alias) if alias is not None else name
    walk.add_import(
        *("php_use", clause.byte_range, source),
        imported_name=name,
        alias=local if alias is not None else None,
        local_name=local,
        names=[each.start_byte for each in (last, alias) if each is not None],
    )


def open_closure(walk: Walk, match: Match) -> None:
    """Open the scope of a closure, in which the variables it uses are those around it."""
    node = match.node
    outer = walk.scopes[walk.scope].places
    used = child_of_kind(node, "anonymous_function_use_clause")
    scope = walk.open_scope(FUNCTION, *node.byte_range)
    if used is not None:
        # The parameters come before the variables that are used, which belong to the scope around.
        walk.set_aside(scope, *used.byte_range)
    for name in _variables_in(used) if used is not None else ():
        places = outer.get(walk.cut(name))
        if places:
            walk.scopes[scope].places[walk.cut(name)] = list(places)


def _variables_in(node: Node) -> Iterator[Node]:
    """Yield the variables that a target of an assignment sets."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.type == "variable_name":
            yield each
        elif each is node or each.type in _TARGETS:
            waiting.extend(reversed(each.named_children))


def declare_promoted(walk: Walk, match: Match) -> None:
    """Define the property of a promoted parameter."""
    name, scope = match["name"], walk.scope
    while scope != NONE and walk.scopes[scope].kind != CLASS:
        scope = walk.scopes[scope].parent
    if scope == NONE:
        return
    start, end = name.start_byte + 1, name.end_byte
    text = walk.text.cut(start, end)
    path = walk.scopes[scope].path
    walk.define(
        *(DefinitionKind.PROPERTY, (start, end), match.node.byte_range),
        path=f"{path}.{text}" if path else text,
        scope=scope,
        type_ref=walk.type_start(match.get("type")),
    )
    walk.marks.pop(start, None)


def assign(walk: Walk, match: Match) -> None:
    """Define the variables that an assignment sets."""
    _assign(walk, match["target"], match.node)


def _assign(walk: Walk, target: Node, node: Node) -> None:
    for name in _variables_in(target):
        if walk.cut(name) != "$this":
            assign_name(walk, name, node, walk.rules.assigned_through)


def assign_loop_variables(walk: Walk, match: Match) -> None:
    """Define the variables of `foreach`."""
    for target in match.node.named_children[1:]:
        if target.type == "variable_name" or target.type in _TARGETS:
            _assign(walk, target, target)
