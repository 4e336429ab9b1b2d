"""Take back what batches did to files and to git together."""

from collections.abc import Sequence
from dataclasses import dataclass

from codeplane.core.errors import CodePlaneError
from codeplane.edit.editor import Editor
from codeplane.edit.records import Record
from codeplane.edit.undo import UndoPlan, plan_undo
from codeplane.git.repository import Repository
from codeplane.git.state import (
    GitSpan,
    conflicts_with,
    difference,
    is_nothing,
    keep_objects,
    read_state,
    with_span_undone,
    write_state,
)
from codeplane.workspace.git_bracket import with_tracked_changes


@dataclass(frozen=True, slots=True)
class TakingBack:
    """What would be done to files and to git, and what of git is in the way.

    Invariant: with conflicts, of files or of git, nothing may be applied.
    """

    files: UndoPlan
    git: GitSpan | None
    git_conflicts: tuple[str, ...]


def plan_taking_back(repository: Repository, editor: Editor, records: Sequence[Record]) -> TakingBack:
    """Return what takes batches back, the newest first."""
    spans = [record.git for record in records if record.git is not None]
    files = plan_undo(editor, [with_tracked_changes(repository, record) for record in records])
    if not spans:
        return TakingBack(files, None, ())
    now = then = read_state(repository)
    conflicts: list[str] = []
    for span in spans:
        conflicts.extend(conflicts_with(then, span))
        then = with_span_undone(then, span)
    old, new = difference(now, then)
    git = GitSpan(old, new) if not (is_nothing(old) and is_nothing(new)) else None
    return TakingBack(files, git, tuple(conflicts))


def take_back(repository: Repository, editor: Editor, batch_id: str, plan: TakingBack, undone: tuple[str, ...]) -> None:
    """Do what was planned, as a batch of its own that can be taken back, too.

    Raises:
        CodePlaneError: STALE_FILE, or git refuses; everything is as it was then.
        OSError: the system refused.
    """
    git = plan.git

    def change_git_state() -> None:
        if git is None or git.after is None:
            return
        keep_objects(repository, batch_id, git.before)
        try:
            write_state(repository, git.after)
        except CodePlaneError:
            write_state(repository, git.before)
            raise

    editor.apply(batch_id, plan.files.changes, undone, git, change_git_state)


def complete_git_part(repository: Repository, record: Record) -> None:
    """Bring git to where an interrupted undo, whose files are in place, was bringing it."""
    if record.undoes and record.git is not None and record.git.after is not None:
        write_state(repository, record.git.after)
