"""The golden tasks that ship with the program."""

import pytest

from codeplane.controller.evaluation import GoldenTask, TaskOutcome, golden_tasks, metrics
from codeplane.surfaces.cli.controller_demo import evaluate


@pytest.mark.slow
@pytest.mark.parametrize("task", golden_tasks(), ids=lambda task: task.task_id)
def test_a_golden_task_ends_as_expected(task: GoldenTask) -> None:
    assert evaluate(task).problems == []


def test_a_task_that_ends_otherwise_is_a_problem() -> None:
    task = GoldenTask(
        "X", "x", ({"plan": [], "state": "COMPLETED", "codes": []},), {"src/billing/rates.py": "nothing"}, 9
    )
    outcome = evaluate(task)
    assert outcome.problems == [
        "turn 5: state is PLAN_ACCEPTED, not COMPLETED",
        "src/billing/rates.py does not hold 'nothing'",
        "there are 1 commits, not 9",
    ]
    assert metrics([outcome, TaskOutcome("Y", "y")])["passed"] == 1
