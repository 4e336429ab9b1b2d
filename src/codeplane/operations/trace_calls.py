"""Which calls are traced, and what their records say about the caller and the reason."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from codeplane.core.callers import Caller, CallerKind
from codeplane.core.paths import RepoPath
from codeplane.govern.trace.files import TRACE_FILE
from codeplane.govern.trace.ledger_records import FIELD
from codeplane.ledger.chain import LedgerRow
from codeplane.operations.answer import Outcome
from codeplane.operations.call_record import Call
from codeplane.workspace.workspace import Workspace

if TYPE_CHECKING:
    from codeplane.edit.records import Change
    from codeplane.govern.trace.records import Cause, TracedFile

# Operations that replace files by versions of git: lines of the trace that are not committed are carried across.
_CARRIES: Final = frozenset({"git_checkout", "git_merge", "git_pull", "git_rebase", "git_reset", "git_stash", "undo"})
# Larger files are not parsed for their class while a caller waits.
_MAX_CLASSIFIED: Final = 64_000
# A call during which more happened is not compared with all of it.
_MAX_MEANWHILE: Final = 5_000
# A call that began earlier and has not ended is of an agent that was killed.
_LIVE_MS: Final = 30 * 60_000
_ORIGINS: Final = {"mcp": "mcp", "stdio": "mcp", "http": "mcp"}


def trace_call(workspace: Workspace, call: Call) -> None:
    """Add the records of a change to what its row will hold; git's own changes bring no new lines."""
    context = call.context
    is_git = call.operation.snapshots and not call.operation.is_outside
    if not call.is_begun or context is None or call.outcome is not Outcome.FINISHED or is_git:
        return
    found = workspace.editor.records.find(call.call_id)
    changes = [one for one in found[0].changes if _is_traced(one)] if found is not None else []
    cause = _cause(workspace, call)
    if call.operation.is_outside:
        changes, cause = _without_others(workspace, call, changes, cause)
    if not changes:
        return
    files = [replace(one, definitions=context.definitions.get(one.path)) for one in traced_files(changes)]
    records = workspace.trace.records_of(files, replace(cause, mutation_class=_class_of(call, files)))
    records += _formatted(workspace, call, files, records, cause)
    context.noted[FIELD] = records


def _without_others(
    workspace: Workspace, call: Call, changes: "list[Change]", cause: "Cause"
) -> "tuple[list[Change], Cause]":
    """Leave out what git put there and what other calls wrote meanwhile; nobody is named where it could be several."""
    # As for the trace.
    from codeplane.govern.trace.records import UNKNOWN  # noqa: PLC0415
    from codeplane.workspace.command_bracket import CommandBracket  # noqa: PLC0415

    bracket = call.context.bracket if call.context is not None else None
    traced = bracket.written().traced if isinstance(bracket, CommandBracket) else ()
    others = calls_meanwhile(workspace, call.call_id)
    left = [one for one in changes if one.path.text in traced and not any(_wrote(other, one) for other in others)]
    candidates = {str(one.call_id) for one in others if "tool_class" in one.body and not _names_paths(one)}
    if candidates and not call.effects.touched:
        ids = tuple(sorted({call.call_id, *candidates}))
        cause = replace(cause, candidates=ids, contributor=UNKNOWN, intent=None)
    return left, cause


def calls_meanwhile(workspace: Workspace, call_id: str) -> list[LedgerRow]:
    """Return the rows of other calls of this working tree that ended, or are at work, since a call has begun."""
    open_calls = workspace.chain.open_calls()
    begun = next((one.begun for one in open_calls if one.call_id == call_id), None)
    if begun is None:
        return []
    now = workspace.clock.now_ms()
    found = [one.begun for one in open_calls if one.call_id != call_id and now - one.begun.ts_ms < _LIVE_MS]
    found += [row for row in workspace.chain.rows_after(begun.seq, _MAX_MEANWHILE) if row.kind == "finished"]
    return [row for row in found if row.worktree == begun.worktree and row.call_id != call_id]


def _wrote(row: LedgerRow, change: "Change") -> bool:
    after = row.body.get("after")
    if not isinstance(after, dict) or change.path.text not in after:
        return False
    left = change.after.sha256 if change.after is not None else None
    return bool(after[change.path.text] == left)


def _names_paths(row: LedgerRow) -> bool:
    effects = row.body.get("effects")
    return isinstance(effects, dict) and bool(effects.get("writes") or effects.get("deletes"))


def recovered_trace(workspace: Workspace, begun: LedgerRow) -> list[dict[str, Any]]:
    """Return the records of a change that a dead process made but did not trace."""
    found = workspace.editor.records.find(begun.call_id or "")
    changes = [one for one in found[0].changes if _is_traced(one)] if found is not None else []
    operation, body = begun.operation or "unknown", begun.body
    if not changes:
        return []
    # As for the trace.
    from codeplane.govern.trace.records import Cause  # noqa: PLC0415

    intent, decision = body.get("intent"), body.get("decision")
    cause = Cause(
        call_id=begun.call_id or "",
        session=begun.session,
        contributor="human" if body.get("caller") == "person" else "unknown" if body.get("surface") == "cli" else "ai",
        tool_name=operation,
        tool_origin=_ORIGINS.get(str(body.get("surface")), "custom"),
        action=str(body.get("effect", "write")),
        now_ms=begun.ts_ms,
        worktree=begun.worktree,
        intent=intent if isinstance(intent, str) else None,
        requirements=requirements_of(workspace, intent if isinstance(intent, str) else None),
        approval=body.get("approval"),
        policy_digest=decision.get("rules") if isinstance(decision, dict) else None,
        revision=workspace.repo_version().head,
    )
    return workspace.trace.records_of(traced_files(changes), cause)


