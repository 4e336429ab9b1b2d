"""Whom the server lets in over TCP: the user who owns it, and clients that know a secret."""

import os
import re
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any

from codeplane.surfaces.server.operator_token import bearer_of, is_same_secret

Address = tuple[str, int]
OWNER_STATE = "codeplane_is_owner"
COOKIE = "codeplane_access"
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ROOT = 0
_SECRET_PATH = re.compile(r"/s/([A-Za-z0-9_-]*)(/.*)?", re.DOTALL)


def owner_of(client: Address, server: Address, tables: tuple[Path, ...] = _TABLES) -> int | None:
    """Return the user id that owns the client's end of a connection; None where the system does not tell.

    Linux lists every socket with its owner. One without an inode was closed and is listed as user 0, so it tells
    nothing.
    """
    wanted = {(mine, theirs) for mine, theirs in zip(_spellings(client), _spellings(server), strict=True)}
    for columns in _rows(tables):
        if (columns[1], columns[2]) in wanted and columns[9] != "0":
            return int(columns[7])
    return None


def _rows(tables: tuple[Path, ...]) -> Iterator[list[str]]:
    for table in tables:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        yield from (columns for columns in map(str.split, lines) if len(columns) > 9)


def _spellings(address: Address) -> tuple[str, str]:
    """Return an IPv4 address and port as the kernel's IPv4 and IPv6 tables print them."""
    words = socket.inet_pton(socket.AF_INET, address[0])
    port = f":{address[1]:04X}"
    mapped = bytes(10) + b"\xff\xff" + words
    return _hex(words) + port, _hex(mapped) + port


def _hex(packed: bytes) -> str:
    # Words of four bytes, each printed as a number of this machine.
    return "".join(f"{int.from_bytes(packed[i : i + 4], sys.byteorder):08X}" for i in range(0, len(packed), 4))


@dataclass(frozen=True, slots=True)
class Access:
    """Decides who may send requests; `secrets` are asked for each time, `owner` and `find_owner` given by tests only.

    Invariant: a secret opens the door, it never says that its bearer is a person.
    """

    secrets: Callable[[], tuple[str, ...]]
    open_paths: frozenset[str]
    owner: int = field(default_factory=os.getuid)
    find_owner: Callable[[Address, Address], int | None] = owner_of

    def is_owners(self, client: Address | None, server: tuple[str, int | None] | None) -> bool:
        """Tell whether the operating system says that this connection belongs to the server's user."""
        if client is None or server is None or server[1] is None:
            return False
        return self.find_owner(client, (server[0], server[1])) == self.owner

    def is_strangers(self, client: Address | None, server: tuple[str, int | None] | None) -> bool:
        """Tell whether the system says that a connection belongs to another user; root may relay for anybody."""
        if client is None or server is None or server[1] is None:
            return False
        return self.find_owner(client, (server[0], server[1])) not in {None, self.owner, _ROOT}

    def admits(self, scope: Mapping[str, Any], headers: Mapping[bytes, str], path_secret: str) -> bool:
        """Tell whether a request comes from the owner or carries a secret."""
        if scope.get("state", {}).get(OWNER_STATE):
            return True
        given = (path_secret, bearer_of(headers.get(b"authorization")), _cookie_in(headers.get(b"cookie", "")))
        return any(is_same_secret(one, secret) for one in given for secret in self.secrets())


def _cookie_in(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def split_secret(path: str) -> tuple[str, str]:
    """Return the secret that a path begins with, or an empty text, and the path without it."""
    found = _SECRET_PATH.fullmatch(path)
    return (found[1], found[2] or "/") if found else ("", path)
