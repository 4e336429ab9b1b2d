"""Which tests a change may affect, read from the imports and links of the index (§11.9).

Every match says how sure it is, and the answer as a whole says whether anything could have been missed; nothing is
widened by guessing.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from codeplane.index.dependents import Reach, computed_names, computes_imports, reach_of, unknown_hops
from codeplane.index.facts.reader import FactReader, Place
from codeplane.index.file_order import is_test_file
from codeplane.index.index_store import IndexedFile
from codeplane.index.links_of_tests import Covered, entry_points, program_starters, ran_before, tests_naming
from codeplane.index.reach_of_tests import Reached, nearness_of, places_of, quoted_in, started_places
from codeplane.index.symbol_names import qualifier
from codeplane.languages.catalog import load_language

COMPLETE = "complete"
PARTIAL = "partial"
HIGH = "high"
LOW = "low"
# In a larger repository following every definition takes too long; there whole files are followed.
_MAX_FOLLOWED_FILES = 1_500
_BY_COMPUTED_NAME = 4
# The values of a JSON list that is given to a query.
_LISTED = "(SELECT value FROM json_each(?))"


class _TestFile(NamedTuple):
    """A file with tests, by the numbers that the index has for it."""

    file_id: int
    facts_id: int
    dialect: str


_TestFiles = dict[str, _TestFile]


@dataclass(frozen=True, slots=True)
class MatchedTest:
    """A test file that a change may affect, and why.

    `nearness` orders the files of one distance: it grows with the rare names that a test shares with what changed.
    """

    path: str
    confidence: str
    reason: str
    modules: tuple[str, ...]
    distance: int = 0
    nearness: float = 0.0


@dataclass(frozen=True, slots=True)
class AffectedTests:
    """The tests a change may affect, the surest and nearest first; `partial` when some hop is not known."""

    confidence: str
    matches: tuple[MatchedTest, ...]
    changed_modules: tuple[str, ...]
    unresolved_files: tuple[str, ...]
    computed_imports: tuple[str, ...]
    unknown_hops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a change besides its files.

    `only` are files in which nothing but some definitions changed: tests that import them but reach none of these
    definitions are left out. `covered` are the lines that each test file ran in an earlier run, by source file: those
    tests are added, and none is left out for it. `tests` are the files that a runner takes as tests, whatever their
    names.
    """

    only: Mapping[str, Collection[str]] = field(default_factory=dict)
    covered: Covered = field(default_factory=dict)
    tests: frozenset[str] = frozenset()


_NO_EVIDENCE = Evidence()


@dataclass(frozen=True, slots=True)
class ImportedSources:
    """What tests import from the repository."""

    confidence: str
    source_modules: tuple[str, ...]
    source_files: tuple[str, ...]
    source_dirs: tuple[str, ...]


def path_to_module(reader: FactReader, path: str) -> str | None:
    """Return the name of the module that a file is, None when it is none or not linked."""
    file = reader.file_at(path)
    return qualifier(file.modules, "") or None if file is not None else None


def affected_tests(
    reader: FactReader,
    changed_files: Iterable[str],
    files: Iterable[IndexedFile] | None = None,
    symbols: Mapping[str, Collection[str]] = MappingProxyType({}),
    evidence: Evidence = _NO_EVIDENCE,
) -> AffectedTests:
    """Return the test files that depend on what changed, directly or through other files.

    `files` are those of the reader's epoch, where they are at hand. `symbols` are the definitions that changed, by
    file, where they are known: a changed fixture affects the tests that ask for it only.
    """
    changed = sorted(set(changed_files))
    if not changed:
        return AffectedTests(COMPLETE, (), (), (), ())
    modules = {path: path_to_module(reader, path) for path in changed}
    unresolved = tuple(path for path, module in modules.items() if module is None)
    names = {module for module in modules.values() if module is not None}
    taken = evidence.tests
    tests = _test_files(reader, taken) if files is None else _tests_among(files, taken)
    linked = [path for path in changed if modules[path] is not None]
    reach, found = _by_files(reader, linked, tests, symbols)
    started = _add_programs(reader, found, reach, tests)
    places = _changed_places(reader, {path: evidence.only[path] for path in linked if path in evidence.only})
    if places:
        only = {path: evidence.only[path] for path in places}
        rest = _by_files(reader, [path for path in linked if path not in places], tests, symbols)[1]
        found = {**_narrowed(reader, found, only, places, started), **rest}
    for path in unresolved:
        _add_data_file(reader, found, path, tests)
    for path in ran_before(reader, evidence.covered, changed, frozenset().union(*places.values())):
        if path in tests and (path not in found or found[path].confidence == LOW):
            found[path] = MatchedTest(path, HIGH, f"ran {_listed(changed)} in an earlier run", (), 2)
    for path in changed:
        if path in tests:
            found[path] = MatchedTest(path, HIGH, "it changed itself", ())
    computed = _computed_imports(reader, tests)
    hops = unknown_hops(reader, reach, tests.keys()) + (computed_names(reader, reach) if places else ())
    confidence = PARTIAL if unresolved or hops else COMPLETE
    matches = sorted(found.values(), key=lambda one: (one.confidence != HIGH, one.distance, -one.nearness, one.path))
    return AffectedTests(confidence, tuple(matches), tuple(sorted(names)), unresolved, computed, hops)


