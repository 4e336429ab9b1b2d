"""Operations: every call, with filters."""

from codeplane.surfaces.dashboard.page_context import Data, PageContext, Query, View

_FILTERS = ("type", "outcome", "session", "task", "since", "until")


async def _show(context: PageContext, query: Query) -> Data:
    wanted = {name: query.get(name) for name in _FILTERS}
    found = await context.read("list_calls", **wanted, cursor=query.get("cursor"), limit=50)
    return {"calls": found["results"], "next_cursor": found["pagination"]["next_cursor"]}


OPERATIONS = View(name="operations", title="Operations", path="/operations", show=_show, rest=("/operations",))
