"""Canonical JSON follows RFC 8785 and refuses what it cannot carry."""

import json
import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.canonical_json import canonical_bytes, canonical_text, digest, representable
from codeplane.core.errors import CodePlaneError

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
_VALUES = st.recursive(
    _SCALARS,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=4), children, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("bits", "expected"),
    [
        ("0000000000000000", "0"),
        ("8000000000000000", "0"),
        ("0000000000000001", "5e-324"),
        ("8000000000000001", "-5e-324"),
        ("7fefffffffffffff", "1.7976931348623157e+308"),
        ("ffefffffffffffff", "-1.7976931348623157e+308"),
        ("4340000000000000", "9007199254740992"),
        ("c340000000000000", "-9007199254740992"),
        ("4430000000000000", "295147905179352830000"),
        ("44b52d02c7e14af5", "9.999999999999997e+22"),
        ("44b52d02c7e14af6", "1e+23"),
        ("44b52d02c7e14af7", "1.0000000000000001e+23"),
        ("444b1ae4d6e2ef4e", "999999999999999700000"),
        ("444b1ae4d6e2ef4f", "999999999999999900000"),
        ("444b1ae4d6e2ef50", "1e+21"),
        ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
        ("3eb0c6f7a0b5ed8d", "0.000001"),
        ("41b3de4355555553", "333333333.3333332"),
        ("41b3de4355555554", "333333333.33333325"),
        ("41b3de4355555555", "333333333.3333333"),
        ("41b3de4355555556", "333333333.3333334"),
        ("41b3de4355555557", "333333333.33333343"),
        ("becbf647612f3696", "-0.0000033333333333333333"),
        ("43143ff3c1cb0959", "1424953923781206.2"),
    ],
)
def test_numbers_are_spelled_as_in_appendix_b(bits: str, expected: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_text(number) == expected


def test_keys_are_sorted_by_utf_16_units_as_in_section_3_2_3() -> None:
    value = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    assert list(json.loads(canonical_bytes(value)).values()) == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


def test_the_example_of_section_3_2_2_comes_out() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    assert canonical_text(value) == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (math.nan, "$"),
        ({"a": [1, math.inf]}, "$.a[1]"),
        ([2**53], "$[0]"),
        ({"n": -(2**53)}, "$.n"),
        ([10**5000], "$[0]"),
        ({"a": {1: "x"}}, "$.a"),
        ({"a": "\ud800"}, "$.a"),
        ({"\ud800": 1}, "$"),
        ({"a": {1, 2}}, "$.a"),
        ([b"bytes"], "$[0]"),
        (object(), "$"),
    ],
)
def test_what_json_cannot_carry_is_refused_with_its_place(value: Any, place: str) -> None:
    with pytest.raises(CodePlaneError) as caught:
        canonical_bytes(value)
    assert caught.value.code == "VALIDATION_ERROR"
    assert caught.value.details == {"place": place}


def test_nesting_without_end_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(CodePlaneError, match="nested too deeply"):
        canonical_bytes(endless)


def test_the_largest_exact_integers_are_accepted() -> None:
    assert canonical_text([2**53 - 1, -(2**53) + 1]) == "[9007199254740991,-9007199254740991]"


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": [True]}) == digest({"b": [True], "a": 1})
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@given(_VALUES)
def test_reading_the_canonical_form_back_gives_the_same_canonical_form(value: Any) -> None:
    once = canonical_bytes(value)
    # Integral floats above 2**53 come back as integers, which the form refuses: read every number as a float.
    assert canonical_bytes(json.loads(once, parse_int=float)) == once


def test_json_of_strangers_gets_a_form_that_can_be_written() -> None:
    given = {"big": 10**30, "exact": 2**53 - 1, "nan": float("nan"), "cut": ["\ud800", "ü"], "flag": True}
    digest(representable(given))
    assert representable(given)["exact"] == 2**53 - 1
    assert digest(representable({"id": 2**60})) != digest(representable({"id": 2**60 + 1}))
    assert representable(representable(given)) == representable(given)
