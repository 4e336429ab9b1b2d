"""PHP."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import tree_sitter_php
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import NONE, SUPER, THIS, DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.actions import (
    assign_name,
    bind_name,
    child,
    define_function,
    define_type,
    defines,
    field,
    ignored,
    keyword,
    signature,
)
from codeplane.languages.tables.comments import comment_style
from codeplane.languages.tables.rules import (
    CLASS,
    FUNCTION,
    LAMBDA,
    MEMBER,
    MODULE,
    SKIP,
    TAG,
    TYPE,
    VALUE,
    Action,
    Scoping,
    SymbolRules,
    symbol_table,
)
from codeplane.languages.tables.symbols import extract_symbols
from codeplane.languages.tables.tree import first_named, last_named
from codeplane.languages.tables.walking import ALONE, AS_TAG, IGNORED, Walk

_GRAMMAR: Final = Grammar(tree_sitter_php.language_php())
_NOTHING: Final[frozenset[str]] = frozenset()
_OWN_NAMES: Final = frozenset({"self", "static", "parent"})
_TARGETS: Final = frozenset({"list_literal", "pair", "by_ref"})


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the facts of a PHP file."""
    return extract_symbols(source, _RULES, clock)


def _take_variable(walk: Walk, node: Node) -> int:
    """Take `$x` as a whole, a property after `::` or in its declaration without the dollar, and `$this` as no name."""
    start, end = node.byte_range
    if walk.text.cut(start, end) == "$this":
        walk.remember(THIS, end)
    elif start + 1 in walk.marks and start not in walk.marks:
        walk.take(start + 1, end, MEMBER)
    elif walk.bytewise.startswith("::", start - 2):
        walk.receivers[start + 1] = walk.receiver_of(start)
        walk.take(start + 1, end, MEMBER)
    else:
        walk.marks.setdefault(start, ALONE)
        walk.take(start, end, VALUE)
    return SKIP


def _take_relative_scope(walk: Walk, node: Node) -> int:
    walk.remember(SUPER if walk.cut(node) == "parent" else THIS, node.end_byte)
    return SKIP


def _meet_namespace(walk: Walk, node: Node) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None:
        return
    path = walk.cut(name)
    walk.package = walk.package or path
    region = (
        body.byte_range
        if body is not None
        else (node.end_byte, walk.notes.get(("end of namespace", node.start_byte), walk.scopes[0].end))
    )
    if body is not None:
        walk.merged.add(body.start_byte)
    scope = walk.open_scope(MODULE, *region, path)
    last = last_named(name)
    if last is not None:
        walk.define(
            *(DefinitionKind.MODULE, last.byte_range, (node.start_byte, max(node.end_byte, region[1]))),
            path=path,
            body_scope=scope,
            is_bound=False,
        )


def _meet_program(walk: Walk, node: Node) -> None:
    """Note where each namespace without braces ends: at the next one, or with the file."""
    starts = [each.start_byte for each in node.named_children if each.type == "namespace_definition"]
    for start, end in pairwise([*starts, walk.scopes[0].end]):
        walk.notes["end of namespace", start] = end


def _meet_use(walk: Walk, node: Node) -> None:
    prefix = child("namespace_name")(node)
    group = child("namespace_use_group")(node)
    for clause in (group or node).named_children:
        if clause.type == "namespace_use_clause":
            _add_use(walk, clause, walk.cut(prefix) if prefix is not None and group is not None else "")


def _add_use(walk: Walk, clause: Node, prefix: str) -> None:
    path, alias = child("qualified_name", "name")(clause), clause.child_by_field_name("alias")
    if path is None or path == alias:
        return
    last = path if path.type == "name" else last_named(path)
    if last is None:
        return
    name = walk.cut(last)
    inner = walk.text.cut(path.start_byte, last.start_byte)
    source = "\\".join(part.strip("\\") for part in (prefix, inner) if part.strip("\\"))
    local = walk.cut(alias) if alias is not None else name
    walk.add_import(
        *("php_use", clause.byte_range, source),
        imported_name=name,
        alias=local if alias is not None else None,
        local_name=local,
        names=[each.start_byte for each in (last, alias) if each is not None],
    )


