"""Lines of the trace that are not committed survive what git operations do to the file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.core.ids import RandomIds
from codeplane.govern.trace.files import TRACE_FILE
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace
from support.doors import call, result_of
from support.governed import approve
from support.repositories import git, make_repository
from support.traced import SETUP


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    root = make_repository(tmp_path / "repo", {**SETUP, "a.py": "first = 1\n", "b.py": "first = 1\n"})
    git(root, "branch", "other")
    git(root, "config", "user.name", "Test")
    git(root, "config", "user.email", "test@example.invalid")
    with open_workspace(WorkspaceRequest(root, ids=RandomIds())) as workspace:
        yield Door(workspace, OPERATIONS)


def _edit(door: Door, path: str, text: str) -> None:
    result_of(call(door, "select_active_intent", {"intent_id": "INT-001"}))
    edit = {"path": path, "expected_content": "first", "new_content": f"{text}\nfirst"}
    result_of(call(door, "write_source", {"edits": [edit]}))


CALLS = {
    "checkout": ("git_checkout", {"ref": "other"}),
    "stash": ("git_stash", {"action": "push"}),
    "hard reset": ("git_reset", {"mode": "hard", "ref": "HEAD"}),
    "rebase": ("git_rebase", {"action": "start", "upstream": "other"}),
    "merge": ("git_merge", {"ref": "other"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_uncommitted_lines_are_there_after(name: str, door: Door) -> None:
    root = door.workspace.root
    # Both branches have a trace of their own.
    _edit(door, "a.py", "value_of_the_main_branch = 1")
    git(root, "commit", "--quiet", "--all", "-m", "main")
    main = git(root, "branch", "--show-current").strip()
    git(root, "checkout", "--quiet", "other")
    _edit(door, "b.py", "value_of_the_other_branch = 1")
    git(root, "commit", "--quiet", "--all", "-m", "other")
    git(root, "checkout", "--quiet", main)
    _edit(door, "a.py", "value_that_is_not_committed = 1")
    if name != "stash":
        git(root, "commit", "--quiet", "--only", "a.py", "-m", "without the trace")
    operation, arguments = CALLS[name]
    answer = call(door, operation, arguments)
    if answer.error is not None and answer.error.error == "APPROVAL_PENDING":
        approve(door.workspace, answer.error.details["hold_id"])
        answer = call(door, operation, arguments)
    result_of(answer)
    text = (root / TRACE_FILE).read_text(encoding="utf-8")
    assert f'"call_id":"{_last_call(door)}"' in text
    report = door.workspace.trace.verify()
    assert report.problems == []


def _last_call(door: Door) -> str:
    return door.workspace.trace.index().every()[-1].call_id
