"""The gate as the door sees it: what it is told of a call, and what it decides."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, Protocol

from codeplane.core.callers import Caller
from codeplane.core.errors import ErrorReport
from codeplane.ledger.effects import EffectClass, Effects

# Whose tool it is: an operation of ours, an agent's own, one of another MCP server, or a team's.
ToolClass = Literal["own", "native", "mcp", "custom"]


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Everything a policy may look at.

    `given_intent` and `given_class` are what the call says about itself. `schema_digest` identifies the tool as it is
    offered. `preview` makes a text of what would happen, for a person.
    """

    call_id: str
    operation: str
    effect: EffectClass
    caller: Caller
    session: str
    effects: Effects
    arguments: Mapping[str, Any]
    arguments_digest: str
    now_ms: int
    schema_digest: str = ""
    given_intent: str | None = None
    given_class: str | None = None
    is_git: bool = False
    tool_class: ToolClass = "own"
    worktree: str = "main"
    preview: Callable[[], str] | None = None

    @property
    def mutates(self) -> bool:
        """Tell whether this call would change anything outside CodePlane's own records."""
        return self.effect.mutates


class Verdict(Enum):
    """Deny beats hold, hold beats allow."""

    ALLOW = "allow"
    HOLD = "hold"
    DENY = "deny"


class AfterPolicy(Protocol):
    """Something that looks at a call after it ran: trace, lessons, quality checks."""

    @property
    def name(self) -> str:
        """Return what it is called in warnings."""
        ...

    def observe(self, facts: CallFacts, outcome: str, result: Mapping[str, Any] | None) -> Sequence[str]:
        """Return warnings for the caller; an exception here never changes what happened."""
        ...


@dataclass(frozen=True, slots=True)
class Decision:
    """The combined verdict and the policy that settled it.

    `report` is what a denied or held call is answered with. `explanation` is recorded, so that the decision can be made
    again; `intent` is the one the call is made under and `approval` the one that lets it through. `warnings` are for
    the caller of a call that is let through.
    """

    verdict: Verdict
    policy: str
    report: ErrorReport | None = None
    explanation: Mapping[str, Any] = field(default_factory=dict)
    intent: str | None = None
    approval: str | None = None
    warnings: tuple[str, ...] = ()


class Decides(Protocol):
    """Decides over calls."""

    def decide(self, facts: CallFacts) -> Decision:
        """Return the decision."""
        ...
