"""The seven tools for experiences, through the door."""

import json
from pathlib import Path
from typing import Any

import pytest

from codeplane.operations.answer import Outcome
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, caller, open_test_workspace, person, result_of
from support.repositories import make_repository

LESSON: dict[str, Any] = {
    "type": "effective",
    "domain": "Debugging",
    "situation": "The pool test hangs on the build server.",
    "approach": "Close the pool in a finally block.",
    "outcome": "The hang is gone.",
    "reasoning": "The forked worker kept a copy of the lock.",
    "tags": ["ci"],
    "paths": ["src/pool.py"],
}


def _record(door: Door, **changes: Any) -> dict[str, Any]:
    return result_of(call(door, "record_experience", {**LESSON, **changes}))


def _found(door: Door, query: str, **more: Any) -> list[int]:
    return [one["id"] for one in result_of(call(door, "search_experiences", {"query": query, **more}))["results"]]


def test_what_was_recorded_is_found_again(door: Door) -> None:
    assert _record(door)["experience_id"] == 1
    other = {
        "situation": "The importer is slow.",
        "approach": "Read in chunks.",
        "outcome": "Fast.",
        "reasoning": "Less I/O.",
    }
    _record(door, **other, paths=["src/read.py"])
    answer = result_of(call(door, "search_experiences", {"query": "pool hanging"}))
    assert [one["id"] for one in answer["results"]] == [1]
    assert answer["sure"]
    assert answer["results"][0]["tags"] == ["ci"]
    assert _found(door, "anything", paths=["src/read.py"]) == [2]


def test_a_path_outside_is_refused_and_a_missing_file_is_named(door: Door) -> None:
    for path in ("/etc/passwd", "../x.py"):
        refused = call(door, "record_experience", {**LESSON, "paths": [path]})
        assert refused.error is not None
        assert refused.error.error == "PATH_OUTSIDE_REPOSITORY"
    assert _record(door)["message"] == "Experience 1 recorded. There is no file src/pool.py."


def test_a_question_about_something_else_is_answered_as_unsure(door: Door) -> None:
    _record(door)
    answer = result_of(call(door, "search_experiences", {"query": "deploy the chart to the cluster on the server"}))
    assert not answer["sure"]


def test_a_lesson_that_says_the_same_gains_evidence_instead_of_a_row(door: Door) -> None:
    _record(door)
    again = _record(door, situation="the pool test hangs on the  build server")
    assert (again["recorded"], again["duplicate_id"]) == (False, 1)
    assert result_of(call(door, "get_experience", {"id": 1}))["experience"]["evidence_count"] == 2
    assert _record(door, force=True)["experience_id"] == 2


def test_a_lesson_about_another_file_is_similar_and_not_a_duplicate(door: Door) -> None:
    _record(door, situation="src/a.py hangs in the pool test.")
    other = _record(door, situation="src/b.py hangs in the pool test.")
    assert other["recorded"]
    assert other["similar"][0]["id"] == 1


def test_a_revision_replaces_the_old_version_in_searches(door: Door) -> None:
    _record(door)
    changed = result_of(
        call(door, "update_experience", {"id": 1, "changes": {"outcome": "It ends."}, "reason": "Measured again"})
    )
    assert (changed["original_id"], changed["new_id"]) == (1, 2)
    assert _found(door, "pool hangs") == [2]
    newer = result_of(call(door, "get_experience", {"id": 2}))
    assert newer["previous_version"]["outcome"] == "The hang is gone."
    assert newer["experience"]["tags"] == ["ci"]
    assert result_of(call(door, "get_experience", {"id": 1}))["newer_versions"] == [2]
    twice = call(door, "update_experience", {"id": 1, "changes": {"outcome": "x"}, "reason": "y"})
    assert twice.error is not None
    assert "Update 2 instead" in twice.error.message


@pytest.mark.parametrize("threshold", [1, 100])
@pytest.mark.parametrize("changes", [{"approach": "Use a timeout."}, {"outcome": "It still hangs at times."}])
def test_nobody_is_told_a_version_that_was_revised(door: Door, changes: dict[str, str], threshold: int) -> None:
    _record(door)
    call(door, "run_consolidation", {"threshold": threshold})
    call(door, "update_experience", {"id": 1, "changes": changes, "reason": "Measured again"})
    told = [call(door, "context_pack", {"query": "pool hangs"}).text()]
    call(door, "run_consolidation", {"threshold": 1})
    told.append(call(door, "context_pack", {"query": "pool hangs"}).text())
    for text in told:
        assert all(value.rstrip(".") in text for value in changes.values()), text
        assert not any(LESSON[name].rstrip(".") in text for name in changes), text


