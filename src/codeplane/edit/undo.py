"""Plan the rollback of one or several batches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from codeplane.core.paths import RepoPath
from codeplane.edit.editor import Editor
from codeplane.edit.images import FileImage
from codeplane.edit.merging import Conflict, merged
from codeplane.edit.records import Change, Record


@dataclass(frozen=True, slots=True)
class UndoConflict:
    """A file that cannot be restored, why, and the conflicting lines."""

    path: RepoPath
    reason: str
    lines: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What would be written, which files were merged with later changes, and the conflicts.

    Invariant: with conflicts nothing may be applied.
    """

    changes: tuple[Change, ...]
    merged: tuple[RepoPath, ...]
    conflicts: tuple[UndoConflict, ...]


def plan_undo(editor: Editor, records: Sequence[Record]) -> UndoPlan:
    """Return the changes that undo batches, the newest first; later changes are kept unless they conflict."""
    now: dict[RepoPath, FileImage | None] = {}
    then: dict[RepoPath, FileImage | None] = {}
    merged_paths: list[RepoPath] = []
    conflicts: list[UndoConflict] = []
    for record in records:
        for change in record.changes:
            path = change.path
            if path not in now:
                found = editor.look(path)
                now[path] = then[path] = found.image if found is not None else None
            answer = _undone(change, then[path])
            if isinstance(answer, UndoConflict):
                conflicts.append(answer)
                continue
            is_plain = answer is None or answer == change.before
            if not is_plain and path not in merged_paths:
                merged_paths.append(path)
            then[path] = answer
    changes = tuple(Change(path, now[path], then[path]) for path in now if not _same(now[path], then[path]))
    return UndoPlan(changes, tuple(merged_paths), tuple(conflicts))


def _undone(change: Change, now: FileImage | None) -> FileImage | UndoConflict | None:
    """Return a file with one of its changes undone."""
    before, after = change.before, change.after
    if _same(now, after) or _same(now, before):
        # It may already be as before: another process was faster.
        return before
    if now is None:
        return UndoConflict(change.path, "it was deleted since")
    if after is None or before is None:
        return UndoConflict(change.path, "it exists again" if after is None else "it was changed since it was created")
    if now.is_link or after.is_link or before.is_link:
        return UndoConflict(change.path, "it is a link, and was changed since")
    answer = merged(after.data, now.data, before.data)
    if not isinstance(answer, bytes):
        return UndoConflict(change.path, "the same lines were changed since", answer)
    mode = before.mode if now.mode == after.mode else now.mode
    return replace(now, data=answer, mode=mode)


def _same(one: FileImage | None, other: FileImage | None) -> bool:
    return one.is_like(other) if one is not None else other is None
