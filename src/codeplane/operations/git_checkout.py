"""`git_checkout`: switch to a branch or commit, create a branch, or restore files from a commit or the index."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.git.commands import Conditions, check_name
from codeplane.git.conflicts import unmerged_paths
from codeplane.git.programs import CHECKOUT_HOOKS
from codeplane.git.repository import Head
from codeplane.git.revisions import resolve
from codeplane.git.switching import (
    Switch,
    branch_exists,
    in_the_way,
    is_valid_branch,
    names_between,
    names_off,
    remote_branches,
    restore,
    switch,
    take_side,
)
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.git_change import GitDelta, add_delta, render_delta
from codeplane.operations.git_paths import check_may_write, named_paths, parsed_names
from codeplane.operations.models import PATH_ALIASES, ListOfOne, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.workspace.workspace import Workspace

NAME = "git_checkout"
_HEADS = "refs/heads/"
_MAX_NAMED = 100


class GitCheckoutRequest(Request):
    """What to switch to, or which paths to restore from where."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "ref": ("branch", "target", "name", "commit", "tag", "source"),
        "create": ("create_branch", "new_branch", "new"),
        "start_point": ("base", "from", "start", "from_ref"),
        "paths": ("path", "files", *PATH_ALIASES),
        "detach": ("detached",),
    }
    ref: str | None = Field(None, max_length=1000, description="Branch, tag or commit.")
    create: bool = Field(False, description="Create the branch `ref`.")
    start_point: str | None = Field(None, max_length=1000, description="Start of a new branch; default HEAD.")
    paths: Annotated[list[PathText], ListOfOne, Field(max_length=1000)] = Field(
        default_factory=list, description="Restore only these, from `ref`, or from the index without it."
    )
    side: Literal["ours", "theirs", "merge"] | None = Field(
        None, description="For conflicted paths: take one side, or write the markers again."
    )
    detach: bool = Field(False, description="Check out the commit, not its branch.")
    force: bool = Field(False, description="Discard local changes; with create, also move an existing branch.")

    @model_validator(mode="after")
    def _makes_sense(self) -> "GitCheckoutRequest":
        if self.paths and (self.create or self.start_point or self.detach):
            raise ValueError("`paths` are restored from `ref`; create, start_point and detach are for switching")
        if self.side and (not self.paths or self.ref):
            raise ValueError("`side` needs `paths` and takes no `ref`")
        if not self.paths and not self.ref:
            raise ValueError("`ref` is missing; or give `paths` to restore files")
        if self.start_point and not self.create:
            raise ValueError("`start_point` is for `create: true`")
        if self.create and self.detach:
            raise ValueError("a created branch is not detached")
        return self


class GitCheckoutResult(Result):
    """Where HEAD is, and what was restored."""

    branch: str | None
    head_commit: str | None
    detached: bool
    created: bool = False
    previous_branch: str | None = None
    previous_commit: str | None = None
    restored: list[str] = Field(default_factory=list)
    restored_omitted: int = 0
    delta: GitDelta | None = None


def _plan(context: CallContext, request: GitCheckoutRequest) -> Plan[GitCheckoutResult]:
    return _plan_restore(context, request) if request.paths else _plan_switch(context, request)


def _plan_restore(context: CallContext, request: GitCheckoutRequest) -> Plan[GitCheckoutResult]:
    workspace, before = context.workspace, context.workspace.head()
    root, conditions = workspace.root, Conditions(is_cancelled=context.is_cancelled)
    paths = named_paths(request.paths)
    source = resolve(root, request.ref) if request.ref is not None else None
    names = _restored(workspace, request, paths, source)
    writes = parsed_names(names)
    check_may_write(workspace, writes)

    def work() -> GitCheckoutResult:
        if request.side is not None:
            take_side(root, paths, request.side, conditions)
        else:
            restore(root, paths, source, conditions)
        return _result(workspace, request, before, names)

    return Plan(work, Effects(writes=writes, destructive=True))


def _plan_switch(context: CallContext, request: GitCheckoutRequest) -> Plan[GitCheckoutResult]:
    workspace, before = context.workspace, context.workspace.head()
    wanted, target = _target(workspace, request)

    def work() -> GitCheckoutResult:
        done = switch(workspace.root, wanted, Conditions(is_cancelled=context.is_cancelled))
        context.warnings.extend(f"the {hook} hook failed after the switch" for hook in done.failed_hooks)
        return _result(workspace, request, before)

    return Plan(work, _switch_effects(workspace, request, wanted, target))


def _switch_effects(workspace: Workspace, request: GitCheckoutRequest, wanted: Switch, target: str | None) -> Effects:
    head = workspace.head().commit
    # With force, git also discards uncommitted changes.
    names = (
        names_off(workspace.root, target) if request.force and target else names_between(workspace.root, head, target)
    )
    refs = ["HEAD"]
    if request.create or (target and not wanted.detaches and not branch_exists(workspace.root, wanted.ref)):
        refs.append(f"{_HEADS}{wanted.ref}")
    writes = parsed_names((*names, *in_the_way(workspace.root, names)))
    return Effects(writes=writes, git_refs=tuple(refs), destructive=request.force)


