"""Ways from a change to tests that are neither imports nor references: data files, entry points, earlier coverage."""

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from codeplane.index.facts.reader import FactReader, Place
from codeplane.index.symbol_names import qualifier

Covered = Mapping[str, Mapping[str, Collection[int]]]
"""The lines that each test file ran in an earlier run, by source file."""

# What a test that imports one of these runs cannot be told from its imports.
STARTS_PROGRAMS: Final = ("subprocess", "runpy", "pexpect", "os/exec", "child_process", "node:child_process", "execa")
_MANIFESTS: Final = frozenset({"pyproject.toml", "setup.cfg", "setup.py", "package.json"})
# `package.module:function`, and the path of a script.
_ENTRY: Final = re.compile(r"[\"'=\s]([A-Za-z_][\w.]*):([A-Za-z_]\w*)")
_SCRIPT: Final = re.compile(r"\"(?:\./)?([\w./-]+\.[cm]?[jt]s)\"")
_MAIN: Final = "__main__.py"


def tests_naming(reader: FactReader, data_file: str, tests: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the tests that name a data file, and those at or below its directory's nearest tests.

    Data is often read as a whole directory, so that tests beside it may use it without naming it.
    """
    name = posixpath.basename(data_file)
    plain = name.removesuffix(".snap")
    needles = [one.encode() for one in {name, name.partition(".")[0]} if len(one) > 3]
    naming = [
        path
        for path in sorted(tests)
        if posixpath.basename(path) == plain or any(one in _text(reader, path) for one in needles)
    ]
    folder = posixpath.dirname(data_file)
    beside: list[str] = []
    while folder and not beside:
        beside = [path for path in sorted(tests) if path.startswith(f"{folder}/")]
        folder = posixpath.dirname(folder)
    return naming, beside


def _text(reader: FactReader, path: str) -> bytes:
    file = reader.file_at(path)
    return reader.text(file) if file is not None and file.text_id is not None else b""


def program_starters(reader: FactReader, tests: Collection[str]) -> list[str]:
    """Return the tests that start programs."""
    marks = ", ".join("?" * len(STARTS_PROGRAMS))
    rows = reader.connection.execute(
        f"SELECT DISTINCT path FROM located JOIN files USING (file_id) WHERE source IN ({marks})",  # noqa: S608 - ours
        STARTS_PROGRAMS,
    )
    return sorted(path for (path,) in rows if path in tests)


def entry_points(reader: FactReader) -> dict[str, set[str]]:
    """Return the functions that manifests name as programs, by file; a script as a whole has no names."""
    rows = reader.connection.execute("SELECT path, module FROM files ORDER BY path").fetchall()
    files = {qualifier(module, path): path for path, module in rows if module}
    found: dict[str, set[str]] = {path: set() for path, _ in rows if posixpath.basename(path) == _MAIN}
    paths = {path for path, _ in rows}
    for path in sorted(one for one in paths if posixpath.basename(one) in _MANIFESTS):
        text = _text(reader, path).decode("utf-8", "replace")
        for module, name in _ENTRY.findall(text):
            if module in files:
                found.setdefault(files[module], set()).add(name)
        for script in _SCRIPT.findall(text):
            place = posixpath.join(posixpath.dirname(path), script)
            if place in paths:
                found.setdefault(place, set())
    return found


def ran_before(
    reader: FactReader, covered: Covered, changed: Iterable[str], places: Collection[Place]
) -> Iterator[str]:
    """Yield the tests that ran a changed definition in an earlier run, or the changed file where none is known."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    for file_id, number in places:
        file = reader.file(file_id)
        first, _, _, last = reader.outline_of(file_id).lines[number]
        if file is not None:
            ranges.setdefault(file.path, []).append((first, last))
    wanted = set(changed)
    for test, files in sorted(covered.items()):
        for path in wanted & files.keys():
            spans = ranges.get(path)
            if spans is None or any(first <= line <= last for line in files[path] for first, last in spans):
                yield test
                break
