"""Hooks, session state, health and project context: what a person decides is held, and health never fails."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from codeplane.operations.answer import Answer, Outcome
from codeplane.operations.perform import Door
from support.doors import call, error_of, person, result_of
from support.governed import approve, write_intents
from support.repositories import write

FILE = ".orchestration/project-context.json"
CONTEXT = {
    "enabled": True,
    "summary": "A queue.",
    "highlights": ["h"] * 5,
    "reminders": ["Run make check."],
    "preImplementation": ["p" * 200],
    "postImplementation": [],
}


def allowed(door: Door, name: str, arguments: dict[str, Any]) -> Answer:
    held = call(door, name, arguments)
    assert held.outcome is Outcome.HELD, held
    assert held.error is not None
    approve(door.workspace, str(held.error.details["hold_id"]))
    return call(door, name, arguments)


def test_hooks_are_held_then_installed_beside_those_of_others_and_removed(door: Door) -> None:
    settings = {".claude/settings.local.json": '{"hooks": {"Notification": [{"command": "mine.sh"}]}}\n'}
    write(door.workspace.root, dict(settings))
    place = door.workspace.root / ".claude/settings.local.json"
    done = result_of(allowed(door, "install_hooks", {"hooks": "all"}))
    assert (done["installed"], done["settings_updated"], done["location"]) == (
        True,
        True,
        ".claude/settings.local.json",
    )
    assert {"name": "PreToolUse"} in done["hooks"]
    assert "codeplane-hook" in place.read_text(encoding="utf-8")
    gone = result_of(allowed(door, "uninstall_hooks", {}))
    assert (gone["uninstalled"], gone["removed_count"]) == (True, len(done["hooks"]))
    assert {name: (door.workspace.root / name).read_text(encoding="utf-8") for name in settings} == settings
    assert result_of(allowed(door, "uninstall_hooks", {"project_hooks": True}))["uninstalled"] is False


def test_project_context_is_held_written_through_the_editor_and_can_be_undone(door: Door) -> None:
    root = door.workspace.root
    assert result_of(call(door, "get_project_context"))["exists"] is False
    assert call(door, "update_project_context", CONTEXT).outcome is Outcome.HELD
    assert not (root / FILE).exists()
    answer = allowed(door, "update_project_context", CONTEXT)
    done = result_of(answer)
    assert (done["success"], done["context_file"], done["enabled"]) == (True, FILE, True)
    stored = json.loads((root / FILE).read_text(encoding="utf-8"))
    assert {name: stored[name] for name in CONTEXT} == CONTEXT
    assert str(root) not in str(stored)
    shown = result_of(call(door, "get_project_context"))
    where = {"exists": True, "project_path": ".", "context_file": FILE, "updated_at": stored["updated_at"]}
    assert shown == {**CONTEXT, **where}
    result_of(call(door, "undo", {"operation": answer.meta.request_id}, by=person()))
    assert not (root / FILE).exists()


def test_a_person_decides_alone_where_intents_are_enforced(door: Door) -> None:
    write_intents(door.workspace.root)
    result_of(allowed(door, "update_project_context", {"enabled": False}))
    assert result_of(call(door, "get_project_context"))["enabled"] is False


def test_a_broken_project_context_is_named(door: Door) -> None:
    write(door.workspace.root, {FILE: "{"})
    assert "not valid" in result_of(call(door, "get_project_context"))["problem"]
    write(door.workspace.root, {FILE: '{"enabled": 1, "highlights": [1, "x"], "summary": 7}'})
    found = result_of(call(door, "get_project_context"))
    assert (found["enabled"], found["highlights"], found["summary"]) == (False, ["x"], "")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"summary": "x" * 201}, "INVALID_ARGUMENTS"),
        ({"highlights": ["x"] * 6}, "INVALID_ARGUMENTS"),
        ({"highlights": ["x" * 101]}, "INVALID_ARGUMENTS"),
        ({"reminders": ["x"] * 4}, "INVALID_ARGUMENTS"),
        ({"preImplementation": ["x" * 201]}, "INVALID_ARGUMENTS"),
        ({"postImplementation": ["x" * 201]}, "INVALID_ARGUMENTS"),
        ({"project_path": "../other"}, "VALIDATION_ERROR"),
        ({"enabled": None}, "MISSING_REQUIRED"),
    ],
)
def test_limits_of_the_project_context_are_kept(door: Door, changes: dict[str, Any], code: str) -> None:
    assert error_of(call(door, "update_project_context", {**CONTEXT, **changes})) == code


def test_the_state_of_every_kind_of_session_is_shown(door: Door) -> None:
    reasoning = result_of(call(door, "analyze_problem", {"problem": "Why?"}))["session_id"]
    thought = {"session_id": reasoning, "thought": "Because.", "thought_number": 1}
    result_of(call(door, "reason_through", thought))
    state = result_of(call(door, "get_session_state", {"session_id": reasoning}))
    assert (state["thought_count"], state["active"], state["thoughts"][0]["thought"]) == (1, True, "Because.")
    memory = result_of(call(door, "compliance_snapshot"))["session_id"]
    state = result_of(call(door, "get_session_state", {"session_id": memory}))
    assert (state["memory_session"]["last_phase"], state["active"]) == ("SNAPSHOT", True)
    ask = {"current_phase": "teach", "action": "x", "session_id": "mine"}
    result_of(call(door, "verify_compliance", ask))
    assert result_of(call(door, "get_session_state", {"session_id": "mine"}))["workflow_session"]["active"] == 1
    unknown = call(door, "get_session_state", {"session_id": "none"})
    assert error_of(unknown) == "SESSION_NOT_FOUND"
    assert "compliance_snapshot" in unknown.text()


def test_health_tells_what_holds(door: Door) -> None:
    fresh = result_of(call(door, "health_check"))
    assert (fresh["healthy"], fresh["warnings"]) == (True, ["Nothing is remembered yet."])
    result_of(call(door, "analyze_problem", {"problem": "Why?"}))
    result_of(call(door, "compliance_snapshot"))
    health = result_of(call(door, "health_check"))
    assert (health["status"], health["issues"]) == ("OK", [])
    assert health["stats"] == {"experiences": 0, "reasoning_sessions": 1, "workflow_sessions": 0}
    assert health["memory_system"] == {
        "sessions": 1, "cells": 0, "scenes": 0, "chain_ok": True, "fts_ok": True, "integrity": "ok"
    }  # fmt: skip


@pytest.mark.parametrize("damage", ["key", "ledger", "store"])
def test_health_answers_whatever_is_broken(door: Door, damage: str) -> None:
    result_of(call(door, "compliance_snapshot"))
    places = door.workspace.places
    if damage == "key":
        (key,) = places.user.ledger_seals.glob("*/key")
        key.chmod(0o666)
    elif damage == "ledger":
        _execute(places.ledger, "UPDATE events SET body = '{}' WHERE seq = 1")
    else:
        door.workspace.memory.close()
        del door.workspace.__dict__["memory"]
        places.memory.write_bytes(b"not a database, but long enough to be looked at" * 100)
    health = result_of(call(door, "health_check"))
    assert (health["healthy"], health["status"]) == (False, "DEGRADED")
    assert health["issues"]


def _execute(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
