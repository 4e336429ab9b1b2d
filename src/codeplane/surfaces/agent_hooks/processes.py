"""Which agent a process belongs to, and whether it has started our server; where the system tells that in files."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

_MOST: Final = 32
# Agents start hooks and servers through these.
_BETWEEN: Final = frozenset(
    {"sh", "dash", "bash", "zsh", "fish", "ksh", "env", "timeout", "nice", "cpl", "python", "python3", "uv", "uvx"}
)


@dataclass(frozen=True, slots=True)
class Process:
    """A process; `mark` is its id with the time of its start, so that it is never taken for a later one."""

    pid: int
    parent: int
    name: str
    mark: str


def ancestors(pid: int) -> tuple[Process, ...]:
    """Return a process and those above it, the nearest first; none where the system does not tell."""
    found: list[Process] = []
    while pid > 1 and len(found) < _MOST:
        process = _read(pid)
        if process is None:
            break
        found.append(process)
        pid = process.parent
    return tuple(found)


def agent_process(pid: int) -> str:
    """Return the mark of the agent that started a process, an empty text where that is not known."""
    above = ancestors(pid)[1:]
    return next((one.mark for one in above if one.name not in _BETWEEN), "")


def has_our_server(mark: str) -> bool:
    """Tell whether our MCP server runs below a process; true where the system does not tell of processes at all."""
    pids = [int(one.name) for one in Path("/proc").glob("[0-9]*")]
    found = {one.pid: one for pid in pids if (one := _read(pid)) is not None}
    root = next((one for one in found.values() if one.mark == mark), None)
    if root is None:
        return True
    children: dict[int, list[int]] = {}
    for one in found.values():
        children.setdefault(one.parent, []).append(one.pid)
    waiting = [root.pid]
    while waiting:
        pid = waiting.pop()
        if _is_our_server(_words(pid)):
            return True
        waiting += children.get(pid, ())
    return False


def _is_our_server(words: Sequence[str]) -> bool:
    """Tell whether a program is our server, in the forms of `cpl connect` and of people: `cpl mcp`."""
    is_bridge = any(one.endswith("codeplane/surfaces/bridge.py") for one in words)
    return is_bridge or any(
        two == "mcp" and one.rpartition("/")[2] in {"cpl", "codeplane"} for one, two in pairwise(words)
    )


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return []


def _read(pid: int) -> Process | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        # The program's name is in brackets and may hold anything.
        head, _, rest = text.rpartition(")")
        columns = rest.split()
        name = head.partition("(")[2]
        return Process(pid, int(columns[1]), name.rstrip("0123456789."), f"{pid}:{columns[19]}")
    except (OSError, ValueError, IndexError):
        return None
