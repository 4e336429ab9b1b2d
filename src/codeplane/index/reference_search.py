"""List the references to a definition, line by line, with how sure each is."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.outline import ALTERNATIVES_OR_IMPORT, NAME_START, Op, Outline
from codeplane.index.facts.reader import FactFile, FactReader, Place, line_and_column
from codeplane.index.linking.alternatives import alternatives_of
from codeplane.index.linking.stored_links import Tier
from codeplane.index.symbol_search import SymbolHit
from codeplane.languages.facts import ReferenceRole


@dataclass(frozen=True, slots=True)
class ReferenceHit:
    """One reference; `start` is its byte offset, by which a later page goes on."""

    path: str
    start: int
    line: int
    column: int
    snippet: str
    tier: Tier
    role: ReferenceRole


@dataclass(frozen=True, slots=True)
class Symbol:
    """One symbol: the definition that was asked for, all its alternatives, and their substitutes.

    `substitutes` are definitions that another file uses in place of the symbol when importing it fails.
    """

    asked: SymbolHit
    alternatives: tuple[Place, ...]
    substitutes: tuple[Place, ...]

    @property
    def targets(self) -> tuple[Place, ...]:
        """Return every definition whose references are references of the symbol."""
        return *self.alternatives, *self.substitutes


class ReferenceCount(NamedTuple):
    """How many references a symbol has, and how many of them are imports."""

    total: int
    imports: int


def symbols_of(reader: FactReader, hits: Iterable[SymbolHit]) -> list[Symbol]:
    """Return the symbols that some definitions belong to; alternatives of one symbol come once."""
    found: list[Symbol] = []
    known: set[Place] = set()
    for hit in hits:
        if (hit.file.file_id, hit.number) in known:
            continue
        alternatives = alternatives_of(reader, hit.file.file_id, hit.number)
        known.update(alternatives)
        found.append(Symbol(hit, alternatives, _substitutes(reader, alternatives)))
    return found


def count_references(reader: FactReader, symbol: Symbol, accepts_path: Callable[[str], bool]) -> ReferenceCount:
    """Return how many references `find_references` yields."""
    roles = [
        view.columns.roles[position] for view, position, _ in reference_positions(reader, symbol, accepts_path, None)
    ]
    return ReferenceCount(len(roles), roles.count(ReferenceRole.IMPORT))


def find_references(
    reader: FactReader, symbol: Symbol, accepts_path: Callable[[str], bool], after: tuple[str, int] | None
) -> Iterator[ReferenceHit]:
    """Yield the references to a symbol, its own files first, then by path and position.

    The names in its own definitions are not among them. A use of what may also be an import is ANCHORED.
    """
    for view, position, tier in reference_positions(reader, symbol, accepts_path, after):
        yield _hit(view, position, tier)


def reference_positions(
    reader: FactReader, symbol: Symbol, accepts_path: Callable[[str], bool], after: tuple[str, int] | None
) -> Iterator[tuple[FileView, int, Tier]]:
    """Yield the references as `find_references` does: the file, the position among its references, the tier."""
    targets = frozenset(symbol.targets)
    own = {target: _own_start(reader, target) for target in targets}
    places = _files_with_references(reader, symbol)
    if after is not None:
        paths = [file.path for file in places]
        places = places[paths.index(after[0]) if after[0] in paths else len(places) :]
    for file in places:
        if not accepts_path(file.path):
            continue
        view = FileView(reader, file)
        names = {start for (file_id, _), start in own.items() if file_id == file.file_id}
        first = after[1] if after is not None and file.path == after[0] else -1
        positions = sorted({position for target in targets for position in view.positions_meaning(*target)})
        for position in positions:
            start = view.columns.starts[position]
            tier, meant = view.meaning(position)
            if meant in targets and start > first and start not in names:
                yield view, position, Tier.ANCHORED if meant in symbol.substitutes else tier


def _files_with_references(reader: FactReader, symbol: Symbol) -> list[FactFile]:
    """Return the files of a symbol's definitions, that of the asked one first, then the files with links to them."""
    own = dict.fromkeys([symbol.asked.file.file_id, *(file_id for file_id, _ in symbol.targets)])
    linked: dict[int, str] = {}
    for target in symbol.targets:
        linked.update(
            reader.connection.execute(
                "SELECT file_id, path FROM links JOIN files USING (file_id)"
                " WHERE target_file = ? AND target_number = ?",
                target,
            )
        )
    others = sorted((path, file_id) for file_id, path in linked.items() if file_id not in own)
    files = [reader.file(file_id) for file_id in (*own, *(file_id for _, file_id in others))]
    return [file for file in files if file is not None and file.facts_id is not None]


