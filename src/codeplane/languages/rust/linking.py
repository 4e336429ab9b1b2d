"""Which modules the Rust files of a repository make, and which module a path means.

A module is called by its path from its crate, such as `grep_regex::config`. The crates of a package that share the name
of its library, or of another crate, are told apart by their kind (`rg (bin)`).
"""

import posixpath
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

from codeplane.languages.linking import Linker, LinkingRules, UnitView
from codeplane.languages.rust.manifest import Package, Target, read_package, read_toml
from codeplane.languages.rust.modules import ModuleDeclaration, module_declarations

_SEPARATOR: Final = "::"
_CRATES_OF: Final = "crates of "


def build(view: UnitView) -> Linker:
    """Return what is known about the modules of a repository."""
    return RustLinker(view)


class RustLinker:
    """The modules of a repository.

    A file that two crates declare as theirs belongs to a module of each; a path in it is answered only when it means
    the same files in both. The crates that code can name without importing them are members of a module of their own.

    Invariant: `_files` has the files of each module (several where a declaration depends on the platform), `_modules`
    the modules of each file, `_roots` the module of a library by the directory of its package.
    """

    __slots__ = ("_files", "_modules", "_package_of", "_paths", "_roots", "_view")

    def __init__(self, view: UnitView) -> None:
        self._view = view
        self._paths = frozenset(path for path in view.paths if path.endswith(".rs"))
        self._files: dict[str, list[str]] = defaultdict(list)
        self._modules: dict[str, list[str]] = defaultdict(list)
        self._package_of: dict[str, Package] = {}
        self._roots: dict[str, str] = {}
        packages = self._read_packages()
        n_uses = Counter(target.name for package in packages for target in package.targets)
        declarations: dict[str, list[ModuleDeclaration]] = {}
        for package in packages:
            for target in package.targets:
                is_first = target.kind == "lib" or n_uses[target.name] == 1
                crate = target.name if is_first else f"{target.name} ({target.kind})"
                if crate in self._files:
                    crate = f"{crate} in {package.directory or '.'}"
                self._add_crate(crate, package, target, declarations)

    def modules_of(self, path: str) -> tuple[str, ...]:
        """Return the modules that a file is; a file that no crate declares is none."""
        return tuple(self._modules.get(path, ()))

    def implicit_modules(self, path: str) -> tuple[str, ...]:
        """Return where the names of crates are found."""
        return tuple(_CRATES_OF + crate for crate in sorted({_crate(one) for one in self._modules.get(path, ())}))

    def submodule(self, module: str, name: str) -> str | None:
        """Return a module declared in another, or a crate by its name."""
        if module.startswith(_CRATES_OF):
            return self._named_crate(module.removeprefix(_CRATES_OF), name)
        child = f"{module}{_SEPARATOR}{name}"
        return child if child in self._files else None

    def locate(self, path: str, source: str) -> str | None:
        """Return the module that a path means in a file, None when it is not in the repository or no module."""
        parts = source.split(_SEPARATOR)
        found = [self._follow(module, parts) for module in self._modules.get(path, ())]
        if not found or None in found:
            return None
        is_same = len({tuple(self._files[module]) for module in found if module is not None}) == 1
        return found[0] if is_same else None

    def _follow(self, module: str, parts: list[str]) -> str | None:
        """Return the module at the end of a path that starts in a module."""
        current: str | None
        first, rest = parts[0], parts[1:]
        if first == "crate":
            current = _crate(module)
        elif first == "self":
            current = module
        elif first == "super":
            current = _parent(module)
            while rest and rest[0] == "super" and current is not None:
                current, rest = _parent(current), rest[1:]
        elif first == "":
            current, rest = (self._named_crate(_crate(module), rest[0]), rest[1:]) if rest else (None, rest)
        else:
            current = self._first_of_path(module, first)
        for name in rest:
            current = self.submodule(current, name) if current is not None else None
        return current

    def _first_of_path(self, module: str, name: str) -> str | None:
        """Return the crate or module that a path without `crate` or `self` starts with; one of two is not chosen."""
        crate = _crate(module)
        candidates = [self.submodule(module, name), self._named_crate(crate, name)]
        if self._package_of[crate].is_old:
            candidates = [self.submodule(crate, name), self._named_crate(crate, name)]
        found = [one for one in candidates if one is not None]
        return found[0] if len(found) == 1 else None

    def _named_crate(self, crate: str, name: str) -> str | None:
        """Return the library that code of a crate means by a name."""
        package = self._package_of.get(crate)
        if package is None:
            return None
        own = self._roots.get(package.directory)
        if own == name and own != crate:
            return own
        directory = package.dependencies.get(name)
        return self._roots.get(directory) if directory is not None else None

    def _read_packages(self) -> list[Package]:
        """Return the packages of all manifests above the files, in the order of their directories."""
        manifests: dict[str, Mapping[str, object]] = {}
        seen: set[str] = set()
        for path in sorted(self._paths):
            directory = posixpath.dirname(path)
            while directory not in seen:
                seen.add(directory)
                text = self._view.text_of(posixpath.join(directory, "Cargo.toml"))
                table = read_toml(text) if text is not None else None
                if table is not None:
                    manifests[directory] = table
                directory = posixpath.dirname(directory)
        found = []
        for directory in sorted(manifests):
            root = _workspace_of(directory, manifests)
            package = read_package(manifests[directory], directory, manifests[root], root, self._paths)
            if package is not None:
                found.append(package)
        return found

    def _add_crate(
        self, crate: str, package: Package, target: Target, declarations: dict[str, list[ModuleDeclaration]]
    ) -> None:
        """Follow the declarations of modules from the first file of a crate."""
        self._package_of[crate] = package
        if target.kind == "lib":
            self._roots[package.directory] = crate
        waiting = [(crate, target.path, True)]
        while waiting:
            module, path, is_root = waiting.pop()
            if path in self._files[module]:
                continue
            self._files[module].append(path)
            self._modules[path].append(module)
            if path not in declarations:
                declarations[path] = module_declarations(self._view.text_of(path) or "")
            for declaration in declarations[path]:
                child = _SEPARATOR.join([module, *declaration.around, declaration.name])
                file, owns_directory = self._file_of(path, declaration, is_root=is_root)
                # A module that declares itself again would never end.
                if file is not None and child.count(_SEPARATOR) < 100:
                    waiting.append((child, file, owns_directory))

    def _file_of(self, path: str, declaration: ModuleDeclaration, *, is_root: bool) -> tuple[str | None, bool]:
        """Return the file of a declared module, and whether its own modules are beside it."""
        directory, file_name = posixpath.split(path)
        owns_directory = is_root or file_name == "mod.rs"
        inner = directory if owns_directory else posixpath.join(directory, file_name.removesuffix(".rs"))
        inner = posixpath.join(inner, *declaration.around)
        if declaration.path is not None:
            base = inner if declaration.around else directory
            named = posixpath.normpath(posixpath.join(base, declaration.path))
            return (named if named in self._paths else None), True
        name = declaration.name
        candidates = [posixpath.join(inner, f"{name}.rs"), posixpath.join(inner, name, "mod.rs")]
        found = [one for one in candidates if one in self._paths]
        return (found[0] if len(found) == 1 else None), False


LINKING: Final = LinkingRules(
    build=build,
    separator=_SEPARATOR,
    imports_reach_into_types=True,
    methods_are_apart=True,
    members_may_be_outside=True,
    config_names=frozenset({"Cargo.toml"}),
    texts_make_modules=True,
)


def _crate(module: str) -> str:
    return module.partition(_SEPARATOR)[0]


def _parent(module: str) -> str | None:
    outer, separator, _ = module.rpartition(_SEPARATOR)
    return outer if separator else None


def _workspace_of(directory: str, manifests: Mapping[str, Mapping[str, object]]) -> str:
    """Return the nearest directory whose manifest has a workspace, the directory itself when there is none."""
    current = directory
    while True:
        if isinstance(manifests.get(current, {}).get("workspace"), dict):
            return current
        if not current:
            return directory
        current = posixpath.dirname(current)
