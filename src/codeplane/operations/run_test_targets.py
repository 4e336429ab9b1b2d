"""`run_test_targets`: run the tests that a change affects, or named ones, and tell what failed and where."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import counted, printable_name
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.ledger.fingerprints import Failure, failure_fingerprint
from codeplane.operations.discover_test_targets import Paths
from codeplane.operations.list_test_runs import MAX_FAILURES, flaky_tests, kept_runs
from codeplane.operations.models import RARELY, ListOfOne, Pagination, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.operations.suite_answers import FailureInfo, NotRun, failure_lines, shortened
from codeplane.operations.suite_coverage import CoverageInfo, coverage_book, coverage_lines, scope_of, told_coverage
from codeplane.operations.suite_selection import (
    Selected,
    SelectionInfo,
    Suite,
    changed_files,
    costs_of,
    selection_info,
    selection_words,
    suite_of,
)
from codeplane.testrun.commands import batches_of, shown_commands
from codeplane.testrun.discovery import chosen_targets
from codeplane.testrun.environment import not_found
from codeplane.testrun.leftovers import left_behind, tree_marks
from codeplane.testrun.model import Case, Outcome, Target
from codeplane.testrun.running import RunRequest, SuiteRun, TargetRun, default_workers, id_of, run_targets

NAME = "run_test_targets"
_MAX_TESTS: Final = 20
_MAX_LISTED: Final = 50
_SHOWN: Final = 8
# About so many characters of failures per page; what is beyond `_MAX_KEPT` failures is only counted.
_ROOM: Final = 6_000
_MAX_KEPT: Final = 500
_FULL_LENGTH: Final = 3


class RunTestTargetsRequest(Request):
    """Which tests to run, and how."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "affected_by": ("changed_files", "files"),
        "target_filter": ("targets", "paths", "path", "tests", "filter"),
        "timeout_sec": ("timeout", "timeout_seconds"),
        "fail_fast": ("failfast",),
        "retry_flaky": ("retry", "retries"),
    }
    affected_by: Paths | None = Field(
        None, description="Changed files; [], and by default without target_filter: what differs from HEAD."
    )
    target_filter: Annotated[list[str], ListOfOne] = Field(
        default_factory=list,
        max_length=20_000,
        description='Targets, files, directories, globs, `file::test`; ["."]: all.',
    )
    fail_fast: bool = False
    timeout_sec: int | None = Field(None, ge=1, le=86_400, description="Per target; default 30.")
    retry_flaky: bool = Field(False, description="Run failed tests once more.")
    coverage: bool = Field(False, description="Also tell which changed lines the tests ran.")
    cursor: str | None = Field(None, json_schema_extra=RARELY)


