"""Whoever changes, cuts, replaces or forges something is found, and whoever changed nothing is not accused."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from codeplane.core.clock import ManualClock
from codeplane.ledger.chain import NewEvent
from codeplane.ledger.retention import retire_rows
from codeplane.ledger.row_hash import GENESIS, HASHED_COLUMNS, hashed_bytes, row_hash
from codeplane.ledger.seals import AnchorState, parse_head, row_sealer, seal_key
from codeplane.ledger.tasks import RetentionSettings
from codeplane.ledger.verification import chain_end
from support.ledgers import REPO_ID, LedgerPlace, event, fill, opened, verified

N_ROWS = 12
N_RETIRED = 5
KEPT = 3
STRANGER = seal_key(b"somebody else's 32 bytes of key!")


@dataclass(frozen=True)
class Sample:
    """A ledger of twelve rows that can be put back, and every state it had on the way."""

    place: LedgerPlace
    files: dict[Path, bytes]
    history: tuple[dict[Path, bytes], ...]


def _make(root: Path) -> Sample:
    place = LedgerPlace(root)
    history = []
    for number in range(1, N_ROWS + 1):
        fill(place, 1, start=number)
        history.append(place.files())
    return Sample(place, history[-1], tuple(history[:-1]))


def _retire(place: LedgerPlace) -> None:
    later = ManualClock()
    later.advance(100 * 24 * 3600)
    with opened(place, later) as chain:
        done = retire_rows(chain, RetentionSettings(tasks=0, batch=N_RETIRED), later, lambda row: row.seq == KEPT)
        assert done is not None
        assert (done.retired_to, done.rows, done.kept) == (N_RETIRED, N_RETIRED - 1, 1)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return _make(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def retired_sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    made = _make(tmp_path_factory.mktemp("retired"))
    _retire(made.place)
    return replace(made, files=made.place.files())


@pytest.fixture
def place(sample: Sample) -> LedgerPlace:
    sample.place.restore(sample.files)
    return sample.place


@pytest.fixture
def retired_place(retired_sample: Sample) -> LedgerPlace:
    retired_sample.place.restore(retired_sample.files)
    return retired_sample.place


VALUES: dict[str, tuple[object, ...]] = {
    "seq": (40, 0, -3),
    "kind": ("failed", "", "Finished", b"finished"),
    "call_id": (None, "", "call-99", 7.5),
    "operation": (None, "other", "operation_1 "),
    "session": ("s-9", "", "S-1"),
    "session_seq": (0, 99, 7.5, "one"),
    "task_id": (None, "", "task-2"),
    "worktree": ("linked", ""),
    "ts_ms": (1, -1, 2**62, 1.5, b"\xff", "soon"),
    "body": ('{"n":99}', "{}", "[]", "not json", '{"duration_ms": 4,"n":4}', '{"n":4,"duration_ms":4}'),
    "prev_hash": ("f" * 64, "", "F" * 64),
    "hash": ("f" * 64, "", "F" * 64),
    "seal": (None, "", "f" * 81, f"{STRANGER.key_id}:{'0' * 64}"),
}
EDITS = [(seq, column, value) for seq in (1, 4, 8, N_ROWS) for column, values in VALUES.items() for value in values]


@pytest.mark.parametrize(("seq", "column", "value"), EDITS)
def test_an_edit_of_any_field_of_any_row_is_found(place: LedgerPlace, seq: int, column: str, value: object) -> None:
    assert place.change(f"UPDATE events SET {column} = ? WHERE seq = ?", value, seq) == 1
    found = verified(place)
    # A row whose number changed shows as a gap, at the row after it or at the number it took.
    expected = {seq} if column != "seq" else {value, seq, seq + 1, min(40, N_ROWS + 1)}
    assert found.first_bad_seq in expected, found


@pytest.mark.parametrize("column", [name for name in VALUES if name not in {"seq", "session_seq", "ts_ms"}])
@pytest.mark.parametrize("seq", [4, N_ROWS])
def test_text_that_is_no_utf8_is_found_at_its_row(place: LedgerPlace, column: str, seq: int) -> None:
    place.change(f"UPDATE events SET {column} = CAST(x'fffe' AS TEXT) WHERE seq = ?", seq)
    assert verified(place).first_bad_seq == seq


@pytest.mark.parametrize("seq", range(1, N_ROWS + 1))
def test_a_deleted_row_is_found(place: LedgerPlace, seq: int) -> None:
    place.change("DELETE FROM events WHERE seq = ?", seq)
    found = verified(place)
    assert found.first_bad_seq == (seq + 1 if seq < N_ROWS else N_ROWS)
    assert f"row {seq} is missing" in found.problem


@pytest.mark.parametrize("left", range(N_ROWS))
def test_a_cut_tail_is_found_at_the_first_row_that_is_gone(place: LedgerPlace, left: int) -> None:
    place.change("DELETE FROM events WHERE seq > ?", left)
    found = verified(place)
    assert (found.first_bad_seq, found.rows) == (left + 1, left)
    assert "sealed up to row 12" in found.problem


@pytest.mark.parametrize("age", range(1, N_ROWS))
def test_an_older_copy_of_the_file_is_found(sample: Sample, place: LedgerPlace, age: int) -> None:
    older = sample.history[N_ROWS - 1 - age]
    place.ledger.write_bytes(older[place.ledger])
    found = verified(place)
    assert (found.first_bad_seq, found.rows) == (N_ROWS - age + 1, N_ROWS - age)


@pytest.mark.parametrize("first", range(1, N_ROWS))
def test_two_rows_that_changed_places_are_found(place: LedgerPlace, first: int) -> None:
    for old, new in ((first, -1), (first + 1, first), (-1, first + 1)):
        place.change("UPDATE events SET seq = ? WHERE seq = ?", new, old)
    assert verified(place).first_bad_seq == first


@pytest.mark.parametrize("first", range(1, N_ROWS))
def test_two_bodies_that_changed_places_are_found(place: LedgerPlace, first: int) -> None:
    place.change(
        "UPDATE events SET body = (SELECT o.body FROM events o WHERE o.seq = ? - events.seq) WHERE seq IN (?, ?)",
        2 * first + 1, first, first + 1,
    )  # fmt: skip
    assert verified(place).first_bad_seq == first


def _rewrite(place: LedgerPlace, start: int, seal: Callable[[int, str], str | None] | None = None) -> None:
    """Hash the chain again from a row on, as somebody does who knows the format and has no key."""
    columns = ", ".join(HASHED_COLUMNS)
    with closing(sqlite3.connect(place.ledger)) as connection, connection:
        rows = connection.execute(f"SELECT {columns}, hash FROM events ORDER BY seq").fetchall()
        head = GENESIS
        for *values, own_hash in rows:
            named = dict(zip(HASHED_COLUMNS, values, strict=True))
            seq = named["seq"]
            if seq < start:
                head = own_hash
                continue
            named["prev_hash"], before = head, head
            head = row_hash(tuple(named[name] for name in HASHED_COLUMNS))
            connection.execute("UPDATE events SET prev_hash = ?, hash = ? WHERE seq = ?", (before, head, seq))
            if seal is not None:
                connection.execute("UPDATE events SET seal = ? WHERE seq = ?", (seal(seq, head), seq))


FORGED_SEALS: dict[str, Callable[[int, str], str | None] | None] = {
    "old seals": None,
    "no seals": lambda _seq, _hash: None,
    "seals of another key": row_sealer(STRANGER, REPO_ID).seal,
}


@pytest.mark.parametrize("seals", FORGED_SEALS)
@pytest.mark.parametrize("start", range(1, N_ROWS + 1))
def test_a_chain_that_was_hashed_again_is_found_at_the_row_that_was_changed(
    place: LedgerPlace, start: int, seals: str
) -> None:
    place.change("UPDATE events SET operation = 'innocent' WHERE seq = ?", start)
    _rewrite(place, start, FORGED_SEALS[seals])
    assert verified(place).first_bad_seq == start


@pytest.mark.parametrize("seals", FORGED_SEALS)
@pytest.mark.parametrize("gone", [1, 6, N_ROWS])
def test_a_chain_that_was_closed_over_a_removed_row_is_found(place: LedgerPlace, gone: int, seals: str) -> None:
    place.change("DELETE FROM events WHERE seq = ?", gone)
    for seq in range(gone + 1, N_ROWS + 1):
        place.change("UPDATE events SET seq = ? WHERE seq = ?", seq - 1, seq)
    _rewrite(place, gone, FORGED_SEALS[seals])
    assert verified(place).first_bad_seq == gone


COPY = (
    "SELECT {}, kind, call_id, operation, session, session_seq, task_id, worktree, ts_ms, body, prev_hash, hash, seal"
)


@pytest.mark.parametrize("source", [1, 6, N_ROWS])
@pytest.mark.parametrize("target", [0, -5, N_ROWS + 1, 100])
def test_an_inserted_row_is_found(place: LedgerPlace, source: int, target: int) -> None:
    place.change(f"INSERT INTO events {COPY.format(target)} FROM events WHERE seq = ?", source)
    assert verified(place).first_bad_seq == target


@pytest.mark.parametrize("seals", [name for name in FORGED_SEALS if name != "seals of another key"])
@pytest.mark.parametrize("n_forged", [1, 3])
def test_rows_appended_without_the_key_are_found(place: LedgerPlace, n_forged: int, seals: str) -> None:
    for seq in range(N_ROWS + 1, N_ROWS + 1 + n_forged):
        place.change(f"INSERT INTO events {COPY.format(seq)} FROM events WHERE seq = 12")
        place.change("UPDATE events SET session = 's-new', session_seq = ? WHERE seq = ?", seq - N_ROWS, seq)
    _rewrite(place, N_ROWS + 1, FORGED_SEALS[seals])
    assert verified(place).first_bad_seq == N_ROWS + 1


@pytest.mark.parametrize("offset", [*range(0, 512, 16), 511, 512, 520])
def test_an_edit_of_the_sealed_head_is_found(place: LedgerPlace, offset: int) -> None:
    data = bytearray(place.head.read_bytes())
    data[offset] = ord("x") if data[offset] != ord("x") else ord("y")
    place.head.write_bytes(bytes(data))
    found = verified(place)
    assert (found.first_bad_seq, found.rows, found.anchor) == (N_ROWS + 1, N_ROWS, AnchorState.BROKEN)


@pytest.mark.parametrize("length", [0, 1, 100, 511, 512])
def test_a_sealed_head_that_was_cut_is_found(place: LedgerPlace, length: int) -> None:
    place.head.write_bytes(place.head.read_bytes()[:length])
    assert verified(place).first_bad_seq == N_ROWS + 1


def test_a_sealed_head_that_was_removed_is_found(place: LedgerPlace) -> None:
    place.head.unlink()
    found = verified(place)
    assert (found.first_bad_seq, found.problem) == (N_ROWS + 1, "the sealed head was removed")


@pytest.mark.parametrize("is_named_ours", [False, True])
def test_a_sealed_head_made_with_another_key_is_found(place: LedgerPlace, is_named_ours: bool) -> None:
    head = parse_head(place.head.read_bytes()[:512])
    assert head is not None
    forged = replace(head, seq=3, rows=3).signed(STRANGER)
    if is_named_ours:
        forged = replace(forged, key_id=head.key_id)
    place.head.write_bytes(forged.as_bytes() + place.head.read_bytes()[512:])
    place.change("DELETE FROM events WHERE seq > 3")
    assert verified(place).first_bad_seq == 4


def test_a_head_with_another_number_of_rows_is_found(place: LedgerPlace) -> None:
    head = parse_head(place.head.read_bytes()[:512])
    assert head is not None
    miscounted = replace(head, rows=99).signed(seal_key(place.key.read_bytes()))
    place.head.write_bytes(miscounted.as_bytes() + place.head.read_bytes()[512:])
    assert verified(place).problem == "99 rows were sealed, 12 are there"


@pytest.mark.parametrize("secret", [None, b"", b"short", STRANGER.secret, b"x" * 33])
def test_a_key_that_was_changed_or_removed_is_found(place: LedgerPlace, secret: bytes | None) -> None:
    if secret is None:
        place.key.unlink()
    else:
        place.key.write_bytes(secret)
    found = verified(place)
    assert (found.first_bad_seq, found.anchor) == (N_ROWS + 1, AnchorState.BROKEN)


@pytest.mark.parametrize("repo_id", ["repo_other", "", "../../elsewhere", "x" * 500])
def test_a_ledger_under_another_repository_id_is_found(place: LedgerPlace, repo_id: str) -> None:
    place.change("UPDATE meta SET value = ? WHERE key = 'repo_id'", repo_id)
    found = verified(place)
    assert (found.first_bad_seq, "repo_sample with 12 rows" in found.problem) == (1, True)


def test_a_ledger_that_was_deleted_is_missed(place: LedgerPlace) -> None:
    place.ledger.unlink()
    with opened(place) as chain:
        chain.set_meta_once("repo_id", REPO_ID)
        assert chain.verify().first_bad_seq == 1


def test_a_ledger_that_was_deleted_is_missed_under_a_new_repository_id(place: LedgerPlace) -> None:
    place.ledger.unlink()
    with closing(sqlite3.connect(place.ledger)):
        pass
    with opened(place) as chain:
        pass
    place.change("UPDATE meta SET value = 'repo_fresh' WHERE key = 'repo_id'")
    assert verified(place).first_bad_seq == 1
    with opened(place) as chain:
        chain.append(event(1))
    found = verified(place)
    assert (found.first_bad_seq, "repo_sample with 12 rows" in found.problem) == (1, True)


@pytest.mark.parametrize("size", [0, 100, 4096, 8192, 20000])
def test_a_file_that_was_cut_short_is_missed(place: LedgerPlace, size: int) -> None:
    place.ledger.write_bytes(place.ledger.read_bytes()[:size])
    assert verified(place).first_bad_seq is not None


def _rewrite_changed(place: LedgerPlace, seq: int) -> None:
    place.change("UPDATE events SET operation = 'x' WHERE seq = ?", seq)
    _rewrite(place, seq)


FORGERIES: dict[str, Callable[[LedgerPlace], object]] = {
    "cut tail": lambda place: place.change("DELETE FROM events WHERE seq > 7"),
    "all rows": lambda place: place.change("DELETE FROM events"),
    "last row edited": lambda place: place.change("UPDATE events SET operation = 'x' WHERE seq = 12"),
    "last row hashed again": lambda place: _rewrite_changed(place, 12),
    "row edited": lambda place: place.change("UPDATE events SET operation = 'x' WHERE seq = 5"),
    "head removed": lambda place: place.head.unlink(),
    "head emptied": lambda place: place.head.write_bytes(b""),
    "key removed": lambda place: place.key.unlink(),
    "key damaged": lambda place: place.key.write_bytes(b"short"),
    "key changed": lambda place: place.key.write_bytes(STRANGER.secret),
}


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize("n_later", [1, 4])
def test_rows_appended_after_tampering_do_not_cover_it_up(place: LedgerPlace, forgery: str, n_later: int) -> None:
    FORGERIES[forgery](place)
    first = verified(place).first_bad_seq
    fill(place, n_later, start=20)
    found = verified(place)
    assert first is not None
    assert found.first_bad_seq == first
    with closing(sqlite3.connect(place.ledger)) as connection:
        alarms = connection.execute("SELECT COUNT(*) FROM events WHERE kind = 'seal_broken'").fetchone()[0]
    assert alarms <= 1


def test_forged_rows_are_not_taken_for_rows_of_a_writer_that_died(place: LedgerPlace) -> None:
    place.change(f"INSERT INTO events {COPY.format(13)} FROM events WHERE seq = 12")
    place.change("UPDATE events SET session_seq = session_seq + 1 WHERE seq = 13")
    _rewrite(place, 13)
    fill(place, 2, start=20)
    assert verified(place).first_bad_seq == 13


def test_an_older_copy_of_the_ledger_and_of_its_head_is_not_seen(sample: Sample, place: LedgerPlace) -> None:
    """Known limit: whoever can write the user state directory can put the past back, or use the key."""
    place.restore(sample.history[6])
    assert verified(place).first_bad_seq is None


def test_a_row_cannot_be_cut_into_other_columns_that_hash_the_same(place: LedgerPlace) -> None:
    """An agent's arguments may look like columns; a text in a column of numbers must not join the two."""
    fields = {"call_id": "x", "kind": "x", "operation": "harmless", "prev_hash": "x", "seq": 13, "session": "x"}
    fields |= {"session_seq": 1, "task_id": "x", "ts_ms": 1, "worktree": "x"}
    with opened(place) as chain:
        (row,) = chain.append(NewEvent("finished", "s-1", {"arguments": {"a": 1, **fields}}, "c", "write_source"))
    with closing(sqlite3.connect(place.ledger)) as connection:
        columns = ", ".join(HASHED_COLUMNS)
        values = connection.execute(f"SELECT {columns} FROM events WHERE seq = 13").fetchone()
    text = hashed_bytes(values).decode()
    body, rest = text.removeprefix('{"body":').split(',"call_id":', 1)
    ts_ms = rest[rest.index('"ts_ms":') + len('"ts_ms":') : rest.rindex(',"worktree":')]
    forged = fields | {"body": body, "ts_ms": ts_ms, "worktree": "main"}
    joined = ",".join(
        f'"{name}":' + (str(value) if name in {"body", "ts_ms"} else json.dumps(value))
        for name, value in sorted(forged.items())
    )
    assert f"{{{joined}}}" == text
    for name in ("body", "operation", "ts_ms"):
        place.change(f"UPDATE events SET {name} = ? WHERE seq = 13", forged[name])
    found = verified(place)
    assert (found.first_bad_seq, found.problem) == (row.seq, "its content cannot be read")


