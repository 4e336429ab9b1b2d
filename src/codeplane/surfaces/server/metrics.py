"""What `/metrics` shows: calls, sessions and this process's resources, in Prometheus text."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

from codeplane.core.events import Event

_INDEX_GAUGES = {
    "epoch": "The newest published state of the index.",
    "files": "Files in the index.",
    "definitions": "Definitions in the index.",
    "size_bytes": "Bytes of the index on disk.",
    "reconciles_total": "Comparisons of the index with the files.",
    "updates_total": "Comparisons that found something to index.",
    "reconcile_seconds_total": "Time spent on comparing and indexing.",
    "last_reconcile_seconds": "Duration of the last comparison.",
    "staleness_seconds": "Time since the last comparison.",
}
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)


class Metrics:
    """Counters fed by the workspace's events.

    Invariant: labels take only names from the catalog and the registry, so their number is bounded.
    """

    def __init__(self, operations: frozenset[str]) -> None:
        self._operations = operations
        self.registry = CollectorRegistry()
        # Resource usage: memory, CPU seconds, open file handles, start time.
        ProcessCollector(registry=self.registry)
        self._calls = Counter(
            "codeplane_calls", "Calls through the door.", ("operation", "outcome"), registry=self.registry
        )
        self._errors = Counter(
            "codeplane_errors", "Calls that ended with an error.", ("error",), registry=self.registry
        )
        self._seconds = Histogram(
            "codeplane_call_seconds", "Duration of calls.", ("operation",), buckets=_BUCKETS, registry=self.registry
        )
        self._sessions = Gauge("codeplane_sessions", "Live sessions.", registry=self.registry)
        self._in_flight = Gauge("codeplane_calls_in_flight", "Calls being worked on.", registry=self.registry)
        self._index = {
            name: Gauge(f"codeplane_index_{name}", text, registry=self.registry) for name, text in _INDEX_GAUGES.items()
        }
        self._rows = Gauge("codeplane_ledger_rows", "Committed rows of the event chain.", registry=self.registry)

    def count(self, event: Event) -> None:
        """Count one finished call."""
        name = str(event.data["operation"])
        operation = name if name in self._operations else "unknown"
        self._calls.labels(operation, str(event.data["outcome"])).inc()
        self._seconds.labels(operation).observe(float(event.data["duration_ms"]) / 1000)
        if event.data.get("error"):
            self._errors.labels(str(event.data["error"])).inc()

    def text(self, *, sessions: int, in_flight: int, rows: int, index: Mapping[str, float]) -> bytes:
        """Return the Prometheus text with the gauges as they are."""
        for name, gauge in self._index.items():
            gauge.set(index.get(name, 0))
        self._sessions.set(sessions)
        self._in_flight.set(in_flight)
        self._rows.set(rows)
        return generate_latest(self.registry)
