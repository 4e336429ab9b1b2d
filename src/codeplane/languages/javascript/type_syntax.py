"""Read what only TypeScript has: aliases, enums, namespaces and the names that types bind inside of themselves."""

from tree_sitter import Node

from codeplane.languages.facts import KEYWORD, NO_RECEIVER, NONE, DefinitionKind
from codeplane.languages.javascript.classes import member_name, note_text_name
from codeplane.languages.javascript.declarations import open_function, open_type_parameters
from codeplane.languages.javascript.tables import (
    ALIAS_NAME,
    ENUM,
    ENUM_NAME,
    INTERFACE,
    LEXICAL,
    MODULE,
    MODULE_NAME,
    NAMESPACES,
    NO_SPACE,
    PARAMETER,
    TYPE,
    TYPES,
    VALUES,
)
from codeplane.languages.javascript.walking import DEFINITION, REFERENCE, Walk
from codeplane.languages.nodes import child_of_kind, name_of


def take_alias(walk: Walk, node: Node) -> bool:
    """Read `type A = …`; an alias of an object type has its properties as members."""
    name, value = name_of(node), node.child_by_field_name("value")
    if name is None:
        return True
    outer, text = walk.scope, walk.text.of(name)
    parameters = node.child_by_field_name("type_parameters")
    signature = walk.text.folded(*parameters.byte_range) if parameters is not None else ""
    path = walk.path_of(outer, text)
    open_type_parameters(walk, node, path)
    scope = NONE
    if value is not None and value.type == "object_type":
        scope = walk.open_scope(INTERFACE, value.byte_range, path)
        walk.bodies[value.start_byte] = scope
    definition = walk.describe(
        DefinitionKind.TYPE, outer, text, node, name.start_byte, body_scope=scope, signature=signature
    )
    walk.bind(outer, ALIAS_NAME, walk.define(definition))
    return True


def take_enum(walk: Walk, node: Node) -> bool:
    """Read an enum; its members see each other."""
    name, body = name_of(node), node.child_by_field_name("body")
    if name is None or body is None:
        return True
    outer, text = walk.scope, walk.text.of(name)
    path = walk.path_of(outer, text)
    scope = walk.open_scope(ENUM, body.byte_range, path)
    definition = walk.describe(DefinitionKind.ENUM, outer, text, node, name.start_byte, body_scope=scope)
    walk.bind(outer, ENUM_NAME, walk.define(definition))
    walk.marks[name.start_byte] = (DEFINITION, outer, VALUES, NO_RECEIVER)
    walk.enter(scope, this=None)
    for member in body.named_children:
        _define_enum_member(walk, member, scope)
    return True