def _by_files(
    reader: FactReader, changed: list[str], tests: _TestFiles, symbols: Mapping[str, Collection[str]]
) -> tuple[Reach, dict[str, MatchedTest]]:
    """Return what depends on whole files, and the tests among it."""
    reach = reach_of(reader, changed, tests.keys(), symbols)
    found = {path: _match_of(reader, reach, path) for path in reach.tests}
    names = {name for path in changed if path not in tests and (name := path_to_module(reader, path))}
    _add_imports(reader, found, names, tests)
    return reach, found


def _changed_places(reader: FactReader, only: Mapping[str, Collection[str]]) -> dict[str, frozenset[Place]]:
    """Return the changed definitions by file, without files of which some are gone; none in a large repository."""
    n_files = reader.connection.execute("SELECT count(*) FROM files WHERE facts_id IS NOT NULL").fetchone()[0]
    if n_files > _MAX_FOLLOWED_FILES:
        return {}
    return {path: places for path, names in only.items() if (places := places_of(reader, path, names))}


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    return shown[0] + (f" or {len(shown) - 1} more" if len(shown) > 1 else "")


def _narrowed(
    reader: FactReader,
    found: dict[str, MatchedTest],
    changed: Mapping[str, Collection[str]],
    by_path: Mapping[str, frozenset[Place]],
    started: Mapping[str, Collection[Place]],
) -> dict[str, MatchedTest]:
    """Return those of the tests that reach a changed definition; all of them when none does."""
    tests, places = sorted(found), frozenset[Place]().union(*by_path.values())
    sure, possible = Reached(reader, tests), Reached(reader, tests, started)
    sure_bits, possible_bits = sure.of(places), possible.of(places)
    possible.import_any_module()
    importing = possible.of(places) & possible.unknown
    names = [name for listed in changed.values() for name in listed]
    reached_from = {path: possible.of(by_path[path]) for path in changed}
    near = nearness_of(reader, tests, places)
    kept = {}
    for number, path in enumerate(tests):
        # The changed file that the test reaches, for the reason.
        source = next((one for one, bits in reached_from.items() if bits >> number & 1), next(iter(changed)))
        words = f"{_listed(changed[source])} of {source}"
        if sure.uses_directly(path, places):
            confidence, reason, distance = HIGH, f"uses {words}", 1
        elif sure_bits >> number & 1:
            confidence, reason, distance = HIGH, f"reaches {words} through references", 2
        elif possible_bits >> number & 1:
            confidence, reason, distance = LOW, f"may call {words} by name", 3
        elif quoted_in(reader, path, names):
            confidence, reason, distance = LOW, f"names {words} in a string", 3
        elif importing >> number & 1:
            confidence, reason, distance = LOW, f"may import {words} by a computed name", _BY_COMPUTED_NAME
        else:
            continue
        kept[path] = MatchedTest(path, confidence, reason, found[path].modules, distance, near[path])
    # A computed import alone tells nothing of the definition.
    return kept if any(one.distance < _BY_COMPUTED_NAME for one in kept.values()) else found


def _add_programs(
    reader: FactReader, found: dict[str, MatchedTest], reach: Reach, tests: _TestFiles
) -> dict[str, frozenset[Place]]:
    """Add the tests that start programs where a program of the repository depends on the change.

    Return what these tests may start.
    """
    programs = {path: names for path, names in entry_points(reader).items() if path in reach.came_from}
    if not programs:
        return {}
    places = started_places(reader, programs)
    starters = program_starters(reader, tests)
    for path in starters:
        reason = f"starts programs, and {_listed(programs)} is one"
        found.setdefault(path, MatchedTest(path, LOW, reason, (), 3))
    return dict.fromkeys(starters, places)


def _add_data_file(reader: FactReader, found: dict[str, MatchedTest], path: str, tests: _TestFiles) -> None:
    """Add the tests that name a changed data file, and those beside it."""
    naming, beside = tests_naming(reader, path, tests)
    for test in naming:
        found[test] = MatchedTest(test, HIGH, f"names {path}", (), 1)
    for test in beside:
        found.setdefault(test, MatchedTest(test, LOW, f"is beside {path}", (), 1))


def _match_of(reader: FactReader, reach: Reach, path: str) -> MatchedTest:
    """Return a reached test with the files on the way to it."""
    way = reach.way_to(path)
    source = way[-1]
    file = reader.file_at(source)
    verb = "uses" if path in reach.sure else "depends on"
    through = f", through {', '.join(way[1:-1][:3])}" if len(way) > 2 else ""
    modules = (qualifier(file.modules, source),) if file is not None else ()
    confidence = HIGH if path in reach.sure else LOW
    return MatchedTest(path, confidence, f"{verb} what {source} defines{through}", modules, len(way) - 1)


