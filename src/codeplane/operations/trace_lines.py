"""What answers about lines share: who approved, the reason in one line, and the trace of a range."""

from typing import Any

from codeplane.core.errors import CodePlaneError
from codeplane.govern.trace.blame import NOT_TRACED, TRACED, grouped
from codeplane.workspace.workspace import Workspace


def traced_lines(workspace: Workspace, path: str, data: bytes, first: int, last: int) -> list[dict[str, Any]]:
    """Return what is known about the origin of lines; lines that no recorded call wrote are left out."""
    owners, index = workspace.trace.owners_of(path, data, workspace.repo_version().head)
    groups = grouped(owners, index, first, min(last, len(owners)))
    return [one.as_dict(lambda hold: approver_of(workspace, hold)) for one in groups if one.status != NOT_TRACED]


def approver_of(workspace: Workspace, hold_id: str) -> str | None:
    """Return who answered a held call, None when that is no longer known."""
    try:
        return workspace.gate.approvals.find(hold_id).decided_by or None
    except CodePlaneError:
        return None


def why(group: dict[str, Any]) -> str:
    """Return the reason behind lines in one line."""
    if group["status"] != TRACED:
        words = "no recorded call wrote this" if group["status"] == "untraced" else "unknown"
        candidates = group.get("candidates")
        return words + (f"; candidates: {', '.join(candidates)}" if candidates else "")
    parts = [group.get("intent") or "no intent"]
    parts += [",".join(group["requirements"])] if group.get("requirements") else []
    parts += [str(group[name]) for name in ("mutation_class", "agent", "model", "tool", "call_id") if group.get(name)]
    parts += [f"approved by {group['approver']}"] if group.get("approver") else []
    parts += ["ungated"] if group.get("ungated") else []
    parts += [f"moved or formatted by {', '.join(group['caused_by'])}"] if group.get("caused_by") else []
    return f"{' · '.join(parts)} [{group.get('method')}]"
