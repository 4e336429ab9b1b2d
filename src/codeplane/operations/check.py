"""`check`: lint the changed files, run the affected tests, say what changed, and whether it is ready to commit."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from pydantic import Field

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import counted, printable_name
from codeplane.git.status import read_status
from codeplane.languages.catalog import UNKNOWN, language_of
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.discover_test_targets import Paths
from codeplane.operations.lint_check import LintCheckRequest, LintCheckResult, finding_line, plan_linting
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.operations.run_test_targets import RunTestTargetsRequest, RunTestTargetsResult, headline, plan_run
from codeplane.operations.semantic_diff import SemanticDiffRequest, structural_diff
from codeplane.operations.suite_answers import failure_lines
from codeplane.operations.suite_selection import changed_files

NAME = "check"
_SHOWN_FINDINGS: Final = 5
_SHOWN_FAILURES: Final = 3
# A target without tests does not keep a change from being ready.
_HARMLESS: Final = frozenset({"no tests in it", "its file was deleted"})


class CheckRequest(Request):
    """What to check."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "affected_by": ("changed_files", "files", "paths", "path"),
        "timeout_sec": ("timeout",),
        "fail_fast": ("failfast",),
    }
    affected_by: Paths | None = Field(None, description="Changed files; default: what differs from HEAD.")
    fail_fast: bool = False
    timeout_sec: int | None = Field(None, ge=1, le=86_400, description="Per test target; default 30.")


class CheckResult(Result):
    """The verdict, and what it rests on."""

    ready: bool
    reasons: list[str] = Field(description="Why it is not ready.")
    lint: LintCheckResult | None = None
    tests: RunTestTargetsResult | None = None
    changes: str
    breaking: str | None = None


@dataclass(slots=True)
class _Check:
    """One call; the parts were planned together and are carried out one after the other."""

    context: CallContext
    parts: CallContext
    request: CheckRequest
    run_lint: Callable[[], LintCheckResult] | None
    run_tests: Callable[[], RunTestTargetsResult] | None
    problem: str

    def checked(self) -> CheckResult:
        """Lint, test and compare."""
        lint = self.run_lint() if self.run_lint is not None else None
        tests = self.run_tests() if self.run_tests is not None else None
        self.context.failure = self.parts.failure
        changes = structural_diff(self.parts, SemanticDiffRequest(paths=self.request.affected_by or []))
        reasons = [*self._conflicts(), *_test_reasons(tests, self.problem), *_lint_reasons(lint)]
        if changes.summary == "no changes":
            reasons.append("nothing differs from HEAD")
        return CheckResult(
            ready=not reasons,
            reasons=reasons,
            lint=lint,
            tests=tests,
            changes=changes.summary,
            breaking=changes.breaking_summary,
        )

    def _conflicts(self) -> list[str]:
        conflicts = read_status(self.context.workspace.repository).conflicts
        return [f"{counted(len(conflicts), 'merge conflict')}: {conflicts[0].path}"] if conflicts else []


def _plan(context: CallContext, request: CheckRequest) -> Plan[CheckResult]:
    # What does not fit is in the parts' own answers and in the kept results; this call has no further pages.
    parts = replace(context, next_page=lambda _position: "")
    named = request.affected_by or []
    there = [path for path in named if os.path.lexists(context.workspace.root / path)]
    lint = plan_linting(parts, LintCheckRequest(paths=there)) if there or not named else None
    tests, problem = None, ""
    deleted = _deleted_code(context, named)
    # The index no longer knows who used a file that is gone.
    which = {"target_filter": ["."]} if deleted else {"affected_by": named}
    if deleted:
        context.warnings.append(f"all tests are run, because {deleted[0]} was deleted")
    try:
        limits = {"fail_fast": request.fail_fast, "timeout_sec": request.timeout_sec}
        tests = plan_run(parts, RunTestTargetsRequest.model_validate(which | limits))
    except CodePlaneError as error:
        if error.code != "TEST_RUNNER_NOT_FOUND":
            raise
        problem = error.message
    check = _Check(
        context,
        parts,
        request,
        lint.work if lint is not None else None,
        tests.work if tests is not None else None,
        problem,
    )
    planned = [one.effects for one in (lint, tests) if one is not None]
    effects = Effects(
        reads=tuple(path for one in planned for path in one.reads),
        commands=tuple(command for one in planned for command in one.commands),
        verifies=True,
    )
    return Plan(check.checked, effects)


