"""`git_worktree`: additional working trees of the repository."""

import os
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import printable_name
from codeplane.edit.protection import is_protected_name
from codeplane.git.branches import check_new_name, find_branch
from codeplane.git.commands import Conditions
from codeplane.git.keeping import has_changes, ignored_paths, keep_commit, keep_working_tree
from codeplane.git.programs import CHECKOUT_HOOKS
from codeplane.git.progress import progress_of
from codeplane.git.repository import find_repository
from codeplane.git.revisions import resolve
from codeplane.git.state import KEPT_REFS, KEPT_WORKTREE
from codeplane.git.switching import names_between
from codeplane.git.worktrees import (
    Worktree,
    add_worktree,
    find_worktree,
    list_worktrees,
    lock_worktree,
    prune_worktrees,
    remove_worktree,
    unlock_worktree,
)
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.git_change import GitDelta, add_delta, render_delta
from codeplane.operations.git_paths import parsed_names, path_in_tree
from codeplane.operations.models import Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.workspace.workspace import Workspace

NAME = "git_worktree"
Action = Literal["list", "add", "open", "remove", "lock", "unlock", "prune"]
_READING = frozenset({"list", "open"})
_SHOWN = 5


class GitWorktreeRequest(Request):
    """What to do with which working tree."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "action": ("operation",),
        "path": ("worktree", "directory", "worktree_path"),
        "ref": ("branch", "commit", "commitish"),
        "create": ("new_branch", "create_branch"),
    }
    action: Action = "list"
    path: str | None = Field(None, max_length=4_000, description="Absolute, or relative to the repository's root.")
    ref: str | None = Field(None, description="add: a branch or commit; HEAD if left out.")
    create: str | None = Field(None, description="add: create this branch at `ref` and check it out.")
    detach: bool = Field(False, description="add: detached HEAD.")
    reason: str | None = Field(None, max_length=500, description="lock: why.")
    force: bool = Field(False, description="remove: also with changes, which are kept as a commit, or when locked.")

    @model_validator(mode="after")
    def _makes_sense(self) -> "GitWorktreeRequest":
        if self.action in {"add", "open", "remove", "lock", "unlock"} and self.path is None:
            raise ValueError(f"{self.action} needs `path`")
        if self.path is not None and (not self.path.strip() or "\0" in self.path or "\n" in self.path):
            raise ValueError("`path` is not a valid path")
        if self.create is not None and self.detach:
            raise ValueError("give `create` or `detach`, not both")
        return self


class WorktreeInfo(Result):
    """One working tree."""

    path: str
    head: str | None
    branch: str | None
    main: bool = False
    current: bool = False
    detached: bool = False
    locked: str | None = Field(None, description="The reason, which may be empty.")
    prunable: str | None = Field(None, description="Why it can be pruned.")


class GitWorktreeResult(Result):
    """The working trees there are now."""

    action: Action
    worktrees: list[WorktreeInfo]
    path: str | None = None
    state: str | None = Field(None, description="open: the git operation in progress there.")
    dirty: bool | None = Field(None, description="open: whether it has uncommitted changes.")
    serve: str | None = Field(None, description="open: how to work there.")
    kept: str | None = Field(None, description="remove: the commit that keeps the uncommitted changes.")
    delta: GitDelta | None = None


def _plan(context: CallContext, request: GitWorktreeRequest) -> Plan[GitWorktreeResult]:
    workspace = context.workspace
    if request.action == "list":
        return Plan(lambda: GitWorktreeResult(action="list", worktrees=_infos(workspace)))
    if request.action == "prune":
        return Plan(lambda: _pruned(context))
    path = _place(workspace, request)
    if request.action == "add":
        return Plan(lambda: _added(context, request, path), _add_effects(workspace, request, path))
    tree = find_worktree(workspace.root, path)
    if request.action == "open":
        return Plan(lambda: _opened(workspace, tree))
    return Plan(lambda: _changed(context, request, tree, path), _effects(workspace, request, tree))


def _effects(workspace: Workspace, request: GitWorktreeRequest, tree: Worktree) -> Effects:
    root = workspace.root
    if request.action in {"remove", "lock", "unlock"} and tree.is_main:
        raise CodePlaneError("GIT_WORKTREE_UNUSABLE", f"{tree.path} is the main working tree.")
    if request.action == "remove":
        _check_removable(workspace, request, tree)
        inside = path_in_tree(root, Path(tree.path))
        if inside is None:
            return Effects(foreign=(os.path.realpath(tree.path),), destructive=True)
        return Effects(deletes=(inside,), destructive=True)
    return Effects()


def _add_effects(workspace: Workspace, request: GitWorktreeRequest, path: Path) -> Effects:
    root = workspace.root
    if os.path.lexists(path) and not (path.is_dir() and not any(path.iterdir())):
        raise CodePlaneError("FILE_EXISTS", f"{path} exists already.", details={"path": str(path)})
    for private in (workspace.repository.common_dir, workspace.places.private, workspace.places.shared):
        if path.is_relative_to(private):
            raise CodePlaneError("PROTECTED_PATH", f"{path} is inside {private.name}.", details={"path": str(path)})
    commit = resolve(root, request.ref or "HEAD")
    refs: tuple[str, ...] = ()
    if request.create is not None:
        check_new_name(root, request.create, "branch")
        if find_branch(root, request.create) is not None:
            message = f"The branch `{request.create}` exists already."
            raise CodePlaneError("GIT_REF_EXISTS", message, hint="Give it as `ref` instead of `create`.")
        refs = (f"refs/heads/{request.create}",)
    elif not request.detach and request.ref is not None:
        branch = find_branch(root, request.ref)
        if branch is not None and branch.worktree is not None:
            message = f"The branch `{branch.name}` is checked out at {branch.worktree}."
            hint = "Give `create` for a new branch at the same commit, or `detach: true`."
            raise CodePlaneError("GIT_WORKTREE_UNUSABLE", message, hint=hint)
    inside = path_in_tree(root, path)
    if inside is None:
        return Effects(git_refs=refs, foreign=(os.path.realpath(path),))
    # The whole directory, and by name the files that configure agents there: `.claude` may itself be the new tree.
    written = (f"{inside}/{name}" for name in names_between(root, None, commit))
    return Effects(writes=(inside, *parsed_names(filter(is_protected_name, written))), git_refs=refs)


def _check_removable(workspace: Workspace, request: GitWorktreeRequest, tree: Worktree) -> None:
    if Path(tree.path) == workspace.root:
        raise CodePlaneError("GIT_WORKTREE_UNUSABLE", "A working tree cannot remove itself.")
    if request.force:
        return
    if tree.is_locked:
        why = f": {tree.lock_reason}" if tree.lock_reason else ""
        message = f"{tree.path} is locked{why}."
        raise CodePlaneError("GIT_WORKTREE_UNUSABLE", message, hint="Unlock it, or use `force`.")
    if Path(tree.path).is_dir() and has_changes(Path(tree.path)):
        message = f"{tree.path} has uncommitted changes."
        raise CodePlaneError("GIT_WOULD_OVERWRITE", message, hint="Commit them there, or use `force`: a copy is kept.")


def _place(workspace: Workspace, request: GitWorktreeRequest) -> Path:
    return Path(os.path.normpath(workspace.root / Path(request.path or "").expanduser()))


def _pruned(context: CallContext) -> GitWorktreeResult:
    _keep_pruned_heads(context)
    prune_worktrees(context.workspace.root, _conditions(context))
    return GitWorktreeResult(action="prune", worktrees=_infos(context.workspace))


def _added(context: CallContext, request: GitWorktreeRequest, path: Path) -> GitWorktreeResult:
    add_worktree(context.workspace.root, path, request.ref, _conditions(context), _add_options(request))
    return GitWorktreeResult(action="add", worktrees=_infos(context.workspace), path=str(path))


def _changed(context: CallContext, request: GitWorktreeRequest, tree: Worktree, path: Path) -> GitWorktreeResult:
    """Remove, lock or unlock a working tree."""
    root, conditions, kept = context.workspace.root, _conditions(context), None
    if request.action == "remove":
        kept = _keep_before_removal(context, tree)
        remove_worktree(root, tree.path, conditions, force=request.force)
    elif request.action == "lock":
        lock_worktree(root, tree.path, request.reason, conditions)
    else:
        unlock_worktree(root, tree.path, conditions)
    return GitWorktreeResult(action=request.action, worktrees=_infos(context.workspace), path=str(path), kept=kept)


def _conditions(context: CallContext) -> Conditions:
    return Conditions(is_cancelled=context.is_cancelled, timeout_seconds=600)


def _add_options(request: GitWorktreeRequest) -> tuple[str, ...]:
    if request.create is not None:
        return ("-b", request.create)
    return ("--detach",) if request.detach else ()


def _keep_before_removal(context: CallContext, tree: Worktree) -> str | None:
    """Keep a working tree's uncommitted changes; its removal could not be undone otherwise."""
    place = Path(tree.path)
    ref = f"{KEPT_REFS}{context.call_id}/{KEPT_WORKTREE}"
    if place.is_dir() and has_changes(place):
        commit = keep_working_tree(place, ref, f"Changes of {tree.path} before it was removed")
        context.warnings.append(f"what was not committed in {tree.path} is kept as {ref}; ignored files are not")
        return commit
    if place.is_dir() and (names := ignored_paths(place)):
        shown = ", ".join(printable_name(name) for name in names[:_SHOWN])
        context.warnings.append(f"ignored files of {tree.path} went with it: {shown}{' …' * (len(names) > _SHOWN)}")
    if tree.is_detached and tree.head is not None:
        keep_commit(context.workspace.root, ref, tree.head)
        context.warnings.append(f"{tree.path} was on no branch; its commit {tree.head[:12]} is kept as {ref}")
    return None


