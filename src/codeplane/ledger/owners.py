"""Which process works on which call, told by locks that the operating system drops when a process dies."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout


class Ownership:
    """This process's mark of life.

    Invariant: the lock is held from the first mutation until `release` or death, so a lock that can be taken belongs
    to a process that is gone. Process ids are not used: they are given again to others.
    """

    def __init__(self, directory: Path, owner: str) -> None:
        self.owner = owner
        self._directory = directory
        self._lock: FileLock | None = None
        self._claiming = threading.Lock()

    def claim(self) -> None:
        """Take the lock unless this process holds it already."""
        with self._claiming:
            if self._lock is None:
                self._directory.mkdir(parents=True, exist_ok=True)
                lock = FileLock(self._directory / f"{self.owner}.lock", thread_local=False)
                lock.acquire(timeout=0)
                self._lock = lock

    def release(self) -> None:
        """Give the lock back and remove its file."""
        with self._claiming:
            if self._lock is not None:
                path = Path(self._lock.lock_file)
                self._lock.release()
                self._lock = None
                path.unlink(missing_ok=True)

    @contextmanager
    def inherit(self, owner: str) -> Iterator[bool]:
        """Yield True while holding the lock of a dead owner, False when that owner lives.

        Holding it keeps other processes from recovering the same call at the same time.
        """
        if owner == self.owner:
            yield False
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._directory / f"{owner}.lock", thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()
            with suppress(OSError):
                Path(lock.lock_file).unlink(missing_ok=True)
