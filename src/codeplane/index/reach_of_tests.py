"""Which definitions the tests may run: followed from the tests through references, method names and fixtures.

All tests are followed at once: each definition has a number whose bits are the tests that reach it. A method that is
called on something of unknown type is reached by the tests that also reach its class. What no syntax shows (computed
attributes, programs that tests start) is not followed here; the caller tells that.
"""

import hashlib
import math
import posixpath
import re
import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from tree_sitter import Query, QueryCursor

from codeplane.index.call_sites import root_of
from codeplane.index.facts.columns import FIRST_EXPRESSION, OF_EXPRESSION
from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.outline import (
    BODY_SCOPE,
    DECORATORS,
    NAME,
    OWNER,
    PATH,
    SCOPE,
    SIGNATURE,
    START,
    Op,
    Outline,
)
from codeplane.index.facts.reader import FactFile, FactReader, Place
from codeplane.index.symbol_search import meant_by
from codeplane.languages.catalog import dialect_of, linking_rules, load_language
from codeplane.languages.facts import NONE, Definition, DefinitionKind, ReferenceRole

CONFTEST: Final = "conftest.py"
_END: Final = Definition._fields.index("end")
_PACKAGE: Final = "__init__.py"
_WORD: Final = re.compile(r"\w+")
_FIXTURE: Final = re.compile(r"(?:^|\.)fixture\b")
_AUTOUSE: Final = re.compile(r"\bautouse\s*=\s*True")
# Functions that run without being called by name: of pytest, of a Go package.
_STARTED: Final = re.compile(r"^(?:pytest_\w+|init|TestMain)$")
# Members that a language calls itself when an instance is made, printed, compared or left.
_IMPLICIT: Final = re.compile(
    r"^(?:__\w+__|constructor|toString|toJSON|valueOf|equals|hashCode|compareTo|String|Error|Unwrap|drop|fmt|from|next"
    r"|deref|eq|cmp|hash|default|clone|_\w+_missing_)$"
)
_HOLDERS: Final = frozenset(
    int(kind)
    for kind in (
        DefinitionKind.MODULE,
        DefinitionKind.CLASS,
        DefinitionKind.INTERFACE,
        DefinitionKind.ENUM,
        DefinitionKind.STRUCT,
        DefinitionKind.TRAIT,
        DefinitionKind.TYPE,
    )
)
_MEMBERS: Final = frozenset(
    int(kind) for kind in (DefinitionKind.METHOD, DefinitionKind.PROPERTY, DefinitionKind.FIELD)
)
_VALUES: Final = frozenset(int(kind) for kind in (DefinitionKind.VARIABLE, DefinitionKind.CONSTANT))
_RUNNING: Final = frozenset({int(DefinitionKind.FUNCTION), int(DefinitionKind.METHOD)})
_NAMED_ONLY: Final = frozenset({int(ReferenceRole.IMPORT), int(ReferenceRole.EXPORT)})
_SELECTS: Final = frozenset({Op.MEMBER, Op.SUPER, Op.THIS})
# Bases from these modules call none of the members of a class.
_PASSIVE_BASES: Final = frozenset({"typing", "typing_extensions", "abc", "collections.abc", "enum"})

# Where a signature names types; elsewhere (TypeScript, Java) libraries make instances by them.
_SIGNATURE_TYPES: Final = {
    "python": "(typed_parameter type: (type) @type) (typed_default_parameter type: (type) @type)"
    " (function_definition return_type: (type) @type)",
    "go": "(parameter_declaration type: (_) @type)",
}
_COMPUTED_IMPORTS: Final = frozenset({"import_module", "__import__", "dynamic_import", "require"})
# What begins a line that goes on with a statement.
_CONTINUES: Final = frozenset({b" ", b"\t", b")", b"]", b"}", b"\n", b"\r", b"#"})

_ClassKey = tuple[object, str]


