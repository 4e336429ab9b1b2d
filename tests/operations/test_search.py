"""`search`: complete over its pages, consistent while files change, and honest about what it did not search."""

import pytest

from codeplane.operations.perform import Door
from support.doors import call, error_of, result_of
from support.repositories import write


def _all_pages(door: Door, arguments: dict[str, object]) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    cursor: str | None = None
    while True:
        result = result_of(call(door, "search", {**arguments, "cursor": cursor} if cursor else arguments))
        found += [(hit["path"], hit["line"]) for hit in result["results"]]
        cursor = result["pagination"].get("next_cursor")
        if cursor is None:
            return found


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_the_pages_together_hold_every_line_once(door: Door, limit: int) -> None:
    found = _all_pages(door, {"query": "line_", "limit": limit})
    assert found == [("src/app.py", number) for number in range(1, 31)]


def test_a_hit_has_every_field_of_the_specification(door: Door) -> None:
    hit = result_of(call(door, "search", {"query": "def mod"}))["results"][0]
    assert hit == {
        "path": "src/pkg/mod.py",
        "line": 1,
        "column": 0,
        "snippet": "def mod():",
        "score": 1.0,
        "match_type": "exact",
    }


def test_an_alternative_that_is_no_expression_is_read_as_text(door: Door) -> None:
    answer = call(door, "search", {"query": "def mod(|line_30\\b", "regex": True})
    assert [hit["path"] for hit in result_of(answer)["results"]] == ["src/app.py", "src/pkg/mod.py"]
    assert "searched for `def\\ mod\\(|line_30" in answer.text()
    assert error_of(call(door, "search", {"query": "def mod(", "regex": True})) == "INVALID_ARGUMENTS"


@pytest.mark.parametrize("mode", ["lexical", "symbol"])
def test_a_glob_with_an_exclamation_mark_leaves_files_out(door: Door, mode: str) -> None:
    write(door.workspace.root, {"lib/mod.py": "def mod():\n    pass\n"})
    found = result_of(call(door, "search", {"query": "mod", "mode": mode, "scope": {"paths": ["*.py", "!lib/"]}}))
    assert {hit["path"] for hit in found["results"]} == {"src/pkg/mod.py"}


def test_a_change_just_before_the_call_is_seen(door: Door) -> None:
    call(door, "search", {"query": "x"})
    write(door.workspace.root, {"fresh.py": "brand_new = 1\n"})
    assert result_of(call(door, "search", {"query": "brand_new"}))["results"][0]["path"] == "fresh.py"


def test_later_pages_come_from_the_first_pages_state_and_say_so(door: Door) -> None:
    first = call(door, "search", {"query": "line_", "limit": 5})
    write(door.workspace.root, {"src/app.py": "gone\n"})
    cursor = result_of(first)["pagination"]["next_cursor"]
    second = call(door, "search", {"query": "line_", "limit": 5, "cursor": cursor})
    assert [hit["line"] for hit in result_of(second)["results"]] == [6, 7, 8, 9, 10]
    assert "changed since" in second.meta.warnings[0]


def test_a_cursor_of_a_state_that_is_gone_has_expired(door: Door) -> None:
    cursor = result_of(call(door, "search", {"query": "line_", "limit": 5}))["pagination"]["next_cursor"]
    for number in range(9):
        write(door.workspace.root, {"other.py": f"x = {number}\n"})
        call(door, "search", {"query": "x"})
    assert error_of(call(door, "search", {"query": "line_", "limit": 5, "cursor": cursor})) == "CURSOR_EXPIRED"


def test_a_cursor_of_another_query_is_refused(door: Door) -> None:
    cursor = result_of(call(door, "search", {"query": "line_", "limit": 5}))["pagination"]["next_cursor"]
    assert error_of(call(door, "search", {"query": "other", "cursor": cursor})) == "CURSOR_INVALID"


