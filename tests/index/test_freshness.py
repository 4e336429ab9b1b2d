"""A question about some files waits only for those files."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.index.freshness import Freshness
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.surfaces.cli.call_command import cli_caller
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace
from support.repositories import write


@pytest.fixture
def indexed(repo: Path) -> Iterator[Workspace]:
    with open_workspace(WorkspaceRequest(repo)) as workspace:
        _settle(workspace)
        yield workspace


def _settle(workspace: Workspace) -> None:
    """Refresh as if the files had been written long before they are read."""
    workspace.index._reconciler._now_ns = lambda: 1 << 62
    workspace.index.refresh()


def test_a_file_is_fresh_until_it_changes(indexed: Workspace) -> None:
    index = indexed.index
    assert index.freshness("src/app.py") is Freshness.FRESH
    assert index.freshness("src/none.py") is Freshness.UNINDEXED
    write(indexed.root, {"src/app.py": "changed = 1\n"})
    assert index.freshness("src/app.py") is Freshness.DIRTY
    assert index.freshness("src/pkg/mod.py") is Freshness.FRESH
    _settle(indexed)
    assert index.freshness("src/app.py") is Freshness.FRESH
    (indexed.root / "src/app.py").unlink()
    assert index.freshness("src/app.py") is Freshness.DIRTY


@pytest.mark.parametrize("rules", [".cplignore", "src/.cplignore"])
def test_a_new_rule_above_a_file_makes_it_doubtful(indexed: Workspace, rules: str) -> None:
    write(indexed.root, {rules: "app.py\n"})
    assert indexed.index.freshness("src/app.py") is Freshness.DIRTY
    assert indexed.index.freshness("docs/guide.md") is (Freshness.DIRTY if "/" not in rules else Freshness.FRESH)


def test_a_file_just_written_is_doubtful_until_it_was_read_again(repo: Path) -> None:
    with open_workspace(WorkspaceRequest(repo)) as workspace:
        workspace.index.refresh()
        assert workspace.index.freshness("src/app.py") is Freshness.DIRTY


def test_a_search_in_one_file_is_answered_while_others_are_indexed(indexed: Workspace) -> None:
    door = Door(indexed, OPERATIONS)
    caller = cli_caller(indexed)
    answers: dict[str, object] = {}

    def ask(label: str, arguments: dict[str, object]) -> None:
        answers[label] = dispatch(door, "search", arguments, caller)

    write(indexed.root, {"docs/guide.md": "being indexed\n"})
    with indexed.index._reconciler._running:  # as an update that takes long
        waiting = threading.Thread(target=ask, args=("all", {"query": "being indexed"}))
        waiting.start()
        ask("one", {"query": "line_7", "scope": {"paths": ["src/app.py"]}})
        assert "line_7" in answers["one"].text()  # type: ignore[attr-defined]
        assert waiting.is_alive()
        assert "all" not in answers
    waiting.join(30)
    assert "docs/guide.md" in answers["all"].text()  # type: ignore[attr-defined]


def test_a_search_in_a_changed_file_waits_for_it(indexed: Workspace) -> None:
    door = Door(indexed, OPERATIONS)
    write(indexed.root, {"src/app.py": "brand_new = 1\n"})
    answer = dispatch(door, "search", {"query": "brand_new", "scope": {"paths": ["src/app.py"]}}, cli_caller(indexed))
    assert "brand_new = 1" in answer.text()
