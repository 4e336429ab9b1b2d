"""The order in which answers show files: code, tests, examples, documentation and data, vendored code."""

import re
from functools import lru_cache
from typing import Final

_PROSE: Final = frozenset(
    {"markdown", "rst", "text", "json", "yaml", "toml", "xml", "ini", "html", "css", "unknown"}
)  # fmt: skip
_EXAMPLES: Final = frozenset({"example", "examples", "sample", "samples", "demo", "demos"})
_VENDORED: Final = frozenset({"vendor", "vendored", "_vendor", "third_party", "node_modules"})
_TEST_MARKS: Final = ("test/", "tests/", "testing/", "spec/", "__tests__/", "test_", "_test.", ".test.", ".spec.")

# So many paths, and whether they are tests, are remembered: an edit asks about all of them.
_MAX_KEPT_PATHS: Final = 100_000
_TEST_FILE: Final = re.compile(
    r"(?:^|/)(?:test_[^/]*\.pyw?|[^/]*_tests?\.(?:py|go|rb|exs|c|cc|cpp|rs|lua|sh)|tests?\.py"
    r"|[^/]*\.(?:test|spec)\.(?:[cm]?[jt]sx?|vue)|[^/]*(?:Test|Tests|Spec|IT)\.(?:java|kt|scala|cs|php|swift|groovy)"
    r"|[^/]*_spec\.rb|[^/]*Spec\.hs|__tests__/[^/]*\.[cm]?[jt]sx?)$"
)


@lru_cache(maxsize=32_768)
def file_rank(path: str, language: str) -> int:
    """Return 0 for code, 1 for tests, 2 for examples, 3 for documentation and data, 4 for vendored code."""
    folders = path.lower().split("/")[:-1]
    if not _VENDORED.isdisjoint(folders):
        return 4
    if language in _PROSE:
        return 3
    return 2 if not _EXAMPLES.isdisjoint(folders) else int(is_test_path(path))


def is_test_path(path: str) -> bool:
    """Tell whether a path looks like a test or what tests need."""
    lowered = path.lower()
    return any(mark in lowered for mark in _TEST_MARKS)


@lru_cache(maxsize=_MAX_KEPT_PATHS)
def is_test_file(path: str) -> bool:
    """Tell whether a path is that of a file that holds tests."""
    return _TEST_FILE.search(path) is not None
