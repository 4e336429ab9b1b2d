"""The guarded cycle through the door: order, waiting, blocking, receipts, tokens, and what a caller may not do."""

import json
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.ids import RandomIds
from codeplane.memory.canonical import sha256
from codeplane.memory.cycle_steps import PHASES
from codeplane.memory.governance import verify_receipt
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, error_of, open_test_workspace, result_of

HASH = "0" * 64
INPUTS: dict[str, dict[str, Any]] = {
    "ROUTER": {"user_input": "Why does the pool hang?"},
    "DRAFT": {"draft": "The pool hangs because a worker keeps the lock."},
}


def start(door: Door, **given: Any) -> int:
    return int(result_of(call(door, "compliance_snapshot", given))["session_id"])


def phase(door: Door, session: int, name: str, given: dict[str, Any] | None = None) -> dict[str, Any]:
    arguments = {"session_id": session, "phase": name, "input": INPUTS.get(name, {}) if given is None else given}
    return result_of(call(door, "guarded_cycle", arguments))


def run_to(door: Door, session: int, last: str) -> dict[str, Any]:
    """Carry out the phases after SNAPSHOT up to one."""
    done: dict[str, Any] = {}
    for name in PHASES[1 : PHASES.index(last) + 1]:
        done = phase(door, session, name)
    return done


def rows(door: Door, query: str) -> list[dict[str, Any]]:
    with door.workspace.memory.read() as connection:
        return [dict(row) for row in connection.execute(query)]


def ledger(door: Door, query: str) -> list[dict[str, Any]]:
    door.workspace.chain.flush()
    with door.workspace.chain.database.read() as connection:
        return [dict(row) for row in connection.execute(query)]


def add_cell(door: Door, title: str, trust: int = 1, **more: Any) -> int:
    with door.workspace.memory.write() as writing:
        now = writing.now
        scene = writing.insert("scenes", label="x", created_at=now, updated_at=now)
        return writing.insert(
            "cells", scene_id=scene, cell_type="fact", title=title, body=title, trust=trust, created_at=now,
            updated_at=now, canonical_key=title, **more,
        )  # fmt: skip


def test_a_whole_cycle_ends_with_a_response_a_receipt_and_a_token(door: Door) -> None:
    cell = add_cell(door, "The pool hangs because")
    session = start(door, context_keys=["Pool"])
    final = run_to(door, session, "FINALIZE_RESPONSE")["output"]
    assert final["response"] == ("[Inference] The pool hangs because a worker keeps the lock.\n\n[INTEGRITY: OK]")
    assert final["violations"][0]["cells"] == [cell]
    verdict = phase(door, session, "GOVERNANCE_VALIDATE")["output"]
    assert (verdict["valid"], verdict["errors"], verdict["chain_count"]) == (True, [], 6)
    (receipt,) = ledger(door, "SELECT * FROM receipts")
    body = {"receipt_type": receipt["receipt_type"], "payload": json.loads(receipt["payload_json"]),
            "payload_hash": receipt["payload_hash"], "signature": receipt["signature"]}  # fmt: skip
    assert verify_receipt(door.workspace.signing_key(), body)["valid"]
    assert not verify_receipt(door.workspace.signing_key(), {**body, "receipt_type": "other"})["valid"]
    token = verdict["token"]
    assert (token["token_version"], token["type"]) == (2, "session")
    assert token["context_hash"] == rows(door, "SELECT * FROM memory_sessions")[0]["last_context_hash"]
    assert (door.workspace.places.tokens / f"{token['token_id']}.json").stat().st_mode & 0o777 == 0o600
    assert "next_phase" not in phase(door, session, "MEMORY_UPDATE")
    (episode, _success) = rows(door, "SELECT * FROM episodic_experiences ORDER BY experience_id")
    assert (episode["summary"], episode["outcome"]) == ("Why does the pool hang?", "success")
    steps = rows(door, "SELECT phase, status, cycle FROM cycle_steps ORDER BY id")
    assert [(one["phase"], one["status"], one["cycle"]) for one in steps] == [(name, "ok", 1) for name in PHASES]
    assert door.workspace.chain.verify().first_bad_seq is None


def test_snapshot_after_the_last_phase_opens_the_next_cycle(door: Door) -> None:
    session = start(door)
    run_to(door, session, "MEMORY_UPDATE")
    answer = call(door, "guarded_cycle", {"session_id": session, "phase": "ROUTER", "input": {}})
    assert error_of(answer) == "CYCLE_COMPLETE"
    assert phase(door, session, "SNAPSHOT")["cycle"] == 2
    assert phase(door, session, "ROUTER")["cycle"] == 2


