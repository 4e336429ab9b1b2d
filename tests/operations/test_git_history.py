"""`git_history` through the door."""

from pathlib import Path
from typing import Any

import pytest

from codeplane.operations.git_history import GIT_HISTORY
from codeplane.operations.perform import Door
from support.doors import call, door_with, error_of, open_test_workspace, result_of
from support.histories import make_history
from support.repositories import git, write

LINES = [f"line {i}\n" for i in range(1, 41)]


@pytest.fixture
def git_door(door: Door) -> Door:
    """Return a door to a file that was written, changed, renamed and changed again."""
    root = door.workspace.root
    for subject, name, changed in (("one", "old.py", None), ("two", "old.py", 5), ("three", "new.py", None)):
        if subject == "three":
            git(root, "mv", "old.py", "new.py")
        else:
            text = LINES if changed is None else [*LINES[: changed - 1], "changed\n", *LINES[changed:]]
            write(root, {name: "".join(text)})
        git(root, "add", "--", name)
        git(root, "commit", "-qm", subject)
    return door_with(door.workspace, GIT_HISTORY)


def _history(door: Door, **arguments: Any) -> dict[str, Any]:
    return result_of(call(door, "git_history", arguments))


def test_a_files_history_goes_on_before_its_rename(git_door: Door) -> None:
    commits = _history(git_door, path="new.py", stats=True)["commits"]
    told = [(c["message"], c["status"], c["path"], c.get("old_path"), c["insertions"], c["deletions"]) for c in commits]
    assert told == [
        ("three", "renamed", "new.py", "old.py", 0, 0),
        ("two", "modified", "old.py", None, 1, 1),
        ("one", "added", "old.py", None, 40, 0),
    ]
    assert [c["message"] for c in _history(git_door, path="new.py", follow=False)["commits"]] == ["three"]


def test_lines_have_a_history_of_their_own(git_door: Door) -> None:
    result = _history(git_door, path="new.py:5")
    assert [(c["message"], c["path"], c["line_range"]) for c in result["commits"]] == [
        ("two", "old.py", [5, 5]),
        ("one", "old.py", [5, 5]),
    ]
    for spelling in ([5, 5], "5-5", {"start": 5, "end": 5}, 5):
        assert _history(git_door, path="new.py", line_range=spelling) == result


def test_the_text_names_renames_and_counts(git_door: Door) -> None:
    lines = call(git_door, "git_history", {"path": "new.py", "stats": True}).text().split("\n")
    assert lines[0].endswith("three (+0 -0) renamed from old.py")
    assert lines[1].endswith("two (+1 -1)")


@pytest.mark.parametrize("arguments", [{"path": "new.py"}, {"path": "new.py", "line_range": [5, 5]}, {}])
def test_pages_are_the_whole_and_stay_put(git_door: Door, arguments: dict[str, Any]) -> None:
    whole = _history(git_door, **arguments)["commits"]
    page = _history(git_door, **arguments, limit=1)
    found = page["commits"]
    write(git_door.workspace.root, {"new.py": "other\n"})
    git(git_door.workspace.root, "commit", "-qam", "four")
    while "next_cursor" in page["pagination"]:
        page = _history(git_door, cursor=page["pagination"]["next_cursor"])
        found += page["commits"]
    assert [c["oid"] for c in found] == [c["oid"] for c in whole]


def test_a_directory_has_a_history_and_no_lines(git_door: Door) -> None:
    assert [c["message"] for c in _history(git_door, path="docs")["commits"]] == ["first"]
    assert error_of(call(git_door, "git_history", {"path": "docs", "line_range": [1, 2]})) == "NOT_A_FILE"


def test_a_file_that_was_deleted_still_has_its_history(git_door: Door) -> None:
    root = git_door.workspace.root
    git(root, "rm", "-q", "new.py")
    git(root, "commit", "-qm", "gone")
    assert [c["message"] for c in _history(git_door, path="new.py")["commits"]] == ["gone", "three", "two", "one"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"path": "missing.py"}, "GIT_PATH_UNKNOWN"),
        ({"path": "new.py", "line_range": [90, 95]}, "OUT_OF_RANGE"),
        ({"path": "new.py", "line_range": [5, 2]}, "INVALID_ARGUMENTS"),
        ({"path": "new.py", "line_range": "x"}, "INVALID_ARGUMENTS"),
        ({"line_range": [1, 2]}, "INVALID_ARGUMENTS"),
        ({"path": "new.py", "ref": "main..main"}, "GIT_REF_INVALID"),
        ({"path": "new.py", "ref": "nowhere"}, "GIT_REF_UNKNOWN"),
        ({"path": "new.py", "ref": "-S"}, "GIT_REF_INVALID"),
        ({"path": "../x"}, "PATH_OUTSIDE_REPOSITORY"),
        ({"cursor": "x"}, "CURSOR_INVALID"),
        ({"path": "missing.py", "line_range": [1, 2]}, "GIT_PATH_UNKNOWN"),
    ],
)
def test_what_has_no_history_is_refused(git_door: Door, arguments: dict[str, Any], code: str) -> None:
    assert error_of(call(git_door, "git_history", arguments)) == code


def test_before_the_first_commit_there_is_none(tmp_path: Path) -> None:
    history = make_history(tmp_path / "x", 1, "unborn")
    with open_test_workspace(history.root) as workspace:
        assert error_of(call(door_with(workspace, GIT_HISTORY), "git_history", {"path": "a.txt"})) == "GIT_NO_COMMITS"