def test_rows_that_only_the_head_stands_for_are_not_hashed_again_unseen(place: LedgerPlace) -> None:
    for path in place.anchor_directory.iterdir():
        path.unlink()
    with opened(place) as chain, chain.database.read() as connection:
        assert chain.sealer is not None
        # A writer that found no anchor, made one, and was killed before its first row.
        chain.sealer.look(chain_end(connection))
    assert verified(place).first_bad_seq is None
    _rewrite_changed(place, 4)
    assert verified(place).first_bad_seq == N_ROWS


def test_a_kept_row_that_is_older_than_the_key_is_not_hashed_again_unseen(retired_place: LedgerPlace) -> None:
    for path in retired_place.anchor_directory.iterdir():
        path.unlink()
    fill(retired_place, 1, start=40)
    assert verified(retired_place).first_bad_seq is None
    with closing(sqlite3.connect(retired_place.ledger)) as connection:
        columns = ", ".join(HASHED_COLUMNS)
        values = connection.execute(f"SELECT {columns} FROM events WHERE seq = ?", (KEPT,)).fetchone()
    named = dict(zip(HASHED_COLUMNS, values, strict=True)) | {"operation": "innocent"}
    forged = row_hash(tuple(named[name] for name in HASHED_COLUMNS))
    retired_place.change("UPDATE events SET operation = 'innocent', hash = ? WHERE seq = ?", forged, KEPT)
    assert verified(retired_place).first_bad_seq == KEPT


