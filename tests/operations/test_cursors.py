"""Cursors: short, bound to their operation, and whatever else is sent is refused."""

import base64
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.errors import CodePlaneError
from codeplane.operations import cursors
from codeplane.operations.cursors import make_cursor, read_cursor
from support.effort import examples

_VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=4))
_STATES = st.dictionaries(st.text(max_size=9), _VALUES, max_size=6)
_HISTORY = {
    "revision": "bab674bef81151afa208efd43790f253595da14e", "path": "pyproject.toml", "lines": None, "follow": True,
    "stats": True, "limit": 5, "skip": 5,
}  # fmt: skip


@given(state=_STATES)
@examples(200)
def test_a_cursor_gives_back_its_state_to_its_operation_only(state: dict[str, object]) -> None:
    cursor = make_cursor("search", state)
    assert read_cursor("search", cursor) == state
    assert cursor.isascii()
    with pytest.raises(CodePlaneError, match="not made by git_log"):
        read_cursor("git_log", cursor)


def test_what_both_sides_know_is_not_written_out() -> None:
    assert len(make_cursor("git_history", _HISTORY)) < 110


def _packed(data: bytes) -> str:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=cursors._USUAL)
    return base64.urlsafe_b64encode(packer.compress(data) + packer.flush()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "", "x", "0" * 8, "not a cursor", "0" * 1_000_000,
        make_cursor("search", {})[:-1], make_cursor("search", {})[1:],
        "f" * 8 + make_cursor("search", {"a": 1})[8:], "00000000" + _packed(b"[" * 5_000_000),
        "00000000" + _packed(b'["search",{}]'), "00000000" + _packed(b"\xff\xfe"), "\u00e4" * 40,
    ],
    ids=str.__len__,
)  # fmt: skip
def test_what_was_not_made_here_is_refused(cursor: str) -> None:
    with pytest.raises(CodePlaneError) as raised:
        read_cursor("search", cursor)
    assert raised.value.code == "CURSOR_INVALID"
