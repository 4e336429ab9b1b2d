"""What `/metrics` shows: calls, tasks, sessions, the index and this process's resources, in Prometheus text.

Invariants: every series has a help text; labels take only names from the catalog, the registry and the settings, so
that their number is bounded; no label has a session, a task or a path.
"""

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from codeplane.core.events import Event
from codeplane.workspace.workspace import Workspace

_INDEX_GAUGES = {
    "epoch": "The newest published state of the index.",
    "files": "Files in the index.",
    "definitions": "Definitions in the index.",
    "size_bytes": "Bytes of the index on disk.",
    "reconciles_last_minute": "Comparisons that ended in the last minute.",
    "last_reconcile_seconds": "Duration of the last comparison.",
    "staleness_seconds": "Time since the last comparison.",
    "head_drift": "1 when HEAD is not the commit that the last comparison found, else 0.",
}
_INDEX_TOTALS = {
    "reconciles": "Comparisons of the index with the files.",
    "updates": "Comparisons that found something to index.",
    "reconcile_seconds": "Time spent on comparing and indexing.",
}
_LANGUAGE_GAUGES = {
    "files": "Indexed files of a language.",
    "files_with_symbols": "Those whose symbols are known.",
    "files_linked": "Those with references that are linked to definitions.",
    "size_bytes": "Bytes of the indexed files of a language.",
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
    approvals_waiting: int = 0

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
    n_waiting = len(workspace.gate.approvals.holds("pending"))
    return TaskGauges(len(tasks), used, totals.opened, totals.closed, totals.exhausted, now, n_waiting)


class _Totals(Collector):
    """Counters that somebody else counts; their values are set before each reading."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._families: dict[str, tuple[str, str]] = {}
        self._values: dict[str, Mapping[str, float]] = {}
        registry.register(self)

    def declare(self, name: str, text: str, label: str = "") -> None:
        """Add a counter; with a label it has one series for each value of it."""
        self._families[name] = (text, label)

    def set(self, name: str, values: Mapping[str, float]) -> None:
        """Set the series of a counter."""
        self._values[name] = values

    def collect(self) -> Iterable[Metric]:
        """Return the counters that have values."""
        for name, (text, label) in self._families.items():
            family = CounterMetricFamily(name, text, labels=[label] if label else None)
            for value_of_label, value in self._values.get(name, {}).items():
                family.add_metric([value_of_label] if label else [], value)
            yield family


class Metrics:
    """Counters fed by the workspace's events, and gauges that are set before each reading."""

    def __init__(self, operations: frozenset[str]) -> None:
        self._operations = operations
        self.registry = CollectorRegistry()
        self.lock = threading.Lock()
        self._totals = _Totals(self.registry)
        # Resource usage: memory, CPU seconds, open file handles, start time.
        self._process = ProcessCollector(registry=self.registry)
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
        for name, text in _INDEX_TOTALS.items():
            self._totals.declare(f"codeplane_index_{name}", text)
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
        self._totals.declare("codeplane_tasks_opened", "Tasks opened since the ledger began.")
        self._totals.declare("codeplane_tasks_closed", "Tasks closed, by state.", "state")
        self._totals.declare("codeplane_tasks_exhausted", "Tasks that a limit has closed.", "budget")
        self._exhaustion = Gauge(
            "codeplane_task_exhaustion_ratio", "Share of closed tasks that a limit has closed.", registry=registry
        )
        self._approvals = Gauge("codeplane_approvals_waiting", "Held calls that wait for a person.", registry=registry)

    def count(self, event: Event) -> None:
        """Count one finished call; what a page of the dashboard reads is none, or an open page would count itself."""
        if event.data.get("is_look"):
            return
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

    def observe_index(self, durations: Iterable[float], languages: Mapping[str, tuple[int, ...]]) -> None:
        """Count comparisons that have ended and set what is known of each language."""
        for seconds in durations:
            self._reconciles.observe(seconds)
        columns = tuple(zip(*languages.values(), strict=True))
        for gauge, column in zip(self._languages.values(), columns, strict=False):
            gauge.clear()
            for language, value in zip(languages, column, strict=True):
                gauge.labels(language).set(value)

    def _set_tasks(self, tasks: TaskGauges) -> None:
        self._per_minute.set(sum(tasks.now_ms - ended <= _MINUTE_MS for ended in tuple(self._ended_ms)))
        self._open_tasks.set(tasks.open_tasks)
        self._exhaustion.set(tasks.exhaustion_ratio)
        self._approvals.set(tasks.approvals_waiting)
        for name, value in tasks.used.items():
            self._budget_used.labels(name).set(value)
        self._totals.set("codeplane_tasks_opened", {"": tasks.opened})
        self._totals.set("codeplane_tasks_closed", tasks.closed)
        self._totals.set("codeplane_tasks_exhausted", tasks.exhausted)

    def set_gauges(
        self, *, sessions: int, in_flight: int, rows: int, index: Mapping[str, float], tasks: TaskGauges | None = None
    ) -> None:
        """Set what is not counted here to what it is now."""
        for name, gauge in self._index.items():
            gauge.set(index.get(name, 0))
        for name in _INDEX_TOTALS:
            self._totals.set(f"codeplane_index_{name}", {"": index.get(f"{name}_total", 0)})
        self._sessions.set(sessions)
        self._in_flight.set(in_flight)
        self._rows.set(rows)
        if tasks is not None:
            self._set_tasks(tasks)

    def health(self) -> dict[str, Any]:
        """Return how long comparisons took, as upper bound and count, and what this process uses."""
        reached = [
            (sample.labels["le"], int(sample.value))
            for family in self._reconciles.collect()
            for sample in family.samples
            if sample.name.endswith("_bucket")
        ]
        resources = {
            sample.name.removeprefix("process_"): sample.value
            for family in self._process.collect()
            for sample in family.samples
        }
        before = (0, *(number for _bound, number in reached))
        counts = [
            {"up_to_seconds": bound, "count": number - less}
            for (bound, number), less in zip(reached, before, strict=False)
        ]
        return {"reconcile_durations": counts, "resources": resources}

    def text(self) -> bytes:
        """Return the Prometheus text."""
        return generate_latest(self.registry)

    def families(self) -> tuple[Metric, ...]:
        """Return the same as data."""
        return tuple(self.registry.collect())
