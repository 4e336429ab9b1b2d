"""`refactor_inspect`: the questions of a planned refactoring with the lines around them."""

from typing import Literal

from pydantic import Field

from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.models import Pagination, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.operations.refactor_models import RefactorSite, numbered, site_of
from codeplane.operations.refactor_plans import find_plan
from codeplane.refactor.plan import Edit


class RefactorInspectRequest(Request):
    """Which plan and which of its sites."""

    refactor_id: str = Field(max_length=100)
    group: Literal["question", "docs", "code"] = Field("question", description="Which sites.")
    context: int = Field(2, ge=0, le=20, description="Lines around each site.")
    limit: int = Field(20, ge=1, le=100)
    cursor: str | None = Field(None, description="From a cut answer.")


class InspectedSite(Result):
    """A site with the lines around it."""

    site: RefactorSite
    first_line: int
    lines: list[str]


class RefactorInspectResult(Result):
    """One page of sites."""

    refactor_id: str
    status: str
    sites: list[InspectedSite]
    pagination: Pagination


def _plan(context: CallContext, request: RefactorInspectRequest) -> Plan[RefactorInspectResult]:
    plan = find_plan(context, request.refactor_id)
    wanted = [(number, one) for number, one in numbered(plan.draft) if one.group == request.group]
    first = context.position.number("first") if context.position is not None else 0
    page = wanted[first : first + request.limit]

    def work() -> RefactorInspectResult:
        end = first + len(page)
        cursor = context.next_page({"first": end}) if end < len(wanted) else None
        return RefactorInspectResult(
            refactor_id=plan.refactor_id,
            status=plan.draft.status,
            sites=[_inspected(context, number, one, request.context) for number, one in page],
            pagination=Pagination(next_cursor=cursor, total_estimate=len(wanted)),
        )

    return Plan(work, Effects())


def _inspected(context: CallContext, number: int, edit: Edit, n_around: int) -> InspectedSite:
    with context.workspace.index.facts() as reader:
        file = reader.file_at(edit.path)
        text = reader.text(file) if file is not None and file.text_id is not None else b""
    lines = text.decode("utf-8", "replace").split("\n")
    first = max(1, edit.line - n_around)
    shown = [line.rstrip("\r")[:300] for line in lines[first - 1 : edit.line + n_around]]
    return InspectedSite(site=site_of(number, edit), first_line=first, lines=shown)


def _render(result: RefactorInspectResult) -> str:
    parts = []
    for one in result.sites:
        site = one.site
        more = f"; {site.settle}" if site.settle else ""
        parts.append(f"{site.id} {site.path}:{site.line} → `{site.new}` ({site.why}{more})")
        parts += [f"  {number} {line}" for number, line in enumerate(one.lines, start=one.first_line)]
    if result.pagination.next_cursor:
        parts.append(f"more: cursor={result.pagination.next_cursor}")
    return "\n".join(parts) or "There is nothing to inspect in this group."


REFACTOR_INSPECT = Operation(
    name="refactor_inspect",
    family="refactor",
    summary="Show the questions of a planned refactoring with the code around them.",
    request_type=RefactorInspectRequest,
    result_type=RefactorInspectResult,
    effect=EffectClass.READ,
    plan=_plan,
    render=_render,
    reads_index=True,
    when_to_use=("verification_required is true.",),
    when_not_to_use=("To apply everything that is sure: refactor_apply.",),
    examples=(Example("The questions", {"refactor_id": "rf_4k2m9x7q"}),),
)
