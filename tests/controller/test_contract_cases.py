"""The contract's cases, as they stand: one plan per rejection code, and what two implementations must agree on."""

from dataclasses import replace
from typing import Any

import pytest

from codeplane.controller.plan import filled, fingerprint_of
from codeplane.controller.validation import validate_plan
from support.plans import contract_cases, contract_plan, contract_world, judge, patched, put


@pytest.mark.parametrize("case", contract_cases(), ids=lambda case: case["id"])
def test_each_case_of_the_contract_gets_exactly_its_codes(case: dict[str, Any]) -> None:
    verdict = validate_plan(patched(contract_plan(), case["plan"]), contract_world(case["world"]))
    assert list(verdict.codes) == case["expect"]
    assert verdict.is_accepted == (not case["expect"])


def test_the_valid_plan_has_the_fingerprint_and_the_confidence_of_the_contract() -> None:
    verdict = judge()
    assert verdict.confidence == 85
    assert verdict.fingerprint == "sha256:a97378c8a954b10a467c5d3bac324518a7d987df46190b6e01bc129cd0e0d194"
    assert verdict.strategy == "debug_symptom_trace"


def test_equal_plans_have_equal_fingerprints_whatever_the_order_of_their_keys() -> None:
    plan = contract_plan()
    reversed_plan = dict(reversed(plan.items()))
    assert fingerprint_of(plan) == fingerprint_of(reversed_plan)
    assert fingerprint_of(plan) != fingerprint_of({**plan, "extra": 1})


def test_filling_the_words_auto_does_not_change_the_fingerprint() -> None:
    plan = filled(contract_plan(), "w1", "sha256:" + "0123456789abcdef" * 4)
    assert plan["contextPackRef"] == "pack:w1/0123456789abcdef"
    assert fingerprint_of(plan) == plan["planFingerprint"] == judge().fingerprint


def test_evidence_read_in_another_work_does_not_count() -> None:
    world = contract_world()
    foreign = replace(world.turns["tr:run1:2"], work_id="w2")
    verdict = judge(world=replace(world, turns={**world.turns, "tr:run1:2": foreign}))
    assert verdict.codes == ("PLAN_EVIDENCE_INSUFFICIENT",)


@pytest.mark.parametrize("path", ["src/../../etc/passwd", "/etc/passwd", "src\\x", "a\0b", "./src/a.py", "src//a.py"])
def test_no_spelling_of_a_target_leads_out_of_the_tree(path: str) -> None:
    verdict = judge(put("/nodes/0/targetFile", path), put("/nodes/0/operation", "create_file"))
    assert verdict.codes == ("PLAN_SCOPE_VIOLATION",)
