"""`git_remote`: list, add, remove, rename and change remotes, and fetch from them."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import printable_name
from codeplane.git.commands import Conditions, check_name, must_change
from codeplane.git.remotes import (
    Remote,
    check_address,
    fetch,
    find_remote,
    list_remotes,
    local_path,
    place_of,
    places_of,
    refs_of_fetch,
)
from codeplane.git.repository import run_git
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.git_change import GitDelta, add_delta, render_delta
from codeplane.operations.models import ListOfOne, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.workspace.workspace import Workspace

NAME = "git_remote"
Action = Literal["list", "add", "remove", "rename", "set_url", "fetch"]
NETWORK_SECONDS = 120
MAX_SECONDS = 3_600


class GitRemoteRequest(Request):
    """What to do with which remote."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "name": ("remote", "remote_name", "old_name"),
        "refspecs": ("refspec", "refs", "branch", "branches"),
        "action": ("operation",),
    }
    action: Action = "list"
    name: str | None = Field(None, description="fetch: origin, or all remotes with `*`.")
    url: str | None = Field(None, max_length=4_000)
    new_name: str | None = None
    refspecs: Annotated[list[str], ListOfOne, Field(max_length=100)] = Field(
        default_factory=list, description="fetch: only these branches or refspecs."
    )
    prune: bool = Field(False, description="fetch: drop remote branches that no longer exist.")
    tags: bool | None = Field(None, description="fetch: all tags, or none; default those of fetched commits.")
    depth: int | None = Field(None, ge=1, description="fetch: limit the number of commits, for a shallow clone.")
    unshallow: bool = Field(False, description="fetch: the remaining history of a shallow clone.")
    timeout_seconds: int = Field(NETWORK_SECONDS, ge=1, le=MAX_SECONDS)

    @model_validator(mode="after")
    def _makes_sense(self) -> "GitRemoteRequest":
        if self.action in {"add", "remove", "rename", "set_url"} and self.name is None:
            raise ValueError(f"{self.action} needs `name`")
        if self.action in {"add", "set_url"} and self.url is None:
            raise ValueError(f"{self.action} needs `url`")
        if self.action == "rename" and self.new_name is None:
            raise ValueError("rename needs `new_name`")
        return self


class RemoteInfo(Result):
    """One remote; addresses are shown without passwords."""

    name: str
    urls: list[str]
    push_urls: list[str]


class GitRemoteResult(Result):
    """The remotes there are now, and what was done."""

    action: Action
    remotes: list[RemoteInfo]
    fetched: list[str] = Field(default_factory=list, description="Refs that were created, moved or deleted.")
    delta: GitDelta | None = None


def _plan(context: CallContext, request: GitRemoteRequest) -> Plan[GitRemoteResult]:
    workspace = context.workspace
    conditions = Conditions(is_cancelled=context.is_cancelled, timeout_seconds=request.timeout_seconds)
    if request.action == "list":
        return Plan(lambda: _result(workspace, request))
    if request.action == "fetch":
        remotes = _fetched_from(workspace, request)
        return Plan(lambda: _fetched(workspace, request, remotes, conditions), _effects(workspace, request, remotes))
    return Plan(lambda: _changed(workspace, request, conditions), _effects(workspace, request))


def _effects(workspace: Workspace, request: GitRemoteRequest, remotes: Sequence[Remote] = ()) -> Effects:
    root = workspace.root
    if request.action == "fetch":
        for one in request.refspecs:
            check_name(one.removeprefix("+"), "refspec")
        places = tuple(dict.fromkeys(place for one in remotes for place in places_of(root, one)))
        found = [refs_of_fetch(one.name, request.refspecs, has_tags=request.tags is not False) for one in remotes]
        refs = tuple(dict.fromkeys(ref for named, _ in found for ref in named))
        return Effects(git_refs=refs, network=places, destructive=any(is_forced for _, is_forced in found))
    name = request.name or ""
    if request.action in {"add", "rename"}:
        _check_new(workspace, request.new_name or "" if request.action == "rename" else name)
    if request.action != "add":
        find_remote(root, name)
    names = (name, request.new_name) if request.action == "rename" else (name,)
    refs = tuple(f"refs/remotes/{one}/*" for one in names)
    is_destructive = request.action in {"remove", "set_url"}
    if request.action not in {"add", "set_url"}:
        return Effects(git_refs=refs, destructive=is_destructive)
    url = check_address(request.url or "")
    path = local_path(root, url)
    return Effects(
        git_refs=refs,
        network=(place_of(root, url),),
        # A repository on this machine that is not a configured remote: git could read and write its content.
        foreign=(path,) if path is not None else (),
        destructive=is_destructive,
    )


