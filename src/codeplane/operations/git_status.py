"""`git_status`: branch, what is staged, changed, untracked or in conflict, and what waits to be finished."""

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.git.status import ChangedPath, Status, SubmoduleState, read_status
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.history_access import path_unknown
from codeplane.operations.models import PATH_ALIASES, ListOfOne, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation
from codeplane.workspace.workspace import Workspace

NAME = "git_status"
_MOST_UNTRACKED: Final = 200
_MOST_CHANGED: Final = 1_000
_SHOWN: Final = 60
_STAGED_FIRST: Final = "Resolve what is in conflict and git_stage it, then "
_NEXT: Final = {
    "merge": _STAGED_FIRST + "git_merge action=continue; action=abort goes back to where it began.",
    "revert": _STAGED_FIRST + "git_merge action=continue; action=skip or abort also work.",
    "cherrypick": _STAGED_FIRST + "git_merge action=continue; action=skip or abort also work.",
    "rebase": _STAGED_FIRST + "git_rebase action=continue; action=skip or abort also work.",
    "bisect": "A person goes on with `git bisect good`, `bad` or `reset`.",
}
_NEXT_MAIL: Final = "A person goes on with `git am --continue` or `--abort`: mail is being applied."
_LETTERS: Final = {
    "modified": "M",
    "added": "A",
    "deleted": "D",
    "renamed": "R",
    "copied": "C",
    "type-changed": "T",
    "unmerged": "U",
}


