"""List the references to a definition, line by line, with how sure each is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.outline import NAME_START, PATH
from codeplane.index.facts.reader import FactReader, line_and_column
from codeplane.index.linking.stored_links import Step, Tier
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


def count_references(reader: FactReader, symbol: SymbolHit) -> int:
    """Return how many references to a definition are sure; its own name is none of them."""
    row = reader.connection.execute(
        "SELECT sum(uses) FROM links WHERE target_file = ? AND target_number = ?", (symbol.file.file_id, symbol.number)
    ).fetchone()
    view = FileView(reader, symbol.file)
    positions = view.positions_meaning(symbol.file.file_id, symbol.number)
    local = sum(view.target(position) is None and view.meaning(position)[0] is Tier.PROVEN for position in positions)
    own = own_start(symbol)
    n_own = sum(view.columns.starts[position] == own for position in positions)
    return int(row[0] or 0) + local - n_own


def own_start(symbol: SymbolHit) -> int:
    """Return where the name of a definition itself stands in its file."""
    return int(symbol.reader.outline(symbol.file.facts_id or 0).definition_rows.column(NAME_START)[symbol.number])


def find_references(
    reader: FactReader, symbol: SymbolHit, accepts_path: Callable[[str], bool], after: tuple[str, int] | None
) -> Iterator[ReferenceHit]:
    """Yield the references to a definition that are sure, its own file first, then by path and position.

    The name of the definition itself is none of them.
    """
    target = (symbol.file.file_id, symbol.number)
    own = own_start(symbol)
    rows = reader.connection.execute(
        "SELECT DISTINCT path, files.file_id FROM links JOIN files USING (file_id)"
        " WHERE target_file = ? AND target_number = ? AND files.file_id <> ? ORDER BY path",
        (*target, symbol.file.file_id),
    ).fetchall()
    places = [(symbol.file.path, symbol.file.file_id), *((row[0], row[1]) for row in rows)]
    if after is not None:
        paths = [path for path, _ in places]
        places = places[paths.index(after[0]) if after[0] in paths else len(places) :]
    for path, file_id in places:
        file = reader.file(file_id)
        if file is None or not accepts_path(path):
            continue
        view = FileView(reader, file)
        for position in view.positions_meaning(*target):
            start = view.columns.starts[position]
            tier, meant = view.meaning(position)
            if file_id == target[0] and start == own:
                continue
            if meant != target or (after is not None and path == after[0] and start <= after[1]):
                continue
            yield _hit(view, position, tier)


def find_possible_references(
    reader: FactReader, name: str, paths: list[str], after: tuple[str, int] | None
) -> Iterator[ReferenceHit]:
    """Yield the uses of a name in some files that could not be resolved, by path and position."""
    for path in paths:
        if after is not None and path < after[0]:
            continue
        file = reader.file_at(path)
        if file is None or file.facts_id is None or name not in reader.columns(file.facts_id).names:
            continue
        view = FileView(reader, file)
        for position, _, _ in view.anchored(name):
            if after is None or path != after[0] or view.columns.starts[position] > after[1]:
                yield _hit(view, position, Tier.ANCHORED)


def evidence_words(reader: FactReader, chain: tuple[tuple[int, int, int], ...]) -> list[str]:
    """Return the chain that proves a reference, step by step, in words."""
    words = []
    for step, file_id, number in chain:
        file = reader.file(file_id)
        if file is None or file.facts_id is None:
            continue
        outline = reader.outline(file.facts_id)
        if step in {Step.IMPORT, Step.STAR}:
            row = outline.import_rows[number]
            what = f"import of {row[2] or row[1]} from {row[1]}" if row[2] else f"import of {row[1]}"
        elif step in {Step.MEMBER, Step.BASE, Step.TYPE}:
            what = f"{Step(step).name.lower()} of {outline.definition_rows.column(PATH)[number]}"
        elif step == Step.EXPORT:
            what = f"export of {outline.export_rows[number][0]}"
        else:
            what = "name of the module"
        words.append(f"{file.path}: {what}")
    return words


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
