"""Go once over all identifiers of a file, in order, and record what each does."""

import re
from bisect import bisect_right
from collections.abc import Callable
from operator import itemgetter
from typing import Final

from tree_sitter import Node

from codeplane.languages.facts import (
    EXPRESSION,
    KEYWORD,
    NO_RECEIVER,
    NONE,
    SUPER,
    BindReason,
    BindTarget,
    Definition,
    DefinitionKind,
    plain_definition,
)
from codeplane.languages.parsing import Captures, OutOfTimeError
from codeplane.languages.python import imports
from codeplane.languages.python.annotations import annotated_type, quoted_names
from codeplane.languages.python.syntax import PYTHON
from codeplane.languages.python.tables import (
    CLASS,
    COMPREHENSION,
    DEFINES,
    FILE,
    FUNCTION,
    IMPORTS,
    LAMBDA,
    QUOTED,
    REBINDS,
    TYPE_PARAMETERS,
    USE,
    Extent,
    NonlocalBind,
    Place,
    ScopeRow,
    Tables,
    Watched,
)
from codeplane.languages.python.texts import PythonText, scoping_key

# What the query said about an identifier.
_PLAIN: Final = 0
_BIND: Final = 1
_WALRUS: Final = 2
_PARAMETER: Final = 3
_KEYWORD: Final = 4
_MEMBER: Final = 5
_DEFINED: Final = 6
_SKIP: Final = 7
_AFTER_SPACED_DOT: Final = 8
_DELETE: Final = 9
_TYPE_PARAMETER: Final = 10
_QUOTED: Final = 11

# Constants, because a tuple display in the loop would be built each time.
_BEHIND_DOT: Final = (_MEMBER, _AFTER_SPACED_DOT)
_BINDING: Final = (_BIND, _WALRUS)
# Scopes in which a name is visible only after its binding.
_IN_ORDER: Final = (FILE, CLASS)

_MARKS_BY_CAPTURE: Final = (
    ("bind", _BIND),
    ("walrus", _WALRUS),
    ("parameter", _PARAMETER),
    ("keyword", _KEYWORD),
    ("member", _MEMBER),
)
_WATCHED_NAMES: Final = frozenset(
    {
        "__all__",
        "__import__",
        "delattr",
        "eval",
        "exec",
        "getattr",
        "globals",
        "hasattr",
        "import_module",
        "locals",
        "setattr",
        "vars",
    }
)
_WATCHED_MEMBERS: Final = frozenset({"import_module", "__dict__", "__import__"})
_PROPERTY_DECORATORS: Final = frozenset(
    {"property", "cached_property", "abstractproperty", "setter", "getter", "deleter"}
)
_SPACED_DOT: Final = re.compile(r"\.(?:[\s\\]|#[^\n]*\n)+(?=[A-Za-z_\x80-\xff])")
_PATTERN_PARTS: Final = frozenset({"tuple", "list", "parenthesized_expression", "expression_list", "list_splat"})
_CHUNK: Final = 20_000
_START: Final = itemgetter(0)
# Members of enumerations are looked up by name each time, which shows where it is done for every variable.
_DEF: Final = BindTarget.DEF
_LOCAL_ASSIGN: Final = BindReason.LOCAL_ASSIGN
_PARAM: Final = BindReason.PARAM
_VARIABLE_REASONS: Final = (_LOCAL_ASSIGN, _PARAM)
_VARIABLE: Final = DefinitionKind.VARIABLE
_CONSTANT: Final = DefinitionKind.CONSTANT
# A named tuple made by its generated way takes twice as long.
_NEW: Final = tuple.__new__
_NEVER: Final = 1 << 62
_WHITE: Final = " \t\f\r\n\\"


def _kind(name: str) -> int:
    return PYTHON.id_for_node_kind(name, True) or 0


def _field(name: str) -> int:
    return PYTHON.field_id_for_name(name) or 0


