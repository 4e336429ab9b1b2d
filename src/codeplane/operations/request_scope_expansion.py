"""`request_scope_expansion`: ask a person to widen an intent's scope."""

from typing import Annotated, Literal

from pydantic import Field

from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import visible_text
from codeplane.edit.protection import is_protected_name
from codeplane.govern.approvals import SCOPE_EXPANSION, CallKey, HoldRequest
from codeplane.govern.intents import check_pattern, is_inside
from codeplane.ledger.effects import EffectClass
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned

NAME = "request_scope_expansion"
_MAX_PATHS = 50


class RequestScopeExpansionRequest(Request):
    """Which intent, which files and why."""

    intent_id: str
    paths: Annotated[list[str], Field(min_length=1, max_length=_MAX_PATHS)] = Field(description="Paths or globs.")
    reason: str = Field(min_length=1, max_length=2_000)


class RequestScopeExpansionResult(Result):
    """The state of the request."""

    state: Literal["pending", "in_scope"]
    hold_id: str | None = None
    paths: list[str]


def _handle(context: CallContext, request: RequestScopeExpansionRequest) -> RequestScopeExpansionResult:
    workspace = context.workspace
    rules, now = workspace.gate.rules(), workspace.clock.now_ms()
    intent = rules.find(request.intent_id)
    reason = rules.why_not_valid(request.intent_id, now, context.session.label)
    if intent is None or reason is not None:
        message = f"{request.intent_id[:80]} {reason or 'does not exist'}."
        raise CodePlaneError("INTENT_NOT_ACTIVE", message, details={"active_intents": list(rules.active_ids(now))})
    if rules.delegation(intent.id) is not None:
        message = f"{intent.id} was delegated by another session; ask for its parent {intent.parent}."
        raise CodePlaneError("INTENT_NOT_ACTIVE", message)
    paths = list(dict.fromkeys(path.strip().removeprefix("./") for path in request.paths))
    for path in paths:
        _check(path)
    wanted = [path for path in paths if not is_inside(path, intent.owned_scope)]
    if not wanted:
        return RequestScopeExpansionResult(state="in_scope", paths=paths)
    key = CallKey(context.session.label, NAME, digest({"intent": intent.id, "paths": wanted}), "", "")
    card = {
        "operation": NAME,
        "intent": intent.id,
        "owned_scope": list(intent.owned_scope),
        "paths": [visible_text(path) for path in wanted],
        "reason": visible_text(request.reason),
        "caller": {
            "session": context.session.label,
            "surface": context.caller.surface,
            "client": context.caller.client,
        },
    }
    told = f"{intent.id} shall own {', '.join(wanted[:5])}: {request.reason[:300]}"
    worktree = workspace.repository.worktree_id
    request_ = HoldRequest(key, told, "scope", "scope expansion", intent.id, card, SCOPE_EXPANSION, worktree)
    hold = workspace.gate.approvals.request(request_)
    return RequestScopeExpansionResult(state="pending", hold_id=hold.hold_id, paths=wanted)


def _check(path: str) -> None:
    try:
        check_pattern(path)
    except ValueError as error:
        raise CodePlaneError("INVALID_ARGUMENTS", f"{error}.", hint="Send paths such as src/app/**.") from error
    if is_protected_name(RepoPath(path.rstrip("/*") or ".git").text):
        message = f"{path} belongs to CodePlane, git or an agent's configuration; intents cannot own it."
        raise CodePlaneError("PROTECTED_PATH", message, details={"path": path})


def _render(result: RequestScopeExpansionResult) -> str:
    if result.state == "in_scope":
        return "These paths are already in scope."
    return (
        f"A person has been asked ({result.hold_id}): {', '.join(result.paths)}."
        " Continue with other work; once granted, you can write there."
    )


REQUEST_SCOPE_EXPANSION = Operation(
    name=NAME,
    family="governance",
    summary="Ask a person to let an intent own more files.",
    request_type=RequestScopeExpansionRequest,
    result_type=RequestScopeExpansionResult,
    effect=EffectClass.RECORD,
    plan=planned(_handle),
    render=_render,
    when_to_use=("A write was refused with SCOPE_VIOLATION but belongs to the intent.",),
    when_not_to_use=("Another active intent owns the files: select that one.",),
    examples=(
        Example(
            "Ask for one more file",
            {"intent_id": "INT-001", "paths": ["src/app/views.py"], "reason": "the caller must change too"},
        ),
    ),
)
