"""The definitions that must be renamed together because the language ties them: overrides, overloads, twins."""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from codeplane.index.call_sites import root_of
from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.outline import BODY_SCOPE, DECORATORS, NAME, NAME_START, PATH, SCOPE, START
from codeplane.index.facts.reader import FactFile, FactReader, Place
from codeplane.index.file_order import is_test_file
from codeplane.index.method_sets import go_implementations
from codeplane.index.reference_search import Symbol, find_references, symbols_of
from codeplane.index.relations import (
    TypeGraph,
    ancestors,
    holder_of,
    is_override,
    is_private,
    members_of,
    rust_impls,
    subclasses,
    type_graph,
)
from codeplane.index.symbol_search import SymbolHit, symbol_at
from codeplane.languages.facts import DefinitionKind
from codeplane.refactor.naming import GO_INTERFACES

_METHOD: Final = int(DefinitionKind.METHOD)
_TYPES: Final = frozenset(
    {DefinitionKind.CLASS, DefinitionKind.INTERFACE, DefinitionKind.ENUM, DefinitionKind.STRUCT, DefinitionKind.TRAIT}
)
# Bases from outside whose members nobody overrides by accident.
_HARMLESS_BASES: Final = frozenset(
    {
        "ABC", "Cloneable", "Enum", "Exception", "Generic", "IntEnum", "KeyError", "NamedTuple", "Object", "Protocol",
        "RuntimeError", "Serializable", "StrEnum", "TypeError", "TypedDict", "ValueError", "object",
    }
)  # fmt: skip
_FIXTURE: Final = re.compile(r"\bfixture\b")
# Decorators that call a function as it is called without them.
_PLAIN_DECORATORS: Final = frozenset(
    {
        "abstractmethod", "cache", "cached_property", "classmethod", "contextmanager", "deleter", "deprecated", "final",
        "getter", "lru_cache", "overload", "override", "property", "setter", "staticmethod", "wraps",
    }
)  # fmt: skip
_OVERRIDE_MARK: Final = re.compile(rb"@Override\b|\boverride\b")


@dataclass(slots=True)
class Family:
    """Definitions of one name that belong together.

    `places` holds the asked definition first. `substitutes` are definitions used where an import of one of them fails.
    `doubts` say why something outside of the repository may tie the name too; `blocks` say that it does.
    """

    places: list[Place]
    substitutes: tuple[Place, ...] = ()
    holder: Place | None = None
    doubts: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)

    def add(self, place: Place) -> bool:
        """Add a definition; tell whether it is new."""
        if place in self.places:
            return False
        self.places.append(place)
        return True


def family_of(reader: FactReader, hit: SymbolHit) -> Family:
    """Return everything that is renamed together with a definition."""
    symbol = symbols_of(reader, [hit])[0]
    own = (hit.file.file_id, hit.number)
    family = Family([own], symbol.substitutes, holder_of(reader, hit))
    for place in symbol.alternatives:
        family.add(place)
    for place in list(family.places):
        _add_twins(reader, family, place)
    for place in symbol.substitutes:
        family.add(place)
    if hit.file.language == "python":
        family.doubts += _passed_by_name(reader, hit)
    if family.holder is not None:
        _add_overrides(reader, family, hit)
    elif hit.file.language == "rust":
        _add_rust_impls(reader, family, None, hit.name)
    return family


def _passed_by_name(reader: FactReader, hit: SymbolHit) -> Iterator[str]:
    """Yield why a framework may use the name of a parameter, or of a fixture, without naming it in code."""
    rows = reader.outline_of(hit.file.file_id).definition_rows
    if any(_FIXTURE.search(one) for one in rows.column(DECORATORS)[hit.number]):
        yield f"tests ask for the fixture `{hit.name}` by the name of a parameter"
    if hit.kind is not DefinitionKind.PARAMETER:
        return
    scope = rows.column(SCOPE)[hit.number]
    for number, body in enumerate(rows.column(BODY_SCOPE)):
        if body != scope:
            continue
        name, decorators = rows.column(NAME)[number], rows.column(DECORATORS)[number]
        others = [one for one in decorators if one.partition("(")[0].rpartition(".")[2] not in _PLAIN_DECORATORS]
        if others:
            yield f"the decorator `@{others[0][:60]}` may pass `{hit.name}` by name"
        elif name.startswith("test") and is_test_file(hit.file.path):
            yield f"the test runner passes `{hit.name}` to {name} by name"


