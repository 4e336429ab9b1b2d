"""Where a memory session is in its cycle, read from the sealed steps, and writing the next step."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.redaction import redact, redact_value
from codeplane.memory.store import Writing

PHASES: Final = (
    "SNAPSHOT",
    "ROUTER",
    "CONTEXT_PACK",
    "DRAFT",
    "FINALIZE_RESPONSE",
    "GOVERNANCE_VALIDATE",
    "MEMORY_UPDATE",
)
# A phase with another status is still the next one.
_ADVANCES: Final = frozenset({"ok", "failed", "skipped"})


@dataclass(frozen=True, slots=True)
class Step:
    """One stored step of a cycle."""

    id: int
    phase: str
    status: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """A memory session and the steps of its current cycle, oldest first."""

    session_id: int
    scope: str
    flags: Mapping[str, Any]
    door_session: str
    cycle: int
    steps: tuple[Step, ...]

    @property
    def expected(self) -> str:
        """Return the phase that comes next; after the last one that of the next cycle."""
        done = [step.phase for step in self.steps if step.status in _ADVANCES]
        return PHASES[(PHASES.index(done[-1]) + 1) % len(PHASES)] if done else PHASES[0]

    @property
    def is_complete(self) -> bool:
        """Tell whether every phase of the cycle is done."""
        return bool(self.steps) and self.expected == PHASES[0]

    @property
    def last_phase(self) -> str | None:
        """Return the phase that was done last."""
        return next((step.phase for step in reversed(self.steps) if step.status in _ADVANCES), None)

    @property
    def context_hash(self) -> str | None:
        """Return the hash of what was packed in this cycle."""
        return (self.data("CONTEXT_PACK") or {}).get("context_hash")

    def data(self, phase: str) -> Mapping[str, Any] | None:
        """Return what a phase stored when it was done last; None if it was not done."""
        found = (step.data for step in reversed(self.steps) if step.phase == phase and step.status in _ADVANCES)
        return next(found, None)

    def is_blocked_at(self, phase: str) -> bool:
        """Tell whether the newest step is a blocked attempt at a phase."""
        return bool(self.steps) and (self.steps[-1].phase, self.steps[-1].status) == (phase, "blocked")


def open_session(writing: Writing, scope: str, flags: Mapping[str, Any] | None = None) -> int:
    """Start a memory session of the caller's session and return its id."""
    origin = writing.origin
    return writing.insert(
        "memory_sessions", created_at=writing.now, scope_mode=scope, flags_json=json.dumps(dict(flags or {})),
        door_session=origin.session, worktree=origin.worktree, branch=origin.branch,
    )  # fmt: skip


def standing_of(connection: sqlite3.Connection, session_id: int) -> Standing:
    """Return where a session is.

    Raises:
        CodePlaneError: SESSION_NOT_FOUND when there is none, or when it was closed.
    """
    row = connection.execute("SELECT * FROM memory_sessions WHERE session_id = ?", (session_id,)).fetchone()
    if row is None or row["closed_at"] is not None:
        state = "is closed" if row is not None else "does not exist"
        hint = "compliance_snapshot without a session_id starts one."
        raise CodePlaneError("SESSION_NOT_FOUND", f"The memory session {session_id} {state}.", hint=hint)
    query = "SELECT COALESCE(MAX(cycle), 1) FROM cycle_steps WHERE session_id = ?"
    cycle = int(connection.execute(query, (session_id,)).fetchone()[0])
    query = "SELECT * FROM cycle_steps WHERE session_id = ? AND cycle = ? ORDER BY id"
    steps = tuple(
        Step(int(one["id"]), str(one["phase"]), str(one["status"]), _loaded(one["data_json"]))
        for one in connection.execute(query, (session_id, cycle))
    )
    flags = _loaded(row["flags_json"])
    return Standing(session_id, str(row["scope_mode"]), flags, str(row["door_session"]), cycle, steps)


def add_step(
    writing: Writing, standing: Standing, phase: str, status: str, given: Mapping[str, Any], data: Mapping[str, Any]
) -> Standing:
    """Store a step and return the standing after it; SNAPSHOT after the last phase begins the next cycle."""
    cycle = standing.cycle + 1 if standing.is_complete and phase == PHASES[0] else standing.cycle
    text = stored_text(data)
    writing.insert(
        "cycle_steps", session_id=standing.session_id, cycle=cycle, phase=phase, status=status,
        in_hash=digest(redact_value(dict(given))), out_hash=sha256_text(text), data_json=text, ts=writing.now,
    )  # fmt: skip
    after = standing_of(writing.connection, standing.session_id)
    writing.connection.execute(
        "UPDATE memory_sessions SET last_phase = ?, cycle = ?, last_context_hash = COALESCE(?, last_context_hash)"
        " WHERE session_id = ?",
        (after.last_phase, after.cycle, after.context_hash, standing.session_id),
    )
    return after


def stored_text(data: Mapping[str, Any]) -> str:
    """Return data as steps store it, secrets redacted."""
    return redact(json.dumps(data, sort_keys=True, ensure_ascii=False))


def _loaded(text: str) -> Mapping[str, Any]:
    """Return a stored object; whatever else is there was not written by this program."""
    try:
        loaded = json.loads(text)
    except ValueError:
        return {}
    return loaded if isinstance(loaded, dict) else {}
