"""`git_inspect`: a commit, tag, tree or file of the past, who wrote which line, all tags, and what a merge would do."""

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
from codeplane.operations.cursors import make_cursor, read_cursor
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
from codeplane.operations.operation import CallContext, Example, Operation
from codeplane.operations.patches import (
    LARGE_ROOM,
    DiffFile,
    PageSize,
    Place,
    file_of,
    page_of,
    stats_of,
)
from codeplane.workspace.workspace import Workspace

NAME = "git_inspect"
_FILE_ROOM: Final = 7_500
_LIMITS: Final = {"show": 100, "blame": 100, "tags": 50, "merge_analysis": 100}
_SNIFFED: Final = 8_000
_OID_LENGTHS: Final = frozenset({40, 64})


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
    diff: bool = Field(False, description="With show: the commit's changed lines, of `path` only if given.")
    limit: int | None = Field(None, ge=1, le=2000, description="Lines, entries, files or tags per answer.")
    cursor: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _lines_in_path(cls, data: Any, info: ValidationInfo) -> Any:
        return lines_in_path(data, info)

    @model_validator(mode="after")
    def _fits_the_action(self) -> "GitInspectRequest":
        if self.cursor is not None:
            return self
        if self.action == "blame" and self.path is None:
            raise ValueError("`blame` needs a `path`")
        if self.action == "merge_analysis" and self.ref is None:
            raise ValueError("`merge_analysis` needs a `ref`")
        return self


def _effects(_workspace: Workspace, request: GitInspectRequest) -> Effects:
    reads = (RepoPath.parse(request.path),) if request.path is not None else ()
    return Effects(reads=reads, git_refs=(request.ref,) if request.ref is not None else ())


def _handle(context: CallContext, request: GitInspectRequest) -> GitInspectResult:
    state = _state(context, request)
    handlers: dict[str, Callable[[CallContext, GitInspectRequest, dict[str, Any]], GitInspectResult]] = {
        "show": _show,
        "blame": _blame,
        "tags": _tags,
        "merge_analysis": _merge_analysis,
    }
    return handlers[state["action"]](context, request, state)


def _state(context: CallContext, request: GitInspectRequest) -> dict[str, Any]:
    """Return what is asked: by the request or, on a later page, by the cursor."""
    if request.cursor is None:
        path = RepoPath.parse(request.path).text if request.path is not None else None
        lines = list(request.line_range) if request.line_range is not None else None
        return {"action": request.action, "ref": request.ref, "path": path, "lines": lines, "diff": request.diff}
    state = read_cursor(context.workspace, NAME, request.cursor)
    is_sound = state.get("action") in _LIMITS and isinstance(state.get("diff"), bool)
    for name in ("ref", "path"):
        is_sound = is_sound and (state.get(name) is None or isinstance(state[name], str))
    lines = state.get("lines")
    is_sound = is_sound and (lines is None or (len(lines) == 2 and all(type(number) is int for number in lines)))
    if not is_sound:
        raise CodePlaneError("CURSOR_INVALID")
    return state


def _limit(request: GitInspectRequest, state: dict[str, Any]) -> int:
    return request.limit or _number(state, "limit", _LIMITS[state["action"]])


def _number(state: dict[str, Any], name: str, default: int = 0) -> int:
    value = state.get(name, default)
    if type(value) is not int or not 0 <= value < 10**12:
        raise CodePlaneError("CURSOR_INVALID")
    return value


def _next(context: CallContext, state: dict[str, Any], request: GitInspectRequest, **more: Any) -> Pagination:
    """Return the way to the next page."""
    kept = {**state, **more}
    if request.limit is not None:
        kept["limit"] = request.limit
    return Pagination(next_cursor=make_cursor(context.workspace, NAME, kept), total_estimate=None)


_LAST: Final = Pagination(next_cursor=None, total_estimate=None)


def _show(context: CallContext, request: GitInspectRequest, state: dict[str, Any]) -> GitInspectResult:
    root = context.workspace.root
    # The cursor holds the object itself, so that a ref that moves does not move the pages.
    found = find_object(root, state["ref"] or "HEAD")
    state = {**state, "ref": found.oid}
    path = RepoPath.parse(state["path"]) if state["path"] is not None else None
    if path is not None and not state["diff"]:
        return _show_path(context, request, state, path)
    if found.kind == "tag":
        return _show_tag(context, request, found)
    if found.kind == "tree":
        return _show_tree(context, request, state, found, RepoPath.ROOT)
    if found.kind == "blob":
        message = "That is a file's content without a name; give the commit as `ref` and the file as `path`."
        raise CodePlaneError("NOT_A_FILE", message)
    return _show_commit(context, request, state, path)