class GitStatusRequest(Request):
    """Which part of the tree."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"paths": ("path", "files", *PATH_ALIASES)}
    paths: Annotated[list[PathText], ListOfOne, Field(max_length=500)] = Field(
        default_factory=list, description="Only below these."
    )


class SubmoduleChange(Result):
    """What differs in a submodule."""

    new_commit: bool
    modified: bool
    untracked: bool


class StagedFile(Result):
    """A change that the next commit will hold."""

    path: str
    status: str
    old_path: str | None = None
    old_mode: str | None = None
    new_mode: str | None = None
    submodule: SubmoduleChange | None = None


class ModifiedFile(StagedFile):
    """A change in the working tree that is not staged."""

    intent_to_add: bool | None = Field(None, description="Announced with `git add -N`; nothing of it is staged.")


class ConflictFile(Result):
    """A file with several versions in the index."""

    path: str
    kind: str
    ancestor_oid: str | None = None
    ours_oid: str | None = None
    theirs_oid: str | None = None


class GitStatusResult(Result):
    """The state of the working tree."""

    branch: str | None
    head_commit: str | None = Field(None, description="None before the first commit.")
    detached: bool
    is_clean: bool
    upstream: str | None = None
    ahead: int | None = None
    behind: int | None = None
    staged: list[StagedFile]
    modified: list[ModifiedFile]
    untracked: list[str] = Field(description="Directories end with `/`; ignored files are not listed.")
    conflicts: list[ConflictFile]
    staged_count: int
    modified_count: int
    untracked_count: int
    conflict_count: int
    stash_count: int
    state: Literal["none", "merge", "revert", "cherrypick", "rebase", "bisect"]
    rebasing_branch: str | None = None
    next_step: str | None = Field(None, description="What continues or aborts the state.")


def _effects(_workspace: Workspace, request: GitStatusRequest) -> Effects:
    return Effects(reads=tuple(RepoPath.parse(path) for path in request.paths))


def _handle(context: CallContext, request: GitStatusRequest) -> GitStatusResult:
    paths = tuple(RepoPath.parse(path) for path in request.paths)
    status = read_status(context.workspace.repository, paths)
    if paths and status.is_clean:
        check_known(context.workspace, paths)
    _tell_cuts(context, status)
    return status_result(status)


def check_known(workspace: Workspace, paths: tuple[RepoPath, ...]) -> None:
    """Refuse a path that neither git nor the working tree knows.

    Raises:
        CodePlaneError: GIT_PATH_UNKNOWN with the nearest names.
    """
    for path in paths:
        if path == RepoPath.ROOT or (workspace.root / path.text).exists() or (workspace.root / path.text).is_symlink():
            continue
        tracked = workspace.tracked()
        if path.text not in tracked.files and path.text not in tracked.directories:
            raise path_unknown(workspace, path, f"Neither git nor the working tree has {path}.")


def status_result(status: Status) -> GitStatusResult:
    """Return a status as an answer, long lists cut; the counts are of the whole."""
    next_step = _NEXT_MAIL if status.applies_mail else _NEXT.get(status.progress)
    return GitStatusResult.model_validate(
        {
            "branch": printable_name(status.branch) if status.branch is not None else None,
            "head_commit": status.head_commit,
            "detached": status.branch is None,
            "is_clean": status.is_clean,
            "upstream": printable_name(status.upstream) if status.upstream is not None else None,
            "ahead": status.ahead,
            "behind": status.behind,
            "staged": [StagedFile.model_validate(_changed(item)) for item in status.staged[:_MOST_CHANGED]],
            "modified": [
                ModifiedFile.model_validate(_changed(item) | {"intent_to_add": item.is_intent_to_add or None})
                for item in status.modified[:_MOST_CHANGED]
            ],
            "untracked": [printable_name(name) for name in status.untracked[:_MOST_UNTRACKED]],
            "conflicts": [
                ConflictFile(
                    path=printable_name(item.path),
                    kind=item.kind,
                    ancestor_oid=item.ancestor_oid,
                    ours_oid=item.ours_oid,
                    theirs_oid=item.theirs_oid,
                )
                for item in status.conflicts[:_MOST_CHANGED]
            ],
            "staged_count": len(status.staged),
            "modified_count": len(status.modified),
            "untracked_count": len(status.untracked),
            "conflict_count": len(status.conflicts),
            "stash_count": status.n_stashes,
            "state": status.progress,
            "rebasing_branch": printable_name(status.rebased_branch) if status.rebased_branch is not None else None,
            "next_step": next_step,
        }
    )


def _tell_cuts(context: CallContext, status: Status) -> None:
    lists = (
        ("staged", len(status.staged), _MOST_CHANGED),
        ("modified", len(status.modified), _MOST_CHANGED),
        ("conflicts", len(status.conflicts), _MOST_CHANGED),
        ("untracked", len(status.untracked), _MOST_UNTRACKED),
    )
    for name, n_found, most in lists:
        if n_found > most:
            context.incomplete.append(f"{most} of {n_found} {name} are listed; `paths` asks for a part of the tree")


def _changed(item: ChangedPath) -> dict[str, object]:
    return {
        "path": printable_name(item.path),
        "status": item.status,
        "old_path": printable_name(item.old_path) if item.old_path is not None else None,
        "old_mode": item.old_mode,
        "new_mode": item.new_mode,
        "submodule": _submodule(item.submodule) if item.submodule is not None else None,
    }


def _submodule(state: SubmoduleState) -> SubmoduleChange:
    return SubmoduleChange(new_commit=state.has_new_commit, modified=state.has_changes, untracked=state.has_untracked)


def _render(result: GitStatusResult) -> str:
    lines = [_headline(result)]
    if result.state != "none":
        branch = f" of {result.rebasing_branch}" if result.rebasing_branch else ""
        lines.append(f"{result.state} in progress{branch}. {result.next_step}")
    groups = (
        ("in conflict", [f"{item.path} ({item.kind})" for item in result.conflicts], result.conflict_count),
        ("staged", [_line(item) for item in result.staged], result.staged_count),
        ("not staged", [_line(item) for item in result.modified], result.modified_count),
        ("untracked", result.untracked, result.untracked_count),
    )
    for title, items, count in groups:
        if items:
            lines.append(f"{title}:")
            lines.extend(f"  {item}" for item in items[:_SHOWN])
            if count > _SHOWN:
                lines.append(f"  … {count - _SHOWN} more of {count}")
    if result.is_clean:
        lines.append("clean: nothing staged, changed or untracked")
    if result.stash_count:
        lines.append(f"stashes: {result.stash_count}")
    return "\n".join(lines)


def _headline(result: GitStatusResult) -> str:
    where = f"on {result.branch}" if result.branch is not None else "HEAD detached"
    commit = f" at {result.head_commit[:12]}" if result.head_commit else ", no commit yet"
    if result.upstream is None:
        return where + commit
    if result.ahead is None or result.behind is None:
        return f"{where}{commit}, upstream {result.upstream} is gone"
    return f"{where}{commit}, {result.upstream}: {result.ahead} ahead, {result.behind} behind"


def _line(item: StagedFile) -> str:
    text = f"{_LETTERS.get(item.status, '?')} {item.path}"
    if item.old_path:
        text += f" (from {item.old_path})"
    if item.old_mode:
        text += f" (mode {item.old_mode} -> {item.new_mode})"
    if item.submodule:
        parts = [name.replace("_", " ") for name, is_so in item.submodule.model_dump().items() if is_so]
        text += f" (submodule: {', '.join(parts) or 'changed'})"
    return text


GIT_STATUS = Operation(
    name=NAME,
    family="git",
    summary="Branch, staged, changed, untracked and conflicted files, and any unfinished merge or rebase.",
    request_type=GitStatusRequest,
    result_type=GitStatusResult,
    effect=EffectClass.READ,
    effects=_effects,
    handler=_handle,
    render=_render,
    when_to_use=("You want to know what is changed before a commit, merge or checkout.",),
    when_not_to_use=("You want to see the changed lines: use git_diff.",),
    examples=(Example("The whole repository", {}), Example("One directory", {"paths": ["src"]})),
    profiles=frozenset({"core"}),
)
