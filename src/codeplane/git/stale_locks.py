"""Locks left behind by a killed git process; git itself never removes them."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from codeplane.git.repository import Repository

_PROCESSES: Final = Path("/proc")
_WAIT_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.05


def remove_stale_locks(repository: Repository, since_ns: int, wait_seconds: float = _WAIT_SECONDS) -> tuple[str, ...]:
    """Remove locks made since the start of a call whose process is gone; return their names.

    A git that it had started may still be running: it is waited for, and while any git runs in this repository, or
    where that cannot be told, the locks stay.
    """
    if not _PROCESSES.is_dir():
        return ()
    deadline = time.monotonic() + wait_seconds
    while _is_git_running(repository):
        if time.monotonic() > deadline:
            return ()
        time.sleep(_POLL_SECONDS)
    removed = []
    for lock in _locks(repository):
        with suppress(OSError):
            if lock.stat().st_mtime_ns >= since_ns:
                lock.unlink()
                removed.append(_name(repository, lock))
    return tuple(sorted(removed))


def _locks(repository: Repository) -> Iterator[Path]:
    places = {repository.git_dir, repository.common_dir}
    for place in places:
        yield from place.glob("*.lock")
    yield from (repository.common_dir / "refs").rglob("*.lock")


def _name(repository: Repository, lock: Path) -> str:
    base = repository.git_dir if lock.is_relative_to(repository.git_dir) else repository.common_dir
    return lock.relative_to(base).as_posix()


def _is_git_running(repository: Repository) -> bool:
    places = (repository.root, repository.git_dir, repository.common_dir)
    for process in _PROCESSES.iterdir():
        if not process.name.isdigit():
            continue
        # A process may end meanwhile, or belong to another user.
        with suppress(OSError):
            if (process / "comm").read_text(encoding="utf-8", errors="replace").strip().startswith("git"):
                place = (process / "cwd").readlink()
                if any(place.is_relative_to(one) for one in places):
                    return True
    return False
