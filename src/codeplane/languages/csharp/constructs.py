"""The constructs of C# that a pattern cannot express."""

from tree_sitter import Node

from codeplane.languages.facts import NONE, DefinitionKind
from codeplane.languages.nodes import child_of_kind, first_named, last_named
from codeplane.languages.queries.actions import bind_name, define_class, define_function
from codeplane.languages.queries.patterns import SKIP, Match
from codeplane.languages.queries.rules import CLASS, FUNCTION, MODULE, VALUE
from codeplane.languages.queries.walking import AS_TYPE, Walk

_KINDS = {
    "class_declaration": DefinitionKind.CLASS,
    "enum_declaration": DefinitionKind.ENUM,
    "interface_declaration": DefinitionKind.INTERFACE,
    "record_declaration": DefinitionKind.CLASS,
    "struct_declaration": DefinitionKind.STRUCT,
}


def mark_types(walk: Walk, match: Match) -> None:
    """Say which names are types."""
    for node in match.all("type"):
        _mark_type(walk, node)


def _mark_type(walk: Walk, type_node: Node | None) -> int:
    """Say that the first name of a type is not a value; return where the type itself is named."""
    node, named = type_node, NONE
    while node is not None:
        if node.type == "identifier":
            walk.marks.setdefault(node.start_byte, AS_TYPE)
            return node.start_byte if named == NONE else named
        if node.type == "generic_name":
            node = first_named(node)
        elif node.type == "qualified_name":
            last = node.child_by_field_name("name")
            named = last.start_byte if named == NONE and last is not None and last.type == "identifier" else named
            node = node.child_by_field_name("qualifier")
        elif node.type in {"nullable_type", "pointer_type", "ref_type", "scoped_type"}:
            node = node.child_by_field_name("type")
        else:
            if node.type == "array_type":
                _mark_type(walk, node.child_by_field_name("type"))
            return NONE
    return NONE


def _mark_field(walk: Walk, node: Node, field: str = "type") -> int:
    return _mark_type(walk, node.child_by_field_name(field))


def import_names(walk: Walk, match: Match) -> None:
    """Add what a `using` directive imports."""
    node = match.node
    alias, target = node.child_by_field_name("name"), last_named(node)
    if target is None or target == alias:
        return
    source = walk.joined(target)
    if alias is not None:
        name = walk.cut(alias)
        walk.add_import("csharp_using", node.byte_range, source, alias=name, local_name=name, names=[alias.start_byte])
    else:
        is_static = any(each.type == "static" for each in node.children)
        kind = "csharp_using_static" if is_static else "csharp_using"
        walk.add_import(kind, node.byte_range, source, imported_name="*")


def declare_namespace(walk: Walk, match: Match) -> None:
    """Define a namespace; one without braces lasts to the end of the file."""
    node, name, body = match.node, match["name"], match.get("body")
    region = (node.end_byte, walk.scopes[0].end)
    if body is not None:
        walk.merged.add(body.start_byte)
        region = body.byte_range
    path = walk.joined(name)
    walk.package = walk.package or path
    scope = walk.open_scope(MODULE, *region, path)
    last = name.child_by_field_name("name") or name
    walk.define(
        *(DefinitionKind.MODULE, last.byte_range, (node.start_byte, max(node.end_byte, region[1]))),
        path=walk.path_of(path),
        body_scope=scope,
        is_bound=last == name,
    )


def declare_class(walk: Walk, match: Match) -> None:
    """Define a type; a partial one may have members elsewhere."""
    node = match.node
    kind = _KINDS[node.type]
    if kind is DefinitionKind.CLASS and any(each.type == "struct" for each in node.children):
        kind = DefinitionKind.STRUCT
    bases = match.get("bases")
    starts = tuple(
        walk.type_start(each)
        for each in (bases.named_children if bases is not None else ())
        if each.type != "argument_list"
    )
    define_class(walk, match, kind, bases=starts, has_unseen=_has_modifier(walk, node, "partial"))


def _has_modifier(walk: Walk, node: Node, word: str) -> bool:
    return any(each.type == "modifier" and walk.cut(each) == word for each in node.named_children)


