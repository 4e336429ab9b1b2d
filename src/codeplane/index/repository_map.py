"""What a repository is made of, read from the index alone."""

import json
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from codeplane.index.facts.outline import NAME_LINE
from codeplane.index.facts.reader import FactReader
from codeplane.index.file_order import is_test_file, is_test_path
from codeplane.index.index_store import IndexedFile
from codeplane.index.symbol_names import qualifier
from codeplane.languages.facts import DefinitionKind

_MAIN_KINDS: Final = (int(DefinitionKind.FUNCTION), int(DefinitionKind.METHOD))


@dataclass(slots=True)
class DirectoryCount:
    """A directory with the number of indexed files below it."""

    name: str
    path: str
    n_files: int
    directories: list["DirectoryCount"]
    files: list[tuple[str, str, int]]


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """Where execution begins."""

    path: str
    line: int
    kind: str
    name: str
    qualified_name: str
    why: str


@dataclass(frozen=True, slots=True)
class ContextState:
    """A context with its status, the reason for it, and the number of files it owns."""

    root: str
    family: str
    status: str
    reason: str
    n_files: int


def count_directories(files: Iterable[IndexedFile], below: str) -> DirectoryCount:
    """Return the tree below a directory with counts, directories and files by name."""
    root = DirectoryCount(below.rpartition("/")[2], below, 0, [], [])
    known = {below: root}
    for file in sorted(files, key=lambda one: one.path):
        directory, _, name = file.path.rpartition("/")
        node = _directory(known, directory)
        node.files.append((name, file.path, file.line_count))
        while True:
            known[directory].n_files += 1
            if directory == below:
                break
            directory = directory.rpartition("/")[0]
    return root


def _directory(known: dict[str, DirectoryCount], path: str) -> DirectoryCount:
    missing = []
    while path not in known:
        missing.append(path)
        path = path.rpartition("/")[0]
    for one in reversed(missing):
        above = known[one.rpartition("/")[0]]
        node = DirectoryCount(one.rpartition("/")[2], one, 0, [], [])
        above.directories.append(node)
        known[one] = node
    return known[missing[0]] if missing else known[path]


def count_languages(files: Iterable[IndexedFile]) -> list[tuple[str, int]]:
    """Return languages by number of files, the most frequent first; files without text have none."""
    counts = Counter(file.language for file in files if file.text_id is not None)
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def find_entry_points(reader: FactReader) -> list[EntryPoint]:
    """Return declared scripts, then `__main__` modules, then functions called `main`, tests left out."""
    found: dict[tuple[str, str], EntryPoint] = {}
    for one in (*_declared_scripts(reader), *_main_modules(reader), *_main_functions(reader)):
        found.setdefault((one.path, one.name), one)
    return list(found.values())


def is_below(path: str, directory: str) -> bool:
    """Tell whether a path is a directory or in it; the empty text is the repository itself."""
    return not directory or path == directory or path.startswith(f"{directory}/")


def list_contexts(reader: FactReader) -> list[ContextState]:
    """Return the contexts that own files, and those that were refused, by root and family."""
    rows = reader.connection.execute(
        "SELECT root, family, status, reason, (SELECT count(*) FROM files WHERE files.unit_id = units.unit_id) AS n"
        " FROM units WHERE n > 0 OR status IN ('detached', 'failed') ORDER BY root, family"
    )
    return [ContextState(*row) for row in rows]


def external_modules(reader: FactReader, below: str = "") -> tuple[list[tuple[str, int]], int]:
    """Return what files below a directory import from outside of the repository, and how many imports they have."""
    counts: Counter[str] = Counter()
    n_all = 0
    prefix = f"{below}/" if below else ""
    for source, module, language, n_files in reader.connection.execute(
        "SELECT source, located.module, language, count(*) FROM located JOIN files USING (file_id)"
        " WHERE path = ? OR substr(path, 1, ?) = ? GROUP BY 1, 2, 3",
        (below, len(prefix), prefix),
    ):
        n_all += n_files
        name = _package_of(source, language)
        if module is None and name:
            counts[name] += n_files
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])), n_all


def _package_of(source: str, language: str) -> str:
    """Return the package that an import leads to, empty for a relative one and for the language's own library."""
    if source.startswith(_NEAR_SOURCES):
        return ""
    read = _PACKAGE_READERS.get(language)
    return read(source) if read is not None else source


def _python_package(source: str) -> str:
    top = source.split(".", maxsplit=1)[0]
    return "" if top in sys.stdlib_module_names else top


def _node_package(source: str) -> str:
    parts = source.split("/")
    return "/".join(parts[:2]) if source.startswith("@") else parts[0]


def _go_package(source: str) -> str:
    return source if "." in source.split("/", maxsplit=1)[0] else ""


def _rust_package(source: str) -> str:
    top = source.split("::", maxsplit=1)[0]
    return "" if top in {"std", "core", "alloc"} else top


def _java_package(source: str) -> str:
    return "" if source.startswith(("java.", "javax.")) else ".".join(source.split(".")[:3])


