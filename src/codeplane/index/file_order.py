"""The order in which answers show files: code, then tests, then the rest."""

from functools import lru_cache
from typing import Final

_PROSE: Final = frozenset(
    {"markdown", "rst", "text", "json", "yaml", "toml", "xml", "ini", "html", "css", "unknown"}
)  # fmt: skip
_TEST_MARKS: Final = ("test/", "tests/", "testing/", "spec/", "__tests__/", "test_", "_test.", ".test.", ".spec.")


@lru_cache(maxsize=32_768)
def file_rank(path: str, language: str) -> int:
    """Return 0 for code, 1 for tests, 2 for everything else."""
    if language in _PROSE:
        return 2
    return int(is_test_path(path))


def is_test_path(path: str) -> bool:
    """Tell whether a path looks like a test or what tests need."""
    lowered = path.lower()
    return any(mark in lowered for mark in _TEST_MARKS)