class RunTestTargetsResult(Result):
    """What a run showed."""

    outcome: Literal["passed", "failed", "nothing_run"]
    passed: int
    failed: int
    errors: int
    skipped: int
    flaky: list[str] = Field(default_factory=list, description="Tests that passed when repeated.")
    targets: int
    runners: list[str]
    seconds: float
    failures: list[FailureInfo]
    not_run: list[NotRun] = Field(default_factory=list, description="At most 50.")
    not_run_count: int = 0
    left_behind: list[str] = Field(default_factory=list, description="Files that tests changed or left in the tree.")
    coverage: CoverageInfo | None = None
    selection: SelectionInfo | None = None
    hint: str | None = None
    pagination: Pagination


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What a request means."""

    targets: tuple[Target, ...]
    missing: tuple[Target, ...]
    selected: Selected | None


def plan_run(context: CallContext, request: RunTestTargetsRequest) -> Plan[RunTestTargetsResult]:
    """Plan a run: its targets, and the commands that the gate judges."""
    if context.position is not None:
        document = dict(context.position.values)
        return Plan(lambda: _next_page(context, document))
    suite = suite_of(context)
    chosen = _chosen(context, suite, request)
    commands = shown_commands(batches_of(chosen.targets, suite.found, default_workers()), context.workspace.root)
    effects = Effects(commands=commands, verifies=True)
    return Plan(lambda: _run(context, request, suite, chosen), effects, preview=lambda: _preview(chosen))


def _chosen(context: CallContext, suite: Suite, request: RunTestTargetsRequest) -> _Chosen:
    """Return the targets of a request, those without a program apart.

    Raises:
        CodePlaneError: TEST_RUNNER_NOT_FOUND when none of them can be run.
    """
    targets = suite.found.targets
    if request.target_filter:
        targets, unknown = chosen_targets(suite.found, request.target_filter)
        if unknown and not targets:
            hint = "discover_test_targets lists the targets."
            raise CodePlaneError("FILE_NOT_FOUND", f"No test target fits `{printable_name(unknown[0])}`.", hint=hint)
        context.warnings.extend(f"no test target fits `{printable_name(one)}`" for one in unknown[:_SHOWN])
    selected = None
    if request.affected_by is not None or not request.target_filter:
        selected = suite.select(request.affected_by or None)
        targets = tuple(one for one in targets if one.target_id in selected.matches)
    missing = tuple(one for one in targets if not _has_program(suite, one))
    if targets and len(missing) == len(targets):
        use = suite.found.use_of(missing[0])
        if use is not None:
            raise not_found(use.runner, use.program)
    lacking = {one.target_id for one in missing}
    return _Chosen(tuple(one for one in targets if one.target_id not in lacking), missing, selected)


def _has_program(suite: Suite, target: Target) -> bool:
    use = suite.found.use_of(target)
    return use is not None and bool(use.program.words)


def _preview(chosen: _Chosen) -> str:
    shown = [printable_name(one.target_id) for one in chosen.targets[:_MAX_LISTED]]
    return "\n".join([f"runs {counted(len(chosen.targets), 'test target')}:", *shown])


def _run(context: CallContext, request: RunTestTargetsRequest, suite: Suite, chosen: _Chosen) -> RunTestTargetsResult:
    workspace = context.workspace
    settings = workspace.settings.tests
    before = tree_marks(workspace.repository)
    run = run_targets(
        RunRequest(
            root=workspace.root,
            found=suite.found,
            targets=chosen.targets,
            timeout_sec=float(request.timeout_sec or settings.timeout_sec),
            run_sec=float(settings.run_sec),
            n_workers=default_workers(),
            stops_early=request.fail_fast,
            scope=_scope(context, request, chosen),
            retries=request.retry_flaky,
            is_cancelled=context.is_cancelled,
            progress=context.report_progress,
        )
    )
    _remember_costs(context, run)
    left = left_behind(before, tree_marks(workspace.repository))
    failures = _failures(run, chosen.selected, flaky_tests(workspace))
    result = _result(context, chosen, run, left, failures)
    _keep(context, result, failures)
    return _with_coverage(context, result, run)


def _scope(context: CallContext, request: RunTestTargetsRequest, chosen: _Chosen) -> tuple[str, ...] | None:
    """Return the directories to measure: those of the changed files, however the tests were chosen."""
    if not request.coverage:
        return None
    return scope_of(chosen.selected.changed if chosen.selected is not None else changed_files(context))


def _with_coverage(context: CallContext, result: RunTestTargetsResult, run: SuiteRun) -> RunTestTargetsResult:
    if run.coverage is None or not result.runners:
        return result
    try:
        coverage_book(context.workspace).record(run.coverage.by_target)
    except OSError as error:
        context.warnings.append(f"the coverage was not kept: {error.strerror or error}")
    return result.model_copy(update={"coverage": told_coverage(context, run.coverage)})


def _remember_costs(context: CallContext, run: SuiteRun) -> None:
    seconds = {one.target.target_id: one.seconds for one in run.runs if one.cases and not one.target.names}
    try:
        costs_of(context.workspace).record(seconds)
    except OSError as error:
        context.warnings.append(f"durations were not kept: {error.strerror or error}")


def _keep(context: CallContext, result: RunTestTargetsResult, failures: Sequence[FailureInfo]) -> None:
    """Keep the result for `list_test_runs`, and note in the call's row what memory may learn from."""
    names = {"outcome", "passed", "failed", "errors", "skipped", "targets", "runners", "seconds", "not_run", "flaky"}
    told = result.model_dump(mode="json", include=names)
    kept = [one.model_dump(mode="json", exclude_none=True) for one in failures[:MAX_FAILURES]]
    document = {**told, "failures": kept, "failure_count": len(failures), "affected": result.selection is not None}
    try:
        kept_runs(context.workspace).add(context.workspace.clock.now_ms(), context.call_id, document)
    except OSError as error:
        context.warnings.append(f"the results were not kept: {error.strerror or error}")
    counts = {name: told[name] for name in ("outcome", "passed", "failed", "errors", "skipped")}
    noted = [{"test": one.tests[0], "count": one.count, "fingerprint": one.fingerprint} for one in failures]
    context.noted["tests"] = {**counts, "flaky": told["flaky"][:_MAX_TESTS], "failures": noted[:_MAX_TESTS]}


