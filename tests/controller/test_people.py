"""What people see of runs, and what only they can decide."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.operations.answer import Outcome
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.command import as_text
from codeplane.operations.perform import Door
from support.doors import call, error_of, open_test_workspace, person, result_of
from support.planner import PATCH, RATES_FILES, TARGET, Planner, with_node
from support.repositories import make_repository


@pytest.fixture
def planner(tmp_path: Path) -> Iterator[Planner]:
    with open_test_workspace(make_repository(tmp_path / "rates", RATES_FILES)) as workspace:
        yield Planner(Door(workspace, OPERATIONS))


def _guarded(planner: Planner) -> dict[str, Any]:
    """Return a plan whose change rests on one source, guarded."""
    plan = with_node(
        planner.plan(),
        0,
        citations=[],
        lowEvidenceGuard=True,
        requiresHumanReview=True,
        uncertaintyNote="Only the code itself tells what is meant here.",
    )
    plan["evidencePolicy"]["allowSingleSourceWithGuard"] = True
    return plan


def _shown(planner: Planner, name: str, **arguments: Any) -> str:
    answer = call(planner.door, name, arguments, by=person())
    assert answer.result is not None, answer.error
    command = OPERATIONS[name].command
    assert command is not None
    return as_text(command.shows(answer.result))


def test_a_node_with_one_source_runs_only_after_a_person_reviewed_it(planner: Planner) -> None:
    assert planner.result("submit_execution_plan", planGraph=_guarded(planner))["needsReview"] == ["n1"]
    assert planner.patch()["denyReasons"] == ["PLAN_EVIDENCE_INSUFFICIENT"]
    assert planner.details() == ["review_missing"]
    assert "run1 waits: n1" in _shown(planner, "review_plan")
    assert error_of(call(planner.door, "review_plan", {"run": "run1"})) == "OPERATOR_TOKEN_REQUIRED"
    assert planner.patch()["denyReasons"] == ["PLAN_EVIDENCE_INSUFFICIENT"]
    assert _shown(planner, "review_plan", run="run1") == "run1: n1 approved"
    assert planner.patch()["denyReasons"] == []


def test_a_review_file_alone_grants_nothing(planner: Planner) -> None:
    planner.result("submit_execution_plan", planGraph=_guarded(planner))
    fingerprint = str(planner.last["result"]["acceptedPlan"]["planFingerprint"]).removeprefix("sha256:")
    place = planner.door.workspace.root / ".ai" / "review" / fingerprint
    place.mkdir(parents=True)
    (place / "n1.json").write_text('{"approvedBy": "me", "approvedAt": "2026-01-01"}', encoding="utf-8")
    assert planner.patch()["denyReasons"] == ["PLAN_EVIDENCE_INSUFFICIENT"]


def test_a_review_that_is_taken_back_counts_no_more(planner: Planner) -> None:
    planner.result("submit_execution_plan", planGraph=_guarded(planner))
    _shown(planner, "review_plan", run="run1")
    _shown(planner, "review_plan", run="run1", deny=True)
    assert planner.patch()["denyReasons"] == ["PLAN_EVIDENCE_INSUFFICIENT"]


def test_a_run_is_shown_as_a_tree_with_its_states(planner: Planner) -> None:
    planner.accepted()
    planner.patch()
    text = _shown(planner, "show_run", run="w1")
    assert f"n1 change {TARGET} [finished]: Round the monthly rate" in text
    assert "\n  n2 validate n1 [pending]" in text
    assert "\n    n3 side_effect git_commit [pending]" in text
    assert "EXECUTION_ENABLED" in _shown(planner, "list_runs")


def test_a_plan_is_checked_without_a_run_and_faults_are_shown_at_their_nodes(planner: Planner) -> None:
    plan = with_node(planner.plan(), 0, citations=[])
    (planner.door.workspace.root / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    answer = call(planner.door, "check_plan", {"file": "plan.json", "run": "run1"}, by=person())
    assert result_of(answer)["accepted"] is False
    text = _shown(planner, "check_plan", file="plan.json", run="run1")
    assert text.startswith("refused: PLAN_SCOPE_VIOLATION, PLAN_EVIDENCE_INSUFFICIENT")
    assert "  ! PLAN_EVIDENCE_INSUFFICIENT /nodes/0/citations" in text


def test_a_refused_plan_is_kept_in_outline_with_its_faults_at_their_nodes(planner: Planner) -> None:
    planner.read()
    bad = with_node(planner.plan(), 0, editIntent={"summary": "Change it as needed.", "anchors": [{"text": "x"}]})
    planner.turn("submit_execution_plan", {"planGraph": bad})
    found = result_of(call(planner.door, "show_run", {"run": "run1"}, by=person()))
    assert [node["id"] for node in found["tree"]] == [node["nodeId"] for node in bad["nodes"]]
    assert found["last_rejection"][0]["nodeId"] in {node["id"] for node in found["tree"]}
    assert (found.get("plan"), found["tree"][0]["summary"]) == (None, "Change it as needed.")
    text = _shown(planner, "show_run", run="run1")
    assert text.index("No plan was accepted yet.") < text.index("The last one:")


def test_an_accepted_plan_shows_its_pack(planner: Planner) -> None:
    planner.read()
    planner.result("submit_execution_plan", planGraph=planner.plan())
    found = result_of(call(planner.door, "show_run", {"run": "run1"}, by=person()))
    assert TARGET in found["pack"]["allowed"]
    assert found["pack"]["hits"]


def test_a_turn_without_a_verb_is_no_obstacle_to_analytics(planner: Planner) -> None:
    planner.turn("")
    found = result_of(call(planner.door, "controller_analytics", {}, by=person()))
    pending = result_of(call(planner.door, "list_pending_policies", {}, by=person()))
    assert (found["turns"], found["pending_corrections"], pending["corrections"]) == (1, 0, [])


def test_analytics_tell_codes_folders_and_files(planner: Planner) -> None:
    planner.read()
    planner.turn("apply_code_patch", {"planNodeId": "n1", "targetFile": TARGET, "edits": PATCH})
    found = result_of(call(planner.door, "controller_analytics", {}, by=person()))
    assert found["rejection_heatmap"] == [{"code": "PLAN_SCOPE_VIOLATION", "anchor": "anchor:src/billing", "n": 1}]
    assert found["top_rejection_signatures"] == [
        {"signature": "PLAN_SCOPE_VIOLATION|apply_code_patch|anchor:src/billing", "n": 1}
    ]
    assert found["retrieval_hotspots"] == [{"path": TARGET, "n": 1}]
    assert sum(one["n"] for one in found["rejection_trend"]) == 1


def test_an_unknown_run_is_told_what_to_do(planner: Planner) -> None:
    answer = call(planner.door, "show_run", {"run": "../x"}, by=person())
    assert answer.outcome is Outcome.FAILED
    assert error_of(answer) == "NOT_FOUND"