_CLASS_DEFINITION: Final = _kind("class_definition")
_FUNCTION_DEFINITION: Final = _kind("function_definition")
_LAMBDA: Final = _kind("lambda")
_GLOBAL: Final = _kind("global_statement")
_NONLOCAL: Final = _kind("nonlocal_statement")
_DELETE_STATEMENT: Final = _kind("delete_statement")
_TYPE_ALIAS: Final = _kind("type_alias_statement")
_PRINT: Final = _kind("print_statement")
_FOR_IN: Final = _kind("for_in_clause")
_COMPREHENSIONS: Final = frozenset(
    _kind(name)
    for name in ("list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression")
)
_NAME: Final = _field("name")
_PARAMETERS: Final = _field("parameters")
_BODY: Final = _field("body")
_RETURN_TYPE: Final = _field("return_type")
_TYPE_PARAMETERS: Final = _field("type_parameters")
_SUPERCLASSES: Final = _field("superclasses")
_RIGHT: Final = _field("right")


def walk(root: Node, captures: Captures, text: PythonText, is_over: Callable[[], bool]) -> Tables:
    """Return the raw rows of one file.

    Raises:
        OutOfTimeError: `is_over` said so.
    """
    # Taken out, because hundreds of thousands of nodes kept alive slow the garbage collector down.
    identifiers = [node.byte_range for node in captures.pop("identifier", ())]
    quoted = list(quoted_names(captures.pop("quoted", ()), text.bytewise))
    identifiers += quoted
    # No two start at one place; comparing the pairs takes three times as long.
    identifiers.sort(key=_START)
    walker = _Walker(root, captures, text)
    walker.marks |= {start: _QUOTED for start, _ in quoted if text.bytewise[start - 1] != "."}
    for first in range(0, len(identifiers), _CHUNK):
        if is_over():
            raise OutOfTimeError
        walker.take(identifiers[first : first + _CHUNK])
    walker.advance(_NEVER - 1)
    return walker.tables


