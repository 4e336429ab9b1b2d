"""Go over the nodes of a Rust file that open scopes, bind names or declare types, and record what they declare."""

from collections.abc import Callable
from itertools import pairwise
from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.languages.block_scopes.tables import FUNCTION, SKIP, BlockTables, meet_events
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
from codeplane.languages.nodes import child_of_kind, children_in, children_of, name_of
from codeplane.languages.parsing import IsOver
from codeplane.languages.rust.attributes import Attributes, is_conditional
from codeplane.languages.rust.keys import ANY, MACRO, PATH, TYPE, VALUE
from codeplane.languages.rust.macros import has_plain_arguments
from codeplane.languages.rust.statements import BLANK, Statements, next_text
from codeplane.languages.rust.types import bound_references, implemented_type, named_type, type_reference
from codeplane.languages.rust.uses import GLOBAL, UsedName, read_use

MODULE: Final = "module"
IMPL: Final = "impl"
TRAIT: Final = "trait"
PATH_WORDS: Final = frozenset({"crate", "self", "super"})

_REFERENCE: Final = int(ReferenceRole.REFERENCE)
_IMPORT: Final = int(ReferenceRole.IMPORT)
_DOC: Final = ("///",)


def read_structure(events: list[Node], words: list[Node], text: BlockText, is_over: IsOver) -> "Structure":
    """Return the structure of a file from the nodes that the query found.

    `words` are the nodes of `crate`, `self` and `super`; those that start a path take part.
    """
    structure = Structure(text)
    events = events + [node for node in words if next_text(text.bytewise, node.end_byte).startswith("::")]
    meet_events(structure.tables, events, structure.handlers(), is_over)
    return structure


class Implementation(NamedTuple):
    """An `impl` block: the name of the type it is for, if it has one, and where that name is."""

    owner: str
    type_start: int
    around: int


class Region(NamedTuple):
    """A part of the file in which identifiers are not plain syntax; `is_plain` says that they mean what they seem."""

    start: int
    end: int
    is_plain: bool


