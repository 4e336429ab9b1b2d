"""`delegate_intent`: give a worker session a narrower part of the selected intent."""

from typing import Annotated

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.govern.intent_context import IntentContext, intent_context
from codeplane.govern.intents import check_pattern, is_inside
from codeplane.govern.rulebook import Delegation
from codeplane.ledger.effects import EffectClass
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned


class DelegateIntentRequest(Request):
    """Who gets which part."""

    session: str = Field(description="Label of the worker's session, such as s-1a2b3c4d5e.")
    paths: Annotated[list[str], Field(min_length=1, max_length=50)] = Field(description="Paths or globs it may change.")
    goal: str = Field("", max_length=500, description="What the worker should do.")


class DelegateIntentResult(Result):
    """The narrower intent and its context."""

    intent_id: str
    session: str
    context: str


def _handle(context: CallContext, request: DelegateIntentRequest) -> DelegateIntentResult:
    workspace = context.workspace
    rules, now = workspace.gate.rules(), workspace.clock.now_ms()
    parent = workspace.gate.memory.selected(context.session.label)
    reason = rules.why_not_valid(parent, now, context.session.label) if parent is not None else "no intent is selected"
    if parent is None or reason is not None:
        message = f"{parent or 'This session'}: {reason}."
        raise CodePlaneError("INTENT_REQUIRED", message, details={"active_intents": list(rules.active_ids(now))})
    if not workspace.sessions.is_known(request.session) or request.session == context.session.label:
        message = f"There is no other open session {request.session[:80]}."
        raise CodePlaneError("SESSION_NOT_FOUND", message, hint="The worker's answers carry its label in `session`.")
    own = rules.find(parent)
    for path in request.paths:
        try:
            check_pattern(path)
        except ValueError as error:
            raise CodePlaneError("INVALID_ARGUMENTS", f"{error}.") from error
        if own is None or not is_inside(path, own.owned_scope):
            message = f"Scope Violation: {path} may lie outside the scope of {parent}"
            raise CodePlaneError(
                "SCOPE_VIOLATION", message, details={"owned_scope": list(own.owned_scope) if own else []}
            )
    number = sum(one.parent == parent for one in workspace.delegations.all()) + 1
    given = Delegation(f"{parent}.w{number}", parent, request.session, tuple(request.paths), request.goal)
    workspace.delegations.add(given)
    rules = workspace.gate.rules()
    intent = rules.find(given.id)
    if intent is None:
        raise CodePlaneError("INTENT_NOT_ACTIVE", f"Intent {parent} no longer exists.")
    text = intent_context(IntentContext(intent, (), rules.lineage(given.id)))
    return DelegateIntentResult(intent_id=given.id, session=given.session, context=text)


DELEGATE_INTENT = Operation(
    name="delegate_intent",
    family="governance",
    summary="Give a worker session a narrower part of your selected intent.",
    request_type=DelegateIntentRequest,
    result_type=DelegateIntentResult,
    effect=EffectClass.RECORD,
    plan=planned(_handle),
    render=lambda result: f"{result.session} may select {result.intent_id}\n{result.context}",
    when_to_use=("You supervise other sessions and split the work by files.",),
    when_not_to_use=("The worker needs files outside your intent's scope: a person must widen it.",),
    examples=(
        Example("Give a part", {"session": "s-1a2b3c4d5e", "paths": ["src/app/models/**"], "goal": "split the models"}),
    ),
)
