"""`git_submodule`: list, initialise, update, add and remove nested repositories."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.git.commands import Conditions, check_name
from codeplane.git.keeping import ignored_paths, keep_working_tree
from codeplane.git.programs import CHECKOUT_HOOKS
from codeplane.git.remotes import check_address, local_path, place_of
from codeplane.git.state import KEPT_REFS
from codeplane.git.submodules import (
    Submodule,
    find_submodules,
    list_submodules,
    remove_submodule,
    resolved_address,
    run_submodule,
)
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.git_change import GitDelta, add_delta, render_delta
from codeplane.operations.git_paths import check_may_write, named_paths, parsed_names
from codeplane.operations.git_remote import MAX_SECONDS, NETWORK_SECONDS
from codeplane.operations.models import PATH_ALIASES, ListOfOne, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.workspace.workspace import Workspace

NAME = "git_submodule"
Action = Literal["list", "status", "init", "update", "sync", "add", "deinit", "remove"]
_READING = frozenset({"list", "status"})
_SHOWN = 5
_GITMODULES = RepoPath(".gitmodules")


class GitSubmoduleRequest(Request):
    """What to do with which submodules."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "action": ("operation",),
        "paths": ("path", "submodules", "submodule", *PATH_ALIASES),
        "init": ("initialize",),
    }
    action: Action = "list"
    paths: Annotated[list[PathText], ListOfOne, Field(max_length=200)] = Field(
        default_factory=list, description="Default all; add: where to put it."
    )
    url: str | None = Field(None, max_length=4_000, description="add: the address of the repository.")
    name: str | None = Field(None, max_length=300, description="add: its name; default its path.")
    branch: str | None = Field(None, description="add: the branch to follow.")
    recursive: bool = Field(False, description="Also submodules of submodules.")
    init: bool = Field(True, description="update: initialise missing ones.")
    remote: bool = Field(False, description="update: to the newest commit of the branch instead of the recorded one.")
    force: bool = Field(False, description="Discard changes inside; a copy is kept as a commit.")
    timeout_seconds: int = Field(NETWORK_SECONDS, ge=1, le=MAX_SECONDS)

    @model_validator(mode="after")
    def _makes_sense(self) -> "GitSubmoduleRequest":
        if self.action == "add" and (self.url is None or len(self.paths) != 1):
            raise ValueError("add needs `url` and one path")
        if self.action in {"deinit", "remove"} and not self.paths:
            raise ValueError(f"{self.action} needs `paths`")
        return self


class SubmoduleInfo(Result):
    """One submodule."""

    path: str
    name: str | None = None
    url: str | None = None
    branch: str | None = None
    recorded: str | None = Field(None, description="The recorded commit.")
    checked_out: str | None = Field(None, description="The checked-out commit.")
    state: Literal["uninitialized", "clean", "moved", "dirty", "conflict", "broken"]


class GitSubmoduleResult(Result):
    """The submodules there are now."""

    action: Action
    submodules: list[SubmoduleInfo]
    kept: list[str] = Field(default_factory=list, description="Commits inside it that keep the discarded changes.")
    delta: GitDelta | None = None


def _plan(context: CallContext, request: GitSubmoduleRequest) -> Plan[GitSubmoduleResult]:
    workspace = context.workspace
    paths = named_paths(request.paths)
    if request.action == "add":
        return Plan(lambda: _added(context, request, paths[0]), _add_effects(workspace, request, paths[0]))
    names = tuple(path.text for path in paths)
    found = find_submodules(workspace.root, names)
    if request.action in _READING:
        return Plan(lambda: GitSubmoduleResult(action=request.action, submodules=[_info(one) for one in found]))
    return Plan(lambda: _changed(context, request, names, found), _effects(workspace, request, found))


def _effects(workspace: Workspace, request: GitSubmoduleRequest, found: Sequence[Submodule]) -> Effects:
    root = workspace.root
    places = tuple(dict.fromkeys(place_of(root, resolved_address(root, one.url)) for one in found if one.url))
    if request.action in {"init", "sync"}:
        # Both let git contact the addresses in `.gitmodules`.
        return Effects(network=places)
    dirty = [one.path for one in found if one.state == "dirty"]
    if request.action in {"deinit", "remove"} and dirty and not request.force:
        message = f"{dirty[0]} has uncommitted changes."
        raise CodePlaneError("GIT_WOULD_OVERWRITE", message, hint="Commit them there, or use `force`: a copy is kept.")
    inner = parsed_names(one.path for one in found)
    is_destructive = request.action in {"deinit", "remove"} or request.force
    if request.action == "update":
        return Effects(writes=inner, network=places, destructive=is_destructive)
    own = (_GITMODULES,) if request.action == "remove" else ()
    return Effects(writes=own, deletes=inner, destructive=is_destructive)


def _add_effects(workspace: Workspace, request: GitSubmoduleRequest, path: RepoPath) -> Effects:
    url = check_address(request.url or "")
    for name in (request.name, request.branch):
        if name is not None:
            check_name(name, "name")
    check_may_write(workspace, (path,))
    if any(one.path == path.text for one in list_submodules(workspace.root)) and not request.force:
        raise CodePlaneError("GIT_REF_EXISTS", f"There is a submodule at {path} already.", details={"path": path.text})
    address = resolved_address(workspace.root, url)
    place = local_path(workspace.root, address)
    return Effects(
        writes=(_GITMODULES, path),
        network=(place_of(workspace.root, address),),
        foreign=(place,) if place is not None else (),
    )


