"""`list_directory_contents`: the entries of one directory."""

from collections.abc import Mapping
from typing import Any, Final

from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import Reply, Verb

_MAX: Final = 1_000


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    path = turn.scoped_path(arguments["targetDir"], "targetDir")
    found = turn.call("list_files", path=path.text, depth=1, limit=_MAX)
    entries = [
        {"name": one["path"].rpartition("/")[2], "type": one["kind"], "size": one.get("size")}
        for one in found["entries"]
    ]
    entries.sort(key=lambda one: (one["type"] != "directory", one["name"]))
    is_cut = found["pagination"].get("next_cursor") is not None
    return Reply({"entries": entries, "truncated": is_cut, "leftOut": found["left_out_count"]})


VERB = Verb("list_directory_contents", "Lists a directory.", "To look around.", _run, required={"targetDir": str})