def _result(
    context: CallContext, chosen: _Chosen, run: SuiteRun, left: tuple[str, ...], failures: list[FailureInfo]
) -> RunTestTargetsResult:
    outcomes = Counter(case.outcome for one in run.runs for case in one.cases)
    missing = [NotRun(target=one.target_id, reason=f"{one.runner} was not found") for one in chosen.missing]
    not_run = [*missing, *(NotRun(target=one.target.target_id, reason=one.not_run) for one in run.runs if one.not_run)]
    n_bad = outcomes[Outcome.FAILED] + outcomes[Outcome.ERROR]
    _note_failure(context, run)
    shown, rest = _page(failures)
    return RunTestTargetsResult(
        outcome="failed" if n_bad else "passed" if outcomes else "nothing_run",
        passed=outcomes[Outcome.PASSED],
        failed=outcomes[Outcome.FAILED],
        errors=outcomes[Outcome.ERROR],
        skipped=outcomes[Outcome.SKIPPED],
        flaky=sorted(run.flaky)[:_MAX_LISTED],
        targets=sum(bool(one.cases) for one in run.runs),
        runners=sorted({one.target.runner for one in run.runs if one.cases}),
        seconds=round(run.seconds, 2),
        failures=shown,
        not_run=not_run[:_MAX_LISTED],
        not_run_count=len(not_run),
        left_behind=list(left[:_MAX_LISTED]),
        selection=selection_info(chosen.selected) if chosen.selected is not None else None,
        hint=None if outcomes else _why_nothing(chosen, not_run),
        pagination=_pagination(context, rest, len(failures)),
    )


def _why_nothing(chosen: _Chosen, not_run: Sequence[NotRun]) -> str:
    if not_run:
        return "No test was run."
    if chosen.selected is None:
        return "There are no tests here."
    if not chosen.selected.changed:
        return 'Nothing differs from HEAD; target_filter ["."] (`cpl test`) runs all tests.'
    return 'No test is affected; target_filter ["."] (`cpl test`) runs all tests.'


def _failures(run: SuiteRun, selected: Selected | None, flaky: Mapping[str, int]) -> list[FailureInfo]:
    """Return the failures, those that look the same as one, failed tests before errors outside of tests."""
    groups: dict[str, list[tuple[TargetRun, Case]]] = {}
    for one in run.runs:
        for case in one.cases:
            if case.outcome.is_bad:
                groups.setdefault(_fingerprint(case), []).append((one, case))
    found = [_failure(fingerprint, members, selected) for fingerprint, members in groups.items()]
    found.sort(key=lambda one: one.outcome != "failed")
    return [one.model_copy(update={"flaky_before": True}) if one.tests[0] in flaky else one for one in found]


def _fingerprint(case: Case) -> str:
    return failure_fingerprint(Failure((), case.exception_type, case.text or case.name))


def _failure(fingerprint: str, members: list[tuple[TargetRun, Case]], selected: Selected | None) -> FailureInfo:
    first, case = members[0]
    match = selected.matches.get(first.target.target_id) if selected is not None else None
    return FailureInfo(
        tests=[id_of(one.target, case) for one, case in members][:_MAX_TESTS],
        count=len(members),
        outcome="error" if case.outcome is Outcome.ERROR else "failed",
        path=case.place or None,
        line=case.line,
        text=shortened(case.text),
        exception_type=case.exception_type or None,
        fingerprint=fingerprint[:16],
        reason=match.reason if match is not None else None,
        changed_definitions=selected.changed_definitions(match) if selected is not None and match is not None else [],
    )


