"""Find modules that are loaded by a call, and places that read or write names in ways the syntax does not show."""

from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import NONE, Certainty, DynamicAccess, Import
from codeplane.languages.javascript.loading import REQUIRE, literal_argument, literal_text
from codeplane.languages.javascript.scoping import Bindings
from codeplane.languages.javascript.tables import VALUES, Watched
from codeplane.languages.javascript.walking import Walk
from codeplane.languages.parsing import IsOver, OutOfTimeError

_LOOKS: Final = 100
_REFLECTED: Final = frozenset({"get", "set", "has", "deleteProperty", "defineProperty"})


def read_watched(walk: Walk, root: Node, bindings: Bindings, is_over: IsOver) -> None:
    """Read the calls of `require`, `eval`, `Function` and `Reflect`; names that the file binds itself are not meant.

    Raises:
        OutOfTimeError: `is_over` said so; finding a node again takes longer the more nodes come before it.
    """
    for number, watched in enumerate(walk.tables.watched):
        if number % _LOOKS == _LOOKS - 1 and is_over():
            raise OutOfTimeError
        is_bound = bindings.find(watched.scope, watched.name, VALUES) != NONE
        if is_bound and (watched.name != "require" or not walk.tables.makes_require):
            continue
        node = root.descendant_for_byte_range(watched.start, watched.end)
        outer = node.parent if node is not None else None
        if outer is None:
            continue
        if watched.name == "Reflect":
            _read_reflect(walk, outer)
        elif outer.type in {"call_expression", "new_expression"} and watched.start not in walk.tables.loads:
            _read_call(walk, watched, outer)


def take_subscript(walk: Walk, node: Node) -> bool:
    """Read `a[key]`; a number as a key says nothing about names."""
    index = node.child_by_field_name("index")
    if index is not None and index.type != "number":
        pattern = "bracket_write" if node.byte_range in walk.written_subscripts else "bracket_read"
        walk.tables.dynamic.append(_access(walk, pattern, node, index))
    return True


def _read_call(walk: Walk, watched: Watched, call: Node) -> None:
    function = call.child_by_field_name("function") or call.child_by_field_name("constructor")
    if function is None or function.start_byte != watched.start:
        return
    if watched.name != "require":
        arguments = call.child_by_field_name("arguments")
        first = arguments.named_child(0) if arguments is not None and arguments.named_child_count else None
        pattern = "eval" if watched.name == "eval" else "function_constructor"
        walk.tables.dynamic.append(_access(walk, pattern, call, first))
        return
    source = literal_argument(walk, call)
    start, end = call.byte_range
    if source is None:
        walk.tables.dynamic.append(DynamicAccess("require", start, end, (), True))
        return
    is_conditional = watched.scope != 0
    walk.tables.imports.append(
        Import(watched.scope, source, None, None, REQUIRE, Certainty.CERTAIN, start, end, is_conditional)
    )


def _read_reflect(walk: Walk, member: Node) -> None:
    call = member.parent
    name = member.child_by_field_name("property") if member.type == "member_expression" else None
    if call is None or call.type != "call_expression" or name is None:
        return
    if walk.text.of(name) not in _REFLECTED:
        return
    arguments = call.child_by_field_name("arguments")
    values = [one for one in arguments.named_children if one.type != "comment"] if arguments is not None else []
    walk.tables.dynamic.append(_access(walk, "reflect", call, values[1] if len(values) > 1 else None))


def _access(walk: Walk, pattern: str, node: Node, key: Node | None) -> DynamicAccess:
    literal = literal_text(walk, key)
    literals = (literal,) if literal is not None else ()
    return DynamicAccess(pattern, node.start_byte, node.end_byte, literals, literal is None)
