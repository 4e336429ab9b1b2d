"""The selected intent is still valid: it exists, is active, has not expired and is not ignored."""

from codeplane.core.errors import ErrorReport
from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.policies.intent_presence import SENTENCE, intent_required
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.verdicts import Opinion, deny


class IntentValidity:
    """Refuses changes under an intent that is no longer valid."""

    name = "intent validity"

    def judge(self, call: GovernedCall, rules: Rulebook) -> Opinion | None:
        """Look the selected intent up."""
        if not (call.is_governed and rules.is_enforced) or call.selected_intent is None or rules.intents is None:
            return None
        reason = rules.why_not_valid(call.selected_intent, call.now_ms, call.session)
        if reason is None:
            return None
        wanted = intent_required(rules, call.now_ms)
        message = f"{SENTENCE} {call.selected_intent} {reason}."
        details = {**wanted.details, "intent_id": call.selected_intent, "reason": reason}
        report = ErrorReport("INTENT_NOT_ACTIVE", message, wanted.required_action, details)
        return deny(report, "intent not active", call.selected_intent)
