"""Bracket a git command with a snapshot before and a comparison after, so it can be explained and undone.

Before the command: the lease of the repository, its state, and images of every file whose content git does not have
(changed ones, and untracked ones in the command's way). After it: the differences, recorded like any batch of edits.
Files that git has on both sides are recorded as index entries and written out by git when needed.
"""

import fcntl
import os
import stat
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.edit.editor import Editor
from codeplane.edit.images import FileImage
from codeplane.edit.records import Change, Record, State
from codeplane.edit.snapshot import Snapshot, finish_snapshot, kept_snapshot, take_snapshot
from codeplane.git.loose_files import file_status_at
from codeplane.git.repository import Repository
from codeplane.git.state import (
    GitSpan,
    GitState,
    commit_of,
    difference,
    is_nothing,
    keep_objects,
    plain_entry,
    read_tree,
)
from codeplane.git.switching import in_the_way
from codeplane.git.working_tree import SKIPPED, exported, hidden_paths, untracked_paths

_WAIT_SECONDS: Final = 30.0
_POLL_SECONDS: Final = 0.01
# The most bytes of untracked files to copy because a hook might change them.
_MAX_UNTRACKED: Final = 4_000_000
_NO_IMAGES: Final[Mapping[RepoPath, FileImage | None]] = MappingProxyType({})
_EXECUTABLE: Final = "100755"
_BRANCH: Final = "ref: refs/heads/"
_LINK: Final = "120000"


@dataclass(frozen=True, slots=True)
class GitOutcome:
    """What a command did: the difference of git's state, files whose bytes were kept, files that git has itself.

    `kept` are the files of which a copy was made beforehand, `commits` the commit of HEAD before and after, `branch`
    the branch that HEAD is on afterwards.
    """

    before: GitState
    after: GitState
    changes: tuple[Change, ...] = ()
    tracked: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    commits: tuple[str | None, str | None] = (None, None)
    branch: str | None = None

    @property
    def working_paths(self) -> tuple[str, ...]:
        """Return every path whose working file changed."""
        return tuple(sorted({*(change.path.text for change in self.changes), *self.tracked}))

    @property
    def is_nothing(self) -> bool:
        """Tell whether nothing changed."""
        return not self.working_paths and is_nothing(self.before) and is_nothing(self.after)


