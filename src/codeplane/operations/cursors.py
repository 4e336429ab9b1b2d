"""Opaque cursors: where an answer was cut, bound to the operation that made it.

An agent reads every cursor and writes it back, so that its length is paid for twice: what stands in most of them is
known to both sides and not written out.
"""

import base64
import binascii
import json
import zlib
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text

# Fifty targets with the longest paths there are.
_MAX_LENGTH: Final = 400_000
_MAX_BYTES: Final = 4 * _MAX_LENGTH
# Pieces of states as they are written, the most frequent last; what is not among them is only a little longer.
_USUAL: Final = (
    b'["list_files",{"after":["["git_branch",{"after":["branch","["git_stash",{"oid":"["git_status",{"paths":[],"first":'
    b',"digest":"["map_repo",{"offset":,"epoch":,"include":["["read_source",{"rest":[["["git_inspect",{"action":"blame"'
    b',"ref":null,"path":","lines":null,"line":,"limit":,"stamp":[["git_diff",{"base":","target":","staged":false'
    b',"context":3,"file":0,"line":0,"digest":"["git_log",{"revisions":["],"limit":21,"skip":20,"paths":[],"author":"'
    b'["git_history",{"revision":"","path":"","lines":null,"follow":true,"stats":false,"limit":20,"skip":20}]'
    b'["search",{"epoch":1,"question":"","mode":"references","definitions","symbol","lexical","after":"","first":20}]'
    b".py.ts.go.rs.java.js.md/tests/test_src/"
)
_RAW: Final = -15


def make_cursor(operation: str, state: dict[str, Any]) -> str:
    """Return a cursor for this state."""
    text = json.dumps([operation, state], separators=(",", ":"), ensure_ascii=False)
    packer = zlib.compressobj(9, zlib.DEFLATED, _RAW, zdict=_USUAL)
    packed = packer.compress(text.encode("utf-8")) + packer.flush()
    return sha256_text(text)[:8] + base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def read_cursor(operation: str, cursor: str) -> dict[str, Any]:
    """Return the state of a cursor.

    Raises:
        CodePlaneError: CURSOR_INVALID when it is not one of this operation's.
    """
    try:
        text = _unpacked(cursor[8:])
        made_by, state = json.loads(text)
        if sha256_text(text)[:8] != cursor[:8] or made_by != operation or not isinstance(state, dict):
            raise ValueError(cursor)  # noqa: TRY301 - one place says what is wrong with every bad cursor.
    except (ValueError, TypeError, RecursionError, binascii.Error, zlib.error) as error:
        raise CodePlaneError("CURSOR_INVALID", f"The cursor was not made by {operation}.") from error
    return state


def _unpacked(body: str) -> str:
    if len(body) > _MAX_LENGTH:
        raise ValueError(body)
    unpacker = zlib.decompressobj(_RAW, zdict=_USUAL)
    data = unpacker.decompress(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)), _MAX_BYTES)
    if not unpacker.eof:
        raise ValueError(body)
    return data.decode("utf-8")
