"""What a context pack lacks, and the steps that would find it."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from codeplane.controller.codes import Code, Violation
from codeplane.controller.pack import EXECUTION_VERBS
from codeplane.controller.turn_work import TurnWork
from codeplane.index.symbol_search import Match, SymbolScope, find_symbols

# The calls that may resolve an anchor, by its type, with the argument that names it.
_ACTIONS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "symbol": (("lookup_symbol_definition", "symbol"), ("search_codebase_text", "pattern"), ("ask_human", "question")),
    "operation": (("fetch_api_spec", "specUrl"),),
    "ticket": (("fetch_jira_ticket", "ticketKey"),),
    "file": (("list_scoped_files", "prefix"),),
    "table": (("trace_symbol_graph", "query"),),
    "route": (("trace_symbol_graph", "query"),),
    "module": (("trace_symbol_graph", "query"),),
}
_STRATEGY_ANCHORS: Final = {
    "an operation": "operation",
    "a table": "table",
    "a source module": "module",
    "a target module": "module",
}
_LANES: Final = ("lexical", "symbol")


def insufficiency_of(turn: TurnWork, violations: Iterable[Violation]) -> dict[str, Any] | None:
    """Return what is missing when a plan was refused for its context pack; None for other refusals."""
    found = [one for one in violations if one.code in {Code.PACK, Code.ANCHOR}]
    if not found:
        return None
    anchors = [_missing(turn, one) for one in found if one.code is Code.ANCHOR]
    return {
        "reasons": [one.message for one in found],
        "missingAnchors": anchors,
        "escalationPlan": escalation_plan(anchors),
        "blockedCommands": list(EXECUTION_VERBS),
    }


def escalation_plan(anchors: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the calls that may find each missing anchor, in order."""
    return [
        {"action": action, "args": {name: anchor["anchorId"].rpartition("#")[2]}, "resolves": anchor["anchorId"]}
        for anchor in anchors
        for action, name in _ACTIONS[anchor["anchorType"]]
    ]


def _missing(turn: TurnWork, violation: Violation) -> dict[str, Any]:
    if violation.detail != "symbol_unresolved":
        kind = _STRATEGY_ANCHORS.get(str(violation.expected), "module")
        name = str(violation.expected).removeprefix("an ").removeprefix("a ")
        return {
            "anchorType": kind,
            "anchorId": name,
            "requiredBy": str(turn.record.knowledge.get("strategyId")),
            "whyRequired": violation.message,
            "attemptedSources": [],
            "confidence": 0,
        }
    symbol = str(violation.actual)
    attempted, n_near = _attempts(turn, symbol.rpartition("#")[2])
    return {
        "anchorType": "symbol",
        "anchorId": symbol,
        "requiredBy": violation.node_id,
        "whyRequired": violation.message,
        "attemptedSources": attempted,
        "confidence": 100 * n_near // len(_LANES),
    }


def _attempts(turn: TurnWork, symbol: str) -> tuple[list[dict[str, Any]], int]:
    """Look for a symbol in the lanes that could hold it; count the lanes with a near miss."""
    index = turn.workspace.index
    name = symbol.rpartition(".")[2]
    with index.facts() as reader:
        hits = find_symbols(reader, symbol, SymbolScope(), lambda: index.symbol_names(reader), parts_until=5)
        near = [hit for hit in hits if hit.name == name or hit.match is Match.TYPO]
    paths, _counts = index.files_with_any([name.lower()], 20)
    attempted = [
        {"lane": "lexical", "query": name.lower(), "hits": len(paths)},
        {"lane": "symbol", "query": symbol, "hits": len(hits)},
    ]
    return attempted, bool(paths) + bool(near)
