"""The envelope of every answer of `controller_turn`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import Field

from codeplane.controller.budget import cost_of
from codeplane.controller.codes import Violation, codes_of, in_report_order
from codeplane.controller.gating import suggested_action
from codeplane.controller.runs import SessionRecord
from codeplane.controller.states import RunState
from codeplane.controller.sub_agents import hints_of
from codeplane.controller.turn_work import violation_json
from codeplane.controller.verbs.catalog import VERBS
from codeplane.operations.models import Result

SCHEMA_VERSION: Final = "1.0.0"
INSUFFICIENT: Final = "pack_insufficient"
_NO_STRATEGY: Final = {"strategyId": "debug_symptom_trace", "reasons": ["no feature is set"]}


class TurnResponse(Result):
    """What a turn answers, whatever became of it."""

    runSessionId: str
    workId: str
    agentId: str
    state: str
    outcome: str | None = Field(None, description="ok or pack_insufficient.")
    capabilities: list[str]
    verbDescriptions: dict[str, dict[str, Any]]
    scope: dict[str, str]
    result: dict[str, Any]
    denyReasons: list[str]
    suggestedAction: dict[str, Any] | None = None
    knowledgeStrategy: dict[str, Any]
    budgetStatus: dict[str, Any]
    traceRef: str
    schemaVersion: str = SCHEMA_VERSION
    subAgentHints: dict[str, Any]
    packInsufficiency: dict[str, Any] | None = None

    @property
    def is_error(self) -> bool:
        """Tell whether the model has to do something else."""
        return bool(self.denyReasons) or "error" in self.result

    def as_json(self) -> dict[str, Any]:
        """Return the envelope; fields without a value are left out."""
        return self.model_dump(exclude_none=True)


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a turn."""

    result: Mapping[str, Any]
    verb: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    violations: tuple[Violation, ...] = ()
    insufficiency: Mapping[str, Any] | None = None


def response_of(
    record: SessionRecord, places: Mapping[str, str], capabilities: tuple[str, ...], ended: Ended
) -> TurnResponse:
    """Return the complete answer of a turn."""
    ordered, insufficiency = in_report_order(ended.violations), ended.insufficiency
    shown = dict(ended.result)
    if ordered:
        shown.setdefault("violations", [violation_json(one) for one in ordered])
    budget = record.run.budget
    is_ok = not ordered and "error" not in shown
    response = TurnResponse(
        runSessionId=record.run_id,
        workId=record.work_id,
        agentId=record.agent_id,
        state=record.run.state.value,
        outcome=INSUFFICIENT if insufficiency is not None else "ok" if is_ok else None,
        capabilities=list(capabilities),
        verbDescriptions={name: VERBS[name].described() for name in capabilities},
        scope=dict(places),
        result=shown,
        denyReasons=[code.value for code in codes_of(ordered)],
        suggestedAction=suggested_action(record.run, ended.verb, ended.arguments, ordered) if ordered else None,
        knowledgeStrategy=dict(record.knowledge) or dict(_NO_STRATEGY),
        budgetStatus={
            "maxTokens": budget.max_tokens,
            "usedTokens": budget.used_tokens,
            "thresholdTokens": budget.threshold_tokens,
            "blocked": record.run.is_blocked,
        },
        traceRef=record.trace_ref(),
        subAgentHints=hints_of(record),
        packInsufficiency=dict(insufficiency) if insufficiency is not None else None,
    )
    size = cost_of(response.as_json())
    return response.model_copy(update={"budgetStatus": {**response.budgetStatus, "responseTokens": size}})


def boot_failure(arguments: Mapping[str, Any], message: str, root: str = "") -> dict[str, Any]:
    """Return the answer when nothing could be started: complete, and with the cause."""
    given = {name: value for name, value in arguments.items() if isinstance(value, str)}
    record = SessionRecord(
        given.get("runSessionId", "run_none")[:64],
        given.get("workId", "work_none")[:64],
        given.get("agentId", "agent_none")[:64],
        "",
    )
    from_state = tuple(name for name, verb in VERBS.items() if not verb.is_mutation)
    response = response_of(
        record,
        {"worktreeRoot": root, "scratchRoot": ""},
        from_state,
        Ended(
            {"error": {"kind": "boot_failed", "message": message, "retryable": True, "attempts": 1}},
            insufficiency={"missingAnchors": [], "escalationPlan": [], "blockedCommands": []},
        ),
    )
    document = response.as_json()
    return {**document, "state": RunState.PLAN_REQUIRED.value, "denyReasons": ["PACK_INSUFFICIENT"]}
