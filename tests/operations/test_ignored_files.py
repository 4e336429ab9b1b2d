"""Files that git ignores are indexed, left out of search, counted, and searched when asked for."""

from pathlib import Path

import pytest

from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, open_test_workspace, result_of
from support.repositories import make_repository, write


@pytest.fixture
def door(tmp_path: Path) -> Door:
    root = make_repository(
        tmp_path / "r", {"app.py": "def needle():\n    pass\n", ".gitignore": "generated/\n*.local.py\n"}
    )
    write(
        root,
        {
            "generated/out.py": "from app import needle\nneedle()\ndef made(): pass\n",
            "notes.local.py": "needle\n",
            "new.py": "from app import needle\n",
        },
    )
    return Door(open_test_workspace(root), OPERATIONS)


def paths(door: Door, **arguments: object) -> tuple[set[str], int]:
    found = result_of(call(door, "search", dict(arguments)))
    return {hit["path"] for hit in found["results"]}, found["ignored_files"]


@pytest.mark.parametrize("mode", ["lexical", "references"])
def test_ignored_files_are_left_out_of_search_and_counted(door: Door, mode: str) -> None:
    assert paths(door, query="needle", mode=mode) in (({"app.py", "new.py"}, 2), ({"new.py"}, 2))
    assert "2 files ignored by git" in call(door, "search", {"query": "needle", "mode": mode}).text()


@pytest.mark.parametrize("mode", ["symbol", "definitions"])
def test_ignored_definitions_are_left_out_and_found_when_asked_for(door: Door, mode: str) -> None:
    assert paths(door, query="made", mode=mode) == (set(), 2)
    assert paths(door, query="made", mode=mode, include_ignored=True) == ({"generated/out.py"}, 0)


def test_ignored_files_are_searched_when_asked_for(door: Door) -> None:
    everything = {"app.py", "new.py", "generated/out.py", "notes.local.py"}
    assert paths(door, query="needle", include_ignored=True) == (everything, 0)
    found, _ = paths(door, query="needle", mode="references", include_ignored=True)
    assert "generated/out.py" in found


def test_the_trace_is_searched_only_when_it_is_asked_for(door: Door) -> None:
    trace = ".orchestration/agent_trace.jsonl"
    write(door.workspace.root, {trace: '{"symbol": "needle"}\n'})
    assert trace not in paths(door, query="needle")[0]
    assert paths(door, query="needle", scope={"paths": [trace]}) == ({trace}, 0)
    assert trace in paths(door, query="needle", include_ignored=True)[0]


def test_only_ignored_files_in_scope_are_counted(door: Door) -> None:
    assert paths(door, query="needle", scope={"paths": ["generated/"]}) == (set(), 1)
    assert paths(door, query="needle", scope={"paths": ["/app.py"]}) == ({"app.py"}, 0)


def test_a_file_that_stops_being_ignored_is_searched(door: Door) -> None:
    assert paths(door, query="needle")[1] == 2
    write(door.workspace.root, {".gitignore": "generated/\n"})
    assert paths(door, query="needle") == ({"app.py", "new.py", "notes.local.py"}, 1)


def test_the_private_exclude_file_of_git_counts_too(door: Door) -> None:
    assert paths(door, query="needle")[1] == 2
    exclude = door.workspace.root / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("new.py\n")
    assert paths(door, query="needle") == ({"app.py"}, 3)
