"""Faults that need more than one node or a special world."""

from dataclasses import replace
from typing import Any

import pytest

from codeplane.controller.scope import allowlist_ref
from codeplane.controller.verification import is_strong
from codeplane.controller.world import StoredPack
from support.plans import contract_world, judge, put

HASH = "sha256:" + "ab" * 32
SNAPSHOT = "git:1111111111111111111111111111111111111111:clean"


def test_faults_of_stages_two_to_six_are_reported_together_in_the_order_of_the_table() -> None:
    verdict = judge(
        put("/policyVersionSet", {}),
        put("/nodes/0/editIntent/summary", "Short."),
        put("/nodes/0/citations", []),
        put("/worktreeRoot", "/elsewhere"),
        put("/nodes/0/targetSymbols", ["nobody"]),
    )
    assert verdict.codes == (
        "PLAN_SCOPE_VIOLATION",
        "PLAN_EVIDENCE_INSUFFICIENT",
        "PLAN_WEAK_MODEL_AMBIGUOUS",
        "PLAN_POLICY_VIOLATION",
    )
    assert [violation.code for violation in verdict.violations] == list(verdict.codes)
    assert verdict.violations[1].pointer == "/nodes/0/citations"
    assert verdict.violations[1].node_id == "n1"


@pytest.mark.parametrize(
    ("pack", "ref", "is_current"),
    [
        (StoredPack(HASH, "w1", SNAPSHOT), "pack:w1/abababababababab", True),
        (StoredPack(HASH, "w1", SNAPSHOT), "auto", True),
        (StoredPack(HASH, "w1", SNAPSHOT), "pack:w1/0000000000000000", False),
        (StoredPack(HASH, "w2", SNAPSHOT), "auto", False),
        (StoredPack(HASH, "w1", "git:0:clean"), "auto", False),
        (StoredPack("sha256:changed", "w1", SNAPSHOT), "auto", False),
    ],
)
def test_a_named_context_pack_must_be_stored_unchanged_and_current(
    pack: StoredPack, ref: str, is_current: bool
) -> None:
    world = replace(contract_world(), packs={HASH: pack})
    verdict = judge(put("/contextPackHash", HASH), put("/contextPackRef", ref), world=world)
    assert verdict.codes == (() if is_current else ("PACK_INSUFFICIENT",))


@pytest.mark.parametrize(
    ("path", "is_allowed"),
    [
        ("src/new/module.py", True),
        (".git/hooks/pre-commit", False),
        (".codeplane/config.yaml", False),
        (".orchestration/active_intents.yaml", False),
        ("linked/inside.py", False),
        ("src/[id].py", False),
    ],
)
def test_a_new_file_is_allowed_where_files_may_be_created(path: str, is_allowed: bool) -> None:
    verdict = judge(
        put("/nodes/0/operation", "create_file"),
        put("/nodes/0/targetFile", path),
        put("/nodes/0/atomicityBoundary", f"file:{path}"),
        put("/nodes/0/targetSymbols", []),
        world=replace(contract_world(), links_outside=frozenset({"linked"}), confidence_threshold=0),
    )
    assert verdict.codes == (() if is_allowed else ("PLAN_SCOPE_VIOLATION",))


def test_a_side_effect_waits_for_the_check_of_every_change_before_it() -> None:
    verdict = judge(put("/nodes/3/dependsOn", ["n1"]))
    assert [violation.detail for violation in verdict.violations] == ["effect_before_check"]
    assert judge(put("/nodes/3/dependsOn", ["n3"])).is_accepted


def test_a_gate_serves_one_side_effect() -> None:
    second = {
        "nodeId": "n5",
        "kind": "side_effect",
        "dependsOn": ["n4"],
        "atomicityBoundary": "effect:gate-commit-1",
        "expectedFailureSignatures": [{"signature": "x"}],
        "correctionCandidateOnFail": "node:n1",
        "sideEffectType": "git_stage",
        "sideEffectPayloadRef": "scratch:x",
        "commitGateId": "gate-commit-1",
    }
    assert [one.detail for one in judge(put("/nodes/-", second)).violations] == ["gate_shared"]


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        ({"kind": "test", "command": ["pytest"]}, True),
        ({"kind": "lint", "command": ["ruff"]}, False),
        ({"kind": "recipe", "recipeId": "run_targeted_validation"}, True),
        ({"kind": "assertion"}, False),
        ({"kind": "build", "command": []}, False),
        ({"kind": "build", "command": [":"]}, False),
    ],
)
def test_a_strong_hook_can_fail(hook: dict[str, Any], expected: bool) -> None:
    assert is_strong(hook) is expected


@pytest.mark.parametrize(
    "criteria",
    [
        {"type": "exit_code", "equals": 0},
        {"type": "output_regex", "pattern": "[0-9]+ passed"},
        {"type": "json_pointer", "pointer": "/summary/failed", "equals": None},
    ],
)
def test_criteria_that_a_program_can_check_are_accepted(criteria: dict[str, Any]) -> None:
    assert judge(put("/nodes/1/successCriteria", criteria)).is_accepted


@pytest.mark.parametrize("summary", ["Reconsider the rounding rule in tests.", "Fix the etcd address parser here."])
def test_a_hedge_inside_a_longer_word_is_no_hedge(summary: str) -> None:
    assert judge(put("/nodes/0/editIntent/summary", summary)).is_accepted


@pytest.mark.parametrize(
    "summary", ["Round it If  Needed, then stop.", "Fix rates and/or their tests.", "Round it (TBD) now."]
)
def test_a_hedge_is_found_in_any_case_and_spacing(summary: str) -> None:
    assert judge(put("/nodes/0/editIntent/summary", summary)).codes == ("PLAN_WEAK_MODEL_AMBIGUOUS",)


def test_an_allowlist_has_one_name_whatever_its_order() -> None:
    assert allowlist_ref(frozenset({"b", "a"})) == allowlist_ref(frozenset({"a", "b"}))
    assert allowlist_ref(frozenset({"a"})).startswith("scope:ca978112ca1b")
