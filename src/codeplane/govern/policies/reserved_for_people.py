"""Calls that change what later calls are judged or guided by: imports, presets, hooks, project context."""

from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.verdicts import Opinion
from codeplane.ledger.policy import Verdict


class ReservedForPeople:
    """Holds calls whose effects say that a person decides about them, with intents and without."""

    name = "reserved for people"

    def judge(self, call: GovernedCall, _rules: Rulebook) -> Opinion | None:
        """Hold it until a person has approved this very call; a wider grant does not cover it."""
        if not call.reserved or call.is_person or call.is_approved_exactly:
            return None
        return Opinion(
            Verdict.HOLD, f"The call would {call.reserved}; a person decides that.", "reserved", call.operation
        )
