"""Steps that a workflow preset asks for come before changes, as strictly as the preset says."""

from codeplane.core.errors import ErrorReport
from codeplane.govern.governed_call import GovernedCall
from codeplane.govern.rulebook import Rulebook
from codeplane.govern.verdicts import REMINDER, Opinion, deny
from codeplane.ledger.policy import Verdict


class WorkflowGates:
    """Refuses what a preset blocks while a gate is open: lenient warns, strict also stops commands and git."""

    name = "workflow gates"

    def judge(self, call: GovernedCall, _rules: Rulebook) -> Opinion | None:
        """Compare the call with the enforcement; the facts say which gate is not passed."""
        if not call.is_governed or not call.unmet_gate:
            return None
        gate, _, missing = call.unmet_gate.partition(": ")
        reason = f"The workflow gate {gate} is not passed. Missing: {missing}."
        if call.gate_enforcement == "lenient":
            return Opinion(Verdict.ALLOW, reason, REMINDER, gate)
        if call.gate_enforcement != "strict" and not (call.writes or call.deletes):
            return None
        details = {"gate": gate, "missing": missing.split(", "), "enforcement": call.gate_enforcement}
        report = ErrorReport("WORKFLOW_VIOLATION", reason, f"Call {missing.split(', ')[0]} first.", details)
        return deny(report, "gate", gate)
