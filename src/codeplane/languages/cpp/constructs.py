"""The constructs of C++ that a pattern cannot express, besides those it shares with C."""

from typing import Final

from tree_sitter import Node

from codeplane.languages.c.constructs import (
    KINDS,
    Declared,
    declarators,
    declared,
    define_composite,
    define_declared,
    is_extern,
    last_name,
    open_parameters,
    signature,
)
from codeplane.languages.facts import NONE, BindReason, DefinitionKind
from codeplane.languages.nodes import last_named
from codeplane.languages.queries.patterns import Match
from codeplane.languages.queries.rules import BLOCK, CLASS, FILE, FUNCTION, HEADER, LAMBDA, MODULE, TYPE
from codeplane.languages.queries.walking import IGNORED, Walk

_LOCAL: Final = frozenset({FUNCTION, LAMBDA, BLOCK})


def declare_function(walk: Walk, match: Match) -> None:
    """Define a function with a body, or what the grammar takes for one."""
    node, body, found = match.node, match.get("body"), declared(match["declarator"])
    if found is None:
        return
    if found.call is None and found.name.type == "identifier":
        _meet_after_macro(walk, node, found)
        return
    if body is not None:
        walk.merged.add(body.start_byte)
    _define_function(walk, node, found, has_body=body is not None)


def _define_function(walk: Walk, node: Node, found: Declared, *, has_body: bool) -> None:
    """Define a function or method, wherever it is."""
    name_node, owner = last_name(walk, found.name)
    if name_node is None:
        return
    call, name_range = found.call, name_node.byte_range
    if name_node.type == "operator_cast":
        call = name_node.child_by_field_name("declarator")
        name_range = (name_node.start_byte, call.start_byte if call is not None else name_node.end_byte)
    if call is None:
        return
    name = walk.text.cut(*name_range)
    path = f"{owner}.{name}" if owner else name
    scope = open_parameters(walk, call, node.end_byte if has_body else call.end_byte, path)
    walk.scopes[scope].has_unseen = bool(owner)
    is_member = walk.is_in_class()
    walk.define(
        *(DefinitionKind.METHOD if owner or is_member else DefinitionKind.FUNCTION, name_range, node.byte_range),
        path=walk.path_of(path),
        body_scope=scope if has_body else NONE,
        signature=signature(walk, node.child_by_field_name("type"), found._replace(call=call)),
        owner=owner.rpartition(".")[2],
        is_weak=not has_body,
        # Overloads may be anywhere.
        is_doubtful=not is_member,
        # In a class its name is the class, not the constructor.
        is_bound=not owner and not (is_member and walk.path_inside("").endswith(name)),
    )


def _meet_after_macro(walk: Walk, node: Node, found: Declared) -> None:
    """Define a class or a namespace that is preceded by a macro, which the grammar takes for a function."""
    type_node, body = node.child_by_field_name("type"), node.child_by_field_name("body")
    if type_node is None or body is None:
        return
    if type_node.type not in KINDS:
        _meet_namespace_after_macro(walk, node, found.name, body)
        return
    walk.merged.add(body.start_byte)
    members = walk.open_scope(CLASS, *body.byte_range, walk.cut(found.name))
    walk.scopes[members].has_unseen = True
    kind = DefinitionKind.CLASS if type_node.type == "class_specifier" else DefinitionKind.STRUCT
    walk.define(kind, found.name.byte_range, node.byte_range, body_scope=members)


def _meet_namespace_after_macro(walk: Walk, node: Node, name: Node, body: Node) -> None:
    """Define a namespace that the grammar takes for a function, with an error at either its word or its name."""
    errors = [walk.cut(each) for each in node.children if each.is_error]
    if errors == ["namespace"]:
        walk.merged.add(body.start_byte)
        _define_namespace(walk, node, [name], body)
    elif errors and walk.cut(name) == "namespace":
        walk.marks[name.start_byte] = IGNORED
        walk.merged.add(body.start_byte)
        walk.open_scope(MODULE, *body.byte_range, errors[0].replace("::", "."))


def declare(walk: Walk, match: Match) -> None:
    """Define the variables and functions of a declaration."""
    node = match.node
    extern = is_extern(walk, node)
    for each in declarators(node):
        if each.name.type == "structured_binding_declarator":
            _define_parts(walk, node, each.name)
        elif _is_call_of_constructor(walk, each):
            define_declared(walk, node, each._replace(call=None, is_function=False), is_extern=extern)
        elif each.is_function or each.name.type == "operator_cast":
            _define_function(walk, node, each, has_body=False)
        else:
            define_declared(walk, node, each, is_extern=extern)


