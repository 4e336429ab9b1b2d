"""How verdicts combine: deny beats hold, hold beats allow, silence is never permission."""

import itertools
from dataclasses import dataclass

import pytest

from codeplane.core.errors import ErrorReport
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.ledger.policy import Allow, CallFacts, Deny, Hold, PolicySet, Verdict
from support.doors import caller

VERDICTS: dict[str, Verdict | None] = {
    "deny": Deny(ErrorReport("POLICY_DENIED", "no")),
    "hold": Hold("wait", "hold-1", 10),
    "allow": Allow("yes"),
    "silent": None,
}
DEFAULTS = ("deny", "hold", "allow")


@dataclass(frozen=True)
class Fixed:
    name: str
    verdict: Verdict | None

    def judge(self, _facts: CallFacts) -> Verdict | None:
        return self.verdict


@dataclass(frozen=True)
class Broken:
    name: str = "broken"

    def judge(self, _facts: CallFacts) -> Verdict | None:
        raise ZeroDivisionError


def _facts(effect: EffectClass) -> CallFacts:
    return CallFacts("req_1", "toy", effect, caller(), "s-1", Effects(), {}, "0" * 64, 0)


def _default(name: str) -> Verdict:
    verdict = VERDICTS[name]
    assert verdict is not None
    return verdict


@pytest.mark.parametrize(("first", "second", "default"), list(itertools.product(VERDICTS, VERDICTS, DEFAULTS)))
def test_the_strictest_opinion_decides_and_the_default_only_without_one(first: str, second: str, default: str) -> None:
    policies = (Fixed("one", VERDICTS[first]), Fixed("two", VERDICTS[second]))
    decision = PolicySet(policies, _default(default)).decide(_facts(EffectClass.WRITE))
    strictest = next((name for name in DEFAULTS if name in {first, second}), default)
    assert decision.verdict is VERDICTS[strictest]
    if strictest in {first, second}:
        assert decision.policy == ("one" if first == strictest else "two")
    else:
        assert decision.policy == "default"


def test_no_opinion_from_anybody_leaves_a_denying_default_in_force() -> None:
    policies = tuple(Fixed(f"silent-{i}", None) for i in range(5))
    assert isinstance(PolicySet(policies, _default("deny")).decide(_facts(EffectClass.WRITE)).verdict, Deny)


@pytest.mark.parametrize("effect", [EffectClass.WRITE, EffectClass.DELETE, EffectClass.EXECUTE])
def test_a_policy_that_fails_denies_mutations(effect: EffectClass) -> None:
    decision = PolicySet((Fixed("yes", Allow()), Broken()), Allow()).decide(_facts(effect))
    assert isinstance(decision.verdict, Deny)
    assert (decision.policy, decision.verdict.report.error) == ("broken", "POLICY_DENIED")


@pytest.mark.parametrize("effect", [EffectClass.READ, EffectClass.RECORD])
@pytest.mark.parametrize("default", ["allow", "deny"])
def test_a_policy_that_fails_has_no_opinion_on_reads(effect: EffectClass, default: str) -> None:
    decision = PolicySet((Broken(),), _default(default)).decide(_facts(effect))
    assert (decision.policy, decision.verdict) == ("default", VERDICTS[default])
