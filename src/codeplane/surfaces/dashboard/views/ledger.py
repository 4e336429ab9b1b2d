"""Ledger: when which calls were made, where something can be undone, and whether the record holds."""

from datetime import UTC, datetime

from codeplane.core.clock import iso_from_ms, local_day, local_time, ms_from_iso
from codeplane.core.errors import CodePlaneError
from codeplane.surfaces.dashboard.charts import stacked
from codeplane.surfaces.dashboard.page_context import Data, PageContext, Query, View

_DAY_MS = 86_400_000
_LONGEST = 400 * _DAY_MS
_EARLIEST, _LATEST = _LONGEST, round(datetime(9998, 1, 1, tzinfo=UTC).timestamp() * 1000)
_TIMES = "A day is written as 2026-01-31, a time as 2026-01-31T12:00:00Z."
_PARTS = 96
_LEAST_MS = 60_000
_MARKS = 200
# A longer record is verified after the page is there, a very long one when somebody asks for it.
_VERIFIED_AT_ONCE = 3_000
_VERIFIED_BY_ITSELF = 20_000
_KINDS = ("finished", "failed", "denied", "held")
_SOUND = frozenset({"sound", "anchor missing"})


async def _show(context: PageContext, query: Query) -> Data:
    since, until = await _span(context, query)
    if not _EARLIEST < since < until < _LATEST or until - since > _LONGEST:
        raise CodePlaneError("INVALID_ARGUMENTS", "The end is after the beginning, by at most 400 days.", hint=_TIMES)
    times = {"since": iso_from_ms(since), "until": iso_from_ms(until), "task": query.get("task")}
    counts = await context.read("count_calls", **times, parts=_PARTS)
    changes = await context.read("list_calls", **times, only_changes=True, limit=_MARKS)
    columns = stacked([[part[kind] for kind in _KINDS] for part in counts["parts"]])
    half = max(_LEAST_MS, (until - since) // 8) // 2
    return {
        "columns": [
            {
                "bars": list(zip(_KINDS, column, strict=True)),
                "part": part,
                "n_calls": sum(part[kind] for kind in _KINDS),
                "since": iso_from_ms(_middle(part, counts) - half),
                "until": iso_from_ms(_middle(part, counts) + half),
            }
            for column, part in zip(columns, counts["parts"], strict=True)
        ],
        "kinds": [(kind, sum(part[kind] for part in counts["parts"])) for kind in _KINDS],
        "marks": [{**one, "x": _place(one, since, until)} for one in changes["results"]],
        "are_marks_cut": changes["pagination"]["next_cursor"] is not None,
        "moves": _moves(since, until),
        "ticks": _ticks(since, until),
        **times,
        **await _verified(context, query),
    }


async def _span(context: PageContext, query: Query) -> tuple[int, int]:
    """Return the span of time that is asked for: as named, of a task, of a day, or the last day."""
    try:
        if query.get("since") and query.get("until"):
            return ms_from_iso(query["since"]), ms_from_iso(query["until"])
        if query.get("day"):
            return local_day(query["day"])
    except (ValueError, OverflowError) as error:
        raise CodePlaneError("INVALID_ARGUMENTS", "This is not a day, or not a time.", hint=_TIMES) from error
    if query.get("task"):
        task = await context.read("show_task", task_id=query["task"])
        ended = ms_from_iso(task["closed_at"]) if task["closed_at"] else context.now_ms
        return ms_from_iso(task["opened_at"]) - 1_000, max(ended, ms_from_iso(task["opened_at"]) + _LEAST_MS)
    return context.now_ms - _DAY_MS + 1, context.now_ms + 1


def _middle(part: Data, counts: Data) -> int:
    return ms_from_iso(part["time"]) + int(counts["part_ms"]) // 2


def _place(call: Data, since: int, until: int) -> float:
    return round(100 * (ms_from_iso(call["time"]) - since) / (until - since), 3)


def _moves(since: int, until: int) -> list[tuple[str, str, str]]:
    """Return where the buttons lead: earlier, later, closer, wider."""
    length = until - since
    spans = {
        "Earlier": (since - length // 2, until - length // 2),
        "Later": (since + length // 2, until + length // 2),
        "Zoom in": (since + length // 4, until - length // 4),
        "Zoom out": (since - length // 2, until + length // 2),
    }
    return [
        (name, iso_from_ms(start), iso_from_ms(end))
        for name, (start, end) in spans.items()
        if end - start >= _LEAST_MS and _EARLIEST < start < end < _LATEST and end - start <= _LONGEST
    ]


def _ticks(since: int, until: int) -> list[str]:
    """Return the times below the chart, from its left edge to its right."""
    days, seconds = (until - since > 2 * _DAY_MS), (until - since < 10 * _LEAST_MS)
    part = slice(5, 16) if days else slice(11, 19) if seconds else slice(11, 16)
    return [local_time(since + number * (until - since) // 4)[part] for number in range(5)]


async def _verified(context: PageContext, query: Query) -> Data:
    """Return whether the record holds; None where finding out takes longer than a page may."""
    n_rows = (await context.status())["ledger_rows"]
    is_asked = query.get("verify") or query.get("fragment") == "record"
    if n_rows > _VERIFIED_AT_ONCE and not is_asked:
        is_later = n_rows <= _VERIFIED_BY_ITSELF
        return {"verification": None, "is_sound": True, "n_rows": n_rows, "is_verified_later": is_later}
    found = await context.read("verify_ledger")
    is_sound = found["verdict"] in _SOUND
    return {"verification": found, "is_sound": is_sound, "n_rows": found["rows"], "is_verified_later": False}


LEDGER = View(
    name="ledger",
    title="Ledger",
    path="/ledger",
    show=_show,
    rest=(f"/ledger/counts?parts={_PARTS}", "/operations?only_changes=true", "/ledger/verification"),
)
