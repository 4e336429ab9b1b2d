"""Decide what each name means, by Python's scoping rules."""

from codeplane.languages.facts import NONE, BindReason, BindTarget, Certainty, Import, LocalBind
from codeplane.languages.python.tables import CLASS, FILE, TYPE_PARAMETERS, Place, ScopeRow, Tables

_VARIABLE = (BindReason.LOCAL_ASSIGN, BindReason.PARAM)
_CERTAIN = Certainty.CERTAIN
_UNCERTAIN = Certainty.UNCERTAIN
_UNKNOWN = BindTarget.UNKNOWN


class Bindings:
    """What names are bound in which scope.

    Invariant: `binds` is sorted by scope and name; `first_of[scope][key]` is the index of the first bind of a name;
    `found` remembers the answers of `find`.
    """

    __slots__ = ("_scopes", "binds", "first_of", "found", "visible_from")

    def __init__(self, tables: Tables) -> None:
        self._scopes = tables.scopes
        _settle_nonlocals(tables)
        self.binds: list[LocalBind] = []
        self.first_of: list[dict[str, int]] = []
        self.visible_from: list[dict[str, int]] = []
        self.found: list[dict[str, int]] = [{} for _ in tables.scopes]
        for number, scope in enumerate(tables.scopes):
            self._add_scope(number, scope, tables)

    def _add_scope(self, number: int, scope: ScopeRow, tables: Tables) -> None:
        first_of: dict[str, int] = {}
        visible_from: dict[str, int] = {}
        is_sequential = scope.kind in (FILE, CLASS)
        last_star_import = tables.last_star_import if number == 0 else -1
        binds, new = self.binds, tuple.__new__
        for key, places in scope.places.items():
            certainty, first_place = _CERTAIN, places[0][3]
            if len(places) > 1:
                certainty, first_place = _certainty(places, tables.imports), min(place[3] for place in places)
            if first_place < last_star_import:
                certainty = _UNCERTAIN
            first_of[key] = len(binds)
            if is_sequential:
                visible_from[key] = first_place
            for kind, target, reason, _ in places:
                bound = target if kind is not _UNKNOWN else NONE
                # By the generated way it takes twice as long, which shows where it is done for every name.
                binds.append(new(LocalBind, (number, key, kind, bound, certainty, reason)))
        for key in sorted(scope.deleted_names.difference(scope.places, scope.nonlocal_names)):
            first_of[key] = -1
            self.binds.append(
                LocalBind(number, key, BindTarget.UNKNOWN, NONE, Certainty.UNCERTAIN, BindReason.LOCAL_ASSIGN)
            )
        self.first_of.append(first_of)
        self.visible_from.append(visible_from)

    def find(self, scope: int, key: str) -> int:
        """Return the bind that a name in a scope means, remembering the answer."""
        home = self.home_of(scope, key)
        bind = self.first_of[home][key] if home != NONE else NONE
        self.found[scope][key] = bind
        return bind

    def find_outside(self, scope: int, key: str) -> int:
        """Return the bind of a name that a class body reads before binding it; the module's own reads find nothing."""
        return self.first_of[0].get(key, NONE) if scope else NONE

    def home_of(self, scope: int, key: str) -> int:
        """Return the number of the scope in which a name is bound, NONE when there is none."""
        scopes, first_of = self._scopes, self.first_of
        current = scope
        is_visible = True
        while current != NONE:
            row = scopes[current]
            kind = row.kind
            if is_visible or kind != CLASS:
                if key in row.global_names:
                    return 0 if key in first_of[0] else NONE
                if key in first_of[current]:
                    return current
            is_visible = is_visible and kind == TYPE_PARAMETERS
            current = row.parent
        return NONE


def _certainty(places: list[Place], imports: list[Import]) -> Certainty:
    """Say whether all places mean one thing."""
    if all(place.target_kind is BindTarget.IMPORT for place in places):
        meanings = {_meaning(imports[place.target]) for place in places}
        return Certainty.CERTAIN if len(meanings) == 1 else Certainty.UNCERTAIN
    return Certainty.UNCERTAIN


def _meaning(fact: Import) -> tuple[str, str | None]:
    """Return what an import binds: `import a.b` and `import a.c` both bind `a`."""
    if fact.imported_name is None and fact.alias is None:
        return fact.source.split(".")[0], None
    return fact.source, fact.imported_name


def _settle_nonlocals(tables: Tables) -> None:
    """Give bindings under `nonlocal` to the function scope that the rules name."""
    for scope, key, place in tables.nonlocal_binds:
        current = tables.scopes[scope].parent
        while current != NONE:
            row = tables.scopes[current]
            if row.kind not in (CLASS, FILE) and (key in row.places or key in row.deleted_names):
                places = row.places.setdefault(key, [])
                if place.target_kind is not BindTarget.UNKNOWN or all(
                    known.reason not in _VARIABLE for known in places
                ):
                    places.append(place)
                break
            current = row.parent
