"""The rows that the first reading of a file writes down: scopes, definitions, imports, and where names are bound."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.languages.facts import (
    NO_RECEIVER,
    NONE,
    BindReason,
    BindTarget,
    Certainty,
    Definition,
    DefinitionKind,
    Import,
    LocalBind,
    ReferenceRole,
    Scope,
)
from codeplane.languages.parsing import IsOver, OutOfTimeError

_CHUNK: Final = 10_000
EVERYWHERE: Final = -1  # a name that its whole scope sees
FILE: Final = "file"
FUNCTION: Final = "function"

SKIP: Final = -2  # the place of an identifier that says nothing

_REFERENCE: Final = int(ReferenceRole.REFERENCE)
_DEFINES: Final = int(ReferenceRole.DEFINITION)

# What an identifier does whose position settles its meaning: scope, role, receiver, place.
Mark = tuple[int, int, int, int]


class Place(NamedTuple):
    """A place that binds a name; `key` is what lookups compare: the name, with its name space where there are several.

    `since` is the offset from which the name is seen, EVERYWHERE for the whole scope.
    """

    scope: int
    key: str
    name: str
    target_kind: BindTarget
    target: int
    reason: BindReason
    since: int


class BlockTables:
    """The scopes, definitions and binding places of one file.

    Invariant: scopes are opened in the order of their starts, an outer one before those inside; `scope` is the
    innermost that is open at the offset last given to `leave_before`, and `paths` has the dotted path of each. `bodies`
    are the starts of blocks that belong to a function, which has a scope of its own.
    """

    __slots__ = ("_open", "bodies", "definitions", "imports", "marks", "paths", "places", "scope", "scopes")

    def __init__(self, size: int) -> None:
        self.scopes = [Scope(FILE, NONE, 0, size)]
        self.paths = [""]
        self.definitions: list[Definition] = []
        self.imports: list[Import] = []
        self.places: list[Place] = []
        self.marks: dict[int, Mark] = {}
        self.bodies: set[int] = set()
        self.scope = 0
        self._open: list[tuple[int, int]] = [(size + 1, 0)]

    def leave_before(self, start: int) -> None:
        """Close the scopes that end at or before an offset."""
        while self._open[-1][0] <= start:
            self._open.pop()
        self.scope = self._open[-1][1]

    def open_scope(self, kind: str, start: int, end: int, path: str | None = None) -> int:
        """Open a scope in the current one; without a path it has the path of its parent."""
        self.scopes.append(Scope(kind, self.scope, start, end))
        self.paths.append(self.paths[self.scope] if path is None else path)
        self.scope = len(self.scopes) - 1
        self._open.append((end, self.scope))
        return self.scope

    def open_block(self, node: Node) -> None:
        """Open a block's scope, unless it is the body of a function, which has one already."""
        start, end = node.byte_range
        if start not in self.bodies:
            self.open_scope("block", start, end)

    def open_function(self, node: Node, number: int, path: str) -> int:
        """Open the scope of a function with a definition, or with NONE, and return it; its body opens no other."""
        scope = self.open_scope(FUNCTION, *node.byte_range, path)
        if number != NONE:
            self.close_body(number, scope)
        body = node.child_by_field_name("body")
        if body is not None:
            self.bodies.add(body.start_byte)
        return scope

    def path_of(self, scope: int, name: str) -> str:
        """Return the dotted path of a name in a scope."""
        path = self.paths[scope]
        return f"{path}.{name}" if path else name

    def define(self, definition: Definition) -> int:
        """Add a definition and return its number."""
        self.definitions.append(definition)
        return len(self.definitions) - 1

    def define_in(  # noqa: PLR0913 - one parameter per field of a fact
        self,
        scope: int,
        kind: DefinitionKind,
        name: str,
        span: tuple[int, int],
        name_start: int,
        *,
        signature: str = "",
        decorators: tuple[str, ...] = (),
        documentation: str = "",
        bases: tuple[int, ...] = (),
        instance_of: int = NONE,
        type_ref: int = NONE,
    ) -> int:
        """Add a definition in a scope, whose path it continues, and return its number."""
        head = (kind, name, self.path_of(scope, name), *span, name_start, scope, NONE)
        return self.define(
            tuple.__new__(Definition, (*head, signature, decorators, documentation, "", bases, instance_of, type_ref))
        )

    def bind_definition(
        self, number: int, reason: BindReason, *, since: int = EVERYWHERE, key: str | None = None
    ) -> int:
        """Bind the name of a definition in its scope, mark the name as defining, and return the place."""
        definition = self.definitions[number]
        name, scope = definition.name, definition.scope
        self.places.append(Place(scope, key or name, name, BindTarget.DEF, number, reason, since))
        place = len(self.places) - 1
        self.marks[definition.name_start] = (scope, _DEFINES, NO_RECEIVER, place)
        return place

    def define_local(
        self, scope: int, kind: DefinitionKind, name: str, span: tuple[int, int], since: int, type_ref: int = NONE
    ) -> int:
        """Define a parameter or a local variable that is seen from an offset on, and return the place."""
        number = self.define_in(scope, kind, name, span, span[0], type_ref=type_ref)
        reason = BindReason.PARAM if kind is DefinitionKind.PARAMETER else BindReason.LOCAL_ASSIGN
        return self.bind_definition(number, reason, since=since)

    def define_label(self, scope: int, name: Node, word: str, key: str, *, since: int = EVERYWHERE) -> None:
        """Define the label of a statement."""
        number = self.define_in(scope, DefinitionKind.STATEMENT, word, name.byte_range, name.start_byte)
        self.bind_definition(number, BindReason.DEF_IN_SCOPE, since=since, key=key)

    def refer(self, start: int, receiver: int, place: int = NONE) -> None:
        """Settle the receiver of an identifier in the current scope before names are read."""
        self.marks[start] = (self.scope, _REFERENCE, receiver, place)

    def skip(self, start: int) -> None:
        """Leave an identifier out."""
        self.refer(start, NO_RECEIVER, SKIP)

    def bind_word(self, word: str, key: str, scope: int, number: int) -> int:
        """Bind a word of the language to a definition in a whole scope, and return the place."""
        self.places.append(Place(scope, key, word, BindTarget.DEF, number, BindReason.DEF_IN_SCOPE, EVERYWHERE))
        return len(self.places) - 1

    def bind_unknown(self, name: str, key: str, scope: int) -> int:
        """Say that a name may mean several things in a whole scope, and return the place."""
        self.places.append(Place(scope, key, name, BindTarget.UNKNOWN, NONE, BindReason.DEF_IN_SCOPE, EVERYWHERE))
        return len(self.places) - 1

    def mark_definition(self, number: int) -> None:
        """Mark the name of a definition that no plain name can mean (a method, a field)."""
        definition = self.definitions[number]
        self.marks[definition.name_start] = (definition.scope, _DEFINES, NO_RECEIVER, NONE)

    def bind_import(self, fact: Import, name: str, key: str | None = None, scope: int = NONE) -> int:
        """Add an import, bind its local name in a scope, the import's own if none is given, and return the place."""
        self.imports.append(fact)
        self.places.append(
            Place(
                fact.scope if scope == NONE else scope,
                key or name,
                name,
                BindTarget.IMPORT,
                len(self.imports) - 1,
                BindReason.IMPORT_ALIAS,
                EVERYWHERE,
            )
        )
        return len(self.places) - 1

    def close_body(self, number: int, scope: int) -> None:
        """Say which scope a definition opens."""
        self.definitions[number] = self.definitions[number]._replace(body_scope=scope)