def _note_failure(context: CallContext, run: SuiteRun) -> None:
    """Tell the door what failed, so that the same failure is recognised."""
    bad = [(one, case) for one in run.runs for case in one.cases if case.outcome.is_bad]
    if bad:
        names = tuple(id_of(one.target, case) for one, case in bad)
        stack = "\n".join(case.text for _, case in bad[:_MAX_TESTS])
        context.failure = Failure(names, bad[0][1].exception_type, stack, None, "test_failure")


def _page(failures: Sequence[FailureInfo]) -> tuple[list[FailureInfo], list[FailureInfo]]:
    room, n_shown = _ROOM, 0
    for one in failures:
        room -= len(one.model_dump_json())
        if room < 0 and n_shown:
            break
        n_shown += 1
    return list(failures[:n_shown]), list(failures[n_shown:])


def _pagination(context: CallContext, rest: list[FailureInfo], total: int) -> Pagination:
    kept = [one.model_dump(mode="json", exclude_none=True) for one in rest[:_MAX_KEPT]]
    return Pagination(next_cursor=context.next_page({"rest": kept}) if kept else None, total_estimate=total or None)


def _next_page(context: CallContext, document: dict[str, Any]) -> RunTestTargetsResult:
    """Return further failures of a run; nothing is run again."""
    try:
        failures = [FailureInfo.model_validate(one) for one in document["rest"]]
    except (ValueError, KeyError, TypeError) as error:
        raise CodePlaneError("CURSOR_INVALID") from error
    shown, rest = _page(failures)
    n_tests = sum(one.count for one in failures)
    return RunTestTargetsResult(
        outcome="failed",
        passed=0,
        failed=n_tests,
        errors=0,
        skipped=0,
        targets=0,
        runners=[],
        seconds=0.0,
        failures=shown,
        hint="Further failures of the run; nothing was run again.",
        pagination=_pagination(context, rest, len(failures)),
    )


def _render(result: RunTestTargetsResult) -> str:
    lines = [headline(result)]
    for number, one in enumerate(result.failures):
        lines += failure_lines(one, is_long=number < _FULL_LENGTH)
    if result.not_run:
        more = result.not_run_count - min(len(result.not_run), _SHOWN)
        shown = ", ".join(f"{printable_name(one.target)} ({one.reason})" for one in result.not_run[:_SHOWN])
        lines.append(f"not run: {shown}" + (f" and {more} more" if more else ""))
    if result.flaky:
        lines.append(f"flaky (passed when repeated): {', '.join(result.flaky[:_SHOWN])}")
    if result.left_behind:
        lines.append(f"left behind in the tree: {', '.join(map(printable_name, result.left_behind[:_SHOWN]))}")
    lines += coverage_lines(result.coverage) if result.coverage is not None else []
    lines += [result.hint] if result.hint else []
    lines += [f"more: cursor={result.pagination.next_cursor}"] if result.pagination.next_cursor else []
    return "\n".join(lines)


def headline(result: RunTestTargetsResult) -> str:
    """Return the counts of a run in one line."""
    errors = "error" if result.errors == 1 else "errors"
    counts = {"failed": result.failed, errors: result.errors, "passed": result.passed, "skipped": result.skipped}
    shown = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "no tests run"
    if not result.runners:
        return shown
    where = f"{counted(result.targets, 'target')} ({', '.join(result.runners)})"
    how = f"; {selection_words(result.selection)}" if result.selection is not None else ""
    return f"{shown} in {result.seconds:g} s; {where}{how}"


RUN_TEST_TARGETS = Operation(
    name=NAME,
    family="tests",
    summary="Run the tests that changes affect, or named ones; tells what failed and where.",
    request_type=RunTestTargetsRequest,
    result_type=RunTestTargetsResult,
    effect=EffectClass.EXECUTE,
    plan=plan_run,
    render=_render,
    when_to_use=("After an edit: did I break anything.", "You want the result of a test, a file or all tests."),
    when_not_to_use=("You only want to know which tests there are: use discover_test_targets.",),
    examples=(
        Example("What the changes since HEAD affect", {}),
        Example("What one file affects", {"affected_by": ["src/app.py"]}),
        Example("One test", {"target_filter": ["tests/test_app.py::test_start"]}),
        Example("All tests, until one fails", {"target_filter": ["."], "fail_fast": True}),
    ),
    reads_index=True,
    runs_tests=True,
    is_dry_run=lambda request: request.cursor is not None,
)
