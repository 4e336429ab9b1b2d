"""Apply a batch of changes: all of it or nothing, even after a crash.

The order: take locks; check that files are as expected; record `staging`; write new files beside the old ones; record
`pending`; exchange names and check each displaced file; make directories durable; remove old files; record `done`.
Recovery completes or rolls back a batch whose record is not done (`recover`).
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import fields, get_logger
from codeplane.core.paths import RepoPath
from codeplane.edit.directories import Directories, Place
from codeplane.edit.disk import Disk, ExchangeUnsupportedError
from codeplane.edit.images import FileImage, FoundFile, read_file
from codeplane.edit.locks import PathLocks
from codeplane.edit.records import Change, Record, RecordStore, State
from codeplane.git.state import GitSpan

_log = get_logger(__name__)
# From this many files on, writing in parallel is worth the threads.
_MANY_FILES: Final = 4
_N_THREADS: Final = 4
# Files that recovery writes have this suffix until they are complete.
_UNFINISHED: Final = "-new"


@dataclass(frozen=True, slots=True)
class Recovery:
    """The outcome of an interrupted batch: `is_applied` tells which side it was brought to.

    `conflicts` are files that another program changed meanwhile; they were left alone.
    """

    is_applied: bool
    conflicts: tuple[str, ...] = ()


class Editor:
    """Writes into one working tree."""

    def __init__(
        self, root: Path, worktree: str, locks: PathLocks, records: RecordStore, disk: Disk | None = None
    ) -> None:
        self._root = root
        self.worktree = worktree
        self._locks = locks
        self._disk = disk or Disk()
        self._stopped = threading.Event()
        self.records = records

    def stop(self) -> None:
        """Start no further batch and roll back those not fully in place, because the program is ending.

        Rollbacks of other batches still run: undo stays possible to the end.
        """
        self._stopped.set()

    def look(self, path: RepoPath) -> FoundFile | None:
        """Return what is at a path, None if nothing is.

        Raises:
            CodePlaneError: NOT_A_FILE when it is neither a file nor a symlink.
        """
        with Directories(self._root) as directories:
            return _found(directories, path)

    def apply(
        self,
        batch_id: str,
        changes: Sequence[Change],
        undoes: tuple[str, ...] = (),
        git: GitSpan | None = None,
        also: Callable[[], None] = lambda: None,
    ) -> None:
        """Make every change, or none of them; `undoes` names the batches that this undoes.

        `also` runs together with the changes, such as what `git` describes: if it fails, the files are restored.

        Raises:
            CodePlaneError: STALE_FILE when a file is not what the change expects; nothing was written then.
            CodePlaneError: SERVER_SHUTTING_DOWN when `stop` was called before everything was in place; as above.
            OSError: the system refused; nothing was written.
        """
        if not changes and git is None:
            return
        go_on = _always if undoes else self._go_on
        with self._locks.holding([one.path for one in changes], go_on), Directories(self._root) as directories:
            for change in changes:
                self._check(directories, change, changes)
            missing = _missing_directories(directories, changes)
            record = Record(batch_id, self.worktree, tuple(changes), missing, undoes, git)
            self.records.write(record, State.STAGING)
            batch = _Batch(record, directories, self._disk, go_on)
            state = State.STAGING
            try:
                batch.stage()
                self.records.move(batch_id, State.STAGING, State.PENDING)
                state = State.PENDING
                batch.put_all()
                also()
            except BaseException as error:
                conflicts = self._roll_back(batch, state)
                if conflicts:
                    message = (
                        f"The call failed, and {', '.join(conflicts)} could not be rolled back: changed meanwhile."
                    )
                    raise CodePlaneError("OUTCOME_UNKNOWN", message, details={"paths": list(conflicts)}) from error
                raise
            batch.clean()
            self.records.finish(batch_id)

    def _go_on(self) -> None:
        if self._stopped.is_set():
            raise CodePlaneError("SERVER_SHUTTING_DOWN", "The server is stopping; nothing was changed.")

    def _roll_back(self, batch: "_Batch", state: State) -> tuple[str, ...]:
        """Roll back a failed batch; return the files that another program has changed since.

        What cannot be undone now is left to recovery.
        """
        record = batch.record
        conflicts: tuple[str, ...] = ()
        try:
            if state is State.PENDING:
                self.records.move(record.batch_id, State.PENDING, State.ABORTING)
                state = State.ABORTING
                # A file that was never put in place needs no rollback.
                conflicts = tuple(path for path in batch.bring_to(is_after=False) if path in batch.put)
            batch.clean()
            batch.remove_directories()
            self.records.drop(record.batch_id, state)
        except OSError as error:
            _log.warning(
                "a failed batch will be rolled back later", extra=fields(batch=record.batch_id, reason=str(error))
            )
        return conflicts

    def remove_empty(self, paths: Iterable[RepoPath]) -> None:
        """Remove directories that batches made and that are now empty."""
        with Directories(self._root) as directories:
            for path in sorted(set(paths), key=lambda one: -len(one.parts)):
                directories.remove(path)

    def recover(self, batch_id: str) -> Recovery | None:
        """Bring an interrupted batch to one side; None when there is no record of it, so it never began.

        Raises:
            CodePlaneError: STORE_CORRUPT when its record cannot be read.
        """
        found = self.records.find(batch_id)
        if found is None:
            self._remove_unseen(batch_id)
            return None
        if found[1] is State.DONE:
            return Recovery(is_applied=True)
        with self._locks.holding([one.path for one in found[0].changes]), Directories(self._root) as directories:
            # A process that is ending may have worked on it until now.
            found = self.records.find(batch_id)
            if found is None:
                return None
            record, state = found
            if state is State.DONE:
                return Recovery(is_applied=True)
            batch = _Batch(record, directories, self._disk, _always)
            is_applied = state is State.PENDING
            conflicts = batch.bring_to(is_after=is_applied) if state is not State.STAGING else ()
            batch.clean()
            if is_applied:
                self.records.finish(batch_id)
            else:
                batch.remove_directories()
                self.records.drop(batch_id, state)
        return Recovery(is_applied, conflicts)

    def _remove_unseen(self, batch_id: str) -> None:
        """Remove the leftovers of a process that died while writing the record."""
        unseen = self.records.directory / f"{batch_id}.new"
        if unseen.parent == self.records.directory:
            unseen.unlink(missing_ok=True)

    @staticmethod
    def _check(directories: Directories, change: Change, changes: Sequence[Change]) -> None:
        if change.before is None and directories.exists(change.path) and vanishes_below(change.path, changes):
            # The directory goes with its files; the file then takes its place.
            return
        now = _image(directories, change.path)
        if change.before is None:
            if now is not None:
                raise stale(change.path, "it exists now")
        elif now is None:
            raise stale(change.path, "it is gone")
        elif not change.before.is_like(now):
            raise stale(change.path, "it was changed meanwhile")


class _Kind(Enum):
    """What is found at a path of a batch: nothing, one side of it, or another program's file."""

    NOTHING = "nothing"
    OURS = "ours"
    FOREIGN = "foreign"


