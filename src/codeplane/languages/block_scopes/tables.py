"""The rows that the first reading of a file writes down: scopes, definitions, imports, and where names are bound."""

from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from codeplane.languages.facts import (
    NO_RECEIVER,
    NONE,
    BindReason,
    BindTarget,
    Certainty,
    Definition,
    Import,
    LocalBind,
    ReferenceRole,
    Scope,
)

EVERYWHERE: Final = -1  # a name that its whole scope sees
FILE: Final = "file"

_DEFINES: Final = int(ReferenceRole.DEFINITION)

# What an identifier does whose meaning is settled by the place where it stands: scope, role, receiver, place.
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
    innermost that is open at the offset last given to `leave_before`, and `paths` has the dotted path of each.
    """

    __slots__ = ("_open", "definitions", "imports", "marks", "paths", "places", "scope", "scopes")

    def __init__(self, size: int) -> None:
        self.scopes = [Scope(FILE, NONE, 0, size)]
        self.paths = [""]
        self.definitions: list[Definition] = []
        self.imports: list[Import] = []
        self.places: list[Place] = []
        self.marks: dict[int, Mark] = {}
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

    def path_of(self, scope: int, name: str) -> str:
        """Return the dotted path of a name in a scope."""
        path = self.paths[scope]
        return f"{path}.{name}" if path else name

    def define(self, definition: Definition) -> int:
        """Add a definition and return its number."""
        self.definitions.append(definition)
        return len(self.definitions) - 1

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
