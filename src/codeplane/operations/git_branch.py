"""`git_branch`: list, make, move, rename and remove branches; make and remove tags."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import printable_name
from codeplane.git.branches import (
    Branch,
    check_new_name,
    create_branch,
    create_tag,
    default_branches,
    delete_branch,
    delete_tag,
    find_branch,
    list_branches,
    rename_branch,
    set_upstream,
    tag_object,
)
from codeplane.git.commands import Conditions, check_name
from codeplane.git.revisions import near_refs, resolve
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.cursors import make_cursor, read_cursor
from codeplane.operations.git_change import GitDelta, git_delta, render_delta
from codeplane.operations.models import Pagination, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation
from codeplane.workspace.workspace import Workspace

NAME = "git_branch"
Action = Literal["list", "create", "delete", "rename", "set_upstream", "tag", "delete_tag"]
_NAMED = frozenset({"create", "delete", "tag", "delete_tag"})


class GitBranchRequest(Request):
    """What to do with which branch or tag."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "name": ("branch", "branch_name", "tag", "old_name"),
        "ref": ("start_point", "target", "commit", "upstream", "from"),
        "new_name": ("to", "rename_to"),
        "action": ("operation",),
        "which": ("kind", "type"),
    }
    action: Action = "list"
    name: str | None = Field(
        None, description="The branch or tag; rename and set_upstream: the current one if left out."
    )
    new_name: str | None = Field(None, description="rename: the new name.")
    ref: str | None = Field(None, description="create, tag: where (HEAD if left out). set_upstream: what to follow.")
    message: str | None = Field(None, description="tag: makes it an annotated one.")
    force: bool = Field(False, description="Replace, or delete what is not merged; undo brings it back.")
    which: Literal["local", "remote", "all"] = Field("local", description="list: which branches.")
    contains: str | None = Field(None, description="list: only branches that have this commit.")
    limit: int = Field(50, ge=1, le=200)
    cursor: str | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> "GitBranchRequest":
        if self.action in _NAMED and self.name is None:
            raise ValueError(f"{self.action} needs `name`")
        if self.action == "rename" and self.new_name is None:
            raise ValueError("rename needs `new_name`")
        if self.message is not None and self.action != "tag":
            raise ValueError("`message` is for tag")
        return self


class BranchInfo(Result):
    """One branch."""

    name: str
    remote: bool
    oid: str
    current: bool = False
    upstream: str | None = None
    upstream_gone: bool = False
    ahead: int | None = None
    behind: int | None = None
    merged: bool = Field(description="HEAD has all of its commits.")
    worktree: str | None = Field(None, description="Where it is checked out.")
    date: str
    subject: str


class GitBranchResult(Result):
    """What there is, or what was done."""

    action: Action
    branches: list[BranchInfo] = Field(default_factory=list)
    total: int | None = None
    pagination: Pagination | None = None
    name: str | None = None
    oid: str | None = Field(None, description="Where the branch or tag is now, or was when it is gone.")
    delta: GitDelta | None = None


def _effects(workspace: Workspace, request: GitBranchRequest) -> Effects:
    if request.action == "list":
        if request.contains is not None:
            resolve(workspace.root, request.contains)
        return Effects()
    if request.action in {"tag", "delete_tag"}:
        return _tag_effects(workspace, request)
    return _create_effects(workspace, request) if request.action == "create" else _branch_effects(workspace, request)


def _create_effects(workspace: Workspace, request: GitBranchRequest) -> Effects:
    root, name = workspace.root, request.name or ""
    check_new_name(root, name, "branch")
    resolve(root, request.ref or "HEAD")
    there = find_branch(root, name)
    if there is not None and not request.force:
        raise _exists("branch", name, there.oid)
    if there is not None and there.worktree is not None:
        raise _checked_out(there, "moved")
    return Effects(git_refs=(f"refs/heads/{name}",), destructive=there is not None)


