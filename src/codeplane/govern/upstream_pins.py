"""Which MCP servers of others a person has accepted, and what their tools looked like then.

Kept outside of the repository, beside the other decisions of people, and sealed with the key of the ledger.
"""

import hmac
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from filelock import FileLock

from codeplane.core.canonical_json import canonical_bytes, digest
from codeplane.core.errors import CodePlaneError

_VERSION: Final = 1
_LOCK_SECONDS: Final = 10.0

# A tool as its server describes it: name, description, inputSchema, outputSchema, annotations.
ToolDocument = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pin:
    """One accepted server: the digest of its settings, and its tools by their own names.

    `tools` is None until it has been reached for the first time: what it offers then is pinned.
    """

    settings: str
    tools: Mapping[str, ToolDocument] | None = None

    def is_pinned(self, tool: ToolDocument) -> bool:
        """Tell whether this very description and schema were pinned."""
        known = (self.tools or {}).get(str(tool["name"]))
        return known is not None and digest(dict(known)) == digest(dict(tool))


@dataclass(slots=True)
class PinStore:
    """One small file per repository.

    Invariant: it is replaced as a whole; one that cannot be read, or whose seal is wrong, means that nothing was
    accepted.
    """

    path: Path
    sign: Callable[[str], str]
    _read: tuple[tuple[int, ...], Mapping[str, Pin]] | None = field(default=None)

    def load(self) -> Mapping[str, Pin]:
        """Return the accepted servers by name."""
        stamp = self.stamp()
        if self._read is None or self._read[0] != stamp:
            self._read = (stamp, self._loaded())
        return self._read[1]

    def stamp(self) -> tuple[int, ...]:
        """Return what differs after a change of the file."""
        try:
            found = self.path.stat()
        except OSError:
            return ()
        return (found.st_ino, found.st_size, found.st_mtime_ns)

    def _loaded(self) -> Mapping[str, Pin]:
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
            sealed = str(document.pop("seal"))
            if document["version"] != _VERSION or not hmac.compare_digest(sealed, self._seal(document)):
                return {}
            return {str(name): Pin(str(one["settings"]), one["tools"]) for name, one in document["servers"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}

    def _seal(self, document: Mapping[str, Any]) -> str:
        return self.sign(canonical_bytes(document).decode())

    @contextmanager
    def changed(self) -> Iterator[dict[str, Pin]]:
        """Give out the accepted servers and keep what was made of them.

        Raises:
            CodePlaneError: PERMISSION_DENIED when the user state directory cannot be written.
        """
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(f"{self.path}.lock", timeout=_LOCK_SECONDS):
                pins = dict(self._loaded())
                yield pins
                self._save(pins)
        except OSError as error:
            message = f"What was accepted cannot be kept: {error.strerror or error}"
            raise CodePlaneError("PERMISSION_DENIED", message) from error

    def _save(self, pins: Mapping[str, Pin]) -> None:
        servers = {name: {"settings": pin.settings, "tools": pin.tools} for name, pin in pins.items()}
        document: dict[str, Any] = {"version": _VERSION, "servers": servers}
        document["seal"] = self._seal(document)
        descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=".upstreams-")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(self.path)
