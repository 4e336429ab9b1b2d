"""Runs targets: packed for workers, each process with limits, every target answered for."""

import os
import posixpath
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import without_escapes
from codeplane.core.processes import ProcessRequest, ProcessResult, run_process
from codeplane.testrun.commands import (
    Batch,
    Invocation,
    batches_of,
    can_measure,
    coverage_directory,
    invocation_of,
)
from codeplane.testrun.coverage import Coverage, NoCoverageError
from codeplane.testrun.discovery import Discovered
from codeplane.testrun.model import Case, Finished, Outcome, Report, Target
from codeplane.testrun.watching import Watch

_OUTPUT_BYTES: Final = 16_000_000
_POLL_SECONDS: Final = 0.1
_LAST_LINES: Final = 15


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run and within which limits; `progress` gets targets done, targets in all and what is at work.

    `scope` are the directories whose coverage is measured; None measures nothing.
    """

    root: Path
    found: Discovered
    targets: tuple[Target, ...]
    timeout_sec: float
    run_sec: float
    n_workers: int
    stops_early: bool = False
    scope: tuple[str, ...] | None = None
    retries: bool = False
    is_cancelled: Callable[[], bool] = lambda: False
    progress: Callable[[int, int, str], None] = lambda _done, _all, _text: None


@dataclass(frozen=True, slots=True)
class TargetRun:
    """What became of one target; `not_run` says why some or all of it was not run."""

    target: Target
    cases: tuple[Case, ...] = ()
    not_run: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """A whole run; `flaky` are the tests that failed first and passed when repeated."""

    runs: tuple[TargetRun, ...]
    flaky: frozenset[str]
    seconds: float
    coverage: Coverage | None = None


@dataclass(slots=True)
class _State:
    """What the workers of one run share; `stop` ends them all and `why` tells the reason."""

    request: RunRequest
    scratch: Path
    deadline: float
    stop: threading.Event = field(default_factory=threading.Event)
    why: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)
    n_done: int = 0
    n_started: int = 0
    at_work: str = ""
    coverage: Coverage = field(default_factory=Coverage)

    def end(self, why: str) -> None:
        """Stop all workers."""
        with self.lock:
            self.why = self.why or why
        self.stop.set()

    def next_report(self) -> Path:
        """Return a file for the next report."""
        with self.lock:
            self.n_started += 1
            return self.scratch / f"{self.n_started}.report"

    def done(self, n_targets: int) -> None:
        """Count finished targets."""
        with self.lock:
            self.n_done += n_targets


def default_workers() -> int:
    """Return how many processes run at once: one per core, at most eight."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, 8))


def run_targets(request: RunRequest) -> SuiteRun:
    """Run the targets and return what became of each, in the order of the request.

    Raises:
        CodePlaneError: CANCELLED once the caller has; all processes are ended then.
    """
    started = time.monotonic()
    runs, coverage = _run_all(request)
    flaky: set[str] = set()
    if request.retries and not request.is_cancelled():
        runs, flaky = _repeated(request, runs)
    by_id = {one.target.target_id: one for one in runs}
    ordered = tuple(by_id[one.target_id] for one in request.targets if one.target_id in by_id)
    return SuiteRun(ordered, frozenset(flaky), time.monotonic() - started, coverage)


def id_of(target: Target, case: Case) -> str:
    """Return the id by which a test is told and chosen again."""
    if not case.name or (case.owner and case.name.startswith(case.owner)):
        return case.name or target.target_id
    return f"{target.target_id}::{case.name}"


def _run_all(request: RunRequest) -> tuple[list[TargetRun], Coverage | None]:
    with tempfile.TemporaryDirectory(prefix="codeplane-tests-") as scratch:
        state = _State(request, Path(scratch), time.monotonic() + request.run_sec)
        batches = batches_of(request.targets, request.found, request.n_workers)
        with ThreadPoolExecutor(request.n_workers, "tests") as pool:
            futures = [pool.submit(_run_batch, state, batch) for batch in batches]
            try:
                _wait(state, futures)
            finally:
                # Also on an exception, such as an interrupt: no process outlives the run.
                state.end("the run was cancelled")
        if request.is_cancelled():
            raise CodePlaneError("CANCELLED")
        runs = [run for future in futures for run in future.result()]
        return runs, state.coverage if request.scope is not None else None


