"""Evidence counts when it was observed; one source is enough only with a guard and a person's review."""

from dataclasses import replace
from typing import Any

import pytest

from codeplane.controller.evidence import check_review
from codeplane.controller.world import EvidenceMinima, Memory, MemoryState, Turn
from support.plans import contract_world, judge, put

PROMPT: dict[str, Any] = {"sourceType": "prompt", "ref": "prompt:original", "traceRef": "tr:run1:1"}
GUARD = [
    put("/nodes/0/citations", []),
    put("/evidencePolicy/allowSingleSourceWithGuard", True),
    put("/nodes/0/lowEvidenceGuard", True),
    put("/nodes/0/requiresHumanReview", True),
    put("/nodes/0/uncertaintyNote", "The ticket is closed to us."),
]


def test_one_source_with_guard_note_and_review_is_accepted_and_waits_for_a_person() -> None:
    verdict = judge(*GUARD)
    assert verdict.codes == ()
    assert verdict.confidence == 65
    assert verdict.needs_review == {"n1"}
    fingerprint = verdict.fingerprint or ""
    refusal = check_review(fingerprint, "n1", verdict.needs_review, frozenset({("sha256:other", "n1")}))
    assert refusal is not None
    assert (refusal.code, refusal.detail) == ("PLAN_EVIDENCE_INSUFFICIENT", "review_missing")
    assert check_review(fingerprint, "n1", verdict.needs_review, frozenset({(fingerprint, "n1")})) is None
    assert check_review(fingerprint, "n2", verdict.needs_review, frozenset()) is None


@pytest.mark.parametrize(
    "spoiled",
    [
        put("/evidencePolicy/allowSingleSourceWithGuard", False),
        put("/nodes/0/lowEvidenceGuard", False),
        put("/nodes/0/requiresHumanReview", False),
        put("/nodes/0/uncertaintyNote", "Too short."),
        put("/nodes/0/codeEvidence", []),
        put("/evidencePolicy/lowEvidenceGuardRules", ['operation == "delete_file"']),
        put("/evidencePolicy/lowEvidenceGuardRules", ["not a condition ("]),
        put("/evidencePolicy/minPolicySources", 1),
    ],
)
def test_the_guard_opens_only_when_all_of_it_is_there(spoiled: dict[str, Any]) -> None:
    assert judge(*GUARD, spoiled).codes == ("PLAN_EVIDENCE_INSUFFICIENT",)


def test_a_guard_rule_is_decided_on_the_node() -> None:
    rule = put("/evidencePolicy/lowEvidenceGuardRules", ['targetFile ~ "src/**" and strategy == "debug_symptom_trace"'])
    assert judge(*GUARD, rule).is_accepted
    server = replace(contract_world(), minima=EvidenceMinima(guard_rules=('kind == "validate"',)))
    assert judge(*GUARD, rule, world=server).codes == ("PLAN_EVIDENCE_INSUFFICIENT",)
    forbidden = replace(contract_world(), minima=EvidenceMinima(allows_single_source=False))
    assert judge(*GUARD, world=forbidden).codes == ("PLAN_EVIDENCE_INSUFFICIENT",)


def test_a_plan_can_only_raise_the_minimum() -> None:
    lower = [put(f"/evidencePolicy/{name}", 0) for name in ("minRequirementSources", "minCodeEvidenceSources")]
    assert judge(*lower, put("/nodes/0/citations", [])).codes == ("PLAN_EVIDENCE_INSUFFICIENT",)
    assert judge(put("/evidencePolicy/minCodeEvidenceSources", 2)).codes == ("PLAN_EVIDENCE_INSUFFICIENT",)


def test_two_ranges_of_one_file_are_one_source_unless_symbols_are_counted() -> None:
    evidence = {"file": "src/billing/rates.py", "contentHash": "sha256:aa01", "traceRef": "tr:run1:2"}
    ranges = [
        {**evidence, "startLine": 1, "endLine": 2, "symbol": "a"},
        {**evidence, "startLine": 3, "endLine": 4, "symbol": "b"},
    ]
    two = [put("/nodes/0/codeEvidence", ranges), put("/evidencePolicy/minCodeEvidenceSources", 2)]
    assert judge(*two).codes == ("PLAN_EVIDENCE_INSUFFICIENT",)
    assert judge(*two, put("/evidencePolicy/distinctSourceDefinition", "by_symbol")).confidence == 100


def test_a_quote_must_occur_in_what_the_turn_returned() -> None:
    world = contract_world()
    told = Turn("w1", frozenset({"prompt:original"}), "Monthly rate is rounded wrongly.")
    world = replace(world, turns={**world.turns, "tr:run1:1": told})
    assert judge(put("/nodes/0/citations", [{**PROMPT, "quote": "rounded wrongly"}]), world=world).is_accepted
    verdict = judge(put("/nodes/0/citations", [{**PROMPT, "quote": "never said"}]), world=world)
    assert "did not return the quote" in verdict.violations[0].message


@pytest.mark.parametrize(
    ("citation", "is_counted"),
    [
        ({"sourceType": "jira", "ref": "PAY-7", "traceRef": "tr:run1:7"}, True),
        ({"sourceType": "jira", "ref": "jira:PAY-8", "traceRef": "tr:run1:7"}, False),
        ({"sourceType": "doc", "ref": "docs/rates.md#rounding", "traceRef": "tr:run1:7"}, True),
        ({"sourceType": "swagger", "ref": "0123456789ab", "locator": "getRate", "traceRef": "tr:run1:7"}, True),
        ({"sourceType": "policy", "ref": "policy.generated-readonly"}, False),
        ({"sourceType": "memory", "ref": "mem-approved"}, False),
        ({"sourceType": "prompt", "ref": "prompt:other", "traceRef": "tr:run1:1"}, False),
        ({"sourceType": "prompt", "ref": "prompt:original"}, False),
    ],
)
def test_a_requirement_counts_by_its_source_key(citation: dict[str, Any], is_counted: bool) -> None:
    world = contract_world()
    sources = frozenset({"jira:PAY-7", "doc:docs/rates.md", "swagger:0123456789ab#getRate"})
    memories = {"mem-approved": Memory("mem-approved", MemoryState.APPROVED)}
    world = replace(world, turns={**world.turns, "tr:run1:7": Turn("w1", sources)}, memories=memories)
    assert judge(put("/nodes/0/citations", [citation]), world=world).is_accepted is is_counted


def test_policies_and_enforced_memories_are_sources_of_policy() -> None:
    memories = {"m1": Memory("m1", MemoryState.PROVISIONAL), "m2": Memory("m2", MemoryState.PENDING)}
    world = replace(contract_world(), memories=memories)
    cited = [{"sourceType": "policy", "ref": "policy.generated-readonly"}, {"sourceType": "memory", "ref": "m1"}]
    asked = put("/evidencePolicy/minPolicySources", 2)
    assert judge(asked, put("/nodes/0/citations", [PROMPT, *cited]), world=world).is_accepted
    pending = [cited[0], {"sourceType": "memory", "ref": "m2"}]
    verdict = judge(asked, put("/nodes/0/citations", [PROMPT, *pending]), world=world)
    assert verdict.codes == ("PLAN_EVIDENCE_INSUFFICIENT",)


def test_an_expired_memory_in_the_version_set_is_refused() -> None:
    assert judge(put("/policyVersionSet/mem-expired-1", "1")).codes == ("MEMORY_PROVISIONAL_EXPIRED",)
