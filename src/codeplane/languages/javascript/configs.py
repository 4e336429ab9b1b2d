"""Read `tsconfig.json` and `jsconfig.json`: which names of modules are paths inside of the repository."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from codeplane.languages.javascript.jsonc import JsonObject, as_object, as_texts, read_object
from codeplane.languages.javascript.packages import Packages, split_name
from codeplane.languages.javascript.places import Places, join, normal

_NAMES: Final = ("tsconfig.json", "jsconfig.json")
_MAX_EXTENDS: Final = 20


@dataclass(frozen=True, slots=True)
class PathRules:
    """What a configuration says about names of modules.

    `base` is the directory in which any name may be a path, None when there is none; `paths` gives for a pattern with
    at most one star the paths to try, from `paths_base` on, or from `root` on where they say `${configDir}`.
    """

    base: str | None = None
    paths: tuple[tuple[str, tuple[str, ...]], ...] = ()
    paths_base: str = ""
    root: str = ""

    def candidates(self, source: str) -> Iterator[str]:
        """Return the paths that a name may mean, the most certain first."""
        targets, middle = self._best(source)
        for target in targets:
            path = _place(self.paths_base, self.root, target.replace("*", middle))
            if path is not None:
                yield path
        path = normal(join(self.base, source)) if self.base is not None else None
        if path is not None:
            yield path

    def _best(self, source: str) -> tuple[tuple[str, ...], str]:
        """Return the targets of the pattern that fits a name best, and what its star matches."""
        found: tuple[tuple[str, ...], str] = ((), "")
        longest = -1
        for pattern, targets in self.paths:
            before, star, after = pattern.partition("*")
            if not star and pattern == source:
                return targets, ""
            is_fit = star and source.startswith(before) and source.endswith(after)
            if is_fit and len(source) >= len(before) + len(after) and len(before) > longest:
                longest = len(before)
                found = (targets, source[len(before) : len(source) - len(after)])
        return found


class Configs:
    """The configurations of a repository, each read once."""

    def __init__(self, places: Places, packages: Packages) -> None:
        self._places = places
        self._packages = packages
        self._rules: dict[str, PathRules] = {}

    def rules_for(self, directory: str) -> PathRules:
        """Return what holds in a directory: what its nearest configuration says."""
        passed = []
        current = directory
        while current not in self._rules:
            passed.append(current)
            path = next((join(current, name) for name in _NAMES if self._text(join(current, name)) is not None), None)
            if path is not None or not current:
                self._rules[current] = self._read(path) if path is not None else PathRules()
                break
            current = current.rpartition("/")[0]
        for one in passed:
            self._rules[one] = self._rules[current]
        return self._rules[directory]

    def _read(self, path: str) -> PathRules:
        rules = self._read_chain(path)
        if rules != PathRules():
            return rules
        # A configuration that only lists projects leaves the rules to them.
        config = read_object(self._text(path))
        references = config.get("references")
        found = set()
        for reference in references if isinstance(references, list) else ():
            inner = as_object(reference).get("path")
            target = normal(join(_directory(path), inner)) if isinstance(inner, str) else None
            if target is not None and _directory(target) == _directory(path) and target.endswith(".json"):
                found.add(self._read_chain(target))
        found.discard(PathRules())
        return found.pop() if len(found) == 1 else rules

    def _read_chain(self, path: str) -> PathRules:
        """Read a configuration and those it extends; what is nearer wins."""
        base: str | None = None
        paths: tuple[tuple[str, tuple[str, ...]], ...] | None = None
        paths_home = ""
        waiting = [path]
        for _ in range(_MAX_EXTENDS):
            if not waiting or (base is not None and paths is not None):
                break
            current = waiting.pop()
            config = read_object(self._text(current))
            options = as_object(config.get("compilerOptions"))
            own_base, own_paths = options.get("baseUrl"), options.get("paths")
            home, root = _directory(current), _directory(path)
            if base is None and isinstance(own_base, str):
                base = _place(home, root, own_base)
            if paths is None and isinstance(own_paths, dict):
                paths_home = home
                paths = tuple((key, as_texts(value)) for key, value in own_paths.items())
            waiting.extend(self._extended(config, home))
        root = _directory(path) if paths else ""
        return PathRules(base, paths or (), (base if base is not None else paths_home) if paths else "", root)

    def _extended(self, config: JsonObject, home: str) -> list[str]:
        """Return the configurations that one extends, the one that wins last."""
        found = []
        for name in as_texts(config.get("extends")):
            if name.startswith("."):
                path = normal(join(home, name))
            else:
                package_name, inner = split_name(name)
                package = self._packages.named(home, package_name)
                path = join(package.directory, inner or "tsconfig.json") if package is not None else None
            for candidate in (path, f"{path}.json", join(path or "", "tsconfig.json")) if path is not None else ():
                if candidate and self._text(candidate) is not None:
                    found.append(candidate)
                    break
        return found

    def _text(self, path: str) -> str | None:
        return self._places.text_of(path)


def _directory(path: str) -> str:
    return path.rpartition("/")[0]


def _place(home: str, root: str, written: str) -> str | None:
    if written.startswith("${configDir}"):
        return normal(join(root, "." + written.removeprefix("${configDir}")))
    return normal(join(home, written))