def _show_commit(
    context: CallContext, request: GitInspectRequest, state: dict[str, Any], path: RepoPath | None
) -> GitInspectResult:
    repository = context.workspace.repository
    commit = read_commit(repository, state["ref"])
    base = commit.parents[0] if commit.parents else empty_tree_beside(commit.oid)
    comparison = Comparison(base, commit.oid, paths=(path,) if path is not None else ())
    difference = read_difference(repository.root, comparison)
    files, pagination = _files_of(context, request, state, difference)
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
    context: CallContext, request: GitInspectRequest, state: dict[str, Any], difference: Difference
) -> tuple[list[DiffFile], Pagination]:
    """Return the changed files of this page: with their lines if those are wanted, else their names and counts."""
    if state["diff"]:
        place = Place.parse(state["place"]) if "place" in state else Place()
        lines = request.limit or state.get("limit")
        size = PageSize(LARGE_ROOM, _number({"limit": lines}, "limit")) if lines else PageSize()
        files, rest = page_of(context.workspace.root, context.workspace.ignore_rules(), difference, place, size)
        return files, _next(context, state, request, place=rest.as_list()) if rest is not None else _LAST
    first, limit = _number(state, "first"), _limit(request, state)
    files = [file_of(file) for file in difference.files[first : first + limit]]
    has_more = first + limit < len(difference.files)
    return files, _next(context, state, request, first=first + limit) if has_more else _LAST


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


def _show_path(
    context: CallContext, request: GitInspectRequest, state: dict[str, Any], path: RepoPath
) -> GitInspectResult:
    root, rules = context.workspace.root, context.workspace.ignore_rules()
    check_history_readable(rules, path)
    try:
        found = find_in_tree(root, state["ref"], path)
    except CodePlaneError as error:
        raise _with_near_paths(context.workspace, path, error) from error
    if found.kind == "tree":
        return _show_tree(context, request, state, found, path)
    if found.kind != "blob":
        raise CodePlaneError("NOT_A_FILE", f"{path} is a submodule at commit {found.oid} there.")
    content = read_blob(root, found)
    check_no_private_key(rules, path, content)
    if b"\0" in content[:_SNIFFED]:
        raise CodePlaneError("FILE_BINARY", f"{path} is not text there; it has {found.size} bytes.")
    file, rest = _piece(path, found, content, state, _limit_of_lines(request, state))
    return GitInspectResult(
        action="show",
        ref=request.ref,
        oid=found.oid,
        type="blob",
        file=file,
        pagination=_next(context, state, request, **rest) if rest is not None else _LAST,
    )


def _with_near_paths(workspace: Workspace, path: RepoPath, error: CodePlaneError) -> CodePlaneError:
    return path_unknown(workspace, path, error.message) if error.code == "GIT_PATH_UNKNOWN" else error


def _limit_of_lines(request: GitInspectRequest, state: dict[str, Any]) -> int | None:
    return request.limit or (_number(state, "limit") if "limit" in state else None)


def _piece(
    path: RepoPath, found: NamedObject, content: bytes, state: dict[str, Any], limit: int | None
) -> tuple[FileAtRef, dict[str, int] | None]:
    """Return the lines of this page, and where the next begins."""
    n_lines = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    first, last = state["lines"] or (1, n_lines)
    if state["lines"] and first > n_lines:
        details = {"path": path.text, "line_count": n_lines}
        raise CodePlaneError("OUT_OF_RANGE", f"{path} has only {n_lines} lines there.", details=details)
    line = _number(state, "line", first)
    start = _number(state, "at") if "at" in state else _offset_of_line(content, first)
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
    """Return where `n_lines` lines from a place on end."""
    at = start
    for _ in range(n_lines):
        end = content.find(b"\n", at)
        if end < 0:
            return len(content)
        at = end + 1
    return at