def _substitutes(reader: FactReader, alternatives: tuple[Place, ...]) -> tuple[Place, ...]:
    """Return the definitions that files use where importing a symbol fails (`try: import`, `except: def`)."""
    found: list[Place] = []
    for target in alternatives:
        rows = reader.connection.execute(
            "SELECT file_id, facts_id FROM links JOIN files USING (file_id)"
            " WHERE target_file = ? AND target_number = ?",
            target,
        ).fetchall()
        for file_id, facts_id in rows:
            outline = reader.outline(facts_id)
            if any(bound[2] == ALTERNATIVES_OR_IMPORT for bound in outline.file_binds.values()):
                found += _substitutes_in(reader, file_id, outline, target)
    return tuple(dict.fromkeys(found))


def _substitutes_in(reader: FactReader, file_id: int, outline: Outline, target: Place) -> Iterator[Place]:
    targets, numbers = reader.resolution(file_id)
    for expression, number in enumerate(numbers):
        op, operand, _ = outline.expression(expression)
        if not number or op != Op.IMPORT or targets[number - 1][:2] != target:
            continue
        row = outline.import_rows[operand]
        bound = outline.file_binds.get(row[3] or row[2] or row[1])
        if row[0] == 0 and bound is not None and bound[2] == ALTERNATIVES_OR_IMPORT:
            yield file_id, bound[1]


def _own_start(reader: FactReader, target: Place) -> int:
    """Return where the name of a definition is in its file."""
    return int(reader.outline_of(target[0]).definition_rows.column(NAME_START)[target[1]])


def find_possible_references(
    reader: FactReader, symbol: Symbol, paths: list[str], after: tuple[str, int] | None
) -> Iterator[ReferenceHit]:
    """Yield the uses of a symbol's name in some files that could not be resolved, by path and position."""
    name = symbol.asked.name
    tiers = {Tier.ANCHORED} if symbol.asked.container else {Tier.ANCHORED, Tier.UNKNOWN}
    for path in paths:
        if after is not None and path < after[0]:
            continue
        file = reader.file_at(path)
        if file is None or file.facts_id is None or name not in reader.columns(file.facts_id).names:
            continue
        view = FileView(reader, file)
        wanted = view.columns.names.index(name)
        for position, number in enumerate(view.columns.name_numbers):
            if number != wanted or (
                after is not None and path == after[0] and view.columns.starts[position] <= after[1]
            ):
                continue
            tier, meant = view.meaning(position)
            is_definition = view.columns.roles[position] == ReferenceRole.DEFINITION
            if tier in tiers and meant is None and not is_definition:
                yield _hit(view, position, Tier.ANCHORED)


def hit_at(path: str, text: bytes, start: int, tier: Tier, role: ReferenceRole) -> ReferenceHit:
    """Return the reference at a place of a text, with its line."""
    line, column = line_and_column(text, start)
    end = text.find(b"\n", start)
    whole = text[start - column : end if end >= 0 else len(text)]
    characters = len(whole[:column].decode("utf-8", "replace"))
    return ReferenceHit(path, start, line, characters, whole.decode("utf-8", "replace"), tier, role)


def _hit(view: FileView, position: int, tier: Tier) -> ReferenceHit:
    role = ReferenceRole(view.columns.roles[position])
    return hit_at(view.file.path, view.text, view.columns.starts[position], tier, role)
