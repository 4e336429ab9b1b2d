"""`git_stage_and_commit`: stage paths and commit, atomically."""

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.git.commands import Conditions
from codeplane.git.committing import Author, CommitId, WantedCommit, commit
from codeplane.git.programs import COMMIT_HOOKS
from codeplane.git.staging import differences, stage, staged_paths, unstaged_paths
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.commit_trace import trace_to_commit, with_trailer
from codeplane.operations.git_change import GitDelta, add_delta, branch_in, render_delta
from codeplane.operations.git_commit import MAX_MESSAGE, MESSAGE_ALIASES, CommitAuthor, author_parts, check_message
from codeplane.operations.git_paths import current_ref, known_paths, parsed_names
from codeplane.operations.models import PATH_ALIASES, RARELY, ListOfOne, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.workspace.workspace import Workspace

NAME = "git_stage_and_commit"
_MAX_NAMED = 100
_SHOWN = 10


def _author_text(value: Any) -> Any:
    """Return an author as `Name <email>`, checked; the schema of this tool stays a plain text."""
    if value is None:
        return None
    author = CommitAuthor.model_validate(author_parts(value))
    return f"{author.name} <{author.email}>"


class GitStageAndCommitRequest(Request):
    """Which paths, and the message."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "message": MESSAGE_ALIASES,
        "paths": ("path", "files", *PATH_ALIASES),
        "pre_commit": ("run_hooks", "hooks", "verify"),
    }
    paths: Annotated[list[PathText], ListOfOne, Field(min_length=1, max_length=1000)] = Field(
        description="`.` for everything."
    )
    message: str | None = Field(None, max_length=MAX_MESSAGE)
    pre_commit: bool = Field(True, description="Run hooks.", json_schema_extra=RARELY)
    author: Annotated[str | None, BeforeValidator(_author_text)] = Field(
        None, description="`Name <email>`", json_schema_extra=RARELY
    )
    amend: bool = False

    @model_validator(mode="after")
    def _makes_sense(self) -> "GitStageAndCommitRequest":
        check_message(self.message)
        if self.message is None and not self.amend:
            raise ValueError("`message` is missing")
        return self


class GitStageAndCommitResult(Result):
    """The new commit."""

    oid: str
    short_oid: str
    amended: bool = False
    also_committed: list[str] = Field(
        default_factory=list, description="Paths that were already staged and are included."
    )
    also_committed_omitted: int = 0
    hook_changed: list[str] = Field(
        default_factory=list, description="Files that a hook rewrote; its version is what was committed."
    )
    delta: GitDelta | None = None


def _plan(context: CallContext, request: GitStageAndCommitRequest) -> Plan[GitStageAndCommitResult]:
    workspace = context.workspace
    paths = known_paths(workspace, request.paths)
    found = differences(workspace.root)
    asked = found.under(paths).all_paths
    others = [name for name in found.staged if name not in set(asked)]
    trace = trace_to_commit(found.unstaged)
    writes = parsed_names((*asked, *others))
    effects = Effects(writes=writes, staged=writes, git_refs=(current_ref(workspace),), destructive=request.amend)
    return Plan(lambda: _work(context, request, (paths, trace), frozenset(asked)), effects)


def _work(
    context: CallContext,
    request: GitStageAndCommitRequest,
    staged: tuple[tuple[RepoPath, ...], tuple[RepoPath, ...]],
    asked: frozenset[str],
) -> GitStageAndCommitResult:
    workspace = context.workspace
    conditions = Conditions(is_cancelled=context.is_cancelled)
    paths, trace = staged
    # Another agent may have staged or committed since the plan; from here on git is ours.
    others = [name for name in staged_paths(workspace.root) if name not in asked]
    context.judge(others)
    stage(workspace.root, (*paths, *trace), conditions)
    author = CommitAuthor.model_validate(author_parts(request.author)) if request.author is not None else None
    wanted = WantedCommit(
        message=with_trailer(context, request.message),
        author=Author(author.name, author.email) if author is not None else None,
        amend=request.amend,
        runs_hooks=request.pre_commit,
    )
    made, hook_changed = _commit(workspace, paths, wanted, conditions)
    return GitStageAndCommitResult(
        oid=made.oid,
        short_oid=made.short_oid,
        amended=request.amend,
        also_committed=[printable_name(name) for name in others[:_MAX_NAMED]],
        also_committed_omitted=max(0, len(others) - _MAX_NAMED),
        hook_changed=hook_changed,
    )


def _commit(
    workspace: Workspace, paths: tuple[RepoPath, ...], wanted: WantedCommit, conditions: Conditions
) -> tuple[CommitId, list[str]]:
    """Commit; if a hook fails because it fixed the files, stage its version and try once more.

    Otherwise its fixes would be rolled back with the failed call, and the next call would fail in the same way.
    """
    try:
        return commit(workspace.repository, wanted, conditions), []
    except CodePlaneError as error:
        if error.code == "GIT_NOTHING_TO_COMMIT":
            message = "Nothing under these paths differs from HEAD."
            raise CodePlaneError(error.code, message, hint="git_status shows what has changed.") from error
        mended = unstaged_paths(workspace.root, paths) if error.code == "GIT_HOOK_FAILED" else ()
        if not mended:
            raise
    stage(workspace.root, paths, conditions)
    return commit(workspace.repository, wanted, conditions), [printable_name(name) for name in mended]


def _render(result: GitStageAndCommitResult) -> str:
    branch = branch_in(result.delta)
    lines = [f"{'amended as' if result.amended else 'committed'} {result.short_oid} on {branch}"]
    if result.also_committed:
        rest = len(result.also_committed) + result.also_committed_omitted - _SHOWN
        more = f" and {rest} more" if rest > 0 else ""
        lines.append(f" was already staged and is included: {', '.join(result.also_committed[:_SHOWN])}{more}")
    if result.hook_changed:
        lines.append(f" a hook rewrote: {', '.join(result.hook_changed[:_SHOWN])}")
    return "\n".join([*lines, *render_delta(result.delta)])


GIT_STAGE_AND_COMMIT = Operation(
    name=NAME,
    family="git",
    summary="Stage paths (new and deleted files too) and commit, all or nothing.",
    request_type=GitStageAndCommitRequest,
    result_type=GitStageAndCommitResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    when_to_use=("Your changes are complete and you want to commit them.",),
    when_not_to_use=("You want to commit only what is already staged: use git_commit.",),
    examples=(
        Example("Two files", {"paths": ["src/app.py", "tests/test_app.py"], "message": "Parse empty input"}),
        Example("Everything", {"paths": ["."], "message": "Rename the reader"}),
    ),
    profiles=frozenset({"classic", "core"}),
    snapshots=True,
    complete=add_delta,
    git_hooks=COMMIT_HOOKS,
)
