"""Go once over the tree of a file, in the order of the source, and record what each name does."""

import re
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Final, NamedTuple

from tree_sitter import Node

from codeplane.languages.facts import (
    EXPRESSION,
    KEYWORD,
    NO_RECEIVER,
    NONE,
    BindReason,
    BindTarget,
    Certainty,
    Definition,
    DefinitionKind,
    Import,
    ReferenceRole,
)
from codeplane.languages.queries.comments import comment_before, without_comments
from codeplane.languages.queries.patterns import Reader
from codeplane.languages.queries.rules import (
    CLASS,
    FILE,
    HEADER,
    MEMBER,
    MODULE,
    TAG,
    TYPE,
    VALUE,
    SymbolRules,
)

# Looking an enumeration's member up costs as much as the rest of a row.
REFERENCE: Final = int(ReferenceRole.REFERENCE)
DEFINITION: Final = int(ReferenceRole.DEFINITION)
IMPORT: Final = int(ReferenceRole.IMPORT)

_NEVER: Final = 1 << 62
# Longer paths do not grow further: each definition carries its own.
_MAX_PATH: Final = 2_000
_MAX_SIGNATURE: Final = 1_000
_SPACE: Final = " \t\r\n\f\v"
_WORD: Final = re.compile(r"[\w\x80-\xff]")
_AFTER_VALUE: Final = frozenset(")]}>\"'`")

# What is known of a name before the walk comes to it; a number from 0 on is the definition that it names, one from
# `_IMPORTED` down the import. `ALONE` is a plain name, whatever comes before it, `UNBOUND` one that is not looked up.
PLAIN: Final = -1
AS_KEYWORD: Final = -2
AS_TYPE: Final = -3
AS_TAG: Final = -4
IGNORED: Final = -5
ALONE: Final = -6
UNBOUND: Final = -7
_IMPORTED: Final = -10
_SPACES: Final = {AS_TYPE: TYPE, AS_TAG: TAG}

# The first characters of the keys under which types and tags are kept apart from values.
TYPE_MARK: Final = "\x01"
TAG_MARK: Final = "\x02"
# An import binds a name of whatever kind.
IMPORT_MARK: Final = "\x03"
_MARKS: Final = ("", TYPE_MARK, TAG_MARK)

# Parameters and local variables have no documentation of their own.
_UNDOCUMENTED: Final = frozenset({DefinitionKind.PARAMETER, DefinitionKind.VARIABLE})
_DOCUMENTED_IN: Final = frozenset({FILE, MODULE, CLASS})


class Place(NamedTuple):
    """One place that binds a name.

    `is_weak` marks a declaration beside which another place may be the definition, `is_doubtful` a place that may not
    be there or not be the only one.
    """

    target_kind: BindTarget
    target: int
    reason: BindReason
    visible_from: int
    is_weak: bool
    is_doubtful: bool


class ScopeRow:
    """A scope under construction.

    `has_unseen` says that names may be bound in it that are not written there, `is_wrapper` that it was opened for one
    definition inside, to whose path its own path does not belong. `owner` is the type whose members are in it, outside
    of the type's own body.
    """

    __slots__ = ("end", "has_unseen", "is_wrapper", "kind", "owner", "parent", "path", "places", "start")

    def __init__(self, kind: str, parent: int, span: tuple[int, int], path: str) -> None:
        self.kind = kind
        self.parent = parent
        self.start, self.end = span
        self.path = path
        self.has_unseen = self.is_wrapper = False
        self.owner = ""
        self.places: dict[str, list[Place]] = {}


# A name in its place: start, name, scope, role, receiver, the key to look it up by or None, what it names itself
# (a definition, or an import counted down from -2, -1 for nothing).
NameRow = tuple[int, str, int, int, int, str | None, int]


