"""`undo`: revert the changes of an operation, program, task or session; later changes are kept or conflict."""

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from codeplane.core.callers import CallerKind
from codeplane.core.clock import iso_from_ms
from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import printable_name
from codeplane.edit.protection import is_protected_name
from codeplane.edit.records import Change, Record, State
from codeplane.ledger.chain import LedgerRow, RowFilter
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.ledger.fingerprints import FileChange
from codeplane.operations.edit_recovery import recover_edit
from codeplane.operations.git_paths import parsed_names
from codeplane.operations.models import RARELY, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.operations.write_access import write_refused
from codeplane.workspace.rollback import Rollback, plan_rollback, roll_back
from codeplane.workspace.workspace import Workspace

NAME = "undo"
_PROGRAM = "run"
_LOOK_BACK = 2_000
_SHOWN = 10
_LISTED = 5
# An interrupted call may have changed something too.
_ENDED = frozenset({"finished", "failed"})


class UndoRequest(Request):
    """What to undo; without a target the last operations are listed."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "operation": ("operation_id", "mutation_id", "call_id", "op_id", "id"),
        "task": ("task_id",),
        "session": ("session_label",),
    }
    operation: str | None = Field(None, description="The mutation_id.")
    task: str | None = Field(None, description="Everything a task changed.", json_schema_extra=RARELY)
    session: str | None = Field(
        None, description="Everything a session changed, by its label.", json_schema_extra=RARELY
    )
    dry_run: bool = Field(False, description="Only show what would be restored.", json_schema_extra=RARELY)

    @model_validator(mode="after")
    def _one_target(self) -> "UndoRequest":
        if sum(one is not None for one in (self.operation, self.task, self.session)) > 1:
            raise ValueError("give one of operation, task and session")
        return self


class UndoneFile(Result):
    """The outcome for one file."""

    path: str
    action: Literal["restored", "removed", "recreated", "merged"]
    file_sha256: str | None = None


class UndoableOperation(Result):
    """An operation that can be undone."""

    operation: str
    name: str
    session: str
    task: str | None
    time: str
    files: list[str]


class UndoResult(Result):
    """What was undone, or could be."""

    applied: bool
    dry_run: bool
    mutation_id: str | None = None
    undone: list[str] = Field(default_factory=list)
    files: list[UndoneFile] = Field(default_factory=list)
    git: list[str] = Field(default_factory=list, description="Restored git state.")
    candidates: list[UndoableOperation] = Field(default_factory=list)
    summary: str
    display_to_user: str | None = None


def _plan(context: CallContext, request: UndoRequest) -> Plan[UndoResult]:
    workspace = context.workspace
    if not _has_target(request):
        return Plan(lambda: _candidates_result(context))
    records = _records(workspace, request)
    plan = plan_rollback(workspace.repository, workspace.editor, records)
    return Plan(lambda: _work(context, request, records, plan), _effects(request, plan))


def _effects(request: UndoRequest, plan: Rollback) -> Effects:
    paths = tuple(change.path for change in plan.files.changes)
    if request.dry_run:
        return Effects(reads=paths)
    then = plan.git.before if plan.git is not None else None
    refs = (*(("HEAD",) if then.head is not None else ()), *then.refs) if then is not None else ()
    staged = parsed_names(then.entries) if then is not None else ()
    # Later changes are merged or refused during planning.
    return Effects(writes=paths, staged=staged, git_refs=refs, destructive=True, anchored=paths)


def _has_target(request: UndoRequest) -> bool:
    return any(one is not None for one in (request.operation, request.task, request.session))


def _candidates_result(context: CallContext) -> UndoResult:
    is_person = context.caller.kind is CallerKind.PERSON
    # An agent is refused what changes protected files alone, so it is not offered.
    shown = [one for one in _candidates(context.workspace) if is_person or not _is_protected(one.files)]
    summary = "These can be undone; give the operation you mean." if shown else "Nothing can be undone."
    return UndoResult(applied=False, dry_run=True, candidates=shown, summary=summary)


def _work(context: CallContext, request: UndoRequest, records: list[Record], plan: Rollback) -> UndoResult:
    workspace = context.workspace
    lease = workspace.git_lease()
    if any(record.git is not None for record in records):
        lease.take()
    try:
        if plan_rollback(workspace.repository, workspace.editor, records) != plan:
            message = "The files changed while the call was being checked."
            raise CodePlaneError("STALE_FILE", message, hint="Send the same call again.")
        if plan.files.conflicts or plan.git_conflicts:
            raise _conflict(plan)
        undone = tuple(record.batch_id for record in records)
        if request.dry_run:
            return _result(plan, undone, None)
        context.check_cancelled()
        try:
            roll_back(workspace.repository, workspace.editor, context.call_id, plan, undone)
        except OSError as error:
            raise write_refused(error) from error
    finally:
        lease.release()
    workspace.editor.remove_empty(path for record in records for path in record.directories)
    context.changes.extend(_file_change(change) for change in plan.files.changes)
    return _result(plan, undone, context.call_id)


def _records(workspace: Workspace, request: UndoRequest) -> list[Record]:
    """Return the batches to undo, the newest first.

    Raises:
        CodePlaneError: NOTHING_TO_UNDO.
    """
    rows = _rows(workspace, request)
    gone = _undone(workspace, {row.call_id for row in rows})
    found = _without_own_undos([record for _, record in _finished(workspace, rows, gone)])
    if found:
        return found
    what = request.operation or request.task or request.session
    records = workspace.editor.records
    was_kept = any(row.call_id is not None and records.find(row.call_id) is not None for row in rows)
    reason = "it was already undone" if was_kept else "it changed no file, or its record is no longer kept"
    raise CodePlaneError("NOTHING_TO_UNDO", f"`{what}` cannot be undone: {reason}.", details={"target": what})


def _rows(workspace: Workspace, request: UndoRequest) -> tuple[LedgerRow, ...]:
    """Return the rows to undo, the newest first; a program means all the calls that it made."""
    if request.operation is None:
        return workspace.chain.rows(RowFilter(task_id=request.task, session=request.session, limit=_LOOK_BACK))
    rows = workspace.chain.rows(RowFilter(call_id=request.operation, limit=10))
    if rows and rows[0].operation != _PROGRAM:
        return rows
    # A running program that undoes itself has no row yet.
    holds = f'"part_of":{json.dumps(request.operation)}'
    made = workspace.chain.rows(RowFilter(body_holds=holds, limit=_LOOK_BACK))
    parts = tuple(row for row in made if row.body.get("part_of") == request.operation)
    _check_records(workspace, request.operation, parts)
    return parts


def _check_records(workspace: Workspace, program: str, rows: tuple[LedgerRow, ...]) -> None:
    """Refuse to undo half of a program.

    Raises:
        CodePlaneError: NOTHING_TO_UNDO when a file was changed by a call whose record is gone.
    """
    records = workspace.editor.records
    for row in rows:
        if row.kind == "finished" and row.body.get("changed_paths") and records.find(row.call_id or "") is None:
            message = f"`{program}` cannot be undone as a whole: the record of {row.call_id} is no longer kept."
            hint = "Call undo without arguments: it lists what can still be undone."
            raise CodePlaneError("NOTHING_TO_UNDO", message, hint=hint, details={"target": program})


def _without_own_undos(found: list[Record]) -> list[Record]:
    """Leave out changes that were undone within the same calls: undoing both would change nothing."""
    own = {record.batch_id for record in found}
    settled: set[str] = set()
    kept: list[Record] = []
    for record in found:
        if record.batch_id in settled:
            continue
        if record.undoes and own.issuperset(record.undoes):
            settled.update(record.undoes)
        else:
            kept.append(record)
    return kept


def _finished(
    workspace: Workspace, rows: Sequence[LedgerRow], gone: Collection[str]
) -> Iterator[tuple[LedgerRow, Record]]:
    """Yield the ended operations of this tree that are still recorded, with their records."""
    worktree = workspace.repository.worktree_id
    for row in rows:
        if row.kind not in _ENDED or row.call_id is None or row.worktree != worktree or row.call_id in gone:
            continue
        kept = workspace.editor.records.find(row.call_id)
        if kept is not None and kept[1] is State.DONE and (kept[0].changes or kept[0].git is not None):
            yield row, kept[0]


def _undone(workspace: Workspace, without: Collection[str | None]) -> set[str]:
    """Return the operations that are undone and not redone since.

    `without` names undos that will be undone themselves, which restores what they had undone.
    """
    gone: set[str] = set()
    rows = workspace.chain.rows(RowFilter(kinds=("finished",), operation=NAME, limit=_LOOK_BACK))
    # The newest first: an undo that was itself undone no longer has an effect.
    for row in rows:
        kept = workspace.editor.records.find(row.call_id or "")
        if kept is not None and row.call_id not in gone and row.call_id not in without:
            gone.update(kept[0].undoes)
    return gone


def _conflict(plan: Rollback) -> CodePlaneError:
    conflicts = plan.files.conflicts
    details: list[dict[str, Any]] = [
        {
            "path": printable_name(one.path.text),
            "reason": one.reason,
            "lines": [
                {"start_line": part.start_line, "end_line": part.end_line, "now": part.ours, "undone": part.theirs}
                for part in one.lines[:5]
            ],
        }
        for one in conflicts
    ]
    details.extend({"git": reason} for reason in plan.git_conflicts[:20])
    named = "; ".join(
        [*(f"{printable_name(one.path.text)}: {one.reason}" for one in conflicts[:3]), *plan.git_conflicts[:3]]
    )
    return CodePlaneError("UNDO_CONFLICT", f"Nothing was undone. {named}.", details={"conflicts": details})


def _file_change(change: Change) -> FileChange:
    before, after = change.before, change.after
    counts = [one.data.count(b"\n") if one is not None else 0 for one in (before, after)]
    return FileChange(
        path=printable_name(change.path.text),
        old_hash=before.sha256 if before is not None else None,
        new_hash=after.sha256 if after is not None else None,
        insertions=max(0, counts[1] - counts[0]),
        deletions=max(0, counts[0] - counts[1]),
    )


def _is_protected(files: list[str]) -> bool:
    return bool(files) and all(is_protected_name(name) for name in files)


def _candidates(workspace: Workspace) -> list[UndoableOperation]:
    """Return the last operations that can be undone; a program counts as one."""
    shown: dict[str, UndoableOperation] = {}
    rows = workspace.chain.rows(RowFilter(limit=_LOOK_BACK))
    for row, record in _finished(workspace, rows, _undone(workspace, ())):
        program = row.body.get("part_of")
        if program is not None and row.operation == NAME:
            continue
        operation = str(program or row.call_id)
        if operation in shown:
            files = shown[operation].files
            files.extend([name for name in _touched(record) if name not in files][: _SHOWN - len(files)])
        elif len(shown) == _LISTED:
            break
        else:
            shown[operation] = _undoable(operation, _PROGRAM if program else row.operation or "", row, record)
    return list(shown.values())


def _undoable(operation: str, name: str, row: LedgerRow, record: Record) -> UndoableOperation:
    return UndoableOperation(
        operation=operation,
        name=name,
        session=row.session,
        task=row.task_id,
        time=iso_from_ms(row.ts_ms),
        files=_touched(record)[:_SHOWN],
    )


def _touched(record: Record) -> list[str]:
    tracked = record.git.tracked if record.git is not None else ()
    refs = record.git.before.refs if record.git is not None else ()
    return [printable_name(name) for name in (*(change.path.text for change in record.changes), *tracked, *refs)]


def _result(plan: Rollback, undone: tuple[str, ...], mutation_id: str | None) -> UndoResult:
    files = []
    for change in plan.files.changes:
        action: Literal["restored", "removed", "recreated", "merged"] = "restored"
        if change.after is None:
            action = "removed"
        elif change.before is None:
            action = "recreated"
        elif change.path in plan.files.merged:
            action = "merged"
        sha256 = change.after.sha256 if change.after is not None else None
        files.append(UndoneFile(path=printable_name(change.path.text), action=action, file_sha256=sha256))
    loose = plan.git.after.loose if plan.git is not None and plan.git.after is not None else {}
    for path, kept in sorted(loose.items()):
        files.append(UndoneFile(path=printable_name(path), action="recreated" if kept is not None else "removed"))
    verb = "undone" if mutation_id is not None else "would be undone"
    n_operations = f"{len(undone)} operation{'s' * (len(undone) != 1)}"
    summary = f"{n_operations} {verb}: {len(files)} file{'s' * (len(files) != 1)}"
    git = _git_restored(plan)
    if git:
        summary += f", {len(git)} git refs and records"
    return UndoResult(
        applied=mutation_id is not None,
        dry_run=mutation_id is None,
        mutation_id=mutation_id,
        undone=list(undone),
        files=files,
        git=git,
        summary=summary,
        display_to_user=f"{summary}: {', '.join([*(one.path for one in files[:5]), *git[:5]])}",
    )


def _git_restored(plan: Rollback) -> list[str]:
    """Return the restored git state as text."""
    if plan.git is None or plan.git.after is None:
        return []
    after = plan.git.after
    found = [f"HEAD is at {after.head.removeprefix('ref: ')}"] if after.head is not None else []
    found.extend(f"{name} {f'is at {oid[:12]}' if oid is not None else 'is gone'}" for name, oid in after.refs.items())
    if after.entries:
        found.append(f"{len(after.entries)} staged path{'s' * (len(after.entries) != 1)}")
    found.extend(name.partition(":")[2] for name in after.files)
    return found


def _render(result: UndoResult) -> str:
    lines = [result.summary]
    lines.extend(f" {one.path} {one.action}" for one in result.files[:_SHOWN])
    if len(result.files) > _SHOWN:
        lines.append(f" and {len(result.files) - _SHOWN} more files")
    lines.extend(f" git: {one}" for one in result.git[:_SHOWN])
    lines.extend(
        f" {one.operation} {one.name} {one.time[11:19]} {one.session}: {', '.join(one.files[:3])}"
        + (" …" if len(one.files) > 3 else "")
        for one in result.candidates
    )
    return "\n".join(lines)


UNDO = Operation(
    name=NAME,
    family="edits",
    summary="Undo the changes of an operation, program, task or session; an undo can be undone.",
    request_type=UndoRequest,
    result_type=UndoResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    when_to_use=("A change was wrong.", "To see what can be undone: call it without arguments."),
    when_not_to_use=("You want to change a few lines: use write_source.",),
    examples=(
        Example("One operation, by the mutation_id of its answer", {"operation": "req_x9y8z7"}),
        Example("See what a session's undo would do", {"session": "s-1", "dry_run": True}),
    ),
    profiles=frozenset({"classic", "core"}),
    recover=recover_edit,
    is_dry_run=lambda request: request.dry_run or not _has_target(request),
)