def _keep_pruned_heads(context: CallContext) -> None:
    """Keep the commits that only working trees with missing directories still name."""
    root = context.workspace.root
    gone = [one for one in list_worktrees(root) if one.prunable is not None and one.is_detached]
    for number, tree in enumerate(gone):
        if tree.head is not None:
            ref = f"{KEPT_REFS}{context.call_id}/{KEPT_WORKTREE}-{number}"
            keep_commit(root, ref, tree.head)
            context.warnings.append(f"{tree.path} was on no branch; its commit {tree.head[:12]} is kept as {ref}")


def _opened(workspace: Workspace, tree: Worktree) -> GitWorktreeResult:
    place = Path(tree.path)
    if not place.is_dir():
        message = f"The directory of the working tree {tree.path} is gone."
        raise CodePlaneError("GIT_WORKTREE_UNUSABLE", message, hint="Remove its record with action prune.")
    repository = find_repository(place)
    is_here = place == workspace.root
    return GitWorktreeResult(
        action="open",
        worktrees=[_info(workspace, tree)],
        path=tree.path,
        state=progress_of(repository.git_dir),
        dirty=has_changes(place),
        serve="this one" if is_here else f"an MCP server started there serves it: cd {tree.path} && cpl mcp",
    )


def _infos(workspace: Workspace) -> list[WorktreeInfo]:
    return [_info(workspace, one) for one in list_worktrees(workspace.root)]


