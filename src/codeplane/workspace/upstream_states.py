"""What the server tells of its upstreams: a small file each, which commands of people read.

They grant nothing: what is accepted is compared with what the upstream itself says.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from codeplane.core.hashing import sha256_text
from codeplane.workspace.places import Places


def write_state(places: Places, server: str, state: Mapping[str, Any]) -> None:
    """Replace what is told of an upstream; where that is not possible, less is told."""
    path = _path(places, server)
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        staged = path.with_suffix(".part")
        staged.write_text(json.dumps({**state, "pid": os.getpid()}), encoding="utf-8")
        staged.replace(path)


def read_state(places: Places, server: str) -> Mapping[str, Any]:
    """Return what was last told of an upstream, nothing when that cannot be read."""
    try:
        document = json.loads(_path(places, server).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(document, dict):
        return {}
    # What a server has told that is gone is how its upstreams were.
    return document if _is_alive(document.get("pid")) else {**document, "state": "ended with the server", "error": ""}


def _is_alive(pid: object) -> bool:
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _path(places: Places, server: str) -> Path:
    return places.upstreams / f"{sha256_text(server)[:16]}.json"
