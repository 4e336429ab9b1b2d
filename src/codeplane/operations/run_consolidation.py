"""`run_consolidation`: turn what happened since the last run into cells."""

from typing import ClassVar, Literal

from pydantic import Field

from codeplane.ledger.effects import EffectClass
from codeplane.memory.consolidation import consolidate
from codeplane.operations.command import Command
from codeplane.operations.memory_access import memory_writing
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned


class RunConsolidationRequest(Request):
    """Which scope, and how many new episodes it takes."""

    FIELD_CODES: ClassVar[dict[str, str]] = {"threshold": "OUT_OF_RANGE"}
    scope: Literal["project", "global"] = Field("project", description="project or global.")
    threshold: int | None = Field(None, ge=1, le=100_000, description="Episodes it takes; the setting says how many.")


class RunConsolidationResult(Result):
    """What became of the episodes; `idempotent` says that nothing changed."""

    processed: int
    cells_created: int
    cells_updated: int
    idempotent: bool
    scenes_created: int
    contradictions: int
    archived: int
    waiting: int = Field(description="New episodes that wait for more.")


def _handle(context: CallContext, request: RunConsolidationRequest) -> RunConsolidationResult:
    settings = context.workspace.settings.memory
    threshold = request.threshold if request.threshold is not None else settings.consolidation_threshold
    with memory_writing(context) as writing:
        done = consolidate(writing, request.scope, threshold, settings)
    return RunConsolidationResult(
        processed=done.processed,
        cells_created=done.cells_created,
        cells_updated=done.cells_updated,
        idempotent=not done.processed,
        scenes_created=done.scenes_created,
        contradictions=done.contradictions,
        archived=done.archived,
        waiting=done.waiting,
    )


def _render(result: RunConsolidationResult) -> str:
    if not result.processed:
        return f"Nothing to consolidate ({result.waiting} episodes wait)."
    found = f", {result.contradictions} contradictions" if result.contradictions else ""
    return f"{result.processed} episodes: {result.cells_created} cells made, {result.cells_updated} confirmed{found}."


RUN_CONSOLIDATION = Operation(
    name="run_consolidation",
    family="memory",
    summary="Turn episodes into lessons, pitfalls, rules and facts, and find contradictions.",
    request_type=RunConsolidationRequest,
    result_type=RunConsolidationResult,
    effect=EffectClass.RECORD,
    plan=planned(_handle),
    render=_render,
    command=Command(
        path=("memory", "consolidate"),
        help="Turn what happened since the last run into lessons, rules and facts.",
        shows=lambda result: (_render(result),),
    ),
    profiles=frozenset({"memory"}),
    when_to_use=("Several experiences were recorded and the next session is to profit from them.",),
    when_not_to_use=("After every record: the cycle does it when enough has come together.",),
    examples=(Example("Now, whatever has come together", {"threshold": 1}),),
)