class GitLease:
    """The lock for changing a repository through git; one holder at a time, over all its working trees."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self, wait_seconds: float = _WAIT_SECONDS) -> None:
        """Wait for the lease.

        Raises:
            CodePlaneError: GIT_LOCKED when another call holds it for too long.
        """
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + wait_seconds
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    os.close(descriptor)
                    message = f"Another call has been changing the repository for more than {wait_seconds:.0f} s."
                    raise CodePlaneError("GIT_LOCKED", message) from error
                time.sleep(_POLL_SECONDS)
            else:
                self._descriptor = descriptor
                return

    def release(self) -> None:
        """Release the lease; safe to call twice."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class GitBracket:
    """The bracket of one command: begun before it, finished once after it."""

    def __init__(self, repository: Repository, editor: Editor, lease: GitLease, call_id: str) -> None:
        self._repository = repository
        self._editor = editor
        self._lease = lease
        self._call_id = call_id
        self._before: GitState | None = None
        self._snapshot: Snapshot | None = None
        self._outcome: GitOutcome | None = None
        self._untracked: frozenset[str] = frozenset()

    def begin(self, touched: Iterable[RepoPath], *, has_hooks: bool) -> None:
        """Take the lease and a snapshot; `touched` are the paths that the command may write.

        Where hooks run, small untracked files are part of the snapshot.

        Raises:
            CodePlaneError: GIT_LOCKED; git cannot read the repository.
            OSError: the snapshot failed; the command must not run.
        """
        self._lease.take()
        try:
            self._before, dirty = read_tree(self._repository)
            at_risk = self._at_risk(self._before, [path.text for path in touched], dirty)
            if has_hooks:
                at_risk.extend(self._in_reach_of_hooks())
            self._snapshot = self._take_snapshot(self._before, at_risk)
        except BaseException:
            self._lease.release()
            raise

    def _at_risk(self, before: GitState, touched: list[str], dirty: list[str]) -> list[str]:
        """Return every file in the command's way that git could not restore exactly."""
        root = self._repository.root
        at_risk = [*dirty, *(path for path in touched if path not in before.entries)]
        # Git silently removes a whole directory where it restores a tracked file.
        files = [path for path in (*dirty, *touched) if not _is_repository(root / path)]
        at_risk.extend(path for path in in_the_way(root, files) if path not in before.entries)
        tracked = {path: before.entries[path] for path in touched if path in before.entries}
        at_risk.extend(hidden_paths(root, tracked, before.entries, before.marks, frozenset(dirty)))
        return at_risk

    def also_keep(self, touched: Iterable[str]) -> None:
        """Snapshot more paths that become known only while the command runs.

        Raises:
            OSError: the snapshot failed; the command must not continue.
        """
        if self._snapshot is None or self._before is None:
            raise CodePlaneError("INTERNAL_ERROR", "The bracket was used before it began.")
        known = self._snapshot
        names = [path for path in touched if RepoPath.known(path) not in known.images]
        tracked = {path: self._before.entries[path] for path in names if path in self._before.entries}
        wanted = [path for path in names if path not in tracked]
        wanted.extend(hidden_paths(self._repository.root, tracked, tracked, {}))
        if not wanted:
            return
        more = self._take_snapshot(self._before, wanted, known.images)
        self._snapshot = replace(more, unreadable=(*known.unreadable, *more.unreadable))

    def _in_reach_of_hooks(self) -> list[str]:
        """Return the untracked files that a hook may change or stage, as far as they are small."""
        root = self._repository.root
        self._untracked = frozenset(untracked_paths(root))
        found = []
        rest = _MAX_UNTRACKED
        for path in sorted(self._untracked):
            status = file_status_at(root, path)
            if status is not None and status.st_size <= rest:
                rest -= status.st_size
                found.append(path)
        return found

    def _take_snapshot(
        self, before: GitState, at_risk: Iterable[str], known: Mapping[RepoPath, FileImage | None] = _NO_IMAGES
    ) -> Snapshot:
        root, span = self._repository.root, GitSpan(before)
        snapshot = take_snapshot(self._editor, self._call_id, _repo_paths(at_risk), span)
        # A directory means no file; undo must remove a file that takes its place.
        directories = [path for path in snapshot.unreadable if _is_directory(root / path.text)]
        if not directories and not known:
            return snapshot
        images = {**known, **snapshot.images, **dict.fromkeys(directories)}
        changes = tuple(Change(path, image, image) for path, image in images.items())
        self._editor.records.write(Record(self._call_id, self._editor.worktree, changes, git=span), State.DONE)
        unreadable = tuple(path for path in snapshot.unreadable if path not in images)
        return Snapshot(snapshot.batch_id, images, unreadable)

    @property
    def kept(self) -> tuple[str, ...]:
        """Return the files whose bytes were copied before the command."""
        if self._snapshot is None:
            return ()
        return tuple(path.text for path, image in self._snapshot.images.items() if image is not None)

    @property
    def unreadable(self) -> tuple[str, ...]:
        """Return the files in the command's way that could not be copied."""
        paths = self._snapshot.unreadable if self._snapshot is not None else ()
        return tuple(printable_name(path.text) for path in paths)

    def finish(self) -> GitOutcome:
        """Record what the command did and return it; repeated calls return the same."""
        if self._outcome is None:
            if self._snapshot is None or self._before is None:
                raise CodePlaneError("INTERNAL_ERROR", "The bracket was finished before it began.")
            try:
                self._outcome = _finish(self._repository, self._editor, self._snapshot, self._before, self._untracked)
            finally:
                self._lease.release()
        return self._outcome


def finish_interrupted(repository: Repository, editor: Editor, call_id: str) -> GitOutcome | None:
    """Return what the command of a dead process left, and record it for undo; None when it never began."""
    found = kept_snapshot(editor, call_id)
    snapshot, span = found if found is not None else (None, None)
    if snapshot is None or span is None:
        return None
    if span.after is not None:
        kept = editor.records.find(call_id)
        return GitOutcome(span.before, span.after, kept[0].changes if kept is not None else (), span.tracked)
    return _finish(repository, editor, snapshot, span.before)


def with_tracked_changes(repository: Repository, record: Record) -> Record:
    """Return a record whose changes include the files that only git has."""
    span = record.git
    if span is None or span.after is None or not span.tracked:
        return record
    before = _images_of(repository, span.before, span.tracked)
    after = _images_of(repository, span.after, span.tracked)
    more = tuple(Change(RepoPath.known(path), before.get(path), after.get(path)) for path in span.tracked)
    return replace(record, changes=record.changes + more)


