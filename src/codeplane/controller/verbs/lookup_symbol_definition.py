"""`lookup_symbol_definition`: where a symbol is defined."""

from collections.abc import Mapping
from typing import Any, Final

from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import Reply, Verb, wrong_argument

_DEFAULT: Final = 20
_MAX: Final = 100


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    limit = arguments.get("limit", _DEFAULT)
    if not 1 <= limit <= _MAX:
        raise wrong_argument("limit", f"limit is from 1 to {_MAX}.")
    scope: dict[str, Any] = {}
    if arguments.get("file"):
        scope["paths"] = [turn.scoped_file(arguments["file"], "file").text]
    if arguments.get("kind"):
        scope["kinds"] = [arguments["kind"]]
    found = turn.call("search", query=arguments["symbol"], mode="definitions", scope=scope, limit=limit)
    hits = [one for one in found["results"] if one["path"] in turn.knowledge.allowlist]
    definitions = [_definition(turn, one) for one in hits]
    sources = frozenset(f"code:{one['path']}#{one['symbol']['name']}" for one in hits)
    is_cut = found["pagination"].get("next_cursor") is not None
    return Reply({"definitions": definitions, "truncated": is_cut}, sources)


def _definition(turn: TurnWork, hit: Mapping[str, Any]) -> dict[str, Any]:
    symbol, text = hit["symbol"], turn.knowledge.text(hit["path"])
    container = symbol.get("container")
    return {
        "symbol": f"{container}.{symbol['name']}" if container else symbol["name"],
        "kind": symbol["kind"],
        "file": hit["path"],
        "startLine": hit["line"],
        "endLine": symbol.get("end_line") or hit["line"],
        "signature": symbol.get("signature") or "",
        "contentHash": text.content_hash if text is not None else None,
        "match": hit.get("matched") or hit["match_type"],
    }


VERB = Verb(
    "lookup_symbol_definition",
    "Finds definitions of a symbol.",
    "Before naming a target symbol.",
    _run,
    required={"symbol": str},
    optional={"kind": str, "file": str, "limit": int},
)
