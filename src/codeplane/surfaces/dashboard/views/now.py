"""Now: what every agent is doing."""

from codeplane.surfaces.dashboard.page_context import Data, PageContext, Query, View

_SHOWN_CALLS = 25


async def _show(context: PageContext, _query: Query) -> Data:
    calls = await context.read("list_calls", limit=_SHOWN_CALLS)
    return {"calls": calls["results"]}


NOW = View(
    name="now",
    title="Now",
    path="",
    show=_show,
    rest=(f"/operations?limit={_SHOWN_CALLS}",),
)
