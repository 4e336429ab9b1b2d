"""Sends traces and metrics to the one endpoint that a person has configured, from a thread of its own.

Invariants: no call waits for it; what waits to be sent is bounded; an endpoint that is away costs one line in the log;
no redirect is followed, no proxy is used, and no other address is contacted.
"""

import http.client
import os
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from codeplane.core.errors import CodePlaneError
from codeplane.core.logs import fields, get_logger
from codeplane.core.tracing import TracedCall
from codeplane.workspace.workspace import Workspace

if TYPE_CHECKING:
    from prometheus_client import Metric

    from codeplane.surfaces.server.otlp import Sender

_log = get_logger(__name__)
_MAX_WAITING = 2_048
_MAX_BATCH = 256
_TIMEOUT_SECONDS = 5.0
# Calls that end shortly after each other travel together.
_GATHER_SECONDS = 0.25
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
_LAST_SECONDS = 1.0
_ANSWER_BYTES = 65_536
_WORTH_REPEATING = frozenset({408, 429})
# What the collector wants to see, such as its key; the variable is OpenTelemetry's own.
_HEADERS_VARIABLE = "OTEL_EXPORTER_OTLP_HEADERS"


class _NotTakenError(Exception):
    """The endpoint answered that it does not take a message."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.is_worth_repeating = status >= 500 or status in _WORTH_REPEATING


@dataclass
class TelemetrySender:
    """Takes traces of calls, and sends them and the metrics.

    Invariant: `record` only appends to a queue; when it is full the oldest trace is lost and counted.
    """

    workspace: Workspace
    started_ms: int
    families: "Callable[[], tuple[Metric, ...]] | None" = None
    n_lost: int = 0
    problem: str = ""
    _waiting: deque[TracedCall] = field(default_factory=lambda: deque(maxlen=_MAX_WAITING))
    _has_work: threading.Event = field(default_factory=threading.Event)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def record(self, call: TracedCall) -> None:
        """Take the trace of a call that has ended."""
        self.n_lost += len(self._waiting) == _MAX_WAITING
        self._waiting.append(call)
        self._has_work.set()

    def start(self) -> None:
        """Begin to send."""
        self._thread = threading.Thread(target=self._run, name="codeplane-telemetry", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Send what waits if that is quick; an endpoint that hangs is left alone."""
        self._stopping.set()
        self._has_work.set()
        if self._thread is not None:
            self._thread.join(_LAST_SECONDS)

    @property
    def state(self) -> dict[str, object]:
        """Return what people may know about it."""
        endpoint = self.workspace.settings.otel.endpoint
        return {
            "endpoint": endpoint,
            "problem": self.problem or None,
            "waiting": len(self._waiting),
            "lost": self.n_lost,
        }

    def _run(self) -> None:
        clock, pause = self.workspace.clock, 0.0
        seconds = self.workspace.settings.otel.metrics_seconds
        next_metrics = clock.monotonic() + min(seconds, _FIRST_PAUSE_SECONDS)
        while not self._stopping.is_set():
            if not self._waiting:
                self._has_work.wait(max(0.0, next_metrics - clock.monotonic()))
            self._stopping.wait(max(_GATHER_SECONDS, pause))
            self._has_work.clear()
            is_due = clock.monotonic() >= next_metrics
            if is_due:
                next_metrics = clock.monotonic() + seconds
            is_well = self._send_waiting() and (not is_due or self._stopping.is_set() or self._send_metrics())
            pause = 0.0 if is_well else min(_LONGEST_PAUSE_SECONDS, max(_FIRST_PAUSE_SECONDS, 2 * pause))
        self._send_waiting()

    def _send_waiting(self) -> bool:
        """Send the traces that wait; return whether the endpoint took them."""
        # It needs the extra `otel`, and 40 ms.
        from codeplane.surfaces.server.otlp import trace_request  # noqa: PLC0415

        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(_MAX_BATCH, len(self._waiting)))]
            message = trace_request(self._who(), batch, with_names=self.workspace.settings.otel.paths)
            if not self._deliver("/v1/traces", message):
                room = _MAX_WAITING - len(self._waiting)
                self.n_lost += max(0, len(batch) - room)
                self._waiting.extendleft(reversed(batch[-room:] if room else []))
                return False
        return True

    def _send_metrics(self) -> bool:
        # As above.
        from codeplane.surfaces.server.otlp import metrics_request  # noqa: PLC0415

        if self.families is None:
            return True
        try:
            families = self.families()
        except CodePlaneError:
            # The ledger or the index cannot be read just now; the metrics of the next minute tell more.
            return True
        return self._deliver("/v1/metrics", metrics_request(self._who(), families, self.workspace.clock.now_ms()))

    def _who(self) -> "Sender":
        from codeplane.surfaces.server.otlp import Sender  # noqa: PLC0415

        return Sender(self.workspace.repo_id, self.started_ms)

    def _deliver(self, path: str, message: bytes) -> bool:
        """Send one message; return whether it is done with. Only the first failure and the end of it are logged."""
        endpoint = self.workspace.settings.otel.endpoint
        try:
            _post(endpoint, path, message)
        except (OSError, ValueError, http.client.HTTPException, _NotTakenError) as error:
            reason = str(error)[:200] or type(error).__name__
            if isinstance(error, ValueError):
                # Its text has the header, which may be a key.
                reason = f"{_HEADERS_VARIABLE} has a header that HTTP cannot carry"
            if not self.problem:
                _log.warning("telemetry cannot be sent", extra=fields(endpoint=endpoint, reason=reason))
            self.problem = reason
            # What the endpoint refuses once it refuses again.
            return isinstance(error, _NotTakenError) and not error.is_worth_repeating
        if self.problem:
            _log.info("telemetry is sent again", extra=fields(endpoint=endpoint, lost=self.n_lost))
        self.problem = ""
        return True


def open_telemetry(workspace: Workspace) -> TelemetrySender | None:
    """Return what sends telemetry; None when no endpoint is configured or none may be contacted, which is logged."""
    otel = workspace.settings.otel
    if not otel.endpoint:
        return None
    for key, value in (("otel.endpoint", otel.endpoint), ("otel.paths", otel.paths)):
        if value and workspace.comes_with_the_repository(key):
            _log.warning("telemetry is off: a person sets this in their own config.yaml", extra=fields(setting=key))
            return None
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.proto") is None:
        _log.warning("telemetry is off: the extra `otel` is not installed")
        return None
    return TelemetrySender(workspace, workspace.clock.now_ms())


def _post(endpoint: str, path: str, message: bytes) -> None:
    """Send a message.

    Raises:
        OSError: the endpoint cannot be reached or does not answer in time.
        ValueError: a header of the environment cannot be sent.
        HTTPException: its answer is not HTTP.
        _NotTakenError: it answers with anything but success.
    """
    parts = urlsplit(endpoint)
    make = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = make(parts.hostname or "", parts.port, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request("POST", parts.path.rstrip("/") + path, message, _headers())
        answer = connection.getresponse()
        answer.read(_ANSWER_BYTES)
        if not 200 <= answer.status < 300:
            raise _NotTakenError(answer.status)
    finally:
        connection.close()


def _headers() -> dict[str, str]:
    pairs = (one.partition("=") for one in os.environ.get(_HEADERS_VARIABLE, "").split(",") if "=" in one)
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs} | {
        "Content-Type": "application/x-protobuf"
    }
