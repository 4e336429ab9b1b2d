"""The policy protocol: what a policy is told, what it may answer, and how answers combine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from codeplane.core.errors import ErrorReport
from codeplane.core.logs import fields, get_logger
from codeplane.ledger.callers import Caller
from codeplane.ledger.effects import EffectClass, Effects

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Everything a policy may look at.

    `given_intent` and `given_class` are what the call says about itself. `schema_digest` stands for the tool as it is
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
    tool_class: Literal["own", "native", "mcp", "custom"] = "own"
    worktree: str = "main"
    preview: Callable[[], str] | None = None

    @property
    def mutates(self) -> bool:
        """Tell whether this call would change anything outside CodePlane's own records."""
        return self.effect.mutates


@dataclass(frozen=True, slots=True)
class Allow:
    """The policy permits the call."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Deny:
    """The policy refuses the call with an error from the registry."""

    report: ErrorReport


@dataclass(frozen=True, slots=True)
class Hold:
    """The call must wait for a person; nothing waits inside the door meanwhile."""

    reason: str
    hold_id: str
    expires_ms: int
    code: str = "APPROVAL_PENDING"


Verdict = Allow | Deny | Hold


class Policy(Protocol):
    """One rule, one file. None means "no opinion", which is never read as permission."""

    @property
    def name(self) -> str:
        """Return what the policy protects, as it is recorded and told."""
        ...

    def judge(self, facts: CallFacts) -> Verdict | None:
        """Return a verdict, or None for no opinion."""
        ...


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

    `explanation` is recorded, so that the decision can be made again; `intent` is the one the call is made under and
    `approval` the one it was let through by.
    """

    verdict: Verdict
    policy: str
    explanation: Mapping[str, Any] = field(default_factory=dict)
    intent: str | None = None
    approval: str | None = None


class Decides(Protocol):
    """Whoever decides over calls."""

    def decide(self, facts: CallFacts) -> Decision:
        """Return the decision."""
        ...


@dataclass(frozen=True, slots=True)
class PolicySet:
    """Policies in their fixed order and what holds when none of them has an opinion."""

    policies: tuple[Policy, ...]
    default: Verdict

    def decide(self, facts: CallFacts) -> Decision:
        """Combine the verdicts: deny beats hold, hold beats allow; the first of each kind is reported."""
        held: Decision | None = None
        allowed: Decision | None = None
        for policy in self.policies:
            verdict = _verdict_of(policy, facts)
            if isinstance(verdict, Deny):
                return Decision(verdict, policy.name)
            if isinstance(verdict, Hold) and held is None:
                held = Decision(verdict, policy.name)
            if isinstance(verdict, Allow) and allowed is None:
                allowed = Decision(verdict, policy.name)
        return held or allowed or Decision(self.default, "default")


def _verdict_of(policy: Policy, facts: CallFacts) -> Verdict | None:
    """Ask one policy; a policy that breaks refuses mutations and has no opinion on the rest."""
    try:
        return policy.judge(facts)
    except Exception:  # noqa: BLE001 - a policy may be a team's plugin; it must fail closed, not take the door down.
        _log.exception("policy failed", extra=fields(policy=policy.name, operation=facts.operation))
        if not facts.mutates:
            return None
        message = f"The policy {policy.name} failed, so the change was refused."
        return Deny(ErrorReport("POLICY_DENIED", message, "A person repairs the policy; reads still work."))
