"""Rows of the ledger as REST and event streams show them."""

from typing import Any

from codeplane.core.clock import iso_from_ms
from codeplane.ledger.chain import LedgerRow
from codeplane.workspace.workspace import Workspace

# What section 12.5 keeps of an operation, shown where a row has it.
_SHOWN_EVIDENCE = (
    "index_epoch", "repo_before", "repo_after", "changed_paths", "diff_stats", "short_diff", "mutation_fingerprint",
    "hold_id", "intent", "approval", "mutation_class",
    "is_no_op", "failure_fingerprint", "failure_class", "failing_tests", "non_progress", "limit_triggered",
)  # fmt: skip


def call_document(row: LedgerRow) -> dict[str, Any]:
    """Return what people see of a call."""
    body = row.body
    return {
        "seq": row.seq,
        "kind": row.kind,
        "call_id": row.call_id,
        "operation": row.operation,
        "session": row.session,
        "task_id": row.task_id,
        "worktree": row.worktree,
        "time": iso_from_ms(row.ts_ms),
        "duration_ms": body.get("duration_ms"),
        "error": body.get("error"),
        "message": body.get("message"),
        "effects": body.get("effects", {}),
        "policy": body.get("policy"),
        **{name: body[name] for name in _SHOWN_EVIDENCE if name in body},
        "hash": row.hash,
    }


def rows_after(workspace: Workspace, seq: int, limit: int) -> list[dict[str, Any]]:
    """Return the next rows as `call_document` shows them, oldest first; event streams follow the ledger with it."""
    return [call_document(row) for row in workspace.chain.rows_after(seq, limit)]


def newest_rows(workspace: Workspace, seq: int, limit: int) -> list[dict[str, Any]]:
    """Return the newest of the next rows, oldest first; for those who watch and need not have them all."""
    return rows_after(workspace, max(seq, workspace.chain.last_seq() - limit), limit)
