"""Roll back what batches did to files and git together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.edit.editor import Editor
from codeplane.edit.images import FileImage
from codeplane.edit.records import Record
from codeplane.edit.undo import UndoPlan, plan_undo
from codeplane.git.loose_files import LooseFile, in_the_way_of, kept_loose, read_loose
from codeplane.git.repository import Repository
from codeplane.git.state import (
    GitSpan,
    GitState,
    conflicts_with,
    difference,
    is_nothing,
    keep_objects,
    read_state,
    still_to_do,
    with_span_undone,
    write_state,
)
from codeplane.workspace.git_bracket import with_tracked_changes


@dataclass(frozen=True, slots=True)
class Rollback:
    """The planned changes of files and git, and git's conflicts.

    Invariant: with conflicts, of files or of git, nothing may be applied.
    """

    files: UndoPlan
    git: GitSpan | None
    git_conflicts: tuple[str, ...]


def plan_rollback(repository: Repository, editor: Editor, records: Sequence[Record]) -> Rollback:
    """Return the plan that undoes batches, the newest first."""
    whole = [with_tracked_changes(repository, record) for record in records]
    crossing = _crossing(whole)
    whole = [_with_loose_files(repository, record, crossing) for record in whole]
    spans = [record.git for record in whole if record.git is not None]
    files = plan_undo(editor, whole)
    if not spans:
        return Rollback(files, None, ())
    now = then = replace(read_state(repository), loose=read_loose(repository.root, sorted(crossing)))
    conflicts: list[str] = []
    for span in spans:
        conflicts.extend(conflicts_with(then, span))
        then = with_span_undone(then, span)
    old, new = difference(now, then)
    conflicts.extend(_branches_in_use(repository, new))
    found = in_the_way_of(repository.root, new.loose)
    conflicts.extend(f"{printable_name(path)} is in the way" for path in found)
    git = GitSpan(old, new) if not (is_nothing(old) and is_nothing(new)) else None
    return Rollback(files, git, tuple(conflicts))


def _crossing(records: Sequence[Record]) -> frozenset[str]:
    """Return the paths that are a directory of another path, so both never exist together."""
    names = {change.path.text for record in records for change in record.changes}
    loose = {path for record in records if record.git is not None for path in record.git.before.loose}
    found = set(loose)
    for name in names | loose:
        parent = name.rpartition("/")[0]
        while parent:
            if parent in names or parent in loose:
                found.update((name, parent))
            parent = parent.rpartition("/")[0]
    return frozenset(found)


def _with_loose_files(repository: Repository, record: Record, crossing: frozenset[str]) -> Record:
    """Return a record whose changes at crossing paths are those of loose files."""
    moved = [change for change in record.changes if change.path.text in crossing]
    if not moved:
        return record
    span = record.git if record.git is not None else GitSpan(GitState(None), GitState(None))
    if span.after is None:
        return record
    before, after = (
        {path.text: _loose(repository, image) for path, image in side}
        for side in (
            [(change.path, change.before) for change in moved],
            [(change.path, change.after) for change in moved],
        )
    )
    span = replace(
        span,
        before=replace(span.before, loose={**span.before.loose, **before}),
        after=replace(span.after, loose={**span.after.loose, **after}),
    )
    rest = tuple(change for change in record.changes if change.path.text not in crossing)
    return replace(record, changes=rest, git=span)


def _loose(repository: Repository, image: FileImage | None) -> LooseFile | None:
    if image is None:
        return None
    return kept_loose(repository.root, image.data, image.mode, is_link=image.is_link)


def _branches_in_use(repository: Repository, target: GitState) -> list[str]:
    """Return the branches that would be deleted or moved although another working tree has them checked out."""
    found = []
    for place in sorted((repository.common_dir / "worktrees").glob("*/HEAD")):
        head = place.read_text(encoding="utf-8", errors="surrogateescape").strip().removeprefix("ref: ")
        if head in target.refs and place.parent != repository.git_dir:
            found.append(f"{head} is checked out in the working tree {place.parent.name}")
    return found


def roll_back(repository: Repository, editor: Editor, batch_id: str, plan: Rollback, undone: tuple[str, ...]) -> None:
    """Apply the plan as a separate batch, which can be undone too.

    Raises:
        CodePlaneError: STALE_FILE, or git refuses; nothing is changed then.
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
    if git is not None:
        # As git does: a directory goes with its last file.
        gone = [change.path for change in plan.files.changes if change.after is None]
        editor.remove_empty(parent for path in gone for parent in _parents(path))


def _parents(path: RepoPath) -> Iterator[RepoPath]:
    while path.parent != RepoPath.ROOT:
        path = path.parent
        yield path


def complete_git_part(repository: Repository, record: Record) -> None:
    """Complete the git part of an interrupted undo or move whose files are in place.

    Later changes by others stay.
    """
    span = record.git
    if span is None or span.after is None:
        return
    now = replace(read_state(repository), loose=read_loose(repository.root, span.after.loose))
    write_state(repository, still_to_do(now, span))
