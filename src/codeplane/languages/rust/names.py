"""Go once over all identifiers of a Rust file, in order, and say what each means."""

from typing import Final

from codeplane.languages.block_scopes.tables import SKIP, Binds
from codeplane.languages.block_scopes.texts import BlockText
from codeplane.languages.block_scopes.visibility import Visibility, bare_gap, names_in_order
from codeplane.languages.facts import CALLED, EXPRESSION, NO_RECEIVER, NONE, READ, Reference, ReferenceRole
from codeplane.languages.parsing import Captures, IsOver
from codeplane.languages.rust.keys import ANY, GLOB, LABEL, MACRO, TYPE, VALUE
from codeplane.languages.rust.settling import Settled
from codeplane.languages.rust.statements import BLANK, next_text
from codeplane.languages.rust.structure import MODULE, Structure

_NAME: Final = 0
_TYPE: Final = 1
_MEMBER: Final = 2
_KEYWORD: Final = 3
_CAPTURES: Final = (("name", _NAME), ("type", _TYPE), ("member", _MEMBER), ("keyword", _KEYWORD))
_USE: Final = int(ReferenceRole.REFERENCE)
_IMPORT: Final = int(ReferenceRole.IMPORT)
_ENDS_VALUE: Final = frozenset("()[],;.?})=+-*/")
_CLOSING: Final = (">::", ")::", "]::")
_NEVER: Final = 1 << 62
# Receivers that are none: nothing is said about the identifier; it is the name of a crate after a leading `::`.
_DROPPED: Final = -9
_OF_CRATES: Final = -10


def read_names(
    captures: Captures, text: BlockText, structure: Structure, settled: Settled, binds: Binds, is_over: IsOver
) -> tuple[list[Reference], dict[int, int]]:
    """Return the references in the order of the source, and how members are used."""
    usages: dict[int, int] = {}
    rows = [(*node.byte_range, kind) for capture, kind in _CAPTURES for node in captures.get(capture, ())]
    references: list[Reference] = []
    reader = _NameReader(text, structure, settled, binds)
    add, read, bytewise = references.append, reader.read, text.bytewise
    marks, of_place = structure.tables.marks, binds.of_place
    for start, end, kind, name, scope in names_in_order(rows, text, reader.visibility, is_over):
        if start >= reader.next_region:
            reader.enter_region(start)
        if start in marks:
            home, role, receiver, place = marks[start]
            if place != SKIP:
                add((start, name, home, role, receiver, of_place[place] if place >= 0 else NONE))
                if kind == _MEMBER and receiver >= 0:
                    usages[start] = READ
                reader.previous_start = start
            else:
                reader.previous_start = EXPRESSION
        elif start < reader.dark_end:
            reader.previous_start = EXPRESSION
        else:
            receiver, bind = read(start, end, name, kind)
            if receiver != _DROPPED:
                role = reader.role_at(start) if start >= reader.next_use else _USE
                add((start, name, scope, role, receiver, bind))
                if receiver >= 0 and bytewise[reader.previous_end : start].rstrip().endswith("."):
                    usages[start] = CALLED if next_text(bytewise, end)[:1] in {"(", ":"} else READ
                reader.previous_start = start
            else:
                reader.previous_start = EXPRESSION
        reader.previous_end = end
    return references, usages


