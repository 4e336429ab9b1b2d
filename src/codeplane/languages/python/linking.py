"""Which module a Python import means, from the paths of the files alone.

A module has two names: its dotted one, which names its definitions, and its place, `/pkg/module`, by which imports
find it; only the place is unique. An absolute import is looked for in the directory that holds the importing file's
outermost package, then in the context roots and their `src` directories, where exactly one of them may have it.
What else may be on the search path of a running program is not known, so nothing else is tried; names of the standard
library mean the standard library.
"""

import sys
from typing import Final

from codeplane.languages.linking import LinkingRules, UnitView

_SUFFIXES: Final = (".py", ".pyi", ".pyw")
_INIT: Final = "__init__"


class PythonLinker:
    """The modules of one repository's Python files.

    Invariant: `_modules` holds the places that have a file, `_directories` those that are a directory with Python
    files somewhere below, which can be imported even without an `__init__`.
    """

    def __init__(self, view: UnitView) -> None:
        self._modules: dict[str, str] = {}
        self._directories = {""}
        self._packages: set[str] = set()
        for path in view.paths:
            stem, suffix = _stem_and_suffix(path)
            if not suffix:
                continue
            directory, _, name = stem.rpartition("/")
            if name == _INIT:
                self._packages.add(directory)
            place = directory if name == _INIT else stem
            known = self._modules.get(place)
            if known is None or _rank(path) < _rank(known):
                self._modules[place] = path
            while directory not in self._directories:
                self._directories.add(directory)
                directory = directory.rpartition("/")[0]
        self._roots = _search_roots(view.roots, self._directories)
        self._tops: dict[str, str] = {}

    def modules_of(self, path: str) -> tuple[str, ...]:
        """Return the dotted name, and the place if imports of it find this file."""
        stem, suffix = _stem_and_suffix(path)
        directory, _, name = stem.rpartition("/")
        place = directory if name == _INIT else stem
        dotted = self._dotted(place, directory)
        is_found = suffix and self._modules.get(place) == path
        return (dotted, f"/{place}") if is_found else (dotted,)

    def locate(self, path: str, source: str) -> str | None:
        """Return the place of the module that an import means."""
        directory = path.rpartition("/")[0]
        dots = len(source) - len(source.lstrip("."))
        parts = [part for part in source[dots:].split(".") if part]
        if dots:
            for _ in range(dots - 1):
                if not directory:
                    return None
                directory = directory.rpartition("/")[0]
            return self._below(directory, parts)
        if not parts or parts[0] in sys.stdlib_module_names:
            return None
        top = self._top_of(directory)
        if self._has(_join(top, parts[0])):
            return self._below(top, parts)
        found = {place for root in self._roots if (place := self._below(root, parts)) is not None}
        return found.pop() if len(found) == 1 else None

    def submodule(self, module: str, name: str) -> str | None:
        """Return the module of that name in a package."""
        if module[1:] not in self._directories:
            return None
        place = _join(module[1:], name)
        return f"/{place}" if self._has(place) else None

    def implicit_modules(self, path: str) -> tuple[str, ...]:  # noqa: ARG002 - the protocol's
        """Return nothing: Python sees only what is imported."""
        return ()

    def _has(self, place: str) -> bool:
        return place in self._modules or (place in self._directories and place != "")

    def _below(self, directory: str, parts: list[str]) -> str | None:
        place = directory
        for part in parts:
            place = _join(place, part)
        return f"/{place}" if self._has(place) or not parts else None

    def _top_of(self, directory: str) -> str:
        """Return the directory that holds the outermost package around a directory, itself when it is in none."""
        if directory not in self._tops:
            top = directory
            while top in self._packages and top:
                top = top.rpartition("/")[0]
            self._tops[directory] = top
        return self._tops[directory]

    def _dotted(self, place: str, directory: str) -> str:
        top = self._top_of(directory)
        if top == directory and directory not in self._packages:
            top = max((root for root in self._roots if _is_below(place, root)), key=len, default="")
        inner = place[len(top) :].lstrip("/") if top else place
        return inner.replace("/", ".") or place.rpartition("/")[2]


def _stem_and_suffix(path: str) -> tuple[str, str]:
    stem, dot, suffix = path.rpartition(".")
    return (stem, suffix) if dot + suffix in _SUFFIXES else (path, "")


def _rank(path: str) -> tuple[bool, int]:
    """Order the files that could be one module: a package hides a module, a source hides its stub."""
    stem, dot, suffix = path.rpartition(".")
    return not stem.endswith(f"/{_INIT}") and stem != _INIT, _SUFFIXES.index(dot + suffix)


def _search_roots(context_roots: tuple[str, ...], directories: set[str]) -> tuple[str, ...]:
    found = set()
    for root in context_roots:
        found.add(root)
        if _join(root, "src") in directories:
            found.add(_join(root, "src"))
    return tuple(sorted(found))


def _is_below(place: str, root: str) -> bool:
    return not root or place.startswith(f"{root}/")


def _join(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


LINKING: Final = LinkingRules(build=PythonLinker, binds_first_part=True, last_star_wins=True)
