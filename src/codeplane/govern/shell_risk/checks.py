"""Test runners and checkers: they run code of the tree, and only to check it.

Each has its own list of options. Options that fix, write a report, load other configuration or another program are
missing on purpose, so that a command with one of them stays DESTRUCTIVE.
"""

import re
from types import MappingProxyType
from typing import Final

from codeplane.govern.shell_risk.options import Given, Reader, read_options, why_not_safe
from codeplane.govern.shell_risk.places import Location
from codeplane.govern.shell_risk.words import Word

_TARGETS: Final = re.compile(
    r"(?:unit|integration)?-?(?:tests?|check|checks|lint|typecheck|check-types)(?:-unit|-all)?"
)
_TASKS: Final = re.compile(r"(?::?[\w-]+)*:?(?:test|check|lint|verify|ktlintCheck|detekt)")
_PASSED_ON: Final = re.compile(
    r"-[DWA]|--(?:nocapture|ignored|include-ignored|exact|show-output|check|test-threads(?:=\d+)?)|[^-].*|-"
)
_REMOTE: Final = re.compile(r"(?:[a-z]+://|npm:|jsr:|data:|node:|file:)", re.IGNORECASE)
_SUITE: Final = re.compile(r"[\w./:-]*")


def _targets(given: Given, _standing: Location) -> str | None:
    fits = given.operands and all(_TARGETS.fullmatch(word.value) for word in given.operands)
    return None if fits else "a target that is not known to be a check"


def _tasks(given: Given, _standing: Location) -> str | None:
    fits = given.operands and all(_TASKS.fullmatch(word.value) for word in given.operands)
    return None if fits else "a task that is not known to be a check"


def _passes_on(given: Given, _standing: Location) -> str | None:
    odd = next((word.value for word in given.operands if not _PASSED_ON.fullmatch(word.value)), None)
    return None if odd is None else f"passes {odd[:40]} on"


def _needs(*names: str) -> Reader:
    """Return a checker that would write without one of these options."""

    def check(given: Given, _standing: Location) -> str | None:
        is_given = given.has(*names) and all(word.value != "false" for word in given.operands)
        return None if is_given else "writes files unless it is told to check only"

    return Reader("qvc", "pl", long=("check", "check-only", "diff", "noEmit", "quiet", "verbose", "check-formatted",
                                     "pretty", "strict", "skipLibCheck", "list-different", "color", "no-color"),
                  long_valued=("line-length", "project", "profile", "target-version"), paths=("p", "-project"),
                  check=check)  # fmt: skip


def _pytest(given: Given, _standing: Location) -> str | None:
    if not all(value.startswith("no:") for value in given.values("p")):
        return "loads a plugin by name"
    is_printed = all(value.startswith("term") for value in given.values("-cov-report"))
    return None if is_printed else "writes a coverage report"


def _formats_with_check(given: Given, _standing: Location) -> str | None:
    """What cargo hands over to rustfmt has to ask for a check, too."""
    is_check = given.has("-check") or [word.value for word in given.operands] == ["--check"]
    return None if is_check else "writes files unless it is told to check only"


