"""List the imports of a file or module, line by line."""

import itertools
from collections.abc import Callable, Iterator

from codeplane.index.facts.reader import FactFile, FactReader
from codeplane.index.linking.stored_links import Tier
from codeplane.index.reference_search import ReferenceHit, hit_at
from codeplane.index.symbol_names import qualifier
from codeplane.languages.facts import ReferenceRole


def file_or_module(reader: FactReader, query: str) -> FactFile | None:
    """Return the file that a query names by its path or as a module; None when it names none, or several."""
    file = reader.file_at(query.removeprefix("./"))
    if file is not None:
        return file
    rows = reader.connection.execute(
        "SELECT path FROM files WHERE module = ?1 OR module LIKE ?1 || char(10) || '%' LIMIT 2", (query,)
    ).fetchall()
    return reader.file_at(rows[0][0]) if len(rows) == 1 else None


def find_imports(
    reader: FactReader, file: FactFile, accepts_path: Callable[[str], bool], after: tuple[str, int] | None
) -> Iterator[ReferenceHit]:
    """Yield the imports that lead to a file, by path and position; one line for a statement of many names."""
    for importer, starts in _importers(reader, file):
        if not accepts_path(importer.path) or (after is not None and importer.path < after[0]):
            continue
        text = reader.text(importer)
        for start in starts:
            if after is None or importer.path != after[0] or start > after[1]:
                yield hit_at(importer.path, text, start, Tier.STRONG, ReferenceRole.IMPORT)


def count_importing_files(reader: FactReader, file: FactFile) -> int:
    """Return how many files import a file."""
    return sum(1 for _ in _importers(reader, file))


def _importers(reader: FactReader, file: FactFile) -> Iterator[tuple[FactFile, list[int]]]:
    """Yield each file that imports a file, by path, with where its import statements name something of it."""
    module = qualifier(file.modules, "")
    if not module:
        return
    # A package may also hand out a module of its own as a member: `from package import module`.
    parent, _, last = module.rpartition(".")
    rows = reader.connection.execute(
        "SELECT located.file_id, source, name FROM located JOIN files USING (file_id)"
        " WHERE name IN (?, ?) AND located.module IS NOT NULL ORDER BY path, source",
        (module, parent or module),
    ).fetchall()
    for file_id, group in itertools.groupby(rows, key=lambda row: row[0]):
        names = {source: name for _, source, name in group}
        importer = reader.file(file_id)
        if importer is None or importer.facts_id is None:
            continue
        firsts: dict[str, int] = {}
        for row in reader.outline(importer.facts_id).import_rows:
            if names.get(row[1]) == module or (names.get(row[1]) == parent and row[2] == last):
                firsts[row[1]] = min(row[6], firsts.get(row[1], row[6]))
        if firsts:
            yield importer, sorted(firsts.values())
