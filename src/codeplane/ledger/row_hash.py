"""The bytes that a row's hash covers, built from the stored columns without parsing the body.

The hash of a row is the SHA-256 of the canonical JSON (RFC 8785) of its columns without `hash` and `seal`. The stored
body already is canonical JSON, so its text is inserted unchanged. Nothing else than the very same columns
gives the same bytes: read from the end, each column's name and value are the only ones that fit, because a quotation
mark inside a value is always escaped; so what is left over for the body is the body.
"""

import hashlib
from collections.abc import Callable
from json import encoder
from typing import Any

# The columns in the order in which canonical JSON has them.
HASHED_COLUMNS = (
    "body", "call_id", "kind", "operation", "prev_hash", "seq", "session", "session_seq", "task_id", "ts_ms",
    "worktree",
)  # fmt: skip
GENESIS = "0" * 64

_QUOTED: Callable[[str], str] = encoder.encode_basestring


def hashed_bytes(values: tuple[Any, ...]) -> bytes:
    """Return what is hashed, for values in the order of `HASHED_COLUMNS`.

    Raises:
        TypeError: a value is not of its column's type, as after an edit of the file.
        ValueError: a text cannot be written in UTF-8.
    """
    body, call_id, kind, operation, prev_hash, seq, session, session_seq, task_id, ts_ms, worktree = values
    # Without this a text in a column of numbers could pretend to be several columns.
    if not (type(body) is str and type(seq) is type(session_seq) is type(ts_ms) is int):
        raise TypeError("a column has another type")
    quoted = _QUOTED
    call = "null" if call_id is None else quoted(call_id)
    name = "null" if operation is None else quoted(operation)
    task = "null" if task_id is None else quoted(task_id)
    return (
        f'{{"body":{body},"call_id":{call},"kind":{quoted(kind)},"operation":{name},"prev_hash":{quoted(prev_hash)},'
        f'"seq":{seq},"session":{quoted(session)},"session_seq":{session_seq},"task_id":{task},"ts_ms":{ts_ms},'
        f'"worktree":{quoted(worktree)}}}'
    ).encode()


def row_hash(values: tuple[Any, ...]) -> str:
    """Return a row's hash, for values in the order of `HASHED_COLUMNS`; raises what `hashed_bytes` raises."""
    return hashlib.sha256(hashed_bytes(values)).hexdigest()
