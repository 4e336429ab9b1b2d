"""Go over the nodes of a Go file that open scopes, bind names or declare types, and record what they declare."""

import re
from collections.abc import Callable
from typing import Final

from tree_sitter import Node

from codeplane.languages.block_scopes.tables import EVERYWHERE, FUNCTION, BlockTables, meet_events
from codeplane.languages.block_scopes.texts import BlockText
from codeplane.languages.facts import (
    NO_RECEIVER,
    NONE,
    STAR,
    BindReason,
    Certainty,
    Definition,
    DefinitionKind,
    Import,
    ReferenceRole,
)
from codeplane.languages.go.literals import field_keys
from codeplane.languages.go.types import (
    base_reference,
    embedded_reference,
    receiver_name,
    result_reference,
    type_reference,
    value_types,
)
from codeplane.languages.nodes import children_of, first_child, name_of
from codeplane.languages.parsing import IsOver

LABEL: Final = "label "  # labels have a name space of their own
KEY: Final = -3  # the place of a key that is a field unless the literal's type turns out not to be a struct
BLANK: Final = "_"

_VERSION: Final = re.compile(r"v[0-9]+")
_DOTTED_VERSION: Final = re.compile(r"\.v[0-9]+$")
_REFERENCE: Final = int(ReferenceRole.REFERENCE)
_IMPORT: Final = int(ReferenceRole.IMPORT)
_TYPE_KINDS: Final = {"struct_type": DefinitionKind.STRUCT, "interface_type": DefinitionKind.INTERFACE}


def read_structure(events: list[Node], text: BlockText, is_over: IsOver) -> "Structure":
    """Return the structure of a file from the nodes that the query found."""
    structure = Structure(text)
    meet_events(structure.tables, events, structure.handlers(), is_over)
    return structure


