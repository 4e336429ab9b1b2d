"""`refactor_cancel`: forget a planned refactoring."""

from pydantic import Field

from codeplane.ledger.effects import EffectClass
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.operations.refactor_plans import find_plan, plans_of


class RefactorCancelRequest(Request):
    """Which plan."""

    refactor_id: str = Field(max_length=100)


class RefactorCancelResult(Result):
    """The plan that is gone."""

    refactor_id: str
    cancelled: bool


def _handle(context: CallContext, request: RefactorCancelRequest) -> RefactorCancelResult:
    plan = find_plan(context, request.refactor_id)
    plans_of(context).drop(plan.refactor_id)
    return RefactorCancelResult(refactor_id=plan.refactor_id, cancelled=True)


REFACTOR_CANCEL = Operation(
    name="refactor_cancel",
    family="refactor",
    summary="Forget a planned refactoring.",
    request_type=RefactorCancelRequest,
    result_type=RefactorCancelResult,
    effect=EffectClass.RECORD,
    plan=planned(_handle),
    render=lambda result: f"{result.refactor_id} is cancelled; nothing was changed.",
    when_to_use=("A plan is not wanted any more.",),
    when_not_to_use=("It was applied: undo.",),
    examples=(Example("Cancel", {"refactor_id": "rf_4k2m9x7q"}),),
)