def _kind_of(place: Place, change: Change) -> _Kind:
    try:
        found = read_file(*place)
    except CodePlaneError:
        # A directory or a device.
        return _Kind.FOREIGN
    if found is None:
        return _Kind.NOTHING
    return _Kind.OURS if found.image.is_like(change.before) or found.image.is_like(change.after) else _Kind.FOREIGN


class _Batch:
    """One batch on its way into the tree."""

    def __init__(self, record: Record, directories: Directories, disk: Disk, go_on: Callable[[], None]) -> None:
        self.record = record
        self._go_on = go_on
        self.put: set[str] = set()
        self._directories = directories
        self._disk = disk
        self._paths = frozenset(change.path for change in record.changes)

    def stage(self) -> None:
        """Write all new files beside the old ones."""
        for path in self.record.directories:
            if self._replaced_above(path.joined("file")) is None:
                self._directories.make(path)
        work = [
            (self._staged(number), change.after)
            for number, change in enumerate(self.record.changes)
            if change.after is not None
        ]
        if len(work) < _MANY_FILES:
            for place, image in work:
                self._stage_one(place, image)
            return
        with ThreadPoolExecutor(_N_THREADS) as pool:
            for done in [pool.submit(self._stage_one, place, image) for place, image in work]:
                done.result()

    def _stage_one(self, place: Place, image: FileImage) -> None:
        self._go_on()
        self._disk.stage(place, image)

    def put_all(self) -> None:
        """Put every file in place and make the names durable."""
        vanishing, appearing = self._in_order(is_after=True)
        for number, change in vanishing:
            self._put_one(number, change)
        self._swap_directories(vanishing, appearing)
        for number, change in appearing:
            self._put_one(number, change)
        self._sync()

    def _put_one(self, number: int, change: Change) -> None:
        self._go_on()
        self._put(number, change.path, change.before, change.after)
        self.put.add(change.path.text)

    def _in_order(self, *, is_after: bool) -> tuple[list[tuple[int, Change]], list[tuple[int, Change]]]:
        """Return the changes that remove a file on the way to one side of the batch, and the others."""
        numbered = list(enumerate(self.record.changes))
        vanishing = [one for one in numbered if (one[1].after if is_after else one[1].before) is None]
        return vanishing, [one for one in numbered if one not in vanishing]

    def _swap_directories(
        self, vanishing: Sequence[tuple[int, Change]], appearing: Sequence[tuple[int, Change]]
    ) -> None:
        """Remove directories that give their name to a file, and make those that take the name of one."""
        targets = {change.path for _, change in appearing}
        emptied = {above for _, change in vanishing for above in _above(change.path) if _is_at_or_below(above, targets)}
        for path in sorted(emptied, key=lambda one: -len(one.parts)):
            self._directories.remove(path)
        for _, change in appearing:
            for above in reversed(_above(change.path)):
                if self._replaced_above(change.path) is not None and not self._directories.exists(above):
                    self._directories.make(above)

    def _replaced_above(self, path: RepoPath) -> RepoPath | None:
        """Return the topmost directory of a path that is a file before or after the batch, None when there is none."""
        return next((above for above in reversed(_above(path)) if above in self._paths), None)

    def bring_to(self, *, is_after: bool) -> tuple[str, ...]:
        """Bring every file to one side of the batch; return those that are on neither, which are left alone."""
        vanishing, appearing = self._in_order(is_after=is_after)
        conflicts = [change.path.text for number, change in vanishing if not self._restored(number, change, is_after)]
        self._swap_directories(vanishing, appearing)
        conflicts += [change.path.text for number, change in appearing if not self._restored(number, change, is_after)]
        self._sync()
        return tuple(conflicts)

    def _restored(self, number: int, change: Change, is_after: bool) -> bool:  # noqa: FBT001 - the direction of travel
        wanted, other = (change.after, change.before) if is_after else (change.before, change.after)
        try:
            return not self._put_back_foreign(number, change) and self._bring(number, change.path, other, wanted)
        except CodePlaneError as error:
            # Another program is writing right now, or has put something there that is not a file.
            if error.code not in {"STALE_FILE", "NOT_A_FILE"}:
                raise
            # A directory in place of a file to be deleted: the file is gone.
            return wanted is None and self._directories.exists(change.path)
        except (FileNotFoundError, NotADirectoryError):
            # The directory is gone with everything in it.
            return wanted is None

    def _put_back_foreign(self, number: int, change: Change) -> bool:
        """Put back another program's write that an exchange displaced before it was noticed."""
        staged, place = self._staged(number), self._directories.place(change.path)
        if _kind_of(staged, change) is not _Kind.FOREIGN:
            return False
        now = _kind_of(place, change)
        if now is _Kind.NOTHING:
            self._disk.create(staged, place)
        elif now is _Kind.OURS:
            self._disk.exchange(staged, place)
        else:
            # A third version is there now: both stay, this one beside it.
            self._disk.create(staged, Place(place.directory, f"{place.name}.kept-{self.record.batch_id}"))
        return True

    def _bring(self, number: int, path: RepoPath, other: FileImage | None, wanted: FileImage | None) -> bool:
        """Bring one file to the wanted side; false when it is on neither."""
        now = _image(self._directories, path)
        if _same(now, wanted):
            return True
        if not _same(now, other):
            return False
        # The staged file may be either side, or missing: write it again, complete before it gets its name.
        staged = self._staged(number)
        unfinished = Place(staged.directory, staged.name + _UNFINISHED)
        self._disk.remove(unfinished)
        self._disk.remove(staged)
        if wanted is not None:
            self._disk.stage(unfinished, wanted)
            self._disk.move(unfinished, staged)
        self._put(number, path, other, wanted)
        return True

    def clean(self) -> None:
        """Remove what is staged: new files that were not put in place, old ones that were replaced."""
        for number in range(len(self.record.changes)):
            try:
                staged = self._staged(number)
            except (FileNotFoundError, NotADirectoryError):
                # The directory itself is gone.
                continue
            self._disk.remove(staged)
            self._disk.remove(Place(staged.directory, staged.name + _UNFINISHED))

    def remove_directories(self) -> None:
        """Remove the directories that were made for this batch, where they are empty."""
        for path in reversed(self.record.directories):
            self._directories.remove(path)

    def _put(self, number: int, path: RepoPath, old: FileImage | None, new: FileImage | None) -> None:
        """Put one staged file in place of another, and back when the other was not what it should be."""
        staged, place = self._staged(number), self._directories.place(path)
        if old is None:
            try:
                self._disk.create(staged, place)
            except FileExistsError as error:
                what = "a directory with other files is there" if self._directories.exists(path) else "it exists now"
                raise stale(path, what) from error
            return
        if new is None:
            try:
                self._disk.move(place, staged)
            except FileNotFoundError as error:
                raise stale(path, "it is gone") from error
            self._look_at(staged, path, old, lambda: self._disk.create(staged, place))
            return
        try:
            self._disk.exchange(staged, place)
        except ExchangeUnsupportedError:
            self._look_at(place, path, old, lambda: None)
            self._disk.move(staged, place)
            return
        except FileNotFoundError as error:
            raise stale(path, "it is gone") from error
        self._look_at(staged, path, old, lambda: self._disk.exchange(staged, place))

    @staticmethod
    def _look_at(place: Place, path: RepoPath, old: FileImage, put_back: Callable[[], None]) -> None:
        """Check that the displaced file is the expected one; another program may have written a moment ago."""
        try:
            found = read_file(*place)
        except CodePlaneError:
            # It is no longer a file.
            found = None
        if found is None or not old.is_like(found.image):
            put_back()
            raise stale(path, "it was changed meanwhile")

    def _staged(self, number: int) -> Place:
        path = self.record.changes[number].path
        beside = self._replaced_above(path) or path
        return Place(self._directories.descriptor(beside.parent), self.record.staged_name(number))

    def _sync(self) -> None:
        for above in {one.path.parent for one in self.record.changes}:
            if self._directories.exists(above):
                self._disk.sync(self._directories.descriptor(above))