def test_tags_are_added_once_and_the_full_text_follows(door: Door) -> None:
    _record(door)
    tagged = result_of(call(door, "tag_experience", {"id": 1, "tags": ["forking", "ci"]}))
    assert tagged["tags"] == ["ci", "forking"]
    assert _found(door, "forking") == [1]
    with door.workspace.memory.read() as connection:
        connection.execute("INSERT INTO experiences_fts (experiences_fts, rank) VALUES ('integrity-check', 1)")


def test_secrets_are_redacted_before_they_are_stored(door: Door) -> None:
    key = "AKIA" + "Q3EXAMPLE7QWERTY"
    _record(door, approach=f"Export AWS_ACCESS_KEY_ID={key} first.")
    assert key.encode() not in door.workspace.places.memory.read_bytes()
    wal = Path(f"{door.workspace.places.memory}-wal")
    assert not wal.exists() or key.encode() not in wal.read_bytes()


def test_reading_never_writes_a_row(door: Door) -> None:
    _record(door)
    before = door.workspace.memory.generation()
    _found(door, "pool")
    assert door.workspace.memory.generation() == before
    _record(door, situation="Another one about timers.")
    assert result_of(call(door, "get_experience", {"id": 1}))["experience"]["access_count"] == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"domain": "Cooking"}, "INVALID_DOMAIN"),
        ({"type": "good"}, "INVALID_TYPE"),
        ({"confidence": 1.5}, "OUT_OF_RANGE"),
        ({"situation": " "}, "INVALID_ARGUMENTS"),
        ({"tags": "a" * 101}, "INVALID_ARGUMENTS"),
        ({"revision_of": 99}, "EXPERIENCE_NOT_FOUND"),
    ],
)
def test_bad_values_are_refused_with_their_own_code(door: Door, arguments: dict[str, Any], code: str) -> None:
    answer = call(door, "record_experience", {**LESSON, **arguments})
    assert answer.error is not None
    assert answer.error.error == code


def test_a_missing_field_has_its_own_code(door: Door) -> None:
    answer = call(door, "record_experience", {"type": "effective"})
    assert answer.error is not None
    assert answer.error.error == "MISSING_REQUIRED"


def test_an_export_that_a_person_imports_elsewhere_keeps_versions_and_adds_nothing_twice(
    door: Door, tmp_path: Path
) -> None:
    _record(door, confidence=0)
    call(door, "update_experience", {"id": 1, "changes": {"outcome": "It ends."}, "reason": "Measured again"})
    written = result_of(call(door, "export_experiences", {"format": "json", "output_path": "lessons.json"}))
    assert (written["count"], written["output_path"]) == (2, "lessons.json")
    text = (door.workspace.root / "lessons.json").read_text(encoding="utf-8")
    other = make_repository(tmp_path / "other", {"lessons.json": text})
    with open_test_workspace(other) as workspace:
        there = Door(workspace, OPERATIONS)
        held = call(there, "import_experiences", {"filename": "lessons.json"}, by=caller())
        assert held.outcome is Outcome.HELD
        done = result_of(call(there, "import_experiences", {"filename": "lessons.json"}, by=person()))
        assert (done["imported"], done["skipped"]) == (2, 0)
        again = result_of(call(there, "import_experiences", {"filename": "lessons.json"}, by=person()))
        assert (again["imported"], again["skipped"]) == (0, 2)
        newer = result_of(call(there, "get_experience", {"id": 2}))
        assert newer["experience"]["revision_of"] == 1
        assert newer["experience"]["created_at"] == json.loads(text)[1]["created_at"]
        assert newer["experience"]["confidence"] == 0


def test_a_half_written_file_is_not_imported(door: Door) -> None:
    (door.workspace.root / "half.jsonl").write_text('{"type": "effective"}\n{"type": "eff', encoding="utf-8")
    answer = call(door, "import_experiences", {"filename": "half.jsonl"}, by=person())
    assert answer.error is not None
    assert "Line 2" in answer.error.message


def test_the_markdown_export_has_real_lines(door: Door) -> None:
    _record(door)
    text = result_of(call(door, "export_experiences", {"format": "markdown"}))["output"]
    assert "## 1. The pool test hangs" in text.splitlines()[2]
    assert "\\n" not in text


def test_beyond_the_cap_the_least_supported_are_archived_and_not_deleted(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {})
    with open_test_workspace(root, overrides=("memory.max_experiences_total=2",)) as workspace:
        door = Door(workspace, OPERATIONS)
        for name in ("alpha", "beta", "gamma"):
            _record(door, situation=f"The {name} job fails.", approach=f"Restart {name} {name}.")
        assert len(_found(door, "job fails")) == 2
        assert result_of(call(door, "get_experience", {"id": 1}))["experience"]["archive_reason"] == "over the cap"