class _NameReader:
    """Says what an identifier means by its position.

    Invariant: it is asked in the order of the source. `previous_start` and `previous_end` are those of the identifier
    before, the first being EXPRESSION when nothing is said about that one. Nothing is said before `dark_end`; no
    region starts before `next_region`, no `use` declaration before `next_use`.
    """

    __slots__ = (
        "_binds",
        "_brought",
        "_bytewise",
        "_elsewhere",
        "_globs",
        "_is_veiled",
        "_plain_end",
        "_regions",
        "_uses",
        "_veils",
        "dark_end",
        "next_region",
        "next_use",
        "previous_end",
        "previous_start",
        "visibility",
    )

    def __init__(self, text: BlockText, structure: Structure, settled: Settled, binds: Binds) -> None:
        tables = structure.tables
        self._bytewise = text.bytewise
        self._binds = binds
        self._globs = settled.globs
        # The names that imports and globs bring; others have one key only.
        self._brought = {one.name for one in tables.places if one.key[:2] in {ANY, GLOB}}
        self._elsewhere = {scope: binds.of_place[place] for scope, place in settled.elsewhere.items()}
        self._veils = {
            scope: (binds.of_place[place], is_of_type) for scope, (place, is_of_type) in settled.veils.items()
        }
        self._is_veiled = bool(self._veils or self._elsewhere)
        self.visibility = Visibility(tables.scopes, tables.places, binds.of_place, frozenset({MODULE}))
        self._uses = structure.uses[::-1]
        self.next_use = self._uses[-1][0] if self._uses else _NEVER
        self._regions = structure.regions[::-1]
        self.next_region = self._regions[-1].start if self._regions else _NEVER
        self._plain_end = self.dark_end = 0
        self.previous_start = EXPRESSION
        self.previous_end = 0

    def enter_region(self, start: int) -> None:
        """Enter the last of the regions that start at or before an offset."""
        region = self._regions[-1]
        while self._regions and self._regions[-1].start <= start:
            region = self._regions.pop()
        self.next_region = self._regions[-1].start if self._regions else _NEVER
        self._plain_end, self.dark_end = (region.end, 0) if region.is_plain else (0, region.end)

    def role_at(self, start: int) -> int:
        """Return the role of an identifier: it imports if it is in a `use` declaration."""
        while self._uses and self._uses[-1][1] <= start:
            self._uses.pop()
        self.next_use = self._uses[-1][0] if self._uses else _NEVER
        return _IMPORT if self.next_use <= start else _USE

    def read(self, start: int, end: int, name: str, kind: int) -> tuple[int, int]:
        """Return receiver and bind of an identifier that no declaration settles."""
        if kind == _MEMBER:
            return self._member(start), NONE
        if kind == _KEYWORD or self._bytewise[start - 1] == "'" or name == BLANK:
            return self._read_word(start, name, kind)
        if self._bytewise.find("::", self.previous_end, start) >= 0:
            receiver = self._path_before(start)
            if receiver != NO_RECEIVER:
                return (NO_RECEIVER if receiver == _OF_CRATES else receiver), NONE
        if start < self._plain_end:
            return self._read_argument(start, end, name)
        return NO_RECEIVER, self._find_in_name_space(end, name, kind)

    def _read_word(self, start: int, name: str, kind: int) -> tuple[int, int]:
        """Read `self` and labels; words of the language and lifetimes say nothing."""
        bind = NONE
        if kind == _NAME and self._bytewise[start - 1] == "'":
            bind = self._find(LABEL, name)
        elif name == "self":
            bind = self._find(VALUE, name)
        return (NO_RECEIVER, bind) if bind != NONE else (_DROPPED, NONE)

    def _member(self, start: int) -> int:
        """Return the receiver of a name after a dot."""
        gap = self._bytewise[self.previous_end : start]
        if gap != "." and bare_gap(gap) != ".":
            return EXPRESSION
        return self.previous_start

    def _path_before(self, start: int) -> int:
        """Return the receiver of a name after `::`, NO_RECEIVER for other names."""
        gap = self._bytewise[self.previous_end : start]
        if gap == "::":
            return self.previous_start
        gap = bare_gap(gap)
        if gap == "::":
            return self.previous_start
        if not gap.endswith("::"):
            return NO_RECEIVER
        return EXPRESSION if gap.endswith(_CLOSING) else _OF_CRATES

    def _read_argument(self, start: int, end: int, name: str) -> tuple[int, int]:
        """Read an identifier among the arguments of a macro that takes expressions.

        Type or value cannot be told apart there, so a name that means both says nothing.
        """
        before = bare_gap(self._bytewise[self.previous_end : start])
        if before.endswith(".") and not before.endswith(".."):
            return self._member(start), NONE
        after = next_text(self._bytewise, end)
        if (after[:1] == "=" and after != "==") or (after[:1] == ":" and after != "::"):
            return _DROPPED, NONE
        if after == "::" or after[:1] == "!":
            return NO_RECEIVER, self._find_in_name_space(end, name, _NAME)
        found = {self._find(VALUE, name), self._find(TYPE, name)} - {NONE}
        meanings = {self._binds.facts[bind][2:4] for bind in found}
        return (_DROPPED, NONE) if len(meanings) > 1 else (NO_RECEIVER, max(found, default=NONE))

    def _find_in_name_space(self, end: int, name: str, kind: int) -> int:
        """Return the bind of a plain name; what follows it tells its name space."""
        if kind == _TYPE or name == "Self":
            return self._find(TYPE, name)
        if self._bytewise[end : end + 1] in _ENDS_VALUE:
            return self._find(VALUE, name)
        after = next_text(self._bytewise, end)
        if after == "::":
            rest = self._bytewise[end : end + 200].lstrip()[2:].lstrip()
            return self._find(VALUE if rest.startswith("<") else TYPE, name)
        if after[:1] == "!" and after != "!=":
            return self._find_macro(name)
        return self._find(VALUE, name)

    def _find_macro(self, name: str) -> int:
        """Return the bind of a macro: inner modules see those defined above, imports are seen as other names."""
        visibility = self.visibility
        scope = visibility.scope
        while scope != NONE:
            found = visibility.names[scope].get(MACRO + name)
            if found is not None:
                return found
            scope = visibility.scopes[scope].parent
        return self._find(MACRO, name)

    def _find(self, name_space: str, name: str) -> int:
        """Return the bind that a name means in a name space at the current offset, NONE when there is none."""
        names, parents = self.visibility.names, self.visibility.parents
        keys: tuple[str, ...] = (name_space + name,)
        if name in self._brought:
            keys = (name_space + name, ANY + name, GLOB + name)
        elif keys[0] not in self.visibility.keys and not self._is_veiled:
            return NONE
        scope = last = self.visibility.scope
        while scope != NONE:
            here = names[scope]
            for key in keys:
                if key in here:
                    return here[key]
            if scope in self._globs:
                found = self._find_through(scope, keys)
                if found != NONE:
                    return found
            if scope in self._veils and (name[0].isupper() or not self._veils[scope][1]):
                return self._veils[scope][0]
            last, scope = scope, parents[scope]
        return self._elsewhere.get(last, NONE) if self._elsewhere else NONE

    def _find_through(self, scope: int, keys: tuple[str, ...]) -> int:
        """Return the bind that the globs of a scope bring."""
        names = self.visibility.names
        waiting = list(self._globs[scope])
        seen = {scope}
        while waiting:
            module = waiting.pop(0)
            if module in seen:
                continue
            seen.add(module)
            for key in keys:
                if key in names[module]:
                    return names[module][key]
            waiting.extend(self._globs.get(module, ()))
        return NONE
