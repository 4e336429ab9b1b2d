"""`git_branch`: list, create, move, rename and delete branches; create and delete tags."""

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
from codeplane.operations.git_change import GitDelta, add_delta, render_delta
from codeplane.operations.models import Pagination, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
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
        None, description="The branch or tag; rename and set_upstream default to the current branch."
    )
    new_name: str | None = Field(None, description="rename: the new name.")
    ref: str | None = Field(None, description="create, tag: where (default HEAD). set_upstream: the upstream.")
    message: str | None = Field(None, description="tag: make an annotated tag.")
    force: bool = Field(False, description="Replace, or delete an unmerged branch; undo restores it.")
    which: Literal["local", "remote", "all"] = Field("local", description="list: which branches.")
    contains: str | None = Field(None, description="list: only branches that contain this commit.")
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
    merged: bool = Field(description="HEAD contains all of its commits.")
    worktree: str | None = Field(None, description="Where it is checked out.")
    date: str
    subject: str


class GitBranchResult(Result):
    """The branches and tags, or what was done."""

    action: Action
    branches: list[BranchInfo] = Field(default_factory=list)
    total: int | None = None
    pagination: Pagination | None = None
    name: str | None = None
    oid: str | None = Field(None, description="The commit of the branch or tag; after a deletion, the last one.")
    delta: GitDelta | None = None


def _plan(context: CallContext, request: GitBranchRequest) -> Plan[GitBranchResult]:
    if request.action == "list":
        contains = resolve(context.workspace.root, request.contains) if request.contains is not None else None
        return Plan(lambda: _listed(context, request, contains))
    if request.action in {"tag", "delete_tag"}:
        return _plan_tag(context, request)
    return _plan_create(context, request) if request.action == "create" else _plan_change(context, request)


def _plan_create(context: CallContext, request: GitBranchRequest) -> Plan[GitBranchResult]:
    root, name = context.workspace.root, request.name or ""
    check_new_name(root, name, "branch")
    oid = resolve(root, request.ref or "HEAD")
    there = find_branch(root, name)
    if there is not None and not request.force:
        raise _exists("branch", name, there.oid)
    if there is not None and there.worktree is not None:
        raise _checked_out(there, "moved")

    def work() -> GitBranchResult:
        create_branch(root, name, oid, _conditions(context), force=request.force)
        return GitBranchResult(action=request.action, name=name, oid=oid)

    return Plan(work, Effects(git_refs=(f"refs/heads/{name}",), destructive=there is not None))


def _plan_change(context: CallContext, request: GitBranchRequest) -> Plan[GitBranchResult]:
    """Plan the deletion, the renaming or another upstream of a branch."""
    workspace = context.workspace
    root, branch = workspace.root, _target_branch(workspace, request)
    name = request.new_name or "" if request.action == "rename" else branch.name
    if request.action == "rename":
        effects = _rename_effects(workspace, request, branch)
    else:
        effects = Effects(git_refs=(f"refs/heads/{name}",), destructive=request.action == "delete")
    if request.action == "delete" and branch.worktree is not None:
        raise _checked_out(branch, "deleted")
    if request.action == "set_upstream" and request.ref is not None:
        resolve(root, request.ref)

    def work() -> GitBranchResult:
        if request.action == "delete":
            delete_branch(root, name, _conditions(context), force=request.force)
        elif request.action == "rename":
            rename_branch(root, branch.name, name, _conditions(context), force=request.force)
        else:
            set_upstream(root, name, request.ref, _conditions(context))
        return GitBranchResult(action=request.action, name=name, oid=branch.oid)

    return Plan(work, effects)


def _rename_effects(workspace: Workspace, request: GitBranchRequest, branch: Branch) -> Effects:
    root, new = workspace.root, request.new_name or ""
    check_new_name(root, new, "branch")
    there = find_branch(root, new)
    if there is not None and there.name != branch.name and not request.force:
        raise _exists("branch", new, there.oid)
    # People and the remote's rules refer to the default branch by name.
    is_destructive = there is not None or branch.name in default_branches(root)
    head = ("HEAD",) if branch.is_current else ()
    return Effects(git_refs=(*head, f"refs/heads/{branch.name}", f"refs/heads/{new}"), destructive=is_destructive)


def _plan_tag(context: CallContext, request: GitBranchRequest) -> Plan[GitBranchResult]:
    workspace = context.workspace
    root, name = workspace.root, request.name or ""
    check_new_name(root, name, "tag")
    there = tag_object(root, name)
    effects = Effects(git_refs=(f"refs/tags/{name}",), destructive=there is not None)
    if request.action == "delete_tag":
        if there is None:
            raise _unknown(workspace, name, "tag")

        def delete() -> GitBranchResult:
            delete_tag(root, name, _conditions(context))
            return GitBranchResult(action=request.action, name=name, oid=there)

        return Plan(delete, effects)
    target = resolve(root, request.ref or "HEAD")
    if there is not None and not request.force:
        raise _exists("tag", name, there)

    def create() -> GitBranchResult:
        create_tag(root, name, target, request.message, _conditions(context), force=request.force)
        return GitBranchResult(action=request.action, name=name, oid=tag_object(root, name) or target)

    return Plan(create, effects)


def _conditions(context: CallContext) -> Conditions:
    return Conditions(is_cancelled=context.is_cancelled)


def _target_branch(workspace: Workspace, request: GitBranchRequest) -> Branch:
    """Return the named branch, else the current one.

    Raises:
        CodePlaneError: GIT_REF_UNKNOWN, GIT_DETACHED_HEAD, GIT_NO_COMMITS.
    """
    name = request.name
    if name is None:
        name = workspace.head().branch
        if name is None:
            raise CodePlaneError("GIT_DETACHED_HEAD", "HEAD is detached: name the branch you mean.")
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


def _listed(context: CallContext, request: GitBranchRequest, contains: str | None) -> GitBranchResult:
    workspace = context.workspace
    kinds: dict[str, tuple[Literal["local", "remote"], ...]] = {
        "local": ("local",),
        "remote": ("remote",),
        "all": ("local", "remote"),
    }
    branches = list_branches(workspace.root, kinds[request.which], contains)
    first = 0
    if context.position is not None:
        after = context.position.items("after")
        # Branches may be created or deleted between two pages; the order by name is stable.
        first = next((n for n, one in enumerate(branches) if [one.kind, one.name] > after), len(branches))
    shown = branches[first : first + request.limit]
    rest = len(branches) - first - len(shown)
    cursor = context.next_page({"after": [shown[-1].kind, shown[-1].name]}) if rest > 0 else None
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
            "delete": "deleted; it was at",
            "rename": "is the new name, at",
            "set_upstream": "has a new upstream; it is at",
            "tag": "tags",
            "delete_tag": "deleted; it was",
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
    summary="List, create, delete or rename branches, set their upstream; create or delete tags.",
    request_type=GitBranchRequest,
    result_type=GitBranchResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    when_to_use=("You manage branches or tags.",),
    when_not_to_use=("To switch branches: git_checkout, with `create` for a new one.",),
    examples=(
        Example("All branches with their upstreams", {"action": "list", "which": "all"}),
        Example("A branch at another commit than HEAD", {"action": "create", "name": "fix", "ref": "main~2"}),
        Example("An annotated tag", {"action": "tag", "name": "v1.0", "message": "First release"}),
    ),
    is_dry_run=lambda request: request.action == "list",
    snapshots=True,
    complete=add_delta,
)
