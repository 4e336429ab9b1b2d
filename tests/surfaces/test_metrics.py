"""What `/metrics` counts about getting somewhere, from the events of calls."""

import re
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.events import Event
from codeplane.surfaces.server.metrics import Metrics, TaskGauges, task_gauges
from codeplane.workspace.workspace import Workspace
from support.doors import call, door_with, open_test_workspace
from support.repositories import git
from support.toys import TOY_EDIT, TOY_TEST

START = 1_700_000_000_000


def _gauges(now_ms: int = START) -> TaskGauges:
    return TaskGauges(1, {"mutations": 0.5}, 4, {"CLOSED_FAILED": 2, "CLOSED_SUCCESS": 2}, {"mutations": 1}, now_ms)


def _text(metrics: Metrics, tasks: TaskGauges) -> str:
    return metrics.text(sessions=0, in_flight=0, rows=0, index={}, tasks=tasks).decode()


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
