"""Decide what each name means, by the scoping rules of JavaScript and TypeScript."""

from typing import Final

from codeplane.languages.facts import NONE, BindTarget, Certainty, Import, LocalBind
from codeplane.languages.javascript.tables import (
    ANY_SPACE,
    CLASS_NAME,
    ENUM_NAME,
    FUNCTION_NAME,
    HOISTED,
    IMPORTED,
    IN_VALUES,
    INTERFACE_NAME,
    LEXICAL,
    MODULE_NAME,
    NAMESPACES,
    SIGNATURE,
    SPACES_OF,
    TYPES,
    VALUES,
    WITH,
    Place,
    ScopeRow,
    Tables,
)

_NOWHERE: Final = (NONE, NONE, NONE)
_ALL_SPACES: Final = (VALUES, TYPES, NAMESPACES)
# Declarations that are the thing itself where a namespace or interface only adds to it.
_LEADING: Final = frozenset({CLASS_NAME, FUNCTION_NAME, SIGNATURE, ENUM_NAME, LEXICAL})


class Bindings:
    """What names are bound in which scope.

    Invariant: `binds` is sorted by scope; `homes[scope][name]` has the number of the bind for each space, the leading
    declaration where several are one thing; `found[space][scope]` remembers the answers of `find`; `merged` gives for
    the body of each declaration that only adds to another the name it adds to.
    """

    __slots__ = ("_scopes", "binds", "found", "homes", "merged")

    def __init__(self, tables: Tables, *, is_typed: bool) -> None:
        if not is_typed and not tables.is_strict:
            _hoist(tables)
        self._scopes = tables.scopes
        self.binds: list[LocalBind] = []
        self.homes: list[dict[str, tuple[int, int, int]]] = []
        self.merged: dict[int, str] = {}
        for number, row in enumerate(tables.scopes):
            self._add_scope(number, row, tables)
        self.found: tuple[list[dict[str, int]], ...] = tuple([{} for _ in tables.scopes] for _ in range(4))

    def find(self, scope: int, name: str, space: int) -> int:
        """Return the bind that a name in a scope means, remembering the answer."""
        found = self.found[space][scope]
        if name not in found:
            found[name] = self._search(scope, name, space)
        return found[name]

    def _search(self, scope: int, name: str, space: int) -> int:
        if space == ANY_SPACE:
            return next((bind for one in _ALL_SPACES if (bind := self._search(scope, name, one)) != NONE), NONE)
        homes, scopes = self.homes, self._scopes
        while scope != NONE:
            home = homes[scope]
            if name in home and home[name][space] != NONE:
                return home[name][space]
            row = scopes[scope]
            if row.kind == WITH:
                return NONE
            scope = row.parent
        return NONE

    def _add_scope(self, number: int, row: ScopeRow, tables: Tables) -> None:
        home: dict[str, tuple[int, int, int]] = {}
        binds = self.binds
        for name, places in row.places.items():
            if len(places) > 1:
                home[name] = self._add_several(number, name, places, tables)
                continue
            flavour, kind, target, reason = places[0]
            bind = len(binds)
            spaces = SPACES_OF[flavour]
            home[name] = (bind, NONE, NONE) if spaces == IN_VALUES else _spread(spaces, bind)
            certainty = Certainty.UNCERTAIN if flavour == HOISTED else Certainty.CERTAIN
            binds.append(LocalBind(number, name, kind, target, certainty, reason))
        self.homes.append(home)

    def _add_several(self, scope: int, name: str, places: list[Place], tables: Tables) -> tuple[int, int, int]:
        """Bind a name that is declared several times, and return its bind in each space."""
        places = sorted(places, key=_rank)
        first = len(self.binds)
        leads = [NONE, NONE, NONE]
        doubtful: set[int] = set()
        for space in _ALL_SPACES:
            members = [index for index, place in enumerate(places) if SPACES_OF[place.flavour] & 1 << space]
            if members:
                leads[space] = first + members[0]
                if not _are_one([places[index] for index in members], tables.imports):
                    doubtful.update(members)
                else:
                    self._merge(name, [places[index] for index in members], tables)
        for index, (_, kind, target, reason) in enumerate(places):
            certainty = Certainty.UNCERTAIN if index in doubtful else Certainty.CERTAIN
            self.binds.append(LocalBind(scope, name, kind, target, certainty, reason))
        return leads[0], leads[1], leads[2]

    def _merge(self, name: str, places: list[Place], tables: Tables) -> None:
        """Remember the bodies that add members to the leading declaration."""
        for place in places[1:]:
            if place.target_kind is BindTarget.DEF:
                body = tables.definitions[place.target].body_scope
                if body != NONE:
                    self.merged[body] = name


def _rank(place: Place) -> int:
    """Put the declaration first that is the thing itself."""
    if place.flavour in _LEADING or place.flavour == IMPORTED:
        return 0
    return 2 if place.flavour in {INTERFACE_NAME, MODULE_NAME} else 1


def _are_one(places: list[Place], imports: list[Import]) -> bool:
    """Say whether declarations of one name in one space are one thing."""
    if len(places) == 1:
        return places[0].flavour != HOISTED
    flavours = [place.flavour for place in places]
    kinds = set(flavours)
    if kinds == {IMPORTED}:
        meanings = {
            (imports[place.target].source, imports[place.target].imported_name)
            if place.target_kind is BindTarget.IMPORT
            else place.target
            for place in places
        }
        return len(meanings) == 1
    if kinds <= {INTERFACE_NAME, CLASS_NAME}:
        return flavours.count(CLASS_NAME) <= 1
    if kinds == {ENUM_NAME}:
        return True
    others = [flavour for flavour in flavours if flavour != MODULE_NAME]
    return not others or (len(others) == 1 and others[0] in _LEADING) or set(others) == {ENUM_NAME}


def _hoist(tables: Tables) -> None:
    """Let a sloppy script see functions in blocks from outside, where it may or may not."""
    for scope, name, place in tables.block_functions:
        tables.scopes[scope].places.setdefault(name, []).append(place)


def _spread(spaces: int, bind: int) -> tuple[int, int, int]:
    return (bind if spaces & 1 else NONE, bind if spaces & 2 else NONE, bind if spaces & 4 else NONE)
