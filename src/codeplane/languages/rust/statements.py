"""Read what stands inside of functions: blocks, patterns, closures, literals."""

from collections.abc import Callable
from typing import Final

from tree_sitter import Node

from codeplane.languages.block_scopes.nodes import children_of, first_child
from codeplane.languages.block_scopes.tables import BlockTables
from codeplane.languages.block_scopes.texts import SourceText
from codeplane.languages.facts import (
    KEYWORD,
    NO_RECEIVER,
    NONE,
    BindReason,
    Definition,
    DefinitionKind,
    ReferenceRole,
)
from codeplane.languages.rust.attributes import Attributes, is_conditional
from codeplane.languages.rust.keys import LABEL
from codeplane.languages.rust.patterns import read_pattern
from codeplane.languages.rust.syntax import (
    ALTERNATIVE_FIELD,
    BODY_FIELD,
    CONSEQUENCE_FIELD,
    FIELD_FIELD,
    NAME_FIELD,
    PARAMETERS_FIELD,
    PATH_FIELD,
    PATTERN_FIELD,
    TYPE_FIELD,
    VALUE_FIELD,
)
from codeplane.languages.rust.types import named_type, type_reference, value_type

SKIP: Final = -2  # the place of an identifier that says nothing
BLANK: Final = "_"

_REFERENCE: Final = int(ReferenceRole.REFERENCE)


