"""Which packages the Go files of a repository make, and which package an import means.

A module, in the sense of `languages.linking`, is one package: the files of a directory that declare the same name. It
is called by its import path. The external tests of a directory are a package of their own (`path_test`).
"""

import posixpath
from collections import Counter, defaultdict
from typing import Final

from codeplane.languages.go.modfile import ModFile, read_mod_file
from codeplane.languages.linking import Linker, LinkingRules, UnitView

_VENDOR: Final = "vendor"
_INTERNAL: Final = "internal"


def build(view: UnitView) -> Linker:
    """Return what is known about the packages of a repository."""
    return GoLinker(view)


class GoLinker:
    """The packages of a repository.

    An import of a module path that is in a `go.mod` of the repository means that directory, unless the importing
    module replaces it by something else; a module path that is in two of them means none for the others.

    Invariant: `_package` has the name of the module of each file, `_importable` that of each directory from which
    something can be imported.
    """

    __slots__ = ("_importable", "_mod_files", "_package", "_roots_of", "_view", "_work_files")

    def __init__(self, view: UnitView) -> None:
        self._view = view
        self._mod_files: dict[str, ModFile | None] = {}
        self._work_files: dict[str, ModFile | None] = {}
        files_of: dict[str, list[str]] = defaultdict(list)
        for path in view.paths:
            files_of[posixpath.dirname(path)].append(path)
        self._roots_of = self._find_roots(files_of)
        self._package: dict[str, str] = {}
        self._importable: dict[str, str] = {}
        names = _unique_names({directory: self._import_path(directory) for directory in files_of})
        taken = set(names.values())
        for directory, paths in files_of.items():
            self._add_directory(directory, paths, names[directory], taken)

    def modules_of(self, path: str) -> tuple[str, ...]:
        """Return the package of a file, nothing for a file without a package clause."""
        package = self._package.get(path)
        return () if package is None else (package,)

    def implicit_modules(self, path: str) -> tuple[str, ...]:
        """Return the package of a file: its files share their names."""
        return self.modules_of(path)

    def submodule(self, module: str, name: str) -> str | None:  # noqa: ARG002 - packages are not members in Go
        """Return nothing: a package is reached by an import only."""
        return None

    def locate(self, path: str, source: str) -> str | None:
        """Return the package that an import path means in a file, None when it is not in the repository."""
        here = posixpath.dirname(path)
        directory = self._directory_of(here, source)
        if directory is None or directory not in self._importable or not _may_import(here, directory):
            return None
        return self._importable[directory]

    def _add_directory(self, directory: str, paths: list[str], name: str, taken: set[str]) -> None:
        """Give each file of a directory the name of its package."""
        declared = {path: self._view.package_of(path) for path in paths}
        external = {path for path, package in declared.items() if _is_external_test(path, package)}
        own = {package for path, package in declared.items() if package and path not in external}
        # Files that are left out of every build often declare `main` beside the package of the directory.
        importable = own if len(own) < 2 else own - {"main", "documentation"}
        main = next(iter(importable)) if len(importable) == 1 else None
        if main is not None:
            self._importable[directory] = name
        test_name = f"{name}_test" if f"{name}_test" not in taken else f"{name} [test]"
        for path, package in declared.items():
            if path in external:
                self._package[path] = test_name
            elif package:
                self._package[path] = name if package == main else f"{name} [{package}]"

    def _directory_of(self, here: str, source: str) -> str | None:
        """Return the directory that an import path means from another directory."""
        if source.startswith(("./", "../")):
            return _normal(posixpath.join(here, source))
        root = self._root_of(here)
        own = self._mod_file(root) if root is not None else None
        if own is not None and root is not None:
            inside = self._inside_module(root, own.module, source)
            if inside is not None:
                return inside
        for ancestor in _ancestors(here):
            vendored = posixpath.join(ancestor, _VENDOR, source)
            if vendored in self._importable:
                return vendored
        work = self._work_file(here)
        for rules in (own, work):
            replaced = _longest(source, rules.replaced) if rules is not None else None
            if rules is not None and replaced is not None:
                target = rules.replaced[replaced]
                return None if target is None else _normal(posixpath.join(target, source[len(replaced) + 1 :]))
        return self._in_other_module(source, work.used if work is not None else None)

    def _in_other_module(self, source: str, used: tuple[str, ...] | None) -> str | None:
        """Return the directory of a package of another module of the repository; in a workspace of one that it uses."""
        module = source
        while module:
            roots = self._roots_of.get(module, [])
            found = {
                root: directory
                for root in roots
                if (directory := self._inside_module(root, module, source)) is not None
            }
            if found:
                chosen = [root for root in found if used is None or root in used]
                return found[chosen[0]] if len(chosen) == 1 else None
            module = posixpath.dirname(module)
        return None

    def _inside_module(self, root: str, module: str, source: str) -> str | None:
        """Return the directory of a package that belongs to a module, not to one nested in it."""
        if not module or (source != module and not source.startswith(module + "/")):
            return None
        directory = posixpath.join(root, source[len(module) + 1 :]) if source != module else root
        return directory if directory in self._importable and self._root_of(directory) == root else None

    def _find_roots(self, directories: dict[str, list[str]]) -> dict[str, list[str]]:
        """Return the directories of each module path."""
        found: dict[str, list[str]] = defaultdict(list)
        for root in sorted({self._root_of(directory) for directory in directories} - {None}, key=str):
            mod_file = self._mod_file(root) if root is not None else None
            if mod_file is not None and root is not None:
                found[mod_file.module].append(root)
        return found

    def _import_path(self, directory: str) -> str:
        """Return the import path of a directory; without a `go.mod` it is the directory itself."""
        parts = directory.split("/")
        if _VENDOR in parts:
            last = len(parts) - 1 - parts[::-1].index(_VENDOR)
            if last < len(parts) - 1:
                return "/".join(parts[last + 1 :])
        root = self._root_of(directory)
        mod_file = self._mod_file(root) if root is not None else None
        if mod_file is None or root is None:
            return directory or "."
        rest = directory[len(root) :].strip("/")
        return f"{mod_file.module}/{rest}" if rest else mod_file.module

    def _root_of(self, directory: str) -> str | None:
        """Return the nearest directory around one that has a `go.mod`."""
        return next((one for one in _ancestors(directory) if self._mod_file(one) is not None), None)

    def _mod_file(self, directory: str) -> ModFile | None:
        if directory not in self._mod_files:
            text = self._view.text_of(posixpath.join(directory, "go.mod"))
            read = read_mod_file(text, directory) if text is not None else None
            self._mod_files[directory] = read if read is not None and read.module else None
        return self._mod_files[directory]

    def _work_file(self, here: str) -> ModFile | None:
        """Return the nearest `go.work` around a directory, if it uses the directory's module."""
        root = self._root_of(here)
        for directory in _ancestors(here):
            if directory not in self._work_files:
                text = self._view.text_of(posixpath.join(directory, "go.work"))
                self._work_files[directory] = read_mod_file(text, directory) if text is not None else None
            found = self._work_files[directory]
            if found is not None:
                return found if root in found.used else None
        return None


