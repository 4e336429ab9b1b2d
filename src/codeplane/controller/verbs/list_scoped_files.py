"""`list_scoped_files`: the files that a plan may name, and what its envelope must say."""

from collections.abc import Mapping
from typing import Any, Final

from codeplane.controller.plan import AUTO
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import Reply, Verb, wrong_argument

_DEFAULT: Final = 500
_MAX: Final = 5_000


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    knowledge = turn.knowledge
    limit = arguments.get("limit", _DEFAULT)
    if not 1 <= limit <= _MAX:
        raise wrong_argument("limit", f"limit is from 1 to {_MAX}.")
    prefix, after = arguments.get("prefix") or "", arguments.get("cursor") or ""
    wanted = sorted(path for path in knowledge.allowlist if path.startswith(prefix) and path > after)
    shown = wanted[:limit]
    files = [_described(turn, path) for path in shown]
    result: dict[str, Any] = {
        "files": files,
        "total": sum(path.startswith(prefix) for path in knowledge.allowlist),
        "scopeAllowlistRef": knowledge.scope_ref,
        "nextCursor": shown[-1] if len(wanted) > len(shown) else None,
    }
    if not after:
        result["planEnvelope"] = _envelope(turn)
    return Reply(result)


def _described(turn: TurnWork, path: str) -> dict[str, Any]:
    text = turn.knowledge.text(path)
    return {
        "path": path,
        "size": len(text.data) if text is not None else None,
        "hash12": text.content_hash.removeprefix("sha256:")[:12] if text is not None else None,
    }


def _envelope(turn: TurnWork) -> dict[str, Any]:
    """Return the fields of a plan that depend on this work and this state of the tree."""
    knowledge, record = turn.knowledge, turn.record
    minima = knowledge.minima
    return {
        "schemaVersion": "1.0.0",
        "workId": record.work_id,
        "agentId": record.agent_id,
        "runSessionId": record.run_id,
        "repoSnapshotId": knowledge.snapshot_id,
        "worktreeRoot": str(turn.workspace.root),
        "contextPackRef": AUTO,
        "contextPackHash": AUTO,
        "planFingerprint": AUTO,
        "policyVersionSet": {one.policy_id: one.version for one in knowledge.policies if one.is_active},
        "scopeAllowlistRef": knowledge.scope_ref,
        "knowledgeStrategyId": record.knowledge.get("strategyId"),
        "evidencePolicy": {
            "minRequirementSources": minima.requirement,
            "minCodeEvidenceSources": minima.code,
            "minPolicySources": minima.policy,
            "allowSingleSourceWithGuard": False,
            "lowEvidenceGuardRules": [],
            "distinctSourceDefinition": "by_origin",
        },
    }


VERB = Verb(
    "list_scoped_files",
    "Lists the files in scope and the envelope that a plan needs.",
    "Before naming a file in a plan.",
    _run,
    optional={"prefix": str, "limit": int, "cursor": str},
)
