"""What a side_effect node can do, one row per type: the paths it names and the operation that does it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from codeplane.controller.codes import Code
from codeplane.controller.plan import Node
from codeplane.controller.scope import is_repo_path
from codeplane.controller.scratch import write_scratch
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import FaultError, denied


@dataclass(frozen=True, slots=True)
class Effect:
    """A payload that was read: the files that it is about, and what is done."""

    paths: tuple[str, ...]
    run: Callable[[TurnWork], dict[str, Any]]


def effect_of(turn: TurnWork, node: Node, payload: bytes) -> Effect:
    """Return what a node would do with its payload.

    Raises:
        DeniedError: the payload does not fit the type, or names files outside of the plan.
    """
    return EFFECTS[node.document["sideEffectType"]](turn, node, payload)


def _stage(turn: TurnWork, node: Node, payload: bytes) -> Effect:
    paths = _paths(turn, node, _document(node, payload).get("paths"))
    return Effect(paths, lambda one: one.call("git_stage", paths=list(paths)))


def _commit(turn: TurnWork, node: Node, payload: bytes) -> Effect:
    """Commit the files that the plan changed, and nothing else; the payload is the message, or JSON with it."""
    text = payload.decode("utf-8", "replace").strip()
    document = _document(node, payload) if text.startswith("{") else {"message": text}
    message = document.get("message")
    if not isinstance(message, str) or not message.strip():
        raise _bad(node, "The payload of git_commit is the message of the commit.")
    paths = _paths(turn, node, document.get("paths"))
    if not paths:
        raise _bad(node, "No finished change node comes before this commit.")

    def commit(one: TurnWork) -> dict[str, Any]:
        # Staging first makes new files known; the commit takes these paths only, whatever else is staged.
        # A deleted file is known as long as its deletion is not staged.
        there = [path for path in paths if one.knowledge.text(path) is not None]
        if there:
            one.call("git_stage", paths=there)
        return one.call("git_commit", paths=list(paths), message=message)

    return Effect(paths, commit)


def _branch(_turn: TurnWork, node: Node, payload: bytes) -> Effect:
    document = _document(node, payload)
    name, ref = document.get("name"), document.get("ref")
    if not isinstance(name, str) or (ref is not None and not isinstance(ref, str)):
        raise _bad(node, 'The payload of git_branch is {"name": …, "ref": …}.')
    return Effect((), lambda one: one.call("git_branch", action="create", name=name, ref=ref))


def _export(turn: TurnWork, node: Node, payload: bytes) -> Effect:
    document = _document(node, payload)
    name, content = document.get("relativePath"), document.get("content")
    if not isinstance(name, str) or not is_repo_path(name) or not isinstance(content, str):
        raise _bad(node, 'The payload of write_export is {"relativePath": …, "content": …}.')
    place = turn.workspace.places.private / "graph" / "out"

    def write(_turn: TurnWork) -> dict[str, Any]:
        place.mkdir(parents=True, exist_ok=True)
        write_scratch(place, name, content.encode("utf-8", "surrogatepass"))
        return {"written": f".codeplane/graph/out/{name}", "bytes": len(content.encode("utf-8", "surrogatepass"))}

    return Effect((), write)


EFFECTS: Final[Mapping[str, Callable[[TurnWork, Node, bytes], Effect]]] = {
    "git_stage": _stage,
    "git_commit": _commit,
    "git_branch": _branch,
    "write_export": _export,
}


def _paths(turn: TurnWork, node: Node, asked: Any) -> tuple[str, ...]:
    """Return the files of a payload: those that finished change nodes before this one changed, or some of them."""
    plan = turn.plan
    changed = tuple(
        dict.fromkeys(
            other.target_file
            for other in (plan.of_kind("change") if plan is not None else ())
            if plan is not None and plan.is_after(node, other) and turn.progress(other.node_id).state == "finished"
        )
    )
    if asked is None:
        return changed
    if not isinstance(asked, list) or any(not isinstance(one, str) for one in asked):
        raise _bad(node, "paths is a list of files.")
    outside = [one for one in asked if one not in changed]
    if outside:
        message = f"{outside[0][:200]} was not changed by a node before {node.node_id}."
        raise denied(Code.SCOPE, "outside_node", message, node_id=node.node_id)
    return tuple(dict.fromkeys(asked))


def _document(node: Node, payload: bytes) -> dict[str, Any]:
    try:
        document = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise _bad(node, "The payload is not JSON.") from error
    if not isinstance(document, dict):
        raise _bad(node, "The payload is not a JSON object.")
    return document


def _bad(node: Node, message: str) -> FaultError:
    return FaultError("payload_invalid", f"{node.document['sideEffectPayloadRef']}: {message}", is_retryable=True)
