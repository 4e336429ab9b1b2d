"""`git_reset`: move the branch to another commit, with or without the index and the working tree."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git.commands import Conditions
from codeplane.git.revisions import resolve
from codeplane.git.switching import in_the_way, names_off, names_staged_off, reset, reset_paths
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.git_change import GitDelta, git_delta, render_delta
from codeplane.operations.git_paths import current_ref, named_paths, parsed_names
from codeplane.operations.models import PATH_ALIASES, ListOfOne, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation
from codeplane.workspace.workspace import Workspace

NAME = "git_reset"


class GitResetRequest(Request):
    """Where to, and what goes along."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "ref": ("target", "commit", "to"),
        "mode": ("type", "kind"),
        "paths": ("path", "files", *PATH_ALIASES),
    }
    ref: str = Field("HEAD", max_length=1000, description="Branch, tag or commit.")
    mode: Literal["soft", "mixed", "hard"] = Field(
        "mixed", description="soft: only the branch; mixed: also what is staged; hard: also the working files."
    )
    paths: Annotated[list[PathText], ListOfOne, Field(max_length=1000)] = Field(
        default_factory=list, description="Only what is staged of these becomes as in `ref`; the branch stays."
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
    delta: GitDelta


def _target(workspace: Workspace, request: GitResetRequest) -> str | None:
    """Return the commit to go to; None where HEAD has none yet and is meant."""
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
        if not names_off(workspace.root, target, (path,)) and path.text not in _known(workspace):
            where = request.ref if target is not None else "the index"
            message = f"Neither the index nor {where} has `{path}`."
            raise CodePlaneError("GIT_PATH_UNKNOWN", message, details={"path": path.text})
    return paths


def _known(workspace: Workspace) -> frozenset[str]:
    tracked = workspace.tracked()
    return tracked.files | tracked.directories


def _effects(workspace: Workspace, request: GitResetRequest) -> Effects:
    target = _target(workspace, request)
    if request.paths:
        staged = names_staged_off(workspace.root, target, _paths(workspace, request, target))
        return Effects(staged=parsed_names(staged))
    head = workspace.head().commit
    writes: tuple[RepoPath, ...] = ()
    if request.mode == "hard":
        names = names_off(workspace.root, target) if target is not None else tuple(workspace.tracked().files)
        writes = parsed_names((*names, *in_the_way(workspace.root, names)))
    staged = names_staged_off(workspace.root, target) if request.mode != "soft" else ()
    refs = (current_ref(workspace),) if target != head else ()
    return Effects(
        writes=writes, staged=parsed_names(staged), git_refs=refs, destructive=request.mode == "hard" or target != head
    )


def _handle(context: CallContext, request: GitResetRequest) -> GitResetResult:
    workspace = context.workspace
    conditions = Conditions(is_cancelled=context.is_cancelled)
    before = workspace.head()
    target = _target(workspace, request)
    if request.paths:
        reset_paths(workspace.root, target, _paths(workspace, request, target), conditions)
    else:
        reset(workspace.root, target, request.mode, conditions)
    after = workspace.head()
    return GitResetResult(
        mode=request.mode,
        branch=after.branch,
        head=after.commit,
        previous_head=before.commit,
        delta=git_delta(context),
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
    effects=_effects,
    handler=_handle,
    render=_render,
    when_to_use=(
        "The last commits are to be made anew: soft or mixed.",
        "Everything is to be as in a commit: hard; undo brings back what was there.",
    ),
    when_not_to_use=(
        "One file is to be as it was: use git_checkout with paths.",
        "A published commit is to be taken back: use git_merge with action revert.",
    ),
    examples=(
        Example("Take back the last commit, keep its changes staged", {"ref": "HEAD~1", "mode": "soft"}),
        Example("As the remote has it", {"ref": "origin/main", "mode": "hard"}),
    ),
    snapshots=True,
)
