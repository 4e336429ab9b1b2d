"""Kotlin."""

from collections.abc import Iterator
from typing import Final

import tree_sitter_kotlin
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
    define_function,
    define_type,
    defines,
    opens,
    signature,
)
from codeplane.languages.tables.rules import (
    BLOCK,
    CLASS,
    FUNCTION,
    LAMBDA,
    SKIP,
    VALUE,
    Scoping,
    SymbolRules,
    symbol_table,
)
from codeplane.languages.tables.symbols import extract_symbols
from codeplane.languages.tables.tree import first_named
from codeplane.languages.tables.walking import AS_KEYWORD, AS_TYPE, IGNORED, UNBOUND, Walk

_GRAMMAR: Final = Grammar(tree_sitter_kotlin.language())
_FIRST: Final = child("identifier")
_BODY: Final = child("class_body", "enum_class_body")
_TYPES: Final = frozenset({"user_type", "nullable_type", "non_nullable_type", "parenthesized_type"})


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the facts of a Kotlin file."""
    return extract_symbols(source, _RULES, clock)


def _meet_package(walk: Walk, node: Node) -> None:
    path = child("qualified_identifier")(node)
    if path is not None:
        walk.package = walk.folded(*path.byte_range).replace(" ", "")
        walk.marks[path.start_byte] = UNBOUND


def _meet_import(walk: Walk, node: Node) -> None:
    path, alias = child("qualified_identifier")(node), _FIRST(node)
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


def _meet_class(walk: Walk, node: Node) -> None:
    name, body = node.child_by_field_name("name"), _BODY(node)
    if name is None:
        return
    kind = DefinitionKind.CLASS
    if body is not None and body.type == "enum_class_body":
        kind = DefinitionKind.ENUM
    elif any(each.type == "interface" for each in node.children):
        kind = DefinitionKind.INTERFACE
    specifiers = child("delegation_specifiers")(node)
    constructor = child("primary_constructor")(node)
    has_companion = body is not None and any(each.type == "companion_object" for each in body.named_children)
    members = define_type(
        *(walk, node, kind, name, body),
        bases=_bases(specifiers),
        has_unseen=specifiers is not None or has_companion,
        always_has_members=True,
    )
    if constructor is not None:
        end = specifiers.end_byte if specifiers is not None else constructor.end_byte
        scope = walk.open_scope(FUNCTION, constructor.start_byte, end, walk.cut(name))
        _define_constructor_parameters(walk, constructor, scope, members)


def _define_constructor_parameters(walk: Walk, constructor: Node, scope: int, members: int) -> None:
    """Define the parameters of a primary constructor, which are properties if they are declared as such."""
    parameters = child("class_parameters")(constructor)
    for parameter in parameters.named_children if parameters is not None else ():
        name = _FIRST(parameter) if parameter.type == "class_parameter" else None
        if name is None:
            continue
        is_property = any(each.type in {"val", "var"} for each in parameter.children)
        text = walk.cut(name)
        walk.define(
            *(DefinitionKind.PROPERTY if is_property else DefinitionKind.PARAMETER, name.byte_range),
            parameter.byte_range,
            path=f"{walk.scopes[scope].path}.{text}",
            scope=members if is_property else scope,
            type_ref=_type_ref(parameter),
            visible_from=0,
        )
        if is_property:
            walk.scopes[scope].places[text] = walk.scopes[members].places[text][-1:]


def _bases(specifiers: Node | None) -> tuple[int, ...]:
    found = []
    for specifier in specifiers.named_children if specifiers is not None else ():
        node = first_named(specifier)
        if node is not None and node.type in {"constructor_invocation", "explicit_delegation"}:
            node = child("user_type")(node)
        found.append(_last_name(node))
    return tuple(found)


def _last_name(user_type: Node | None) -> int:
    """Return where a type is named: the last of `a.b.C<T>`."""
    node = user_type
    while node is not None and node.type in {"nullable_type", "non_nullable_type", "parenthesized_type"}:
        node = next((each for each in node.named_children if each.type in _TYPES), None)
    if node is None or node.type != "user_type":
        return NONE
    names = [each for each in node.named_children if each.type == "identifier"]
    return names[-1].start_byte if names else NONE


def _type_ref(node: Node) -> int:
    return _last_name(next((each for each in node.named_children if each.type in _TYPES), None))


def _meet_object(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        specifiers = child("delegation_specifiers")(node)
        define_type(
            *(walk, node, DefinitionKind.CLASS, name, _BODY(node)),
            bases=_bases(specifiers),
            has_unseen=specifiers is not None,
        )


def _meet_companion(walk: Walk, node: Node) -> None:
    if node.child_by_field_name("name") is not None:
        _meet_object(walk, node)
        return
    body = _BODY(node)
    members = NONE
    if body is not None:
        walk.merged.add(body.start_byte)
        members = walk.open_scope(CLASS, *body.byte_range, "Companion")
        walk.scopes[members].has_unseen = child("delegation_specifiers")(node) is not None
    place = (node.start_byte, node.start_byte)
    walk.define(*(DefinitionKind.CLASS, place, node.byte_range), name="Companion", body_scope=members, is_bound=False)


def _meet_class_body(walk: Walk, node: Node) -> None:
    """Open the members of something without a name."""
    if node.start_byte not in walk.merged:
        scope = walk.open_scope(CLASS, *node.byte_range)
        walk.scopes[scope].has_unseen = True


def _meet_function(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None:
        return
    receiver = next((each for each in node.named_children if each.type in _TYPES), None)
    owner = ""
    if receiver is not None and receiver.end_byte < name.start_byte:
        start = _last_name(receiver)
        owner = _name_at(walk, start) if start != NONE else walk.folded(*receiver.byte_range)
    generics = child("type_parameters")(node)
    begin = min(name.end_byte, generics.start_byte) if generics is not None else NONE
    is_owned = bool(owner)
    kind = DefinitionKind.FUNCTION if is_owned and not walk.is_in_class() else None
    scope = define_function(
        *(walk, node, name, child("function_body")(node)), begin=begin, kind=kind, owner=owner, is_bound=not is_owned
    )
    # Members of the receiver come before what is outside.
    walk.scopes[scope].has_unseen = is_owned


def _name_at(walk: Walk, start: int) -> str:
    end = start
    while walk.bytewise[end].isalnum() or walk.bytewise[end] in "_$`":
        end += 1
    return walk.text.cut(start, end)


def _meet_constructor(walk: Walk, node: Node) -> None:
    word = next((each for each in node.children if each.type == "constructor"), None)
    if word is None:
        return
    body = child("block")(node)
    scope = walk.open_scope(FUNCTION, word.end_byte, node.end_byte, "constructor")
    if body is not None:
        walk.merged.add(body.start_byte)
    walk.define(
        *(DefinitionKind.METHOD, word.byte_range, node.byte_range),
        body_scope=scope,
        signature=signature(walk, word.end_byte, body.start_byte if body is not None else node.end_byte),
        is_bound=False,
    )


def _meet_setter(walk: Walk, node: Node) -> None:
    scope = walk.open_scope(FUNCTION, *node.byte_range)
    name = _FIRST(node)
    if name is not None:
        bind_name(walk, name, name, DefinitionKind.PARAMETER, scope=scope)


def _meet_property(walk: Walk, node: Node) -> None:
    is_constant = walk.bytewise.startswith("const ", node.start_byte) or _has_modifier(walk, node, "const")
    is_member = walk.is_in_class()
    is_local = walk.scopes[walk.scope].kind in {FUNCTION, LAMBDA, BLOCK}
    kind = DefinitionKind.PROPERTY if is_member else DefinitionKind.VARIABLE
    receiver = next((each for each in node.named_children if each.type in _TYPES), None)
    for each in _variables(node):
        name = _FIRST(each)
        walk.merged.add(each.start_byte)
        if name is None or walk.cut(name) == "_":
            continue
        owner = _name_at(walk, _last_name(receiver)) if _last_name(receiver) != NONE else ""
        text = f"{owner}.{walk.cut(name)}" if owner else walk.cut(name)
        walk.define(
            *(DefinitionKind.CONSTANT if is_constant else kind, name.byte_range, node.byte_range),
            path=walk.path_of(text),
            owner=owner,
            type_ref=_type_ref(each),
            visible_from=node.end_byte if is_local else 0,
            is_bound=not owner,
        )


def _has_modifier(walk: Walk, node: Node, word: str) -> bool:
    modifiers = child("modifiers")(node)
    return modifiers is not None and any(walk.cut(each) == word for each in modifiers.named_children)


def _variables(node: Node) -> Iterator[Node]:
    """Yield the variables that are declared directly in a node, be it in parentheses."""
    for each in node.named_children:
        if each.type == "variable_declaration":
            yield each
        elif each.type == "multi_variable_declaration":
            yield from (inner for inner in each.named_children if inner.type == "variable_declaration")


def _meet_lambda_parameters(walk: Walk, node: Node) -> None:
    for each in _variables(node):
        walk.merged.add(each.start_byte)
        name = _FIRST(each)
        if name is not None and walk.cut(name) != "_":
            bind_name(walk, name, each, DefinitionKind.PARAMETER, type_ref=_type_ref(each))


def _meet_for(walk: Walk, node: Node) -> None:
    scope = walk.open_scope(BLOCK, *node.byte_range)
    declared = list(_variables(node))
    after = [each for each in node.named_children if declared and each.start_byte > declared[-1].end_byte]
    visible_from = after[0].end_byte if after else node.start_byte
    for each in declared:
        walk.merged.add(each.start_byte)
        name = _FIRST(each)
        if name is not None and walk.cut(name) != "_":
            bind_name(walk, name, each, type_ref=_type_ref(each), visible_from=visible_from, scope=scope)


def _meet_variable(walk: Walk, node: Node) -> None:
    name = _FIRST(node)
    if node.start_byte not in walk.merged and name is not None:
        bind_name(walk, name, node, type_ref=_type_ref(node))


def _meet_parameter(walk: Walk, node: Node) -> None:
    name = _FIRST(node)
    if name is not None:
        bind_name(walk, name, node, DefinitionKind.PARAMETER, type_ref=_type_ref(node))


def _meet_catch(walk: Walk, node: Node) -> None:
    scope = walk.open_scope(BLOCK, *node.byte_range)
    name, body = _FIRST(node), child("block")(node)
    if body is not None:
        walk.merged.add(body.start_byte)
    if name is not None:
        bind_name(walk, name, name, type_ref=_type_ref(node), scope=scope)


def _meet_type(walk: Walk, node: Node) -> None:
    walk.marks.setdefault(node.start_byte, AS_TYPE)


def _meet_alias(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("type")
    if name is not None:
        define_type(walk, node, DefinitionKind.TYPE, name, None)


def _meet_argument(walk: Walk, node: Node) -> None:
    parts = node.children[:2]
    if [part.type for part in parts] == ["identifier", "="]:
        walk.marks[parts[0].start_byte] = AS_KEYWORD


def _meet_label(walk: Walk, node: Node) -> None:
    label, name = child("label")(node), _FIRST(node)
    if label is not None and name is not None and walk.cut(label) in {"break@", "continue@", "return@"}:
        walk.marks[name.start_byte] = IGNORED


_RULES: Final = SymbolRules(
    _GRAMMAR,
    symbol_table(
        _GRAMMAR,
        {
            "identifier": VALUE,
            "user_type": _meet_type,
            "this_expression": THIS,
            "super_expression": SUPER,
            "package_header": _meet_package,
            "import": _meet_import,
            "class_declaration": _meet_class,
            "object_declaration": _meet_object,
            "companion_object": _meet_companion,
            "class_body": _meet_class_body,
            "enum_entry": defines(DefinitionKind.CONSTANT, _FIRST),
            "function_declaration": _meet_function,
            "secondary_constructor": _meet_constructor,
            "getter": opens(FUNCTION),
            "setter": _meet_setter,
            "property_declaration": _meet_property,
            "type_alias": _meet_alias,
            "type_parameter": binds(DefinitionKind.TYPE, _FIRST),
            "parameter": _meet_parameter,
            "lambda_literal": opens(LAMBDA),
            "lambda_parameters": _meet_lambda_parameters,
            "anonymous_function": opens(FUNCTION),
            "variable_declaration": _meet_variable,
            "for_statement": _meet_for,
            "when_expression": opens(BLOCK),
            "catch_block": _meet_catch,
            "block": opens(BLOCK),
            "value_argument": _meet_argument,
            "labeled_expression": _meet_label,
            "line_comment": SKIP,
            "block_comment": SKIP,
        },
    ),
    Scoping(
        ordered=frozenset({FUNCTION, LAMBDA, BLOCK}),
        blocked_in=frozenset({LAMBDA}),
        doubtful=frozenset({DefinitionKind.FUNCTION}),
    ),
    separators=("::", "."),
    suffixes="?!",
    tight=frozenset({"::"}),
)
LANGUAGE: Final = Language("kotlin", Depth.SYMBOLS, extract)
