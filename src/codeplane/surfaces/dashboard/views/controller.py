"""Controller: its runs, the plan of each as a drawing, what is wrong with it, and what its pack holds."""

from codeplane.surfaces.dashboard.page_context import Data, PageContext, Query, View

_WIDTH, _HEIGHT = 220, 62
_GAP_X, _GAP_Y = 56, 26
_MARGIN = 8
_TONES = {"finished": "good", "running": "accent", "failed": "bad", "waits for review": "warn"}


async def _show(context: PageContext, _query: Query) -> Data:
    analytics = await context.read("controller_analytics")
    return {"runs": (await context.read("list_runs"))["runs"], "analytics": analytics}


async def _show_one(context: PageContext, query: Query) -> Data:
    run = await context.read("show_run", run=query["run"])
    return {"run": run, "graph": drawing(run["tree"], run["last_rejection"]), "violations": run["last_rejection"]}


def drawing(nodes: list[Data], violations: list[Data]) -> Data:
    """Return the places of the nodes of a plan and of the lines between them; each node stands right of what it needs.

    `nodes` come with each after those that it depends on.
    """
    levels: dict[str, int] = {}
    rows: dict[int, int] = {}
    boxes: dict[str, Data] = {}
    for node in nodes:
        level = 1 + max((levels[one] for one in node["after"] if one in levels), default=-1)
        levels[node["id"]], row = level, rows.get(level, 0)
        rows[level] = row + 1
        boxes[node["id"]] = {
            **node,
            "state": node["state"] or "not begun",
            "x": _MARGIN + level * (_WIDTH + _GAP_X),
            "y": _MARGIN + row * (_HEIGHT + _GAP_Y),
            "tone": _TONES.get(node["state"] or "", "plain"),
            "faults": [one for one in violations if one.get("nodeId") == node["id"]],
        }
    return {
        "boxes": list(boxes.values()),
        "lines": [_line(boxes[before], box) for box in boxes.values() for before in box["after"] if before in boxes],
        "width": 2 * _MARGIN + len(rows) * (_WIDTH + _GAP_X) - _GAP_X,
        "height": 2 * _MARGIN + max(rows.values(), default=0) * (_HEIGHT + _GAP_Y) - _GAP_Y,
        "box_width": _WIDTH,
        "box_height": _HEIGHT,
    }


def _line(before: Data, after: Data) -> str:
    """Return the curve from the right of one box to the left of another, as a path of SVG."""
    x1, y1 = before["x"] + _WIDTH, before["y"] + _HEIGHT // 2
    x2, y2 = after["x"], after["y"] + _HEIGHT // 2
    middle = (x1 + x2) // 2
    return f"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}"


CONTROLLER = View(
    name="controller", title="Controller", path="/controller", show=_show, rest=("/runs", "/controller/analytics")
)
RUN = View(
    name="run", title="Run", path="/controller/{run}", show=_show_one, rest=("/runs/{run}",), belongs_to="controller"
)