def _wait(state: _State, futures: Sequence["Future[list[TargetRun]]"]) -> None:
    """Report progress and watch for cancellation, in the calling thread."""
    request = state.request
    shown = (-1, "")
    waiting = set(futures)
    while waiting:
        _, waiting = wait(waiting, _POLL_SECONDS)
        if request.is_cancelled():
            state.end("the run was cancelled")
        if (state.n_done, state.at_work) != shown:
            shown = (state.n_done, state.at_work)
            request.progress(min(state.n_done, len(request.targets)), len(request.targets), state.at_work)


def _run_batch(state: _State, batch: Batch) -> list[TargetRun]:
    """Run a batch to its end; after a target that hangs or crashes the rest goes on in another process."""
    runs: dict[str, TargetRun] = {}
    pending = list(batch.targets)
    while pending:
        gone = [one for one in pending if not os.path.lexists(state.request.root / one.path)]
        runs |= {one.target_id: TargetRun(one, not_run="its file was deleted") for one in gone}
        pending = [one for one in pending if one.target_id not in runs]
        if state.stop.is_set() or not pending:
            runs |= {one.target_id: TargetRun(one, not_run=state.why) for one in pending}
            break
        done = _run_once(state, replace(batch, targets=tuple(pending)))
        runs |= {run.target.target_id: run for run in done}
        left = [one for one in pending if one.target_id not in runs]
        if len(left) == len(pending):
            break
        pending = left
    if state.request.stops_early and any(case.outcome.is_bad for run in runs.values() for case in run.cases):
        state.end("stopped after the first failure")
    state.done(len(batch.targets))
    return list(runs.values())


def _run_once(state: _State, batch: Batch) -> list[TargetRun]:
    """Start one process and return the targets that are settled by it; the others have to be run again."""
    request = state.request
    invocation = invocation_of(batch, request, state.next_report())
    limit = invocation.timeout_sec
    watch = Watch(invocation.report, limit, invocation.startup_sec) if invocation.is_live else None

    def ends() -> bool:
        if watch is not None:
            watch.look()
            state.at_work = watch.at_work or state.at_work
        return state.stop.is_set() or (watch is not None and watch.is_over)

    left = max(0.1, state.deadline - time.monotonic())
    whole = left if watch is not None else min(left, invocation.startup_sec + limit * len(batch.targets))
    started_ns = time.time_ns()
    state.at_work = batch.targets[0].target_id
    try:
        result = run_process(
            ProcessRequest(
                invocation.argv,
                invocation.directory,
                whole,
                extra_environment=invocation.environment,
                output_limit_bytes=_OUTPUT_BYTES,
                cancelled=ends,
            )
        )
    except CodePlaneError as error:
        return [TargetRun(one, not_run=error.message) for one in batch.targets]
    stdout, stderr = without_escapes(result.stdout_text), without_escapes(result.stderr_text)
    finished = Finished(stdout, stderr, invocation.report, invocation.directory, started_ns)
    _measure(state, batch, invocation)
    report = batch.runner.parse(finished) if batch.runner is not None else Report(is_whole=False)
    if watch is not None and watch.is_over and watch.is_ended:
        # All tests were told before the process was ended; what it still did is none of their business.
        result, watch = replace(result, returncode=0, was_cancelled=False), None
    ending = _ending(state, result, watch, limit)
    return _settled(state.request.root, batch, invocation, report, result, ending)


def _measure(state: _State, batch: Batch, invocation: Invocation) -> None:
    """Add the coverage of a process that has ended."""
    request, runner = state.request, batch.runner
    if request.scope is None:
        return
    problem = can_measure(batch, request)
    if not problem and runner is not None and runner.measuring is not None:
        try:
            measured = runner.measuring.parse(coverage_directory(invocation.report), invocation.directory)
        except NoCoverageError as error:
            problem = f"{runner.name}: {error}"
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            problem = f"{runner.name}: its coverage report cannot be read"
        else:
            with state.lock:
                by_path = {one.path: one.target_id for one in batch.targets}
                state.coverage.add(request.root, invocation.directory, measured, by_path)
    with state.lock:
        if problem and problem not in state.coverage.problems:
            state.coverage.problems.append(problem)


def _ending(state: _State, result: ProcessResult, watch: Watch | None, limit: float) -> str:
    """Return why a process was ended before its time, empty when it ended by itself."""
    if watch is not None and watch.is_over:
        return f"timed out after {limit:g} s"
    if result.was_cancelled:
        return state.why
    if result.timed_out:
        is_global = time.monotonic() >= state.deadline
        return f"the whole run took longer than {state.request.run_sec:g} s" if is_global else "timed out"
    return ""


