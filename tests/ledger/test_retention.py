"""Retention: old rows go, a sealed record stands for them, and what must stay stays."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from codeplane.core.clock import ManualClock
from codeplane.ledger.chain import EventChain, LedgerRow, NewEvent, RowFilter
from codeplane.ledger.checkpoint import read_checkpoint
from codeplane.ledger.retention import Retirement, retire_rows
from codeplane.ledger.seals import AnchorState
from codeplane.ledger.tasks import RetentionSettings
from support.ledgers import LedgerPlace, event, fill, opened, verified

DAY = 24 * 3600.0


@pytest.fixture
def place(tmp_path: Path) -> LedgerPlace:
    return LedgerPlace(tmp_path)


def _nothing(_row: LedgerRow) -> bool:
    return False


def _retire(
    place: LedgerPlace,
    clock: ManualClock,
    rule: RetentionSettings | None = None,
    must_keep: Callable[[LedgerRow], bool] = _nothing,
) -> Retirement | None:
    with opened(place, clock) as chain:
        return retire_rows(chain, rule or RetentionSettings(tasks=0), clock, must_keep)


def _numbers(place: LedgerPlace) -> list[int]:
    with opened(place) as chain:
        return [row.seq for row in reversed(chain.rows(RowFilter(limit=10_000)))]


def _daily(place: LedgerPlace, clock: ManualClock, n_days: int, task: str | None = None) -> None:
    """Append a row a day."""
    with opened(place, clock) as chain:
        for number in range(n_days):
            chain.append(event(number, task_id=f"{task}-{number}" if task else None))
            clock.advance(DAY)


def test_rows_of_more_than_fourteen_days_go_and_the_chain_still_holds(place: LedgerPlace, clock: ManualClock) -> None:
    _daily(place, clock, 20)
    assert _retire(place, clock) == Retirement(6, 6, 0)
    found = verified(place)
    assert (found.first_bad_seq, found.rows, found.anchor) == (None, 15, AnchorState.SEALED)
    assert found.notes[0].startswith("Rows 1 to 6 were retired at 2023-12-04T22:13:20.000Z, signed")
    assert _numbers(place) == list(range(7, 22))


def test_the_newest_tasks_keep_rows_that_are_older_than_the_days(place: LedgerPlace, clock: ManualClock) -> None:
    _daily(place, clock, 40, "task")
    assert _retire(place, clock, RetentionSettings(tasks=30)) == Retirement(10, 10, 0)
    assert _retire(place, clock, RetentionSettings(tasks=30)) is None


def test_fewer_tasks_than_are_kept_keep_everything_from_the_first_on(place: LedgerPlace, clock: ManualClock) -> None:
    _daily(place, clock, 3)
    _daily(place, clock, 30, "task")
    assert _retire(place, clock, RetentionSettings()) == Retirement(3, 3, 0)


def test_young_rows_stay_however_many_tasks_there_are(place: LedgerPlace, clock: ManualClock) -> None:
    with opened(place, clock) as chain:
        chain.append(*(event(number, task_id=f"task-{number}") for number in range(30)))
    assert _retire(place, clock, RetentionSettings(tasks=5)) is None


def test_the_newest_row_stays_whatever_its_age(place: LedgerPlace, clock: ManualClock) -> None:
    fill(place, 3, clock)
    clock.advance(100 * DAY)
    assert _retire(place, clock) == Retirement(2, 2, 0)
    assert _numbers(place) == [3, 4]
    with opened(place, clock) as chain:
        assert chain.append(event(9))[0].seq == 5
    assert verified(place).first_bad_seq is None


def test_what_must_be_kept_is_kept_with_its_number_until_it_need_not_be(place: LedgerPlace, clock: ManualClock) -> None:
    fill(place, 8, clock)
    clock.advance(100 * DAY)
    assert _retire(place, clock, RetentionSettings(tasks=0, batch=6), lambda row: row.seq in {2, 5}) == Retirement(
        6, 4, 2
    )
    assert _numbers(place) == [2, 5, 7, 8, 9]
    assert verified(place).first_bad_seq is None
    clock.advance(100 * DAY)
    assert _retire(place, clock, must_keep=lambda row: row.seq == 5) == Retirement(8, 3, 1)
    assert _numbers(place) == [5, 9, 10]
    found = verified(place)
    assert (found.first_bad_seq, found.retired.rows if found.retired else None) == (None, 7)


def _append(chain: EventChain, kind: str, **named: object) -> None:
    body = {"index_epoch": named["epoch"]} if "epoch" in named else {}
    chain.append(NewEvent(kind, "s-1", body, task_id=str(named["task"]) if "task" in named else None))


def test_what_is_not_over_is_kept(place: LedgerPlace, clock: ManualClock) -> None:
    with opened(place, clock) as chain:
        chain.begin_call(NewEvent("begun", "s-1", {}, "call-1"), "own-1")
        chain.begin_call(NewEvent("begun", "s-1", {}, "call-2"), "own-1")
        chain.end_call(NewEvent("finished", "s-1", {}, "call-2"))
        _append(chain, "task_opened", task="t-1")
        _append(chain, "task_opened", task="t-2")
        _append(chain, "task_closed", task="t-2")
        _append(chain, "finished", epoch=7)
        _append(chain, "finished", epoch=9)
        _append(chain, "finished", epoch=8)
        _append(chain, "finished")
    clock.advance(100 * DAY)
    # The newest begun row holds the account of the working tree, the closed task may have changed it since.
    assert _retire(place, clock) == Retirement(9, 4, 5)
    assert _numbers(place) == [1, 2, 4, 6, 8, 10, 11]
    with opened(place, clock) as chain:
        assert [call.call_id for call in chain.open_calls()] == ["call-1"]
        assert chain.last_index_epoch("main") == 9
        assert chain.end_call(NewEvent("finished", "s-1", {}, "call-1")) is not None
    assert verified(place).first_bad_seq is None


def test_a_clock_that_ran_backwards_retires_no_young_row(place: LedgerPlace, clock: ManualClock) -> None:
    with opened(place, clock) as chain:
        chain.append(event(1))
        clock.advance(100 * DAY)
        chain.append(event(2))
        clock.advance(-100 * DAY)
        chain.append(event(3))
        clock.advance(100 * DAY)
        chain.append(event(4))
    assert _retire(place, clock) == Retirement(1, 1, 0)


def test_one_round_is_bounded_and_rounds_add_up(place: LedgerPlace, clock: ManualClock) -> None:
    fill(place, 25, clock)
    clock.advance(100 * DAY)
    rounds = [_retire(place, clock, RetentionSettings(tasks=0, batch=10)) for _ in range(4)]
    assert [one.retired_to if one else None for one in rounds] == [10, 20, 25, None]
    found = verified(place)
    assert (found.first_bad_seq, found.retired.rows if found.retired else None) == (None, 25)


def test_the_digest_is_over_all_retired_rows_in_order(place: LedgerPlace, clock: ManualClock) -> None:
    fill(place, 12, clock)
    clock.advance(100 * DAY)

    def digest_after(batches: tuple[int, ...]) -> str:
        before = place.files()
        for batch in batches:
            _retire(place, clock, RetentionSettings(tasks=0, batch=batch))
        with closing(sqlite3.connect(place.ledger)) as connection:
            stored = read_checkpoint(connection)
        place.restore(before)
        assert stored is not None
        assert stored.checkpoint is not None
        assert stored.checkpoint.retired_to == sum(batches)
        return stored.checkpoint.digest

    assert digest_after((4,)) == digest_after((4,))
    assert digest_after((4,)) != digest_after((5,))


def test_without_a_key_nothing_is_retired(place: LedgerPlace, clock: ManualClock) -> None:
    place.root.mkdir(exist_ok=True)
    place.state.write_text("no directory", encoding="utf-8")
    fill(place, 5, clock)
    clock.advance(100 * DAY)
    assert _retire(place, clock) is None
    assert _numbers(place) == [1, 2, 3, 4, 5]


def test_a_retirement_that_fails_changes_nothing(place: LedgerPlace, clock: ManualClock) -> None:
    fill(place, 5, clock)
    clock.advance(100 * DAY)

    def broken(_row: LedgerRow) -> bool:
        raise LookupError("the predicate broke")

    with pytest.raises(LookupError):
        _retire(place, clock, must_keep=broken)
    found = verified(place)
    assert (found.first_bad_seq, found.rows, found.retired) == (None, 5, None)


def test_a_checkpoint_of_a_lost_key_is_taken_over_and_said_to_be(place: LedgerPlace, clock: ManualClock) -> None:
    fill(place, 5, clock)
    clock.advance(100 * DAY)
    _retire(place, clock)
    for path in place.anchor_directory.iterdir():
        path.unlink()
    assert "cannot be checked" in verified(place).notes[0]
    fill(place, 1, clock, start=9)
    found = verified(place)
    assert (found.first_bad_seq, found.anchor) == (None, AnchorState.SEALED)
    assert "signed again after the key was lost" in found.notes[0]


def test_an_alarm_outlives_the_rows_around_it(place: LedgerPlace, clock: ManualClock) -> None:
    fill(place, 5, clock)
    place.change("DELETE FROM events WHERE seq > 3")
    fill(place, 2, clock, start=9)
    before = verified(place)
    assert before.first_bad_seq == 4
    clock.advance(100 * DAY)
    assert _retire(place, clock) == Retirement(5, 4, 1)
    after = verified(place)
    assert (after.first_bad_seq, after.problem) == (4, before.problem)
