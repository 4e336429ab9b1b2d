"""Tests: the last runs, what failed in them, and what is flaky."""

from codeplane.surfaces.dashboard.charts import bars
from codeplane.surfaces.dashboard.page_context import Data, PageContext, Query, View

_RUNS = 20
_SHOWN_FAILURES = 10


async def _show(context: PageContext, _query: Query) -> Data:
    found = await context.read("list_test_runs", limit=_RUNS)
    runs = found["runs"]
    oldest_first = runs[::-1]
    # Always as many places as runs are shown, so that a single one does not fill the chart.
    empty = [0] * (_RUNS - len(runs))
    chart = bars(empty + [max(1, round(1000 * run["seconds"])) for run in oldest_first])[len(empty) :]
    return {
        "runs": runs,
        "columns": list(zip(oldest_first, chart, strict=True)),
        "failures": runs[0]["failures"][:_SHOWN_FAILURES] if runs else [],
        "flaky": sorted(found["flaky"].items(), key=lambda one: (-one[1], one[0])),
        "kept": found["kept"],
        "now_ms": context.now_ms,
    }


TESTS = View(name="tests", title="Tests", path="/tests", show=_show, rest=(f"/tests/runs?limit={_RUNS}",))
