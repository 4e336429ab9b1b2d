"""The event chain: rows are only appended, and whoever changes one is found."""

import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.errors import CodePlaneError
from codeplane.ledger.chain import (
    GROUP_SIZE,
    LEDGER_SCHEMA,
    EventChain,
    LedgerRow,
    NewEvent,
    RowFilter,
    open_ledger_database,
)
from codeplane.ledger.row_hash import GENESIS, HASHED_COLUMNS, row_hash
from codeplane.store.sqlite import Database
from support.children import run_children


@pytest.fixture
def chain(tmp_path: Path, clock: ManualClock) -> Iterator[EventChain]:
    database = Database(tmp_path / "ledger.db", LEDGER_SCHEMA, durable=False)
    yield EventChain(database, clock)
    database.close()


def _event(number: int = 1, kind: str = "finished", session: str = "s-1", call_id: str | None = None) -> NewEvent:
    return NewEvent(kind, session, {"n": number}, call_id, "toy", "task-1", "main")


def _fill(chain: EventChain, n_rows: int = 6) -> tuple[LedgerRow, ...]:
    return chain.append(*(_event(i, session=f"s-{i % 2}", call_id=f"call-{i}") for i in range(1, n_rows + 1)))


def _damage(chain: EventChain, statement: str, *values: object) -> None:
    """Change the file behind the chain's back, as another program would."""
    connection = sqlite3.connect(chain.database.path)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def _bodies(rows: tuple[LedgerRow, ...]) -> list[int]:
    return [row.body["n"] for row in rows]


def test_an_empty_chain_holds(chain: EventChain) -> None:
    found = chain.verify()
    assert (found.rows, found.head, found.first_bad_seq) == (0, GENESIS, None)


def test_each_row_names_the_hash_of_the_row_before(chain: EventChain) -> None:
    rows = _fill(chain)
    assert [row.prev_hash for row in rows] == [GENESIS, *(row.hash for row in rows[:-1])]
    assert [row.seq for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row.session_seq for row in rows] == [1, 1, 2, 2, 3, 3]


def test_a_chain_that_nobody_touched_holds(chain: EventChain) -> None:
    rows = _fill(chain)
    found = chain.verify()
    assert (found.rows, found.head, found.first_bad_seq, found.problem) == (6, rows[-1].hash, None, "")


_CHANGES: dict[str, object] = {
    "seq": 40,
    "kind": "failed",
    "call_id": None,
    "operation": "other",
    "session": "s-9",
    "session_seq": 9,
    "task_id": "",
    "worktree": "linked",
    "ts_ms": 1,
    "body": '{"n":99}',
    "prev_hash": "f" * 64,
    "hash": "f" * 64,
}


def test_every_column_is_in_the_table_of_changes() -> None:
    assert set(_CHANGES) == set(LedgerRow.__slots__) - {"seal"}


@pytest.mark.parametrize("column", _CHANGES)
def test_a_change_in_any_column_is_found_at_its_row(chain: EventChain, column: str) -> None:
    _fill(chain)
    _damage(chain, f"UPDATE events SET {column} = ? WHERE seq = 3", _CHANGES[column])
    # A row whose number changed is missing in its place, which the next row shows.
    assert chain.verify().first_bad_seq == (4 if column == "seq" else 3)


@pytest.mark.parametrize(
    "body", ["not json", '{"n": 3}', '{"n":3.0}', '{"n":1,"n":3}', "[" * 5000, '{"n":1e999}', "null"]
)
def test_a_body_spelled_differently_is_found(chain: EventChain, body: str) -> None:
    _fill(chain)
    _damage(chain, "UPDATE events SET body = ? WHERE seq = 3", body)
    assert chain.verify().first_bad_seq == 3


@pytest.mark.parametrize("value", [b"\xff\xfe", 2**60, "text"])
def test_a_value_of_another_type_is_found(chain: EventChain, value: object) -> None:
    _fill(chain)
    _damage(chain, "UPDATE events SET ts_ms = ? WHERE seq = 3", value)
    assert chain.verify().first_bad_seq == 3


def test_a_deleted_row_is_found(chain: EventChain) -> None:
    _fill(chain)
    _damage(chain, "DELETE FROM events WHERE seq = 3")
    found = chain.verify()
    assert (found.first_bad_seq, found.problem) == (4, "row 3 is missing")


def test_an_inserted_row_is_found(chain: EventChain) -> None:
    _fill(chain)
    _damage(
        chain,
        "INSERT INTO events SELECT 7, kind, call_id, operation, session, session_seq, task_id, worktree, ts_ms, body,"
        " prev_hash, hash, seal FROM events WHERE seq = 3",
    )
    assert chain.verify().first_bad_seq == 7