def _settled(  # noqa: PLR0911 - one way to end each.
    root: Path, batch: Batch, invocation: Invocation, report: Report, result: ProcessResult, ending: str
) -> list[TargetRun]:
    owners = _owners(root, batch, invocation)
    cases = _by_target(owners, batch, invocation, report)
    seconds = result.duration_ms / 1000
    runs = [
        TargetRun(one, tuple(cases[one.target_id]), "", _seconds(cases[one.target_id], seconds / len(batch.targets)))
        for one in batch.targets
        if cases[one.target_id]
    ]
    silent = [one for one in batch.targets if not cases[one.target_id]]
    hanging = owners.of(Case("", Outcome.ERROR, report.at_work)) if report.at_work else None
    if ending:
        return _ended_early(runs, silent, hanging, ending, invocation)
    is_bad = any(case.outcome.is_bad for run in runs for case in run.cases)
    if hanging is not None and not report.is_whole:
        # The process ended in the middle of a test, whatever its exit code; the rest goes on in another one.
        return _crashed(runs, hanging, result)
    if batch.runner is None or (result.returncode == 0 and (report.is_whole or runs)):
        return [*runs, *_quiet(batch, silent, report, result)]
    if batch.runner is not None and result.returncode in batch.runner.no_tests:
        return [*runs, *(TargetRun(one, not_run="no tests in it") for one in silent)]
    if is_bad:
        return [*runs, *(TargetRun(one, not_run="nothing was reported for it") for one in silent)]
    if silent and any(not os.path.lexists(root / one.path) for one in silent):
        # The runner refuses a file that vanished; the next process runs the others.
        return [*runs, *(TargetRun(one, not_run="its file was deleted") for one in silent if _is_gone(root, one))]
    return _broken(runs, silent, batch, result)


def _is_gone(root: Path, target: Target) -> bool:
    return not os.path.lexists(root / target.path)


def _quiet(batch: Batch, silent: Sequence[Target], report: Report, result: ProcessResult) -> list[TargetRun]:
    """Return targets without a report after an orderly end; a command of the project's own is told by its exit code."""
    if batch.runner is not None and result.returncode == 0:
        why = "no tests in it" if report.is_whole else "the report ended before it"
        return [TargetRun(one, not_run=why) for one in silent]
    outcome = Outcome.PASSED if result.returncode == 0 else Outcome.FAILED
    text = "" if result.returncode == 0 else last_lines(result)
    return [TargetRun(one, (Case("", outcome, one.path, None, text),), "", result.duration_ms / 1000) for one in silent]


def _ended_early(
    runs: list[TargetRun], silent: list[Target], hanging: Target | None, ending: str, invocation: Invocation
) -> list[TargetRun]:
    """Return what became of the targets of a process that was ended; a time limit is an error of some target."""
    is_over_time = ending.startswith(("timed out", "the whole run"))
    if not is_over_time:
        return [*runs, *(TargetRun(one, not_run=ending) for one in silent)]
    culprit = hanging or (silent[0] if silent else runs[-1].target if runs else None)
    if culprit is None:
        return runs
    blamed = _blamed(runs, culprit, Case("", Outcome.ERROR, culprit.path, None, ending, "Timeout"))
    if invocation.is_live and ending.startswith("timed out"):
        # Only the target at work is to blame; the rest goes on in another process.
        return blamed
    return [*blamed, *(TargetRun(one, not_run=ending) for one in silent if one != culprit)]


def _blamed(runs: list[TargetRun], culprit: Target, case: Case) -> list[TargetRun]:
    """Return the runs with an error added to one target, which keeps what it had reported."""
    before = next((run.cases for run in runs if run.target == culprit), ())
    return [*(run for run in runs if run.target != culprit), TargetRun(culprit, (*before, case))]


def _crashed(runs: list[TargetRun], culprit: Target, result: ProcessResult) -> list[TargetRun]:
    code = result.returncode
    how = f"was ended by signal {-code}" if code < 0 else f"ended in the middle of a test, with exit code {code}"
    text = f"the test process {how}\n{last_lines(result)}".strip()
    return _blamed(runs, culprit, Case("", Outcome.ERROR, culprit.path, None, text, "Crash"))


