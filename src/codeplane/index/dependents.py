"""Which files depend on changed files, hop by hop, and which hops cannot be followed."""

import posixpath
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from codeplane.index.facts.outline import DECORATORS, NAME, SIGNATURE, Outline
from codeplane.index.facts.reader import FactFile, FactReader
from codeplane.index.links_of_tests import STARTS_PROGRAMS
from codeplane.languages.catalog import linking_rules

CONFTEST: Final = "conftest.py"
_PACKAGE: Final = "__init__.py"
_PLUGINS: Final = "pytest_plugins"
_DYNAMIC_IMPORTS: Final = frozenset({"import_module", "__import__"})
# Calls that reach a member by a name that the syntax does not show.
_COMPUTED_NAMES: Final = frozenset({"getattr", "eval", "exec", "globals", "vars", "reflect", "Reflect"})
# Languages whose tests are in the files they test.
_TESTS_INSIDE: Final = frozenset({"rust"})
_WORD: Final = re.compile(r"\w+")
_FIXTURE: Final = re.compile(r"(?:^|\.)fixture\b")
_AUTOUSE: Final = re.compile(r"\bautouse\s*=\s*True")
# A decorator that gives a function an address, under which a test client calls it.
_ROUTE: Final = re.compile(r"\.(?:route|get|post|put|patch|delete|head|options|websocket|api_route)\(\s*[rf]?[\"']/")


class _Node(NamedTuple):
    file_id: int
    path: str
    language: str
    facts_id: int
    modules: str


@dataclass(slots=True)
class Reach:
    """The files that depend on changed ones.

    `came_from` gives for each reached file the one before it on the way, None for a changed file; `sure` are those
    that refer to a changed file or ask for a fixture that does.
    """

    came_from: dict[str, str | None] = field(default_factory=dict)
    sure: set[str] = field(default_factory=set)
    tests: list[str] = field(default_factory=list)

    def way_to(self, path: str) -> list[str]:
        """Return the files from a reached one back to the changed one."""
        way = [path]
        while (before := self.came_from.get(way[-1])) is not None:
            way.append(before)
        return way


def reach_of(
    reader: FactReader,
    changed: Iterable[str],
    tests: Collection[str],
    symbols: Mapping[str, Collection[str]],
) -> Reach:
    """Find everything that depends on the changed files: first what refers to them, then the rest hop by hop.

    Further hops are those of whole files: a file that uses one that uses a changed one need not use what changed.
    """
    return _reached(_Graph(reader, tests, symbols), changed, tests)


def _reached(graph: "_Graph", changed: Iterable[str], tests: Collection[str]) -> Reach:
    reach = Reach({path: None for path in changed if path in graph.nodes})
    reach.sure.update(reach.came_from)
    for is_near in (True, False):
        waiting = list(reach.came_from)
        for path in waiting:
            if is_near and reach.came_from[path] is not None and posixpath.basename(path) != CONFTEST:
                continue
            for other, is_sure in graph.dependents(path):
                if other not in reach.came_from and (is_sure or not is_near):
                    reach.came_from[other] = path
                    waiting.append(other)
                    if is_near:
                        reach.sure.add(other)
    reach.tests = [path for path, before in reach.came_from.items() if path in tests and before is not None]
    return reach


def unknown_hops(reader: FactReader, reach: Reach, tests: Collection[str]) -> tuple[str, ...]:
    """Return the hops between tests and reached files that the index cannot follow, in words."""
    graph = _Graph(reader, tests, {})
    found = [
        *_hidden_tests(graph, reach),
        *(f"{path} is called by its address" for path in reach.came_from if graph.has(path, "routes", _has_routes)),
        *_computed_imports(graph, tests),
        *_started_programs(graph, tests),
        *(
            f"{path} names plugins"
            for path in graph.nodes
            if posixpath.basename(path) == CONFTEST and graph.has(path, "plugins", _names_plugins)
        ),
        *_unlocated_imports(graph, reach),
    ]
    return tuple(sorted(set(found)))


