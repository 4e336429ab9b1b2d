"""`git_history`: which commits changed a file, across renames, or some of its lines."""

from typing import Any, ClassVar, Final

from pydantic import Field, ValidationInfo, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
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
from codeplane.operations.history_access import path_unknown
from codeplane.operations.line_ranges import LineRange, lines_in_path
from codeplane.operations.models import PATH_ALIASES, Pagination, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned
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
    follow: bool = Field(True, description="Follow the file across renames.")
    stats: bool = Field(False, description="Count the lines each commit added and removed; takes longer.")
    limit: int = Field(20, ge=1, le=200)
    cursor: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _lines_in_path(cls, data: Any, info: ValidationInfo) -> Any:
        return lines_in_path(data, info)

    @model_validator(mode="after")
    def _lines_of_a_file(self) -> "GitHistoryRequest":
        if self.line_range is not None and self.path is None:
            raise ValueError("`line_range` needs a `path`")
        return self


class HistoryEntry(CommitEntry):
    """A commit and what it did to the file; for lines, their position after it."""

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
    path = RepoPath.parse(request.path) if request.path is not None else None
    position, lines, limit = context.position, request.line_range, request.limit + 1
    skip = position.number("skip") if position is not None else 0
    revision = position.oid("revision") if position is not None else _start(context, request)
    is_directory = path is not None and (context.workspace.root / path.text).is_dir()
    if lines is not None and (is_directory or path == RepoPath.ROOT):
        raise CodePlaneError("NOT_A_FILE", f"{path} is a directory; it has no lines.")
    entries: list[HistoryEntry]
    if path is None or path == RepoPath.ROOT:
        query = LogQuery((revision,), limit, skip)
        entries = [HistoryEntry(**commit_fields(one)) for one in read_log(repository, query)]
    elif lines is not None:
        found = read_line_history(repository, LineQuery(revision, path, lines, limit, skip))
        entries = [_line_entry(change) for change in found]
    else:
        # Git follows single files only.
        file_query = FileQuery(revision, path, limit, skip, request.follow and not is_directory, request.stats)
        entries = [_path_entry(change) for change in read_file_history(repository, file_query)]
    if not entries and request.cursor is None and path is not None:
        raise path_unknown(context.workspace, path, f"No commit up to {revision[:12]} touches {path}.")
    has_more = len(entries) == limit
    rest = {"revision": revision, "skip": skip + limit - 1}
    return GitHistoryResult(
        path=path.text if path is not None else None,
        line_range=lines,
        commits=entries[: limit - 1],
        why_empty=None if entries else "There are no more results after the last page.",
        pagination=Pagination(next_cursor=context.next_page(rest) if has_more else None),
    )


def _start(context: CallContext, request: GitHistoryRequest) -> str:
    if ".." in request.ref:
        raise CodePlaneError("GIT_REF_INVALID", "A history starts at one commit, not at a range.")
    return resolve_revisions(context.workspace.repository, request.ref)[0]


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
    plan=planned(_handle, _effects),
    render=_render,
    when_to_use=("You want to know how a file or some lines evolved.",),
    when_not_to_use=("You want to know who wrote each line last: use git_inspect with action blame.",),
    examples=(
        Example("A file", {"path": "src/app.py"}),
        Example("Some lines of it", {"path": "src/app.py", "line_range": [10, 20]}),
    ),
)
