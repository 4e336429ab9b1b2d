"""`git_merge`: merge, cherry-pick and revert commits; continue or abort after conflicts."""

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.git.commands import Conditions
from codeplane.git.committing import WantedCommit, commit
from codeplane.git.merging import (
    Ending,
    Strategy,
    WantedMerge,
    WantedPicks,
    abort,
    commits_in,
    go_on,
    is_ancestor,
    merge,
    merged_names,
    parents_of,
    pick,
    picked_names,
    skip,
)
from codeplane.git.programs import MERGE_HOOKS
from codeplane.git.progress import progress_of
from codeplane.git.revisions import resolve, resolve_range
from codeplane.git.staging import differences
from codeplane.git.switching import in_the_way
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
from codeplane.operations.models import ListOfOne, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.workspace.workspace import Workspace

NAME = "git_merge"
_MAX_PICKS = 1_000

Action = Literal["merge", "cherry_pick", "revert", "continue", "skip", "abort"]
_OTHER_WORDS = {"start": "merge", "cherry-pick": "cherry_pick", "cherrypick": "cherry_pick", "pick": "cherry_pick"}


def _action(value: object) -> object:
    return _OTHER_WORDS.get(value, value) if isinstance(value, str) else value


class GitMergeRequest(Request):
    """What to merge into the current branch, or how to continue."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "ref": ("target", "branch", "source"),
        "refs": ("commits", "commit"),
        "message": MESSAGE_ALIASES,
        "prefer": ("favor", "strategy_option"),
        "pre_commit": ("run_hooks", "hooks", "verify"),
    }
    action: Annotated[Action, BeforeValidator(_action)] = "merge"
    ref: str | None = Field(None, max_length=1000, description="Branch, tag or commit; alias target.")
    refs: Annotated[list[str], ListOfOne, Field(max_length=200)] = Field(
        default_factory=list, description="For cherry_pick and revert: commits or ranges a..b, in this order."
    )
    message: str | None = Field(None, max_length=MAX_MESSAGE)
    strategy: Strategy | None = None
    prefer: Literal["ours", "theirs"] | None = Field(None, description="The side that wins in conflicting lines.")
    no_ff: bool = Field(False, description="Always make a merge commit.")
    ff_only: bool = Field(False, description="Refuse unless it is a fast-forward.")
    squash: bool = Field(False, description="Stage the other side's changes as one; with a message also commit them.")
    mainline: int | None = Field(None, ge=1, le=64, description="Picking a merge: the parent to compare with.")
    no_commit: bool = Field(False, description="Stage the result without a commit.")
    allow_empty: bool = Field(False, description="cherry_pick: also commits that change nothing here.")
    pre_commit: bool = Field(True, description="Run the hooks of a merge commit.")

    @model_validator(mode="after")
    def _makes_sense(self) -> "GitMergeRequest":
        check_message(self.message)
        if self.action in {"merge", "cherry_pick", "revert"} and not (self.ref or self.refs):
            raise ValueError("`ref` is missing")
        if self.action in {"continue", "skip", "abort"} and (self.ref or self.refs):
            raise ValueError(f"{self.action} takes no `ref`: it concerns the operation in progress")
        if self.ff_only and (self.no_ff or self.squash):
            raise ValueError("`ff_only` goes with neither `no_ff` nor `squash`")
        if self.squash and self.no_ff:
            raise ValueError("`squash` makes no merge commit, so `no_ff` does not apply")
        if self.mainline is not None and self.action not in {"cherry_pick", "revert"}:
            raise ValueError("`mainline` is for cherry_pick and revert")
        return self

    @property
    def all_refs(self) -> tuple[str, ...]:
        """Return all named commits, in order."""
        return (*((self.ref,) if self.ref is not None else ()), *self.refs)


class GitMergeResult(Result):
    """How it ended. Conflicts are an answer: success is false, and next_calls says how to continue."""

    action: Action
    success: bool
    fastforward: bool = False
    already_up_to_date: bool = False
    commit: str | None = Field(None, description="The commit of HEAD when something was committed.")
    commits: list[str] = Field(default_factory=list, description="New commits of a pick or revert, oldest first.")
    conflicts: list[ConflictedFile] = Field(default_factory=list)
    conflicts_omitted: int = 0
    state: str
    next_calls: list[str] = Field(default_factory=list)
    delta: GitDelta | None = None


def _plan(context: CallContext, request: GitMergeRequest) -> Plan[GitMergeResult]:
    workspace = context.workspace
    if request.action not in {"merge", "cherry_pick", "revert"}:
        return Plan(lambda: _work(context, request, ()), _continue_effects(workspace, request))
    commits = _commits(workspace, request)
    names = _names(workspace, request, commits)
    # The strategy `ours` discards everything from the other side.
    is_destructive = request.action == "merge" and request.strategy == "ours"
    writes = parsed_names((*names, *in_the_way(workspace.root, names)))
    effects = Effects(writes=writes, git_refs=(current_ref(workspace),), destructive=is_destructive)
    return Plan(lambda: _work(context, request, commits), effects)


def _continue_effects(workspace: Workspace, request: GitMergeRequest) -> Effects:
    if _state(workspace) not in {"merge", "cherrypick", "revert"}:
        hint = "Use git_rebase with that action." if _state(workspace) == "rebase" else ""
        raise CodePlaneError("GIT_NO_OPERATION", "No merge, pick or revert is in progress.", hint=hint)
    found = differences(workspace.root)
    writes = parsed_names((*found.staged, *found.unstaged, *_waiting_names(workspace)))
    return Effects(writes=writes, git_refs=(current_ref(workspace),), destructive=request.action == "abort")


def _commits(workspace: Workspace, request: GitMergeRequest) -> tuple[str, ...]:
    """Return the commits to merge, apply or revert, resolved before a name such as ORIG_HEAD moves."""
    if request.action == "merge":
        return tuple(resolve(workspace.root, ref) for ref in request.all_refs)
    if request.action == "revert" and workspace.head().is_unborn:
        raise CodePlaneError("GIT_NO_COMMITS", "HEAD has no commit yet.")
    return _picked(workspace, request)


def _names(workspace: Workspace, request: GitMergeRequest, commits: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths that would be written."""
    head = workspace.head().commit
    if head is None or request.action != "merge":
        return picked_names(workspace.root, commits)
    return merged_names(workspace.root, head, commits)


