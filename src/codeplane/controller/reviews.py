"""What people decided about nodes that rest on little evidence: sealed rows of the ledger, never files."""

from typing import Final

from codeplane.ledger.evidence import Evidence
from codeplane.workspace.workspace import Workspace

REVIEWED: Final = "plan_reviewed"


def reviews_of(workspace: Workspace, fingerprint: str) -> frozenset[tuple[str, str]]:
    """Return the approved nodes of a plan, as (fingerprint, node); a later decision replaces an earlier one."""
    workspace.chain.flush()
    decided: dict[str, bool] = {}
    with workspace.chain.database.read() as connection:
        for found in Evidence(workspace.chain, connection).rows("kind = ? ORDER BY seq", (REVIEWED,)):
            body = found.row.body
            if body.get("fingerprint") == fingerprint and (found.is_ours or not body.get("approved")):
                decided |= dict.fromkeys(map(str, body.get("nodes", ())), bool(body.get("approved")))
    return frozenset((fingerprint, node_id) for node_id, is_approved in decided.items() if is_approved)
