"""Small projects with tests of their own, and what a run of them told."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from codeplane.core.ids import RandomIds
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, open_test_workspace, result_of
from support.repositories import make_repository

NO_CACHE = "[pytest]\naddopts = -p no:cacheprovider\n"
# The plugins of this environment are of no use in small suites, and slow.
NO_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
IGNORED = ".venv\n__pycache__\n.pytest_cache\n"


@contextmanager
def suite(root: Path, files: Mapping[str, str], overrides: tuple[str, ...] = ()) -> Iterator[Door]:
    """Open a repository with these files; its environment is the one that runs this test."""
    make_repository(root, {".gitignore": IGNORED, **files})
    (root / ".venv").symlink_to(sys.prefix)
    with open_test_workspace(root, ids=RandomIds(), overrides=overrides) as workspace:
        yield Door(workspace, OPERATIONS)


def run(door: Door, **arguments: Any) -> dict[str, Any]:
    """Run tests and return the result."""
    return result_of(call(door, "run_test_targets", arguments))


def run_all(door: Door, **arguments: Any) -> dict[str, Any]:
    """Run all tests of the repository."""
    return run(door, target_filter=["."], **arguments)


def counts(result: Mapping[str, Any]) -> dict[str, int]:
    """Return how many tests ended in which way."""
    return {name: result[name] for name in ("passed", "failed", "errors", "skipped") if result[name]}
