"""`search_codebase_text`: lines in scope that hold a text or match a pattern."""

from collections.abc import Mapping
from typing import Any, Final

from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import Reply, Verb, wrong_argument

_DEFAULT: Final = 100
_MAX: Final = 1_000
_PAGE: Final = 100


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    limit = arguments.get("limit", _DEFAULT)
    if not 1 <= limit <= _MAX:
        raise wrong_argument("limit", f"limit is from 1 to {_MAX}.")
    asked: dict[str, Any] = {
        "query": arguments["pattern"],
        "regex": arguments.get("regex", False),
        "ignore_case": arguments.get("ignoreCase", False),
        "scope": {"paths": [arguments["glob"]]} if arguments.get("glob") else {},
    }
    hits, is_cut = _hits(turn, asked, limit)
    matches = [{"file": one["path"], "line": one["line"], "text": one.get("snippet") or ""} for one in hits]
    result = {"matches": matches, "truncated": is_cut, "filesSearched": len(turn.knowledge.allowlist)}
    return Reply(result, frozenset(f"code:{one['file']}" for one in matches))


def _hits(turn: TurnWork, asked: dict[str, Any], limit: int) -> tuple[list[dict[str, Any]], bool]:
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = turn.call("search", **asked, limit=min(_PAGE, limit), cursor=cursor)
        found += [one for one in page["results"] if one["path"] in turn.knowledge.allowlist]
        cursor = page["pagination"].get("next_cursor")
        if cursor is None or len(found) >= limit:
            return found[:limit], cursor is not None or len(found) > limit


VERB = Verb(
    "search_codebase_text",
    "Searches text in scope.",
    "You know a word, not a symbol.",
    _run,
    required={"pattern": str},
    optional={"regex": bool, "ignoreCase": bool, "glob": str, "limit": int},
)
