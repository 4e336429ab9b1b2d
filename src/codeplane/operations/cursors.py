"""Opaque cursors: where an answer was cut, bound to the operation that made it."""

import base64
import binascii
import json
from typing import Any

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text

# Fifty targets with the longest paths there are.
_MAX_LENGTH = 400_000


def make_cursor(operation: str, state: dict[str, Any]) -> str:
    """Return a cursor for this state."""
    text = json.dumps([operation, state], separators=(",", ":"), ensure_ascii=False)
    body = base64.urlsafe_b64encode(text.encode("utf-8")).decode("ascii").rstrip("=")
    return f"{sha256_text(text)[:8]}{body}"


def read_cursor(operation: str, cursor: str) -> dict[str, Any]:
    """Return the state of a cursor.

    Raises:
        CodePlaneError: CURSOR_INVALID when it is not one of this operation's.
    """
    try:
        if len(cursor) > _MAX_LENGTH:
            raise ValueError(cursor)  # noqa: TRY301 - one place says what is wrong with every bad cursor.
        body = cursor[8:]
        text = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode("utf-8")
        made_by, state = json.loads(text)
        if sha256_text(text)[:8] != cursor[:8] or made_by != operation or not isinstance(state, dict):
            raise ValueError(cursor)  # noqa: TRY301 - as above.
    except (ValueError, TypeError, RecursionError, binascii.Error) as error:
        raise CodePlaneError("CURSOR_INVALID", f"The cursor was not made by {operation}.") from error
    return state
