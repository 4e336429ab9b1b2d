"""Whole runs of the controller through the door: the sequences that the contract lists."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.ids import RandomIds
from codeplane.memory.records import listed
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace
from support.doors import call, open_test_workspace, person, result_of
from support.planner import PATCH, RATES, RATES_FILES, TARGET, Planner, recipe, with_node
from support.repositories import git, make_repository


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def workspace(tmp_path: Path, clock: ManualClock) -> Iterator[Workspace]:
    root = make_repository(tmp_path / "rates", RATES_FILES)
    git(root, "config", "user.name", "Ada")
    git(root, "config", "user.email", "ada@example.org")
    with open_test_workspace(root, clock=clock) as opened:
        yield opened


@pytest.fixture
def planner(workspace: Workspace) -> Planner:
    return Planner(Door(workspace, OPERATIONS))


def _other(planner: Planner, run_id: str, work_id: str) -> Planner:
    return Planner(planner.door, run_id, work_id, f"c-{run_id}")


def test_a_patch_before_a_plan_is_denied_and_a_plan_is_suggested(planner: Planner) -> None:
    response = planner.patch()
    assert (response["state"], response["denyReasons"]) == ("PLAN_REQUIRED", ["PLAN_SCOPE_VIOLATION"])
    assert response["suggestedAction"]["verb"] == "submit_execution_plan"


def test_a_missing_argument_suggests_the_same_verb(planner: Planner) -> None:
    response = planner.turn("read_file_lines", {})
    assert response["denyReasons"] == ["PLAN_MISSING_REQUIRED_FIELDS"]
    assert response["suggestedAction"]["verb"] == "read_file_lines"


def test_a_plan_is_carried_out_and_committed_with_exactly_its_file(planner: Planner, workspace: Workspace) -> None:
    (workspace.root / "src/billing/notes.txt").write_text("staged by somebody else\n", encoding="utf-8")
    git(workspace.root, "add", "src/billing/notes.txt")
    accepted = planner.accepted()
    assert planner.last["state"] == "PLAN_ACCEPTED"
    assert accepted["planFingerprint"].startswith("sha256:")
    assert planner.patch()["denyReasons"] == []
    assert planner.last["state"] == "EXECUTION_ENABLED"
    assert planner.validate()["result"]["validationOutcome"] == "passed"
    committed = planner.commit()
    assert "error" not in committed["result"], committed["result"]
    assert git(workspace.root, "show", "--name-only", "--format=%s", "HEAD").strip().split("\n\n") == [
        "billing: four decimals",
        TARGET,
    ]
    again = planner.turn("execute_gated_side_effect", {"planNodeId": "n3", "sideEffectType": "git_commit"})
    assert again["denyReasons"] == ["EXEC_UNGATED_SIDE_EFFECT"]
    assert planner.details() == ["gate_used"]


def test_a_side_effect_before_its_checks_is_ungated(planner: Planner, workspace: Workspace) -> None:
    planner.accepted()
    head = git(workspace.root, "rev-parse", "HEAD")
    for node_id in ("n3", "n1"):
        args = {"planNodeId": node_id, "sideEffectType": "git_commit"}
        assert planner.codes("execute_gated_side_effect", **args) == ["EXEC_UNGATED_SIDE_EFFECT"]
    assert git(workspace.root, "rev-parse", "HEAD") == head


def test_a_failing_check_keeps_the_gate_closed(planner: Planner) -> None:
    planner.accepted()
    wrong = [{**PATCH[0], "replace": "round(amount / 12, 2)"}]
    assert planner.patch(edits=wrong)["denyReasons"] == []
    assert planner.validate()["result"]["validationOutcome"] == "failed"
    assert planner.commit()["denyReasons"] == ["EXEC_UNGATED_SIDE_EFFECT"]


def test_a_change_after_its_check_closes_the_gate(planner: Planner) -> None:
    planner.accepted()
    planner.patch()
    planner.validate()
    back = [{"type": "replace_text", "find": "round(amount / 12, 4)", "replace": "round(amount / 12, 3)"}]
    assert planner.patch(edits=back)["denyReasons"] == []
    assert planner.commit()["denyReasons"] == ["EXEC_UNGATED_SIDE_EFFECT"]
    assert planner.details() == ["check_outdated"]


def test_a_reservation_of_another_work_collides(planner: Planner, workspace: Workspace) -> None:
    planner.accepted()
    held: dict[str, object] = {
        "lease": "l1",
        "keys": [f"file:{TARGET}"],
        "workId": "w9",
        "runSessionId": "r9",
        "planNodeId": "n1",
    }
    workspace.record("reservation_taken", held)
    response = planner.patch()
    assert response["denyReasons"] == ["EXEC_SIDE_EFFECT_COLLISION"]
    assert response["result"]["violations"][0]["actual"]["workId"] == "w9"
    assert (workspace.root / TARGET).read_text(encoding="utf-8") == RATES
    workspace.record("reservation_released", {"lease": "l1"})
    assert planner.patch()["denyReasons"] == []


def test_a_file_that_somebody_edited_after_acceptance_collides(planner: Planner, workspace: Workspace) -> None:
    planner.accepted()
    (workspace.root / TARGET).write_text(RATES + "# edited\n", encoding="utf-8")
    assert planner.patch()["denyReasons"] == ["EXEC_SIDE_EFFECT_COLLISION"]
    assert planner.details() == ["content_drift"]


def test_a_rejected_plan_leaves_the_accepted_one_in_force(planner: Planner) -> None:
    plan = planner.plan()
    planner.result("submit_execution_plan", planGraph=plan)
    intent = {**plan["nodes"][0]["editIntent"], "summary": "Change the rounding as needed."}
    assert planner.codes("submit_execution_plan", planGraph=with_node(plan, 0, editIntent=intent)) == [
        "PLAN_WEAK_MODEL_AMBIGUOUS"
    ]
    assert planner.last["state"] == "PLAN_ACCEPTED"
    assert planner.patch()["denyReasons"] == []


def test_equal_plans_have_equal_fingerprints_and_packs(planner: Planner) -> None:
    plan = planner.plan()
    first = planner.result("submit_execution_plan", planGraph=plan)
    second = planner.result("submit_execution_plan", planGraph=plan)
    for name in ("planFingerprint", "contextPackHash", "contextPackRef"):
        assert first["acceptedPlan"][name] == second["acceptedPlan"][name]


def test_evidence_of_another_work_does_not_count(planner: Planner) -> None:
    foreign = _other(planner, "run9", "w9")
    evidence = foreign.read()
    plan = planner.plan()
    assert planner.codes("submit_execution_plan", planGraph=with_node(plan, 0, codeEvidence=[evidence])) == [
        "PLAN_EVIDENCE_INSUFFICIENT"
    ]


def test_evidence_that_was_never_read_does_not_count(planner: Planner) -> None:
    plan = planner.plan()
    invented = {**plan["nodes"][0]["codeEvidence"][0], "traceRef": "tr:run1:99"}
    assert planner.codes("submit_execution_plan", planGraph=with_node(plan, 0, codeEvidence=[invented])) == [
        "PLAN_EVIDENCE_INSUFFICIENT"
    ]


def test_forged_evidence_on_disk_does_not_count(planner: Planner, workspace: Workspace) -> None:
    plan = planner.plan()
    place = workspace.places.private / "work" / "w1" / "turns" / "run1"
    document = json.loads((place / "2.json").read_text(encoding="utf-8"))
    document["body"]["trace_ref"] = "tr:run1:77"
    (place / "77.json").write_text(json.dumps(document), encoding="utf-8")
    forged = {**plan["nodes"][0]["codeEvidence"][0], "traceRef": "tr:run1:77"}
    assert planner.codes("submit_execution_plan", planGraph=with_node(plan, 0, codeEvidence=[forged])) == [
        "PLAN_EVIDENCE_INSUFFICIENT"
    ]


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "src/../../x", "link/passwd", "a\\b", "./src"])
@pytest.mark.parametrize(
    ("verb", "argument", "more"),
    [
        ("read_file_lines", "targetFile", {}),
        ("list_directory_contents", "targetDir", {}),
        ("write_scratch_file", "relativePath", {"content": "x"}),
        ("apply_code_patch", "targetFile", {"planNodeId": "n1", "edits": PATCH}),
    ],
)
def test_paths_that_lead_out_are_denied(
    planner: Planner, workspace: Workspace, name: str, verb: str, argument: str, more: dict[str, Any]
) -> None:
    if name.startswith("link") and verb == "write_scratch_file":
        (workspace.places.private / "work" / "w1" / "scratch").mkdir(parents=True)
        (workspace.places.private / "work" / "w1" / "scratch" / "link").symlink_to("/etc")
    (workspace.root / "link").symlink_to("/etc")
    if verb == "apply_code_patch":
        planner.accepted()
    assert planner.codes(verb, **{argument: name}, **more) == ["PLAN_SCOPE_VIOLATION"]


def test_a_budget_that_is_used_up_blocks_until_an_operator_raises_it(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "rates", RATES_FILES)
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        planner = Planner(Door(workspace, OPERATIONS))
        note = {"relativePath": "note.txt", "content": "x" * 40_000}
        turns = [planner.turn("write_scratch_file", note) for _ in range(6)]
        assert [one["state"] for one in turns] == ["PLAN_REQUIRED"] * 5 + ["BLOCKED_BUDGET"]
        assert turns[-1]["denyReasons"] == ["PLAN_SCOPE_VIOLATION"]
        assert planner.codes("signal_task_complete") == ["PLAN_SCOPE_VIOLATION"]
        assert planner.codes("get_original_prompt") == []
    with open_test_workspace(root, ids=RandomIds(), overrides=("controller.max_tokens=200000",)) as workspace:
        planner = Planner(Door(workspace, OPERATIONS))
        assert planner.turn("list_scoped_files", {})["state"] == "PLAN_REQUIRED"


def test_the_same_mistake_in_three_sessions_becomes_one_memory(planner: Planner, workspace: Workspace) -> None:
    for number in range(4):
        one = _other(planner, f"r{number}", f"w{number}")
        plan = one.plan()
        intent = {**plan["nodes"][0]["editIntent"], "summary": f"Change the rounding as needed, try {number}."}
        assert one.codes("submit_execution_plan", planGraph=with_node(plan, 0, editIntent=intent)) == [
            "PLAN_WEAK_MODEL_AMBIGUOUS"
        ]
    with workspace.memory.read() as connection:
        (memory,) = listed(connection)
    assert (memory["state"], memory["enforcementType"]) == ("pending", "few_shot")
    assert (memory["rejectionCodes"], memory["domainAnchorIds"]) == (
        ["PLAN_WEAK_MODEL_AMBIGUOUS"],
        ["anchor:src/billing"],
    )


def test_a_memory_is_promoted_expires_and_may_not_be_cited_then(
    planner: Planner, workspace: Workspace, clock: ManualClock
) -> None:
    test_the_same_mistake_in_three_sessions_becomes_one_memory(planner, workspace)
    clock.advance(48 * 3600)
    plan = planner.plan()
    planner.result("submit_execution_plan", planGraph=plan)
    assert planner.result("trace_symbol_graph", symbol="monthly_rate")["fewShots"][0]["memoryId"] == "mem-1"
    clock.advance(48 * 3600)
    cited = [*plan["nodes"][0]["citations"], {"sourceType": "memory", "ref": "mem-1"}]
    assert planner.codes("submit_execution_plan", planGraph=with_node(plan, 0, citations=cited)) == [
        "MEMORY_PROVISIONAL_EXPIRED"
    ]


def test_a_memory_that_a_person_approved_counts_at_the_next_plan(planner: Planner, workspace: Workspace) -> None:
    test_the_same_mistake_in_three_sessions_becomes_one_memory(planner, workspace)
    place = workspace.root / ".orchestration/memory/overrides"
    place.mkdir(parents=True)
    (place / "a.json").write_text(
        json.dumps({"command": "approve", "memoryId": "mem-1", "by": "ada"}), encoding="utf-8"
    )
    assert call(planner.door, "review_memory", {"apply_overrides": True}, by=person()).error is None
    plan = planner.plan()
    cited = [*plan["nodes"][0]["citations"], {"sourceType": "memory", "ref": "mem-1"}]
    assert planner.codes("submit_execution_plan", planGraph=with_node(plan, 0, citations=cited)) == []
    assert planner.last["result"]["contextPack"]["activeMemories"] == ["mem-1"]


def test_a_session_survives_a_restart(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "rates", RATES_FILES)
    with open_test_workspace(root) as workspace:
        Planner(Door(workspace, OPERATIONS)).accepted()
    with open_test_workspace(root, ids=RandomIds()) as workspace:
        planner = Planner(Door(workspace, OPERATIONS))
        assert planner.turn("list_available_verbs")["state"] == "PLAN_ACCEPTED"
        assert planner.patch()["denyReasons"] == []


def test_an_older_session_file_is_refused(planner: Planner, workspace: Workspace) -> None:
    planner.accepted()
    stored = workspace.places.private / "work" / "w1" / "session" / "run1.json"
    older = stored.read_bytes()
    planner.patch()
    stored.write_bytes(older)
    response = planner.turn("list_available_verbs")
    assert response["result"]["error"]["kind"] == "session_invalid"


def test_a_changed_session_file_is_refused(planner: Planner, workspace: Workspace) -> None:
    planner.accepted()
    stored = workspace.places.private / "work" / "w1" / "session" / "run1.json"
    stored.write_text(
        stored.read_text(encoding="utf-8").replace("PLAN_ACCEPTED", "EXECUTION_ENABLED"), encoding="utf-8"
    )
    assert planner.turn("list_available_verbs")["result"]["error"]["kind"] == "session_invalid"


def test_a_session_belongs_to_one_work(planner: Planner) -> None:
    planner.start()
    planner.work_id = "w2"
    response = planner.turn("list_available_verbs")
    assert response["denyReasons"] == ["PLAN_SCOPE_VIOLATION"]
    assert planner.details() == ["work_other"]


def test_the_retrospective_counts_turns_and_rejections(planner: Planner) -> None:
    planner.start()
    planner.turn("read_file_lines", {})
    result = planner.result("signal_task_complete", summary="done")
    assert planner.last["state"] == "COMPLETED"
    assert result["sessionStats"] == {
        "totalTurns": 3,
        "totalRejections": 1,
        "verbDistribution": {"get_original_prompt": 1, "read_file_lines": 1},
        "rejectionDistribution": {"PLAN_MISSING_REQUIRED_FIELDS": 1},
    }
    assert result["frictionDigest"]["codes"] == [{"code": "PLAN_MISSING_REQUIRED_FIELDS", "n": 1}]
    assert planner.codes("read_file_lines", targetFile=TARGET) == ["PLAN_SCOPE_VIOLATION"]


def test_a_recipe_replaces_whole_words(planner: Planner, workspace: Workspace) -> None:
    planner.accepted()
    args = recipe("n1", "replace_lexeme_in_file", **{"file": TARGET, "from": "amount", "to": "sum_", "expectCount": 2})
    assert planner.turn("run_automation_recipe", args)["denyReasons"] == []
    assert "round(sum_ / 12, 1)" in (workspace.root / TARGET).read_text(encoding="utf-8")


def test_an_attempt_leaves_its_bundle(planner: Planner, workspace: Workspace) -> None:
    planner.accepted()
    planner.patch()
    place = workspace.places.private / "work" / "w1" / "artifacts" / "n1" / "1"
    assert sorted(one.name for one in place.iterdir()) == [
        "diff.summary.json",
        "op.log",
        "result.json",
        "trace.refs.json",
        "validation.json",
    ]
    summary = json.loads((place / "diff.summary.json").read_text(encoding="utf-8"))
    assert summary["files"][0] | {"beforeHash": "", "afterHash": ""} == {
        "path": TARGET,
        "added": 1,
        "removed": 1,
        "beforeHash": "",
        "afterHash": "",
    }


def test_committed_lines_lead_to_the_node_of_the_accepted_plan(planner: Planner) -> None:
    fingerprint = planner.accepted()["planFingerprint"]
    planner.patch()
    planner.validate()
    planner.commit()
    covered = result_of(call(planner.door, "verify_range", {"range": "HEAD~1..HEAD"}, by=person()))
    assert covered["ok"] is True
    assert [one["intents"] for one in covered["covered"]] == [[f"plan:{fingerprint}/n1"]]


def test_a_turn_that_showed_another_content_is_no_evidence_of_the_new_one(
    planner: Planner, workspace: Workspace
) -> None:
    planner.start()
    old = planner.read()
    (workspace.root / TARGET).write_text(RATES.replace("rate.", "monthly rate."), encoding="utf-8")
    plan = planner.plan()
    current = plan["nodes"][0]["codeEvidence"][0]["contentHash"]
    stale = {**plan["nodes"][0]["codeEvidence"][0], "traceRef": old["traceRef"], "contentHash": current}
    assert planner.codes("submit_execution_plan", planGraph=with_node(plan, 0, codeEvidence=[stale])) == [
        "PLAN_EVIDENCE_INSUFFICIENT"
    ]


def test_a_type_check_is_not_replaced_by_another_checker(planner: Planner, workspace: Workspace) -> None:
    (workspace.root / "pyproject.toml").write_text("[tool.ruff]\n", encoding="utf-8")
    hook = {"hookId": "h2", "kind": "typecheck", "command": ["mypy", "src"]}
    plan = with_node(planner.plan(), 1, verificationHooks=[hook])
    planner.result("submit_execution_plan", planGraph=plan)
    planner.patch()
    response = planner.validate()
    # The command itself is asked for, and running it needs a person or the program.
    assert response["result"].get("validationOutcome") != "passed"
