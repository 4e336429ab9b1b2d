"""Health: is the index fresh, what does the server use, does the record hold, are agents' gates in place."""

from codeplane.core.errors import CodePlaneError
from codeplane.operations.catalog import OPERATIONS
from codeplane.surfaces.dashboard.charts import bars
from codeplane.surfaces.dashboard.page_context import Data, PageContext, Query, View

# A longer record is verified on the page of the ledger, when somebody asks for it.
_QUICKLY_VERIFIED = 20_000
# What a tool of another server is while it waits for a person.
_HELD = frozenset({"changed", "added"})


async def _show(context: PageContext, _query: Query) -> Data:
    status, health = await context.status(), await context.health()
    durations = [one for one in health["reconcile_durations"] if one["up_to_seconds"] != "+Inf" or one["count"]]
    languages = sorted(health["languages"].items(), key=lambda one: (-one[1]["files"], one[0]))
    most_bytes = max((one["size_bytes"] for _name, one in languages), default=0)
    is_short = status["ledger_rows"] <= _QUICKLY_VERIFIED
    return {
        "status": status,
        "gauges": health["gauges"],
        "resources": health["resources"],
        "languages": languages,
        "most_bytes": max(1, most_bytes),
        "durations": list(zip(durations, bars([one["count"] for one in durations]), strict=True)),
        "upstreams": await _upstreams(context),
        "agents": (await context.read("list_agents"))["results"],
        "verification": await context.read("verify_ledger") if is_short else None,
        "memory": await _verified_memory(context),
    }


async def _verified_memory(context: PageContext) -> Data:
    """Return whether the memory holds; a store that cannot be opened is said on the page, among what is well."""
    try:
        return await context.read("verify_memory")
    except CodePlaneError as error:
        return {"verdict": error.code, "rows": 0, "problems": [error.message]}


async def _upstreams(context: PageContext) -> list[Data]:
    """Return the MCP servers of others; nothing in an edition without the gateway."""
    if "list_upstreams" not in OPERATIONS:
        return []
    found: list[Data] = (await context.read("list_upstreams"))["results"]
    return [{**one, "held": sum(tool["state"] in _HELD for tool in one["tools"])} for one in found]


HEALTH = View(
    name="health",
    title="Health",
    path="/health",
    show=_show,
    rest=("/status", "/status/health", "/agents", "/ledger/verification", "/memory/verify"),
)