def _branch_effects(workspace: Workspace, request: GitBranchRequest) -> Effects:
    root, branch = workspace.root, _wanted(workspace, request)
    if request.action == "rename":
        new = request.new_name or ""
        check_new_name(root, new, "branch")
        there = find_branch(root, new)
        if there is not None and there.name != branch.name and not request.force:
            raise _exists("branch", new, there.oid)
        # Others, and the remote's rules, know the default branch by its name.
        is_destructive = there is not None or branch.name in default_branches(root)
        head = ("HEAD",) if branch.is_current else ()
        refs = (*head, f"refs/heads/{branch.name}", f"refs/heads/{new}")
        return Effects(git_refs=refs, destructive=is_destructive)
    if request.action == "delete" and branch.worktree is not None:
        raise _checked_out(branch, "deleted")
    if request.action == "set_upstream" and request.ref is not None:
        resolve(root, request.ref)
    return Effects(git_refs=(f"refs/heads/{branch.name}",), destructive=request.action == "delete")


def _tag_effects(workspace: Workspace, request: GitBranchRequest) -> Effects:
    root, name = workspace.root, request.name or ""
    check_new_name(root, name, "tag")
    there = tag_object(root, name)
    if request.action == "delete_tag" and there is None:
        raise _unknown(workspace, name, "tag")
    if request.action == "tag":
        resolve(root, request.ref or "HEAD")
        if there is not None and not request.force:
            raise _exists("tag", name, there)
    return Effects(git_refs=(f"refs/tags/{name}",), destructive=there is not None)


def _handle(context: CallContext, request: GitBranchRequest) -> GitBranchResult:
    workspace = context.workspace
    root = workspace.root
    if request.action == "list":
        return _listed(workspace, request)
    conditions = Conditions(is_cancelled=context.is_cancelled)
    name = request.name or ""
    if request.action == "create":
        oid = resolve(root, request.ref or "HEAD")
        create_branch(root, name, oid, conditions, force=request.force)
    elif request.action == "tag":
        target = resolve(root, request.ref or "HEAD")
        create_tag(root, name, target, request.message, conditions, force=request.force)
        oid = tag_object(root, name) or target
    elif request.action == "delete_tag":
        oid = tag_object(root, name) or ""
        delete_tag(root, name, conditions)
    else:
        branch = _wanted(workspace, request)
        name, oid = branch.name, branch.oid
        if request.action == "delete":
            delete_branch(root, name, conditions, force=request.force)
        elif request.action == "rename":
            rename_branch(root, name, request.new_name or "", conditions, force=request.force)
            name = request.new_name or ""
        else:
            set_upstream(root, name, request.ref, conditions)
    return GitBranchResult(action=request.action, name=name, oid=oid, delta=git_delta(context))


def _wanted(workspace: Workspace, request: GitBranchRequest) -> Branch:
    """Return the branch that is meant: the named one, else the current one.

    Raises:
        CodePlaneError: GIT_REF_UNKNOWN, GIT_DETACHED_HEAD, GIT_NO_COMMITS.
    """
    name = request.name
    if name is None:
        name = workspace.head().branch
        if name is None:
            raise CodePlaneError("GIT_DETACHED_HEAD", "HEAD is on no branch: name the one you mean.")
    check_name(name, "branch")
    found = find_branch(workspace.root, name)
    if found is not None:
        return found
    head = workspace.head()
    if head.branch == name and head.is_unborn:
        raise CodePlaneError("GIT_NO_COMMITS", f"The branch {name} has no commit yet.")
    raise _unknown(workspace, name, "branch")


def _unknown(workspace: Workspace, name: str, what: str) -> CodePlaneError:
    near = near_refs(workspace.root, name)
    hint = f"Did you mean {', '.join(near)}?" if near else ""
    return CodePlaneError("GIT_REF_UNKNOWN", f"There is no {what} `{name}`.", hint=hint, details={what: name})


def _exists(what: str, name: str, oid: str) -> CodePlaneError:
    return CodePlaneError("GIT_REF_EXISTS", f"The {what} `{name}` exists already, at {oid[:12]}.", details={what: name})


