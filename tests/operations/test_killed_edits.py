"""A process that edits is killed at some instant: the next one finds the tree whole and the ledger true."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from codeplane.core.hashing import sha256_bytes
from codeplane.ledger.chain import RowFilter
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace
from support.doors import call, result_of
from support.forks import started_python
from support.repositories import make_repository

N_FILES = 8
N_KILLS = 2 * int(os.environ.get("CODEPLANE_SOAK", "1"))

_CHILD = """
import sys
from pathlib import Path
from codeplane.core.callers import Caller, CallerKind
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace

root = Path(sys.argv[1])
door = Door(open_workspace(WorkspaceRequest(root)), OPERATIONS)
caller = Caller(CallerKind.AGENT, "test", "c", "pytest", None)
version = int((root / "f0.txt").read_text().split()[1])
while True:
    edits = []
    for number in range(int(sys.argv[2])):
        old, new = f"version {version}\\n", f"version {version + 1}\\n"
        edits.append({"path": f"f{number}.txt", "expected_content": old, "new_content": new})
    edits.append({"path": f"made/{version}.txt", "action": "create", "content": f"{version}\\n"})
    answer = dispatch(door, "write_source", {"edits": edits}, caller)
    assert answer.error is None, answer.error
    version += 1
    print(version, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(N_KILLS))
def test_a_killed_process_leaves_no_mixed_tree_and_no_change_without_a_row(tmp_path: Path, seed: int) -> None:
    files: dict[str, str | bytes] = {f"f{number}.txt": "version 0\n" for number in range(N_FILES)}
    root = make_repository(tmp_path / "repo", files)
    chance = random.Random(seed)
    for _ in range(3):
        argv = [sys.executable, "-c", _CHILD, str(root), str(N_FILES)]
        with started_python(argv, stdout=subprocess.PIPE, start_new_session=True) as child:
            assert child.stdout is not None
            child.stdout.readline()
            # The instant is what is tried; nothing depends on how far the calls came.
            time.sleep(chance.random() * 0.15)
            os.killpg(child.pid, signal.SIGKILL)
        _check(root)


def _wait_for_recovery(door: Door) -> None:
    """Call until the dead process counts as dead.

    A program that it was starting shares its open files from fork to exec, its mark of life among them, and leaves its
    process group in between, so that it may outlive the kill by an instant.
    """
    patience = time.monotonic() + 30
    result_of(call(door, "read_source", {"targets": ["f0.txt"]}))
    while door.workspace.chain.open_calls() and time.monotonic() < patience:
        time.sleep(0.01)
        result_of(call(door, "read_source", {"targets": ["f0.txt"]}))


def _check(root: Path) -> None:
    with open_workspace(WorkspaceRequest(root)) as workspace:
        door = Door(workspace, OPERATIONS)
        _wait_for_recovery(door)
        versions = {(root / f"f{number}.txt").read_text() for number in range(N_FILES)}
        assert len(versions) == 1
        version = int(versions.pop().split()[1])
        assert sorted(int(path.stem) for path in (root / "made").iterdir()) == list(range(version))
        left = [path for path in root.rglob(".cpl-staged-*") if ".codeplane" not in path.parts]
        assert left == []
        assert workspace.chain.open_calls() == ()
        assert list(workspace.editor.records.unfinished()) == []
        assert workspace.chain.verify().first_bad_seq is None
        rows = workspace.chain.rows(RowFilter(kinds=("finished",), operation="write_source", limit=1000))
        told = {row.body["after"]["f0.txt"] for row in rows}
        assert {sha256_bytes(b"version %d\n" % number) for number in range(1, version + 1)} <= told
