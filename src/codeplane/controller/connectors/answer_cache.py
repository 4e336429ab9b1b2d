"""Answers kept on disk with their ETag; advice only: what is missing or damaged is fetched again."""

import contextlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from codeplane.core.hashing import sha256_bytes, sha256_text

_VERSION: Final = 1
_MAX_ENTRIES: Final = 100


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """A body with what is needed to ask whether it is still current."""

    body: bytes
    content_type: str
    etag: str
    last_modified: str
    stored_ms: int
    url: str


class AnswerCache:
    """Answers below one directory, each in a file of its own that is replaced at once."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def find(self, url: str, owner: str) -> KeptAnswer | None:
        """Return the answer that an address gave to this owner of a token."""
        path = self._path(url, owner)
        if path is None:
            return None
        try:
            head, _, body = path.read_bytes().partition(b"\n")
            fields = json.loads(head)
        except (OSError, ValueError):
            return None
        if not isinstance(fields, dict) or fields.pop("version", None) != _VERSION:
            return None
        if fields.pop("sha256", None) != sha256_bytes(body):
            return None
        try:
            return KeptAnswer(body, **fields)
        except TypeError:
            return None

    def keep(self, url: str, owner: str, answer: KeptAnswer) -> None:
        """Keep an answer and drop the oldest ones beyond the limit; a full disk only means no cache."""
        path = self._path(url, owner)
        if path is None:
            return
        head: dict[str, Any] = {
            "version": _VERSION,
            "sha256": sha256_bytes(answer.body),
            "content_type": answer.content_type,
            "etag": answer.etag,
            "last_modified": answer.last_modified,
            "stored_ms": answer.stored_ms,
            "url": answer.url,
        }
        with contextlib.suppress(OSError):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(path, json.dumps(head).encode("ascii") + b"\n" + answer.body)
            self._drop_oldest(path.parent)

    def _path(self, url: str, owner: str) -> Path | None:
        return None if self._directory is None else self._directory / f"{sha256_text(f'{owner} {url}')[:40]}.answer"

    def _drop_oldest(self, directory: Path) -> None:
        found = []
        for path in directory.glob("*.answer"):
            with contextlib.suppress(FileNotFoundError):
                found.append((path.stat().st_mtime_ns, path))
        for _, path in sorted(found, reverse=True)[_MAX_ENTRIES:]:
            path.unlink(missing_ok=True)


def _replace(path: Path, data: bytes) -> None:
    # mkstemp makes a file that only its owner can read.
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
