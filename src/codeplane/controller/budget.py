"""The token budget of a run: what a turn costs, and when turns are refused."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from codeplane.controller.plan import canonical_json

DEFAULT_MAX_TOKENS: Final = 100_000
DEFAULT_THRESHOLD: Final = Decimal("0.6")
_BYTES_PER_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class Budget:
    """The limit, the part of it that may be used, and what is used."""

    used_tokens: int = 0
    max_tokens: int = DEFAULT_MAX_TOKENS
    threshold: Decimal = DEFAULT_THRESHOLD

    @property
    def threshold_tokens(self) -> int:
        """What may be used, rounded down."""
        return int(self.max_tokens * self.threshold)

    def admits(self, cost: int) -> bool:
        """Tell whether a turn of this cost fits."""
        return self.used_tokens + cost <= self.threshold_tokens

    @property
    def is_exceeded(self) -> bool:
        """Whether more is used than may be."""
        return self.used_tokens > self.threshold_tokens


def cost_of(request: Mapping[str, Any]) -> int:
    """Return the tokens of a request: a quarter of the bytes of its canonical JSON, rounded up.

    Raises:
        ValueError: the request is nested too deeply or holds a number that cannot be written.
    """
    try:
        return -(-len(canonical_json(request)) // _BYTES_PER_TOKEN)
    except RecursionError as error:
        raise ValueError("The request is nested too deeply.") from error
