"""Go once over all identifiers of a Java file, in order, and say what each means."""

from typing import Final

from tree_sitter import Node

from codeplane.languages.block_scopes.tables import SKIP, Binds
from codeplane.languages.block_scopes.texts import BlockText
from codeplane.languages.block_scopes.visibility import Visibility, bare_gap, names_in_order
from codeplane.languages.facts import (
    AS_TYPE,
    CALLED,
    EXPRESSION,
    KEYWORD,
    NO_RECEIVER,
    NONE,
    READ,
    SUPER,
    THIS,
    BindTarget,
    DefinitionKind,
    Reference,
    ReferenceRole,
)
from codeplane.languages.java.hierarchy import ENUM_METHODS, OBJECT_METHODS, Hierarchy
from codeplane.languages.java.keys import LABEL, STATIC, TYPE
from codeplane.languages.java.statements import OF_TYPE
from codeplane.languages.java.structure import Method, Structure
from codeplane.languages.nodes import children_of
from codeplane.languages.parsing import Captures, IsOver

_NAME: Final = 0
_TYPE: Final = 1
_CALL: Final = 2
_LABEL: Final = 3
_CASE: Final = 4
_USE: Final = int(ReferenceRole.REFERENCE)
_DROPPED: Final = -9  # a receiver that says: no fact about this identifier


def read_names(
    captures: Captures, text: BlockText, structure: Structure, hierarchy: Hierarchy, binds: Binds, is_over: IsOver
) -> tuple[list[Reference], dict[int, int]]:
    """Return the references in the order of the source, and how those are used that other files may answer for."""
    references: list[Reference] = []
    usages: dict[int, int] = {}
    reader = _NameReader(captures.get("arguments", []), text, structure, hierarchy, binds)
    add, read, marks, of_place = references.append, reader.read, structure.tables.marks, binds.of_place
    for start, end, kind, name, scope in names_in_order(_rows(captures), text, reader.visibility, is_over):
        if start in marks:
            home, role, receiver, place = marks[start]
            bind = of_place[place] if place >= 0 else reader.find_type(name) if place == OF_TYPE else NONE
            if place == SKIP:
                receiver = _DROPPED
        else:
            home, role = scope, _USE
            receiver, bind = read(start, end, name, kind)
            if bind == NONE or bind in reader.static_binds:
                usages[start] = reader.usage(start, end, kind)
        if receiver != _DROPPED:
            add((start, name, home, role, receiver, bind))
        reader.previous_start, reader.previous_end = (start if receiver != _DROPPED else EXPRESSION), end
    return references, usages


def _rows(captures: Captures) -> list[tuple[int, int, int]]:
    """Return start, end and kind of each identifier; one that the query knows more about is of that kind."""
    special = {
        node.start_byte: kind
        for capture, kind in (("label", _LABEL), ("case", _CASE), ("call", _CALL))
        for node in captures.get(capture, ())
    }
    rows = [(*node.byte_range, _NAME) for node in captures.get("name", ())]
    rows = [row if row[0] not in special else (row[0], row[1], special[row[0]]) for row in rows]
    rows += [(*node.byte_range, _TYPE) for node in captures.get("type", ())]
    return rows


