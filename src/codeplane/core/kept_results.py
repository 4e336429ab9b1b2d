"""The last results of one kind, kept in a private directory."""

import contextlib
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_VERSION: Final = 1


class KeptResults:
    """The last results of one kind, each in a file of its own, so that two calls at once lose none.

    They are only advice: a missing or damaged file is passed over.
    """

    def __init__(self, directory: Path, kind: str, most: int) -> None:
        self._directory = directory
        self._kind = kind
        self._most = most

    def add(self, at_ms: int, call_id: str, result: Mapping[str, Any]) -> None:
        """Keep a result, and drop the oldest ones beyond the limit.

        Raises:
            OSError: it cannot be written.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        target = self._directory / f"{self._kind}-{at_ms:015d}-{call_id}.json"
        write_json(target, {**result, "call_id": call_id, "at_ms": at_ms})
        for old in self._paths()[self._most :]:
            with contextlib.suppress(FileNotFoundError):
                old.unlink()

    def newest(self, limit: int) -> list[dict[str, Any]]:
        """Return the newest results, the last one first."""
        found: list[dict[str, Any]] = []
        for path in self._paths():
            document = read_json(path)
            if document is not None and len(found) < limit:
                found.append(document)
        return found

    def _paths(self) -> list[Path]:
        """Return the files, the newest first; of two from the same millisecond the one that was written later."""
        found = []
        for path in self._directory.glob(f"{self._kind}-*.json"):
            with contextlib.suppress(FileNotFoundError):
                found.append((path.name.split("-")[1], path.stat().st_mtime_ns, path))
        return [path for _, _, path in sorted(found, reverse=True)]


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Replace a file by a document, at once.

    Raises:
        OSError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    temporary.write_text(json.dumps({"version": _VERSION, **document}), encoding="utf-8")
    temporary.replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return a document that `write_json` wrote; None when there is none that can be read."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    is_known = isinstance(document, dict) and document.get("version") == _VERSION
    return document if is_known else None
