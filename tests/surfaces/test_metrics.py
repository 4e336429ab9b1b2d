"""What `/metrics` counts about getting somewhere, from the events of calls."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from codeplane.core.callers import DASHBOARD, Caller, CallerKind
from codeplane.core.clock import ManualClock
from codeplane.core.events import Event
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.surfaces.server.metrics import Metrics, TaskGauges, task_gauges
from codeplane.workspace.workspace import Workspace
from support.doors import call, door_with, open_test_workspace
from support.governed import FILES, write_intents
from support.repositories import git, make_repository
from support.toys import TOY_EDIT, TOY_TEST
from surfaces.support_processes import make_repo, make_sandbox, up, wait_until

START = 1_700_000_000_000


def _gauges(now_ms: int = START) -> TaskGauges:
    return TaskGauges(1, {"mutations": 0.5}, 4, {"CLOSED_FAILED": 2, "CLOSED_SUCCESS": 2}, {"mutations": 1}, now_ms)


def _text(metrics: Metrics, tasks: TaskGauges) -> str:
    metrics.set_gauges(sessions=0, in_flight=0, rows=0, index={}, tasks=tasks)
    return metrics.text().decode()


def _value(text: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    assert found is not None, name
    return float(found[1])


def _event(at_ms: int, **data: Any) -> Event:
    fixed = {"operation": "toy", "outcome": "finished", "duration_ms": 1, "error": None, "at_ms": at_ms}
    return Event(1, "call", {**fixed, **data})


def test_mutations_show_their_cadence() -> None:
    metrics = Metrics(frozenset({"toy"}))
    for seconds in (0, 1, 400):
        metrics.count(_event(START + seconds * 1000, budget="mutations"))
    metrics.count(_event(START + 401_000, budget="test_runs"))
    text = _text(metrics, _gauges())
    assert _value(text, 'codeplane_counted_calls_total{budget="mutations"}') == 3
    assert _value(text, 'codeplane_counted_calls_total{budget="test_runs"}') == 1
    assert _value(text, "codeplane_mutation_interval_seconds_count") == 2
    assert _value(text, "codeplane_mutation_interval_seconds_sum") == 400


def test_a_clock_that_runs_backwards_is_no_negative_pause() -> None:
    metrics = Metrics(frozenset({"toy"}))
    for seconds in (100, 0):
        metrics.count(_event(START + seconds * 1000, budget="mutations"))
    assert _value(_text(metrics, _gauges()), "codeplane_mutation_interval_seconds_sum") == 0


@pytest.mark.parametrize(("later_seconds", "expected"), [(0, 3), (60, 3), (61, 0)])
def test_calls_of_the_last_minute_are_counted(later_seconds: int, expected: int) -> None:
    metrics = Metrics(frozenset({"toy"}))
    for _ in range(3):
        metrics.count(_event(START))
    text = _text(metrics, _gauges(START + later_seconds * 1000))
    assert _value(text, "codeplane_calls_last_minute") == expected


def test_the_exhaustion_ratio_is_the_share_of_closed_tasks_that_a_limit_closed() -> None:
    text = _text(Metrics(frozenset()), _gauges())
    assert _value(text, "codeplane_task_exhaustion_ratio") == 0.25
    assert _value(text, 'codeplane_task_budget_used_ratio{budget="mutations"}') == 0.5


def test_a_rejected_call_is_counted_without_its_time() -> None:
    metrics = Metrics(frozenset())
    metrics.count(Event(1, "call", {"operation": "x", "outcome": "failed", "duration_ms": 0, "error": "NOT_FOUND"}))
    assert _value(_text(metrics, _gauges()), "codeplane_calls_last_minute") == 0


@pytest.mark.parametrize("arguments", [{"limit": 1}, {"limit": 0}], ids=["answered", "refused"])
def test_what_a_page_of_the_dashboard_reads_is_not_counted(workspace: Workspace, arguments: dict[str, int]) -> None:
    metrics = Metrics(frozenset(OPERATIONS))
    visitor = Caller(CallerKind.PERSON, DASHBOARD, "dashboard:1", "dashboard", proof="dashboard login 1")
    with workspace.events.subscribe() as subscription:
        call(Door(workspace, OPERATIONS), "list_calls", arguments, by=visitor)
        for event in subscription.wait(0):
            metrics.count(event)

    text = _text(metrics, task_gauges(workspace))
    assert (_value(text, "codeplane_calls_last_minute"), "list_calls" in text, "INVALID" in text) == (0, False, False)


def test_repeats_of_real_calls_are_counted(workspace: Workspace) -> None:
    metrics = Metrics(frozenset({"toy_edit", "toy_test"}))
    door = door_with(workspace, TOY_EDIT, TOY_TEST)
    with workspace.events.subscribe() as subscription:
        for name, arguments in (
            ("toy_test", {"failing": ["t"]}),
            ("toy_edit", {"path": "a.txt", "content": "x"}),
            ("toy_edit", {"path": "a.txt", "content": "x"}),
            ("toy_test", {"failing": ["t"]}),
        ):
            call(door, name, arguments)
        for event in subscription.wait(0):
            metrics.count(event)
    text = _text(metrics, task_gauges(workspace))
    assert _value(text, 'codeplane_fingerprint_repeats_total{of="mutation"}') == 1
    assert _value(text, 'codeplane_fingerprint_repeats_total{of="failure"}') == 1
    assert _value(text, "codeplane_tasks_open") == 1
    assert _value(text, 'codeplane_task_budget_used_ratio{budget="mutations"}') == 2 / 500


def test_a_commit_is_drift_until_the_index_is_compared_again(repo: Path) -> None:
    with open_test_workspace(repo) as workspace:
        workspace.refresh_index()
        seen = [workspace.index_gauges()["head_drift"]]
        git(repo, "commit", "-q", "--allow-empty", "-m", "Next")
        seen.append(workspace.index_gauges()["head_drift"])
        workspace.refresh_index()
        seen.append(workspace.index_gauges()["head_drift"])
        durations = workspace.reconcile_durations()

    assert (seen, len(durations), workspace.reconcile_durations()) == ([0.0, 1.0, 0.0], 2, [])


# Row by row what the specification wants measured, and the series that measure it.
WANTED = {
    "Index staleness": ("codeplane_index_staleness_seconds", "codeplane_index_head_drift"),
    "Indexer status": (
        'codeplane_language_files{language="python"}',
        'codeplane_language_files_with_symbols{language="python"}',
        'codeplane_language_files_linked{language="python"}',
        'codeplane_language_size_bytes{language="python"}',
    ),
    "Resource usage": ("process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds"),
    "Reconciliation rate": (
        "codeplane_index_reconciles_last_minute",
        "codeplane_index_reconciles_total",
        "codeplane_reconcile_seconds_count",
        'codeplane_reconcile_seconds_bucket{le="0.1"}',
    ),
    "Task throughput": (
        "codeplane_tasks_opened_total",
        'codeplane_tasks_closed_total{state="CLOSED_SUCCESS"}',
        'codeplane_tasks_exhausted_total{budget="mutations"}',
        "codeplane_task_exhaustion_ratio",
    ),
    "Operations": (
        'codeplane_calls_total{operation="describe",outcome="finished"}',
        'codeplane_call_seconds_bucket{le="+Inf",operation="describe"}',
        'codeplane_errors_total{error="FILE_NOT_FOUND"}',
    ),
    "Mutation fingerprint repetition": ('codeplane_fingerprint_repeats_total{of="mutation"}',),
    "Failure fingerprint repetition": ('codeplane_fingerprint_repeats_total{of="failure"}',),
    "Budget utilization": ('codeplane_task_budget_used_ratio{budget="mutations"}',),
    "Operation cadence": ("codeplane_calls_last_minute", "codeplane_mutation_interval_seconds_count"),
    "Approvals": ("codeplane_approvals_waiting",),
}
BOUNDED_LABELS = {"operation", "outcome", "error", "budget", "of", "language", "state", "le"}


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("scraped")
    with make_sandbox(directory) as sandbox, up(sandbox, make_repo(sandbox, directory / "sample")) as server:
        wait_until(lambda: server.get("/ready").status == 200, "the first index is built")
        server.operate("describe", {})
        server.operate("read_source", {"targets": ["missing.txt"]})
        counted = 'codeplane_errors_total{error="FILE_NOT_FOUND"} 1.0'
        wait_until(lambda: counted in server.get("/metrics").body.decode(), "the calls are counted")
        yield server.get("/metrics").body.decode()


@pytest.mark.slow
@pytest.mark.parametrize("row", WANTED)
def test_metrics_have_the_series_of_the_row(scraped: str, row: str) -> None:
    shown = {line.rpartition(" ")[0] for line in scraped.splitlines() if not line.startswith("#")}
    assert [one for one in WANTED[row] if one not in shown] == []


@pytest.mark.slow
def test_every_series_has_a_help_text_and_only_labels_that_are_bounded(scraped: str) -> None:
    families = list(text_string_to_metric_families(scraped))
    labels = {label for family in families for sample in family.samples for label in sample.labels}
    assert [family.name for family in families if not family.documentation.strip()] == []
    assert labels - BOUNDED_LABELS == set()


def test_operations_that_nobody_knows_share_one_label() -> None:
    metrics = Metrics(frozenset({"toy"}))
    for i in range(50):
        metrics.count(_event(START, operation=f"made_up_{i}"))
    text = _text(metrics, _gauges())
    assert _value(text, 'codeplane_calls_total{operation="unknown",outcome="finished"}') == 50
    assert "made_up" not in text


def test_calls_that_wait_for_a_person_are_shown(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", FILES)
    write_intents(root)
    with open_test_workspace(root) as workspace:
        door = Door(workspace, OPERATIONS)
        before = task_gauges(workspace).approvals_waiting
        call(door, "select_active_intent", {"intent_id": "INT-001"})
        call(door, "write_source", {"edits": [{"path": "src/json/old.py", "action": "delete"}]})
        text = _text(Metrics(frozenset()), task_gauges(workspace))
    assert (before, _value(text, "codeplane_approvals_waiting")) == (0, 1)


def test_comparisons_of_the_last_minute_are_counted(repo: Path, clock: ManualClock) -> None:
    with open_test_workspace(repo, clock=clock) as workspace:
        seen = []
        for seconds in (0, 30, 45):
            clock.advance(seconds)
            workspace.refresh_index()
            seen.append(workspace.index_gauges()["reconciles_last_minute"])
    assert seen == [1, 2, 2]
