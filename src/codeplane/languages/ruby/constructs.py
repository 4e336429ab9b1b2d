"""The constructs of Ruby that a pattern cannot express."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import THIS, DefinitionKind
from codeplane.languages.nodes import first_named
from codeplane.languages.queries.actions import assign_name, bind_name, define_class
from codeplane.languages.queries.patterns import SKIP, Match
from codeplane.languages.queries.rules import VALUE
from codeplane.languages.queries.walking import Walk

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
        *("alternative_pattern", "array_pattern", "as_pattern", "find_pattern", "hash_pattern"),
        *("hash_splat_parameter", "keyword_pattern", "parenthesized_pattern", "splat_parameter"),
    }
)


def declare_class(walk: Walk, match: Match) -> None:
    """Define a class or a module; every one can be opened again elsewhere."""
    superclass, owner = match.get("superclass"), match.get("owner")
    base = first_named(superclass) if superclass is not None else None
    if base is not None and base.type == "scope_resolution":
        base = base.child_by_field_name("name")
    define_class(
        *(walk, match, DefinitionKind.MODULE if match.node.type == "module" else DefinitionKind.CLASS),
        bases=(base.start_byte,) if base is not None and base.type == "constant" else (),
        owner=walk.cut(owner).replace("::", ".").strip(".") if owner is not None else "",
    )


def declare_parameters(walk: Walk, match: Match) -> None:
    """Define the parameters that are plain names, be it in parentheses, and the locals of a block."""
    for name in _names_in(match.node, _TARGETS):
        bind_name(walk, name, name, DefinitionKind.PARAMETER)
    for name in match.node.children_by_field_name("locals"):
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


def assign(walk: Walk, match: Match) -> None:
    """Define the constants and variables that an assignment sets."""
    target, node = match["target"], match.node
    if target.type == "identifier":
        assign_name(walk, target, node, walk.rules.assigned_through)
    constants = [target, *target.named_children] if target.type in _TARGETS else [target]
    for each in constants:
        if each.type == "constant":
            walk.define(DefinitionKind.CONSTANT, each.byte_range, node.byte_range, visible_from=0)
    for name in _names_in(target, _TARGETS) if target.type in _TARGETS else ():
        assign_name(walk, name, node, walk.rules.assigned_through)


def assign_parts(walk: Walk, match: Match) -> None:
    """Define the variables directly in a node."""
    _assign_all(walk, _names_in(match.node, _TARGETS))


def assign_pattern(walk: Walk, match: Match) -> None:
    """Define the variables of a loop or a pattern."""
    pattern = match["pattern"]
    if pattern.type == "identifier":
        _assign_all(walk, iter((pattern,)))
    elif match.node.type == "for":
        _assign_all(walk, _names_in(pattern, _TARGETS))
    elif pattern.type in _PATTERNS:
        _assign_all(walk, _names_in(pattern, _PATTERNS))


def _assign_all(walk: Walk, names: Iterator[Node]) -> None:
    for name in names:
        assign_name(walk, name, name, walk.rules.assigned_through)


def define_by_symbols(walk: Walk, match: Match) -> None:
    """Define the members that the symbols after `attr_reader` and the like name."""
    kind, is_first_only = _DEFINING_CALLS.get(walk.cut(match["method"]), (None, False))
    if kind is None or not walk.is_in_class():
        return
    symbols = [each for each in match["arguments"].named_children if each.type == "simple_symbol"]
    for symbol in symbols[:1] if is_first_only else symbols:
        walk.define(kind, (symbol.start_byte + 1, symbol.end_byte), match.node.byte_range)


def declare_alias(walk: Walk, match: Match) -> None:
    """Define a method by another name."""
    if walk.is_in_class():
        walk.define(DefinitionKind.METHOD, match["name"].byte_range, match.node.byte_range)


def take_instance_variable(walk: Walk, match: Match) -> int:
    """Take `@x` as a member of the instance."""
    walk.receivers[match.node.start_byte] = THIS
    walk.take(*match.node.byte_range, VALUE)
    return SKIP
