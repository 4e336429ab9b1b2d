"""Every test of a graph runs on both backends; on Neo4j where `make tools` has installed it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.store.graph.graph import Graph
from codeplane.store.graph.neo4j_graph import Neo4jAddress, Neo4jGraph
from codeplane.store.graph.sqlite_graph import SqliteGraph
from support.neo4j_server import Neo4jServer
from support.toolchains import NEO4J

BACKENDS = ["sqlite", *([pytest.param("neo4j", marks=pytest.mark.slow)] if NEO4J.is_there else [])]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" in metafunc.fixturenames:
        metafunc.parametrize("backend", BACKENDS)


@pytest.fixture(scope="session")
def neo4j_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neo4jServer]:
    server = Neo4jServer(tmp_path_factory.mktemp("neo4j") / "home")
    server.start()
    yield server
    server.kill()


@pytest.fixture
def neo4j_url(backend: str, request: pytest.FixtureRequest) -> str:
    """Return the address of the server; empty for SQLite, which starts none."""
    if backend == "sqlite":
        return ""
    server: Neo4jServer = request.getfixturevalue("neo4j_server")
    return server.url


@pytest.fixture
def graph(neo4j_url: str, tmp_path: Path) -> Iterator[Graph]:
    if neo4j_url:
        # A graph of its own in the same server.
        opened = Graph(Neo4jGraph(Neo4jAddress(neo4j_url, str(tmp_path))))
    else:
        opened = Graph(SqliteGraph(tmp_path / "graph.db"))
    yield opened
    opened.drop()
    opened.close()
