"""References that a change leaves without a definition: collected before the change, looked at again after it."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.outline import PATH
from codeplane.index.facts.reader import FactReader
from codeplane.index.linking.stored_links import Tier
from codeplane.index.reference_search import ReferenceHit, find_references, hit_at, symbols_of
from codeplane.index.symbol_search import symbol_at
from codeplane.languages.facts import ReferenceRole

# More definitions than this vanish only with whole files, and more references are not looked at.
_MAX_LOST: Final = 50
_MAX_REFERENCES: Final = 500


def references_to_lost(reader: FactReader, path: str, kept: frozenset[str]) -> list[tuple[str, ReferenceHit]]:
    """Return the sure references to definitions of a file whose lexical path is not kept, each with its name."""
    file = reader.file_at(path)
    if file is None or file.facts_id is None:
        return []
    outline = reader.outline(file.facts_id)
    paths = outline.definition_rows.column(PATH)
    lost = [number for number in range(outline.n_visible) if paths[number] not in kept][:_MAX_LOST]
    hits = [hit for number in lost if (hit := symbol_at(reader, file.file_id, number)) is not None]

    def found() -> Iterator[tuple[str, ReferenceHit]]:
        for symbol in symbols_of(reader, hits):
            for reference in find_references(reader, symbol, lambda _path: True, None):
                if reference.tier <= Tier.STRONG:
                    yield symbol.asked.name, reference

    return list(islice(found(), _MAX_REFERENCES))


def still_without_definition(reader: FactReader, lost: Iterable[tuple[str, ReferenceHit]]) -> list[ReferenceHit]:
    """Return those of the references that are still in the files and mean nothing there now.

    A line that was moved is recognised by its text.
    """
    by_path: dict[str, set[tuple[str, str]]] = {}
    for name, hit in lost:
        by_path.setdefault(hit.path, set()).add((name, hit.snippet))
    found = []
    for path, wanted in by_path.items():
        file = reader.file_at(path)
        if file is None or file.facts_id is None:
            continue
        view = FileView(reader, file)
        names = {name for name, _ in wanted}
        for position, number in enumerate(view.columns.name_numbers):
            name = view.columns.names[number]
            role = ReferenceRole(view.columns.roles[position])
            if name not in names or role is ReferenceRole.DEFINITION or view.meaning(position)[1] is not None:
                continue
            hit = hit_at(path, view.text, view.columns.starts[position], Tier.UNKNOWN, role)
            if (name, hit.snippet) in wanted:
                found.append(hit)
    return found
