"""What every agent is doing: sessions with their intents, tasks and budgets, and signs that one makes no progress."""

from collections.abc import Sequence
from typing import Any, Final

from pydantic import Field

from codeplane.core.callers import CallerKind
from codeplane.core.clock import iso_from_ms, local_time_of
from codeplane.ledger.chain import FINAL_KINDS, LedgerRow, RowFilter
from codeplane.ledger.effects import EffectClass
from codeplane.operations.command import Command, Route, Shown, Table
from codeplane.operations.convergence import ConvergenceSignal, budget_signals, by_session, signals_of
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import Audience, CallContext, Example, Operation, planned
from codeplane.workspace.workspace import Workspace

_MINUTE_MS: Final = 60_000
_MAX_ROWS: Final = 2_000


class ShowActivityRequest(Request):
    """How far to look back."""

    minutes: int = Field(60, ge=1, le=1440, description="Sessions that were active in these last minutes.")
    limit: int = Field(400, ge=1, le=_MAX_ROWS, description="Calls to look at, the newest first.")


class ActiveSession(Result):
    """One session of an agent."""

    session: str
    client: str
    opened: str | None
    last_call: str
    last_operation: str
    calls: int
    failures: int
    changes: int
    intent: str | None
    task: dict[str, Any] | None
    worktree: str


class Activity(Result):
    """Sessions, the last active one first; calls per minute, the oldest first; signs of no progress."""

    sessions: list[ActiveSession]
    signals: list[ConvergenceSignal]
    per_minute: list[int]
    is_cut: bool = Field(description="Whether there were more calls than were looked at.")


def _show(context: CallContext, request: ShowActivityRequest) -> Activity:
    workspace = context.workspace
    now = workspace.clock.now_ms()
    since = now - request.minutes * _MINUTE_MS
    rows = workspace.chain.rows(RowFilter(kinds=FINAL_KINDS, since_ms=since, limit=request.limit))
    calls = by_session([row for row in rows if row.body.get("caller", "agent") == CallerKind.AGENT.value])
    clients = workspace.sessions.clients(calls)
    sessions, signals = [], []
    for session, own in calls.items():
        one = _session(workspace, session, own, clients.get(session))
        sessions.append(one)
        if session in clients:
            signals += signals_of(session, own, now)
            signals += budget_signals(session, one.task) if one.task is not None else []
    # One more millisecond, so that a call of this very moment is counted.
    counts = workspace.chain.counts(None, since + 1, now + 1, _MINUTE_MS)
    per_minute = [sum(counts.get((number, kind), 0) for kind in FINAL_KINDS) for number in range(request.minutes)]
    return Activity(sessions=sessions, signals=signals, per_minute=per_minute, is_cut=len(rows) == request.limit)


def _session(
    workspace: Workspace, session: str, rows: Sequence[LedgerRow], known: tuple[str, int] | None
) -> ActiveSession:
    last = rows[-1]
    task = workspace.tasks.current_task(session, last.worktree) if known is not None else None
    return ActiveSession(
        session=session,
        client=known[0] if known is not None else "ended",
        opened=iso_from_ms(known[1]) if known is not None else None,
        last_call=iso_from_ms(last.ts_ms),
        last_operation=last.operation or "",
        calls=len(rows),
        failures=sum(row.kind in {"failed", "denied"} for row in rows),
        changes=sum(bool(row.body.get("changed_paths")) for row in rows),
        intent=workspace.gate.memory.selected(session),
        task=task.as_document(workspace.clock.now_ms()) if task is not None and task.is_open else None,
        worktree=last.worktree,
    )


def _tables(result: Activity) -> Shown:
    rows = tuple(
        (
            one.session,
            one.client,
            one.intent or "none",
            one.last_operation,
            local_time_of(one.last_call),
            str(one.calls),
            str(one.failures),
            str(one.changes),
        )
        for one in result.sessions
    )
    headers = ("session", "client", "intent", "last call", "at", "calls", "failed", "changes")
    table = Table(headers, rows, "" if rows else "No agent was active.")
    return (table, *(f"! {one.text}." for one in result.signals))


SHOW_ACTIVITY = Operation(
    name="show_activity",
    family="ledger",
    summary="Show what every agent does, and whether one is spinning.",
    request_type=ShowActivityRequest,
    result_type=Activity,
    effect=EffectClass.READ,
    plan=planned(_show),
    examples=(Example("The last hour", {}),),
    audience=Audience.SHELL,
    command=Command(
        path=("activity",),
        help="""Show the sessions of agents, what they did last, and signs that one makes no progress.

        The signs are told from the ledger: the same content or the same failure again, refusals in a row, a pause after
        a burst of calls, a budget that is nearly used. Exit code 1 when there is a sign.""",
        shows=_tables,
        flags={"limit": ""},
        is_finding=lambda result: bool(result.signals),
        needs_ledger=True,
    ),
    routes=(
        Route(
            method="GET",
            path="/activity",
            summary="Sessions of agents with intents, tasks and budgets, calls per minute, signs of no progress.",
        ),
    ),
)
