"""C#."""

from typing import Final

import tree_sitter_c_sharp
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import NONE, SUPER, THIS, DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.actions import (
    bind_name,
    binds,
    child,
    condition,
    define_function,
    define_type,
    defines,
    field,
    ignored,
    in_turn,
    keyword,
    opens,
)
from codeplane.languages.tables.rules import (
    BLOCK,
    CLASS,
    FUNCTION,
    LAMBDA,
    MODULE,
    SKIP,
    VALUE,
    Action,
    Scoping,
    SymbolRules,
    symbol_table,
)
from codeplane.languages.tables.symbols import extract_symbols
from codeplane.languages.tables.tree import first_named, last_named
from codeplane.languages.tables.walking import AS_KEYWORD, AS_TYPE, Walk

_GRAMMAR: Final = Grammar(tree_sitter_c_sharp.language())
_TYPE_LISTS: Final = frozenset({"identifier", "generic_name", "qualified_name", "nullable_type", "array_type"})


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the facts of a C# file."""
    return extract_symbols(source, _RULES, clock)


def _mark_type(walk: Walk, type_node: Node | None) -> int:
    """Say that the first name of a type is none of a value; return where the type itself is named."""
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
        elif node.type in {"nullable_type", "array_type", "pointer_type", "ref_type", "scoped_type"}:
            inner = node.child_by_field_name("type")
            if node.type == "array_type":
                _mark_type(walk, inner)
                return NONE
            node = inner
        else:
            return NONE
    return NONE


def _types(*fields: str) -> Action:
    """Return the action that says which names are types."""

    def mark(walk: Walk, node: Node) -> None:
        for name in fields:
            _mark_type(walk, node.child_by_field_name(name))

    return mark


def _mark_listed_types(walk: Walk, node: Node) -> None:
    for each in node.named_children:
        if each.type in _TYPE_LISTS:
            _mark_type(walk, each)


def _meet_using(walk: Walk, node: Node) -> None:
    alias = node.child_by_field_name("name")
    target = last_named(node)
    if target is None or target == alias:
        return
    source = walk.folded(*target.byte_range).replace(" ", "")
    is_static = any(each.type == "static" for each in node.children)
    if alias is not None:
        name = walk.cut(alias)
        walk.add_import("csharp_using", node.byte_range, source, alias=name, local_name=name, names=[alias.start_byte])
    else:
        kind = "csharp_using_static" if is_static else "csharp_using"
        walk.add_import(kind, node.byte_range, source, imported_name="*")


def _meet_namespace(walk: Walk, node: Node) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is not None and body is not None:
        walk.merged.add(body.start_byte)
        _define_namespace(walk, node, name, body.byte_range)


def _meet_namespace_of_file(walk: Walk, node: Node) -> None:
    """A namespace without braces lasts to the end of the file."""
    name = node.child_by_field_name("name")
    if name is not None:
        _define_namespace(walk, node, name, (node.end_byte, walk.scopes[0].end))


def _define_namespace(walk: Walk, node: Node, name: Node, region: tuple[int, int]) -> None:
    path = walk.folded(*name.byte_range).replace(" ", "")
    walk.package = walk.package or path
    scope = walk.open_scope(MODULE, *region, path)
    last = name.child_by_field_name("name") or name
    walk.define(
        *(DefinitionKind.MODULE, last.byte_range, (node.start_byte, max(node.end_byte, region[1]))),
        path=walk.path_of(path),
        body_scope=scope,
        is_bound=last == name,
    )