def declare_method(walk: Walk, match: Match) -> None:
    """Define a method, or a function in one, whose scope has its type parameters as well."""
    node = match.node
    _mark_type(walk, node.child_by_field_name("returns") or node.child_by_field_name("type"))
    is_local = node.type == "local_function_statement"
    begin = {**match.parts, "begin": [node]}
    settings = {"visible": "file"} if is_local else match.settings
    define_function(walk, Match(node, begin, settings), DefinitionKind.FUNCTION if is_local else None)


def declare_property(walk: Walk, match: Match) -> None:
    """Define a property or an event with accessors."""
    node = match.node
    name, type_ref = node.child_by_field_name("name"), _mark_field(walk, node)
    if name is not None:
        scope = walk.open_scope(FUNCTION, name.end_byte, node.end_byte, walk.cut(name))
        walk.define(
            *(DefinitionKind.PROPERTY, name.byte_range, node.byte_range),
            body_scope=scope,
            type_ref=type_ref,
            is_bound=child_of_kind(node, "explicit_interface_specifier") is None,
        )


def declare_fields(walk: Walk, match: Match) -> None:
    """Define the fields or local variables of a declaration."""
    declaration = child_of_kind(match.node, "variable_declaration")
    if declaration is None:
        return
    walk.merged.add(declaration.start_byte)
    kind = DefinitionKind.FIELD if walk.scopes[walk.scope].kind == CLASS else DefinitionKind.VARIABLE
    is_constant = _has_modifier(walk, match.node, "const")
    _define_variables(walk, match.node, declaration, DefinitionKind.CONSTANT if is_constant else kind)


def declare_variables(walk: Walk, match: Match) -> None:
    """Define the variables that a statement declares."""
    if match.node.start_byte not in walk.merged:
        _define_variables(walk, match.node, match.node, DefinitionKind.VARIABLE)


def _define_variables(walk: Walk, node: Node, declaration: Node, kind: DefinitionKind) -> None:
    type_ref = _mark_field(walk, declaration)
    for declarator in declaration.named_children:
        name = declarator.child_by_field_name("name") if declarator.type == "variable_declarator" else None
        if name is not None:
            bind_name(walk, name, node, kind, type_ref=type_ref)


def declare_variable(walk: Walk, match: Match) -> None:
    """Define the variable of a pattern, an argument, a catch or a query."""
    type_ref, name = _mark_field(walk, match.node), match.node.child_by_field_name("name")
    if name is not None and name.type == "identifier":
        bind_name(walk, name, match.node, type_ref=type_ref)


def declare_parameter(walk: Walk, match: Match) -> None:
    """Define a parameter."""
    type_ref = _mark_type(walk, match.get("type"))
    bind_name(walk, match["name"], match.node, DefinitionKind.PARAMETER, type_ref=type_ref)


def declare_params_array(walk: Walk, match: Match) -> None:
    """Define the parameter that takes any number of arguments."""
    bind_name(walk, match["name"], match["name"], DefinitionKind.PARAMETER)


def take_implicit_parameter(walk: Walk, match: Match) -> int:
    """Define the parameter of `x => …`, which is its own name."""
    bind_name(walk, match.node, match.node, DefinitionKind.PARAMETER)
    walk.take(*match.node.byte_range, VALUE)
    return SKIP


def declare_loop(walk: Walk, match: Match) -> None:
    """Define the variables of `foreach`, which are seen after the values."""
    node, left = match.node, match["left"]
    type_ref = _mark_field(walk, node)
    for name in [left] if left.type == "identifier" else left.children_by_field_name("name"):
        if name.type == "identifier":
            bind_name(walk, name, node, type_ref=type_ref, visible_from=match["until"].end_byte)
    walk.merged.add(left.start_byte)


def declare_tuple(walk: Walk, match: Match) -> None:
    """Define the variables of a tuple on the left of an assignment."""
    if match.node.start_byte not in walk.merged:
        for name in match.node.children_by_field_name("name"):
            if name.type == "identifier":
                bind_name(walk, name, match.node)