def _is_call_of_constructor(walk: Walk, found: Declared) -> bool:
    """Say whether a function declared in a function is more likely a variable: `Lock lock(mutex);`."""
    if not found.is_function or found.call is None or walk.scopes[walk.binding_scope()].kind not in _LOCAL:
        return False
    parameters = found.call.child_by_field_name("parameters")
    types = [each.child_by_field_name("type") for each in parameters.named_children] if parameters is not None else []
    return bool(types) and not any(each is not None and each.type == "primitive_type" for each in types)


def _define_parts(walk: Walk, node: Node, names: Node) -> None:
    """Define the variables of a structured binding."""
    for name in names.named_children:
        if name.type == "identifier":
            walk.define(*(DefinitionKind.VARIABLE, name.byte_range, node.byte_range), reason=BindReason.LOCAL_ASSIGN)


def declare_loop(walk: Walk, match: Match) -> None:
    """Define the variables of a loop over a range, which are seen after the range."""
    node, values = match.node, match.get("until")
    visible_from = values.end_byte if values is not None else node.start_byte
    for each in declarators(node):
        names = each.name.named_children if each.name.type == "structured_binding_declarator" else [each.name]
        for name in names:
            if name.type == "identifier":
                walk.define(
                    *(DefinitionKind.VARIABLE, name.byte_range, (node.start_byte, visible_from)),
                    scope=walk.scope,
                    path=walk.path_of(walk.cut(name)),
                    visible_from=visible_from,
                    reason=BindReason.LOCAL_ASSIGN,
                )


def declare_class(walk: Walk, match: Match) -> None:
    """Define a class, struct, union or enum, or a mere declaration of one."""
    node, name = match.node, match.get("name")
    if "body" in match:
        define_composite(walk, node, space=TYPE)
    elif name is not None and name.type == "type_identifier" and walk.bytewise.startswith(";", node.end_byte):
        walk.define(KINDS[node.type], name.byte_range, node.byte_range, is_weak=True)


def declare_namespace(walk: Walk, match: Match) -> None:
    """Define a namespace."""
    node, name, body = match.node, match.get("name"), match["body"]
    if name is None:
        # What is in a namespace without a name is seen around it.
        walk.open_scope(HEADER, *body.byte_range)
        return
    _define_namespace(walk, node, name.named_children if name.type == "nested_namespace_specifier" else [name], body)


def _define_namespace(walk: Walk, node: Node, parts: list[Node], body: Node) -> None:
    path = ".".join(walk.cut(part) for part in parts)
    scope = walk.open_scope(MODULE, *body.byte_range, path)
    walk.define(
        *(DefinitionKind.MODULE, parts[-1].byte_range, node.byte_range),
        path=walk.path_of(path),
        body_scope=scope,
        is_bound=len(parts) == 1,
    )


def open_template(walk: Walk, match: Match) -> None:
    """Open the scope of template parameters, which lasts to the end of what they are for."""
    node, parameters = match.node, match["parameters"]
    inner = last_named(node)
    if inner is None:
        return
    walk.begins[inner.start_byte] = walk.begins.get(node.start_byte, node.start_byte)
    scope = walk.open_scope(HEADER, parameters.start_byte, node.end_byte, _template_name(walk, inner))
    walk.scopes[scope].is_wrapper = True


def _template_name(walk: Walk, node: Node) -> str:
    declarator = node.child_by_field_name("declarator")
    found = declared(declarator) if declarator is not None else None
    name = found.name if found is not None else node.child_by_field_name("name")
    while name is not None and name.type in {"qualified_identifier", "template_type", "template_function"}:
        name = name.child_by_field_name("name")
    return walk.cut(name) if name is not None else ""


def open_lambda(walk: Walk, match: Match) -> None:
    """Open the scope of a lambda and define what it captures under a new name."""
    node, body = match.node, match["body"]
    declarator, captures = node.child_by_field_name("declarator"), node.child_by_field_name("captures")
    begin = declarator.start_byte if declarator is not None else body.start_byte
    scope = walk.open_scope(LAMBDA, begin, node.end_byte)
    walk.merged.add(body.start_byte)
    parameters = declarator.child_by_field_name("parameters") if declarator is not None else None
    if parameters is not None:
        walk.merged.add(parameters.start_byte)
    for capture in captures.named_children if captures is not None else ():
        name = capture.child_by_field_name("left") if capture.type == "lambda_capture_initializer" else None
        if name is not None:
            walk.define(
                *(DefinitionKind.VARIABLE, name.byte_range, capture.byte_range),
                scope=scope,
                reason=BindReason.LOCAL_ASSIGN,
            )


def open_block(walk: Walk, match: Match) -> None:
    """Open a block; outside of functions there are blocks only where the grammar could not understand the text."""
    node = match.node
    if node.start_byte not in walk.merged:
        is_outside = walk.scopes[walk.binding_scope()].kind in {FILE, MODULE}
        walk.open_scope(MODULE if is_outside else BLOCK, *node.byte_range)