_PYTEST: Final = Reader(
    "qvxslh", "kmnprW", long=(
        "lf", "last-failed", "ff", "failed-first", "nf", "sw", "stepwise", "co", "collect-only", "exitfirst", "verbose",
        "quiet", "no-header", "no-summary", "showlocals", "strict-markers", "strict-config", "strict", "no-cov",
        "fixtures", "markers", "doctest-modules", "disable-warnings"),
    long_valued=("maxfail", "tb", "durations", "durations-min", "timeout", "capture", "deselect", "ignore", "color",
                 "cov-report", "cov-fail-under", "numprocesses", "dist", "import-mode", "reruns", "verbosity"),
    long_attached=("cov",), paths=("-ignore", "-deselect"), check=_pytest,
)  # fmt: skip
_PLAIN: Final = Reader("qvh", long=("quiet", "verbose", "help", "no-color", "color"))
_UNITTEST: Final = Reader("vqfcb", "sptk", long=("verbose", "quiet", "failfast", "buffer"), paths=("s", "t"))
_CARGO: Final = Reader(
    "qv", "pjF", long=(
        "workspace", "all", "all-features", "no-default-features", "all-targets", "lib", "bins", "tests", "examples",
        "benches", "doc", "release", "quiet", "verbose", "no-run", "no-fail-fast", "locked", "offline", "frozen",
        "keep-going"),
    long_valued=("package", "features", "test", "bin", "example", "bench", "jobs", "exclude", "profile",
                 "message-format", "color"),
    first_path=-1, check=_passes_on,
)  # fmt: skip
_GO: Final = Reader(
    whole=True, long=("v", "race", "short", "cover", "failfast", "benchmem", "json", "x", "n", "a"), long_valued=(
        "run", "bench", "count", "timeout", "tags", "parallel", "p", "shuffle", "skip", "list", "covermode", "coverpkg",
        "cpu", "vet", "benchtime"),
)  # fmt: skip
_ESLINT: Final = Reader(
    "", "f", long=("quiet", "no-color", "color", "no-cache", "no-error-on-unmatched-pattern", "debug",
                   "no-eslintrc", "no-inline-config", "report-unused-disable-directives"),
    long_valued=("ext", "max-warnings", "ignore-pattern", "rule", "format"),
)  # fmt: skip
_JEST: Final = Reader(
    "io", "t", long=("ci", "runInBand", "bail", "verbose", "silent", "passWithNoTests", "no-cache", "listTests",
                       "detectOpenHandles", "forceExit", "onlyChanged",  "no-coverage"),
    long_valued=("testNamePattern", "testPathPattern", "maxWorkers", "testTimeout"), long_attached=("coverage",),
    check=lambda given, _: None if all(one == "false" for one in given.values("-coverage"))
    and not any(name == "-coverage" and value is None for name, value in given.options) else "writes a coverage report",
)  # fmt: skip
_VITEST: Final = Reader(
    "", "t", long=("run", "no-watch", "silent", "passWithNoTests"), long_valued=(
        "testNamePattern", "bail", "testTimeout", "pool", "maxWorkers", "project"), long_attached=("reporter",),
)  # fmt: skip
_MOCHA: Final = Reader("bcC", "gft", long=("bail", "exit", "no-color", "forbid-only", "recursive"),
                       long_valued=("grep", "timeout", "reporter"))  # fmt: skip
_RUFF: Final = Reader(
    "qvse", long=("quiet", "silent", "verbose", "no-fix", "no-cache", "preview", "isolated", "statistics", "diff",
                  "show-files", "exit-zero", "show-source"),
    long_valued=("select", "ignore", "extend-select", "extend-ignore", "line-length", "target-version",
                 "output-format", "exclude"),
)  # fmt: skip
_MYPY: Final = Reader(
    "vV", "pm", long=(
        "strict", "verbose", "no-error-summary", "show-error-codes", "pretty", "no-incremental",
        "ignore-missing-imports",
        "no-color-output", "show-column-numbers", "namespace-packages", "explicit-package-bases",
        "check-untyped-defs", "disallow-untyped-defs", "warn-unused-ignores", "no-strict-optional"),
    long_valued=("python-version", "platform", "follow-imports", "exclude", "package", "module"),
)  # fmt: skip
_MAKE: Final = Reader("ksnB", "", "j", long=("keep-going", "silent", "no-print-directory", "dry-run"),
                      long_attached=("jobs",), first_path=-1, check=_targets)  # fmt: skip
_MAVEN: Final = Reader(
    "qoBeXT", long=("quiet", "offline", "batch-mode", "errors", "no-transfer-progress", "fail-at-end"), first_path=-1,
    check=lambda given, _: None if given.operands and all(word.value in {"test", "verify"} for word in given.operands)
    else "a goal that is not known to be a check",
)  # fmt: skip
_GRADLE: Final = Reader("qiswS", long=("quiet", "info", "stacktrace", "continue", "offline", "no-daemon", "rerun-tasks",
                                       "parallel"), long_valued=("tests", "console"), first_path=-1,
                         check=_tasks)  # fmt: skip
_DOTNET: Final = Reader("", "cfv", long=("no-build", "no-restore", "nologo"), long_valued=(
    "filter", "configuration", "framework", "verbosity"))  # fmt: skip
_RSPEC: Final = Reader("bcfp", "et", long=("fail-fast", "color", "no-color", "dry-run", "profile", "only-failures",
                                          "next-failure"),
                        long_valued=("example", "tag", "seed", "format", "order"))  # fmt: skip
_MIX: Final = Reader(long=("trace", "failed", "stale", "cover", "warnings-as-errors", "strict", "check-formatted"),
                     long_valued=("only", "exclude", "include", "seed", "max-failures", "timeout"))  # fmt: skip
_CTEST: Final = Reader("VQN", "RELEIjC", long=(
    "output-on-failure", "verbose", "progress", "rerun-failed", "stop-on-failure", "show-only", "no-tests=error"),
    long_valued=("test-dir", "timeout", "parallel", "build-config"), paths=("-test-dir",), max_operands=0)  # fmt: skip