class Statements:
    """Binds what statements and expressions bind.

    `bodies` are the starts of blocks that are the body of a function, which has a scope of its own; `conditional` are
    the places of variables that are there on some platforms only.
    """

    __slots__ = ("_attributes", "bodies", "conditional", "tables", "text")

    def __init__(self, tables: BlockTables, text: SourceText, attributes: Attributes) -> None:
        self.tables = tables
        self.text = text
        self._attributes = attributes
        self.bodies: set[int] = set()
        self.conditional: set[int] = set()

    def handlers(self) -> dict[str, Callable[[Node], None]]:
        """Return what to do for each kind of node."""
        return {
            "closure_expression": self.meet_closure,
            "block": self.meet_block,
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
        parameters, body = node.child_by_field_id(PARAMETERS_FIELD), node.child_by_field_id(BODY_FIELD)
        since = body.start_byte if body is not None else node.end_byte
        for parameter in children_of(parameters) if parameters is not None else ():
            pattern: Node | None = parameter
            type_start = NONE
            if parameter.type == "parameter":
                pattern = parameter.child_by_field_id(PATTERN_FIELD)
                type_start = type_reference(parameter.child_by_field_id(TYPE_FIELD))
            if pattern is not None:
                self.bind_pattern(pattern, DefinitionKind.PARAMETER, since, type_start=type_start)

    def meet_block(self, node: Node) -> None:
        """Open a block's scope, unless it is the body of a function, which has one already."""
        start, end = node.byte_range
        if start not in self.bodies:
            self.tables.open_scope("block", start, end)

    def meet_arm(self, node: Node) -> None:
        """Open an arm of a `match`; its names are seen in its guard and its value."""
        self.tables.open_scope("arm", node.start_byte, node.end_byte)
        outer = node.child_by_field_id(PATTERN_FIELD)
        pattern = first_child(outer) if outer is not None else None
        if pattern is not None:
            self.bind_pattern(pattern, DefinitionKind.VARIABLE, pattern.end_byte, is_refutable=True)

    def meet_for(self, node: Node) -> None:
        """Open a `for` loop; its names are seen in its body."""
        self.tables.open_scope("for", node.start_byte, node.end_byte)
        pattern, body = node.child_by_field_id(PATTERN_FIELD), node.child_by_field_id(BODY_FIELD)
        if pattern is not None:
            since = body.start_byte if body is not None else node.end_byte
            self.bind_pattern(pattern, DefinitionKind.VARIABLE, since)

    def meet_if(self, node: Node) -> None:
        """Open the scope of what the condition of an `if` binds: all but the `else` part."""
        consequence = node.child_by_field_id(CONSEQUENCE_FIELD)
        if consequence is not None:
            self.tables.open_scope("if", node.start_byte, consequence.end_byte)

    def meet_while(self, node: Node) -> None:
        """Open the scope of what the condition of a `while` binds."""
        self.tables.open_scope("while", node.start_byte, node.end_byte)

    def meet_let(self, node: Node) -> None:
        """Bind the names of a `let`, seen after it."""
        pattern = node.child_by_field_id(PATTERN_FIELD)
        if pattern is None:
            return
        declared = node.child_by_field_id(TYPE_FIELD)
        value = node.child_by_field_id(VALUE_FIELD)
        type_start = type_reference(declared) if declared is not None else value_type(value)
        is_refutable = node.child_by_field_id(ALTERNATIVE_FIELD) is not None
        decorators, _ = self._attributes.take(node.start_byte)
        n_before = len(self.tables.places)
        self.bind_pattern(
            pattern, DefinitionKind.VARIABLE, node.end_byte, is_refutable=is_refutable, type_start=type_start
        )
        if is_conditional(decorators):
            self.conditional.update(range(n_before, len(self.tables.places)))

    def meet_condition(self, node: Node) -> None:
        """Bind the names of `let` in a condition, seen after it."""
        pattern = node.child_by_field_id(PATTERN_FIELD)
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
            word = self.cut(node)
            start, end = node.byte_range
            if start == end or word == BLANK or (is_refutable and node.type == "identifier" and word[0].isupper()):
                continue
            if word in bound:
                self.tables.marks[start] = (scope, _REFERENCE, NO_RECEIVER, bound[word])
                continue
            is_whole = node.start_byte == pattern.start_byte and pattern.type == "identifier"
            path = self.tables.path_of(scope, word)
            number = self.tables.define(
                Definition(kind, word, path, start, end, start, scope, type_ref=type_start if is_whole else NONE)
            )
            reason = BindReason.PARAM if kind is DefinitionKind.PARAMETER else BindReason.LOCAL_ASSIGN
            bound[word] = self.tables.bind_definition(number, reason, since=since)

    def meet_literal(self, node: Node) -> None:
        """Mark the fields that a struct literal names as members of its type."""
        body, owner = node.child_by_field_id(BODY_FIELD), named_type(node.child_by_field_id(NAME_FIELD))
        receiver = KEYWORD if owner == NONE else owner
        for initializer in children_of(body) if body is not None else ():
            field = initializer.child_by_field_id(FIELD_FIELD) if initializer.type == "field_initializer" else None
            if field is not None and field.type == "field_identifier":
                self.tables.marks[field.start_byte] = (self.tables.scope, _REFERENCE, receiver, NONE)

    def meet_label(self, node: Node) -> None:
        """Define a label where it stands before a loop or block."""
        name = first_child(node)
        after = next_text(self.text.bytewise, node.end_byte)
        if name is None or name.type != "identifier" or not after.startswith(":"):
            return
        start, end = name.byte_range
        word, scope = self.cut(name), self.tables.scope
        if not word:
            return
        path = self.tables.path_of(scope, word)
        number = self.tables.define(Definition(DefinitionKind.STATEMENT, word, path, start, end, start, scope))
        self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE, since=start, key=LABEL + word)

    def meet_function_type(self, node: Node) -> None:
        """Pass over the parameter names of a type of functions: nothing can refer to them."""
        parameters = node.child_by_field_id(PARAMETERS_FIELD)
        for parameter in children_of(parameters) if parameters is not None else ():
            pattern = parameter.child_by_field_id(PATTERN_FIELD) if parameter.type == "parameter" else None
            if pattern is not None and pattern.type == "identifier":
                self.tables.marks[pattern.start_byte] = (self.tables.scope, _REFERENCE, NO_RECEIVER, SKIP)

    def meet_binding(self, node: Node) -> None:
        """Mark the name in `Trait<Name = Type>`, which belongs to the trait."""
        name = node.child_by_field_id(NAME_FIELD)
        if name is not None:
            self.tables.marks[name.start_byte] = (self.tables.scope, _REFERENCE, KEYWORD, NONE)

    def meet_generic_path(self, node: Node) -> None:
        """Mark the name after `Type::<T>::` as a member of the type."""
        name, owner = node.child_by_field_id(NAME_FIELD), named_type(node.child_by_field_id(PATH_FIELD))
        if name is not None and owner != NONE:
            self.tables.marks[name.start_byte] = (self.tables.scope, _REFERENCE, owner, NONE)

    def cut(self, node: Node) -> str:
        """Return the text of a node."""
        return self.text.cut(*node.byte_range)


def next_text(bytewise: str, end: int) -> str:
    """Return the two characters after an offset and the white space there."""
    if not bytewise[end : end + 1].isspace():
        return bytewise[end : end + 2]
    return bytewise[end : end + 200].lstrip()[:2]