def _deleted_code(context: CallContext, named: Sequence[str]) -> list[str]:
    """Return deleted files of code among the changed ones, apart from those that were renamed."""
    status = read_status(context.workspace.repository)
    renamed = {one.old_path for one in (*status.staged, *status.modified)}
    changed = [path for path in named or changed_files(context) if path not in renamed]
    gone = [path for path in changed if not os.path.lexists(context.workspace.root / path)]
    return [path for path in gone if language_of(path) not in {"", UNKNOWN}]


def _test_reasons(tests: RunTestTargetsResult | None, problem: str) -> list[str]:
    if tests is None:
        return [problem] if problem else []
    found = []
    if tests.failed or tests.errors:
        counts = {"failed": tests.failed, "with errors": tests.errors}
        told = " and ".join(f"{count} {words}" for words, count in counts.items() if count)
        found.append(f"tests: {told}")
    left = [one for one in tests.not_run if one.reason not in _HARMLESS]
    if left:
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        found.append(f"not run: {printable_name(left[0].target)} ({left[0].reason}){more}")
    return found


def _lint_reasons(lint: LintCheckResult | None) -> list[str]:
    if lint is None:
        return []
    found = [f"lint: {counted(lint.new, 'new finding')}"] if lint.new else []
    return [*found, *(f"{one.tool} failed: {one.problem}" for one in lint.tools if one.status == "failed")]


def render_check(result: CheckResult) -> str:
    """Return the verdict, then what is wrong, then one line per part."""
    lines = ["ready to commit" if result.ready else f"not ready: {'; '.join(result.reasons)}"]
    tests, lint = result.tests, result.lint
    if tests is not None:
        for number, one in enumerate(tests.failures[:_SHOWN_FAILURES]):
            lines += failure_lines(one, is_long=number == 0)
        n_more = (tests.pagination.total_estimate or 0) - _SHOWN_FAILURES
        lines += [f"and {counted(n_more, 'more failure')}: list_test_runs"] if n_more > 0 else []
        lines.append(f"tests: {headline(tests)}" if tests.runners else f"tests: {tests.hint or 'none run'}")
        lines += [f"left behind in the tree: {', '.join(tests.left_behind[:_SHOWN_FAILURES])}"] * bool(
            tests.left_behind
        )
    if lint is not None:
        lines.append(f"lint: {lint.summary}")
        new = [one for one in lint.findings if one.new]
        lines += [finding_line(one) for one in new[:_SHOWN_FINDINGS]]
        lines += [f" and {lint.new - _SHOWN_FINDINGS} more: lint_check"] if lint.new > _SHOWN_FINDINGS else []
        missing = ", ".join(dict.fromkeys(one.tool for one in lint.tools if one.status == "missing"))
        lines += [f" not found: {missing}"] if missing else []
    lines.append(f"changes: {result.changes}" + (f"; {result.breaking}" if result.breaking else ""))
    return "\n".join(lines)


CHECK = Operation(
    name=NAME,
    family="tests",
    summary="Lint changed files, run the affected tests, sum up the change: is it ready to commit.",
    request_type=CheckRequest,
    result_type=CheckResult,
    effect=EffectClass.EXECUTE,
    plan=_plan,
    render=render_check,
    when_to_use=("You are done with a change and want one verdict before the commit.",),
    when_not_to_use=("You only want tests: run_test_targets.", "You only want linters: lint_check."),
    examples=(
        Example("What differs from HEAD", {}),
        Example("Some files, until a test fails", {"affected_by": ["src/app.py"], "fail_fast": True}),
    ),
    reads_index=True,
    runs_tests=True,
)