class _Graph:
    """What depends on a file, read from links, imports, shared packages and fixtures."""

    def __init__(self, reader: FactReader, tests: Collection[str], symbols: Mapping[str, Collection[str]]) -> None:
        self.reader = reader
        self._tests = tests
        self._symbols = symbols
        rows = reader.connection.execute(
            "SELECT file_id, path, language, facts_id, module FROM files WHERE facts_id IS NOT NULL ORDER BY path"
        )
        self.nodes = {row[1]: _Node(*row) for row in rows}
        self._paths = {node.file_id: path for path, node in self.nodes.items()}
        self._members: dict[str, list[str]] = {}
        for path, node in self.nodes.items():
            if node.modules:
                self._members.setdefault(node.modules, []).append(path)

    def outline(self, path: str) -> Outline:
        """Return the outline of a file."""
        return self.reader.outline(self.nodes[path].facts_id)

    def has(self, path: str, name: str, tell: Callable[[Outline], bool]) -> bool:
        """Tell whether something is true of a file; the answers are kept."""
        return path in self.nodes and bool(self.reader.flagged(name, [self.nodes[path].facts_id], tell))

    def dependents(self, path: str) -> Iterator[tuple[str, bool]]:
        """Yield the files that depend on a file, and whether references say so."""
        node = self.nodes[path]
        for file_id in self._ids("SELECT DISTINCT file_id FROM links WHERE target_file = ?", node.file_id):
            yield file_id, True
        rules = linking_rules(node.language)
        if rules is not None and rules.imports_stay_in_file:
            # The files of a package see each other without imports; nothing but tests sees what tests define.
            for other in self._members.get(node.modules, ()):
                if path not in self._tests or other in self._tests:
                    yield other, rules.members_stand_in_module
            if path in self._tests:
                return
        if posixpath.basename(path) == CONFTEST:
            yield from self._below(path)
        for module in filter(None, node.modules.split("\n")):
            yield from ((one, False) for one in self._ids("SELECT file_id FROM asked WHERE module = ?", module))
            yield from ((one, False) for one in self._ids("SELECT file_id FROM located WHERE name = ?", module))
            if posixpath.basename(path) == _PACKAGE:
                # Importing a part of a package runs the package; the slash comes right after the dot.
                part = "SELECT file_id FROM located WHERE name > ? AND name < ?"
                yield from ((one, False) for one in self._ids(part, f"{module}.", f"{module}/"))

    def _ids(self, query: str, *values: object) -> list[str]:
        rows = self.reader.connection.execute(query, values).fetchall()
        return [self._paths[row[0]] for row in rows if row[0] in self._paths]

    def _below(self, path: str) -> Iterator[tuple[str, bool]]:
        """Yield the tests below a conftest.py; those that name one of its affected fixtures for sure."""
        folder = posixpath.dirname(path)
        tests = [one for one in self._tests if one in self.nodes and _is_below(one, folder)]
        fixtures = _fixtures(self.outline(path))
        changed = self._symbols.get(path)
        is_narrow = changed and all(name in fixtures for name in changed)
        names = self._asking_for(set(changed or ()) if is_narrow else set(fixtures), folder)
        is_everywhere = any(_AUTOUSE.search(fixtures[name]) for name in names if name in fixtures)
        for one in tests:
            words = set(_WORD.findall(self.reader.text(self._file(one)).decode("utf-8", "replace")))
            if is_everywhere or words & names:
                yield one, True
            elif not is_narrow:
                yield one, False

    def _file(self, path: str) -> FactFile:
        file = self.reader.file_at(path)
        if file is None:
            raise KeyError(path)
        return file

    def _asking_for(self, names: set[str], folder: str) -> set[str]:
        """Return some fixtures and all fixtures of a folder that ask for them, directly or through others."""
        known = [
            (name, set(_WORD.findall(signature)))
            for path in self.nodes
            if posixpath.basename(path) == CONFTEST and _is_below(path, folder)
            for name, signature in _parameters_of_fixtures(self.outline(path))
        ]
        while more := {name for name, asked in known if asked & names and name not in names}:
            names |= more
        return names


