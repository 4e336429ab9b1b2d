"""Ruby."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

import tree_sitter_ruby
from tree_sitter import Language as Grammar
from tree_sitter import Node

from codeplane.core.clock import Clock
from codeplane.languages.facts import THIS, DefinitionKind, FileFacts
from codeplane.languages.language import Depth, Language
from codeplane.languages.parsing import SYSTEM_CLOCK
from codeplane.languages.tables.actions import (
    assign_name,
    bind_name,
    binds,
    define_function,
    define_type,
    field,
    opens,
)
from codeplane.languages.tables.comments import HASHES
from codeplane.languages.tables.rules import (
    CLASS,
    FILE,
    FUNCTION,
    LAMBDA,
    MEMBER,
    SKIP,
    TYPE,
    VALUE,
    Action,
    Scoping,
    SymbolRules,
    symbol_table,
)
from codeplane.languages.tables.symbols import extract_symbols
from codeplane.languages.tables.tree import first_named
from codeplane.languages.tables.walking import UNBOUND, Walk

_GRAMMAR: Final = Grammar(tree_sitter_ruby.language())
_BLOCKS: Final = frozenset({LAMBDA})
_REQUIRES: Final = frozenset({"require", "require_relative", "load"})
# Calls that define members by their symbols: what they define, and whether only the first symbol is defined.
_DEFINING_CALLS: Final = MappingProxyType(
    {
        "attr": (DefinitionKind.PROPERTY, False),
        "attr_accessor": (DefinitionKind.PROPERTY, False),
        "attr_reader": (DefinitionKind.PROPERTY, False),
        "attr_writer": (DefinitionKind.PROPERTY, False),
        "define_method": (DefinitionKind.METHOD, True),
        "alias_method": (DefinitionKind.METHOD, True),
    }
)
_TARGETS: Final = frozenset(
    {"left_assignment_list", "destructured_left_assignment", "rest_assignment", "destructured_parameter"}
)
_PATTERNS: Final = frozenset(
    {
        "array_pattern",
        "find_pattern",
        "hash_pattern",
        "alternative_pattern",
        "parenthesized_pattern",
        "keyword_pattern",
        "as_pattern",
        "splat_parameter",
        "hash_splat_parameter",
    }
)


def extract(source: bytes, clock: Clock = SYSTEM_CLOCK) -> FileFacts:
    """Return the facts of a Ruby file."""
    return extract_symbols(source, _RULES, clock)


def _meet_class(kind: DefinitionKind) -> Action:
    def meet(walk: Walk, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None:
            return
        superclass = node.child_by_field_name("superclass")
        base = first_named(superclass) if superclass is not None else None
        if base is not None and base.type == "scope_resolution":
            base = base.child_by_field_name("name")
        last, owner = name, ""
        if name.type == "scope_resolution":
            scope = name.child_by_field_name("scope")
            last = name.child_by_field_name("name") or name
            owner = walk.cut(scope).replace("::", ".").strip(".") if scope is not None else ""
        define_type(
            *(walk, node, kind, last, body),
            bases=(base.start_byte,) if base is not None and base.type == "constant" else (),
            # Every class can be opened again elsewhere.
            has_unseen=True,
            owner=owner,
            end=superclass.end_byte if superclass is not None else last.end_byte,
        )

    return meet


def _meet_method(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        _define_method(walk, node, name)


def _meet_singleton_method(walk: Walk, node: Node) -> None:
    name, owner = node.child_by_field_name("name"), node.child_by_field_name("object")
    if name is not None:
        is_own = owner is not None and owner.type == "self"
        _define_method(walk, node, name, is_bound=is_own)


def _define_method(walk: Walk, node: Node, name: Node, *, is_bound: bool = True) -> None:
    parameters, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
    scope = define_function(walk, node, name, body, is_bound=is_bound, visible_from=0)
    definition = walk.definitions[-1]
    if definition.body_scope == scope:
        text = walk.folded(*parameters.byte_range) if parameters is not None else ""
        walk.definitions[-1] = definition._replace(signature=text)


def _meet_parameters(walk: Walk, node: Node) -> None:
    for name in _names_in(node, _TARGETS):
        bind_name(walk, name, name, DefinitionKind.PARAMETER)
    for name in node.children_by_field_name("locals"):
        walk.marks.pop(name.start_byte, None)
        bind_name(walk, name, name)


def _names_in(node: Node, containers: frozenset[str]) -> Iterator[Node]:
    """Yield the names directly in a node and in containers in it."""
    waiting = [*reversed(node.named_children)]
    while waiting:
        each = waiting.pop()
        if each.type == "identifier":
            yield each
        elif each.type in containers:
            waiting.extend(reversed(each.named_children))


def _meet_assignment(walk: Walk, node: Node) -> None:
    target = node.child_by_field_name("left")
    if target is None:
        return
    if target.type == "constant":
        _define_constant(walk, target, node)
    elif target.type == "identifier":
        assign_name(walk, target, node, _BLOCKS)
    elif target.type in _TARGETS:
        for each in target.named_children:
            if each.type == "constant":
                _define_constant(walk, each, node)
        for name in _names_in(target, _TARGETS):
            assign_name(walk, name, node, _BLOCKS)


def _define_constant(walk: Walk, name: Node, node: Node) -> None:
    walk.define(DefinitionKind.CONSTANT, name.byte_range, node.byte_range, visible_from=0)


def _meet_exception(walk: Walk, node: Node) -> None:
    for name in _names_in(node, _TARGETS):
        assign_name(walk, name, name, _BLOCKS)


def _meet_for(walk: Walk, node: Node) -> None:
    pattern = node.child_by_field_name("pattern")
    if pattern is not None and pattern.type == "identifier":
        assign_name(walk, pattern, pattern, _BLOCKS)
    elif pattern is not None:
        _meet_exception(walk, pattern)


def _meet_case(walk: Walk, node: Node) -> None:
    pattern = node.child_by_field_name("pattern")
    if pattern is not None and pattern.type == "identifier":
        assign_name(walk, pattern, pattern, _BLOCKS)
    elif pattern is not None and pattern.type in _PATTERNS:
        for name in _names_in(pattern, _PATTERNS):
            assign_name(walk, name, name, _BLOCKS)


def _meet_call(walk: Walk, node: Node) -> None:
    method = node.child_by_field_name("method")
    if method is None or method.type != "identifier" or node.child_by_field_name("receiver") is not None:
        return
    # With arguments or a block it is no local variable, whatever its name.
    walk.marks[method.start_byte] = UNBOUND
    name = walk.cut(method)
    arguments = node.child_by_field_name("arguments")
    if arguments is None:
        return
    if name in _REQUIRES:
        _meet_require(walk, node, arguments)
    elif name in _DEFINING_CALLS and walk.is_in_class():
        kind, is_first_only = _DEFINING_CALLS[name]
        symbols = [each for each in arguments.named_children if each.type == "simple_symbol"]
        for symbol in symbols[:1] if is_first_only else symbols:
            walk.define(kind, (symbol.start_byte + 1, symbol.end_byte), node.byte_range)


def _meet_require(walk: Walk, node: Node, arguments: Node) -> None:
    path = first_named(arguments)
    if path is None or path.type != "string" or arguments.named_child_count != 1:
        return
    content = first_named(path)
    if content is not None and content.type == "string_content" and path.named_child_count == 1:
        walk.add_import("ruby_require", node.byte_range, walk.cut(content))


def _meet_symbol(walk: Walk, node: Node) -> int:
    if node.start_byte + 1 in walk.marks:
        walk.take(node.start_byte + 1, node.end_byte, VALUE)
    return SKIP


def _take_instance_variable(walk: Walk, node: Node) -> int:
    walk.receivers[node.start_byte] = THIS
    walk.take(*node.byte_range, VALUE)
    return SKIP


def _meet_alias(walk: Walk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None and name.type == "identifier" and walk.is_in_class():
        walk.define(DefinitionKind.METHOD, name.byte_range, node.byte_range)


def _meet_lambda(walk: Walk, node: Node) -> None:
    body = node.child_by_field_name("body")
    walk.open_scope(LAMBDA, *node.byte_range)
    if body is not None:
        walk.merged.add(body.start_byte)


_PARAMETER: Final = binds(DefinitionKind.PARAMETER, field("name"))
_RULES: Final = SymbolRules(
    _GRAMMAR,
    symbol_table(
        _GRAMMAR,
        {
            "identifier": VALUE,
            "constant": TYPE,
            "setter": VALUE,
            "operator": VALUE,
            "class_variable": VALUE,
            "global_variable": VALUE,
            "hash_key_symbol": MEMBER,
            "instance_variable": _take_instance_variable,
            "simple_symbol": _meet_symbol,
            "self": THIS,
            "class": _meet_class(DefinitionKind.CLASS),
            "module": _meet_class(DefinitionKind.MODULE),
            "method": _meet_method,
            "singleton_method": _meet_singleton_method,
            "method_parameters": _meet_parameters,
            "block_parameters": _meet_parameters,
            "lambda_parameters": _meet_parameters,
            "optional_parameter": _PARAMETER,
            "splat_parameter": _PARAMETER,
            "keyword_parameter": _PARAMETER,
            "hash_splat_parameter": _PARAMETER,
            "block_parameter": _PARAMETER,
            "assignment": _meet_assignment,
            "operator_assignment": _meet_assignment,
            "exception_variable": _meet_exception,
            "for": _meet_for,
            "in_clause": _meet_case,
            "call": _meet_call,
            "alias": _meet_alias,
            "block": opens(LAMBDA),
            "do_block": opens(LAMBDA),
            "lambda": _meet_lambda,
            "comment": SKIP,
        },
    ),
    Scoping(
        ordered=frozenset({FILE, CLASS, FUNCTION, LAMBDA}),
        closed_to_values=frozenset({CLASS, FUNCTION}),
        doubtful=frozenset({DefinitionKind.FUNCTION}),
        types_are_values=False,
    ),
    separators=("&.", "::", "."),
    tight=frozenset({"::"}),
    comments=HASHES,
    type_kinds=frozenset(
        {DefinitionKind.CLASS, DefinitionKind.MODULE, DefinitionKind.CONSTANT},
    ),
)
LANGUAGE: Final = Language("ruby", Depth.SYMBOLS, extract)