class _Walker:
    """The position of the walk.

    Invariant: `opened` holds the scopes around the current position with their ends, innermost last; `pending` holds
    scopes whose header was seen but whose region starts later, the nearest last. A region may belong to an outer
    scope again: that is how the first iterable of a comprehension is evaluated outside.
    """

    def __init__(self, root: Node, captures: Captures, text: PythonText) -> None:
        self.root = root
        self.text = text
        self.tables = Tables()
        self.scope = 0
        self.row = ScopeRow(FILE, NONE, root.byte_range, "", "")
        self.tables.scopes.append(self.row)
        self.opened = [(_NEVER, 0)]
        self.pending: list[tuple[int, int, int]] = []
        self.events = sorted(captures.get("event", ()), key=_start_of, reverse=True)
        self.decorators = sorted(captures.get("decorator", ()), key=_start_of, reverse=True)
        assignments = sorted([node.byte_range for node in captures.get("assignment", ())])
        self.assignment_starts = [start for start, _ in assignments]
        self.assignment_ends = [end for _, end in assignments]
        self.marks = _marks(captures, text)
        self.next_event = self.events[-1].start_byte if self.events else _NEVER
        self.chain = NONE
        self.chain_end = -1

    def take(self, identifiers: list[tuple[int, int]]) -> None:
        """Write a row for each identifier; they come in the order of the source.

        This runs for every identifier, so what it needs is kept in locals and written back around calls.
        """
        bytewise, is_ascii, marks = self.text.bytewise, self.text.is_ascii, self.marks
        add = self.tables.names.append
        next_event = scope = -1
        for start, end in identifiers:
            if start >= next_event:
                self.advance(start)
                next_event, scope = self.next_event, self.scope
            name = bytewise[start:end]
            if not is_ascii and not name.isascii():
                name = self.text.cut(start, end)
            if start in marks:
                mark = marks[start]
                # These two need so little that a call would be most of it.
                if mark == _KEYWORD:
                    add((start, name, None, scope, USE, KEYWORD))
                elif mark != _SKIP:
                    self.take_marked(mark, start, end, name)
            elif bytewise[start - 1] == ".":
                receiver = self.chain if self.chain_end == start - 1 else self.receiver_at(start)
                add((start, name, None, scope, USE, receiver))
                self.chain = start
                self.chain_end = end
                if name in _WATCHED_MEMBERS:
                    self.tables.watched.append(Watched(start, end, name, None, scope))
            else:
                self.chain = start
                self.chain_end = end
                is_plain = bytewise[start] != "_" and (is_ascii or name.isascii())
                key = name if is_plain else scoping_key(name, self.row.class_name)
                add((start, name, key, scope, USE, NO_RECEIVER))
                if name in _WATCHED_NAMES:
                    self.tables.watched.append(Watched(start, end, name, key, scope))

    def take_marked(self, mark: int, start: int, end: int, name: str) -> None:
        """Write the row of an identifier about which the query or an event said more."""
        if mark in _BEHIND_DOT:
            self.take_member(mark, start, end, name)
            return
        self.chain, self.chain_end = start, end
        action, scope = USE, self.scope
        if mark in _BINDING:
            is_new = not (name == "_" and self.is_splat_wildcard(start)) and self.bind_variable(start, name, mark)
            action = DEFINES if is_new else REBINDS
        elif mark == _PARAMETER:
            action, scope = DEFINES, self.bind_parameter(start, name)
        elif mark == _TYPE_PARAMETER:
            self.define(DefinitionKind.TYPE, name, start, BindReason.DEF_IN_SCOPE)
            action = DEFINES
        elif mark == _DEFINED:
            action = DEFINES
        elif mark == _QUOTED:
            action = QUOTED
        key = scoping_key(name, self.tables.scopes[scope].class_name)
        if mark == _DELETE and key not in self.row.global_names:
            self.row.deleted_names |= {key}
        self.tables.names.append((start, name, key, scope, action, NO_RECEIVER))
        if name in _WATCHED_NAMES:
            self.tables.watched.append(Watched(start, end, name, key, self.scope))

    def take_member(self, mark: int, start: int, end: int, name: str) -> None:
        """Write the row of an identifier after a dot, and define `self.x` where it is first assigned."""
        if mark == _AFTER_SPACED_DOT and not self.is_after_dot(start, end):
            self.take_marked(_PLAIN, start, end, name)
            return
        receiver = self.chain if self.chain_end == start - 1 else self.receiver_at(start)
        action = USE
        if mark == _MEMBER and self.is_self(receiver) and self.define_member(start, name):
            action = DEFINES
        self.tables.names.append((start, name, None, self.scope, action, receiver))
        self.chain = start
        self.chain_end = end
        if name in _WATCHED_MEMBERS:
            self.tables.watched.append(Watched(start, end, name, None, self.scope))

    def receiver_at(self, start: int) -> int:
        """Return the receiver of a member whose dot does not directly follow a name."""
        bytewise = self.text.bytewise
        before = bytewise.rfind(".", 0, start) - 1
        while before >= 0 and bytewise[before] in _WHITE:
            before -= 1
        if before + 1 == self.chain_end:
            return self.chain
        if bytewise.endswith("super()", 0, before + 1) and not _is_word(bytewise[before - 7 : before - 6]):
            return SUPER
        return EXPRESSION

    def is_self(self, receiver: int) -> bool:
        """Say whether the receiver of a member is the first parameter of the method around."""
        name = self.row.self_name
        return bool(name) and receiver >= 0 and self.text.bytewise[receiver : self.chain_end] == name

    def is_after_dot(self, start: int, end: int) -> bool:
        """Say whether an identifier that follows a dot and white space is a member."""
        node = self.root.descendant_for_byte_range(start, end)
        parent = node.parent if node is not None else None
        return parent is not None and parent.type in {"attribute", "dotted_name"} and parent.start_byte != start

    def is_splat_wildcard(self, start: int) -> bool:
        """Say whether `_` is the `*_` or `**_` of a pattern, which binds nothing."""
        node = self.root.descendant_for_byte_range(start, start + 1)
        return node is not None and node.parent is not None and node.parent.type == "splat_pattern"

    def advance(self, position: int) -> None:
        """Open and close scopes up to a position."""
        while True:
            event = self.events[-1].start_byte if self.events else _NEVER
            begin = self.pending[-1][0] if self.pending else _NEVER
            end = self.opened[-1][0]
            nearest = event if event < begin else begin  # noqa: FURB136 - calling the builtin takes longer
            nearest = nearest if nearest < end else end  # noqa: FURB136 - calling the builtin takes longer
            if nearest > position:
                self.next_event = nearest
                break
            if end == nearest:
                self.opened.pop()
                self.enter_region(self.opened[-1][1])
            elif begin == nearest:
                _, region_end, scope = self.pending.pop()
                self.opened.append((region_end, scope))
                self.enter_region(scope)
            else:
                self.meet(self.events.pop())

    def enter_region(self, scope: int) -> None:
        """Make a scope the current one."""
        self.scope = scope
        self.row = self.tables.scopes[scope]

    def meet(self, node: Node) -> None:
        """Handle a node that opens a scope, declares or imports."""
        kind = node.kind_id
        if kind == _FUNCTION_DEFINITION:
            self.meet_function(node)
        elif kind == _CLASS_DEFINITION:
            self.meet_class(node)
        elif kind == _LAMBDA:
            scope = self.open_scope(LAMBDA, node.byte_range, self.row.path, self.scope)
            self.open_later(node.child_by_field_id(_BODY), node.end_byte, scope)
        elif kind in _COMPREHENSIONS:
            self.meet_comprehension(node)
        elif kind == _GLOBAL:
            self.row.global_names |= self.declared_names(node)
        elif kind == _NONLOCAL:
            self.row.nonlocal_names |= self.declared_names(node)
        elif kind == _DELETE_STATEMENT:
            self.mark_targets(node, _DELETE)
        elif kind == _TYPE_ALIAS:
            self.meet_type_alias(node)
        elif kind == _PRINT:
            self.use_keyword(node, "print")
        else:
            self.meet_import(node)

    def meet_function(self, node: Node) -> None:
        """Define a function and open its scope at its body."""
        name_node, body = node.child_by_field_id(_NAME), node.child_by_field_id(_BODY)
        if name_node is None or body is None or name_node.is_missing:
            return
        name = self.text.of(name_node)
        decorators = self.take_decorators(node.start_byte)
        parameters, result = node.child_by_field_id(_PARAMETERS), node.child_by_field_id(_RETURN_TYPE)
        signature = self.text.folded(*parameters.byte_range) if parameters is not None else "()"
        if result is not None:
            signature += " -> " + self.text.folded(*result.byte_range)
        kind = DefinitionKind.FUNCTION
        if self.row.kind == CLASS:
            kind = DefinitionKind.PROPERTY if _is_property(decorators) else DefinitionKind.METHOD
        scope = self.define_block(node, name_node, body, kind, (name, signature, decorators), FUNCTION)
        if kind is not DefinitionKind.FUNCTION and "staticmethod" not in decorators:
            self.tables.scopes[scope].self_name = ""

    def meet_class(self, node: Node) -> None:
        """Define a class and open its scope at its body."""
        name_node, body = node.child_by_field_id(_NAME), node.child_by_field_id(_BODY)
        if name_node is None or body is None or name_node.is_missing:
            return
        name = self.text.of(name_node)
        decorators = self.take_decorators(node.start_byte)
        bases = node.child_by_field_id(_SUPERCLASSES)
        signature = self.text.folded(*bases.byte_range) if bases is not None else ""
        scope = self.define_block(node, name_node, body, DefinitionKind.CLASS, (name, signature, decorators), CLASS)
        row = self.tables.scopes[scope]
        row.class_name = name.lstrip("_")
        if bases is not None:
            definitions = self.tables.definitions
            definitions[row.definition] = definitions[row.definition]._replace(bases=_bases(bases))

    def define_block(
        self,
        node: Node,
        name_node: Node,
        body: Node,
        kind: DefinitionKind,
        said: tuple[str, str, tuple[str, ...]],
        scope_kind: str,
    ) -> int:
        """Bind the name here, and plan the scopes of type parameters and body."""
        name, signature, decorators = said
        path = f"{self.row.path}.{name}" if self.row.path else name
        extent = _extent_without_comment(node, self.text)
        parent = self.scope
        type_parameters = node.child_by_field_id(_TYPE_PARAMETERS)
        if type_parameters is not None:
            parent = self.open_scope(TYPE_PARAMETERS, extent, path, self.scope)
            signature = self.text.folded(*type_parameters.byte_range) + signature
        scope = self.open_scope(scope_kind, extent, path, parent)
        row = Definition(
            kind, name, path, *extent, name_node.start_byte, self.scope, scope, signature, decorators,
            self.text.docstring(body.start_byte),
        )  # fmt: skip
        self.tables.scopes[scope].definition = self.bind(row, BindReason.DEF_IN_SCOPE, node.start_byte)
        self.marks[name_node.start_byte] = _DEFINED
        self.open_later(body, node.end_byte, scope)
        if type_parameters is not None:
            self.open_later(type_parameters, node.end_byte, parent)
            self.mark_type_parameters(type_parameters)
        return scope

    def meet_comprehension(self, node: Node) -> None:
        """Open a comprehension's scope at once, but leave it again for the first iterable."""
        outer = self.scope
        scope = self.open_scope(COMPREHENSION, node.byte_range, self.row.path, outer)
        self.opened.append((node.end_byte, scope))
        self.enter_region(scope)
        for child in node.named_children:
            if child.kind_id == _FOR_IN:
                iterable = child.child_by_field_id(_RIGHT)
                if iterable is not None:
                    self.pending.append((iterable.start_byte, iterable.end_byte, outer))
                break

    def meet_type_alias(self, node: Node) -> None:
        """Define a type alias; its parameters, if any, have their own scope."""
        names = _descend(node.child_by_field_name("left"), {"type", "generic_type"})
        if not names or names[0].type != "identifier":
            self.use_keyword(node, "type")
            return
        name = self.text.of(names[0])
        row = Definition(
            DefinitionKind.TYPE, name, self.path_of(name), *node.byte_range, names[0].start_byte, self.scope
        )
        self.bind(row, BindReason.DEF_IN_SCOPE, node.start_byte)
        self.marks[names[0].start_byte] = _DEFINED
        for parameters in names[1:]:
            scope = self.open_scope(TYPE_PARAMETERS, node.byte_range, row.lexical_path, self.scope)
            self.open_later(parameters, node.end_byte, scope)
            self.mark_type_parameters(parameters)

    def use_keyword(self, node: Node, name: str) -> None:
        """Record a name that the grammar took for a keyword: `type(x).y = …` and `print >> x` use builtins."""
        self.tables.names.append((node.start_byte, name, name, self.scope, USE, NO_RECEIVER))

    def meet_import(self, node: Node) -> None:
        """Record an import statement, its identifiers included."""
        is_conditional = self.row.kind != FILE or imports.is_conditional(node)
        for item in imports.read_import(node, self.text, self.scope, is_conditional):
            key = None
            if item.fact is not None:
                self.tables.imports.append(item.fact)
                if item.fact.imported_name == "*":
                    if self.scope == 0:
                        self.tables.last_star_import = node.start_byte
                    continue
                key = scoping_key(imports.local_name(item.fact), self.row.class_name)
                place = Place(BindTarget.IMPORT, len(self.tables.imports) - 1, BindReason.IMPORT_ALIAS, node.start_byte)
                self.add_place(key, place)
            for start, name, receiver, is_local in item.names:
                self.marks[start] = _SKIP
                local_key = key if is_local else None
                self.tables.names.append((start, name, local_key, self.scope, IMPORTS, receiver))

    def open_scope(self, kind: str, extent: Extent, path: str, parent: int) -> int:
        """Add a scope without entering it."""
        class_name = self.tables.scopes[parent].class_name
        self.tables.scopes.append(ScopeRow(kind, parent, extent, path, class_name))
        return len(self.tables.scopes) - 1

    def open_later(self, begin: Node | None, end: int, scope: int) -> None:
        """Plan to enter a scope where a node begins."""
        if begin is not None:
            self.pending.append((begin.start_byte, end, scope))

    def bind_variable(self, start: int, name: str, mark: int) -> bool:
        """Bind a name as a variable and say whether it is its first binding."""
        home = self.scope
        if mark == _WALRUS:
            while self.tables.scopes[home].kind == COMPREHENSION:
                home = max(0, self.tables.scopes[home].parent)
        return self.define_variable(home, start, name)

    def define_variable(self, home: int, start: int, name: str) -> bool:
        """Bind a variable in a scope, or in the one that a declaration sends it to."""
        row = self.tables.scopes[home]
        key = scoping_key(name, row.class_name)
        if key in row.global_names:
            home, row = 0, self.tables.scopes[0]
        elif key in row.nonlocal_names:
            self.tables.nonlocal_binds.append(
                NonlocalBind(home, key, Place(BindTarget.UNKNOWN, -1, BindReason.LOCAL_ASSIGN, start))
            )
            return False
        places = row.places.setdefault(key, [])
        for place in places:
            if place[2] in _VARIABLE_REASONS:
                self.tables.rebound.add(place.target)
                return False
        is_in_order = row.kind in _IN_ORDER
        is_constant = is_in_order and name.isupper()
        kind = _CONSTANT if is_constant else _VARIABLE
        path = f"{row.path}.{name}" if row.path else name
        end = self.end_of(start, name)
        type_ref = annotated_type(self.text.bytewise, end) if row.kind == CLASS and self.is_assigned(start) else NONE
        self.tables.definitions.append(plain_definition(kind, name, path, start, end, home, type_ref=type_ref))
        visible_from = self.end_of_assignment(start) if is_in_order and home == self.scope else start
        places.append(_NEW(Place, (_DEF, len(self.tables.definitions) - 1, _LOCAL_ASSIGN, visible_from)))
        return True

    def is_assigned(self, start: int) -> bool:
        """Say whether an assignment starts with a name: only such an assignment can have an annotation."""
        i = bisect_right(self.assignment_starts, start) - 1
        return i >= 0 and self.assignment_starts[i] == start

    def end_of_assignment(self, start: int) -> int:
        """Return where the assignment around a target ends: its value does not see the name yet."""
        i = bisect_right(self.assignment_starts, start) - 1
        return max(start, self.assignment_ends[i]) if i >= 0 else start

    def bind_parameter(self, start: int, name: str) -> int:
        """Bind a parameter in the scope whose header is being read, and return that scope."""
        scope = self.pending[-1][2] if self.pending else self.scope
        row = self.tables.scopes[scope]
        instance_of = NONE
        if row.self_name == "":
            row.self_name = name
            instance_of = self.class_around(scope)
        path = f"{row.path}.{name}" if row.path else name
        end = self.end_of(start, name)
        # The value of `*args: A` is not an A, and the name of a lambda's parameter is followed by its body.
        is_one_value = row.kind == FUNCTION and instance_of == NONE and self.text.bytewise[start - 1] != "*"
        type_ref = annotated_type(self.text.bytewise, end) if is_one_value else NONE
        self.tables.definitions.append(
            plain_definition(DefinitionKind.PARAMETER, name, path, start, end, scope, instance_of, type_ref)
        )
        place = _NEW(Place, (_DEF, len(self.tables.definitions) - 1, _PARAM, start))
        row.places.setdefault(scoping_key(name, row.class_name), []).append(place)
        return scope

    def define(self, kind: DefinitionKind, name: str, start: int, reason: BindReason) -> None:
        """Define something that is just a name."""
        row = Definition(kind, name, self.path_of(name), start, self.end_of(start, name), start, self.scope)
        self.bind(row, reason, start)

    def bind(self, row: Definition, reason: BindReason, start: int) -> int:
        """Add a definition, bind its name in the current scope and return the definition's number."""
        key = scoping_key(row.name, self.row.class_name)
        if key in self.row.global_names:
            row = row._replace(scope=0)
        self.tables.definitions.append(row)
        number = len(self.tables.definitions) - 1
        self.add_place(key, Place(BindTarget.DEF, number, reason, start))
        return number

    def end_of(self, start: int, name: str) -> int:
        """Return where a name ends."""
        return start + (len(name) if self.text.is_ascii else len(name.encode()))

    def class_around(self, scope: int) -> int:
        """Return the definition of the class whose method a scope is."""
        parent = self.tables.scopes[scope].parent
        while parent != NONE and self.tables.scopes[parent].kind == TYPE_PARAMETERS:
            parent = self.tables.scopes[parent].parent
        return self.tables.scopes[parent].definition if parent != NONE else NONE

    def add_place(self, key: str, place: Place) -> None:
        """Bind a name in the current scope or where a declaration sends it."""
        if key in self.row.nonlocal_names:
            self.tables.nonlocal_binds.append(NonlocalBind(self.scope, key, place))
            return
        home = self.tables.scopes[0] if key in self.row.global_names else self.row
        home.places.setdefault(key, []).append(place)

    def define_member(self, start: int, name: str) -> bool:
        """Define `Class.x` for the first `self.x = …`, unless the class has it already."""
        parent = self.row.parent
        while parent != NONE and self.tables.scopes[parent].kind == TYPE_PARAMETERS:
            parent = self.tables.scopes[parent].parent
        if parent == NONE or self.tables.scopes[parent].kind != CLASS:
            return False
        owner = self.tables.scopes[parent]
        if name in owner.member_names or scoping_key(name, owner.class_name) in owner.places:
            return False
        owner.member_names |= {name}
        path = f"{owner.path}.{name}"
        end = self.end_of(start, name)
        type_ref = annotated_type(self.text.bytewise, end)
        self.tables.definitions.append(plain_definition(_VARIABLE, name, path, start, end, parent, type_ref=type_ref))
        return True

    def path_of(self, name: str) -> str:
        """Return the dotted path of a name bound here."""
        return f"{self.row.path}.{name}" if self.row.path else name

    def take_decorators(self, before: int) -> tuple[str, ...]:
        """Return the decorators of the definition that starts at a position, without the at-sign."""
        found = []
        while self.decorators and self.decorators[-1].start_byte < before:
            node = self.decorators.pop()
            found.append(self.text.folded(node.start_byte + 1, node.end_byte).strip())
        return tuple(found)

    def declared_names(self, node: Node) -> frozenset[str]:
        """Return the names of a `global` or `nonlocal` statement."""
        return frozenset(
            scoping_key(self.text.of(child), self.row.class_name)
            for child in node.named_children
            if child.type == "identifier"
        )

    def mark_targets(self, node: Node, mark: int) -> None:
        """Mark the plain names among the parts of a target."""
        for child in _descend(node, _PATTERN_PARTS | {node.type}):
            if child.type == "identifier":
                self.marks[child.start_byte] = mark

    def mark_type_parameters(self, node: Node) -> None:
        """Mark the names that a list of type parameters binds; bounds and defaults are uses."""
        for child in node.named_children:
            inner: Node | None = child
            while inner is not None and inner.type != "identifier":
                inner = inner.named_child(0) if inner.named_child_count else None
            if inner is not None:
                self.marks[inner.start_byte] = _TYPE_PARAMETER


