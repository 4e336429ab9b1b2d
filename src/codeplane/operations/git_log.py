"""`git_log`: commits, newest first, with filters; pages stay put while new commits arrive."""

from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, field_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.git.commit_graph import NO_GRAPH
from codeplane.git.history import LogQuery, read_log, resolve_revisions
from codeplane.git.ref_names import names_of
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.commits import CommitEntry, entry_of, render_commit
from codeplane.operations.cursors import make_cursor, read_cursor
from codeplane.operations.models import PATH_ALIASES, ListOfOne, Pagination, PathText, Request, Result
from codeplane.operations.moments import parse_moment
from codeplane.operations.operation import CallContext, Example, Operation
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
    refs = (request.ref,) if request.cursor is None else ()
    return Effects(reads=tuple(RepoPath.parse(path) for path in request.paths), git_refs=refs)


def _handle(context: CallContext, request: GitLogRequest) -> GitLogResult:
    repository = context.workspace.repository
    try:
        query = _first(context, request) if request.cursor is None else _continued(context, request)
    except CodePlaneError as error:
        if error.code != "GIT_NO_COMMITS":
            raise
        return GitLogResult(commits=[], why_empty="HEAD has no commit yet.", pagination=Pagination())
    graph = NO_GRAPH if query.is_plain else context.workspace.history_graph()
    commits = read_log(repository, query, context.workspace.known_commits, graph)
    has_more = len(commits) == query.limit
    shown = commits[: query.limit - 1]
    names = names_of(repository, [commit.oid for commit in shown]) if shown else {}
    return GitLogResult(
        commits=[entry_of(commit, names.get(commit.oid, ())) for commit in shown],
        why_empty=None if shown else _why_empty(request),
        pagination=Pagination(next_cursor=_cursor(context, query) if has_more else None),
    )


def _why_empty(request: GitLogRequest) -> str:
    return "There is nothing after the last page." if request.cursor is not None else "No commit fits."


def _first(context: CallContext, request: GitLogRequest) -> LogQuery:
    now_ms = context.workspace.clock.now_ms()
    return LogQuery(
        revisions=resolve_revisions(context.workspace.repository, request.ref),
        # One more than asked for tells whether there is more.
        limit=request.limit + 1,
        since=parse_moment(request.since, now_ms, is_end=False) if request.since is not None else None,
        until=parse_moment(request.until, now_ms, is_end=True) if request.until is not None else None,
        author=request.author,
        grep=request.grep,
        paths=tuple(RepoPath.parse(path) for path in request.paths),
    )


def _cursor(context: CallContext, query: LogQuery) -> str:
    state = {
        "revisions": list(query.revisions),
        "skip": query.skip + query.limit - 1,
        "limit": query.limit - 1,
        "since": query.since,
        "until": query.until,
        "author": query.author,
        "grep": query.grep,
        "paths": [path.text for path in query.paths],
    }
    return make_cursor(context.workspace, NAME, {key: value for key, value in state.items() if value is not None})


def _continued(context: CallContext, request: GitLogRequest) -> LogQuery:
    state: dict[str, Any] = read_cursor(context.workspace, NAME, request.cursor or "")
    try:
        limit = request.limit if "limit" in request.model_fields_set else min(200, max(1, int(state["limit"])))
        texts = {name: _text(state.get(name)) for name in ("since", "until", "author", "grep")}
        return LogQuery(
            revisions=tuple(_oid(item) for item in state["revisions"]),
            limit=limit + 1,
            skip=max(0, int(state["skip"])),
            paths=tuple(RepoPath.parse(path) for path in state["paths"]),
            **texts,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CodePlaneError("CURSOR_INVALID") from error


def _text(value: Any) -> str | None:
    if value is not None and (not isinstance(value, str) or any(character < " " for character in value)):
        raise CodePlaneError("CURSOR_INVALID")
    return value


def _oid(value: Any) -> str:
    # A cursor can be made up; nothing in it may become an option.
    text = value.removeprefix("^") if isinstance(value, str) else ""
    if not (text.isalnum() and len(text) in _OID_LENGTHS):
        raise CodePlaneError("CURSOR_INVALID")
    return str(value)


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
    effects=_effects,
    handler=_handle,
    render=_render,
    when_to_use=("You look for recent commits, or for commits by author, date, path or message.",),
    when_not_to_use=(
        "You want one file's history across renames: use git_history.",
        "You want one commit's changes: use git_inspect.",
    ),
    examples=(
        Example("The last ten commits", {"limit": 10}),
        Example("What a branch has that main has not", {"ref": "main..feature"}),
        Example("Commits about a bug in one directory", {"grep": "overflow", "paths": ["src"], "since": "2026-01-01"}),
    ),
)
