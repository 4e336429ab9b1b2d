"""`git_stash`: stash changes, restore, list and drop them."""

import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted, printable_name
from codeplane.git.commands import Conditions
from codeplane.git.staging import differences
from codeplane.git.stashes import (
    Stash,
    StashedFile,
    WantedStash,
    apply_stash,
    clear_stashes,
    drop_stash,
    files_of,
    find_stash,
    list_stashes,
    push_stash,
)
from codeplane.git.switching import names_between
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.git_change import GitDelta, add_delta, render_delta
from codeplane.operations.git_conflicts import (
    ConflictedFile,
    conflicted_files,
    conflicts_omitted,
    next_calls,
    render_conflicts,
)
from codeplane.operations.git_paths import check_may_write, known_paths, parsed_names
from codeplane.operations.models import PATH_ALIASES, ListOfOne, Pagination, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan

NAME = "git_stash"
Action = Literal["push", "pop", "apply", "list", "show", "drop", "clear"]
_READING = frozenset({"list", "show"})
_MAX_FILES = 200
_SHOWN = 20
_NAME_FORM = re.compile(r"\s*(?:refs/)?stash@\{(\d{1,6})\}\s*")


def _number(value: Any) -> Any:
    """Return the number of `stash@{2}`; anything else as it is."""
    match = _NAME_FORM.fullmatch(value) if isinstance(value, str) else None
    return int(match[1]) if match is not None else value