@pytest.mark.parametrize(
    ("scope", "paths"),
    [
        ({"paths": ["docs/**"]}, {"docs/guide.md"}),
        ({"path": "*.md"}, {"README.md", "docs/guide.md"}),
        ({"languages": ["py"]}, {"src/app.py", "src/pkg/mod.py"}),
    ],
)
def test_scopes_limit_where_is_searched(door: Door, scope: dict[str, object], paths: set[str]) -> None:
    found = result_of(call(door, "search", {"query": "e", "limit": 100, "scope": scope}))["results"]
    assert {hit["path"] for hit in found} == paths


def test_an_empty_answer_says_what_was_searched_and_what_not(door: Door) -> None:
    (door.workspace.root / "odd.dat").write_bytes(b"\0\0")
    answer = call(door, "search", {"query": "no such text"})
    assert answer.text() == "No line in 4 files.\nnot searched: 1 binary"


def test_the_answer_carries_the_epoch_of_the_index(door: Door) -> None:
    assert call(door, "search", {"query": "x"}).meta.index_epoch == 1


def test_secrets_are_not_found(door: Door) -> None:
    write(door.workspace.root, {".env": "KEY=needle\n"})
    answer = call(door, "search", {"query": "needle"})
    assert result_of(answer)["results"] == []
    assert "left out by .env" in result_of(answer)["not_searched"]


def test_kinds_of_symbols_say_nothing_about_lines(door: Door) -> None:
    answer = call(door, "search", {"query": "line_1 ", "scope": {"kinds": ["class"]}})
    assert "does not apply to text lines" in answer.meta.warnings[0]


def test_another_case_is_tried_before_loose_words_and_said(door: Door) -> None:
    write(door.workspace.root, {"case.py": "# Some Words Here\n# some apart words here\n"})
    found = result_of(call(door, "search", {"query": "some words here"}))
    assert [(hit["path"], hit["line"], hit["match_type"]) for hit in found["results"]] == [("case.py", 1, "fuzzy")]
    assert "in another" in found["about"]


def test_pages_of_another_case_hold_every_line_once(door: Door) -> None:
    assert _all_pages(door, {"query": "LINE_", "limit": 7}) == [("src/app.py", number) for number in range(1, 31)]


def test_a_cut_answer_tells_the_total(door: Door) -> None:
    answer = call(door, "search", {"query": "line_", "limit": 4})
    assert result_of(answer)["pagination"]["total_estimate"] == 30
    assert "4 of 30 are shown; more: cursor=" in answer.text()


def test_source_comes_before_tests_examples_documentation_and_vendored_code(door: Door) -> None:
    paths = ["src/z.py", "tests/test_a.py", "examples/a.py", "docs/a.md", "third_party/a.py"]
    write(door.workspace.root, dict.fromkeys(paths, "needle = 1\n"))
    found = result_of(call(door, "search", {"query": "needle"}))["results"]
    assert [hit["path"] for hit in found] == paths


def test_the_snippet_of_a_definition_is_its_line(door: Door) -> None:
    hit = result_of(call(door, "search", {"query": "mod", "mode": "definitions"}))["results"][0]
    assert hit["snippet"] == "def mod():"


def test_the_file_that_defines_a_name_comes_first_then_whole_words_then_parts(door: Door) -> None:
    write(
        door.workspace.root,
        {
            "src/aaa.py": "import zeta\nzeta_total = 1\nzeta()\n",
            "src/zzz.py": "def zeta():\n    return 1\n",
            "tests/test_zeta.py": "zeta()\n",
        },
    )
    arguments = {"query": "zeta"}
    expected = ["src/zzz.py:1", "src/aaa.py:1", "src/aaa.py:3", "tests/test_zeta.py:1", "src/aaa.py:2"]
    result = result_of(call(door, "search", arguments))
    assert [f"{hit['path']}:{hit['line']}" for hit in result["results"]] == expected
    assert result["pagination"] == {"total_estimate": 5}
    pages: list[str] = []
    cursor = None
    while len(pages) < 10:
        page = result_of(call(door, "search", {**arguments, "limit": 2, **({"cursor": cursor} if cursor else {})}))
        pages += [f"{hit['path']}:{hit['line']}" for hit in page["results"]]
        cursor = page["pagination"].get("next_cursor")
        if cursor is None:
            break
    assert pages == expected
