"""What tools of upstreams are called: `server__tool`, in the letters and the length that every agent accepts.

The same name is used in policies, in the ledger and for a call that an agent's hook tells of.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from codeplane.core.hashing import sha256_text

MAX_NAME: Final = 64
SEPARATOR: Final = "__"
# Agents call our own server so; an upstream of that name could pass for it.
OWN_SERVER: Final = "codeplane"
# The methods of a server that are operations too; none of them is a tool.
RESOURCES: Final = "resources/read"
PROMPTS: Final = "prompts/get"
_MAX_SERVER: Final = 32
_DIGITS: Final = 8
_FOREIGN_CHARACTERS: Final = re.compile(r"[^A-Za-z0-9_-]")


def server_names(servers: Iterable[str]) -> dict[str, str]:
    """Return the first part of the names of each server's tools.

    Invariant: none holds the separator or ends in `_`, so a tool's name tells its server; no two are equal.
    """
    return _unique({server: _server(server) for server in servers}, _MAX_SERVER)


def tool_names(server_name: str, tools: Iterable[str]) -> dict[str, str]:
    """Return the name under which each tool of a server is offered; no two are equal, whatever their order."""
    room = MAX_NAME - len(server_name) - len(SEPARATOR)
    found = _unique({tool: _FOREIGN_CHARACTERS.sub("_", tool) or "_" for tool in tools}, room)
    return {tool: f"{server_name}{SEPARATOR}{name}" for tool, name in found.items()}


def _server(server: str) -> str:
    cleaned = re.sub("__+", "_", _FOREIGN_CHARACTERS.sub("_", server)).rstrip("_")
    return f"{cleaned}-upstream" if cleaned in {"", OWN_SERVER} else cleaned


def _unique(cleaned: Mapping[str, str], room: int) -> dict[str, str]:
    """Mark every name that was cut or that several would have; one that needed no cleaning keeps its own."""
    shared: dict[str, list[str]] = {}
    for raw, name in cleaned.items():
        shared.setdefault(name, []).append(raw)
    found: dict[str, str] = {}
    for name, raws in shared.items():
        for raw in raws:
            is_own = raw == name and len(name) <= room
            is_plain = len(raws) == 1 and len(name) <= room
            found[raw] = name if is_own or is_plain else _marked(raw, name, room)
    return _without_chance_collisions(found, room)


def _marked(raw: str, name: str, room: int, n_digits: int = _DIGITS) -> str:
    mark = sha256_text(raw)[:n_digits]
    return f"{name[: room - n_digits - 1]}-{mark}"


def _without_chance_collisions(found: Mapping[str, str], room: int) -> dict[str, str]:
    """Give a longer mark where a tool is really called what another one's mark makes of it."""
    taken: dict[str, str] = {}
    for raw in sorted(found, key=lambda one: (one != found[one], one)):
        name, n_digits = found[raw], _DIGITS
        while name in taken.values():
            n_digits += 4
            name = _marked(raw, found[raw], room, n_digits)
        taken[raw] = name
    return {raw: taken[raw] for raw in found}
