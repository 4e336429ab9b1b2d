"""`git_push`: push a branch or tags to a remote and report the outcome of each ref."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import printable_name
from codeplane.git.branches import find_branch, tag_object
from codeplane.git.commands import Conditions, check_name
from codeplane.git.programs import PUSH_HOOKS
from codeplane.git.remotes import PushedRef, Tracking, default_tracking, find_remote, places_of, push
from codeplane.git.revisions import near_refs
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.git_change import GitDelta, add_delta
from codeplane.operations.git_remote import MAX_SECONDS, NETWORK_SECONDS
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.workspace.workspace import Workspace

NAME = "git_push"


class GitPushRequest(Request):
    """What to push, and where."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "branch": ("ref", "name", "source"),
        "target": ("to", "remote_branch"),
        "force": ("force_with_lease",),
        "pre_push": ("verify", "run_hooks", "hooks"),
    }
    remote: str | None = Field(None, description="Default: the upstream's remote, else origin.")
    branch: str | None = Field(None, description="A branch or tag; default the current branch.")
    target: str | None = Field(None, description="The branch's name at the remote, if it differs.")
    force: bool | Literal["lease", "overwrite"] = Field(
        False, description="true: replace only what was last fetched; overwrite: whatever the remote has."
    )
    set_upstream: bool | None = Field(None, description="Set the upstream; default only if there is none.")
    tags: bool = Field(False, description="Also all tags.")
    delete: bool = Field(False, description="Delete the branch or tag at the remote.")
    dry_run: bool = Field(False, description="Check with the remote, but push nothing.")
    pre_push: bool = Field(True, description="Run the pre-push hook.")
    timeout_seconds: int = Field(NETWORK_SECONDS, ge=1, le=MAX_SECONDS)

    @model_validator(mode="after")
    def _makes_sense(self) -> "GitPushRequest":
        if self.delete and self.branch is None:
            raise ValueError("delete needs `branch`")
        return self


class PushedRefInfo(Result):
    """The outcome of one ref at the remote."""

    ref: str
    status: Literal["updated", "forced", "deleted", "created", "rejected", "up_to_date"]
    summary: str


class GitPushResult(Result):
    """What the remote has now."""

    remote: str
    refs: list[PushedRefInfo]
    upstream_set: bool = False
    dry_run: bool = False
    delta: GitDelta | None = None


def _plan(context: CallContext, request: GitPushRequest) -> Plan[GitPushResult]:
    workspace = context.workspace
    tracking, refspecs = _goal(workspace, request)
    return Plan(lambda: _work(context, request, tracking, refspecs), _effects(workspace, request, tracking))


def _effects(workspace: Workspace, request: GitPushRequest, tracking: Tracking) -> Effects:
    remote = find_remote(workspace.root, tracking.remote)
    # A deletion at the remote cannot be undone.
    is_destructive = bool(request.force) or request.delete
    refs = (f"refs/remotes/{tracking.remote}/{tracking.branch}",)
    return Effects(
        git_refs=refs, network=places_of(workspace.root, remote), destructive=is_destructive and not request.dry_run
    )


def _goal(workspace: Workspace, request: GitPushRequest) -> tuple[Tracking, tuple[str, ...]]:
    """Return where the push goes and with which refspecs.

    Raises:
        CodePlaneError: GIT_DETACHED_HEAD, GIT_REMOTE_UNKNOWN, GIT_REF_UNKNOWN, GIT_NO_COMMITS.
    """
    root, head = workspace.root, workspace.head()
    name = request.branch if request.branch is not None else head.branch
    if name is not None:
        check_name(name, "branch")
    if request.target is not None:
        check_name(request.target, "branch")
    if name is None and request.tags and not head.branch:
        return Tracking(find_remote(root, request.remote or "origin").name, "", is_set=True), ()
    tracking = default_tracking(root, name, request.remote, is_push=True)
    short = str(name).removeprefix("refs/heads/").removeprefix("refs/tags/")
    branch, tag = find_branch(root, short), tag_object(root, short)
    place = "refs/tags/" if tag is not None and branch is None else "refs/heads/"
    target = request.target or (tracking.branch if place == "refs/heads/" else short)
    target = target.removeprefix("refs/heads/").removeprefix("refs/tags/")
    if request.delete:
        # With a short name git reports a missing branch as an error, with a full one only as a warning.
        return Tracking(tracking.remote, target, is_set=True), (f":{place if tag else ''}{target}",)
    if branch is None and tag is None:
        if head.branch == short and head.is_unborn:
            raise CodePlaneError("GIT_NO_COMMITS", f"The branch {short} has no commit yet.")
        near = near_refs(root, short)
        hint = f"Did you mean {', '.join(near)}?" if near else ""
        raise CodePlaneError("GIT_REF_UNKNOWN", f"There is no branch or tag `{short}`.", hint=hint)
    is_set = tracking.is_set or place == "refs/tags/"
    return Tracking(tracking.remote, target, is_set), (f"{place}{short}:{place}{target}",)


def _work(
    context: CallContext, request: GitPushRequest, tracking: Tracking, refspecs: tuple[str, ...]
) -> GitPushResult:
    workspace = context.workspace
    is_setting = not request.delete and (
        request.set_upstream if request.set_upstream is not None else not tracking.is_set
    )
    conditions = Conditions(
        is_cancelled=context.is_cancelled, timeout_seconds=request.timeout_seconds, runs_hooks=request.pre_push
    )
    options = _options(request, is_setting=is_setting)
    refs = push(workspace.root, tracking.remote, refspecs, conditions, options)
    return GitPushResult(
        remote=tracking.remote,
        refs=[_info(one) for one in refs],
        upstream_set=is_setting and not request.dry_run,
        dry_run=request.dry_run,
    )


def _options(request: GitPushRequest, *, is_setting: bool) -> tuple[str, ...]:
    options = []
    if request.force:
        options.append("--force" if request.force == "overwrite" else "--force-with-lease")
    if is_setting:
        options.append("--set-upstream")
    if request.tags:
        options.append("--tags")
    if request.dry_run:
        options.append("--dry-run")
    return tuple(options)


def _info(ref: PushedRef) -> PushedRefInfo:
    # The status is one of those that the parser knows.
    return PushedRefInfo.model_validate(
        {"ref": printable_name(ref.target), "status": ref.status, "summary": printable_name(ref.summary)}
    )


def _render(result: GitPushResult) -> str:
    would = "would be " if result.dry_run else ""
    lines = [f"{one.ref} {would}{one.status.replace('_', ' ')} {one.summary}" for one in result.refs]
    if result.upstream_set:
        lines.append(f" the branch now tracks {result.remote}")
    return "\n".join([f"to {result.remote}", *(lines or ["nothing to push"])])


GIT_PUSH = Operation(
    name=NAME,
    family="git",
    summary="Push a branch or tags to a remote.",
    request_type=GitPushRequest,
    result_type=GitPushResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    when_to_use=("You want to publish commits.",),
    when_not_to_use=("The remote has commits that you lack: git_pull first.",),
    examples=(
        Example("The current branch", {}),
        Example("After a rebase", {"force": True}),
        Example("Delete a remote branch", {"branch": "topic", "delete": True}),
    ),
    snapshots=True,
    complete=add_delta,
    reaches_network=True,
    git_hooks=PUSH_HOOKS,
)
