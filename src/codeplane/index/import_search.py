"""List the imports of a file or module, line by line."""

from collections.abc import Callable, Iterator

from codeplane.index.facts.reader import FactFile, FactReader, line_and_column
from codeplane.index.linking.stored_links import Tier
from codeplane.index.reference_search import ReferenceHit
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
    """Yield the imports that lead to a file, by path and position."""
    module = qualifier(file.modules, "")
    if not module:
        return
    # A package may also hand out a module of its own as a member: `from package import module`.
    parent, _, last = module.rpartition(".")
    rows = reader.connection.execute(
        "SELECT path, located.file_id, source, name FROM located JOIN files USING (file_id)"
        " WHERE name IN (?, ?) AND located.module IS NOT NULL ORDER BY path, source",
        (module, parent or module),
    ).fetchall()
    sources: dict[int, dict[str, str]] = {}
    for _path, file_id, source, name in rows:
        sources.setdefault(file_id, {})[source] = name
    for file_id, names in sources.items():
        importer = reader.file(file_id)
        if importer is None or importer.facts_id is None or not accepts_path(importer.path):
            continue
        if after is not None and importer.path < after[0]:
            continue
        # One line for an import statement, however many names it takes.
        firsts: dict[str, int] = {}
        for row in reader.outline(importer.facts_id).import_rows:
            if names.get(row[1]) == module or (names.get(row[1]) == parent and row[2] == last):
                firsts[row[1]] = min(row[6], firsts.get(row[1], row[6]))
        for start in sorted(firsts.values()):
            if after is None or importer.path != after[0] or start > after[1]:
                yield _hit(reader, importer, start)


def count_importing_files(reader: FactReader, file: FactFile) -> int:
    """Return how many files import a file."""
    return len({hit.path for hit in find_imports(reader, file, lambda _path: True, None)})


def _hit(reader: FactReader, file: FactFile, start: int) -> ReferenceHit:
    text = reader.text(file)
    line, column = line_and_column(text, start)
    end = text.find(b"\n", start)
    whole = text[start - column : end if end >= 0 else len(text)]
    characters = len(whole[:column].decode("utf-8", "replace"))
    snippet = whole.decode("utf-8", "replace")
    return ReferenceHit(file.path, start, line, characters, snippet, Tier.STRONG, ReferenceRole.IMPORT)
