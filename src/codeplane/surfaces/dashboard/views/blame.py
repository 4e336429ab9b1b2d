"""Blame: who wrote each line of a file, under which intent, by which call."""

from codeplane.core.errors import CodePlaneError
from codeplane.surfaces.dashboard.page_context import Data, PageContext, Query, View

_LINES_PER_PAGE = 400
_MAX_GROUPS = 1_000


async def _show(context: PageContext, query: Query) -> Data:
    path = query.get("path", "").strip()
    nothing: Data = {"files": [], "path": path, "problem": "", "groups": [], "line_count": 0, "later": 0}
    if not path:
        # Counting goes through the whole trace, so it is left out where a file is named.
        return {**nothing, "files": (await context.read("trace_stats"))["files"]}
    start = query.get("start", "")
    first = int(start) if start.isdecimal() and 0 < int(start[:9]) < 10**8 else 1
    try:
        found = await context.read(
            "trace_blame", path=path, line_range=[first, first + _LINES_PER_PAGE - 1], limit=_MAX_GROUPS
        )
    except CodePlaneError as error:
        return {**nothing, "problem": error.message}
    lines = await _lines(context, path, first)
    later = first + _LINES_PER_PAGE
    return {
        **nothing,
        "line_count": found["line_count"],
        "groups": [{**one, "lines": _of_group(one, lines, first)} for one in found["groups"]],
        "later": later if later <= found["line_count"] else 0,
    }


async def _lines(context: PageContext, path: str, first: int) -> list[str]:
    """Return the text of a page; nothing where it may not be shown."""
    target = f"{path}:{first}-{first + _LINES_PER_PAGE - 1}"
    try:
        found = (await context.read("read_source", targets=[target]))["files"]
    except CodePlaneError:
        return []
    return str(found[0]["content"]).split("\n") if found else []


def _of_group(group: Data, lines: list[str], first: int) -> list[tuple[int, str]]:
    """Return the numbers and texts of the lines of a group; what was cut off has no text."""
    numbers = range(int(group["start_line"]), int(group["end_line"]) + 1)
    return [(number, lines[number - first] if number - first < len(lines) else "") for number in numbers]


BLAME = View(name="blame", title="Blame", path="/blame", show=_show, rest=("/trace/blame?path={path}", "/trace/stats"))
