"""Entries come into settings of other programs and go again, and no other byte changes."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codeplane.core.errors import CodePlaneError
from codeplane.core.json_edits import parse_json, with_item, with_member, without

ENTRY = {"type": "command", "command": "x", "args": ["a", "b"]}
TEXTS = [
    "{}",
    "{}\n",
    "{\n}\n",
    '{"a": 1}',
    '{\n  "a": 1\n}\n',
    '{\n\t"a": [1, 2],\n\t"hooks": {}\n}\n',
    '{\r\n    "a": 1\r\n}\r\n',
    '// mine\n{\n  "a": 1, // keep\n  /* and this */ "b": [ ],\n}\n// end\n',
    '{"hooks": {"Stop": [{"x": 1}]}, "z": {"y": []}}\n',
    '{\n  "hooks": {\n    "PreToolUse": [\n      {"matcher": "Bash", "hooks": []}\n    ]\n  }\n}',
    '\ufeff{\n "odd":   [1 ,2, ],\n   "hooks" : { "PreToolUse" : [ { } , ] } ,\n}\n',
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("path", [["hooks", "PreToolUse"], ["new"], ["hooks", "New", "deep"]])
def test_an_item_comes_and_goes_without_a_trace(text: str, path: list[str]) -> None:
    before = parse_json(text).value
    after = with_item(text, path, ENTRY)
    found = _at(parse_json(after).value, path)
    assert found[-1] == ENTRY
    assert found[:-1] == (_at(before, path) or [])
    back = without(after, [*path, len(found) - 1])
    # Containers that were made on the way go too, from the inside out.
    for end in range(len(path), 0, -1):
        if _at(before, path[:end]) is None:
            back = without(back, path[:end])
    assert parse_json(back).value == before
    if _at(before, path):
        assert back == text


@pytest.mark.parametrize("text", TEXTS)
def test_a_member_comes_and_goes(text: str) -> None:
    after = with_member(text, ["mcpServers", "codeplane"], ENTRY)
    assert parse_json(after).value == {**parse_json(text).value, "mcpServers": {"codeplane": ENTRY}}
    back = without(after, ["mcpServers"])
    assert parse_json(back).value == parse_json(text).value
    if parse_json(text).value:
        assert back == text


def test_a_member_that_is_there_is_replaced_in_place() -> None:
    text = '{\n  "a": {"x": 1}, // first\n  "b": 2\n}\n'
    assert with_member(text, ["a", "x"], 5) == '{\n  "a": {"x": 5}, // first\n  "b": 2\n}\n'


def test_new_entries_look_like_their_neighbours() -> None:
    text = '{\n    "hooks": {\n        "Stop": []\n    }\n}\n'
    expected = '{\n    "hooks": {\n        "Stop": [\n            {"a": {"b": 1}}\n        ]\n    }\n}\n'
    assert with_item(text, ["hooks", "Stop"], {"a": {"b": 1}}) == expected


@pytest.mark.parametrize(
    "text", ["{", '{"a": }', '{"a": 1} x', '{"a": 1, "a": 2}', "{'a': 1}", '{"a": "\n"}', "[" * 200, "nul"]
)
def test_what_is_not_json_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(CodePlaneError) as caught:
        parse_json(text)
    assert caught.value.code == "INVALID_FORMAT"
    assert "line" in caught.value.message


@pytest.mark.parametrize("text", ['{"hooks": []}', '{"hooks": {"Stop": {}}}', "[]", '{"hooks": "x"}'])
def test_another_kind_of_value_on_the_way_is_left_alone(text: str) -> None:
    with pytest.raises(CodePlaneError):
        with_item(text, ["hooks", "Stop"], ENTRY)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(["a", "hooks", "b"]), _JSON, max_size=3), st.sampled_from([None, 1, 2, 4, "\t"]))
def test_whatever_is_there_stays(document: dict[str, Any], indent: Any) -> None:
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    assert parse_json(text).value == document
    after = with_member(text, ["codeplane"], ENTRY)
    assert parse_json(after).value == {**document, "codeplane": ENTRY}
    assert parse_json(without(after, ["codeplane"])).value == document


def _at(value: Any, path: list[str]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value
