"""Read `package.json`: what a package is called, and which file each of its entries means."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import yaml

from codeplane.languages.javascript.jsonc import Json, JsonObject, as_object, as_texts, read_object
from codeplane.languages.javascript.places import Places, join, normal

# Entries without `exports`, the most telling first: types are written by hand or built from the source of the rest.
_ENTRY_FIELDS: Final = ("source", "types", "typings", "module", "main")
# Conditions under which another file may be meant than the one that TypeScript and Node take.
_SPECIAL_CONDITIONS: Final = frozenset(
    {"browser", "bun", "deno", "edge-light", "electron", "react-native", "workerd", "worker", "style", "sass", "svelte"}
)
# What `exports` may offer besides modules.
_NOT_CODE: Final = frozenset({"css", "json", "scss", "svg", "wasm"})


@dataclass(frozen=True, slots=True)
class Package:
    """A `package.json` and its directory."""

    directory: str
    json: JsonObject

    @property
    def name(self) -> str:
        """Return the name under which others import it, empty when it has none."""
        name = self.json.get("name")
        return name if isinstance(name, str) else ""


class Packages:
    """The packages of a repository.

    Invariant: a name means a package only to itself and to members of the same workspace, and only if one package
    there has the name.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._read: dict[str, Package | None] = {}
        self._members: dict[str, dict[str, list[Package]]] = {}

    def at(self, directory: str) -> Package | None:
        """Return the package of exactly this directory."""
        if directory not in self._read:
            text = self._places.text_of(join(directory, "package.json"))
            self._read[directory] = Package(directory, read_object(text)) if text is not None else None
        return self._read[directory]

    def around(self, directory: str) -> Iterator[Package]:
        """Return the packages that a directory lies in, the nearest first."""
        while True:
            package = self.at(directory)
            if package is not None:
                yield package
            if not directory:
                return
            directory = directory.rpartition("/")[0]

    def named(self, directory: str, name: str) -> Package | None:
        """Return the package that a name means in a directory."""
        own = next((package for package in self.around(directory) if package.name), None)
        if own is not None and own.name == name:
            return own
        for package in self.around(directory):
            if self._patterns(package.directory):
                members = self._members_of(package.directory)
                found = members.get(name, [])
                is_member = own is None or own.directory == package.directory or own in members.get(own.name, [])
                return found[0] if len(found) == 1 and is_member else None
        return None

    def entry(self, package: Package, subpath: str, *, is_typed: bool) -> str | None:
        """Return the file that a package gives under a path below its name, empty for the package itself."""
        exports = package.json.get("exports")
        if exports is not None:
            return self._target(package, _matching(exports, f"./{subpath}" if subpath else "."), is_typed=is_typed)
        if subpath:
            inner = normal(join(package.directory, subpath))
            return self.file_or_directory(inner, is_typed=is_typed) if inner is not None else None
        for field in _ENTRY_FIELDS:
            target = package.json.get(field)
            if isinstance(target, str):
                found = self._file(package, target, is_typed=is_typed)
                if found is not None:
                    return found
        return self._places.index_of(package.directory, is_typed=is_typed)

    def entries(self, package: Package) -> tuple[list[tuple[str, str]], list[str]]:
        """Return what others can import from a package, as written and as file, and the entries without a file.

        A private package offers only what it declares.
        """
        exports = package.json.get("exports")
        name = package.name or package.directory or "."
        if exports is None:
            declared = [field for field in _ENTRY_FIELDS if isinstance(package.json.get(field), str)]
            if not declared and (package.json.get("private") is True or not package.name):
                return [], []
            entry = self.entry(package, "", is_typed=True)
            return ([(name, entry)], []) if entry is not None else ([], [name] if declared else [])
        found: dict[str, str] = {}
        missing = []
        for subpath in _subpaths(exports):
            entry = None if "*" in subpath else self.entry(package, subpath[2:], is_typed=True)
            if "*" in subpath:
                fitting = self._fitting(package, subpath)
                found.update({key: path for key, path in fitting.items() if not _is_closed(exports, key)})
            elif entry is not None:
                found[subpath] = entry
            elif subpath.rpartition(".")[2] not in _NOT_CODE:
                missing.append(name + subpath.removeprefix("."))
        return [(name + subpath.removeprefix("."), path) for subpath, path in found.items()], missing

    def _fitting(self, package: Package, pattern: str) -> dict[str, str]:
        """Return the files that a pattern of `exports` offers, by the path that is written to import them."""
        exports = package.json.get("exports")
        targets = _leaves(exports[pattern], "*") if isinstance(exports, dict) else []
        for target in targets:
            found = self._places.sources_below(package.directory, target) if target.startswith("./") else {}
            if found:
                return {pattern.replace("*", middle): path for middle, path in found.items()}
        return {}

    def imported(self, directory: str, source: str, *, is_typed: bool) -> str | None:
        """Return the file that a name with `#` means, by the `imports` of the package around."""
        package = next(self.around(directory), None)
        if package is None:
            return None
        return self._target(package, _matching(package.json.get("imports"), source), is_typed=is_typed)

    def file_or_directory(self, path: str, *, is_typed: bool) -> str | None:
        """Return the file that a path means, which may be the entry or the index of a directory."""
        found = self._places.file_at(path, is_typed=is_typed) if path else None
        if found is not None or path not in self._places.directories:
            return found
        package = self.at(path)
        for field in _ENTRY_FIELDS if package is not None else ():
            target = package.json.get(field) if package is not None else None
            if package is not None and isinstance(target, str):
                found = self._file(package, target, is_typed=is_typed)
                if found is not None:
                    return found
        return self._places.index_of(path, is_typed=is_typed)

    def _target(self, package: Package, targets: list[str], *, is_typed: bool) -> str | None:
        for target in targets:
            if target.startswith("./"):
                found = self._file(package, target, is_typed=is_typed)
                if found is not None:
                    return found
        return None

    def _file(self, package: Package, target: str, *, is_typed: bool) -> str | None:
        path = normal(join(package.directory, target))
        if path is None:
            return None
        found = self._places.file_at(path, is_typed=is_typed) or self._places.index_of(path, is_typed=is_typed)
        return found or self._places.source_of(package.directory, path)

    def _members_of(self, root: str) -> dict[str, list[Package]]:
        """Return the packages of the workspace whose root is given, by name."""
        if root not in self._members:
            found: dict[str, list[Package]] = {}
            patterns = self._patterns(root)
            for directory in sorted(self._places.directories):
                inside = _inside(root, directory)
                if inside is None or not (inside == "" or _is_matched(inside, patterns)):
                    continue
                package = self.at(directory)
                if package is not None and package.name:
                    found.setdefault(package.name, []).append(package)
            self._members[root] = found
        return self._members[root]

    def _patterns(self, directory: str) -> tuple[str, ...]:
        """Return the globs of the workspace whose root a directory is, none when it is not a root."""
        package = self.at(directory)
        workspaces = package.json.get("workspaces") if package is not None else None
        if isinstance(workspaces, dict):
            workspaces = workspaces.get("packages")
        patterns = as_texts(workspaces)
        return patterns or _pnpm_patterns(self._places.text_of(join(directory, "pnpm-workspace.yaml")))


