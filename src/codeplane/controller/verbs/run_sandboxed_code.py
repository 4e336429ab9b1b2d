"""`run_sandboxed_code`: a program without files and network, to compute something for a node."""

from collections.abc import Mapping
from typing import Any

from codeplane.controller.attempts import attempting
from codeplane.controller.sandboxed import read_program, run_program
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import Reply, Verb


def _run(turn: TurnWork, arguments: Mapping[str, Any]) -> Reply:
    node = turn.node(arguments["planNodeId"], "change", "validate", "escalate", "side_effect")
    program = read_program(arguments)
    with attempting(turn, node, frozenset()) as attempt:
        # A program only computes: the node itself is carried out by another verb.
        attempt.is_finished = turn.progress(node.node_id).state == "finished"
        value = run_program(program)
        attempt.result = {"planNodeId": node.node_id, "returned": value, **attempt.refs()}
    return Reply(attempt.result)


VERB = Verb(
    "run_sandboxed_code",
    "Runs the body of main(inputs) in Python, without files and network.",
    "To compute something.",
    _run,
    required={"planNodeId": str, "code": str},
    optional={"declaredInputs": object, "timeoutMs": int, "memoryMb": int, "expectedReturn": dict},
    is_mutation=True,
)