def test_two_rows_that_changed_places_are_found(chain: EventChain) -> None:
    _fill(chain)
    _damage(chain, "UPDATE events SET seq = CASE seq WHEN 3 THEN -1 ELSE -2 END WHERE seq IN (3, 4)")
    _damage(chain, "UPDATE events SET seq = CASE seq WHEN -1 THEN 4 ELSE 3 END WHERE seq < 0")
    assert chain.verify().first_bad_seq == 3


def test_a_row_that_was_hashed_again_after_a_change_is_found_at_the_next(chain: EventChain) -> None:
    rows = _fill(chain)
    values = {name: getattr(rows[2], name) for name in HASHED_COLUMNS} | {"kind": "failed", "body": '{"n":3}'}
    forged = row_hash(tuple(values[name] for name in HASHED_COLUMNS))
    _damage(chain, "UPDATE events SET kind = 'failed', hash = ? WHERE seq = 3", forged)
    assert chain.verify().first_bad_seq == 4


def test_taking_away_the_newest_rows_is_not_seen_by_the_chain_alone(chain: EventChain) -> None:
    """Known limit: a chain proves what lies before its head, so the head must be kept elsewhere as well."""
    rows = _fill(chain)
    _damage(chain, "DELETE FROM events WHERE seq > 4")
    found = chain.verify()
    assert (found.first_bad_seq, found.rows) == (None, 4)
    assert found.head != rows[-1].hash


def test_rows_that_wait_come_before_the_durable_row_that_follows(chain: EventChain) -> None:
    chain.append_later(_event(1))
    chain.append_later(_event(2))
    (durable,) = chain.append(_event(3))
    assert durable.seq == 3
    assert _bodies(chain.rows(RowFilter())) == [3, 2, 1]


def test_rows_that_wait_are_not_in_the_file_until_their_group_is_full(chain: EventChain) -> None:
    def in_file() -> int:
        with chain.database.read() as connection:
            return int(connection.execute("SELECT COUNT(*) FROM events").fetchone()[0])

    for i in range(GROUP_SIZE - 1):
        chain.append_later(_event(i))
    assert in_file() == 0
    chain.append_later(_event(GROUP_SIZE - 1))
    assert in_file() == GROUP_SIZE


def test_a_row_carries_the_time_of_its_event_and_not_of_its_group(chain: EventChain, clock: ManualClock) -> None:
    started = clock.now_ms()
    chain.append_later(_event(1))
    clock.advance(5)
    chain.flush()
    assert chain.rows(RowFilter())[0].ts_ms == started


def test_rows_that_wait_survive_a_write_that_failed(chain: EventChain) -> None:
    chain.append_later(_event(1))
    with chain.database.write() as connection:
        connection.execute("PRAGMA query_only=ON")
    with pytest.raises(CodePlaneError):
        chain.append(_event(2))
    chain.append_later(_event(3))
    chain.database._writer.execute("PRAGMA query_only=OFF")
    assert _bodies(chain.rows(RowFilter())) == [3, 1]
    assert chain.verify().first_bad_seq is None


@pytest.mark.parametrize("body", [{"n": 2**60}, {"n": "\ud800"}, {"n": float("nan")}])
def test_a_row_that_cannot_be_written_is_refused_alone(chain: EventChain, body: dict[str, object]) -> None:
    chain.append_later(_event(1))
    with pytest.raises(CodePlaneError) as caught:
        chain.append_later(NewEvent("finished", "s-1", body))
    assert caught.value.code == "VALIDATION_ERROR"
    assert _bodies(chain.rows(RowFilter())) == [1]


@pytest.mark.parametrize(
    ("wanted", "bodies"),
    [
        (RowFilter(), [5, 4, 3, 2, 1]),
        (RowFilter(kinds=("failed",)), [4, 2]),
        (RowFilter(kinds=("failed", "denied")), [5, 4, 2]),
        (RowFilter(operation="write"), [3]),
        (RowFilter(task_id="t-2"), [2]),
        (RowFilter(session="s-b"), [5, 2]),
        (RowFilter(call_id="c-4"), [4]),
        (RowFilter(since_ms=1_003_000), [5, 4, 3]),
        (RowFilter(until_ms=1_002_000), [2, 1]),
        (RowFilter(before_seq=3), [2, 1]),
        (RowFilter(limit=2), [5, 4]),
        (RowFilter(kinds=("failed",), session="s-a"), [4]),
        (RowFilter(session="nobody"), []),
    ],
)
def test_rows_can_be_chosen_by_each_field(
    chain: EventChain, clock: ManualClock, wanted: RowFilter, bodies: list[int]
) -> None:
    table = [
        ("finished", "s-a", "read", "t-1"),
        ("failed", "s-b", "read", "t-2"),
        ("finished", "s-a", "write", "t-1"),
        ("failed", "s-a", "read", "t-1"),
        ("denied", "s-b", "read", "t-1"),
    ]
    clock.milliseconds = 1_000_000
    for number, (kind, session, operation, task) in enumerate(table, start=1):
        clock.advance(1)
        chain.append(NewEvent(kind, session, {"n": number}, f"c-{number}", operation, task))
    assert _bodies(chain.rows(wanted)) == bodies


