"""Who serves this working tree: the lock, and the small file in which the server says where it is."""

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from codeplane.workspace.places import Places


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a running server tells other processes."""

    pid: int
    port: int
    started_ms: int
    version: str
    mode: str
    repo_id: str
    secret: str = field(default="", repr=False)

    @property
    def url(self) -> str:
        """Return the server's address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def mcp_url(self) -> str:
        """Return the URL for MCP clients; the access secret in it lets them in on every operating system."""
        return f"{self.url}/s/{self.secret}/mcp"


def try_server_lock(places: Places) -> FileLock | None:
    """Take the server role of this tree; None when another process has it.

    The operating system drops the lock when its holder dies, so a dead process does not block the role.
    """
    lock = FileLock(places.server_lock, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock


def write_facts(places: Places, facts: ServerFacts) -> None:
    """Publish the server's address: first the facts, then the port file that clients look for."""
    _replace(places.server_facts, json.dumps(asdict(facts)) + "\n")
    _replace(places.url_file, f"{facts.mcp_url}\n")
    _replace(places.port_file, f"{facts.port}\n")


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    # The access secret is in two of these files.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(path)


def remove_facts(places: Places) -> None:
    """Remove the address files; a file that cannot be removed does not keep the server role."""
    for path in (places.port_file, places.url_file, places.server_facts, places.socket_link, places.socket):
        with suppress(OSError):
            path.unlink()


def is_served(places: Places) -> bool:
    """Tell whether some process has the server role, also while it has not said yet (or no longer says) who it is."""
    if not places.server_lock.exists():
        return False
    lock = try_server_lock(places)
    if lock is not None:
        lock.release()
    return lock is None


def running_server(places: Places) -> ServerFacts | None:
    """Return the facts of the server that runs now, or None; files of a dead one do not count."""
    return read_facts(places) if is_served(places) else None


def read_facts(places: Places) -> ServerFacts | None:
    """Return what the server wrote about itself, or None when it has not (yet)."""
    try:
        return ServerFacts(**json.loads(places.server_facts.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
