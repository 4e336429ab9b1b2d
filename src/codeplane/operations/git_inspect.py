"""`git_inspect`: a commit, tag, tree or old file, blame, all tags, and a preview of a merge."""

from collections.abc import Callable
from typing import Any, ClassVar, Final

from pydantic import Field, ValidationInfo, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import printable_name
from codeplane.git.blame import BlamedLines, read_blame
from codeplane.git.contents import empty_tree_beside
from codeplane.git.differences import Comparison, Difference, read_difference
from codeplane.git.history import Commit, read_commit
from codeplane.git.inspection import (
    NamedObject,
    analyse_merge,
    find_in_tree,
    find_object,
    read_blob,
    read_tag_object,
    read_tags,
    read_tree,
)
from codeplane.git.ref_names import names_of
from codeplane.git.revisions import resolve
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.commits import entry_of, person_of
from codeplane.operations.cursors import Position
from codeplane.operations.file_access import check_readable
from codeplane.operations.history_access import check_history_readable, check_no_private_key, path_unknown
from codeplane.operations.inspection_answers import (
    Action,
    BlameHunk,
    FileAtRef,
    GitInspectResult,
    MergeForecast,
    TagDetail,
    TagEntry,
    TreeListing,
    render_inspection,
)
from codeplane.operations.line_ranges import LineRange, lines_in_path
from codeplane.operations.models import PATH_ALIASES, Pagination, PathText, Request
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.operations.patches import (
    LARGE_ROOM,
    DiffFile,
    PageSize,
    Place,
    file_of,
    page_of,
    stats_of,
)
from codeplane.operations.trace_lines import traced_lines
from codeplane.workspace.workspace import Workspace

NAME = "git_inspect"
_FILE_ROOM: Final = 7_500
_LIMITS: Final = {"show": 100, "blame": 100, "tags": 50, "merge_analysis": 100}
_SNIFFED: Final = 8_000


