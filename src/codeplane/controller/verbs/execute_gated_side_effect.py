"""`execute_gated_side_effect`: carry out a side_effect node whose gate is open, once."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from codeplane.controller.attempts import attempting
from codeplane.controller.codes import Code
from codeplane.controller.evidence import check_review
from codeplane.controller.execution import Progress, check_side_effect, reserved_keys
from codeplane.controller.file_writes import check_untouched
from codeplane.controller.reviews import reviews_of
from codeplane.controller.scratch import read_scratch
from codeplane.controller.side_effects import EFFECTS, effect_of
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import DeniedError, FaultError, Reply, Verb, denied


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    plan, node_id = turn.plan, arguments["planNodeId"]
    if plan is None:
        raise denied(Code.SCOPE, "node_unknown", "There is no accepted plan.", "/args/planNodeId")
    closed = check_side_effect(plan, node_id, arguments["sideEffectType"], _progress(turn))
    if closed is not None:
        raise DeniedError(closed)
    node = plan.by_id[node_id]
    if node.document["sideEffectType"] not in EFFECTS:
        message = f"{node.document['sideEffectType'][:80]!r} is not one of {', '.join(EFFECTS)}."
        raise denied(Code.UNGATED, "effect_unknown", message, node_id=node_id)
    payload = read_scratch(turn.files.scratch, node.document["sideEffectPayloadRef"])
    effect = effect_of(turn, node, payload)
    with attempting(turn, node, reserved_keys(node, effect.paths)) as attempt:
        check_untouched(turn, node, effect.paths)
        gate = node.document["commitGateId"]
        # Marked before the effect: if this process dies now, the effect does not happen twice.
        turn.save(replace(turn.record, used_gates=(*turn.record.used_gates, gate)))
        try:
            done = effect.run(turn)
        except (DeniedError, FaultError):
            turn.record = replace(turn.record, used_gates=tuple(one for one in turn.record.used_gates if one != gate))
            raise
        attempt.result = {"planNodeId": node_id, "sideEffectType": arguments["sideEffectType"], **attempt.refs()}
        attempt.result |= {name: done[name] for name in ("commit", "oid", "sha", "written", "name") if done.get(name)}
        attempt.log.append(f"{arguments['sideEffectType']}: {', '.join(effect.paths)}")
    return Reply(attempt.result)


def _progress(turn: TurnWork) -> Progress:
    record = turn.record
    fingerprint = str(record.run.plan_fingerprint)
    reviews = reviews_of(turn.workspace, fingerprint) if record.needs_review else frozenset()
    missing = frozenset(
        node_id
        for node_id in record.needs_review
        if check_review(fingerprint, node_id, frozenset(record.needs_review), reviews) is not None
    )
    finished = {node_id: one.finished_at for node_id, one in record.nodes.items() if one.state == "finished"}
    return Progress(finished, frozenset(record.used_gates), missing)


VERB = Verb(
    "execute_gated_side_effect",
    "Carries out a side_effect node.",
    "All its checks have passed.",
    _run,
    required={"planNodeId": str, "sideEffectType": str},
    is_mutation=True,
)