_SWIFT: Final = Reader("vq", "c", long=("parallel", "verbose", "quiet", "skip-build", "enable-code-coverage"),
                       long_valued=("filter", "skip", "configuration"), max_operands=0)  # fmt: skip
_PHPUNIT: Final = Reader("vh", "", long=("testdox", "stop-on-failure", "verbose", "no-coverage", "do-not-cache-result"),
                         long_valued=("filter", "testsuite", "group", "exclude-group", "colors"))  # fmt: skip
_DENO: Final = Reader("qA", "", long=("quiet", "allow-all", "allow-read", "allow-env", "no-check", "parallel",
                                      "fail-fast", "no-run", "all"), long_valued=("filter",),
                       long_attached=("allow-read", "allow-env"))  # fmt: skip
_LINTER: Final = Reader("qvrj", "fSiexl", long=("quiet", "verbose", "statistics", "recursive", "strict", "parallel",
                                               "fail-fast"),
                        long_valued=("format", "severity", "exclude", "max-line-length", "select", "ignore", "disable",
                                     "enable", "rcfile", "only"), paths=("-rcfile",))  # fmt: skip
_GOLANGCI: Final = Reader("v", "", long=("fast", "verbose", "new", "no-config", "tests"), long_valued=(
    "timeout", "enable", "disable", "new-from-rev", "max-issues-per-linter", "max-same-issues"))  # fmt: skip
_TOX: Final = Reader("qv", "e", long=("quiet", "verbose"), max_operands=0)
_BAZEL: Final = Reader(long=("keep_going",), long_valued=("test_output", "test_filter", "config"), first_path=-1,
                       check=lambda given, _: None if all(_SUITE.fullmatch(one.value) for one in given.operands)
                       else "a target that is not plain")  # fmt: skip

