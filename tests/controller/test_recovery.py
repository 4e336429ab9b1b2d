"""What goes wrong while a plan is carried out: checks, foreign changes, new plans, and processes that die."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.ids import RandomIds
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace
from support.doors import open_test_workspace
from support.forks import run_forked
from support.planner import PATCH, RATES, RATES_FILES, TARGET, Planner, commit_node, recipe, with_node
from support.repositories import git, make_repository

WRONG = [{**PATCH[0], "replace": "round(amount / 12, 2)"}]
RIGHT = [{"type": "replace_text", "find": "round(amount / 12, 2)", "replace": "round(amount / 12, 4)"}]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = make_repository(tmp_path / "rates", RATES_FILES)
    git(made, "config", "user.name", "Ada")
    git(made, "config", "user.email", "ada@example.org")
    return made


@pytest.fixture
def workspace(root: Path) -> Iterator[Workspace]:
    with open_test_workspace(root, ids=RandomIds()) as opened:
        yield opened


@pytest.fixture
def planner(workspace: Workspace) -> Planner:
    return Planner(Door(workspace, OPERATIONS))


def _check_change(planner: Planner) -> dict[str, Any]:
    result: dict[str, Any] = planner.turn("run_automation_recipe", recipe("n1", hookIds=["h1"]))["result"]
    return result


def test_the_hook_of_a_change_leaves_the_change_finished_and_its_check_valid(planner: Planner) -> None:
    planner.accepted()
    planner.patch()
    assert _check_change(planner)["nodeFinished"]
    assert planner.validate()["result"]["validationOutcome"] == "passed"
    assert _check_change(planner)["nodeFinished"]
    assert planner.commit()["denyReasons"] == []


def test_a_change_is_finished_again_when_its_hook_passes_after_a_failure(
    planner: Planner, workspace: Workspace
) -> None:
    planner.accepted()
    planner.patch()
    test = workspace.root / "tests/test_rates.py"
    right = test.read_text(encoding="utf-8")
    test.write_text(right.replace("0.0833", "7"), encoding="utf-8")
    assert _check_change(planner)["validationOutcome"] == "failed"
    test.write_text(right, encoding="utf-8")
    assert _check_change(planner)["nodeFinished"]
    assert planner.validate()["denyReasons"] == []


def test_the_hook_of_a_change_does_not_replace_its_patch(planner: Planner, workspace: Workspace) -> None:
    planner.accepted()
    (workspace.root / "tests/test_rates.py").write_text("def test_nothing():\n    pass\n", encoding="utf-8")
    result = _check_change(planner)
    assert (result["validationOutcome"], result["nodeFinished"]) == ("passed", False)
    assert planner.validate()["denyReasons"] == ["PLAN_SCOPE_VIOLATION"]


def test_bytes_that_nobody_checked_are_not_committed(planner: Planner, workspace: Workspace) -> None:
    planner.accepted()
    planner.patch()
    planner.validate()
    head = git(workspace.root, "rev-parse", "HEAD")
    with (workspace.root / TARGET).open("a", encoding="utf-8") as file:
        file.write("EXTRA = 1\n")
    assert planner.commit()["denyReasons"] == ["EXEC_SIDE_EFFECT_COLLISION"]
    assert planner.details() == ["content_drift"]
    assert git(workspace.root, "rev-parse", "HEAD") == head


def test_a_new_plan_mends_what_the_last_one_got_wrong(planner: Planner) -> None:
    planner.accepted()
    planner.patch(edits=WRONG)
    assert planner.validate()["result"]["validationOutcome"] == "failed"
    intent = {"summary": "Round to four decimals instead of two.", "anchors": [{"text": "round(amount / 12, 2)"}]}
    planner.accepted(editIntent=intent)
    assert planner.patch(edits=RIGHT)["denyReasons"] == []
    assert planner.validate()["result"]["validationOutcome"] == "passed"
    assert planner.commit()["denyReasons"] == []


def _with_new_gate(planner: Planner, plan: dict[str, Any]) -> dict[str, Any]:
    """Return the plan for the tree as it is now, with another gate for the commit."""
    envelope = planner.result("list_scoped_files")["planEnvelope"]
    gate = commit_node("n3", ["n2"], commitGateId="gate-2", atomicityBoundary="effect:gate-2")
    return {**plan, **envelope, "knowledgeStrategyId": plan["knowledgeStrategyId"], "nodes": [*plan["nodes"][:2], gate]}


def test_a_finished_node_stays_finished_in_a_new_plan(planner: Planner, workspace: Workspace) -> None:
    plan = planner.accepted()
    planner.patch()
    planner.result("submit_execution_plan", planGraph=_with_new_gate(planner, plan))
    assert planner.validate()["result"]["validationOutcome"] == "passed"
    assert planner.commit()["denyReasons"] == []
    assert git(workspace.root, "status", "--porcelain", "-uno").strip() == ""


def test_a_finished_node_whose_file_changed_is_judged_again(planner: Planner, workspace: Workspace) -> None:
    plan = planner.accepted()
    planner.patch()
    with (workspace.root / TARGET).open("a", encoding="utf-8") as file:
        file.write("EXTRA = 1\n")
    codes = planner.codes("submit_execution_plan", planGraph=_with_new_gate(planner, plan))
    assert codes == ["PLAN_EVIDENCE_INSUFFICIENT", "PLAN_WEAK_MODEL_AMBIGUOUS"]


def test_another_node_cannot_use_the_evidence_of_a_finished_one(planner: Planner) -> None:
    plan = planner.accepted()
    planner.patch()
    changed = with_node(_with_new_gate(planner, plan), 0, whyThisFile="Another reason to look at this file.")
    assert "PLAN_EVIDENCE_INSUFFICIENT" in planner.codes("submit_execution_plan", planGraph=changed)


@pytest.mark.parametrize("program", ["/bin/true", "/usr/bin/echo", " true"])
def test_a_program_that_proves_nothing_is_weak_at_any_place(planner: Planner, program: str) -> None:
    hook = {"hookId": "h2", "kind": "assertion", "command": [program, "x"]}
    plan = with_node(planner.plan(), 1, verificationHooks=[hook])
    assert planner.codes("submit_execution_plan", planGraph=plan) == ["PLAN_VERIFICATION_WEAK"]


_DIE = """
import os, signal, sys
from pathlib import Path
from codeplane.controller.turn_work import TurnWork
from codeplane.core.ids import RandomIds
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import open_test_workspace
from support.planner import Planner