def _target(workspace: Workspace, request: GitCheckoutRequest) -> tuple[Switch, str | None]:
    """Return the switch and the commit that it leads to; None for a branch without a commit.

    Raises:
        CodePlaneError: GIT_REF_INVALID, GIT_REF_UNKNOWN, GIT_REF_AMBIGUOUS, GIT_REF_EXISTS.
    """
    root = workspace.root
    ref = check_name(request.ref or "").removeprefix(_HEADS)
    if request.create:
        if not is_valid_branch(root, ref) or ref == "HEAD":
            raise CodePlaneError("GIT_REF_INVALID", f"`{ref}` cannot be the name of a branch.", details={"ref": ref})
        if branch_exists(root, ref) and not request.force:
            hint = "Leave `create` out to switch to it, or use `force` to move it."
            raise CodePlaneError("GIT_REF_EXISTS", f"There is a branch `{ref}` already.", hint=hint)
        start = request.start_point
        target = resolve(root, start) if start is not None else workspace.head().commit
        return Switch(ref, creates=True, start=start, forces=request.force), target
    if branch_exists(root, ref):
        return Switch(ref, forces=request.force, detaches=request.detach), resolve(root, f"{_HEADS}{ref}")
    try:
        target = resolve(root, request.ref or "")
    except CodePlaneError as error:
        found = remote_branches(root, ref) if error.code == "GIT_REF_UNKNOWN" and not request.detach else ()
        if len(found) != 1:
            raise error if not found else _several(ref, found) from error
        return Switch(ref, forces=request.force), resolve(root, found[0])
    return Switch(request.ref or "", detaches=True, forces=request.force), target


def _several(ref: str, found: tuple[str, ...]) -> CodePlaneError:
    names = [name.removeprefix("refs/remotes/") for name in found]
    hint = f"Send create: true, ref: {ref} and start_point: one of {', '.join(names[:5])}."
    return CodePlaneError("GIT_REF_AMBIGUOUS", f"Several remotes have a branch `{ref}`.", hint=hint)


def _restored(
    workspace: Workspace, request: GitCheckoutRequest, paths: tuple[RepoPath, ...], source: str | None
) -> tuple[str, ...]:
    """Return the paths that would be written, and refuse those that the source does not have.

    Raises:
        CodePlaneError: GIT_PATH_UNKNOWN, GIT_CONFLICTS.
    """
    root = workspace.root
    unmerged = [one for one in unmerged_paths(root) if any(_is_below(one.path, path) for path in paths)]
    if request.side is not None:
        if not unmerged:
            raise CodePlaneError("GIT_PATH_UNKNOWN", f"Nothing of {', '.join(request.paths[:3])} is in conflict.")
        return tuple(one.path for one in unmerged)
    if source is None:
        if unmerged:
            hint = "Choose with `side` ours or theirs, or give the `ref` to restore it from."
            raise CodePlaneError("GIT_CONFLICTS", f"{unmerged[0].path} is in conflict.", hint=hint)
        return names_off(root, None, paths)
    names = names_off(root, source, paths, only_in_ref=True)
    return (*names, *in_the_way(root, names))


def _is_below(name: str, path: RepoPath) -> bool:
    return path == RepoPath.ROOT or name == path.text or name.startswith(f"{path.text}/")


def _result(
    workspace: Workspace, request: GitCheckoutRequest, before: Head, restored: tuple[str, ...] = ()
) -> GitCheckoutResult:
    after = workspace.head()
    return GitCheckoutResult(
        branch=after.branch,
        head_commit=after.commit,
        detached=after.branch is None,
        created=request.create,
        previous_branch=before.branch,
        previous_commit=before.commit,
        restored=[printable_name(name) for name in restored[:_MAX_NAMED]],
        restored_omitted=max(0, len(restored) - _MAX_NAMED),
    )


def _render(result: GitCheckoutResult) -> str:
    at = result.head_commit[:12] if result.head_commit is not None else "no commit yet"
    where = f"on {result.branch} ({at})" if result.branch is not None else f"detached at {at}"
    if result.restored:
        count = len(result.restored) + result.restored_omitted
        return "\n".join([f"{count} file{'s' * (count != 1)} restored; {where}", *render_delta(result.delta)])
    return "\n".join([f"{'created, ' if result.created else ''}{where}", *render_delta(result.delta)])


GIT_CHECKOUT = Operation(
    name=NAME,
    family="git",
    summary="Switch to a branch or commit, create a branch, or restore files from a commit.",
    request_type=GitCheckoutRequest,
    result_type=GitCheckoutResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    when_to_use=(
        "You want to work on another branch.",
        "You want files as they are in a commit: give ref and paths.",
        "You want one side of a conflicted file: give paths and side.",
    ),
    when_not_to_use=("You want to read a file of another commit: use git_inspect.",),
    examples=(
        Example("Switch", {"ref": "main"}),
        Example("A new branch from a tag", {"ref": "fix/parser", "create": True, "start_point": "v1.2"}),
        Example("Two files as they were in a commit", {"ref": "HEAD~2", "paths": ["src/app.py", "docs"]}),
        Example("Our side of a conflict", {"paths": ["src/app.py"], "side": "ours"}),
    ),
    snapshots=True,
    complete=add_delta,
    git_hooks=CHECKOUT_HOOKS,
)
