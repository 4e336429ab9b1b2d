"""`apply_code_patch`: carry out a change node on its file."""

from collections.abc import Mapping
from typing import Any

from codeplane.controller.attempts import attempting
from codeplane.controller.codes import Code
from codeplane.controller.execution import reserved_keys
from codeplane.controller.file_writes import check_drift, write_content
from codeplane.controller.patching import new_content
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import Reply, Verb, denied


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    node = turn.node(arguments["planNodeId"], "change")
    turn.scoped_path(arguments["targetFile"], "targetFile")
    if arguments["targetFile"] != node.target_file:
        message = f"The file of {node.node_id} is {node.target_file}."
        raise denied(Code.SCOPE, "outside_node", message, "/args/targetFile", node_id=node.node_id)
    with attempting(turn, node, reserved_keys(node)) as attempt:
        check_drift(turn, node)
        after = new_content(node, turn.knowledge.text(node.target_file), arguments["edits"])
        written = write_content(turn, attempt, node, after)
        attempt.result = {
            "planNodeId": node.node_id,
            "targetFile": node.target_file,
            "contentHash": attempt.content_hash,
            "diffSummary": attempt.files,
            "undo": written.get("mutation_id"),
            **attempt.refs(),
        }
    return Reply(attempt.result)


VERB = Verb(
    "apply_code_patch",
    "Patches the file of a change node.",
    "To carry out a change node.",
    _run,
    required={"planNodeId": str, "targetFile": str, "edits": list},
    is_mutation=True,
)