class GitStashRequest(Request):
    """What to do with which stash."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "action": ("operation",),
        "index": ("ref", "stash", "number", "stash_index"),
        "include_untracked": ("untracked",),
        "paths": ("path", "files", *PATH_ALIASES),
        "with_index": ("restore_index", "reinstate_index"),
    }
    action: Action = "list"
    index: Annotated[int, BeforeValidator(_number)] = Field(0, ge=0, description="Which; 0 is the newest.")
    message: str | None = Field(None, min_length=1, max_length=5_000)
    paths: Annotated[list[PathText], ListOfOne, Field(max_length=1000)] = Field(
        default_factory=list, description="push: only these."
    )
    include_untracked: bool = Field(False, description="push: also untracked files.")
    keep_index: bool = Field(False, description="push: keep staged changes in place.")
    staged: bool = Field(False, description="push: only staged changes.")
    with_index: bool = Field(False, description="pop, apply: restore the staged state too.")
    limit: int = Field(20, ge=1, le=100)
    cursor: str | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> "GitStashRequest":
        if self.action != "push" and (self.message is not None or self.paths):
            raise ValueError("`message` and `paths` are for push")
        if self.message is not None and "\0" in self.message:
            raise ValueError("the message contains a NUL")
        if self.staged and (self.include_untracked or self.keep_index):
            raise ValueError("`staged` goes with neither `include_untracked` nor `keep_index`")
        return self


class StashInfo(Result):
    """One stash."""

    index: int
    oid: str
    message: str
    time: str
    has_untracked: bool = False


class StashedFileInfo(Result):
    """A file of a stash."""

    path: str
    insertions: int
    deletions: int
    binary: bool = False
    untracked: bool = False


class GitStashResult(Result):
    """The stashes, or the outcome."""

    action: Action
    success: bool = True
    stashes: list[StashInfo] = Field(default_factory=list)
    total: int = 0
    pagination: Pagination | None = None
    files: list[StashedFileInfo] = Field(default_factory=list, description="show: what is in it.")
    files_omitted: int = 0
    conflicts: list[ConflictedFile] = Field(default_factory=list)
    conflicts_omitted: int = 0
    next: list[str] = Field(default_factory=list)
    delta: GitDelta | None = None


def _plan(context: CallContext, request: GitStashRequest) -> Plan[GitStashResult]:
    root = context.workspace.root
    if request.action == "list":
        return Plan(lambda: _listed(context, request))
    if request.action == "push":
        return _plan_push(context, request)
    if request.action == "clear":
        return Plan(lambda: _cleared(context, request), Effects(git_refs=("refs/stash",), destructive=True))
    stash = find_stash(root, request.index)
    if request.action == "show":
        return Plan(lambda: _show_result(stash, files_of(root, stash)))
    writes: tuple[RepoPath, ...] = ()
    if request.action != "drop":
        writes = parsed_names(_written(root, stash, with_index=request.with_index))
        check_may_write(context.workspace, writes)
    effects = Effects(writes=writes, git_refs=("refs/stash",), destructive=request.action != "apply")
    return Plan(lambda: _used(context, request, stash), effects)


def _plan_push(context: CallContext, request: GitStashRequest) -> Plan[GitStashResult]:
    workspace = context.workspace
    paths = known_paths(workspace, request.paths)
    found = differences(workspace.root, paths)
    names = [*found.staged, *found.unstaged, *(found.untracked if request.include_untracked else ())]
    writes = parsed_names(names)
    check_may_write(workspace, writes)
    wanted = WantedStash(request.message, paths, request.include_untracked, request.keep_index, request.staged)

    def work() -> GitStashResult:
        if not push_stash(workspace.root, wanted, Conditions(is_cancelled=context.is_cancelled)):
            message = "Nothing to stash."
            hint = "Set `include_untracked` to stash untracked files too."
            raise CodePlaneError("GIT_NOTHING_TO_COMMIT", message, hint=hint)
        return _done(context, request)

    return Plan(work, Effects(writes=writes, git_refs=("refs/stash",), destructive=True))


def _written(root: Path, stash: Stash, *, with_index: bool) -> list[str]:
    """Return the files that applying a stash writes; staged content may differ from the files."""
    staged = names_between(root, f"{stash.oid}^1", f"{stash.oid}^2") if with_index else ()
    return [*(one.path for one in files_of(root, stash)), *staged]


def _cleared(context: CallContext, request: GitStashRequest) -> GitStashResult:
    clear_stashes(context.workspace.root, Conditions(is_cancelled=context.is_cancelled))
    return _done(context, request)


def _used(context: CallContext, request: GitStashRequest, stash: Stash) -> GitStashResult:
    """Drop, pop or apply a stash."""
    root, conditions = context.workspace.root, Conditions(is_cancelled=context.is_cancelled)
    if request.action == "drop":
        drop_stash(root, stash, conditions)
        return _done(context, request)
    is_done = apply_stash(root, stash, conditions, drop=request.action == "pop", with_index=request.with_index)
    return _done(context, request, is_done=is_done)


def _done(context: CallContext, request: GitStashRequest, *, is_done: bool = True) -> GitStashResult:
    workspace = context.workspace
    conflicts = conflicted_files(workspace) if not is_done else []
    following = next_calls("none", conflicts) if conflicts else []
    if not is_done and request.action == "pop":
        following.append(f"git_stash action=drop index={request.index}: the stash was kept because of the conflicts")
    stashes = list_stashes(workspace.root)
    return GitStashResult(
        action=request.action,
        success=is_done,
        stashes=[_info(one) for one in stashes[: request.limit]],
        total=len(stashes),
        conflicts=conflicts,
        conflicts_omitted=conflicts_omitted(workspace, conflicts),
        next=following,
    )


def _listed(context: CallContext, request: GitStashRequest) -> GitStashResult:
    workspace = context.workspace
    stashes = list_stashes(workspace.root)
    first = 0
    if context.position is not None:
        last = context.position.oid("oid")
        first = next((number + 1 for number, one in enumerate(stashes) if one.oid == last), -1)
        if first < 0:
            raise CodePlaneError("CURSOR_EXPIRED", "The stash at the end of the last page is gone.")
    shown = stashes[first : first + request.limit]
    has_more = first + len(shown) < len(stashes)
    cursor = context.next_page({"oid": shown[-1].oid}) if has_more else None
    return GitStashResult(
        action="list",
        stashes=[_info(one) for one in shown],
        total=len(stashes),
        pagination=Pagination(next_cursor=cursor, total_estimate=len(stashes)),
    )


def _show_result(stash: Stash, files: list[StashedFile]) -> GitStashResult:
    return GitStashResult(
        action="show",
        stashes=[_info(stash)],
        total=1,
        files=[
            StashedFileInfo(
                path=printable_name(one.path),
                insertions=one.insertions,
                deletions=one.deletions,
                binary=one.is_binary,
                untracked=one.is_untracked,
            )
            for one in files[:_MAX_FILES]
        ],
        files_omitted=max(0, len(files) - _MAX_FILES),
    )


def _info(stash: Stash) -> StashInfo:
    return StashInfo(
        index=stash.number,
        oid=stash.oid,
        message=printable_name(stash.message),
        time=stash.time,
        has_untracked=stash.has_untracked,
    )


def _render(result: GitStashResult) -> str:
    lines = [f"{one.index}: {one.message} ({one.time})" for one in result.stashes[:_SHOWN]]
    if result.action == "show":
        lines.extend(
            f" {one.path} +{one.insertions} -{one.deletions}{' untracked' if one.untracked else ''}"
            for one in result.files[:_SHOWN]
        )
        rest = len(result.files) - _SHOWN + result.files_omitted
        return "\n".join([*lines, *([f" and {rest} more"] if rest > 0 else [])])
    if result.pagination is not None and result.pagination.next_cursor is not None:
        lines.append(f"{len(result.stashes)} of {result.total}; cursor={result.pagination.next_cursor}")
    if result.delta is None:
        return "\n".join(lines) or "There is no stash."
    head = {"push": "stashed", "pop": "popped", "apply": "applied and kept"}.get(result.action, "dropped")
    if not result.success:
        head = f"{counted(len(result.conflicts), 'file')} in conflict"
    report = [*render_conflicts(result.conflicts, result.conflicts_omitted), *(f" next: {one}" for one in result.next)]
    count = f"{result.total} stash{'es' * (result.total != 1)} left" if result.total else "no stash left"
    return "\n".join([f"{head}; {count}", *report, *render_delta(result.delta)])


GIT_STASH = Operation(
    name=NAME,
    family="git",
    summary="Stash changes and restore them; list, show or drop stashes.",
    request_type=GitStashRequest,
    result_type=GitStashResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    when_to_use=("Changes are in the way of a checkout, pull or rebase.",),
    when_not_to_use=("You only want a backup: every change can be undone anyway.",),
    examples=(
        Example("Stash everything", {"action": "push", "message": "half done", "include_untracked": True}),
        Example("Pop the newest", {"action": "pop"}),
    ),
    is_dry_run=lambda request: request.action in _READING,
    snapshots=True,
    complete=add_delta,
)
