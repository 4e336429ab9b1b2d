"""Recover an interrupted edit: its record says whether to complete it or roll it back."""

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import printable_name
from codeplane.git.stale_locks import remove_stale_locks
from codeplane.ledger.chain import LedgerRow
from codeplane.operations.operation import Recovered
from codeplane.workspace.rollback import complete_git_part
from codeplane.workspace.workspace import Workspace


def recover_edit(workspace: Workspace, begun: LedgerRow) -> Recovered:
    """Complete or roll back the batch of a call whose process is gone."""
    recovery = workspace.editor.recover(begun.call_id or "")
    if recovery is None or not recovery.is_applied:
        error = CodePlaneError("CALL_INTERRUPTED")
        return Recovered("failed", {"error": error.code, "message": error.message})
    found = workspace.editor.records.find(begun.call_id or "")
    if found is not None and found[0].git is not None:
        # A git process that died may have left the lock that this needs.
        remove_stale_locks(workspace.repository, begun.ts_ms * 1_000_000)
        complete_git_part(workspace.repository, found[0])
    after = {
        printable_name(change.path.text): change.after.sha256 if change.after is not None else None
        for change in (found[0].changes if found is not None else ())
    }
    body: dict[str, object] = {"after": after, "changed_paths": sorted(after)}
    if recovery.conflicts:
        body["conflicts"] = list(recovery.conflicts)
    return Recovered("finished", body)
