"""Files that an agent is about to write itself belong to its call until it has reported back."""

from typing import Final

from codeplane.core.clock import iso_from_ms
from codeplane.core.errors import ErrorReport
from codeplane.core.printable import printable_name
from codeplane.operations.call_record import Call
from codeplane.workspace.workspace import Workspace

# An agent that has not written by then was stopped by its user, or asks for a permission that nobody gives.
_LEASE_MS: Final = 10 * 60_000


def held_by_another(workspace: Workspace, call: Call) -> ErrorReport | None:
    """Return the refusal of a call whose files another session's call is writing; of two calls the later one yields.

    Calls of ours wait for each other by locks. Where one of two is an agent's own, only the order of their `begun` rows
    is known to both.
    """
    mine = {printable_name(path.text) for path in call.effects.touched}
    if not mine:
        return None
    for other in workspace.chain.open_calls():
        begun = other.begun
        if other.call_id == call.call_id:
            return None
        is_outside = call.operation.is_outside or "tool_class" in begun.body
        is_live = call.started_ms - begun.ts_ms < _LEASE_MS and begun.worktree == workspace.repository.worktree_id
        if begun.session == call.label or not (is_outside and is_live):
            continue
        effects = begun.body.get("effects")
        shared = mine & {*effects.get("writes", ()), *effects.get("deletes", ())} if isinstance(effects, dict) else None
        if shared:
            path = min(shared)
            who = {"session": begun.session, "call": other.call_id, "operation": begun.operation}
            since = iso_from_ms(begun.ts_ms)
            message = f"{path} is being written by session {begun.session} ({begun.operation}) since {since}."
            action = "Wait until that call has ended, then read the file again."
            return ErrorReport("STALE_FILE", message, action, {"path": path, "changed_by": who})
    return None