# First words of a check, and the options that leave it one.
CHECKS: Final = MappingProxyType(
    {
        ("pytest",): _PYTEST, ("py.test",): _PYTEST, ("unittest",): _UNITTEST, ("unittest", "discover"): _UNITTEST,
        ("doctest",): Reader("v"), ("tox",): _TOX, ("nox",): Reader("", "s", max_operands=20, first_path=-1),
        ("ruff", "check"): _RUFF, ("ruff", "format"): _needs("-check", "-diff"), ("mypy",): _MYPY,
        ("pyright",): Reader(long=("stats", "warnings", "verbose", "outputjson"),
                             long_valued=("level", "pythonversion", "pythonplatform")),
        ("flake8",): _LINTER, ("pylint",): _LINTER, ("bandit",): Reader("rqvli", "x"), ("yamllint",): _LINTER,
        ("black",): _needs("-check", "-diff"), ("isort",): _needs("c", "-check", "-check-only", "-diff"),
        ("go", "test"): _GO, ("go", "vet"): _GO, ("golangci-lint", "run"): _GOLANGCI, ("staticcheck",): _PLAIN,
        ("cargo", "test"): _CARGO, ("cargo", "check"): _CARGO, ("cargo", "clippy"): _CARGO,
        ("cargo", "nextest", "run"): _CARGO,
        ("cargo", "fmt"): Reader("q", "p", long=("check", "all"), first_path=-1, check=_formats_with_check),
        ("tsc",): _needs("-noEmit"), ("eslint",): _ESLINT, ("prettier",): _needs("c", "-check", "-list-different"),
        ("biome", "check"): _PLAIN, ("biome", "lint"): _PLAIN, ("biome", "ci"): _PLAIN, ("jest",): _JEST,
        ("vitest", "run"): _VITEST, ("mocha",): _MOCHA, ("ava",): _PLAIN, ("stylelint",): _PLAIN,
        ("playwright", "test"): Reader("x", "g", long=("list",), long_valued=("grep", "project", "workers", "retries")),
        ("deno", "test"): _DENO, ("deno", "lint"): Reader("q", long=("quiet", "json")), ("deno", "check"): _DENO,
        ("deno", "task", "test"): Reader(max_operands=0), ("deno", "task", "lint"): Reader(max_operands=0),
        ("bun", "test"): Reader("", "t", long_valued=("timeout", "bail")), ("composer", "test"): Reader(max_operands=0),
        ("node", "--test"): Reader(long_valued=("test-name-pattern", "test-reporter", "test-concurrency")),
        ("make",): _MAKE, ("gmake",): _MAKE, ("mvn",): _MAVEN, ("./mvnw",): _MAVEN, ("gradle",): _GRADLE,
        ("./gradlew",): _GRADLE, ("dotnet", "test"): _DOTNET, ("rspec",): _RSPEC, ("rubocop",): _LINTER,
        ("rake", "test"): Reader(max_operands=0), ("phpunit",): _PHPUNIT, ("vendor/bin/phpunit",): _PHPUNIT,
        ("./vendor/bin/phpunit",): _PHPUNIT, ("mix", "test"): _MIX, ("mix", "credo"): _MIX,
        ("mix", "format"): _needs("-check-formatted"), ("ctest",): _CTEST, ("swift", "test"): _SWIFT,
        ("zig", "build", "test"): Reader(max_operands=0), ("sbt", "test"): Reader(max_operands=0),
        ("stack", "test"): _PLAIN, ("cabal", "test"): _PLAIN, ("dune", "test"): _PLAIN, ("bats",): Reader("rtp"),
        ("shellcheck",): Reader("xaC", "sSfe"), ("hadolint",): _PLAIN,
        ("terraform", "validate"): Reader(max_operands=0),
        ("terraform", "fmt", "-check"): Reader(whole=True, long=("recursive", "diff")), ("bazel", "test"): _BAZEL,
        ("meson", "test"): Reader("v", "C", paths=("C",)), ("flutter", "test"): _PLAIN, ("dart", "test"): _PLAIN,
        ("dart", "analyze"): _PLAIN, ("lein", "test"): Reader(max_operands=0),
    }
)  # fmt: skip
_LONGEST: Final = max(len(words) for words in CHECKS)
_SCRIPT_TOOLS: Final = frozenset(
    {"jest", "vitest", "mocha", "ava", "eslint", "tsc", "prettier", "biome", "stylelint", "playwright"}
)
_PYTHON_TOOLS: Final = frozenset({"pytest", "ruff", "mypy", "pyright", "flake8", "pylint", "black", "isort", "bandit"})
_MODULES: Final = _PYTHON_TOOLS | {"unittest", "doctest"}
# Words that start another program, and the programs they may start.
_LAUNCHERS: Final = (
    (("npx",), _SCRIPT_TOOLS), (("bunx",), _SCRIPT_TOOLS), (("pnpm", "exec"), _SCRIPT_TOOLS),
    (("yarn",), _SCRIPT_TOOLS - {"biome"}), (("uv", "run"), _PYTHON_TOOLS), (("poetry", "run"), _PYTHON_TOOLS),
    (("pdm", "run"), _PYTHON_TOOLS), (("bundle", "exec"), frozenset({"rspec", "rubocop", "rake"})),
    (("coverage", "run", "-m"), frozenset({"pytest", "unittest"})), (("python", "-m"), _MODULES),
    (("python3", "-m"), _MODULES), (("uv", "run", "python", "-m"), _MODULES),
)  # fmt: skip
_ONLY_AS_MODULES: Final = frozenset({"unittest", "doctest"})


def find_check(words: list[Word]) -> tuple[Reader, list[Word]] | None:
    """Return the options of a check and the words behind its name; None when the command is not a check."""
    values = [word.value if word.is_static else "" for word in words]
    launched = False
    for prefix, programs in sorted(_LAUNCHERS, key=lambda one: -len(one[0])):
        n_words = len(prefix)
        if tuple(values[:n_words]) == prefix and len(values) > n_words and values[n_words] in programs:
            words, values, launched = words[n_words:], values[n_words:], True
            break
    if not values or (values[0] in _ONLY_AS_MODULES and not launched):
        return None
    for length in range(min(_LONGEST, len(values)), 0, -1):
        reader = CHECKS.get(tuple(values[:length]))
        if reader is not None:
            return reader, words[length:]
    return None


def why_not_check(words: list[Word], location: Location) -> str | None:
    """Return what speaks against calling a command a check; the empty text when it is not a check at all."""
    found = find_check(words)
    if found is None:
        return ""
    reader, rest = found
    reason = why_not_safe(reader, rest, location) or _why_not_values(reader, rest)
    return reason if reason is None else reason.replace("options that only read", "options that only check")


def _why_not_values(reader: Reader, words: list[Word]) -> str | None:
    """Values of options and operands name no code outside of the tree: reporters, formatters, remote modules."""
    given = read_options(reader, words)
    if isinstance(given, str):
        return given
    values = [value for _, value in given.options if value is not None]
    if any(value.startswith("/") or ".." in value.split("/") for value in values):
        return "an option names something outside the repository"
    if any(_REMOTE.match(word.value) for word in given.operands) or any(_REMOTE.match(value) for value in values):
        return "may load code that is not part of the repository"
    return None