def vanishes_below(path: RepoPath, changes: Sequence[Change]) -> bool:
    """Tell whether a batch deletes files below a path, so a file can take the directory's place."""
    return any(one.after is None and one.path != path and one.path.is_inside(path) for one in changes)


def _above(path: RepoPath) -> list[RepoPath]:
    """Return the directories of a path below the root, the nearest first."""
    found: list[RepoPath] = []
    above = path.parent
    while above != RepoPath.ROOT:
        found.append(above)
        above = above.parent
    return found


def _is_at_or_below(path: RepoPath, targets: set[RepoPath]) -> bool:
    return path in targets or any(above in targets for above in _above(path))


def _always() -> None:
    """Never stop a batch."""


def stale(path: RepoPath, reason: str) -> CodePlaneError:
    """Return the error for a change whose file is not as expected."""
    return CodePlaneError("STALE_FILE", f"{path} is not as expected: {reason}.", details={"path": path.text})


def _found(directories: Directories, path: RepoPath) -> FoundFile | None:
    try:
        return read_file(*directories.place(path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _image(directories: Directories, path: RepoPath) -> FileImage | None:
    found = _found(directories, path)
    return found.image if found is not None else None


def _same(one: FileImage | None, other: FileImage | None) -> bool:
    return one.is_like(other) if one is not None else other is None


def _missing_directories(directories: Directories, changes: Sequence[Change]) -> tuple[RepoPath, ...]:
    """Return the directories to create, parents first."""
    missing: set[RepoPath] = set()
    for change in changes:
        above = change.path.parent
        while change.after is not None and above not in missing and not directories.exists(above):
            missing.add(above)
            above = above.parent
    return tuple(sorted(missing, key=lambda path: len(path.parts)))
