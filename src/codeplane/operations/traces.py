"""The trace of a call: names, numbers and paths, never content."""

from codeplane.core.canonical_json import canonical_text
from codeplane.core.redaction import redact, redact_value
from codeplane.core.tracing import AttributeValue, TracedCall
from codeplane.operations.answer import Outcome
from codeplane.operations.call_record import Call

_LISTED = 100
_ARGUMENTS_LIMIT = 1_000
_SHORTEST_SPAN_NS = 200_000


def traced(call: Call, duration_ns: int) -> TracedCall:
    """Return the span of a call: operation, arguments, outcome, task, files, symbols, tests, fingerprints."""
    evidence, error = call.evidence, call.error.error if call.error is not None else None
    mutation = evidence.mutation
    found: dict[str, AttributeValue | None] = {
        "codeplane.operation": call.operation.name,
        "codeplane.arguments": canonical_text(redact_value(call.arguments))[:_ARGUMENTS_LIMIT],
        "codeplane.outcome": (call.outcome or Outcome.FAILED).value,
        "codeplane.error": error,
        "codeplane.session": call.label,
        "codeplane.surface": call.caller.surface,
        "codeplane.task_id": call.task_id,
        "codeplane.files_read": tuple(path.text for path in call.effects.reads[:_LISTED]) or None,
        "codeplane.files_touched": tuple(change.path for change in evidence.changes[:_LISTED]) or None,
        "codeplane.symbols": (mutation.symbol_changes[:_LISTED] or None) if mutation is not None else None,
        "codeplane.mutation_fingerprint": mutation.text if mutation is not None else None,
        "codeplane.failing_tests": tuple(evidence.failure.get("failing_tests", ())[:_LISTED]) or None,
        "codeplane.failure_fingerprint": evidence.failure_fingerprint,
    }
    attributes = {name: _redacted(value) for name, value in found.items() if value is not None}
    return TracedCall(call.operation.name, call.started_ms, duration_ns, attributes, tuple(call.steps), error)


def spans_of(call: Call) -> list[list[str | int]]:
    """Return step, start and duration in microseconds of the steps so far that took at least 0.2 ms, for the row."""
    return [
        [step.name, step.offset_ns // 1000, step.duration_ns // 1000]
        for step in call.steps
        if step.duration_ns >= _SHORTEST_SPAN_NS
    ]


def _redacted(value: AttributeValue) -> AttributeValue:
    """Return a value without secrets that a file name may contain."""
    if isinstance(value, tuple):
        return tuple(redact(item) for item in value)
    return redact(value) if isinstance(value, str) else value
