"""What the trace of a call says: names, numbers and paths, never content."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from codeplane.core.canonical_json import canonical_text
from codeplane.core.redaction import redact
from codeplane.core.tracing import AttributeValue, TracedCall, TracedStep
from codeplane.ledger.effects import Effects
from codeplane.operations.evidence import Evidence

_LISTED = 100
_ARGUMENTS_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class CallTrace:
    """A call that has ended, as far as traces show it; the arguments are redacted already."""

    operation: str
    arguments: Mapping[str, Any]
    outcome: str
    error: str | None
    session: str
    surface: str
    task_id: str | None
    effects: Effects
    evidence: Evidence
    started_ms: int
    duration_ns: int
    steps: tuple[TracedStep, ...]


def traced(call: CallTrace) -> TracedCall:
    """Return the span of a call: operation, arguments, outcome, task, files, symbols, tests, fingerprints."""
    evidence = call.evidence
    mutation = evidence.mutation
    found: dict[str, AttributeValue | None] = {
        "codeplane.operation": call.operation,
        "codeplane.arguments": canonical_text(dict(call.arguments))[:_ARGUMENTS_LIMIT],
        "codeplane.outcome": call.outcome,
        "codeplane.error": call.error,
        "codeplane.session": call.session,
        "codeplane.surface": call.surface,
        "codeplane.task_id": call.task_id,
        "codeplane.files_read": tuple(path.text for path in call.effects.reads[:_LISTED]) or None,
        "codeplane.files_touched": tuple(change.path for change in evidence.changes[:_LISTED]) or None,
        "codeplane.symbols": (mutation.symbol_changes[:_LISTED] or None) if mutation is not None else None,
        "codeplane.mutation_fingerprint": mutation.text if mutation is not None else None,
        "codeplane.failing_tests": tuple(evidence.failure.get("failing_tests", ())[:_LISTED]) or None,
        "codeplane.failure_fingerprint": evidence.failure_fingerprint,
    }
    attributes = {name: _told(value) for name, value in found.items() if value is not None}
    return TracedCall(call.operation, call.started_ms, call.duration_ns, attributes, call.steps, call.error)


def _told(value: AttributeValue) -> AttributeValue:
    """Return a value without the secrets that a file name may hold."""
    if isinstance(value, tuple):
        return tuple(redact(item) for item in value)
    return redact(value) if isinstance(value, str) else value
