"""Settings of the graph."""

from dataclasses import dataclass
from typing import Final

from codeplane.core.settings import nested, setting

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True, slots=True)
class Neo4jSettings:
    """A Neo4j server that keeps the graph instead of `.codeplane/graph/graph.db`."""

    url: str = setting("", doc="Address, such as `bolt://127.0.0.1:7687`; empty keeps the graph in SQLite.")
    user: str = setting(
        "neo4j", doc="User name; the password is in `neo4j.password` in the user state directory. Empty: no password."
    )
    database: str = setting("", doc="Database of the server; empty is its default.")
    allowed_hosts: tuple[str, ...] = setting(
        (), doc="Hosts beside this machine that may be contacted; only the user's own file may set it."
    )
    timeout_sec: int = setting(30, doc="How long one query may take.", minimum=1, maximum=600)


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """Where the graph is kept."""

    neo4j: Neo4jSettings = nested(Neo4jSettings, doc="A Neo4j server.")
