"""Go once over all identifiers of a Go file, in order, and say what each means."""

import re
from bisect import bisect_left
from typing import Final

from codeplane.languages.block_scopes.tables import Binds
from codeplane.languages.block_scopes.texts import SourceText
from codeplane.languages.block_scopes.visibility import Visibility
from codeplane.languages.facts import (
    EXPRESSION,
    NO_RECEIVER,
    NONE,
    BindTarget,
    Reference,
    ReferenceRole,
)
from codeplane.languages.go.structure import BLANK, FUNCTION, KEY, LABEL, SKIP, Structure
from codeplane.languages.parsing import Captures, IsOver, OutOfTimeError

_NAME: Final = 0
_MEMBER: Final = 1
_LABEL: Final = 2
_CAPTURES: Final = (("name", _NAME), ("member", _MEMBER), ("label", _LABEL))
_COMMENT: Final = re.compile(r"//[^\n]*|/\*[\s\S]*?\*/")
_LOOK_AFTER: Final = 1 << 17
_USE: Final = int(ReferenceRole.REFERENCE)


def read_names(
    captures: Captures, text: SourceText, structure: Structure, binds: Binds, visibility: Visibility, is_over: IsOver
) -> list[Reference]:
    """Return the references in the order of the source."""
    rows = [(*node.byte_range, kind) for capture, kind in _CAPTURES for node in captures.get(capture, ())]
    rows.sort()
    references: list[Reference] = []
    reader = _NameReader(structure, binds, visibility, references)
    bytewise, marks, cut, find = text.bytewise, structure.tables.marks, text.cut, visibility.find
    find_text, is_ascii = bytewise.find, text.is_ascii
    scope = previous_start = previous_end = next_change = next_look = 0
    for start, end, kind in rows:
        if start >= next_look:
            if is_over():
                raise OutOfTimeError
            next_look = start + _LOOK_AFTER
        if start >= next_change:
            scope = visibility.move_to(start)
            next_change = visibility.next_change
        name = bytewise[start:end] if is_ascii else cut(start, end)
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
        """Add an identifier whose meaning is settled by where it stands."""
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
        """Return the bind of a label, which the innermost function has or nobody."""
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
    if gap == ".":
        return previous_start
    if "/" in gap:
        gap = _COMMENT.sub("", gap)
    if gap.strip() == ".":
        return previous_start
    return EXPRESSION if kind == _MEMBER else NO_RECEIVER
