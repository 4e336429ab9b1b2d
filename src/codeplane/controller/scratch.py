"""The scratch area of a work: files that plans refer to as `scratch:<path>`."""

import os
import threading
from pathlib import Path
from typing import Final

from codeplane.controller.codes import Code
from codeplane.controller.scope import is_repo_path
from codeplane.controller.verb import FaultError, denied

_PREFIX: Final = "scratch:"
_MAX_BYTES: Final = 1_000_000


def write_scratch(area: Path, name: str, data: bytes) -> None:
    """Replace a scratch file, at once.

    Raises:
        DeniedError: PLAN_SCOPE_VIOLATION when a link leads out of the area.
        FaultError: it cannot be written.
    """
    path = _inside(area, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name[:100]}.{os.getpid()}-{threading.get_ident()}")
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError as error:
        raise FaultError("scratch_write_failed", f"{name[:200]}: {error.strerror or error}.") from error


def read_scratch(area: Path, reference: str) -> bytes:
    """Return a scratch file by its reference.

    Raises:
        DeniedError: PLAN_SCOPE_VIOLATION when the reference leads elsewhere.
        FaultError: it cannot be read.
    """
    name = reference.removeprefix(_PREFIX)
    if not reference.startswith(_PREFIX) or not is_repo_path(name):
        raise denied(Code.SCOPE, "payload_ref", f"{reference[:200]!r} is not a reference to a scratch file.")
    try:
        with _inside(area, name).open("rb") as file:
            return file.read(_MAX_BYTES)
    except OSError as error:
        message = f"The payload {reference[:200]} cannot be read. Write it with write_scratch_file."
        raise FaultError("payload_missing", message) from error


def _inside(area: Path, name: str) -> Path:
    path = area / name
    if not path.resolve().is_relative_to(area.resolve()):
        raise denied(Code.SCOPE, "path_outside", f"{name[:200]} leads out of the scratch area.")
    return path
