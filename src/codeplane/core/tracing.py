"""The trace of a call: what it was, how it ended, and how long each step took; never content.

Where traces go is decided above: a server sends them to the endpoint that a person has configured, and nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

from codeplane.core.settings import setting

AttributeValue = str | bool | int | float | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OtelSettings:
    """Traces and metrics for OpenTelemetry."""

    endpoint: str = setting(
        "",
        doc="Where a server sends traces and metrics by OTLP over HTTP, such as `http://127.0.0.1:4318`; needs the "
        "extra `otel`. It counts only from the user's own `config.yaml`, the environment or `--set`.",
    )
    paths: bool = setting(
        False, doc="Name files, symbols and tests in traces. It counts from the same places as the endpoint."
    )
    metrics_seconds: float = setting(60.0, doc="Time between two reports of metrics.", minimum=0.1, maximum=86_400.0)

    def __post_init__(self) -> None:
        """Check the endpoint."""
        if self.endpoint:
            parts = urlsplit(self.endpoint)
            is_plain = not (parts.username or parts.password or parts.query or parts.fragment)
            if parts.scheme not in {"http", "https"} or not parts.hostname or not is_plain or parts.port == 0:
                raise ValueError("endpoint must be an http or https address without user, query and fragment")


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One stage of a call: when it began, counted from the call's own beginning, and how long it took."""

    name: str
    offset_ns: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One call as a trace shows it; `names` are the attributes that name files, symbols and tests."""

    call_id: str
    name: str
    started_ms: int
    duration_ns: int
    attributes: Mapping[str, AttributeValue]
    steps: tuple[TracedStep, ...]
    names: Mapping[str, AttributeValue] = field(default_factory=dict)
    error: str | None = None


class Tracer(Protocol):
    """Where traces of calls go."""

    def record(self, call: TracedCall) -> None:
        """Take the trace of a call that has ended; it never waits."""
        ...