class Structure:
    """What the nodes said.

    `regions` are attributes and macros, in order; `uses` are the ranges of `use` declarations. `modules` gives for the
    scope of an inline module its definition, `types` the same for types and traits, `implementations` for the scope of
    an `impl` what it is for, `member_homes` for a member of one the scope of its `impl`, `variants` for an enum its
    variants, `paths` for an import its path as written.
    """

    __slots__ = (
        "_path_places",
        "_path_word",
        "_type_bodies",
        "attributes",
        "implementations",
        "member_homes",
        "modules",
        "paths",
        "regions",
        "statements",
        "tables",
        "text",
        "types",
        "uses",
        "variants",
    )

    def __init__(self, text: BlockText) -> None:
        self.text = text
        self.tables = BlockTables(text.size)
        self.regions: list[Region] = []
        self.attributes = Attributes(text)
        self.statements = Statements(self.tables, text, self.attributes)
        self.uses: list[tuple[int, int]] = []
        self.modules: dict[int, int] = {}
        self.types: dict[int, int] = {}
        self.implementations: dict[int, Implementation] = {}
        self.member_homes: dict[int, int] = {}
        self.variants: dict[int, list[int]] = {}
        self.paths: dict[int, tuple[str, ...]] = {}
        # The kind of scope and the definition that a list of fields, variants or items belongs to, by the list's start.
        self._type_bodies: dict[int, tuple[str, int]] = {}
        # Where `crate`, `self` and `super` are bound, by what they mean.
        self._path_places: dict[str, int] = {}
        # The end of the last such word and the number of modules it goes up.
        self._path_word = (NONE, 0)

    def handlers(self) -> dict[str, Callable[[Node], None]]:
        """Return what to do for each kind of node."""
        return {
            "use_declaration": self.meet_use,
            "extern_crate_declaration": self.meet_extern_crate,
            "mod_item": self.meet_module,
            "struct_item": self.meet_struct,
            "union_item": self.meet_struct,
            "enum_item": self.meet_enum,
            "enum_variant": self.meet_variant,
            "type_item": self.meet_alias,
            "associated_type": self.meet_alias,
            "const_item": self.meet_constant,
            "static_item": self.meet_constant,
            "trait_item": self.meet_trait,
            "impl_item": self.meet_implementation,
            "function_item": self.meet_function,
            "function_signature_item": self.meet_function,
            "macro_definition": self.meet_macro,
            "macro_invocation": self.meet_invocation,
            "attribute_item": self.meet_attribute,
            "inner_attribute_item": self.meet_inner_attribute,
            "field_declaration_list": self.meet_body,
            "enum_variant_list": self.meet_body,
            "declaration_list": self.meet_body,
            "crate": self.meet_path_word,
            "self": self.meet_path_word,
            "super": self.meet_path_word,
            **self.statements.handlers(),
        }

    def meet_use(self, node: Node) -> None:
        """Record the names that a `use` declaration imports."""
        decorators, _ = self.attributes.take(node.start_byte)
        self.uses.append(node.byte_range)
        argument = node.child_by_field_name("argument")
        n_places, n_imports = len(self.tables.places), len(self.tables.imports)
        for used in read_use(argument, self.text) if argument is not None else ():
            self.add_used_name(used)
        if is_conditional(decorators):
            self.statements.conditional.update(range(n_places, len(self.tables.places)))
            for number in range(n_imports, len(self.tables.imports)):
                self.tables.imports[number] = self.tables.imports[number]._replace(is_conditional=True)

    def add_used_name(self, used: UsedName) -> None:
        """Record one imported name and its identifiers."""
        scope, marks = self.tables.scope, self.tables.marks
        path, name = used.path, used.name
        for before, segment in pairwise(path):
            if before.name != GLOBAL and segment.name not in PATH_WORDS:
                marks.setdefault(segment.start, (scope, _IMPORT, before.start, NONE))
        if name is not None and name.name == "self" and path:
            marks[name.start] = (scope, _IMPORT, NO_RECEIVER, SKIP)
            path, name = path[:-1], path[-1]
        names = tuple(segment.name for segment in path)
        imported = STAR if name is None else name.name
        alias = used.alias.name if used.alias is not None else None
        source, span, is_local = "::".join(names), (used.start, used.end), self.is_in_function(scope)
        fact = Import(scope, source, imported, alias, "rust_use", Certainty.CERTAIN, *span, is_conditional=is_local)
        local = alias or imported
        self.paths[len(self.tables.imports)] = names
        if name is None or local == BLANK or local in PATH_WORDS:
            self.tables.imports.append(fact)
            return
        place = self.tables.bind_import(fact, local, ANY + local)
        if name.name not in PATH_WORDS:
            marks[name.start] = (scope, _IMPORT, NO_RECEIVER, place)
        if used.alias is not None:
            marks[used.alias.start] = (scope, _IMPORT, NO_RECEIVER, place)

    def is_in_function(self, scope: int) -> bool:
        """Say whether a scope lies in a function."""
        while scope:
            if self.tables.scopes[scope].kind == FUNCTION:
                return True
            scope = self.tables.scopes[scope].parent
        return False

    def meet_extern_crate(self, node: Node) -> None:
        """Record `extern crate a as b`."""
        self.attributes.drop()
        name, alias = node.child_by_field_name("name"), node.child_by_field_name("alias")
        word = self.text.of(name) if name is not None else ""
        if name is None or not word:
            return
        renamed = self.text.of(alias) if alias is not None else None
        source = "crate" if word == "self" else f"::{word}"
        scope = self.tables.scope
        fact = Import(scope, source, None, renamed, "rust_use", Certainty.CERTAIN, *node.byte_range)
        place = NONE
        if renamed != BLANK:
            place = self.tables.bind_import(fact, renamed or word, ANY + (renamed or word))
        else:
            self.tables.imports.append(fact)
        for part in (name, alias):
            if part is not None:
                is_said = self.text.of(part) in {"self", BLANK}
                self.tables.marks[part.start_byte] = (scope, _IMPORT, NO_RECEIVER, SKIP if is_said else place)

    def meet_module(self, node: Node) -> None:
        """Define an inline module, or record that another file is one."""
        name, body = name_of(node), node.child_by_field_name("body")
        if name is None:
            return
        word = self.text.of(name)
        scope = self.tables.scope
        if body is not None:
            number = self.define_item(node, name, DefinitionKind.MODULE, body.start_byte)
            self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE, key=TYPE + word)
            self._type_bodies[body.start_byte] = (MODULE, number)
            return
        self.attributes.drop()
        source = "::".join(["self", *(self.tables.definitions[one].name for one in self.modules_around(scope)), word])
        fact = Import(scope, source, None, None, "rust_mod", Certainty.CERTAIN, *node.byte_range)
        place = self.tables.bind_import(fact, word, TYPE + word)
        self.tables.marks[name.start_byte] = (scope, _IMPORT, NO_RECEIVER, place)

    def modules_around(self, scope: int) -> list[int]:
        """Return the inline modules around a scope, the outermost first."""
        found = []
        while scope:
            if scope in self.modules:
                found.append(self.modules[scope])
            scope = self.tables.scopes[scope].parent
        return found[::-1]

    def meet_body(self, node: Node) -> None:
        """Open the scope of the members of a type, trait or module."""
        start, end = node.byte_range
        if start not in self._type_bodies:
            return
        kind, number = self._type_bodies[start]
        definition = self.tables.definitions[number]
        scope = self.tables.open_scope(kind, start, end, definition.lexical_path)
        self.tables.close_body(number, scope)
        if kind == MODULE:
            self.modules[scope] = number
            return
        self.types[scope] = number
        if node.type != "declaration_list" and definition.kind is not DefinitionKind.CONSTANT:
            self.tables.bind_word("Self", TYPE + "Self", scope, self.types.get(definition.scope, number))
        if node.type == "field_declaration_list":
            self.define_fields(node, scope)

    def define_fields(self, body: Node, scope: int) -> None:
        """Define the fields of a struct, a union or a variant."""
        for declaration in children_of(body):
            name = name_of(declaration) if declaration.type == "field_declaration" else None
            if name is None:
                continue
            number = self.tables.define_in(
                scope,
                DefinitionKind.FIELD,
                self.text.of(name),
                declaration.byte_range,
                name.start_byte,
                documentation=self.text.comment_above(declaration.start_byte, _DOC),
                type_ref=type_reference(declaration.child_by_field_name("type")),
            )
            self.tables.mark_definition(number)

    def meet_struct(self, node: Node) -> None:
        """Define a struct or union; one without named fields is a value as well."""
        name, body = name_of(node), node.child_by_field_name("body")
        if name is None:
            return
        word = self.text.of(name)
        has_fields = body is not None and body.type == "field_declaration_list"
        end = body.start_byte if body is not None and has_fields else node.end_byte
        number = self.define_item(node, name, DefinitionKind.STRUCT, end)
        self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE, key=TYPE + word)
        if not has_fields:
            self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE, key=VALUE + word)
        self.open_header(node, number)
        if body is not None and has_fields:
            self._type_bodies[body.start_byte] = ("struct", number)

    def meet_enum(self, node: Node) -> None:
        """Define an enum; its variants come with their own nodes."""
        name, body = name_of(node), node.child_by_field_name("body")
        if name is None:
            return
        word = self.text.of(name)
        number = self.define_item(node, name, DefinitionKind.ENUM, body.start_byte if body is not None else NONE)
        self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE, key=TYPE + word)
        self.variants[number] = []
        self.open_header(node, number)
        if body is not None:
            self._type_bodies[body.start_byte] = ("enum", number)

    def meet_variant(self, node: Node) -> None:
        """Define a variant; one with named fields has them as members, the others are values of the enum."""
        name, body = name_of(node), node.child_by_field_name("body")
        scope = self.tables.scope
        enum = self.types.get(scope, NONE)
        if name is None or enum not in self.variants:
            return
        has_fields = body is not None and body.type == "field_declaration_list"
        decorators, _ = self.attributes.take(node.start_byte)
        number = self.tables.define_in(
            scope,
            DefinitionKind.STRUCT if has_fields else DefinitionKind.CONSTANT,
            self.text.of(name),
            node.byte_range,
            name.start_byte,
            signature="" if has_fields or body is None else self.text.folded(*body.byte_range),
            decorators=decorators,
            documentation=self.text.comment_above(node.start_byte, _DOC),
            instance_of=NONE if has_fields else enum,
        )
        self.tables.mark_definition(number)
        self.variants[enum].append(number)
        if body is not None and has_fields:
            self._type_bodies[body.start_byte] = ("struct", number)

    def meet_alias(self, node: Node) -> None:
        """Define a type alias or an associated type."""
        name, base = name_of(node), named_type(node.child_by_field_name("type"))
        if name is None:
            return
        bases = (base,) if base != NONE else bound_references(node.child_by_field_name("bounds"))
        number = self.define_item(node, name, DefinitionKind.TYPE, node.end_byte, bases)
        self.bind_item(number, TYPE)
        self.open_header(node, number)

    def meet_constant(self, node: Node) -> None:
        """Define a constant or a static."""
        name = node.child_by_field_name("name")
        word = self.text.of(name) if name is not None else ""
        if name is None or not word or word == BLANK:
            self.attributes.drop()
            return
        kind = DefinitionKind.CONSTANT if node.type == "const_item" else DefinitionKind.VARIABLE
        number = self.define_item(node, name, kind)
        type_start = type_reference(node.child_by_field_name("type"))
        self.tables.definitions[number] = self.tables.definitions[number]._replace(type_ref=type_start)
        self.bind_item(number, VALUE)

    def meet_trait(self, node: Node) -> None:
        """Define a trait; the traits it asks for are its bases."""
        name, body = name_of(node), node.child_by_field_name("body")
        if name is None:
            return
        word = self.text.of(name)
        bases = bound_references(node.child_by_field_name("bounds"))
        end = body.start_byte if body is not None else node.end_byte
        number = self.define_item(node, name, DefinitionKind.TRAIT, end, bases)
        self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE, key=TYPE + word)
        self.open_header(node, number)
        if body is not None:
            self._type_bodies[body.start_byte] = (TRAIT, number)

    def meet_implementation(self, node: Node) -> None:
        """Open an `impl` block."""
        self.attributes.drop()
        around = self.tables.scope
        type_node = node.child_by_field_name("type")
        # The type at the end of a path is another than a type of that name here, so the whole path is the owner.
        path_node = implemented_type(type_node)
        owner = self.text.folded(*path_node.byte_range) if path_node is not None else ""
        if owner in self.parameter_names(node):
            owner = ""
        path = self.tables.path_of(around, owner or IMPL)
        scope = self.tables.open_scope(IMPL, node.start_byte, node.end_byte, path)
        self.implementations[scope] = Implementation(owner, type_reference(type_node), around)
        self.define_type_parameters(node, scope)

    def meet_function(self, node: Node) -> None:
        """Define a function or method and open its scope."""
        name, body = name_of(node), node.child_by_field_name("body")
        if name is None:
            return
        around = self.tables.scope
        is_member = self.tables.scopes[around].kind in {IMPL, TRAIT}
        kind = DefinitionKind.METHOD if is_member else DefinitionKind.FUNCTION
        end = body.start_byte if body is not None else node.end_byte
        number = self.define_item(node, name, kind, end)
        if "async" not in self.text.bytewise[node.start_byte : name.start_byte]:
            result = type_reference(node.child_by_field_name("return_type"))
            self.tables.definitions[number] = self.tables.definitions[number]._replace(type_ref=result)
        self.bind_item(number, VALUE)
        path = self.tables.definitions[number].lexical_path
        scope = self.tables.open_function(node, number, path)
        self.define_type_parameters(node, scope)
        for parameter in children_in(node, "parameters"):
            self.define_parameter(parameter, end, around)

    def define_parameter(self, parameter: Node, since: int, around: int) -> None:
        """Define what one parameter binds; `self` is an instance of the type around the function."""
        pattern = parameter.child_by_field_name("pattern")
        if parameter.type == "self_parameter":
            pattern = child_of_kind(parameter, "self")
        if pattern is None or pattern.is_missing or parameter.type not in {"parameter", "self_parameter"}:
            return
        if pattern.type != "self":
            self.statements.bind_pattern(
                pattern,
                DefinitionKind.PARAMETER,
                since,
                type_start=type_reference(parameter.child_by_field_name("type")),
            )
            return
        kind = self.tables.scopes[around].kind
        type_start = self.implementations[around].type_start if kind == IMPL else NONE
        instance_of = self.types[around] if kind == TRAIT else NONE
        number = self.tables.define_in(
            self.tables.scope,
            DefinitionKind.PARAMETER,
            "self",
            pattern.byte_range,
            pattern.start_byte,
            instance_of=instance_of,
            type_ref=type_start,
        )
        self.tables.bind_definition(number, BindReason.PARAM, since=since)

    def define_item(
        self, node: Node, name: Node, kind: DefinitionKind, signature_end: int = NONE, bases: tuple[int, ...] = ()
    ) -> int:
        """Define an item or a member of the current scope, without binding it."""
        word = self.text.of(name)
        start, end = node.byte_range
        scope = self.tables.scope
        path = self.tables.path_of(scope, word)
        owner = ""
        # A type of an `impl` is what its trait asks for, so that its name means the trait's.
        home = scope
        if scope in self.implementations and kind is not DefinitionKind.TYPE:
            owner = self.implementations[scope].owner
            scope = self.implementations[scope].around if owner else scope
        decorators, first = self.attributes.take(start)
        signature = self.text.folded(name.end_byte, signature_end) if signature_end > name.end_byte else ""
        if owner:
            self.member_homes[len(self.tables.definitions)] = home
        return self.tables.define(
            Definition(
                kind,
                word,
                path,
                start,
                end,
                name.start_byte,
                scope,
                signature=signature.removesuffix(";"),
                decorators=decorators,
                documentation=self.documentation(start, first),
                owner=owner,
                bases=bases,
            )
        )

    def documentation(self, start: int, first: int) -> str:
        """Return the comment above an item or above its first attribute."""
        own = self.text.comment_above(start, _DOC)
        return own if own or first == start else self.text.comment_above(first, _DOC)

    def bind_item(self, number: int, name_space: str) -> None:
        """Bind an item, unless it is a member, which no plain name can mean."""
        if self.tables.scopes[self.tables.scope].kind in {IMPL, TRAIT}:
            self.tables.mark_definition(number)
        else:
            name = self.tables.definitions[number].name
            self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE, key=name_space + name)

    def open_header(self, node: Node, number: int) -> None:
        """Open the scope of a type's parameters, and of `Self` in a trait; other types without parameters need none."""
        is_trait = node.type == "trait_item"
        if not is_trait and node.child_by_field_name("type_parameters") is None:
            return
        path = self.tables.definitions[number].lexical_path
        scope = self.tables.open_scope("header", node.start_byte, node.end_byte, path)
        self.define_type_parameters(node, scope)
        if is_trait:
            self.tables.bind_word("Self", TYPE + "Self", scope, number)

    def define_type_parameters(self, node: Node, scope: int) -> None:
        """Define type and constant parameters, which their whole scope sees; bounds are bases."""
        for parameter in children_in(node, "type_parameters"):
            name = parameter.child_by_field_name("name")
            if name is None or name.is_missing or parameter.type == "lifetime_parameter":
                continue
            word = self.text.of(name)
            if parameter.type == "const_parameter":
                type_start = type_reference(parameter.child_by_field_name("type"))
                kind, key = DefinitionKind.CONSTANT, VALUE + word
            else:
                type_start = NONE
                kind, key = DefinitionKind.TYPE, TYPE + word
            bases = bound_references(parameter.child_by_field_name("bounds"))
            number = self.tables.define_in(
                scope, kind, word, name.byte_range, name.start_byte, bases=bases, type_ref=type_start
            )
            self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE, key=key)

    def parameter_names(self, node: Node) -> set[str]:
        """Return the names of the type parameters of an item."""
        names = [parameter.child_by_field_name("name") for parameter in children_in(node, "type_parameters")]
        return {self.text.of(name) for name in names if name is not None}

    def meet_macro(self, node: Node) -> None:
        """Define a macro, seen after its definition; nothing is said about what is inside."""
        name = node.child_by_field_name("name")
        word = self.text.of(name) if name is not None else ""
        self.regions.append(Region(node.start_byte, node.end_byte, False))
        if name is None or not word:
            return
        number = self.define_item(node, name, DefinitionKind.MACRO)
        self.tables.bind_definition(number, BindReason.DEF_IN_SCOPE, since=node.end_byte, key=MACRO + word)

    def meet_invocation(self, node: Node) -> None:
        """Remember the arguments of a macro."""
        name = node.child_by_field_name("macro")
        arguments = child_of_kind(node, "token_tree")
        if name is None or arguments is None:
            return
        start, end = arguments.byte_range
        word = self.text.of(name).rpartition(":")[2]
        self.regions.append(Region(start, end, has_plain_arguments(word, self.text.bytewise[start:end])))

    def meet_attribute(self, node: Node) -> None:
        """Keep an attribute for the item after it."""
        start, end = node.byte_range
        self.regions.append(Region(start, end, False))
        self.attributes.add(start, end)

    def meet_inner_attribute(self, node: Node) -> None:
        """Skip an attribute of the file or block."""
        self.regions.append(Region(node.start_byte, node.end_byte, False))

    def meet_path_word(self, node: Node) -> None:
        """Bind `crate`, `self` or `super` at the start of a path to the module it means."""
        word = node.type
        start, end = node.byte_range
        scope = self.tables.scope
        around = self.modules_around(scope)
        last_end, n_up = self._path_word
        if last_end == NONE or self.text.bytewise[last_end:start].strip() != "::":
            n_up = 0
        n_up += word == "super"
        self._path_word = (end, n_up)
        is_import = bool(self.uses) and self.uses[-1][0] <= start < self.uses[-1][1]
        role = _IMPORT if is_import else _REFERENCE
        self.tables.marks[start] = (scope, role, NO_RECEIVER, self.path_place(word, around, n_up, (start, end)))

    def path_place(self, word: str, around: list[int], n_up: int, span: tuple[int, int]) -> int:
        """Return the place that binds a word of a path: an inline module, or a path to a module of another file."""
        level = len(around) - n_up
        if word == "crate":
            source = "crate"
        elif level > 0:
            key = f"{PATH}{around[level - 1]}"
            if key not in self._path_places:
                module = self.tables.definitions[around[level - 1]]
                self._path_places[key] = self.tables.bind_word(word, key, module.scope, around[level - 1])
            return self._path_places[key]
        else:
            source = "::".join(["super"] * -level) or "self"
        if source not in self._path_places:
            fact = Import(0, source, None, None, "rust_path", Certainty.CERTAIN, *span)
            self._path_places[source] = self.tables.bind_import(fact, word, PATH + source)
        return self._path_places[source]
