"""What memory has to say about the work at hand."""

from typing import Any

from codeplane.memory.context_pack import PackRequest, build_pack
from codeplane.memory.store import Writing
from codeplane.operations.perform import Door
from support.doors import call, result_of
from support.repositories import write

LESSON: dict[str, Any] = {
    "type": "ineffective",
    "domain": "Debugging",
    "situation": "The pool test hangs on the build server.",
    "approach": "Raise the timeout of the pool.",
    "outcome": "It hangs a little later.",
    "reasoning": "The forked worker keeps the lock.",
    "paths": ["src/pool.py"],
    "symbols": ["close_pool"],
}


def _pack(door: Door, **request: Any) -> dict[str, Any]:
    return result_of(call(door, "context_pack", request))


def _lesson(door: Door, **changes: Any) -> int:
    key: int = result_of(call(door, "record_experience", {**LESSON, **changes}))["experience_id"]
    return key


def _cell(writing: Writing, title: str, **values: Any) -> int:
    scene = writing.insert(
        "scenes", label="pool", context_keys_json='["pool"]', created_at=writing.now, updated_at=writing.now
    )
    row = {"cell_type": "fact", "body": title, "canonical_key": title, "state": "observed", **values}
    return writing.insert("cells", scene_id=scene, title=title, created_at=writing.now, updated_at=writing.now, **row)


def test_a_lesson_about_a_file_comes_with_that_file(door: Door) -> None:
    _lesson(door)
    pack = _pack(door, paths=["src/pool.py"])
    item = pack["packed_context"]["experiences"][0]
    assert item["summary"].startswith("The pool test hangs")
    assert item["why_included"] == "same place"
    assert pack["sure"]


def test_a_question_about_something_else_gets_an_empty_pack(door: Door) -> None:
    _lesson(door)
    pack = _pack(door, query="translate the user manual to French")
    assert pack["packed_context"] == {"cells": [], "experiences": [], "memories": []}
    assert not pack["sure"]


def test_a_lesson_is_flagged_once_its_definition_changed_or_is_gone(door: Door) -> None:
    write(door.workspace.root, {"src/pool.py": "def close_pool():\n    pass\n\n\ndef other():\n    pass\n"})
    _lesson(door)
    write(door.workspace.root, {"src/pool.py": "def close_pool():\n    pass\n\n\ndef other():\n    return 1\n"})
    assert "stale" not in _pack(door, paths=["src/pool.py"])["packed_context"]["experiences"][0]
    write(door.workspace.root, {"src/pool.py": "def close_pool():\n    return 1\n"})
    assert _pack(door, paths=["src/pool.py"])["packed_context"]["experiences"][0]["stale"] == ["close_pool changed"]
    (door.workspace.root / "src/pool.py").unlink()
    assert _pack(door, paths=["src/pool.py"])["packed_context"]["experiences"][0]["stale"] == ["close_pool gone"]


def test_the_pack_stays_within_its_bytes_and_names_what_it_dropped(door: Door) -> None:
    for number in range(12):
        _lesson(door, situation=f"Pool case {number} hangs with {'long ' * 20}words.", approach=f"Try {number} again.")
    pack = _pack(door, query="pool hangs", byte_budget=900)
    assert 0 < len(pack["packed_context"]["experiences"]) < 10
    assert pack["byte_count"] <= 900
    assert {one["reason"] for one in pack["dropped"]} == {"budget"}
    assert _pack(door, query="pool hangs")["byte_count"] <= 2000


def test_policies_come_first_and_superseded_cells_stay_out(door: Door) -> None:
    with door.workspace.memory.write() as writing:
        old = _cell(writing, "The pool has 4 workers.")
        _cell(writing, "The pool has 8 workers.", supersedes_cell_id=old)
        _cell(writing, "Never fork inside the pool.", cell_type="policy", trust=2)
    pack = _pack(door, query="pool workers")
    assert [one["body"] for one in pack["packed_context"]["cells"]] == [
        "Never fork inside the pool.",
        "The pool has 8 workers.",
    ]
    assert {"kind": "cell", "id": old, "reason": "superseded"} in pack["dropped"]


def test_cells_fade_with_age_without_any_writer(door: Door) -> None:
    with door.workspace.memory.write() as writing:
        key = _cell(writing, "The pool has 4 workers.")
        now_ms = writing.now_ms
    with door.workspace.memory.read() as connection:
        young = build_pack(connection, PackRequest("pool workers", now_ms=now_ms))
        old = build_pack(connection, PackRequest("pool workers", now_ms=now_ms + 200 * 24 * 3600 * 1000))
    assert young.cells[0]["id"] == old.cells[0]["id"] == key
    assert young.cells[0]["salience"] > old.cells[0]["salience"]


def test_the_same_store_gives_the_same_bytes_all_day(door: Door) -> None:
    _lesson(door)
    first = _pack(door, query="pool hangs", paths=["src/pool.py"])
    assert _pack(door, query="pool hangs", paths=["src/pool.py"])["context_hash"] == first["context_hash"]
