"""A loop that fails again and again is interrupted: the same call waits until a person or another approach helped."""

from typing import Final

from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.verdicts import Opinion
from codeplane.ledger.policy import Verdict

MAX_EQUAL_FAILURES: Final = 5


class CircuitBreaker:
    """Holds a change that has failed or been refused five times in a row in the same way."""

    name = "circuit breaker"

    def judge(self, call: GovernedCall, _rules: Rulebook) -> Opinion | None:
        """Count; a person's approval lets it through."""
        if not call.is_governed or call.n_equal_failures < MAX_EQUAL_FAILURES:
            return None
        if call.approved is not None and call.approved.state == "approved":
            return None
        reason = (
            f"This call has failed or been refused {call.n_equal_failures} times in this session in the same way;"
            " it waits for a person, or for a different change that succeeds."
        )
        return Opinion(Verdict.HOLD, reason, "equal failures", call.operation, code="CIRCUIT_OPEN")
