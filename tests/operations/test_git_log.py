"""`git_log` through the door."""

from pathlib import Path
from typing import Any

import pytest

from codeplane.operations.cursors import make_cursor
from codeplane.operations.git_log import GIT_LOG, GitLogRequest
from codeplane.operations.moments import parse_moment
from codeplane.operations.perform import Door
from support.doors import call, door_with, error_of, open_test_workspace, result_of
from support.histories import make_history
from support.repositories import git, make_repository, write


@pytest.fixture
def git_door(door: Door) -> Door:
    return door_with(door.workspace, GIT_LOG)


def _log(door: Door, **arguments: Any) -> dict[str, Any]:
    return result_of(call(door, "git_log", arguments))


def _subjects(result: dict[str, Any]) -> list[str]:
    return [commit["message"] for commit in result["commits"]]


def _commit(root: Path, *subjects: str) -> None:
    for subject in subjects:
        git(root, "commit", "-q", "--allow-empty", "-m", subject)


def test_a_commit_has_every_field(git_door: Door) -> None:
    root = git_door.workspace.root
    git(root, "commit", "-q", "--allow-empty", "-m", "second\n\nIts body.\n")
    git(root, "tag", "-a", "v1", "-m", "tag")
    commit = _log(git_door, limit=1)["commits"][0]
    oid, parent = git(root, "rev-list", "-2", "HEAD").split()
    who = {"name": "Test", "email": "test@example.invalid", "time": "2026-01-02T03:04:05+00:00"}
    assert commit == {
        "oid": oid, "short_oid": oid[:12], "message": "second", "body": "Its body.", "author": who, "committer": who,
        "parents": [parent], "refs": ["main", "tag: v1"],
    }  # fmt: skip
    assert git(root, "rev-parse", commit["short_oid"]).strip() == oid


def test_the_text_has_one_line_for_each_commit(git_door: Door) -> None:
    oid = git(git_door.workspace.root, "rev-parse", "HEAD").strip()
    assert call(git_door, "git_log").text() == f"{oid[:12]} 2026-01-02 Test (main): first"


def test_commits_that_arrive_between_pages_do_not_shift_them(git_door: Door) -> None:
    root = git_door.workspace.root
    _commit(root, "2", "3", "4", "5")
    first = _log(git_door, limit=2)
    _commit(root, "6", "7")
    second = _log(git_door, cursor=first["pagination"]["next_cursor"])
    third = _log(git_door, cursor=second["pagination"]["next_cursor"])
    assert [_subjects(page) for page in (first, second, third)] == [["5", "4"], ["3", "2"], ["first"]]
    assert "next_cursor" not in third["pagination"]


def test_a_filtered_log_goes_on_with_its_filters(git_door: Door) -> None:
    root = git_door.workspace.root
    _commit(root, "fix 1", "other", "Fix 2", "other", "fix 3")
    first = _log(git_door, grep="FIX", limit=2)
    second = _log(git_door, cursor=first["pagination"]["next_cursor"])
    assert [_subjects(page) for page in (first, second)] == [["fix 3", "Fix 2"], ["fix 1"]]


def test_filters_are_plain_text(git_door: Door) -> None:
    _commit(git_door.workspace.root, "a.c", "abc", "--all")
    assert _subjects(_log(git_door, grep="a.c")) == ["a.c"]
    assert _subjects(_log(git_door, grep="--all")) == ["--all"]
    assert _log(git_door, author=".*")["commits"] == []


def test_paths_and_ranges_select(git_door: Door) -> None:
    root = git_door.workspace.root
    git(root, "checkout", "-qb", "feature")
    write(root, {"docs/guide.md": "x\n", "*": "star\n"})
    git(root, "add", "--all")
    git(root, "commit", "-qm", "docs")
    assert _subjects(_log(git_door, ref="main..feature")) == ["docs"]
    assert _subjects(_log(git_door, ref="main")) == ["first"]
    assert _subjects(_log(git_door, paths="*")) == ["docs"]
    assert _subjects(_log(git_door, path="README.md")) == ["first"]