def _added(context: CallContext, request: GitSubmoduleRequest, path: RepoPath) -> GitSubmoduleResult:
    root = context.workspace.root
    run_submodule(root, "add", _add_options(request), (request.url or "", path.text), _conditions(context, request))
    return GitSubmoduleResult(action="add", submodules=[_info(one) for one in list_submodules(root)])


def _changed(
    context: CallContext, request: GitSubmoduleRequest, names: tuple[str, ...], found: Sequence[Submodule]
) -> GitSubmoduleResult:
    root, conditions = context.workspace.root, _conditions(context, request)
    kept: list[str] = []
    if request.action in {"deinit", "remove"}:
        for one in found:
            kept.extend(_keep_changes(context, one))
            _warn_of_removal(context, one)
            if request.action == "remove":
                remove_submodule(root, one, conditions)
            else:
                run_submodule(root, "deinit", ("--force",) if request.force else (), (one.path,), conditions)
    else:
        if request.action == "update" and request.force:
            kept.extend(ref for one in found for ref in _keep_changes(context, one))
        run_submodule(root, request.action, _move_options(request), names, conditions)
    submodules = [_info(one) for one in list_submodules(root)]
    return GitSubmoduleResult(action=request.action, submodules=submodules, kept=kept)


def _conditions(context: CallContext, request: GitSubmoduleRequest) -> Conditions:
    return Conditions(is_cancelled=context.is_cancelled, timeout_seconds=request.timeout_seconds)


def _add_options(request: GitSubmoduleRequest) -> tuple[str, ...]:
    options: list[str] = []
    if request.branch is not None:
        options.extend(("-b", request.branch))
    if request.name is not None:
        options.extend(("--name", request.name))
    if request.force:
        options.append("--force")
    return tuple(options)


def _move_options(request: GitSubmoduleRequest) -> tuple[str, ...]:
    options = ["--recursive"] if request.recursive and request.action in {"update", "sync"} else []
    if request.action == "update":
        options.extend(
            option
            for option, is_wanted in (
                ("--init", request.init),
                ("--remote", request.remote),
                ("--force", request.force),
            )
            if is_wanted
        )
    return tuple(options)


def _keep_changes(context: CallContext, submodule: Submodule) -> list[str]:
    """Keep a submodule's uncommitted changes as a commit in its own repository, which stays in place."""
    if submodule.state != "dirty":
        return []
    place = Path(context.workspace.root / submodule.path)
    commit = keep_working_tree(place, f"{KEPT_REFS}{context.call_id}", "Changes before they were discarded")
    context.warnings.append(f"what was not committed in {submodule.path} is kept there as commit {commit}")
    return [commit]


def _warn_of_removal(context: CallContext, submodule: Submodule) -> None:
    """Say what undo will not restore by itself."""
    if submodule.checked_out is None:
        return
    name = printable_name(submodule.path)
    context.warnings.append(f"undo brings {name} back as a submodule; its files come with git_submodule action=update")
    ignored = ignored_paths(Path(context.workspace.root / submodule.path))
    if ignored:
        shown = ", ".join(printable_name(one) for one in ignored[:_SHOWN])
        context.warnings.append(f"ignored files of {name} go with it: {shown}{' …' * (len(ignored) > _SHOWN)}")


def _info(submodule: Submodule) -> SubmoduleInfo:
    return SubmoduleInfo(
        path=printable_name(submodule.path),
        name=printable_name(submodule.name) if submodule.name is not None else None,
        url=submodule.url,
        branch=submodule.branch,
        recorded=submodule.recorded,
        checked_out=submodule.checked_out,
        state=submodule.state,
    )


def _render(result: GitSubmoduleResult) -> str:
    lines = []
    for one in result.submodules:
        commits = (one.recorded or "nothing")[:12]
        if one.state == "moved":
            commits += f", {(one.checked_out or '')[:12]} is checked out"
        lines.append(f"{one.path} {one.state} {commits} {one.url or ''}".rstrip())
    lines = lines or ["There is no submodule."]
    return "\n".join([*lines, *render_delta(result.delta)])


GIT_SUBMODULE = Operation(
    name=NAME,
    family="git",
    summary="List, initialise, update, sync, add, deinitialise or remove submodules.",
    request_type=GitSubmoduleRequest,
    result_type=GitSubmoduleResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    when_to_use=("Files of a submodule are missing: update.", "You add or remove a nested repository."),
    when_not_to_use=("You want to commit inside a submodule: run cpl there.",),
    examples=(
        Example("Check out what is recorded", {"action": "update", "recursive": True}),
        Example("Add one", {"action": "add", "url": "https://example.com/library.git", "paths": "vendor/library"}),
    ),
    is_dry_run=lambda request: request.action in _READING,
    snapshots=True,
    complete=add_delta,
    reaches_network=True,
    git_hooks=CHECKOUT_HOOKS,
)