def _checkpoint(place: LedgerPlace, changes: dict[str, object], seal: str | None = None) -> None:
    """Edit the record of retired rows, or make one."""
    with closing(sqlite3.connect(place.ledger)) as connection, connection:
        stored = connection.execute("SELECT body, seal FROM checkpoint").fetchone()
        body = json.loads(stored[0]) if stored else {}
        text = json.dumps(body | changes, sort_keys=True, separators=(",", ":"))
        new_seal = seal or (stored[1] if stored else "none")
        connection.execute("INSERT OR REPLACE INTO checkpoint VALUES (1, ?, ?)", (text, new_seal))


CHECKPOINT_EDITS: list[dict[str, object]] = [
    {"retired_to": 6}, {"retired_to": 4}, {"retired_to": "5"}, {"hash": "f" * 64}, {"rows": 1}, {"digest": "0" * 64},
    {"ts_ms": 1}, {"kept": []}, {"kept": [[3, "f" * 64]]}, {"kept": 7}, {"inherited": True},
    {"repo_id": "repo_other"}, {"version": 2}, {"extra": 1},
]  # fmt: skip


@pytest.mark.parametrize("changes", CHECKPOINT_EDITS)
def test_an_edit_of_the_checkpoint_is_found(retired_place: LedgerPlace, changes: dict[str, object]) -> None:
    _checkpoint(retired_place, changes)
    assert verified(retired_place).first_bad_seq == 1


