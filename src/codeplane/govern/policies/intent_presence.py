"""No change without an intent: a session that changes something has selected one."""

from codeplane.core.errors import ErrorReport
from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.verdicts import Opinion, deny

SENTENCE = "You must cite a valid active Intent ID before mutating tools."


class IntentPresence:
    """Refuses changes of a session that has selected no intent."""

    name = "intent presence"

    def judge(self, call: GovernedCall, rules: Rulebook) -> Opinion | None:
        """Ask for an intent where intents are in force."""
        if not (call.is_governed and rules.is_enforced):
            return None
        if rules.intents is None:
            reason = rules.problem or "There is no .orchestration/active_intents.yaml, though intents are in force."
            return deny(ErrorReport("INTENTS_UNREADABLE", reason), "intents unreadable")
        if call.selected_intent is not None:
            return None
        return deny(intent_required(rules, call.now_ms), "no intent selected")


def intent_required(rules: Rulebook, now_ms: int) -> ErrorReport:
    """Return the refusal that says which intents there are and how to select one."""
    active = rules.active_ids(now_ms)
    example = active[0] if active else "INT-001"
    action = f'Call select_active_intent {{"intent_id": "{example}"}}; active: {", ".join(active) or "none"}.'
    if not active:
        action = "No intent is active; a person activates one (`cpl intent add`, `cpl intent list`)."
    return ErrorReport("INTENT_REQUIRED", SENTENCE, action, {"active_intents": list(active)})
