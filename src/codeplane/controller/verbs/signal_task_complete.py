"""`signal_task_complete`: end the run with a retrospective."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from codeplane.controller.events import turns_of_run
from codeplane.controller.states import Event, after
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import Reply, Verb
from codeplane.memory.digest import friction_digest


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    workspace, record = turn.workspace, turn.record
    workspace.promote_memories()
    turn.record = replace(record, run=after(record.run, Event.COMPLETION_SIGNALLED))
    retrieved: Counter[str] = Counter(
        source.removeprefix("code:").partition("#")[0]
        for one in turn.files.turns()
        for source in one.sources
        if source.startswith("code:")
    )
    digest = _digest(turn, retrieved)
    status = digest.pop("memories", {"pending": [], "provisional": [], "approved": 0})
    suggestions = digest.pop("suggestions", [])
    return Reply(
        {
            "frictionDigest": digest,
            "memoryStatus": status,
            "sessionStats": _statistics(turn),
            "suggestions": suggestions,
            "summary": arguments.get("summary"),
        }
    )


def _digest(turn: TurnWork, retrieved: Counter[str]) -> dict[str, Any]:
    workspace = turn.workspace
    if not (workspace.settings.memory.memory_enabled and workspace.has_memory):
        return {"rejections": 0, "codes": [], "heat_map": [], "top_signatures": [], "retrieval_hot_spots": [],
                "trend": [], "pending_corrections": 0}  # fmt: skip
    with workspace.memory.read() as connection:
        return friction_digest(connection, workspace.settings.memory.friction, retrieved)


def _statistics(turn: TurnWork) -> dict[str, Any]:
    events = turns_of_run(turn.workspace, turn.record.run_id)
    verbs = Counter(str(one.get("verb", "no verb")) for one in events)
    codes = Counter(code for one in events for code in one["denyReasons"])
    return {
        "totalTurns": turn.record.n_turns,
        "totalRejections": sum(bool(one["denyReasons"]) for one in events),
        "verbDistribution": dict(sorted(verbs.items())),
        "rejectionDistribution": dict(sorted(codes.items())),
    }


VERB = Verb(
    "signal_task_complete",
    "Ends the run with a retrospective.",
    "All work is done.",
    _run,
    optional={"summary": str},
)
