"""`git_status` through the door."""

import re
from pathlib import Path
from typing import Any

import pytest

from codeplane.operations.cursors import make_cursor
from codeplane.operations.git_status import GIT_STATUS, GitStatusRequest
from codeplane.operations.perform import Door
from support.doors import call, door_with, error_of, open_test_workspace, result_of
from support.histories import STATES, make_history
from support.repositories import git, write


@pytest.fixture
def git_door(door: Door) -> Door:
    return door_with(door.workspace, GIT_STATUS)


def _status(door: Door, **arguments: Any) -> dict[str, Any]:
    return result_of(call(door, "git_status", arguments))


def test_a_clean_tree_says_so(git_door: Door) -> None:
    head = git(git_door.workspace.root, "rev-parse", "HEAD").strip()
    assert _status(git_door) == {
        "branch": "main", "head_commit": head, "detached": False, "is_clean": True, "staged": [], "modified": [],
        "untracked": [], "conflicts": [], "staged_count": 0, "modified_count": 0, "untracked_count": 0,
        "conflict_count": 0, "stash_count": 0, "state": "none", "pagination": {"total_estimate": 0},
    }  # fmt: skip
    assert call(git_door, "git_status").text() == (
        f"on main at {head[:12]}\nclean: nothing staged, changed or untracked"
    )


def test_each_kind_of_change_is_in_its_list_and_in_the_text(git_door: Door) -> None:
    root = git_door.workspace.root
    git(root, "mv", "docs/guide.md", "docs/manual.md")
    write(root, {"src/app.py": "changed\n", "new.txt": "x\n", "later.txt": "x\n"})
    (root / "src" / "pkg" / "mod.py").chmod(0o755)
    git(root, "add", "--intent-to-add", "later.txt")
    result = _status(git_door)
    assert result["staged"] == [{"path": "docs/manual.md", "status": "renamed", "old_path": "docs/guide.md"}]
    assert result["modified"] == [
        {"path": "later.txt", "status": "added", "intent_to_add": True},
        {"path": "src/app.py", "status": "modified"},
        {"path": "src/pkg/mod.py", "status": "modified", "old_mode": "100644", "new_mode": "100755"},
    ]
    assert result["untracked"] == ["new.txt"]
    assert call(git_door, "git_status").text().split("\n")[1:] == [
        "staged:", "  R docs/manual.md (from docs/guide.md)", "not staged:", "  A later.txt", "  M src/app.py",
        "  M src/pkg/mod.py (mode 100644 -> 100755)", "untracked:", "  new.txt",
    ]  # fmt: skip


def test_paths_narrow_it_and_one_path_will_do(git_door: Door) -> None:
    write(git_door.workspace.root, {"src/app.py": "changed\n", "docs/guide.md": "changed\n"})
    assert [file["path"] for file in _status(git_door, path="src")["modified"]] == ["src/app.py"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("missing", "GIT_PATH_UNKNOWN"),
        ("../out", "PATH_OUTSIDE_REPOSITORY"),
        ("/etc/passwd", "PATH_OUTSIDE_REPOSITORY"),
        ("a\nb", "PATH_INVALID"),
        ("--force", "GIT_PATH_UNKNOWN"),
        (":(glob)**", "GIT_PATH_UNKNOWN"),
    ],
)
def test_paths_that_nobody_knows_are_refused(git_door: Door, path: str, code: str) -> None:
    assert error_of(call(git_door, "git_status", {"paths": [path]})) == code


def test_a_path_with_a_typing_mistake_gets_the_nearest_name(git_door: Door) -> None:
    answer = call(git_door, "git_status", {"paths": ["src/ap.py"]})
    assert "src/app.py" in answer.text()


def _change_much(root: Path) -> dict[str, list[str]]:
    """Change more than fits on a page and return the names in each list."""
    names = {part: [f"{part}/{i:03}-{'x' * (i % 40)}.txt" for i in range(150)] for part in ("staged", "modified")}
    write(root, dict.fromkeys(names["modified"], "old\n"))
    git(root, "add", "-A")
    git(root, "commit", "-qm", "second")
    write(root, dict.fromkeys(names["staged"], "new\n"))
    git(root, "add", "-A")
    names["untracked"] = [f"untracked-{i:03}" for i in range(200)]
    write(root, dict.fromkeys([*names["modified"], *names["untracked"]], "new\n"))
    return names


