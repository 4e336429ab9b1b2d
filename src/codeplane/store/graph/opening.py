"""Open the graph that the settings name."""

import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from codeplane.core.errors import CodePlaneError
from codeplane.store.graph.graph import Graph
from codeplane.store.graph.settings import LOOPBACK, GraphSettings, Neo4jSettings
from codeplane.store.graph.sqlite_graph import SqliteGraph

# Not `neo4j://`: its server may send the driver on to other hosts.
_SCHEMES = ("bolt", "bolt+s")


@dataclass(frozen=True, slots=True)
class GraphPlace:
    """Where a working tree's graph is: its file, or its name in a server and the file with the password.

    `hosts_are_users` says that `allowed_hosts` was set in the user's own file, and not in one that came with the
    repository.
    """

    file: Path
    name: str
    password_file: Path
    hosts_are_users: bool = False


def open_graph(settings: GraphSettings, place: GraphPlace) -> Graph:
    """Open the graph.

    Raises:
        CodePlaneError: CONFIG_INVALID, or the file cannot be opened.
    """
    if not settings.neo4j.url:
        return Graph(SqliteGraph(place.file))
    neo4j_host(settings.neo4j, hosts_are_users=place.hosts_are_users)
    # 10 ms that only users of Neo4j need.
    from codeplane.store.graph.neo4j_graph import Neo4jAddress, Neo4jGraph  # noqa: PLC0415

    chosen = settings.neo4j
    password = _password(place.password_file) if chosen.user else ""
    address = Neo4jAddress(chosen.url, place.name, chosen.user, password, chosen.database, float(chosen.timeout_sec))
    return Graph(Neo4jGraph(address))


def neo4j_host(settings: Neo4jSettings, *, hosts_are_users: bool) -> str:
    """Return the host of the server; empty without one.

    Raises:
        CodePlaneError: CONFIG_INVALID when it may not be contacted.
    """
    if not settings.url:
        return ""
    try:
        parts = urlsplit(settings.url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        parts, host, port = urlsplit(""), "", None
    if parts.scheme not in _SCHEMES or not host or port == 0 or parts.username or parts.query or parts.path.strip("/"):
        message = "graph.neo4j.url is not an address such as bolt://127.0.0.1:7687."
        raise CodePlaneError("CONFIG_INVALID", message)
    if host not in LOOPBACK and not (hosts_are_users and host in settings.allowed_hosts):
        message = f"graph.neo4j.url leads to {host}, which is another machine."
        hint = "A person can name it in graph.neo4j.allowed_hosts of the user's own config.yaml."
        raise CodePlaneError("CONFIG_INVALID", message, hint=hint)
    return host


def _password(path: Path) -> str:
    hint = f"Put the password into {path} (mode 600), or set graph.neo4j.user to an empty text."
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise CodePlaneError("CONFIG_INVALID", f"Others can read {path}.", hint=f"Run chmod 600 {path}.")
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CodePlaneError("CONFIG_INVALID", "The password of Neo4j cannot be read.", hint=hint) from error
