"""Which test targets a repository has: by settings, then by marker files, then by language (§11.5)."""

import fnmatch
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final

from codeplane.index.file_order import file_rank
from codeplane.index.ignore_rules import matcher_for
from codeplane.testrun.environment import Program, find_own, find_program
from codeplane.testrun.model import Named, Runner, Source, Target
from codeplane.testrun.runners.catalog import DEFAULTS, RUNNERS, find_runner
from codeplane.testrun.settings import CustomRunner, SuiteSettings

_VENDORED: Final = 4
_GLOB: Final = re.compile(r"[\w*?.\[\]-]+")
_KIND: Final = re.compile(r"(?:^|[/._-])(e2e|integration|functional|acceptance)(?:[/._-])")
# Files of other languages that are targets themselves.
_PROJECT_FILES: Final = (".csproj", "CMakeLists.txt")


@dataclass(frozen=True, slots=True)
class RunnerUse:
    """A runner in a directory: why it was chosen and its program."""

    runner: str
    root: str
    found_by: str
    program: Program


@dataclass(frozen=True, slots=True)
class Discovered:
    """The targets by id, in order, and the runners they need."""

    targets: tuple[Target, ...] = ()
    uses: tuple[RunnerUse, ...] = ()

    def use_of(self, target: Target) -> RunnerUse | None:
        """Return the runner of a target."""
        return next((one for one in self.uses if (one.runner, one.root) == (target.runner, target.root)), None)

    def by_path(self) -> dict[str, list[Target]]:
        """Return the targets by the file or directory that they cover."""
        found: dict[str, list[Target]] = {}
        for one in self.targets:
            found.setdefault(one.path, []).append(one)
        return found


def covering(by_path: Mapping[str, list[Target]], path: str) -> list[Target]:
    """Return the targets that run a file: the file itself, else the nearest directory above it."""
    while path not in by_path:
        if path in {"", "."}:
            return []
        path = posixpath.dirname(path) or "."
    return by_path[path]


@dataclass(slots=True)
class Discovery:
    """Finds targets. `texts` reads a file of the index; `files` are path and language of all files."""

    root: Path
    settings: SuiteSettings
    texts: Callable[[str], str]
    files: Iterable[tuple[str, str]]
    _names: dict[str, set[str]] = field(default_factory=dict)
    _marked: dict[str, list[tuple[Runner, str]]] = field(default_factory=dict)
    _globs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _programs: dict[tuple[str, str], Program] = field(default_factory=dict)

    def find(self) -> Discovered:
        """Return all targets of the repository."""
        files = sorted(self.files)
        for path, _language in files:
            directory, name = posixpath.split(path)
            self._names.setdefault(directory, set()).add(name)
        custom = [(matcher_for(one.pattern), one) for one in self.settings.custom]
        excluded = [matcher_for(one) for one in self.settings.exclude]
        targets: dict[str, Target] = {}
        uses: dict[tuple[str, str], RunnerUse] = {}
        for path, language in files:
            if any(fits(path) for fits in excluded) or file_rank(path, language) == _VENDORED:
                continue
            own = next((one for fits, one in custom if fits(path)), None)
            found = self._custom(path, language, own) if own is not None else self._target(path, language)
            if found is not None:
                target, use = found
                targets.setdefault(target.target_id, target)
                uses.setdefault((use.runner, use.root), use)
        return Discovered(tuple(sorted(targets.values(), key=lambda one: one.target_id)), tuple(uses.values()))

    def _custom(self, path: str, language: str, own: CustomRunner) -> tuple[Target, RunnerUse]:
        name = own.runner_name
        target = Target(
            path, name, language, path, ".", path, _kind_of(path), command=own.cmd, timeout_sec=own.timeout_sec
        )
        return target, RunnerUse(name, ".", f"tests.custom {own.pattern}", find_own(self.root, own.cmd[0]))

    def _target(self, path: str, language: str) -> tuple[Target, RunnerUse] | None:
        chosen = self._runner_of(path, language)
        if chosen is None:
            return None
        runner, root, found_by = chosen
        named = self._named(runner, path, root)
        if named is None:
            return None
        spoken = language if language in runner.languages else runner.languages[0]
        kind = _kind_of(path)
        target = Target(named.target_id, runner.name, spoken, named.path, root, named.argument, kind)
        return target, RunnerUse(runner.name, root, found_by, self._program(runner, root))

    def _named(self, runner: Runner, path: str, root: str) -> Named | None:
        return runner.identify(Source(path, root, lambda: self.texts(path)))

    def _runner_of(self, path: str, language: str) -> tuple[Runner, str, str] | None:
        """Return runner, directory and reason for a file; None when it holds no tests."""
        by_name = path.endswith(_PROJECT_FILES)
        known = RUNNERS if by_name else _runners_of(language)
        fitting = [one for one in known if _files_of(one.files)(path)]
        configured = find_runner(self.settings.runners.of(language))
        if configured is not None:
            root = self._marker_root(configured, path) or self._manifest_root(configured, path)
            return (configured, root, f"tests.runners.{language}") if configured in fitting else None
        for runner in fitting:
            if runner.uses and re.search(runner.uses, self.texts(path)):
                root = self._marker_root(runner, path) or self._manifest_root(runner, path)
                return runner, root, f"used in {path}"
        return self._by_marker(path, known) or self._by_language(path, language, fitting)

    def _by_marker(self, path: str, known: Sequence[Runner]) -> tuple[Runner, str, str] | None:
        for directory in _upwards(path):
            for runner, marker in self._markers_in(directory):
                if runner in known and not runner.must_use and self._is_test(runner, path, directory, marker):
                    root = self._marker_root(runner, path) or self._manifest_root(runner, path)
                    return runner, root, posixpath.join(directory, marker)
        return None

    def _is_test(self, runner: Runner, path: str, directory: str, marker: str) -> bool:
        globs = self._given_globs(runner, posixpath.join(directory, marker)) if runner.files_setting else ()
        if globs:
            name = posixpath.basename(path)
            return path.endswith(".py") and any(fnmatch.fnmatchcase(name, one) for one in globs)
        return _files_of(runner.files)(path)

    def _given_globs(self, runner: Runner, marker: str) -> tuple[str, ...]:
        """Return the globs of test files that a marker's text sets, read once per marker."""
        if marker not in self._globs:
            given = re.search(runner.files_setting, self.texts(marker))
            self._globs[marker] = tuple(map(_as_file, _GLOB.findall(given[1]))) if given else ()
        return self._globs[marker]

    def _by_language(self, path: str, language: str, fitting: list[Runner]) -> tuple[Runner, str, str] | None:
        runner = find_runner(DEFAULTS.get(language, ""))
        if runner is None or runner not in fitting:
            return None
        if self._marker_root(runner, path) is not None:
            # Its own configuration says that this file is not a test.
            return None
        root = self._manifest_root(runner, path)
        spare = find_runner("unittest") if runner.name == "pytest" else None
        if spare is not None and not self._program(runner, root).words and self._program(spare, root).words:
            return spare, root, "default of python without pytest"
        return runner, root, f"default of {language}"

    def _markers_in(self, directory: str) -> list[tuple[Runner, str]]:
        """Return the runners that marker files of a directory name, those of high priority first."""
        if directory not in self._marked:
            names = self._names.get(directory, set())
            found = [
                (not marker.is_high, number, runner, name)
                for number, runner in enumerate(RUNNERS)
                for marker in runner.markers
                for name in (names if "*" in marker.name else {marker.name} & names)
                if fnmatch.fnmatchcase(name, marker.name)
                and (not marker.contains or re.search(marker.contains, self.texts(posixpath.join(directory, name))))
            ]
            found.sort(key=lambda one: (one[0], one[1], one[3]))
            self._marked[directory] = [(runner, name) for _, _, runner, name in found]
        return self._marked[directory]

    def _marker_root(self, runner: Runner, path: str) -> str | None:
        inner = {one.name for one in runner.markers if not one.is_root}
        for directory in _upwards(path):
            if any(one is runner and name not in inner for one, name in self._markers_in(directory)):
                return directory or "."
        return None

    def _manifest_root(self, runner: Runner, path: str) -> str:
        for directory in _upwards(path):
            if self._names.get(directory, set()) & set(runner.manifests):
                return directory or "."
        return "."

    def _program(self, runner: Runner, root: str) -> Program:
        key = (runner.name, root)
        if key not in self._programs:
            self._programs[key] = find_program(self.root, root, runner)
        return self._programs[key]


