"""How definitions relate across files: bases and subclasses, overrides, implementations, importers.

Each answer comes with what could not be resolved, so that no answer looks complete when it is not.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from codeplane.index.call_sites import root_of
from codeplane.index.facts.compiling import CLASS_LIKE
from codeplane.index.facts.outline import NAME, NAME_START, OWNER, PATH, SIGNATURE, START, Op, Outline
from codeplane.index.facts.reader import FactFile, FactReader, Place
from codeplane.index.import_search import find_imports
from codeplane.index.linking.stored_links import Chain, Step
from codeplane.index.method_shapes import has_same_parameters
from codeplane.index.symbol_search import SymbolHit, meant_by
from codeplane.languages.catalog import linking_rules
from codeplane.languages.facts import NONE, DefinitionKind
from codeplane.languages.linking import LinkingRules

_TYPES: Final = frozenset(int(kind) for kind in (*CLASS_LIKE, DefinitionKind.TYPE)) - {int(DefinitionKind.MODULE)}
_IMPORTING: Final = frozenset({Step.IMPORT, Step.STAR})
_LEADS_ON: Final = frozenset({Step.IMPORT, Step.STAR, Step.EXPORT})
# What is reached through a member, a base or a type is not imported.
_USES: Final = frozenset({Step.MEMBER, Step.BASE, Step.TYPE})
_PRIVATE: Final = re.compile(rb"\bprivate\b")
_STATIC: Final = re.compile(rb"\bstatic\b")
_CONSTRUCTORS: Final = frozenset({"constructor"})
# A name that Python makes private to its class.
_MANGLED: Final = re.compile(r"^__(?!.*__$)")


@dataclass(slots=True)
class TypeGraph:
    """Which types inherit from which.

    `bases` and `derived` hold what was resolved. `outside` names the bases of a type that are not in the repository,
    `unresolved` those that may be.
    """

    bases: dict[Place, list[Place]] = field(default_factory=dict)
    derived: dict[Place, list[Place]] = field(default_factory=dict)
    outside: dict[Place, list[str]] = field(default_factory=dict)
    unresolved: dict[Place, list[str]] = field(default_factory=dict)


class Importer(NamedTuple):
    """An import: its file, where it starts, what it names, and the files that hand it on (none when direct)."""

    path: str
    start: int
    name: str
    through: tuple[str, ...]


def type_graph(reader: FactReader, language: str) -> TypeGraph | None:
    """Return the types of a language's family; None when its files are not linked."""
    rules = linking_rules(language)
    if rules is None:
        return None
    return reader.of_epoch(f"types {language}", lambda: _built_graph(reader, rules))


def _built_graph(reader: FactReader, rules: LinkingRules) -> TypeGraph:
    graph = TypeGraph()
    for file in reader.files_with_facts(lambda one: linking_rules(one) is rules):
        outline = reader.outline(file.facts_id or 0)
        if outline.base_expressions:
            _add_types(reader, graph, file, outline)
    return graph


def _add_types(reader: FactReader, graph: TypeGraph, file: FactFile, outline: Outline) -> None:
    resolution = reader.resolution(file.file_id)
    located: dict[str, str | None] = dict(
        reader.connection.execute("SELECT source, module FROM located WHERE file_id = ?", (file.file_id,)).fetchall()
    )
    for number, expressions in outline.base_expressions.items():
        own = (file.file_id, number)
        if outline.kinds[number] not in _TYPES:
            continue
        for expression in expressions:
            base = meant_by(file, outline, expression, resolution)
            if base is not None and _kind(reader, base) in _TYPES:
                graph.bases.setdefault(own, []).append(base)
                graph.derived.setdefault(base, []).append(own)
            else:
                unknown = graph.unresolved if _may_be_inside(outline, expression, located) else graph.outside
                unknown.setdefault(own, []).append(_written(outline, number, expression))


def _kind(reader: FactReader, place: Place) -> int:
    return reader.outline_of(place[0]).kinds[place[1]]


def _may_be_inside(outline: Outline, expression: int, located: dict[str, str | None]) -> bool:
    """Tell whether a base that was not resolved may be a type of the repository."""
    if expression == NONE:
        return True
    op, operand, _ = outline.expression(expression)
    while op == Op.MEMBER:
        op, operand, _ = outline.expression(operand)
    if op == Op.IMPORT:
        source = outline.import_rows[operand][1]
        return located.get(source) is not None or source.startswith(".")
    # A name that nothing binds is a builtin; what is assigned, computed or a member of something may be anything.
    return op != Op.FREE


