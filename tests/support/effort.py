"""How many random examples a property test tries: a fixed seed in `make test`, ten times as many in `make soak`."""

import os

from hypothesis import HealthCheck, settings

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
