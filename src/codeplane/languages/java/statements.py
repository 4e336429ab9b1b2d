"""Read what is inside methods: blocks, variables, lambdas, patterns."""

from collections.abc import Callable
from typing import Final

from tree_sitter import Node

from codeplane.languages.block_scopes.tables import BlockTables
from codeplane.languages.block_scopes.texts import BlockText
from codeplane.languages.facts import (
    EXPRESSION,
    NONE,
    SUPER,
    THIS,
    DefinitionKind,
    ReferenceRole,
)
from codeplane.languages.java.keys import LABEL
from codeplane.languages.java.types import created_type, type_name, type_reference
from codeplane.languages.nodes import child_of_kind, children_of, first_child

OF_TYPE: Final = -3  # the place of an identifier that is looked up as a type

_REFERENCE: Final = int(ReferenceRole.REFERENCE)
_WORDS: Final = {"this": THIS, "super": SUPER}


class Statements:
    """Binds what statements and expressions bind.

    `pattern_variables` are the scopes and names of variables in patterns, whose real extent depends on the flow of
    control.
    """

    __slots__ = ("pattern_variables", "tables", "text")

    def __init__(self, tables: BlockTables, text: BlockText) -> None:
        self.tables = tables
        self.text = text
        self.pattern_variables: set[tuple[int, str]] = set()

    def handlers(self) -> dict[str, Callable[[Node], None]]:
        """Return what to do for each kind of node."""
        return {
            "lambda_expression": self.meet_lambda,
            "block": self.tables.open_block,
            "for_statement": self.tables.open_block,
            "switch_block": self.tables.open_block,
            "switch_rule": self.tables.open_block,
            "enhanced_for_statement": self.meet_for,
            "try_with_resources_statement": self.meet_try,
            "resource": self.meet_resource,
            "catch_clause": self.meet_catch,
            "local_variable_declaration": self.meet_variables,
            "labeled_statement": self.meet_label,
            "instanceof_expression": self.meet_instanceof,
            "type_pattern": self.meet_pattern,
            "record_pattern_component": self.meet_pattern,
            "record_pattern": self.meet_record_pattern,
            "method_invocation": self.meet_generic_call,
            "method_reference": self.meet_generic_reference,
            "scoped_type_identifier": self.meet_annotated_path,
        }

    def meet_lambda(self, node: Node) -> None:
        """Open a lambda; its parameters are seen in its body."""
        scope = self.tables.open_scope("lambda", node.start_byte, node.end_byte)
        parameters, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
        since = body.start_byte if body is not None else node.end_byte
        if parameters is None:
            return
        if parameters.type == "identifier":
            self.define(parameters, DefinitionKind.PARAMETER, scope, since)
        elif parameters.type == "inferred_parameters":
            for name in children_of(parameters):
                if name.type == "identifier":
                    self.define(name, DefinitionKind.PARAMETER, scope, since)
        else:
            self.define_parameters(children_of(parameters), scope, since)

    def define_parameters(self, parameters: list[Node], scope: int, since: int) -> None:
        """Define the parameters of a list."""
        for name, type_start in self.parameters_of(parameters):
            self.define(name, DefinitionKind.PARAMETER, scope, since, type_start)

    def parameters_of(self, parameters: list[Node]) -> list[tuple[Node, int]]:
        """Return the names of a list of parameters with the starts of the references to their types."""
        found: list[tuple[Node, int]] = []
        for parameter in parameters:
            holder: Node | None = parameter
            type_start = NONE
            if parameter.type == "spread_parameter":
                holder = child_of_kind(parameter, "variable_declarator")
            elif parameter.type != "formal_parameter":
                continue
            elif parameter.child_by_field_name("dimensions") is None:
                type_start = type_reference(parameter.child_by_field_name("type"))
            name = holder.child_by_field_name("name") if holder is not None else None
            if name is not None and name.type == "identifier" and not name.is_missing:
                found.append((name, type_start))
        return found

    def meet_for(self, node: Node) -> None:
        """Open `for (T x : xs)`; the variable is seen in the body."""
        scope = self.tables.open_scope("block", node.start_byte, node.end_byte)
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and name.type == "identifier":
            since = body.start_byte if body is not None else node.end_byte
            self.define(name, DefinitionKind.VARIABLE, scope, since, self.declared_type(node))

    def meet_try(self, node: Node) -> None:
        """Open the scope of resources: they and the block see them, the other parts do not."""
        resources, body = node.child_by_field_name("resources"), node.child_by_field_name("body")
        if resources is not None and body is not None:
            self.tables.open_scope("block", resources.start_byte, body.end_byte)

    def meet_resource(self, node: Node) -> None:
        """Define a resource."""
        name = node.child_by_field_name("name")
        if name is not None and name.type == "identifier":
            self.define(name, DefinitionKind.VARIABLE, self.tables.scope, node.end_byte, self.declared_type(node))

    def meet_catch(self, node: Node) -> None:
        """Open a `catch` clause."""
        scope = self.tables.open_scope("block", node.start_byte, node.end_byte)
        parameter = child_of_kind(node, "catch_formal_parameter")
        name = parameter.child_by_field_name("name") if parameter is not None else None
        if parameter is None or name is None or name.type != "identifier":
            return
        types = [one for child in children_of(parameter) if child.type == "catch_type" for one in children_of(child)]
        type_start = type_reference(types[0]) if len(types) == 1 else NONE
        self.define(name, DefinitionKind.PARAMETER, scope, name.start_byte, type_start)

    def meet_variables(self, node: Node) -> None:
        """Define local variables; each is seen from its name on."""
        scope = self.tables.scope
        for declarator in node.children_by_field_name("declarator"):
            name = declarator.child_by_field_name("name")
            if name is None or name.type != "identifier":
                continue
            is_array = declarator.child_by_field_name("dimensions") is not None
            type_start = NONE if is_array else self.declared_type(node, declarator.child_by_field_name("value"))
            self.define(name, DefinitionKind.VARIABLE, scope, name.start_byte, type_start)

    def declared_type(self, node: Node, value: Node | None = None) -> int:
        """Return the start of the reference to a declared type; that of `var` is what is created."""
        if value is None:
            value = node.child_by_field_name("value")
        name = type_name(node.child_by_field_name("type"))
        if name is None:
            return NONE
        is_inferred = name.end_byte - name.start_byte == 3 and self.text.of(name) == "var"
        return created_type(value) if is_inferred else name.start_byte

    def meet_label(self, node: Node) -> None:
        """Define a label."""
        name = first_child(node)
        if name is None or name.type != "identifier" or name.is_missing:
            return
        word = self.text.of(name)
        self.tables.define_label(self.tables.scope, name, word, LABEL + word, since=name.start_byte)

    def meet_instanceof(self, node: Node) -> None:
        """Define the variable of `x instanceof T name`."""
        name = node.child_by_field_name("name")
        if name is not None and name.type == "identifier":
            self.define_in_pattern(name, type_reference(node.child_by_field_name("right")))

    def meet_pattern(self, node: Node) -> None:
        """Define the variable of a pattern `T name`."""
        children = [child for child in children_of(node) if child.type != "modifiers"]
        if len(children) == 2 and children[1].type == "identifier":
            name = type_name(children[0])
            is_inferred = name is None or self.text.of(name) == "var"
            self.define_in_pattern(children[1], NONE if is_inferred or name is None else name.start_byte)

    def meet_record_pattern(self, node: Node) -> None:
        """Mark the type of a pattern `T(…)`, which looks like a call."""
        name = first_child(node)
        if name is not None and name.type == "identifier":
            self.tables.refer(name.start_byte, NONE, OF_TYPE)

    def define_in_pattern(self, name: Node, type_start: int) -> None:
        """Define a variable that is seen where the pattern has matched, which is not before its name."""
        scope = self.tables.scope
        if self.define(name, DefinitionKind.VARIABLE, scope, name.start_byte, type_start):
            self.pattern_variables.add((scope, self.text.of(name)))

    def meet_generic_call(self, node: Node) -> None:
        """Mark the name in `x.<T>name()`, which follows type arguments."""
        name, receiver = node.child_by_field_name("name"), node.child_by_field_name("object")
        if name is None or receiver is None:
            return
        code = _WORDS.get(receiver.type, EXPRESSION)
        if receiver.type == "identifier":
            code = receiver.start_byte
        elif receiver.type == "field_access":
            field = children_of(receiver)[-1]
            code = field.start_byte if field.type == "identifier" else EXPRESSION
        if any(child.type == "super" for child in children_of(node)[1:]):
            code = EXPRESSION
        self.tables.refer(name.start_byte, code)

    def meet_generic_reference(self, node: Node) -> None:
        """Mark the name in `X::<T>name`, which follows type arguments."""
        children = children_of(node)
        if children[-1].type == "identifier" and len(children) > 2:
            owner = children[0]
            code = owner.start_byte if owner.type == "identifier" else _WORDS.get(owner.type, EXPRESSION)
            self.tables.refer(children[-1].start_byte, code)

    def meet_annotated_path(self, node: Node) -> None:
        """Mark the name in `a.@B Name`, which follows an annotation."""
        children = children_of(node)
        before, name = type_name(children[0]), type_name(children[-1])
        if before is not None and name is not None:
            self.tables.refer(name.start_byte, before.start_byte)

    def define(self, name: Node, kind: DefinitionKind, scope: int, since: int, type_start: int = NONE) -> bool:
        """Define a parameter or local variable that is seen from an offset on; say whether it has a name."""
        word = self.text.of(name)
        if not word or word == "_":
            return False
        self.tables.define_local(scope, kind, word, name.byte_range, since, type_start)
        return True
