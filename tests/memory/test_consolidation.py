"""Episodes become cells: deterministic, in one transaction, without losing or deleting anything."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.clock import ManualClock
from codeplane.memory.consolidation import Consolidated, consolidate
from codeplane.memory.episodes import Episode, record_episode, record_from_experience
from codeplane.memory.experiences import Experience, record
from codeplane.memory.settings import MemorySettings
from codeplane.memory.store import MemoryStore, Origin


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MemoryStore]:
    opened = MemoryStore(tmp_path / "memory.db", ManualClock(), None)
    yield opened
    opened.close()


def _tell(store: MemoryStore, *summaries: str, author: str = "a", keys: tuple[str, ...] = ("pool",)) -> None:
    with store.write(Origin(author=author)) as writing:
        for summary in summaries:
            record_episode(writing, Episode(summary, keys))


def _learn(store: MemoryStore, approach: str, kind: str = "effective", author: str = "a") -> None:
    with store.write(Origin(author=author)) as writing:
        lesson = Experience(kind, "Debugging", "The pool test hangs.", approach, "Seen.", "Locks.", tags=("pool",))
        done = record(writing, lesson, force=True)
        record_from_experience(writing, done.id, lesson)


def _run(store: MemoryStore, threshold: int = 1, settings: MemorySettings | None = None) -> Consolidated:
    with store.write() as writing:
        return consolidate(writing, "project", threshold, settings or MemorySettings())


def _cells(store: MemoryStore) -> list[sqlite3.Row]:
    with store.read() as connection:
        return connection.execute("SELECT * FROM cells ORDER BY cell_id").fetchall()


def test_a_lesson_needs_no_keyword_to_become_a_cell(store: MemoryStore) -> None:
    _learn(store, "Close it in a finally block.")
    _learn(store, "Raise the timeout.", "ineffective")
    done = _run(store)
    assert (done.processed, done.cells_created) == (2, 2)
    assert [row["cell_type"] for row in _cells(store)] == ["lesson", "pitfall"]


def test_too_few_episodes_wait_for_more(store: MemoryStore) -> None:
    _tell(store, "Always close the pool.")
    assert _run(store, threshold=2) == Consolidated(waiting=1)
    _tell(store, "The pool is shared.")
    assert _run(store, threshold=2).processed == 2


def test_a_second_run_over_the_same_episodes_changes_nothing(store: MemoryStore) -> None:
    _tell(store, "Always close the pool.", "The pool is shared.")
    _run(store)
    before = [tuple(row) for row in _cells(store)]
    assert _run(store) == Consolidated()
    assert [tuple(row) for row in _cells(store)] == before


def test_evidence_counts_once_per_author_on_the_way_to_stable(store: MemoryStore) -> None:
    for _ in range(3):
        _tell(store, "Always close the pool.", author="one")
        _run(store)
    assert (_cells(store)[0]["state"], _cells(store)[0]["evidence_count"]) == ("observed", 1)
    for author in ("two", "three", "four"):
        _tell(store, "Always close the pool.", author=author)
        _run(store)
    assert (_cells(store)[0]["state"], _cells(store)[0]["evidence_count"]) == ("stable", 4)


@pytest.mark.parametrize(
    ("one", "other", "is_conflict"),
    [
        ("Always use tabs.", "Never use tabs.", True),
        ("The cache is not shared.", "The build is green.", False),
    ],
)
def test_only_opposite_claims_about_one_subject_conflict(
    store: MemoryStore, one: str, other: str, *, is_conflict: bool
) -> None:
    _tell(store, one)
    _run(store)
    _tell(store, other)
    assert _run(store).contradictions == int(is_conflict)
    groups = {row["conflict_group"] for row in _cells(store)}
    assert len(groups) == 1
    assert (groups == {None}) is not is_conflict
    assert {row["contradiction_count"] for row in _cells(store)} == {int(is_conflict)}


def test_a_newer_claim_with_more_support_supersedes_the_older_one(store: MemoryStore) -> None:
    _tell(store, "Always use tabs.")
    _run(store)
    for author in ("one", "two"):
        _tell(store, "Never use tabs.", author=author)
        _run(store)
    older, newer = _cells(store)
    assert newer["supersedes_cell_id"] == older["cell_id"]


def test_beyond_the_cap_the_least_salient_is_archived_and_comes_back_with_new_evidence(store: MemoryStore) -> None:
    settings = MemorySettings(max_cells_per_scene=1)
    _tell(store, "Always close the pool.")
    _run(store)
    _tell(store, "Never share a worker.", "Always close the pool.", author="b")
    assert _run(store, settings=settings).archived == 1
    states = {row["title"]: row["state"] for row in _cells(store)}
    assert states["Never share a worker."] == "archived"
    _tell(store, "Never share a worker.", author="c")
    _run(store)
    states = {row["title"]: row["state"] for row in _cells(store)}
    assert states["Never share a worker."] != "archived"


def test_an_interrupted_run_leaves_nothing_behind(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    _tell(store, "Always close the pool.", "The pool is shared.")

    def fail(*_arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("codeplane.memory.consolidation._move_states", fail)
    with pytest.raises(KeyboardInterrupt):
        _run(store)
    assert _cells(store) == []
    monkeypatch.undo()
    assert _run(store).cells_created == 2


def test_equal_episodes_give_equal_cells_in_another_store(store: MemoryStore, tmp_path: Path) -> None:
    other = MemoryStore(tmp_path / "other.db", ManualClock(), None)
    try:
        for one in (store, other):
            _learn(one, "Close it in a finally block.")
            _tell(one, "Always close the pool.", "Never close the pool.")
            _run(one)
        assert [tuple(row) for row in _cells(store)] == [tuple(row) for row in _cells(other)]
    finally:
        other.close()
