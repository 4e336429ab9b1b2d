"""`git_log`: commits, newest first, with filters; pages stay stable while new commits arrive."""

from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, field_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git.history import LogQuery, read_log, resolve_revisions
from codeplane.git.ref_names import names_of
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.commits import CommitEntry, entry_of, render_commit
from codeplane.operations.cursors import checked_oid
from codeplane.operations.models import PATH_ALIASES, ListOfOne, Pagination, PathText, Request, Result
from codeplane.operations.moments import parse_moment
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.workspace.workspace import Workspace

NAME = "git_log"
_OID_LENGTHS: Final = frozenset({40, 64})


class GitLogRequest(Request):
    """Which commits."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "ref": ("branch", "revision", "range", "rev", "start"),
        "limit": ("max_count", "n", "count"),
        "since": ("after",),
        "until": ("before",),
        "grep": ("message", "query", "search"),
        "paths": ("path", "files", *PATH_ALIASES),
    }
    ref: str = Field("HEAD", min_length=1, max_length=500, description="Where to start, or a range `a..b`.")
    limit: int = Field(50, ge=1, le=200)
    since: str | None = Field(None, max_length=60, description="ISO date, or such as `2 weeks ago`.")
    until: str | None = Field(None, max_length=60)
    paths: Annotated[list[PathText], ListOfOne, Field(max_length=500)] = Field(default_factory=list)
    author: str | None = Field(None, min_length=1, max_length=200, description="Part of name or e-mail.")
    grep: str | None = Field(None, min_length=1, max_length=200, description="Part of the message.")
    cursor: str | None = None

    @field_validator("author", "grep")
    @classmethod
    def _on_one_line(cls, value: str | None) -> str | None:
        # Git would take several lines for several patterns.
        if value is not None and any(character < " " for character in value):
            raise ValueError("one line of text")
        return value

    @field_validator("since", "until")
    @classmethod
    def _a_moment(cls, value: str | None) -> str | None:
        if value is not None:
            parse_moment(value, 0, is_end=False)
        return value


class GitLogResult(Result):
    """The commits."""

    commits: list[CommitEntry]
    why_empty: str | None = None
    pagination: Pagination


def _effects(_workspace: Workspace, request: GitLogRequest) -> Effects:
    return Effects(reads=tuple(RepoPath.parse(path) for path in request.paths), git_refs=(request.ref,))


def _handle(context: CallContext, request: GitLogRequest) -> GitLogResult:
    repository = context.workspace.repository
    try:
        query = _query(context, request)
    except CodePlaneError as error:
        if error.code != "GIT_NO_COMMITS":
            raise
        return GitLogResult(commits=[], why_empty="HEAD has no commit yet.", pagination=Pagination())
    commits = read_log(repository, query)
    has_more = len(commits) == query.limit
    shown = commits[: query.limit - 1]
    names = names_of(repository, [commit.oid for commit in shown]) if shown else {}
    return GitLogResult(
        commits=[entry_of(commit, names.get(commit.oid, ())) for commit in shown],
        why_empty=None if shown else _why_empty(request),
        pagination=Pagination(next_cursor=context.next_page(_rest(query)) if has_more else None),
    )


def _why_empty(request: GitLogRequest) -> str:
    return "There are no more results after the last page." if request.cursor is not None else "No commit matches."


def _query(context: CallContext, request: GitLogRequest) -> LogQuery:
    """Return what to ask git; commits and times stay those of the first page."""
    position, now_ms = context.position, context.workspace.clock.now_ms()
    if position is not None:
        revisions = tuple(checked_oid(one) for one in position.items("revisions"))
        since = position.text("since") if "since" in position else None
        until = position.text("until") if "until" in position else None
    else:
        revisions = resolve_revisions(context.workspace.repository, request.ref)
        since = parse_moment(request.since, now_ms, is_end=False) if request.since is not None else None
        until = parse_moment(request.until, now_ms, is_end=True) if request.until is not None else None
    return LogQuery(
        revisions=revisions,
        # One extra commit tells whether there is more.
        limit=request.limit + 1,
        skip=position.number("skip") if position is not None else 0,
        since=since,
        until=until,
        author=request.author,
        grep=request.grep,
        paths=tuple(RepoPath.parse(path) for path in request.paths),
    )


def _rest(query: LogQuery) -> dict[str, Any]:
    skip = query.skip + query.limit - 1
    return {"revisions": list(query.revisions), "skip": skip, "since": query.since, "until": query.until}


def _render(result: GitLogResult) -> str:
    lines = [render_commit(commit) for commit in result.commits] or [result.why_empty or "No commit."]
    if result.pagination.next_cursor:
        lines.append(f"more: cursor={result.pagination.next_cursor}")
    return "\n".join(lines)


GIT_LOG = Operation(
    name=NAME,
    family="git",
    summary="Commit history with filters by ref, date, path, author and message.",
    request_type=GitLogRequest,
    result_type=GitLogResult,
    effect=EffectClass.READ,
    plan=planned(_handle, _effects),
    render=_render,
    when_to_use=("You look for recent commits, or for commits by author, date, path or message.",),
    when_not_to_use=(
        "You want one file's history across renames: use git_history.",
        "You want one commit's changes: use git_inspect.",
    ),
    examples=(
        Example("The last ten commits", {"limit": 10}),
        Example("Commits of a branch that main lacks", {"ref": "main..feature"}),
        Example("Commits about a bug in one directory", {"grep": "overflow", "paths": ["src"], "since": "2026-01-01"}),
    ),
)