def _type(kind: DefinitionKind) -> Action:
    def meet(walk: Walk, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            clauses = [each for each in node.named_children if each.type in {"base_clause", "class_interface_clause"}]
            bases = [_last_name(base) for clause in clauses for base in clause.named_children]
            define_type(
                *(walk, node, kind, name, node.child_by_field_name("body")),
                bases=tuple(NONE if base is None else base.start_byte for base in bases),
            )

    return meet


def _last_name(node: Node | None) -> Node | None:
    if node is not None and node.type in {"qualified_name", "relative_name"}:
        node = last_named(node)
    return node if node is not None and node.type == "name" else None


def _meet_anonymous_class(walk: Walk, node: Node) -> None:
    body = node.child_by_field_name("body")
    if body is not None:
        walk.merged.add(body.start_byte)
        walk.open_scope(CLASS, *body.byte_range)


def _meet_function(walk: Walk, node: Node) -> None:
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if name is None:
        return
    scope = walk.open_scope(FUNCTION, name.end_byte, node.end_byte, walk.cut(name))
    walk.define(
        *(DefinitionKind.FUNCTION, name.byte_range, node.byte_range),
        body_scope=scope,
        signature=signature(walk, name.end_byte, body.start_byte if body is not None else node.end_byte),
        space=TAG,
    )


def _meet_method(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        define_function(walk, node, name, node.child_by_field_name("body"))


def _meet_closure(walk: Walk, node: Node) -> None:
    """Open the scope of a closure, in which the variables it uses are those around it."""
    outer = walk.scopes[walk.scope].places
    parameters = node.child_by_field_name("parameters")
    used = child("anonymous_function_use_clause")(node)
    begin = used.end_byte if used is not None else node.start_byte
    if used is not None and parameters is not None:
        # The parameters stand before the variables that are used, which belong to the scope around.
        scope = walk.open_scope(FUNCTION, node.start_byte, node.end_byte)
        walk.set_aside(scope, *used.byte_range)
    else:
        scope = walk.open_scope(FUNCTION, begin, node.end_byte)
    for name in _variables_in(used) if used is not None else ():
        places = outer.get(walk.cut(name))
        if places:
            walk.scopes[scope].places[walk.cut(name)] = list(places)


def _variables_in(node: Node) -> Iterator[Node]:
    """Yield the variables that a target of an assignment sets."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.type == "variable_name":
            yield each
        elif each is node or each.type in _TARGETS:
            waiting.extend(reversed(each.named_children))


def _meet_arrow_function(walk: Walk, node: Node) -> None:
    walk.open_scope(LAMBDA, *node.byte_range)


def _meet_parameter(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        type_ref = _type_ref(walk, node.child_by_field_name("type"))
        bind_name(walk, name, node, DefinitionKind.PARAMETER, type_ref=type_ref)


def _meet_promoted_parameter(walk: Walk, node: Node) -> None:
    _meet_parameter(walk, node)
    name = node.child_by_field_name("name")
    scope = walk.scope
    while scope != NONE and walk.scopes[scope].kind != CLASS:
        scope = walk.scopes[scope].parent
    if name is None or name.type != "variable_name" or scope == NONE:
        return
    start, end = name.start_byte + 1, name.end_byte
    text = walk.text.cut(start, end)
    path = walk.scopes[scope].path
    walk.define(
        *(DefinitionKind.PROPERTY, (start, end), node.byte_range),
        path=f"{path}.{text}" if path else text,
        scope=scope,
        type_ref=_type_ref(walk, node.child_by_field_name("type")),
    )
    walk.marks.pop(start, None)


def _type_ref(walk: Walk, node: Node | None) -> int:
    if node is not None and node.type == "optional_type":
        node = first_named(node)
    name = _last_name(first_named(node)) if node is not None and node.type == "named_type" else None
    return name.start_byte if name is not None and walk.cut(name) not in _OWN_NAMES else NONE


def _meet_properties(walk: Walk, node: Node) -> None:
    type_ref = _type_ref(walk, node.child_by_field_name("type"))
    for element in node.named_children:
        name = element.child_by_field_name("name") if element.type == "property_element" else None
        if name is not None:
            name_range = (name.start_byte + 1, name.end_byte)
            walk.define(DefinitionKind.PROPERTY, name_range, node.byte_range, type_ref=type_ref)


def _meet_assignment(walk: Walk, node: Node) -> None:
    target = node.child_by_field_name("left")
    if target is not None and target.type in {"variable_name", "list_literal"}:
        _assign(walk, target, node)


def _assign(walk: Walk, target: Node, node: Node) -> None:
    for name in _variables_in(target):
        if walk.cut(name) != "$this":
            assign_name(walk, name, node, _NOTHING)


def _meet_foreach(walk: Walk, node: Node) -> None:
    for target in node.named_children[1:]:
        if target.type == "variable_name" or target.type in _TARGETS:
            _assign(walk, target, target)


def _meet_names(walk: Walk, node: Node) -> None:
    """Define the variables that a statement names: `global $x;`."""
    for name in node.named_children:
        if name.type == "variable_name":
            assign_name(walk, name, name, _NOTHING)


def _meet_named(walk: Walk, node: Node) -> None:
    """Define the variable in the name of a node: of a catch, of a static variable."""
    name = node.child_by_field_name("name")
    if name is not None:
        assign_name(walk, name, node, _NOTHING)


def _meet_call(walk: Walk, node: Node) -> None:
    function = node.child_by_field_name("function")
    if function is None or function.type != "name":
        return
    walk.marks[function.start_byte] = AS_TAG
    arguments = node.child_by_field_name("arguments")
    if walk.cut(function) == "define" and arguments is not None:
        first = first_named(arguments)
        text = first_named(first) if first is not None else None
        content = child("string_content")(text) if text is not None and text.type == "string" else None
        if content is not None:
            walk.define(
                *(DefinitionKind.CONSTANT, content.byte_range, node.byte_range), path=walk.cut(content), scope=0
            )


def _meet_own_name(walk: Walk, node: Node) -> None:
    """`new self` and the type `static` name nothing."""
    name = first_named(node)
    if name is not None and name.type == "name" and walk.cut(name) in _OWN_NAMES:
        walk.marks[name.start_byte] = IGNORED


_RULES: Final = SymbolRules(
    _GRAMMAR,
    symbol_table(
        _GRAMMAR,
        {
            "name": TYPE,
            "variable_name": _take_variable,
            "relative_scope": _take_relative_scope,
            "program": _meet_program,
            "namespace_definition": _meet_namespace,
            "namespace_use_declaration": _meet_use,
            "class_declaration": _type(DefinitionKind.CLASS),
            "interface_declaration": _type(DefinitionKind.INTERFACE),
            "trait_declaration": _type(DefinitionKind.TRAIT),
            "enum_declaration": _type(DefinitionKind.ENUM),
            "anonymous_class": _meet_anonymous_class,
            "enum_case": defines(DefinitionKind.CONSTANT, field("name")),
            "const_element": defines(DefinitionKind.CONSTANT, child("name")),
            "property_declaration": _meet_properties,
            "function_definition": _meet_function,
            "method_declaration": _meet_method,
            "anonymous_function": _meet_closure,
            "arrow_function": _meet_arrow_function,
            "simple_parameter": _meet_parameter,
            "variadic_parameter": _meet_parameter,
            "property_promotion_parameter": _meet_promoted_parameter,
            "assignment_expression": _meet_assignment,
            "augmented_assignment_expression": _meet_assignment,
            "reference_assignment_expression": _meet_assignment,
            "foreach_statement": _meet_foreach,
            "global_declaration": _meet_names,
            "static_variable_declaration": _meet_named,
            "catch_clause": _meet_named,
            "function_call_expression": _meet_call,
            "object_creation_expression": _meet_own_name,
            "named_type": _meet_own_name,
            "argument": keyword(field("name")),
            "goto_statement": ignored(child("name")),
            "named_label_statement": ignored(child("name")),
            "comment": SKIP,
            "text": SKIP,
        },
    ),
    Scoping(closed_to_values=frozenset({FUNCTION, CLASS}), types_are_values=False),
    separators=("?->", "->", "::", "\\"),
    comments=comment_style("//", "#", block=("/*", "*/")),
)
LANGUAGE: Final = Language("php", Depth.SYMBOLS, extract)
