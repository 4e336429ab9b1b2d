"""How many random examples a property test tries: a fixed seed in `make test`, ten times as many in `make soak`."""

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

from hypothesis import HealthCheck, settings

Row = TypeVar("Row")
_FACTOR = int(os.environ.get("CODEPLANE_SOAK", "1"))


def examples(count: int) -> settings:
    """Return settings for a property test of `count` examples."""
    return settings(
        max_examples=count * _FACTOR,
        deadline=None,
        derandomize=_FACTOR == 1,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )


def repeated(count: int) -> int:
    """Return how many seeds a test tries that draws its examples itself."""
    return count * _FACTOR


def spread(rows: Iterable[Row], count: int) -> list[Row]:
    """Return `count` rows, evenly spread from the first to the last; `make soak` takes all of them."""
    every = list(rows)
    if _FACTOR > 1 or len(every) <= count:
        return every
    return [every[round(number * (len(every) - 1) / max(1, count - 1))] for number in range(count)]


def some_of(usual: Sequence[str], rest: Sequence[str]) -> list[str]:
    """Return the cases that `make test` tries; `make soak` tries the rest, too."""
    return [*usual, *(rest if _FACTOR > 1 else ())]
