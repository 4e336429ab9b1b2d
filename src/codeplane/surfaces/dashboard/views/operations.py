"""Operations: every call, with filters."""

from codeplane.operations.catalog import OPERATIONS as CATALOG
from codeplane.surfaces.dashboard.page_context import Data, PageContext, Query, View

_FILTERS = ("type", "outcome", "session", "task", "path", "since", "until")
_PAGE = 50


async def _show(context: PageContext, query: Query) -> Data:
    wanted = {name: query.get(name) for name in _FILTERS}
    found = await context.read("list_calls", **wanted, cursor=query.get("cursor"), limit=_PAGE)
    return {
        "calls": found["results"],
        "next_cursor": found["pagination"]["next_cursor"],
        "filtered": [name for name in _FILTERS if query.get(name)],
        "types": sorted(CATALOG),
    }


OPERATIONS = View(
    name="operations",
    title="Operations",
    path="/operations",
    show=_show,
    rest=(f"/operations?limit={_PAGE}",),
)
