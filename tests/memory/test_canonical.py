"""The hashes of the public system, vector by vector, so that its stores can be verified."""

import math
from typing import Any

import pytest

from codeplane.memory import legacy_chain
from codeplane.memory.canonical import canonical, hmac_sha256, sha256

ROW_1 = "f42a5f0b1d64de3291386d5119da0331827842792d49b965743d45008ce6f214"
ROW_2 = "f54e4bef3a6704353f3b4cdd77e6bc79cd21d816764a238b520e1c79810b33c8"
TS = "2026-01-15T12:00:00.000Z"
IN, OUT = sha256({"action": "test"}), sha256({"result": "ok"})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": {"d": [2, 1], "c": None}}, '{"a":{"c":null,"d":[2,1]},"b":1}'),
        (1.0, "1"),
        (1e21, "1e+21"),
        (10**21, "1e+21"),
        (2**53 + 1, "9007199254740992"),
        (0.000001, "0.000001"),
        (-0.0, "0"),
        ([math.nan, math.inf, -math.inf, 10**400], "[null,null,null,null]"),
        ("a\r\nb\rc\n", '"a\\nb\\nc\\n"'),
        ({"k\r\n": "v"}, '{"k\\r\\n":"v"}'),
        ("é\u2028\x1f\x7f", '"é\u2028\\u001f\x7f"'),
        ("\ud800x", '"\\ud800x"'),
        # A pair above the basic plane is smaller in UTF-16 than a character near its end.
        ({"\uffff": 1, "\U00010000": 2}, '{"\U00010000":2,"\uffff":1}'),
        ([True, False, None], "[true,false,null]"),
    ],
)
def test_values_are_written_as_ecmascript_does(value: Any, text: str) -> None:
    assert canonical(value) == text


def test_the_published_vectors_hold() -> None:
    assert sha256({"b": 1, "a": 2}) == "d3626ac30a87e6f7a6428233b3c68299976865fa5508e4267c5415c76af7a772"
    assert hmac_sha256(bytes(32), {"a": 1}) == "e0baad27ae5335a93e2979e6693e7630de7d66b4d5bfd687cdbf1f0018f79cb8"
    key = legacy_chain.cell_key(1, "fact", "  System  is initialized ")
    assert key == "03067815e9b706873417ed2c6ac87902177c3cfbb479f37288ffa7ab20085909"
    assert legacy_chain.row_hash(None, "demo_tool", IN, OUT, TS) == ROW_1
    assert legacy_chain.row_hash(ROW_1, "demo_tool", IN, OUT, TS) == ROW_2


def _rows() -> list[dict[str, Any]]:
    row = {"tool_name": "demo_tool", "input_hash": IN, "output_hash": OUT, "ts": TS}
    return [{**row, "id": 2, "prev_hash": ROW_1, "hash": ROW_2}, {**row, "id": 1, "prev_hash": None, "hash": ROW_1}]


@pytest.mark.parametrize("column", ["tool_name", "input_hash", "output_hash", "ts", "prev_hash", "hash"])
def test_a_change_inside_an_imported_chain_is_found(column: str) -> None:
    rows = _rows()
    assert legacy_chain.verify(rows) == legacy_chain.LegacyVerdict(True, (), 2)
    rows[1][column] = "0" * 64
    assert not legacy_chain.verify(rows).valid


@pytest.mark.parametrize("signature", ["z" * 64, "", None, 7, "e0" * 31])
def test_a_signature_that_is_not_hexadecimal_is_refused_and_does_not_crash(signature: Any) -> None:
    assert not legacy_chain.is_signed(bytes(32), {"a": 1}, signature)
    assert legacy_chain.is_signed(bytes(32), {"a": 1}, hmac_sha256(bytes(32), {"a": 1}))