class Structure:
    """What the nodes said.

    `package` is the name in the package clause. `plain_types` are the numbers of types that are known to be no
    structs, so that keys in their literals are expressions.
    """

    __slots__ = ("_declared", "_type_bodies", "package", "plain_types", "tables", "text")

    def __init__(self, text: BlockText) -> None:
        self.text = text
        self.tables = BlockTables(text.size)
        self.package = ""
        self.plain_types: set[int] = set()
        # The names that local scopes declare, for `:=`, which declares only what is new.
        self._declared: set[tuple[int, str]] = set()
        # The definition whose body a struct or interface type is, by the type's start.
        self._type_bodies: dict[int, int] = {}

    def handlers(self) -> dict[str, Callable[[Node], None]]:
        """Return what to do for each kind of node."""
        return {
            "package_clause": self.meet_package,
            "import_spec": self.meet_import,
            "function_declaration": self.meet_function,
            "method_declaration": self.meet_method,
            "func_literal": self.meet_literal_function,
            "function_type": self.meet_function_type,
            "method_elem": self.meet_function_type,
            "type_spec": self.meet_type,
            "type_alias": self.meet_type,
            "struct_type": self.meet_struct,
            "interface_type": self.meet_interface,
            "block": self.tables.open_block,
            "if_statement": self.tables.open_block,
            "for_statement": self.tables.open_block,
            "expression_switch_statement": self.meet_switch,
            "type_switch_statement": self.meet_type_switch,
            "expression_case": self.tables.open_block,
            "type_case": self.tables.open_block,
            "default_case": self.tables.open_block,
            "communication_case": self.tables.open_block,
            "range_clause": self.meet_short_declaration,
            "short_var_declaration": self.meet_short_declaration,
            "receive_statement": self.meet_short_declaration,
            "var_spec": self.meet_variables,
            "const_spec": self.meet_constants,
            "labeled_statement": self.meet_label,
            "composite_literal": self.meet_composite,
        }

    def meet_package(self, node: Node) -> None:
        """Remember the package; its name is not a reference."""
        name = first_child(node)
        if name is not None and name.type == "package_identifier":
            self.package = self.text.of(name)
            self.tables.skip(name.start_byte)

    def meet_import(self, node: Node) -> None:
        """Record an import and bind its local name, if it has one that is known."""
        path, name = node.child_by_field_name("path"), node.child_by_field_name("name")
        if path is None:
            return
        source = self.text.of(path)[1:-1]
        start, end = node.byte_range
        if name is not None and name.type in {"dot", "blank_identifier"}:
            imported = STAR if name.type == "dot" else None
            alias = None if name.type == "dot" else BLANK
            self.tables.imports.append(Import(0, source, imported, alias, "go_import", Certainty.CERTAIN, start, end))
            return
        alias = self.text.of(name) if name is not None else None
        local = alias or default_name(source)
        fact = Import(0, source, None, alias, "go_import", Certainty.CERTAIN, start, end)
        if not local.isidentifier():
            self.tables.imports.append(fact)
            return
        place = self.tables.bind_import(fact, local)
        if name is not None:
            self.tables.marks[name.start_byte] = (0, _IMPORT, NO_RECEIVER, place)

    def meet_function(self, node: Node) -> None:
        """Define a function of the package and open its scope."""
        name = node.child_by_field_name("name")
        word = self.text.of(name) if name is not None else ""
        number = NONE
        if name is not None and word and word != BLANK:
            number = self.define_callable(node, name, DefinitionKind.FUNCTION, "")
            if word == "init":
                self.tables.mark_definition(number)
            else:
                self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE)
        self.open_function(node, self.tables.path_of(0, word), number)

    def meet_method(self, node: Node) -> None:
        """Define a method of a type and open its scope."""
        name, receiver = node.child_by_field_name("name"), node.child_by_field_name("receiver")
        declaration = first_child(receiver) if receiver is not None else None
        type_node = declaration.child_by_field_name("type") if declaration is not None else None
        owner_name = receiver_name(type_node)
        owner = self.text.of(owner_name) if owner_name is not None else ""
        word = self.text.of(name) if name is not None else ""
        number = NONE
        if name is not None and word and word != BLANK:
            number = self.define_callable(node, name, DefinitionKind.METHOD, owner)
            self.tables.mark_definition(number)
        scope = self.open_function(node, f"{owner}.{word}" if owner else word, number)
        self.define_receiver_types(type_node, scope)

    def define_callable(self, node: Node, name: Node, kind: DefinitionKind, owner: str) -> int:
        """Define a function or method without binding it."""
        word = self.text.of(name)
        body = node.child_by_field_name("body")
        signature = self.text.folded(name.end_byte, body.start_byte if body is not None else node.end_byte)
        return self.tables.define(
            Definition(
                kind,
                word,
                f"{owner}.{word}" if owner else word,
                *node.byte_range,
                name.start_byte,
                0,
                signature=signature,
                documentation=self.text.comment_above(node.start_byte),
                owner=owner,
                type_ref=result_reference(node.child_by_field_name("result")),
            )
        )

    def meet_literal_function(self, node: Node) -> None:
        """Open the scope of a function literal."""
        self.open_function(node, self.tables.paths[self.tables.scope], NONE)

    def open_function(self, node: Node, path: str, number: int) -> int:
        """Open a function's scope and define what its header declares; parameters are seen in the body only."""
        scope = self.tables.open_function(node, number, path)
        body = node.child_by_field_name("body")
        since = body.start_byte if body is not None else node.end_byte
        self.define_type_parameters(node.child_by_field_name("type_parameters"), scope)
        for field in ("receiver", "parameters", "result"):
            header = node.child_by_field_name(field)
            if header is not None and header.type == "parameter_list":
                self.define_parameters(header, scope, since)
        return scope

    def define_parameters(self, header: Node, scope: int, since: int) -> None:
        """Define the parameters of a list."""
        for name, type_start in parameter_names(header):
            self.define_local(name, DefinitionKind.PARAMETER, scope, since, type_start)

    def define_type_parameters(self, header: Node | None, scope: int) -> None:
        """Define type parameters, which their whole scope sees; the members of one are those of its constraint."""
        for declaration in children_of(header):
            if declaration.type != "type_parameter_declaration":
                continue
            constraint = declaration.child_by_field_name("type")
            base = embedded_reference(constraint) if constraint is not None else NONE
            for name in declaration.children_by_field_name("name"):
                if name.type == "identifier":
                    self.define_type_parameter(name, scope, base)

    def define_type_parameter(self, name: Node, scope: int, base: int) -> None:
        """Define one type parameter."""
        word = self.text.of(name)
        if word and word != BLANK:
            bases = () if base == NONE else (base,)
            number = self.tables.define_in(
                scope, DefinitionKind.TYPE, word, name.byte_range, name.start_byte, bases=bases
            )
            self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE)

    def define_receiver_types(self, node: Node | None, scope: int) -> None:
        """Define the type parameters that a receiver `(r *T[K])` names."""
        while node is not None and node.type in {"pointer_type", "parenthesized_type"}:
            node = first_child(node)
        arguments = node.child_by_field_name("type_arguments") if node is not None else None
        for argument in children_of(arguments):
            name = first_child(argument)
            if name is not None and name.type == "type_identifier":
                self.define_type_parameter(name, scope, NONE)

    def meet_function_type(self, node: Node) -> None:
        """Skip the parameter names of a type of functions: nothing can refer to them."""
        for field in ("parameters", "result"):
            header = node.child_by_field_name(field)
            if header is not None and header.type == "parameter_list":
                for name, _ in parameter_names(header):
                    self.tables.skip(name.start_byte)

    def meet_type(self, node: Node) -> None:
        """Define a type; a local one is seen from its name on."""
        name, type_node = name_of(node), node.child_by_field_name("type")
        if name is None:
            return
        word = self.text.of(name)
        path = self.tables.path_of(self.tables.scope, word)
        if word != BLANK:
            number = self.define_type(node, name, type_node, path)
            if type_node is not None and type_node.type in _TYPE_KINDS:
                self._type_bodies[type_node.start_byte] = number
        parameters = node.child_by_field_name("type_parameters")
        if parameters is not None:
            scope = self.tables.open_scope("type_parameters", node.start_byte, node.end_byte, path)
            self.define_type_parameters(parameters, scope)

    def define_type(self, node: Node, name: Node, type_node: Node | None, path: str) -> int:
        """Define a type; one that is made of another has that as its base: its fields and methods are reached."""
        kind, signature_end = DefinitionKind.TYPE, node.end_byte
        type_kind = type_node.type if type_node is not None else ""
        if type_node is not None and type_kind in _TYPE_KINDS:
            kind = _TYPE_KINDS[type_kind]
            signature_end = type_node.start_byte + len(type_kind.removesuffix("_type"))
        base = base_reference(type_node)
        scope = self.tables.scope
        number = self.tables.define(
            Definition(
                kind,
                self.text.of(name),
                path,
                *node.byte_range,
                name.start_byte,
                scope,
                signature=self.text.folded(name.end_byte, signature_end),
                documentation=self.documentation_of(node),
                bases=() if base == NONE else (base,),
            )
        )
        if kind is DefinitionKind.TYPE and base == NONE:
            self.plain_types.add(number)
        self.bind_in_order(number, BindReason.DEF_IN_SCOPE, name.start_byte)
        return number

    def documentation_of(self, spec: Node) -> str:
        """Return the comment above a spec, or above its declaration when it is alone in it."""
        own = self.text.comment_above(spec.start_byte)
        if own or self.tables.scope:
            return own
        line_start = self.text.bytewise.rfind("\n", 0, spec.start_byte) + 1
        keyword = self.text.bytewise[line_start : spec.start_byte].strip()
        return self.text.comment_above(line_start) if keyword in {"type", "var", "const"} else ""

    def meet_struct(self, node: Node) -> None:
        """Open the scope of a struct's fields and define them."""
        scope, number = self.open_type_body("struct", node)
        fields = first_child(node)
        bases: list[int] = []
        for declaration in children_of(fields):
            if declaration.type != "field_declaration":
                continue
            type_node = declaration.child_by_field_name("type")
            names = declaration.children_by_field_name("name")
            if names:
                self.define_fields(declaration, names, type_node, scope)
            elif base_reference(type_node) != NONE:
                bases.append(base_reference(type_node))
                self.define_embedded(declaration, bases[-1], scope)
        if bases and number != NONE and self.tables.definitions[number].kind is DefinitionKind.STRUCT:
            self.tables.definitions[number] = self.tables.definitions[number]._replace(bases=tuple(bases))

    def open_type_body(self, kind: str, node: Node) -> tuple[int, int]:
        """Open the scope of a struct or interface type and return it with the definition it belongs to."""
        number = self._type_bodies.get(node.start_byte, NONE)
        path = self.tables.definitions[number].lexical_path if number != NONE else None
        scope = self.tables.open_scope(kind, node.start_byte, node.end_byte, path)
        if number != NONE:
            self.tables.close_body(number, scope)
        return scope, number

    def define_fields(self, declaration: Node, names: list[Node], type_node: Node | None, scope: int) -> None:
        """Define the fields of one declaration."""
        type_start = type_reference(type_node)
        documentation = self.text.comment_above(declaration.start_byte)
        for name in names:
            word = self.text.of(name) if name.type == "field_identifier" else ""
            if not word or word == BLANK:
                self.tables.skip(name.start_byte)
                continue
            start, end = declaration.byte_range if len(names) == 1 else name.byte_range
            number = self.tables.define_in(
                scope,
                DefinitionKind.FIELD,
                word,
                (start, end),
                name.start_byte,
                documentation=documentation,
                type_ref=type_start,
            )
            self.tables.mark_definition(number)
            self.own_type_body(number, type_node)

    def define_embedded(self, declaration: Node, base: int, scope: int) -> None:
        """Define the field that an embedded type makes; its name stays a reference to the type."""
        end = base
        text = self.text.bytewise
        while end < len(text) and (text[end].isalnum() or text[end] == "_" or text[end] >= "\x80"):
            end += 1
        word = self.text.cut(base, end)
        self.tables.define_in(scope, DefinitionKind.FIELD, word, declaration.byte_range, base, type_ref=base)

    def own_type_body(self, number: int, type_node: Node | None) -> None:
        """Remember that a struct written in place belongs to a variable or field."""
        if type_node is not None and type_node.type == "pointer_type":
            type_node = first_child(type_node)
        if type_node is not None and type_node.type in _TYPE_KINDS:
            self._type_bodies.setdefault(type_node.start_byte, number)

    def meet_interface(self, node: Node) -> None:
        """Open the scope of an interface's methods and define them."""
        scope, number = self.open_type_body("interface", node)
        bases: list[int] = []
        for element in children_of(node):
            if element.type == "type_elem" and embedded_reference(element) != NONE:
                bases.append(embedded_reference(element))
            name = element.child_by_field_name("name") if element.type == "method_elem" else None
            if name is not None and self.text.of(name) not in {"", BLANK}:
                self.define_interface_method(element, name, scope)
        if bases and number != NONE and self.tables.definitions[number].kind is DefinitionKind.INTERFACE:
            self.tables.definitions[number] = self.tables.definitions[number]._replace(bases=tuple(bases))

    def define_interface_method(self, element: Node, name: Node, scope: int) -> None:
        """Define a method of an interface."""
        word = self.text.of(name)
        start, end = element.byte_range
        number = self.tables.define_in(
            scope,
            DefinitionKind.METHOD,
            word,
            (start, end),
            name.start_byte,
            signature=self.text.folded(name.end_byte, end),
            documentation=self.text.comment_above(start),
            type_ref=result_reference(element.child_by_field_name("result")),
        )
        self.tables.mark_definition(number)

    def meet_switch(self, node: Node) -> None:
        """Open the scope of a switch that declares something before its clauses."""
        if node.child_by_field_name("initializer") is not None:
            self.tables.open_scope("switch", node.start_byte, node.end_byte)

    def meet_type_switch(self, node: Node) -> None:
        """Open a type switch; its variable is seen in the clauses."""
        self.tables.open_scope("type_switch", node.start_byte, node.end_byte)
        alias, value = node.child_by_field_name("alias"), node.child_by_field_name("value")
        for name in children_of(alias) if alias is not None and value is not None else ():
            if name.type == "identifier" and value is not None:
                self.define_local(name, DefinitionKind.VARIABLE, self.tables.scope, value.end_byte, NONE)
                # Each clause declares it again, so the initializer of the switch may have the same name.
                self._declared.discard((self.tables.scope, self.text.of(name)))

    def meet_short_declaration(self, node: Node) -> None:
        """Define the new names on the left of `:=`; those that this scope has already are assigned."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return
        between = self.text.bytewise[left.end_byte : right.start_byte]
        if ":=" not in between:
            return
        names = children_of(left)
        values = [NONE] * len(names)
        if right.type == "expression_list":
            values = value_types(right, len(names))
        scope = self.tables.scope
        for name, type_start in zip(names, values, strict=True):
            if name.type == "identifier" and (scope, self.text.of(name)) not in self._declared:
                self.define_local(name, DefinitionKind.VARIABLE, scope, node.end_byte, type_start)

    def meet_variables(self, node: Node) -> None:
        """Define the variables of a spec."""
        self.define_spec(node, DefinitionKind.VARIABLE)

    def meet_constants(self, node: Node) -> None:
        """Define the constants of a spec."""
        self.define_spec(node, DefinitionKind.CONSTANT)

    def define_spec(self, node: Node, kind: DefinitionKind) -> None:
        """Define the names of a `var` or `const` spec; local ones are seen after it."""
        names = [name for name in node.children_by_field_name("name") if name.type == "identifier"]
        type_node, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        declared = type_reference(type_node)
        types = [declared] * len(names)
        if type_node is None and value is not None:
            types = value_types(value, len(names))
        scope = self.tables.scope
        documentation = "" if scope else self.documentation_of(node)
        for name, type_start in zip(names, types, strict=True):
            word = self.text.of(name)
            if not word or word == BLANK:
                self.tables.skip(name.start_byte)
                continue
            start, end = node.byte_range if scope == 0 and len(names) == 1 else name.byte_range
            number = self.tables.define_in(
                scope,
                kind,
                word,
                (start, end),
                name.start_byte,
                documentation=documentation,
                type_ref=type_start,
            )
            self.bind_in_order(number, BindReason.LOCAL_ASSIGN, node.end_byte)
            self.own_type_body(number, type_node)

    def meet_label(self, node: Node) -> None:
        """Define a label in the function around it."""
        name = node.child_by_field_name("label")
        word = self.text.of(name) if name is not None else ""
        if name is None or not word or word == BLANK:
            return
        scope = self.tables.scope
        while scope and self.tables.scopes[scope].kind != FUNCTION:
            scope = self.tables.scopes[scope].parent
        self.tables.define_label(scope, name, word, LABEL + word)

    def meet_composite(self, node: Node) -> None:
        """Mark the keys of a literal that name fields."""
        scope = self.tables.scope
        for start, receiver in field_keys(node, self.text):
            self.tables.marks[start] = (scope, _REFERENCE, receiver, KEY)

    def define_local(self, name: Node, kind: DefinitionKind, scope: int, since: int, type_start: int) -> None:
        """Define a parameter or local variable that is seen from an offset on."""
        word = self.text.of(name)
        if not word or word == BLANK:
            self.tables.skip(name.start_byte)
            return
        self._declared.add((scope, word))
        self.tables.define_local(scope, kind, word, name.byte_range, since, type_start)

    def bind_in_order(self, number: int, reason: BindReason, since: int) -> None:
        """Bind a definition in the whole file if it is the package's, else from an offset on."""
        definition = self.tables.definitions[number]
        if definition.scope:
            self._declared.add((definition.scope, definition.name))
        self.tables.bind_definition(number, reason, since=since if definition.scope else EVERYWHERE)


def parameter_names(header: Node) -> list[tuple[Node, int]]:
    """Return the names of a list of parameters, each with the start of the reference to its type.

    A list has names for all parameters or for none; of a long group `a, b, … z T` the grammar takes the first for
    types without names.
    """
    found: list[tuple[Node, int]] = []
    nameless: list[Node] = []
    for declaration in children_of(header):
        if not declaration.type.endswith("parameter_declaration"):
            continue
        type_node = declaration.child_by_field_name("type")
        names = [name for name in declaration.children_by_field_name("name") if name.type == "identifier"]
        if not names and type_node is not None and type_node.type == "type_identifier":
            nameless.append(type_node)
            continue
        is_variadic = declaration.type != "parameter_declaration"
        type_start = NONE if is_variadic else type_reference(type_node)
        found.extend((name, type_start) for name in (*nameless, *names) if names)
        nameless = []
    return found


def default_name(path: str) -> str:
    """Return the name that an import without alias binds by convention: the last part without a version."""
    parts = path.split("/")
    if len(parts) > 1 and _VERSION.fullmatch(parts[-1]):
        parts.pop()
    return _DOTTED_VERSION.sub("", parts[-1])