def _picked(workspace: Workspace, request: GitMergeRequest) -> tuple[str, ...]:
    """Return the commits to apply or to revert, in this order.

    Raises:
        CodePlaneError: GIT_REF_UNKNOWN and its like; INVALID_ARGUMENTS where `mainline` is missing or not allowed.
    """
    root = workspace.root
    found: list[str] = []
    for ref in request.all_refs:
        between = resolve_range(root, ref)
        if between is None:
            found.append(resolve(root, ref))
        elif between.is_symmetric:
            raise CodePlaneError("GIT_REF_INVALID", f"`{ref}` is not a range that can be picked; write a..b.")
        else:
            found.extend(commits_in(root, between.base, between.tip, oldest_first=request.action == "cherry_pick"))
    if not found:
        raise CodePlaneError("GIT_REF_UNKNOWN", f"There is no commit in {', '.join(request.all_refs[:3])}.")
    if len(found) > _MAX_PICKS:
        raise CodePlaneError("INVALID_ARGUMENTS", f"{len(found)} commits are too many; at most {_MAX_PICKS}.")
    if request.message is not None and len(found) > 1:
        raise CodePlaneError("INVALID_ARGUMENTS", "`message` is for a single commit.", hint="Leave `message` out.")
    for oid in found:
        n_parents = len(parents_of(root, oid))
        if n_parents > 1 and request.mainline is None:
            hint = "Send `mainline: 1` to compare with its first parent, or name the merged commits."
            raise CodePlaneError("INVALID_ARGUMENTS", f"{oid[:12]} is a merge.", hint=hint, details={"commit": oid})
        if request.mainline is not None and request.mainline > n_parents:
            message = f"{oid[:12]} has no parent number {request.mainline}."
            raise CodePlaneError("INVALID_ARGUMENTS", message, details={"commit": oid, "parents": n_parents})
    return tuple(found)