def _pages(door: Door, **arguments: Any) -> list[dict[str, Any]]:
    pages = [_status(door, **arguments)]
    while cursor := pages[-1]["pagination"].get("next_cursor"):
        rest = {"limit": arguments["limit"]} if "limit" in arguments else {}
        pages.append(_status(door, cursor=cursor, **rest))
    return pages


@pytest.mark.parametrize("limit", [None, 70, 149, 150, 1000])
def test_pages_together_list_everything_once_and_count_the_whole(git_door: Door, limit: int | None) -> None:
    names = _change_much(git_door.workspace.root)
    pages = _pages(git_door, **({"limit": limit} if limit else {}))
    for part in ("staged", "modified"):
        assert [file["path"] for page in pages for file in page[part]] == names[part]
    assert [name for page in pages for name in page["untracked"]] == names["untracked"]
    counts = {(page["staged_count"], page["modified_count"], page["untracked_count"]) for page in pages}
    assert counts == {(150, 150, 200)}
    assert {page["pagination"]["total_estimate"] for page in pages} == {500}
    assert len(pages) == -(-500 // limit) if limit else len(pages) > 3


def test_pages_of_text_stay_small_name_every_file_and_say_how_to_go_on(git_door: Door) -> None:
    names = _change_much(git_door.workspace.root)
    texts = [call(git_door, "git_status").text()]
    assert "untracked: 200, on another page" in texts[0]
    while cursor := re.search(r"^more: cursor=(\S+)$", texts[-1], re.MULTILINE):
        texts.append(call(git_door, "git_status", {"cursor": cursor[1]}).text())
    assert max(map(len, texts)) < 8_000
    words = set("\n".join(texts).split())
    assert words >= {name for part in names.values() for name in part}


def test_a_page_of_one_directory_goes_on_in_that_directory(git_door: Door) -> None:
    names = _change_much(git_door.workspace.root)
    pages = _pages(git_door, paths=["modified"], limit=100)
    assert [[file["path"] for file in page["modified"]] for page in pages] == [
        names["modified"][:100],
        names["modified"][100:],
    ]
    assert not any(page["staged"] or page["untracked"] for page in pages)


def test_lists_that_change_between_pages_end_the_cursor(git_door: Door) -> None:
    root = git_door.workspace.root
    write(root, {f"new-{i}": "" for i in range(5)})
    cursor = _status(git_door, limit=2)["pagination"]["next_cursor"]
    write(root, {"new-0": "Another content is no other list."})
    assert _status(git_door, cursor=cursor, limit=1)["untracked"] == ["new-2"]
    write(root, {"new-9": ""})
    assert error_of(call(git_door, "git_status", {"cursor": cursor})) == "CURSOR_EXPIRED"


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"first": "x", "digest": ""},
        {"first": -1, "digest": ""},
        {"first": 0, "digest": 5},
    ],
)
def test_a_cursor_that_was_made_up_is_refused(git_door: Door, state: dict[str, Any]) -> None:
    answer = call(
        git_door, "git_status", {"cursor": make_cursor(git_door.workspace, "git_status", GitStatusRequest(), state)}
    )
    assert error_of(answer) in {"CURSOR_INVALID", "CURSOR_EXPIRED"}


def test_names_that_are_not_text_stay_on_one_line(git_door: Door) -> None:
    root = git_door.workspace.root
    (root / "new\nline").write_text("x", encoding="utf-8")
    Path(str(root) + "/bad\udcff").write_text("x", encoding="utf-8")
    answer = call(git_door, "git_status")
    assert result_of(answer)["untracked"] == ["bad\\xff", "new\\x0aline"]
    answer.envelope_text().encode("utf-8")


@pytest.mark.parametrize("state", sorted(set(STATES)))
def test_an_unfinished_operation_says_how_to_go_on(tmp_path: Path, state: str) -> None:
    history = make_history(tmp_path / "x", 3, state)
    with open_test_workspace(history.root) as workspace:
        answer = call(door_with(workspace, GIT_STATUS), "git_status")
    result = result_of(answer)
    assert ("next_step" in result) == (result["state"] != "none")
    assert (f"{result['state']} in progress" in answer.text()) == (result["state"] != "none")


def test_a_damaged_index_is_an_error_of_the_registry(git_door: Door) -> None:
    (git_door.workspace.root / ".git" / "index").write_bytes(b"rubbish" * 20)
    assert error_of(call(git_door, "git_status")) == "GIT_CORRUPT"
