"""What an agent's hooks tell memory: a prompt was sent, a tool was used, the turn is over.

The agent's host calls these; nothing here trusts what the agent says about itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codeplane.core.redaction import redact
from codeplane.memory.canonical import sha256
from codeplane.memory.cycle_steps import Standing, open_session, standing_of
from codeplane.memory.governance import INVOCATION_KIND, Terms, Verdict
from codeplane.memory.guarded_cycle import CycleParts, govern, run_phase
from codeplane.memory.project_context import as_prompt
from codeplane.memory.store import MemoryStore, Origin, Writing


@dataclass(frozen=True, slots=True)
class HookMemory:
    """The store and the cycle, for the session whose agent sends events."""

    store: MemoryStore
    parts: CycleParts
    origin: Origin


@dataclass(frozen=True, slots=True)
class Stopped:
    """What the end of a turn did; `verdict` is None when there was nothing left to validate."""

    is_closed: bool
    verdict: Verdict | None = None
    n_tokens_removed: int = 0


def prompt_submitted(memory: HookMemory, prompt: str, project_context: Mapping[str, Any] | None) -> str:
    """Begin a cycle with the prompt, or go on with the one that runs; return the text that goes with the prompt."""
    with memory.store.write(memory.origin) as writing:
        standing = _running(writing, memory.origin.session)
        session_id = standing.session_id if standing is not None else open_session(writing, "project")
        if standing is None or standing.expected == "SNAPSHOT":
            run_phase(writing, session_id, "SNAPSHOT", {}, memory.parts)
        standing = standing_of(writing.connection, session_id)
        if standing.expected == "ROUTER" and prompt.strip():
            standing = run_phase(writing, session_id, "ROUTER", {"user_input": prompt}, memory.parts).standing
    cycle = f"Memory session {session_id}, cycle {standing.cycle}: next phase {standing.expected}."
    return "\n".join(part for part in (cycle, as_prompt(project_context)) if part)


def tool_used(memory: HookMemory, event: Mapping[str, Any]) -> int | None:
    """Record a tool that the host has run; return the row's number, None for an event without a tool."""
    name = tool_name_of(event)
    if name is None:
        return None
    with memory.store.read() as connection:
        row = connection.execute(_NEWEST, (memory.origin.session,)).fetchone()
    body = {
        "session_id": int(row[0]) if row is not None else None,
        "tool_name": redact(name[:200]),
        "input_hash": sha256(event.get("tool_input")),
        "output_hash": sha256(event.get("tool_response")),
        "meta": {"source": "hook"},
        "is_claimed": False,
    }
    return memory.parts.notary.append(INVOCATION_KIND, {key: one for key, one in body.items() if one is not None}).seq


def stopped(memory: HookMemory, *, is_repeated: bool = False) -> Stopped:
    """Validate the running cycle, certify it, close the session, and remove tokens whose time is over.

    A second stop of the same session does nothing; a stop that a stop hook caused does not, either.
    """
    if is_repeated:
        return Stopped(is_closed=False)
    notary = memory.parts.notary
    with memory.store.write(memory.origin) as writing:
        standing = _running(writing, memory.origin.session)
        if standing is None:
            return Stopped(is_closed=False)
        verdict = None
        if standing.data("DRAFT") is not None and standing.data("GOVERNANCE_VALIDATE") is None:
            verdict = govern(writing, standing, standing.context_hash, notary, Terms("stop"))
        writing.connection.execute(
            "UPDATE memory_sessions SET closed_at = ? WHERE session_id = ?", (writing.now, standing.session_id)
        )
    return Stopped(is_closed=True, verdict=verdict, n_tokens_removed=notary.tokens.remove_expired(notary.now_ms))


def tool_name_of(event: Mapping[str, Any]) -> str | None:
    """Return the tool of an event; hosts write `tool_name`, the public system's scripts `toolName`."""
    name = event.get("tool_name", event.get("toolName"))
    return name if isinstance(name, str) and name else None


_NEWEST = "SELECT session_id FROM memory_sessions WHERE door_session = ? AND closed_at IS NULL ORDER BY session_id DESC"


def _running(writing: Writing, session: str) -> Standing | None:
    row = writing.connection.execute(_NEWEST, (session,)).fetchone()
    return standing_of(writing.connection, int(row[0])) if row is not None else None
