"""Friction is counted by code and folder, never lost, and becomes one memory."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.clock import ManualClock
from codeplane.core.error_registry import ERROR_TABLE
from codeplane.memory.anchors import resolve, seed_anchors
from codeplane.memory.digest import friction_digest
from codeplane.memory.friction import Friction, count_of, record_friction, record_resolution, unresolved
from codeplane.memory.friction_codes import call_in_short, content_for, enforcement_of, note_for
from codeplane.memory.records import command
from codeplane.memory.settings import FrictionSettings
from codeplane.memory.store import MemoryStore
from support.effort import examples

SETTINGS = FrictionSettings()
DIRECTORIES = frozenset({"src", "src/app", "src/app/db", "src/app/db/sql", "docs", "web", "web/node_modules"})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    opened = MemoryStore(tmp_path / "memory.db", ManualClock(), None)
    yield opened
    opened.close()


def _hit(
    store: MemoryStore,
    *codes: str,
    fingerprint: str = "",
    session: str = "s1",
    anchor: str = "anchor:src",
    settings: FrictionSettings = SETTINGS,
) -> tuple[str, ...]:
    friction = Friction(codes or ("STALE_FILE",), "write_source", session, (anchor, "anchor:."), fingerprint)
    with store.write() as writing:
        return record_friction(writing, settings, friction)


def _count(store: MemoryStore, code: str = "STALE_FILE", anchor: str = "anchor:src") -> int:
    with store.read() as connection:
        return count_of(connection, code, anchor)


def _rows(store: MemoryStore, table: str = "friction_ledger") -> list[sqlite3.Row]:
    with store.read() as connection:
        return connection.execute(f"SELECT * FROM {table}").fetchall()


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ((), ["."]),
        (("top.py",), ["."]),
        (("src/app/x.py",), ["src/app", "src", "."]),
        (("src/app/x.py", "src/app/db/y.py"), ["src/app", "src", "."]),
        (("src/app/x.py", "docs/y.md"), ["."]),
        (("src/app/db/sql/deep.py",), ["src/app/db", "src/app", "src", "."]),
        (("src/new/x.py",), ["src", "."]),
        (("web/node_modules/x.js",), ["web", "."]),
        (("src2/app/x.py",), ["."]),
    ],
)
def test_files_belong_to_the_deepest_folder_that_contains_all(paths: tuple[str, ...], expected: list[str]) -> None:
    assert resolve(paths, DIRECTORIES, SETTINGS) == tuple(f"anchor:{one}" for one in expected)


def test_the_table_of_anchors_follows_the_folders(store: MemoryStore) -> None:
    with store.write() as writing:
        assert seed_anchors(writing.connection, DIRECTORIES, SETTINGS) == 6
        assert seed_anchors(writing.connection, {"docs"}, SETTINGS) == 2
    assert [tuple(row) for row in _rows(store, "domain_anchors")] == [
        ("anchor:.", ".", None),
        ("anchor:docs", "docs", "anchor:."),
    ]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("PLAN_EVIDENCE_INSUFFICIENT", "few_shot"),
        ("PLAN_WEAK_MODEL_AMBIGUOUS", "few_shot"),
        ("PLAN_VERIFICATION_WEAK", "few_shot"),
        ("PLAN_NOT_ATOMIC", "few_shot"),
        ("PLAN_STRATEGY_MISMATCH", "strategy_signal"),
        ("PLAN_POLICY_VIOLATION", "plan_rule"),
        ("PLAN_SCOPE_VIOLATION", "plan_rule"),
        ("PLAN_ORIGIN_UNKNOWN", "informational"),
        ("PACK_INSUFFICIENT", "informational"),
        ("EXEC_SIDE_EFFECT_COLLISION", "informational"),
        ("SCOPE_VIOLATION", "informational"),
        ("STALE_FILE", "informational"),
        ("INTENT_REQUIRED", "informational"),
        ("GIT_CONFLICTS", "informational"),
        ("CONTENT_NOT_FOUND", "few_shot"),
        ("TEST_FAILURE:0123456789ab", "informational"),
        ("INTERNAL_ERROR", None),
        ("CIRCUIT_OPEN", None),
        ("DISK_FULL", None),
        ("CANCELLED", None),
        ("GIT_REMOTE_UNREACHABLE", None),
    ],
)
def test_the_code_decides_the_type_of_memory(code: str, expected: str | None) -> None:
    assert enforcement_of(code) == expected
    kinds = {"few_shot": "few_shot", "plan_rule": "plan_rule", "strategy_signal": "strategy_signal"}
    assert list(content_for(code, "note", "before", "anchor:src")) == [
        kinds[one] for one in (expected,) if one in kinds
    ]


def test_every_code_that_teaches_has_a_note_from_the_registry() -> None:
    for entry in ERROR_TABLE:
        if enforcement_of(entry.name) is not None:
            note = note_for(entry.name, "write_source", "anchor:src", 3)
            assert note.startswith(f"write_source failed 3 times in src ({entry.name}). ")
            assert entry.message in note


def test_an_example_shows_long_values_by_their_length_and_no_secret() -> None:
    arguments = {"path": "a.py", "new": "line\n" * 40, "dry_run": False, "key": "AKIAIOSFODNN7EXAMPLE"}
    shown = call_in_short("write_source", arguments)
    assert '"new": "(200 characters)"' in shown
    assert "dry_run" not in shown
    assert "AKIAIOSFODNN7EXAMPLE" not in shown


def test_the_threshold_makes_one_memory_and_the_count_starts_again(store: MemoryStore) -> None:
    assert [_hit(store) for _ in range(3)] == [(), (), ("mem-1",)]
    assert _count(store) == 0
    assert [_hit(store) for _ in range(4)] == [(), (), (), ()]
    assert _count(store) == 4
    with store.write() as writing:
        command(writing, "reject", "mem-1", "person")
    assert _hit(store) == ("mem-2",)
    assert [row["memory_id"] for row in _rows(store) if row["memory_id"]] == ["mem-1", "mem-2"]


def test_the_same_attempt_counts_once_per_session(store: MemoryStore) -> None:
    for session in ("s1", "s1", "s1", "s2"):
        _hit(store, fingerprint="f", session=session)
    assert _count(store) == 2
    assert len(_rows(store)) == 4


def test_a_rejection_with_several_codes_counts_once_for_each(store: MemoryStore) -> None:
    _hit(store, "PLAN_NOT_ATOMIC", "PLAN_ORIGIN_UNKNOWN", "PLAN_NOT_ATOMIC")
    assert [_count(store, code) for code in ("PLAN_NOT_ATOMIC", "PLAN_ORIGIN_UNKNOWN")] == [1, 1]
    assert len(_rows(store)) == 1


def test_folders_are_counted_apart(store: MemoryStore) -> None:
    for anchor in ("anchor:src", "anchor:docs", "anchor:src", "anchor:docs"):
        assert _hit(store, anchor=anchor) == ()
    assert [_count(store, anchor=one) for one in ("anchor:src", "anchor:docs")] == [2, 2]


def test_a_success_is_appended_and_no_line_is_rewritten(store: MemoryStore) -> None:
    _hit(store)
    before = [tuple(row) for row in _rows(store)]
    success = Friction((), "write_source", "s1", ("anchor:src", "anchor:."))
    with store.write() as writing:
        assert record_resolution(writing, SETTINGS, success)
        assert not record_resolution(writing, SETTINGS, success)
    rows = _rows(store)
    assert [tuple(row) for row in rows[:1]] == before
    assert [(row["entry"], row["resolved"]) for row in rows] == [("friction", 0), ("resolution", 1)]
    with store.read() as connection:
        assert unresolved(connection, "s1") == {}


def test_a_full_volume_is_closed_and_the_next_one_begins(store: MemoryStore) -> None:
    settings = FrictionSettings(friction_ledger_max_entries=10, rejection_threshold=1000)
    for _ in range(25):
        _hit(store, settings=settings)
    assert Counter(row["archive"] for row in _rows(store)) == {0: 10, 1: 10, 2: 5}
    assert _count(store) == 25


_HITS = st.lists(
    st.tuples(
        st.sampled_from(["STALE_FILE", "SCOPE_VIOLATION"]),
        st.sampled_from(["anchor:.", "anchor:src"]),
        st.sampled_from(["s1", "s2"]),
        st.sampled_from(["", "f", "g"]),
    ),
    max_size=40,
)


@examples(25)
@given(hits=_HITS, threshold=st.integers(1, 5))
def test_no_count_is_lost_by_rotation(hits: list[tuple[str, str, str, str]], threshold: int) -> None:
    settings = FrictionSettings(rejection_threshold=threshold, friction_ledger_max_entries=10)
    with TemporaryDirectory() as folder:
        store = MemoryStore(Path(folder) / "memory.db", ManualClock(), None)
        expected: Counter[tuple[str, str]] = Counter()
        seen: set[tuple[str, str, str, str]] = set()
        made: set[tuple[str, str]] = set()
        for hit in hits:
            code, anchor, session, fingerprint = hit
            new = _hit(store, code, fingerprint=fingerprint, session=session, anchor=anchor, settings=settings)
            expected[code, anchor] += not fingerprint or hit not in seen
            seen.add(hit)
            is_due = expected[code, anchor] >= threshold and (code, anchor) not in made
            assert bool(new) == is_due
            if is_due:
                made.add((code, anchor))
                expected[code, anchor] = 0
        for (code, anchor), n_times in expected.items():
            assert _count(store, code, anchor) == n_times
        assert len(_rows(store)) == len(hits)
        store.close()


def test_the_digest_ranks_codes_signatures_and_files(store: MemoryStore) -> None:
    for _ in range(6):
        _hit(store, "CONTENT_NOT_FOUND")
    _hit(store, "SCOPE_VIOLATION", anchor="anchor:docs", session="s2")
    with store.read() as connection:
        digest = friction_digest(connection, SETTINGS, {"a.py": 1, "b.py": 5})
        of_session = friction_digest(connection, SETTINGS, {}, "s2")
    assert digest["rejections"] == digest["pending_corrections"] == 7
    assert digest["heat_map"][0] == {"code": "CONTENT_NOT_FOUND", "anchor": "anchor:src", "n": 6}
    assert digest["top_signatures"][0]["signature"] == "CONTENT_NOT_FOUND|write_source|anchor:src"
    assert [one["path"] for one in digest["retrieval_hot_spots"]] == ["b.py", "a.py"]
    assert digest["trend"] == [{"hour": "2023-11-14T22:00Z", "n": 7}]
    assert digest["memories"]["pending"] == [{"id": "mem-1", "scaffolded": True}]
    assert [one["kind"] for one in digest["suggestions"]] == ["plan_rule", "few_shot", "review"]
    assert of_session["codes"] == [{"code": "SCOPE_VIOLATION", "n": 1}]
    assert json.loads(json.dumps(digest)) == digest
