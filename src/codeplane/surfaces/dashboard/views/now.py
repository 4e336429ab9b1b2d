"""Now: what every agent is doing, who is spinning, the last calls."""

from codeplane.surfaces.dashboard.charts import bars
from codeplane.surfaces.dashboard.page_context import Data, PageContext, Query, View

_SHOWN_CALLS = 25
_SHOWN_SESSIONS = 50
_LOOKED_AT = 400


async def _show(context: PageContext, query: Query) -> Data:
    activity = await context.read("show_activity", limit=_LOOKED_AT)
    data: Data = {
        "n_looked_at": _LOOKED_AT if activity["is_cut"] else None,
        "sessions": activity["sessions"][:_SHOWN_SESSIONS],
        "n_sessions": len(activity["sessions"]),
        "signals": activity["signals"],
        "per_minute": activity["per_minute"],
        "chart": bars(activity["per_minute"]),
    }
    if "fragment" in query:
        return data
    calls = await context.read("list_calls", limit=_SHOWN_CALLS)
    return {**data, "calls": calls["results"], "status": await context.status()}


NOW = View(
    name="now",
    title="Now",
    path="",
    show=_show,
    rest=("/activity", f"/operations?limit={_SHOWN_CALLS}", "/tasks?state=open"),
)
