"""Why a call was let through or not, and whether the same record gives the same answer again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codeplane.core.errors import CodePlaneError
from codeplane.govern.gate import RULES_KIND
from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.policies.catalog import POLICIES
from codeplane.govern.rulebook import RuleTexts, read_rules
from codeplane.govern.verdicts import judge
from codeplane.ledger.chain import EventChain, LedgerRow, RowFilter

_MAX_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Explanation:
    """A recorded decision, made again. `is_same` tells whether both agree."""

    call_id: str
    operation: str
    outcome: str
    rules_digest: str
    call: Mapping[str, Any]
    recorded: Mapping[str, Any]
    replayed: Mapping[str, Any]

    @property
    def is_same(self) -> bool:
        """Tell whether the rules that were in force give the same decision again."""
        return dict(self.recorded) == dict(self.replayed)

    def as_document(self) -> dict[str, Any]:
        """Return what surfaces show."""
        return {
            "call_id": self.call_id,
            "operation": self.operation,
            "outcome": self.outcome,
            "rules_digest": self.rules_digest,
            "inputs": dict(self.call),
            "decision": dict(self.recorded),
            "replayed": dict(self.replayed),
            "is_same": self.is_same,
        }


def explain(chain: EventChain, call_id: str) -> Explanation:
    """Return why a call was decided as it was, decided again from what is recorded.

    Raises:
        CodePlaneError: NOT_FOUND when there is no such call, or none that was decided over.
    """
    rows = chain.rows(RowFilter(call_id=_call_of(chain, call_id), limit=20))
    if not rows:
        raise CodePlaneError(
            "NOT_FOUND", f"The ledger has no call {call_id[:80]}.", hint="`cpl ledger log` lists calls."
        )
    decided = next((row for row in rows if "decision" in row.body), None)
    if decided is None:
        message = f"{call_id} only read something: no policy had to decide."
        raise CodePlaneError("NOT_FOUND", message, hint="`cpl ledger show` tells what it did.")
    decision = decided.body["decision"]
    texts = _rules_of(chain, decision["rules"])
    call = GovernedCall.from_dict(decision["call"])
    replayed = judge(POLICIES, call, read_rules(texts)).as_dict()
    return Explanation(
        decided.call_id or call_id,
        decided.operation or "",
        rows[0].kind,
        decision["rules"],
        decision["call"],
        decision["judgement"],
        replayed,
    )


def _call_of(chain: EventChain, call_or_row: str) -> str:
    """Return the call of a row number; anything else is a call already."""
    if not (call_or_row.isascii() and call_or_row.isdigit() and len(call_or_row) < _MAX_DIGITS):
        return call_or_row
    number = int(call_or_row)
    found = [row for row in chain.rows(RowFilter(before_seq=number + 1, limit=1)) if row.seq == number]
    if not found or found[0].call_id is None:
        raise CodePlaneError("NOT_FOUND", f"Row {number} belongs to no call.", hint="`cpl ledger log` lists calls.")
    return found[0].call_id


def _rules_of(chain: EventChain, digest: str) -> RuleTexts:
    found: tuple[LedgerRow, ...] = chain.rows(RowFilter(kinds=(RULES_KIND,), body_holds=digest, limit=1))
    if not found:
        raise CodePlaneError("NOT_FOUND", f"The rules {digest[:16]} are no longer on record.")
    return RuleTexts.from_dict(found[0].body["rules"])
