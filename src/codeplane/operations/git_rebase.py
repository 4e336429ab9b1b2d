"""`git_rebase`: plan a rebase, run it with or without a plan, and continue, skip or abort one that stopped."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import printable_name
from codeplane.git.commands import Conditions
from codeplane.git.conflicts import unmerged_paths
from codeplane.git.merging import parents_of, picked_names
from codeplane.git.programs import REBASE_HOOKS
from codeplane.git.rebasing import (
    Ending,
    Listing,
    Progress,
    Step,
    StepAction,
    WantedRebase,
    abort,
    go_on,
    list_commits,
    read_progress,
    rebased_span,
    skip,
    start,
)
from codeplane.git.repository import run_git
from codeplane.git.revisions import resolve
from codeplane.git.switching import in_the_way, names_between
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.git_change import GitDelta, add_delta, render_delta
from codeplane.operations.git_commit import MAX_MESSAGE, MESSAGE_ALIASES, check_message
from codeplane.operations.git_conflicts import (
    ConflictedFile,
    check_idle,
    conflicted_files,
    conflicts_omitted,
    left_marks,
    next_calls,
    render_conflicts,
)
from codeplane.operations.git_paths import current_ref, parsed_names
from codeplane.operations.models import Lenient, ListOfOne, Request, Result, as_object
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.workspace.workspace import Workspace

NAME = "git_rebase"
_MAX_STEPS = 1_000
_SHOWN = 40

Action = Literal["plan", "start", "continue", "skip", "abort"]
State = Literal["planned", "done", "conflict", "edit_pause", "aborted"]


def _action(value: object) -> object:
    return "start" if value in {"execute", "run", "rebase"} else value


class RebaseStep(Lenient):
    """What to do with one commit."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "action": ("command", "type"),
        "commit_sha": ("commit", "sha", "oid", "ref"),
        "message": MESSAGE_ALIASES,
    }
    action: StepAction = "pick"
    commit_sha: str = Field(max_length=200)
    message: str | None = Field(None, max_length=MAX_MESSAGE, description="New message, for reword and squash.")

    @model_validator(mode="after")
    def _makes_sense(self) -> "RebaseStep":
        if self.action in {"reword", "squash"}:
            check_message(self.message)
        if self.action == "reword" and self.message is None:
            raise ValueError("reword needs `message`")
        return self


