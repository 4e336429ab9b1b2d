"""Events of an agent's hooks: a prompt begins a cycle, tools are recorded, the end of a turn closes it once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.clock import ManualClock
from codeplane.memory.guarded_cycle import run_phase
from codeplane.memory.hook_events import HookMemory, prompt_submitted, stopped, tool_name_of, tool_used
from codeplane.memory.tokens import SESSION, TokenBox, TokenRequest
from codeplane.workspace.workspace import Workspace

CONTEXT = {"enabled": True, "summary": "A queue.", "highlights": [], "reminders": ["Run make check."],
           "preImplementation": [], "postImplementation": []}  # fmt: skip
Hooks = Callable[[str], HookMemory]


def draft(memory: HookMemory, session_id: int) -> None:
    with memory.store.write(memory.origin) as writing:
        for phase, given in (("CONTEXT_PACK", {}), ("DRAFT", {"draft": "Close the pool."}), ("FINALIZE_RESPONSE", {})):
            assert run_phase(writing, session_id, phase, given, memory.parts).status == "ok"


def rows(workspace: Workspace, query: str) -> list[dict[str, Any]]:
    with workspace.chain.database.read() as connection:
        return [dict(row) for row in connection.execute(query)]


def test_a_prompt_begins_a_cycle_and_shows_the_project_context(hooks: Hooks) -> None:
    text = prompt_submitted(hooks("s-1"), "Fix the pool", CONTEXT)
    assert text == "Memory session 1, cycle 1: next phase CONTEXT_PACK.\nA queue.\n- Run make check."
    assert prompt_submitted(hooks("s-1"), "And the queue", {**CONTEXT, "enabled": False}) == text.splitlines()[0]
    assert prompt_submitted(hooks("s-2"), "Other", None).startswith("Memory session 2,")


@pytest.mark.parametrize("key", ["tool_name", "toolName"])
def test_a_tool_is_recorded_under_either_spelling(hooks: Hooks, workspace: Workspace, key: str) -> None:
    prompt_submitted(hooks("s-1"), "Go", None)
    seq = tool_used(hooks("s-1"), {key: "Bash", "tool_input": {"command": "ls"}, "tool_response": {"stdout": ""}})
    (row,) = rows(workspace, f"SELECT * FROM invocations WHERE id = {seq}")
    assert (row["session_id"], row["tool_name"]) == (1, "Bash")
    assert '"claimed":0' in row["meta_json"]


@pytest.mark.parametrize("event", [{}, {"tool_name": 7}, {"tool_name": ""}])
def test_an_event_without_a_tool_records_nothing(hooks: Hooks, event: dict[str, Any]) -> None:
    assert tool_name_of(event) is None
    assert tool_used(hooks("s-1"), event) is None


def test_the_end_of_a_turn_certifies_and_closes_once(hooks: Hooks, workspace: Workspace) -> None:
    prompt_submitted(hooks("s-1"), "Go", None)
    draft(hooks("s-1"), 1)
    assert stopped(hooks("s-1"), is_repeated=True).is_closed is False
    done = stopped(hooks("s-1"))
    assert done.is_closed
    assert done.verdict is not None
    assert (done.verdict.valid, done.verdict.errors) == (True, [])
    assert [row["receipt_type"] for row in rows(workspace, "SELECT * FROM receipts")] == ["stop"]
    assert stopped(hooks("s-1")).is_closed is False
    assert len(rows(workspace, "SELECT * FROM receipts")) == 1
    assert prompt_submitted(hooks("s-1"), "Next", None).startswith("Memory session 2, cycle 1")


def test_an_unused_cycle_is_closed_without_a_violation(hooks: Hooks, workspace: Workspace) -> None:
    prompt_submitted(hooks("s-1"), "Go", None)
    done = stopped(hooks("s-1"))
    assert (done.is_closed, done.verdict) == (True, None)
    with workspace.memory.read() as connection:
        assert connection.execute("SELECT COUNT(*) FROM episodic_experiences").fetchone()[0] == 0


def test_only_expired_tokens_are_removed_whoever_they_belong_to(
    hooks: Hooks, workspace: Workspace, clock: ManualClock, repo: Path
) -> None:
    box, key = TokenBox(workspace.places.tokens), workspace.signing_key()

    def issue(session: str, ttl_ms: int) -> str:
        wanted = TokenRequest(SESSION, session, "reason", "act", ttl_ms, clock.now_ms(), session, None, "", "0")
        return box.issue(key, wanted).token_id

    kept, _old = issue("s-2", 60_000), issue("s-3", 1_000)
    (repo / ".codeplane/tokens/note.txt").write_text("mine", encoding="utf-8")
    clock.advance(2)
    prompt_submitted(hooks("s-1"), "Go", None)
    assert stopped(hooks("s-1")).n_tokens_removed == 1
    assert sorted(path.name for path in box.directory.iterdir()) == sorted([f"{kept}.json", "note.txt"])
