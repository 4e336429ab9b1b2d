"""Seals: when they are written, what a crash leaves, who may use them, and what they cost to be missing."""

import errno
import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.canonical_json import canonical_text, digest
from codeplane.core.clock import ManualClock
from codeplane.core.errors import CodePlaneError
from codeplane.ledger.chain import (
    LEDGER_SCHEMA,
    EventChain,
    LedgerDatabase,
    NewEvent,
    RowFilter,
    _body_text,
    open_ledger_database,
)
from codeplane.ledger.export import export_lines
from codeplane.ledger.git_anchor import NoteLine, anchor_head, note_writer, read_notes, witnesses_in
from codeplane.ledger.row_hash import HASHED_COLUMNS, row_hash
from codeplane.ledger.seals import Anchor, AnchorState, Sealer, forget_place, parse_head, was_sealed
from codeplane.ledger.verification import Witness
from codeplane.store.sqlite import Database, Schema
from codeplane.workspace.workspace import Workspace, locate_places
from support.children import run_children
from support.doors import open_test_workspace
from support.forks import run_forked, started_python
from support.ledgers import REPO_ID, LedgerPlace, event, fill, opened, verified
from support.repositories import git


@pytest.fixture
def place(tmp_path: Path) -> LedgerPlace:
    return LedgerPlace(tmp_path)


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(
    body=st.dictionaries(_TEXTS, _JSON, max_size=4),
    names=st.tuples(_TEXTS, _TEXTS, _TEXTS, _TEXTS),
    optional=st.tuples(st.none() | _TEXTS, st.none() | _TEXTS, st.none() | _TEXTS),
    numbers=st.tuples(st.integers(0, 2**53 - 1), st.integers(0, 2**53 - 1), st.integers(-(2**53) + 1, 2**53 - 1)),
)
def test_a_row_is_hashed_as_its_canonical_json(
    body: dict[str, object],
    names: tuple[str, str, str, str],
    optional: tuple[str | None, str | None, str | None],
    numbers: tuple[int, int, int],
) -> None:
    row = {
        "seq": numbers[0], "session_seq": numbers[1], "ts_ms": numbers[2], "kind": names[0], "prev_hash": names[1],
        "session": names[2], "worktree": names[3], "call_id": optional[0], "operation": optional[1],
        "task_id": optional[2], "body": body,
    }  # fmt: skip
    stored = row | {"body": canonical_text(body)}
    assert row_hash(tuple(stored[name] for name in HASHED_COLUMNS)) == digest(row)


@given(body=st.dictionaries(_TEXTS, _JSON, max_size=4))
def test_a_body_is_stored_as_its_canonical_json(body: dict[str, object]) -> None:
    assert _body_text(NewEvent("finished", "s-1", body)) == canonical_text(body)


def test_the_head_is_synchronised_to_disk_once_a_second_at_most(
    place: LedgerPlace, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    synchronised: list[int] = []
    monkeypatch.setattr("codeplane.ledger.seals._SYNCHRONISE", synchronised.append)
    counts = []
    with opened(place, clock) as chain:
        for seconds in (0.0, 0.4, 0.4, 0.4, 5.0, -9.0):
            clock.advance(seconds)
            chain.append(event(1))
            counts.append(len(synchronised))
        clock.advance(5)
        chain.append_later(event(2))
        chain.flush()
        counts.append(len(synchronised))
    assert counts == [1, 1, 1, 2, 3, 4, 4]


def test_a_row_that_was_hashed_by_an_earlier_version_still_holds() -> None:
    """A sample written down once: the form of what is hashed never changes."""
    values = ('{"n":1}', "call-1", "finished", "toy", "0" * 64, 1, "s-1", 1, None, 1_700_000_000_000, "main")
    assert row_hash(values) == "a5958701a334ccaeefac3e9f38861e8bf3b0c9209446dcd39cf09f3a93ae9a90"


def test_key_and_head_are_for_the_owner_alone(place: LedgerPlace) -> None:
    fill(place, 1)
    assert len(place.key.read_bytes()) == 32
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (place.key, place.head)}
    assert (modes, stat.S_IMODE(place.anchor_directory.stat().st_mode)) == ({0o600}, 0o700)


