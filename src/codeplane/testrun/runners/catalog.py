"""All runners, in the order in which they are asked; adding one takes one file and one line here."""

from types import MappingProxyType
from typing import Final

from codeplane.testrun.model import Runner
from codeplane.testrun.runners.cargo import CARGO
from codeplane.testrun.runners.ctest import CTEST
from codeplane.testrun.runners.django import DJANGO
from codeplane.testrun.runners.dotnet import DOTNET
from codeplane.testrun.runners.go import GO
from codeplane.testrun.runners.gradle import GRADLE
from codeplane.testrun.runners.jest import JEST
from codeplane.testrun.runners.maven import MAVEN
from codeplane.testrun.runners.mix import MIX
from codeplane.testrun.runners.mocha import MOCHA
from codeplane.testrun.runners.node import NODE
from codeplane.testrun.runners.phpunit import PHPUNIT
from codeplane.testrun.runners.playwright import PLAYWRIGHT
from codeplane.testrun.runners.pytest import PYTEST
from codeplane.testrun.runners.rspec import RSPEC
from codeplane.testrun.runners.unittest import UNITTEST
from codeplane.testrun.runners.vitest import VITEST
from codeplane.testrun.settings import ALIASES

RUNNERS: Final = (
    PYTEST, DJANGO, UNITTEST, PLAYWRIGHT, NODE, VITEST, JEST, MOCHA, GO, CARGO, MAVEN, GRADLE, DOTNET, RSPEC, MIX,
    PHPUNIT, CTEST,
)  # fmt: skip
RUNNER_BY_NAME: Final = MappingProxyType({runner.name: runner for runner in RUNNERS})

# What runs the tests of a language when no marker says it.
DEFAULTS: Final = MappingProxyType(
    {
        "python": "pytest",
        "javascript": "jest",
        "typescript": "jest",
        "tsx": "jest",
        "go": "go test",
        "rust": "cargo test",
        "java": "mvn test",
        "csharp": "dotnet test",
        "ruby": "rspec",
        "elixir": "mix test",
        "php": "phpunit",
    }
)


def find_runner(name: str) -> Runner | None:
    """Return a runner by its name or by a shorter spelling of it."""
    return RUNNER_BY_NAME.get(ALIASES.get(name, name))