def test_a_begun_call_is_open_until_it_ends(chain: EventChain) -> None:
    begun = chain.begin_call(_event(1, "begun", call_id="c-1"), "own-1")
    (found,) = chain.open_calls()
    assert (found.call_id, found.owner, found.begun) == ("c-1", "own-1", begun)
    chain.end_call(_event(1, "finished", call_id="c-1"))
    assert chain.open_calls() == ()


def test_a_call_ends_only_once(chain: EventChain) -> None:
    chain.begin_call(_event(1, "begun", call_id="c-1"), "own-1")
    assert chain.end_call(_event(2, "finished", call_id="c-1")) is not None
    assert chain.end_call(_event(3, "failed", call_id="c-1")) is None
    assert _bodies(chain.rows(RowFilter())) == [2, 1]


def test_rows_that_wait_are_kept_when_a_call_was_ended_by_somebody_else(chain: EventChain) -> None:
    chain.append_later(_event(1))
    assert chain.end_call(_event(2, "finished", call_id="unknown")) is None
    assert _bodies(chain.rows(RowFilter())) == [1]


def test_open_calls_come_oldest_first(chain: EventChain) -> None:
    for name in ("c-2", "c-1", "c-3"):
        chain.begin_call(_event(1, "begun", call_id=name), "own-1")
    assert [found.call_id for found in chain.open_calls()] == ["c-2", "c-1", "c-3"]


def test_a_value_beside_the_chain_is_set_once(chain: EventChain) -> None:
    assert chain.meta("key") is None
    assert chain.set_meta_once("key", "first") == "first"
    assert chain.set_meta_once("key", "second") == "first"
    assert chain.meta("key") == "first"


def _damaged_ledger(path: Path, offset: int, length: int) -> None:
    database = Database(path, LEDGER_SCHEMA, durable=False)
    _fill(EventChain(database, ManualClock()))
    database.close()
    content = bytearray(path.read_bytes())
    content[offset : offset + length] = b"\xa5" * len(content[offset : offset + length])
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("page", range(13))
def test_a_damaged_file_is_kept_aside_and_a_new_chain_starts(tmp_path: Path, clock: ManualClock, page: int) -> None:
    path = tmp_path / "ledger.db"
    _damaged_ledger(path, page * 4096, 4096)
    damaged = path.read_bytes()
    database, kept = open_ledger_database(path, clock)
    assert kept is not None
    assert kept.read_bytes() == damaged
    assert EventChain(database, clock).verify().rows == 0
    database.close()


def test_a_sound_file_is_opened_as_it_is(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "ledger.db"
    _damaged_ledger(path, 0, 0)
    database, kept = open_ledger_database(path, clock)
    assert kept is None
    assert EventChain(database, clock).verify().rows == 6
    database.close()


def test_a_newer_ledger_is_refused_and_not_moved(tmp_path: Path, clock: ManualClock) -> None:
    path = tmp_path / "ledger.db"
    _damaged_ledger(path, 0, 0)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=99")
    connection.close()
    with pytest.raises(CodePlaneError) as caught:
        open_ledger_database(path, clock)
    assert caught.value.code == "MIGRATION_FAILED"
    assert [item.name for item in tmp_path.glob("*damaged*")] == []


_APPENDER = """
import sys
from pathlib import Path
from codeplane.core.clock import SystemClock
from codeplane.ledger.chain import EventChain, NewEvent, open_ledger_database
database, _ = open_ledger_database(Path(sys.argv[1]), SystemClock())
chain = EventChain(database, SystemClock())
for i in range(50):
    event = NewEvent("finished", "s-" + sys.argv[2], {"n": i})
    chain.append_later(event) if i % 3 else chain.append(event)
chain.flush()
database.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_damaged", [False, True])
def test_processes_appending_in_parallel_make_one_valid_chain(
    tmp_path: Path, clock: ManualClock, is_damaged: bool
) -> None:
    path = tmp_path / "ledger.db"
    if is_damaged:
        path.write_bytes(b"damaged " * 2000)
    run_children([(sys.executable, "-c", _APPENDER, str(path), str(i)) for i in range(5)], tmp_path)
    database, kept = open_ledger_database(path, clock)
    chain = EventChain(database, clock)
    found = chain.verify()
    assert (kept, found.first_bad_seq, found.rows) == (None, None, 250)
    for i in range(5):
        assert _bodies(chain.rows(RowFilter(session=f"s-{i}"))) == list(range(49, -1, -1))
    assert len(list(tmp_path.glob("*damaged-*"))) == int(is_damaged)
    database.close()
