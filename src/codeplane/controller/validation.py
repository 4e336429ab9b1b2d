"""The verdict on a plan: eight stages in a fixed order.

Stage 1 (structure, then the context pack) ends the examination when it finds a fault. Stages 2 to 6 all run and their
faults are reported together. Stages 7 and 8 run only if there is no fault yet. So a plan with one fault gets one code.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from codeplane.controller.ambiguity import check_ambiguity
from codeplane.controller.atomicity import check_atomicity
from codeplane.controller.case import Case
from codeplane.controller.codes import Code, Violation, codes_of, in_report_order
from codeplane.controller.confidence import check_anchors, check_confidence, confidence_of
from codeplane.controller.evidence import NodeEvidence, check_evidence, evidence_of
from codeplane.controller.plan import AUTO, Plan, fingerprint_of, pack_ref
from codeplane.controller.rules import MemoryRuleResult, RuleReport, check_rules
from codeplane.controller.scope import check_scope
from codeplane.controller.strategy import check_strategy, strategy_of
from codeplane.controller.structure import read_plan
from codeplane.controller.verification import check_gates, check_verification
from codeplane.controller.world import World


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a plan; `needs_review` are accepted nodes that wait for a person before they run."""

    codes: tuple[Code, ...]
    violations: tuple[Violation, ...]
    fingerprint: str | None = None
    strategy: str | None = None
    confidence: int | None = None
    needs_review: frozenset[str] = frozenset()
    memory_results: tuple[MemoryRuleResult, ...] = ()
    broken_rules: tuple[str, ...] = ()

    @property
    def is_accepted(self) -> bool:
        """Whether the plan may be carried out."""
        return not self.codes


def validate_plan(document: Any, world: World) -> Verdict:
    """Judge a plan, as JSON values, before the world."""
    plan = read_plan(document)
    if not isinstance(plan, Plan):
        return _refused(plan)
    unavailable = tuple(_check_pack(plan, world))
    if unavailable:
        return _refused(unavailable)
    case = Case(plan, world)
    strategy = strategy_of(case)
    evidence = evidence_of(case, strategy)
    report = check_rules(case, strategy)
    violations = [*_joined_stages(case, strategy, evidence), *report.violations]
    confidence = None
    if not violations:
        violations += check_anchors(case, strategy)
    if not violations:
        confidence = confidence_of(case, evidence)
        violations += check_confidence(case, confidence)
    return _verdict(plan, violations, strategy, report, (confidence, evidence))


def _joined_stages(case: Case, strategy: str, evidence: Mapping[str, NodeEvidence]) -> Iterator[Violation]:
    yield from check_scope(case)
    yield from check_evidence(case, evidence)
    yield from check_atomicity(case)
    yield from check_verification(case)
    yield from check_ambiguity(case)
    yield from check_gates(case)
    yield from check_strategy(case, strategy)


def _check_pack(plan: Plan, world: World) -> Iterator[Violation]:
    """Yield that no context pack can be made, or that the one which the plan names is not of this state."""
    if not world.is_index_ready:
        yield Violation(Code.PACK, "index_missing", "The index is not ready, so no context pack can be made.")
    ref, pack_hash = plan.document["contextPackRef"], plan.document["contextPackHash"]
    if ref == AUTO == pack_hash:
        return
    is_current = any(
        key == pack.content_hash
        and (pack.work_id, pack.repo_snapshot_id) == (world.work_id, world.repo_snapshot_id)
        and pack_hash in {AUTO, key}
        and ref in {AUTO, pack_ref(pack.work_id, key)}
        for key, pack in world.packs.items()
    )
    if not is_current:
        message = "The context pack is not of this work and snapshot. Send `auto`."
        yield Violation(Code.PACK, "pack_stale", message, "/contextPackHash")


def _refused(violations: tuple[Violation, ...]) -> Verdict:
    return Verdict(codes_of(violations), in_report_order(violations))


def _verdict(
    plan: Plan,
    violations: list[Violation],
    strategy: str,
    report: RuleReport,
    measured: tuple[int | None, Mapping[str, NodeEvidence]],
) -> Verdict:
    confidence, evidence = measured
    return Verdict(
        codes_of(violations),
        in_report_order(violations),
        fingerprint_of(plan.document),
        strategy,
        confidence,
        frozenset(node_id for node_id, known in evidence.items() if known.is_guarded and not violations),
        report.memory_results,
        report.broken,
    )
