"""Find out what a program changed: for shell commands and other tools that CodePlane does not run itself.

Before it runs, the state of the tree is noted and files that git could not restore are copied; afterwards the
differences are traced to the call. Calls whose times overlap are recorded as candidates, never guessed.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from codeplane.core.paths import RepoPath
from codeplane.git.contents import read_blobs
from codeplane.git.repo_version import head_commit
from codeplane.git.repository import Repository, run_git
from codeplane.govern.trace.records import UNKNOWN, Cause, TracedFile, with_renames
from codeplane.workspace.workspace import Workspace

_MAX_COPIED: Final = 64 * 1024 * 1024
_LARGEST: Final = 64 * 1024 * 1024
_KEPT_SECONDS: Final = 600.0
_PRIVATE: Final = (".codeplane/", ".orchestration/", ".git/")
_GIT_OUTPUT: Final = 256 * 1024 * 1024

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Dirty:
    """A file that differs from HEAD: its stamp and, if it was small enough, its bytes."""

    stamp: _Stamp | None
    data: bytes | None


@dataclass(slots=True)
class CommandWatch:
    """One watched call: `begin` before the program, `finish` after it."""

    workspace: Workspace
    cause: Cause
    _before: dict[str, _Dirty] = field(default_factory=dict)
    _head: str | None = None
    _started_ns: int = 0

    def begin(self) -> None:
        """Note the state of the tree."""
        repository = self.workspace.repository
        self._started_ns = _now_ns(self.workspace.places.private)
        self._register(None)
        self._head = head_commit(repository)
        room = _MAX_COPIED
        for path in dirty_paths(repository):
            data = _read(repository.root, path, room)
            room -= len(data or b"")
            self._before[path] = _Dirty(_stamp(repository.root, path), data)

    def finish(self) -> tuple[str, ...]:
        """Trace what changed since `begin`; return the ids of the records."""
        others = self._overlapping()
        files = self._changed()
        self._register(_now_ns(self.workspace.places.private))
        cause = replace(self.cause, candidates=tuple(sorted({self.cause.call_id, *others}))) if others else self.cause
        if others:
            cause = replace(cause, contributor=UNKNOWN, intent=None)
        return self.workspace.trace.record(files, cause) if files else ()

    def _changed(self) -> list[TracedFile]:
        root = self.workspace.root
        after = dirty_paths(self.workspace.repository)
        moved = _between(root, self._head, head_commit(self.workspace.repository))
        suspects = []
        for path in dict.fromkeys((*self._before, *after, *moved)):
            known = self._before.get(path)
            if known is None or known.stamp is None or known.stamp != _stamp(root, path):
                suspects.append(path)
        clean = [path for path in suspects if path not in self._before]
        contents = _contents_at(root, self._head, clean)
        found = []
        for path in suspects:
            known = self._before.get(path)
            before = known.data if known is not None else contents.get(path)
            now = _read(root, path, _LARGEST)
            if before != now:
                found.append(TracedFile(path, before, now))
        return with_renames(found)

    # Other calls

    def _place(self) -> Path:
        return self.workspace.places.private / "watches"

    def _register(self, ended_ns: int | None) -> None:
        self._place().mkdir(exist_ok=True)
        times = json.dumps({"start": self._started_ns, "end": ended_ns})
        (self._place() / f"{self.cause.call_id}.json").write_text(times, encoding="utf-8")

    def _overlapping(self) -> list[str]:
        """Return the watched calls that ran at the same time."""
        found = []
        now = _now_ns(self.workspace.places.private)
        for path in sorted(self._place().glob("*.json")):
            with suppress(OSError, ValueError, KeyError, TypeError):
                times = json.loads(path.read_text(encoding="utf-8"))
                ended = times["end"]
                if ended is not None and now - ended > _KEPT_SECONDS * 1e9:
                    path.unlink(missing_ok=True)
                elif path.stem != self.cause.call_id and (ended is None or ended > self._started_ns):
                    found.append(path.stem)
        return found


def dirty_paths(repository: Repository) -> list[str]:
    """Return every file that differs from HEAD, untracked ones included; CodePlane's own are left out."""
    listing = run_git(
        repository.root, "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames",
        "--ignore-submodules=all", output_limit=_GIT_OUTPUT,
    )  # fmt: skip
    names = [entry[3:] for entry in os.fsdecode(listing.stdout).split("\0") if len(entry) > 3]
    return [name for name in names if not name.startswith(_PRIVATE)]


def _between(root: Path, old: str | None, new: str | None) -> list[str]:
    if old == new or old is None or new is None:
        return []
    listing = run_git(root, "diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new, output_limit=_GIT_OUTPUT)
    return [name for name in os.fsdecode(listing.stdout).split("\0") if name and not name.startswith(_PRIVATE)]


def _contents_at(root: Path, head: str | None, paths: Iterable[str]) -> dict[str, bytes]:
    """Return files as HEAD had them; a clean file had these bytes, unless a filter changes them."""
    wanted = [path for path in paths if "\n" not in path]
    if head is None or not wanted:
        return {}
    asked = "".join(f"{head}:{path}\n" for path in wanted)
    checked = run_git(
        root, "cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=os.fsencode(asked),
        output_limit=_GIT_OUTPUT,
    )  # fmt: skip
    lines = checked.stdout_text.splitlines()
    oids = {path: line.split(" ")[0] for path, line in zip(wanted, lines, strict=False) if line.endswith(" blob")}
    blobs = read_blobs(root, oids.values(), _LARGEST)
    return {path: blobs[oid] for path, oid in oids.items() if oid in blobs}


def _stamp(root: Path, path: str) -> _Stamp | None:
    try:
        status = (root / path).lstat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ctime_ns


def _read(root: Path, path: str, room: int) -> bytes | None:
    place = root / RepoPath.known(path).text
    try:
        if place.is_symlink() or not place.is_file() or place.stat().st_size > room:
            return None
        return place.read_bytes()
    except OSError:
        return None


def _now_ns(directory: Path) -> int:
    """Return the time as the file system tells it: stamps of files are compared with it."""
    mark = directory / "watch.time"
    mark.touch()
    return mark.stat().st_mtime_ns
