"""Fixtures that every test may use."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.core.clock import ManualClock
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace
from support.doors import open_test_workspace
from support.repositories import make_repository

# A job in the background ignores Ctrl-C, and so would every program that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SAMPLE_FILES: dict[str, str | bytes] = {
    "README.md": "# Sample\n\nA repository for tests.\n",
    "src/app.py": "".join(f"line_{i} = {i}\n" for i in range(1, 31)),
    "src/pkg/mod.py": "def mod():\n    return 1\n",
    "docs/guide.md": "one\ntwo\nthree\n",
}


# Modules that start git or other programs for nearly every test, or try many inputs: `make check` leaves them out.
SLOW_MODULES = frozenset(
    {
        "test_budgets",
        "test_check",
        "test_determinism",
        "test_differences",
        "test_escapes",
        "test_every_effect_is_judged",
        "test_forged_approvals",
        "test_forged_budgets",
        "test_git_branch",
        "test_git_checkout",
        "test_git_commit",
        "test_git_in_the_gate",
        "test_git_in_the_way",
        "test_git_merge",
        "test_git_rebase",
        "test_git_remotes",
        "test_git_reset",
        "test_git_stage",
        "test_git_stash",
        "test_git_submodule",
        "test_git_worktree",
        "test_go_bad_input",
        "test_handshake",
        "test_histories",
        "test_history",
        "test_index_attacks",
        "test_inspection",
        "test_java_bad_input",
        "test_javascript_bad_input",
        "test_python_scopes_agree_with_symtable",
        "test_refactor_apply",
        "test_refactor_move",
        "test_run_test_targets",
        "test_rust_bad_input",
        "test_scope_escapes",
        "test_search_attacks",
        "test_several_agents",
        "test_snapshots",
        "test_structure_bad_input",
        "test_symbols_bad_input",
        "test_tampering",
        "test_trace_carrying",
        "test_trace_commits",
        "test_trace_replay",
        "test_trace_verification",
        "test_trace_vertical",
        "test_undo",
    }
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of slow modules."""
    for item in items:
        if item.path.stem in SLOW_MODULES:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def isolated_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test away from the user's own files and settings."""
    home = tmp_path_factory.mktemp("home")
    # With `CI` set, files that git does not track would not be indexed.
    for name in [name for name in os.environ if name.startswith(("CODEPLANE__", "GIT_")) or name == "CI"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for variable, directory in {
        "XDG_CONFIG_HOME": "config",
        "XDG_STATE_HOME": "state",
        "XDG_DATA_HOME": "data",
        "XDG_CACHE_HOME": "cache",
        "XDG_RUNTIME_DIR": "run",
    }.items():
        (home / directory).mkdir()
        monkeypatch.setenv(variable, str(home / directory))


@pytest.fixture(scope="session")
def repo_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository to copy, because making one starts several processes."""
    return make_repository(tmp_path_factory.mktemp("template") / "repo", SAMPLE_FILES)


@pytest.fixture
def repo(tmp_path: Path, repo_template: Path) -> Path:
    """Return a real repository with one commit."""
    return Path(shutil.copytree(repo_template, tmp_path / "repo"))


@pytest.fixture
def clock() -> ManualClock:
    """Return the clock of the `workspace` fixture."""
    return ManualClock()


@pytest.fixture
def workspace(repo: Path, clock: ManualClock) -> Iterator[Workspace]:
    """Return an open workspace of `repo`."""
    with open_test_workspace(repo, clock=clock) as opened:
        yield opened


@pytest.fixture
def door(workspace: Workspace) -> Door:
    """Return the door of `workspace` with every operation."""
    return Door(workspace, OPERATIONS)
