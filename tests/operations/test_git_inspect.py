"""`git_inspect` through the door."""

from typing import Any

import pytest

from codeplane.operations.git_inspect import GIT_INSPECT
from codeplane.operations.perform import Door
from support.doors import call, door_with, error_of, result_of
from support.repositories import git, write

KEY = "-----BEGIN " + "PRIVATE KEY-----\nneedle\n"


@pytest.fixture
def git_door(door: Door) -> Door:
    root = door.workspace.root
    write(root, {"src/app.py": "first\nsecond\nthird\n", "blob.bin": b"\0\1", "no_end.txt": "one\ntwo"})
    git(root, "add", "--", "src/app.py", "blob.bin", "no_end.txt")
    git(root, "commit", "-qm", "second\n\nA body.\n")
    git(root, "tag", "-a", "v1", "-m", "The tag\n\nwith words")
    git(root, "tag", "light")
    return door_with(door.workspace, GIT_INSPECT)


def _inspect(door: Door, **arguments: Any) -> dict[str, Any]:
    return result_of(call(door, "git_inspect", arguments))


def test_a_commit_is_shown_with_its_files_and_counts(git_door: Door) -> None:
    result = _inspect(git_door)
    assert (result["type"], result["commit"]["message"], result["commit"]["body"]) == ("commit", "second", "A body.")
    assert result["commit"]["refs"] == ["main", "tag: light", "tag: v1"]
    files = {file["path"]: (file["status"], file["insertions"], file["deletions"]) for file in result["files"]}
    assert files == {"blob.bin": ("added", 0, 0), "no_end.txt": ("added", 2, 0), "src/app.py": ("modified", 3, 30)}
    assert result["stats"] == {"files_changed": 3, "insertions": 5, "deletions": 30}
    assert "  modified src/app.py +3 -30" in call(git_door, "git_inspect").text()


def test_a_commits_lines_come_on_request_and_in_pages(git_door: Door) -> None:
    page = _inspect(git_door, diff=True, limit=10)
    lines = []
    while True:
        lines += [line["content"] for file in page["files"] for hunk in file["hunks"] for line in hunk["lines"]]
        if "next_cursor" not in page["pagination"]:
            break
        page = _inspect(git_door, cursor=page["pagination"]["next_cursor"])
    assert sorted(lines) == sorted(
        ["one", "two", *(f"line_{i} = {i}" for i in range(1, 31)), "first", "second", "third"]
    )
    only = _inspect(git_door, diff=True, path="no_end.txt")
    assert [file["path"] for file in only["files"]] == ["no_end.txt"]


def test_the_first_commit_is_all_new(git_door: Door) -> None:
    result = _inspect(git_door, ref="HEAD~1")
    assert result["compared"] == "the first commit: everything is new"
    assert {file["status"] for file in result["files"]} == {"added"}


def test_a_merge_is_compared_with_its_first_parent(git_door: Door) -> None:
    root = git_door.workspace.root
    git(root, "checkout", "-qb", "side", "HEAD~1")
    write(root, {"side.txt": "x\n"})
    git(root, "add", "side.txt")
    git(root, "commit", "-qm", "side")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-edit", "side")
    result = _inspect(git_door)
    assert [file["path"] for file in result["files"]] == ["side.txt"]
    assert result["compared"].endswith("(the first of 2 parents)")


def test_a_tag_object_is_shown_with_its_commit(git_door: Door) -> None:
    result = _inspect(git_door, ref="v1")
    assert (result["type"], result["tag"]["message"], result["tag"]["body"]) == ("tag", "The tag", "with words")
    assert result["commit"]["message"] == "second"
    assert _inspect(git_door, ref="light")["type"] == "commit"


def test_a_directory_of_a_commit_is_listed(git_door: Door) -> None:
    listed = _inspect(git_door, ref="HEAD~1", path="src")["entries"]
    assert [(entry["path"], entry["type"]) for entry in listed] == [("src/app.py", "blob"), ("src/pkg", "tree")]
    first = _inspect(git_door, ref="HEAD", path=".", limit=2)
    second = _inspect(git_door, cursor=first["pagination"]["next_cursor"], limit=50)
    names = git(git_door.workspace.root, "ls-tree", "--name-only", "HEAD").split()
    assert [entry["path"] for entry in first["entries"] + second["entries"]] == names


def test_a_file_as_it_was_is_read_by_lines(git_door: Door) -> None:
    file = _inspect(git_door, ref="HEAD~1", path="src/app.py:2-3")["file"]
    assert (file["content"], file["range"], file["line_count"]) == ("line_2 = 2\nline_3 = 3\n", [2, 3], 30)
    last = _inspect(git_door, ref="HEAD", path="no_end.txt", line_range=[2, 9])["file"]
    assert (last["content"], last["range"], last["no_newline"]) == ("two", [2, 2], True)


@pytest.mark.parametrize(
    "text", ["".join(f"line {i}\n" for i in range(5000)), "é" * 20_000, "a\n" + "b" * 30_000 + "\nc"]
)
def test_pages_of_a_file_are_the_file(git_door: Door, text: str) -> None:
    root = git_door.workspace.root
    write(root, {"big.txt": text})
    git(root, "add", "big.txt")
    git(root, "commit", "-qm", "big")
    for limit in (None, 300):
        page = _inspect(git_door, ref="HEAD", path="big.txt", **({"limit": limit} if limit else {}))
        content = page["file"]["content"]
        while "next_cursor" in page["pagination"]:
            page = _inspect(git_door, cursor=page["pagination"]["next_cursor"])
            content += page["file"]["content"]
        assert content == text