def _cut(content: bytes, start: int, room: int, end: int) -> int:
    """Return where a page ends: behind a line, or inside one that is longer than a page."""
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
    context: CallContext, request: GitInspectRequest, state: dict[str, Any], found: NamedObject, path: RepoPath
) -> GitInspectResult:
    entries = read_tree(context.workspace.root, found.oid)
    first, limit = _number(state, "first"), _limit(request, state)
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
        pagination=_next(context, state, request, first=first + limit) if has_more else _LAST,
    )


def _blame(context: CallContext, request: GitInspectRequest, state: dict[str, Any]) -> GitInspectResult:
    workspace = context.workspace
    if state["path"] is None:
        raise CodePlaneError("CURSOR_INVALID")
    path = RepoPath.parse(state["path"])
    rules = workspace.ignore_rules()
    check_history_readable(rules, path)
    revision = None
    if state["ref"] is not None:
        revision = resolve(workspace.root, state["ref"])
        check_no_private_key(rules, path, _head_of(workspace, revision, path))
    else:
        if (workspace.root / path.text).is_dir():
            raise CodePlaneError("NOT_A_FILE", f"{path} is a directory.", details={"path": path.text})
        check_readable(rules, path)
        _check_same_file(workspace, path, state)
    first, last = state["lines"] or (1, 10**9)
    first = _number(state, "line", first)
    limit = _limit(request, state)
    try:
        # One line more than wanted tells whether there is more.
        graph = workspace.history_graph()
        groups = read_blame(workspace.root, revision, path, (first, min(last, first + limit)), graph)
    except CodePlaneError as error:
        raise _with_near_paths(workspace, path, error) from error
    hunks, n_lines = _blame_hunks(groups, limit, path)
    has_more = sum(len(group.lines) for group in groups) > n_lines
    stamp = {} if revision is not None else {"stamp": _stamp(workspace, path)}
    return GitInspectResult(
        action="blame",
        ref=request.ref,
        oid=revision,
        path=path.text,
        blame=hunks,
        pagination=_next(context, {**state, "ref": revision}, request, line=first + n_lines, **stamp)
        if has_more
        else _LAST,
    )


def _head_of(workspace: Workspace, revision: str, path: RepoPath) -> bytes:
    try:
        found = find_in_tree(workspace.root, revision, path)
    except CodePlaneError as error:
        raise _with_near_paths(workspace, path, error) from error
    if found.kind != "blob":
        raise CodePlaneError("NOT_A_FILE", f"{path} is no file there.", details={"path": path.text})
    return read_blob(workspace.root, found)


def _stamp(workspace: Workspace, path: RepoPath) -> list[Any]:
    try:
        status = (workspace.root / path.text).stat()
    except OSError:
        return []
    return [status.st_size, str(status.st_mtime_ns), workspace.repo_version().head]


def _check_same_file(workspace: Workspace, path: RepoPath, state: dict[str, Any]) -> None:
    if "stamp" in state and state["stamp"] != _stamp(workspace, path):
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


def _tags(context: CallContext, request: GitInspectRequest, state: dict[str, Any]) -> GitInspectResult:
    tags = read_tags(context.workspace.root)
    n_all = len(tags)
    if "after" in state:
        # A tag that was made since stands before those that were shown.
        match state["after"]:
            case [int() as created_at, str() as name]:
                tags = tuple(tag for tag in tags if (-tag.created_at, tag.name) > (-created_at, name))
            case _:
                raise CodePlaneError("CURSOR_INVALID")
    limit = _limit(request, state)
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
        pagination = _next(context, state, request, after=[last.created_at, last.name])
    pagination = Pagination(next_cursor=pagination.next_cursor, total_estimate=n_all)
    return GitInspectResult(action="tags", tags=entries, pagination=pagination)


def _merge_analysis(context: CallContext, request: GitInspectRequest, _state: dict[str, Any]) -> GitInspectResult:
    if request.ref is None:
        raise CodePlaneError("CURSOR_INVALID")
    found = analyse_merge(context.workspace.repository, request.ref)
    note = None
    if found.kind == "normal" and found.conflicts is None:
        note = "not available: git older than 2.38 cannot try a merge without doing it"
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
    summary="Show a commit, tag, tree or old file; blame lines; list tags; foresee a merge.",
    request_type=GitInspectRequest,
    result_type=GitInspectResult,
    effect=EffectClass.READ,
    effects=_effects,
    handler=_handle,
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
