"""The constructs of Scala that a pattern cannot express."""

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import EXPRESSION, NONE, DefinitionKind
from codeplane.languages.nodes import last_named
from codeplane.languages.queries.actions import bind_name, define_class
from codeplane.languages.queries.patterns import Match
from codeplane.languages.queries.rules import CLASS, HEADER, MODULE
from codeplane.languages.queries.walking import UNBOUND, Walk

_KINDS: Final = {
    "class_definition": DefinitionKind.CLASS,
    "enum_definition": DefinitionKind.ENUM,
    "trait_definition": DefinitionKind.TRAIT,
}
_PATTERNS: Final = frozenset(
    {
        *("alternative_pattern", "capture_pattern", "case_class_pattern", "given_pattern", "identifiers"),
        *("infix_pattern", "named_tuple_pattern", "repeat_pattern", "tuple_pattern", "typed_pattern"),
    }
)


def declare_package(walk: Walk, match: Match) -> None:
    """Define a package with a body, or remember the package of the file."""
    name, body = match["name"], match.get("body")
    walk.marks[name.start_byte] = UNBOUND
    path = walk.joined(name)
    if body is None:
        walk.package = f"{walk.package}.{path}" if walk.package else path
        return
    walk.merged.add(body.start_byte)
    scope = walk.open_scope(MODULE, *body.byte_range, path)
    walk.define(
        *(DefinitionKind.MODULE, (last_named(name) or name).byte_range, match.node.byte_range),
        path=walk.path_of(path),
        body_scope=scope,
        is_bound=False,
    )


def import_names(walk: Walk, match: Match) -> None:
    """Add the imports of a clause; the paths of several, separated by commas, are one list in the grammar."""
    path: list[Node] = []
    for each in match.node.children:
        if each.type == ",":
            _import_path(walk, match.node, path)
            path = []
        elif each.type in {"identifier", "operator_identifier"}:
            path.append(each)
        elif each.type == "namespace_wildcard":
            _import(walk, match.node, path, "given" if walk.cut(each) == "given" else "*")
            path = []
        elif each.type in {"as_renamed_identifier", "namespace_selectors"}:
            for selector in [each] if each.type != "namespace_selectors" else each.named_children:
                _import_selected(walk, match.node, path, selector)
            path = []
    _import_path(walk, match.node, path)


def _import_path(walk: Walk, node: Node, path: list[Node]) -> None:
    if len(path) > 1:
        _import(walk, node, path[:-1], walk.cut(path[-1]), [path[-1]])


def _import_selected(walk: Walk, node: Node, path: list[Node], selector: Node) -> None:
    if selector.type == "namespace_wildcard":
        _import(walk, node, path, "*")
    elif selector.type == "identifier":
        _import(walk, node, path, walk.cut(selector), [selector])
    elif selector.type in {"arrow_renamed_identifier", "as_renamed_identifier"}:
        name, alias = selector.child_by_field_name("name"), selector.child_by_field_name("alias")
        if name is not None and alias is not None and alias.type == "identifier":
            _import(walk, node, path, walk.cut(name), [name, alias])


def _import(walk: Walk, node: Node, path: list[Node], name: str, names: list[Node] | None = None) -> None:
    if not path:
        return
    walk.marks[path[0].start_byte] = UNBOUND
    alias = walk.cut(names[-1]) if names is not None and len(names) > 1 else None
    walk.add_import(
        *("scala_import", node.byte_range, ".".join(walk.cut(part) for part in path)),
        imported_name=name,
        alias=alias,
        local_name=(alias or name) if names is not None else "",
        names=[each.start_byte for each in names or ()],
    )


def declare_class(walk: Walk, match: Match) -> None:
    """Define a class with its parameters, which its whole body sees; some are members as well."""
    node = match.node
    members = define_class(walk, match, _KINDS[node.type], always_has_members=True)
    header = walk.scopes[members].parent
    for parameter in (each for one in node.children_by_field_name("class_parameters") for each in one.named_children):
        name = parameter.child_by_field_name("name") if parameter.type == "class_parameter" else None
        if name is None:
            continue
        is_member = "case" in match or any(each.type in {"val", "var"} for each in parameter.children)
        text = walk.cut(name)
        walk.define(
            *(DefinitionKind.PROPERTY if is_member else DefinitionKind.PARAMETER, name.byte_range),
            parameter.byte_range,
            path=f"{walk.scopes[members].path}.{text}",
            scope=members if is_member else header,
            type_ref=walk.type_start(parameter.child_by_field_name("type")),
            visible_from=0,
        )
        if is_member:
            walk.scopes[header].places[text] = walk.scopes[members].places[text][-1:]


def declare_enum_case(walk: Walk, match: Match) -> None:
    """Define a case of an enum, which may have parameters."""
    name, node = match["name"], match.node
    header = walk.open_scope(HEADER, name.end_byte, node.end_byte, walk.cut(name))
    walk.define(DefinitionKind.CONSTANT, name.byte_range, node.byte_range, body_scope=header)


def declare_given(walk: Walk, match: Match) -> None:
    """Define a given instance, which may have members and no name."""
    name, body = match.get("name"), match.get("body")
    members = NONE
    if body is not None and body.type in {"with_template_body", "template_body"}:
        walk.merged.add(body.start_byte)
        members = walk.open_scope(CLASS, *body.byte_range, walk.cut(name) if name is not None else "")
        walk.scopes[members].has_unseen = True
    if name is not None:
        walk.define(
            *(DefinitionKind.VARIABLE, name.byte_range, match.node.byte_range),
            body_scope=members,
            type_ref=walk.type_start(match.get("type")),
        )


def declare_values(walk: Walk, match: Match) -> None:
    """Define the variables or properties of a declaration."""
    pattern, is_member = match["pattern"], walk.is_in_class()
    for name in [pattern] if pattern.type == "identifier" else _names_in(walk, pattern):
        walk.define(
            DefinitionKind.PROPERTY if is_member else DefinitionKind.VARIABLE,
            name.byte_range,
            match.node.byte_range,
            type_ref=walk.type_start(match.get("type")),
            visible_from=0 if is_member else NONE,
        )


def _names_in(walk: Walk, pattern: Node) -> Iterator[Node]:
    """Yield the names that a pattern binds: those that begin with a small letter."""
    waiting = [pattern]
    while waiting:
        each = waiting.pop()
        if each.type == "identifier":
            first = walk.cut(each)[:1]
            if not first.isupper() and first != "`":
                yield each
        elif each.type in _PATTERNS:
            waiting.extend(reversed(each.named_children))


def declare_case(walk: Walk, match: Match) -> None:
    """Define the variables of a pattern in the scope of its case."""
    for name in _names_in(walk, match["pattern"]):
        bind_name(walk, name, name, visible_from=0)


def declare_enumerator(walk: Walk, match: Match) -> None:
    """Define the variables of a step of `for`, which are seen after its values."""
    for name in _names_in(walk, match["pattern"]):
        bind_name(walk, name, match.node, visible_from=match["values"].end_byte)


def chain_infix(walk: Walk, match: Match) -> None:
    """Let the word between two operands be a member of the first."""
    left = match["left"]
    if left.type == "field_expression":
        left = left.child_by_field_name("field") or left
    is_name = left.type == "identifier" and walk.cut(left) not in walk.rules.receiver_words
    walk.receivers[match["operator"].start_byte] = left.start_byte if is_name else EXPRESSION
