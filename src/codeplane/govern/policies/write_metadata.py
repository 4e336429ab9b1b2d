"""What a write says about itself has to be true: the intent it names, the class of change it claims."""

from typing import Final

from codeplane.core.errors import ErrorReport
from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.verdicts import Opinion, deny

MUTATION_CLASSES: Final = ("AST_REFACTOR", "INTENT_EVOLUTION")


class WriteMetadata:
    """Refuses a write that names another intent than the selected one, or an unknown class."""

    name = "write metadata"

    def judge(self, call: GovernedCall, _rules: Rulebook) -> Opinion | None:
        """Compare what is given; both are optional."""
        if not call.mutates:
            return None
        if call.given_class is not None and call.given_class not in MUTATION_CLASSES:
            message = f"`{call.given_class[:80]}` is not a mutation class; use {' and '.join(MUTATION_CLASSES)}."
            return deny(ErrorReport("INVALID_MUTATION_CLASS", message), "mutation class")
        if call.given_intent is not None and call.given_intent != call.selected_intent:
            selected = call.selected_intent or "none"
            message = f"The call names the intent {call.given_intent[:80]}, the selected one is {selected}."
            details = {"given": call.given_intent[:80], "selected": call.selected_intent}
            return deny(ErrorReport("INTENT_MISMATCH", message, details=details), "intent id")
        return None
