"""Rows of graphs and seeds for tests."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from codeplane.store.graph.exchange import Synced, SyncRequest, sync
from codeplane.store.graph.graph import Graph
from codeplane.store.graph.model import Edge, Node, Row, Stamp, line_of
from codeplane.store.graph.seeds import SEED_FOLDER, read_seeds

STAMP = Stamp("fact", 1, "2025-01-31T12:00:00Z", "somebody")


def node(row_id: str, label: str = "Thing", version: int = 1, **props: Any) -> Node:
    return Node(row_id, label, props, Stamp(STAMP.type, version, STAMP.updated_at, STAMP.updated_by))


def edge(text: str, rel: str = "USES", row_id: str = "", version: int = 1, **props: Any) -> Edge:
    """Return the edge of `a>b`."""
    source, target = text.split(">")
    stamp = Stamp(STAMP.type, version, STAMP.updated_at, STAMP.updated_by)
    return Edge(row_id or f"{text}:{rel}", source, rel, target, props, stamp)


def policy(row_id: str, version: int = 1, **fields: Any) -> dict[str, Any]:
    head = {"id": row_id, "type": "policy", "version": version}
    return {**head, "updated_at": STAMP.updated_at, "updated_by": STAMP.updated_by, **fields}


def write_seeds(root: Path, files: Mapping[str, Iterable[Row | Mapping[str, Any] | str]]) -> None:
    """Write seed files; a text is a line as it is."""
    for name, rows in files.items():
        path = root / SEED_FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(_line(row) for row in rows), encoding="utf-8")


def _line(row: Row | Mapping[str, Any] | str) -> str:
    if isinstance(row, str):
        return row + "\n"
    return line_of(row) if isinstance(row, Node | Edge) else json.dumps(row) + "\n"


def synced(graph: Graph, root: Path, *, discards: bool = False) -> Synced:
    """Build the graph from the seeds below a folder."""
    return sync(graph, SyncRequest(read_seeds(root), "2025-02-01T00:00:00.000Z", root / "sync.lock", discards))
