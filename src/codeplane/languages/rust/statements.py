"""Read what is inside functions: blocks, patterns, closures, literals."""

from collections.abc import Callable
from typing import Final

from tree_sitter import Node

from codeplane.languages.block_scopes.tables import BlockTables
from codeplane.languages.block_scopes.texts import BlockText
from codeplane.languages.facts import (
    KEYWORD,
    NO_RECEIVER,
    NONE,
    DefinitionKind,
    ReferenceRole,
)
from codeplane.languages.nodes import children_in, first_child
from codeplane.languages.rust.attributes import Attributes, is_conditional
from codeplane.languages.rust.keys import LABEL
from codeplane.languages.rust.patterns import read_pattern
from codeplane.languages.rust.types import named_type, type_reference, value_type

BLANK: Final = "_"

_REFERENCE: Final = int(ReferenceRole.REFERENCE)


class Statements:
    """Binds what statements and expressions bind.

    `conditional` are the places of variables that are there on some platforms only.
    """

    __slots__ = ("_attributes", "conditional", "tables", "text")

    def __init__(self, tables: BlockTables, text: BlockText, attributes: Attributes) -> None:
        self.tables = tables
        self.text = text
        self._attributes = attributes
        self.conditional: set[int] = set()

    def handlers(self) -> dict[str, Callable[[Node], None]]:
        """Return what to do for each kind of node."""
        return {
            "closure_expression": self.meet_closure,
            "block": self.tables.open_block,
            "match_arm": self.meet_arm,
            "for_expression": self.meet_for,
            "if_expression": self.meet_if,
            "while_expression": self.meet_while,
            "let_declaration": self.meet_let,
            "let_condition": self.meet_condition,
            "struct_expression": self.meet_literal,
            "label": self.meet_label,
            "function_type": self.meet_function_type,
            "type_binding": self.meet_binding,
            "scoped_identifier": self.meet_generic_path,
            "scoped_type_identifier": self.meet_generic_path,
        }

    def meet_closure(self, node: Node) -> None:
        """Open a closure; its parameters are seen in its body."""
        self.tables.open_scope("closure", node.start_byte, node.end_byte)
        body = node.child_by_field_name("body")
        since = body.start_byte if body is not None else node.end_byte
        for parameter in children_in(node, "parameters"):
            pattern: Node | None = parameter
            type_start = NONE
            if parameter.type == "parameter":
                pattern = parameter.child_by_field_name("pattern")
                type_start = type_reference(parameter.child_by_field_name("type"))
            if pattern is not None:
                self.bind_pattern(pattern, DefinitionKind.PARAMETER, since, type_start=type_start)

    def meet_arm(self, node: Node) -> None:
        """Open an arm of a `match`; its names are seen in its guard and its value."""
        self.tables.open_scope("arm", node.start_byte, node.end_byte)
        outer = node.child_by_field_name("pattern")
        pattern = first_child(outer) if outer is not None else None
        if pattern is not None:
            self.bind_pattern(pattern, DefinitionKind.VARIABLE, pattern.end_byte, is_refutable=True)

    def meet_for(self, node: Node) -> None:
        """Open a `for` loop; its names are seen in its body."""
        self.tables.open_scope("for", node.start_byte, node.end_byte)
        pattern, body = node.child_by_field_name("pattern"), node.child_by_field_name("body")
        if pattern is not None:
            since = body.start_byte if body is not None else node.end_byte
            self.bind_pattern(pattern, DefinitionKind.VARIABLE, since)

    def meet_if(self, node: Node) -> None:
        """Open the scope of what the condition of an `if` binds: all but the `else` part."""
        consequence = node.child_by_field_name("consequence")
        if consequence is not None:
            self.tables.open_scope("if", node.start_byte, consequence.end_byte)

    def meet_while(self, node: Node) -> None:
        """Open the scope of what the condition of a `while` binds."""
        self.tables.open_scope("while", node.start_byte, node.end_byte)

    def meet_let(self, node: Node) -> None:
        """Bind the names of a `let`, seen after it."""
        pattern = node.child_by_field_name("pattern")
        if pattern is None:
            return
        declared = node.child_by_field_name("type")
        value = node.child_by_field_name("value")
        type_start = type_reference(declared) if declared is not None else value_type(value)
        is_refutable = node.child_by_field_name("alternative") is not None
        decorators, _ = self._attributes.take(node.start_byte)
        n_before = len(self.tables.places)
        self.bind_pattern(
            pattern, DefinitionKind.VARIABLE, node.end_byte, is_refutable=is_refutable, type_start=type_start
        )
        if is_conditional(decorators):
            self.conditional.update(range(n_before, len(self.tables.places)))

    def meet_condition(self, node: Node) -> None:
        """Bind the names of `let` in a condition, seen after it."""
        pattern = node.child_by_field_name("pattern")
        if pattern is not None:
            self.bind_pattern(pattern, DefinitionKind.VARIABLE, node.end_byte, is_refutable=True)

    def bind_pattern(
        self, pattern: Node, kind: DefinitionKind, since: int, *, is_refutable: bool = False, type_start: int = NONE
    ) -> None:
        """Bind the names of a pattern in the current scope.

        Where the pattern may fail, a name that starts in upper case is a constant or a variant; elsewhere nothing
        but a variable makes sense.
        """
        scope = self.tables.scope
        names = read_pattern(pattern)
        for start, owner in names.fields:
            self.tables.marks[start] = (scope, _REFERENCE, owner, NONE)
        bound: dict[str, int] = {}
        for node in names.binders:
            word = self.text.of(node)
            start, end = node.byte_range
            if start == end or word == BLANK or (is_refutable and node.type == "identifier" and word[0].isupper()):
                continue
            if word in bound:
                self.tables.marks[start] = (scope, _REFERENCE, NO_RECEIVER, bound[word])
                continue
            is_whole = node.start_byte == pattern.start_byte and pattern.type == "identifier"
            type_ref = type_start if is_whole else NONE
            bound[word] = self.tables.define_local(scope, kind, word, (start, end), since, type_ref)

    def meet_literal(self, node: Node) -> None:
        """Mark the fields that a struct literal names as members of its type."""
        owner = named_type(node.child_by_field_name("name"))
        receiver = KEYWORD if owner == NONE else owner
        for initializer in children_in(node, "body"):
            field = initializer.child_by_field_name("field") if initializer.type == "field_initializer" else None
            if field is not None and field.type == "field_identifier":
                self.tables.refer(field.start_byte, receiver)

    def meet_label(self, node: Node) -> None:
        """Define a label before a loop or block."""
        name = first_child(node)
        after = next_text(self.text.bytewise, node.end_byte)
        if name is None or name.type != "identifier" or not after.startswith(":"):
            return
        word = self.text.of(name)
        if word:
            self.tables.define_label(self.tables.scope, name, word, LABEL + word, since=name.start_byte)

    def meet_function_type(self, node: Node) -> None:
        """Skip the parameter names of a type of functions: nothing can refer to them."""
        for parameter in children_in(node, "parameters"):
            pattern = parameter.child_by_field_name("pattern") if parameter.type == "parameter" else None
            if pattern is not None and pattern.type == "identifier":
                self.tables.skip(pattern.start_byte)

    def meet_binding(self, node: Node) -> None:
        """Mark the name in `Trait<Name = Type>`, which belongs to the trait."""
        name = node.child_by_field_name("name")
        if name is not None:
            self.tables.refer(name.start_byte, KEYWORD)

    def meet_generic_path(self, node: Node) -> None:
        """Mark the name after `Type::<T>::` as a member of the type."""
        name, owner = node.child_by_field_name("name"), named_type(node.child_by_field_name("path"))
        if name is not None and owner != NONE:
            self.tables.refer(name.start_byte, owner)


def next_text(bytewise: str, end: int) -> str:
    """Return the two characters after an offset and the white space there."""
    if not bytewise[end : end + 1].isspace():
        return bytewise[end : end + 2]
    return bytewise[end : end + 200].lstrip()[:2]
