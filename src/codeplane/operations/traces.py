"""The trace of a call: names, numbers and fingerprints, never arguments or content."""

from collections.abc import Mapping

from codeplane.core.redaction import redact
from codeplane.core.tracing import AttributeValue, TracedCall
from codeplane.operations.answer import Outcome
from codeplane.operations.call_record import Call

_LISTED = 100
_SHORTEST_SPAN_NS = 200_000


def traced(call: Call, duration_ns: int) -> TracedCall:
    """Return the trace of a call: operation, outcome, task, session, fingerprints, and apart from them the names."""
    evidence, error = call.evidence, call.error.error if call.error is not None else None
    mutation, failing = evidence.mutation, tuple(evidence.failure.get("failing_tests", ()))
    attributes: dict[str, AttributeValue | None] = {
        "codeplane.call": call.call_id,
        "codeplane.part_of": call.controls.program.call_id if call.controls.program is not None else None,
        "codeplane.operation": call.operation.name,
        "codeplane.outcome": (call.outcome or Outcome.FAILED).value,
        "codeplane.error": error,
        "codeplane.session": call.label,
        "codeplane.surface": call.caller.surface,
        "codeplane.task": call.task_id,
        "codeplane.files_changed": len(evidence.changes),
        "codeplane.tests_failed": len(failing),
        "codeplane.mutation_fingerprint": mutation.text if mutation is not None else None,
        "codeplane.failure_fingerprint": evidence.failure_fingerprint,
    }
    names: dict[str, AttributeValue | None] = {
        "codeplane.paths_read": tuple(path.text for path in call.effects.reads[:_LISTED]) or None,
        "codeplane.paths_changed": tuple(change.path for change in evidence.changes[:_LISTED]) or None,
        "codeplane.symbols_changed": (mutation.symbol_changes[:_LISTED] or None) if mutation is not None else None,
        "codeplane.failing_tests": failing[:_LISTED] or None,
    }
    steps = tuple(call.steps)
    return TracedCall(
        call.call_id,
        call.operation.name,
        call.started_ms,
        duration_ns,
        _redacted(attributes),
        steps,
        _redacted(names),
        error,
    )


def spans_of(call: Call) -> list[list[str | int]]:
    """Return step, start and duration in microseconds of the steps so far that took at least 0.2 ms, for the row."""
    return [
        [step.name, step.offset_ns // 1000, step.duration_ns // 1000]
        for step in call.steps
        if step.duration_ns >= _SHORTEST_SPAN_NS
    ]


def _redacted(values: Mapping[str, AttributeValue | None]) -> dict[str, AttributeValue]:
    """Return the values that exist, without secrets that a file name may contain."""
    return {name: _without_secrets(value) for name, value in values.items() if value is not None}


def _without_secrets(value: AttributeValue) -> AttributeValue:
    if isinstance(value, tuple):
        return tuple(redact(item) for item in value)
    return redact(value) if isinstance(value, str) else value