def _add_twins(reader: FactReader, family: Family, place: Place) -> None:
    """Add definitions that share the token of the name, and the constructors of a Java class."""
    file = reader.file(place[0])
    outline = reader.outline_of(place[0])
    rows = outline.definition_rows
    start, name = rows.column(NAME_START)[place[1]], rows.column(NAME)[place[1]]
    for number, other in enumerate(rows.column(NAME_START)):
        if other == start and rows.column(NAME)[number] == name:
            family.add((place[0], number))
    if file is not None and file.language == "java" and DefinitionKind(outline.kinds[place[1]]) in _TYPES:
        path = f"{rows.column(PATH)[place[1]]}.{name}"
        for number, other in enumerate(rows.column(PATH)):
            if other == path and outline.kinds[number] == _METHOD:
                family.add((place[0], number))


def _add_overrides(reader: FactReader, family: Family, hit: SymbolHit) -> None:
    graph = type_graph(reader, hit.file.language)
    if graph is None or family.holder is None:
        return
    types = [family.holder]
    for holder in types:
        related = _go_related if hit.file.language == "go" else _related
        for other in related(reader, graph, holder, hit.name):
            if other not in types and _add_members(reader, family, other, hit.name):
                types.append(other)
        if hit.file.language == "rust":
            _add_rust_impls(reader, family, holder, hit.name)
    _note_outside(reader, graph, family, types, hit)


def _related(_reader: FactReader, graph: TypeGraph, holder: Place, _name: str) -> list[Place]:
    return [*ancestors(graph, [holder]), *subclasses(graph, [holder])]


def _add_members(reader: FactReader, family: Family, holder: Place, name: str) -> bool:
    """Add the members of a type that override one of the family or are overridden by it."""
    n_before = len(family.places)
    for place in _own_members(reader, holder, name):
        if any(is_override(reader, place, one) for one in family.places):
            family.add(place)
    return len(family.places) > n_before


def _own_members(reader: FactReader, holder: Place, name: str) -> list[Place]:
    """Return the members of a name that a type has itself, attributes that only its methods set included."""
    assigned = reader.outline_of(holder[0]).members.get(holder[1], {}).get(name, ())
    return list(dict.fromkeys([*members_of(reader, holder).get(name, ()), *((holder[0], one) for one in assigned)]))


def _go_related(reader: FactReader, graph: TypeGraph, holder: Place, name: str) -> list[Place]:
    """Return the interfaces that have a method and that a type satisfies, and the types that satisfy them."""
    found: list[Place] = []
    rows = reader.connection.execute(
        "SELECT file_id, number FROM definitions WHERE name = ? AND kind = ?", (name, _METHOD)
    ).fetchall()
    for file_id, number in rows:
        hit = symbol_at(reader, file_id, number)
        interface = holder_of(reader, hit) if hit is not None and hit.file.language == "go" else None
        if interface is None or interface in found or _kind(reader, interface) is not DefinitionKind.INTERFACE:
            continue
        answer = go_implementations(reader, graph, interface)
        if holder == interface or holder in answer.sure:
            found += [interface, *answer.sure]
    return [one for one in dict.fromkeys(found) if one != holder]


def _kind(reader: FactReader, place: Place) -> DefinitionKind:
    return DefinitionKind(reader.outline_of(place[0]).kinds[place[1]])


