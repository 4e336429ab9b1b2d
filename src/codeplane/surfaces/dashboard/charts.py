"""Numbers as places in a drawing; templates make SVG of them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a chart that is 100 wide and 100 high."""

    x: float
    y: float
    width: float
    height: float
    value: int


def bars(values: Sequence[int]) -> list[Bar]:
    """Return one bar for each number, the highest as high as the chart; a small number can still be seen."""
    most = max((*values, 1))
    width = 100 / max(1, len(values))
    found = []
    for number, value in enumerate(values):
        height = max(4.0, 100 * value / most) if value else 0.0
        found.append(
            Bar(round(number * width, 3), round(100 - height, 2), round(width * 0.78, 3), round(height, 2), value)
        )
    return found


def stacked(values: Sequence[Sequence[int]]) -> list[list[Bar]]:
    """Return for each part its numbers as bars on top of each other, the highest sum as high as the chart."""
    most = max((*(sum(one) for one in values), 1))
    width = 100 / max(1, len(values))
    found = []
    for number, parts in enumerate(values):
        top, column = 100.0, []
        for value in parts:
            height = max(1.5, 100 * value / most) if value else 0.0
            top -= height
            column.append(Bar(round(number * width, 3), round(top, 2), round(width * 0.8, 3), round(height, 2), value))
        found.append(column)
    return found
