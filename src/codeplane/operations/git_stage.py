"""`git_stage`: stage, unstage or discard changes."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.git.commands import Conditions
from codeplane.git.conflicts import marked_blocks, marker_sizes, unmerged_paths, working_bytes
from codeplane.git.programs import CHECKOUT_HOOKS
from codeplane.git.staging import (
    Differences,
    differences,
    discard,
    ignored_files,
    stage,
    unstage,
    without_tracked,
)
from codeplane.git.status import read_status
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.git_change import GitDelta, add_delta, render_delta
from codeplane.operations.git_paths import check_may_write, known_paths, parsed_names
from codeplane.operations.models import PATH_ALIASES, ListOfOne, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.workspace.workspace import Workspace

NAME = "git_stage"
_MAX_STAGED = 100
_SHOWN = 20


class GitStageRequest(Request):
    """The paths and the action."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "paths": ("path", "files", *PATH_ALIASES),
        "action": ("operation", "mode"),
        "all": ("everything", "all_files"),
        "allow_ignored": ("force",),
    }
    paths: Annotated[list[PathText], ListOfOne, Field(max_length=1000)] = Field(
        default_factory=list, description="Files or directories; deleted ones too."
    )
    action: Literal["stage", "unstage", "discard"] = Field(
        "stage", description="discard restores working files to the index or the last commit."
    )
    all: bool = Field(False, description="Everything instead of paths.")
    include_untracked: bool = Field(False, description="discard: also delete untracked files in the paths.")
    allow_ignored: bool = Field(False, description="stage: also files that git ignores.")

    @model_validator(mode="after")
    def _makes_sense(self) -> "GitStageRequest":
        if not self.paths and not self.all:
            raise ValueError("`paths` or `all: true` is needed")
        if self.paths and self.all:
            raise ValueError("give `paths` or `all`, not both")
        if self.include_untracked and self.action != "discard":
            raise ValueError("`include_untracked` is for discard; stage takes untracked files anyway")
        return self


class StagedFile(Result):
    """A file whose staged content differs from HEAD."""

    path: str
    status: str
    old_path: str | None = None


class GitStageResult(Result):
    """What is staged now."""

    action: Literal["stage", "unstage", "discard"]
    staged: list[StagedFile]
    staged_omitted: int = 0
    not_staged_count: int = Field(description="Tracked files with changes that are not staged.")
    untracked_count: int = Field(description="Untracked files and directories.")
    conflicts: list[str] = Field(default_factory=list, description="Paths that are still in conflict.")
    delta: GitDelta | None = None


def _plan(context: CallContext, request: GitStageRequest) -> Plan[GitStageResult]:
    workspace = context.workspace
    paths = known_paths(workspace, request.paths)
    found = differences(workspace.root, paths)
    _check_paths(workspace, request, paths, found)
    return Plan(lambda: _work(context, request, paths), _effects(workspace, request, paths, found))


def _check_paths(
    workspace: Workspace, request: GitStageRequest, paths: tuple[RepoPath, ...], found: Differences
) -> None:
    """Refuse paths on which the action has no effect."""
    if request.action == "unstage":
        known = {*found.staged}
        unknown = [path for path in without_tracked(workspace.root, paths) if not _holds(path, known)]
        if unknown:
            raise CodePlaneError("GIT_PATH_UNKNOWN", f"Nothing of `{unknown[0]}` is staged: git does not track it.")
    if request.action == "discard" and not request.include_untracked:
        unknown = list(without_tracked(workspace.root, paths))
        if unknown:
            message = f"Git does not track `{unknown[0]}`, so there is no version to restore."
            hint = "Send `include_untracked: true` to delete untracked files."
            raise CodePlaneError("GIT_PATH_UNKNOWN", message, hint=hint, details={"path": unknown[0].text})


def _holds(path: RepoPath, names: set[str]) -> bool:
    return any(name == path.text or name.startswith(f"{path.text}/") for name in names)


