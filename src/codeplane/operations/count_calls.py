"""How many calls there were in each part of a span of time."""

from datetime import UTC, datetime

from pydantic import Field

from codeplane.core.clock import iso_from_ms, local_time, ms_from_iso
from codeplane.core.errors import CodePlaneError
from codeplane.ledger.chain import FINAL_KINDS
from codeplane.ledger.effects import EffectClass
from codeplane.operations.command import Command, Route, Shown, Table
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import Audience, CallContext, Example, Operation, planned

_DAY_MS = 86_400_000
_MAX_MS = 400 * _DAY_MS
# The row that opens a changing call; its final row has one of the other kinds.
_BEGUN = "begun"


class CountCallsRequest(Request):
    """Which span of time, in how many parts; without a span the last 24 hours."""

    since: str | None = Field(None, description="From this time on, such as 2026-01-31 or 2026-01-31T12:00:00Z.")
    until: str | None = Field(None, description="Up to this time.")
    task: str | None = Field(None, description="Only calls of this task.")
    parts: int = Field(24, ge=1, le=500, description="Into how many equal parts the span is divided.")


class Part(Result):
    """One part of the span; `changes` counts changing calls that began in it, the others ended in it."""

    time: str
    finished: int
    failed: int
    denied: int
    held: int
    changes: int


class CallCounts(Result):
    """The parts, oldest first."""

    since: str
    until: str
    part_ms: int
    parts: list[Part]


def _count(context: CallContext, request: CountCallsRequest) -> CallCounts:
    since, until = _span(context.workspace.clock.now_ms(), request)
    part_ms = max(1, -(-(until - since) // request.parts))
    counts = context.workspace.chain.counts(request.task, since, until, part_ms)
    n_parts = -(-(until - since) // part_ms)
    parts = [
        Part(
            time=iso_from_ms(since + number * part_ms),
            changes=counts.get((number, _BEGUN), 0),
            **{kind: counts.get((number, kind), 0) for kind in FINAL_KINDS},
        )
        for number in range(n_parts)
    ]
    return CallCounts(since=iso_from_ms(since), until=iso_from_ms(until), part_ms=part_ms, parts=parts)


def _span(now_ms: int, request: CountCallsRequest) -> tuple[int, int]:
    try:
        until = ms_from_iso(request.until) if request.until is not None else now_ms + 1
        since = ms_from_iso(request.since) if request.since is not None else until - _DAY_MS
    except (ValueError, OverflowError) as error:
        raise CodePlaneError("INVALID_ARGUMENTS", "since and until are times such as 2026-01-31T12:00:00Z.") from error
    first, last = _year_ms(1971), _year_ms(9999)
    if not (first <= since < until <= last and until - since <= _MAX_MS):
        raise CodePlaneError("INVALID_ARGUMENTS", "since is before until, by at most 400 days.")
    return since, until


def _year_ms(year: int) -> int:
    return round(datetime(year, 1, 1, tzinfo=UTC).timestamp() * 1000)


def _table(result: CallCounts) -> Shown:
    names = ("finished", "failed", "denied", "held", "changes")
    rows = tuple(
        (local_time(ms_from_iso(part.time)), *(str(getattr(part, name)) for name in names))
        for part in result.parts
        if any(getattr(part, name) for name in names)
    )
    return (Table(("from", *names), rows, "" if rows else "There were no calls."),)


COUNT_CALLS = Operation(
    name="count_calls",
    family="ledger",
    summary="Count calls by time and outcome.",
    request_type=CountCallsRequest,
    result_type=CallCounts,
    effect=EffectClass.READ,
    plan=planned(_count),
    examples=(Example("The last day by hours", {"parts": 24}),),
    audience=Audience.SHELL,
    command=Command(
        path=("ledger", "count"),
        help="Count calls by time and outcome; parts of the span without calls are left out.",
        shows=_table,
        needs_ledger=True,
    ),
    routes=(
        Route(
            method="GET", path="/ledger/counts", summary="Calls by time and outcome; filters since, until, task, parts."
        ),
    ),
)
