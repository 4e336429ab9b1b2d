"""`reset_budget`: reset the session's read budget."""

from pydantic import Field

from codeplane.ledger.effects import EffectClass
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned


class ResetBudgetRequest(Request):
    """No arguments."""


class ResetBudgetResult(Result):
    """What had been used and what is available again."""

    used_bytes: int = Field(description="Bytes read since the last reset.")
    budget_bytes: int = Field(description="Bytes that may be read until the next reset; 0 means no limit.")


def _handle(context: CallContext, _request: ResetBudgetRequest) -> ResetBudgetResult:
    budget = context.workspace.settings.sessions.read_budget_bytes
    return ResetBudgetResult(used_bytes=context.session.reset_reads(), budget_bytes=budget)


def _render(result: ResetBudgetResult) -> str:
    if not result.budget_bytes:
        return f"Read budget reset ({result.used_bytes} bytes had been read); there is no limit."
    return f"Read budget reset: {result.used_bytes} bytes had been read, {result.budget_bytes} are available."


RESET_BUDGET = Operation(
    name="reset_budget",
    family="files",
    summary="Reset this session's read budget.",
    request_type=ResetBudgetRequest,
    result_type=ResetBudgetResult,
    effect=EffectClass.RECORD,
    plan=planned(_handle),
    render=_render,
    when_to_use=("A read was refused with READ_BUDGET_EXCEEDED and more source is needed.",),
    when_not_to_use=("Before that: the budget only reminds you to read less.",),
    examples=(Example("Reset it", {}),),
)