def _check_new(workspace: Workspace, name: str) -> None:
    check_name(name, "remote")
    if any(one.name == name for one in list_remotes(workspace.root)):
        raise CodePlaneError("GIT_REF_EXISTS", f"The remote `{name}` exists already.", details={"remote": name})
    if run_git(workspace.root, "check-ref-format", f"refs/remotes/{name}/x").returncode != 0:
        raise CodePlaneError("GIT_REF_INVALID", f"`{name}` cannot be the name of a remote.", details={"remote": name})


def _fetched_from(workspace: Workspace, request: GitRemoteRequest) -> list[Remote]:
    remotes = list_remotes(workspace.root)
    if request.name == "*":
        return remotes
    if request.name is None and not remotes:
        raise CodePlaneError("GIT_REMOTE_UNKNOWN", "This repository has no remote.")
    default = "origin" if request.name is None and len(remotes) != 1 else remotes[0].name if remotes else "origin"
    return [find_remote(workspace.root, request.name or default)]


def _fetched(
    workspace: Workspace, request: GitRemoteRequest, remotes: Sequence[Remote], conditions: Conditions
) -> GitRemoteResult:
    place = None if request.name == "*" else remotes[0].name
    fetch(workspace.root, place, tuple(request.refspecs), conditions, _fetch_options(request))
    return _result(workspace, request)


def _changed(workspace: Workspace, request: GitRemoteRequest, conditions: Conditions) -> GitRemoteResult:
    name = request.name or ""
    words = {
        "add": ("add", name, request.url or ""),
        "set_url": ("set-url", name, request.url or ""),
        "rename": ("rename", name, request.new_name or ""),
        "remove": ("remove", name),
    }[request.action]
    must_change(workspace.root, "remote", *words, conditions=conditions)
    return _result(workspace, request)


def _result(workspace: Workspace, request: GitRemoteRequest) -> GitRemoteResult:
    remotes = [
        RemoteInfo(name=printable_name(one.name), urls=list(one.urls), push_urls=list(one.push_urls))
        for one in list_remotes(workspace.root)
    ]
    return GitRemoteResult(action=request.action, remotes=remotes)


def _complete(context: CallContext, result: GitRemoteResult) -> GitRemoteResult:
    result = add_delta(context, result)
    if result.action != "fetch" or result.delta is None:
        return result
    moved = [f"{one.ref} {(one.old or 'new')[:10]}..{(one.new or 'gone')[:10]}" for one in result.delta.refs]
    return result.model_copy(update={"fetched": moved})


def _fetch_options(request: GitRemoteRequest) -> tuple[str, ...]:
    options = ["--prune"] if request.prune else []
    if request.tags is not None:
        options.append("--tags" if request.tags else "--no-tags")
    if request.depth is not None:
        options.append(f"--depth={request.depth}")
    if request.unshallow:
        options.append("--unshallow")
    return tuple(options)


def _render(result: GitRemoteResult) -> str:
    if result.action == "fetch":
        omitted = result.delta.refs_omitted if result.delta is not None else 0
        more = [f" and {omitted} more"] if omitted else []
        return "\n".join([*result.fetched, *more]) or "Nothing new."
    lines = [f"{one.name} {', '.join(one.urls)}" for one in result.remotes]
    return "\n".join([*(lines or ["There is no remote."]), *render_delta(result.delta)])


GIT_REMOTE = Operation(
    name=NAME,
    family="git",
    summary="List, add, remove, rename or change remotes; fetch from them.",
    request_type=GitRemoteRequest,
    result_type=GitRemoteResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    when_to_use=("You need to see or change the remotes.", "You want to fetch."),
    when_not_to_use=("You want to fetch and merge: git_pull.",),
    examples=(
        Example("Fetch and prune", {"action": "fetch", "name": "origin", "prune": True}),
        Example("Add one", {"action": "add", "name": "fork", "url": "git@example.com:me/project.git"}),
    ),
    is_dry_run=lambda request: request.action == "list",
    snapshots=True,
    complete=_complete,
    reaches_network=True,
)
