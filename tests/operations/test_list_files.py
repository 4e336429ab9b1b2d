"""`list_files`: every entry once, in order, page by page, and what is left out is said."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.operations.answer import Outcome
from codeplane.operations.call_record import CallControls
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from support.doors import call, caller, error_of, result_of
from support.effort import examples
from support.repositories import write


def _list(door: Door, **arguments: Any) -> dict[str, Any]:
    return result_of(call(door, "list_files", arguments))


def _paths(result: dict[str, Any]) -> list[str]:
    return [entry["path"] for entry in result["entries"]]


def _all_paths(door: Door, **arguments: Any) -> list[str]:
    page = _list(door, **arguments)
    paths = _paths(page)
    while cursor := page["pagination"].get("next_cursor"):
        page = _list(door, **arguments, cursor=cursor)
        assert page["entries"]
        paths += _paths(page)
    return paths


def test_the_root_is_listed_one_level_deep(door: Door) -> None:
    result = _list(door)
    assert result["path"] == "."
    assert result["entries"] == [
        {"path": "README.md", "kind": "file", "size": 34},
        {"path": "docs", "kind": "directory"},
        {"path": "src", "kind": "directory"},
    ]


def test_what_is_left_out_is_counted_and_named_with_its_rule(door: Door) -> None:
    result = _list(door)
    assert result["left_out_count"] == 2
    assert result["left_out"] == [
        {"path": ".codeplane", "rule": ".codeplane/", "source": "always"},
        {"path": ".git", "rule": ".git/", "source": "always"},
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "docs"}, ["docs/guide.md"]),
        ({"path": "src"}, ["src/app.py", "src/pkg"]),
        ({"path": "src", "depth": 2}, ["src/app.py", "src/pkg", "src/pkg/mod.py"]),
        ({"pattern": "*.py"}, ["src/app.py", "src/pkg/mod.py"]),
        ({"pattern": "src/**/*.py"}, ["src/app.py", "src/pkg/mod.py"]),
        ({"pattern": "*.py", "path": "src/pkg"}, ["src/pkg/mod.py"]),
        ({"pattern": "*.py", "depth": 2}, ["src/app.py"]),
        ({"pattern": "/README.md"}, ["README.md"]),
        ({"pattern": "*.rs"}, []),
    ],
)
def test_path_depth_and_pattern_select(door: Door, arguments: dict[str, Any], expected: list[str]) -> None:
    assert _paths(_list(door, **arguments)) == expected


def test_an_empty_listing_says_so(door: Door) -> None:
    assert (
        call(door, "list_files", {"path": "docs", "pattern": "*.rs"})
        .text()
        .startswith("No file under docs matches `*.rs`")
    )


@pytest.mark.parametrize(("path", "code"), [("missing", "FILE_NOT_FOUND"), ("README.md", "NOT_A_DIRECTORY")])
def test_what_is_no_directory_is_refused(door: Door, path: str, code: str) -> None:
    assert error_of(call(door, "list_files", {"path": path})) == code


_SEGMENTS = st.sampled_from(["a", "b", "a.py", "A", "_", "é", "ez", "f", "\U0001f600", "\uffee", "a b"])
_TREES = st.sets(st.lists(_SEGMENTS, min_size=1, max_size=3).map("/".join), min_size=1, max_size=25)


@given(names=_TREES, limit=st.integers(1, 6))
@examples(40)
def test_all_pages_together_are_the_whole_listing_without_duplicates(
    door: Door, tmp_path_factory: pytest.TempPathFactory, names: set[str], limit: int
) -> None:
    root = door.workspace.root / tmp_path_factory.mktemp("t").name
    root.mkdir()
    for name in sorted(names):
        # A name cannot be a file and a directory.
        parents = [root.joinpath(*name.split("/")[:depth]) for depth in range(1, name.count("/") + 1)]
        if not (root / name).exists() and not any(parent.is_file() for parent in parents):
            write(root, {name: ""})
    start = root.name
    whole = _paths(_list(door, path=start, depth=9, limit=1000))
    assert _all_paths(door, path=start, depth=9, limit=limit) == whole
    assert len(set(whole)) == len(whole)
    assert whole == sorted(whole, key=lambda path: [part.encode() for part in path.split("/")])


def test_pages_go_on_at_the_right_place_among_decomposed_names(door: Door) -> None:
    write(door.workspace.root, dict.fromkeys(["n/ez", "n/e\u0301", "n/f", "n/z"], ""))
    assert _all_paths(door, path="n", limit=1) == ["n/ez", "n/f", "n/z", "n/\u00e9"]


def test_a_file_that_appears_between_two_pages_does_not_shift_the_next_page(door: Door) -> None:
    write(door.workspace.root, dict.fromkeys(["n/a", "n/c", "n/e"], ""))
    first = _list(door, path="n", limit=2)
    write(door.workspace.root, {"n/b": ""})
    second = _list(door, path="n", limit=2, cursor=first["pagination"]["next_cursor"])
    assert _paths(first) + _paths(second) == ["n/a", "n/c", "n/e"]


def test_a_file_that_the_cursor_names_may_vanish(door: Door) -> None:
    write(door.workspace.root, dict.fromkeys(["n/a", "n/c", "n/e"], ""))
    first = _list(door, path="n", limit=2)
    (door.workspace.root / "n" / "c").unlink()
    assert _paths(_list(door, path="n", limit=2, cursor=first["pagination"]["next_cursor"])) == ["n/e"]


def test_long_names_end_a_default_page_early_and_nothing_is_lost(door: Door) -> None:
    names = [f"n/{i:03d}-{'x' * 150}" for i in range(120)]
    write(door.workspace.root, dict.fromkeys(names, ""))
    assert len(_list(door, path="n")["entries"]) < 120
    assert _all_paths(door, path="n") == names


def test_kinds_are_marked_in_the_text(door: Door) -> None:
    (door.workspace.root / "docs" / "link").symlink_to("guide.md")
    (door.workspace.root / "docs" / "sub").mkdir()
    assert call(door, "list_files", {"path": "docs"}).text() == "docs/:\nguide.md\nlink@\nsub/"


def test_a_listing_that_nobody_wants_any_more_stops(door: Door) -> None:
    answers = iter([False, True])
    controls = CallControls(is_cancelled=lambda: next(answers, True))
    answer = dispatch(door, "list_files", {}, caller(), controls)
    assert (answer.outcome, error_of(answer)) == (Outcome.FAILED, "CANCELLED")
