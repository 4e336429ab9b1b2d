"""Which top packages and modules a Python project distributes: what its manifest says, or what build tools find."""

import configparser
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

# What setuptools never takes for a package when it looks by itself.
_NOT_DISTRIBUTED: Final = frozenset(
    {
        "asv_bench", "bench", "benchmark", "benchmarks", "bin", "build", "ci", "conftest", "debian", "dist",
        "doc", "docs", "documentation", "doit_tasks", "dodo", "example", "examples", "fabfile",
        "build_scripts", "exercise", "exercises", "htmlcov", "locust", "locustfile", "manage", "manpages",
        "migrations", "notebooks", "noxfile", "old", "pavement", "python", "scons-out", "sconstruct",
        "script", "scripts", "setup", "site_scons", "sphinx_build", "tasks", "test", "tests", "toxfile",
        "tools", "util", "utils", "versioneer", "wscript", "__main__", "sitecustomize", "usercustomize",
    }
)  # fmt: skip
_Table = Mapping[str, Any]


def distributed_places(directory: str, paths: Iterable[str], text_of: Callable[[str], str | None]) -> list[str]:
    """Return the directories and files that hold the top packages and modules of the project in a directory."""
    inside = [path for path in paths if not directory or path.startswith(f"{directory}/")]
    project = _read_toml(text_of(_join(directory, "pyproject.toml")))
    setup = _read_ini(text_of(_join(directory, "setup.cfg")))
    declared = [*_declared(project), *_declared_in_ini(setup)]
    found = [place for name in declared for place in _existing(_join(directory, name), inside)]
    return sorted(set(found)) or _found_by_layout(directory, inside, _names_of(project, setup), _search(project, setup))


def _declared(project: _Table) -> list[str]:
    """Return the places that the tables of the common build tools name, relative to the project."""
    tool = _table(project, "tool")
    setuptools = _table(tool, "setuptools")
    where = _table(setuptools, "package-dir")
    found = [_package_place(name, where) for name in _texts(setuptools.get("packages"))]
    found += [_package_place(name, where) for name in _texts(setuptools.get("py-modules"))]
    found += _texts(_table(_table(_table(_table(tool, "hatch"), "build"), "targets"), "wheel").get("packages"))
    for one in _listed(_table(tool, "poetry").get("packages")):
        if isinstance(one, dict) and isinstance(one.get("include"), str):
            found.append(_join(str(one.get("from", "")), str(one["include"])))
    for name in (_table(_table(tool, "flit"), "module").get("name"), *_uv_modules(_table(tool, "uv"))):
        if isinstance(name, str):
            found += [_dotted(name), f"src/{_dotted(name)}"]
    return found


def _uv_modules(uv: _Table) -> list[object]:
    name = _table(uv, "build-backend").get("module-name")
    return name if isinstance(name, list) else [name]


def _declared_in_ini(setup: _Table) -> list[str]:
    options = _table(setup, "options")
    where = {
        key.strip(): value.strip()
        for key, equals, value in (line.partition("=") for line in str(options.get("package_dir", "")).splitlines())
        if equals
    }
    names = str(options.get("packages", "")).replace(",", "\n").splitlines()
    names += str(options.get("py_modules", "")).replace(",", "\n").splitlines()
    return [_package_place(name.strip(), where) for name in names if name.strip() and not name.strip().endswith(":")]


def _search(project: _Table, setup: _Table) -> tuple[list[str], list[str], list[str]]:
    """Return where setuptools looks for packages, and the patterns of those it takes and leaves."""
    find = _table(_table(_table(_table(project, "tool"), "setuptools"), "packages"), "find")
    section = _table(setup, "options.packages.find")

    def texts(key: str) -> list[str]:
        value = find.get(key, str(section.get(key, "")).replace(",", "\n").splitlines())
        return [str(one).strip() for one in _listed(value) if str(one).strip()]

    return texts("where"), texts("include"), texts("exclude")


def _found_by_layout(
    directory: str, inside: list[str], names: set[str], search: tuple[list[str], list[str], list[str]]
) -> list[str]:
    """Return what build tools find by themselves: below `src`, else beside the manifest."""
    where, include, exclude = search
    for base in where or ("src", ""):
        root = _join(directory, base)
        tops = _tops(root, inside, is_src=base == "src" or bool(where))
        tops = [
            top
            for top in tops
            if (not include or any(fnmatchcase(_name(top), one) for one in include))
            and not any(fnmatchcase(_name(top), one) for one in exclude)
        ]
        own = [top for top in tops if _name(top).lower() in names]
        packages = [top for top in tops if not top.endswith(".py")]
        if own or packages or (tops and base):
            return own if own and not where else packages or tops
    return []


def _tops(root: str, inside: list[str], *, is_src: bool) -> list[str]:
    found: dict[str, None] = {}
    for path in sorted(inside):
        rest = path[len(root) :].lstrip("/") if root else path
        if root and not path.startswith(f"{root}/"):
            continue
        first, slash, last = rest.partition("/")
        is_top = last in {"__init__.py", "__init__.pyi"} if slash else first.endswith(".py")
        name = first.removesuffix(".py")
        if is_top and name.isidentifier() and (is_src or name.lower() not in _NOT_DISTRIBUTED):
            found[_join(root, first)] = None
    return list(found)


def _names_of(project: _Table, setup: _Table) -> set[str]:
    """Return the names under which a package of the project's own name may be imported."""
    tool = _table(project, "tool")
    named = (_table(project, "project"), _table(tool, "poetry"), _table(setup, "metadata"))
    names = [str(table["name"]).strip().lower() for table in named if table.get("name")]
    return {re.sub(r"[-.]+", "_", name) for name in names}


def _existing(place: str, inside: list[str]) -> list[str]:
    """Return a place that holds Python files, as a directory or as a module."""
    if any(path.startswith(f"{place}/") for path in inside):
        return [place]
    return [path for path in (place, f"{place}.py") if path in inside]


def _package_place(name: str, where: _Table) -> str:
    top = name.partition(".")[0]
    if top in where:
        return _join(str(where[top]), _dotted(name.partition(".")[2]))
    return _join(str(where.get("", "")), _dotted(name))


def _dotted(name: str) -> str:
    return name.replace(".", "/")


def _name(place: str) -> str:
    return place.rpartition("/")[2].removesuffix(".py")


def _join(directory: str, name: str) -> str:
    normal = posixpath.normpath(posixpath.join(directory, name)) if directory or name else "."
    return "" if normal == "." else normal


def _read_toml(text: str | None) -> _Table:
    try:
        return tomllib.loads(text or "")
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _read_ini(text: str | None) -> _Table:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text or "")
    except configparser.Error:
        return {}
    return {name: dict(parser[name]) for name in parser.sections()}


def _table(table: _Table, key: str) -> _Table:
    value = table.get(key)
    return value if isinstance(value, dict) else {}


def _texts(value: object) -> list[str]:
    return [one for one in _listed(value) if isinstance(one, str)]


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