def imported_sources(reader: FactReader, test_files: Iterable[str]) -> ImportedSources:
    """Return the modules, files and directories of the repository that tests import, tests themselves left out."""
    wanted = sorted(set(test_files))
    tests = _test_files(reader)
    rows = reader.connection.execute(
        "SELECT DISTINCT source.path, source.module FROM located JOIN files AS test USING (file_id)"
        " JOIN files AS source"
        " ON source.module = located.name OR source.module LIKE located.name || char(10) || '%'"
        " WHERE test.path IN (SELECT value FROM json_each(?)) AND located.module IS NOT NULL",
        (json.dumps(wanted),),
    )
    files = {path: qualifier(module, path) for path, module in rows if path not in tests}
    computed = _computed_imports(reader, {path: tests[path] for path in wanted if path in tests})
    return ImportedSources(
        PARTIAL if computed or any(path not in tests for path in wanted) else COMPLETE,
        tuple(sorted(set(files.values()))),
        tuple(sorted(files)),
        tuple(sorted({path.rpartition("/")[0] or "." for path in files})),
    )


def uncovered_modules(reader: FactReader) -> tuple[str, ...]:
    """Return the source modules that no test imports, by name or by a parent or child of it."""
    tests = _test_files(reader)
    of_tests = f"WHERE file_id IN {_LISTED}"
    ids = (json.dumps([one.file_id for one in tests.values()]),)
    ask = reader.connection.execute
    imported: set[str] = {row[0] for row in ask(f"SELECT DISTINCT name FROM located {of_tests}", ids)}  # noqa: S608 - ours
    used: set[int] = {row[0] for row in ask(f"SELECT DISTINCT target_file FROM links {of_tests}", ids)}  # noqa: S608 - ours
    found = []
    for file_id, path, modules in reader.connection.execute(
        "SELECT file_id, path, module FROM files WHERE module <> ''"
    ):
        name = qualifier(modules, path)
        if path not in tests and file_id not in used and not _touches(name, imported):
            found.append(name)
    return tuple(sorted(found))


def _add_imports(reader: FactReader, found: dict[str, MatchedTest], names: set[str], tests: _TestFiles) -> None:
    """Add the tests that import a changed module, a parent of it, or something inside it."""
    parents = {parent for name in names for parent in _parents(name)} - names
    for test, imported in _imports_of_tests(reader, tests, names, parents):
        if imported in names:
            match = MatchedTest(test, HIGH, f"imports {imported}", (imported,), 1)
        elif imported in parents:
            below = tuple(sorted(name for name in names if name.startswith(f"{imported}.")))
            match = MatchedTest(test, LOW, f"imports {imported}, which holds {', '.join(below[:3])}", below)
        else:
            above = tuple(sorted(name for name in names if imported.startswith(f"{name}.")))
            match = MatchedTest(test, LOW, f"imports {imported}, a part of {', '.join(above[:3])}", above)
        known = found.get(test)
        if known is None or (known.confidence == LOW and match.confidence == HIGH):
            found[test] = match


def _imports_of_tests(
    reader: FactReader, tests: _TestFiles, names: set[str], parents: set[str]
) -> list[tuple[str, str]]:
    """Return the tests that import one of the names, a parent or a part of one, with what they import."""
    if not names or not tests:
        return []
    wanted = (json.dumps(sorted(names | parents)),)
    found: set[tuple[int, str]] = set(
        reader.connection.execute(f"SELECT file_id, name FROM located WHERE name IN {_LISTED}", wanted)  # noqa: S608 - ours
    )
    for name in names:
        # What begins with the name and a dot; the slash comes right after the dot.
        part = (f"{name}.", f"{name}/")
        found.update(reader.connection.execute("SELECT file_id, name FROM located WHERE name > ? AND name < ?", part))
    paths = {one.file_id: path for path, one in tests.items()}
    return sorted((paths[file_id], name) for file_id, name in found if file_id in paths)


def _test_files(reader: FactReader, taken: frozenset[str] = frozenset()) -> _TestFiles:
    rows = reader.connection.execute(
        "SELECT path, file_id, facts_id, dialect FROM files WHERE facts_id IS NOT NULL ORDER BY path"
    )
    return {row[0]: _TestFile(*row[1:]) for row in rows if row[0] in taken or is_test_file(row[0])}


def _tests_among(files: Iterable[IndexedFile], taken: frozenset[str]) -> _TestFiles:
    return {
        one.path: _TestFile(one.file_id, one.facts_id, one.dialect)
        for one in files
        if one.facts_id is not None and (one.path in taken or is_test_file(one.path))
    }


def _computed_imports(reader: FactReader, tests: _TestFiles) -> tuple[str, ...]:
    """Return the tests that import by a name the syntax does not show."""
    known = {dialect for dialect in {one.dialect for one in tests.values()} if load_language(dialect) is not None}
    linked = {path: one.facts_id for path, one in tests.items() if one.dialect in known}
    computing = reader.flagged("computed imports", linked.values(), computes_imports)
    return tuple(sorted(path for path, facts_id in linked.items() if facts_id in computing))


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:i]) for i in range(1, len(parts))]


def _touches(name: str, imported: set[str]) -> bool:
    if name in imported or any(parent in imported for parent in _parents(name)):
        return True
    return any(other.startswith(f"{name}.") for other in imported)