def test_dates_bound_it(git_door: Door) -> None:
    assert _subjects(_log(git_door, since="2026-01-02", until="2026-01-02")) in (["first"], [])
    assert _subjects(_log(git_door, since="2026-01-01", until="2026-01-04")) == ["first"]
    assert _log(git_door, since="2026-01-04T00:00:00Z")["why_empty"] == "No commit matches."


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2 weeks ago", "1969-12-18T00:00:00+00:00"),
        ("yesterday", "1969-12-31T00:00:00+00:00"),
        ("1970-01-05T01:02:03+02:00", "1970-01-05T01:02:03+02:00"),
        ("3 hours", "1969-12-31T21:00:00+00:00"),
    ],
)
def test_moments_are_understood(text: str, moment: str) -> None:
    assert parse_moment(text, 0, is_end=False) == moment


@pytest.mark.parametrize("text", ["soon", "", "2026-13-01", "--all", "999999 years ago", "20260101; rm"])
def test_what_is_no_moment_is_refused(git_door: Door, text: str) -> None:
    assert error_of(call(git_door, "git_log", {"since": text})) == "INVALID_ARGUMENTS"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"ref": "nowhere"}, "GIT_REF_UNKNOWN"),
        ({"ref": "--all"}, "GIT_REF_INVALID"),
        ({"ref": "main..--all"}, "GIT_REF_INVALID"),
        ({"ref": "x\ny"}, "GIT_REF_INVALID"),
        ({"limit": 201}, "INVALID_ARGUMENTS"),
        ({"grep": "a\nb"}, "INVALID_ARGUMENTS"),
        ({"paths": [".."]}, "PATH_OUTSIDE_REPOSITORY"),
        ({"cursor": "x"}, "CURSOR_INVALID"),
    ],
)
def test_what_cannot_be_listed_is_refused(git_door: Door, arguments: dict[str, Any], code: str) -> None:
    assert error_of(call(git_door, "git_log", arguments)) == code


@pytest.mark.parametrize(
    ("operation", "state"),
    [
        ("git_log", {"revisions": ["--all"], "skip": 0, "limit": 5, "paths": []}),
        ("git_log", {"revisions": 5}),
        ("git_diff", {}),
    ],
)
def test_a_cursor_that_was_made_up_is_refused(git_door: Door, operation: str, state: dict[str, Any]) -> None:
    cursor = make_cursor(git_door.workspace, operation, GitLogRequest(), state)
    assert error_of(call(git_door, "git_log", {"cursor": cursor})) == "CURSOR_INVALID"


def test_a_mistyped_branch_gets_the_nearest_name(git_door: Door) -> None:
    assert "Did you mean main?" in call(git_door, "git_log", {"ref": "mian"}).text()


def test_before_the_first_commit_the_log_is_empty_and_says_why(tmp_path: Path) -> None:
    history = make_history(tmp_path / "x", 1, "unborn")
    with open_test_workspace(history.root) as workspace:
        result = _log(door_with(workspace, GIT_LOG))
    assert (result["commits"], result["why_empty"]) == ([], "HEAD has no commit yet.")


def test_a_long_body_is_cut_and_says_so(git_door: Door) -> None:
    git(git_door.workspace.root, "commit", "-q", "--allow-empty", "-m", "subject\n\n" + "word " * 1000)
    commit = _log(git_door, limit=1)["commits"][0]
    assert (len(commit["body"]), commit["body_cut"]) == (2_000, True)


def test_a_damaged_commit_is_an_error_of_the_registry(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "r", {"a": "1\n"})
    _commit(root, "second")
    oid = git(root, "rev-parse", "HEAD~1").strip()
    damaged = root / ".git" / "objects" / oid[:2] / oid[2:]
    damaged.chmod(0o644)
    damaged.write_bytes(b"rubbish")
    with open_test_workspace(root) as workspace:
        assert error_of(call(door_with(workspace, GIT_LOG), "git_log")) == "GIT_CORRUPT"
