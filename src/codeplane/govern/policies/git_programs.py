"""Programs that the repository makes git run: a person has accepted each of them, as it is."""

from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.verdicts import Opinion
from codeplane.ledger.policy import Verdict


class GitPrograms:
    """Holds calls that would run a hook or helper whose digest no person has accepted."""

    name = "git programs"

    def judge(self, call: GovernedCall, _rules: Rulebook) -> Opinion | None:
        """Ask a person once; an accepted program that changes is held again."""
        if not (call.is_governed and call.unaccepted) or call.is_approved_exactly:
            return None
        named = ", ".join(call.unaccepted[:5])
        reason = f"git would run programs that no person has accepted: {named}. `cpl policy accept-hooks` accepts them."
        return Opinion(Verdict.HOLD, reason, "unaccepted program", call.unaccepted[0])