@dataclass(slots=True)
class Uses:
    """What the definitions of one file use; number NONE is the code outside of them.

    `targets` are sure references, `typed` those by which a signature names types. `names` are members that are called
    on something of unknown type or may be overridden. `members` are the members of types by the path of the type,
    `bases` those of a type; an open type has a base from outside that may call its members. `computed` import by names
    that the syntax does not show.
    """

    targets: dict[int, set[Place]] = field(default_factory=lambda: defaultdict(set))
    typed: dict[int, set[Place]] = field(default_factory=lambda: defaultdict(set))
    names: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    members: list[tuple[str, str, int]] = field(default_factory=list)
    classes: dict[int, str] = field(default_factory=dict)
    bases: dict[int, list[Place]] = field(default_factory=dict)
    open_types: set[int] = field(default_factory=set)
    fixtures: dict[str, int] = field(default_factory=dict)
    asked: dict[int, frozenset[str]] = field(default_factory=dict)
    always: set[int] = field(default_factory=set)
    computed: set[int] = field(default_factory=set)
    nodes: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))


def uses_of(reader: FactReader, file: FactFile) -> Uses:
    """Return what the definitions of a file use; kept as long as neither the file nor its links change."""
    row = reader.connection.execute("SELECT data FROM resolutions WHERE file_id = ?", (file.file_id,)).fetchone()
    digest = hashlib.blake2b(row[0] if row else b"", digest_size=8).hexdigest()
    return reader.kept(f"uses {file.file_id} {digest}", file.facts_id or 0, lambda: _read_uses(reader, file))


def _read_uses(reader: FactReader, file: FactFile) -> Uses:
    view = FileView(reader, file)
    outline, uses = view.outline, Uses()
    owners = _Owners(outline, view.text)
    typed = _typed(file.path, view.text)
    for number in owners.nodes:
        _describe(reader, file, outline, number, uses)
    columns = view.columns
    for position, start in enumerate(columns.starts):
        role = columns.roles[position]
        if role == ReferenceRole.DEFINITION:
            continue
        owner = owners.at(start)
        _, meant = view.meaning(position)
        if meant is not None and (meant[0] != file.file_id or meant[1] in owners.nodes):
            if _is_in(typed, start):
                uses.typed[owner].add(meant)
            elif role not in _NAMED_ONLY or owner == NONE:
                uses.targets[NONE - 1 if role in _NAMED_ONLY else owner].add(meant)
            if role not in _NAMED_ONLY and _is_member(reader, meant):
                uses.names[owner].add(columns.names[columns.name_numbers[position]])
        elif meant is None and _selects(outline, columns.links[position]):
            uses.names[owner].add(columns.names[columns.name_numbers[position]])
    _note_dynamic(outline, owners, uses)
    return uses


def _note_dynamic(outline: Outline, owners: "_Owners", uses: Uses) -> None:
    """Note the members that are named in strings, and the imports by computed names."""
    for row in outline.dynamic_rows:
        owner = owners.at(row[1])
        if row[4] and row[0] in _COMPUTED_IMPORTS:
            uses.computed.add(owner)
        uses.names[owner].update(name for one in row[3] for name in one.split("."))


def _selects(outline: Outline, link: int) -> bool:
    if link < FIRST_EXPRESSION:
        return link == OF_EXPRESSION
    return outline.expression(link - FIRST_EXPRESSION)[0] in _SELECTS


def _is_member(reader: FactReader, place: Place) -> bool:
    outline = reader.outline_of(place[0])
    return place[1] < len(outline.kinds) and outline.kinds[place[1]] in _MEMBERS


class _Owners:
    """The definitions of a file that are outside of functions, and which of them is around a place."""

    def __init__(self, outline: Outline, text: bytes) -> None:
        rows = outline.definition_rows
        scopes, bodies, owners = rows.column(SCOPE), rows.column(BODY_SCOPE), rows.column(OWNER)
        self._starts, self._ends, self._kinds = rows.column(START), rows.column(_END), outline.kinds
        outer = {0}
        self.nodes: set[int] = set()
        for number in sorted(range(outline.n_visible), key=lambda one: (self._starts[one], -self._ends[one])):
            if scopes[number] in outer or owners[number]:
                self.nodes.add(number)
                if outline.kinds[number] in _HOLDERS:
                    outer.add(bodies[number])
        self._sorted = sorted(self.nodes, key=lambda one: self._ends[one] - self._starts[one])
        self._names = rows.column(PATH)

        values = (one for one in self.nodes if outline.kinds[one] in _VALUES and "." not in self._names[one])
        self._assigned = {_statement(text, self._starts[one]): one for one in values}
        self._text = text

    def at(self, start: int) -> int:
        """Return the innermost definition around a place; a field belongs to its type.

        What a variable outside of definitions is set to belongs to it: a table of functions runs none of them.
        """
        around = self._around(start)
        return around if around != NONE else self._assigned.get(_statement(self._text, start), NONE)

    def _around(self, start: int) -> int:
        for number in self._sorted:
            if self._starts[number] <= start < self._ends[number]:
                is_field = self._kinds[number] in _VALUES and "." in self._names[number]
                if not is_field and (self._kinds[number] in _RUNNING | _HOLDERS | _VALUES | _MEMBERS):
                    return number
        return NONE


