"""The legacy reasoning steps: analyse, gather, think, decide. Every id and every answer follows from the input."""

import json
import re
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Final

from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError
from codeplane.core.redaction import redact
from codeplane.memory.store import Writing

_GOALS: Final = (
    ("debugging", "bug error fail crash broken fix debug hang wrong"),
    ("implementation", "implement add create build write develop feature"),
    ("understanding", "understand explain how why what learn"),
    ("decision", "decide choose which should compare versus better"),
)
_PRIORITIES: Final = (
    ("high", "urgent critical asap immediately production blocker"),
    ("low", "later eventually someday minor optional"),
)
_FORMATS: Final = (
    ("tutorial", "tutorial guide walkthrough step"),
    ("example", "example sample demo snippet"),
    ("list", "list enumerate options"),
)
_WORD: Final = re.compile(r"[^\W_][\w.-]*", re.UNICODE)
_MAX_CONCEPTS: Final = 10
_MAX_TOKENS: Final = 20_000
# Kind, how many at most, characters of each, tokens of each, share of the budget from which on it is left out.
_SOURCES: Final = (
    ("effective", 5, 200, 50, 1.0),
    ("docs", 3, 200, 100, 0.6),
    ("data", 20, 100, 50, 0.8),
    ("web", 3, 200, 50, 0.85),
    ("ineffective", 2, 200, 40, 0.9),
)
_LEVELS: Final = {"effective": "critical", "docs": "high", "data": "medium", "web": "low", "ineffective": "low"}


def intent_of(problem: str) -> dict[str, str]:
    """Return what a problem asks for, by the words in it."""
    words = {word.lower() for word in _WORD.findall(problem)}

    def first(table: Sequence[tuple[str, str]], otherwise: str) -> str:
        return next((name for name, listed in table if words & set(listed.split())), otherwise)

    return {
        "goal": first(_GOALS, "general"),
        "priority": first(_PRIORITIES, "medium"),
        "format": first(_FORMATS, "explanation"),
        "context": problem[:200],
    }


def key_concepts(problem: str) -> list[str]:
    """Return up to ten distinct words longer than three characters, in their order."""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(problem) if len(word) > 3)
    return list(words)[:_MAX_CONCEPTS]


def begin(writing: Writing, problem: str, intent: Mapping[str, str]) -> str:
    """Store a reasoning session and return its id: the same problem in the same session continues until decided."""
    problem, owner = redact(problem), writing.origin.session
    number = 0
    while True:
        session_id = f"reasoning-{digest({'session': owner, 'problem': problem, 'number': number})[:16]}"
        row = writing.connection.execute(
            "SELECT phase FROM reasoning_sessions WHERE session_id = ?", (session_id,)
        ).fetchone()
        if row is None:
            break
        if row["phase"] != "finalized":
            return session_id
        number += 1
    writing.insert(
        "reasoning_sessions", session_id=session_id, problem=problem, user_intent=json.dumps(dict(intent)),
        phase="analyze", created_at=writing.now_ms, updated_at=writing.now_ms,
    )  # fmt: skip
    return session_id


def session_row(connection: sqlite3.Connection, session_id: str) -> sqlite3.Row:
    """Return a reasoning session.

    Raises:
        CodePlaneError: SESSION_NOT_FOUND.
    """
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM reasoning_sessions WHERE session_id = ?", (session_id,)
    ).fetchone()
    if row is None:
        hint = "analyze_problem starts one."
        raise CodePlaneError("SESSION_NOT_FOUND", f"There is no reasoning session {session_id[:80]}.", hint=hint)
    return row


def set_phase(writing: Writing, session_id: str, phase: str) -> None:
    """Move a session on."""
    writing.connection.execute(
        "UPDATE reasoning_sessions SET phase = ?, updated_at = ? WHERE session_id = ?",
        (phase, writing.now_ms, session_id),
    )


def decide(writing: Writing, session_id: str, conclusion: str, experience_id: int | None) -> None:
    """End a session with its conclusion."""
    writing.connection.execute(
        "UPDATE reasoning_sessions SET phase = 'finalized', updated_at = ?, finalized_at = ?, conclusion = ?,"
        " experience_id = ? WHERE session_id = ?",
        (writing.now_ms, writing.now_ms, redact(conclusion), experience_id, session_id),
    )


def synthesize(sources: Mapping[str, Sequence[Any]]) -> tuple[str, int, dict[str, int]]:
    """Return the context made of sources by kind, its size in tokens, and how much of it has which priority."""
    lines: list[str] = []
    n_tokens = 0
    breakdown = {"critical": 0, "high": 0, "medium": 0, "low": 0}
    for kind, limit, n_chars, tokens_each, share in _SOURCES:
        for item in list(sources.get(kind, ()))[:limit]:
            if n_tokens >= share * _MAX_TOKENS:
                break
            text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, sort_keys=True)
            lines.append(f"[{kind}] {' '.join(text.split())[:n_chars]}")
            n_tokens += tokens_each
            breakdown[_LEVELS[kind]] += 1
    return "\n".join(lines), n_tokens, breakdown


def is_off_topic(problem: str, thought: str) -> bool:
    """Tell whether a thought shares fewer than two words with the problem."""
    shared = {word.lower() for word in _WORD.findall(problem)} & {word.lower() for word in _WORD.findall(thought)}
    return len(shared) < 2


def thoughts_of(connection: sqlite3.Connection, session_id: str) -> list[dict[str, Any]]:
    """Return the thoughts of a session in their order."""
    query = "SELECT * FROM reasoning_thoughts WHERE session_id = ? ORDER BY thought_number, id"
    return [{**dict(row), "is_revision": bool(row["is_revision"])} for row in connection.execute(query, (session_id,))]


def mean_confidence(thoughts: Sequence[Mapping[str, Any]]) -> float:
    """Return the mean of the confidences; a missing one counts as 0.5, none at all as 0.7."""
    values = [0.5 if one["confidence"] is None else float(one["confidence"]) for one in thoughts]
    return round(sum(values) / len(values), 4) if values else 0.7
