"""Moves of files in git's index: as `git mv`, for files that git tracks and that are as in the index (§8.10)."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.edit.editor import Editor
from codeplane.edit.records import Change
from codeplane.git.repository import Repository
from codeplane.git.state import GitSpan, GitState, keep_objects, plain_entry, read_tree, write_state


def clean_paths(repository: Repository, paths: Iterable[str]) -> frozenset[str]:
    """Return which of some paths git tracks as files without conflict or mark that are as in the index."""
    state, dirty = read_tree(repository)
    changed = frozenset(dirty)
    return frozenset(
        path
        for path in paths
        if plain_entry(state.entries.get(path, ())) is not None and path not in changed and path not in state.marks
    )


def index_span(repository: Repository, moves: Mapping[str, str]) -> GitSpan | None:
    """Return what moving files changes in git's index; None when nothing does.

    A tracked file that differs from the index moves in the working tree only.
    """
    movable = clean_paths(repository, moves)
    entries = read_tree(repository)[0].entries if movable else {}
    taken = {path: moves[path] for path in sorted(movable) if moves[path] not in entries}
    if not taken:
        return None
    before = {path: entries[path] for path in taken} | dict.fromkeys(taken.values(), ())
    after = dict.fromkeys(taken, ()) | {target: entries[path] for path, target in taken.items()}
    return GitSpan(GitState(None, entries=before), GitState(None, entries=after))


def apply_with_index(
    repository: Repository, editor: Editor, batch_id: str, changes: Sequence[Change], span: GitSpan | None
) -> None:
    """Apply a batch together with its changes of the index, so that one undo takes back both.

    Raises:
        CodePlaneError: as `Editor.apply`, or git refuses; nothing is changed then.
        OSError: the system refused.
    """
    editor.apply(batch_id, changes, (), span, _writing(repository, batch_id, span))
    # As git does: a directory goes with its last file.
    gone = [change.path for change in changes if change.after is None]
    editor.remove_empty(parent for path in gone for parent in _parents(path))


def _writing(repository: Repository, batch_id: str, span: GitSpan | None) -> Callable[[], None]:
    def write() -> None:
        if span is None or span.after is None:
            return
        keep_objects(repository, batch_id, span.before)
        try:
            write_state(repository, span.after)
        except CodePlaneError:
            write_state(repository, span.before)
            raise

    return write


def _parents(path: RepoPath) -> Iterable[RepoPath]:
    while path.parent != RepoPath.ROOT:
        path = path.parent
        yield path
