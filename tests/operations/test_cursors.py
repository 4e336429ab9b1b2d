"""Cursors: short, bound to their operation, good in other processes, and whatever else is sent is refused."""

import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.ids import RandomIds
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.cursors import Position, make_cursor, read_cursor
from codeplane.operations.perform import Door
from codeplane.operations.search_models import SearchRequest
from codeplane.workspace import kept_cursors
from codeplane.workspace.kept_cursors import KeptCursors
from codeplane.workspace.workspace import Workspace
from support.doors import call, error_of, open_test_workspace, result_of
from support.effort import examples

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just("bad\udcff"),
    lambda inner: st.lists(inner, max_size=4),
)
_STATES = st.dictionaries(st.text(max_size=9), _VALUES, max_size=6)
_LONGEST = 16
_REQUEST = SearchRequest(query="line_")
_SEARCH = {"query": "line_", "limit": 10}


def _code(workspace: Workspace, operation: str, cursor: str) -> str:
    with pytest.raises(CodePlaneError) as raised:
        read_cursor(workspace, operation, cursor)
    return raised.value.code


def _directory(workspace: Workspace) -> Path:
    return workspace.places.private / "cursors"


def test_a_cursor_gives_back_its_state_to_its_operation_only(workspace: Workspace) -> None:
    @given(state=_STATES)
    @examples(100)
    def check(state: dict[str, object]) -> None:
        cursor = make_cursor(workspace, "search", _REQUEST, state)
        assert read_cursor(workspace, "search", cursor) == ({"query": "line_"}, Position(state))
        assert cursor.isascii()
        assert cursor == make_cursor(workspace, "search", _REQUEST, state)
        assert len(cursor) <= _LONGEST
        with pytest.raises(CodePlaneError, match=r"made by search, not by git_log") as raised:
            read_cursor(workspace, "git_log", cursor)
        assert raised.value.code == "CURSOR_INVALID"

    check()


def test_a_cursor_is_short_whatever_it_stands_for(workspace: Workspace) -> None:
    state = {"rest": [["a" * 4_000, 1, 2, None, False, "f" * 64]] * 50}
    assert len(make_cursor(workspace, "read_source", _REQUEST, state)) <= _LONGEST


def test_a_cursor_is_never_a_number(workspace: Workspace) -> None:
    assert all(make_cursor(workspace, "search", _REQUEST, {"n": n})[0].isalpha() for n in range(50))


@pytest.mark.parametrize(
    "cursor",
    [
        "", "x", "not a cursor", "0" * 12, "0" * 1_000_000, "c" * 11, "c" * 13, "../../README", "c0123456789/",
        "C0123456789A", "c0123456789a\n", "c0123456789g", "\u00e4" * 12, "\x00",
    ],
    ids=str.__len__,
)  # fmt: skip
def test_what_is_no_cursor_is_refused(workspace: Workspace, cursor: str) -> None:
    assert _code(workspace, "search", cursor) == "CURSOR_INVALID"


def test_a_cursor_that_is_not_kept_has_expired(door: Door) -> None:
    answer = call(door, "search", {**_SEARCH, "cursor": "c0123456789a"})
    assert error_of(answer) == "CURSOR_EXPIRED"
    assert answer.error is not None
    assert "without a cursor" in (answer.error.required_action or "")


@pytest.mark.parametrize("text", ["", "[", "1", '["search"]', '["search",1]', "[" * 100_000], ids=range(6))
def test_a_file_that_somebody_made_up_is_refused(workspace: Workspace, text: str) -> None:
    cursor = f"c{sha256_text(text)[:11]}"
    _directory(workspace).mkdir()
    (_directory(workspace) / cursor).write_text(text)
    assert _code(workspace, "search", cursor) == "CURSOR_INVALID"


