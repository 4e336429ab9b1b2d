"""`submit_execution_plan`: validate a plan, build its context pack, and open execution."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from codeplane.controller.case import Case
from codeplane.controller.codes import CODE_ORDER
from codeplane.controller.insufficiency import insufficiency_of
from codeplane.controller.knowledge import with_knowledge
from codeplane.controller.pack import build_pack, store_pack, summary_of
from codeplane.controller.plan import Plan, digest_of, filled
from codeplane.controller.rules import conflicting_policies
from codeplane.controller.runs import NodeProgress, SessionRecord
from codeplane.controller.states import after_plan
from codeplane.controller.strategy import Rejection
from codeplane.controller.strategy_reasons import reasons_of
from codeplane.controller.structure import read_plan
from codeplane.controller.turn_work import TurnWork, violation_json
from codeplane.controller.validation import Verdict, validate_plan
from codeplane.controller.verb import DeniedError, Reply, Verb
from codeplane.controller.world import World

# What is kept of a refused plan.
_OUTLINED: Final = ("nodeId", "kind", "dependsOn", "targetFile", "sideEffectType", "mapsToNodeIds")
_MAX_OUTLINED: Final = 50


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    turn.workspace.promote_memories()
    document, is_dry = arguments["planGraph"], arguments.get("dryRun", False)
    world = turn.knowledge.world(document)
    verdict = validate_plan(document, world)
    plan = read_plan(document)
    if isinstance(plan, Plan):
        _note_strategy(turn, plan, world, verdict)
    result: dict[str, Any] = {
        "accepted": verdict.is_accepted,
        "violations": [violation_json(one) for one in verdict.violations],
        "memoryRuleResults": [
            {"memoryId": one.memory_id, "condition": one.condition, "satisfied": one.satisfied}
            | ({"denyCode": one.deny_code.value} if one.deny_code is not None else {})
            for one in verdict.memory_results
        ],
        "brokenRules": list(verdict.broken_rules),
        "confidence": verdict.confidence,
    }
    if not verdict.is_accepted or not isinstance(plan, Plan):
        if not is_dry:
            turn.record = _rejected(turn.record, plan, verdict)
        raise DeniedError(*verdict.violations, result=result, insufficiency=insufficiency_of(turn, verdict.violations))
    return _accept(turn, plan, verdict, result, is_dry=is_dry)


def _accept(turn: TurnWork, plan: Plan, verdict: Verdict, result: dict[str, Any], *, is_dry: bool) -> Reply:
    pack = build_pack(turn, plan, verdict)
    content_hash = str(pack["header"]["contextPackHash"])
    accepted = filled(plan.document, turn.record.work_id, content_hash)
    result |= {
        "acceptedPlan": accepted,
        "needsReview": sorted(verdict.needs_review),
        "contextPack": summary_of(pack, turn.record.work_id),
    }
    if not is_dry:
        store_pack(turn, pack)
        turn.record = _accepted(turn.record, plan, accepted, verdict)
    return Reply(result)


def _accepted(record: SessionRecord, plan: Plan, accepted: dict[str, Any], verdict: Verdict) -> SessionRecord:
    """Return the session with a new plan; finished nodes that are unchanged stay finished."""
    nodes: dict[str, NodeProgress] = {}
    for node in plan.nodes:
        digest = digest_of(node.document)
        before = record.nodes.get(node.node_id)
        is_kept = before is not None and before.digest == digest and before.state == "finished"
        nodes[node.node_id] = before if before is not None and is_kept else NodeProgress(digest)
        if before is not None and not is_kept:
            # The file is still as this run left it.
            nodes[node.node_id] = replace(
                nodes[node.node_id], content_hash=before.content_hash, n_attempts=before.n_attempts
            )
    return replace(
        record,
        run=after_plan(record.run, str(verdict.fingerprint), is_accepted=True),
        plan=accepted,
        confidence=verdict.confidence,
        needs_review=tuple(sorted(verdict.needs_review)),
        nodes=nodes,
        rejections=(),
        last_rejection=(),
        refused_nodes=(),
    )


def _rejected(record: SessionRecord, plan: Any, verdict: Verdict) -> SessionRecord:
    nodes = plan.by_id if isinstance(plan, Plan) else {}
    named = [nodes[one.node_id] for one in verdict.violations if one.node_id is not None and one.node_id in nodes]
    files = {node.target_file for node in named if node.kind == "change"}
    codes = tuple(sorted(verdict.codes, key=CODE_ORDER.__getitem__))
    return replace(
        record.with_rejection(Rejection(codes, frozenset(files))),
        last_rejection=tuple(violation_json(one) for one in verdict.violations[:50]),
        refused_nodes=tuple(_outline(node.document) for node in list(nodes.values())[:_MAX_OUTLINED]),
    )


def _outline(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a drawing of a refused plan needs of a node."""
    intent = node.get("editIntent")
    summary = {"editIntent": {"summary": str(intent.get("summary"))[:200]}} if isinstance(intent, dict) else {}
    return {name: node[name] for name in _OUTLINED if name in node} | summary


def _note_strategy(turn: TurnWork, plan: Plan, world: World, verdict: Verdict) -> None:
    case = Case(plan, world)
    strategy = verdict.strategy
    if strategy is None:
        return
    turn.record = replace(turn.record, conflicts=conflicting_policies(case, strategy))
    turn.record = with_knowledge(
        turn.record, case.signature, strategy, reasons_of(turn.knowledge, turn.record, case.signature, case)
    )


VERB = Verb(
    "submit_execution_plan",
    "Submits a plan for validation.",
    "When the evidence is complete.",
    _run,
    required={"planGraph": dict},
    optional={"dryRun": bool},
)