class Walk(Reader):
    """The position of the walk and what it has found.

    Invariant: `_opened` holds the scopes around the current place with their ends, innermost last; `_pending` is a heap
    of scopes whose owner was met but whose region begins later. `scope` is the innermost one.
    """

    __slots__ = (
        "_conditions",
        "_is_ascii",
        "_last_end",
        "_last_start",
        "_names",
        "_next_change",
        "_opened",
        "_pending",
        "_separator_ends",
        "_spaced",
        "_words",
        "begins",
        "bytewise",
        "definitions",
        "imports",
        "marks",
        "merged",
        "names",
        "notes",
        "package",
        "receivers",
        "rules",
        "scope",
        "scopes",
    )

    def __init__(self, source: bytes, rules: SymbolRules) -> None:
        self.rules = rules
        super().__init__(source)
        self.bytewise = self.text.bytewise
        self.package = ""
        self.scopes = [ScopeRow(FILE, NONE, (0, len(source)), "")]
        self.scope = 0
        self.definitions: list[Definition] = []
        self.imports: list[Import] = []
        self.names: list[NameRow] = []
        # What is known of the names at some places before the walk comes there, and their receivers.
        self.marks: dict[int, int] = {}
        self.receivers: dict[int, int] = {}
        # What a language has to remember from one node to another.
        self.notes: dict[tuple[object, ...], int] = {}
        # Where nodes begin that usually open a scope, but belong to one that is open already.
        self.merged: set[int] = set()
        # Where definitions begin whose own node begins later: `template <…>` before a class.
        self.begins: dict[int, int] = {}
        self._opened: list[tuple[int, int]] = [(_NEVER, 0)]
        self._pending: list[tuple[int, int, int]] = []
        self._next_change = _NEVER
        self._conditions: list[tuple[int, int]] = []
        self._last_start = self._last_end = NONE
        self._is_ascii = self.text.is_ascii
        self._words = rules.receiver_words
        self._names = rules.names
        self._separator_ends = frozenset(separator[-1] for separator in rules.separators)
        self._spaced = _spaced_members(self.bytewise, rules)

    def reach(self, position: int) -> None:
        """Open and close scopes up to a place."""
        if position >= self._next_change:
            self._advance(position)

    def take(self, start: int, end: int, space: int) -> None:
        """Write the row of a name; names must come in the order of the source."""
        if start >= end:
            return
        if start >= self._next_change:
            self._advance(start)
        bytewise = self.bytewise
        name = bytewise[start:end] if self._is_ascii else self.text.cut(start, end)
        mark = self.marks.pop(start, PLAIN)
        if mark == PLAIN:
            if name in self._words:
                self._last_start, self._last_end = self._words[name], end
                return
            if self._names is not None and self._names.match(name) is None:
                return
        receiver = self.receivers.pop(start, NO_RECEIVER) if self.receivers else NO_RECEIVER
        if receiver == NO_RECEIVER and (bytewise[start - 1] in self._separator_ends or start in self._spaced):
            receiver = self.receiver_of(start)
        if mark != PLAIN:
            self._take_marked(mark, start, end, name, receiver, space)
            return
        key = None
        if receiver == NO_RECEIVER:
            if space == MEMBER:
                receiver = KEYWORD
            else:
                key = _MARKS[space] + name if space else name
        self.names.append((start, name, self.scope, REFERENCE, receiver, key, NONE))
        self._last_start, self._last_end = start, end

    def _take_marked(self, mark: int, start: int, end: int, name: str, receiver: int, space: int) -> None:
        self._last_start, self._last_end = start, end
        if mark == IGNORED:
            return
        role, key, own = REFERENCE, None, NONE
        if mark >= 0:
            role, own = DEFINITION, mark
        elif mark <= _IMPORTED:
            # The last name of a path is what the import binds, not a member.
            role, own, receiver = IMPORT, NONE - 1 - (_IMPORTED - mark), NO_RECEIVER
        elif mark == AS_KEYWORD:
            receiver = KEYWORD
        elif mark != UNBOUND and (receiver == NO_RECEIVER or mark == ALONE):
            receiver = NO_RECEIVER
            key = _MARKS[_SPACES.get(mark, space)] + name
        self.names.append((start, name, self.scope, role, receiver, key, own))

    def remember(self, receiver: int, end: int) -> None:
        """Say that a word that means a receiver ends at a place."""
        self._last_start, self._last_end = receiver, end

    def receiver_of(self, start: int) -> int:  # noqa: PLR0911 - one answer per kind of node
        """Return the receiver of a member, from the text between it and the name before."""
        text, end = self.bytewise, self._spaced.get(start, start)
        separator = next((mark for mark in self.rules.separators if text.endswith(mark, 0, end)), "")
        begin = end - len(separator)
        if not separator:
            return NO_RECEIVER
        if begin == self._last_end:
            return self._last_start
        # `a..b` is a range, `n-->b` a comparison.
        if text[begin - 1 : begin] == separator[0]:
            return NO_RECEIVER
        if separator in self.rules.tight and text[begin - 1] in _SPACE:
            return NO_RECEIVER
        gap = text[self._last_end : begin] if self._last_end >= 0 else text[:begin]
        if any(mark in gap for mark in self.rules.comments.line) or (
            self.rules.comments.block and self.rules.comments.block[1] in gap
        ):
            gap = without_comments(gap, self.rules.comments)
        if self._last_end >= 0 and not gap.lstrip(self.rules.suffixes).strip(_SPACE):
            return self._last_start
        before = gap.rstrip(_SPACE).rstrip(self.rules.suffixes)
        if before and (before[-1] in _AFTER_VALUE or (before == gap and _WORD.match(before[-1]))):
            return EXPRESSION
        return self.rules.leading.get(separator, NO_RECEIVER)

    # Scopes

    def open_scope(self, kind: str, begin: int, end: int, name: str = "") -> int:
        """Open a scope over a region that is not behind the current place; `name` is added to the path."""
        # A header that is opened together with its body is the parent of the body.
        around = [number for later, number, later_end in self._pending if later <= begin and end <= later_end]
        parent = max(around, default=self.scope)
        self.scopes.append(ScopeRow(kind, parent, (begin, end), self.path_of(name)))
        heappush(self._pending, (begin, len(self.scopes) - 1, end))
        self._next_change = min(self._next_change, begin)
        return len(self.scopes) - 1

    def set_aside(self, scope: int, start: int, end: int) -> None:
        """Let a region inside a scope that is not open yet belong to the scope around it."""
        heappush(self._pending, (start, self.scopes[scope].parent, end))

    def path_of(self, name: str) -> str:
        """Return the path of a definition at the current place."""
        row = self.scopes[self.scope]
        while row.is_wrapper:
            row = self.scopes[row.parent]
        return _joined(row.path, name)

    def path_inside(self, name: str) -> str:
        """Return the path of something in the current scope, be it one for a single definition."""
        return _joined(self.scopes[self.scope].path, name)

    def binding_scope(self) -> int:
        """Return the scope in which a definition at the current place is bound: no header."""
        scope = self.scope
        while self.scopes[scope].kind == HEADER:
            scope = self.scopes[scope].parent
        return scope

    def is_in_class(self) -> bool:
        """Say whether a definition at the current place is a member."""
        return self.scopes[self.binding_scope()].kind == CLASS

    def open_condition(self, start: int, end: int) -> None:
        """Say that what is defined in a region may not be there."""
        while self._conditions and self._conditions[-1][1] <= start:
            self._conditions.pop()
        self._conditions.append((start, end))

    def _advance(self, position: int) -> None:
        """Open and close scopes up to a place."""
        while True:
            begin = self._pending[0][0] if self._pending else _NEVER
            end = self._opened[-1][0]
            self._next_change = min(begin, end)
            if self._next_change > position:
                return
            if end <= begin:
                self._opened.pop()
            else:
                _, number, region_end = heappop(self._pending)
                self._opened.append((region_end, number))
            self.scope = self._opened[-1][1]

    def sees_value(self, name: str, start: int, through: frozenset[str]) -> bool:
        """Say whether a name is bound before a place, in the current scope or one around it that is looked through."""
        scope = self.scope
        while True:
            row = self.scopes[scope]
            if any(place.visible_from <= start for place in row.places.get(name, ())):
                return True
            if row.kind not in through:
                return False
            scope = row.parent

    # Definitions

    def define(  # noqa: PLR0913 - one parameter per field of a fact
        self,
        kind: DefinitionKind,
        name_range: tuple[int, int],
        span: tuple[int, int],
        *,
        name: str = "",
        path: str = "",
        scope: int | None = None,
        body_scope: int = NONE,
        signature: str = "",
        owner: str = "",
        bases: tuple[int, ...] = (),
        type_ref: int = NONE,
        visible_from: int = NONE,
        is_weak: bool = False,
        is_doubtful: bool = False,
        is_bound: bool = True,
        reason: BindReason = BindReason.DEF_IN_SCOPE,
        space: int | None = None,
    ) -> int:
        """Add a definition and bind its name; return its number, NONE for a name that is empty or missing."""
        start, end = name_range
        name = name or self.text.cut(start, end)
        if not name:
            return NONE
        number = len(self.definitions)
        if span[0] in self.begins:
            span = (self.begins[span[0]], span[1])
        home = self.binding_scope() if scope is None else scope
        is_local = kind in _UNDOCUMENTED and self.scopes[home].kind not in _DOCUMENTED_IN
        comment = "" if is_local else comment_before(self.bytewise, span[0], self.rules.comments)
        owner = owner or self.scopes[home].owner
        fields = (kind, name, path or self.path_of(name), *span, start, home, body_scope, signature)
        # The generated way to make a row takes twice as long, which shows where there is one for every variable.
        self.definitions.append(tuple.__new__(Definition, (*fields, (), comment, owner, bases, NONE, type_ref)))
        self.marks[start] = number
        if is_bound:
            if space is None:
                space = TYPE if kind in self.rules.type_kinds else VALUE
            is_doubtful = is_doubtful or (bool(self._conditions) and self._is_conditional(home, start))
            seen_from = start if visible_from == NONE else visible_from
            place = tuple.__new__(Place, (BindTarget.DEF, number, reason, seen_from, is_weak, is_doubtful))
            self.scopes[home].places.setdefault(_MARKS[space] + name, []).append(place)
        return number

    def add_import(  # noqa: PLR0913 - one parameter per field of a fact
        self,
        kind: str,
        span: tuple[int, int],
        source: str,
        *,
        imported_name: str | None = None,
        alias: str | None = None,
        local_name: str = "",
        names: Iterable[int] = (),
    ) -> int:
        """Add an import, which binds `local_name` unless that is empty; `names` are the starts of the names in it."""
        number = len(self.imports)
        is_conditional = any(end > span[0] for _, end in self._conditions)
        self.imports.append(
            Import(self.scope, source, imported_name, alias, kind, Certainty.CERTAIN, *span, is_conditional)
        )
        for start in names:
            self.marks[start] = _IMPORTED - number
        if local_name:
            home = self.binding_scope()
            place = Place(
                *(BindTarget.IMPORT, number, BindReason.IMPORT_ALIAS, span[1], False),
                self._is_conditional(home, span[0]),
            )
            self.scopes[home].places.setdefault(IMPORT_MARK + local_name, []).append(place)
        return number

    def _is_conditional(self, scope: int, start: int) -> bool:
        while self._conditions and self._conditions[-1][1] <= start:
            self._conditions.pop()
        return bool(self._conditions) and self._conditions[-1][0] > self.scopes[scope].start

    def cut(self, node: Node) -> str:
        """Return the text of a node."""
        return self.text.of(node)

    def joined(self, node: Node) -> str:
        """Return the text of a node without comments and white space."""
        return self.folded(*node.byte_range).replace(" ", "")

    def type_name(self, node: Node | None) -> Node | None:
        """Return the node that names a type, by the steps that the query gives for its kind."""
        while node is not None:
            step = self.rules.type_steps.get(node.type)
            if step is None:
                return None
            how, kinds = step
            if how == "here":
                return None if node.is_missing else node
            if how == "field":
                node = node.child_by_field_name(kinds[0])
                continue
            children = node.named_children
            if kinds:
                children = [child for child in children if child.type in kinds]
            node = (children[-1] if how == "last" else children[0]) if children else None
        return None

    def type_start(self, node: Node | None) -> int:
        """Return where a type is named, NONE when it has no name."""
        name = self.type_name(node)
        return NONE if name is None else name.start_byte

    def folded(self, start: int, end: int) -> str:
        """Return a text without comments, with white space folded."""
        text = self.text.cut(start, min(end, start + 4 * _MAX_SIGNATURE))
        style = self.rules.comments
        if any(mark in text for mark in style.line) or (style.block and style.block[0] in text):
            text = without_comments(text, style)
        text = " ".join(text.split())
        text = text.replace("( ", "(").replace("[ ", "[").replace(" )", ")").replace(" ]", "]").replace(",)", ")")
        return text[:_MAX_SIGNATURE]


def _joined(path: str, name: str) -> str:
    if not path or not name:
        return path or name
    return f"{path}.{name}" if len(path) < _MAX_PATH else path


def _spaced_members(text: str, rules: SymbolRules) -> dict[int, int]:
    """Return where names begin that are separated from their separator by white space, with the separator's end."""
    if not rules.separators:
        return {}
    marks = "|".join(re.escape(mark) for mark in rules.separators)
    found: dict[int, int] = {}
    for match in re.finditer(rf"(?:{marks})[\s]+(?=[\w$@\x80-\xff])", text):
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        # A full stop at the end of a comment is none.
        if not any(mark in line for mark in rules.comments.line) and not line.lstrip().startswith("*"):
            found[match.end()] = match.start() + len(match[0].rstrip(_SPACE))
    return found
