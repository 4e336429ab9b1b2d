"""What every agent does, signs that one makes no progress, and what one call changed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from codeplane.core.callers import DASHBOARD, Caller, CallerKind
from codeplane.core.clock import ManualClock
from codeplane.core.hashing import sha256_text
from codeplane.core.ids import RandomIds
from codeplane.ledger.chain import RowFilter
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace
from support.doors import call, error_of, result_of
from support.toys import TOY_EDIT, TOY_TEST, toy_doing

VISITOR = Caller(CallerKind.PERSON, DASHBOARD, "dashboard:1", "dashboard", proof="dashboard login 1")


@pytest.fixture
def door(workspace: Workspace) -> Door:
    """Return a door with toys."""
    return Door(workspace, {**OPERATIONS, "toy_edit": TOY_EDIT, "toy_test": TOY_TEST})


def _activity(door: Door, **arguments: Any) -> dict[str, Any]:
    return result_of(call(door, "show_activity", arguments, by=VISITOR))


def _signals(door: Door) -> list[str]:
    session = _activity(door)["sessions"][0]["session"]
    return [one["text"].replace(session, "S") for one in _activity(door)["signals"]]


def _write(door: Door, text: str, path: str = "a.txt") -> None:
    call(door, "toy_edit", {"path": path, "content": text})


def _fail(door: Door, test: str = "test_it") -> None:
    call(door, "toy_test", {"failing": [f"tests/test_a.py::{test}"]})


def _never_twice(door: Door, _clock: ManualClock) -> None:
    for number in range(8):
        _write(door, f"{number}")
        _fail(door) if number == 0 else call(door, "toy_test", {})


def _to_and_fro(door: Door, _clock: ManualClock) -> None:
    for number in range(6):
        _write(door, f"{number % 2}")


def _same_failure(door: Door, _clock: ManualClock) -> None:
    for number in range(3):
        _fail(door)
        for more in range(2):
            _write(door, f"{number} {more}")
    _fail(door)


def _two_failures(door: Door, _clock: ManualClock) -> None:
    for number in range(2):
        _fail(door)
        _fail(door, "test_that")
        _write(door, f"{number}")


def _failure_without_a_change(door: Door, _clock: ManualClock) -> None:
    for _ in range(3):
        _fail(door)


def _refusals(door: Door, _clock: ManualClock) -> None:
    for number in range(4):
        call(door, "read_source", {"targets": [f"none/{number}"]})


def _refusals_with_a_success(door: Door, clock: ManualClock) -> None:
    _refusals(door, clock)
    call(door, "read_source", {"targets": ["README.md"]})


def _burst(door: Door, clock: ManualClock) -> None:
    for _ in range(25):
        call(door, "read_source", {"targets": ["README.md"]})
        clock.advance(2)
    clock.advance(12 * 60)


def _slow_work(door: Door, clock: ManualClock) -> None:
    for _ in range(25):
        call(door, "read_source", {"targets": ["README.md"]})
        clock.advance(30)
    clock.advance(12 * 60)


def _most_of_a_budget(door: Door, _clock: ManualClock) -> None:
    label = call(door, "describe", {}).meta.session
    call(door, "open_task", {"session": label, "max_mutations": 10})
    for number in range(9):
        _write(door, f"{number}")


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (_never_twice, []),
        (_to_and_fro, ["S changed a.txt to the same content three times"]),
        (_same_failure, ["S has had the same failure four times: it came back after 6 changes"]),
        (_two_failures, ["S has had the same failure twice: it came back after 1 change"]),
        (_failure_without_a_change, []),
        (_refusals, ["S got FILE_NOT_FOUND from read_source four times in a row"]),
        (_refusals_with_a_success, []),
        (_burst, ["S has made no call for 12 minutes after 25 calls in two minutes"]),
        (_slow_work, []),
        (_most_of_a_budget, ["90 % of the mutation budget of S is used"]),
    ],
    ids=lambda one: one.__name__.strip("_") if callable(one) else "",
)
def test_a_session_that_makes_no_progress_is_told(
    door: Door, clock: ManualClock, work: Callable[[Door, ManualClock], None], expected: list[str]
) -> None:
    work(door, clock)

    assert _signals(door) == expected


def test_a_session_is_told_with_its_task_and_what_it_did(door: Door, clock: ManualClock) -> None:
    _write(door, "1")
    clock.advance(61)
    call(door, "read_source", {"targets": ["none"]})

    activity = _activity(door)

    (one,) = activity["sessions"]
    assert (one["client"], one["calls"], one["changes"], one["failures"]) == ("pytest", 2, 1, 1)
    assert (one["task"]["counters"]["mutation_count"], one["last_operation"]) == (1, "read_source")
    assert activity["per_minute"][-2:] == [1, 1]


def test_people_and_old_calls_are_left_out(door: Door, clock: ManualClock) -> None:
    call(door, "describe", {}, by=replace(VISITOR, surface="cli"))
    call(door, "describe", {})
    clock.advance(3_601)

    assert _activity(door)["sessions"] == []


def test_what_a_visitor_reads_leaves_no_row_and_what_they_do_does(door: Door) -> None:
    _write(door, "1")
    edited = door.workspace.chain.rows(RowFilter(limit=1))[0]
    before = door.workspace.chain.last_seq()
    looks: dict[str, dict[str, Any]] = {
        "read_source": {"targets": ["README.md"]},
        "search": {"wrong": 1},
        "describe": {},
    }
    for name, arguments in looks.items():
        dispatch(door, name, arguments, VISITOR)
    dispatch(door, "toy_edit", {"path": "a.txt", "content": "2", "dry_run": True}, VISITOR)
    door.workspace.chain.flush()
    assert door.workspace.chain.last_seq() == before

    dispatch(door, "toy_edit", {"path": "a.txt", "content": "3"}, VISITOR)

    assert door.workspace.chain.rows(RowFilter(limit=1))[0].body["caller"] == "person"
    assert edited.body["caller"] == "agent"


def test_long_steps_are_on_record_and_short_ones_are_not(door: Door, clock: ManualClock) -> None:
    slow = toy_doing(lambda _context, _request: clock.advance(0.25))

    call(replace(door, operations={"toy": slow}), "toy", {"path": "a.txt"})

    (row,) = door.workspace.chain.rows(RowFilter(kinds=("finished",), operation="toy"))
    assert (row.body["duration_ms"], row.body["spans"]) == (250, [["work", 0, 250_000]])


def test_calls_are_counted_by_time_and_outcome(door: Door, clock: ManualClock) -> None:
    since = "2023-11-14T22:13:20Z"
    call(door, "read_source", {"targets": ["none"]})
    clock.advance(3_600)
    _write(door, "1")

    counts = result_of(call(door, "count_calls", {"since": since, "until": "2023-11-15T00:13:20Z", "parts": 2}))

    told = [{name: part[name] for name in ("failed", "finished", "changes")} for part in counts["parts"]]
    assert told == [{"failed": 1, "finished": 0, "changes": 0}, {"failed": 0, "finished": 1, "changes": 1}]


@pytest.mark.parametrize(
    "arguments",
    [{"since": "x"}, {"since": "2024-01-02", "until": "2024-01-01"}, {"since": "0001-01-01"}, {"until": "9999-12-31"}],
)
def test_a_span_that_is_none_is_refused(door: Door, arguments: dict[str, str]) -> None:
    assert error_of(call(door, "count_calls", arguments)) == "INVALID_ARGUMENTS"


def test_calls_are_found_by_path_and_by_change(door: Door) -> None:
    _write(door, "1", 'odd "name" ü.txt')
    call(door, "read_source", {"targets": ["README.md"]})

    by_path = result_of(call(door, "list_calls", {"path": 'odd "name" ü.txt'}))["results"]
    changes = result_of(call(door, "list_calls", {"only_changes": True}))["results"]

    assert [one["operation"] for one in by_path] == [one["operation"] for one in changes] == ["toy_edit"]


def test_a_change_is_shown_without_secrets_and_with_nothing_hidden(door: Door) -> None:
    hash_of = sha256_text("one\ntwo\nthree\n")
    edits = [
        {"path": "docs/guide.md", "content": "one\n2\u202e\nthree\n", "expected_file_sha256": hash_of},
        {"action": "create", "path": "docs/key.md", "content": "password = 'hunter2hunter2hunter2'\n"},
    ]
    answer = call(door, "write_source", {"edits": edits})

    found = result_of(call(door, "show_change", {"call": result_of(answer)["delta"]["mutation_id"]}))

    assert [one["path"] for one in found["files"]] == ["docs/guide.md", "docs/key.md"]
    assert "-two\n+2<U+202E>" in found["files"][0]["diff"]
    assert "hunter2" not in found["files"][1]["diff"]


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_file_that_a_rule_withholds_is_not_shown(door: Door, *, is_deleted: bool) -> None:
    answer = call(door, "write_source", {"edits": [{"action": "create", "path": "docs/plan.md", "content": "inner\n"}]})
    if is_deleted:
        (door.workspace.root / "docs/plan.md").unlink()
    (door.workspace.root / ".cplignore").write_text("docs/plan.md\n")

    found = result_of(call(door, "show_change", {"call": result_of(answer)["delta"]["mutation_id"]}))

    assert [(one["diff"], "docs/plan.md" in one["left_out"]) for one in found["files"]] == [("", True)]


def test_a_call_that_changed_nothing_has_no_diff(door: Door) -> None:
    found = result_of(call(door, "show_change", {"call": RandomIds().new("req")}))

    assert (found["files"], "changed no file" in found["left_out"]) == ([], True)
