"""Swift."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

import tree_sitter_swift
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import KEYWORD, NONE, SUPER, THIS, DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.actions import (
    bind_name,
    binds,
    child,
    define_function,
    define_type,
    defines,
    field,
    keyword,
    opens,
    signature,
)
from codeplane.languages.tables.rules import (
    BLOCK,
    CLASS,
    FUNCTION,
    LAMBDA,
    SKIP,
    TYPE,
    VALUE,
    Action,
    Scoping,
    SymbolRules,
    symbol_table,
)
from codeplane.languages.tables.symbols import extract_symbols
from codeplane.languages.tables.tree import first_named, last_named
from codeplane.languages.tables.walking import AS_KEYWORD, IGNORED, UNBOUND, Walk

_GRAMMAR: Final = Grammar(tree_sitter_swift.language())
_KINDS: Final = MappingProxyType(
    {
        "class": DefinitionKind.CLASS,
        "actor": DefinitionKind.CLASS,
        "struct": DefinitionKind.STRUCT,
        "enum": DefinitionKind.ENUM,
    }
)


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the facts of a Swift file."""
    return extract_symbols(source, _RULES, clock)


def _meet_import(walk: Walk, node: Node) -> None:
    path = child("identifier")(node)
    parts = path.named_children if path is not None else []
    if path is None or not parts:
        return
    walk.marks[path.start_byte] = UNBOUND
    # `import struct A.B` names one thing, `import A.B` a module.
    is_single = len(parts) > 1 and any(each.type in _IMPORT_KINDS for each in node.children)
    text = walk.folded(*path.byte_range).replace(" ", "")
    source, _, name = text.rpartition(".") if is_single else (text, "", "*")
    walk.add_import(
        *("swift_import", node.byte_range, source),
        imported_name=name,
        local_name=name if is_single else "",
        names=[parts[-1].start_byte] if len(parts) > 1 or not is_single else [],
    )


_IMPORT_KINDS: Final = frozenset({"typealias", "struct", "class", "enum", "protocol", "let", "var", "func"})


def _meet_class(walk: Walk, node: Node) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None or body is None:
        return
    word = next((each.type for each in node.children if each.type in _KINDS or each.type == "extension"), "class")
    if word == "extension":
        _meet_extension(walk, name, body)
    else:
        # Extensions elsewhere may add members.
        define_type(walk, node, _KINDS[word], name, body, bases=_bases(node), has_unseen=True)


def _meet_extension(walk: Walk, name: Node, body: Node) -> None:
    parts = [walk.cut(each) for each in name.named_children if each.type == "type_identifier"] or [walk.cut(name)]
    walk.merged.add(body.start_byte)
    scope = walk.open_scope(CLASS, *body.byte_range, ".".join(parts))
    walk.scopes[scope].has_unseen = True
    walk.scopes[scope].owner = parts[-1]


def _meet_protocol(walk: Walk, node: Node) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is not None:
        define_type(walk, node, DefinitionKind.INTERFACE, name, body, bases=_bases(node), has_unseen=True)


def _bases(node: Node) -> tuple[int, ...]:
    specifiers = (each for each in node.named_children if each.type == "inheritance_specifier")
    return tuple(_type_ref(each.child_by_field_name("inherits_from")) for each in specifiers)


def _type_ref(node: Node | None) -> int:
    """Return where a type is named, be it optional."""
    while node is not None and node.type in {"optional_type", "type_annotation", "opaque_type", "existential_type"}:
        node = node.child_by_field_name("wrapped") or node.child_by_field_name("name") or last_named(node)
    if node is None or node.type != "user_type":
        return NONE
    names = [each for each in node.named_children if each.type == "type_identifier"]
    return names[-1].start_byte if names else NONE