@pytest.mark.parametrize("done", range(1, 7))
def test_every_phase_out_of_order_is_refused_remembered_and_changes_nothing(door: Door, done: int) -> None:
    session = start(door)
    run_to(door, session, PHASES[done - 1])
    expected = PHASES[done]
    wrong = [name for name in PHASES if name != expected and not (name == "SNAPSHOT" and expected == "ROUTER")]
    for name in wrong:
        answer = call(door, "guarded_cycle", {"session_id": session, "phase": name, "input": INPUTS.get(name, {})})
        assert error_of(answer) == "PHASE_VIOLATION"
        assert answer.error is not None
        assert answer.error.details == {"expected": expected, "got": name}
    assert phase(door, session, expected)["phase"] == expected
    stored = rows(door, "SELECT * FROM episodic_experiences WHERE context_keys_json LIKE '%phase_order%'")
    assert len(stored) == len(wrong)
    assert json.loads(stored[0]["context_keys_json"]) == ["behavioral_violation", "phase_order"]
    failed = ledger(door, "SELECT body FROM events WHERE kind = 'failed'")
    assert len(failed) == len(wrong)
    assert "episodic_experiences" in failed[0]["body"]
    (policy,) = rows(door, "SELECT * FROM cells WHERE title = 'Policy: keep the rule phase_order'")
    assert (policy["trust"], policy["evidence_count"]) == (2, len(wrong))
    assert "phase_order" in policy["body"]


def test_a_phase_that_waits_or_is_blocked_does_not_advance(door: Door) -> None:
    session = start(door)
    for _ in range(2):
        blocked = phase(door, session, "ROUTER", {})
        assert (blocked["status"], blocked["next_phase"]) == ("blocked", "ROUTER")
        assert blocked["output"]["missing"] == ["user_input", "draft"]
    run_to(door, session, "CONTEXT_PACK")
    for _ in range(2):
        waiting = phase(door, session, "DRAFT", {"draft": "  \n[INTEGRITY: OK]"})
        assert (waiting["status"], waiting["next_phase"]) == ("waiting", "DRAFT")
    assert phase(door, session, "DRAFT")["next_phase"] == "FINALIZE_RESPONSE"


def test_the_callers_own_verdict_does_not_count(door: Door) -> None:
    session = start(door)
    run_to(door, session, "DRAFT")
    final = phase(door, session, "FINALIZE_RESPONSE", {"finalize_result": {"integrity": "OK", "response": "mine"}})
    assert final["output"]["ignored"] == ["finalize_result"]
    assert "mine" not in final["output"]["response"]
    forged = {"governance_result": {"valid": True}, "context_hash": HASH}
    verdict = phase(door, session, "GOVERNANCE_VALIDATE", forged)
    assert (verdict["status"], verdict["output"]["valid"]) == ("failed", False)
    assert verdict["output"]["context_hash_match"] is False
    assert verdict["output"]["receipt"] is verdict["output"]["token"] is None
    assert phase(door, session, "MEMORY_UPDATE", {"governance_result": {"valid": True}})["output"]["outcome"] == "fail"


def test_a_draft_at_the_router_skips_two_phases_on_record(door: Door) -> None:
    session = start(door)
    routed = phase(door, session, "ROUTER", {"draft": "Close the pool in a finally block."})
    assert (routed["output"]["next_action"], routed["next_phase"]) == ("FINALIZE_RESPONSE", "FINALIZE_RESPONSE")
    steps = rows(door, "SELECT phase, status FROM cycle_steps ORDER BY id")
    assert [tuple(one.values()) for one in steps][2:] == [("CONTEXT_PACK", "skipped"), ("DRAFT", "skipped")]
    assert phase(door, session, "FINALIZE_RESPONSE")["output"]["response"].startswith("Close the pool")
    assert phase(door, session, "GOVERNANCE_VALIDATE")["output"]["valid"]


def test_a_blocked_response_takes_another_draft(door: Door) -> None:
    old = add_cell(door, "Retries are safe here", trust=3)
    add_cell(door, "Retries are unsafe here", trust=3, supersedes_cell_id=old)
    session = start(door)
    run_to(door, session, "CONTEXT_PACK")
    phase(door, session, "DRAFT", {"draft": "Retries are safe here."})
    blocked = phase(door, session, "FINALIZE_RESPONSE")
    assert (blocked["status"], blocked["output"]["integrity"]) == ("blocked", "BLOCKED")
    assert blocked["next_phase"] == "FINALIZE_RESPONSE"
    phase(door, session, "DRAFT", {"draft": "Retries are unsafe here."})
    assert phase(door, session, "FINALIZE_RESPONSE")["output"]["integrity"] == "OK"
    assert phase(door, session, "GOVERNANCE_VALIDATE")["output"]["valid"]


