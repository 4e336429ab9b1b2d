"""No session overwrites what another has changed meanwhile."""

from codeplane.core.errors import ErrorReport
from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.verdicts import Opinion, deny


class OptimisticLock:
    """Refuses to overwrite or delete a file that is not as the session last saw it."""

    name = "optimistic lock"

    def judge(self, call: GovernedCall, _rules: Rulebook) -> Opinion | None:
        """Compare; edits that say which text they expect are checked where they are planned."""
        if not call.mutates or not call.stale:
            return None
        first = call.stale[0]
        who = first.changed_by
        by = ""
        if who is not None:
            under = f" under {who['intent']}" if who.get("intent") else ""
            by = f" by session {who.get('session')}{under} at {who.get('time')}"
        message = f"{first.path} was changed{by} since this session last saw it."
        details = {
            "path": first.path,
            "expected_sha256": first.expected,
            "current_sha256": first.current,
            "changed_by": dict(who) if who is not None else None,
            "paths": [one.path for one in call.stale[:50]],
        }
        return deny(ErrorReport("STALE_FILE", message, details=details), "stale", first.path)
