"""Read `Cargo.toml` files: which crates a package makes, and which crates of the repository it can name."""

import posixpath
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_DEPENDENCIES: Final = ("dependencies", "dev-dependencies", "build-dependencies")
# Directories whose files are crates of their own, by the table that names more of them.
_TARGET_DIRECTORIES: Final = {"bin": "src/bin", "example": "examples", "test": "tests", "bench": "benches"}
_NO_TABLE: Final[Mapping[str, object]] = {}


@dataclass(frozen=True, slots=True)
class Target:
    """A crate that a package makes: `lib`, `bin`, `example`, `test`, `bench` or `build`, and the file it starts in."""

    kind: str
    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Package:
    """A package: its directory, its crates, and the directories of the packages that its code can name.

    A dependency without a path in the repository does not count here. `is_old` says that paths of imports start at
    the root of the crate (edition 2015).
    """

    directory: str
    name: str
    targets: tuple[Target, ...]
    dependencies: dict[str, str]
    is_old: bool


def read_toml(text: str) -> Mapping[str, object] | None:
    """Return what a `Cargo.toml` says, None when it cannot be understood."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def read_package(
    table: Mapping[str, object], directory: str, shared: Mapping[str, object], root: str, paths: frozenset[str]
) -> Package | None:
    """Return the package that a manifest describes, None when it only lists members of a workspace.

    `shared` is the manifest of the workspace in the directory `root`, from which values can be inherited and which may
    put a package of the repository in the place of a published one; `paths` are the Rust files of the repository.
    """
    workspace = _table(shared, "workspace")
    package = _table(table, "package")
    name = package.get("name")
    if not isinstance(name, str):
        return None
    edition = _inherited(package.get("edition"), _table(workspace, "package").get("edition"))
    targets = tuple(_targets(table, directory, name, paths))
    is_old = edition is None or edition == "2015"
    return Package(directory, name, targets, _dependencies(table, directory, shared, root), is_old)


def crate_name(name: str) -> str:
    """Return the name of a package as code writes it."""
    return name.replace("-", "_")


def _targets(table: Mapping[str, object], directory: str, name: str, paths: frozenset[str]) -> list[Target]:
    """Return the crates of a package whose first file is there; a file that was named starts no second one."""
    found: list[Target] = []

    def add(kind: str, target: str, path: str) -> None:
        full = _inside(directory, path)
        if full in paths and all(one.path != full for one in found):
            found.append(Target(kind, crate_name(target), full or ""))

    library = _table(table, "lib")
    add("lib", _text(library, "name") or name, _text(library, "path") or "src/lib.rs")
    for kind, home in _TARGET_DIRECTORIES.items():
        for one in _tables(table, kind):
            own = _text(one, "name") or ""
            path = _text(one, "path")
            for candidate in [path] if path else [f"{home}/{own}.rs", f"{home}/{own}/main.rs", "src/main.rs"]:
                add(kind, own, candidate)
    add("bin", name, "src/main.rs")
    for kind, home in _TARGET_DIRECTORIES.items():
        prefix = posixpath.join(directory, home) + "/"
        for path in sorted(one for one in paths if one.startswith(prefix)):
            rest = path[len(prefix) :]
            if "/" not in rest:
                add(kind, rest.removesuffix(".rs"), f"{home}/{rest}")
            elif rest.count("/") == 1 and rest.endswith("/main.rs"):
                add(kind, rest.partition("/")[0], f"{home}/{rest}")
    add("build", "build", _text(_table(table, "package"), "build") or "build.rs")
    return found


def _dependencies(
    table: Mapping[str, object], directory: str, manifest: Mapping[str, object], root: str
) -> dict[str, str]:
    """Return the directories of the packages that code can name, by the names it uses."""
    shared = _table(_table(manifest, "workspace"), "dependencies")
    patches = _patches(manifest, root)
    found: dict[str, str] = {}
    places = [table, *(one for one in _table(table, "target").values() if isinstance(one, dict))]
    for place in places:
        for kind in _DEPENDENCIES:
            for name, wish in _table(place, kind).items():
                base = directory
                if isinstance(wish, dict) and wish.get("workspace") is True:
                    wish, base = shared.get(name), root  # noqa: PLW2901 - the wish is written elsewhere
                path = wish.get("path") if isinstance(wish, dict) else None
                package = wish.get("package", name) if isinstance(wish, dict) else name
                target = _inside(base, path) if isinstance(path, str) else patches.get(str(package))
                if target is not None:
                    found[crate_name(name)] = target
    return found


def _patches(manifest: Mapping[str, object], root: str) -> dict[str, str]:
    """Return the directories of the packages that replace published ones, by their names."""
    found: dict[str, str] = {}
    for source in _table(manifest, "patch").values():
        for name, wish in source.items() if isinstance(source, dict) else ():
            path = wish.get("path") if isinstance(wish, dict) else None
            target = _inside(root, path) if isinstance(path, str) else None
            if target is not None:
                found[str(wish.get("package", name))] = target
    return found


def _inherited(value: object, shared: object) -> object:
    """Return a value, or that of the workspace when it says so."""
    return shared if isinstance(value, dict) and value.get("workspace") is True else value


def _table(table: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = table.get(key)
    return value if isinstance(value, dict) else _NO_TABLE


def _tables(table: Mapping[str, object], key: str) -> list[Mapping[str, object]]:
    value = table.get(key)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(table: Mapping[str, object], key: str) -> str | None:
    value = table.get(key)
    return value if isinstance(value, str) else None


def _inside(directory: str, path: str) -> str | None:
    """Return a path relative to the repository, None when it is not inside."""
    normal = posixpath.normpath(posixpath.join(directory, path))
    if normal.startswith(("../", "/")) or normal == "..":
        return None
    return "" if normal == "." else normal
