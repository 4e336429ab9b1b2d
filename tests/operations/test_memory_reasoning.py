"""The four legacy tools, field by field: they still work, and say what replaces them."""

from typing import Any

import pytest

from codeplane.operations.perform import Door
from support.doors import call, error_of, result_of

PROBLEM = "Urgent: the pool test hangs, why does the worker keep its lock?"
REPLACEMENTS = {
    "analyze_problem": "compliance_snapshot + compliance_router",
    "gather_context": "context_pack",
    "reason_through": "guarded_cycle",
    "finalize_decision": "finalize_response + governance_validate",
}


def flow(door: Door) -> dict[str, dict[str, Any]]:
    """Run all four tools and return their answers."""
    analysed = result_of(call(door, "analyze_problem", {"problem": PROBLEM, "available_tools": ["search", "read"]}))
    session = {"session_id": analysed["session_id"]}
    sources = {
        "experiences": [{"type": "ineffective", "situation": "retry"}, "Close the pool."],
        "local_docs": ["x" * 500],
        "mcp_data": {"b": 1, "a": 2},
        "web_results": ["found"],
    }
    gathered = result_of(call(door, "gather_context", {**session, "sources": sources}))
    thought = {"thought": "The worker keeps the lock of the pool.", "thought_number": 1, "confidence": 0.9}
    reasoned = result_of(call(door, "reason_through", {**session, **thought}))
    other = {"thought": "Nice weather.", "thought_number": 2, "is_revision": True, "revises_thought": 1}
    strayed = result_of(call(door, "reason_through", {**session, **other}))
    decided = result_of(call(door, "finalize_decision", {**session, "conclusion": "Close it in finally."}))
    return {
        "analyze_problem": analysed, "gather_context": gathered, "reason_through": reasoned, "strayed": strayed,
        "finalize_decision": decided,
    }  # fmt: skip


def test_every_answer_names_its_replacement_and_has_its_fields(door: Door) -> None:
    answers = flow(door)
    for name, replacement in REPLACEMENTS.items():
        one = answers[name]
        assert (one["deprecated"], one["replacement"], one["code"]) == (True, replacement, "LEGACY_TOOL_DEPRECATED")
        assert replacement in one["deprecation_notice"]
    analysed = answers["analyze_problem"]
    assert analysed["user_intent"] == {
        "goal": "understanding", "priority": "high", "format": "explanation", "context": PROBLEM
    }  # fmt: skip
    assert analysed["suggested_queries"]["search"]["recommended"] == ["search"]
    assert analysed["key_concepts"][:3] == ["urgent", "pool", "test"]
    gathered = answers["gather_context"]
    assert gathered["priority_breakdown"] == {"critical": 1, "high": 1, "medium": 2, "low": 2}
    assert gathered["token_count"] == 50 + 100 + 2 * 50 + 50 + 40
    assert "[docs] " + "x" * 200 + "\n" in gathered["synthesized_context"]
    assert not answers["reason_through"]["scope_creep_detected"]
    assert answers["strayed"]["scope_creep_detected"]
    decided = answers["finalize_decision"]
    assert decided["session_summary"] == {"problem": PROBLEM, "thoughts_count": 2, "avg_confidence": 0.7}
    with door.workspace.memory.read() as connection:
        row = connection.execute("SELECT * FROM experiences WHERE id = ?", (decided["experience_id"],)).fetchone()
        episodes = connection.execute("SELECT experience_ref FROM episodic_experiences").fetchall()
    assert (row["domain"], row["approach"]) == ("Decision", "The worker keeps the lock of the pool.; Nice weather.")
    assert [one[0] for one in episodes] == [decided["experience_id"]]


def test_ids_follow_from_the_problem_and_a_decided_session_is_closed(door: Door) -> None:
    ask = {"problem": "Why does it crash?"}
    first = result_of(call(door, "analyze_problem", ask))["session_id"]
    assert result_of(call(door, "analyze_problem", ask))["session_id"] == first
    decide = {"session_id": first, "conclusion": "A null pointer.", "record_as_experience": False}
    decided = result_of(call(door, "finalize_decision", decide))
    assert "experience_id" not in decided
    assert decided["session_summary"]["avg_confidence"] == 0.7
    assert error_of(call(door, "finalize_decision", decide)) == "WORKFLOW_VIOLATION"
    again = result_of(call(door, "analyze_problem", ask))["session_id"]
    assert again not in {first, result_of(call(door, "analyze_problem", ask, "c2"))["session_id"]}


def test_without_sources_the_tool_asks_for_them(door: Door) -> None:
    session = result_of(call(door, "analyze_problem", {"problem": "x y"}))["session_id"]
    gathered = result_of(call(door, "gather_context", {"session_id": session}))
    assert (gathered["status"], gathered["next_step"]) == ("awaiting_sources", "gather_context")


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("analyze_problem", {}, "MISSING_REQUIRED"),
        ("analyze_problem", {"problem": " "}, "INVALID_ARGUMENTS"),
        ("gather_context", {"session_id": "none"}, "SESSION_NOT_FOUND"),
        ("gather_context", {"session_id": "../x"}, "OUT_OF_RANGE"),
        ("reason_through", {"session_id": "none", "thought": "x", "thought_number": 0}, "OUT_OF_RANGE"),
        ("reason_through", {"session_id": "none", "thought": "x", "thought_number": 1}, "SESSION_NOT_FOUND"),
        (
            "reason_through",
            {"session_id": "none", "thought": "x", "thought_number": 1, "confidence": 1.1},
            "OUT_OF_RANGE",
        ),
        ("finalize_decision", {"session_id": "none", "conclusion": "x"}, "SESSION_NOT_FOUND"),
        ("finalize_decision", {"session_id": "none"}, "MISSING_REQUIRED"),
    ],
)
def test_bad_input_gets_the_precise_code(door: Door, tool: str, arguments: dict[str, Any], code: str) -> None:
    assert error_of(call(door, tool, arguments)) == code
