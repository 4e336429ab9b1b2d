"""What decides over agents is not changed by agents: git's, CodePlane's and agents' own files."""

from codeplane.core.errors import ErrorReport
from codeplane.edit.protection import is_protected_target
from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.verdicts import Opinion, deny
from codeplane.ledger.policy import Verdict


class ProtectedPaths:
    """Refuses edits of protected files; git, which brings what others committed, waits for a person."""

    name = "protected paths"

    def judge(self, call: GovernedCall, _rules: Rulebook) -> Opinion | None:
        """Look at every path that would be touched."""
        if not call.is_governed:
            return None
        found = next((path for path in call.touched if is_protected_target(path) or path in call.executed), None)
        if found is None:
            return None
        message = f"{found} belongs to CodePlane, git or an agent's configuration and is not changed by tools."
        if found in call.executed:
            message = f"Git runs {found} as a hook or helper, so it is not changed by tools."
        if call.is_git:
            if call.is_approved_exactly:
                return None
            return Opinion(Verdict.HOLD, f"git would change {found}, which decides over agents.", "protected", found)
        return deny(ErrorReport("PROTECTED_PATH", message, details={"path": found}), "protected", found)
