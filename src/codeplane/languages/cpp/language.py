"""C++."""

from typing import Final

import tree_sitter_cpp
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.c.declaring import (
    COMPOSITES,
    Declared,
    declarators,
    declared,
    define_composite,
    define_declared,
    last_name,
    meet_condition,
    meet_fields,
    meet_include,
    meet_macro,
    meet_parameter,
    meet_parameters,
    meet_type_definition,
    open_parameters,
    signature,
)
from codeplane.languages.facts import KEYWORD, NONE, THIS, BindReason, DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.actions import opens
from codeplane.languages.tables.rules import (
    BLOCK,
    CLASS,
    FILE,
    FUNCTION,
    HEADER,
    LAMBDA,
    MEMBER,
    MODULE,
    SKIP,
    TYPE,
    TYPE_KINDS,
    VALUE,
    Action,
    Scoping,
    SymbolRules,
    symbol_table,
)
from codeplane.languages.tables.symbols import extract_symbols
from codeplane.languages.tables.tree import first_named, last_named
from codeplane.languages.tables.walking import ALONE, IGNORED, Walk

_GRAMMAR: Final = Grammar(tree_sitter_cpp.language())
_LOCAL: Final = frozenset({FUNCTION, LAMBDA, BLOCK})
_CASTS: Final = frozenset({"static_cast", "dynamic_cast", "reinterpret_cast", "const_cast"})


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the facts of a C++ file."""
    return extract_symbols(source, _RULES, clock)


def _meet_function(walk: Walk, node: Node) -> None:
    declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
    found = declared(declarator) if declarator is not None else None
    if found is None:
        return
    if found.call is None and found.name.type == "identifier":
        _meet_after_macro(walk, node, found)
        return
    if body is not None:
        walk.merged.add(body.start_byte)
    _define_function(walk, node, found, has_body=body is not None)


def _define_function(walk: Walk, node: Node, found: Declared, *, has_body: bool) -> None:
    """Define a function or method, wherever it stands."""
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
    if type_node.type not in COMPOSITES:
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


def _meet_declaration(walk: Walk, node: Node) -> None:
    type_node = node.child_by_field_name("type")
    is_extern = any(child.type == "storage_class_specifier" and walk.cut(child) == "extern" for child in node.children)
    for each in declarators(node):
        if each.name.type == "structured_binding_declarator":
            _define_parts(walk, node, each.name)
        elif _is_call_of_constructor(walk, each):
            variable = each._replace(call=None, is_function=False)
            define_declared(walk, node, type_node, variable, is_extern=is_extern)
        elif each.is_function or each.name.type == "operator_cast":
            _define_function(walk, node, each, has_body=False)
        else:
            define_declared(walk, node, type_node, each, is_extern=is_extern)


def _is_call_of_constructor(walk: Walk, found: Declared) -> bool:
    """Say whether a function declared in a function is more likely a variable: `Lock lock(mutex);`."""
    if not found.is_function or found.call is None or walk.scopes[walk.binding_scope()].kind not in _LOCAL:
        return False
    parameters = found.call.child_by_field_name("parameters")
    types = [each.child_by_field_name("type") for each in parameters.named_children] if parameters is not None else []
    return bool(types) and not any(each is not None and each.type == "primitive_type" for each in types)


def _define_parts(walk: Walk, node: Node, names: Node, visible_from: int = NONE) -> None:
    """Define the variables of a structured binding."""
    for name in names.named_children:
        if name.type == "identifier":
            walk.define(
                *(DefinitionKind.VARIABLE, name.byte_range, node.byte_range),
                visible_from=visible_from,
                reason=BindReason.LOCAL_ASSIGN,
            )


def _meet_range_loop(walk: Walk, node: Node) -> None:
    scope = walk.open_scope(BLOCK, *node.byte_range)
    values = node.child_by_field_name("right")
    visible_from = values.end_byte if values is not None else node.start_byte
    for each in declarators(node):
        names = each.name.named_children if each.name.type == "structured_binding_declarator" else [each.name]
        for name in names:
            if name.type == "identifier":
                walk.define(
                    *(DefinitionKind.VARIABLE, name.byte_range, (node.start_byte, visible_from)),
                    scope=scope,
                    visible_from=visible_from,
                    reason=BindReason.LOCAL_ASSIGN,
                )


def _meet_class(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if node.child_by_field_name("body") is not None:
        define_composite(walk, node, space=TYPE)
    elif name is not None and name.type == "type_identifier" and walk.bytewise.startswith(";", node.end_byte):
        kind = DefinitionKind.CLASS if node.type == "class_specifier" else DefinitionKind.STRUCT
        kind = DefinitionKind.ENUM if node.type == "enum_specifier" else kind
        walk.define(kind, name.byte_range, node.byte_range, is_weak=True)


def _meet_namespace(walk: Walk, node: Node) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if body is None:
        return
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


def _meet_template(walk: Walk, node: Node) -> None:
    """Open the scope of template parameters, which lasts to the end of what they are for."""
    inner = last_named(node)
    parameters = node.child_by_field_name("parameters")
    if inner is None or parameters is None:
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


def _meet_type_parameter(walk: Walk, node: Node) -> None:
    name = next((child for child in node.named_children if child.type == "type_identifier"), None)
    if name is not None:
        path = walk.path_inside(walk.cut(name))
        walk.define(DefinitionKind.TYPE, name.byte_range, node.byte_range, scope=walk.scope, path=path)


def _defines(kind: DefinitionKind) -> Action:
    """Return the action that defines something which has nothing but a name."""

    def meet(walk: Walk, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            walk.define(kind, name.byte_range, node.byte_range)

    return meet


def _meet_lambda(walk: Walk, node: Node) -> None:
    declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
    captures = node.child_by_field_name("captures")
    if body is None:
        return
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


def _meet_block(walk: Walk, node: Node) -> None:
    """Open a block; outside of functions there are none, but for what the grammar could not understand."""
    if node.start_byte not in walk.merged:
        is_outside = walk.scopes[walk.binding_scope()].kind in {FILE, MODULE}
        walk.open_scope(MODULE if is_outside else BLOCK, *node.byte_range)


def _meet_template_function(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None and walk.cut(name) in _CASTS:
        walk.marks[name.start_byte] = IGNORED


def _meet_result_type(walk: Walk, node: Node) -> None:
    """A type after an arrow is no member."""
    type_node = first_named(node)
    if type_node is not None:
        walk.marks.setdefault(type_node.start_byte, ALONE)


_RULES: Final = SymbolRules(
    _GRAMMAR,
    symbol_table(
        _GRAMMAR,
        {
            "identifier": VALUE,
            "type_identifier": VALUE,
            "namespace_identifier": TYPE,
            "field_identifier": MEMBER,
            "operator_name": VALUE,
            "destructor_name": VALUE,
            "this": THIS,
            "function_definition": _meet_function,
            "declaration": _meet_declaration,
            "parameter_declaration": meet_parameter,
            "optional_parameter_declaration": meet_parameter,
            "variadic_parameter_declaration": meet_parameter,
            "field_declaration": meet_fields,
            "type_definition": meet_type_definition(TYPE, TYPE),
            "class_specifier": _meet_class,
            "struct_specifier": _meet_class,
            "union_specifier": _meet_class,
            "enum_specifier": _meet_class,
            "enumerator": _defines(DefinitionKind.CONSTANT),
            "alias_declaration": _defines(DefinitionKind.TYPE),
            "concept_definition": _defines(DefinitionKind.TYPE),
            "namespace_alias_definition": _defines(DefinitionKind.MODULE),
            "namespace_definition": _meet_namespace,
            "template_declaration": _meet_template,
            "type_parameter_declaration": _meet_type_parameter,
            "optional_type_parameter_declaration": _meet_type_parameter,
            "variadic_type_parameter_declaration": _meet_type_parameter,
            "template_function": _meet_template_function,
            "trailing_return_type": _meet_result_type,
            "lambda_expression": _meet_lambda,
            "function_declarator": meet_parameters,
            "abstract_function_declarator": meet_parameters,
            "compound_statement": _meet_block,
            "for_statement": opens(BLOCK),
            "if_statement": opens(BLOCK),
            "while_statement": opens(BLOCK),
            "switch_statement": opens(BLOCK),
            "catch_clause": opens(BLOCK),
            "for_range_loop": _meet_range_loop,
            "preproc_include": meet_include("cpp_include"),
            "preproc_def": meet_macro,
            "preproc_function_def": meet_macro,
            "preproc_params": SKIP,
            "preproc_if": meet_condition,
            "preproc_ifdef": meet_condition,
            "preproc_elif": meet_condition,
            "preproc_elifdef": meet_condition,
            "preproc_else": meet_condition,
            "comment": SKIP,
            "string_literal": SKIP,
            "raw_string_literal": SKIP,
        },
    ),
    Scoping(ordered=frozenset({FUNCTION, LAMBDA, BLOCK}), doubtful=frozenset({DefinitionKind.FUNCTION})),
    separators=("->", "::", "."),
    leading={".": KEYWORD},
    type_kinds=TYPE_KINDS | {DefinitionKind.MODULE},
)
LANGUAGE: Final = Language("cpp", Depth.SYMBOLS, extract)
