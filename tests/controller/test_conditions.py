"""The condition language: what it means, and that no text makes it do anything else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.controller.conditions import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    ConditionError,
    ConditionTooCostlyError,
    holds,
    parse_condition,
)
from support.effort import examples

ROOT: dict[str, Any] = {
    "plan": {"workId": "w1", "size": 3, "flag": True, "off": False, "empty": [], "blank": "", "nothing": None},
    "nodes": [
        {"nodeId": "n1", "kind": "change", "targetFile": "apps/billing/a.py", "targetSymbols": ["f", "g"]},
        {"nodeId": "n2", "kind": "validate", "verificationHooks": [{"kind": "test"}, {"kind": "lint"}]},
    ],
    "signature": {"hasJira": False, "testConfidenceLevel": 2},
    "strategy": "debug_symptom_trace",
}
# A condition and what it says about the root above.
CASES = {
    "plan.flag": True,
    "plan.off": False,
    "plan.size": False,
    "plan.empty": False,
    "plan.blank": False,
    "plan.workId": True,
    "nodes": True,
    "nodes.change": False,
    "not plan.missing": True,
    'plan.workId == "w1"': True,
    'plan.workId != "w1"': False,
    'plan.missing != "w1"': True,
    "plan.missing == null": True,
    "plan.nothing == null": True,
    "plan.workId != null": True,
    "plan.workId == 3": False,
    "plan.workId != 3": False,
    "plan.flag == 1": False,
    "plan.flag == true": True,
    "plan.size >= 3": True,
    "plan.size < 3": False,
    "plan.missing < 3": False,
    "plan.missing >= 3": False,
    'plan.size < "9"': False,
    "plan.flag < 2": False,
    'plan.workId > "w0"': True,
    'strategy in ["debug_symptom_trace", "x"]': True,
    "plan.size in [1, [3], 2]": False,
    'plan.workId contains "1"': True,
    "plan.workId contains 1": False,
    'any(nodes where targetSymbols contains "g")': True,
    'any(nodes where targetSymbols == ["f", "g"])': True,
    'any(nodes where targetSymbols == ["f"])': False,
    'any(nodes.change where targetFile ~ "apps/billing/**")': True,
    'any(nodes.change where targetFile ~ "apps/*")': False,
    'any(nodes.validate where any(verificationHooks where kind == "test"))': True,
    'all(nodes.validate where all(verificationHooks where kind == "test"))': False,
    "any(nodes.escalate)": False,
    "all(nodes.escalate where plan.off)": True,
    "any(nodes.change)": True,
    "count(nodes) >= 2": True,
    "count(nodes.change where plan.flag) > 1": False,
    "count(plan.workId) <= 0": True,
    "all(plan.missing where plan.off)": True,
    "plan.off and plan.off or plan.flag": True,
    "plan.off and (plan.off or plan.flag)": False,
    "not plan.off and not plan.blank": True,
    "not (plan.flag and plan.workId)": False,
    "signature.testConfidenceLevel >= 2 and not signature.hasJira": True,
    "any(nodes where strategy)": True,
    "plan.size == -3": False,
    'plan.workId == "w\\u0031"': True,
}
NOT_CONDITIONS = [
    "", "   ", "(", ")", "plan.", ".plan", "plan ==", "== 3", "plan == plan.size", "plan.size = 3", "a b", "not",
    "not not a", "and", "a and", "or a", "any()", "any(nodes", "any nodes", "any(nodes.foo)", "any(nodes.change.x)",
    "count(nodes)", 'count(nodes) > "1"', "count(nodes) == 1", "count(nodes) > true", "a in 3", 'a in "abc"',
    "a in []", "a == [1,]", "a ~ 3", 'a ~ "[z-a]"', 'a == "unclosed', "a == 'single'", 'a == "\\x"', "a == 1.5",
    "a == 1e3", "true", "null == a", "where", "a; b", "__import__('os')", "a[0]", "a == {}", "f(x)", "a + 1 == 2",
    "lambda: 1", "a\x00b", "é == 1", "a == \u0661", "a == --1",
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_a_condition_means_what_the_contract_says(text: str, expected: bool) -> None:
    assert holds(parse_condition(text), ROOT) is expected


@pytest.mark.parametrize("text", NOT_CONDITIONS)
def test_a_text_that_is_not_a_condition_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(ConditionError, match=r"\.$"):
        parse_condition(text)


def test_an_element_hides_a_root_of_the_same_name() -> None:
    root = {"nodes": [{"kind": "change", "strategy": "own"}], "strategy": "root"}
    assert holds(parse_condition('any(nodes where strategy == "own")'), root)
    assert holds(parse_condition('strategy == "root"'), root)


def test_a_condition_that_is_too_long_or_too_deep_is_refused() -> None:
    parse_condition("a" * MAX_CHARACTERS)
    parse_condition("(" * MAX_DEPTH + "a" + ")" * MAX_DEPTH)
    for text in ("a" * (MAX_CHARACTERS + 1), "(" * 249 + "a" + ")" * 249, "a == " + "[" * 200 + "1" + "]" * 200):
        with pytest.raises(ConditionError):
            parse_condition(text)


def test_nested_quantifiers_over_a_large_plan_stop_after_a_bounded_number_of_steps() -> None:
    root = {"nodes": [{"kind": "change"}] * 1000}
    condition = parse_condition("all(nodes where all(nodes where all(nodes where all(nodes where kind))))")
    with pytest.raises(ConditionTooCostlyError):
        holds(condition, root)


_WORDS = ["any", "all", "count", "(", ")", "nodes", ".", "change", "where", "and", "or", "not", "plan", "size", "==",
          "~", "<", ">=", "in", "contains", "[", "]", ",", "3", '"a"', "true", "null", "kind", " "]  # fmt: skip


@examples(300)
@given(
    st.one_of(st.text(max_size=60), st.lists(st.sampled_from(_WORDS), max_size=25).map(" ".join)),
    st.recursive(st.none() | st.integers() | st.text() | st.booleans(), lambda one: st.lists(one, max_size=3)),
)
def test_every_text_is_refused_or_decided(text: str, value: Any) -> None:
    try:
        condition = parse_condition(text)
    except ConditionError:
        return
    assert holds(condition, {"nodes": value, "plan": {"size": value}}) in {True, False}
    assert parse_condition(text) == condition


@examples(100)
@given(st.text(max_size=20))
def test_every_string_can_be_written_and_compared(text: str) -> None:
    quoted = json.dumps(text)
    assert holds(parse_condition(f"value == {quoted}"), {"value": text})
