"""Which packages the Java files of a repository make, and which package an import means.

A module, in the sense of `languages.linking`, is one package, whatever the directories of its files: they declare it.
Files without a package share their names with those of the same directory only.
"""

import posixpath
from typing import Final

from codeplane.languages.java.overloads import choose_method
from codeplane.languages.linking import Linker, LinkingRules, UnitView

_ALL: Final = "(packages)"  # where the first names of packages are found


def build(view: UnitView) -> Linker:
    """Return what is known about the packages of a repository."""
    return JavaLinker(view)


class JavaLinker:
    """The packages of a repository.

    Invariant: `_packages` has every package and everything that packages are inside of.
    """

    __slots__ = ("_module", "_packages")

    def __init__(self, view: UnitView) -> None:
        self._module: dict[str, str] = {}
        self._packages: set[str] = set()
        for path in view.paths:
            package = view.package_of(path)
            self._module[path] = package or f"(default) {posixpath.dirname(path) or '.'}"
            while package:
                self._packages.add(package)
                package = package.rpartition(".")[0]

    def modules_of(self, path: str) -> tuple[str, ...]:
        """Return the package of a file."""
        module = self._module.get(path)
        return () if module is None else (module,)

    def locate(self, path: str, source: str) -> str | None:  # noqa: ARG002 - packages are the same for all files
        """Return the package that an import names, None when it is not in the repository or a type."""
        return source if source in self._packages else None

    def submodule(self, module: str, name: str) -> str | None:
        """Return a package by the names of its path, one after the other."""
        inner = name if module == _ALL else f"{module}.{name}"
        return inner if inner in self._packages else None

    def implicit_modules(self, path: str) -> tuple[str, ...]:
        """Return the package of a file, and where names of packages written in full start."""
        return (*self.modules_of(path), _ALL)


LINKING: Final = LinkingRules(
    build=build,
    class_scope_is_visible=True,
    separator=".",
    imports_reach_into_types=True,
    own_module_before_stars=True,
    imports_stay_in_file=True,
    methods_are_apart=True,
    choose_method=choose_method,
)
