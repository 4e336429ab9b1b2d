"""Imports that nothing uses any more when a part of their file goes."""

from collections.abc import Callable, Iterator

from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.reader import FactReader
from codeplane.languages.facts import ReferenceRole
from codeplane.refactor.moved_tree import import_meant


def left_unused(reader: FactReader, view: FileView, covers: Callable[[str, int], bool]) -> Iterator[int]:
    """Yield the imports of a file that were used, and only in what `covers` says goes."""
    inside: set[int] = set()
    outside: set[int] = set()
    for position, start in enumerate(view.columns.starts):
        number = import_meant(view, position)
        if number is None:
            continue
        one = view.outline.imported(number)
        if view.columns.roles[position] == ReferenceRole.IMPORT and one.start <= start < one.end:
            continue
        (inside if covers(view.file.path, start) else outside).add(number)
    for number in sorted(inside - outside):
        if not _is_offered(reader, view, number):
            yield number


def _is_offered(reader: FactReader, view: FileView, number: int) -> bool:
    """Tell whether an import may be needed although nothing in its file names it."""
    one = view.outline.imported(number)
    local = one.alias or one.imported_name or one.source.split(".")[0]
    first = [row for row in view.outline.import_rows if row[2] is None and row[3] is None]
    same = {row[1] for row in first if row[1].split(".")[0] == local}
    is_shared = one.imported_name is None and one.alias is None and len(same) > 1
    # A trait is used without being named.
    if (
        one.source == "__future__"
        or (one.alias is not None and one.alias == one.imported_name)
        or is_shared
        or one.kind.startswith("rust")
    ):
        return True
    if any(row[0] == local for row in view.outline.export_rows):
        return True
    modules = view.file.modules.split("\n")
    marks = ",".join("?" * len(modules))
    rows = reader.connection.execute(
        f"SELECT facts_id, source FROM located JOIN files USING (file_id) WHERE located.module IN ({marks})",  # noqa: S608 - marks only
        modules,
    )
    return any(
        row[1] == source and row[2] in {local, "*"}
        for facts_id, source in rows
        for row in reader.outline(facts_id).import_rows
    )
