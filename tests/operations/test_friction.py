"""What agents do wrong again and again becomes a memory, through the real door."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.errors import CodePlaneError
from codeplane.edit.editor import Editor
from codeplane.ledger.chain import RowFilter
from codeplane.memory.friction_feed import FrictionFeed
from codeplane.operations.answer import Outcome
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, error_of, open_test_workspace, person, result_of
from support.governed import FILES, write_intents
from support.repositories import make_repository, write
from support.suites import NO_CACHE, NO_PLUGINS, suite

OVERRIDES = ".orchestration/memory/overrides"
HOUR = 3600


@pytest.fixture
def governed(tmp_path: Path) -> Iterator[Door]:
    root = make_repository(tmp_path / "governed", FILES)
    write_intents(root)
    with open_test_workspace(root) as workspace:
        yield Door(workspace, OPERATIONS)


def _edit(door: Door, old: str, connection: str = "c1", path: str = "src/app.py") -> str:
    answer = call(door, "write_source", {"edits": [{"path": path, "old": old, "new": "x = 1"}]}, connection)
    return error_of(answer) if answer.error is not None else "OK"


def _rows(door: Door, table: str) -> list[sqlite3.Row]:
    with door.workspace.memory.read() as connection:
        return connection.execute(f"SELECT * FROM {table}").fetchall()


def _learn(door: Door) -> None:
    assert [_edit(door, f"no such line {n}") for n in range(3)] == ["CONTENT_NOT_FOUND"] * 3


def _review(door: Door, **request: Any) -> dict[str, Any]:
    return result_of(call(door, "review_memory", request, by=person()))


def _override(door: Door, **files: Any) -> None:
    texts = {name: text if isinstance(text, str) else json.dumps(text) for name, text in files.items()}
    write(door.workspace.root, {f"{OVERRIDES}/{name}.json": text for name, text in texts.items()})


def _states(door: Door) -> dict[str, str]:
    return {row["id"]: row["state"] for row in _rows(door, "memory_records")}


def test_the_same_mistake_three_times_makes_a_candidate(door: Door) -> None:
    _learn(door)
    (memory,) = _rows(door, "memory_records")
    assert (memory["state"], memory["enforcement_type"]) == ("pending", "few_shot")
    assert json.loads(memory["domain_anchor_ids"]) == ["anchor:src"]
    assert memory["note"].startswith("write_source failed 3 times in src (CONTENT_NOT_FOUND).")
    assert "src/app.py" in json.loads(memory["few_shot"])["before"]
    assert [row["rejection_count"] for row in _rows(door, "friction_ledger")] == [1, 2, 3]
    assert {row["path"] for row in _rows(door, "domain_anchors")} == {".", "docs", "src", "src/pkg"}
    assert result_of(call(door, "verify_memory", by=person()))["verdict"] == "SOUND"


def test_three_sessions_that_the_gate_refuses_alike_make_a_candidate(governed: Door) -> None:
    for n in range(3):
        call(governed, "select_active_intent", {"intent_id": "INT-001"}, f"c{n}")
        edit = {"path": "src/payments/index.py", "old": "RATE = 2", "new": "RATE = 3"}
        assert error_of(call(governed, "write_source", {"edits": [edit]}, f"c{n}")) == "SCOPE_VIOLATION"
    (memory,) = _rows(governed, "memory_records")
    assert (memory["enforcement_type"], memory["few_shot"]) == ("informational", None)
    assert json.loads(memory["domain_anchor_ids"]) == ["anchor:src/payments"]
    assert "The active intent does not cover this path." in memory["note"]


def test_the_same_call_sent_again_in_one_session_counts_once(door: Door) -> None:
    assert {_edit(door, "no such line") for _ in range(3)} <= {"CONTENT_NOT_FOUND", "CIRCUIT_OPEN"}
    assert not _rows(door, "memory_records")


def test_a_later_success_resolves_it_and_completes_the_draft(door: Door) -> None:
    _learn(door)
    assert _edit(door, "two", path="docs/guide.md") == "OK"
    assert _edit(door, "line_3 = 3", connection="c2") == "OK"
    assert {row["entry"] for row in _rows(door, "friction_ledger")} == {"friction"}
    assert _edit(door, "line_4 = 4") == "OK"
    last = _rows(door, "friction_ledger")[-1]
    assert (last["entry"], last["resolved"], last["rejection_count"]) == ("resolution", 1, 3)
    shot = json.loads(_rows(door, "memory_records")[0]["few_shot"])
    assert "line_4 = 4" in shot["after"]
    assert shot["scaffolded"]
    assert _edit(door, "line_5 = 5") == "OK"
    assert len(_rows(door, "friction_ledger")) == 4


def test_a_success_after_a_restart_still_resolves(repo: Path) -> None:
    with open_test_workspace(repo) as workspace:
        door = Door(workspace, OPERATIONS)
        answer = call(door, "write_source", {"edits": [{"path": "src/app.py", "old": "nope", "new": "x"}]})
        label = answer.meta.session
    with open_test_workspace(repo) as workspace:
        door = Door(workspace, OPERATIONS)
        assert workspace.friction._waiting(str(label)) == {("write_source", "anchor:src")}


def test_reads_dry_runs_people_and_faults_of_the_machine_are_no_friction(door: Door) -> None:
    call(door, "read_source", {"targets": [{"path": "src/none.py"}]})
    wrong = {"edits": [{"path": "src/app.py", "old": "nope", "new": "x"}]}
    call(door, "write_source", {**wrong, "dry_run": True})
    call(door, "write_source", wrong, by=person())
    assert not door.workspace.has_memory


def test_a_call_is_answered_alike_when_friction_cannot_be_recorded(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_arguments: object) -> None:
        raise CodePlaneError("STORE_CORRUPT")

    monkeypatch.setattr(FrictionFeed, "observe", breaks)
    answer = call(door, "write_source", {"edits": [{"path": "src/app.py", "old": "nope", "new": "x"}]})
    assert (answer.outcome, error_of(answer)) == (Outcome.FAILED, "CONTENT_NOT_FOUND")


def test_nothing_is_recorded_where_a_person_switched_it_off(repo: Path) -> None:
    with open_test_workspace(repo, overrides=("memory.friction.enable_friction_ledger=false",)) as workspace:
        _learn(Door(workspace, OPERATIONS))
        assert not workspace.has_memory


def test_the_same_test_failure_in_several_sessions_is_a_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NO_PLUGINS.items():
        monkeypatch.setenv(name, value)
    files = {"pytest.ini": NO_CACHE, "shop/test_a.py": "def test_sum():\n    assert 1 + 1 == 3\n"}
    with suite(tmp_path / "r", files, ("memory.friction.rejection_threshold=2",)) as door:
        for connection in ("c1", "c1", "c2"):
            assert not _rows(door, "memory_records")
            result_of(call(door, "run_test_targets", {"target_filter": ["."]}, connection))
        (memory,) = _rows(door, "memory_records")
    assert (memory["trigger"], memory["domain_anchor_ids"]) == ("friction_signal", '["anchor:shop"]')
    assert memory["note"].startswith("The same tests failed in 2 sessions in shop.")


def test_a_memory_in_force_is_packed_for_its_files_only(door: Door) -> None:
    _learn(door)
    request = {"paths": ["src/app.py"]}
    assert result_of(call(door, "context_pack", request))["packed_context"]["memories"] == []
    _review(door, approve=["mem-1"])
    (item,) = result_of(call(door, "context_pack", request))["packed_context"]["memories"]
    assert (item["id"], item["type"], item["anchor"]) == ("mem-1", "few_shot", "anchor:src")
    assert result_of(call(door, "context_pack", {"paths": ["docs/guide.md"]}))["packed_context"]["memories"] == []


def test_the_end_of_a_session_promotes_what_is_due(repo: Path) -> None:
    clock = ManualClock()
    with open_test_workspace(repo, clock=clock) as workspace:
        door = Door(workspace, OPERATIONS)
        _learn(door)
        clock.advance(48 * HOUR)
        workspace.sessions.on_end("anyone")
        assert _states(door) == {"mem-1": "provisional"}
        assert workspace.promote_memories() == 0
        assert result_of(call(door, "verify_memory", by=person()))["verdict"] == "SOUND"


def test_only_a_person_decides_and_everyone_may_look(door: Door) -> None:
    _learn(door)
    assert [one["id"] for one in result_of(call(door, "review_memory"))["memories"]] == ["mem-1"]
    for request in ({"approve": ["mem-1"]}, {"reject": ["mem-1"]}, {"retire": ["mem-1"]}, {"apply_overrides": True}):
        assert error_of(call(door, "review_memory", request)) == "OPERATOR_TOKEN_REQUIRED"
    assert _states(door) == {"mem-1": "pending"}
    assert _review(door, contest=["mem-1"])["memories"][0]["contestedBy"] == "person:test"
    assert _review(door, reject=["mem-1"])["memories"] == []
    (ended,) = result_of(call(door, "list_memories", {"is_all": True}, by=person()))["memories"]
    assert ended["state"] == "rejected"


def test_a_decision_about_an_unknown_memory_changes_nothing(door: Door) -> None:
    _learn(door)
    answer = call(door, "review_memory", {"approve": ["mem-1", "mem-9"]}, by=person())
    assert error_of(answer) == "NOT_FOUND"
    assert _states(door) == {"mem-1": "pending"}


def test_override_files_wait_until_a_person_accepts_them(door: Door) -> None:
    rule = {"condition": "plan", "requiredSteps": [], "denyCode": "PLAN_POLICY_VIOLATION"}
    _override(door, rule={"id": "rule", "planRule": rule})
    (waiting,) = result_of(call(door, "review_memory"))["overrides"]
    assert (waiting["state"], waiting["trust"], waiting["asks"]) == ("pending", 1, "record rule")
    assert not _rows(door, "memory_records")
    assert _review(door, apply_overrides=True)["applied"][0]["memory"] == "rule"
    assert _states(door) == {"rule": "approved"}
    (row,) = [row for row in door.workspace.chain.rows(RowFilter()) if "accepted_overrides" in row.body]
    assert row.body["accepted_overrides"] == {"rule.json": waiting["digest"]}


def test_override_files_are_applied_in_order_and_moved(door: Door) -> None:
    _learn(door)
    _override(
        door,
        a={"command": "approve", "memoryId": "mem-1", "by": "Kim"},
        b={"note": "Read the guide first.", "domainAnchorIds": ["anchor:docs"]},
        c={"id": "mem-1", "note": "Re-read the file before an edit."},
        d={"command": "retire", "memoryId": "mem-1"},
    )
    applied = _review(door, apply_overrides=True)["applied"]
    assert [(one["memory"], one["problem"]) for one in applied] == [
        ("mem-1", None), ("mem-2", None), ("mem-1", None), ("mem-1", None)
    ]  # fmt: skip
    assert _states(door) == {"mem-1": "expired", "mem-2": "approved"}
    assert _rows(door, "memory_records")[0]["note"] == "retired: Re-read the file before an edit."
    assert json.loads(_rows(door, "memory_records")[0]["rejection_codes"]) == ["CONTENT_NOT_FOUND"]
    place = door.workspace.root / OVERRIDES
    assert sorted(one.name for one in (place / "processed").iterdir()) == ["a.json", "b.json", "c.json", "d.json"]
    assert not list(place.glob("*.json"))
    assert _rows(door, "memory_changelog")[1]["changed_by"] == "person:test (Kim)"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("[" * 100_000, "not JSON"),
        ({"command": "explode", "memoryId": "x"}, "command is one of"),
        ({"command": "approve", "memoryId": "mem-9"}, "There is no memory mem-9"),
        ({"command": "approve"}, "memoryId and by are texts"),
        ({"id": "../x", "note": "n"}, "id"),
        ({"enforcementType": "law", "note": "n"}, "enforcementType"),
        ({"enforcementType": "informational"}, "needs a note"),
        ({"enforcementType": "plan_rule", "note": "n"}, "needs planRule"),
        ({"planRule": {"condition": "x" * 501}}, "condition"),
        ({"surprise": 1}, "unknown fields: surprise"),
        ({"note": 7}, "note"),
    ],
)
def test_a_bad_override_file_is_put_aside_and_stops_nothing(door: Door, text: object, problem: str) -> None:
    _override(door, a=text, b={"note": "Good."})
    applied = _review(door, apply_overrides=True)["applied"]
    assert problem in applied[0]["problem"]
    assert applied[1]["problem"] is None
    place = door.workspace.root / OVERRIDES
    assert problem in (place / "rejected/a.json.error.txt").read_text(encoding="utf-8")
    assert (place / "rejected/a.json").exists()
    assert (place / "processed/b.json").exists()


def test_an_override_file_that_changes_meanwhile_leaves_files_and_memory_alone(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    _override(door, a={"note": "Good."})
    apply = Editor.apply

    def changed_meanwhile(editor: Editor, *arguments: Any, **options: Any) -> Any:
        _override(door, a={"note": "Evil."})
        return apply(editor, *arguments, **options)

    monkeypatch.setattr(Editor, "apply", changed_meanwhile)
    assert error_of(call(door, "review_memory", {"apply_overrides": True}, by=person())) == "STALE_FILE"
    assert not _rows(door, "memory_records")
    assert [one.name for one in (door.workspace.root / OVERRIDES).iterdir()] == ["a.json"]


def test_the_digest_shows_what_was_refused_where(door: Door) -> None:
    call(door, "read_source", {"targets": [{"path": "src/app.py"}]})
    _learn(door)
    found = result_of(call(door, "show_friction", by=person()))
    assert found["codes"] == [{"code": "CONTENT_NOT_FOUND", "n": 3}]
    assert found["retrieval_hot_spots"][0]["path"] == "src/app.py"
    assert found["pending_corrections"] == 3
