"""A change stays inside of what its intent owns."""

from codeplane.core.errors import ErrorReport
from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.verdicts import Opinion, deny
from codeplane.ledger.policy import Verdict


class Scope:
    """Refuses paths outside of the selected intent's scope."""

    name = "scope"

    def judge(self, call: GovernedCall, rules: Rulebook) -> Opinion | None:
        """Look at every path that would be touched."""
        if not (call.is_governed and rules.is_enforced) or call.selected_intent is None or rules.intents is None:
            return None
        outside = [path for path in call.touched if not rules.owns(call.selected_intent, path)]
        if not outside:
            return (
                Opinion(Verdict.ALLOW, f"inside the scope of {call.selected_intent}", "scope") if call.touched else None
            )
        return deny(_violation(call, rules, outside), "scope", outside[0])


def _violation(call: GovernedCall, rules: Rulebook, outside: list[str]) -> ErrorReport:
    intent = rules.find(call.selected_intent or "")
    others = [
        one
        for one in rules.active_ids(call.now_ms)
        if one != call.selected_intent and all(rules.owns(one, path) for path in call.touched)
    ]
    details = {
        "intent_id": call.selected_intent,
        "paths": outside[:50],
        "n_paths": len(outside),
        "owned_scope": list(intent.owned_scope) if intent is not None else [],
        "active_intents": list(rules.active_ids(call.now_ms)),
        "intents_that_own_them": others,
        "correct_call": {
            "operation": "select_active_intent" if others else "request_scope_expansion",
            "arguments": {"intent_id": others[0]}
            if others
            else {"intent_id": call.selected_intent, "paths": outside[:50], "reason": "why they are needed"},
        },
    }
    message = f"Scope Violation: {call.selected_intent} is not authorized to edit {outside[0]}"
    if len(outside) > 1:
        message += f" and {len(outside) - 1} more"
    return ErrorReport("SCOPE_VIOLATION", message, "Request scope expansion or choose a valid intent", details)