def _marks(captures: Captures, text: PythonText) -> dict[int, int]:
    """Return what the query says about identifiers, by their start; later captures win."""
    marks = {match.end(): _AFTER_SPACED_DOT for match in _SPACED_DOT.finditer(text.bytewise)}
    for capture, mark in _MARKS_BY_CAPTURE:
        for node in captures.get(capture, ()):
            marks[node.start_byte] = mark
    for node in captures.get("target", ()):
        for child in _descend(node, _PATTERN_PARTS):
            if child.type == "identifier":
                marks[child.start_byte] = _BIND
    return marks


def _descend(node: Node | None, through: frozenset[str] | set[str]) -> list[Node]:
    """Return the nearest descendants of other types than those gone through, in order, without recursion."""
    found: list[Node] = []
    waiting = [node] if node is not None else []
    while waiting:
        current = waiting.pop()
        if current.type in through:
            waiting.extend(reversed(current.named_children))
        else:
            found.append(current)
    return found


def _extent_without_comment(node: Node, text: PythonText) -> Extent:
    """Return where a definition starts and its last token ends; the grammar counts comments after it as its own."""
    end = node.end_byte
    if "#" in text.bytewise[text.bytewise.rfind("\n", 0, end) + 1 : end]:
        last: Node | None = node
        while last is not None and last.child_count:
            children = [child for child in last.children if child.type != "comment"]
            if not children:
                break
            last = children[-1]
            end = last.end_byte
    return node.start_byte, end


def _bases(arguments: Node) -> tuple[int, ...]:
    """Return the starts of the names that the base classes are, NONE for a base that is not a chain of names."""
    found = []
    for child in arguments.named_children:
        if child.type in {"keyword_argument", "comment"}:
            continue
        node: Node | None = child
        if child.type == "subscript":
            node = child.child_by_field_name("value")
        found.append(_last_name(node) if node is not None else NONE)
    return tuple(found)


def _last_name(node: Node) -> int:
    """Return the start of the last name of `a.b.c`, NONE for anything else."""
    last = node
    while node.type == "attribute":
        member, rest = node.child_by_field_name("attribute"), node.child_by_field_name("object")
        if member is None or rest is None:
            return NONE
        last = member if last is node or last.type == "attribute" else last
        node = rest
    return last.start_byte if node.type == "identifier" else NONE


def _is_word(character: str) -> bool:
    return character.isalnum() or character in {"_", "."}


def _start_of(node: Node) -> int:
    return node.start_byte


def _is_property(decorators: tuple[str, ...]) -> bool:
    return bool(decorators) and any(
        text.partition("(")[0].rpartition(".")[2] in _PROPERTY_DECORATORS for text in decorators
    )