class GitInspectRequest(Request):
    """What to look at."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "ref": ("commit", "revision", "rev", "oid", "sha", "tag", "target", "branch"),
        "path": PATH_ALIASES,
        "line_range": ("lines", "range"),
        "diff": ("patch", "include_diff"),
    }
    action: Action = Field("show", description="show: a commit, tag, tree, or with `path` a file there.")
    ref: str | None = Field(None, min_length=1, max_length=500, description="Default HEAD; for blame the working tree.")
    path: PathText | None = Field(None, description="For blame, or a file or directory at `ref`.")
    line_range: LineRange | None = Field(None, description="First and last line, such as [10, 20] or `10-20`.")
    diff: bool = Field(False, description="With show: the commit's changed lines, limited to `path` if given.")
    limit: int | None = Field(None, ge=1, le=2000, description="Lines, entries, files or tags per answer.")
    cursor: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _lines_in_path(cls, data: Any, info: ValidationInfo) -> Any:
        return lines_in_path(data, info)

    @model_validator(mode="after")
    def _fits_the_action(self) -> "GitInspectRequest":
        if self.action == "blame" and self.path is None:
            raise ValueError("`blame` needs a `path`")
        if self.action == "merge_analysis" and self.ref is None:
            raise ValueError("`merge_analysis` needs a `ref`")
        return self


def _effects(_workspace: Workspace, request: GitInspectRequest) -> Effects:
    reads = (RepoPath.parse(request.path),) if request.path is not None else ()
    return Effects(reads=reads, git_refs=(request.ref,) if request.ref is not None else ())


def _handle(context: CallContext, request: GitInspectRequest) -> GitInspectResult:
    handlers: dict[str, Callable[[CallContext, GitInspectRequest], GitInspectResult]] = {
        "show": _show,
        "blame": _blame,
        "tags": _tags,
        "merge_analysis": _merge_analysis,
    }
    return handlers[request.action](context, request)


def _position(context: CallContext) -> Position:
    return context.position or Position({})


def _limit(request: GitInspectRequest) -> int:
    return request.limit or _LIMITS[request.action]


def _next(context: CallContext, **position: Any) -> Pagination:
    """Return the cursor of the next page."""
    return Pagination(next_cursor=context.next_page(position), total_estimate=None)


_LAST: Final = Pagination(next_cursor=None, total_estimate=None)


def _show(context: CallContext, request: GitInspectRequest) -> GitInspectResult:
    # The position names the object itself, so a moving ref does not shift the pages.
    position = _position(context)
    ref = position.oid("ref") if "ref" in position else request.ref or "HEAD"
    found = find_object(context.workspace.root, ref)
    path = RepoPath.parse(request.path) if request.path is not None else None
    if path is not None and not request.diff:
        return _show_path(context, request, found.oid, path)
    if found.kind == "tag":
        return _show_tag(context, request, found)
    if found.kind == "tree":
        return _show_tree(context, request, found.oid, found, RepoPath.ROOT)
    if found.kind == "blob":
        message = "That names a blob; give the commit as `ref` and the file as `path`."
        raise CodePlaneError("NOT_A_FILE", message)
    return _show_commit(context, request, found.oid, path)


def _show_commit(context: CallContext, request: GitInspectRequest, oid: str, path: RepoPath | None) -> GitInspectResult:
    repository = context.workspace.repository
    commit = read_commit(repository, oid)
    base = commit.parents[0] if commit.parents else empty_tree_beside(commit.oid)
    comparison = Comparison(base, commit.oid, paths=(path,) if path is not None else ())
    difference = read_difference(repository.root, comparison)
    files, pagination = _files_of(context, request, oid, difference)
    return GitInspectResult(
        action="show",
        ref=request.ref,
        oid=commit.oid,
        type="commit",
        commit=entry_of(commit, names_of(repository, [commit.oid]).get(commit.oid, ()), longest_body=None),
        compared=_compared(commit),
        files=files,
        stats=stats_of(difference),
        pagination=pagination,
    )


def _files_of(
    context: CallContext, request: GitInspectRequest, oid: str, difference: Difference
) -> tuple[list[DiffFile], Pagination]:
    """Return the changed files of this page: with their lines if those are wanted, else their names and counts."""
    position = _position(context)
    if request.diff:
        place = Place.parse(position.items("place")) if "place" in position else Place()
        size = PageSize(LARGE_ROOM, request.limit) if request.limit else PageSize()
        files, rest = page_of(context.workspace.root, context.workspace.ignore_rules(), difference, place, size)
        return files, _next(context, ref=oid, place=rest.as_list()) if rest is not None else _LAST
    first, limit = position.number("first", 0), _limit(request)
    files = [file_of(file) for file in difference.files[first : first + limit]]
    has_more = first + limit < len(difference.files)
    return files, _next(context, ref=oid, first=first + limit) if has_more else _LAST


def _compared(commit: Commit) -> str:
    if not commit.parents:
        return "the first commit: everything is new"
    others = f" (the first of {len(commit.parents)} parents)" if len(commit.parents) > 1 else ""
    return f"against {commit.parents[0][:12]}{others}"


def _show_tag(context: CallContext, request: GitInspectRequest, found: NamedObject) -> GitInspectResult:
    tag = read_tag_object(context.workspace.root, found.oid)
    commit = None
    if tag.target_kind == "commit":
        commit = entry_of(read_commit(context.workspace.repository, tag.target_oid), longest_body=None)
    detail = TagDetail(
        name=tag.name,
        target=tag.target_oid,
        target_type=tag.target_kind,
        tagger=person_of(tag.tagger) if tag.tagger is not None else None,
        message=tag.subject,
        body=tag.body or None,
    )
    return GitInspectResult(action="show", ref=request.ref, oid=found.oid, type="tag", tag=detail, commit=commit)


def _show_path(context: CallContext, request: GitInspectRequest, ref: str, path: RepoPath) -> GitInspectResult:
    root, rules = context.workspace.root, context.workspace.ignore_rules()
    check_history_readable(rules, path)
    try:
        found = find_in_tree(root, ref, path)
    except CodePlaneError as error:
        raise _with_near_paths(context.workspace, path, error) from error
    if found.kind == "tree":
        return _show_tree(context, request, ref, found, path)
    if found.kind != "blob":
        raise CodePlaneError("NOT_A_FILE", f"{path} is a submodule at commit {found.oid} there.")
    content = read_blob(root, found)
    check_no_private_key(rules, path, content)
    if b"\0" in content[:_SNIFFED]:
        raise CodePlaneError("FILE_BINARY", f"{path} is not text there; it has {found.size} bytes.")
    file, rest = _piece(path, found, content, request, _position(context))
    return GitInspectResult(
        action="show",
        ref=request.ref,
        oid=found.oid,
        type="blob",
        file=file,
        pagination=_next(context, ref=ref, **rest) if rest is not None else _LAST,
    )


def _with_near_paths(workspace: Workspace, path: RepoPath, error: CodePlaneError) -> CodePlaneError:
    return path_unknown(workspace, path, error.message) if error.code == "GIT_PATH_UNKNOWN" else error


def _piece(
    path: RepoPath, found: NamedObject, content: bytes, request: GitInspectRequest, position: Position
) -> tuple[FileAtRef, dict[str, int] | None]:
    """Return the lines of this page, and where the next begins."""
    limit = request.limit
    n_lines = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    first, last = request.line_range or (1, n_lines)
    if request.line_range and first > n_lines:
        details = {"path": path.text, "line_count": n_lines}
        raise CodePlaneError("OUT_OF_RANGE", f"{path} has only {n_lines} lines there.", details=details)
    line = position.number("line", first)
    start = position.number("at") if "at" in position else _offset_of_line(content, first)
    end = min(len(content), _offset_after(content, start, min(last, line + (limit or 10**9) - 1) - line + 1))
    stop = min(end, _cut(content, start, LARGE_ROOM if limit is not None else _FILE_ROOM, end))
    text = content[start:stop]
    n_ends = text.count(b"\n")
    ends_inside = stop < len(content) and not text.endswith(b"\n")
    last_line = line + n_ends - (1 if text.endswith(b"\n") else 0)
    file = FileAtRef(
        path=path.text,
        oid=found.oid,
        size=found.size,
        line_count=n_lines,
        range=(line, max(line, last_line)) if text else None,
        content=text.decode("utf-8", "backslashreplace"),
        no_newline=(stop == len(content) and bool(text) and not text.endswith(b"\n")) or None,
        starts_inside_line=(start > 0 and content[start - 1 : start] != b"\n") or None,
        ends_inside_line=ends_inside or None,
    )
    next_line = line + n_ends
    has_more = stop < len(content) and (next_line <= last)
    return file, {"at": stop, "line": next_line} if has_more else None


def _offset_of_line(content: bytes, number: int) -> int:
    return _offset_after(content, 0, number - 1)


def _offset_after(content: bytes, start: int, n_lines: int) -> int:
    """Return the offset after `n_lines` lines from a place."""
    at = start
    for _ in range(n_lines):
        end = content.find(b"\n", at)
        if end < 0:
            return len(content)
        at = end + 1
    return at


def _cut(content: bytes, start: int, room: int, end: int) -> int:
    """Return where a page ends: after a line, or inside one that is longer than a page."""
    if end - start <= room:
        return end
    newline = content.rfind(b"\n", start, start + room)
    if newline >= start:
        return newline + 1
    at = start + room
    while at > start + room - 4 and content[at] & 0xC0 == 0x80:
        at -= 1
    return at


def _show_tree(
    context: CallContext, request: GitInspectRequest, ref: str, found: NamedObject, path: RepoPath
) -> GitInspectResult:
    entries = read_tree(context.workspace.root, found.oid)
    first, limit = _position(context).number("first", 0), _limit(request)
    prefix = "" if path == RepoPath.ROOT else f"{path.text}/"
    listed = [
        TreeListing(
            path=printable_name(prefix + entry.name), type=entry.kind, mode=entry.mode, oid=entry.oid, size=entry.size
        )
        for entry in entries[first : first + limit]
    ]
    has_more = first + limit < len(entries)
    return GitInspectResult(
        action="show",
        ref=request.ref,
        oid=found.oid,
        type="tree",
        entries=listed,
        pagination=_next(context, ref=ref, first=first + limit) if has_more else _LAST,
    )


def _blame(context: CallContext, request: GitInspectRequest) -> GitInspectResult:
    workspace, position = context.workspace, _position(context)
    path = RepoPath.parse(request.path or "")
    rules = workspace.ignore_rules()
    check_history_readable(rules, path)
    revision = None
    if request.ref is not None:
        revision = position.oid("ref") if "ref" in position else resolve(workspace.root, request.ref)
        check_no_private_key(rules, path, _head_of(workspace, revision, path))
    else:
        if (workspace.root / path.text).is_dir():
            raise CodePlaneError("NOT_A_FILE", f"{path} is a directory.", details={"path": path.text})
        check_readable(rules, path)
        _check_same_file(workspace, path, position)
    first, last = request.line_range or (1, 10**9)
    first = position.number("line", first)
    limit = _limit(request)
    try:
        # One extra line tells whether there is more.
        groups = read_blame(workspace.root, revision, path, (first, min(last, first + limit)))
    except CodePlaneError as error:
        raise _with_near_paths(workspace, path, error) from error
    hunks, n_lines = _blame_hunks(groups, limit, path)
    hunks = _with_trace(workspace, revision, path, hunks)
    has_more = sum(len(group.lines) for group in groups) > n_lines
    fixed = {"ref": revision} if revision is not None else {"stamp": _stamp(workspace, path)}
    return GitInspectResult(
        action="blame",
        ref=request.ref,
        oid=revision,
        path=path.text,
        blame=hunks,
        pagination=_next(context, line=first + n_lines, **fixed) if has_more else _LAST,
    )


def _with_trace(workspace: Workspace, revision: str | None, path: RepoPath, hunks: list[BlameHunk]) -> list[BlameHunk]:
    """Return the hunks with the intents behind their lines, in repositories that have a trace."""
    if not hunks or not workspace.has_trace:
        return hunks
    if revision is not None:
        data = _head_of(workspace, revision, path)
    else:
        found = workspace.editor.look(path)
        data = found.image.data if found is not None and not found.image.is_link else b""
    groups = traced_lines(workspace, path.text, data, hunks[0].start_line, hunks[-1].end_line)
    parts = []
    for hunk in hunks:
        mine = [_cut_to(one, hunk) for one in groups if _touches(one, hunk)]
        parts.append(hunk.model_copy(update={"trace": mine}) if mine else hunk)
    return parts


def _touches(group: dict[str, Any], hunk: BlameHunk) -> bool:
    return bool(group["start_line"] <= hunk.end_line and group["end_line"] >= hunk.start_line)


def _cut_to(group: dict[str, Any], hunk: BlameHunk) -> dict[str, Any]:
    first, last = max(group["start_line"], hunk.start_line), min(group["end_line"], hunk.end_line)
    return {**group, "start_line": first, "end_line": last}


def _head_of(workspace: Workspace, revision: str, path: RepoPath) -> bytes:
    try:
        found = find_in_tree(workspace.root, revision, path)
    except CodePlaneError as error:
        raise _with_near_paths(workspace, path, error) from error
    if found.kind != "blob":
        raise CodePlaneError("NOT_A_FILE", f"{path} is not a file there.", details={"path": path.text})
    return read_blob(workspace.root, found)


def _stamp(workspace: Workspace, path: RepoPath) -> list[Any]:
    try:
        status = (workspace.root / path.text).stat()
    except OSError:
        return []
    return [status.st_size, str(status.st_mtime_ns), workspace.repo_version().head]


def _check_same_file(workspace: Workspace, path: RepoPath, position: Position) -> None:
    if "stamp" in position and position.items("stamp") != _stamp(workspace, path):
        raise CodePlaneError("FILE_CHANGED", f"{path} or HEAD changed since the first page.")


def _blame_hunks(groups: tuple[BlamedLines, ...], limit: int, path: RepoPath) -> tuple[list[BlameHunk], int]:
    hunks: list[BlameHunk] = []
    n_lines = 0
    for group in groups:
        lines = group.lines[: limit - n_lines]
        if not lines:
            break
        n_lines += len(lines)
        hunks.append(
            BlameHunk(
                start_line=group.first,
                end_line=group.first + len(lines) - 1,
                oid=group.oid,
                short_oid=group.oid[:12] if group.oid is not None else None,
                author=person_of(group.author),
                summary=group.summary,
                uncommitted=group.oid is None or None,
                boundary=group.is_boundary or None,
                original_path=printable_name(group.path) if group.path != path.text else None,
                original_start=group.original_first,
                lines=[line.decode("utf-8", "backslashreplace") for line in lines],
            )
        )
    return hunks, n_lines


def _tags(context: CallContext, request: GitInspectRequest) -> GitInspectResult:
    position = _position(context)
    tags = read_tags(context.workspace.root)
    n_all = len(tags)
    if "after" in position:
        # A newer tag comes before those already shown.
        match position.items("after"):
            case [int() as created_at, str() as name]:
                tags = tuple(tag for tag in tags if (-tag.created_at, tag.name) > (-created_at, name))
            case _:
                raise CodePlaneError("CURSOR_INVALID")
    limit = _limit(request)
    entries = [
        TagEntry(
            name=tag.name,
            target=tag.target_oid,
            target_type=tag.target_kind,
            annotated=tag.is_annotated,
            tagger=person_of(tag.tagger) if tag.tagger is not None else None,
            time=tag.time or None,
            message=tag.subject or None,
            body=tag.body or None,
        )
        for tag in tags[:limit]
    ]
    pagination = _LAST
    if len(tags) > limit:
        last = tags[limit - 1]
        pagination = _next(context, after=[last.created_at, last.name])
    pagination = Pagination(next_cursor=pagination.next_cursor, total_estimate=n_all)
    return GitInspectResult(action="tags", tags=entries, pagination=pagination)


def _merge_analysis(context: CallContext, request: GitInspectRequest) -> GitInspectResult:
    found = analyse_merge(context.workspace.repository, request.ref or "HEAD")
    note = None
    if found.kind == "normal" and found.conflicts is None:
        note = "not available: previewing a merge needs git 2.38"
    forecast = MergeForecast.model_validate(
        {
            "analysis": found.kind,
            "head": found.head,
            "target": found.other,
            "merge_base": found.base,
            "ahead": found.ahead,
            "behind": found.behind,
            "conflicts": [printable_name(name) for name in found.conflicts] if found.conflicts is not None else None,
            "conflicts_note": note,
        }
    )
    return GitInspectResult(action="merge_analysis", ref=request.ref, oid=found.other, merge=forecast)


GIT_INSPECT = Operation(
    name=NAME,
    family="git",
    summary="Show a commit, tag, tree or old file; blame lines; list tags; preview a merge.",
    request_type=GitInspectRequest,
    result_type=GitInspectResult,
    effect=EffectClass.READ,
    plan=planned(_handle, _effects),
    render=render_inspection,
    when_to_use=(
        "You want one commit with its changes, or a file as it was at a ref.",
        "You want to know who wrote some lines.",
        "You want to know whether a merge would conflict.",
    ),
    when_not_to_use=("You look for commits: use git_log.", "You want a file as it is now: use read_source."),
    examples=(
        Example("A commit and its changed lines", {"action": "show", "ref": "HEAD~1", "diff": True}),
        Example("A file at a tag", {"action": "show", "ref": "v1.0", "path": "src/app.py"}),
        Example("Who wrote these lines", {"action": "blame", "path": "src/app.py", "line_range": [10, 20]}),
        Example("Would a merge conflict", {"action": "merge_analysis", "ref": "feature"}),
    ),
)