def test_the_documented_flow_of_tools_is_one_cycle(door: Door) -> None:
    snapshot = result_of(call(door, "compliance_snapshot", {"scope": "global"}))
    assert len(snapshot["snapshot_hash"]) == 64
    assert snapshot == {**snapshot, "phase": "SNAPSHOT", "status": "ok", "scope_mode": "global", "flags": {}}
    again = result_of(call(door, "compliance_snapshot", {"session_id": snapshot["session_id"]}))
    route = {"session_id": snapshot["session_id"], "user_input": "Go on"}
    for wrong in ("", HASH, snapshot["snapshot_hash"]):
        answer = call(door, "compliance_router", {**route, "snapshot_hash": wrong})
        assert error_of(answer) == "CONTEXT_HASH_MISMATCH"
    right = {**route, "snapshot_hash": again["snapshot_hash"]}
    assert error_of(call(door, "compliance_router", {**right, "scope": "project"})) == "VALIDATION_ERROR"
    blocked = result_of(call(door, "compliance_router", {**right, "user_input": ""}))
    assert (blocked["status"], blocked["route"]) == ("blocked", "ROUTER")
    routed = result_of(call(door, "compliance_router", right))
    assert routed == {**blocked, "status": "ok", "route": "CONTEXT_PACK"}
    phase(door, snapshot["session_id"], "CONTEXT_PACK")
    final = {"session_id": snapshot["session_id"], "draft": "The lock leaks. This never fails."}
    finalised = result_of(call(door, "finalize_response", final))
    assert finalised["integrity_line"] == "[INTEGRITY: NEEDS_VERIFICATION]"
    assert finalised["violations"][0]["rule"] == "unsafe_assumption"
    again = result_of(call(door, "finalize_response", {**final, "draft": finalised["response"]}))
    assert again["response"] == finalised["response"]
    verdict = result_of(call(door, "governance_validate", {"session_id": snapshot["session_id"], "expiry_minutes": 1}))
    assert (verdict["valid"], verdict["errors"]) == (True, [])
    assert verdict["token"]["expires_at"] - verdict["token"]["created_at"] == 60_000
    assert phase(door, snapshot["session_id"], "MEMORY_UPDATE")["output"]["outcome"] == "success"


def test_governance_without_the_phases_is_not_valid(door: Door) -> None:
    session = start(door)
    verdict = result_of(call(door, "governance_validate", {"session_id": session}))
    assert not verdict["valid"]
    assert verdict["errors"][0].startswith("MISSING_PHASE: ROUTER, CONTEXT_PACK, DRAFT, FINALIZE_RESPONSE")
    assert ledger(door, "SELECT * FROM receipts") == []


def test_a_claimed_invocation_is_marked_and_hashed(door: Door) -> None:
    session = start(door)
    claim = {"session_id": session, "tool_name": "demo_tool", "input": {"action": "test"}, "meta": {"n": 1}}
    done = result_of(call(door, "record_invocation", claim))
    (row,) = ledger(door, f"SELECT * FROM invocations WHERE id = {done['id']}")
    assert (row["tool_name"], row["hash"], row["prev_hash"]) == ("demo_tool", done["hash"], done["prev_hash"])
    assert row["input_hash"] == sha256({"action": "test"})
    assert json.loads(row["meta_json"]) == {"outcome": "invocation", "claimed": 1, "meta": {"n": 1}}
    calls = ledger(door, "SELECT * FROM invocations WHERE tool_name = 'compliance_snapshot'")
    assert len(calls[0]["input_hash"]) == len(calls[0]["output_hash"]) == 64
    assert error_of(call(door, "record_invocation", {**claim, "tool_name": "draft"})) == "VALIDATION_ERROR"


