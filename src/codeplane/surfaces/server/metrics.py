"""What `/metrics` shows: calls, tasks, sessions and this process's resources, in Prometheus text."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

from codeplane.core.events import Event
from codeplane.workspace.workspace import Workspace

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
    "head_drift": "1 when HEAD is not the commit that the last comparison found, else 0.",
}
_LANGUAGE_GAUGES = {
    "files": "Indexed files of a language.",
    "files_with_symbols": "Those whose symbols are known.",
    "files_linked": "Those with references that are linked to definitions.",
}
_BUDGETS = ("mutations", "test_runs", "duration")
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)
# From a burst to a long pause.
_INTERVALS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
_MINUTE_MS = 60_000
_KEPT_CALLS = 100_000


@dataclass(frozen=True, slots=True)
class TaskGauges:
    """The tasks in numbers; `used` is the largest used share of each budget among the open ones."""

    open_tasks: int
    used: Mapping[str, float]
    opened: int
    closed: Mapping[str, int]
    exhausted: Mapping[str, int]
    now_ms: int

    @property
    def exhaustion_ratio(self) -> float:
        """Return the share of closed tasks that a limit has closed."""
        return sum(self.exhausted.values()) / max(sum(self.closed.values()), 1)


def task_gauges(workspace: Workspace) -> TaskGauges:
    """Return the tasks of a repository in numbers."""
    now = workspace.clock.now_ms()
    tasks = workspace.tasks.open_tasks()
    shares = [task.shares_used(now) for task in tasks]
    used = {budget: max((share[budget] for share in shares), default=0.0) for budget in _BUDGETS}
    totals = workspace.tasks.totals()
    return TaskGauges(len(tasks), used, totals.opened, totals.closed, totals.exhausted, now)


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
        self._reconciles = Histogram(
            "codeplane_reconcile_seconds", "Duration of comparisons.", buckets=_BUCKETS, registry=self.registry
        )
        self._languages = {
            name: Gauge(f"codeplane_language_{name}", text, ("language",), registry=self.registry)
            for name, text in _LANGUAGE_GAUGES.items()
        }
        self._rows = Gauge("codeplane_ledger_rows", "Committed rows of the event chain.", registry=self.registry)
        self._declare_convergence()
        self._declare_tasks()

    def _declare_convergence(self) -> None:
        registry = self.registry
        self._counted = Counter("codeplane_counted_calls", "Calls that used a budget.", ("budget",), registry=registry)
        self._repeats = Counter(
            "codeplane_fingerprint_repeats",
            "Mutations or failures that were the same again.",
            ("of",),
            registry=registry,
        )
        for kind in ("mutation", "failure"):
            self._repeats.labels(kind)
        self._interval = Histogram(
            "codeplane_mutation_interval_seconds", "Time between mutations.", buckets=_INTERVALS, registry=registry
        )
        self._per_minute = Gauge(
            "codeplane_calls_last_minute", "Calls that ended in the last minute.", registry=registry
        )
        self._last_mutation_ms: int | None = None
        self._ended_ms: deque[int] = deque(maxlen=_KEPT_CALLS)

    def _declare_tasks(self) -> None:
        registry = self.registry
        self._open_tasks = Gauge("codeplane_tasks_open", "Open tasks.", registry=registry)
        self._budget_used = Gauge(
            "codeplane_task_budget_used_ratio", "Largest used share among open tasks.", ("budget",), registry=registry
        )
        self._opened = Gauge("codeplane_tasks_opened_total", "Tasks opened since the ledger began.", registry=registry)
        self._closed = Gauge("codeplane_tasks_closed_total", "Tasks closed, by state.", ("state",), registry=registry)
        self._exhausted = Gauge(
            "codeplane_tasks_exhausted_total", "Tasks that a limit has closed.", ("budget",), registry=registry
        )
        self._exhaustion = Gauge(
            "codeplane_task_exhaustion_ratio", "Share of closed tasks that a limit has closed.", registry=registry
        )

    def count(self, event: Event) -> None:
        """Count one finished call."""
        name = str(event.data["operation"])
        operation = name if name in self._operations else "unknown"
        self._calls.labels(operation, str(event.data["outcome"])).inc()
        self._seconds.labels(operation).observe(float(event.data["duration_ms"]) / 1000)
        if event.data.get("error"):
            self._errors.labels(str(event.data["error"])).inc()
        self._count_convergence(event.data)

    def _count_convergence(self, data: Mapping[str, Any]) -> None:
        at_ms, budget = data.get("at_ms"), data.get("budget")
        if at_ms is not None:
            self._ended_ms.append(at_ms)
        if budget is not None:
            self._counted.labels(budget).inc()
        if budget == "mutations" and at_ms is not None:
            if self._last_mutation_ms is not None:
                self._interval.observe(max(0, at_ms - self._last_mutation_ms) / 1000)
            self._last_mutation_ms = at_ms
        if data.get("is_no_op"):
            self._repeats.labels("mutation").inc()
        if data.get("non_progress"):
            self._repeats.labels("failure").inc()

    def observe_index(self, durations: Iterable[float], languages: Mapping[str, tuple[int, int, int]]) -> None:
        """Count comparisons that have ended and set what is known of each language."""
        for seconds in durations:
            self._reconciles.observe(seconds)
        for gauge, column in zip(self._languages.values(), zip(*languages.values(), strict=True), strict=False):
            gauge.clear()
            for language, value in zip(languages, column, strict=True):
                gauge.labels(language).set(value)

    def _set_tasks(self, tasks: TaskGauges) -> None:
        self._per_minute.set(sum(tasks.now_ms - ended <= _MINUTE_MS for ended in tuple(self._ended_ms)))
        self._open_tasks.set(tasks.open_tasks)
        self._opened.set(tasks.opened)
        self._exhaustion.set(tasks.exhaustion_ratio)
        for gauge, values in (
            (self._budget_used, tasks.used),
            (self._closed, tasks.closed),
            (self._exhausted, tasks.exhausted),
        ):
            for name, value in values.items():
                gauge.labels(name).set(value)

    def text(
        self, *, sessions: int, in_flight: int, rows: int, index: Mapping[str, float], tasks: TaskGauges | None = None
    ) -> bytes:
        """Return the Prometheus text with the gauges as they are."""
        for name, gauge in self._index.items():
            gauge.set(index.get(name, 0))
        self._sessions.set(sessions)
        self._in_flight.set(in_flight)
        self._rows.set(rows)
        if tasks is not None:
            self._set_tasks(tasks)
        return generate_latest(self.registry)