class GitRebaseRequest(Request):
    """What to do; the steps of a plan come back changed or unchanged."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "upstream": ("target", "ref", "base", "branch"),
        "steps": ("todo", "instructions"),
        "message": MESSAGE_ALIASES,
        "pre_commit": ("run_hooks", "hooks", "verify"),
    }
    action: Annotated[Action, BeforeValidator(_action)] = Field(
        description="plan only lists; start needs no plan; execute is start."
    )
    upstream: str | None = Field(None, max_length=1000, description="Default the branch's upstream; alias target.")
    onto: str | None = Field(None, max_length=1000, description="New base; default upstream.")
    steps: Annotated[list[RebaseStep], ListOfOne, Field(max_length=_MAX_STEPS)] | None = Field(
        None, description="For start: every commit of the plan, in the new order; drop removes one."
    )
    interactive: bool = Field(False, description="Without steps: as git rebase -i with the list unchanged.")
    message: str | None = Field(None, max_length=MAX_MESSAGE, description="continue: for the commit it stopped at.")
    pre_commit: bool = Field(True, description="Run the pre-rebase hook.")

    @model_validator(mode="before")
    @classmethod
    def _unpack_plan(cls, data: Any, info: ValidationInfo) -> Any:
        """Take `plan: {upstream, onto, steps}` apart."""
        data = as_object(data, info)
        if not isinstance(data, Mapping) or "plan" not in data:
            return data
        plan = as_object(data["plan"], info)
        rest = {key: value for key, value in data.items() if key != "plan"}
        if isinstance(plan, list):
            return {**rest, "steps": plan}
        if not isinstance(plan, Mapping):
            raise ValueError("`plan` is an object with upstream, onto and steps")  # noqa: TRY004 - pydantic wants it
        known = {key: plan[key] for key in ("upstream", "onto", "steps") if plan.get(key) is not None}
        return {"action": "start", **known, **rest}

    @model_validator(mode="after")
    def _makes_sense(self) -> "GitRebaseRequest":
        check_message(self.message)
        if self.action not in {"plan", "start"} and (self.upstream or self.onto or self.steps is not None):
            raise ValueError(f"{self.action} concerns the rebase in progress and takes no upstream, onto or steps")
        if self.message is not None and self.action != "continue":
            raise ValueError("`message` is for continue; steps carry their own")
        if self.steps is not None and self.action != "start":
            raise ValueError("`steps` are for start")
        first = next((step.action for step in self.steps or () if step.action != "drop"), None)
        if first in {"squash", "fixup"}:
            raise ValueError(f"the first step cannot be {first}: there is no earlier commit to combine it with")
        return self


class PlannedStep(Result):
    """One commit as it would be replayed."""

    action: StepAction = "pick"
    commit_sha: str
    message: str = Field(description="The first line.")


class GitRebaseResult(Result):
    """A plan, or the progress of the rebase. Conflicts are an answer: next_calls says how to continue."""

    action: Action
    success: bool
    state: State
    upstream: str | None = None
    onto: str | None = None
    steps: list[PlannedStep] = Field(default_factory=list, description="Of a plan, oldest first.")
    notes: list[str] = Field(default_factory=list, description="What is left out, and why.")
    completed_steps: int = 0
    total_steps: int = 0
    conflict_paths: list[str] = Field(default_factory=list)
    conflicts: list[ConflictedFile] = Field(default_factory=list)
    conflicts_omitted: int = 0
    current_commit: str | None = Field(None, description="The commit at which it stopped.")
    new_head: str | None = None
    next_calls: list[str] = Field(default_factory=list)
    delta: GitDelta | None = None


def _is_plan(request: GitRebaseRequest) -> bool:
    return request.action == "plan"


def _base(workspace: Workspace, request: GitRebaseRequest) -> tuple[str, str, str]:
    """Return upstream, onto and HEAD as commits.

    Raises:
        CodePlaneError: GIT_NO_COMMITS, GIT_REF_UNKNOWN and its like.
    """
    head = workspace.head()
    if head.commit is None:
        raise CodePlaneError("GIT_NO_COMMITS", "HEAD has no commit yet.")
    if request.upstream is None:
        found = run_git(workspace.root, "rev-parse", "--verify", "--quiet", "@{upstream}^{commit}")
        if found.returncode != 0:
            message = "The branch has no upstream." if head.branch is not None else "HEAD is detached."
            raise CodePlaneError("GIT_REF_UNKNOWN", message, hint="Give the first commit to keep as `upstream`.")
        upstream = found.stdout_text.strip()
    else:
        upstream = resolve(workspace.root, request.upstream)
    onto = resolve(workspace.root, request.onto) if request.onto is not None else upstream
    return upstream, onto, head.commit


def _listing(workspace: Workspace, upstream: str, head: str) -> Listing:
    listing = list_commits(workspace.root, upstream, head)
    if len(listing.commits) > _MAX_STEPS:
        message = f"{len(listing.commits)} commits would be replayed; at most {_MAX_STEPS} are."
        raise CodePlaneError("INVALID_ARGUMENTS", message, hint="Name a closer upstream.")
    return listing


def _steps(workspace: Workspace, request: GitRebaseRequest, listing: Listing) -> tuple[Step, ...] | None:
    """Return the steps with full names, and refuse a list that would lose a commit without saying so.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS, GIT_REF_UNKNOWN.
    """
    if request.steps is None:
        return None
    known = {one.oid: one for one in listing.commits}
    found: list[Step] = []
    for step in request.steps:
        oid = resolve(workspace.root, step.commit_sha)
        if any(oid == one.oid for one in found):
            raise CodePlaneError("INVALID_ARGUMENTS", f"{oid[:12]} is named twice.")
        if oid not in known and len(parents_of(workspace.root, oid)) > 1:
            raise CodePlaneError("INVALID_ARGUMENTS", f"{oid[:12]} is a merge, which a rebase does not replay.")
        message = step.message.strip() if step.message is not None else None
        # A plan has each commit's first line; sent back unchanged it changes nothing.
        own = known.get(oid)
        is_own = own is not None and message in {own.subject, own.message}
        found.append(Step(step.action, oid, None if is_own else message))
    missing = [one for one in listing.commits if all(one.oid != step.oid for step in found)]
    if missing:
        named = ", ".join(f"{one.oid[:12]} ({one.subject[:60]})" for one in missing[:5])
        hint = "Name every commit of the plan; action drop removes one."
        details = {"missing": [one.oid for one in missing]}
        raise CodePlaneError("INVALID_ARGUMENTS", f"The steps lack {named}.", hint=hint, details=details)
    return tuple(found)


def _plan(context: CallContext, request: GitRebaseRequest) -> Plan[GitRebaseResult]:
    workspace = context.workspace
    if request.action not in {"plan", "start"}:
        return _plan_continue(context, request)
    if request.action == "start":
        check_idle(workspace)
    upstream, onto, head = _base(workspace, request)
    listing = _listing(workspace, upstream, head)
    if request.action == "plan":
        return Plan(lambda: _listed(upstream, onto, listing))
    wanted = WantedRebase(upstream, onto, _steps(workspace, request, listing), request.interactive, request.pre_commit)
    effects = _effects(workspace, current_ref(workspace), (head, onto), listing)
    return Plan(lambda: _start(context, request, wanted, listing), effects)


def _plan_continue(context: CallContext, request: GitRebaseRequest) -> Plan[GitRebaseResult]:
    workspace = context.workspace
    span = rebased_span(workspace.repository)
    if span is None:
        raise CodePlaneError("GIT_NO_OPERATION", "No rebase is in progress.")
    onto, tip, branch = span
    listing = list_commits(workspace.root, onto, tip)
    effects = _effects(workspace, branch, (workspace.head().commit, tip), listing)
    return Plan(lambda: _continue(context, request), effects)


def _effects(workspace: Workspace, branch: str, ends: tuple[str | None, str], listing: Listing) -> Effects:
    """Return every path that differs between two commits or that a replayed commit changes."""
    root = workspace.root
    replayed = picked_names(root, tuple(one.oid for one in listing.commits))
    names = tuple(dict.fromkeys((*names_between(root, *ends), *replayed)))
    writes = parsed_names((*names, *in_the_way(root, names)))
    return Effects(writes=writes, git_refs=tuple(dict.fromkeys(("HEAD", branch))), destructive=True)


def _continue(context: CallContext, request: GitRebaseRequest) -> GitRebaseResult:
    workspace = context.workspace
    repository = workspace.repository
    conditions = Conditions(is_cancelled=context.is_cancelled)
    if request.action == "abort":
        progress = read_progress(repository)
        abort(repository, conditions)
        return GitRebaseResult(
            action="abort",
            success=True,
            state="aborted",
            total_steps=progress.n_all if progress is not None else 0,
            new_head=workspace.head().commit,
        )
    progress = read_progress(repository)
    if request.action == "skip":
        ending = skip(repository, conditions)
    else:
        context.warnings.extend(left_marks(workspace))
        ending = go_on(repository, request.message, conditions)
    return _result(context, request, ending, progress.n_all if progress is not None else 0)


def _listed(upstream: str, onto: str, listing: Listing) -> GitRebaseResult:
    return GitRebaseResult(
        action="plan",
        success=True,
        state="planned",
        upstream=upstream,
        onto=onto,
        steps=[PlannedStep(commit_sha=one.oid, message=one.subject) for one in listing.commits],
        notes=_notes(listing),
        total_steps=len(listing.commits),
    )


def _notes(listing: Listing) -> list[str]:
    notes = []
    if listing.n_merges:
        plural = "s are" if listing.n_merges != 1 else " is"
        notes.append(f"{listing.n_merges} merge commit{plural} not replayed; their commits are, linearly")
    notes.extend(
        f"{one.oid[:12]} {one.subject[:80]}: the new base already has this change" for one in listing.equivalents
    )
    return notes


def _start(context: CallContext, request: GitRebaseRequest, wanted: WantedRebase, listing: Listing) -> GitRebaseResult:
    workspace = context.workspace
    check_idle(workspace)
    ending = start(workspace.repository, wanted, Conditions(is_cancelled=context.is_cancelled))
    steps = wanted.steps
    n_steps = len(steps) if steps is not None else len(listing.commits)
    result = _result(context, request, ending, n_steps)
    notes = [*_notes(listing), *_left_out(workspace, steps, listing, wanted.onto, ending)]
    return result.model_copy(update={"upstream": wanted.upstream, "onto": wanted.onto, "notes": notes})


def _left_out(
    workspace: Workspace, steps: tuple[Step, ...] | None, listing: Listing, onto: str, ending: Ending
) -> list[str]:
    """Report commits that became empty on the new base and that git dropped."""
    if ending is not Ending.DONE:
        return []
    actions = [step.action for step in steps] if steps is not None else ["pick"] * len(listing.commits)
    expected = sum(action in {"pick", "reword", "edit"} for action in actions)
    count = run_git(workspace.root, "rev-list", "--count", f"{onto}..HEAD").stdout_text.strip()
    n_gone = expected - int(count or 0)
    return [f"{n_gone} commit{'s' * (n_gone != 1)} became empty and was dropped"] if n_gone > 0 else []


def _result(context: CallContext, request: GitRebaseRequest, ending: Ending, n_steps: int) -> GitRebaseResult:
    workspace = context.workspace
    progress = read_progress(workspace.repository)
    conflicts = conflicted_files(workspace) if ending is Ending.CONFLICT else []
    # All conflicting paths are listed, the first ones with their sides.
    paths = [printable_name(one.path) for one in unmerged_paths(workspace.root)] if conflicts else []
    is_done = ending is Ending.DONE
    return GitRebaseResult(
        action=request.action,
        success=ending is not Ending.CONFLICT,
        state=ending.value,
        completed_steps=n_steps if is_done else _completed(progress, ending),
        total_steps=n_steps if is_done or progress is None else progress.n_all,
        conflict_paths=paths,
        conflicts=conflicts,
        conflicts_omitted=conflicts_omitted(workspace, conflicts),
        current_commit=progress.current if progress is not None else None,
        new_head=workspace.head().commit if is_done else None,
        next_calls=_next(ending, conflicts),
    )


def _completed(progress: Progress | None, ending: Ending) -> int:
    if progress is None:
        return 0
    return progress.n_taken - 1 if ending is Ending.CONFLICT else progress.n_taken


def _next(ending: Ending, conflicts: list[ConflictedFile]) -> list[str]:
    if ending is Ending.CONFLICT:
        return next_calls("rebase", conflicts)
    if ending is Ending.EDIT_PAUSE:
        return [
            "change files with write_source and stage them with git_stage, or use git_commit with amend",
            "git_rebase action=continue; abort restores the state before it",
        ]
    return []


def _render(result: GitRebaseResult) -> str:
    if result.action == "plan":
        onto = (result.onto or "")[:12]
        lines = [f"{len(result.steps)} commits would be replayed on {onto}, oldest first:"]
        lines.extend(f" {one.action} {one.commit_sha[:12]} {one.message}" for one in result.steps[:_SHOWN])
        if len(result.steps) > _SHOWN:
            lines.append(f" and {len(result.steps) - _SHOWN} more")
        return "\n".join([*lines, *(f" {note}" for note in result.notes)])
    at = f" at {result.current_commit[:12]}" if result.current_commit else ""
    words = {
        "done": f"rebased: {(result.new_head or '')[:12]}",
        "conflict": f"stopped at conflicts{at}",
        "edit_pause": f"paused{at} to edit",
        "aborted": f"back at {(result.new_head or '')[:12]}",
    }
    count = f", {result.completed_steps} of {result.total_steps} steps" if result.state != "aborted" else ""
    lines = [words[result.state] + count, *render_conflicts(result.conflicts, result.conflicts_omitted)]
    lines.extend(f" {note}" for note in result.notes)
    lines.extend(f" next: {line}" for line in result.next_calls)
    return "\n".join([*lines, *render_delta(result.delta)])


GIT_REBASE = Operation(
    name=NAME,
    family="git",
    summary="Replay commits on another base, or reorder, combine, reword and drop them; continue, skip or abort.",
    request_type=GitRebaseRequest,
    result_type=GitRebaseResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    when_to_use=(
        "You want your commits on top of another branch.",
        "You want to reorder, combine, reword or drop unpublished commits: plan, then start.",
    ),
    when_not_to_use=("The commits are already published: use git_merge.",),
    examples=(
        Example("See what would be replayed", {"action": "plan", "upstream": "main"}),
        Example("Replay on main", {"action": "start", "upstream": "main"}),
        Example(
            "Squash the second commit into the first",
            {
                "action": "start",
                "upstream": "main",
                "steps": [
                    {"action": "pick", "commit_sha": "1f3a9c2"},
                    {"action": "squash", "commit_sha": "77b0d11", "message": "Parse empty input"},
                ],
            },
        ),
        Example("Conflicts are resolved and staged", {"action": "continue"}),
    ),
    is_dry_run=_is_plan,
    snapshots=True,
    complete=add_delta,
    git_hooks=REBASE_HOOKS,
)