def chosen_targets(found: Discovered, wanted: Iterable[str]) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """Return the targets that a caller names, and the names that fit nothing.

    A name is a target's id, its file, a directory, a glob, or any of these with `::` and a test behind it. A directory
    that is a target itself, as a package of Go is, means also the targets below it.
    """
    chosen: dict[str, Target] = {}
    unknown = []
    exact = {**found.by_path(), **{one.target_id: [one] for one in found.targets}}
    for text in wanted:
        name, _, test = text.partition("::")
        wanted_name = name.removeprefix("./").rstrip("/") or "."
        own = exact.get(wanted_name, [])
        below = [] if own and test else _below(found, wanted_name)
        fitting = [*own, *below] or _matching(found, wanted_name)
        if not fitting and wanted_name != ".":
            unknown.append(text)
        for target in fitting:
            before = chosen.get(target.target_id)
            is_whole = not test or (before is not None and not before.names)
            names = () if is_whole else tuple(dict.fromkeys((*(before.names if before else ()), test)))
            chosen[target.target_id] = _with_names(target, names)
    return tuple(chosen.values()), tuple(unknown)


def _with_names(target: Target, names: tuple[str, ...]) -> Target:
    runner = find_runner(target.runner)
    can_choose = runner is not None and runner.choose is not None and not target.command
    return replace(target, names=names if can_choose else ())


def _below(found: Discovered, directory: str) -> list[Target]:
    return [one for one in found.targets if directory == "." or one.path.startswith(f"{directory}/")]


def _matching(found: Discovered, name: str) -> list[Target]:
    try:
        fits = matcher_for(name)
    except ValueError:
        return []
    return [one for one in found.targets if fits(one.path) or fits(one.target_id)]


def _upwards(path: str) -> Iterator[str]:
    directory = posixpath.dirname(path)
    yield directory
    while directory:
        directory = posixpath.dirname(directory)
        yield directory


@cache  # A memo of a pure function: one entry per language.
def _runners_of(language: str) -> tuple[Runner, ...]:
    return tuple(one for one in RUNNERS if language in one.languages)


@cache  # A memo of a pure function: one entry per runner.
def _files_of(expression: str) -> Callable[[str], bool]:
    compiled = re.compile(expression)
    return lambda path: compiled.search(path) is not None


def _as_file(glob: str) -> str:
    return glob if glob.endswith(".py") else f"{glob}.py" if not glob.endswith("*") else glob


def _kind_of(path: str) -> str:
    found = _KIND.search(path.lower())
    return found[1] if found else "unit"