def meet_events(
    tables: BlockTables, events: list[Node], handlers: Mapping[str, Callable[[Node], None]], is_over: IsOver
) -> None:
    """Call the handler of each node in the order of the source, outer nodes first.

    Raises:
        OutOfTimeError: `is_over` said so.
    """
    ordered = sorted((node.start_byte, -node.end_byte, number) for number, node in enumerate(events))
    for n_done, (start, _, number) in enumerate(ordered):
        if n_done % _CHUNK == 0 and is_over():
            raise OutOfTimeError
        tables.leave_before(start)
        node = events[number]
        handlers[node.type](node)


class Binds(NamedTuple):
    """The binds of a file; `of_place` gives the number of the bind that was made of a place."""

    facts: list[LocalBind]
    of_place: list[int]


def settle_binds(places: list[Place], doubtful: AbstractSet[tuple[int, str]] = frozenset()) -> Binds:
    """Return the binds in the order of their scopes; a name bound twice in a whole scope is UNCERTAIN.

    So are the keys of scopes in `doubtful`. What is known not to be known comes first in a scope, so that it speaks for
    its name.
    """
    first: dict[tuple[int, str], int] = {}
    doubtful = set(doubtful)
    for number, (scope, key, _, _, _, _, since) in enumerate(places):
        if since == EVERYWHERE and first.setdefault((scope, key), number) != number:
            doubtful.add((scope, key))
    ranks = [place[0] * 2 + (place[3] is not BindTarget.UNKNOWN) for place in places]
    order = sorted(range(len(places)), key=ranks.__getitem__)
    of_place = [0] * len(places)
    facts: list[LocalBind] = []
    for number in order:
        scope, key, name, target_kind, target, reason, _ = places[number]
        is_doubtful = target_kind is BindTarget.UNKNOWN or (scope, key) in doubtful
        certainty = Certainty.UNCERTAIN if is_doubtful else Certainty.CERTAIN
        of_place[number] = len(facts)
        facts.append(LocalBind(scope, name, target_kind, target, certainty, reason))
    return Binds(facts, of_place)