def _statement(text: bytes, start: int) -> int:
    """Return where the statement around a place outside of definitions begins: at the start of a line."""
    line = text.rfind(b"\n", 0, start) + 1
    while line and text[line : line + 1] in _CONTINUES:
        line = text.rfind(b"\n", 0, line - 1) + 1
    return line


@lru_cache(maxsize=8)
def _query_of_types(dialect: str) -> Query | None:
    language = load_language(dialect)
    if dialect not in _SIGNATURE_TYPES or language is None or language.grammar is None:
        return None
    return Query(language.grammar, _SIGNATURE_TYPES[dialect])


def _typed(path: str, text: bytes) -> list[tuple[int, int]]:
    """Return where signatures name types, in order."""
    query = _query_of_types(dialect_of(path))
    root = root_of(path, text) if query is not None else None
    if query is None or root is None:
        return []
    nodes = QueryCursor(query).captures(root).get("type", [])
    return sorted(
        (node.start_byte, node.end_byte) for node in nodes if b"(" not in text[node.start_byte : node.end_byte]
    )


def _is_in(ranges: list[tuple[int, int]], start: int) -> bool:
    number = bisect_right(ranges, (start, sys.maxsize)) - 1
    return number >= 0 and start < ranges[number][1]


def _describe(reader: FactReader, file: FactFile, outline: Outline, number: int, uses: Uses) -> None:
    """Note what one definition is: a member, a type with bases, a fixture, something that runs by itself."""
    rows = outline.definition_rows
    name, path, owner = rows.column(NAME)[number], rows.column(PATH)[number], rows.column(OWNER)[number]
    uses.nodes[path].append(number)
    holder = owner or path.rpartition(".")[0]
    if holder:
        uses.members.append((holder, name, number))
    if outline.kinds[number] in _HOLDERS:
        uses.classes[number] = path
        uses.bases[number] = list(_bases(reader, file, outline, number, uses))
    marks = " ".join(rows.column(DECORATORS)[number])
    if _FIXTURE.search(marks):
        uses.fixtures[name] = number
        uses.asked[number] = frozenset(_WORD.findall(rows.column(SIGNATURE)[number]))
    if _AUTOUSE.search(marks) or (_STARTED.match(name) and not holder):
        uses.always.add(number)


def _bases(reader: FactReader, file: FactFile, outline: Outline, number: int, uses: Uses) -> Iterator[Place]:
    resolution = reader.resolution(file.file_id)
    for expression in outline.base_expressions.get(number, ()):
        base = meant_by(file, outline, expression, resolution) if expression != NONE else None
        if base is not None:
            yield base
        elif expression == NONE or _is_active(outline, expression):
            uses.open_types.add(number)


def _is_active(outline: Outline, expression: int) -> bool:
    """Tell whether a base from outside may call the members of a class; builtins call only implicit ones."""
    op, operand, _ = outline.expression(expression)
    while op == Op.MEMBER:
        op, operand, _ = outline.expression(operand)
    return op != Op.FREE and not (op == Op.IMPORT and outline.import_rows[operand][1] in _PASSIVE_BASES)


