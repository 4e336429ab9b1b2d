"""The words of test runs: runners, targets, cases and reports."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from codeplane.testrun.coverage import Measured

DEFAULT_TIMEOUT_SEC: Final = 30.0


class Outcome(Enum):
    """How one test ended; an ERROR is a failure outside of the test itself, such as in its collection."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"

    @property
    def is_bad(self) -> bool:
        """Tell whether the test did not pass."""
        return self in {Outcome.FAILED, Outcome.ERROR}


@dataclass(frozen=True, slots=True)
class Case:
    """One test as a report tells it.

    `place` is its file, absolute or from the directory of the run; empty when the report does not say. `owner` is the
    argument of the target it belongs to, where the report tells that instead of the file.
    """

    name: str
    outcome: Outcome
    place: str = ""
    line: int | None = None
    text: str = ""
    exception_type: str = ""
    seconds: float = 0.0
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a run told: its cases, and the place of the target that was at work when the report broke off."""

    cases: tuple[Case, ...] = ()
    is_whole: bool = True
    at_work: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """What a run left: output, report file, and the directory that it ran in."""

    stdout: str
    stderr: str
    report: Path
    directory: Path
    started_ns: int = 0


@dataclass(frozen=True, slots=True)
class Marker:
    """A file that says which runner a directory uses; `contains` is an expression that its text must match.

    With `is_root` the runner starts in its directory; otherwise in that of another marker or manifest above.
    """

    name: str
    contains: str = ""
    is_high: bool = True
    is_root: bool = True


@dataclass(frozen=True, slots=True)
class Source:
    """A file that may hold tests: its path, the directory of its runner, and a way to read it."""

    path: str
    root: str
    text: Callable[[], str]

    @property
    def inside(self) -> str:
        """Return the path from the runner's directory."""
        return self.path if self.root == "." else self.path.removeprefix(f"{self.root}/")


@dataclass(frozen=True, slots=True)
class Named:
    """What a runner calls the target of a file: its id, the file or directory it covers, and its argument."""

    target_id: str
    path: str
    argument: str


def by_file(source: Source) -> Named | None:
    """Return the file itself as target."""
    argument = source.inside
    return Named(source.path, source.path, f"./{argument}" if argument.startswith("-") else argument)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a program is looked for: `found` are its words once `path` exists, or once `on_path` is on the PATH.

    `path` is looked for in the runner's directory and those above it, up to the repository's root. `beside` is a file
    that must be there too.
    """

    found: tuple[str, ...]
    path: str = ""
    on_path: str = ""
    beside: str = ""


@dataclass(frozen=True, slots=True)
class Measuring:
    """How a runner measures coverage: words before the targets, variables, and the parser of what it leaves.

    `{coverage}` is a directory for it, `{scope}` the measured directories, joined by `joins`. They are absolute, or,
    with `begins` before each, relative to the runner's directory; `whole` is then the scope of everything.
    `needs` is a file or directory that the project must have, `lacking` says so. The parser takes the directory and the
    one that the runner ran in.
    """

    parse: Callable[[Path, Path], Measured]
    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    begins: str = ""
    joins: str = ","
    whole: str = ""
    needs: str = ""
    lacking: str = ""


@dataclass(frozen=True, slots=True)
class Runner:
    """One test runner, as data.

    `files` is an expression for the paths of its test files; `uses` one that a file must contain, and that lets
    this runner win over others; with `must_use` files that do not contain it are left to others. `files_setting`
    finds the globs of test files in the text of a marker. `reporting` are the words that make it write its report;
    commands of the project's own get them too. `command` has placeholders: `{program}`, `{reporting}` and
    `{targets}` become several words; `{report}`, `{timeout}`, `{joined}`, `{probes}` and `{directory}` are texts.
    `each` precedes every target. `choose` turns names of single tests into arguments; without it their whole file
    is run. `is_alone` says that one process runs all targets of a directory, on several cores by itself. `is_live`
    says that its report grows while it runs. `no_tests` are exit codes that mean that there was nothing to run.
    `startup_seconds` is the time it may take before its first test. `measuring` says how it measures coverage.
    """

    name: str
    languages: tuple[str, ...]
    files: str
    places: tuple[Place, ...]
    command: tuple[str, ...]
    parse: Callable[[Finished], Report]
    reporting: tuple[str, ...] = ()
    markers: tuple[Marker, ...] = ()
    manifests: tuple[str, ...] = ()
    files_setting: str = ""
    uses: str = ""
    must_use: bool = False
    identify: Callable[[Source], Named | None] = by_file
    choose: Callable[[str, Sequence[str]], tuple[str, ...]] | None = None
    each: tuple[str, ...] = ()
    stop_early: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    no_tests: frozenset[int] = frozenset()
    is_alone: bool = False
    is_live: bool = False
    takes_one: bool = False
    startup_seconds: float = 30.0
    measuring: Measuring | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """The smallest unit that is run: a file, a package or a project, with its runner.

    `root` is the directory the runner starts in, `argument` how the runner calls the target, `names` the single tests
    chosen in it. `command` replaces the runner's own; `{path}` in it becomes the path.
    """

    target_id: str
    runner: str
    language: str
    path: str
    root: str
    argument: str
    kind: str = "unit"
    cost: float = 1.0
    names: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    timeout_sec: float | None = None