def split_name(source: str) -> tuple[str, str]:
    """Return the package name at the start of an import source, and the path below it."""
    parts = source.split("/", 2 if source.startswith("@") else 1)
    n_parts = 2 if source.startswith("@") else 1
    return "/".join(parts[:n_parts]), "/".join(parts[n_parts:])


def _matching(table: Json, subpath: str) -> list[str]:
    """Return the targets that `exports` or `imports` give a path, in the order in which they are to be tried."""
    if not isinstance(table, dict) or not any(key.startswith((".", "#")) for key in table):
        return _leaves(table, "") if subpath == "." else []
    if subpath in table:
        return _leaves(table[subpath], "")
    best, middle = "", ""
    for key in table:
        before, star, after = key.partition("*")
        if not star or not subpath.startswith(before) or not subpath.endswith(after):
            continue
        if len(subpath) >= len(before) + len(after) and len(before) > len(best.partition("*")[0]):
            best, middle = key, subpath[len(before) : len(subpath) - len(after)]
    return _leaves(table[best], middle) if best else []


def _leaves(target: Json, middle: str) -> list[str]:
    """Return the paths in a target with its conditions, those of special environments last."""
    found: list[str] = []
    special: list[str] = []
    waiting: list[tuple[Json, bool]] = [(target, False)]
    while waiting:
        value, is_special = waiting.pop()
        if isinstance(value, str):
            (special if is_special else found).append(value.replace("*", middle))
        elif isinstance(value, list):
            waiting.extend((one, is_special) for one in reversed(value))
        else:
            conditions = as_object(value)
            waiting.extend((conditions[key], is_special or key in _SPECIAL_CONDITIONS) for key in reversed(conditions))
    return found or special


def _subpaths(exports: Json) -> list[str]:
    """Return the paths that `exports` offers; one that is closed by null is not among them."""
    if not isinstance(exports, dict) or not any(key.startswith(".") for key in exports):
        return ["."] if exports else []
    return [key for key, target in exports.items() if target is not None]


def _is_closed(exports: Json, subpath: str) -> bool:
    """Tell whether `exports` offers a path by a pattern and closes it by a longer one."""
    return not _matching(exports, subpath)


def _pnpm_patterns(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return ()
    packages = value.get("packages") if isinstance(value, dict) else None
    return tuple(one for one in packages if isinstance(one, str)) if isinstance(packages, list) else ()


def _inside(root: str, directory: str) -> str | None:
    """Return a directory relative to another that it lies in, None when it does not."""
    if not root:
        return directory
    if directory == root:
        return ""
    return directory[len(root) + 1 :] if directory.startswith(f"{root}/") else None


def _is_matched(directory: str, patterns: tuple[str, ...]) -> bool:
    """Say whether workspace globs name a directory; one that starts with `!` takes away."""
    is_matched = False
    for pattern in patterns:
        is_negative = pattern.startswith("!")
        glob = pattern.removeprefix("!").removeprefix("./").rstrip("/")
        if _as_regex(glob).fullmatch(directory):
            is_matched = not is_negative
    return is_matched


def _as_regex(glob: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|/\*\*|\*\*|\*)", glob)
    meanings = {"**/": "(?:[^/]+/)*", "/**": "(?:/[^/]+)*", "**": ".*", "*": "[^/]*"}
    return re.compile("".join(meanings.get(part, re.escape(part)) for part in parts))
