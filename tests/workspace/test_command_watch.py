"""What a shell command changed is traced to its call; calls that overlap are candidates."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.core.ids import RandomIds
from codeplane.govern.trace.records import Cause
from codeplane.workspace.command_watch import CommandWatch
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace
from support.repositories import make_repository
from support.traced import SETUP

COMMIT = (
    "echo 'committed_by_the_command = 1' >> src/file_4.py"
    " && git -c user.name=T -c user.email=t@example.invalid commit -qam x"
)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    files = {f"src/file_{i}.py": f"distinctive_line_number_{i} = {i}\nsecond_line_of_file_{i} = 1\n" for i in range(5)}
    root = make_repository(tmp_path / "repo", {**SETUP, **files})
    with open_workspace(WorkspaceRequest(root, ids=RandomIds())) as opened:
        yield opened


def _cause(workspace: Workspace, call_id: str) -> Cause:
    return Cause(
        call_id=call_id, session="s-shell", contributor="ai", tool_name="Bash", tool_origin="native", action="execute",
        now_ms=workspace.clock.now_ms(), intent="INT-001", ungated=True,
    )  # fmt: skip


def _watched(workspace: Workspace, command: str, call_id: str) -> dict[str, str]:
    watch = CommandWatch(workspace, _cause(workspace, call_id))
    watch.begin()
    subprocess.run(("sh", "-c", command), cwd=workspace.root, check=True, timeout=30)
    watch.finish()
    return {one.path: one.record.ours["change"] for one in workspace.trace.index().of_call(call_id)}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("sed -i 's/second/changed/' src/file_0.py", {"src/file_0.py": "update"}),
        ("rm src/file_1.py", {"src/file_1.py": "delete"}),
        ("mv src/file_2.py src/moved.py", {"src/moved.py": "rename"}),
        ("echo 'generated_by_a_program = 1' > new.py", {"new.py": "create"}),
        ("cat src/*.py > /dev/null", {}),
        ("touch src/file_3.py", {}),
        (COMMIT, {"src/file_4.py": "update"}),
    ],
)  # fmt: skip
def test_a_command_is_traced(workspace: Workspace, command: str, expected: dict[str, str]) -> None:
    assert _watched(workspace, command, "call_1") == expected


def test_what_was_dirty_before_is_not_the_commands(workspace: Workspace) -> None:
    place = workspace.root / "src/file_0.py"
    place.write_text(place.read_text(encoding="utf-8") + "written_by_a_person_before = 1\n", encoding="utf-8")
    _watched(workspace, "echo 'written_by_the_command_itself = 1' >> src/file_0.py", "call_1")
    owners, index = workspace.trace.owners_of("src/file_0.py", place.read_bytes())
    entries = [index.entry(one.number) if one.number > 0 else None for one in owners]
    assert [one is not None and not one.record.is_outside for one in entries] == [False, False, False, True]
    assert entries[-1] is not None
    assert entries[-1].record.ours["ungated"] is True


def test_calls_that_overlap_are_candidates(workspace: Workspace) -> None:
    first, second = (CommandWatch(workspace, _cause(workspace, name)) for name in ("call_1", "call_2"))
    first.begin()
    second.begin()
    (workspace.root / "src/file_0.py").write_text("written_by_one_of_two_calls = 1\n", encoding="utf-8")
    first.finish()
    second.finish()
    found = [one.record.ours["candidates"] for one in workspace.trace.index().every()]
    assert found[0] == ["call_1", "call_2"]
    owners, index = workspace.trace.owners_of("src/file_0.py", (workspace.root / "src/file_0.py").read_bytes())
    entry = index.entry(owners[0].number)
    assert entry is not None
    assert entry.intent is None
