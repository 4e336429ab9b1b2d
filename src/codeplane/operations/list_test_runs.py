"""`list_test_runs`: what the last test runs of this working tree showed, without running anything."""

from collections import Counter
from typing import Any, Final

from pydantic import Field, ValidationError

from codeplane.core.clock import local_time
from codeplane.core.kept_results import KeptResults
from codeplane.core.printable import counted, printable_name
from codeplane.ledger.effects import EffectClass
from codeplane.operations.command import Command, Route, Shown
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.operations.suite_answers import FailureInfo, NotRun, failure_lines
from codeplane.workspace.workspace import Workspace

NAME = "list_test_runs"
MAX_RUNS: Final = 20
MAX_FAILURES: Final = 50
_SHOWN_FAILURES: Final = 5


class ListTestRunsRequest(Request):
    """How many runs to show."""

    limit: int = Field(1, ge=1, le=MAX_RUNS, description="Runs, the last one first.")


class KeptRun(Result):
    """One run as it was answered."""

    call_id: str
    at_ms: int
    outcome: str
    passed: int
    failed: int
    errors: int
    skipped: int
    targets: int
    runners: list[str]
    seconds: float
    affected: bool = Field(False, description="Whether only the tests that a change affects were run.")
    failures: list[FailureInfo] = Field(default_factory=list, description="At most 50.")
    failure_count: int = 0
    not_run: list[NotRun] = Field(default_factory=list)
    flaky: list[str] = Field(default_factory=list)


class ListTestRunsResult(Result):
    """The last runs, and the tests that were flaky in any of those that are kept."""

    runs: list[KeptRun]
    kept: int
    flaky: dict[str, int] = Field(default_factory=dict, description="In how many kept runs a test was flaky.")


def kept_runs(workspace: Workspace) -> KeptResults:
    """Return where the results of test runs are kept."""
    return KeptResults(workspace.places.private / "results", "tests", MAX_RUNS)


def last_failures(workspace: Workspace, since_ms: int) -> list[str]:
    """Return the tests that failed in the last run, if that was made since a time."""
    runs = [run for one in kept_runs(workspace).newest(1) if (run := _run(one)) is not None]
    return [name for run in runs if run.at_ms >= since_ms for one in run.failures for name in one.tests]


def flaky_tests(workspace: Workspace) -> Counter[str]:
    """Return the tests that were flaky in the kept runs, with the number of runs."""
    return Counter(name for run in _all_runs(workspace) for name in set(run.flaky))


def _all_runs(workspace: Workspace) -> list[KeptRun]:
    return [run for one in kept_runs(workspace).newest(MAX_RUNS) if (run := _run(one)) is not None]


def _run(document: dict[str, Any]) -> KeptRun | None:
    try:
        return KeptRun.model_validate({name: value for name, value in document.items() if name != "version"})
    except ValidationError:
        return None


def _handle(context: CallContext, request: ListTestRunsRequest) -> ListTestRunsResult:
    runs = _all_runs(context.workspace)
    flaky = Counter(name for run in runs for name in set(run.flaky))
    return ListTestRunsResult(runs=runs[: request.limit], kept=len(runs), flaky=dict(sorted(flaky.items())))


def _render(result: ListTestRunsResult) -> str:
    if not result.runs:
        return "No test run is kept; run_test_targets or `cpl test` makes one."
    lines: list[str] = []
    for run in result.runs:
        counts = {"failed": run.failed, "errors": run.errors, "passed": run.passed, "skipped": run.skipped}
        told = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "no tests run"
        what = "affected tests" if run.affected else "tests"
        lines.append(f"{local_time(run.at_ms)} {what}: {told} in {run.seconds:g} s; {counted(run.targets, 'target')}")
        for number, one in enumerate(run.failures[:_SHOWN_FAILURES]):
            lines += failure_lines(one, is_long=number == 0)
        if run.failure_count > _SHOWN_FAILURES:
            lines.append(f"and {counted(run.failure_count - _SHOWN_FAILURES, 'more failure')}")
    if result.flaky:
        lines.append(f"flaky: {', '.join(f'{printable_name(name)} ({n})' for name, n in result.flaky.items())}")
    return "\n".join(lines)


def _shows(result: ListTestRunsResult) -> Shown:
    return (_render(result),)


LIST_TEST_RUNS = Operation(
    name=NAME,
    family="tests",
    summary="Tell what the last test runs showed; runs nothing.",
    request_type=ListTestRunsRequest,
    result_type=ListTestRunsResult,
    effect=EffectClass.READ,
    plan=planned(_handle),
    render=_render,
    when_to_use=("You want the failures of the last run again, or to know which tests were flaky.",),
    when_not_to_use=("You changed something since: run_test_targets.",),
    examples=(Example("The last run", {}), Example("The last five", {"limit": 5})),
    command=Command(
        path=("tests", "last"),
        help="Show what the last test runs of this working tree showed; nothing is run.",
        shows=_shows,
    ),
    routes=(Route(method="GET", path="/tests/runs", summary="The last test runs; limit."),),
)
