"""Plan the way back from what a batch did, or several batches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from codeplane.core.paths import RepoPath
from codeplane.edit.editor import Editor
from codeplane.edit.images import FileImage
from codeplane.edit.merging import Conflict, merged
from codeplane.edit.records import Change, Record


@dataclass(frozen=True, slots=True)
class UndoConflict:
    """A file that cannot be taken back, why, and the lines that are in the way."""

    path: RepoPath
    reason: str
    lines: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What would be written, which files were merged with later changes, and what is in the way.

    Invariant: with conflicts nothing may be applied.
    """

    changes: tuple[Change, ...]
    merged: tuple[RepoPath, ...]
    conflicts: tuple[UndoConflict, ...]


def plan_undo(editor: Editor, records: Sequence[Record]) -> UndoPlan:
    """Return what takes batches back, the newest first; what was changed since is kept where it is not in the way."""
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
            answer = _taken_back(change, then[path])
            if isinstance(answer, UndoConflict):
                conflicts.append(answer)
                continue
            is_plain = answer is None or answer == change.before
            if not is_plain and path not in merged_paths:
                merged_paths.append(path)
            then[path] = answer
    changes = tuple(Change(path, now[path], then[path]) for path in now if not _same(now[path], then[path]))
    return UndoPlan(changes, tuple(merged_paths), tuple(conflicts))


def _taken_back(change: Change, now: FileImage | None) -> FileImage | UndoConflict | None:
    """Return what a file becomes when one change of it is taken back."""
    before, after = change.before, change.after
    if _same(now, after) or _same(now, before):
        # It may be as before already: somebody was faster.
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
