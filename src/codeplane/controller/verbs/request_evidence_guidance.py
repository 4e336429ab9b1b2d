"""`request_evidence_guidance`: what to call when a plan does not get through."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from codeplane.controller.codes import Code
from codeplane.controller.insufficiency import escalation_plan
from codeplane.controller.runs import TurnRecord
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import Reply, Verb, wrong_argument
from codeplane.core.error_registry import entry_for

_CODES: Final = frozenset(code.value for code in Code)
_MAX_REASONS: Final = 50
# What usually finds something new, for a work that has found nothing yet.
_USUAL: Final = ("read_file_lines", "lookup_symbol_definition", "search_codebase_text")


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    reasons = arguments["blockingReasons"]
    if any(not isinstance(one, str) for one in reasons):
        raise wrong_argument("blockingReasons", "blockingReasons is a list of texts.")
    guidance = [_guidance(turn, reason) for reason in list(dict.fromkeys(reasons))[:_MAX_REASONS]]
    anchors = [
        {"anchorType": "symbol", "anchorId": str(one["actual"])}
        for one in turn.record.last_rejection
        if one["code"] == Code.ANCHOR.value and one.get("actual")
    ]
    _finish_escalations(turn, frozenset(reasons))
    return Reply({"guidance": guidance, "escalationPlan": escalation_plan(anchors)})


def _guidance(turn: TurnWork, reason: str) -> dict[str, Any]:
    if reason not in _CODES:
        return {"reason": reason[:500], "verbs": _most_useful(turn.files.turns())}
    entry = entry_for(reason)
    failing = [one for one in turn.record.last_rejection if one["code"] == reason]
    return {"reason": reason, "meaning": entry.message, "action": entry.required_action, "violations": failing}


def _most_useful(turns: list[TurnRecord]) -> list[str]:
    """Return the three verbs that returned most new sources in this work."""
    seen: set[str] = set()
    counts: Counter[str] = Counter()
    for one in turns:
        counts[one.verb] += len(set(one.sources) - seen)
        seen |= set(one.sources)
    ranked = sorted((verb for verb in counts if counts[verb]), key=lambda verb: (-counts[verb], verb))
    return list(dict.fromkeys((*ranked, *_USUAL)))[:3]


def _finish_escalations(turn: TurnWork, reasons: frozenset[str]) -> None:
    """An escalate node is finished when guidance was asked for all of its reasons."""
    for node in turn.plan.of_kind("escalate") if turn.plan is not None else ():
        progress = turn.progress(node.node_id)
        if progress.state != "finished" and reasons.issuperset(node.document["blockingReasons"]):
            n_finished = turn.record.n_finished + 1
            done = replace(progress, state="finished", finished_at=n_finished)
            turn.record = replace(turn.record.with_node(node.node_id, done), n_finished=n_finished)


VERB = Verb(
    "request_evidence_guidance",
    "Says what is missing and what to call.",
    "You are stuck.",
    _run,
    required={"blockingReasons": list},
)
