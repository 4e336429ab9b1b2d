"""The rules of policy files: administrator, user, repository; the strictest that fits decides."""

from dataclasses import replace

from codeplane.core.errors import ErrorReport
from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.policies.risk import verifies
from codeplane.govern.policy_document import RuleExample
from codeplane.govern.rulebook import Rulebook, Tier
from codeplane.govern.verdicts import Opinion, deny
from codeplane.ledger.policy import Verdict


class TeamRules:
    """Says what the rules of policy files say."""

    name = "team rules"

    def judge(self, call: GovernedCall, rules: Rulebook) -> Opinion | None:
        """Return the strictest opinion; files that cannot be read let nothing through."""
        if not call.is_governed:
            return None
        if rules.broken_policies:
            message = f"A policy file cannot be read: {rules.broken_policies[0].splitlines()[0]}"
            action = "A person repairs it (`cpl policy check`); reads still work."
            return deny(ErrorReport("POLICY_DENIED", message, action), "unreadable policy")
        found = [(tier, rule) for tier, rule in rules.rules() if rule.fits(_example(call, rules))]
        for wanted in ("deny", "hold", "allow"):
            for tier, rule in found:
                if rule.decide == wanted:
                    return _opinion(call, wanted, rule.id, tier, rule.reason)
        return None


def _opinion(call: GovernedCall, decide: str, rule_id: str, tier: Tier, reason: str) -> Opinion | None:
    told = f"{reason or 'No reason is given.'} (rule {rule_id}, {tier.value})"
    if decide == "deny":
        return deny(ErrorReport("POLICY_DENIED", told, details={"rule": rule_id, "tier": tier.value}), rule_id)
    if decide == "allow":
        return Opinion(Verdict.ALLOW, told, rule_id)
    is_approved = call.approved is not None and call.approved.state == "approved"
    return None if is_approved else Opinion(Verdict.HOLD, told, rule_id)


def allowing_rule(call: GovernedCall, rules: Rulebook) -> str | None:
    """Return the accepted rule that lets a call pass without a person, if one does."""
    example = _example(call, rules)
    return next((rule.id for _, rule in rules.rules() if rule.decide == "allow" and rule.fits(example)), None)


def _example(call: GovernedCall, rules: Rulebook) -> RuleExample:
    does_more = bool(call.touched or call.git_refs or call.network or call.destructive)
    return replace(call.as_example(), verifies=not does_more and verifies(call, rules))