class Reached:
    """The definitions that tests reach.

    With `started`, what programs that tests start may run, the names of members are followed too; without, references
    alone. `unknown` are the tests that reach an import by a computed name.
    Invariant: a bit that is set in `masks` is never taken back.
    """

    def __init__(
        self, reader: FactReader, tests: Sequence[str], started: Mapping[str, Collection[Place]] | None = None
    ) -> None:
        self.masks: dict[Place, int] = defaultdict(int)
        self._reader = reader
        self._by_name = started is not None
        self.unknown = 0
        self._computing: set[Place] = set()
        self._waiting: dict[Place, int] = {}
        self._keys: dict[tuple[int, str], _ClassKey] = {}
        self._runs: dict[int, list[int]] = {}
        self._loaded: dict[int, Uses] = {}
        self._types: dict[_ClassKey, int] = defaultdict(int)
        self._members: dict[_ClassKey, list[tuple[str, Place]]] = defaultdict(list)
        self._holders: dict[str, list[tuple[_ClassKey, Place]]] = defaultdict(list)
        self._called: dict[str, int] = defaultdict(int)
        self._open: dict[_ClassKey, bool] = {}
        self._modules: dict[str, list[int]] = defaultdict(list)
        self._files: dict[str, FactFile] = {}
        for file in reader.files_with_facts(lambda language: linking_rules(language) is not None):
            self._files[file.path] = file
            for module in filter(None, file.modules.split("\n")):
                self._modules[module].append(file.file_id)
        self._tests = frozenset(tests)
        for number, path in enumerate(tests):
            if path in self._files:
                self._start(self._files[path], 1 << number)
            for place in (started or {}).get(path, ()):
                self._add(place, 1 << number)
        self._follow_all()

    def _follow_all(self) -> None:
        while self._waiting:
            # In the order of arrival, so that what many tests reach is followed for all of them at once.
            place = next(iter(self._waiting))
            self._follow(place, self._waiting.pop(place))

    def import_any_module(self) -> None:
        """Go on with what the tests of `unknown` may run when a computed name means any module of the repository.

        Importing a module runs its code outside of definitions. A definition in it has to be named: as a member, or,
        where imports are taken apart by patterns, anywhere in the importing file.
        """
        modules = [file for path, file in self._files.items() if path not in self._tests] if self.unknown else []
        for file in modules:
            self._add((file.file_id, NONE), self.unknown)
        for file_id, number in tuple(self._computing):
            importing = self._reader.file(file_id)
            if importing is not None and importing.language != "python":
                for word in self._words(importing):
                    self._call(word, self.masks[file_id, number])
        named = [
            (path, (file.file_id, number))
            for file in modules
            for path, numbers in self._uses(file.file_id).nodes.items()
            for number in numbers
            if "." not in path
        ]
        while True:
            self._follow_all()
            for name, place in named:
                self._add(place, self._called.get(name, 0) & self.unknown)
            if not self._waiting:
                return

    def _words(self, file: FactFile) -> set[str]:
        return set(_WORD.findall(self._reader.text(file).decode("utf-8", "replace")))

    def _start(self, file: FactFile, bit: int) -> None:
        """Begin with everything in a test file, and the fixtures and hooks of the conftest.py files above it."""
        uses = self._uses(file.file_id)
        for number in (NONE, NONE - 1, *(one for numbers in uses.nodes.values() for one in numbers)):
            self._add((file.file_id, number), bit)
        words = self._words(file)
        for conftest in self._conftests(file.path):
            above = self._uses(conftest.file_id)
            wanted = above.always | {number for name, number in above.fixtures.items() if name in words}
            for number in (NONE, *wanted):
                self._add((conftest.file_id, number), bit)

    def _conftests(self, path: str) -> Iterator[FactFile]:
        folder = posixpath.dirname(path)
        while True:
            file = self._files.get(posixpath.join(folder, CONFTEST))
            if file is not None:
                yield file
            if not folder:
                return
            folder = posixpath.dirname(folder)

    def _uses(self, file_id: int) -> Uses:
        known = self._loaded.get(file_id)
        if known is not None:
            return known
        file = self._reader.file(file_id)
        uses = uses_of(self._reader, file) if file is not None and file.facts_id is not None else Uses()
        self._loaded[file_id] = uses
        for path, name, number in uses.members:
            key = self._key(file_id, path)
            self._members[key].append((name, (file_id, number)))
            self._holders[name].append((key, (file_id, number)))
            self._offer(key, name, (file_id, number))
        for number, path in uses.classes.items():
            self._open[self._key(file_id, path)] = number in uses.open_types
        return uses

    def _key(self, file_id: int, path: str) -> _ClassKey:
        known = self._keys.get((file_id, path))
        if known is None:
            known = self._keys[file_id, path] = self._made_key(file_id, path)
        return known

    def _made_key(self, file_id: int, path: str) -> _ClassKey:
        file = self._reader.file(file_id)
        rules = linking_rules(file.language) if file is not None else None
        is_shared = file is not None and rules is not None and rules.members_stand_in_module and file.modules
        return (file.modules if is_shared and file is not None else file_id), path

    def _add(self, place: Place, bits: int) -> None:
        new = bits & ~self.masks[place]
        if new:
            self.masks[place] |= new
            self._waiting[place] = self._waiting.get(place, 0) | new

    def _follow(self, place: Place, bits: int) -> None:
        file_id, number = place
        uses = self._uses(file_id)
        if number == NONE:
            self._import(file_id, uses, bits)
        else:
            self._add((file_id, NONE), bits)
        if number in uses.computed:
            self.unknown |= bits
            self._computing.add(place)
        for target in uses.targets.get(number, ()):
            self._add(target, bits)
        for target in uses.typed.get(number, ()):
            # A signature makes no instance, unless a library from outside does so by it.
            if target[1] in self._uses(target[0]).open_types:
                self._add(target, bits)
        for name in uses.names.get(number, ()) if self._by_name else ():
            self._call(name, bits)
        if number in uses.classes:
            self._make(self._key(file_id, uses.classes[number]), bits)
            for base in uses.bases[number]:
                self._add(base, bits)
        if number in uses.asked:
            self._ask(file_id, uses, uses.asked[number], bits)

    def _import(self, file_id: int, uses: Uses, bits: int) -> None:
        """Run the code of a file outside of definitions, and that of the files that it imports."""
        for number in uses.always if not self._is_conftest(file_id) else ():
            self._add((file_id, number), bits)
        if file_id not in self._runs:
            self._runs[file_id] = list(dict.fromkeys(self._imported(file_id)))
        for other in self._runs[file_id]:
            self._add((other, NONE), bits)

    def _is_conftest(self, file_id: int) -> bool:
        file = self._reader.file(file_id)
        return file is not None and (posixpath.basename(file.path) == CONFTEST)

    def _imported(self, file_id: int) -> Iterator[int]:
        rows = self._reader.connection.execute("SELECT name FROM located WHERE file_id = ?", (file_id,)).fetchall()
        for (name,) in rows:
            parts = name.split(".")
            # Importing a part of a package runs the package.
            for one in {name, *(".".join(parts[:n]) for n in range(1, len(parts)))}:
                yield from self._modules.get(one, ())
        file = self._reader.file(file_id)
        rules = linking_rules(file.language) if file is not None else None
        if file is not None and rules is not None and rules.members_stand_in_module:
            beside = self._modules.get(file.modules, ())
            yield from (one for one in beside if (other := self._reader.file(one)) and other.path not in self._tests)

    def _call(self, name: str, bits: int) -> None:
        new = bits & ~self._called[name]
        if new:
            self._called[name] |= new
            for key, place in self._holders[name]:
                self._offer(key, name, place)

    def _make(self, key: _ClassKey, bits: int) -> None:
        if bits & ~self._types[key]:
            self._types[key] |= bits
            if isinstance(key[0], str):
                for file_id in self._modules.get(key[0], ()):
                    self._uses(file_id)
            for name, place in list(self._members[key]):
                self._offer(key, name, place)

    def _offer(self, key: _ClassKey, name: str, place: Place) -> None:
        """Reach a member by the tests that reach its type and call its name, or that need not call it."""
        made = self._types.get(key, 0)
        is_called_anyway = _IMPLICIT.match(name) or self._open.get(key, False)
        bits = made if is_called_anyway else made & self._called.get(name, 0)
        if bits:
            self._add(place, bits)

    def _ask(self, file_id: int, uses: Uses, names: frozenset[str], bits: int) -> None:
        """Reach the fixtures that a fixture asks for."""
        file = self._reader.file(file_id)
        for name in names:
            if name in uses.fixtures:
                self._add((file_id, uses.fixtures[name]), bits)
            for conftest in self._conftests(file.path) if file is not None else ():
                above = self._uses(conftest.file_id)
                if name in above.fixtures:
                    self._add((conftest.file_id, above.fixtures[name]), bits)

    def of(self, places: Iterable[Place]) -> int:
        """Return the tests that reach one of some definitions."""
        bits = 0
        for place in places:
            bits |= self.masks.get(place, 0)
        return bits

    def uses_directly(self, path: str, places: frozenset[Place]) -> bool:
        """Tell whether a test file itself refers to one of some definitions."""
        uses = self._uses(self._files[path].file_id)
        return any(not places.isdisjoint(targets) for targets in uses.targets.values())