def _meet_function(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is None or name.type != "simple_identifier":
        # An operator has no name.
        walk.open_scope(FUNCTION, *node.byte_range)
        return
    body = node.child_by_field_name("body")
    end = body.start_byte if body is not None else node.end_byte
    define_function(walk, node, name, None, visible_from=0, end=end)


def _special(word: str) -> Action:
    """Return the action at a member whose name is a word of the language."""

    def meet(walk: Walk, node: Node) -> None:
        name = next((each for each in node.children if each.type == word), None)
        if name is None:
            return
        body = node.child_by_field_name("body") or child("computed_property")(node)
        scope = walk.open_scope(FUNCTION, name.end_byte, node.end_byte, word)
        walk.define(
            *(DefinitionKind.METHOD, name.byte_range, node.byte_range),
            body_scope=scope,
            signature=signature(walk, name.end_byte, body.start_byte if body is not None else node.end_byte),
            is_bound=False,
        )

    return meet


def _meet_parameter(walk: Walk, node: Node) -> None:
    names = node.children_by_field_name("name")
    external = node.child_by_field_name("external_name")
    if external is not None:
        walk.marks[external.start_byte] = IGNORED if walk.cut(external) == "_" else AS_KEYWORD
    if names and names[0].type == "simple_identifier":
        type_ref = _type_ref(names[1]) if len(names) > 1 else NONE
        if walk.cut(names[0]) == "_":
            walk.marks[names[0].start_byte] = IGNORED
        else:
            bind_name(walk, names[0], node, DefinitionKind.PARAMETER, type_ref=type_ref)


def _meet_properties(walk: Walk, node: Node) -> None:
    is_member = walk.is_in_class()
    kind = DefinitionKind.PROPERTY if is_member else DefinitionKind.VARIABLE
    patterns = [each for each in node.children_by_field_name("name") if each.type == "pattern"]
    annotation = child("type_annotation")(node)
    type_ref = _type_ref(annotation) if len(patterns) == 1 else NONE
    ends = [each.start_byte for each in patterns[1:]] + [node.end_byte]
    for pattern, end in zip(patterns, ends, strict=True):
        for name in _bound_names(pattern):
            walk.define(
                *(kind, name.byte_range, node.byte_range),
                type_ref=type_ref,
                visible_from=0 if is_member or walk.scope == 0 else end,
            )


def _bound_names(pattern: Node) -> Iterator[Node]:
    """Yield the names that a pattern binds after `let`: those that stand for themselves, not labels and cases."""
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


def _meet_pattern(walk: Walk, node: Node) -> None:
    """Bind the names after `let` in a pattern, and tell labels from names."""
    for name in node.named_children:
        if name.type == "simple_identifier" and walk.bytewise.startswith(":", name.end_byte):
            walk.marks[name.start_byte] = AS_KEYWORD
    if child("value_binding_pattern")(node) is not None:
        for name in _bound_names(node):
            if name.start_byte not in walk.marks:
                bind_name(walk, name, node)


def _meet_condition(walk: Walk, node: Node, scope: int) -> None:
    """Bind what the condition of `if`, `guard` or `while` binds; each is seen after its own value."""
    is_binding = False
    waiting: list[Node] = []
    for index, each in enumerate(node.children):
        name = node.field_name_for_child(index)
        if name == "bound_identifier":
            waiting.append(each)
        elif name != "condition":
            if each.type == "," or each.type in {"statements", "else", "{"}:
                _bind_all(walk, waiting, scope, each.start_byte)
                is_binding = False
        elif each.type == "value_binding_pattern":
            is_binding = True
        elif each.type == "pattern" and is_binding and child("value_binding_pattern")(each) is None:
            waiting.extend(_bound_names(each))
        elif each.type == "simple_identifier" and is_binding and walk.bytewise.startswith(":", each.end_byte):
            walk.marks[each.start_byte] = AS_KEYWORD
    _bind_all(walk, waiting, scope, node.end_byte)


def _bind_all(walk: Walk, names: list[Node], scope: int, visible_from: int) -> None:
    for name in names:
        bind_name(walk, name, name, scope=scope, visible_from=visible_from)
    names.clear()


def _meet_if(walk: Walk, node: Node) -> None:
    """Open a scope for what the condition binds; it ends before `else`."""
    other = next((each for each in node.children if each.type == "else"), None)
    end = other.start_byte if other is not None else node.end_byte
    _meet_condition(walk, node, walk.open_scope(BLOCK, node.start_byte, end))


def _meet_guard(walk: Walk, node: Node) -> None:
    _meet_condition(walk, node, walk.scope)


def _meet_for(walk: Walk, node: Node) -> None:
    scope = walk.open_scope(BLOCK, *node.byte_range)
    item, values = node.child_by_field_name("item"), node.child_by_field_name("collection")
    if item is not None and values is not None:
        for name in _bound_names(item):
            bind_name(walk, name, item, scope=scope, visible_from=values.end_byte)


def _meet_enum_entry(walk: Walk, node: Node) -> None:
    for name in node.children_by_field_name("name"):
        if name.type == "simple_identifier":
            walk.define(DefinitionKind.CONSTANT, name.byte_range, node.byte_range)


def _meet_setter(walk: Walk, node: Node) -> None:
    scope = walk.open_scope(FUNCTION, *node.byte_range)
    name = child("simple_identifier")(node)
    if name is not None:
        bind_name(walk, name, name, DefinitionKind.PARAMETER, scope=scope)


def _meet_capture(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    value = node.child_by_field_name("value")
    if name is not None and value is not None and walk.cut(name) != "self":
        bind_name(walk, name, node, visible_from=value.end_byte)


def _mark_labels(walk: Walk, node: Node) -> None:
    """Names before a colon in tuples, and of trailing closures, are labels."""
    for name in node.children_by_field_name("name"):
        if name.type == "simple_identifier":
            walk.marks[name.start_byte] = AS_KEYWORD


def _mark_case_labels(walk: Walk, node: Node) -> None:
    for name in node.named_children:
        if name.type == "simple_identifier":
            walk.marks[name.start_byte] = AS_KEYWORD


def _meet_directive(walk: Walk, node: Node) -> int:
    """What is between `#if` and `#endif` may not be there."""
    if walk.bytewise.startswith("#if", node.start_byte):
        end = walk.bytewise.find("#endif", node.end_byte)
        walk.open_condition(node.start_byte, end if end >= 0 else walk.scopes[0].end)
    return SKIP


_RULES: Final = SymbolRules(
    _GRAMMAR,
    symbol_table(
        _GRAMMAR,
        {
            "simple_identifier": VALUE,
            "type_identifier": TYPE,
            "self_expression": THIS,
            "super_expression": SUPER,
            "import_declaration": _meet_import,
            "class_declaration": _meet_class,
            "protocol_declaration": _meet_protocol,
            "enum_entry": _meet_enum_entry,
            "enum_type_parameters": _mark_case_labels,
            "function_declaration": _meet_function,
            "protocol_function_declaration": _meet_function,
            "init_declaration": _special("init"),
            "deinit_declaration": _special("deinit"),
            "subscript_declaration": _special("subscript"),
            "property_declaration": _meet_properties,
            "protocol_property_declaration": _meet_properties,
            "typealias_declaration": defines(DefinitionKind.TYPE, field("name")),
            "associatedtype_declaration": defines(DefinitionKind.TYPE, field("name")),
            "type_parameter": binds(DefinitionKind.TYPE, child("type_identifier")),
            "parameter": _meet_parameter,
            "lambda_parameter": _meet_parameter,
            "lambda_literal": opens(LAMBDA),
            "capture_list_item": _meet_capture,
            "computed_setter": _meet_setter,
            "willset_clause": _meet_setter,
            "didset_clause": _meet_setter,
            "statements": opens(BLOCK),
            "if_statement": _meet_if,
            "guard_statement": _meet_guard,
            "while_statement": _meet_if,
            "for_statement": _meet_for,
            "switch_entry": opens(BLOCK),
            "catch_block": opens(BLOCK),
            "pattern": _meet_pattern,
            "value_argument_label": keyword(first_named),
            "tuple_expression": _mark_labels,
            "tuple_type_item": _mark_labels,
            "call_suffix": _mark_labels,
            "directive": _meet_directive,
            "comment": SKIP,
            "multiline_comment": SKIP,
        },
    ),
    Scoping(ordered=frozenset({FUNCTION, LAMBDA, BLOCK}), doubtful=frozenset({DefinitionKind.FUNCTION})),
    suffixes="?!",
    leading=MappingProxyType({".": KEYWORD}),
    words=MappingProxyType({"self": THIS, "Self": THIS}),
)
LANGUAGE: Final = Language("swift", Depth.SYMBOLS, extract)
