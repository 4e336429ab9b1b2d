"""Traces of calls for OpenTelemetry, when a person has switched them on and installed it.

CodePlane only makes the spans; where they go is decided by the SDK that runs in the same process, as its own
variables (`OTEL_…`) say. Nothing is imported and nothing is sent unless `telemetry.enabled` is set.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from codeplane.core.logs import get_logger
from codeplane.core.settings import setting
from codeplane.core.version import VERSION

_log = get_logger(__name__)

AttributeValue = str | bool | int | float | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """Traces."""

    enabled: bool = setting(
        False, doc="Make an OpenTelemetry span for every call; needs the packages `opentelemetry-api` and `-sdk`."
    )


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One stage of a call: when it began, counted from the call's own beginning, and how long it took."""

    name: str
    offset_ns: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One call as a trace shows it."""

    name: str
    started_ms: int
    duration_ns: int
    attributes: Mapping[str, AttributeValue]
    steps: tuple[TracedStep, ...]
    error: str | None = None


class Tracer(Protocol):
    """Where traces of calls go."""

    def record(self, call: TracedCall) -> None:
        """Take the trace of a call that has ended."""
        ...


@dataclass(frozen=True, slots=True)
class OpenTelemetryTracer:
    """Makes one span for a call and one below it for each of its steps.

    The three functions are OpenTelemetry's: `Tracer.start_span`, `set_span_in_context`, and what makes an error status.
    """

    start_span: Callable[..., Any]
    in_context: Callable[[Any], Any]
    error_status: Callable[[str], Any]

    def record(self, call: TracedCall) -> None:
        """Make the spans with the times that were measured."""
        started = call.started_ms * 1_000_000
        span = self.start_span(f"codeplane.{call.name}", start_time=started, attributes=dict(call.attributes))
        context = self.in_context(span)
        for step in call.steps:
            begun = started + step.offset_ns
            child = self.start_span(f"codeplane.step.{step.name}", context=context, start_time=begun)
            child.end(end_time=begun + step.duration_ns)
        if call.error is not None:
            span.set_status(self.error_status(call.error))
        span.end(end_time=started + call.duration_ns)


def open_tracer(
    settings: TelemetrySettings, import_module: Callable[[str], Any] = importlib.import_module
) -> Tracer | None:
    """Return where traces go; None when they are off or OpenTelemetry is not installed, which is then logged."""
    if not settings.enabled:
        return None
    try:
        api = import_module("opentelemetry.trace")
    except ImportError:
        _log.warning("traces are switched on, but `opentelemetry-api` is not installed; none are made")
        return None

    def error_status(text: str) -> Any:
        return api.Status(api.StatusCode.ERROR, text)

    return OpenTelemetryTracer(api.get_tracer("codeplane", VERSION).start_span, api.set_span_in_context, error_status)
