"""One operation: where its time went, why it was allowed, what it changed; and taking that back."""

from urllib.parse import quote

from codeplane.core.errors import CodePlaneError
from codeplane.surfaces.dashboard.login import Notice
from codeplane.surfaces.dashboard.page_context import Data, Done, PageContext, Query, View

_CHANGED = "changed_paths"
# Every other row tells what happened to the repository or to an approval, and has neither steps nor arguments.
_OF_CALLS = frozenset({"begun", "finished", "failed", "denied", "held"})


async def _show(context: PageContext, query: Query) -> Data:
    rows = await _rows(context, query["call"])
    last, body = rows[-1], rows[-1]["body"]
    call = last["call_id"] or str(last["seq"])
    total = max(1, int(body.get("duration_ms") or 0))
    return {
        "row": last,
        "body": body,
        "is_running": last["kind"] == "begun",
        "is_call": last["kind"] in _OF_CALLS,
        "n_rows": len(rows),
        "call": call,
        "steps": _timeline(body.get("spans", ()), total),
        "total_ms": total,
        "explanation": await _or_none(context, "explain_call", call_or_row=call),
        "change": await _or_none(context, "show_change", call=call) if body.get(_CHANGED) else None,
        "can_undo": bool(body.get(_CHANGED)) and last["kind"] in {"finished", "failed"},
    }


async def _rows(context: PageContext, call: str) -> list[Data]:
    """Return the rows of a call, also when it is named by the number of one of them."""
    rows: list[Data] = (await context.read("show_rows", row_or_call=call))["rows"]
    if rows[0]["call_id"] not in {None, call}:
        rows = (await context.read("show_rows", row_or_call=rows[0]["call_id"]))["rows"]
    return rows


async def _or_none(context: PageContext, operation: str, **arguments: str) -> Data | None:
    """Return what an operation knows, None when it has nothing to say about this call."""
    try:
        return await context.read(operation, **arguments)
    except CodePlaneError:
        return None


def _timeline(steps: list[tuple[str, int, int]], total: int) -> list[Data]:
    """Return the steps that are on record as shares of the whole."""
    return [
        {
            "name": name.replace("_", " "),
            "begun": begun / 1000,
            "lasted": lasted / 1000,
            "x": round(min(99.0, begun / 10 / total), 2),
            "width": round(max(1.0, min(100.0, lasted / 10 / total)), 2),
        }
        for name, begun, lasted in steps
    ]


async def _preview(context: PageContext, query: Query) -> Data:
    call = query["call"]
    try:
        preview = await context.read("undo", operation=call, dry_run=True)
    except CodePlaneError as error:
        return {"call": call, "preview": None, "problem": error.report().as_dict()}
    return {"call": call, "preview": preview, "problem": None}


async def _undo(context: PageContext, form: Query) -> Done:
    call = form["call"]
    here = f"/operations/{quote(call, safe='')}"
    try:
        undone = await context.read("undo", operation=call)
    except CodePlaneError as error:
        # The page asks again what an undo would do, and shows what is in its way.
        return Done(f"{here}/undo", Notice(error.message, is_good=False))
    return Done(f"/operations/{quote(str(undone['mutation_id']), safe='')}", Notice(undone["summary"]))


OPERATION = View(
    name="operation",
    title="Operation",
    path="/operations/{call}",
    show=_show,
    rest=("/operations/{call}", "/operations/{call}/decision", "/operations/{call}/change"),
    belongs_to="operations",
)
UNDO = View(
    name="undo",
    title="Undo",
    path="/operations/{call}/undo",
    show=_preview,
    act=_undo,
    belongs_to="operations",
)
