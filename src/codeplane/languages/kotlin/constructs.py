"""The constructs of Kotlin that a pattern cannot express."""

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NONE, DefinitionKind
from codeplane.languages.nodes import child_of_kind
from codeplane.languages.queries.actions import bind_name, define_class
from codeplane.languages.queries.patterns import Match
from codeplane.languages.queries.rules import BLOCK, CLASS, FUNCTION, LAMBDA
from codeplane.languages.queries.walking import UNBOUND, Walk

_TYPES: Final = ("user_type", "nullable_type", "non_nullable_type", "parenthesized_type")


def import_names(walk: Walk, match: Match) -> None:
    """Add an import of one name or, with a star, of all names."""
    node = match.node
    path, alias = child_of_kind(node, "qualified_identifier"), child_of_kind(node, "identifier")
    if path is None:
        return
    parts = [each for each in path.named_children if each.type == "identifier"]
    walk.marks[path.start_byte] = UNBOUND
    if walk.bytewise.startswith(".*", path.end_byte):
        source = ".".join(walk.cut(part) for part in parts)
        walk.add_import("kotlin_import", node.byte_range, source, imported_name="*")
    elif parts:
        name = walk.cut(parts[-1])
        local = walk.cut(alias) if alias is not None else name
        walk.add_import(
            *("kotlin_import", node.byte_range, ".".join(walk.cut(part) for part in parts[:-1])),
            imported_name=name,
            alias=local if alias is not None else None,
            local_name=local,
            names=[each.start_byte for each in (parts[-1], alias) if each is not None],
        )


def declare_class(walk: Walk, match: Match) -> None:
    """Define a class with the parameters of its primary constructor, which may be properties."""
    body, constructor, bases = match.get("body"), match.get("constructor"), match.get("bases")
    kind = DefinitionKind.CLASS
    if body is not None and body.type == "enum_class_body":
        kind = DefinitionKind.ENUM
    elif any(each.type == "interface" for each in match.node.children):
        kind = DefinitionKind.INTERFACE
    has_companion = body is not None and child_of_kind(body, "companion_object") is not None
    members = define_class(walk, match, kind, has_unseen=has_companion, always_has_members=True)
    if constructor is None:
        return
    scope = walk.open_scope(FUNCTION, constructor.start_byte, (bases or constructor).end_byte, walk.cut(match["name"]))
    parameters = child_of_kind(constructor, "class_parameters")
    for parameter in parameters.named_children if parameters is not None else ():
        name = child_of_kind(parameter, "identifier") if parameter.type == "class_parameter" else None
        if name is None:
            continue
        is_property = any(each.type in {"val", "var"} for each in parameter.children)
        text = walk.cut(name)
        walk.define(
            *(DefinitionKind.PROPERTY if is_property else DefinitionKind.PARAMETER, name.byte_range),
            parameter.byte_range,
            path=f"{walk.scopes[scope].path}.{text}",
            scope=members if is_property else scope,
            type_ref=_type_ref(walk, parameter),
            visible_from=0,
        )
        if is_property:
            walk.scopes[scope].places[text] = walk.scopes[members].places[text][-1:]


def _type_ref(walk: Walk, node: Node) -> int:
    return walk.type_start(child_of_kind(node, *_TYPES))


def declare_companion(walk: Walk, match: Match) -> None:
    """Define a companion without a name."""
    body, start = match.get("body"), match.node.start_byte
    members = NONE
    if body is not None:
        walk.merged.add(body.start_byte)
        members = walk.open_scope(CLASS, *body.byte_range, "Companion")
        walk.scopes[members].has_unseen = "unseen" in match
    walk.define(
        *(DefinitionKind.CLASS, (start, start), match.node.byte_range),
        name="Companion",
        body_scope=members,
        is_bound=False,
    )


def declare_properties(walk: Walk, match: Match) -> None:
    """Define the variables or properties of a declaration, or the property of an extension."""
    node = match.node
    modifiers = child_of_kind(node, "modifiers")
    is_constant = modifiers is not None and any(walk.cut(each) == "const" for each in modifiers.named_children)
    is_local = walk.scopes[walk.scope].kind in {FUNCTION, LAMBDA, BLOCK}
    kind = DefinitionKind.PROPERTY if walk.is_in_class() else DefinitionKind.VARIABLE
    receiver = walk.type_name(child_of_kind(node, *_TYPES))
    owner = walk.cut(receiver) if receiver is not None else ""
    for variable, name in _variables(walk, node):
        text = f"{owner}.{walk.cut(name)}" if owner else walk.cut(name)
        walk.define(
            *(DefinitionKind.CONSTANT if is_constant else kind, name.byte_range, node.byte_range),
            path=walk.path_of(text),
            owner=owner,
            type_ref=_type_ref(walk, variable),
            visible_from=node.end_byte if is_local else 0,
            is_bound=not owner,
        )


def _variables(walk: Walk, node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield the variables that are declared directly in a node, and their names; `_` is not a name."""
    for each in node.named_children:
        several = each.named_children if each.type == "multi_variable_declaration" else [each]
        for variable in several:
            if variable.type == "variable_declaration":
                walk.merged.add(variable.start_byte)
                name = child_of_kind(variable, "identifier")
                if name is not None and walk.cut(name) != "_":
                    yield variable, name


def declare_lambda_parameters(walk: Walk, match: Match) -> None:
    """Define the parameters of a lambda."""
    for variable, name in _variables(walk, match.node):
        bind_name(walk, name, variable, DefinitionKind.PARAMETER, type_ref=_type_ref(walk, variable))


def declare_loop(walk: Walk, match: Match) -> None:
    """Open the scope of a loop and define its variables, which are seen after the values."""
    node = match.node
    scope = walk.open_scope(BLOCK, *node.byte_range)
    declared = list(_variables(walk, node))
    kinds = {"variable_declaration", "multi_variable_declaration"}
    places = [index for index, each in enumerate(node.named_children) if each.type in kinds]
    after = node.named_children[places[-1] + 1 :] if places else []
    visible_from = after[0].end_byte if after else node.start_byte
    for variable, name in declared:
        type_ref = _type_ref(walk, variable)
        bind_name(walk, name, variable, type_ref=type_ref, visible_from=visible_from, scope=scope)


def declare_variable(walk: Walk, match: Match) -> None:
    """Define a variable that no declaration around it has defined."""
    name = child_of_kind(match.node, "identifier")
    if match.node.start_byte not in walk.merged and name is not None:
        bind_name(walk, name, match.node, type_ref=_type_ref(walk, match.node))