@pytest.mark.parametrize("table", ["cycle_steps", "ledger_meta", "ledger_tail"])
def test_a_change_behind_the_door_makes_governance_fail(door: Door, table: str) -> None:
    """A changed step, a changed body and a cut tail are all seen."""
    session = start(door)
    run_to(door, session, "FINALIZE_RESPONSE")
    result_of(call(door, "record_invocation", {"session_id": session, "tool_name": "x", "meta": {"n": 1}}))
    places = door.workspace.places
    statement = {
        "cycle_steps": (places.memory, "UPDATE cycle_steps SET data_json = '{}' WHERE phase = 'DRAFT'"),
        "ledger_meta": (places.ledger, "UPDATE events SET body = replace(body, '\"n\":1', '\"n\":2')"),
        "ledger_tail": (places.ledger, "DELETE FROM events WHERE seq = (SELECT MAX(seq) FROM events)"),
    }[table]
    with sqlite3.connect(statement[0]) as connection:
        connection.execute(statement[1])
    connection.close()
    verdict = result_of(call(door, "governance_validate", {"session_id": session}))
    assert not verdict["valid"]
    assert verdict["errors"][0].split(":")[0] == ("STEP_CHANGED" if table == "cycle_steps" else "CHAIN_BROKEN")
    assert "receipt" not in verdict


BAD = [
    ("compliance_snapshot", {"scope": "all"}, "INVALID_TYPE"),
    ("compliance_snapshot", {"session_id": 0}, "OUT_OF_RANGE"),
    ("compliance_snapshot", {"session_id": 99}, "SESSION_NOT_FOUND"),
    ("compliance_snapshot", {"context_keys": ["x" * 201]}, "INVALID_ARGUMENTS"),
    ("compliance_router", {"session_id": 1}, "MISSING_REQUIRED"),
    ("compliance_router", {"session_id": 99, "snapshot_hash": HASH}, "SESSION_NOT_FOUND"),
    ("guarded_cycle", {"session_id": 1}, "MISSING_REQUIRED"),
    ("guarded_cycle", {"session_id": 1, "phase": "LEARN"}, "INVALID_PHASE"),
    ("guarded_cycle", {"session_id": 99, "phase": "ROUTER"}, "SESSION_NOT_FOUND"),
    ("guarded_cycle", {"session_id": 1, "phase": "ROUTER", "input": {"user_input": "x" * 20_001}}, "PAYLOAD_TOO_LARGE"),
    ("guarded_cycle", {"session_id": 1, "phase": "ROUTER", "input": {"draft": "x" * 200_001}}, "PAYLOAD_TOO_LARGE"),
    ("finalize_response", {"session_id": 1, "draft": ""}, "INVALID_ARGUMENTS"),
    ("finalize_response", {"session_id": 1, "draft": "x", "context_hash": "../x"}, "INVALID_FORMAT"),
    ("record_invocation", {"session_id": 1, "tool_name": " "}, "INVALID_ARGUMENTS"),
    ("record_invocation", {"session_id": 1, "tool_name": "x", "input_hash": "Z" * 64}, "INVALID_FORMAT"),
    ("record_invocation", {"session_id": 1, "tool_name": "x", "meta": {"n": "x" * 5000}}, "PAYLOAD_TOO_LARGE"),
    ("record_invocation", {"session_id": 99, "tool_name": "x"}, "SESSION_NOT_FOUND"),
    ("governance_validate", {"session_id": 1, "expiry_minutes": 0}, "OUT_OF_RANGE"),
    ("governance_validate", {"session_id": 1, "expiry_minutes": 1441}, "OUT_OF_RANGE"),
    ("governance_validate", {"session_id": 1, "receipt_type": "../x"}, "INVALID_ARGUMENTS"),
    ("governance_validate", {"session_id": 99}, "SESSION_NOT_FOUND"),
]


@pytest.mark.parametrize(("tool", "arguments", "code"), BAD)
def test_bad_input_gets_the_precise_code(door: Door, tool: str, arguments: dict[str, Any], code: str) -> None:
    start(door)
    assert error_of(call(door, tool, arguments)) == code


def test_an_exposed_key_signs_nothing(door: Door) -> None:
    start(door)
    (key,) = door.workspace.places.user.ledger_seals.glob("*/key")
    key.chmod(0o644)
    assert error_of(call(door, "compliance_snapshot", {})) == "NO_SIGNING_KEY"
    key.chmod(0o600)
    start(door)


@pytest.mark.parametrize("damage", ["removed", "short"])
def test_a_cycle_does_not_pass_with_another_key_than_it_began_with(door: Door, damage: str) -> None:
    session = start(door)
    run_to(door, session, "FINALIZE_RESPONSE")
    (key,) = door.workspace.places.user.ledger_seals.glob("*/key")
    if damage == "removed":
        key.unlink()
    else:
        key.write_bytes(b"short")
    verdict = phase(door, session, "GOVERNANCE_VALIDATE")["output"]
    assert not verdict["valid"]