def _written(outline: Outline, number: int, expression: int) -> str:
    if expression == NONE:
        return str(outline.definition_rows.column(SIGNATURE)[number])
    op, operand, name = outline.expression(expression)
    if op == Op.MEMBER:
        return f"{_written(outline, number, operand)}.{name}"
    if op == Op.IMPORT:
        row = outline.import_rows[operand]
        return str(row[3] or row[2] or row[1])
    return str(outline.definition_rows.column(NAME)[operand]) if op == Op.DEFINITION else name


def subclasses(graph: TypeGraph, roots: Iterable[Place]) -> dict[Place, int]:
    """Return every type that inherits from the roots, with how many steps away it is, the nearest first."""
    return _reached(graph.derived, roots)


def ancestors(graph: TypeGraph, roots: Iterable[Place]) -> dict[Place, int]:
    """Return every type that the roots inherit from, with how many steps away it is, the nearest first."""
    return _reached(graph.bases, roots)


def _reached(edges: dict[Place, list[Place]], roots: Iterable[Place]) -> dict[Place, int]:
    waiting = list(dict.fromkeys(roots))
    steps = dict.fromkeys(waiting, 0)
    for place in waiting:
        for other in edges.get(place, ()):
            if other not in steps:
                steps[other] = steps[place] + 1
                waiting.append(other)
    return {place: n_steps for place, n_steps in steps.items() if n_steps}


def holder_of(reader: FactReader, hit: SymbolHit) -> Place | None:
    """Return the type that a definition is a member of; None when it is a member of none."""
    outline = reader.outline_of(hit.file.file_id)
    for number, members in outline.members.items():
        if hit.number in members.get(hit.name, ()) and outline.kinds[number] in _TYPES:
            return hit.file.file_id, number
    owner = outline.definition_rows.column(OWNER)[hit.number]
    for file in _files_of_module(reader, hit.file) if owner else ():
        other = reader.outline(file.facts_id or 0)
        for number, path in enumerate(other.definition_rows.column(PATH)):
            if path == owner and other.kinds[number] in _TYPES:
                return file.file_id, number
    return None


def _files_of_module(reader: FactReader, file: FactFile) -> list[FactFile]:
    """Return a file and, where members of its types may be in other files, those."""
    rules = linking_rules(file.language)
    if rules is None or not rules.members_stand_in_module or not file.modules:
        return [file]
    rows = reader.connection.execute(
        "SELECT file_id FROM files WHERE module = ? AND facts_id IS NOT NULL ORDER BY path", (file.modules,)
    ).fetchall()
    return [one for (file_id,) in rows if (one := reader.file(file_id)) is not None]


def members_of(reader: FactReader, place: Place) -> dict[str, list[Place]]:
    """Return the members that a type defines itself, by name; attributes that only its methods set are left out."""
    file = reader.file(place[0])
    if file is None or file.facts_id is None:
        return {}
    outline = reader.outline(file.facts_id)
    path = outline.definition_rows.column(PATH)[place[1]]
    text = reader.text(file)
    starts = outline.definition_rows.column(NAME_START)
    found = {
        name: [(file.file_id, one) for one in numbers if text[starts[one] - 1 : starts[one]] != b"."]
        for name, numbers in outline.members.get(place[1], {}).items()
    }
    for other in _files_of_module(reader, file):
        for name, numbers in reader.outline(other.facts_id or 0).owned.get(path, {}).items():
            known = found.setdefault(name, [])
            known.extend(one for number in numbers if (one := (other.file_id, number)) not in known)
    return found


def overrides(reader: FactReader, graph: TypeGraph, hit: SymbolHit, holder: Place) -> list[tuple[Place, int]]:
    """Return the members that override a member in subclasses of its type, with how far below they are."""
    found = []
    for place, steps in subclasses(graph, [holder]).items():
        members = members_of(reader, place).get(hit.name, ())
        found += [(one, steps) for one in members if is_override(reader, one, (hit.file.file_id, hit.number))]
    return found


def overridden(reader: FactReader, graph: TypeGraph, hit: SymbolHit, holder: Place) -> list[Place]:
    """Return the members of the types above that a member overrides, the nearest first."""
    own = (hit.file.file_id, hit.number)
    found = []
    for place in ancestors(graph, [holder]):
        found += [one for one in members_of(reader, place).get(hit.name, ()) if is_override(reader, own, one)]
    return found


def mixins_before(reader: FactReader, graph: TypeGraph, name: str, holder: Place) -> list[tuple[Place, Place]]:
    """Return members of unrelated bases that a subclass takes before a member of `holder`, with that subclass."""
    below = subclasses(graph, [holder])
    above = ancestors(graph, [holder])
    found = []
    for place in below:
        if name in members_of(reader, place):
            continue
        for base in graph.bases.get(place, ()):
            if base == holder or base in below:
                break
            for other in (base, *ancestors(graph, [base])):
                if other not in above:
                    found += [(one, place) for one in members_of(reader, other).get(name, ())]
    return list(dict(found).items())


