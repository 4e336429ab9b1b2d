"""Memory: what was learned, what waits for a decision, and where things go wrong."""

from codeplane.core.errors import CodePlaneError
from codeplane.surfaces.dashboard.charts import Bar, bars
from codeplane.surfaces.dashboard.login import Notice
from codeplane.surfaces.dashboard.page_context import Data, Done, PageContext, Query, View

_DECISIONS = ("approve", "reject", "contest")
_OPEN = frozenset({"pending", "provisional", "contested"})
_MAX_CODES, _MAX_FOLDERS = 12, 8
_HEATS = 4
_HOURS = 24


async def _show(context: PageContext, query: Query) -> Data:
    question = query.get("q", "").strip()
    found = await context.read("search_experiences", query=question, limit=20) if question else {"results": []}
    memories = (await context.read("list_memories"))["memories"]
    friction = await context.read("show_friction")
    return {
        "question": question,
        "found": found["results"],
        "is_sure": found.get("sure", True),
        "waiting": [one for one in memories if one["state"] in _OPEN],
        "in_force": [one for one in memories if one["state"] not in _OPEN],
        "status": await context.read("memory_status"),
        "friction": friction,
        "heat": heat(friction["heat_map"]),
        "trend": _trend(friction["trend"][-_HOURS:]),
    }


def _trend(hours: list[Data]) -> list[tuple[Data, Bar]]:
    empty = [0] * (_HOURS - len(hours))
    return list(zip(hours, bars(empty + [one["n"] for one in hours])[len(empty) :], strict=True))


def heat(cells: list[Data]) -> Data:
    """Return the map as rows of codes and columns of folders, each cell with its number and its heat from 0 to 4."""
    codes = list(dict.fromkeys(one["code"] for one in cells))[:_MAX_CODES]
    folders = list(dict.fromkeys(one["anchor"] for one in cells))[:_MAX_FOLDERS]
    numbers = {(one["code"], one["anchor"]): one["n"] for one in cells}
    most = max(numbers.values(), default=1)
    rows = [
        (code, [(number := numbers.get((code, folder), 0), -(-_HEATS * number // most)) for folder in folders])
        for code in codes
    ]
    return {"folders": folders, "rows": rows}


async def _act(context: PageContext, form: Query) -> Done:
    decision, memory_id = form.get("decision", ""), form.get("memory", "")
    if decision not in _DECISIONS or not memory_id:
        raise CodePlaneError("INVALID_ARGUMENTS", "The form does not say what to decide about which memory.")
    try:
        await context.read("review_memory", **{decision: [memory_id]})
    except CodePlaneError as error:
        # Most often somebody has decided elsewhere meanwhile: the page shows how it is.
        return Done("/memory", Notice(error.message, is_good=False))
    said = {"approve": "is in force", "reject": "was rejected", "contest": "is contested"}[decision]
    return Done("/memory", Notice(f"{memory_id} {said}."))


MEMORY = View(
    name="memory",
    title="Memory",
    path="/memory",
    show=_show,
    act=_act,
    rest=("/memory/records", "/memory/friction", "/memory/status"),
)
