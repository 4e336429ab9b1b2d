"""No surprise without a person: what is DESTRUCTIVE waits until a person has approved this exact call."""

from codeplane.core.errors import ErrorReport
from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.policies.risk import DESTRUCTIVE, dangers_of
from codeplane.govern.policies.team_rules import allowing_rule
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.verdicts import Opinion, deny
from codeplane.ledger.policy import Verdict

_SHOWN_DANGERS = 5


class HumanApproval:
    """Holds destructive calls until a person approves them."""

    name = "human approval"

    def judge(self, call: GovernedCall, rules: Rulebook) -> Opinion | None:
        """Look for an approval of this call, or a grant or rule that covers it."""
        if not call.is_governed:
            return None
        said = call.approved
        if said is not None and said.state == "denied":
            comment = f" The person says: {said.comment}" if said.comment else ""
            details = {"hold_id": said.hold_id, "comment": said.comment}
            message = f"A person has refused this call.{comment}"
            return deny(ErrorReport("APPROVAL_DENIED", message, details=details), "refused", said.hold_id)
        if said is not None and said.state == "approved":
            return Opinion(Verdict.ALLOW, f"approved ({said.scope})", "approved", said.hold_id)
        # A caller's command and an unknown tool are dangerous everywhere; the rest only where intents are in force.
        is_unknown = call.tool_class != "own" and call.destructive
        is_judged = rules.is_enforced or is_unknown or (call.commands and not call.verifies)
        dangers = dangers_of(call, rules) if is_judged else ()
        if not dangers:
            return None
        rule = allowing_rule(call, rules)
        if rule is not None:
            return Opinion(Verdict.ALLOW, f"allowed by the rule {rule}", rule)
        rest = len(dangers) - _SHOWN_DANGERS
        told = "; ".join(dangers[:_SHOWN_DANGERS]) + (f"; and {rest} more" if rest > 0 else "")
        return Opinion(Verdict.HOLD, f"{DESTRUCTIVE}: it {told}.", "destructive", dangers[0])
