"""Reservations of files, symbols and effects while a node runs: leases in the ledger, seen by all processes.

A lease is a row that takes and a later row that releases. It ends by itself after 15 minutes, for owners that crashed.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from codeplane.controller.codes import Violation
from codeplane.controller.execution import Owner, find_collision
from codeplane.controller.turn_work import TurnWork
from codeplane.controller.verb import DeniedError
from codeplane.ledger.chain import NewEvent

TAKEN: Final = "reservation_taken"
RELEASED: Final = "reservation_released"
LEASE_MS: Final = 15 * 60 * 1000


@contextmanager
def reserved(turn: TurnWork, keys: frozenset[str], owner: Owner) -> Iterator[None]:
    """Hold keys for one attempt, all or none.

    Raises:
        DeniedError: EXEC_SIDE_EFFECT_COLLISION with the holder.
    """
    if not keys:
        yield
        return
    workspace = turn.workspace
    worktree, lease = workspace.repository.worktree_id, workspace.ids.new("lease")
    body = {
        "lease": lease,
        "keys": sorted(keys),
        "workId": owner.work_id,
        "runSessionId": owner.run_session_id,
        "planNodeId": owner.node_id,
    }
    collision: list[Violation] = []

    def take(connection: sqlite3.Connection, _key: Any) -> NewEvent | None:
        found = find_collision(keys, owner, held_keys(connection, worktree, workspace.clock.now_ms()))
        if found is not None:
            collision.append(found)
            return None
        return NewEvent(TAKEN, turn.context.session.label, body, turn.context.call_id, None, None, worktree)

    workspace.chain.append_after(take)
    if collision:
        raise DeniedError(*collision)
    try:
        yield
    finally:
        release = NewEvent(
            RELEASED, turn.context.session.label, {"lease": lease}, turn.context.call_id, None, None, worktree
        )
        workspace.chain.append(release)


def release_cut_off(turn: TurnWork) -> None:
    """Give up what attempts of this session hold that were cut off; the session makes one turn at a time."""
    workspace, session = turn.workspace, (turn.record.work_id, turn.record.run_id)
    worktree = workspace.repository.worktree_id
    workspace.chain.flush()
    with workspace.chain.database.read() as connection:
        leases = _leases(connection, worktree, workspace.clock.now_ms())
    for lease, body in leases.items():
        if (body["workId"], body["runSessionId"]) == session:
            event = NewEvent(
                RELEASED, turn.context.session.label, {"lease": lease}, turn.context.call_id, None, None, worktree
            )
            workspace.chain.append(event)


def held_keys(connection: sqlite3.Connection, worktree: str, now_ms: int) -> dict[str, Owner]:
    """Return what is reserved in a working tree, and by whom."""
    return {
        key: Owner(body["workId"], body["runSessionId"], body["planNodeId"])
        for body in _leases(connection, worktree, now_ms).values()
        for key in body["keys"]
    }


def _leases(connection: sqlite3.Connection, worktree: str, now_ms: int) -> dict[str, dict[str, Any]]:
    rows = connection.execute(
        "SELECT kind, body FROM events WHERE ts_ms >= ? AND worktree = ? AND kind IN (?, ?) ORDER BY seq",
        (now_ms - LEASE_MS, worktree, TAKEN, RELEASED),
    )
    leases: dict[str, dict[str, Any]] = {}
    for kind, text in rows:
        body = json.loads(text)
        if kind == TAKEN:
            leases[body["lease"]] = body
        else:
            leases.pop(body["lease"], None)
    return leases
