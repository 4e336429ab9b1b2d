"""Several processes change the same files: no update is lost, and whoever is refused is told why and by whom."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.hashing import sha256_bytes
from codeplane.ledger.chain import RowFilter
from codeplane.operations.answer import Answer
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace
from support.doors import call, open_test_workspace
from support.effort import repeated
from support.forks import started_python
from support.repositories import make_repository, write

N_PROCESSES = 4
N_EDITS = repeated(24)
N_FILES = 2
# What somebody may be answered who was not fast enough; he looks again and tries again.
LATE = {"add": "STALE_FILE", "own": "", "count": "CONTENT_NOT_FOUND"}

_CHILD = """
import sys
from pathlib import Path
from operations.test_shared_files import edit_shared_files
edit_shared_files(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
"""


def edit_shared_files(root: Path, number: int, report: Path) -> None:
    """Make edits until enough were acknowledged; leave a report of them and of every refusal.

    In turn a line of its own is added at the end of a file whose hash was read before, its own line is changed
    wherever it stands by now, and a number that everybody counts up is counted up.
    """
    caller = Caller(CallerKind.AGENT, "test", f"c{number}", "pytest", None)
    told: list[dict[str, Any]] = []
    with open_workspace(WorkspaceRequest(root, ("tasks.max_mutations=1000000",))) as workspace:
        door = Door(workspace, OPERATIONS)
        for turn in range(N_EDITS):
            is_done = False
            while not is_done:
                path = f"shared{(turn + number) % N_FILES}.txt"
                kind, edit = _edit(root / path, number, turn)
                answer = dispatch(door, "write_source", {"edits": [{"path": path, **edit}]}, caller)
                is_done = answer.error is None
                error = answer.error.as_dict() if answer.error is not None else None
                told.append({"path": path, "kind": kind, "turn": turn, "error": error, "session": answer.meta.session})
                if error is not None and error["error"] != LATE[kind]:
                    raise AssertionError(error)
    report.write_text(json.dumps(told))


def _edit(file: Path, number: int, turn: int) -> tuple[str, dict[str, Any]]:
    data = file.read_bytes()
    if turn % 3 == 0:
        line = data.count(b"\n") + 1
        added = {"start_line": line, "end_line": line - 1, "new_content": f"process {number} turn {turn}\n"}
        return "add", {**added, "expected_file_sha256": sha256_bytes(data)}
    lines = data.decode().splitlines()
    if turn % 3 == 1:
        own = next(line for line in lines if line.startswith(f"own {number} "))
        return "own", {"expected_content": own, "new_content": f"own {number} = {turn}"}
    count = next(line for line in lines if line.startswith("count "))
    return "count", {"expected_content": count, "new_content": f"count = {int(count.split()[-1]) + 1}"}


@pytest.mark.slow
def test_no_update_of_processes_that_share_files_is_lost_and_every_refusal_explains_itself(tmp_path: Path) -> None:
    own = "".join(f"own {number} = -1\n" for number in range(N_PROCESSES))
    files: dict[str, str | bytes] = {f"shared{number}.txt": f"count = 0\n{own}" for number in range(N_FILES)}
    root = make_repository(tmp_path / "repo", files)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    reports = [tmp_path / f"{number}.json" for number in range(N_PROCESSES)]
    children = [
        started_python([sys.executable, "-c", _CHILD, str(root), str(number), str(report)], env=environment)
        for number, report in enumerate(reports)
    ]
    assert [child.wait() for child in children] == [0] * N_PROCESSES
    told = [json.loads(report.read_text()) for report in reports]
    done = [[one for one in calls if one["error"] is None] for calls in told]
    assert [len(calls) for calls in done] == [N_EDITS] * N_PROCESSES
    for number in range(N_FILES):
        _check_file(root / f"shared{number}.txt", done)
    _check_refusals(told)
    _check_ledger(root, sum(map(len, done)))
    assert [path.name for path in root.iterdir() if path.name.startswith(".cpl-")] == []


def _check_file(file: Path, done: list[list[dict[str, Any]]]) -> None:
    """Every acknowledged edit is in the file, and nothing else is."""
    lines = file.read_text().splitlines()
    here = [(number, one) for number, calls in enumerate(done) for one in calls if one["path"] == file.name]
    n_counted = sum(one["kind"] == "count" for _, one in here)
    newest = {number: one["turn"] for number, one in here if one["kind"] == "own"}
    own = [f"own {number} = {newest.get(number, -1)}" for number in range(N_PROCESSES)]
    added = [f"process {number} turn {one['turn']}" for number, one in here if one["kind"] == "add"]
    assert lines[: 1 + N_PROCESSES] == [f"count = {n_counted}", *own]
    assert sorted(lines[1 + N_PROCESSES :]) == sorted(added)


def _check_refusals(told: list[list[dict[str, Any]]]) -> None:
    sessions = {calls[0]["session"] for calls in told}
    refused = [one for calls in told for one in calls if one["error"] is not None]
    # Otherwise they did not meet.
    assert refused
    for one in refused:
        details = one["error"]["details"]
        shown = details["current"] if one["kind"] == "add" else details["candidates"]
        assert shown[0]["text"], one
        who = details["changed_by"]
        assert who["session"] in sessions - {one["session"]}, one
        assert who["task"], one
        assert who["time"], one
        assert who["session"] in one["error"]["message"], one


def test_a_refusal_names_a_writer_whose_call_has_not_ended_yet(repo: Path) -> None:
    """The files are in place some time before the row is: the index is brought up to date in between."""
    write(repo, {"a.txt": "one\n"})
    late: list[Answer] = []

    def meanwhile(step: str) -> None:
        if step == "work" and not late:
            edit = {"path": "a.txt", "expected_file_sha256": sha256_bytes(b"one\n"), "new_content": "three\n"}
            late.append(call(Door(workspace, OPERATIONS), "write_source", {"edits": [edit]}, connection="c2"))

    with open_test_workspace(repo) as workspace:
        edit = {"path": "a.txt", "expected_content": "one", "new_content": "two"}
        first = call(Door(workspace, OPERATIONS, meanwhile), "write_source", {"edits": [edit]}, connection="c1")
    assert late[0].error is not None
    assert late[0].error.error == "STALE_FILE"
    assert late[0].error.details["changed_by"]["session"] == first.meta.session


def _check_ledger(root: Path, n_done: int) -> None:
    with open_workspace(WorkspaceRequest(root)) as workspace:
        assert workspace.chain.open_calls() == ()
        assert workspace.chain.verify().first_bad_seq is None
        rows = workspace.chain.rows(RowFilter(kinds=("finished",), operation="write_source", limit=10 * n_done))
        assert len(rows) == n_done
        assert list(workspace.editor.records.unfinished()) == []