def _is_below(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def _fixtures(outline: Outline) -> dict[str, str]:
    """Return the fixtures of a file with their decorators."""
    rows = outline.definition_rows
    pairs = zip(rows.column(NAME), rows.column(DECORATORS), strict=True)
    return {name: " ".join(marks) for name, marks in pairs if any(_FIXTURE.search(mark) for mark in marks)}


def _parameters_of_fixtures(outline: Outline) -> list[tuple[str, str]]:
    rows = outline.definition_rows
    fixtures = _fixtures(outline)
    pairs = zip(rows.column(NAME), rows.column(SIGNATURE), strict=True)
    return [(name, signature) for name, signature in pairs if name in fixtures]


def _hidden_tests(graph: _Graph, reach: Reach) -> Iterator[str]:
    for path in reach.came_from:
        if graph.nodes[path].language in _TESTS_INSIDE:
            yield f"tests inside {graph.nodes[path].language} files are not listed"
            return


def _computed_imports(graph: _Graph, tests: Collection[str]) -> Iterator[str]:
    """Yield the files that import by a computed name and that some test depends on."""
    computing = [path for path in graph.nodes if graph.has(path, "computed imports", computes_imports)]
    is_used = bool(_reached(graph, computing, tests).tests) if computing else False
    return (f"{path} imports by a computed name" for path in computing if is_used or path in tests)


def _started_programs(graph: _Graph, tests: Collection[str]) -> Iterator[str]:
    marks = ", ".join("?" * len(STARTS_PROGRAMS))
    rows = graph.reader.connection.execute(
        f"SELECT path, source FROM located JOIN files USING (file_id) WHERE source IN ({marks})",  # noqa: S608
        STARTS_PROGRAMS,
    )
    for path, source in rows:
        if path in tests or posixpath.basename(path) == CONFTEST:
            yield f"{path} starts programs ({source})"


def _unlocated_imports(graph: _Graph, reach: Reach) -> Iterator[str]:
    """Yield the imports that lead nowhere although they may mean a reached file.

    A full path of another language (Go, Java) that was not found is not in the repository.
    """
    stems = {_stem(path) for path in reach.came_from}
    rows = graph.reader.connection.execute(
        "SELECT path, language, source FROM located JOIN files USING (file_id) WHERE located.module IS NULL"
    )
    for path, language, source in rows:
        parts = re.split(r"[./:\\]+", source)
        is_open = language == "python" and parts[0] not in sys.stdlib_module_names
        if parts[-1] in stems and (is_open or source.startswith(".")):
            yield f"{path} imports {source}, which was not found"


def _stem(path: str) -> str:
    folder, name = posixpath.split(path)
    return posixpath.basename(folder) if name in {_PACKAGE, "index.ts", "index.js"} else name.partition(".")[0]


def computed_names(reader: FactReader, reach: Reach) -> tuple[str, ...]:
    """Return in words the reached files that read members by computed names."""
    files = {path: file.facts_id for path in reach.came_from if (file := reader.file_at(path)) is not None}
    facts = [facts_id for facts_id in files.values() if facts_id is not None]
    computing = reader.flagged("computed names", facts, _computes_names)
    return tuple(sorted(f"{path} reads members by computed names" for path, one in files.items() if one in computing))


def _computes_names(outline: Outline) -> bool:
    return any(row[0] in _COMPUTED_NAMES and row[4] for row in outline.dynamic_rows)


def computes_imports(outline: Outline) -> bool:
    """Tell whether a file imports by a name that the syntax does not show."""
    return any(row[0] in _DYNAMIC_IMPORTS and row[4] for row in outline.dynamic_rows)


def _has_routes(outline: Outline) -> bool:
    return any(_ROUTE.search(mark) for marks in outline.definition_rows.column(DECORATORS) for mark in marks)


def _names_plugins(outline: Outline) -> bool:
    return _PLUGINS in outline.file_binds
