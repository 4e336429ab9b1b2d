"""Line ranges in the forms that callers use."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ValidationInfo

from codeplane.operations.models import split_range

_TEXT = re.compile(r"\s*L?(\d{1,9})\s*(?:(?:-|,|:|\.\.|to)\s*L?(\d{1,9}))?\s*", re.IGNORECASE)
_NAMES = (("start_line", "end_line"), ("start", "end"), ("first", "last"), ("from", "to"))


def _understood(value: Any) -> Any:
    """Accept `10`, `10-20`, `10,20`, `[10]` and `{"start": 10, "end": 20}` for a range."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return (value, value)
    if isinstance(value, str):
        found = _TEXT.fullmatch(value)
        return (int(found[1]), int(found[2] or found[1])) if found else value
    if isinstance(value, dict):
        pair = next((names for names in _NAMES if set(value) <= set(names) and names[0] in value), None)
        return (value[pair[0]], value.get(pair[1], value[pair[0]])) if pair else value
    if isinstance(value, list | tuple) and len(value) == 1:
        return (value[0], value[0])
    return value


def _in_order(value: tuple[int, int]) -> tuple[int, int]:
    first, last = value
    if first < 1:
        raise ValueError("lines are counted from 1")
    if last < first:
        raise ValueError(f"line {last} is before line {first}")
    if last > 10**9:
        raise ValueError("no file has that many lines")
    return value


LineRange = Annotated[tuple[int, int], BeforeValidator(_understood), AfterValidator(_in_order)]


def lines_in_path(data: Any, info: ValidationInfo) -> Any:
    """Accept `a.py:10-20` where a request takes `path` and `line_range`."""
    if not isinstance(data, dict) or not isinstance(data.get("path"), str) or "line_range" in data:
        return data
    found = split_range(data["path"], info)
    if found is None:
        return data
    return {**data, "path": found["path"], "line_range": [found["start_line"], found["end_line"]]}
