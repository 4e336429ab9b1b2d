"""Intents: what the team wants done, what came of it, and the calls under each."""

from codeplane.surfaces.dashboard.page_context import Data, PageContext, Query, View

_SHOWN_CALLS = 25


async def _show(context: PageContext, _query: Query) -> Data:
    brought = {one["intent"]: one for one in (await context.read("trace_stats"))["intents"]}
    none = {"records": 0, "lines": 0}
    intents = (await context.read("list_intents"))["results"]
    return {"intents": [{**one, "brought": brought.get(one["id"], none)} for one in intents]}


async def _show_one(context: PageContext, query: Query) -> Data:
    intent_id = query["intent_id"]
    calls = await context.read("list_calls", intent=intent_id, cursor=query.get("cursor"), limit=_SHOWN_CALLS)
    return {
        "intent": await context.read("show_intent", intent_id=intent_id),
        "calls": calls["results"],
        "next_cursor": calls["pagination"]["next_cursor"],
    }


INTENTS = View(name="intents", title="Intents", path="/intents", show=_show, rest=("/intents", "/trace/stats"))
INTENT = View(
    name="intent",
    title="Intent",
    path="/intents/{intent_id}",
    show=_show_one,
    rest=("/intents/{intent_id}", "/operations?intent={intent_id}"),
    belongs_to="intents",
)
