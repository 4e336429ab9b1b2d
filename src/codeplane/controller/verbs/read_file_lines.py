"""`read_file_lines`: lines of a file in scope, as evidence."""

from collections.abc import Mapping
from typing import Any, Final

from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import FaultError, Reply, Verb, wrong_argument

_DEFAULT_LINES: Final = 200
_MAX_LINES: Final = 400


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    path = turn.scoped_file(arguments["targetFile"], "targetFile")
    first = arguments.get("startLine", 1)
    last = arguments.get("endLine", first + _DEFAULT_LINES - 1)
    if first < 1 or last < first:
        raise wrong_argument("startLine", "startLine is at least 1 and not after endLine.")
    last = min(last, first + _MAX_LINES - 1)
    pieces = _pieces(turn, {"path": path.text, "start_line": first, "end_line": last})
    lines = [line for piece in pieces for line in _lines(piece["content"])]
    result = {
        "targetFile": path.text,
        "startLine": first,
        "endLine": first + len(lines) - 1,
        "lines": lines,
        "totalLines": pieces[0]["line_count"],
        "contentHash": f"sha256:{pieces[0]['file_sha256']}",
        "sourceKey": f"code:{path.text}",
    }
    return Reply(result, frozenset({f"code:{path.text}"}))


def _pieces(turn: TurnWork, target: dict[str, Any]) -> list[dict[str, Any]]:
    """Read all pages."""
    page = turn.call("read_source", targets=[target])
    pieces = list(page["files"])
    while page.get("cursor"):
        page = turn.call("read_source", cursor=page["cursor"])
        pieces += page["files"]
    if not pieces:
        problem = page["problems"][0]["message"] if page.get("problems") else "It cannot be read."
        raise FaultError("file_unreadable", problem)
    return pieces


def _lines(content: str) -> list[str]:
    lines = content.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


VERB = Verb(
    "read_file_lines",
    "Reads lines of a file.",
    "To collect code evidence.",
    _run,
    required={"targetFile": str},
    optional={"startLine": int, "endLine": int},
)
