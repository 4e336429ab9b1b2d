"""The answer about one command."""

from dataclasses import dataclass
from enum import Enum
from typing import Any


class RiskVerdict(Enum):
    """How dangerous a command is; VERIFICATION runs the tree's code, but only to check it."""

    SAFE = "SAFE"
    VERIFICATION = "VERIFICATION"
    DESTRUCTIVE = "DESTRUCTIVE"


_ORDER = (RiskVerdict.SAFE, RiskVerdict.VERIFICATION, RiskVerdict.DESTRUCTIVE)


@dataclass(frozen=True, slots=True)
class Segment:
    """One simple command of a chain or pipe."""

    text: str
    verdict: RiskVerdict
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RiskReport:
    """The strictest verdict of all segments, and why."""

    verdict: RiskVerdict
    segments: tuple[Segment, ...] = ()
    reasons: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the form that is printed."""
        return {
            "verdict": self.verdict.value,
            "segments": [
                {"text": one.text, "verdict": one.verdict.value, "reasons": list(one.reasons)} for one in self.segments
            ],
            "reasons": list(self.reasons),
        }


class UnclearCommandError(Exception):
    """The text cannot be said to be harmless; never leaves the package."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def strictest(verdicts: list[RiskVerdict]) -> RiskVerdict:
    """Return the strictest verdict; of none it is DESTRUCTIVE."""
    return max(verdicts, key=_ORDER.index, default=RiskVerdict.DESTRUCTIVE)
