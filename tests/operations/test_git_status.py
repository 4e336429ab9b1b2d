"""`git_status` through the door."""

from pathlib import Path
from typing import Any

import pytest

from codeplane.operations.git_status import GIT_STATUS
from codeplane.operations.run import Door
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
        "conflict_count": 0, "stash_count": 0, "state": "none",
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


def test_many_untracked_files_are_counted_and_the_cut_is_said(git_door: Door) -> None:
    write(git_door.workspace.root, {f"new-{i:04}.txt": "" for i in range(450)})
    answer = call(git_door, "git_status")
    result = result_of(answer)
    assert (len(result["untracked"]), result["untracked_count"]) == (200, 450)
    assert "Incomplete: 200 of 450 untracked are listed" in answer.text()
    assert len(answer.text()) < 8_000


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