def _broken(runs: list[TargetRun], silent: list[Target], batch: Batch, result: ProcessResult) -> list[TargetRun]:
    """Return the error of a runner that failed without naming a failing test."""
    name = batch.targets[0].runner
    text = f"{name} ended with exit code {result.returncode}\n{last_lines(result)}".strip()
    culprit = silent[0] if silent else runs[-1].target
    blamed = _blamed(runs, culprit, Case("", Outcome.ERROR, "", None, text, "RunnerError"))
    rest = [TargetRun(one, not_run=f"{name} failed") for one in silent if one != culprit]
    return [*blamed, *rest]


@dataclass(frozen=True, slots=True)
class _Owners:
    """The targets of a batch by argument and by path; a suite may have thousands of both targets and cases."""

    root: Path
    directory: Path
    by_argument: dict[str, Target]
    by_path: dict[str, Target]

    def of(self, case: Case) -> Target | None:
        """Return the target that a case belongs to: by its owner, its file, or a directory above that."""
        if case.owner in self.by_argument:
            return self.by_argument[case.owner]
        path = _repo_path(self.root, self.directory, case.place)
        while path:
            if path in self.by_path:
                return self.by_path[path]
            path = posixpath.dirname(path)
        return self.by_path.get(".")


def _owners(root: Path, batch: Batch, invocation: Invocation) -> _Owners:
    by_argument = {one.argument: one for one in batch.targets}
    return _Owners(root, invocation.directory, by_argument, {one.path: one for one in batch.targets})


def _by_target(owners: _Owners, batch: Batch, invocation: Invocation, report: Report) -> dict[str, list[Case]]:
    root = owners.root
    cases: dict[str, list[Case]] = {one.target_id: [] for one in batch.targets}
    for case in report.cases:
        owner = owners.of(case) or batch.targets[0]
        place = _repo_path(root, invocation.directory, case.place)
        if not place and case.owner in owners.by_argument and (root / owner.path).is_file():
            # A report that names classes only; the target knows the file.
            place = owner.path
        cases[owner.target_id].append(replace(case, place=place))
    return cases


def _repo_path(root: Path, directory: Path, place: str) -> str:
    """Return a place of a report as a path of the repository; empty when it is outside."""
    if not place:
        return ""
    plain = place.removeprefix("file://")
    for base in {root, root.resolve()}:
        for start in {directory, directory.resolve()}:
            absolute = os.path.normpath(start / plain)
            if absolute.startswith(f"{base}{os.sep}"):
                return absolute[len(str(base)) + 1 :]
    return ""


def _seconds(cases: Sequence[Case], share: float) -> float:
    told = sum(case.seconds for case in cases)
    return told if told > 0 else share


def _repeated(request: RunRequest, runs: list[TargetRun]) -> tuple[list[TargetRun], set[str]]:
    """Run what failed once more; a test that passes this time is flaky."""
    failed = {
        run.target.target_id: {case.name for case in run.cases if case.outcome.is_bad}
        for run in runs
        if any(case.outcome.is_bad for case in run.cases)
    }
    if not failed:
        return runs, set()
    again = tuple(run.target for run in runs if run.target.target_id in failed)
    repeated, _ = _run_all(replace(request, targets=again, stops_early=False, scope=None))
    second = {run.target.target_id: run for run in repeated}
    flaky: set[str] = set()
    merged = []
    for run in runs:
        after = second.get(run.target.target_id)
        passed = {case.name for case in after.cases if case.outcome is Outcome.PASSED} if after is not None else set()
        merged.append(replace(run, cases=tuple(_after_repeat(run.target, case, passed, flaky) for case in run.cases)))
    return merged, flaky


def _after_repeat(target: Target, case: Case, passed: set[str], flaky: set[str]) -> Case:
    if not case.outcome.is_bad or case.name not in passed:
        return case
    flaky.add(id_of(target, case))
    return replace(case, outcome=Outcome.PASSED)


def last_lines(result: ProcessResult) -> str:
    """Return the last lines that a process printed, on its error output first."""
    text = result.stderr_text.strip() or result.stdout_text.strip()
    if result.stderr_text.strip() and result.stdout_text.strip() and len(text.splitlines()) < _LAST_LINES // 2:
        text = f"{result.stdout_text.strip()}\n{text}"
    return "\n".join(text.splitlines()[-_LAST_LINES:])