def _checked_out(branch: Branch, done: str) -> CodePlaneError:
    message = f"`{branch.name}` is checked out at {branch.worktree} and cannot be {done}."
    return CodePlaneError("GIT_WORKTREE_UNUSABLE", message, hint="Switch that working tree to another branch first.")


def _listed(workspace: Workspace, request: GitBranchRequest) -> GitBranchResult:
    kinds: dict[str, tuple[Literal["local", "remote"], ...]] = {
        "local": ("local",),
        "remote": ("remote",),
        "all": ("local", "remote"),
    }
    contains = resolve(workspace.root, request.contains) if request.contains is not None else None
    branches = list_branches(workspace.root, kinds[request.which], contains)
    first = 0
    if request.cursor is not None:
        after = read_cursor(workspace, NAME, request.cursor).get("after")
        # Branches may come and go between two pages; the order of names stays.
        first = next((n for n, one in enumerate(branches) if [one.kind, one.name] > (after or [])), len(branches))
    shown = branches[first : first + request.limit]
    rest = len(branches) - first - len(shown)
    cursor = make_cursor(workspace, NAME, {"after": [shown[-1].kind, shown[-1].name]}) if rest > 0 else None
    return GitBranchResult(
        action="list",
        branches=[_info(one) for one in shown],
        total=len(branches),
        pagination=Pagination(next_cursor=cursor, total_estimate=len(branches)),
    )


def _info(branch: Branch) -> BranchInfo:
    return BranchInfo(
        name=printable_name(branch.name),
        remote=branch.kind == "remote",
        oid=branch.oid,
        current=branch.is_current,
        upstream=printable_name(branch.upstream) if branch.upstream is not None else None,
        upstream_gone=branch.is_upstream_gone,
        ahead=branch.ahead,
        behind=branch.behind,
        merged=branch.is_merged,
        worktree=printable_name(branch.worktree) if branch.worktree is not None else None,
        date=branch.date,
        subject=printable_name(branch.subject),
    )


def _render(result: GitBranchResult) -> str:
    if result.delta is not None:
        done = {
            "create": "at",
            "delete": "is gone; it was at",
            "rename": "is the name now, at",
            "set_upstream": "has another upstream; it is at",
            "tag": "tags",
            "delete_tag": "is gone; it was",
        }[result.action]
        return "\n".join([f"{result.name} {done} {(result.oid or '')[:12]}", *render_delta(result.delta)])
    lines = []
    for one in result.branches:
        parts = [f"{'*' if one.current else ' '} {one.name} {one.oid[:10]}"]
        if one.upstream is not None:
            counts = "gone" if one.upstream_gone else f"+{one.ahead} -{one.behind}"
            parts.append(f"[{one.upstream} {counts}]")
        if one.worktree is not None and not one.current:
            parts.append(f"(in {one.worktree})")
        if one.merged and not one.current:
            parts.append("merged")
        lines.append(f"{' '.join(parts)} {one.subject[:80]}")
    if result.pagination is not None and result.pagination.next_cursor is not None:
        lines.append(f"{len(result.branches)} of {result.total}; cursor={result.pagination.next_cursor}")
    return "\n".join(lines) or "There is no such branch."


GIT_BRANCH = Operation(
    name=NAME,
    family="git",
    summary="List, create, delete or rename branches, set what they follow; create or delete tags.",
    request_type=GitBranchRequest,
    result_type=GitBranchResult,
    effect=EffectClass.WRITE,
    effects=_effects,
    handler=_handle,
    render=_render,
    when_to_use=("You need branches or tags.",),
    when_not_to_use=("You want to switch to a branch: git_checkout, with `create` for a new one.",),
    examples=(
        Example("All branches with their upstreams", {"action": "list", "which": "all"}),
        Example("A branch at another commit than HEAD", {"action": "create", "name": "fix", "ref": "main~2"}),
        Example("An annotated tag", {"action": "tag", "name": "v1.0", "message": "First release"}),
    ),
    is_dry_run=lambda request: request.action == "list",
    snapshots=True,
)