def test_a_damaged_file_is_not_believed(workspace: Workspace) -> None:
    cursor = make_cursor(workspace, "search", _REQUEST, {"first": 5})
    path = _directory(workspace) / cursor
    for damaged in (b"", path.read_bytes()[:-3], json.dumps(["search", {"first": 6}]).encode(), b"\xff\xfe"):
        path.write_bytes(damaged)
        assert _code(workspace, "search", cursor) == "CURSOR_EXPIRED"


def test_a_cursor_outlives_its_server(repo: Path) -> None:
    with open_test_workspace(repo, ids=RandomIds()) as first:
        page = result_of(call(Door(first, OPERATIONS), "search", _SEARCH))
    arguments = {**_SEARCH, "cursor": page["pagination"]["next_cursor"]}
    with open_test_workspace(repo, ids=RandomIds()) as second:
        found = result_of(call(Door(second, OPERATIONS), "search", arguments))["results"]
    assert [hit["line"] for hit in found] == list(range(11, 21))


def test_another_process_goes_on_where_this_one_stopped(door: Door) -> None:
    page = result_of(call(door, "search", _SEARCH))["pagination"]
    command = [
        sys.executable, "-m", "codeplane", "search", "line_", "--limit", "10", "--json",
        "--repo", str(door.workspace.root), "--cursor", page["next_cursor"],
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    second = json.loads(done.stdout)["result"]
    assert [hit["line"] for hit in second["results"]] == list(range(11, 21))
    # And this process goes on where that one stopped.
    third = result_of(call(door, "search", {**_SEARCH, "cursor": second["pagination"]["next_cursor"]}))
    assert [hit["line"] for hit in third["results"]] == list(range(21, 31))


def test_the_newest_are_kept(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_cursors, "_KEPT", 20)
    monkeypatch.setattr(kept_cursors, "_BETWEEN_TRIMS", 5)
    made = [make_cursor(workspace, "search", _REQUEST, {"n": n}) for n in range(60)]
    for number, cursor in enumerate(made):
        path = _directory(workspace) / cursor
        if path.exists():
            os.utime(path, (number, number))
    other = _directory(workspace) / "not ours"
    other.write_text("x")
    newest = [make_cursor(workspace, "search", _REQUEST, {"m": n}) for n in range(11)]
    assert len(list(_directory(workspace).iterdir())) <= 20 + 5 + 1
    assert all(read_cursor(workspace, "search", cursor) for cursor in newest)
    assert _code(workspace, "search", made[0]) == "CURSOR_EXPIRED"
    assert other.exists()


def _raise_full(*_: object, **__: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("kind", ["full", "no directory"])
def test_a_disk_that_takes_nothing_costs_no_answer(door: Door, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    if kind == "full":
        monkeypatch.setattr(Path, "write_text", _raise_full)
    else:
        _directory(door.workspace).write_text("in the way")
    arguments: dict[str, object] = dict(_SEARCH)
    lines = []
    while True:
        page = result_of(call(door, "search", arguments))
        lines += [hit["line"] for hit in page["results"]]
        if "next_cursor" not in page["pagination"]:
            break
        arguments["cursor"] = page["pagination"]["next_cursor"]
    assert lines == list(range(1, 31))


def test_memory_holds_no_more_than_the_disk_would(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_cursors, "_KEPT", 20)
    kept = KeptCursors(tmp_path / "nowhere" / "cursors")
    ids = [kept.keep(f"text {number}") for number in range(30)]
    assert [kept.find(one) for one in ids] == [None] * 10 + [f"text {number}" for number in range(10, 30)]


def test_several_threads_keep_the_same_and_different_states(workspace: Workspace) -> None:
    wrong: list[object] = []

    def work(number: int) -> None:
        for n in range(40):
            for state in ({"n": n}, {"n": n, "thread": number}):
                cursor = make_cursor(workspace, "search", _REQUEST, state)
                if read_cursor(workspace, "search", cursor)[1] != Position(state):
                    wrong.append(state)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(list(_directory(workspace).iterdir())) == 40 + 4 * 40
