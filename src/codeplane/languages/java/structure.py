"""Go over the nodes of a Java file that declare imports, types and members, and record what they declare."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.languages.block_scopes.tables import EVERYWHERE, BlockTables, meet_events
from codeplane.languages.block_scopes.texts import BlockText
from codeplane.languages.facts import (
    NO_RECEIVER,
    NONE,
    STAR,
    BindReason,
    Certainty,
    DefinitionKind,
    Import,
    ReferenceRole,
)
from codeplane.languages.java.keys import METHOD, STATIC, TYPE
from codeplane.languages.java.statements import Statements
from codeplane.languages.java.types import base_types, type_name, type_reference
from codeplane.languages.nodes import child_of_kind, children_in, children_of, first_child, name_of
from codeplane.languages.parsing import IsOver

CLASS: Final = "class"

_REFERENCE: Final = int(ReferenceRole.REFERENCE)
_IMPORT: Final = int(ReferenceRole.IMPORT)
_DOC: Final = ("///",)
_KINDS: Final = {
    "class_declaration": DefinitionKind.CLASS,
    "record_declaration": DefinitionKind.CLASS,
    "interface_declaration": DefinitionKind.INTERFACE,
    "annotation_type_declaration": DefinitionKind.INTERFACE,
    "enum_declaration": DefinitionKind.ENUM,
}
_ANNOTATIONS: Final = frozenset({"annotation", "marker_annotation"})
# An import or package as it is nearly always written, so that no nodes are needed for its parts.
_SIMPLE_PATH: Final = re.compile(
    r"(?:import|import static|package) ([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\.\*)?;", re.ASCII
)


class Method(NamedTuple):
    """A method as calls see it: its place, how many arguments it takes, and its parameter types as written.

    `n_most` is NONE when it takes any number. `is_override` says that something above the class has the name as well.
    """

    place: int
    n_least: int
    n_most: int
    types: tuple[str, ...]
    is_override: bool


@dataclass(slots=True)
class ClassBody:
    """What is known of the body of a class when names are looked up in it.

    `number` is its definition, NONE for an anonymous class. `base_names` are the simple names of its bases and where
    they are, an empty name for a base that is a path.
    """

    number: int
    kind: DefinitionKind
    base_names: list[tuple[str, int]]
    methods: dict[str, list[Method]] = field(default_factory=dict)


def read_structure(events: list[Node], text: BlockText, is_over: IsOver) -> "Structure":
    """Return the structure of a file from the nodes that the query found."""
    structure = Structure(text)
    meet_events(structure.tables, events, structure.handlers(), is_over)
    return structure


class Structure:
    """What the nodes said.

    `package` is what the file declares; `classes` are the bodies of classes by their scope. `imports_scope` is where
    imports are bound, 0 without any: other files of the package see the types of the file's own scope, but not its
    imports.
    """

    __slots__ = ("_bodies", "classes", "imports_scope", "package", "statements", "tables", "text")

    def __init__(self, text: BlockText) -> None:
        self.text = text
        self.tables = BlockTables(text.size)
        self.statements = Statements(self.tables, text)
        self.package = ""
        self.imports_scope = 0
        self.classes: dict[int, ClassBody] = {}
        # What a class body belongs to, by the body's start.
        self._bodies: dict[int, ClassBody] = {}

    def handlers(self) -> dict[str, Callable[[Node], None]]:
        """Return what to do for each kind of node."""
        return {
            "package_declaration": self.meet_package,
            "import_declaration": self.meet_import,
            "module_declaration": self.meet_module,
            "class_declaration": self.meet_type,
            "interface_declaration": self.meet_type,
            "enum_declaration": self.meet_type,
            "record_declaration": self.meet_type,
            "annotation_type_declaration": self.meet_type,
            "class_body": self.meet_body,
            "interface_body": self.meet_body,
            "enum_body": self.meet_body,
            "annotation_type_body": self.meet_body,
            "object_creation_expression": self.meet_anonymous,
            "enum_constant": self.meet_constant,
            "field_declaration": self.meet_fields,
            "constant_declaration": self.meet_fields,
            "method_declaration": self.meet_method,
            "annotation_type_element_declaration": self.meet_method,
            "constructor_declaration": self.meet_method,
            "compact_constructor_declaration": self.meet_method,
            "annotation": self.meet_annotation,
            **self.statements.handlers(),
        }

    def meet_package(self, node: Node) -> None:
        """Remember the package; its name is not a reference."""
        names = self.path_of_names(node)
        self.package = ".".join(name for _, name in names)
        for start, _ in names:
            self.tables.skip(start)

    def meet_module(self, node: Node) -> None:
        """Skip the declaration of a module: its names are not types of this package."""
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if current.type == "identifier":
                self.tables.skip(current.start_byte)
            waiting.extend(children_of(current))

    def path_of_names(self, node: Node) -> list[tuple[int, str]]:
        """Return the names of the path in a package or import declaration."""
        start, end = node.byte_range
        simple = _SIMPLE_PATH.fullmatch(self.text.bytewise, start, end)
        found: list[tuple[int, str]] = []
        if simple is not None:
            place = simple.start(1)
            for name in simple[1].split("."):
                found.append((place, name))
                place += len(name) + 1
            return found
        path = next((child for child in children_of(node) if child.type in {"scoped_identifier", "identifier"}), None)
        while path is not None and path.type == "scoped_identifier":
            name = path.child_by_field_name("name")
            if name is not None and not name.is_missing:
                found.append((name.start_byte, self.text.of(name)))
            path = first_child(path)
        if path is not None and path.type == "identifier" and not path.is_missing:
            found.append((path.start_byte, self.text.of(path)))
        return found[::-1]

    def meet_import(self, node: Node) -> None:
        """Record an import and its identifiers."""
        names = self.path_of_names(node)
        if not names:
            return
        start, end = node.byte_range
        head = self.text.bytewise[start : names[0][0]]
        is_star = self.text.bytewise[start:end].rstrip("; \t\r\n").endswith("*")
        kind = "java_import_static" if "static" in head.split() else "java_import"
        path = names if is_star else names[:-1]
        source = ".".join(name for _, name in path)
        imported = STAR if is_star else names[-1][1]
        fact = Import(0, source, imported, None, kind, Certainty.CERTAIN, start, end)
        for number, (place, _) in enumerate(path):
            receiver = path[number - 1][0] if number else NO_RECEIVER
            self.tables.marks[place] = (0, _IMPORT, receiver, NONE)
        if is_star:
            self.tables.imports.append(fact)
            return
        if self.imports_scope == 0:
            around = self.tables.scopes[self.tables.scope]
            self.imports_scope = self.tables.open_scope("imports", start, around.end)
        prefix = STATIC if kind == "java_import_static" else TYPE
        place = self.tables.bind_import(fact, imported, prefix + imported, self.imports_scope)
        self.tables.marks[names[-1][0]] = (self.imports_scope, _IMPORT, NO_RECEIVER, place)

    def meet_type(self, node: Node) -> None:
        """Define a class, interface, enum, record or annotation type."""
        name, body = name_of(node), node.child_by_field_name("body")
        if name is None:
            return
        word = self.text.of(name)
        scope = self.tables.scope
        if scope == self.imports_scope:
            scope = 0
        types = self.bases_of(node)
        number = self.tables.define_in(
            scope,
            _KINDS[node.type],
            word,
            node.byte_range,
            name.start_byte,
            signature=self.text.folded(name.end_byte, body.start_byte if body is not None else node.end_byte),
            decorators=self.decorators_of(node, name.start_byte),
            documentation=self.text.comment_above(node.start_byte, _DOC),
            bases=tuple(type_reference(one) for one in types),
        )
        is_local = scope != 0 and scope not in self.classes
        since = name.start_byte if is_local else EVERYWHERE
        self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE, since=since, key=TYPE + word)
        names = [self.base_name(one) for one in types]
        opened = ClassBody(number, _KINDS[node.type], names)
        if node.type == "record_declaration":
            self.open_class(opened, node)
            self.define_type_parameters(node, self.tables.scope)
            self.define_components(node, self.tables.scope)
            return
        self.open_header(node, number)
        if body is not None:
            self._bodies[body.start_byte] = opened

    def bases_of(self, node: Node) -> list[Node]:
        """Return the types that a declaration extends and implements."""
        found = [
            *base_types(node.child_by_field_name("superclass")),
            *base_types(node.child_by_field_name("interfaces")),
        ]
        if node.type == "interface_declaration":
            clauses = [child for child in children_of(node) if child.type == "extends_interfaces"]
            found.extend(one for clause in clauses for one in base_types(clause))
        return found

    def base_name(self, node: Node) -> tuple[str, int]:
        """Return the simple name of a base and where it is, an empty name for a path."""
        name = type_name(node)
        if name is None:
            return "", NONE
        while node.type == "generic_type":
            node = children_of(node)[0]
        return (self.text.of(name) if node.type == "type_identifier" else ""), name.start_byte

    def decorators_of(self, node: Node, before: int) -> tuple[str, ...]:
        """Return the annotations of a declaration, without the at-sign."""
        if self.text.bytewise.find("@", node.start_byte, before) < 0:
            return ()
        modifiers = first_child(node)
        if modifiers is None or modifiers.type != "modifiers":
            return ()
        return tuple(
            self.text.folded(child.start_byte + 1, child.end_byte)
            for child in children_of(modifiers)
            if child.type in _ANNOTATIONS
        )

    def modifiers_of(self, node: Node) -> frozenset[str]:
        """Return the words among the modifiers of a declaration."""
        modifiers = first_child(node)
        if modifiers is None or modifiers.type != "modifiers":
            return frozenset()
        return frozenset(child.type for child in modifiers.children)

    def open_header(self, node: Node, number: int) -> None:
        """Open the scope of a type's parameters, if it has any."""
        if node.child_by_field_name("type_parameters") is not None:
            path = self.tables.definitions[number].lexical_path
            scope = self.tables.open_scope("header", node.start_byte, node.end_byte, path)
            self.define_type_parameters(node, scope)

    def define_type_parameters(self, node: Node, scope: int) -> None:
        """Define type parameters, which their whole scope sees; bounds are bases."""
        for parameter in children_in(node, "type_parameters"):
            children = [child for child in children_of(parameter) if child.type not in _ANNOTATIONS]
            if parameter.type != "type_parameter" or not children or children[0].is_missing:
                continue
            name = children[0]
            word = self.text.of(name)
            bounds = [one for child in children[1:] if child.type == "type_bound" for one in children_of(child)]
            bases = tuple(type_reference(one) for one in bounds)
            number = self.tables.define_in(
                scope, DefinitionKind.TYPE, word, name.byte_range, name.start_byte, bases=bases
            )
            self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE, key=TYPE + word)

    def define_components(self, node: Node, scope: int) -> None:
        """Define the components of a record, which are read like fields and called like methods."""
        for name, type_start in self.statements.parameters_of(children_in(node, "parameters")):
            self.define_field(name, DefinitionKind.PROPERTY, scope, type_start, name.byte_range)

    def meet_body(self, node: Node) -> None:
        """Open the body of a class."""
        opened = self._bodies.get(node.start_byte)
        if opened is not None:
            self.open_class(opened, node)

    def open_class(self, opened: ClassBody, node: Node) -> None:
        """Open the scope of a class's members."""
        path = self.tables.definitions[opened.number].lexical_path if opened.number != NONE else None
        scope = self.tables.open_scope(CLASS, node.start_byte, node.end_byte, path)
        self.classes[scope] = opened
        if opened.number != NONE:
            self.tables.close_body(opened.number, scope)

    def meet_anonymous(self, node: Node) -> None:
        """Remember what an anonymous class extends."""
        type_node = node.child_by_field_name("type")
        body = child_of_kind(node, "class_body")
        if body is not None:
            names = [self.base_name(type_node)] if type_node is not None else [("", NONE)]
            self._bodies[body.start_byte] = ClassBody(NONE, DefinitionKind.CLASS, names)

    def meet_constant(self, node: Node) -> None:
        """Define a constant of an enum; its body is a class that extends the enum."""
        name, body = name_of(node), node.child_by_field_name("body")
        scope = self.tables.scope
        if name is None or scope not in self.classes:
            return
        enum = self.classes[scope].number
        number = self.tables.define_in(
            scope,
            DefinitionKind.CONSTANT,
            self.text.of(name),
            node.byte_range,
            name.start_byte,
            decorators=self.decorators_of(node, name.start_byte),
            documentation=self.text.comment_above(node.start_byte, _DOC),
            instance_of=enum,
        )
        self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE)
        if body is not None and enum != NONE:
            base = (self.tables.definitions[enum].name, self.tables.definitions[enum].name_start)
            self._bodies[body.start_byte] = ClassBody(NONE, DefinitionKind.CLASS, [base])

    def meet_fields(self, node: Node) -> None:
        """Define the fields of a declaration."""
        scope = self.tables.scope
        if scope not in self.classes:
            return
        type_node = node.child_by_field_name("type")
        modifiers = self.modifiers_of(node)
        is_constant = node.type == "constant_declaration" or {"static", "final"} <= modifiers
        kind = DefinitionKind.CONSTANT if is_constant else DefinitionKind.FIELD
        declarators = node.children_by_field_name("declarator")
        for declarator in declarators:
            name = declarator.child_by_field_name("name")
            if name is None or name.type != "identifier" or name.is_missing:
                continue
            is_array = declarator.child_by_field_name("dimensions") is not None
            type_start = NONE if is_array else type_reference(type_node)
            span = node.byte_range if len(declarators) == 1 else declarator.byte_range
            self.define_field(name, kind, scope, type_start, span)

    def define_field(
        self, name: Node, kind: DefinitionKind, scope: int, type_start: int, span: tuple[int, int]
    ) -> None:
        """Define one field."""
        word = self.text.of(name)
        number = self.tables.define_in(
            scope,
            kind,
            word,
            span,
            name.start_byte,
            documentation=self.text.comment_above(span[0], _DOC),
            type_ref=type_start,
        )
        self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE)

    def meet_method(self, node: Node) -> None:
        """Define a method or constructor and open its scope; no plain name can mean a constructor."""
        name, body = name_of(node), node.child_by_field_name("body")
        around = self.tables.scope
        if name is None or around not in self.classes:
            return
        word = self.text.of(name)
        parameters = children_in(node, "parameters")
        end = body.start_byte if body is not None else node.end_byte
        number = self.define_callable(node, name, end)
        path = self.tables.definitions[number].lexical_path
        is_constructor = node.type in {"constructor_declaration", "compact_constructor_declaration"}
        if not is_constructor:
            # Each method has a key of its own: calls choose among them by the number of arguments.
            place = self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE, key=f"{METHOD}{word} {number}")
            self.classes[around].methods.setdefault(word, []).append(
                self.method(place, parameters, is_override="Override" in self.tables.definitions[number].decorators)
            )
        scope = self.tables.open_function(node, number, path)
        if is_constructor:
            # No plain name can mean a constructor, so it is only in its own scope.
            self.tables.definitions[number] = self.tables.definitions[number]._replace(scope=scope)
            self.tables.mark_definition(number)
        self.define_type_parameters(node, scope)
        self.statements.define_parameters(parameters, scope, end)

    def define_callable(self, node: Node, name: Node, end: int) -> int:
        """Define a method or constructor without binding it."""
        type_node = node.child_by_field_name("type")
        signature = self.text.folded(name.end_byte, end).removesuffix(";")
        if type_node is not None:
            signature += f": {self.text.folded(*type_node.byte_range)}"
        return self.tables.define_in(
            self.tables.scope,
            DefinitionKind.METHOD,
            self.text.of(name),
            node.byte_range,
            name.start_byte,
            signature=signature,
            decorators=self.decorators_of(node, name.start_byte),
            documentation=self.text.comment_above(node.start_byte, _DOC),
        )

    def method(self, place: int, parameters: list[Node], *, is_override: bool) -> Method:
        """Return a method as calls see it."""
        types: list[str] = []
        for parameter in parameters:
            if parameter.type == "formal_parameter":
                type_node = parameter.child_by_field_name("type")
                types.append(self.text.of(type_node) if type_node is not None else "")
            elif parameter.type == "spread_parameter":
                return Method(place, len(types), NONE, (*types, "..."), is_override)
        return Method(place, len(types), len(types), tuple(types), is_override)

    def meet_annotation(self, node: Node) -> None:
        """Mark the names in `@Type(name = value)` as members of the annotation's type."""
        name, arguments = node.child_by_field_name("name"), node.child_by_field_name("arguments")
        if name is None or arguments is None:
            return
        owner = name.child_by_field_name("name") if name.type == "scoped_identifier" else name
        for pair in children_of(arguments):
            key = pair.child_by_field_name("key") if pair.type == "element_value_pair" else None
            if key is not None and owner is not None:
                self.tables.refer(key.start_byte, owner.start_byte)
