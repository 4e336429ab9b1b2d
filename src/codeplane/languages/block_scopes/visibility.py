"""Tell what names mean at an offset that moves forward through the file."""

import re
from collections.abc import Iterator
from typing import Final

from codeplane.languages.block_scopes.tables import EVERYWHERE, Place
from codeplane.languages.facts import NONE, Scope
from codeplane.languages.parsing import IsOver, OutOfTimeError
from codeplane.languages.source_text import SourceText

_NEVER: Final = 1 << 62
_NO_WALLS: Final[frozenset[str]] = frozenset()
_COMMENT: Final = re.compile(r"//[^\n]*|/\*[\s\S]*?\*/")
_LOOK_AFTER: Final = 1 << 17

# Start and end of an identifier, and what the query knows about it.
NameRow = tuple[int, int, int]


def names_in_order(
    rows: list[NameRow], text: SourceText, visibility: "Visibility", is_over: IsOver
) -> Iterator[tuple[int, int, int, str, int]]:
    """Yield each row with its name and its scope, and let the visibility move along.

    Raises:
        OutOfTimeError: `is_over` said so.
    """
    bytewise, is_ascii, cut = text.bytewise, text.is_ascii, text.cut
    scope = next_change = next_look = 0
    for start, end, kind in sorted(rows):
        if start >= next_look:
            if is_over():
                raise OutOfTimeError
            next_look = start + _LOOK_AFTER
        if start >= next_change:
            scope = visibility.move_to(start)
            next_change = visibility.next_change
        yield start, end, kind, bytewise[start:end] if is_ascii else cut(start, end), scope


def bare_gap(gap: str) -> str:
    """Return the text between two identifiers without comments and the white space around it."""
    return (_COMMENT.sub("", gap) if "/" in gap else gap).strip()


class Visibility:
    """The names that are seen at the current offset.

    Invariant: `scope` is the innermost scope at the offset last given to `move_to`, `names` has for each scope the
    binds seen there by key, and nothing changes before `next_change`. `keys` are all that are bound anywhere.
    """

    __slots__ = ("_ends", "_next_scope", "_waiting", "keys", "names", "next_change", "parents", "scope", "scopes")

    def __init__(
        self, scopes: list[Scope], places: list[Place], of_place: list[int], walls: frozenset[str] = _NO_WALLS
    ) -> None:
        """Make the names of a file visible; scopes of the kinds in `walls` do not see what is around them."""
        self.scopes = scopes
        self.names: list[dict[str, int]] = [{} for _ in scopes]
        self.keys = {place[1] for place in places}
        waiting = []
        for number, (scope, key, _, _, _, _, since) in enumerate(places):
            if since == EVERYWHERE:
                self.names[scope].setdefault(key, of_place[number])
            else:
                waiting.append((since, number, scope, key, of_place[number]))
        waiting.sort(reverse=True)
        self._waiting = waiting
        self.parents = _parents_with_names(scopes, {place.scope for place in places}, walls)
        self.scope = 0
        self._ends = [(_NEVER, 0)]
        self._next_scope = 1
        self.next_change = 0

    def move_to(self, offset: int) -> int:
        """Move forward and return the innermost scope there."""
        ends, scopes = self._ends, self.scopes
        while True:
            opens = scopes[self._next_scope].start if self._next_scope < len(scopes) else _NEVER
            if opens > offset:
                break
            while ends[-1][0] <= opens:
                ends.pop()
            ends.append((scopes[self._next_scope].end, self._next_scope))
            self._next_scope += 1
        while ends[-1][0] <= offset:
            ends.pop()
        waiting = self._waiting
        while waiting and waiting[-1][0] <= offset:
            _, _, scope, key, bind = waiting.pop()
            self.names[scope][key] = bind
        self.next_change = min(opens, ends[-1][0], waiting[-1][0] if waiting else _NEVER)
        self.scope = ends[-1][1]
        return self.scope

    def find(self, key: str) -> int:
        """Return the bind that a name means at the current offset, NONE when there is none in the file."""
        if key not in self.keys:
            return NONE
        names, parents = self.names, self.parents
        scope = self.scope
        while scope != NONE:
            if key in names[scope]:
                return names[scope][key]
            scope = parents[scope]
        return NONE


def _parents_with_names(scopes: list[Scope], named: set[int], walls: frozenset[str]) -> list[int]:
    """Return for each scope the nearest one around it that it sees and in which anything is bound."""
    parents: list[int] = []
    for scope in scopes:
        parent = NONE if scope.kind in walls else scope.parent
        parents.append(parent if parent == NONE or parent in named else parents[parent])
    return parents
