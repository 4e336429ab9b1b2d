"""`git_pull`: fetch a branch's upstream, then merge it or rebase onto it."""

from typing import ClassVar

from pydantic import Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import counted
from codeplane.git.commands import Conditions, check_name, must_change
from codeplane.git.merging import commits_in, merged_names, picked_names
from codeplane.git.programs import REBASE_HOOKS
from codeplane.git.progress import progress_of
from codeplane.git.remotes import Tracking, default_tracking, fetch, fetch_heads, find_remote, places_of, pull
from codeplane.git.repository import run_git
from codeplane.git.revisions import resolve
from codeplane.git.state import KEPT_REFS
from codeplane.git.switching import in_the_way, names_between
from codeplane.git.working_tree import untracked_paths
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.git_change import GitDelta, add_delta, render_delta
from codeplane.operations.git_conflicts import (
    ConflictedFile,
    conflicted_files,
    conflicts_omitted,
    next_calls,
    render_conflicts,
)
from codeplane.operations.git_paths import parsed_names
from codeplane.operations.git_remote import MAX_SECONDS, NETWORK_SECONDS
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.workspace.workspace import Workspace

NAME = "git_pull"
_FETCHED = "fetched"


class GitPullRequest(Request):
    """The source, and how to integrate it."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"branch": ("ref",), "ff_only": ("fast_forward_only",)}
    remote: str | None = Field(None, description="Default: the upstream's remote, else origin.")
    branch: str | None = Field(None, description="The remote branch; default the upstream.")
    rebase: bool | None = Field(None, description="Replay local commits on top; default as configured, else merge.")
    ff_only: bool = Field(False, description="Refuse if both sides have commits.")
    autostash: bool = Field(False, description="Stash local changes and restore them afterwards.")
    timeout_seconds: int = Field(NETWORK_SECONDS, ge=1, le=MAX_SECONDS)

    @model_validator(mode="after")
    def _makes_sense(self) -> "GitPullRequest":
        if self.rebase and self.ff_only:
            raise ValueError("give `rebase` or `ff_only`, not both")
        return self


class GitPullResult(Result):
    """Where the branch is now, or what is in conflict."""

    success: bool
    updated: bool
    fastforward: bool
    remote: str
    branch: str
    commit: str | None = None
    state: str = "none"
    conflicts: list[ConflictedFile] = Field(default_factory=list)
    conflicts_omitted: int = 0
    next: list[str] = Field(default_factory=list, description="What to call now.")
    delta: GitDelta | None = None


def _plan(context: CallContext, request: GitPullRequest) -> Plan[GitPullResult]:
    workspace = context.workspace
    state = progress_of(workspace.repository.git_dir)
    if state != "none":
        raise CodePlaneError("GIT_OPERATION_IN_PROGRESS", f"A {state} is still in progress.", details={"state": state})
    tracking = _tracking(workspace, request)
    remote = find_remote(workspace.root, tracking.remote)
    branch = workspace.head().branch
    known = _known_changes(workspace, request, tracking)
    # The incoming changes are not known before the fetch; a pull never overwrites untracked files.
    writes = parsed_names([*known, *untracked_paths(workspace.root)]) if request.autostash else parsed_names(known)
    effects = Effects(
        writes=writes,
        git_refs=("HEAD", f"refs/heads/{branch}", f"refs/remotes/{tracking.remote}/*", "refs/tags/*"),
        network=places_of(workspace.root, remote),
        destructive=bool(request.rebase),
    )
    return Plan(lambda: _work(context, request, tracking), effects)


def _tracking(workspace: Workspace, request: GitPullRequest) -> Tracking:
    branch = workspace.head().branch
    if branch is None and request.branch is None:
        raise CodePlaneError("GIT_DETACHED_HEAD", "HEAD is detached: name the branch to pull.")
    tracking = default_tracking(workspace.root, branch or request.branch, request.remote, is_push=False)
    if request.branch is None:
        return tracking
    check_name(request.branch, "branch")
    return Tracking(tracking.remote, request.branch, is_set=True)


def _known_changes(workspace: Workspace, request: GitPullRequest, tracking: Tracking) -> tuple[str, ...]:
    """Return what the last fetched commits would change."""
    theirs = f"refs/remotes/{tracking.remote}/{tracking.branch}"
    found = run_git(workspace.root, "rev-parse", "--verify", "--quiet", f"{theirs}^{{commit}}")
    return _joined_names(workspace, request, found.stdout_text.strip()) if found.returncode == 0 else ()


def _joined_names(workspace: Workspace, request: GitPullRequest, theirs: str) -> tuple[str, ...]:
    """Return every path that integrating a commit may write, by a merge or a rebase."""
    root, head = workspace.root, workspace.head().commit
    if head is None:
        return names_between(root, None, theirs)
    merged = merged_names(root, head, (theirs,))
    if request.ff_only or request.rebase is False or not (request.rebase or _has_configured_way(workspace)):
        return merged
    own = picked_names(root, commits_in(root, theirs, head, oldest_first=True))
    return tuple(dict.fromkeys((*merged, *names_between(root, head, theirs), *own)))


def _work(context: CallContext, request: GitPullRequest, tracking: Tracking) -> GitPullResult:
    workspace = context.workspace
    root = workspace.root
    before = workspace.head().commit
    conditions = Conditions(is_cancelled=context.is_cancelled, timeout_seconds=request.timeout_seconds)
    fetched = _fetch_and_judge(context, request, tracking, conditions)
    is_plain = request.branch is None and tracking.is_set
    place = () if is_plain else (tracking.remote, tracking.branch)
    is_done = pull(root, place, conditions, _options(workspace, request))
    if fetch_heads(workspace.repository) != {fetched}:
        message = f"{tracking.remote}/{tracking.branch} moved during the pull, so the pull was rolled back."
        raise CodePlaneError("GIT_LOCKED", message, hint="Send the same call again.")
    after = workspace.head().commit
    conflicts = conflicted_files(workspace) if not is_done else []
    state = progress_of(workspace.repository.git_dir)
    return GitPullResult(
        success=is_done,
        updated=before != after,
        fastforward=is_done and before != after and _is_fast_forward(workspace, after),
        remote=tracking.remote,
        branch=tracking.branch,
        commit=after,
        state=state,
        conflicts=conflicts,
        conflicts_omitted=conflicts_omitted(workspace, conflicts),
        next=next_calls(state, conflicts) if conflicts else [],
    )


def _fetch_and_judge(context: CallContext, request: GitPullRequest, tracking: Tracking, conditions: Conditions) -> str:
    """Fetch first; the gate judges the fetched commit, and ignored files in its way are copied.

    Returns:
        The commit that was judged.
    """
    workspace = context.workspace
    root = workspace.root
    ref = f"{KEPT_REFS}{context.call_id}/{_FETCHED}"
    fetch(root, tracking.remote, (f"+{tracking.branch}:{ref}",), conditions, ("--no-tags",))
    try:
        theirs = resolve(root, ref)
        names = _joined_names(workspace, request, theirs)
        written = (*names, *in_the_way(root, names))
        context.judge(written)
        if context.bracket is not None:
            context.bracket.also_keep(written)
    finally:
        must_change(root, "update-ref", "-d", ref, conditions=Conditions(runs_hooks=False))
    return theirs


def _options(workspace: Workspace, request: GitPullRequest) -> tuple[str, ...]:
    options = ["--autostash"] if request.autostash else []
    if request.ff_only:
        options.append("--ff-only")
    elif request.rebase is not None:
        options.append("--rebase" if request.rebase else "--no-rebase")
    elif not _has_configured_way(workspace):
        # Git itself asks for a decision when both sides have commits.
        options.append("--no-rebase")
    return tuple(options)


def _has_configured_way(workspace: Workspace) -> bool:
    settings = r"^(pull\.(rebase|ff)|branch\..*\.rebase)$"
    return run_git(workspace.root, "config", "--get-regexp", settings).returncode == 0


def _is_fast_forward(workspace: Workspace, commit: str | None) -> bool:
    """Tell whether HEAD is at the fetched commit, so there was nothing to merge."""
    fetched = run_git(workspace.root, "rev-parse", "--verify", "--quiet", "FETCH_HEAD^{commit}")
    return fetched.stdout_text.strip() == commit


def _render(result: GitPullResult) -> str:
    place = f"{result.remote}/{result.branch}"
    if not result.success:
        lines = [f"{place} was fetched, but the merge stopped at {counted(len(result.conflicts), 'file')} in conflict"]
        lines.extend(render_conflicts(result.conflicts, result.conflicts_omitted))
        lines.extend(f" next: {one}" for one in result.next)
        return "\n".join(lines)
    if not result.updated:
        return f"{place} has nothing new"
    how = "fast-forward" if result.fastforward else "joined"
    return "\n".join([f"{how} to {(result.commit or '')[:12]} from {place}", *render_delta(result.delta)])


GIT_PULL = Operation(
    name=NAME,
    family="git",
    summary="Fetch the upstream of the current branch and merge it, or rebase onto it.",
    request_type=GitPullRequest,
    result_type=GitPullResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    when_to_use=("You want commits that others pushed.",),
    when_not_to_use=("You only want to fetch: git_remote with action fetch.",),
    examples=(Example("As configured for the branch", {}), Example("Local commits on top", {"rebase": True})),
    snapshots=True,
    complete=add_delta,
    reaches_network=True,
    git_hooks=REBASE_HOOKS,
)