def test_a_checkpoint_that_was_removed_is_found(retired_place: LedgerPlace) -> None:
    retired_place.change("DELETE FROM checkpoint")
    assert verified(retired_place).first_bad_seq is not None


@pytest.mark.parametrize("seal", ["", "none", f"{STRANGER.key_id}:{'0' * 64}"])
@pytest.mark.parametrize("to", [1, 4, 11])
def test_a_checkpoint_made_without_the_key_is_found(place: LedgerPlace, to: int, seal: str) -> None:
    with closing(sqlite3.connect(place.ledger)) as connection:
        own_hash = connection.execute("SELECT hash FROM events WHERE seq = ?", (to,)).fetchone()[0]
    place.change("DELETE FROM events WHERE seq <= ?", to)
    record = {"version": 1, "repo_id": REPO_ID, "retired_to": to, "hash": own_hash, "rows": to, "digest": "0" * 64}
    _checkpoint(place, {**record, "ts_ms": 1, "kept": [], "inherited": False}, seal)
    assert verified(place).first_bad_seq == 1
    fill(place, 1, start=30)
    assert verified(place).first_bad_seq == 1


@pytest.mark.parametrize(
    ("statement", "seq"),
    [
        ("DELETE FROM events WHERE seq = 3", 3),
        ("UPDATE events SET operation = 'x' WHERE seq = 3", 3),
        ("UPDATE events SET hash = 'x' WHERE seq = 3", 3),
        ("UPDATE events SET seq = 2 WHERE seq = 3", 2),
        (f"INSERT INTO events {COPY.format(1)} FROM events WHERE seq = 3", 1),
        ("DELETE FROM events WHERE seq = 6", 7),
        ("DELETE FROM events WHERE seq > 5", 6),
        ("DELETE FROM events", 3),
        ("UPDATE events SET body = '{}' WHERE kind = 'rows_retired'", 13),
    ],
)
def test_tampering_around_retired_rows_is_found(retired_place: LedgerPlace, statement: str, seq: int) -> None:
    retired_place.change(statement)
    found = verified(retired_place).first_bad_seq
    assert found is not None
    assert found <= seq