def _type(kind: DefinitionKind) -> Action:
    def meet(walk: Walk, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None:
            return
        bases = child("base_list")(node)
        is_partial = any(each.type == "modifier" and walk.cut(each) == "partial" for each in node.named_children)
        actual = kind
        if kind is DefinitionKind.CLASS and any(each.type == "struct" for each in node.children):
            actual = DefinitionKind.STRUCT
        define_type(
            *(walk, node, actual, name, body),
            bases=_bases(bases),
            has_unseen=bases is not None or is_partial,
            # `A` and `A<T>` are two types; the other one may be elsewhere.
            is_doubtful=child("type_parameter_list")(node) is not None,
        )

    return meet


def _bases(bases: Node | None) -> tuple[int, ...]:
    if bases is None:
        return ()
    found = []
    for each in bases.named_children:
        base = each.child_by_field_name("type") if each.type == "primary_constructor_base_type" else each
        while base is not None and base.type in {"generic_name", "qualified_name"}:
            base = first_named(base) if base.type == "generic_name" else base.child_by_field_name("name")
        if base is not None and base.type == "identifier":
            found.append(base.start_byte)
        elif each.type != "argument_list":
            found.append(NONE)
    return tuple(found)


def _meet_method(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    _mark_type(walk, node.child_by_field_name("returns") or node.child_by_field_name("type"))
    if name is not None:
        define_function(
            *(walk, node, name, node.child_by_field_name("body")),
            begin=node.start_byte,
            is_bound=child("explicit_interface_specifier")(node) is None,
        )


def _meet_constructor(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        # In a class its name is the class, not the constructor.
        define_function(walk, node, name, node.child_by_field_name("body"), is_bound=False)


def _meet_local_function(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    _mark_type(walk, node.child_by_field_name("type"))
    if name is not None:
        define_function(
            *(walk, node, name, node.child_by_field_name("body")),
            begin=node.start_byte,
            kind=DefinitionKind.FUNCTION,
            visible_from=0,
        )


def _meet_operator(walk: Walk, node: Node) -> None:
    _mark_type(walk, node.child_by_field_name("type"))
    walk.open_scope(FUNCTION, *node.byte_range)
    body = node.child_by_field_name("body")
    if body is not None:
        walk.merged.add(body.start_byte)


def _meet_property(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    type_ref = _mark_type(walk, node.child_by_field_name("type"))
    if name is not None:
        scope = walk.open_scope(FUNCTION, name.end_byte, node.end_byte, walk.cut(name))
        walk.define(
            *(DefinitionKind.PROPERTY, name.byte_range, node.byte_range),
            body_scope=scope,
            type_ref=type_ref,
            is_bound=child("explicit_interface_specifier")(node) is None,
        )


def _meet_delegate(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    _mark_type(walk, node.child_by_field_name("type"))
    if name is not None:
        is_generic = node.child_by_field_name("type_parameters") is not None
        define_type(walk, node, DefinitionKind.TYPE, name, None, is_doubtful=is_generic)


def _meet_fields(walk: Walk, node: Node) -> None:
    declaration = child("variable_declaration")(node)
    if declaration is None:
        return
    walk.merged.add(declaration.start_byte)
    is_constant = any(each.type == "modifier" and walk.cut(each) == "const" for each in node.named_children)
    is_member = walk.scopes[walk.scope].kind == CLASS
    kind = DefinitionKind.FIELD if is_member else DefinitionKind.VARIABLE
    _define_variables(walk, node, declaration, DefinitionKind.CONSTANT if is_constant else kind)


def _meet_variables(walk: Walk, node: Node) -> None:
    if node.start_byte not in walk.merged:
        _define_variables(walk, node, node, DefinitionKind.VARIABLE)


def _define_variables(walk: Walk, node: Node, declaration: Node, kind: DefinitionKind) -> None:
    type_ref = _mark_type(walk, declaration.child_by_field_name("type"))
    for declarator in declaration.named_children:
        name = declarator.child_by_field_name("name") if declarator.type == "variable_declarator" else None
        if name is not None:
            bind_name(walk, name, node, kind, type_ref=type_ref)


def _meet_variable(walk: Walk, node: Node) -> None:
    type_ref = _mark_type(walk, node.child_by_field_name("type"))
    name = node.child_by_field_name("name")
    if name is not None and name.type == "identifier":
        bind_name(walk, name, node, type_ref=type_ref)


def _meet_names_of_tuple(walk: Walk, node: Node) -> None:
    for name in node.children_by_field_name("name"):
        if name.type == "identifier":
            bind_name(walk, name, node)


def _meet_parameter(walk: Walk, node: Node) -> None:
    type_ref = _mark_type(walk, node.child_by_field_name("type"))
    name = node.child_by_field_name("name")
    if name is not None:
        bind_name(walk, name, node, DefinitionKind.PARAMETER, type_ref=type_ref)


def _meet_parameters(walk: Walk, node: Node) -> None:
    """A `params` array is no parameter of its own in the grammar."""
    name = node.child_by_field_name("name")
    if name is not None:
        type_node = node.child_by_field_name("type")
        _mark_type(walk, type_node)
        bind_name(walk, name, name, DefinitionKind.PARAMETER)


def _meet_single_parameter(walk: Walk, node: Node) -> int:
    bind_name(walk, node, node, DefinitionKind.PARAMETER)
    walk.take(*node.byte_range, VALUE)
    return SKIP


def _meet_foreach(walk: Walk, node: Node) -> None:
    scope = walk.open_scope(BLOCK, *node.byte_range)
    type_ref = _mark_type(walk, node.child_by_field_name("type"))
    name, values = node.child_by_field_name("left"), node.child_by_field_name("right")
    if name is None or values is None:
        return
    names = [name] if name.type == "identifier" else name.children_by_field_name("name")
    for each in names:
        if each.type == "identifier":
            bind_name(walk, each, node, type_ref=type_ref, visible_from=values.end_byte, scope=scope)
    walk.merged.add(name.start_byte)


def _meet_tuple(walk: Walk, node: Node) -> None:
    if node.start_byte not in walk.merged:
        _meet_names_of_tuple(walk, node)


def _meet_initializer(walk: Walk, node: Node) -> None:
    for each in node.named_children:
        name = each.child_by_field_name("left") if each.type == "assignment_expression" else None
        if name is not None and name.type == "identifier":
            walk.marks[name.start_byte] = AS_KEYWORD


def _meet_named_values(walk: Walk, node: Node) -> None:
    """Names before an equals sign in `new { A = 1 }` and `with { A = 1 }` are those of members."""
    previous: Node | None = None
    for each in node.children:
        if each.type == "=" and previous is not None and previous.type == "identifier":
            walk.marks[previous.start_byte] = AS_KEYWORD
        previous = each


def _meet_pattern_part(walk: Walk, node: Node) -> None:
    name = first_named(node)
    if name is not None and name.type == "identifier" and node.named_child_count > 1:
        walk.marks[name.start_byte] = AS_KEYWORD


_FIRST: Final = child("identifier")
_RULES: Final = SymbolRules(
    _GRAMMAR,
    symbol_table(
        _GRAMMAR,
        {
            "identifier": VALUE,
            "this": THIS,
            "base": SUPER,
            "using_directive": _meet_using,
            "namespace_declaration": _meet_namespace,
            "file_scoped_namespace_declaration": _meet_namespace_of_file,
            "class_declaration": _type(DefinitionKind.CLASS),
            "record_declaration": _type(DefinitionKind.CLASS),
            "struct_declaration": _type(DefinitionKind.STRUCT),
            "interface_declaration": _type(DefinitionKind.INTERFACE),
            "enum_declaration": _type(DefinitionKind.ENUM),
            "enum_member_declaration": defines(DefinitionKind.CONSTANT, field("name")),
            "delegate_declaration": _meet_delegate,
            "method_declaration": _meet_method,
            "constructor_declaration": _meet_constructor,
            "destructor_declaration": _meet_constructor,
            "operator_declaration": _meet_operator,
            "conversion_operator_declaration": _meet_operator,
            "indexer_declaration": _meet_operator,
            "property_declaration": _meet_property,
            "event_declaration": _meet_property,
            "field_declaration": _meet_fields,
            "event_field_declaration": _meet_fields,
            "local_declaration_statement": _meet_fields,
            "variable_declaration": _meet_variables,
            "local_function_statement": _meet_local_function,
            "parameter": _meet_parameter,
            "parameter_list": _meet_parameters,
            "implicit_parameter": _meet_single_parameter,
            "type_parameter": binds(DefinitionKind.TYPE, field("name")),
            "declaration_expression": _meet_variable,
            "declaration_pattern": _meet_variable,
            "recursive_pattern": _meet_variable,
            "catch_declaration": _meet_variable,
            "tuple_pattern": _meet_tuple,
            "from_clause": _meet_variable,
            "foreach_statement": _meet_foreach,
            "for_statement": opens(BLOCK),
            "while_statement": opens(BLOCK),
            "using_statement": opens(BLOCK),
            "fixed_statement": opens(BLOCK),
            "catch_clause": opens(BLOCK),
            "switch_section": opens(BLOCK),
            "switch_expression_arm": opens(BLOCK),
            "query_expression": opens(BLOCK),
            "block": opens(BLOCK),
            "lambda_expression": opens(LAMBDA),
            "anonymous_method_expression": opens(LAMBDA),
            "argument": keyword(field("name")),
            "attribute_argument": keyword(field("name")),
            "initializer_expression": _meet_initializer,
            "anonymous_object_creation_expression": _meet_named_values,
            "with_initializer": _meet_named_values,
            "subpattern": _meet_pattern_part,
            "labeled_statement": ignored(_FIRST),
            "goto_statement": ignored(_FIRST),
            "object_creation_expression": _types("type"),
            "array_creation_expression": _types("type"),
            "cast_expression": _types("type"),
            "as_expression": _types("right"),
            "typeof_expression": _types("type"),
            "default_expression": _types("type"),
            "type_parameter_constraint": _types("type"),
            "type_pattern": _types("type"),
            "tuple_element": in_turn(_types("type"), keyword(field("name"))),
            "primary_constructor_base_type": _types("type"),
            "attribute": _types("name"),
            "type_argument_list": _mark_listed_types,
            "base_list": _mark_listed_types,
            "preproc_if": condition,
            "preproc_elif": condition,
            "preproc_else": condition,
            "comment": SKIP,
            "string_literal": SKIP,
        },
    ),
    Scoping(
        ordered=frozenset({FUNCTION, LAMBDA, BLOCK}),
        doubtful=frozenset({DefinitionKind.FUNCTION}),
    ),
    separators=("->", "::", "."),
    suffixes="?!",
)
LANGUAGE: Final = Language("csharp", Depth.SYMBOLS, extract)
