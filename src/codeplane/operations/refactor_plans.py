"""What the refactor operations share: the ground that planners work on, keeping plans, pages of their sites."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from codeplane.core.paths import RepoPath
from codeplane.index.facts.reader import FactReader
from codeplane.index.text_search import TextQuery, find_lines
from codeplane.operations.operation import CallContext
from codeplane.operations.refactor_models import MAX_SITES, RefactorResult, numbered, refactor_result
from codeplane.refactor.delete import plan_delete
from codeplane.refactor.documentation import LEVELS
from codeplane.refactor.move import plan_move
from codeplane.refactor.plan import CODE, DOCS, Draft
from codeplane.refactor.plan_store import PlanStore, StoredPlan
from codeplane.refactor.rename import Ground, RenameRequest, plan_rename
from codeplane.workspace.index_moves import clean_paths

Planner = Callable[[Ground, Mapping[str, Any]], Draft]


@contextmanager
def ground_of(context: CallContext) -> Iterator[Ground]:
    """Give planners the facts of the fresh index."""
    workspace = context.workspace
    state = workspace.index.state()
    ignored = workspace.ignored_files(state)

    @cache
    def files_with(word: str) -> list[str]:
        lines = find_lines(state, TextQuery(word, whole_word=word.isidentifier()), None)
        return sorted({hit.path for hit in lines} - ignored)

    with workspace.index.facts() as reader:
        settings = workspace.settings
        names = lambda: workspace.index.symbol_names(reader)  # noqa: E731 - asked for by few
        yield Ground(
            reader,
            files_with,
            names,
            ignored.__contains__,
            settings.refactor,
            settings.defaults,
            links_below(workspace.root, reader),
            partial(clean_paths, workspace.repository),
            partial(_digest, context),
        )


def links_below(root: Path, reader: FactReader) -> Callable[[str], list[str]]:
    """Return what lists the files of the index and the symlinks at or below a path."""

    def below(path: str) -> list[str]:
        rows = reader.connection.execute(
            "SELECT path FROM files WHERE path = ?1 OR substr(path, 1, length(?1) + 1) = ?1 || '/'", (path,)
        )
        found = {str(row[0]) for row in rows}
        place = root / path
        if place.is_symlink():
            return [path]
        for directory, folders, names in os.walk(place):
            links = [one for one in (*folders, *names) if Path(directory, one).is_symlink()]
            found.update(Path(directory, one).relative_to(root).as_posix() for one in links)
        return sorted(found)

    return below


def _digest(context: CallContext, path: str) -> str:
    found = context.workspace.editor.look(RepoPath.known(path))
    return found.image.sha256 if found is not None and not found.image.is_link else ""


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
        CodePlaneError: REFACTOR_NOT_FOUND or REFACTOR_EXPIRED.
    """
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


def _move(ground: Ground, arguments: Mapping[str, Any]) -> Draft:
    below = ground.files_below(arguments["from_path"].rstrip("/"))
    draft = plan_move(
        ground.reader,
        arguments["from_path"],
        arguments["to_path"],
        tracked_and_clean=ground.clean_paths(below),
        others=below,
    )
    hashes = {path: known or ground.digest_of(path) for path, known in (draft.hashes or {}).items()}
    sweep = ground.settings.doc_sweep
    edits = draft.edits if sweep.enabled else tuple(one for one in draft.edits if one.group != DOCS)
    if arguments.get("include_docs") or sweep.auto_apply:
        enough = LEVELS[: LEVELS.index(sweep.min_confidence) + 1]
        edits = tuple(
            replace(one, group=CODE) if one.group == DOCS and one.confidence in enough else one for one in edits
        )
    ignored = sorted({one.path for one in edits if ground.is_ignored(one.path) and one.path not in below})
    warnings = (*draft.warnings, f"git ignores {', '.join(ignored[:3])}: not changed") if ignored else draft.warnings
    edits = tuple(one for one in edits if one.path not in ignored)
    hashes = {path: known for path, known in hashes.items() if path not in ignored}
    return replace(draft, edits=edits, hashes=hashes, warnings=warnings)


def _delete(ground: Ground, arguments: Mapping[str, Any]) -> Draft:
    draft = plan_delete(ground.reader, arguments["target"])
    hashes = {path: known or ground.digest_of(path) for path, known in (draft.hashes or {}).items()}
    return replace(draft, hashes=hashes)


def _rename(ground: Ground, arguments: Mapping[str, Any]) -> Draft:
    return plan_rename(ground, RenameRequest(**arguments))


# By the name of the operation that plans.
PLANNERS: dict[str, Planner] = {"refactor_impact": _delete, "refactor_move": _move, "refactor_rename": _rename}
