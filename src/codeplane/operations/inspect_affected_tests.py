"""`inspect_affected_tests`: why each test is affected by a change, and what no test covers."""

from typing import ClassVar, Final, Literal

from pydantic import Field

from codeplane.core.printable import counted, printable_name
from codeplane.index.impact import path_to_module, uncovered_modules
from codeplane.ledger.effects import EffectClass
from codeplane.operations.discover_test_targets import Paths
from codeplane.operations.models import Pagination, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.operations.suite_selection import (
    Selected,
    SelectionInfo,
    Suite,
    Tier,
    selection_info,
    selection_words,
    suite_of,
    tier_of,
)

NAME = "inspect_affected_tests"
_MAX_GAPS: Final = 20
_MAX_MODULES: Final = 50
_TIERS: Final[tuple[Tier, ...]] = ("direct", "references", "imports")
_WORDS: Final = {"direct": "direct", "references": "through references", "imports": "through imports only"}


class InspectAffectedTestsRequest(Request):
    """The change."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"affected_by": ("changed_files", "paths", "files", "targets")}
    affected_by: Paths | None = Field(None, description="Changed files; default: what differs from HEAD.")
    limit: int = Field(50, ge=1, le=500, description="Tests per answer.")
    cursor: str | None = None


class AffectedFile(Result):
    """A test file of a target and how it is reached."""

    path: str
    tier: Tier


class AffectedTarget(Result):
    """A test target and the way on which the change reaches it."""

    target_id: str
    runner: str
    test_file: str
    tier: Tier
    confidence: Literal["high", "low"]
    reason: str
    test_files: list[AffectedFile] = Field(description="All affected test files of the target; at most 50.")


class InspectAffectedTestsResult(Result):
    """The affected tests, the surest first, and the gaps."""

    matches: list[AffectedTarget]
    total: int
    impact: SelectionInfo
    changed_modules: list[str]
    uncovered_modules: list[str] = Field(description="Source modules that no test imports; changed ones first.")
    uncovered_count: int
    tests_without_runner: list[str] = Field(default_factory=list, description="Test files that no runner takes.")
    agentic_hint: str
    pagination: Pagination


def _handle(context: CallContext, request: InspectAffectedTestsRequest) -> InspectAffectedTestsResult:
    suite = suite_of(context)
    selected = suite.select(request.affected_by or None)
    found = _matches(suite, selected)
    gaps = _gaps(context, selected)
    start = context.position.number("start") if context.position is not None else 0
    page = found[start : start + request.limit]
    end = start + len(page)
    more = context.next_page({"start": end}) if end < len(found) else None
    return InspectAffectedTestsResult(
        matches=page,
        total=len(found),
        impact=selection_info(selected),
        changed_modules=list(selected.affected.changed_modules[:_MAX_MODULES]),
        uncovered_modules=gaps[:_MAX_GAPS],
        uncovered_count=len(gaps),
        tests_without_runner=list(selected.without_target[:_MAX_GAPS]),
        agentic_hint=_hint(selected),
        pagination=Pagination(next_cursor=more, total_estimate=len(found)),
    )


def _matches(suite: Suite, selected: Selected) -> list[AffectedTarget]:
    runners = {one.target_id: one.runner for one in suite.found.targets}
    found = [
        AffectedTarget(
            target_id=target_id,
            runner=runners[target_id],
            test_file=match.path,
            tier=tier_of(match),
            confidence="high" if match.confidence == "high" else "low",
            reason=match.reason,
            test_files=[
                AffectedFile(path=one.path, tier=tier_of(one))
                for one in selected.files.get(target_id, (match,))[:_MAX_MODULES]
            ],
        )
        for target_id, match in selected.matches.items()
    ]
    # Within a tier the nearest come first, as the index gives them.
    return sorted(found, key=lambda one: _TIERS.index(one.tier))


def _gaps(context: CallContext, selected: Selected) -> list[str]:
    with context.workspace.index.facts() as reader:
        changed = {path_to_module(reader, path) for path in selected.changed}
        return sorted(uncovered_modules(reader), key=lambda name: (name not in changed, name))


def _hint(selected: Selected) -> str:
    if not selected.changed:
        return "Nothing differs from HEAD; name changed files in affected_by."
    if not selected.matches:
        return "No test is affected; consider writing one."
    if selected.affected.confidence != "complete":
        return "Some dependencies are not known; run_test_targets with target_filter runs more."
    return "run_test_targets with the same affected_by runs these."


def _render(result: InspectAffectedTestsResult) -> str:
    lines = [f"{counted(result.total, 'test target')} {selection_words(result.impact)}"]
    for tier in _TIERS:
        shown = [one for one in result.matches if one.tier == tier]
        if shown:
            lines.append(f"{_WORDS[tier]}:")
            lines += [f" {printable_name(one.target_id)} ({one.reason})" for one in shown]
    lines += [f"not known: {one}" for one in result.impact.unknown_hops[:5]]
    if result.uncovered_modules:
        more = f" (of {result.uncovered_count})" if result.uncovered_count > len(result.uncovered_modules) else ""
        lines.append(f"no test imports{more}: {', '.join(result.uncovered_modules)}")
    lines.append(result.agentic_hint)
    lines += [f"more: cursor={result.pagination.next_cursor}"] if result.pagination.next_cursor else []
    return "\n".join(lines)


INSPECT_AFFECTED_TESTS = Operation(
    name=NAME,
    family="tests",
    summary="Tell which tests a change affects and why, and which modules no test covers.",
    request_type=InspectAffectedTestsRequest,
    result_type=InspectAffectedTestsResult,
    effect=EffectClass.READ,
    plan=planned(_handle),
    render=_render,
    when_to_use=("You want to know why a test was selected, or what a change may break untested.",),
    when_not_to_use=("You want to run the affected tests: use run_test_targets.",),
    examples=(
        Example("What differs from HEAD", {}),
        Example("One changed file", {"affected_by": ["src/app.py"]}),
    ),
    reads_index=True,
)
