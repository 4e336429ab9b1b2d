"""What a policy may say of a call, and how opinions combine."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from codeplane.core.errors import ErrorReport
from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.rulebook import Rulebook
from codeplane.ledger.policy import Verdict

# The rule of an opinion that lets a call through and warns its caller.
REMINDER = "reminder"


@dataclass(frozen=True, slots=True)
class Opinion:
    """What one policy says. `report` is the error of a denial; `code` the one that a held call is answered with.

    `rule` names what decided inside of the policy, `segment` the path, ref or command it is about.
    """

    verdict: Verdict
    reason: str
    rule: str = ""
    segment: str = ""
    report: ErrorReport | None = None
    code: str = "APPROVAL_PENDING"

    def as_dict(self, policy: str) -> dict[str, Any]:
        """Return the form that is recorded."""
        found: dict[str, Any] = {"policy": policy, "verdict": self.verdict.value, "reason": self.reason[:500]}
        found |= {"rule": self.rule} if self.rule else {}
        found |= {"segment": self.segment} if self.segment else {}
        return found | ({"error": self.report.error} if self.report is not None else {})


class GatePolicy(Protocol):
    """One rule of the gate, one file: a pure function. None means "no opinion", which is never read as permission."""

    @property
    def name(self) -> str:
        """Return what the policy protects, as it is recorded and told."""
        ...

    def judge(self, call: GovernedCall, rules: Rulebook) -> Opinion | None:
        """Return an opinion, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Judgement:
    """All opinions on a call in the order of the policies, and the one that decides."""

    policy: str
    opinion: Opinion
    opinions: tuple[tuple[str, Opinion], ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the form that is recorded."""
        return {
            "policy": self.policy,
            "verdict": self.opinion.verdict.value,
            "opinions": [opinion.as_dict(policy) for policy, opinion in self.opinions],
        }


NOTHING_FORBIDS = Opinion(Verdict.ALLOW, "no policy has an objection")


def judge(policies: Iterable[GatePolicy], call: GovernedCall, rules: Rulebook) -> Judgement:
    """Ask every policy and combine what they say; the first of the strictest opinions decides."""
    opinions: list[tuple[str, Opinion]] = []
    for policy in policies:
        opinion = policy.judge(call, rules)
        if opinion is not None:
            opinions.append((policy.name, opinion))
    for verdict in (Verdict.DENY, Verdict.HOLD, Verdict.ALLOW):
        for name, opinion in opinions:
            if opinion.verdict is verdict:
                return Judgement(name, opinion, tuple(opinions))
    return Judgement("default", NOTHING_FORBIDS, tuple(opinions))


def deny(report: ErrorReport, rule: str = "", segment: str = "") -> Opinion:
    """Return a refusal."""
    return Opinion(Verdict.DENY, report.message, rule, segment, report)