def test_nothing_is_retired_over_tampering(place: LedgerPlace) -> None:
    place.change("UPDATE events SET operation = 'x' WHERE seq = 2")
    with pytest.raises(Exception, match="Nothing was retired: row 2"):
        _retire(place)
    assert verified(place).first_bad_seq == 2


def _one_by_one(place: LedgerPlace, n_rows: int) -> None:
    fill(place, n_rows)


def _in_groups(place: LedgerPlace, n_rows: int) -> None:
    with opened(place) as chain:
        for number in range(n_rows):
            chain.append_later(event(number))


def _mixed(place: LedgerPlace, n_rows: int) -> None:
    with opened(place) as chain:
        for number in range(n_rows):
            chain.append_later(event(number)) if number % 3 else chain.append(event(number))


def _by_two_processes(place: LedgerPlace, n_rows: int) -> None:
    with opened(place) as one, opened(place) as other:
        for number in range(n_rows):
            (one, other)[number % 2].append(event(number))


def _by_many_starts(place: LedgerPlace, n_rows: int) -> None:
    for number in range(n_rows):
        fill(place, 1, start=number)


def _calls(place: LedgerPlace, n_rows: int) -> None:
    with opened(place) as chain:
        for number in range(n_rows):
            chain.begin_call(event(number, "begun"), "own-1")
            if number % 4:
                chain.end_call(event(number))