def test_blame_groups_lines_by_commit_and_pages_are_the_whole(git_door: Door) -> None:
    root = git_door.workspace.root
    write(root, {"src/app.py": "first\nchanged\nthird\n"})
    whole = _inspect(git_door, action="blame", path="src/app.py")["blame"]
    assert [(h["start_line"], h["end_line"], h.get("uncommitted"), h["lines"]) for h in whole] == [
        (1, 1, None, ["first"]),
        (2, 2, True, ["changed"]),
        (3, 3, None, ["third"]),
    ]
    page = _inspect(git_door, action="blame", path="src/app.py", limit=2)
    rest = _inspect(git_door, cursor=page["pagination"]["next_cursor"])
    assert page["blame"] + rest["blame"] == whole
    assert "next_cursor" not in rest["pagination"]


def test_a_file_that_changes_between_pages_of_blame_is_said(git_door: Door) -> None:
    cursor = _inspect(git_door, action="blame", path="src/app.py", limit=2)["pagination"]["next_cursor"]
    write(git_door.workspace.root, {"src/app.py": "quite\nother\nlines\n"})
    assert error_of(call(git_door, "git_inspect", {"cursor": cursor})) == "FILE_CHANGED"


def test_tags_come_newest_first_and_in_pages(git_door: Door) -> None:
    first = _inspect(git_door, action="tags", limit=1)
    second = _inspect(git_door, cursor=first["pagination"]["next_cursor"])
    tags = first["tags"] + second["tags"]
    assert [(tag["name"], tag["annotated"], tag.get("message")) for tag in tags] == [
        ("light", False, None),
        ("v1", True, "The tag"),
    ]


def test_a_merge_is_foreseen_with_its_conflicts(git_door: Door) -> None:
    root = git_door.workspace.root
    git(root, "checkout", "-qb", "side", "HEAD~1")
    write(root, {"src/app.py": "theirs\n"})
    git(root, "commit", "-qam", "side")
    git(root, "checkout", "-q", "main")
    merge = _inspect(git_door, action="merge_analysis", ref="side")["merge"]
    assert (merge["analysis"], merge["ahead"], merge["behind"]) == ("normal", 1, 1)
    assert merge["conflicts"] == ["src/app.py"]
    assert _inspect(git_door, action="merge_analysis", ref="HEAD~1")["merge"]["analysis"] == "up_to_date"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"ref": "nowhere"}, "GIT_REF_UNKNOWN"),
        ({"ref": "--help"}, "GIT_REF_INVALID"),
        ({"ref": "HEAD", "path": "missing"}, "GIT_PATH_UNKNOWN"),
        ({"ref": "HEAD", "path": "blob.bin"}, "FILE_BINARY"),
        ({"ref": "HEAD", "path": "src/app.py", "line_range": [50, 60]}, "OUT_OF_RANGE"),
        ({"ref": "HEAD:src/app.py"}, "NOT_A_FILE"),
        ({"action": "blame"}, "INVALID_ARGUMENTS"),
        ({"action": "blame", "path": "missing"}, "GIT_PATH_UNKNOWN"),
        ({"action": "blame", "path": "src"}, "NOT_A_FILE"),
        ({"action": "blame", "path": "src/app.py", "ref": "nowhere"}, "GIT_REF_UNKNOWN"),
        ({"action": "blame", "path": "src/app.py", "line_range": [50, 60]}, "OUT_OF_RANGE"),
        ({"action": "merge_analysis"}, "INVALID_ARGUMENTS"),
        ({"action": "merge_analysis", "ref": "nowhere"}, "GIT_REF_UNKNOWN"),
        ({"action": "explode"}, "INVALID_ARGUMENTS"),
        ({"cursor": "x"}, "CURSOR_INVALID"),
        ({"path": "/etc/passwd"}, "PATH_OUTSIDE_REPOSITORY"),
    ],
)
def test_what_cannot_be_inspected_is_refused(git_door: Door, arguments: dict[str, Any], code: str) -> None:
    assert error_of(call(git_door, "git_inspect", arguments)) == code


@pytest.mark.parametrize("arguments", [{"diff": True}, {"path": ".env"}, {"action": "blame", "path": ".env"}])
def test_a_secret_of_the_past_is_kept_back(git_door: Door, arguments: dict[str, Any]) -> None:
    root = git_door.workspace.root
    write(root, {".env": "PASSWORD=needle\n"})
    git(root, "add", "--force", ".env")
    git(root, "commit", "-qm", "secret")
    answer = call(git_door, "git_inspect", {"ref": "HEAD", **arguments})
    assert "needle" not in answer.envelope_text() + answer.text()
    if "path" in arguments:
        assert error_of(answer) == "SECRET_FILE"


@pytest.mark.parametrize("arguments", [{}, {"action": "blame"}, {"action": "blame", "ref": "HEAD"}])
def test_a_private_key_under_another_name_is_kept_back(git_door: Door, arguments: dict[str, Any]) -> None:
    root = git_door.workspace.root
    write(root, {"notes.txt": KEY})
    git(root, "add", "notes.txt")
    git(root, "commit", "-qm", "key")
    answer = call(git_door, "git_inspect", {"path": "notes.txt", **arguments})
    assert error_of(answer) == "SECRET_FILE"
    assert "needle" not in answer.text()
