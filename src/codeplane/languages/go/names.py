"""Go once over all identifiers of a Go file, in order, and say what each means."""

from bisect import bisect_left
from typing import Final

from codeplane.languages.block_scopes.tables import FUNCTION, SKIP, Binds
from codeplane.languages.block_scopes.texts import BlockText
from codeplane.languages.block_scopes.visibility import Visibility, bare_gap, names_in_order
from codeplane.languages.facts import (
    EXPRESSION,
    NO_RECEIVER,
    NONE,
    BindTarget,
    Reference,
    ReferenceRole,
)
from codeplane.languages.go.structure import BLANK, KEY, LABEL, Structure
from codeplane.languages.parsing import Captures, IsOver

_NAME: Final = 0
_MEMBER: Final = 1
_LABEL: Final = 2
_CAPTURES: Final = (("name", _NAME), ("member", _MEMBER), ("label", _LABEL))
_USE: Final = int(ReferenceRole.REFERENCE)


def read_names(
    captures: Captures, text: BlockText, structure: Structure, binds: Binds, visibility: Visibility, is_over: IsOver
) -> list[Reference]:
    """Return the references in the order of the source."""
    rows = [(*node.byte_range, kind) for capture, kind in _CAPTURES for node in captures.get(capture, ())]
    references: list[Reference] = []
    reader = _NameReader(structure, binds, visibility, references)
    bytewise, marks, find, find_text = text.bytewise, structure.tables.marks, visibility.find, text.bytewise.find
    previous_start = previous_end = 0
    for start, end, kind, name, scope in names_in_order(rows, text, visibility, is_over):
        if start in marks:
            reader.add_marked(start, name)
        elif name != BLANK:
            receiver = NO_RECEIVER
            if kind == _MEMBER or find_text(".", previous_end, start) >= 0:
                receiver = _receiver(bytewise[previous_end:start], previous_start, kind)
            bind = NONE if receiver != NO_RECEIVER else find(name) if kind == _NAME else reader.find_label(name)
            references.append((start, name, scope, _USE, receiver, bind))
        previous_start, previous_end = start, end
    return references


class _NameReader:
    """Read the identifiers that are not simply looked up."""

    __slots__ = ("_binds", "_marks", "_plain_types", "_references", "_visibility")

    def __init__(self, structure: Structure, binds: Binds, visibility: Visibility, references: list[Reference]) -> None:
        self._marks = structure.tables.marks
        self._plain_types = structure.plain_types
        self._binds = binds
        self._visibility = visibility
        self._references = references

    def add_marked(self, start: int, name: str) -> None:
        """Add an identifier whose position settles its meaning."""
        home, role, receiver, place = self._marks[start]
        if place == SKIP:
            return
        bind = NONE
        if place >= 0:
            bind = self._binds.of_place[place]
        elif place == KEY and receiver >= 0 and self._is_no_struct(receiver):
            receiver, bind = NO_RECEIVER, self._visibility.find(name)
        self._references.append((start, name, home, role, receiver, bind))

    def find_label(self, name: str) -> int:
        """Return the bind of a label, which only the innermost function can have."""
        visibility = self._visibility
        scope = visibility.scope
        while scope and visibility.scopes[scope].kind != FUNCTION:
            scope = visibility.scopes[scope].parent
        return visibility.names[scope].get(LABEL + name, NONE)

    def _is_no_struct(self, start: int) -> bool:
        """Say whether the type that a literal names is known not to be a struct."""
        place = bisect_left(self._references, (start,))
        if place == len(self._references) or self._references[place][0] != start:
            return False
        number = self._references[place][5]
        if number == NONE:
            return False
        bind = self._binds.facts[number]
        return bind.target_kind is BindTarget.DEF and bind.target in self._plain_types


def _receiver(gap: str, previous_start: int, kind: int) -> int:
    """Return the receiver of an identifier from the text between it and the identifier before it."""
    if gap == "." or bare_gap(gap) == ".":
        return previous_start
    return EXPRESSION if kind == _MEMBER else NO_RECEIVER