def is_override(reader: FactReader, below: Place, above: Place) -> bool:
    """Tell whether a member of a subclass overrides one of the same name above it."""
    mine, theirs = _member(reader, below), _member(reader, above)
    if mine.name in _CONSTRUCTORS:
        return False
    if mine.language == "python":
        return not _MANGLED.match(mine.name)
    if mine.is_private or theirs.is_private or mine.is_static != theirs.is_static:
        return False
    if mine.language != "java":
        return True
    is_method = mine.kind == theirs.kind == DefinitionKind.METHOD
    return is_method and not mine.is_static and has_same_parameters(mine.signature, theirs.signature)


def is_private(reader: FactReader, place: Place) -> bool:
    """Tell whether a member is marked as private, or is so by its name."""
    member = _member(reader, place)
    return member.is_private or member.name.startswith("#")


class _Member(NamedTuple):
    name: str
    language: str
    kind: int
    signature: str
    is_static: bool
    is_private: bool


def _member(reader: FactReader, place: Place) -> _Member:
    file = reader.file(place[0])
    outline = reader.outline_of(place[0])
    rows, number = outline.definition_rows, place[1]
    before = (
        reader.text(file)[rows.column(START)[number] : rows.column(NAME_START)[number]] if file is not None else b""
    )
    return _Member(
        rows.column(NAME)[number],
        file.language if file is not None else "",
        outline.kinds[number],
        rows.column(SIGNATURE)[number],
        _STATIC.search(before) is not None,
        _PRIVATE.search(before) is not None,
    )


def rust_impls(path: str, text: bytes, starts: Collection[int]) -> Iterator[tuple[int, str, int]]:
    """Yield the `impl` blocks that name a trait at one of these offsets: start, type, end."""
    root = root_of(path, text)
    for start in starts if root is not None else ():
        node = root.descendant_for_byte_range(start, start + 1) if root is not None else None
        while node is not None and node.type != "impl_item":
            node = node.parent
        trait = node.child_by_field_name("trait") if node is not None else None
        kind = node.child_by_field_name("type") if node is not None else None
        if node is None or trait is None or kind is None or not trait.start_byte <= start < trait.end_byte:
            continue
        named = next(one for one in (trait.child_by_field_name("type"), trait) if one is not None)
        last = named.child_by_field_name("name") or named
        if last.start_byte == start:
            yield (
                node.start_byte,
                " ".join(kind.text.decode("utf-8", "replace").split()) if kind.text else "",
                node.end_byte,
            )


def importers(reader: FactReader, file: FactFile, numbers: Collection[int] | None) -> list[Importer]:
    """Return the imports that lead to a file or, with `numbers`, to definitions of it, by path and position."""
    found: dict[tuple[str, int], Importer] = {}
    if numbers is None:
        for hit in find_imports(reader, file, lambda _path: True, None):
            found[hit.path, hit.start] = Importer(hit.path, hit.start, "", ())
    rows = reader.connection.execute("SELECT DISTINCT file_id FROM links WHERE target_file = ?", (file.file_id,))
    for (file_id,) in rows.fetchall():
        importing = reader.file(file_id)
        if importing is None or importing.facts_id is None or file_id == file.file_id:
            continue
        for one in _imports_in(reader, importing, file.file_id, numbers):
            known = found.get((one.path, one.start))
            if known is None or len(one.through) < len(known.through):
                found[one.path, one.start] = one
    return sorted(found.values())


def _imports_in(
    reader: FactReader, importing: FactFile, target_file: int, numbers: Collection[int] | None
) -> Iterator[Importer]:
    rows = reader.outline(importing.facts_id or 0).import_rows
    found: dict[tuple[str, tuple[str, ...]], Importer] = {}
    for target in reader.resolution(importing.file_id)[0]:
        if target.file_id != target_file or (numbers is not None and target.number not in numbers):
            continue
        step = next((one for one in target.chain if one[0] in _IMPORTING), None)
        if step is None or step[1] != importing.file_id or any(one[0] in _USES for one in target.chain):
            continue
        row = rows[step[2]]
        name = ".".join(one for one in (row[1], row[2]) if one)
        through = _through(reader, target.chain, importing.file_id, target_file)
        # One line for a statement of many names that lead to a file.
        key = (row[1] if numbers is None else name, through)
        known = found.get(key)
        if known is None or row[6] < known.start:
            found[key] = Importer(importing.path, row[6], name, through)
    yield from found.values()


def _through(reader: FactReader, chain: Chain, importing: int, target: int) -> tuple[str, ...]:
    """Return the files that hand a name on, in the order of the import."""
    passed = dict.fromkeys(
        file_id for step, file_id, _ in chain if step in _LEADS_ON and file_id not in {importing, target}
    )
    return tuple(file.path for file_id in passed if (file := reader.file(file_id)) is not None)