def test_two_servers_cannot_do_the_same_phase_twice(repo: Path, clock: ManualClock) -> None:
    first_opened = open_test_workspace(repo, clock=clock)
    with first_opened as one, open_test_workspace(repo, ids=RandomIds(), clock=clock) as two:
        first, second = Door(one, OPERATIONS), Door(two, OPERATIONS)
        session = start(first)
        phase(first, session, "ROUTER")
        answer = call(second, "guarded_cycle", {"session_id": session, "phase": "ROUTER", "input": INPUTS["ROUTER"]})
        assert error_of(answer) == "PHASE_VIOLATION"
        assert phase(second, session, "CONTEXT_PACK")["next_phase"] == "DRAFT"


def test_the_same_calls_give_the_same_answers_in_another_store(tmp_path: Path, repo_template: Path) -> None:
    answers = []
    for name in ("one", "two"):
        root = Path(shutil.copytree(repo_template, tmp_path / name / "repo"))
        with open_test_workspace(root) as workspace:
            door = Door(workspace, OPERATIONS)
            session = start(door)
            answers.append(run_to(door, session, "FINALIZE_RESPONSE")["output"])
    assert answers[0] == answers[1]


def test_secrets_in_a_draft_are_neither_stored_nor_answered(door: Door) -> None:
    session = start(door)
    run_to(door, session, "CONTEXT_PACK")
    secret = "AKIAABCDEFGHIJKLMNOP"
    phase(door, session, "DRAFT", {"draft": f'Use the key {secret}, "quoted".'})
    assert secret not in phase(door, session, "FINALIZE_RESPONSE")["output"]["response"]
    assert phase(door, session, "GOVERNANCE_VALIDATE")["output"]["valid"]
    assert secret not in str(rows(door, "SELECT * FROM cycle_steps"))


def test_of_many_callers_one_does_a_phase(repo: Path, clock: ManualClock) -> None:
    with open_test_workspace(repo, clock=clock, ids=RandomIds()) as workspace:
        door = Door(workspace, OPERATIONS)
        session = start(door)
        ask = {"session_id": session, "phase": "ROUTER", "input": INPUTS["ROUTER"]}
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda n: call(door, "guarded_cycle", ask, f"c{n}"), range(6)))
        errors = sorted(answer.error.error if answer.error else "" for answer in answers)
        assert errors == ["", *["PHASE_VIOLATION"] * 5]
        assert len(rows(door, "SELECT * FROM cycle_steps WHERE phase = 'ROUTER'")) == 1


def test_a_phase_that_fails_midway_leaves_nothing_and_can_be_repeated(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = start(door)
    run_to(door, session, "CONTEXT_PACK")
    before = rows(door, "SELECT * FROM cycle_steps")
    with monkeypatch.context() as patch:
        patch.setattr("codeplane.memory.guarded_cycle.add_step", _breaks)
        answer = call(door, "guarded_cycle", {"session_id": session, "phase": "DRAFT", "input": INPUTS["DRAFT"]})
        assert error_of(answer) == "INTERNAL_ERROR"
    assert rows(door, "SELECT * FROM cycle_steps") == before
    assert phase(door, session, "DRAFT")["status"] == "ok"
    phase(door, session, "FINALIZE_RESPONSE")
    assert phase(door, session, "GOVERNANCE_VALIDATE")["output"]["valid"]


def _breaks(*_arguments: Any) -> None:
    raise RuntimeError("stopped here")


def test_a_pack_that_was_asked_for_on_its_own_advances_a_session_that_waits_for_it(door: Door) -> None:
    session = start(door)
    wanted = {"session_id": session, "query": "pool"}
    assert not result_of(call(door, "context_pack", wanted))["advanced"]
    phase(door, session, "ROUTER")
    assert result_of(call(door, "context_pack", wanted))["advanced"]
    assert phase(door, session, "DRAFT")["status"] == "ok"


def test_equal_violations_count_per_rule_and_scope(door: Door) -> None:
    for scope in ("project", "global"):
        for _ in range(2):
            session = start(door, scope=scope)
            call(door, "guarded_cycle", {"session_id": session, "phase": "DRAFT"})
    assert rows(door, "SELECT * FROM cells") == []
    call(door, "guarded_cycle", {"session_id": session, "phase": "MEMORY_UPDATE"})
    (cell,) = rows(door, "SELECT * FROM cells")
    assert (cell["scope"], cell["cell_type"], cell["trust"], cell["evidence_count"]) == ("global", "policy", 2, 3)
    call(door, "guarded_cycle", {"session_id": session, "phase": "DRAFT"})
    (again,) = rows(door, "SELECT * FROM cells")
    assert (again["canonical_key"], again["evidence_count"]) == (cell["canonical_key"], 4)
