"""The settings say where the graph is."""

from pathlib import Path

from codeplane.store.graph.opening import GraphPlace, open_graph
from codeplane.store.graph.settings import GraphSettings, Neo4jSettings
from support.graphs import node


def test_the_graph_that_the_settings_name_is_opened(backend: str, tmp_path: Path, neo4j_url: str) -> None:
    settings = GraphSettings(Neo4jSettings(url=neo4j_url, user="me" if neo4j_url else ""))
    (tmp_path / "password").write_text("secret\n", encoding="utf-8")
    (tmp_path / "password").chmod(0o600)
    for name in ("one", "two"):
        graph = open_graph(settings, GraphPlace(tmp_path / f"{name}.db", f"{tmp_path}/{name}", tmp_path / "password"))
        assert graph.status().backend == backend
        # Graphs of other trees in the same server are not seen.
        assert graph.rows() == []
        graph.upsert([node(name)])
        assert [row.id for row in graph.rows()] == [name]
        graph.close()
