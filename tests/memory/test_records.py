"""How memories live: by time, by people, and all or nothing."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.core.clock import ManualClock, iso_from_ms
from codeplane.core.errors import CodePlaneError
from codeplane.memory import records
from codeplane.memory.records import (
    COMMANDS,
    HOUR_MS,
    Life,
    NewRecord,
    active_memories,
    add_record,
    command,
    due_steps,
    promote,
    row_of,
)
from codeplane.memory.settings import FrictionSettings
from codeplane.memory.store import MemoryStore, Writing

SETTINGS = FrictionSettings()
WINDOW = 48 * HOUR_MS
# Where a memory that is pending since 0 is after that time, by its type.
AFTER_TIME = {
    "informational": {WINDOW - 1: "pending", WINDOW: "provisional", 2 * WINDOW: "approved", 9 * WINDOW: "approved"},
    "strategy_signal": {WINDOW - 1: "pending", WINDOW: "provisional", 2 * WINDOW: "approved"},
    "few_shot": {WINDOW - 1: "pending", WINDOW: "provisional", 2 * WINDOW - 1: "provisional", 2 * WINDOW: "expired"},
    "plan_rule": {WINDOW: "pending", 9 * WINDOW: "pending"},
}  # fmt: skip
AFTER_PROVISIONAL = {
    "informational": "approved",
    "strategy_signal": "approved",
    "few_shot": "expired",
    "plan_rule": "expired",
}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(tmp_path: Path, clock: ManualClock) -> Iterator[MemoryStore]:
    opened = MemoryStore(tmp_path / "memory.db", clock, None)
    yield opened
    opened.close()


def _add(store: MemoryStore, kind: str = "informational", **values: object) -> str:
    with store.write() as writing:
        record = NewRecord(kind, **{"note": "Take care.", **values})  # type: ignore[arg-type]  # test shorthand
        return add_record(writing, record, "test", "test")


def _promote(store: MemoryStore, clock: ManualClock) -> dict[str, list[str]]:
    with store.write() as writing:
        return promote(writing, SETTINGS, clock.now_ms()).changed


def _command(store: MemoryStore, name: str, memory_id: str) -> str:
    with store.write() as writing:
        return command(writing, name, memory_id, "person")


def _row(store: MemoryStore, memory_id: str) -> sqlite3.Row:
    with store.read() as connection:
        return row_of(connection, memory_id)


@pytest.mark.parametrize(
    ("kind", "now_ms", "expected"), [(kind, at, to) for kind, rows in AFTER_TIME.items() for at, to in rows.items()]
)
def test_time_takes_a_pending_memory_as_far_as_its_type_allows(kind: str, now_ms: int, expected: str) -> None:
    steps = list(due_steps(Life(kind, "pending", 0), SETTINGS, now_ms))
    assert (steps[-1].state if steps else "pending") == expected


@pytest.mark.parametrize(("kind", "expected"), AFTER_PROVISIONAL.items())
def test_a_provisional_memory_ends_exactly_at_its_limit(kind: str, expected: str) -> None:
    life = Life(kind, "provisional", 0)
    assert list(due_steps(life, SETTINGS, WINDOW - 1)) == []
    assert [step.state for step in due_steps(life, SETTINGS, WINDOW)] == [expected]


@pytest.mark.parametrize("kind", AFTER_TIME)
@pytest.mark.parametrize("life", ["contested", "not accepted"])
def test_a_contested_or_unaccepted_memory_waits_for_ever(kind: str, life: str) -> None:
    waiting = Life(kind, "pending", 0, is_contested=life == "contested", is_accepted=life != "not accepted")
    assert list(due_steps(waiting, SETTINGS, 1000 * WINDOW)) == []


@pytest.mark.parametrize("state", ["approved", "rejected", "expired"])
def test_time_does_not_change_what_is_decided(state: str) -> None:
    assert list(due_steps(Life("informational", state, 0), SETTINGS, 1000 * WINDOW)) == []


def test_two_windows_that_passed_at_once_are_two_steps_at_their_own_times(
    store: MemoryStore, clock: ManualClock
) -> None:
    memory_id, created = _add(store), clock.now_ms()
    clock.advance(1000 * 3600)
    assert _promote(store, clock) == {"provisional": [memory_id], "approved": [memory_id]}
    with store.read() as connection:
        log = connection.execute("SELECT ts, from_state, to_state, changed_by FROM memory_changelog").fetchall()
    assert [tuple(row) for row in log[1:]] == [
        (iso_from_ms(created + WINDOW), "pending", "provisional", "time"),
        (iso_from_ms(created + 2 * WINDOW), "provisional", "approved", "time"),
    ]
    assert _promote(store, clock) == {}


def test_a_clock_that_runs_backwards_promotes_nothing(store: MemoryStore, clock: ManualClock) -> None:
    memory_id = _add(store)
    clock.advance(-1000 * 3600)
    assert _promote(store, clock) == {}
    clock.advance(1048 * 3600)
    assert _promote(store, clock) == {"provisional": [memory_id]}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("state", ["pending", "provisional", "approved", "rejected", "expired"])
def test_people_decide_only_where_the_life_cycle_has_that_step(store: MemoryStore, name: str, state: str) -> None:
    memory_id = _add(store, state=state)
    states, expected = COMMANDS[name]
    if state in states:
        assert _command(store, name, memory_id) == expected
        assert _row(store, memory_id)["state"] == expected
    else:
        with pytest.raises(CodePlaneError, match=f"{memory_id} is {state}"):
            _command(store, name, memory_id)
        assert _row(store, memory_id)["state"] == state


def test_a_plan_rule_that_a_person_made_provisional_expires(store: MemoryStore, clock: ManualClock) -> None:
    memory_id = _add(store, "plan_rule", plan_rule={"condition": "plan"})
    clock.advance(500 * 3600)
    assert _promote(store, clock) == {}
    _command(store, "provisional", memory_id)
    clock.advance(48 * 3600)
    assert _promote(store, clock) == {"expired": [memory_id]}


def test_a_retired_memory_says_so(store: MemoryStore) -> None:
    memory_id = _add(store, state="approved")
    _command(store, "retire", memory_id)
    row = _row(store, memory_id)
    assert (row["state"], row["note"]) == ("expired", "retired: Take care.")


def test_a_contested_memory_is_not_enforced_until_a_person_approves(store: MemoryStore, clock: ManualClock) -> None:
    memory_id = _add(store)
    _command(store, "contest", memory_id)
    clock.advance(1000 * 3600)
    assert _promote(store, clock) == {}
    _command(store, "approve", memory_id)
    assert _row(store, memory_id)["contested_by"] is None


def test_an_exception_in_the_middle_of_promotion_leaves_nothing(
    store: MemoryStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [_add(store) for _ in range(3)]
    clock.advance(48 * 3600)
    move, taken = records._move, []

    def fails_at_the_third(writing: Writing, row: sqlite3.Row, to_state: str, **changes: object) -> None:
        taken.append(row["id"])
        if len(taken) == 3:
            raise OSError
        move(writing, row, to_state, **changes)

    monkeypatch.setattr(records, "_move", fails_at_the_third)
    with pytest.raises(OSError), store.write() as writing:  # noqa: PT011 - any would do.
        promote(writing, SETTINGS, clock.now_ms())
    assert {_row(store, one)["state"] for one in ids} == {"pending"}
    with store.read() as connection:
        assert connection.execute("SELECT COUNT(*) FROM memory_changelog").fetchone()[0] == 3


def test_the_deepest_then_newest_memories_are_shown_and_at_most_three_few_shots(
    store: MemoryStore, clock: ManualClock
) -> None:
    _add(store, state="approved")
    for folder in ("src", "src", "src/app", "src/app", "docs"):
        clock.advance(1)
        shot = {"before": "a", "after": "b"}
        _add(store, "few_shot", state="approved", domain_anchor_ids=(f"anchor:{folder}",), few_shot=shot)
    _add(store, domain_anchor_ids=("anchor:src",))
    _add(store, "plan_rule", state="approved")
    with store.read() as connection:
        found = active_memories(connection, ["src/app/x.py"], SETTINGS)
        without_files = active_memories(connection, [], SETTINGS)
        off = active_memories(connection, ["src/app/x.py"], FrictionSettings(enable_few_shot_injection=False))
    assert [one["id"] for one in found] == ["mem-5", "mem-4", "mem-3", "mem-1"]
    assert [one["id"] for one in without_files] == [one["id"] for one in off] == ["mem-1"]
