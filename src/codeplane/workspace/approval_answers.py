"""What a person's answer brings about, for the command line and REST alike."""

from codeplane.core.errors import CodePlaneError
from codeplane.govern.approvals import SCOPE_EXPANSION, Hold, PersonsAnswer
from codeplane.govern.intents_file import widened
from codeplane.workspace.intent_changes import intents_text, save_intents
from codeplane.workspace.workspace import Workspace


def answer_hold(workspace: Workspace, hold_id: str, answer: PersonsAnswer) -> Hold:
    """Record a person's answer; an approved expansion of scope changes the intents file.

    Raises:
        CodePlaneError: APPROVAL_NOT_FOUND, APPROVAL_EXPIRED, CONFIG_INVALID and what writing can meet.
    """
    hold = workspace.gate.approvals.find(hold_id)
    if hold.kind == SCOPE_EXPANSION and answer.approves and hold.state_at(workspace.clock.now_ms()) == "pending":
        text = intents_text(workspace)
        if text is None or hold.intent is None:
            raise CodePlaneError("INTENTS_UNREADABLE", "There is no .orchestration/active_intents.yaml.")
        save_intents(workspace, widened(text, hold.intent, tuple(map(str, hold.card["paths"]))))
    return workspace.gate.approvals.decide(hold_id, answer)
