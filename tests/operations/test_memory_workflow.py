"""Presets and gates: nothing is enforced until a person applies a preset; then the ledger decides. Tokens."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.ids import RandomIds
from codeplane.memory.presets import BUILT_IN
from codeplane.memory.tokens import Token, sign_payload
from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, error_of, open_test_workspace, result_of
from support.governed import approve
from support.repositories import write

EDIT = {"edits": [{"path": "src/app.py", "expected_content": "line_1 = 1", "new_content": "line_1 = 2"}]}
RUN_TESTS = {"target_filter": ["."]}
OURS = {
    "name": "ours",
    "gates": {
        "teach": {"required_tools": []},
        "learn": {"required_tools": ["analyze_problem"]},
        "reason": {"required_tools": ["health_check"]},
    },
    "token_ttl": {"operation": 1000, "session": 2000},
    "enforcement": "moderate",
}
ASK = {"current_phase": "reason", "action": "edit src/app.py"}


def allowed(door: Door, name: str, arguments: dict[str, Any], connection: str = "c1") -> Answer:
    """Make a call that is held, as a person approves it."""
    held = call(door, name, arguments, connection)
    assert held.outcome is Outcome.HELD, held
    assert held.error is not None
    approve(door.workspace, str(held.error.details["hold_id"]))
    return call(door, name, arguments, connection)


def apply(door: Door, **changes: Any) -> None:
    preset = {**OURS, **changes}
    write(door.workspace.root, {".orchestration/presets/ours.json": json.dumps(preset)})
    result_of(allowed(door, "apply_preset", {"preset_name": "ours"}))


def pass_gates(door: Door) -> None:
    result_of(call(door, "analyze_problem", {"problem": "Why?"}))
    result_of(call(door, "health_check"))


def test_nothing_is_enforced_until_a_person_applies_a_preset(door: Door) -> None:
    write(door.workspace.root, {".orchestration/presets/ours.json": json.dumps(OURS)})
    listed = result_of(call(door, "list_presets"))
    assert (listed["count"], listed["built_in_count"], listed["custom_count"]) == (5, 4, 1)
    assert listed["presets"][-1] == {
        "name": "ours", "description": "", "enforcement": "moderate", "type": "custom",
        "path": ".orchestration/presets/ours.json",
    }  # fmt: skip
    assert "active_preset" not in listed
    checked = result_of(call(door, "check_compliance", ASK))
    assert (checked["compliant"], checked["would_block"], checked["mode"]) == (True, False, "dry-run")
    status = result_of(call(door, "get_workflow_status"))
    assert set(status["gates_status"].values()) == {"not_configured"}
    result_of(call(door, "write_source", EDIT))


def test_a_held_preset_is_not_in_force_and_an_approval_counts_once(door: Door) -> None:
    assert call(door, "apply_preset", {"preset_name": "strict"}).outcome is Outcome.HELD
    assert "active_preset" not in result_of(call(door, "get_config"))
    done = result_of(allowed(door, "apply_preset", {"preset_name": "strict"}))
    assert (done["applied"], done["enforcement"], done["gates"]) == (True, "strict", BUILT_IN["strict"]["gates"])
    assert result_of(call(door, "get_config"))["active_preset"] == "strict"
    assert call(door, "apply_preset", {"preset_name": "strict"}).outcome is Outcome.HELD


def test_a_moderate_gate_blocks_edits_until_the_ledger_has_the_steps(door: Door) -> None:
    apply(door)
    refused = call(door, "write_source", EDIT)
    assert error_of(refused) == "WORKFLOW_VIOLATION"
    assert refused.error is not None
    assert refused.error.details == {"gate": "learn", "missing": ["analyze_problem"], "enforcement": "moderate"}
    checked = result_of(call(door, "check_compliance", ASK))
    assert checked["missing_requirements"] == ["learn: analyze_problem", "reason: health_check"]
    assert checked["next_steps"] == ["Call analyze_problem.", "Call health_check."]
    assert checked["would_block"]
    assert result_of(call(door, "check_compliance", {**ASK, "current_phase": "teach"}))["compliant"]
    assert error_of(call(door, "verify_compliance", ASK)) == "COMPLIANCE_FAILED"
    assert error_of(call(door, "analyze_problem", {"problem": ""})) == "INVALID_ARGUMENTS"
    assert error_of(call(door, "write_source", EDIT)) == "WORKFLOW_VIOLATION"
    pass_gates(door)
    result_of(call(door, "write_source", EDIT))
    assert error_of(call(door, "write_source", EDIT, "another")) == "WORKFLOW_VIOLATION"
    status = result_of(call(door, "get_workflow_status"))
    assert status["gates_status"] == {"teach": "passed", "learn": "passed", "reason": "passed"}
    assert (status["current_phase"], status["steps_completed"]) == ("act", ["analyze_problem", "health_check"])


@pytest.mark.parametrize(
    ("enforcement", "edit", "tests"),
    [
        ("lenient", Outcome.FINISHED, Outcome.FINISHED),
        ("moderate", Outcome.DENIED, Outcome.FINISHED),
        ("custom", Outcome.DENIED, Outcome.FINISHED),
        ("strict", Outcome.DENIED, Outcome.DENIED),
    ],
)
def test_enforcement_decides_what_is_blocked(door: Door, enforcement: str, edit: Outcome, tests: Outcome) -> None:
    apply(door, enforcement=enforcement)
    edited = call(door, "write_source", EDIT)
    assert edited.outcome is edit
    assert any("analyze_problem" in one for one in edited.meta.warnings) == (enforcement == "lenient")
    assert call(door, "run_test_targets", RUN_TESTS).outcome is tests
    assert call(door, "read_source", {"targets": [{"path": "src/app.py"}]}).outcome is Outcome.FINISHED


def test_a_gate_takes_the_tool_that_replaces_a_legacy_one(door: Door) -> None:
    apply(door, gates={**OURS["gates"], "reason": {"required_tools": []}})  # type: ignore[dict-item]  # A test's table.
    snapshot = result_of(call(door, "compliance_snapshot"))
    assert error_of(call(door, "write_source", EDIT)) == "WORKFLOW_VIOLATION"
    route = {"session_id": snapshot["session_id"], "phase": "ROUTER", "input": {}}
    result_of(call(door, "guarded_cycle", route))
    assert error_of(call(door, "write_source", EDIT)) == "WORKFLOW_VIOLATION"
    result_of(call(door, "guarded_cycle", {**route, "input": {"user_input": "Go"}}))
    result_of(call(door, "write_source", EDIT))


def test_resetting_is_held_and_starts_the_steps_again(door: Door) -> None:
    apply(door)
    pass_gates(door)
    result_of(allowed(door, "reset_workflow", {}))
    assert error_of(call(door, "write_source", EDIT)) == "WORKFLOW_VIOLATION"
    cleaned = result_of(allowed(door, "reset_workflow", {"cleanup_only": True}))
    assert (cleaned["reset"], cleaned["cleanup_only"], cleaned["cleaned_up"]) == (False, True, 0)


def test_applying_keeps_all_other_settings(repo: Path) -> None:
    settings = "memory:\n  consolidation_threshold: 7\n  max_cells_total: 77\n"
    write(repo, {".codeplane/config.yaml": settings})
    with open_test_workspace(repo) as workspace:
        door = Door(workspace, OPERATIONS)
        result_of(allowed(door, "apply_preset", {"preset_name": "three-gate"}))
        config = result_of(call(door, "get_config"))["config"]
        assert (config["consolidation_threshold"], config["max_cells_total"]) == (7, 77)
        assert config["token_ttl"] == {"operation": 300_000, "session": 3_600_000}
    assert (repo / ".codeplane/config.yaml").read_text(encoding="utf-8") == settings
    with open_test_workspace(repo, ids=RandomIds()) as workspace:
        assert result_of(call(Door(workspace, OPERATIONS), "get_config"))["active_preset"] == "three-gate"


def test_a_token_is_used_once_and_lives_as_the_preset_says(door: Door, clock: ManualClock) -> None:
    apply(door)
    pass_gates(door)
    verified = result_of(call(door, "verify_compliance", {**ASK, "session_id": "my-session"}))
    assert (verified["compliant"], verified["session_id"]) == (True, "my-session")
    token = {"operation_token": verified["operation_token"]}
    file = door.workspace.places.tokens / f"{verified['operation_token']}.json"
    copy = file.read_bytes()
    assert json.loads(copy)["expires_at"] - json.loads(copy)["created_at"] == 1000
    done = result_of(call(door, "authorize_operation", {**token, "create_session_token": True}))
    status = result_of(call(door, "get_workflow_status", {"session_id": "my-session"}))
    assert status["active_tokens"] == [
        {"token_id": done["session_token"], "type": "session", "expires_in_seconds": 2, "version": 2}
    ]
    assert status["fast_track_active"]
    assert error_of(call(door, "authorize_operation", token)) == "TOKEN_INVALID"
    file.write_bytes(copy)
    assert error_of(call(door, "authorize_operation", token)) == "TOKEN_INVALID"
    late = result_of(call(door, "verify_compliance", ASK))["operation_token"]
    clock.advance(1)
    assert error_of(call(door, "authorize_operation", {"operation_token": late})) == "TOKEN_EXPIRED"
    early = result_of(call(door, "verify_compliance", ASK))["operation_token"]
    clock.advance(-10)
    assert error_of(call(door, "authorize_operation", {"operation_token": early})) == "TOKEN_EXPIRED"


def test_of_many_callers_one_gets_the_token(repo: Path, clock: ManualClock) -> None:
    with open_test_workspace(repo, clock=clock, ids=RandomIds()) as workspace:
        door = Door(workspace, OPERATIONS)
        token = {"operation_token": result_of(call(door, "verify_compliance", ASK))["operation_token"]}
        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(lambda _: call(door, "authorize_operation", token).error is None, range(8)))
    assert outcomes.count(True) == 1


FORGERIES = ("unsigned", "version 1", "longer life", "other type", "session token", "not hexadecimal", "link")


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_token_is_refused(door: Door, forgery: str) -> None:
    token_id = result_of(call(door, "verify_compliance", ASK))["operation_token"]
    tokens = door.workspace.places.tokens
    file = tokens / f"{token_id}.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    match forgery:
        case "unsigned":
            document.pop("signature")
        case "version 1":
            document = {key: document[key] for key in ("token_id", "created_at", "expires_at", "type", "session_id")}
        case "longer life":
            document["expires_at"] += 1_000_000
        case "other type":
            document["type"] = "session"
        case "session token":
            used = {"operation_token": token_id, "create_session_token": True}
            token_id = result_of(call(door, "authorize_operation", used))["session_token"]
        case "not hexadecimal":
            document["signature"] = "z" * 64
        case "link":
            file.replace(tokens / "elsewhere")
            file.symlink_to(tokens / "elsewhere")
    if forgery not in {"session token", "link"}:
        file.write_text(json.dumps(document), encoding="utf-8")
    assert error_of(call(door, "authorize_operation", {"operation_token": token_id})) == "TOKEN_INVALID"


def test_a_token_of_the_public_system_is_listed_and_authorises_nothing(door: Door, clock: ManualClock) -> None:
    tokens = door.workspace.places.tokens
    tokens.mkdir()
    old = {"token_id": "session-1-abc123def", "created_at": 1, "expires_at": clock.now_ms() + 5000, "type": "session"}
    (tokens / "session-1-abc123def.json").write_text(json.dumps(old), encoding="utf-8")
    (tokens / "op-1-abc123def.json").write_text(json.dumps({**old, "token_id": "op-2-abc123def"}), encoding="utf-8")
    status = result_of(call(door, "get_workflow_status"))
    assert status["active_tokens"] == [
        {"token_id": "session-1-abc123def", "type": "session", "expires_in_seconds": 5, "version": 1}
    ]
    assert status["fast_track_active"] is False
    for token in ("session-1-abc123def", "op-1-abc123def"):
        assert error_of(call(door, "authorize_operation", {"operation_token": token})) == "TOKEN_INVALID"


def test_a_token_of_another_session_or_key_is_refused(door: Door) -> None:
    token_id = result_of(call(door, "verify_compliance", ASK))["operation_token"]
    assert error_of(call(door, "authorize_operation", {"operation_token": token_id}, "c2")) == "TOKEN_INVALID"
    (key,) = door.workspace.places.user.ledger_seals.glob("*/key")
    key.write_bytes(bytes(32))
    refused = call(door, "authorize_operation", {"operation_token": token_id})
    assert error_of(refused) == "TOKEN_INVALID"
    assert refused.error is not None
    assert "with this key" in refused.error.message


@pytest.mark.parametrize("token", ["../config", "op-1-abcdefghi/../../x", "op-1-ABCDEFGHI", "session-1-abc", "x\n"])
def test_a_token_cannot_name_another_file(door: Door, token: str) -> None:
    config = door.workspace.places.config_file
    config.write_text("{}\n", encoding="utf-8")
    assert error_of(call(door, "authorize_operation", {"operation_token": token})) == "TOKEN_INVALID"
    assert config.read_text(encoding="utf-8") == "{}\n"


@pytest.mark.parametrize("name", ["../../x", "..", ".hidden", "a/b", "a\x00b", "none", "x" * 90])
def test_a_preset_cannot_name_another_file(door: Door, name: str) -> None:
    write(door.workspace.root, {"x.json": json.dumps(OURS)})
    for tool in ("apply_preset", "export_config"):
        assert error_of(call(door, tool, {"preset_name": name})) == "PRESET_NOT_FOUND"


def test_a_preset_that_arrives_broken_or_as_a_link_is_named_and_not_used(door: Door) -> None:
    root = door.workspace.root
    write(root, {".orchestration/presets/bad.json": "{", "secret.json": json.dumps(OURS)})
    (root / ".orchestration/presets/link.json").symlink_to(root / "secret.json")
    listed = result_of(call(door, "list_presets"))
    assert listed["custom_count"] == 0
    assert len(listed["problems"]) == 2
    assert error_of(call(door, "apply_preset", {"preset_name": "bad"})) == "CONFIG_INVALID"


def test_a_preset_row_without_our_seal_counts_for_nothing(door: Door) -> None:
    apply(door)
    with door.workspace.chain.database.write() as connection:
        connection.execute(
            "UPDATE events SET body = replace(body, 'moderate', 'lenient') WHERE kind = 'preset_applied'"
        )
    assert "active_preset" not in result_of(call(door, "get_config"))


VALID = {"name": "x", "description": "y", "gates": {gate: {"required_tools": [], "description": "z"} for gate in
         ("teach", "learn", "reason")}}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "errors", "warnings"),
    [
        ({}, [], []),
        ({"name": None}, ["name is missing."], []),
        ({"gates": None}, ["gates is missing."], []),
        ({"gates": {}}, ["gate teach is missing.", "gate learn is missing.", "gate reason is missing."], []),
        ({"description": ""}, [], ["description is missing."]),
        ({"token_ttl": {"operation": "soon"}}, [], ["token_ttl.operation is not a number."]),
        ({"enforcement": "hard"}, ["enforcement is not one of lenient, moderate, strict, custom."], []),
        (
            {"gates": {**VALID["gates"], "learn": {}}},  # type: ignore[dict-item]  # A test's table.
            [],
            ["gate learn has no required_tools.", "gate learn has no description."],
        ),
    ],
)
def test_a_preset_is_checked(door: Door, changes: dict[str, Any], errors: list[str], warnings: list[str]) -> None:
    found = result_of(call(door, "validate_config", {"config": {**VALID, **changes}}))
    assert (found["valid"], found["errors"], found["warnings"]) == (not errors, errors, warnings)


def test_built_in_presets_are_as_published() -> None:
    table = {
        name: (*[" ".join(one["gates"][gate]["required_tools"]) for gate in ("teach", "learn", "reason")],
               one["token_ttl"]["operation"] // 60_000, one["token_ttl"]["session"] // 60_000, one["enforcement"])
        for name, one in BUILT_IN.items()
    }  # fmt: skip
    assert table == {
        "three-gate": ("record_experience tag_experience", "search_experiences gather_context",
                       "reason_through finalize_decision", 5, 60, "moderate"),
        "minimal": ("", "", "", 10, 120, "lenient"),
        "strict": ("record_experience tag_experience export_experiences",
                   "search_experiences get_experience gather_context",
                   "analyze_problem reason_through finalize_decision", 3, 30, "strict"),
        "custom": ("", "", "", 5, 60, "custom"),
    }  # fmt: skip


def test_a_preset_is_exported_to_a_file_and_to_the_presets_if_a_person_agrees(door: Door) -> None:
    root = door.workspace.root
    exported = result_of(call(door, "export_config", {"preset_name": "strict", "file_path": "docs/strict.json"}))
    data = (root / "docs/strict.json").read_bytes()
    assert (exported["file_path"], exported["size_bytes"]) == ("docs/strict.json", len(data))
    assert json.loads(data) == BUILT_IN["strict"]
    assert (
        error_of(call(door, "export_config", {"preset_name": "strict", "file_path": ".git/config"})) == "PROTECTED_PATH"
    )
    result_of(allowed(door, "export_config", {"preset_name": "strict"}))
    assert json.loads((root / ".orchestration/presets/strict.json").read_bytes()) == BUILT_IN["strict"]


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("check_compliance", {"current_phase": "act", "action": "x"}, "INVALID_PHASE"),
        ("check_compliance", {"current_phase": "teach"}, "MISSING_REQUIRED"),
        ("verify_compliance", {"current_phase": "teach", "action": ""}, "INVALID_ARGUMENTS"),
        ("verify_compliance", {"current_phase": "teach", "action": "x", "session_id": "../x"}, "OUT_OF_RANGE"),
        ("authorize_operation", {}, "MISSING_REQUIRED"),
        ("get_workflow_status", {"session_id": "unknown"}, "SESSION_NOT_FOUND"),
        ("apply_preset", {}, "MISSING_REQUIRED"),
        ("validate_config", {"config": []}, "INVALID_ARGUMENTS"),
    ],
)
def test_bad_input_gets_the_precise_code(door: Door, tool: str, arguments: dict[str, Any], code: str) -> None:
    assert error_of(call(door, tool, arguments)) == code


def test_a_signature_binds_every_field(door: Door) -> None:
    key = door.workspace.signing_key()
    payload = {"token_id": "op-1-aaaaaaaaa", "token_version": 2}
    assert sign_payload(key, "token", payload) != sign_payload(key, "receipt", payload)
    assert Token(payload).expires_in_ms(0) == 0
