"""`discover_test_targets`: which tests there are, which runner runs each, and which a change affects."""

from typing import Annotated, ClassVar, Final

from pydantic import Field

from codeplane.core.printable import counted, printable_name
from codeplane.ledger.effects import EffectClass
from codeplane.operations.models import ListOfOne, Pagination, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.operations.suite_selection import (
    Selected,
    SelectionInfo,
    Tier,
    selection_info,
    selection_words,
    suite_of,
    tier_of,
)
from codeplane.testrun.discovery import Discovered, RunnerUse, chosen_targets
from codeplane.testrun.model import Target

NAME = "discover_test_targets"
_PAGE: Final = 100
_SHOWN_RUNNERS: Final = 20
Paths = Annotated[list[PathText], ListOfOne, Field(max_length=5_000)]


class DiscoverTestTargetsRequest(Request):
    """Where to look, and for which change."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "affected_by": ("changed_files", "files"),
        "paths": ("path", "targets", "target_filter"),
    }
    paths: Paths = Field(default_factory=list, description="Only these files, directories or globs.")
    affected_by: Paths | None = Field(None, description="Only tests that these changed files affect.")
    limit: int = Field(_PAGE, ge=1, le=1000, description="Targets per answer.")
    cursor: str | None = None


class TargetInfo(Result):
    """One target."""

    target_id: str
    runner: str
    language: str
    kind: str = Field(description="unit, or e2e, integration and the like where the path says so.")
    path: str
    cwd: str
    estimated_cost: float = Field(description="Seconds in earlier runs, 1 when it never ran.")
    confidence: str | None = Field(None, description="high or low, for `affected_by`.")
    tier: Tier | None = None
    reason: str | None = None


class RunnerInfo(Result):
    """A runner that targets need."""

    runner: str
    cwd: str
    found_by: str = Field(description="The setting, marker or default that chose it.")
    targets: int
    problem: str | None = Field(None, description="Set when its program was not found.")


class DiscoverTestTargetsResult(Result):
    """The targets."""

    targets: list[TargetInfo]
    total: int
    runners: list[RunnerInfo]
    impact: SelectionInfo | None = None
    agentic_hint: str | None = None
    pagination: Pagination


def _handle(context: CallContext, request: DiscoverTestTargetsRequest) -> DiscoverTestTargetsResult:
    suite = suite_of(context)
    targets = suite.found.targets
    if request.paths:
        targets, unknown = chosen_targets(suite.found, request.paths)
        context.warnings.extend(f"no test target fits `{printable_name(one)}`" for one in unknown[:20])
    selected = suite.select(request.affected_by) if request.affected_by is not None else None
    if selected is not None:
        targets = tuple(one for one in targets if one.target_id in selected.matches)
    start = context.position.number("start") if context.position is not None else 0
    page = targets[start : start + request.limit]
    end = start + len(page)
    return DiscoverTestTargetsResult(
        targets=[_info(one, selected) for one in page],
        total=len(targets),
        runners=runner_infos(suite.found, targets)[:_SHOWN_RUNNERS],
        impact=selection_info(selected) if selected is not None else None,
        agentic_hint=_hint(targets, selected),
        pagination=Pagination(
            next_cursor=context.next_page({"start": end}) if end < len(targets) else None, total_estimate=len(targets)
        ),
    )


def runner_infos(found: Discovered, targets: tuple[Target, ...]) -> list[RunnerInfo]:
    """Return the runners of some targets, each with what is missing."""
    counts: dict[tuple[str, str], int] = {}
    for one in targets:
        counts[one.runner, one.root] = counts.get((one.runner, one.root), 0) + 1
    return [
        RunnerInfo(
            runner=use.runner,
            cwd=use.root,
            found_by=use.found_by,
            targets=counts[use.runner, use.root],
            problem=problem_of(use),
        )
        for use in found.uses
        if (use.runner, use.root) in counts
    ]


def problem_of(use: RunnerUse) -> str | None:
    """Return what is wrong with a runner's program."""
    if use.program.words:
        return None
    return f"Test runner '{use.runner}' not found in PATH; looked for {', '.join(use.program.looked_for)}"


def _info(target: Target, selected: Selected | None) -> TargetInfo:
    match = selected.matches[target.target_id] if selected is not None else None
    return TargetInfo(
        target_id=target.target_id,
        runner=target.runner,
        language=target.language,
        kind=target.kind,
        path=target.path,
        cwd=target.root,
        estimated_cost=round(target.cost, 3),
        confidence=match.confidence if match is not None else None,
        tier=tier_of(match) if match is not None else None,
        reason=match.reason if match is not None else None,
    )


def _hint(targets: tuple[Target, ...], selected: Selected | None) -> str | None:
    if not targets:
        return "No test is affected." if selected is not None else "There are no tests here."
    low = sum(match.confidence != "high" for match in selected.matches.values()) if selected is not None else 0
    return f"{counted(low, 'target')} reached by imports only; inspect_affected_tests tells why." if low else None


def _render(result: DiscoverTestTargetsResult) -> str:
    head = counted(result.total, "test target")
    if result.impact is not None:
        head += f" {selection_words(result.impact)}"
    lines = [head]
    lines += [f"{one.runner} in {one.cwd}: {one.targets} ({one.problem or one.found_by})" for one in result.runners]
    lines += [
        printable_name(one.target_id) + (f" [{one.confidence}: {one.reason}]" if one.reason else "")
        for one in result.targets
    ]
    lines += [result.agentic_hint] if result.agentic_hint else []
    lines += [f"more: cursor={result.pagination.next_cursor}"] if result.pagination.next_cursor else []
    return "\n".join(lines)


DISCOVER_TEST_TARGETS = Operation(
    name=NAME,
    family="tests",
    summary="List test targets with their runners, or those that changed files affect.",
    request_type=DiscoverTestTargetsRequest,
    result_type=DiscoverTestTargetsResult,
    effect=EffectClass.READ,
    plan=planned(_handle),
    render=_render,
    when_to_use=("You want to know which tests there are and how they are run.",),
    when_not_to_use=("You want to run tests: use run_test_targets, which selects by itself.",),
    examples=(
        Example("All targets", {}),
        Example("The tests of one directory", {"paths": ["tests/unit"]}),
        Example("The tests that a changed file affects", {"affected_by": ["src/app.py"]}),
    ),
    reads_index=True,
)
