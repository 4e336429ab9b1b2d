"""What the refactor operations share: the ground that planners work on, keeping plans, pages of their sites."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from codeplane.core.errors import CodePlaneError
from codeplane.index.text_search import TextQuery, find_lines
from codeplane.operations.operation import CallContext
from codeplane.operations.refactor_models import MAX_SITES, RefactorResult, numbered, refactor_result
from codeplane.refactor.plan import Draft
from codeplane.refactor.plan_store import PlanStore, StoredPlan
from codeplane.refactor.rename import Ground, RenameRequest, plan_rename

Planner = Callable[[Ground, Mapping[str, Any]], Draft]


def check_enabled(context: CallContext) -> None:
    """Refuse when refactorings are switched off.

    Raises:
        CodePlaneError: REFACTOR_DISABLED.
    """
    if not context.workspace.settings.refactor.enabled:
        raise CodePlaneError("REFACTOR_DISABLED")


@contextmanager
def ground_of(context: CallContext) -> Iterator[Ground]:
    """Give planners the facts of the fresh index."""
    workspace = context.workspace
    check_enabled(context)
    state = workspace.index.state()
    ignored = workspace.ignored_files(state)

    @cache
    def files_with(word: str) -> list[str]:
        lines = find_lines(state, TextQuery(word, whole_word=word.isidentifier()), None)
        return sorted({hit.path for hit in lines} - ignored)

    with workspace.index.facts() as reader:
        settings = workspace.settings
        names = lambda: workspace.index.symbol_names(reader)  # noqa: E731 - asked for by few
        yield Ground(reader, files_with, names, ignored.__contains__, settings.refactor, settings.defaults)


def planned_again(context: CallContext, plan: StoredPlan, **other: Any) -> Draft:
    """Plan the request of a stored plan once more, on the files as they are now."""
    with ground_of(context) as ground:
        return PLANNERS[plan.operation](ground, {**plan.arguments, **other})


def keep_plan(context: CallContext, operation: str, arguments: Mapping[str, Any], draft: Draft) -> StoredPlan:
    """Store a plan under a new id."""
    workspace = context.workspace
    lifetime = workspace.settings.refactor.plan_ttl_sec * 1000
    plan = StoredPlan(workspace.ids.new("rf"), operation, arguments, draft, workspace.clock.now_ms() + lifetime)
    plans_of(context).keep(plan)
    return plan


def plans_of(context: CallContext) -> PlanStore:
    """Return the plans of the working tree."""
    return PlanStore(context.workspace.places.private / "refactors")


def find_plan(context: CallContext, refactor_id: str) -> StoredPlan:
    """Return a stored plan.

    Raises:
        CodePlaneError: REFACTOR_NOT_FOUND, REFACTOR_EXPIRED or REFACTOR_DISABLED.
    """
    check_enabled(context)
    return plans_of(context).find(refactor_id, context.workspace.clock.now_ms())


def answer_plan(context: CallContext, operation: str, arguments: Mapping[str, Any], limit: int) -> RefactorResult:
    """Plan, keep the plan, and return its first page; a later page comes from the kept plan."""
    if context.position is not None:
        plan = find_plan(context, context.position.text("plan"))
    else:
        with ground_of(context) as ground:
            draft = PLANNERS[operation](ground, arguments)
        plan = keep_plan(context, operation, arguments, draft)
    first = context.position.number("first") if context.position is not None else 0
    sites = numbered(plan.draft)
    page = sites[first : first + min(limit, MAX_SITES)]
    end = first + len(page)
    cursor = context.next_page({"plan": plan.refactor_id, "first": end}) if end < len(sites) else None
    return refactor_result(plan, page, cursor)


def _rename(ground: Ground, arguments: Mapping[str, Any]) -> Draft:
    return plan_rename(ground, RenameRequest(**arguments))


# By the name of the operation that plans.
PLANNERS: dict[str, Planner] = {"refactor_rename": _rename}