def take_module(walk: Walk, node: Node) -> bool:
    """Read a namespace or an ambient module."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    parts = _module_parts(name)
    for position, part in enumerate(parts):
        outer = walk.scope
        begin, finish = part.byte_range
        is_text = part.type == "string"
        if is_text:
            begin, finish = begin + 1, finish - 1
        if finish <= begin:
            break
        text = walk.text.cut(begin, finish)
        path = walk.path_of(outer, text)
        scope = walk.open_scope(MODULE, node.byte_range, path, holds_var=True)
        definition = walk.describe(DefinitionKind.MODULE, outer, text, node, begin, path=path, body_scope=scope)
        number = walk.define(definition if position == 0 else definition._replace(documentation=""))
        if is_text:
            walk.take_text(begin, finish, outer)
        else:
            walk.bind(outer, MODULE_NAME, number)
            walk.marks[begin] = (DEFINITION, outer, NAMESPACES, NO_RECEIVER)
        walk.enter(scope, this=None)
    if body is not None:
        walk.bodies[body.start_byte] = walk.scope if parts else walk.open_scope(MODULE, node.byte_range, holds_var=True)
    return True


def take_function_type(walk: Walk, node: Node) -> bool:
    """Read the type of a function, whose parameters are seen in the rest of it."""
    parameters = node.child_by_field_name("parameters")
    has_names = parameters is not None and parameters.named_child_count > 0
    if has_names or node.child_by_field_name("type_parameters") is not None:
        open_function(walk, node, walk.tables.scopes[walk.scope].path, this=None)
    return True


def take_index_signature(walk: Walk, node: Node) -> bool:
    """Read `[key: string]: …` and `[K in …]: …`."""
    name = node.child_by_field_name("name")
    clause = child_of_kind(node, "mapped_type_clause")
    kind, flavour = DefinitionKind.PARAMETER, PARAMETER
    if clause is not None:
        name = clause.child_by_field_name("name")
        kind, flavour = DefinitionKind.TYPE, ALIAS_NAME
    scope = walk.open_scope(TYPE, node.byte_range)
    walk.enter(scope, this=None)
    if name is not None and name.end_byte > name.start_byte:
        walk.declare(kind, scope, name.byte_range, flavour)
    return True


def take_conditional(walk: Walk, node: Node) -> bool:
    """Read `A extends B ? C : D`: what B infers is seen in C only."""
    right, consequence = node.child_by_field_name("right"), node.child_by_field_name("consequence")
    if right is None or consequence is None:
        return True
    if "infer" in walk.text.bytewise[right.start_byte : right.end_byte]:
        extent = (right.start_byte, consequence.end_byte)
        walk.conditionals.append((walk.depth + 1, walk.scope, walk.open_scope(TYPE, extent)))
    return True


def take_question(walk: Walk, node: Node) -> bool:  # noqa: ARG001 - the shape of a handler
    """Enter the branch of a conditional type that sees what was inferred."""
    if walk.conditionals and walk.conditionals[-1][0] == walk.depth:
        walk.scope = walk.conditionals[-1][2]
    return False


def take_colon(walk: Walk, node: Node) -> bool:  # noqa: ARG001 - as above
    """Leave that branch."""
    while walk.conditionals and walk.conditionals[-1][0] > walk.depth:
        walk.conditionals.pop()
    if walk.conditionals and walk.conditionals[-1][0] == walk.depth:
        walk.scope = walk.conditionals.pop()[1]
    return False


def take_infer(walk: Walk, node: Node) -> bool:
    """Read `infer U`, which binds a type in a branch of the conditional type around it."""
    name = node.named_children[0] if node.named_child_count else None
    if name is None or name.type != "type_identifier" or not walk.conditionals or name.end_byte <= name.start_byte:
        return True
    scope = walk.conditionals[-1][2]
    if walk.text.of(name) in walk.tables.scopes[scope].places:
        walk.marks[name.start_byte] = (REFERENCE, scope, TYPES, NO_RECEIVER)
    else:
        walk.declare(DefinitionKind.TYPE, scope, name.byte_range, ALIAS_NAME)
    return True


def take_qualified_type(walk: Walk, node: Node) -> bool:
    """Read `A.B` in a type: A is a namespace."""
    module, name = node.child_by_field_name("module"), node.child_by_field_name("name")
    walk.marks[node.start_byte] = (REFERENCE, walk.scope, NAMESPACES, NO_RECEIVER)
    if name is not None and module is not None:
        while module.type == "nested_identifier":
            last = module.child_by_field_name("property")
            if last is None:
                return True
            module = last
        walk.marks[name.start_byte] = (REFERENCE, walk.scope, NO_SPACE, module.start_byte)
    return True


def take_tuple(walk: Walk, node: Node) -> bool:
    """Read a tuple type, whose members may have names that bind nothing."""
    for member in node.named_children:
        if member.type in {"required_parameter", "optional_parameter"}:
            name = member.child_by_field_name("name") or member.child_by_field_name("pattern")
            while name is not None and name.type == "rest_pattern" and name.named_child_count:
                name = name.named_children[0]
            if name is not None and name.type == "identifier":
                walk.marks[name.start_byte] = (REFERENCE, walk.scope, NO_SPACE, KEYWORD)
    return True


def _define_enum_member(walk: Walk, member: Node, scope: int) -> None:
    name = member.child_by_field_name("name") if member.type == "enum_assignment" else member
    text, extent = member_name(walk, name)
    if extent is None:
        return
    number = walk.define(walk.describe(DefinitionKind.CONSTANT, scope, text, member, extent[0]))
    walk.bind(scope, LEXICAL, number)
    note_text_name(walk, name, extent, scope)


def _module_parts(name: Node | None) -> list[Node]:
    """Return the parts of a dotted name, outermost first."""
    parts: list[Node] = []
    while name is not None and name.type == "nested_identifier":
        last = name.child_by_field_name("property")
        if last is not None:
            parts.append(last)
        name = name.child_by_field_name("object")
    if name is not None and name.type in {"identifier", "string"}:
        parts.append(name)
    return parts[::-1]
