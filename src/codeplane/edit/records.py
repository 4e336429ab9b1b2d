"""The state before and after a batch, in one file per batch: its journal while it runs, its undo afterwards.

The suffix of the file name is the state of the batch, so one rename changes it: `staging` (nothing is in place yet),
`pending` (everything is staged and must be put in place), `aborting` (what was put in place must be rolled back),
`done`. The file holds a JSON header, the compressed contents it refers to, and a digest over everything.
"""

import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import STAGED_PREFIX, RepoPath
from codeplane.edit.images import FileImage
from codeplane.git.state import GitSpan, decode_span, encode_span

_MAGIC: Final = b"codeplane record 1\n"
_LENGTH_BYTES: Final = 8
_DIGEST_BYTES: Final = 32
_LEVEL: Final = 1
# A caller's id must not be a path.
_BATCH_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")


class State(Enum):
    """The progress of a batch."""

    STAGING = "staging"
    PENDING = "pending"
    ABORTING = "aborting"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after; None means no file. The path is a real one, without symlinks on the way."""

    path: RepoPath
    before: FileImage | None
    after: FileImage | None


@dataclass(frozen=True, slots=True)
class Record:
    """One batch: its changes, the directories it makes, the batches it undoes, and its changes to git."""

    batch_id: str
    worktree: str
    changes: tuple[Change, ...]
    directories: tuple[RepoPath, ...] = ()
    undoes: tuple[str, ...] = ()
    git: GitSpan | None = None

    def staged_name(self, number: int) -> str:
        """Return the name under which the file of a change is staged, beside the file itself."""
        return f"{STAGED_PREFIX}{self.batch_id}-{number}"


class RecordStore:
    """The records of one repository.

    Invariant: a record is complete from the moment its name can be seen; a batch has one record.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def write(self, record: Record, state: State) -> None:
        """Store a new record, durable when this returns."""
        self.directory.mkdir(parents=True, exist_ok=True)
        unseen = self.directory / f"{record.batch_id}.new"
        data = encode(record)
        descriptor = os.open(unseen, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            unseen.rename(self._path(record.batch_id, state))
        except OSError:
            unseen.unlink(missing_ok=True)
            raise
        self._sync()

    def correct(self, batch_id: str, path: RepoPath, before: FileImage) -> None:
        """Store another content as the one that a finished batch has overwritten."""
        found = self.find(batch_id)
        if found is not None and found[1] is State.DONE:
            changes = tuple(replace(one, before=before) if one.path == path else one for one in found[0].changes)
            self.write(replace(found[0], changes=changes), State.DONE)

    def move(self, batch_id: str, old: State, new: State) -> None:
        """Change the state of a batch, durable when this returns."""
        self._path(batch_id, old).rename(self._path(batch_id, new))
        self._sync()

    def finish(self, batch_id: str) -> None:
        """Mark a pending batch as done; if that is lost, recovery finds nothing left to do."""
        self._path(batch_id, State.PENDING).rename(self._path(batch_id, State.DONE))

    def drop(self, batch_id: str, state: State) -> None:
        """Forget a batch."""
        self._path(batch_id, state).unlink(missing_ok=True)

    def find(self, batch_id: str) -> tuple[Record, State] | None:
        """Return a batch and its state, None when it is unknown.

        Raises:
            CodePlaneError: STORE_CORRUPT when its record cannot be read.
        """
        if _BATCH_ID.fullmatch(batch_id) is None:
            return None
        for state in State:
            try:
                data = self._path(batch_id, state).read_bytes()
            except FileNotFoundError:
                continue
            return decode(data, batch_id), state
        return None

    def unfinished(self) -> Iterator[tuple[str, State]]:
        """Yield the batches that are not done."""
        if not self.directory.is_dir():
            return
        for path in sorted(self.directory.iterdir()):
            if path.suffix[1:] in _UNFINISHED:
                yield path.stem, State(path.suffix[1:])

    def written_ns(self, batch_id: str) -> int:
        """Return when a finished record was written, in the file system's own time."""
        return self._path(batch_id, State.DONE).stat().st_mtime_ns

    def batches(self) -> frozenset[str]:
        """Return the ids of all batches that are kept."""
        if not self.directory.is_dir():
            return frozenset()
        return frozenset(path.stem for path in self.directory.iterdir())

    def n_done(self) -> int:
        """Return how many finished batches are kept."""
        return sum(1 for _ in self._done())

    def size_bytes(self) -> int:
        """Return how much disk space the records use."""
        return sum(size for _, size, _ in self._done())

    def trim(self, most_bytes: int) -> int:
        """Remove the oldest finished records until the rest fits the limit; return how many were removed."""
        found = sorted(self._done(), reverse=True)
        total = removed = 0
        for _, size, path in found:
            total += size
            if total > most_bytes:
                path.unlink(missing_ok=True)
                removed += 1
        return removed

    def _done(self) -> Iterator[tuple[int, int, Path]]:
        if not self.directory.is_dir():
            return
        for path in self.directory.iterdir():
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            if path.suffix == f".{State.DONE.value}":
                yield status.st_mtime_ns, status.st_size, path

    def _path(self, batch_id: str, state: State) -> Path:
        return self.directory / f"{batch_id}.{state.value}"

    def _sync(self) -> None:
        descriptor = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


_UNFINISHED: Final = frozenset({State.STAGING.value, State.PENDING.value, State.ABORTING.value})


def encode(record: Record) -> bytes:
    """Return a record as bytes."""
    contents: list[bytes] = []
    places: dict[str, tuple[int, int]] = {}
    n_bytes = 0

    def described(image: FileImage | None) -> dict[str, Any] | None:
        nonlocal n_bytes
        if image is None:
            return None
        if image.sha256 not in places:
            packed = zlib.compress(image.data, _LEVEL)
            places[image.sha256] = (n_bytes, len(packed))
            contents.append(packed)
            n_bytes += len(packed)
        return {
            "sha256": image.sha256,
            "at": places[image.sha256],
            "mode": image.mode,
            "is_link": image.is_link,
            "owner": image.owner,
            "attributes": [[name, value.hex()] for name, value in image.attributes],
        }

    head = {
        "worktree": record.worktree,
        "undoes": record.undoes,
        "directories": [path.text for path in record.directories],
        "changes": [
            {"path": one.path.text, "before": described(one.before), "after": described(one.after)}
            for one in record.changes
        ],
        "git": encode_span(record.git) if record.git is not None else None,
    }
    text = json.dumps(head, sort_keys=True).encode()
    data = b"".join([_MAGIC, len(text).to_bytes(_LENGTH_BYTES), text, *contents])
    return data + hashlib.sha256(data).digest()


def decode(data: bytes, batch_id: str) -> Record:
    """Return a record from its bytes.

    Raises:
        CodePlaneError: STORE_CORRUPT when they are not a record.
    """
    body, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    if not body.startswith(_MAGIC) or hashlib.sha256(body).digest() != digest:
        raise CodePlaneError("STORE_CORRUPT", f"The record of {batch_id} is damaged.")
    start = len(_MAGIC) + _LENGTH_BYTES
    end = start + int.from_bytes(body[len(_MAGIC) : start])
    head = json.loads(body[start:end])
    contents = memoryview(body)[end:]

    def image(found: dict[str, Any] | None) -> FileImage | None:
        if found is None:
            return None
        offset, length = found["at"]
        return FileImage(
            data=zlib.decompress(contents[offset : offset + length]),
            mode=found["mode"],
            is_link=found["is_link"],
            owner=tuple(found["owner"]) if found["owner"] is not None else None,
            attributes=tuple((name, bytes.fromhex(value)) for name, value in found["attributes"]),
        )

    return Record(
        batch_id,
        head["worktree"],
        tuple(
            Change(RepoPath.known(one["path"]), image(one["before"]), image(one["after"])) for one in head["changes"]
        ),
        tuple(RepoPath.known(text) for text in head["directories"]),
        tuple(head["undoes"]),
        decode_span(head["git"]) if head.get("git") is not None else None,
    )