def test_every_ledger_has_a_key_of_its_own(tmp_path: Path) -> None:
    places = [LedgerPlace(tmp_path / name) for name in ("a", "b")]
    for one in places:
        fill(one, 1)
    assert places[0].key.read_bytes() != places[1].key.read_bytes()


def test_the_head_outside_is_that_of_the_last_row(place: LedgerPlace) -> None:
    with opened(place) as chain:
        for number in range(5):
            (row,) = chain.append(event(number))
            head = parse_head(place.head.read_bytes()[:512])
            assert head is not None
            assert (head.repo_id, head.seq, head.hash, head.rows) == (REPO_ID, row.seq, row.hash, row.seq)
            assert row.seal is not None


def test_looking_at_an_empty_ledger_makes_no_key(place: LedgerPlace) -> None:
    found = verified(place)
    assert (found.first_bad_seq, found.anchor, place.state.exists()) == (None, AnchorState.NEW, False)


def test_a_transaction_that_fails_leaves_the_seals_right(place: LedgerPlace) -> None:
    with opened(place) as chain:
        chain.append(event(1))
        chain.begin_call(event(2, "begun"), "own")
        with pytest.raises(CodePlaneError):
            chain.begin_call(event(2, "begun"), "own")
        chain.append(event(3))
        assert (chain.verify().first_bad_seq, chain.verify().rows) == (None, 3)


def test_a_lost_state_directory_is_told_from_tampering(place: LedgerPlace) -> None:
    fill(place, 4)
    for path in place.anchor_directory.iterdir():
        path.unlink()
    found = verified(place)
    assert (found.first_bad_seq, found.anchor, found.rows) == (None, AnchorState.MISSING, 4)
    assert any("anchor" in note and "Not proven" in note for note in found.notes)


def test_after_a_lost_state_directory_new_rows_are_sealed_and_the_old_ones_are_said_not_to_be(
    place: LedgerPlace,
) -> None:
    fill(place, 4)
    for path in place.anchor_directory.iterdir():
        path.unlink()
    fill(place, 1, start=5)
    found = verified(place)
    assert (found.first_bad_seq, found.anchor, found.sealed_from) == (None, AnchorState.SEALED, 5)
    assert "Rows before 5 are older than the anchor: they are proven by their hashes only." in found.notes
    place.change("UPDATE events SET operation = 'x' WHERE seq = 2")
    assert verified(place).first_bad_seq == 2


def test_a_state_directory_that_cannot_be_used_does_not_stop_the_ledger(place: LedgerPlace) -> None:
    place.root.mkdir(exist_ok=True)
    place.state.write_text("a file where a directory should be", encoding="utf-8")
    fill(place, 3)
    found = verified(place)
    assert (found.first_bad_seq, found.rows, found.anchor) == (None, 3, AnchorState.MISSING)


def test_rows_of_another_key_are_foreign_and_break_nothing(place: LedgerPlace) -> None:
    fill(place, 2)
    elsewhere = LedgerPlace(place.root / "other user")
    with opened(place) as chain:
        chain.sealer = Sealer(Anchor(elsewhere.state, REPO_ID, place.ledger), ManualClock())
        chain.append(event(3))
    found = verified(place)
    assert found.first_bad_seq is None
    assert any("seal of another key (3, 4)" in note for note in found.notes), found.notes
    fill(place, 1)
    assert verified(place).first_bad_seq is None


