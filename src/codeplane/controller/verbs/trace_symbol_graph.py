"""`trace_symbol_graph`: what is connected with a symbol, a file or a query, with examples that friction taught."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from codeplane.controller.symbol_graph import DIRECTIONS, EDGE_TYPES, GraphQuery, trace
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import Reply, Verb, wrong_argument
from codeplane.index.facts.reader import FactReader
from codeplane.index.symbol_search import SymbolHit, SymbolScope, find_symbols, symbol_at
from codeplane.memory.anchors import contains, depth_of
from codeplane.memory.records import ENFORCED, MAX_FEW_SHOTS

_MAX_DEPTH: Final = 4
_MAX_NODES: Final = 500
_MAX_STARTS: Final = 20


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    query = _query(arguments)
    allowlist = turn.knowledge.allowlist
    with turn.workspace.index.facts() as reader:
        starts = _starts(turn, reader, arguments)
        graph = trace(reader, starts, query, lambda path: path in allowlist)
    nodes = list(graph.nodes.values())
    files = list(dict.fromkeys(one["file"] for one in nodes))
    result = {
        "nodes": nodes,
        "edges": list(graph.edges.values()),
        "fewShots": few_shots(turn, files),
        "truncated": graph.is_cut,
    }
    return Reply(result, frozenset(f"code:{one['file']}#{one['symbol']}" for one in nodes))


def _query(arguments: Mapping[str, Any]) -> GraphQuery:
    depth, limit = arguments.get("depth", 2), arguments.get("limit", 50)
    direction, kinds = arguments.get("direction", "both"), arguments.get("edgeTypes") or list(EDGE_TYPES)
    if not 1 <= depth <= _MAX_DEPTH:
        raise wrong_argument("depth", f"depth is from 1 to {_MAX_DEPTH}.")
    if not 1 <= limit <= _MAX_NODES:
        raise wrong_argument("limit", f"limit is from 1 to {_MAX_NODES}.")
    if direction not in DIRECTIONS:
        raise wrong_argument("direction", f"direction is one of {', '.join(DIRECTIONS)}.")
    if any(one not in EDGE_TYPES for one in kinds):
        raise wrong_argument("edgeTypes", f"edgeTypes are among {', '.join(EDGE_TYPES)}.")
    return GraphQuery(depth, direction, frozenset(kinds), limit)


def _starts(turn: TurnWork, reader: FactReader, arguments: Mapping[str, Any]) -> list[SymbolHit]:
    asked = arguments.get("symbol") or arguments.get("query")
    file = arguments.get("targetFile")
    if file:
        path = turn.scoped_file(file, "targetFile").text
        if not asked:
            return _top_of(reader, path)
        asked = f"{path}::{asked}"
    names = turn.workspace.index.symbol_names
    found = find_symbols(reader, str(asked), SymbolScope(), lambda: names(reader), parts_until=1)
    return found[:_MAX_STARTS]


def _top_of(reader: FactReader, path: str) -> list[SymbolHit]:
    """Return the definitions at the top of a file."""
    file = reader.file_at(path)
    if file is None or file.facts_id is None:
        return []
    n_rows = len(reader.outline(file.facts_id).definition_rows)
    hits = [symbol_at(reader, file.file_id, number) for number in range(n_rows)]
    return [one for one in hits if one is not None and "." not in one.lexical_path][:_MAX_STARTS]


def few_shots(turn: TurnWork, files: Iterable[str]) -> list[dict[str, Any]]:
    """Return the enforced examples whose anchor contains one of the files: deepest first, then newest, then id."""
    if not turn.workspace.settings.memory.friction.enable_few_shot_injection:
        return []
    asked = tuple(files)
    found: list[tuple[tuple[int, str, str], dict[str, Any]]] = []
    for one in turn.knowledge.memories.values():
        if one["enforcementType"] != "few_shot" or one["state"] not in ENFORCED or not one.get("fewShot"):
            continue
        anchors = [anchor for anchor in one["domainAnchorIds"] if any(contains(anchor, path) for path in asked)]
        if anchors:
            newest = "".join(chr(0x10FFFF - ord(letter)) for letter in one["createdAt"])
            order = (-max(map(depth_of, anchors)), newest, one["id"])
            found.append((order, {"memoryId": one["id"], **one["fewShot"]}))
    return [shot for _, shot in sorted(found, key=lambda pair: pair[0])[:MAX_FEW_SHOTS]]


VERB = Verb(
    "trace_symbol_graph",
    "Finds related symbols.",
    "To see what a change reaches.",
    _run,
    optional={
        "symbol": str,
        "targetFile": str,
        "query": str,
        "depth": int,
        "direction": str,
        "edgeTypes": list,
        "limit": int,
    },
    one_of=("symbol", "targetFile", "query"),
)