def _info(workspace: Workspace, tree: Worktree) -> WorktreeInfo:
    return WorktreeInfo(
        path=printable_name(tree.path),
        head=tree.head,
        branch=printable_name(tree.branch) if tree.branch is not None else None,
        main=tree.is_main,
        current=Path(tree.path) == workspace.root,
        detached=tree.is_detached,
        locked=tree.lock_reason,
        prunable=tree.prunable,
    )


def _render(result: GitWorktreeResult) -> str:
    lines = []
    for one in result.worktrees:
        place = one.branch or ("detached" if one.detached else "no branch")
        notes = [place, (one.head or "no commit")[:12]]
        if one.locked is not None:
            notes.append(f"locked{': ' if one.locked else ''}{one.locked}")
        if one.prunable is not None:
            notes.append(f"can be pruned: {one.prunable}")
        lines.append(f"{'*' if one.current else ' '} {one.path} {' '.join(notes)}")
    if result.action == "open":
        lines.append(f" {'has changes' if result.dirty else 'clean'}, in progress: {result.state}; {result.serve}")
    if result.kept is not None:
        lines.append(f" uncommitted changes are kept as commit {result.kept}")
    return "\n".join([*lines, *render_delta(result.delta)])


GIT_WORKTREE = Operation(
    name=NAME,
    family="git",
    summary="List, add, open, remove, lock, unlock or prune working trees of the repository.",
    request_type=GitWorktreeRequest,
    result_type=GitWorktreeResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    when_to_use=("You work on several branches at once.",),
    when_not_to_use=("One branch at a time is enough: git_checkout.",),
    examples=(
        Example("A tree for a new branch", {"action": "add", "path": "../topic", "create": "topic"}),
        Example("All working trees", {"action": "list"}),
    ),
    is_dry_run=lambda request: request.action in _READING,
    snapshots=True,
    complete=add_delta,
    git_hooks=CHECKOUT_HOOKS,
)
