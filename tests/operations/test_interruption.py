"""Kill -9 between every two steps: every begun call gets one final row, and that row tells the truth."""

import os
import signal
import sys
from pathlib import Path

import pytest

from codeplane.core.ids import RandomIds
from codeplane.ledger.chain import FINAL_KINDS, LedgerRow, RowFilter
from codeplane.operations.perform import STEPS
from codeplane.operations.recovery import recover_interrupted
from support.children import run_children
from support.doors import open_test_workspace
from support.toys import TOY_WRITE, TOY_WRITE_WITHOUT_RECOVERY

TESTS = Path(__file__).resolve().parents[1]
OPERATIONS = {operation.name: operation for operation in (TOY_WRITE, TOY_WRITE_WITHOUT_RECOVERY)}
_NAMES = [step.name for step in STEPS]
_BEGUN = _NAMES.index("append_begun")
_WRITTEN = _NAMES.index("work")
_ENDED = _NAMES.index("append_final")


@pytest.fixture(autouse=True)
def children_find_the_toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), str(TESTS.parent / "src")]))


def _toys(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "support.toys", *arguments)


def _kill_after(repo: Path, operation: str, step: str) -> None:
    (repo / "a.txt").write_text("old", encoding="utf-8")
    run_children([_toys("write", operation, str(repo), step)], repo, returncode=-signal.SIGKILL)


def _recovered_rows(repo: Path) -> list[LedgerRow]:
    with open_test_workspace(repo, ids=RandomIds()) as workspace:
        recover_interrupted(workspace, OPERATIONS)
        assert workspace.chain.open_calls() == ()
        assert workspace.chain.verify().first_bad_seq is None
        return list(reversed(workspace.chain.rows(RowFilter(kinds=("begun", *FINAL_KINDS)))))


def _expected(operation: str, position: int) -> tuple[str, str | None]:
    if position >= _ENDED:
        return "finished", None
    if position < _WRITTEN:
        return "failed", "CALL_INTERRUPTED"
    return ("finished", None) if operation == "toy_write" else ("failed", "OUTCOME_UNKNOWN")


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("step", _NAMES)
def test_a_process_killed_after_any_step_leaves_a_ledger_that_recovers_to_the_truth(
    repo: Path, operation: str, step: str
) -> None:
    _kill_after(repo, operation, step)
    position = _NAMES.index(step)
    content = (repo / "a.txt").read_text(encoding="utf-8")
    assert content == ("new" if position >= _WRITTEN else "old")
    rows = _recovered_rows(repo)
    if position < _BEGUN:
        assert rows == []
        return
    begun, final = rows
    assert (begun.kind, final.call_id) == ("begun", begun.call_id)
    assert final.kind in FINAL_KINDS
    assert (final.kind, final.body.get("error")) == _expected(operation, position)
    assert final.body.get("recovered", False) is (position < _ENDED)


@pytest.mark.slow
def test_an_unknown_outcome_names_the_files_that_changed(repo: Path) -> None:
    _kill_after(repo, "toy_write_plain", "work")
    assert _recovered_rows(repo)[-1].body["changed"] == ["a.txt"]


@pytest.mark.slow
def test_processes_that_recover_at_the_same_time_do_it_once(repo: Path) -> None:
    _kill_after(repo, "toy_write", "work")
    results = run_children([_toys("recover", str(repo)) for _ in range(4)], repo)
    assert sorted(result.stdout for result in results) == ["0", "0", "0", "1"]
    assert [row.kind for row in _recovered_rows(repo)] == ["begun", "finished"]