def places_of(reader: FactReader, path: str, names: Iterable[str]) -> frozenset[Place]:
    """Return the definitions of some lexical paths in a file; empty when one of them is not there (any more)."""
    file = reader.file_at(path)
    if file is None or file.facts_id is None or linking_rules(file.language) is None:
        return frozenset()
    nodes = uses_of(reader, file).nodes
    found: set[Place] = set()
    for name in names:
        if name not in nodes:
            return frozenset()
        found.update((file.file_id, number) for number in nodes[name])
        found.update(_type_of_value(reader, file, nodes, name))
    return frozenset(found)


def _type_of_value(reader: FactReader, file: FactFile, nodes: Mapping[str, list[int]], name: str) -> Iterator[Place]:
    """Yield the type whose value changed: what makes an instance need not name its fields."""
    kinds = reader.outline(file.facts_id or 0).kinds
    if all(kinds[number] not in _RUNNING for number in nodes[name]):
        yield from ((file.file_id, number) for number in nodes.get(name.rpartition(".")[0], ()))


def started_places(reader: FactReader, programs: Mapping[str, Iterable[str]]) -> frozenset[Place]:
    """Return what runs when programs start: the code of their files outside of definitions, and the named functions."""
    found: set[Place] = set()
    for path, names in programs.items():
        file = reader.file_at(path)
        if file is not None and file.facts_id is not None:
            nodes = uses_of(reader, file).nodes
            found.add((file.file_id, NONE))
            found.update((file.file_id, number) for name in names for number in nodes.get(name, ()))
    return frozenset(found)


