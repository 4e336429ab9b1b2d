"""Cursors: short ids of where an answer was cut, bound to the operation that made them.

An agent reads every cursor and writes it back, so the state itself stays here: the workspace keeps it.
"""

import json
from typing import Any

from codeplane.core.errors import CodePlaneError
from codeplane.workspace.workspace import Workspace


def make_cursor(workspace: Workspace, operation: str, state: dict[str, Any]) -> str:
    """Return a cursor for this state."""
    return workspace.cursors.keep(json.dumps([operation, state], separators=(",", ":")))


def read_cursor(workspace: Workspace, operation: str, cursor: str) -> dict[str, Any]:
    """Return the state of a cursor.

    Raises:
        CodePlaneError: CURSOR_INVALID when it is not one of this operation's; CURSOR_EXPIRED when it is not kept.
    """
    if not workspace.cursors.is_id(cursor):
        raise CodePlaneError("CURSOR_INVALID", "This is not a cursor; copy it from the answer that was cut.")
    text = workspace.cursors.find(cursor)
    if text is None:
        message = f"The cursor {cursor} is not kept here: it is too old, or it is from another working tree."
        raise CodePlaneError("CURSOR_EXPIRED", message)
    try:
        made_by, state = json.loads(text)
        kept: dict[str, Any] = dict(state)
    except (ValueError, TypeError, RecursionError) as error:
        raise CodePlaneError("CURSOR_INVALID") from error
    if made_by != operation:
        raise CodePlaneError("CURSOR_INVALID", f"The cursor was made by {made_by}, not by {operation}.")
    return kept
