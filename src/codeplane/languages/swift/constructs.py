"""The constructs of Swift that a pattern cannot express."""

from collections.abc import Iterable, Iterator
from types import MappingProxyType
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NONE, DefinitionKind
from codeplane.languages.nodes import child_of_kind
from codeplane.languages.queries.actions import bind_name, define_class
from codeplane.languages.queries.patterns import SKIP, Match
from codeplane.languages.queries.rules import BLOCK, CLASS, FUNCTION
from codeplane.languages.queries.walking import AS_KEYWORD, IGNORED, UNBOUND, Walk

_KINDS: Final = MappingProxyType(
    {
        "actor": DefinitionKind.CLASS,
        "class": DefinitionKind.CLASS,
        "enum": DefinitionKind.ENUM,
        "protocol": DefinitionKind.INTERFACE,
        "struct": DefinitionKind.STRUCT,
    }
)
_IMPORT_KINDS: Final = frozenset({"typealias", "struct", "class", "enum", "protocol", "let", "var", "func"})


def import_names(walk: Walk, match: Match) -> None:
    """Add an import: `import struct A.B` names one thing, `import A.B` a module."""
    node = match.node
    path = child_of_kind(node, "identifier")
    parts = path.named_children if path is not None else []
    if path is None or not parts:
        return
    walk.marks[path.start_byte] = UNBOUND
    is_single = len(parts) > 1 and any(each.type in _IMPORT_KINDS for each in node.children)
    text = walk.joined(path)
    source, _, name = text.rpartition(".") if is_single else (text, "", "*")
    walk.add_import(
        *("swift_import", node.byte_range, source),
        imported_name=name,
        local_name=name if is_single else "",
        names=[parts[-1].start_byte] if len(parts) > 1 or not is_single else [],
    )


def declare_class(walk: Walk, match: Match) -> None:
    """Define a type, or open the members that an extension adds to one."""
    node = match.node
    word = next((each.type for each in node.children if each.type in _KINDS or each.type == "extension"), "class")
    if word == "extension":
        _open_extension(walk, match["name"], match["body"])
        return
    bases = tuple(walk.type_start(each) for each in node.named_children if each.type == "inheritance_specifier")
    # Extensions elsewhere may add members.
    define_class(walk, match, _KINDS[word], bases=bases, has_unseen=True)


def _open_extension(walk: Walk, name: Node, body: Node) -> None:
    parts = [walk.cut(each) for each in name.named_children if each.type == "type_identifier"] or [walk.cut(name)]
    walk.merged.add(body.start_byte)
    scope = walk.open_scope(CLASS, *body.byte_range, ".".join(parts))
    walk.scopes[scope].has_unseen = True
    walk.scopes[scope].owner = parts[-1]


def open_operator(walk: Walk, match: Match) -> None:
    """Open the scope of an operator, which has no name."""
    if match["operator"].type != "simple_identifier":
        walk.open_scope(FUNCTION, *match.node.byte_range)


def declare_parameter(walk: Walk, match: Match) -> None:
    """Define a parameter; the name that callers use is a label."""
    names = match.node.children_by_field_name("name")
    external = match.node.child_by_field_name("external_name")
    if external is not None:
        walk.marks[external.start_byte] = IGNORED if walk.cut(external) == "_" else AS_KEYWORD
    if names and names[0].type == "simple_identifier":
        if walk.cut(names[0]) == "_":
            walk.marks[names[0].start_byte] = IGNORED
        else:
            type_ref = walk.type_start(names[1]) if len(names) > 1 else NONE
            bind_name(walk, names[0], match.node, DefinitionKind.PARAMETER, type_ref=type_ref)