def quoted_in(reader: FactReader, path: str, names: Iterable[str]) -> bool:
    """Tell whether a file has one of some names in quotes, alone or at the end of a dotted path."""
    file = reader.file_at(path)
    text = reader.text(file).decode("utf-8", "replace") if file is not None and file.text_id is not None else ""
    ends = "|".join(sorted(re.escape(name.rpartition(".")[2]) for name in names))
    return bool(ends) and re.search(rf"[\"'`](?:[\w./-]+[.:])?(?:{ends})[\"'`]", text) is not None


def nearness_of(reader: FactReader, tests: Sequence[str], places: Iterable[Place]) -> dict[str, float]:
    """Return for each test how many rare names it shares with definitions: names in them, and of their file."""
    wanted: set[str] = set()
    for file_id, number in places:
        file = reader.file(file_id)
        if file is not None:
            wanted |= _names_in(FileView(reader, file), number)
            wanted.add(posixpath.basename(file.path).partition(".")[0].strip("_"))
    shared = {path: wanted & _names_of_test(reader, path) for path in tests}
    counts = Counter(name for names in shared.values() for name in names)
    weights = {name: math.log(len(tests) / count) for name, count in counts.items()}
    return {path: round(sum(weights[name] for name in sorted(names)), 6) for path, names in shared.items()}


def _names_in(view: FileView, number: int) -> set[str]:
    rows = view.outline.definition_rows
    start, end = rows.column(START)[number], rows.column(_END)[number]
    columns = view.columns
    found = {
        columns.names[columns.name_numbers[position]] for position, at in enumerate(columns.starts) if start <= at < end
    }
    return found | set(rows.column(PATH)[number].split("."))


def _names_of_test(reader: FactReader, path: str) -> set[str]:
    file = reader.file_at(path)
    if file is None or file.facts_id is None:
        return set()
    stem = re.sub(r"^test_|[._](?:test|spec)s?$|Tests?$", "", posixpath.basename(path).partition(".")[0])
    return {stem, *reader.columns(file.facts_id).names}
