"""`search` with code around its hits: no read has to follow, and no line is shown twice."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codeplane.operations.answer import Answer
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, error_of, open_test_workspace, result_of
from support.repositories import write

_LONG_BODY = "".join(f"    step_{number} = {number}\n" for number in range(60))
STORE = f'''\
import os

LIMIT = 3


@cached
def total(lines):
    """Add up.

    One.
    Two.
    Three.
    """
    return sum(lines)


def long_one(key):
{_LONG_BODY}    marker = total(key)
    return marker


class Store:
{"".join(f"    def get_{number}(self):{chr(10)}        return {number}{chr(10)}{chr(10)}" for number in range(40))}
'''


@pytest.fixture
def shop(repo: Path) -> Door:
    """Return the door of a small package."""
    files = {"shop/store.py": STORE, "shop/use.py": "from shop.store import total\n\n\nprint(total([1]))\n"}
    write(repo, {**files, "notes.txt": "total\n" + "x" * 5_000 + "\n"})
    return Door(open_test_workspace(repo), OPERATIONS)


def _search(door: Door, **arguments: Any) -> Answer:
    return call(door, "search", arguments)


def _shown(answer: Answer) -> dict[tuple[str, int], str]:
    """Return every line of the answer's code by its place; a line that is there twice fails."""
    lines: dict[tuple[str, int], str] = {}
    for piece in result_of(answer)["code"]:
        for number, text in enumerate(piece["content"].split("\n"), piece["start_line"]):
            assert (piece["path"], number) not in lines
            lines[piece["path"], number] = text
    return lines


def test_a_short_definition_is_shown_whole_with_its_decorator_and_without_its_long_docstring(shop: Door) -> None:
    shown = list(_shown(_search(shop, query="total", mode="definitions", show="code")).values())
    assert shown == ["@cached", "def total(lines):", '    """Add up.', "    return sum(lines)"]


def test_a_long_definition_is_cut_around_the_hit_and_keeps_its_header(shop: Door) -> None:
    answer = _search(shop, query="marker = total", show="code")
    shown = list(_shown(answer).values())
    assert shown[0] == "def long_one(key):"
    assert "    marker = total(key)" in shown
    assert "    step_3 = 3" not in shown
    assert "\n…\n" in answer.text()


def test_a_long_class_is_shown_with_the_names_of_its_members(shop: Door) -> None:
    answer = _search(shop, query="Store", mode="definitions", show="code", budget=400)
    shown = list(_shown(answer).values())
    assert "    def get_39(self):" in shown
    assert "        return 39" not in shown
    assert answer.text().rstrip().endswith("… until 201")


def test_a_line_outside_of_definitions_is_shown_with_its_neighbours(shop: Door) -> None:
    shown = _shown(_search(shop, query="print(total", show="code"))
    assert shown == {("shop/use.py", n): STORE_USE[n - 1] for n in range(1, 6)}


STORE_USE = ("from shop.store import total", "", "", "print(total([1]))", "")


def test_the_definition_comes_before_other_lines(shop: Door) -> None:
    first = result_of(_search(shop, query="total", show="code"))["code"][0]
    assert (first["path"], "def total(lines):" in first["content"]) == ("shop/store.py", True)


def test_lines_around_hits_are_joined_where_they_overlap(shop: Door) -> None:
    answer = _search(shop, query="step_1", context=2, scope={"paths": ["shop/store.py"]})
    texts = [text.strip() for text in _shown(answer).values()]
    # Around step_1, and around step_10 to step_19.
    assert texts == [
        "def long_one(key):",
        *(f"step_{number} = {number}" for number in (*range(4), *range(8, 22))),
    ]
    assert re.search(r"^\d+:\t    step_1 = 1$", answer.text(), re.MULTILINE)


def test_hits_beyond_the_budget_stay_lines(shop: Door) -> None:
    answer = _search(shop, query="return", show="code", budget=100, limit=50)
    result = result_of(answer)
    as_lines = [hit for hit in result["results"] if "snippet" in hit]
    assert as_lines
    assert sum(len(piece["content"]) for piece in result["code"]) <= 400
    assert f"{len(as_lines)} more hits, not shown as code" in answer.text()


def test_the_answer_says_which_files_have_further_hits(shop: Door) -> None:
    text = _search(shop, query="total", limit=1).text()
    assert re.search(r"left out: .*shop/use\.py 2", text)


def test_pages_with_code_go_on(shop: Door) -> None:
    first = result_of(_search(shop, query="total", show="code", limit=2))
    rest = result_of(_search(shop, query="total", show="code", limit=50, cursor=first["pagination"]["next_cursor"]))
    places = [(hit["path"], hit["line"]) for hit in (*first["results"], *rest["results"])]
    assert len(places) == len(set(places)) == first["pagination"]["total_estimate"]


def test_what_was_shown_can_be_edited_without_an_expectation(shop: Door) -> None:
    _search(shop, query="total", mode="definitions", show="code")
    edit = {
        "path": "shop/store.py",
        "edits": [{"path": "shop/store.py", "start_line": 3, "end_line": 3, "new": "LIMIT = 4\n"}],
    }
    answer = call(shop, "write_source", {"edits": edit["edits"]})
    assert answer.error is None, answer.error


def test_several_queries_are_answered_in_one_call(shop: Door) -> None:
    answer = _search(shop, queries=["LIMIT", "nothing_like_this", "long_one"])
    result = result_of(answer)
    assert {hit["query"] for hit in result["results"]} == {"LIMIT", "long_one"}
    assert "`nothing_like_this`: 0 hits." in answer.text()
    assert [hit["path"] for hit in result_of(_search(shop, query=["LIMIT"]))["results"]] == ["shop/store.py"]


def test_a_definition_that_several_queries_find_is_shown_once(shop: Door) -> None:
    shown = _shown(_search(shop, queries=["total(", "sum("], show="code"))
    assert list(shown.values()).count("def total(lines):") == 1


def test_a_file_without_symbols_and_a_very_long_line_are_shown_cut(shop: Door) -> None:
    shown = _shown(_search(shop, query="xxxx", show="code"))
    assert max(len(line) for line in shown.values()) <= 400


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": "a", "queries": ["b"]},
        {"queries": [""]},
        {"queries": ["a"] * 21},
        {"query": "a", "show": "everything"},
        {"query": "a", "context": -1},
        {"query": "a", "budget": 1},
    ],
)
def test_what_cannot_be_meant_is_refused(shop: Door, arguments: dict[str, Any]) -> None:
    assert error_of(call(shop, "search", arguments)) == "INVALID_ARGUMENTS"


@given(
    query=st.sampled_from(["total", "return", "step_", "e", "class Store", "get_"]),
    show=st.sampled_from(["lines", "code"]),
    context=st.integers(0, 50),
    budget=st.integers(100, 3_000),
    limit=st.integers(1, 100),
)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_line_is_shown_twice_and_every_hit_is_somewhere(
    shop: Door, query: str, show: str, context: int, budget: int, limit: int
) -> None:
    answer = _search(shop, query=query, show=show, context=context, budget=budget, limit=limit)
    shown = _shown(answer) if result_of(answer).get("code") else {}
    for hit in result_of(answer)["results"]:
        assert "snippet" in hit or (hit["path"], hit["line"]) in shown


def test_several_queries_tell_their_hits_per_file(shop: Door) -> None:
    result = result_of(_search(shop, queries=["total", "LIMIT"], limit=1))
    assert result["hits_per_file"]["shop/use.py"] == 2
    assert "files" not in result
