"""Secrets stay out of history: what is committed can hardly be taken back."""

from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.verdicts import Opinion
from codeplane.ledger.policy import Verdict


class StagedSecrets:
    """Holds calls that would stage or commit a file that looks secret."""

    name = "staged secrets"

    def judge(self, call: GovernedCall, _rules: Rulebook) -> Opinion | None:
        """Look at what would be staged; a wider grant does not cover it."""
        if not (call.is_governed and call.secrets) or call.is_approved_exactly:
            return None
        first = call.secrets[0]
        return Opinion(Verdict.HOLD, f"This would stage or commit a secret: {first}.", "secret", first)
