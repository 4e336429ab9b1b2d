"""`trace_blame`: why a line is here: the intent, requirement, agent, call and approval behind it."""

from itertools import islice
from typing import Any, ClassVar, Final

from pydantic import ConfigDict, Field, ValidationInfo, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath, repo_path_of
from codeplane.core.printable import counted, printable_name, printable_text
from codeplane.git.blame import BlamedLines, read_blame
from codeplane.govern.trace.blame import grouped
from codeplane.govern.trace.lines import is_binary, split_lines
from codeplane.index.source_text import locate
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.command import Command, Route
from codeplane.operations.file_access import check_readable, with_near_paths
from codeplane.operations.line_ranges import LineRange, lines_in_path
from codeplane.operations.models import PATH_ALIASES, Pagination, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.operations.trace_lines import approver_of, why
from codeplane.workspace.workspace import Workspace

NAME: Final = "trace_blame"
_LIMIT: Final = 100
# Git's own blame is asked for as many lines; on a long file it would take longer than the rest.
_MAX_WITH_COMMITS: Final = 200
_SHOWN_LINE: Final = 100
_MAX_BYTES: Final = 32 * 1024 * 1024


class TraceBlameRequest(Request):
    """Which lines."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"path": PATH_ALIASES, "line_range": ("lines", "range", "line")}
    path: PathText = Field(description="A file, or `a.py:10`, `a.py:10-20`.")
    line_range: LineRange | None = Field(None, description="First and last line; default the whole file.")
    limit: int = Field(_LIMIT, ge=1, le=5_000, description="Groups of lines per answer.")
    cursor: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _lines_in_path(cls, data: Any, info: ValidationInfo) -> Any:
        return lines_in_path(data, info)


class TracedGroup(Result):
    """Adjacent lines with one origin; what is not known is left out."""

    model_config = ConfigDict(extra="allow", frozen=True)
    start_line: int
    end_line: int
    status: str = Field(description="traced, untraced (no recorded call wrote them) or unknown (nobody can tell).")
    intent: str | None = None
    method: str | None = Field(None, description="How it was recognised: exact, aligned, whitespace or moved.")
    commit: str | None = Field(None, description="The commit that has the first of the lines.")
    commit_summary: str | None = None
    text: str | None = Field(None, description="The first of the lines.")


class TraceBlameResult(Result):
    """The origin of each line."""

    path: str
    line_count: int
    groups: list[TracedGroup]
    pagination: Pagination = Pagination(next_cursor=None, total_estimate=None)


def _effects(_workspace: Workspace, request: TraceBlameRequest) -> Effects:
    return Effects(reads=(RepoPath.parse(request.path),))


def _handle(context: CallContext, request: TraceBlameRequest) -> TraceBlameResult:
    workspace, path = context.workspace, RepoPath.parse(request.path)
    try:
        check_readable(workspace.ignore_rules(), path)
        data = _read(workspace, path)
    except CodePlaneError as error:
        raise with_near_paths(workspace, request.path, error) from error
    lines = split_lines(data)
    first, last = request.line_range or (1, len(lines))
    if request.line_range is not None and first > len(lines):
        details = {"path": path.text, "line_count": len(lines)}
        raise CodePlaneError("OUT_OF_RANGE", f"{path} has only {counted(len(lines), 'line')}.", details=details)
    last = min(last, len(lines))
    first = context.position.number("line", first) if context.position is not None else first
    owners, index = workspace.trace.owners_of(path.text, data, workspace.repo_version().head)
    found = list(islice(grouped(owners, index, first, last), request.limit))
    commits = _commits(workspace, path, first, found[-1].last if found else 0)
    groups = [_shown(one.as_dict(lambda hold: approver_of(workspace, hold)), lines, commits) for one in found]
    end = found[-1].last if found else last
    rest = context.next_page({"line": end + 1}) if end < last else None
    return TraceBlameResult(
        path=path.text,
        line_count=len(lines),
        groups=groups,
        pagination=Pagination(next_cursor=rest, total_estimate=None),
    )


def _read(workspace: Workspace, path: RepoPath) -> bytes:
    found = workspace.editor.look(repo_path_of(workspace.root, locate(workspace.root, path)))
    if found is None:
        raise CodePlaneError("FILE_NOT_FOUND", f"There is no file {path}.", details={"path": path.text})
    data = found.image.data
    if len(data) > _MAX_BYTES:
        raise CodePlaneError("FILE_TOO_LARGE", f"{path} has {len(data)} bytes.")
    if is_binary(data):
        raise CodePlaneError("FILE_BINARY", f"{path} is not text, so it has no lines.")
    return data


def _commits(workspace: Workspace, path: RepoPath, first: int, last: int) -> tuple[BlamedLines, ...]:
    """Return git's own blame for a few lines; empty where git has none, as for an untracked file."""
    if not 0 < first <= last or last - first >= _MAX_WITH_COMMITS:
        return ()
    try:
        return read_blame(workspace.root, None, path, (first, last))
    except CodePlaneError:
        return ()


def _shown(group: dict[str, Any], lines: list[bytes], commits: tuple[BlamedLines, ...]) -> TracedGroup:
    start = group["start_line"]
    commit = next((one for one in commits if one.first <= start <= one.last), None)
    text = lines[start - 1].decode("utf-8", "replace")
    more: dict[str, Any] = {"text": printable_text(text)[:_SHOWN_LINE]}
    if commit is not None and commit.oid is not None:
        more |= {"commit": commit.oid[:12], "commit_summary": commit.summary[:120]}
    return TracedGroup(**group, **more)


def _fields(group: TracedGroup) -> dict[str, Any]:
    return group.model_dump(exclude_none=True)


def _render(result: TraceBlameResult) -> str:
    lines = []
    for group in result.groups:
        found = _fields(group)
        span = str(group.start_line) if group.start_line == group.end_line else f"{group.start_line}-{group.end_line}"
        commit = f" · {group.commit} {printable_name(group.commit_summary or '')}" if group.commit else ""
        lines += [f"{span}\t{why(found)}{commit}", f"\t{group.text}"]
    if not lines:
        lines.append(f"{printable_name(result.path)} is empty.")
    if result.pagination.next_cursor:
        lines.append(f"more: cursor={result.pagination.next_cursor}")
    return "\n".join(lines)


TRACE_BLAME = Operation(
    name=NAME,
    family="trace",
    summary="Tell why lines are here: intent, agent, call and approval.",
    request_type=TraceBlameRequest,
    result_type=TraceBlameResult,
    effect=EffectClass.READ,
    plan=planned(_handle, _effects),
    render=_render,
    when_to_use=("You want to know why a line is here, before you change or remove it.",),
    when_not_to_use=("You only want commit and author: git_inspect with action blame.",),
    examples=(
        Example("One line", {"path": "src/app.py:42"}),
        Example("A part of a file", {"path": "src/app.py", "line_range": [10, 30]}),
    ),
    command=Command(
        path=("blame",),
        help="Show the intent, requirement, agent, call and approval behind each line of FILE, or of FILE:LINE.",
        shows=lambda result: (_render(result),),
        arguments=("path",),
        flags={"line_range": "--lines"},
    ),
    routes=(Route(method="GET", path="/trace/blame", summary="Why the lines of a file are here; path, limit."),),
)