def _effects(
    workspace: Workspace, request: GitStageRequest, paths: tuple[RepoPath, ...], found: Differences
) -> Effects:
    if request.action == "unstage":
        return Effects(staged=parsed_names(found.staged))
    if request.action == "stage":
        ignored = ignored_files(workspace.root, paths) if request.allow_ignored else ()
        return Effects(staged=parsed_names((*found.unstaged, *found.untracked, *ignored)))
    writes = parsed_names(found.unstaged)
    deletes = parsed_names(found.untracked) if request.include_untracked else ()
    check_may_write(workspace, (*writes, *deletes))
    return Effects(writes=writes, deletes=deletes, destructive=True)


def _work(context: CallContext, request: GitStageRequest, paths: tuple[RepoPath, ...]) -> GitStageResult:
    workspace = context.workspace
    root = workspace.root
    conditions = Conditions(is_cancelled=context.is_cancelled)
    if request.action == "stage":
        context.warnings.extend(_left_marks(workspace, paths))
        stage(root, paths, conditions, allow_ignored=request.allow_ignored)
    elif request.action == "unstage":
        unstage(root, paths, conditions)
    else:
        discard(root, paths, conditions, include_untracked=request.include_untracked)
    status = read_status(workspace.repository)
    return GitStageResult(
        action=request.action,
        staged=[
            StagedFile(
                path=printable_name(one.path),
                status=one.status,
                old_path=printable_name(one.old_path) if one.old_path is not None else None,
            )
            for one in status.staged[:_MAX_STAGED]
        ],
        staged_omitted=max(0, len(status.staged) - _MAX_STAGED),
        not_staged_count=len(status.modified),
        untracked_count=len(status.untracked),
        conflicts=[printable_name(one.path) for one in status.conflicts],
    )


def _left_marks(workspace: Workspace, paths: tuple[RepoPath, ...]) -> list[str]:
    """Return warnings about conflicted files that are staged with their markers."""
    meant = [
        one.path
        for one in unmerged_paths(workspace.root)
        if not paths or any(path == RepoPath.ROOT or _holds(path, {one.path}) for path in paths)
    ]
    if not meant:
        return []
    found = []
    for name, size in marker_sizes(workspace.root, meant).items():
        blocks = marked_blocks(working_bytes(workspace.root, name) or b"", size)
        if blocks:
            lines = ", ".join(f"{block.start_line}-{block.end_line}" for block in blocks[:5])
            found.append(f"{printable_name(name)} was staged with conflict markers at lines {lines}")
    return found


def _render(result: GitStageResult) -> str:
    total = len(result.staged) + result.staged_omitted
    names = ", ".join(f"{one.path} {one.status}" for one in result.staged[:_SHOWN])
    more = f" and {total - _SHOWN} more" if total > _SHOWN else ""
    lines = [f"staged: {names}{more}" if total else "Nothing is staged."]
    rest = [
        f"{count} {words}"
        for count, words in (
            (result.not_staged_count, "changed but not staged"),
            (result.untracked_count, "untracked"),
            (len(result.conflicts), "in conflict"),
        )
        if count
    ]
    if rest:
        lines.append(" also: " + ", ".join(rest))
    # The staged files are listed above; the delta adds only changes of working files.
    if result.action == "discard":
        lines.extend(render_delta(result.delta))
    return "\n".join(lines)


GIT_STAGE = Operation(
    name=NAME,
    family="git",
    summary="Stage, unstage or discard file changes.",
    request_type=GitStageRequest,
    result_type=GitStageResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    when_to_use=(
        "You want to choose what the next git_commit includes.",
        "You resolved a conflict: staging marks it resolved.",
        "You want to discard working-file changes: action discard; undo restores them.",
    ),
    when_not_to_use=("You want to commit the paths at once: use git_stage_and_commit.",),
    examples=(
        Example("Stage two files", {"paths": ["src/app.py", "docs/guide.md"]}),
        Example("Stage everything, deletions too", {"all": True}),
        Example("Discard the changes of a file", {"paths": ["src/app.py"], "action": "discard"}),
    ),
    snapshots=True,
    complete=add_delta,
    git_hooks=CHECKOUT_HOOKS,
)