def carries_trace(workspace: Workspace, call: Call) -> bool:
    """Tell whether a call may replace the trace file by another version."""
    is_change = call.budget is not None and call.operation.name in _CARRIES
    return is_change and (workspace.root / TRACE_FILE).exists()


def project_trace(workspace: Workspace, call: Call) -> None:
    """Write the records of a call, and any that a dead process left behind, into the file."""
    if call.context is not None and FIELD in call.context.noted:
        workspace.trace.project()
        workspace.trace.update_map(workspace.gate.rules().intents, call.context.noted[FIELD])


def traced_files(changes: "list[Change]") -> "list[TracedFile]":
    """Return changes as the trace takes them."""
    # As for the trace.
    from codeplane.govern.trace.records import TracedFile, with_renames  # noqa: PLC0415

    return with_renames(
        [
            TracedFile(
                one.path.text,
                one.before.data if one.before is not None else None,
                one.after.data if one.after is not None else None,
            )
            for one in changes
        ]
    )


def _is_traced(change: "Change") -> bool:
    return not change.path.text.startswith((".orchestration/", ".codeplane/")) and not any(
        one is not None and one.is_link for one in (change.before, change.after)
    )


def _cause(workspace: Workspace, call: Call) -> "Cause":
    # 10 ms that only changes need.
    from codeplane.govern.trace.records import Cause  # noqa: PLC0415

    decision = call.decision
    intent = decision.intent if decision is not None else None
    explanation: dict[str, Any] = dict(decision.explanation) if decision is not None else {}
    return Cause(
        call_id=call.call_id,
        session=call.label,
        contributor=contributor_of(call.caller),
        tool_name=call.operation.name,
        tool_origin=call.operation.tool_class if call.operation.is_outside else _origin_of(call.caller),
        action=call.operation.effect.value,
        now_ms=call.started_ms,
        worktree=workspace.repository.worktree_id,
        agent=call.caller.client,
        model=call.caller.model or None,
        intent=intent,
        requirements=requirements_of(workspace, intent),
        claimed_class=call.controls.given_class,
        approval=decision.approval if decision is not None else None,
        policy_digest=explanation.get("rules"),
        revision=workspace.repo_version().head,
        plan_node=call.controls.program.plan_node if call.controls.program is not None else None,
    )


def requirements_of(workspace: Workspace, intent: str | None) -> tuple[str, ...]:
    """Return the requirements behind an intent."""
    intents = workspace.gate.rules().intents
    found = intents.find(intent) if intents is not None and intent is not None else None
    return found.requirements if found is not None else ()


def contributor_of(caller: Caller) -> str:
    """Return the honest type of a contributor: a shell without proof may be a person or an agent."""
    if caller.kind is CallerKind.PERSON:
        return "human"
    return "unknown" if caller.surface == "cli" else "ai"


def _origin_of(caller: Caller) -> str:
    if caller.kind is CallerKind.PERSON:
        return "human"
    return _ORIGINS.get(caller.surface, "custom")


def _class_of(call: Call, files: "list[TracedFile]") -> str | None:
    noted = call.context.noted.get("mutation_class") if call.context is not None else None
    if isinstance(noted, str):
        return noted
    if sum(len(one.before or b"") + len(one.after or b"") for one in files) > _MAX_CLASSIFIED:
        return None
    # 5 ms that only changes without intents need.
    from codeplane.govern.mutation_class import AST_REFACTOR, INTENT_EVOLUTION, mutation_class  # noqa: PLC0415

    classes = {mutation_class(one.path, one.before, one.after) for one in files if one.previous_path is None}
    return INTENT_EVOLUTION if INTENT_EVOLUTION in classes else AST_REFACTOR


def _formatted(
    workspace: Workspace, call: Call, files: "list[TracedFile]", records: list[dict[str, Any]], cause: "Cause"
) -> list[dict[str, Any]]:
    """Return the records of what the team's formatters made of the written files."""
    # As for the trace.
    from codeplane.govern.trace.records import TracedFile  # noqa: PLC0415

    found = []
    for path in call.rewritten:
        before = next((file.after for file in files if file.path == path), None)
        now = workspace.editor.look(RepoPath.known(path))
        if before is None or now is None:
            continue
        names = [str(one.get("name")) for one in call.quality if path in one.get("changed", ())]
        first = next((record["id"] for record in records if record["files"][0]["path"] == path), None)
        by_formatter = replace(
            cause, tool_name=names[-1] if names else "formatter", tool_origin="custom", action="format",
            caused_by=first, mutation_class="AST_REFACTOR",
        )  # fmt: skip
        found.append(workspace.trace.record_of(TracedFile(path, before, now.image.data), by_formatter))
    return found
