"""A commit-graph of our own that says which paths each commit changed, so that git need not compare trees to find out.

Git writes and reads it; CodePlane only decides where it lies and when it is made. It stands in an object directory that
holds nothing else, and git is told to look there first, so that it is used also where the repository has a commit-graph
without changed paths, and nothing in the repository's own directory is touched. Commits that it does not know yet are
read as ever; where histories are replaced, grafted or shallow, or `core.commitGraph` is off, git leaves it alone.
"""

import hashlib
import os
import shutil
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import fields, get_logger
from codeplane.core.processes import ProcessRequest, run_process
from codeplane.git.repository import Repository, git_environment, run_git

_log = get_logger(__name__)

NO_GRAPH: Final[Mapping[str, str]] = MappingProxyType({})
# Whoever asks once and ends, as a command in a terminal does, is gone before.
_DELAY_SECONDS: Final = 3.0
_MAX_SECONDS: Final = 900.0
# Where it cannot be made it is not tried with every question.
_AGAIN_SECONDS: Final = 3600.0
# After this nobody is at work any more.
_LEFT_SECONDS: Final = 1800.0
_OLD_SECONDS: Final = 24 * 3600.0
_FILE: Final = Path("info", "commit-graph")
_ALTERNATES: Final = "GIT_ALTERNATE_OBJECT_DIRECTORIES"
# The directory in which a new one is made is also the sign that somebody makes it.
_MAKING: Final = "making"
_HEAD: Final = b"CGPH"
_HASHES: Final = {1: "sha1", 2: "sha256"}
_CHUNK_BYTES: Final = 1024 * 1024
_PARTIAL: Final = r"^(extensions\.partialclone|remote\..*\.promisor)$"


class CommitGraph:
    """The commit-graph of one repository in a directory of its own.

    Invariant: git is told of it only while the file is whole, by the sum at its end.
    """

    def __init__(self, repository: Repository, directory: Path) -> None:
        self._repository = repository
        self._directory = directory
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._maker: threading.Thread | None = None
        self._tried_at = -_AGAIN_SECONDS
        # The version of the file that was last summed up, and whether it was whole.
        self._summed: tuple[tuple[int, int, int], bool] | None = None

    def environment(self) -> Mapping[str, str]:
        """Return what tells git to use it; nothing when there is none that is whole.

        It fits commands that write no objects: these would be written where git looks first.
        """
        if not self._is_sound():
            return NO_GRAPH
        return _looking_into(self._directory, self._objects)

    def freshen(self) -> None:
        """Make it in the background when it is missing or a day old; at most once an hour."""
        with self._lock:
            is_early = time.monotonic() - self._tried_at < _AGAIN_SECONDS
            if not is_early and not self._closing.is_set() and self._is_due():
                self._tried_at = time.monotonic()
                self._maker = threading.Thread(target=self._make_later, name="codeplane-commit-graph", daemon=True)
                self._maker.start()

    def make(self) -> bool:
        """Make it now; return whether it was made. Nobody depends on it, so that no failure is an error."""
        making = self._directory / _MAKING
        try:
            if not self._take(making):
                return False
        except OSError as error:
            _log.info("no commit-graph can be kept here", extra=fields(reason=str(error)))
            return False
        try:
            return self._make_in(making)
        except (OSError, CodePlaneError) as error:
            _log.info("no commit-graph was made", extra=fields(reason=str(error)))
            return False
        finally:
            shutil.rmtree(making, ignore_errors=True)

    def close(self) -> None:
        """Stop making it."""
        self._closing.set()
        if self._maker is not None:
            self._maker.join(5.0)

    @property
    def _objects(self) -> Path:
        return self._repository.common_dir / "objects"

    def _make_later(self) -> None:
        if not self._closing.wait(_DELAY_SECONDS):
            self.make()

    def _take(self, making: Path) -> bool:
        """Create the directory to work in; refuse when somebody else has it, unless that was long ago."""
        self._directory.mkdir(parents=True, exist_ok=True)
        for _ in range(2):
            with suppress(FileExistsError):
                making.mkdir()
                return True
            with suppress(FileNotFoundError):
                if time.time() - making.stat().st_mtime < _LEFT_SECONDS:
                    return False
            shutil.rmtree(making, ignore_errors=True)
        return False

    def _make_in(self, making: Path) -> bool:
        if run_git(self._repository.root, "config", "--get-regexp", _PARTIAL).returncode == 0:
            # Git would fetch every tree of a partial clone.
            return False
        # What the last one says of a commit is taken over.
        known = [self._directory] if self._is_sound() else []
        around = git_environment(os.environ) | _looking_into(making, *known, self._objects)
        nice = ("nice", "-n", "19") if shutil.which("nice") else ()
        result = run_process(
            ProcessRequest(
                argv=(*nice, "git", "commit-graph", "write", "--reachable", "--changed-paths", "--no-progress"),
                cwd=self._repository.root,
                environment=around,
                timeout_seconds=_MAX_SECONDS,
                cancelled=self._closing.is_set,
            )
        )
        if result.returncode != 0 or not (making / _FILE).is_file():
            # Git says nothing and writes nothing where a commit-graph may not be used.
            _log.info("git made no commit-graph", extra=fields(reason=result.stderr_text[:400]))
            return False
        (self._directory / _FILE).parent.mkdir(exist_ok=True)
        (making / _FILE).replace(self._directory / _FILE)
        _log.info("a commit-graph was made", extra=fields(duration_ms=result.duration_ms))
        return True

    def _is_due(self) -> bool:
        try:
            age = time.time() - (self._directory / _FILE).stat().st_mtime
        except OSError:
            return True
        return not 0 <= age < _OLD_SECONDS or not self._is_sound()

    def _is_sound(self) -> bool:
        """Tell whether the file is there and whole; its bytes are summed up once for each version of it."""
        place = self._directory / _FILE
        try:
            status = place.stat()
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
            summed = self._summed
            if summed is None or summed[0] != stamp:
                self._summed = summed = (stamp, _ends_with_its_sum(place))
        except OSError:
            return False
        return summed[1]


def _ends_with_its_sum(place: Path) -> bool:
    """Tell whether a file is a commit-graph whose last bytes are the sum of all before."""
    with place.open("rb") as file:
        head = file.read(len(_HEAD) + 2)
        kind = _HASHES.get(head[-1]) if head.startswith(_HEAD) and len(head) == len(_HEAD) + 2 else None
        if kind is None:
            return False
        summed = hashlib.new(kind, head, usedforsecurity=False)
        last = b""
        while chunk := file.read(_CHUNK_BYTES):
            last += chunk
            summed.update(last[: -summed.digest_size])
            last = last[-summed.digest_size :]
        return last == summed.digest()


def _looking_into(first: Path, *others: Path) -> dict[str, str]:
    """Return what makes git look for objects, and for a commit-graph, in these directories in this order."""
    return {"GIT_OBJECT_DIRECTORY": str(first), _ALTERNATES: ":".join(map(_quoted, others))}


def _quoted(place: Path) -> str:
    return '"' + str(place).replace("\\", "\\\\").replace('"', '\\"') + '"'
