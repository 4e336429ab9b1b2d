"""Put the new content of a node's file in place, through the editor of the product."""

import codecs
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from codeplane.controller.attempts import Attempt
from codeplane.controller.codes import Code
from codeplane.controller.execution import find_drift
from codeplane.controller.interrupted import GONE
from codeplane.controller.patching import check_inside, new_syntax_errors, summary
from codeplane.controller.plan import Node
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import DeniedError, FaultError, denied
from codeplane.core.hashing import sha256_bytes


def check_drift(turn: TurnWork, node: Node) -> None:
    """Refuse a file that somebody else changed after the plan was accepted.

    Raises:
        DeniedError: EXEC_SIDE_EFFECT_COLLISION/content_drift.
    """
    text = turn.knowledge.text(node.target_file)
    if node.is_creation:
        if text is not None and turn.progress(node.node_id).content_hash != text.content_hash:
            message = f"{node.target_file} exists already."
            raise denied(Code.COLLISION, "content_drift", message, node_id=node.node_id)
        return
    if text is None:
        message = f"{node.target_file} is gone."
        raise denied(Code.COLLISION, "content_drift", message, node_id=node.node_id)
    found = find_drift(node, text.content_hash, turn.record.own_hash(node.target_file))
    if found is not None:
        raise DeniedError(found)


def check_untouched(turn: TurnWork, node: Node, paths: Iterable[str]) -> None:
    """Refuse an effect on files that somebody else changed after this run wrote them: nobody checked them as they are.

    Raises:
        DeniedError: EXEC_SIDE_EFFECT_COLLISION/content_drift.
    """
    for path in paths:
        text = turn.knowledge.text(path)
        found = text.content_hash if text is not None else None
        if found != turn.record.own_hash(path):
            message = f"{path} changed after this run wrote it. Read it again and submit a new plan."
            raise denied(Code.COLLISION, "content_drift", message, node_id=node.node_id, actual=found)


def write_content(turn: TurnWork, attempt: Attempt, node: Node, after: bytes | None) -> dict[str, Any]:
    """Write, create or delete the file of a node, and note what changed.

    Raises:
        DeniedError: the change leaves the node, or the gate refuses it.
        FaultError: the file no longer parses, or it cannot be written.
    """
    path, before = node.target_file, turn.knowledge.text(node.target_file)
    if after is None:
        _note_planned(turn, node, GONE)
        found = turn.call("write_source", edits=[{"path": path, "action": "delete"}])
    else:
        if before is not None:
            check_inside(node, before, after)
        errors = new_syntax_errors(path, before.data if before is not None else None, after)
        if errors:
            where = ", ".join(map(str, errors[:5]))
            raise FaultError("syntax_error", f"{path} would not parse at line {where}. Nothing was written.")
        _note_planned(turn, node, f"sha256:{sha256_bytes(after)}")
        found = turn.call("write_source", edits=[_edit(path, before.data if before is not None else None, after)])
    turn.knowledge.forget(path)
    written = turn.knowledge.text(path)
    hashes = (
        before.content_hash if before is not None else None,
        written.content_hash if written is not None else None,
    )
    if after is not None and hashes[1] != f"sha256:{sha256_bytes(after)}":
        attempt.log.append(f"{path}: the written bytes differ from the planned ones")
    attempt.content_hash = hashes[1]
    attempt.files.append(summary(path, before.data if before is not None else None, after, hashes))
    attempt.log.append(f"{path}: {hashes[0]} -> {hashes[1]}")
    return found


def _note_planned(turn: TurnWork, node: Node, planned_hash: str) -> None:
    """Keep what the file becomes, so that the next turn can tell whether it was written if this one is cut off."""
    progress = replace(turn.progress(node.node_id), planned_hash=planned_hash)
    turn.save(turn.record.with_node(node.node_id, progress))


def _edit(path: str, before: bytes | None, after: bytes) -> dict[str, Any]:
    # The editor keeps the byte order mark of a file by itself.
    mark = codecs.BOM_UTF8 if before is not None and before.startswith(codecs.BOM_UTF8) else b""
    try:
        content = after.removeprefix(mark).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FaultError("file_not_text", f"{path} is not UTF-8 text.") from error
    if before is None:
        return {"path": path, "action": "create", "content": content}
    return {"path": path, "action": "update", "content": content, "expected_file_sha256": sha256_bytes(before)}
