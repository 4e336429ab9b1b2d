"""The constructs of C that a pattern cannot express, above all declarators: `*f(int a)[3]` wraps what it names.

C++ uses most of them as well.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.languages.facts import NONE, BindReason, DefinitionKind
from codeplane.languages.queries.patterns import Match
from codeplane.languages.queries.rules import CLASS, FUNCTION, HEADER, SPACES, TAG, VALUE
from codeplane.languages.queries.walking import AS_TAG, Walk

_WRAPPERS: Final = frozenset(
    {
        *("abstract_function_declarator", "array_declarator", "attributed_declarator", "function_declarator"),
        *("init_declarator", "parenthesized_declarator", "pointer_declarator", "pointer_type_declarator"),
        *("reference_declarator", "variadic_declarator"),
    }
)
_NAMES: Final = frozenset(
    {
        *("destructor_name", "field_identifier", "identifier", "operator_cast", "operator_name"),
        *("qualified_identifier", "structured_binding_declarator", "template_function", "type_identifier"),
    }
)
_PLAIN_NAMES: Final = frozenset({"field_identifier", "identifier", "type_identifier", "operator_name"})
KINDS: Final = {
    "class_specifier": DefinitionKind.CLASS,
    "enum_specifier": DefinitionKind.ENUM,
    "struct_specifier": DefinitionKind.STRUCT,
    "union_specifier": DefinitionKind.STRUCT,
}


class Declared(NamedTuple):
    """What one declarator declares.

    `call` is the part with the parameters that is nearest to the name; `is_function` says that the name itself is what
    takes them. `n_pointers` counts the pointers around the name, `is_list` says that it is an array.
    """

    name: Node
    call: Node | None
    is_function: bool
    n_pointers: int
    is_list: bool


def declared(declarator: Node) -> Declared | None:
    """Return what a declarator declares, None when it has no name."""
    call: Node | None = None
    nearest = ""
    n_pointers = 0
    is_list = False
    node: Node | None = declarator
    while node is not None and node.type in _WRAPPERS:
        kind = node.type
        if kind == "function_declarator":
            call = node
        n_pointers += kind in {"pointer_declarator", "pointer_type_declarator"}
        is_list = is_list or kind == "array_declarator"
        if kind != "parenthesized_declarator":
            nearest = kind
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((child for child in reversed(node.named_children) if not child.is_extra), None)
        node = inner
    if node is None or node.is_missing or node.type not in _NAMES:
        return None
    return Declared(node, call, nearest == "function_declarator", n_pointers, is_list)


def declarators(node: Node) -> Iterator[Declared]:
    """Yield what each declarator of a declaration declares."""
    for child in node.children_by_field_name("declarator"):
        found = declared(child)
        if found is not None:
            yield found


def last_name(walk: Walk, node: Node | None) -> tuple[Node | None, str]:
    """Return what is named last in a qualified name (`c` of `a::b<T>::c`), and the path before it."""
    owners: list[str] = []
    name = node
    while name is not None and name.type in {"qualified_identifier", "template_type", "template_function"}:
        if name.type == "qualified_identifier":
            owner = name.child_by_field_name("scope")
            inner = owner.child_by_field_name("name") if owner is not None else None
            owners += [walk.cut(part) for part in (inner or owner,) if part is not None]
        name = name.child_by_field_name("name")
    return name, ".".join(owners)


def open_parameters(walk: Walk, call: Node, end: int, name: str) -> int:
    """Open the scope of the parameters of something, up to an end; return its number."""
    parameters = call.child_by_field_name("parameters")
    begin = parameters.start_byte if parameters is not None else call.end_byte
    walk.merged.add(begin)
    return walk.open_scope(FUNCTION, begin, end, name)


def open_parameters_alone(walk: Walk, match: Match) -> None:
    """Open a scope for parameters that no declaration around them has opened."""
    start = match["parameters"].start_byte
    if start not in walk.merged:
        walk.open_scope(FUNCTION, start, match.node.end_byte)


def signature(walk: Walk, type_node: Node | None, found: Declared) -> str:
    """Return the parameters and the result of a function."""
    if found.call is None:
        return ""
    begin = found.name.end_byte
    text = walk.folded(begin, max(begin, found.call.end_byte))
    if type_node is None or type_node.start_byte >= begin:
        return text
    result = walk.folded(type_node.start_byte, found.name.start_byte)
    return f"{text} -> {result}" if " -> " not in text else text


def _variable_type(walk: Walk, type_node: Node | None, found: Declared) -> int:
    """Return where the type of a variable is named, NONE when its members are not those of that type."""
    if found.n_pointers > 1 or found.is_list or found.call is not None:
        return NONE
    return walk.type_start(type_node)


def define_composite(walk: Walk, node: Node, *, space: int, name: str = "") -> int:
    """Define a struct, union, class or enum with a body; return the scope of its members, NONE when there is none.

    Without a name of its own it is not a definition, but `name` is the path of its members.
    """
    body = node.child_by_field_name("body")
    if body is None or body.start_byte in walk.merged:
        return NONE
    walk.merged.add(body.start_byte)
    kind = KINDS[node.type]
    name_node, owner = last_name(walk, node.child_by_field_name("name"))
    own_name = walk.cut(name_node) if name_node is not None else ""
    qualified = f"{owner}.{own_name}" if owner else own_name
    members = walk.open_scope(_members_scope(node, kind), *body.byte_range, qualified or name)
    bases = _bases(walk, node)
    walk.scopes[members].has_unseen = bool(bases)
    if name_node is not None:
        text = walk.folded(name_node.end_byte, body.start_byte)
        walk.define(
            kind,
            name_node.byte_range,
            node.byte_range,
            body_scope=members,
            signature=text,
            bases=bases,
            space=space,
            path=walk.path_of(qualified),
            is_bound=not owner,
            scope=_outside_of_structs(walk) if space == TAG else None,
        )
    return members


def _bases(walk: Walk, node: Node) -> tuple[int, ...]:
    """Return where the base classes are named."""
    clause = next((child for child in node.named_children if child.type == "base_class_clause"), None)
    if clause is None:
        return ()
    kinds = {"type_identifier", "qualified_identifier", "template_type"}
    return tuple(walk.type_start(child) for child in clause.named_children if child.type in kinds)


def _members_scope(node: Node, kind: DefinitionKind) -> str:
    """Enumerators belong to the scope around the enum, unless it is an `enum class`."""
    if kind is not DefinitionKind.ENUM:
        return CLASS
    return CLASS if any(child.type in {"class", "struct"} for child in node.children[:3]) else HEADER


def _outside_of_structs(walk: Walk) -> int:
    scope = walk.binding_scope()
    while walk.scopes[scope].kind == CLASS:
        scope = walk.scopes[scope].parent
    return scope


def declare_composite(walk: Walk, match: Match) -> None:
    """Define a struct or an enum of C, or say what a mention of one is."""
    node, name = match.node, match.get("name")
    if "body" in match:
        define_composite(walk, node, space=TAG)
    elif name is not None:
        walk.marks[name.start_byte] = AS_TAG
        if walk.bytewise.startswith(";", node.end_byte):
            walk.define(
                *(KINDS[node.type], name.byte_range, node.byte_range),
                space=TAG,
                is_weak=True,
                scope=_outside_of_structs(walk),
            )


def declare_enumerator(walk: Walk, match: Match) -> None:
    """Define an enumerator of C, which belongs to the scope around all structs."""
    scope = _outside_of_structs(walk)
    walk.define(DefinitionKind.CONSTANT, match["name"].byte_range, match.node.byte_range, scope=scope)


def declare_function(walk: Walk, match: Match) -> None:
    """Define a function of C with a body."""
    found = declared(match["declarator"])
    if found is None or found.call is None or not found.is_function:
        return
    walk.merged.add(match["body"].start_byte)
    scope = open_parameters(walk, found.call, match.node.end_byte, walk.cut(found.name))
    walk.define(
        *(DefinitionKind.FUNCTION, found.name.byte_range, match.node.byte_range),
        body_scope=scope,
        signature=signature(walk, match.node.child_by_field_name("type"), found),
    )


def declare_type(walk: Walk, match: Match) -> None:
    """Define what a typedef names; `(#set! tags SPACE)` is where the names of structs are kept."""
    node = match.node
    type_node = node.child_by_field_name("type")
    found = list(declarators(node))
    members = NONE
    if type_node is not None and type_node.type in KINDS and found:
        space = SPACES[match.settings["tags"] or ""]
        members = define_composite(walk, type_node, space=space, name=walk.cut(found[0].name))
    for each in found:
        is_same = each.call is None and not each.is_list and each.n_pointers < 2
        walk.define(
            *(DefinitionKind.TYPE, each.name.byte_range, node.byte_range),
            body_scope=members if is_same else NONE,
            type_ref=_variable_type(walk, type_node, each) if members == NONE else NONE,
        )
        if each.call is not None:
            open_parameters(walk, each.call, each.call.end_byte, walk.cut(each.name))


def declare(walk: Walk, match: Match) -> None:
    """Define the variables and functions of a declaration."""
    node = match.node
    for each in declarators(node):
        define_declared(walk, node, each, is_extern=is_extern(walk, node))


def is_extern(walk: Walk, node: Node) -> bool:
    """Tell whether a declaration is of something that is elsewhere."""
    return any(child.type == "storage_class_specifier" and walk.cut(child) == "extern" for child in node.children)


def define_declared(walk: Walk, node: Node, found: Declared, *, is_extern: bool) -> None:
    """Define one variable or one function without a body."""
    if found.name.type not in _PLAIN_NAMES:
        return
    type_node = node.child_by_field_name("type")
    name = walk.cut(found.name)
    is_member = walk.is_in_class()
    if found.is_function:
        kind = DefinitionKind.METHOD if is_member else DefinitionKind.FUNCTION
    else:
        kind = DefinitionKind.FIELD if is_member else DefinitionKind.VARIABLE
    is_local = not is_member and walk.scope != 0
    walk.define(
        *(kind, found.name.byte_range, node.byte_range),
        signature=signature(walk, type_node, found) if found.is_function else "",
        type_ref=NONE if found.is_function else _variable_type(walk, type_node, found),
        is_weak=found.is_function or is_extern,
        reason=BindReason.LOCAL_ASSIGN if is_local and not found.is_function else BindReason.DEF_IN_SCOPE,
    )
    if found.call is not None:
        open_parameters(walk, found.call, found.call.end_byte, name)


def declare_parameter(walk: Walk, match: Match) -> None:
    """Define a parameter."""
    node = match.node
    type_node = node.child_by_field_name("type")
    for each in declarators(node):
        if each.name.type not in _PLAIN_NAMES or (type_node is not None and type_node.is_missing):
            continue
        walk.define(
            *(DefinitionKind.PARAMETER, each.name.byte_range, node.byte_range),
            scope=walk.scope,
            path=walk.path_inside(walk.cut(each.name)),
            type_ref=_variable_type(walk, type_node, each),
            reason=BindReason.PARAM,
        )
        if each.call is not None:
            open_parameters(walk, each.call, each.call.end_byte, walk.cut(each.name))


def declare_fields(walk: Walk, match: Match) -> None:
    """Define the fields of a declaration in a struct; those of an unnamed member belong to the struct around it."""
    node = match.node
    type_node = node.child_by_field_name("type")
    found = list(declarators(node))
    if type_node is not None and type_node.type in KINDS and type_node.child_by_field_name("name") is None:
        body = type_node.child_by_field_name("body")
        if body is not None and not found:
            walk.merged.add(body.start_byte)
            return
        if body is not None:
            define_composite(walk, type_node, space=VALUE, name=walk.cut(found[0].name))
    for each in found:
        define_declared(walk, node, each, is_extern=False)


def declare_macro(walk: Walk, match: Match) -> None:
    """Define a macro, which belongs to the file wherever it is."""
    parameters = match.get("parameters")
    walk.define(
        *(DefinitionKind.MACRO, match["name"].byte_range, match.node.byte_range),
        path=walk.cut(match["name"]),
        scope=0,
        signature=walk.folded(*parameters.byte_range) if parameters is not None else "",
    )


def open_condition(walk: Walk, match: Match) -> None:
    """Let what is in a branch be conditional, unless the branch only guards against a second inclusion."""
    node = match.node
    name = node.child_by_field_name("name")
    if name is not None and walk.bytewise.startswith("#ifndef", node.start_byte):
        after = name.next_named_sibling
        while after is not None and after.type == "comment":
            after = after.next_named_sibling
        guard = after.child_by_field_name("name") if after is not None and after.type == "preproc_def" else None
        if guard is not None and walk.cut(guard) == walk.cut(name):
            return
    walk.open_condition(*node.byte_range)