def _with_a_clock_that_runs_backwards(place: LedgerPlace, n_rows: int) -> None:
    clock = ManualClock()
    with opened(place, clock) as chain:
        for number in range(n_rows):
            clock.advance(-3600)
            chain.append(event(number))


def _with_strange_texts(place: LedgerPlace, n_rows: int) -> None:
    texts = ('"', "\\", "\x00\x1f\x7f", "ä€😀", ',"call_id":"x"', "\u2028", "{}")
    with opened(place) as chain:
        for number in range(n_rows):
            text = texts[number % len(texts)]
            body = {text: [text, 1.5, 1e21, -0.0, True, None], "nested": {"call_id": text, "worktree": text}}
            chain.append(NewEvent(text, text, body, text, text, text, text))


def _killed_before_the_head_moved(place: LedgerPlace, n_rows: int) -> None:
    for number in range(n_rows):
        before = place.head.read_bytes() if number else b""
        fill(place, 1, start=number)
        if number % 2:
            place.head.write_bytes(before)


def _moved(place: LedgerPlace, n_rows: int) -> None:
    fill(place, n_rows)
    elsewhere = place.root / "elsewhere"
    place.ledger.parent.rename(elsewhere)
    for _ in range(2):
        assert verified_at(place, elsewhere / "ledger.db") == (None, n_rows)
        elsewhere.rename(place.ledger.parent)
        assert verified(place).first_bad_seq is None
        place.ledger.parent.rename(elsewhere)
    elsewhere.rename(place.ledger.parent)


