"""Which agent a process belongs to, told by the processes above it; where the system tells that in files."""

from dataclasses import dataclass
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
