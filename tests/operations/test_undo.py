"""Taking back through the door."""

from pathlib import Path
from typing import Any

import pytest

from codeplane.core.hashing import sha256_text
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, error_of, open_test_workspace, result_of
from support.repositories import write


@pytest.fixture
def door(repo: Path) -> Door:
    """Return the door of a repository with one file."""
    write(repo, {"a.py": "ONE = 1\nTWO = 2\nTHREE = 3\nFOUR = 4\n"})
    return Door(open_test_workspace(repo), OPERATIONS)


def change(door: Door, old: str, new: str, connection: str = "c1") -> str:
    """Replace a text in the file; return the operation."""
    edit = {"path": "a.py", "expected_content": old, "new_content": new}
    answer = call(door, "write_source", {"edits": [edit]}, connection)
    return str(result_of(answer)["delta"]["mutation_id"])


def undo(door: Door, **arguments: Any) -> dict[str, Any]:
    """Take something back."""
    return result_of(call(door, "undo", arguments))


def text(door: Door) -> str:
    """Return the file."""
    return (door.workspace.root / "a.py").read_text()


def test_an_operation_is_taken_back_and_brought_back(door: Door) -> None:
    before = text(door)
    operation = change(door, "TWO = 2", "TWO = 22")
    found = undo(door, operation=operation)
    assert text(door) == before
    assert (found["applied"], found["undone"], found["files"][0]["action"]) == (True, [operation], "restored")
    undo(door, operation=found["mutation_id"])
    assert "TWO = 22" in text(door)
    # After the undo was undone the operation stands again, and can be taken back again.
    undo(door, operation=operation)
    assert text(door) == before


def test_a_preview_changes_nothing(door: Door) -> None:
    operation = change(door, "TWO = 2", "TWO = 22")
    found = undo(door, operation=operation, dry_run=True)
    assert (found["applied"], found["dry_run"]) == (False, True)
    assert "TWO = 22" in text(door)


def test_nothing_is_undone_twice(door: Door) -> None:
    operation = change(door, "TWO = 2", "TWO = 22")
    undo(door, operation=operation)
    answer = call(door, "undo", {"operation": operation})
    assert error_of(answer) == "NOTHING_TO_UNDO"
    for unknown in ("req_unknown", "../../../etc/passwd", "a\0b", "x" * 5000, ""):
        assert error_of(call(door, "undo", {"operation": unknown})) in {"NOTHING_TO_UNDO", "INVALID_ARGUMENTS"}


def test_later_work_in_the_same_file_stays(door: Door) -> None:
    operation = change(door, "ONE = 1", "ONE = 11")
    change(door, "FOUR = 4", "FOUR = 44")
    assert undo(door, operation=operation)["files"][0]["action"] == "merged"
    assert text(door) == "ONE = 1\nTWO = 2\nTHREE = 3\nFOUR = 44\n"


def test_what_was_changed_again_is_shown_and_not_touched(door: Door) -> None:
    operation = change(door, "TWO = 2", "TWO = 22")
    change(door, "TWO = 22", "TWO = 222")
    answer = call(door, "undo", {"operation": operation})
    assert error_of(answer) == "UNDO_CONFLICT"
    assert answer.error is not None
    lines = answer.error.details["conflicts"][0]["lines"][0]
    assert (lines["now"], lines["undone"]) == ("TWO = 222\n", "TWO = 2\n")
    assert "TWO = 222" in text(door)


def test_a_session_is_taken_back_as_a_whole_and_leaves_the_others(door: Door) -> None:
    change(door, "ONE = 1", "ONE = 11", "c1")
    change(door, "FOUR = 4", "FOUR = 44", "c2")
    change(door, "ONE = 11", "ONE = 111", "c1")
    candidates = undo(door)["candidates"]
    assert [one["name"] for one in candidates] == ["write_source"] * 3
    assert undo(door, session=candidates[0]["session"])["files"][0]["action"] == "merged"
    assert text(door) == "ONE = 1\nTWO = 2\nTHREE = 3\nFOUR = 44\n"


def test_a_session_that_undid_something_is_taken_back_to_where_it_began(door: Door) -> None:
    before = text(door)
    first = change(door, "ONE = 1", "ONE = 11")
    change(door, "FOUR = 4", "FOUR = 44")
    redo = undo(door, operation=undo(door, operation=first)["mutation_id"])
    undo(door, operation=redo["mutation_id"])
    assert text(door) == "ONE = 1\nTWO = 2\nTHREE = 3\nFOUR = 44\n"
    undo(door, session=undo(door)["candidates"][0]["session"])
    assert text(door) == before


def test_files_that_were_made_go_and_files_that_were_deleted_come_back(door: Door) -> None:
    edits = [{"path": "d/new.py", "action": "create", "content": "x\n"}, {"path": "a.py", "action": "delete"}]
    operation = result_of(call(door, "write_source", {"edits": edits}))["delta"]["mutation_id"]
    actions = {one["path"]: one["action"] for one in undo(door, operation=operation)["files"]}
    assert actions == {"d/new.py": "removed", "a.py": "recreated"}
    assert text(door).startswith("ONE = 1\n")
    assert not (door.workspace.root / "d").exists()


def test_one_target_is_enough(door: Door) -> None:
    assert error_of(call(door, "undo", {"operation": "a", "task": "b"})) == "INVALID_ARGUMENTS"


def test_what_undo_takes_of_the_disk_stays_bounded_while_a_server_runs(repo: Path) -> None:
    with open_test_workspace(repo, overrides=("edits.undo_bytes=1000000",)) as workspace:
        door = Door(workspace, OPERATIONS)
        for number in range(45):
            content = "".join(f"{sha256_text(f'{number} {line}')}\n" for line in range(2_000))
            edit = {"path": f"f{number}.txt", "action": "create", "content": content}
            newest = result_of(call(door, "write_source", {"edits": [edit]}))["delta"]["mutation_id"]
        records = workspace.editor.records
        assert 0 < records.n_done() < 25
        assert records.find(newest) is not None
        assert result_of(call(door, "undo", {"operation": newest}))["applied"]
