"""The constructs of shells that a pattern cannot express."""

from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NONE, BindReason, DefinitionKind
from codeplane.languages.queries.patterns import Match
from codeplane.languages.queries.rules import FUNCTION, TAG
from codeplane.languages.queries.walking import Walk

_LOCAL: Final = frozenset({"local", "declare", "typeset"})


def declare_function(walk: Walk, match: Match) -> None:
    """Define a function; its name is a word like any other, so it is taken here."""
    name, node = match["name"], match.node
    scope = walk.open_scope(FUNCTION, name.end_byte, node.end_byte, walk.cut(name))
    walk.define(DefinitionKind.FUNCTION, name.byte_range, node.byte_range, body_scope=scope, space=TAG)
    walk.take(*name.byte_range, TAG)


def declare(walk: Walk, match: Match) -> None:
    """Define the variables of `local`, `declare`, `readonly` and the like."""
    node = match.node
    word = walk.cut(node.children[0]) if node.children else ""
    flags = "".join(walk.cut(each) for each in node.named_children if each.type == "word")
    is_constant = word == "readonly" or ("r" in flags and word in _LOCAL)
    kind = DefinitionKind.CONSTANT if is_constant else DefinitionKind.VARIABLE
    is_local = word in _LOCAL and "g" not in flags
    for each in node.named_children:
        name = each.child_by_field_name("name") if each.type == "variable_assignment" else each
        walk.merged.add(each.start_byte)
        if name is not None and name.type == "variable_name":
            _assign(walk, name, each, kind, scope=walk.scope if is_local else 0)


def assign(walk: Walk, match: Match) -> None:
    """Define a variable by an assignment of its own."""
    if match.node.start_byte not in walk.merged:
        _assign(walk, match["name"], match.node)


def assign_loop_variable(walk: Walk, match: Match) -> None:
    """Define the variable of a loop."""
    _assign(walk, match["name"], match["name"])


def _assign(
    walk: Walk, name: Node, node: Node, kind: DefinitionKind = DefinitionKind.VARIABLE, scope: int = NONE
) -> None:
    """Define a variable where it is first set: in the function if it is local there, else in the file."""
    text = walk.cut(name)
    if scope == NONE:
        scope = walk.scope if text in walk.scopes[walk.scope].places else 0
    if text not in walk.scopes[scope].places:
        walk.define(
            *(kind, name.byte_range, node.byte_range),
            path=walk.path_inside(text) if scope else text,
            scope=scope,
            visible_from=node.end_byte if scope else 0,
            reason=BindReason.LOCAL_ASSIGN,
        )