def verified_at(place: LedgerPlace, ledger: Path) -> tuple[int | None, int]:
    """Verify and go on with a ledger of the same user at another place."""
    moved = LedgerPlace(place.root)
    other = _Elsewhere(moved.root, ledger)
    with opened(other) as chain:
        found = chain.verify()
    return found.first_bad_seq, found.rows


@dataclass(frozen=True, slots=True)
class _Elsewhere(LedgerPlace):
    path: Path = Path()

    @property
    def ledger(self) -> Path:
        return self.path


def _copied(place: LedgerPlace, n_rows: int) -> None:
    fill(place, n_rows)
    copy = _Elsewhere(place.root, place.root / "copy" / "ledger.db")
    shutil.copytree(place.ledger.parent, copy.ledger.parent)
    fill(place, 2, start=50)
    fill(copy, 3, start=60)
    fill(place, 1, start=70)
    assert verified(copy).first_bad_seq is None
    assert verified(copy).rows == n_rows + 3


def _vacuumed(place: LedgerPlace, n_rows: int) -> None:
    fill(place, n_rows)
    with closing(sqlite3.connect(place.ledger)) as connection:
        connection.execute("VACUUM")


def _state_lost(place: LedgerPlace, n_rows: int) -> None:
    fill(place, n_rows)
    shutil.rmtree(place.state, ignore_errors=True)


def _state_lost_and_gone_on(place: LedgerPlace, n_rows: int) -> None:
    _state_lost(place, n_rows)
    fill(place, 2, start=40)
    _state_lost(place, 1)
    fill(place, 1, start=60)


def _retired_and_gone_on(place: LedgerPlace, n_rows: int) -> None:
    fill(place, n_rows)
    later = ManualClock()
    later.advance(100 * 24 * 3600)
    with opened(place, later) as chain:
        for _ in range(4):
            retire_rows(chain, RetentionSettings(tasks=0, batch=2), later, lambda row: row.seq % 5 == 0)
            chain.append(event(90))


def _state_lost_after_retiring(place: LedgerPlace, n_rows: int) -> None:
    _retired_and_gone_on(place, n_rows)
    shutil.rmtree(place.state, ignore_errors=True)
    assert verified(place).first_bad_seq is None
    fill(place, 1, start=95)


def _written_by_a_version_without_seals(place: LedgerPlace, n_rows: int) -> None:
    with opened(place) as chain:
        chain.sealer = None
        for number in range(n_rows):
            chain.append(event(number))


HISTORIES: tuple[Callable[[LedgerPlace, int], None], ...] = (
    _one_by_one, _in_groups, _mixed, _by_two_processes, _by_many_starts, _calls, _with_a_clock_that_runs_backwards,
    _with_strange_texts, _killed_before_the_head_moved, _moved, _copied, _vacuumed, _state_lost,
    _state_lost_and_gone_on, _retired_and_gone_on, _state_lost_after_retiring, _written_by_a_version_without_seals,
)  # fmt: skip


@pytest.mark.parametrize("n_rows", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.__name__.strip("_"))
def test_whoever_did_nothing_is_not_accused(
    tmp_path: Path, history: Callable[[LedgerPlace, int], None], n_rows: int
) -> None:
    place = LedgerPlace(tmp_path)
    history(place, n_rows)
    before = verified(place)
    assert (before.first_bad_seq, before.problem) == (None, "")
    fill(place, 2, start=80)
    after = verified(place)
    assert (after.first_bad_seq, after.problem, after.anchor) == (None, "", AnchorState.SEALED)
    assert after.rows >= before.rows + 2


def test_the_suite_is_as_large_as_it_is_meant_to_be() -> None:
    n_edits = len(EDITS) + 2 * (len(VALUES) - 3)
    n_rewritten = len(FORGED_SEALS) * (N_ROWS + 3 + 2)
    n_outside = 35 + 5 + 1 + 2 + 5 + 4 + len(CHECKPOINT_EDITS)
    assert n_edits + n_rewritten + n_outside >= 200
    assert len(HISTORIES) * 5 >= 50