def declare_properties(walk: Walk, match: Match) -> None:
    """Define the variables or properties of a declaration."""
    node, is_member = match.node, walk.is_in_class()
    kind = DefinitionKind.PROPERTY if is_member else DefinitionKind.VARIABLE
    patterns = [each for each in node.children_by_field_name("name") if each.type == "pattern"]
    type_ref = walk.type_start(child_of_kind(node, "type_annotation")) if len(patterns) == 1 else NONE
    ends = [each.start_byte for each in patterns[1:]] + [node.end_byte]
    for pattern, end in zip(patterns, ends, strict=True):
        for name in _bound_names(pattern):
            walk.define(
                *(kind, name.byte_range, node.byte_range),
                type_ref=type_ref,
                visible_from=0 if is_member or walk.scope == 0 else end,
            )


def _bound_names(pattern: Node) -> Iterator[Node]:
    """Yield the names that a pattern binds after `let`: not labels and cases."""
    waiting = [pattern]
    while waiting:
        each = waiting.pop()
        bound = each.child_by_field_name("bound_identifier")
        inner = each.named_children
        if bound is not None:
            yield bound
        elif len(inner) == 1 and inner[0].type == "simple_identifier":
            yield inner[0]
        else:
            waiting.extend(reversed([part for part in inner if part.type == "pattern"]))


def bind_pattern(walk: Walk, match: Match) -> None:
    """Bind the names after `let` in a pattern, and tell labels from names."""
    for name in match.node.named_children:
        if name.type == "simple_identifier" and walk.bytewise.startswith(":", name.end_byte):
            walk.marks[name.start_byte] = AS_KEYWORD
    if child_of_kind(match.node, "value_binding_pattern") is not None:
        for name in _bound_names(match.node):
            if name.start_byte not in walk.marks:
                bind_name(walk, name, match.node)


def open_condition(walk: Walk, match: Match) -> None:
    """Open a scope for what the condition of `if` or `while` binds; it ends before `else`."""
    node = match.node
    other = next((each for each in node.children if each.type == "else"), node)
    end = other.start_byte if other is not node else node.end_byte
    _bind_condition(walk, node, walk.open_scope(BLOCK, node.start_byte, end))


def bind_condition(walk: Walk, match: Match) -> None:
    """Bind what the condition of `guard` binds."""
    _bind_condition(walk, match.node, walk.scope)


def _bind_condition(walk: Walk, node: Node, scope: int) -> None:
    """Bind what a condition binds; each name is seen after its own value."""
    is_binding = False
    waiting: list[Node] = []
    for index, each in enumerate(node.children):
        name = node.field_name_for_child(index)
        if name == "bound_identifier":
            waiting.append(each)
        elif name != "condition":
            if each.type in {",", "statements", "else", "{"}:
                _bind_all(walk, waiting, scope, each.start_byte)
                waiting = []
                is_binding = False
        elif each.type == "value_binding_pattern":
            is_binding = True
        elif each.type == "pattern" and is_binding and child_of_kind(each, "value_binding_pattern") is None:
            waiting.extend(_bound_names(each))
        elif each.type == "simple_identifier" and is_binding and walk.bytewise.startswith(":", each.end_byte):
            walk.marks[each.start_byte] = AS_KEYWORD
    _bind_all(walk, waiting, scope, node.end_byte)


def _bind_all(walk: Walk, names: Iterable[Node], scope: int, visible_from: int) -> None:
    for name in names:
        bind_name(walk, name, name, scope=scope, visible_from=visible_from)


def declare_loop(walk: Walk, match: Match) -> None:
    """Define the variables of a loop, which are seen after its values."""
    for name in _bound_names(match["item"]):
        bind_name(walk, name, match["item"], visible_from=match["until"].end_byte)


def open_directive(walk: Walk, match: Match) -> int:
    """Let what is between `#if` and `#endif` be conditional."""
    start, end = match.node.byte_range
    if walk.bytewise.startswith("#if", start):
        last = walk.bytewise.find("#endif", end)
        walk.open_condition(start, last if last >= 0 else walk.scopes[0].end)
    return SKIP
