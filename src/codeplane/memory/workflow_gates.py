"""Workflow gates: the preset that a person applied, and which of its steps a session has really taken.

Both are read from the ledger. A gate accepts a legacy tool or what replaces it.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from codeplane.ledger.chain import EventChain
from codeplane.ledger.evidence import Evidence
from codeplane.memory.presets import GATES, check_preset, required_tools

PRESET_KIND: Final = "preset_applied"
RESET_KIND: Final = "workflow_reset"
_REPLACED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "analyze_problem": ("compliance_snapshot", "compliance_router"),
    "gather_context": ("context_pack",),
    "reason_through": ("guarded_cycle",),
    "finalize_decision": ("finalize_response", "governance_validate"),
}
# What a phase of the guarded cycle counts as, besides `guarded_cycle` itself.
_PHASE_TOOLS: Final[Mapping[str, str]] = {
    "SNAPSHOT": "compliance_snapshot",
    "ROUTER": "compliance_router",
    "CONTEXT_PACK": "context_pack",
    "FINALIZE_RESPONSE": "finalize_response",
    "GOVERNANCE_VALIDATE": "governance_validate",
}


@dataclass(frozen=True, slots=True)
class GateState:
    """One gate of the preset in force, for one session."""

    name: str
    required: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def is_passed(self) -> bool:
        """Tell whether nothing is missing."""
        return not self.missing


def active_preset(chain: EventChain) -> Mapping[str, Any] | None:
    """Return the preset that a person applied last, from a row sealed with this ledger's key; None before that."""
    with chain.database.read() as connection:
        if connection.execute(f"SELECT 1 FROM events WHERE kind = '{PRESET_KIND}' LIMIT 1").fetchone() is None:  # noqa: S608 - a constant.
            return None
        # Written out, so that the index of these rows is used.
        for found in Evidence(chain, connection).rows(f"kind = '{PRESET_KIND}' ORDER BY seq DESC", ()):
            preset = found.row.body.get("preset")
            if found.is_ours and isinstance(preset, dict) and not check_preset(preset).errors:
                return preset
    return None


def called_tools(chain: EventChain, session: str) -> frozenset[str]:
    """Return the tools that a session has called with success since its workflow was reset."""
    chain.flush()
    with chain.database.read() as connection:
        query = (
            "SELECT DISTINCT operation, json_extract(body, '$.cycle_phase') FROM events"
            " WHERE session = ? AND kind = 'finished' AND seq > ? AND json_valid(body)"
        )
        rows = connection.execute(query, (session, _reset_seq(connection, session))).fetchall()
    return frozenset({str(row[0]) for row in rows} | {_PHASE_TOOLS[row[1]] for row in rows if row[1] in _PHASE_TOOLS})


def gate_states(preset: Mapping[str, Any] | None, called: frozenset[str]) -> tuple[GateState, ...]:
    """Return the gates in their order; without a preset there is none."""
    if preset is None:
        return ()
    states = []
    for gate in GATES:
        required = required_tools(preset, gate)
        states.append(GateState(gate, required, tuple(tool for tool in required if not _is_done(tool, called))))
    return tuple(states)


def unmet_gate(chain: EventChain, session: str) -> tuple[str, str]:
    """Return the enforcement of the preset in force and the first gate that is not passed, with what is missing.

    Both are empty when nothing is in the way.
    """
    preset = active_preset(chain)
    if preset is None:
        return "", ""
    states = gate_states(preset, called_tools(chain, session))
    first = next((state for state in states if not state.is_passed), None)
    if first is None:
        return "", ""
    return str(preset.get("enforcement", "custom")), f"{first.name}: {', '.join(first.missing)}"


def _is_done(tool: str, called: frozenset[str]) -> bool:
    replacement = _REPLACED_BY.get(tool)
    return tool in called or (replacement is not None and called.issuperset(replacement))


def _reset_seq(connection: sqlite3.Connection, session: str) -> int:
    query = f"SELECT COALESCE(MAX(seq), 0) FROM events WHERE kind = '{RESET_KIND}' AND session = ?"  # noqa: S608 - a constant.
    return int(connection.execute(query, (session,)).fetchone()[0])
