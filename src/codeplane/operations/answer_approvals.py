"""List held calls and record a person's decisions."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StrictInt

from codeplane.core.clock import local_time_of
from codeplane.core.errors import CodePlaneError
from codeplane.govern.approvals import MAX_GRANT_MINUTES, PENDING, SCOPE_EXPANSION, Hold, PersonsAnswer
from codeplane.ledger.effects import EffectClass
from codeplane.operations.command import Command, Document, Facts, NoArguments, Route, Shown, Table
from codeplane.operations.dispatch import dispatch
from codeplane.operations.models import ListOfOne, Request, Result
from codeplane.operations.operation import Audience, CallContext, Example, Operation, planned
from codeplane.operations.perform import Door

_COLUMNS = ("id", "state", "operation", "intent", "session", "reason")


class ListApprovalsRequest(Request):
    """Which held calls to list."""

    state: str | None = Field(None, description="pending, approved, denied, used, revoked or expired.")
    is_all: bool = Field(True, description="Include answered, used and expired ones.")


class HoldRequest(Request):
    """Which held call."""

    hold_id: str = Field(description="The id of the held call.")


class DenyRequest(Request):
    """Which held calls, and a comment."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"hold_ids": ("hold_id",)}
    PLAIN_ALIASES: ClassVar[frozenset[str]] = frozenset({"hold_id"})
    hold_ids: Annotated[list[str], ListOfOne] = Field(min_length=1, description="The ids of held calls.")
    comment: str = Field("", description="Shown to the agent.")
    arguments_digest: str | None = Field(None, description="Answer only a call with these arguments.")


class ApproveRequest(DenyRequest):
    """Which held calls, and what the approval covers."""

    comment: str = Field("", description="For the record.")
    scope: Literal["once", "intent", "session", "rule"] = Field("once", description="What the approval covers.")
    minutes: StrictInt = Field(60, ge=1, le=MAX_GRANT_MINUTES, description="How long a wider grant lasts.")


class Holds(Result):
    """Held calls, the newest first."""

    results: list[dict[str, Any]]


def _list(context: CallContext, request: ListApprovalsRequest) -> Holds:
    state = request.state if request.is_all else PENDING
    return _holds(context, context.workspace.gate.approvals.holds(state))


def _grants(context: CallContext, _request: NoArguments) -> Holds:
    return _holds(context, context.workspace.gate.approvals.grants())


def _show(context: CallContext, request: HoldRequest) -> Document:
    workspace = context.workspace
    return Document(**workspace.gate.approvals.find(request.hold_id).as_document(workspace.clock.now_ms()))


def _approve(context: CallContext, request: ApproveRequest) -> Holds:
    return _answered(context, request, approves=True, scope=request.scope, minutes=request.minutes)


def _deny(context: CallContext, request: DenyRequest) -> Holds:
    return _answered(context, request, approves=False)


def _answered(context: CallContext, request: DenyRequest, **said: Any) -> Holds:
    book = context.workspace.gate.approvals
    answer = PersonsAnswer(by=context.caller.proof, comment=request.comment, **said)
    holds = [book.find(hold_id) for hold_id in dict.fromkeys(request.hold_ids)]
    for hold in holds:
        if request.arguments_digest not in {None, hold.key.arguments_digest}:
            message = f"{hold.hold_id} is not the call that was shown: its arguments differ."
            raise CodePlaneError("INVALID_ARGUMENTS", message, hint="Look at it again and answer then.")
        if answer.approves:
            _widen(context, hold)
    return _holds(context, [book.decide(hold.hold_id, answer) for hold in holds])


def _widen(context: CallContext, hold: Hold) -> None:
    """Widen the intent of an approved expansion: it changes a file, so it passes the door as a separate call."""
    if hold.kind != SCOPE_EXPANSION or hold.state_at(context.workspace.clock.now_ms()) != PENDING:
        return
    arguments = {"intent_id": hold.intent, "paths": [str(path) for path in hold.card["paths"]]}
    answer = dispatch(Door(context.workspace, context.operations), "widen_intent", arguments, context.caller)
    if answer.error is not None:
        error = answer.error
        raise CodePlaneError(error.error, error.message, hint=error.required_action, details=dict(error.details))


def _revoke(context: CallContext, request: HoldRequest) -> Holds:
    return _holds(context, [context.workspace.gate.approvals.revoke(request.hold_id, context.caller.proof)])


def _holds(context: CallContext, holds: list[Hold]) -> Holds:
    now = context.workspace.clock.now_ms()
    return Holds(results=[one.as_document(now) for one in holds])


def _hold_table(result: Holds, empty: str) -> Shown:
    rows = tuple(tuple(str(one[name] or "") for name in _COLUMNS) for one in result.results)
    return (Table(_COLUMNS, rows, "" if rows else empty),)


def _waiting_table(result: Holds) -> Shown:
    return _hold_table(result, "Nothing is waiting.")


def _grant_table(result: Holds) -> Shown:
    return _hold_table(result, "There are no grants.")


def _answers(result: Holds) -> Shown:
    return tuple(f"{one['id']} is {one['state']} ({one['scope']})." for one in result.results)


