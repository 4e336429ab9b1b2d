"""`write_scratch_file`: notes and payloads outside the tree."""

from collections.abc import Mapping
from typing import Any, Final

from codeplane.controller.codes import Code
from codeplane.controller.scope import is_repo_path
from codeplane.controller.scratch import write_scratch
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import Reply, Verb, denied

_MAX_BYTES: Final = 1_000_000


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    name = arguments["relativePath"]
    if not is_repo_path(name):
        raise denied(Code.SCOPE, "path_invalid", "relativePath leads out of the scratch area.", "/args/relativePath")
    data = arguments["content"].encode("utf-8", "surrogatepass")
    if len(data) > _MAX_BYTES:
        message = f"A scratch file has at most {_MAX_BYTES} bytes."
        raise denied(Code.MISSING_FIELDS, "arg_type", message, "/args/content")
    write_scratch(turn.files.scratch, name, data)
    return Reply({"ref": f"scratch:{name}", "bytes": len(data)})


VERB = Verb(
    "write_scratch_file",
    "Writes a file outside the tree.",
    "For notes and payloads.",
    _run,
    required={"relativePath": str, "content": str},
    may_be_blank=("content",),
)
