"""What people do with memory: verify, repair, share, take over and forget."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from codeplane.memory.verification import verify_rows, written_rows
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.manage_memory import noted_rows
from codeplane.operations.perform import Door
from support.doors import call, open_test_workspace, person, result_of
from support.repositories import git, make_repository

LESSON: dict[str, Any] = {
    "type": "effective",
    "domain": "Debugging",
    "situation": "The zeppelin test hangs on the build server.",
    "approach": "Close the zeppelin pool in a finally block.",
    "outcome": "The hang is gone.",
    "reasoning": "The forked worker kept a copy of the lock.",
    "paths": ["src/pool.py"],
}


def _record(door: Door, **changes: Any) -> int:
    key: int = result_of(call(door, "record_experience", {**LESSON, **changes}))["experience_id"]
    return key


def _verdict(door: Door) -> dict[str, Any]:
    return result_of(call(door, "verify_memory", by=person()))


def _behind(door: Door, *statements: str) -> None:
    """Change the file without CodePlane."""
    with closing(sqlite3.connect(door.workspace.places.memory, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def _fill(door: Door) -> None:
    for name in ("alpha", "beta", "gamma"):
        _record(door, situation=f"The {name} job fails at night.", approach=f"Restart the {name} worker first.")
    call(door, "run_consolidation", {"threshold": 1})


def test_a_store_that_nobody_touched_is_sound(door: Door) -> None:
    _fill(door)
    call(door, "tag_experience", {"id": 1, "tags": ["night"]})
    call(door, "update_experience", {"id": 2, "changes": {"outcome": "Gone."}, "reason": "again"})
    found = _verdict(door)
    assert (found["verdict"], found["problems"], found["notes"]) == ("SOUND", [], [])


def _rehash(statement: str, key: int) -> Callable[[Door], None]:
    def change(door: Door) -> None:
        _behind(door, statement)
        store = door.workspace.memory
        signer, store.signer = store.signer, None
        with store.write() as writing:
            writing._seal("experiences", key)
        store.signer = signer

    return change


TAMPERING: list[tuple[str, Callable[[Door], None], str]] = [
    ("text", lambda door: _behind(door, "UPDATE experiences SET approach = 'Do.' WHERE id = 1"), "experiences 1"),
    ("type", lambda door: _behind(door, "UPDATE experiences SET type = 'ineffective' WHERE id = 2"), "experiences 2"),
    ("trust", lambda door: _behind(door, "UPDATE cells SET trust = 3 WHERE cell_id = 1"), "cells 1"),
    ("evidence", lambda door: _behind(door, "DELETE FROM cell_evidence WHERE id = 2"), "cell_evidence 2 was deleted"),
    ("tail", lambda door: _behind(door, "DELETE FROM experiences WHERE id = 3"), "experiences 3 was deleted"),
    ("episode", lambda door: _behind(door, "UPDATE episodic_experiences SET trust = 3"), "episodic_experiences 1"),
    ("hash", _rehash("UPDATE experiences SET outcome = 'Worse.' WHERE id = 1", 1), "experiences 1 has no valid seal"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "problem"), [one[1:] for one in TAMPERING], ids=[one[0] for one in TAMPERING])
def test_a_change_behind_our_back_is_found_and_named(door: Door, change: Callable[[Door], None], problem: str) -> None:
    _fill(door)
    change(door)
    found = _verdict(door)
    assert found["verdict"] == "TAMPERED"
    assert any(one.startswith(problem) for one in found["problems"]), found["problems"]


COLUMNS = (
    "situation approach outcome reasoning tags confidence scope created_at revision_of archived_at paths symbols "
    "evidence_count branch content_hash"
)


@pytest.mark.parametrize("column", COLUMNS.split())
def test_every_protected_column_is_covered(door: Door, column: str) -> None:
    _record(door)
    value = {"scope": "'global'", "paths": "'[]'", "tags": "'[\"x\"]'", "symbols": "'[\"x\"]'", "revision_of": "1"}.get(
        column, "7"
    )
    _behind(door, f"UPDATE experiences SET {column} = {value} WHERE id = 1")
    assert any(one.startswith("experiences 1") for one in _verdict(door)["problems"])


def test_an_older_version_of_a_row_that_was_put_back_is_found(door: Door) -> None:
    _record(door)
    with closing(sqlite3.connect(door.workspace.places.memory)) as connection:
        old = connection.execute("SELECT tags, updated_at, row_hash, seal FROM experiences").fetchone()
    call(door, "tag_experience", {"id": 1, "tags": ["night"]})
    with closing(sqlite3.connect(door.workspace.places.memory, isolation_level=None)) as connection:
        connection.execute("UPDATE experiences SET tags = ?, updated_at = ?, row_hash = ?, seal = ?", old)
    assert _verdict(door)["problems"] == ["experiences 1 is not the version that the ledger names"]


class _KilledError(BaseException):
    """Stands for a process that ends."""


def _end_after_work(step: str) -> None:
    if step == "work":
        raise _KilledError


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("record_experience", LESSON),
        ("tag_experience", {"id": 1, "tags": ["late"]}),
        ("forget_memory", {"id": 1}),
        ("run_consolidation", {"threshold": 1}),
    ],
)
def test_a_process_that_ends_before_the_ledger_knows_is_no_tampering(
    door: Door, name: str, arguments: dict[str, Any]
) -> None:
    _record(door)
    with pytest.raises(_KilledError):
        call(Door(door.workspace, door.operations, _end_after_work), name, arguments, by=person())
    assert _verdict(door)["problems"] == []
    _record(door, situation="Something else is slow.")
    assert _verdict(door)["problems"] == []


def test_the_newest_version_counts_in_whatever_order_processes_reach_the_ledger() -> None:
    noted = [["experiences", 1, "first"], ["experiences", 1, "third", 3], ["experiences", 1, "second", 2]]
    assert written_rows(noted) == {("experiences", 1): "third"}


def test_notes_that_were_put_back_or_forged_hide_nothing(door: Door) -> None:
    _record(door)
    with closing(sqlite3.connect(door.workspace.places.memory)) as connection:
        columns = "row_hash, seal, evidence_count, updated_at"
        old = connection.execute(f"SELECT {columns} FROM experiences").fetchone()
        notes = connection.execute("SELECT key, value FROM meta WHERE key LIKE 'notes %'").fetchone()
    call(door, "record_experience", LESSON)
    _record(door, situation="Something else is slow.")
    with closing(sqlite3.connect(door.workspace.places.memory, isolation_level=None)) as connection:
        connection.execute(f"UPDATE experiences SET ({columns}) = (?, ?, ?, ?) WHERE id = 1", old)
        connection.execute("INSERT INTO meta VALUES (?, ?)", notes)
        forged = json.dumps([json.dumps([["experiences", 1, old[0], 99]]), "00"])
        connection.execute("INSERT INTO meta VALUES ('notes 99', ?)", (forged,))
    assert _verdict(door)["problems"] == ["experiences 1 is not the version that the ledger names"]


def test_a_full_text_that_cannot_be_checked_now_is_no_tampering(door: Door) -> None:
    _record(door)
    with closing(sqlite3.connect(door.workspace.places.memory, isolation_level=None)) as other:
        other.execute("PRAGMA query_only = 1")
        other.row_factory = sqlite3.Row
        recorded = written_rows(noted_rows(door.workspace))
        assert verify_rows(other, door.workspace.memory.signer, recorded).problems == ()


def test_repair_builds_derived_data_again(door: Door) -> None:
    _record(door)
    _behind(
        door, "DELETE FROM experience_places", "INSERT INTO experiences_fts (experiences_fts) VALUES ('delete-all')"
    )
    assert len(_verdict(door)["problems"]) == 2
    assert result_of(call(door, "repair_memory", by=person()))["repaired"]
    assert _verdict(door)["verdict"] == "SOUND"
    assert result_of(call(door, "search_experiences", {"query": "zeppelin"}))["count"] == 1


def _is_index(path: Path) -> bool:
    """Tell whether a file is derived from the working tree; `cpl clear` removes those."""
    return path.name.startswith(("text-", "index.db")) or "tantivy" in str(path)


def test_what_is_forgotten_is_in_no_file_any_more(door: Door) -> None:
    _record(door)
    call(door, "update_experience", {"id": 1, "changes": {"outcome": "Solved."}, "reason": "zeppelin again"})
    call(door, "run_consolidation", {"threshold": 1})
    call(door, "export_experiences", {"format": "json", "output_path": "lessons.json"})
    call(door, "export_memory", by=person())
    (door.workspace.root / "lessons.json").unlink()
    done = result_of(call(door, "forget_memory", {"id": 2}, by=person()))
    assert done["forgotten"] == [1, 2]
    assert done["undo_batches_dropped"] == 2
    assert done["team_file_changed"]
    door.workspace.chain.flush()
    left = [
        str(path.relative_to(door.workspace.root))
        for path in door.workspace.root.rglob("*")
        if path.is_file() and not _is_index(path) and b"zeppelin" in path.read_bytes().lower()
    ]
    assert left == []
    assert _verdict(door)["verdict"] == "SOUND"


def test_forgetting_takes_only_its_own_line_out_of_the_teams_file(door: Door) -> None:
    _record(door, situation='Say "no" to\nC:\\temp.', approach="x", reasoning="y", outcome="z")
    _record(door, situation="The importer is slow.", approach="Read in chunks of 7.")
    _record(door, situation="The exporter is slow.", approach="Write in chunks of 9.")
    call(door, "export_memory", by=person())
    for key in (1, 2):
        assert result_of(call(door, "forget_memory", {"id": key}, by=person()))["team_file_changed"]
    team = (door.workspace.root / ".orchestration/memory/experiences.jsonl").read_text()
    assert [json.loads(line)["situation"] for line in team.splitlines()] == ["The exporter is slow."]


def test_a_line_separator_inside_a_text_does_not_break_the_teams_file(door: Door) -> None:
    _record(door, situation="One\u2028two\x85three.")
    _record(door, situation="The importer is slow.", approach="Read in chunks of 7.")
    call(door, "export_memory", by=person())
    assert result_of(call(door, "merge_memory", by=person()))["skipped"] == 2
    call(door, "forget_memory", {"id": 2}, by=person())
    assert result_of(call(door, "merge_memory", by=person()))["total"] == 1


def test_the_teams_file_merges_and_comes_in_once(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {"a.txt": "a\n"})
    with open_test_workspace(root) as workspace:
        door = Door(workspace, OPERATIONS)
        git(root, "checkout", "-q", "-b", "other")
        _record(door, situation="Alpha fails on Mondays.")
        call(door, "export_memory", by=person())
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "alpha")
        git(root, "checkout", "-q", "main")
        call(door, "forget_memory", {"id": 1}, by=person())
        _record(door, situation="Beta fails on Tuesdays.")
        call(door, "export_memory", by=person())
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "beta")
        git(root, "merge", "-q", "-m", "both", "other")
        lines = (root / ".orchestration/memory/experiences.jsonl").read_text(encoding="utf-8").splitlines()
        assert sorted(json.loads(line)["situation"] for line in lines) == [
            "Alpha fails on Mondays.",
            "Beta fails on Tuesdays.",
        ]
        first = result_of(call(door, "merge_memory", by=person()))
        again = result_of(call(door, "merge_memory", by=person()))
    assert (first["imported"], first["skipped"]) == (1, 1)
    assert (again["imported"], again["skipped"]) == (0, 2)


def test_a_lesson_with_a_secret_comes_back_as_itself(door: Door) -> None:
    _record(door, approach="export API_KEY=sk-ant-REDACTED first")
    call(door, "export_memory", by=person())
    assert result_of(call(door, "merge_memory", by=person()))["imported"] == 0


@pytest.mark.parametrize(
    "odd",
    [
        {"id": [1]},
        {"revision_of": {"a": 1}},
        {"created_at": 10**20},
        {"created_at": 10**18},
        {"created_at": -5},
        {"paths": ["../x", "/etc/passwd", 5]},
        {"situation": "half \ud800"},
        {"tags": ["\udfff"]},
    ],
)
def test_an_odd_row_of_the_teams_file_does_not_stop_the_others(door: Door, odd: dict[str, Any]) -> None:
    rows = [{**LESSON, **odd}, {**LESSON, "situation": "The other one."}]
    path = door.workspace.root / "odd.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    result_of(call(door, "import_memory", {"path": str(path)}, by=person()))
    answer = result_of(call(door, "search_experiences", {"query": "zeppelin other one"}))
    assert any(one["situation"] == "The other one." for one in answer["results"])
    assert not any(place.startswith(("/", "..")) for one in answer["results"] for place in one["paths"])


def test_a_store_with_a_question_mark_in_its_name_is_only_read(door: Door, tmp_path: Path) -> None:
    place = tmp_path / "a?mode=rwc"
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("CREATE TABLE experiences (id INTEGER)")
    result_of(call(door, "import_memory", {"path": str(place)}, by=person()))
    assert not (tmp_path / "a").exists()


def test_an_export_keeps_what_others_wrote_and_drops_what_was_revised_here(door: Door) -> None:
    _record(door)
    call(door, "export_memory", by=person())
    team = door.workspace.root / ".orchestration/memory/experiences.jsonl"
    with team.open("a") as file:
        file.write(json.dumps({**LESSON, "situation": "A colleague has met this."}) + "\n")
    call(door, "update_experience", {"id": 1, "changes": {"outcome": "Solved."}, "reason": "Seen again"})
    assert result_of(call(door, "export_memory", by=person()))["experiences"] == 2
    told = {(row["situation"], row["outcome"]) for row in map(json.loads, team.read_text().splitlines())}
    assert told == {("A colleague has met this.", LESSON["outcome"]), (LESSON["situation"], "Solved.")}


def test_equal_stores_export_equal_bytes(tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        with open_test_workspace(make_repository(tmp_path / name, {})) as workspace:
            door = Door(workspace, OPERATIONS)
            _fill(door)
            call(door, "export_memory", by=person())
            texts.append((workspace.root / ".orchestration/memory/experiences.jsonl").read_bytes())
    assert texts[0] == texts[1]


def test_a_store_of_the_public_system_is_taken_over(door: Door) -> None:
    old = door.workspace.root / ".claude" / "experiences.db"
    old.parent.mkdir()
    with closing(sqlite3.connect(old)) as connection:
        connection.execute(
            "CREATE TABLE experiences (id INTEGER PRIMARY KEY, type TEXT, domain TEXT, situation TEXT, approach TEXT,"
            " outcome TEXT, reasoning TEXT, confidence REAL, tags TEXT, created_at INTEGER, revision_of INTEGER)"
        )
        twice = json.dumps(json.dumps(["perf"]))
        rows = [
            (5, "effective", "Tools", "Slow", "Cache it", "Fast", "Less work", 0.9, twice, 1_700_000_000, None),
            (6, "effective", "Tools", "Slow", "Cache it all", "Faster", "Less work", 0.9, '["perf"]', 1_700_000_100, 5),
        ]  # fmt: skip
        connection.executemany("INSERT INTO experiences VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        connection.commit()
    done = result_of(call(door, "import_memory", {"path": ".claude/experiences.db"}, by=person()))
    assert (done["imported"], done["errors"]) == (2, [])
    newest = result_of(call(door, "get_experience", {"id": 2}))["experience"]
    assert (newest["revision_of"], newest["tags"], newest["created_at"][:10]) == (1, ["perf"], "2023-11-14")
    assert result_of(call(door, "search_experiences", {"query": "slow cache"}))["count"] == 1


def test_a_person_promotes_an_experience_to_all_repositories(door: Door, tmp_path: Path) -> None:
    _record(door)
    assert result_of(call(door, "promote_experience", {"id": 1}, by=person()))["promoted"]
    other = make_repository(tmp_path / "other", {})
    with open_test_workspace(other) as workspace:
        there = Door(workspace, OPERATIONS)
        found = result_of(call(there, "search_experiences", {"query": "zeppelin hangs"}))["results"]
        assert [(one["id"], one["scope"]) for one in found] == [(-1, "global")]
        assert result_of(call(there, "get_experience", {"id": -1}))["experience"]["outcome"] == "The hang is gone."
        packed = result_of(call(there, "context_pack", {"query": "zeppelin test hangs"}))
        assert [one["id"] for one in packed["packed_context"]["experiences"]] == [-1]


@pytest.mark.parametrize(
    "name", ["export_memory", "forget_memory", "import_memory", "merge_memory", "promote_experience"]
)
def test_agents_cannot_do_what_people_do(door: Door, name: str) -> None:
    answer = call(door, name, {"id": 1} if name in {"forget_memory", "promote_experience"} else {})
    assert answer.error is not None
    assert answer.error.error == "OPERATOR_TOKEN_REQUIRED"


def test_forgetting_that_was_interrupted_is_told_and_completed_by_repair(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    _record(door)

    def interrupted(*_arguments: Any) -> None:
        raise OSError("the process ended here")

    monkeypatch.setattr("codeplane.operations.manage_memory.purge", interrupted)
    call(door, "forget_memory", {"id": 1}, by=person())
    monkeypatch.undo()
    assert any("interrupted" in one for one in _verdict(door)["notes"])
    call(door, "repair_memory", by=person())
    assert _verdict(door)["notes"] == []
    assert b"zeppelin" not in door.workspace.places.memory.read_bytes()