def _finish(
    repository: Repository,
    editor: Editor,
    snapshot: Snapshot,
    before: GitState,
    untracked: frozenset[str] = frozenset(),
) -> GitOutcome:
    after, changed = read_tree(repository)
    dirty = set(changed)
    old, new = difference(before, after)
    mark = editor.records.written_ns(snapshot.batch_id)
    imaged = {path.text for path in snapshot.images}
    unreadable = {path.text for path in snapshot.unreadable}
    was_clean = sorted(path for path in dirty - imaged - unreadable - untracked if _is_newer(repository, path, mark))
    tracked = tuple(
        sorted(
            path
            for path in old.entries
            if path not in imaged
            and path not in dirty
            # A hook staged it; it existed before, but its content is unknown.
            and path not in untracked
            # Never checked out: otherwise there would be an image.
            and before.marks.get(path, "").upper() != SKIPPED
            and _followed_entry(repository, path, (old.entries[path], new.entries[path]), mark)
        )
    )
    known = _images_of(repository, before, was_clean)
    known_before: dict[RepoPath, FileImage | None] = {path: known.get(path.text) for path in _repo_paths(was_clean)}
    has_git_change = not (is_nothing(old) and is_nothing(new))
    span = GitSpan(old, new, tracked) if has_git_change or tracked else None
    changes = finish_snapshot(editor, snapshot, known_before, span)
    if span is not None:
        keep_objects(repository, snapshot.batch_id, old)
    kept = tuple(path.text for path, image in snapshot.images.items() if image is not None)
    branch = after.head.removeprefix(_BRANCH) if after.head is not None and after.head.startswith(_BRANCH) else None
    return GitOutcome(old, new, changes, tracked, kept, (commit_of(before), commit_of(after)), branch)


def _followed_entry(
    repository: Repository, path: str, entries: tuple[tuple[tuple[str, str, int], ...], ...], mark: int
) -> bool:
    """Tell whether a clean working file followed its index entry from the old to the new state."""
    old, new = (plain_entry(one) for one in entries)
    if old is None and new is None:
        return False
    status = file_status_at(repository.root, path)
    if status is None:
        # Gone with its entry; a file of an entry that was never checked out has not changed.
        return new is None and old is not None
    # A file that only became tracked or untracked was not written.
    return new is not None and status.st_ctime_ns >= mark


def _is_newer(repository: Repository, path: str, mark: int) -> bool:
    status = file_status_at(repository.root, path)
    return status is None or status.st_ctime_ns >= mark


def _images_of(repository: Repository, state: GitState, paths: Iterable[str]) -> Mapping[str, FileImage]:
    """Return what git would write for the entries of paths; modes are those of the files that are there now."""
    wanted = {}
    for path in paths:
        entry = plain_entry(state.entries.get(path, ()))
        if entry is not None:
            wanted[path] = entry
    if not wanted:
        return {}
    found: dict[str, FileImage] = {}
    with exported(repository, wanted) as directory:
        for path, (mode, _) in wanted.items():
            place = directory / path
            if mode == _LINK:
                target = os.fsencode(place.readlink()) if place.is_symlink() else place.read_bytes()
                found[path] = FileImage(target, is_link=True)
            else:
                found[path] = FileImage(place.read_bytes(), _mode_now(repository, path, mode))
    return found


def _mode_now(repository: Repository, path: str, mode: str) -> int | None:
    """Return the mode for a file of an entry: git knows of executable or not, the rest stays as it is."""
    status = file_status_at(repository.root, path)
    if status is None or stat.S_ISLNK(status.st_mode):
        return 0o755 if mode == _EXECUTABLE else None
    kept = status.st_mode & 0o7777
    if mode != _EXECUTABLE:
        return kept & ~0o111
    # As git does: execute permission follows read permission.
    return kept | (kept & 0o444) >> 2


def _is_repository(place: Path) -> bool:
    return os.path.lexists(place / ".git")


def _is_directory(place: Path) -> bool:
    return place.is_dir() and not place.is_symlink()


def _repo_paths(texts: Iterable[str]) -> list[RepoPath]:
    return [RepoPath.known(text) for text in dict.fromkeys(texts)]