def test_a_foreign_seal_in_place_of_ours_is_found(place: LedgerPlace) -> None:
    fill(place, 3)
    place.change("UPDATE events SET seal = ? WHERE seq = 2", f"{'a' * 16}:{'b' * 64}")
    found = verified(place)
    assert (found.first_bad_seq, found.problem) == (2, "its seal is not the key's")


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, errno.ENOMEM])
def test_a_key_that_cannot_be_read_for_a_moment_refuses_rows_instead_of_leaving_them_unsealed(
    place: LedgerPlace, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    fill(place, 2)
    with opened(place) as chain:
        with monkeypatch.context() as patched:

            def refuse(*_arguments: object) -> bytes:
                raise OSError(number, os.strerror(number))

            patched.setattr("codeplane.ledger.seals._read_start", refuse)
            chain.append_later(event(3))
            with pytest.raises(CodePlaneError) as caught:
                chain.append(event(4))
        chain.append(event(5))
        found = chain.verify()
    assert (caught.value.code, found.first_bad_seq, found.rows) == ("DATABASE_UNAVAILABLE", None, 4)


@pytest.mark.parametrize("name", ["place_head", "move_head", "keep_key"])
def test_a_full_disk_for_the_seals_leaves_no_alarm(
    place: LedgerPlace, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def refuse(*_arguments: object, **_named: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(Anchor, name, refuse)
        fill(place, 2)
        assert verified(place).first_bad_seq is None
    assert verified(place).first_bad_seq is None
    fill(place, 2, start=5)
    found = verified(place)
    assert (found.first_bad_seq, found.anchor) == (None, AnchorState.SEALED)


def test_a_ledger_that_was_removed_with_its_seal_is_missing_evidence(place: LedgerPlace) -> None:
    fill(place, 3)
    shutil.rmtree(place.ledger.parent)
    database, _ = open_ledger_database(place.ledger, ManualClock())
    chain = EventChain(database, ManualClock(), Sealer(Anchor(place.state, "repo_next", place.ledger), ManualClock()))
    chain.append(event(1))
    found = chain.verify()
    database.close()
    assert (found.first_bad_seq, found.rows, found.is_evidence_missing) == (1, 2, True)
    assert "repo_sample with 3 rows" in found.problem


@pytest.mark.parametrize(("home", "is_missing"), [("1 5", True), ("2 9", False)])
def test_another_clone_at_the_same_place_misses_nothing(place: LedgerPlace, home: str, *, is_missing: bool) -> None:
    anchor = Anchor(place.state, REPO_ID, place.ledger, "1 5")
    for sealer in (anchor, Anchor(place.state, "repo_next", place.ledger, home)):
        shutil.rmtree(place.ledger.parent, ignore_errors=True)
        database, _ = open_ledger_database(place.ledger, ManualClock())
        chain = EventChain(database, ManualClock(), Sealer(sealer, ManualClock()))
        chain.append(event(1))
        found = chain.verify()
        database.close()
    assert (found.is_evidence_missing, found.first_bad_seq is None) == (is_missing, not is_missing)


def test_a_place_that_was_forgotten_misses_nothing(place: LedgerPlace) -> None:
    fill(place, 2)
    forget_place(place.state, place.ledger)
    assert not was_sealed(place.state, place.ledger, "")


_KILLED_AT = """
import os, signal, sys
from pathlib import Path
from codeplane.ledger.seals import Anchor
from support.ledgers import LedgerPlace, event, opened

point, when, count = sys.argv[2], sys.argv[3], int(sys.argv[4])
real = getattr(Anchor, point)
calls = 0

def dying(*arguments, **named):
    global calls
    calls += 1
    if calls == count and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = real(*arguments, **named)
    if calls == count:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(Anchor, point, dying)
with opened(LedgerPlace(Path(sys.argv[1]))) as chain:
    for number in range(5):
        chain.append(event(number)) if number % 2 else chain.append_later(event(number))
        chain.flush()
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("point", "count"), [("keep_key", 1), ("place_head", 1), ("move_head", 1), ("move_head", 3)])
def test_a_writer_killed_around_a_seal_leaves_no_alarm(
    place: LedgerPlace, point: str, count: int, when: str, is_new: bool
) -> None:
    if not is_new:
        fill(place, 2)
        if point != "move_head":
            for path in place.anchor_directory.iterdir():
                path.unlink()
    script = (sys.executable, "-c", _KILLED_AT, str(place.root), point, when, str(count))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = run_forked(script, env=environment)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert verified(place).first_bad_seq is None
    fill(place, 2, start=30)
    found = verified(place)
    assert (found.first_bad_seq, found.anchor) == (None, AnchorState.SEALED)


_ENDLESS = """
import sys
from pathlib import Path
from codeplane.core.clock import SystemClock
from support.ledgers import LedgerPlace, event, opened
with opened(LedgerPlace(Path(sys.argv[1])), SystemClock()) as chain:
    number = 0
    while True:
        number += 1
        chain.append_later(event(number))
        (row,) = chain.append(event(number))
        sys.stdout.write(f"{row.seq}\\n")
        sys.stdout.flush()
"""


@pytest.mark.slow
def test_processes_killed_at_any_moment_lose_no_row_they_told_of_and_leave_no_alarm(place: LedgerPlace) -> None:
    moments = random.Random(7)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    told: list[int] = []
    for _ in range(8):
        writers = [
            started_python(
                (sys.executable, "-c", _ENDLESS, str(place.root)), env=environment, stdout=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        for writer in writers:
            assert writer.stdout is not None
            # How far they get does not matter, only that the moment differs.
            told += [int(writer.stdout.readline()) for _ in range(moments.randrange(1, 30))]
        for writer in writers:
            writer.kill()
        # The last line may be cut.
        told += [int(line) for writer in writers for line in writer.communicate()[0].split("\n")[:-1]]
        found = verified(place)
        assert (found.first_bad_seq, found.problem) == (None, "")
        assert found.rows >= max(told)


_WRITER = """
import sys
from pathlib import Path
from codeplane.core.clock import SystemClock
from support.ledgers import LedgerPlace, event, opened
with opened(LedgerPlace(Path(sys.argv[1])), SystemClock()) as chain:
    for number in range(20):
        chain.append_later(event(number)) if number % 4 == 0 else chain.append(event(number))
"""


@pytest.mark.slow
def test_sixteen_processes_append_without_one_being_refused(
    place: LedgerPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    run_children([(sys.executable, "-c", _WRITER, str(place.root)) for _ in range(16)], tmp_path)
    found = verified(place)
    assert (found.first_bad_seq, found.rows, found.sealed_to) == (None, 320, 320)


_HOLDER = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_ledger_held_by_another_process_refuses_rows_in_time_and_is_still_read(place: LedgerPlace) -> None:
    fill(place, 3)
    clock = ManualClock()
    database = LedgerDatabase(place.ledger, LEDGER_SCHEMA, durable=True, lock_timeout=0.2)
    chain = EventChain(database, clock, Sealer(Anchor(place.state, REPO_ID, place.ledger), clock))
    holder = subprocess.Popen(
        (sys.executable, "-c", _HOLDER, f"{place.ledger}.lock"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(CodePlaneError) as caught:
        chain.append(event(4))
    found, rows = chain.verify(), chain.rows(RowFilter())
    holder.communicate("")
    assert (caught.value.code, found.first_bad_seq, len(rows)) == ("STORE_BUSY", None, 3)
    chain.append(event(5))
    assert chain.verify().rows == 4
    database.close()


def test_a_ledger_of_the_version_without_seals_is_taken_over(place: LedgerPlace) -> None:
    place.ledger.parent.mkdir(parents=True)
    old = Database(place.ledger, Schema("ledger", LEDGER_SCHEMA.migrations[:1]), durable=True)
    values = ['{"n":1}', "call-1", "finished", "toy", "0" * 64, 1, "s-1", 1, None, 1_700_000_000_000, "main"]
    with old.write() as connection:
        connection.execute(
            f"INSERT INTO events ({', '.join(HASHED_COLUMNS)}, hash) VALUES ({', '.join('?' * 12)})",
            (*values, row_hash(tuple(values))),
        )
    old.close()
    assert (verified(place).anchor, verified(place).first_bad_seq) == (AnchorState.MISSING, None)
    fill(place, 1, start=2)
    with opened(place) as chain:
        assert [row.kind for row in chain.rows(RowFilter())] == ["finished", "ledger_anchored", "finished"]
        assert chain.verify().first_bad_seq is None


def test_an_export_has_every_row_and_its_end(place: LedgerPlace) -> None:
    fill(place, 3)
    with opened(place) as chain:
        lines = list(export_lines(chain))
        head = chain.verify().head
    assert len(lines) == 5
    assert f'"hash": "{head}"' in lines[-1]


def _noted(workspace: Workspace) -> tuple[Witness, ...]:
    assert workspace.chain.sealer is not None
    return witnesses_in(read_notes(workspace.repository), workspace.chain.sealer.anchor)


def _append(workspace: Workspace, n_rows: int) -> None:
    for number in range(n_rows):
        workspace.record("started", {"n": number})


def test_a_head_in_a_git_note_stands_against_an_older_copy_of_everything(repo: Path) -> None:
    with open_test_workspace(repo) as workspace:
        _append(workspace, 3)
    places = locate_places(repo)
    copies = {path: path.read_bytes() for path in (places.ledger, *places.user.ledger_seals.rglob("head-*"))}
    with open_test_workspace(repo) as workspace:
        _append(workspace, 2)
        assert anchor_head(workspace.chain, note_writer(workspace.repository)).seq == 5
        assert workspace.chain.verify(_noted(workspace)).first_bad_seq is None
    for path, content in copies.items():
        path.write_bytes(content)
    with open_test_workspace(repo) as workspace:
        assert workspace.chain.verify().first_bad_seq is None
        found = workspace.chain.verify(_noted(workspace))
        assert (found.first_bad_seq, "names row 5" in found.problem) == (4, True)


def test_notes_say_nothing_about_people_and_machines(repo: Path) -> None:
    with open_test_workspace(repo) as workspace:
        _append(workspace, 1)
        anchor_head(workspace.chain, note_writer(workspace.repository))
        anchor_head(workspace.chain, note_writer(workspace.repository))
        (first, second) = read_notes(workspace.repository)
    assert first == second
    log = git(repo, "log", "--format=%an %ae %cn %ce", "refs/notes/codeplane")
    assert set(log.split()) == {"CodePlane", "codeplane@localhost"}
    assert git(repo, "status", "--porcelain") == ""


def test_a_note_that_was_changed_is_found_and_notes_of_others_are_passed_over(repo: Path) -> None:
    with open_test_workspace(repo) as workspace:
        _append(workspace, 2)
        assert workspace.chain.sealer is not None
        anchor = workspace.chain.sealer.anchor
        lines: list[str] = []
        anchor_head(workspace.chain, lines.append)
        changed = lines[0].replace('"seq":2', '"seq":1')
        foreign = lines[0].replace(workspace.repo_id, "repo_of_others")
        for text, problem in ((lines[0], None), (changed, 3), (foreign, None), ("a word of ours", None)):
            witnesses = witnesses_in((NoteLine("c" * 40, text),), anchor)
            assert workspace.chain.verify(witnesses).first_bad_seq == problem


def test_a_chain_that_does_not_hold_is_not_anchored(repo: Path) -> None:
    with open_test_workspace(repo) as workspace:
        _append(workspace, 2)
        with closing(sqlite3.connect(workspace.places.ledger)) as connection, connection:
            connection.execute("UPDATE events SET kind = 'x' WHERE seq = 1")
        lines: list[str] = []
        with pytest.raises(CodePlaneError) as caught:
            anchor_head(workspace.chain, lines.append)
    assert (caught.value.code, lines) == ("CHAIN_BROKEN", [])


def test_linked_worktrees_seal_one_chain(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "side")
    with open_test_workspace(repo) as main, open_test_workspace(tmp_path / "linked") as linked:
        for workspace in (main, linked, main, linked):
            workspace.record("started", {})
        found = linked.chain.verify()
    assert (found.first_bad_seq, found.rows, found.sealed_to) == (None, 4, 4)


def _view(place: LedgerPlace, query: str) -> tuple[list[str], list[tuple[object, ...]]]:
    with closing(sqlite3.connect(place.ledger)) as connection:
        cursor = connection.execute(query)
        return [column[0] for column in cursor.description], cursor.fetchall()


def test_operations_are_the_final_rows_with_the_columns_of_the_specification(place: LedgerPlace) -> None:
    body = {
        "duration_ms": 12, "repo_before": "aa", "repo_after": "bb", "changed_paths": ["a.py"],
        "diff_stats": {"files_changed": 1, "insertions": 2, "deletions": 0}, "short_diff": ["~ a.py"],
        "mutation_fingerprint": "m", "failure_fingerprint": "f", "failure_class": "assertion",
        "failing_tests": ["test_a"], "limit_triggered": "mutations",
    }  # fmt: skip
    with opened(place) as chain:
        chain.append(NewEvent("begun", "s-1", {}, "c-1", "write_source", "t-1"))
        chain.append(NewEvent("finished", "s-1", body, "c-1", "write_source", "t-1"))
        chain.append(NewEvent("denied", "s-1", {}, "c-2", "write_source", None))
    names, rows = _view(place, "SELECT * FROM operations ORDER BY op_id")
    assert names == [
        "op_id", "task_id", "timestamp", "duration_ms", "op_type", "success", "repo_before_hash", "repo_after_hash",
        "changed_paths", "diff_stats", "short_diff", "mutation_fingerprint", "failure_fingerprint", "failure_class",
        "failing_tests", "limit_triggered",
    ]  # fmt: skip
    assert rows == [
        (2, "t-1", "2023-11-14T22:13:20.000Z", 12, "write_source", 1, "aa", "bb", '["a.py"]',
         '{"deletions":0,"files_changed":1,"insertions":2}', '["~ a.py"]', "m", "f", "assertion", '["test_a"]',
         "mutations"),
        (3, None, "2023-11-14T22:13:20.000Z", None, "write_source", 0, *([None] * 10)),
    ]  # fmt: skip


def test_tasks_are_told_by_the_rows_that_open_and_close_them(place: LedgerPlace) -> None:
    clock = ManualClock()
    opening = {"limits": {"max_mutations": 5}, "repo_snapshot": {"git_head": "abc", "index_version": 1}}
    with opened(place, clock) as chain:
        chain.append(NewEvent("task_opened", "s-1", opening, task_id="t-1"))
        chain.append(NewEvent("task_opened", "s-1", opening, task_id="t-2"))
        clock.advance(1.5)
        chain.append(NewEvent("task_closed", "s-1", {"state": "CLOSED_FAILED", "reason": "x"}, task_id="t-1"))
    names, rows = _view(place, "SELECT * FROM tasks ORDER BY task_id")
    assert names == ["task_id", "opened_at", "closed_at", "state", "repo_head_sha", "limits_json"]
    at = "2023-11-14T22:13:20.000Z"
    assert rows == [
        ("t-1", at, "2023-11-14T22:13:21.500Z", "CLOSED_FAILED", "abc", '{"max_mutations":5}'),
        ("t-2", at, None, "OPEN", "abc", '{"max_mutations":5}'),
    ]


def test_a_body_that_is_broken_does_not_hide_the_other_rows_from_the_views(place: LedgerPlace) -> None:
    fill(place, 3)
    place.change("UPDATE events SET body = 'no json' WHERE seq = 2")
    assert _view(place, "SELECT op_id, duration_ms FROM operations")[1] == [(1, 1), (2, None), (3, 3)]
    assert _view(place, "SELECT * FROM tasks")[1] == []
