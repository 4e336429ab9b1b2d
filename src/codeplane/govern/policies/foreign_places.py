"""Places of this machine outside the working tree: other directories, other repositories."""

from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.verdicts import Opinion
from codeplane.ledger.policy import Verdict


class ForeignPlaces:
    """Holds calls that would write outside the working tree, or make the repository reach another one there."""

    name = "foreign places"

    def judge(self, call: GovernedCall, _rules: Rulebook) -> Opinion | None:
        """Look at every place outside; a wider grant does not cover it."""
        if not (call.is_governed and call.foreign) or call.is_approved_exactly:
            return None
        place = call.foreign[0]
        return Opinion(Verdict.HOLD, f"{place} is outside the working tree.", "foreign place", place)
