"""`git_commit`: commit what is staged, or some paths, or amend the last commit."""

import re
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted
from codeplane.git.commands import Conditions
from codeplane.git.committing import Author, WantedCommit, commit
from codeplane.git.programs import COMMIT_HOOKS
from codeplane.git.staging import differences, staged_paths, unstaged_paths, without_tracked
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.commit_trace import with_trailer
from codeplane.operations.git_change import GitDelta, add_delta, branch_in, render_delta
from codeplane.operations.git_paths import current_ref, known_paths, parsed_names
from codeplane.operations.models import PATH_ALIASES, Lenient, ListOfOne, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, Plan
from codeplane.workspace.workspace import Workspace

NAME = "git_commit"
MAX_MESSAGE = 30_000
MESSAGE_ALIASES = ("msg", "commit_message", "text")
_AUTHOR = re.compile(r"\s*(?P<name>[^<>\n\0]+?)\s*<(?P<email>[^<>\s\0]*)>\s*")


class CommitAuthor(Lenient):
    """Whose work it is, when it is not the caller's own."""

    name: str = Field(min_length=1, max_length=200, pattern=r"^[^<>\n\r\x00]*[^<>\s\x00.,:;\"'\\][^<>\n\r\x00]*$")
    email: str = Field(max_length=200, pattern=r"^[^<>\s\x00]+$")


def author_parts(value: Any) -> Any:
    """Return `Name <email>` as an object; anything else as it is."""
    match = _AUTHOR.fullmatch(value) if isinstance(value, str) else None
    return match.groupdict() if match is not None else value


AuthorArgument = Annotated[CommitAuthor, BeforeValidator(author_parts)]


def check_message(message: str | None) -> None:
    """Refuse what git would not take as a message.

    Raises:
        ValueError: it is blank or holds a NUL.
    """
    if message is not None and not message.strip():
        raise ValueError("the message is empty")
    if message is not None and "\0" in message:
        raise ValueError("the message contains a NUL")


class GitCommitRequest(Request):
    """What to commit, with which message."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "message": MESSAGE_ALIASES,
        "paths": ("path", "files", *PATH_ALIASES),
        "pre_commit": ("run_hooks", "hooks", "verify"),
    }
    message: str | None = Field(None, max_length=MAX_MESSAGE, description="Needed unless amend keeps the old one.")
    paths: Annotated[list[PathText], ListOfOne, Field(max_length=1000)] = Field(
        default_factory=list, description="Only these tracked paths, as they are on disk; default everything staged."
    )
    author: AuthorArgument | None = Field(None, description="{name, email} or `Name <email>`.")
    allow_empty: bool = False
    amend: bool = Field(False, description="Replace the last commit.")
    pre_commit: bool = Field(True, description="Run the pre-commit and commit-msg hooks.")

    @model_validator(mode="after")
    def _makes_sense(self) -> "GitCommitRequest":
        check_message(self.message)
        if self.message is None and not self.amend:
            raise ValueError("`message` is missing")
        return self


class GitCommitResult(Result):
    """The new commit."""

    oid: str
    short_oid: str
    amended: bool = False
    delta: GitDelta | None = None


def _plan(context: CallContext, request: GitCommitRequest) -> Plan[GitCommitResult]:
    workspace = context.workspace
    paths = _paths(workspace, request)
    found = differences(workspace.root)
    asked = found.under(paths)
    # Other staged files stay out of the commit, but hooks see and may change them.
    committed = parsed_names((*asked.staged, *asked.unstaged) if paths else found.staged)
    refs = (current_ref(workspace),)
    effects = Effects(writes=committed, staged=committed, git_refs=refs, destructive=request.amend)
    return Plan(lambda: _work(context, request, paths, frozenset(found.unstaged)), effects)


def _paths(workspace: Workspace, request: GitCommitRequest) -> tuple[RepoPath, ...]:
    paths = known_paths(workspace, request.paths)
    unknown = without_tracked(workspace.root, paths)
    if unknown:
        hint = "git_commit takes tracked paths only; git_stage_and_commit also takes new files."
        message = f"Git does not track `{unknown[0]}`."
        raise CodePlaneError("GIT_PATH_UNKNOWN", message, hint=hint, details={"path": unknown[0].text})
    return paths


def _work(
    context: CallContext, request: GitCommitRequest, paths: tuple[RepoPath, ...], changed_before: frozenset[str]
) -> GitCommitResult:
    workspace = context.workspace
    if not paths:
        # Another agent may have staged more since the plan; from here on git is ours.
        context.judge(staged_paths(workspace.root))
    wanted = WantedCommit(
        message=with_trailer(context, request.message),
        paths=paths,
        author=Author(request.author.name, request.author.email) if request.author is not None else None,
        allow_empty=request.allow_empty,
        amend=request.amend,
        runs_hooks=request.pre_commit,
    )
    try:
        made = commit(workspace.repository, wanted, Conditions(is_cancelled=context.is_cancelled))
    except CodePlaneError as error:
        raise _with_advice(workspace, error, changed_before) from error
    return GitCommitResult(oid=made.oid, short_oid=made.short_oid, amended=request.amend)


def _with_advice(workspace: Workspace, error: CodePlaneError, changed_before: frozenset[str]) -> CodePlaneError:
    """Return an error with what to do about it here."""
    hint = error.hint
    if error.code == "GIT_HOOK_FAILED":
        fixed = [name for name in unstaged_paths(workspace.root) if name not in changed_before]
        if fixed:
            hint = (
                f"The hook changed {', '.join(fixed[:5])}, which was rolled back;"
                " git_stage_and_commit with these paths commits the hook's version."
            )
    elif error.code == "GIT_NOTHING_TO_COMMIT":
        found = differences(workspace.root)
        n_others = len(found.unstaged) + len(found.untracked)
        if n_others:
            hint = f"Not staged: {counted(n_others, 'changed or untracked file')}. Use git_stage_and_commit with paths."
    return CodePlaneError(error.code, error.message, hint=hint, details=error.details)


def _render(result: GitCommitResult) -> str:
    branch = branch_in(result.delta)
    verb = "amended as" if result.amended else "committed"
    return "\n".join([f"{verb} {result.short_oid} on {branch}", *render_delta(result.delta)])


GIT_COMMIT = Operation(
    name=NAME,
    family="git",
    summary="Commit what is staged, or some paths; amend the last commit.",
    request_type=GitCommitRequest,
    result_type=GitCommitResult,
    effect=EffectClass.WRITE,
    plan=_plan,
    render=_render,
    when_to_use=("You want to commit what is staged.", "The last commit needs another message or content."),
    when_not_to_use=(
        "Nothing is staged yet: git_stage_and_commit does both.",
        "A merge, pick or rebase is in progress: git_merge or git_rebase with action continue.",
    ),
    examples=(
        Example("What is staged", {"message": "Parse empty input"}),
        Example("Two tracked files as they are", {"message": "Fix typos", "paths": ["README.md", "docs/guide.md"]}),
        Example("A new message for the last commit", {"message": "Parse empty input", "amend": True}),
    ),
    snapshots=True,
    complete=add_delta,
    git_hooks=COMMIT_HOOKS,
)