def _card(result: Document) -> Shown:
    hold: dict[str, Any] = result.model_dump()
    card = hold["card"]
    caller = card.get("caller", {})
    facts = Facts(
        (
            ("held", f"{hold['id']}, {hold['state']}, until {local_time_of(hold['expires_at'])}"),
            ("operation", hold["operation"]),
            ("why", hold["reason"]),
            ("rule", f"{hold['policy']}: {hold['rule']}"),
            ("intent", hold["intent"] or "none"),
            ("caller", f"{caller.get('client')} over {caller.get('surface')}, session {hold['session']}"),
            ("paths", (", ".join(card.get("paths", ())) or "none") + _more(card)),
            ("commands", "; ".join(card.get("commands", ())) or "none"),
            ("comment", hold["comment"] or "none"),
        )
    )
    shown = card.get("preview") or card.get("arguments")
    if not shown:
        return (facts,)
    text = shown if isinstance(shown, str) else "\n".join(f"{name}: {value}" for name, value in shown.items())
    return (facts, text)


def _more(card: dict[str, Any]) -> str:
    number = int(card.get("n_more_paths", 0))
    return f" and {number} more" if number else ""


def _first(document: dict[str, Any]) -> Any:
    return document["results"][0]


def _named(request: DenyRequest) -> str:
    return ", ".join(dict.fromkeys(request.hold_ids))


LIST_APPROVALS = Operation(
    name="list_approvals",
    family="approvals",
    summary="List waiting calls.",
    request_type=ListApprovalsRequest,
    result_type=Holds,
    effect=EffectClass.READ,
    plan=planned(_list),
    examples=(Example("What waits", {"state": "pending"}),),
    audience=Audience.SHELL,
    command=Command(
        path=("approvals", "list"),
        help="List held calls, the newest first.",
        shows=_waiting_table,
        flags={"is_all": "--all", "state": ""},
        defaults={"is_all": False},
    ),
    routes=(
        Route(
            method="GET",
            path="/approvals",
            summary="Held calls, answered ones included; filter state; needs the operator token.",
            needs_token=True,
        ),
    ),
)

LIST_GRANTS = Operation(
    name="list_grants",
    family="approvals",
    summary="List wider grants in force.",
    request_type=NoArguments,
    result_type=Holds,
    effect=EffectClass.READ,
    plan=planned(_grants),
    examples=(Example("All of them", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("approvals", "grants"),
        help="List grants for an intent, a session or a rule; `revoke` withdraws one.",
        shows=_grant_table,
    ),
    routes=(
        Route(
            method="GET",
            path="/grants",
            summary="Wider grants in force; needs the operator token.",
            needs_token=True,
        ),
    ),
)

SHOW_APPROVAL = Operation(
    name="show_approval",
    family="approvals",
    summary="Show one held call.",
    request_type=HoldRequest,
    result_type=Document,
    effect=EffectClass.READ,
    plan=planned(_show),
    examples=(Example("Show it", {"hold_id": "hold_1"}),),
    audience=Audience.SHELL,
    command=Command(
        path=("approvals", "show"),
        help="Show exactly what would run; invisible characters are shown as escapes.",
        shows=_card,
        arguments=("hold_id",),
    ),
    routes=(
        Route(
            method="GET",
            path="/approvals/{hold_id}",
            summary="One held call with its card; needs the operator token.",
            needs_token=True,
        ),
    ),
)

APPROVE_CALLS = Operation(
    name="approve_calls",
    family="approvals",
    summary="Approve held calls.",
    request_type=ApproveRequest,
    result_type=Holds,
    effect=EffectClass.RECORD,
    plan=planned(_approve),
    examples=(Example("Let it run once", {"hold_ids": ["hold_1"]}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, request: f"approve {_named(request)}",
    command=Command(
        path=("approvals", "approve"),
        help="""Approve held calls; each is shown before the code is asked for.

        `once` lets this call run one time, within 15 minutes and only if neither it nor the rules have changed.""",
        shows=_answers,
        arguments=("hold_ids",),
        flags={"scope": "--for", "arguments_digest": ""},
        previews="show_approval",
    ),
    routes=(
        Route(
            method="POST",
            path="/approvals/{hold_id}/approve",
            summary="Let a held call run; fields comment, scope, minutes, arguments_digest.",
            answer=_first,
        ),
    ),
)

DENY_CALLS = Operation(
    name="deny_calls",
    family="approvals",
    summary="Refuse held calls.",
    request_type=DenyRequest,
    result_type=Holds,
    effect=EffectClass.RECORD,
    plan=planned(_deny),
    examples=(Example("Refuse it", {"hold_ids": ["hold_1"], "comment": "Keep the old format."}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, request: f"deny {_named(request)}",
    command=Command(
        path=("approvals", "deny"),
        help="Refuse held calls; the agent sees the comment.",
        shows=_answers,
        arguments=("hold_ids",),
        flags={"arguments_digest": ""},
        previews="show_approval",
    ),
    routes=(
        Route(
            method="POST",
            path="/approvals/{hold_id}/deny",
            summary="Refuse it; fields comment, which the agent sees, and arguments_digest.",
            answer=_first,
        ),
    ),
)

REVOKE_APPROVAL = Operation(
    name="revoke_approval",
    family="approvals",
    summary="Revoke an approval or grant.",
    request_type=HoldRequest,
    result_type=Holds,
    effect=EffectClass.RECORD,
    plan=planned(_revoke),
    examples=(Example("Take it back", {"hold_id": "hold_1"}),),
    audience=Audience.PERSON,
    only_a_person_can=lambda _workspace, request: f"revoke {request.hold_id[:80]}",
    command=Command(
        path=("approvals", "revoke"),
        help="Revoke an approval or grant that is not used up.",
        shows=_answers,
        arguments=("hold_id",),
    ),
    routes=(
        Route(
            method="POST",
            path="/approvals/{hold_id}/revoke",
            summary="Revoke an approval or grant.",
            answer=_first,
        ),
    ),
)
