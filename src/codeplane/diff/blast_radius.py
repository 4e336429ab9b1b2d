"""Who is affected by changed definitions, read from the index of the working tree."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from codeplane.diff.model import ChangeKind, Entity, EntityChange
from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.outline import PATH, SIGNATURE
from codeplane.index.facts.queries import FactQueries
from codeplane.index.facts.reader import FactReader
from codeplane.index.file_order import is_test_file
from codeplane.index.linking.stored_links import Tier
from codeplane.index.reference_search import find_possible_references, find_references, symbols_of
from codeplane.index.symbol_search import SymbolHit, symbol_at
from codeplane.languages.facts import ReferenceRole

RESOLVED: Final = "ref_facts_resolved"
PARTIAL: Final = "ref_facts_partial"
UNKNOWN: Final = "unknown"
_MAX_REFERENCES: Final = 2_000
_MAX_FILES: Final = 20
_PARTS: Final = re.compile(r"[./:\\]+")
# Languages whose imports are resolved; of these, those whose files share the names of their folder.
_LINKED: Final = frozenset({"python", "javascript", "typescript", "tsx", "go", "rust", "java"})
_BY_FOLDER: Final = frozenset({"go", "java"})
_FIRST_FILES: Final = frozenset({"__init__", "index", "mod", "lib", "main"})
# A name that is in more files than this is too common to look for what still uses it.
_MAX_CANDIDATES: Final = 200


@dataclass(frozen=True, slots=True)
class Impact:
    """References to a definition by tier, and the files they are in; lists are cut, counts are not."""

    basis: str
    tiers: tuple[int, int, int, int] = (0, 0, 0, 0)
    files: tuple[str, ...] = ()
    importing: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    n_files: int = 0
    uid: str = ""

    @property
    def total(self) -> int:
        """Return how many references there are."""
        return sum(self.tiers)


class BlastRadius:
    """Answers for one state of the index; `files_with` gives the files that hold a word."""

    def __init__(self, reader: FactReader, files_with: Callable[[str], Iterable[str]]) -> None:
        self._reader = reader
        self._files_with = files_with

    def of(self, change: EntityChange) -> Impact:
        """Return who refers to a changed definition; for one that is gone, who still uses its name unresolved."""
        if change.new is not None:
            hit = self._hit(change.new)
            if hit is None:
                return Impact(UNKNOWN)
            found = self._references(hit)
            if change.kind is not ChangeKind.RENAMED or change.old is None or change.old.name == change.new.name:
                return found
            left = self._leftover(change.old)
            tiers = (*found.tiers[:3], found.tiers[3] + left.total)
            files = tuple(dict.fromkeys([*left.files, *found.files]))[:_MAX_FILES]
            tests = tuple(dict.fromkeys([*left.tests, *found.tests]))[:_MAX_FILES]
            return Impact(PARTIAL, tiers, files, found.importing, tests, len(files), found.uid)
        return self._leftover(change.old) if change.old is not None else Impact(UNKNOWN)

    def remains_outside(self, entity: Entity) -> bool:
        """Tell whether other files than its own still use a name that is gone."""
        return any(path != entity.path for path in self._leftover(entity).files)

    def is_defined(self, entity: Entity) -> bool:
        """Tell whether the working tree has a definition."""
        return self._hit(entity) is not None

    def _hit(self, entity: Entity) -> SymbolHit | None:
        file = self._reader.file_at(entity.path)
        if file is None or file.facts_id is None:
            return None
        rows = self._reader.outline(file.facts_id).definition_rows
        paths, signatures = rows.column(PATH), rows.column(SIGNATURE)
        numbers = [number for number, path in enumerate(paths) if path == entity.lexical_path]
        same = [number for number in numbers if signatures[number] == entity.signature]
        chosen = (same or numbers)[:1]
        return symbol_at(self._reader, file.file_id, chosen[0]) if chosen else None

    def _references(self, hit: SymbolHit) -> Impact:
        tiers = [0, 0, 0, 0]
        files: dict[str, None] = {}
        importing: dict[str, None] = {}
        (symbol,) = symbols_of(self._reader, [hit])
        is_whole = True
        for number, one in enumerate(find_references(self._reader, symbol, lambda _path: True, None)):
            if number >= _MAX_REFERENCES:
                is_whole = False
                break
            tiers[min(int(one.tier), 3)] += 1
            files[one.path] = None
            if one.role is ReferenceRole.IMPORT:
                importing[one.path] = None
        if hit.container:
            # What is behind a receiver of unknown type may be meant as well.
            is_whole = False
            paths = sorted(self._files_with(hit.name))
            for one in find_possible_references(self._reader, symbol, paths[:_MAX_CANDIDATES], None):
                tiers[int(Tier.ANCHORED)] += 1
                files[one.path] = None
        outline = self._reader.outline(hit.file.facts_id or 0)
        uid = FactQueries(self._reader).uid_of(hit.file, outline, hit.number)
        tests = [path for path in files if is_test_file(path)]
        is_sure = is_whole and not tiers[2] and not tiers[3] and bool(hit.file.modules)
        return Impact(
            RESOLVED if is_sure else PARTIAL,
            (tiers[0], tiers[1], tiers[2], tiers[3]),
            tuple(files)[:_MAX_FILES],
            tuple(importing)[:_MAX_FILES],
            tuple(tests)[:_MAX_FILES],
            len(files),
            uid,
        )

    def _leftover(self, entity: Entity) -> Impact:
        """Return the uses of a name that mean nothing any more: imports and plain names, for members any use."""
        paths = sorted(self._files_with(entity.name))
        if len(paths) > _MAX_CANDIDATES:
            return Impact(UNKNOWN)
        found: dict[str, int] = {}
        importing = []
        for path in paths:
            count, imports = self._unresolved(path, entity)
            if count:
                found[path] = count
            if imports:
                importing.append(path)
        tests = [path for path in found if is_test_file(path)]
        total = sum(found.values())
        tiers = (0, 0, total, 0) if entity.container else (0, 0, 0, total)
        return Impact(
            PARTIAL, tiers, tuple(found)[:_MAX_FILES], tuple(importing)[:_MAX_FILES], tuple(tests)[:_MAX_FILES],
            len(found),
        )  # fmt: skip

    def _unresolved(self, path: str, entity: Entity) -> tuple[int, int]:
        file = self._reader.file_at(path)
        if file is None or file.facts_id is None:
            return 0, 0
        sources = [str(row[1]) for row in self._reader.outline(file.facts_id).import_rows]
        view = FileView(self._reader, file)
        names = view.columns.names
        if entity.name not in names or not _reaches(path, sources, entity):
            return 0, 0
        wanted = names.index(entity.name)
        count = imports = 0
        for position, number in enumerate(view.columns.name_numbers):
            role = view.columns.roles[position]
            if number != wanted or role == ReferenceRole.DEFINITION:
                continue
            tier, meant = view.meaning(position)
            # A member behind an unknown receiver may be one of another type.
            if meant is None and (tier is not Tier.ANCHORED or bool(entity.container)):
                count += 1
                imports += role == ReferenceRole.IMPORT
        return count, imports


def _reaches(path: str, sources: list[str], entity: Entity) -> bool:
    """Tell whether a file may mean a definition of another: it is in the same folder, or imports something of its name.

    What was imported from elsewhere under the same name is not meant.
    """
    folder, _, name = entity.path.rpartition("/")
    if path == entity.path or entity.container or entity.dialect not in _LINKED:
        return True
    if entity.dialect in _BY_FOLDER and path.rpartition("/")[0] == folder:
        return True
    stem = name.partition(".")[0]
    wanted = folder.rpartition("/")[2] if stem in _FIRST_FILES or entity.dialect in _BY_FOLDER else stem
    return any(wanted in _PARTS.split(source) for source in sources)