LINKING: Final = LinkingRules(
    build=build,
    separator="/",
    imports_stay_in_file=True,
    nearest_depth_wins=True,
    members_may_be_outside=True,
    members_stand_in_module=True,
    config_names=frozenset({"go.mod", "go.work"}),
)


def _is_external_test(path: str, package: str) -> bool:
    return path.endswith("_test.go") and package.endswith("_test")


def _unique_names(paths: dict[str, str]) -> dict[str, str]:
    """Return a name for each directory: its import path, with the directory added where two have the same."""
    n_uses = Counter(paths.values())
    return {
        directory: path if n_uses[path] == 1 else f"{path} ({directory or '.'})" for directory, path in paths.items()
    }


def _longest(source: str, modules: dict[str, str | None]) -> str | None:
    """Return the longest of some module paths that an import path lies in."""
    fitting = [module for module in modules if source == module or source.startswith(module + "/")]
    return max(fitting, key=len, default=None)


def _may_import(here: str, directory: str) -> bool:
    """Say whether a directory may import another: `internal` is for what lies around it."""
    parts = directory.split("/")
    if _INTERNAL not in parts:
        return True
    last = len(parts) - 1 - parts[::-1].index(_INTERNAL)
    around = "/".join(parts[:last])
    return not around or here == around or here.startswith(around + "/")


def _ancestors(directory: str) -> list[str]:
    """Return a directory and those around it, the repository's own last."""
    found = [directory]
    while directory:
        directory = posixpath.dirname(directory)
        found.append(directory)
    return found


def _normal(path: str) -> str | None:
    """Return a path without dots, None when it leaves the repository."""
    normal = posixpath.normpath(path)
    if normal.startswith(("../", "/")) or normal == "..":
        return None
    return "" if normal == "." else normal