class _NameReader:
    """Says what an identifier means by its position.

    Invariant: it is asked in the order of the source; `previous_start` and `previous_end` are those of the identifier
    before, the first being EXPRESSION when nothing is said about that one. `static_binds` are the binds of static
    imports, of which only the use tells what they mean.
    """

    __slots__ = (
        "_arguments",
        "_binds",
        "_bytewise",
        "_classes",
        "_hierarchy",
        "_imports_scope",
        "_inner_types",
        "_method_names",
        "_parents",
        "_unknown",
        "previous_end",
        "previous_start",
        "static_binds",
        "visibility",
    )

    def __init__(
        self, arguments: list[Node], text: BlockText, structure: Structure, hierarchy: Hierarchy, binds: Binds
    ) -> None:
        tables = structure.tables
        self._bytewise = text.bytewise
        self._binds = binds
        self._classes = structure.classes
        self._hierarchy = hierarchy
        self._imports_scope = structure.imports_scope
        self._arguments = {node.start_byte: node for node in arguments}
        self._unknown = binds.of_place[hierarchy.unknown]
        self.static_binds = {
            number
            for number, one in enumerate(binds.facts)
            if one.target_kind is BindTarget.IMPORT and tables.imports[one.target].kind == "java_import_static"
        }
        self.visibility = Visibility(tables.scopes, tables.places, binds.of_place)
        named = {place.scope for place in tables.places} | structure.classes.keys()
        # Types that are bound somewhere inside; the others are found at once.
        outer = {0, structure.imports_scope}
        self._inner_types = {one.key for one in tables.places if one.scope not in outer and one.key[:2] == TYPE}
        self._method_names = {name for body in structure.classes.values() for name in body.methods}
        self._parents: list[int] = []
        for scope in tables.scopes:
            parent = scope.parent
            self._parents.append(parent if parent == NONE or parent in named else self._parents[parent])
        self.previous_start = EXPRESSION
        self.previous_end = 0

    def read(self, start: int, end: int, name: str, kind: int) -> tuple[int, int]:
        """Return receiver and bind of an identifier that no declaration settles."""
        find = self._bytewise.find
        if find(".", self.previous_end, start) >= 0 or find("::", self.previous_end, start) >= 0:
            receiver = self._receiver(start)
            if receiver != NO_RECEIVER:
                return receiver, NONE
        if kind == _NAME:
            return NO_RECEIVER, self._find_expression(start, end, name)
        if kind == _TYPE:
            return (_DROPPED, NONE) if name == "var" else (NO_RECEIVER, self.find_type(name))
        if kind == _CALL:
            return NO_RECEIVER, self._find_method(end, name)
        if kind == _LABEL:
            bind = self._find_label(name)
            return (NO_RECEIVER, bind) if bind != NONE else (_DROPPED, NONE)
        return KEYWORD, NONE

    def usage(self, start: int, end: int, kind: int) -> int:
        """Return how an identifier is used: called with so many arguments, read, or as a type."""
        if kind == _TYPE or self._bytewise[start - 1] == "@":
            return AS_TYPE
        before = self._bytewise[self.previous_end : start]
        if before.rstrip().endswith("::"):
            return CALLED
        if self._next(end) != "(":
            return READ
        arguments = self._arguments.get(self._bytewise.find("(", end))
        return len(children_of(arguments)) if arguments is not None else CALLED

    def _receiver(self, start: int) -> int:
        """Return the receiver of a name after a dot or `::`, NO_RECEIVER for other names."""
        gap = self._bytewise[self.previous_end : start]
        if gap != ".":
            gap = "".join(bare_gap(gap).split())
        if gap.endswith(".new"):
            return EXPRESSION
        if not gap.endswith((".", "::")):
            return NO_RECEIVER
        is_direct = gap in {".", "::", ".this.", ".this::"}
        return self.previous_start if is_direct else self._of_word(gap.rstrip(".:"))

    def _of_word(self, before: str) -> int:
        """Return the receiver that ends in a word; an anonymous class has no name under which others know it."""
        scope = self.visibility.scope
        while scope != NONE and scope not in self._classes:
            scope = self._parents[scope]
        if scope == NONE or self._classes[scope].number == NONE:
            return EXPRESSION
        for word, code in (("this", THIS), ("super", SUPER)):
            rest = before[: -len(word)]
            if before.endswith(word) and not (rest[-1:].isalnum() or rest[-1:] in {"_", "$", "."}):
                return code
        return EXPRESSION

    def _next(self, end: int) -> str:
        """Return the next character that is not white space."""
        following = self._bytewise[end : end + 1]
        return following if following and not following.isspace() else self._bytewise[end : end + 300].lstrip()[:1]

    def _find_expression(self, start: int, end: int, name: str) -> int:
        """Return the bind of a plain name in an expression: a variable or, before a dot, a type."""
        if self._bytewise[start - 1] == "@":
            return self.find_type(name)
        is_qualifier = self._next(end) in {".", ":"}
        bind = self._find_variable(name)
        if bind == NONE and is_qualifier:
            bind = self.find_type(name)
        if bind != NONE or (is_qualifier and name[:1].isupper()):
            return bind
        return self._unknown if self._is_in_anonymous_class() else NONE

    def _is_in_anonymous_class(self) -> bool:
        """Say whether the innermost class has no name: the class around it is not what it inherits from."""
        scope = self.visibility.scope
        while scope != NONE:
            if scope in self._classes:
                return self._classes[scope].number == NONE
            scope = self._parents[scope]
        return False

    def _find_variable(self, name: str) -> int:
        """Return the bind of a variable or field at the current offset."""
        if name not in self.visibility.keys and STATIC + name not in self.visibility.keys:
            return NONE
        found, _, is_crossed = self._find_outwards(name)
        if found == NONE:
            found = self.visibility.names[self._imports_scope].get(STATIC + name, NONE)
        return self._unknown if found != NONE and is_crossed else found

    def _find_outwards(self, key: str) -> tuple[int, int, bool]:
        """Return the nearest bind of a key and its scope, and whether a class on the way may hide it unseen."""
        names, parents, classes = self.visibility.names, self._parents, self._classes
        scope = self.visibility.scope
        is_crossed = False
        while scope != NONE:
            found = names[scope].get(key, NONE)
            if found == NONE and scope in classes:
                found = self._inherited(scope, key)
                is_crossed = is_crossed or (found == NONE and scope in self._hierarchy.open_classes)
            if found != NONE:
                return found, scope, is_crossed
            scope = parents[scope]
        return NONE, NONE, is_crossed

    def _inherited(self, scope: int, key: str) -> int:
        for ancestor in self._hierarchy.ancestors[scope]:
            found = self.visibility.names[ancestor].get(key, NONE)
            if found != NONE:
                return found
        return NONE

    def find_type(self, name: str) -> int:
        """Return the bind of a type at the current offset.

        A member type of a class around may be hidden by one that a class of another file passes on; imports and types
        of the file are not hidden in practice, or they would not be written.
        """
        key = TYPE + name
        names, imports = self.visibility.names, self._imports_scope
        if key not in self._inner_types:
            found = names[0].get(key, NONE)
            found = found if found != NONE else names[imports].get(key, NONE)
            return found if found != NONE else names[imports].get(STATIC + name, NONE)
        found, scope, is_crossed = self._find_outwards(key)
        if found == NONE:
            return names[imports].get(STATIC + name, NONE)
        return self._unknown if is_crossed and scope in self._classes else found

    def _find_label(self, name: str) -> int:
        scope = self.visibility.scope
        while scope != NONE and scope not in self._classes:
            found = self.visibility.names[scope].get(LABEL + name, NONE)
            if found != NONE:
                return found
            scope = self._parents[scope]
        return NONE

    def _find_method(self, end: int, name: str) -> int:
        """Return the bind of a call by plain name: the innermost class that has the name decides."""
        scope = self.visibility.scope
        is_crossed = False
        while scope != NONE:
            if scope in self._classes:
                methods = self._hierarchy.methods(scope, name) if name in self._method_names else None
                if methods:
                    return self._unknown if is_crossed else self._choose(scope, name, methods, end)
                if self._always_has(scope, name):
                    return self._unknown
                is_crossed = is_crossed or scope in self._hierarchy.open_classes
            scope = self._parents[scope]
        found = self.visibility.names[self._imports_scope].get(STATIC + name, NONE)
        if found != NONE:
            return self._unknown if is_crossed else found
        return self._unknown if self._is_in_anonymous_class() else NONE

    def _always_has(self, scope: int, name: str) -> bool:
        kind = self._classes[scope].kind
        if name in OBJECT_METHODS:
            return kind is not DefinitionKind.INTERFACE
        return kind is DefinitionKind.ENUM and name in ENUM_METHODS

    def _choose(self, scope: int, name: str, methods: list[Method], end: int) -> int:
        """Return the method that the number of arguments leaves, a doubt when it leaves several."""
        arguments = self._arguments.get(self._bytewise.find("(", end))
        n_arguments = len(children_of(arguments)) if arguments is not None else NONE
        fitting = [
            one for one in methods if one.n_least <= n_arguments and (one.n_most == NONE or n_arguments <= one.n_most)
        ]
        # What overrides a method of another file may have overloads there that fit better.
        is_open = scope in self._hierarchy.open_classes and any(one.is_override for one in fitting)
        if len(fitting) == 1 and not is_open:
            return self._binds.of_place[fitting[0].place]
        if not fitting:
            return self._unknown
        for holder in (scope, *self._hierarchy.ancestors[scope]):
            if (holder, name) in self._hierarchy.doubts:
                return self._binds.of_place[self._hierarchy.doubts[holder, name]]
        return self._unknown