def _add_rust_impls(reader: FactReader, family: Family, holder: Place | None, name: str) -> None:
    """Add the members that implement one of a trait, and the trait's own for one of an `impl` block."""
    trait = holder if holder is not None and _kind(reader, holder) is DefinitionKind.TRAIT else None
    for place in list(family.places):
        file = reader.file(place[0])
        start = int(reader.outline_of(place[0]).definition_rows.column(NAME_START)[place[1]])
        named = _trait_of(reader, file, start) if file is not None else None
        if named is not None and named[1] is None:
            family.blocks.append(f"{named[0]} is implemented here and is not in the repository")
        elif named is not None and named[1] is not None:
            trait = named[1]
    hit = symbol_at(reader, *trait) if trait is not None else None
    if hit is None or trait is None:
        return
    for place in _own_members(reader, trait, name):
        family.add(place)
    for place in _impl_members(reader, symbols_of(reader, [hit])[0], name):
        family.add(place)


def _trait_of(reader: FactReader, file: FactFile, start: int) -> tuple[str, Place | None] | None:
    """Return the trait whose `impl` block a method is in; None for a block of no trait."""
    text = reader.text(file)
    root = root_of(file.path, text)
    node = root.descendant_for_byte_range(start, start + 1) if root is not None else None
    # A local name inside of a method is not a member of the block.
    while node is not None and node.type not in {"impl_item", "block"}:
        node = node.parent
    trait = node.child_by_field_name("trait") if node is not None else None
    if trait is None:
        return None
    view = FileView(reader, file)
    name = text[trait.start_byte : trait.end_byte].decode("utf-8", "replace").partition("<")[0]
    for position, at in enumerate(view.columns.starts):
        if trait.start_byte <= at < trait.end_byte:
            _, place = view.meaning(position)
            if place is not None and _kind(reader, place) is DefinitionKind.TRAIT:
                return name, place
    return name, None


def _impl_members(reader: FactReader, trait: Symbol, name: str) -> Iterator[Place]:
    uses = find_references(reader, trait, lambda _path: True, None)
    for path, group in itertools.groupby(uses, key=lambda one: one.path):
        file = reader.file_at(path)
        if file is None or file.facts_id is None:
            continue
        rows = reader.outline(file.facts_id).definition_rows
        for start, _type, end in rust_impls(path, reader.text(file), [one.start for one in group]):
            for number, (own, at) in enumerate(zip(rows.column(NAME), rows.column(NAME_START), strict=True)):
                if own == name and start <= at < end and rows.column(SCOPE)[number] == 0:
                    yield file.file_id, number


def _note_outside(reader: FactReader, graph: TypeGraph, family: Family, types: list[Place], hit: SymbolHit) -> None:
    """Note bases and interfaces outside of the repository that may have the member."""
    language = hit.file.language
    if language == "go" and hit.name in GO_INTERFACES and hit.kind is DefinitionKind.METHOD:
        family.doubts.append(f"`{hit.name}` may satisfy an interface of another module")
    for holder in types:
        bases = [*graph.outside.get(holder, ()), *graph.unresolved.get(holder, ())]
        known = [one for one in bases if one.rpartition(".")[2].partition("[")[0] not in _HARMLESS_BASES]
        name = symbol_at(reader, *holder)
        is_open = language in {"python", "javascript", "typescript"} and not is_private(reader, family.places[0])
        if known and name is not None and is_open:
            family.doubts.append(
                f"{name.lexical_path} inherits from {', '.join(known)[:80]}, which may define `{hit.name}` too"
            )
    if len(family.places) == 1 or language == "java":
        family.blocks += _marked_overrides(reader, family)


def _marked_overrides(reader: FactReader, family: Family) -> Iterator[str]:
    """Yield members that say they override something, although nothing in the repository is overridden."""
    for place in family.places:
        file = reader.file(place[0])
        rows = reader.outline_of(place[0]).definition_rows
        if file is None or file.language not in {"java", "typescript"}:
            continue
        start, name_start = rows.column(START)[place[1]], rows.column(NAME_START)[place[1]]
        is_marked = "Override" in rows.column(DECORATORS)[place[1]] or _OVERRIDE_MARK.search(
            reader.text(file)[start:name_start]
        )
        if is_marked and not _has_overridden(reader, family, place):
            yield f"{rows.column(PATH)[place[1]]} overrides a member of a type that is not in the repository"


def _has_overridden(reader: FactReader, family: Family, place: Place) -> bool:
    return any(one != place and is_override(reader, place, one) for one in family.places)
