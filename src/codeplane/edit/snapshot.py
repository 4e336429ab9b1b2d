"""Snapshots of files before something other than the editor changes them: git, a shell command, another tool.

Before-images of the named paths are stored durably; afterwards the differences become a record like that of any batch,
so the same undo reverts them. A process that dies in between leaves a record of what may have changed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.edit.editor import Editor
from codeplane.edit.images import FileImage
from codeplane.edit.records import Change, Record, State
from codeplane.git.state import GitSpan


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Files at one moment; `unreadable` are those that are neither files nor links, or cannot be read."""

    batch_id: str
    images: dict[RepoPath, FileImage | None]
    unreadable: tuple[RepoPath, ...]


def take_snapshot(editor: Editor, batch_id: str, paths: Iterable[RepoPath], git: GitSpan | None = None) -> Snapshot:
    """Snapshot paths, and git's state if given, durable when this returns.

    Raises:
        OSError: the snapshot failed; the caller must not go ahead.
    """
    images: dict[RepoPath, FileImage | None] = {}
    unreadable = []
    for path in sorted(set(paths)):
        try:
            images[path] = _image(editor, path)
        except (CodePlaneError, OSError):
            unreadable.append(path)
    # Until the outcome is known, the files count as unchanged.
    changes = tuple(Change(path, image, image) for path, image in images.items())
    editor.records.write(Record(batch_id, editor.worktree, changes, git=git), State.DONE)
    return Snapshot(batch_id, images, tuple(unreadable))


def finish_snapshot(
    editor: Editor,
    snapshot: Snapshot,
    known_before: Mapping[RepoPath, FileImage | None] = MappingProxyType({}),
    git: GitSpan | None = None,
) -> tuple[Change, ...]:
    """Record what differs from a snapshot, so it can be undone; return it.

    `known_before` has the known earlier state of paths that were not in the snapshot; `git` is what changed besides
    files.
    """
    changes = []
    for path, before in {**known_before, **snapshot.images}.items():
        try:
            after = _image(editor, path)
        except (CodePlaneError, OSError):
            # A directory has taken its place; undo will report the conflict.
            after = None
        if before != after and not (before is not None and before.is_like(after)):
            changes.append(Change(path, before, after))
    if changes or git is not None:
        editor.records.write(Record(snapshot.batch_id, editor.worktree, tuple(changes), git=git), State.DONE)
    else:
        editor.records.drop(snapshot.batch_id, State.DONE)
    return tuple(changes)


def kept_snapshot(editor: Editor, batch_id: str) -> tuple[Snapshot, GitSpan | None] | None:
    """Return the snapshot of a dead process, which shows what it changed; None when there is none."""
    found = editor.records.find(batch_id)
    if found is None:
        return None
    record = found[0]
    return Snapshot(batch_id, {change.path: change.before for change in record.changes}, ()), record.git


def _image(editor: Editor, path: RepoPath) -> FileImage | None:
    found = editor.look(path)
    return found.image if found is not None else None