_INDEX_SUFFIXES: Final = (".ts", ".tsx", ".mts", ".js", ".mjs", ".cjs")
_NEAR_SOURCES: Final = ("./", "../", "/", ".", "#", "crate", "self::", "super::", "node:")
_PACKAGE_READERS: Final[Mapping[str, Callable[[str], str]]] = {
    "python": _python_package,
    "javascript": _node_package,
    "typescript": _node_package,
    "go": _go_package,
    "rust": _rust_package,
    "java": _java_package,
}


def test_files(files: Iterable[IndexedFile]) -> list[str]:
    """Return the files that hold tests, by path."""
    return sorted(file.path for file in files if is_test_file(file.path))


def _declared_scripts(reader: FactReader) -> list[EntryPoint]:
    found = []
    for row in reader.connection.execute(
        "SELECT path FROM files WHERE path LIKE '%pyproject.toml' OR path LIKE '%package.json' ORDER BY path"
    ).fetchall():
        file = reader.file_at(row[0])
        if file is None or file.text_id is None or is_test_path(file.path):
            continue
        text = reader.text(file).decode("utf-8", "replace")
        directory = file.path.rpartition("/")[0]
        found.extend(
            _python_scripts(reader, text) if file.path.endswith(".toml") else _node_scripts(reader, text, directory)
        )
    return found


def _python_scripts(reader: FactReader, text: str) -> list[EntryPoint]:
    try:
        project = tomllib.loads(text).get("project", {})
    except tomllib.TOMLDecodeError:
        return []
    scripts: Any = project.get("scripts", {}) if isinstance(project, dict) else {}
    found = []
    for command, target in sorted(scripts.items()) if isinstance(scripts, dict) else ():
        module, _, function = str(target).partition(":")
        row = reader.connection.execute(
            "SELECT file_id, number FROM definitions JOIN files USING (file_id)"
            " WHERE name = ? AND (module = ? OR module LIKE ?) ORDER BY number LIMIT 1",
            (function.split(".")[0], module, f"{module}\n%"),
        ).fetchone()
        if row is not None:
            found.extend(_point(reader, row[0], row[1], f"script {command}"))
    return found


def _node_scripts(reader: FactReader, text: str, directory: str) -> list[EntryPoint]:
    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return []
    if not isinstance(package, dict):
        return []
    declared: Any = package.get("bin", {})
    bins = declared if isinstance(declared, dict) else {str(package.get("name", "")): declared}
    entries = [(f"bin {name}", path) for name, path in sorted(bins.items())]
    entries += [(field, package.get(field)) for field in ("main", "module")]
    found = []
    for why, path in entries:
        if isinstance(path, str):
            place = f"{directory}/{path.removeprefix('./')}" if directory else path.removeprefix("./")
            if reader.file_at(place) is not None:
                found.append(EntryPoint(place, 1, "module", place.rpartition("/")[2], place, why))
    return found or _package_index(reader, str(package.get("name", "")), directory)


def _package_index(reader: FactReader, name: str, directory: str) -> list[EntryPoint]:
    """Return the index file of a package whose declared entries are only made when it is built."""
    for path in (f"{folder}index{suffix}" for folder in ("src/", "", "lib/") for suffix in _INDEX_SUFFIXES):
        place = f"{directory}/{path}" if directory else path
        if name and reader.file_at(place) is not None:
            return [EntryPoint(place, 1, "module", path.rpartition("/")[2], place, f"index of package {name}")]
    return []


def _main_modules(reader: FactReader) -> list[EntryPoint]:
    rows = reader.connection.execute(
        "SELECT path, module FROM files WHERE (path LIKE '%/\\_\\_main\\_\\_.py' ESCAPE '\\' OR path = '__main__.py'"
        " OR path LIKE '%manage.py') ORDER BY path"
    ).fetchall()
    return [
        EntryPoint(path, 1, "module", path.rpartition("/")[2], qualifier(module, path), "run as a program")
        for path, module in rows
        if not is_test_path(path)
    ]


def _main_functions(reader: FactReader) -> list[EntryPoint]:
    rows = reader.connection.execute(
        "SELECT file_id, number FROM definitions JOIN files USING (file_id)"
        " WHERE folded = 'main' AND name IN ('main', 'Main') AND kind IN (?, ?) ORDER BY path, number",
        _MAIN_KINDS,
    ).fetchall()
    return [one for row in rows for one in _point(reader, row[0], row[1], "main")]


def _point(reader: FactReader, file_id: int, number: int, why: str) -> list[EntryPoint]:
    file = reader.file(file_id)
    if file is None or file.facts_id is None or (why == "main" and is_test_path(file.path)):
        return []
    outline = reader.outline(file.facts_id)
    one = outline.definition(number)
    name = f"{qualifier(file.modules, file.path)}.{one.lexical_path}"
    return [EntryPoint(file.path, outline.lines.column(NAME_LINE)[number], one.kind.label, one.name, name, why)]
