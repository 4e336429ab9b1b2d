"""The settings of test runs."""

from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Final

from codeplane.core.settings import nested, setting
from codeplane.index.ignore_rules import matcher_for

# As in `runners/catalog.py`, which is too heavy to import wherever settings are read.
RUNNER_NAMES: Final = (
    "cargo test", "ctest", "django", "dotnet test", "go test", "gradle test", "jest", "mix test", "mocha", "mvn test",
    "node:test", "phpunit", "playwright", "pytest", "rspec", "unittest", "vitest",
)  # fmt: skip
# Shorter spellings.
ALIASES: Final = MappingProxyType(
    {"go": "go test", "cargo": "cargo test", "mvn": "mvn test", "maven": "mvn test", "gradle": "gradle test",
     "mix": "mix test", "dotnet": "dotnet test", "node": "node:test"}
)  # fmt: skip
_CHOICES: Final = ("", *RUNNER_NAMES, *ALIASES)


@dataclass(frozen=True, slots=True)
class RunnerByLanguage:
    """Which runner each language has; an empty name leaves it to markers."""

    python: str = setting("", doc="Runner of Python's tests.", choices=_CHOICES)
    javascript: str = setting("", doc="Runner of JavaScript's tests.", choices=_CHOICES)
    typescript: str = setting("", doc="Runner of TypeScript's tests.", choices=_CHOICES)
    go: str = setting("", doc="Runner of Go's tests.", choices=_CHOICES)
    rust: str = setting("", doc="Runner of Rust's tests.", choices=_CHOICES)
    java: str = setting("", doc="Runner of Java's tests.", choices=_CHOICES)
    kotlin: str = setting("", doc="Runner of Kotlin's tests.", choices=_CHOICES)
    csharp: str = setting("", doc="Runner of C#'s tests.", choices=_CHOICES)
    ruby: str = setting("", doc="Runner of Ruby's tests.", choices=_CHOICES)
    elixir: str = setting("", doc="Runner of Elixir's tests.", choices=_CHOICES)
    php: str = setting("", doc="Runner of PHP's tests.", choices=_CHOICES)

    def of(self, language: str) -> str:
        """Return the runner of a language, empty when none is set."""
        return str(getattr(self, language)) if language in {one.name for one in fields(self)} else ""


@dataclass(frozen=True, slots=True)
class CustomRunner:
    """A command of the project's own for some test files."""

    pattern: str = setting("", doc="Required. Glob of test files, as in .gitignore.")
    runner: str = setting("", doc="Whose report it writes; another name lets the exit code decide.")
    cmd: tuple[str, ...] = setting((), doc="Required. Program and arguments; `{path}` becomes the test file.")
    timeout_sec: int = setting(30, doc="How long one file may take.", minimum=1, maximum=86_400)

    def __post_init__(self) -> None:
        """Refuse what could never run."""
        try:
            matcher_for(self.pattern)
        except ValueError:
            raise ValueError(f"pattern {self.pattern!r} matches nothing") from None
        if not self.cmd or not self.cmd[0]:
            raise ValueError("cmd must name a program")

    @property
    def runner_name(self) -> str:
        """Return the full name of its runner."""
        return ALIASES.get(self.runner, self.runner) or "custom"


@dataclass(frozen=True, slots=True)
class SuiteSettings:
    """Running tests."""

    runners: RunnerByLanguage = nested(RunnerByLanguage, doc="Runners by language.")
    custom: tuple[CustomRunner, ...] = setting((), doc="Commands for files that match a pattern.")
    exclude: tuple[str, ...] = setting((), doc="Globs of files that are not tests, as in .gitignore.")
    timeout_sec: int = setting(30, doc="How long one target may take.", minimum=1, maximum=86_400)
    run_sec: int = setting(1800, doc="How long one run may take in all.", minimum=1, maximum=86_400)
