"""`git_history`: which commits changed a file, across renames, or some of its lines."""

from typing import Any, ClassVar, Final

from pydantic import Field, ValidationInfo, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.git.commit_graph import NO_GRAPH
from codeplane.git.history import (
    FileQuery,
    LineChange,
    LineQuery,
    LogQuery,
    PathChange,
    read_file_history,
    read_line_history,
    read_log,
    resolve_revisions,
)
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.commits import CommitEntry, commit_fields, render_commit
from codeplane.operations.cursors import make_cursor, read_cursor
from codeplane.operations.history_access import path_unknown
from codeplane.operations.line_ranges import LineRange, lines_in_path
from codeplane.operations.models import PATH_ALIASES, Pagination, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation
from codeplane.workspace.workspace import Workspace

NAME = "git_history"
_OID_LENGTHS: Final = frozenset({40, 64})


class GitHistoryRequest(Request):
    """Which file or lines."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "path": PATH_ALIASES,
        "line_range": ("lines", "range"),
        "limit": ("max_count", "n", "count"),
        "ref": ("revision", "rev", "branch"),
    }
    path: PathText | None = Field(None, description="A file or directory, or `a.py:10-20`; default everything.")
    line_range: LineRange | None = Field(None, description="First and last line, such as [10, 20] or `10-20`.")
    ref: str = Field("HEAD", min_length=1, max_length=500, description="Where to start.")
    follow: bool = Field(True, description="Go on under the name a file had before a rename.")
    stats: bool = Field(False, description="Count the lines each commit added and removed; takes longer.")
    limit: int = Field(20, ge=1, le=200)
    cursor: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _lines_in_path(cls, data: Any, info: ValidationInfo) -> Any:
        return lines_in_path(data, info)

    @model_validator(mode="after")
    def _lines_of_a_file(self) -> "GitHistoryRequest":
        if self.line_range is not None and self.path is None and self.cursor is None:
            raise ValueError("`line_range` needs a `path`")
        return self


class HistoryEntry(CommitEntry):
    """A commit and what it did to the file; for lines, where they stand after it."""

    path: str | None = None
    status: str | None = None
    old_path: str | None = None
    insertions: int | None = None
    deletions: int | None = None
    line_range: tuple[int, int] | None = None


class GitHistoryResult(Result):
    """The commits that changed it, newest first."""

    path: str | None = None
    line_range: tuple[int, int] | None = None
    commits: list[HistoryEntry]
    why_empty: str | None = None
    pagination: Pagination


def _effects(_workspace: Workspace, request: GitHistoryRequest) -> Effects:
    return Effects(reads=(RepoPath.parse(request.path),) if request.path is not None else ())


def _handle(context: CallContext, request: GitHistoryRequest) -> GitHistoryResult:
    repository = context.workspace.repository
    state = _first(context, request) if request.cursor is None else _continued(context, request)
    path = RepoPath.parse(state["path"]) if state["path"] is not None else None
    limit, skip, revision = state["limit"] + 1, state["skip"], state["revision"]
    lines: tuple[int, int] | None = tuple(state["lines"]) if state["lines"] else None
    entries: list[HistoryEntry]
    graph = context.workspace.history_graph() if path is not None else NO_GRAPH
    if path is None or path == RepoPath.ROOT:
        query = LogQuery((revision,), limit, skip)
        entries = [HistoryEntry(**commit_fields(one)) for one in read_log(repository, query)]
    elif lines is not None:
        found = read_line_history(repository, LineQuery(revision, path, lines, limit, skip), graph)
        entries = [_line_entry(change) for change in found]
    else:
        file_query = FileQuery(revision, path, limit, skip, state["follow"], state["stats"])
        entries = [_path_entry(change) for change in read_file_history(repository, file_query, graph)]
    if not entries and request.cursor is None and path is not None:
        raise path_unknown(context.workspace, path, f"No commit up to {revision[:12]} touches {path}.")
    has_more = len(entries) == limit
    rest = {**state, "skip": skip + limit - 1}
    return GitHistoryResult(
        path=path.text if path is not None else None,
        line_range=lines,
        commits=entries[: limit - 1],
        why_empty=None if entries else "There is nothing after the last page.",
        pagination=Pagination(next_cursor=make_cursor(context.workspace, NAME, rest) if has_more else None),
    )


def _first(context: CallContext, request: GitHistoryRequest) -> dict[str, Any]:
    path = RepoPath.parse(request.path) if request.path is not None else None
    if ".." in request.ref:
        raise CodePlaneError("GIT_REF_INVALID", "A history starts at one commit, not at a range.")
    (revision,) = resolve_revisions(context.workspace.repository, request.ref)
    is_directory = path is not None and (context.workspace.root / path.text).is_dir()
    if request.line_range is not None and (is_directory or path == RepoPath.ROOT):
        raise CodePlaneError("NOT_A_FILE", f"{path} is a directory; it has no lines.")
    return {
        "revision": revision,
        "path": path.text if path is not None else None,
        "lines": list(request.line_range) if request.line_range is not None else None,
        # Git follows single files only.
        "follow": request.follow and not is_directory,
        "stats": request.stats,
        "limit": request.limit,
        "skip": 0,
    }


def _continued(context: CallContext, request: GitHistoryRequest) -> dict[str, Any]:
    state: dict[str, Any] = read_cursor(context.workspace, NAME, request.cursor or "")
    try:
        revision, lines = state["revision"], state["lines"]
        is_sound = (
            revision.isalnum()
            and len(revision) in _OID_LENGTHS
            and isinstance(state["follow"], bool)
            and isinstance(state["stats"], bool)
        )
        is_sound = is_sound and (lines is None or (len(lines) == 2 and all(type(number) is int for number in lines)))
        if not is_sound or not (0 <= int(state["skip"]) < 10**9):
            raise CodePlaneError("CURSOR_INVALID")
        limit = request.limit if "limit" in request.model_fields_set else min(200, max(1, int(state["limit"])))
        return {**state, "limit": limit, "skip": int(state["skip"]), "path": state["path"]}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CodePlaneError("CURSOR_INVALID") from error


def _path_entry(change: PathChange) -> HistoryEntry:
    return HistoryEntry(
        **commit_fields(change.commit),
        path=printable_name(change.path),
        status=change.status,
        old_path=printable_name(change.old_path) if change.old_path is not None else None,
        insertions=change.insertions,
        deletions=change.deletions,
    )


def _line_entry(change: LineChange) -> HistoryEntry:
    return HistoryEntry(
        **commit_fields(change.commit),
        path=printable_name(change.path),
        insertions=change.insertions,
        deletions=change.deletions,
        line_range=(change.first, change.last),
    )


def _render(result: GitHistoryResult) -> str:
    lines = []
    known = result.path
    for entry in result.commits:
        text = render_commit(entry)
        if entry.insertions is not None:
            text += f" (+{entry.insertions} -{entry.deletions})"
        if entry.line_range is not None:
            text += f" lines {entry.line_range[0]}-{entry.line_range[1]}"
        if entry.old_path is not None:
            text += f" {entry.status} from {entry.old_path}"
        elif entry.path is not None and entry.path != known:
            text += f" in {entry.path}"
        known = entry.old_path or entry.path or known
        lines.append(text)
    lines = lines or [result.why_empty or "No commit."]
    if result.pagination.next_cursor:
        lines.append(f"more: cursor={result.pagination.next_cursor}")
    return "\n".join(lines)


GIT_HISTORY = Operation(
    name=NAME,
    family="git",
    summary="The commits that changed a file, across renames, or some of its lines.",
    request_type=GitHistoryRequest,
    result_type=GitHistoryResult,
    effect=EffectClass.READ,
    effects=_effects,
    handler=_handle,
    render=_render,
    when_to_use=("You want to know how a file or some lines came to be.",),
    when_not_to_use=("You want to know who wrote each line last: use git_inspect with action blame.",),
    examples=(
        Example("A file", {"path": "src/app.py"}),
        Example("Some lines of it", {"path": "src/app.py", "line_range": [10, 20]}),
    ),
)