def _waiting_names(workspace: Workspace) -> tuple[str, ...]:
    """Return the paths of the commits that a stopped series still has to apply."""
    try:
        text = (workspace.repository.git_dir / "sequencer" / "todo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    oids = [words[1] for words in (line.split() for line in text.splitlines()) if len(words) > 1 and words[0] != "#"]
    names = picked_names(workspace.root, tuple(resolve(workspace.root, oid) for oid in oids))
    return (*names, *in_the_way(workspace.root, names))


def _state(workspace: Workspace) -> str:
    return progress_of(workspace.repository.git_dir)


def _work(context: CallContext, request: GitMergeRequest, commits: tuple[str, ...]) -> GitMergeResult:
    workspace = context.workspace
    conditions = Conditions(is_cancelled=context.is_cancelled)
    before = workspace.head().commit
    if request.action in {"merge", "cherry_pick", "revert"}:
        check_idle(workspace)
    else:
        context.warnings.extend(left_marks(workspace) if request.action == "continue" else ())
    targets = commits if request.action == "merge" else ()
    ending = _run(workspace, request, commits, conditions)
    after = workspace.head().commit
    state = _state(workspace)
    conflicts = conflicted_files(workspace) if ending is Ending.CONFLICT else []
    moved = after if after != before else None
    return GitMergeResult(
        action=request.action,
        success=ending is Ending.DONE,
        fastforward=moved in targets,
        already_up_to_date=ending is Ending.DONE and _is_up_to_date(workspace, targets, before),
        commit=moved if request.action != "abort" else None,
        commits=_new_commits(workspace, before, after) if request.action not in {"merge", "abort"} else [],
        conflicts=conflicts,
        conflicts_omitted=conflicts_omitted(workspace, conflicts),
        state=state,
        next_calls=_next(state, conflicts, ending, request),
    )


def _run(workspace: Workspace, request: GitMergeRequest, commits: tuple[str, ...], conditions: Conditions) -> Ending:
    repository = workspace.repository
    if request.action == "abort":
        abort(repository, conditions)
        return Ending.DONE
    if request.action == "skip":
        return skip(repository, conditions)
    if request.action == "continue":
        return go_on(repository, request.message, conditions)
    if request.action == "merge":
        return _merge(workspace, request, conditions)
    wanted = WantedPicks(
        commits=commits,
        is_revert=request.action == "revert",
        mainline=request.mainline,
        no_commit=request.no_commit,
        prefer=request.prefer,
        strategy=request.strategy,
        allow_empty=request.allow_empty,
    )
    ending = pick(repository, wanted, conditions)
    if ending is Ending.DONE and request.message is not None and not request.no_commit:
        commit(workspace.repository, WantedCommit(request.message, amend=True, allow_empty=True), conditions)
    return ending


def _merge(workspace: Workspace, request: GitMergeRequest, conditions: Conditions) -> Ending:
    wanted = WantedMerge(
        refs=request.all_refs,
        message=request.message if not request.squash else None,
        strategy=request.strategy,
        prefer=request.prefer,
        no_ff=request.no_ff,
        ff_only=request.ff_only,
        squash=request.squash,
        no_commit=request.no_commit,
        runs_hooks=request.pre_commit,
    )
    ending = merge(workspace.repository, wanted, conditions)
    commits_squashed = request.squash and request.message is not None and not request.no_commit
    if ending is Ending.DONE and commits_squashed and differences(workspace.root).staged:
        commit(workspace.repository, WantedCommit(request.message, runs_hooks=request.pre_commit), conditions)
    return ending


def _is_up_to_date(workspace: Workspace, targets: tuple[str, ...], before: str | None) -> bool:
    if before is None or not targets:
        return False
    return all(is_ancestor(workspace.root, target, before) for target in targets)


def _new_commits(workspace: Workspace, before: str | None, after: str | None) -> list[str]:
    if after is None or before is None or after == before:
        return []
    return list(commits_in(workspace.root, before, after, oldest_first=True))[:_MAX_PICKS]


def _next(state: str, conflicts: list[ConflictedFile], ending: Ending, request: GitMergeRequest) -> list[str]:
    if ending is Ending.CONFLICT:
        return next_calls(state, conflicts)
    if state in {"merge", "cherrypick", "revert"}:
        return [f"git_merge action=continue commits the {state}; abort restores the state before it"]
    if request.squash and request.message is None and request.action == "merge":
        return ["git_commit commits what is staged"]
    return []


def _render(result: GitMergeResult) -> str:
    if result.conflicts or not result.success:
        lines = ["stopped at conflicts", *render_conflicts(result.conflicts, result.conflicts_omitted)]
    elif result.already_up_to_date:
        lines = ["already up to date"]
    else:
        words = {"merge": "fast-forward" if result.fastforward else "merged", "abort": "restored the state before it"}
        lines = [
            words.get(result.action, f"{result.action} done") + (f": {result.commit[:12]}" if result.commit else "")
        ]
    lines.extend(f" next: {line}" for line in result.next_calls)
    return "\n".join([*lines, *render_delta(result.delta)])


GIT_MERGE = Operation(
    name=NAME,
    family="git",
    summary="Merge a branch, cherry-pick or revert commits; continue, skip or abort one that stopped.",
    request_type=GitMergeRequest,
    result_type=GitMergeResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    when_to_use=(
        "You want another branch's commits in this one.",
        "You want to apply single commits here (cherry_pick) or undo them by a new commit (revert).",
        "A merge, pick or revert stopped at conflicts that are now resolved and staged: continue.",
    ),
    when_not_to_use=(
        "You only want to know whether it would conflict: use git_inspect.",
        "You want to replay your commits on another base: use git_rebase.",
    ),
    examples=(
        Example("Merge a branch", {"ref": "feature/parser"}),
        Example("Apply two commits here", {"action": "cherry_pick", "refs": ["1f3a9c2", "77b0d11"]}),
        Example("Revert a commit", {"action": "revert", "ref": "HEAD~3"}),
        Example("Conflicts are resolved and staged", {"action": "continue"}),
    ),
    snapshots=True,
    complete=add_delta,
    git_hooks=MERGE_HOOKS,
)
