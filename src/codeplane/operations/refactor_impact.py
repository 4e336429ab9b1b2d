"""`refactor_impact`: who refers to a symbol or file, and the plan of its deletion."""

from typing import ClassVar

from pydantic import Field

from codeplane.core.printable import counted
from codeplane.ledger.effects import EffectClass
from codeplane.operations.command import Route
from codeplane.operations.models import RARELY, Request
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.operations.refactor_models import MAX_SITES, RefactorResult, render_refactor
from codeplane.operations.refactor_plans import answer_plan

NAME = "refactor_impact"
_SHOWN = 5


class RefactorImpactRequest(Request):
    """What may go."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"target": ("symbol", "path", "name")}
    target: str = Field(
        min_length=1,
        max_length=1000,
        description="A file, a directory, path::Name.path, path:line, a def_uid, or a unique name.",
    )
    limit: int = Field(100, ge=1, le=MAX_SITES, description="Sites in one answer.", json_schema_extra=RARELY)
    cursor: str | None = Field(None, description="From a cut answer.", json_schema_extra=RARELY)


def _handle(context: CallContext, request: RefactorImpactRequest) -> RefactorResult:
    return answer_plan(context, NAME, {"target": request.target}, request.limit)


def _render(result: RefactorResult) -> str:
    details = result.details.model_dump() if result.details is not None else {}
    tiers = details.get("references", {})
    counts = ", ".join(f"{len(places)} {tier}" for tier, places in tiers.items() if places) or "none"
    tests = details.get("affected_tests", [])
    importing = details.get("importing_files", [])
    lines = [render_refactor(result), f"references: {counts}; imported by {counted(len(importing), 'file')}"]
    for tier, places in tiers.items():
        lines += [f" {tier} {one['path']}:{one['line']}: {one['text'][:100]}" for one in places[:_SHOWN]]
    if tests:
        lines.append(f"tests: {', '.join(tests[:_SHOWN])}")
    return "\n".join(lines)


REFACTOR_IMPACT = Operation(
    name=NAME,
    family="refactor",
    summary="All references by how sure they are, affected tests, and the plan of a deletion for refactor_apply.",
    request_type=RefactorImpactRequest,
    result_type=RefactorResult,
    effect=EffectClass.RECORD,
    plan=planned(_handle),
    render=_render,
    reads_index=True,
    routes=(Route(method="POST", path="/refactor/impact", summary="Plan a deletion and list what refers to it."),),
    when_to_use=("Something may be unused and should go, or what would break without it is asked.",),
    when_not_to_use=("Only the references are wanted: search with mode references.",),
    examples=(
        Example("A function", {"target": "src/app.py::old_helper"}),
        Example("A directory", {"target": "src/legacy"}),
    ),
)