root, step, operation, when = sys.argv[1:]
original = TurnWork.call

def call(turn, name, /, **arguments):
    if name == operation and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = original(turn, name, **arguments)
    if name == operation:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

TurnWork.call = call
with open_test_workspace(Path(root), ids=RandomIds()) as workspace:
    getattr(Planner(Door(workspace, OPERATIONS)), step)()
"""


def _die(root: Path, step: str, operation: str, when: str) -> None:
    tests = str(Path(__file__).parents[1])
    program = f"import sys; sys.path.insert(0, {tests!r})\n{_DIE}"
    assert run_forked([sys.executable, "-c", program, str(root), step, operation, when]).returncode < 0


@pytest.mark.slow
@pytest.mark.parametrize(("when", "state"), [("before", "pending"), ("after", "finished")])
def test_a_patch_that_was_cut_off_is_told_and_the_run_goes_on(root: Path, when: str, state: str) -> None:
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        Planner(Door(workspace, OPERATIONS)).accepted()
    _die(root, "patch", "write_source", when)
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        planner = Planner(Door(workspace, OPERATIONS))
        told = planner.turn("list_available_verbs")["result"]["interrupted"]
        assert [(one["planNodeId"], one["state"]) for one in told] == [("n1", state)]
        assert "interrupted" not in planner.turn("list_available_verbs")["result"]
        if state == "pending":
            assert (root / TARGET).read_text(encoding="utf-8") == RATES
            assert planner.patch()["denyReasons"] == []
        assert planner.validate()["result"]["validationOutcome"] == "passed"
        assert planner.commit()["denyReasons"] == []


@pytest.mark.slow
@pytest.mark.parametrize(("when", "n_commits"), [("before", 1), ("after", 2)])
def test_a_commit_that_was_cut_off_does_not_happen_twice_and_has_a_way_out(
    root: Path, when: str, n_commits: int
) -> None:
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        planner = Planner(Door(workspace, OPERATIONS))
        plan = planner.accepted()
        planner.patch()
        planner.validate()
    _die(root, "commit", "git_commit", when)
    assert len(git(root, "rev-list", "HEAD").split()) == n_commits
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        planner = Planner(Door(workspace, OPERATIONS))
        told = planner.commit()
        assert planner.details() == ["gate_used"]
        assert "commitGateId" in told["suggestedAction"]["reason"]
        planner.result("submit_execution_plan", planGraph=_with_new_gate(planner, plan))
        again = planner.commit()
        assert ("error" in again["result"]) == (when == "after")
    assert len(git(root, "rev-list", "HEAD").split()) == 2


def test_two_hooks_with_one_id_are_refused_because_only_one_would_run(planner: Planner) -> None:
    plan = planner.plan()
    weak = {"hookId": "h2", "kind": "assertion", "command": ["git", "status"]}
    second = {**plan["nodes"][1], "nodeId": "n4", "atomicityBoundary": "check:status", "verificationHooks": [weak]}
    ambiguous = {**plan, "nodes": [*plan["nodes"], second]}
    assert planner.codes("submit_execution_plan", planGraph=ambiguous) == ["PLAN_VERIFICATION_WEAK"]
    assert planner.details() == ["hook_ambiguous"]


_BODY = '    """Return the rate."""\n    return round(amount / 12, 1)'
_LINES = [{"type": "replace_text", "find": _BODY, "replace": "    rate = amount / 12\n    return round(rate, 4)"}]
_ENCODED = {
    "a byte order mark": b"\xef\xbb\xbf" + RATES.encode(),
    "CRLF": RATES.encode().replace(b"\n", b"\r\n"),
    "no line end at the end": RATES.rstrip("\n").encode(),
}


@pytest.mark.parametrize("name", _ENCODED)
def test_a_patch_changes_its_lines_and_no_other_byte(planner: Planner, workspace: Workspace, name: str) -> None:
    before = _ENCODED[name]
    (workspace.root / TARGET).write_bytes(before)
    planner.accepted()
    assert planner.patch(edits=_LINES)["denyReasons"] == []
    end = b"\r\n" if name == "CRLF" else b"\n"
    old, new = (str(_LINES[0][one]).encode().replace(b"\n", end) for one in ("find", "replace"))
    assert (workspace.root / TARGET).read_bytes() == before.replace(old, new)
