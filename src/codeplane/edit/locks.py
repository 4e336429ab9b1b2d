"""Locks on files of a working tree, between threads and processes; the system releases those of dead processes."""

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.paths import RepoPath

# Paths with the same number share a lock; one lock file per path could never be removed safely.
_N_LOCKS: Final = 1024
_WAIT_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.002


class PathLocks:
    """The locks of one working tree.

    Invariant: locks are taken in the order of their numbers, so two batches never deadlock.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    @contextmanager
    def holding(self, paths: Iterable[RepoPath], go_on: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold the locks of paths; `go_on` is called before each attempt and stops the wait by raising.

        Raises:
            CodePlaneError: EXEC_SIDE_EFFECT_COLLISION when another process keeps one for too long.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        numbers = sorted({int(sha256_text(path.text.casefold())[:8], 16) % _N_LOCKS for path in paths})
        deadline = time.monotonic() + _WAIT_SECONDS
        held: list[int] = []
        try:
            for number in numbers:
                descriptor = os.open(self._directory / f"{number:03x}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                held.append(descriptor)
                _take(descriptor, deadline, go_on)
            yield
        finally:
            for descriptor in held:
                os.close(descriptor)


def _take(descriptor: int, deadline: float, go_on: Callable[[], None]) -> None:
    while True:
        go_on()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                message = f"Another call has been writing there for more than {_WAIT_SECONDS:.0f} s."
                raise CodePlaneError("EXEC_SIDE_EFFECT_COLLISION", message) from error
            time.sleep(_POLL_SECONDS)
        else:
            return
