"""`git_reset`: move the branch to another commit, with or without the index and the working tree."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git.commands import Conditions
from codeplane.git.revisions import resolve
from codeplane.git.switching import in_the_way, names_off, names_staged_off, reset, reset_paths
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.git_change import GitDelta, add_delta, render_delta
from codeplane.operations.git_paths import current_ref, named_paths, parsed_names
from codeplane.operations.models import PATH_ALIASES, ListOfOne, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.workspace.workspace import Workspace

NAME = "git_reset"


class GitResetRequest(Request):
    """The target commit, and what moves with the branch."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "ref": ("target", "commit", "to"),
        "mode": ("type", "kind"),
        "paths": ("path", "files", *PATH_ALIASES),
    }
    ref: str = Field("HEAD", max_length=1000, description="Branch, tag or commit.")
    mode: Literal["soft", "mixed", "hard"] = Field(
        "mixed", description="soft: only the branch; mixed: also the index; hard: also the working files."
    )
    paths: Annotated[list[PathText], ListOfOne, Field(max_length=1000)] = Field(
        default_factory=list, description="Reset only these paths in the index; the branch stays."
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> "GitResetRequest":
        if self.paths and self.mode != "mixed":
            raise ValueError("with `paths` the mode is mixed; git_checkout with ref and paths changes working files")
        return self


class GitResetResult(Result):
    """Where the branch is and was."""

    mode: Literal["soft", "mixed", "hard"]
    branch: str | None
    head: str | None
    previous_head: str | None
    delta: GitDelta | None = None


def _target(workspace: Workspace, request: GitResetRequest) -> str | None:
    """Return the target commit; None if that is HEAD and it has no commit yet."""
    if request.ref in {"HEAD", "@"} and workspace.head().is_unborn:
        if request.mode == "soft":
            raise CodePlaneError("GIT_NO_COMMITS", "HEAD has no commit yet.")
        return None
    return resolve(workspace.root, request.ref)


def _paths(workspace: Workspace, request: GitResetRequest, target: str | None) -> tuple[RepoPath, ...]:
    paths = named_paths(request.paths)
    for path in paths:
        if path == RepoPath.ROOT:
            continue
        if not names_off(workspace.root, target, (path,)) and path.text not in _tracked_names(workspace):
            where = request.ref if target is not None else "the index"
            message = f"Neither the index nor {where} has `{path}`."
            raise CodePlaneError("GIT_PATH_UNKNOWN", message, details={"path": path.text})
    return paths


def _tracked_names(workspace: Workspace) -> frozenset[str]:
    tracked = workspace.tracked()
    return tracked.files | tracked.directories


def _plan(context: CallContext, request: GitResetRequest) -> Plan[GitResetResult]:
    workspace = context.workspace
    target, before = _target(workspace, request), workspace.head()
    conditions = Conditions(is_cancelled=context.is_cancelled)
    if request.paths:
        paths = _paths(workspace, request, target)
        effects = Effects(staged=parsed_names(names_staged_off(workspace.root, target, paths)))
    else:
        effects = _effects(workspace, request, target, before.commit)

    def work() -> GitResetResult:
        if request.paths:
            reset_paths(workspace.root, target, paths, conditions)
        else:
            reset(workspace.root, target, request.mode, conditions)
        after = workspace.head()
        return GitResetResult(mode=request.mode, branch=after.branch, head=after.commit, previous_head=before.commit)

    return Plan(work, effects)


def _effects(workspace: Workspace, request: GitResetRequest, target: str | None, head: str | None) -> Effects:
    writes: tuple[RepoPath, ...] = ()
    if request.mode == "hard":
        names = names_off(workspace.root, target) if target is not None else tuple(workspace.tracked().files)
        writes = parsed_names((*names, *in_the_way(workspace.root, names)))
    staged = names_staged_off(workspace.root, target) if request.mode != "soft" else ()
    refs = (current_ref(workspace),) if target != head else ()
    return Effects(
        writes=writes, staged=parsed_names(staged), git_refs=refs, destructive=request.mode == "hard" or target != head
    )


def _render(result: GitResetResult) -> str:
    where = result.branch or "detached HEAD"
    old, new = (oid[:12] if oid is not None else "no commit yet" for oid in (result.previous_head, result.head))
    moved = f"{where} at {new}, was at {old}" if old != new else f"{where} stays at {new}"
    return "\n".join([f"{result.mode} reset: {moved}", *render_delta(result.delta)])


GIT_RESET = Operation(
    name=NAME,
    family="git",
    summary="Move the branch to a commit (soft, mixed, hard), or unstage paths.",
    request_type=GitResetRequest,
    result_type=GitResetResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    when_to_use=(
        "You want to redo the last commits: soft or mixed.",
        "You want everything as in a commit: hard; undo restores what it replaced.",
    ),
    when_not_to_use=(
        "You want to restore one file: use git_checkout with paths.",
        "The commit is published: use git_merge with action revert.",
    ),
    examples=(
        Example("Undo the last commit, keep its changes staged", {"ref": "HEAD~1", "mode": "soft"}),
        Example("Match the remote", {"ref": "origin/main", "mode": "hard"}),
    ),
    snapshots=True,
    complete=add_delta,
)
