"""Decide what each name means, by what the table says about the language's scopes."""

from typing import Final

from codeplane.languages.facts import NONE, BindTarget, Certainty, LocalBind
from codeplane.languages.queries.rules import CLASS, FILE, HEADER, MODULE
from codeplane.languages.queries.walking import IMPORT_MARK, TAG_MARK, TYPE_MARK, Place, ScopeRow, Walk

_OUTER: Final = (FILE, MODULE)
_ALL_MARKS: Final = TYPE_MARK + TAG_MARK + IMPORT_MARK


class Bindings:
    """What names are bound in which scope.

    Invariant: `binds` is sorted by scope; `of_definition` and `of_import` give the bind of each, NONE where there is
    none; `first_of[scope][key]` is the bind that a name means there, with the place from which it is seen. `names` are
    all that are bound anywhere.
    """

    __slots__ = ("_found", "_scopes", "_scoping", "binds", "first_of", "names", "of_definition", "of_import")

    def __init__(self, walk: Walk) -> None:
        self._scopes = walk.scopes
        self._scoping = walk.rules
        self.binds: list[LocalBind] = []
        self.names: set[str] = set()
        self.of_definition = [NONE] * len(walk.definitions)
        self.of_import = [NONE] * len(walk.imports)
        self.first_of: list[dict[str, tuple[int, int]]] = []
        self._found: list[dict[str, tuple[tuple[int, int], ...]]] = [{} for _ in walk.scopes]
        for number, scope in enumerate(walk.scopes):
            self._add_scope(number, scope, walk)

    def find(self, scope: int, key: str, start: int) -> int:
        """Return the bind that a plain name at a place means, NONE when that cannot be said."""
        found = self._found[scope]
        if key not in found:
            found[key] = tuple(self._search(scope, key))
        for visible_from, bind in found[key]:
            if start >= visible_from:
                return bind
        return NONE

    def _add_scope(self, number: int, scope: ScopeRow, walk: Walk) -> None:
        first_of: dict[str, tuple[int, int]] = {}
        is_ordered = scope.kind in self._scoping.ordered
        for key, places in scope.places.items():
            preferred, certainty = self._preferred(scope, places, walk)
            visible_from = min(place.visible_from for place in places) if is_ordered else 0
            first_of[key] = (visible_from, len(self.binds))
            name = key[1:] if key[0] in _ALL_MARKS else key
            self.names.add(name)
            self._add_bind(number, name, preferred, certainty)
            for place in places if len(places) > 1 else ():
                if place is not preferred:
                    self._add_bind(number, name, place, Certainty.UNCERTAIN)
        self.first_of.append(first_of)

    def _add_bind(self, scope: int, name: str, place: Place, certainty: Certainty) -> None:
        kind, target, reason, *_ = place
        targets = self.of_definition if kind is BindTarget.DEF else self.of_import
        if targets[target] == NONE:
            targets[target] = len(self.binds)
        self.binds.append(tuple.__new__(LocalBind, (scope, name, kind, target, certainty, reason)))

    def _preferred(self, scope: ScopeRow, places: list[Place], walk: Walk) -> tuple[Place, Certainty]:
        """Return the place that is most likely meant, and whether it is the only one that can be."""
        strong = [place for place in places if not place.is_weak] if len(places) > 1 else places
        preferred = strong[0] if strong else places[0]
        is_single = len(strong) == 1 or len(places) == 1
        is_doubtful = (
            not is_single
            or any(place.is_doubtful for place in places)
            or (
                scope.kind in _OUTER
                and preferred.target_kind is BindTarget.DEF
                and walk.definitions[preferred.target].kind in self._scoping.doubtful
            )
        )
        return preferred, Certainty.UNCERTAIN if is_doubtful else Certainty.CERTAIN

    def _search(self, scope: int, key: str) -> list[tuple[int, int]]:
        """Return the binds that a name may mean, innermost first, each with the place from which it is seen."""
        rules = self._scoping
        options: list[tuple[int, int]] = []
        is_value = key[0] not in (TYPE_MARK, TAG_MARK)
        is_blocked = has_unseen = False
        current = scope
        while current != NONE:
            row = self._scopes[current]
            if (is_blocked and is_value and row.kind in _OUTER) or (has_unseen and row.kind != HEADER):
                break
            found = self._bound_in(current, key, is_value=is_value)
            if found is not None:
                # A plain name may mean a member, or an inherited one of the same name; a type is certain enough.
                if row.kind == CLASS and is_value:
                    break
                options.append(found)
                if found[0] == 0:
                    break
            if is_value and row.kind in rules.closed_to_values:
                break
            has_unseen = (row.kind == CLASS and row.has_unseen) or (has_unseen and row.kind == HEADER)
            is_blocked = is_blocked or row.kind in rules.blocked_in or (row.has_unseen and row.kind != CLASS)
            current = row.parent
        return options

    def _bound_in(self, scope: int, key: str, *, is_value: bool) -> tuple[int, int] | None:
        bound = self.first_of[scope]
        if not bound:
            return None
        found = bound.get(key)
        if found is None and is_value and self._scoping.types_are_values:
            found = bound.get(TYPE_MARK + key)
        imported = bound.get(IMPORT_MARK + (key if is_value else key[1:]))
        if found is not None and imported is not None:
            return 0, NONE
        return found or imported
