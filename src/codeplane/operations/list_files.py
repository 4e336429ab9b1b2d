"""`list_files`: what is in a directory, and what is left out by which rule."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.index.discovery import Entry, LeftOut, walk
from codeplane.index.ignore_rules import BUILT_IN_SOURCE, matcher_for
from codeplane.index.source_text import locate
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.file_access import check_readable
from codeplane.operations.models import PATH_ALIASES, Pagination, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.workspace.workspace import Workspace

NAME = "list_files"
_LEFT_OUT_SHOWN = 20
_DEFAULT_ROOM = 6_000


class ListFilesRequest(Request):
    """Where to look and what to list."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "path": ("directory", "dir", "folder", *PATH_ALIASES),
        "pattern": ("glob",),
        "depth": ("max_depth",),
    }
    path: PathText = Field(".", description="Directory; default the repository root.")
    depth: int | None = Field(
        None, ge=1, le=100, description="Levels to descend; default 1, with a pattern all levels."
    )
    pattern: str | None = Field(
        None, min_length=1, max_length=1000, description="Glob as in .gitignore: `*.py`, `src/**/test_*.py`."
    )
    limit: int = Field(200, ge=1, le=1000, description="Entries per answer.")
    cursor: str | None = Field(None, description="Continues a cut answer.")

    @field_validator("pattern")
    @classmethod
    def _selects_something(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                matcher_for(value)
            except ValueError as error:
                raise ValueError("the pattern matches nothing") from error
        return value


class FileEntry(Result):
    """One file, directory or link."""

    path: str
    kind: Literal["file", "directory", "symlink", "special"]
    size: int | None = Field(None, description="Bytes, for files.")


class LeftOutEntry(Result):
    """Something that exists but is not listed."""

    path: str
    rule: str
    source: str = Field(description="Where the rule is defined.")


class ListFilesResult(Result):
    """The listing."""

    path: str
    entries: list[FileEntry]
    left_out: list[LeftOutEntry] = Field(description="The first left-out entries in the part that was walked.")
    left_out_count: int
    why_empty: str | None = None
    pagination: Pagination


def _effects(_workspace: Workspace, request: ListFilesRequest) -> Effects:
    return Effects(reads=(RepoPath.parse(request.path),))


def _handle(context: CallContext, request: ListFilesRequest) -> ListFilesResult:
    start = _directory(context.workspace, request)
    found = walk(context.workspace.root, start, context.workspace.ignore_rules(), _depth(request))
    left_out: list[LeftOut] = []
    wanted = _selected(found, request, left_out, context)
    if context.position is not None:
        after = tuple(map(str, context.position.items("after")))
        wanted = itertools.dropwhile(lambda entry: entry.path.parts <= after, wanted)
    entries, has_more = _page(wanted, request)
    next_cursor = context.next_page({"after": list(entries[-1].path.parts)}) if has_more else None
    return ListFilesResult(
        path=start.text,
        entries=[_entry(entry) for entry in entries],
        left_out=[LeftOutEntry(path=i.path, rule=i.rule, source=i.source) for i in left_out[:_LEFT_OUT_SHOWN]],
        left_out_count=len(left_out),
        why_empty=None if entries else _why_empty(request, start),
        pagination=Pagination(next_cursor=next_cursor, total_estimate=None),
    )


def _why_empty(request: ListFilesRequest, start: RepoPath) -> str:
    if request.cursor is not None:
        return "There are no more results after the last page."
    if request.pattern is None:
        return f"{start} has no files to list."
    return (
        f"No file under {start} matches `{request.pattern[:80]}` (a glob as in .gitignore, from the repository root)."
    )


def _directory(workspace: Workspace, request: ListFilesRequest) -> RepoPath:
    start = RepoPath.parse(request.path)
    location = locate(workspace.root, start)
    if not location.exists():
        raise CodePlaneError("FILE_NOT_FOUND", f"There is no directory {start}.", details={"path": start.text})
    if not location.is_dir():
        raise CodePlaneError("NOT_A_DIRECTORY", f"{start} is a file.", details={"path": start.text})
    check_readable(workspace.ignore_rules(), start, is_directory=True)
    return start


def _depth(request: ListFilesRequest) -> int | None:
    if request.depth is not None:
        return request.depth
    return None if request.pattern else 1


def _selected(
    found: Iterable[Entry | LeftOut], request: ListFilesRequest, left_out: list[LeftOut], context: CallContext
) -> Iterator[Entry]:
    """Yield what the pattern matches and collect what is left out."""
    matches = matcher_for(request.pattern) if request.pattern else None
    for number, item in enumerate(found):
        if number % 512 == 0:
            context.check_cancelled()
        if isinstance(item, LeftOut):
            left_out.append(item)
        elif matches is None or (item.kind != "directory" and matches(item.path.text)):
            yield item


def _page(wanted: Iterator[Entry], request: ListFilesRequest) -> tuple[list[Entry], bool]:
    """Return the next entries and whether there are more; without a given limit, long paths end a page early."""
    room = _DEFAULT_ROOM if "limit" not in request.model_fields_set else None
    page: list[Entry] = []
    for entry in wanted:
        if len(page) == request.limit or (page and room is not None and room < len(entry.path.text)):
            return page, True
        page.append(entry)
        room = room - len(entry.path.text) if room is not None else None
    return page, False


def _entry(entry: Entry) -> FileEntry:
    values: dict[str, Any] = {"path": entry.path.text, "kind": entry.kind}
    return FileEntry(**values, size=entry.size if entry.kind == "file" else None)


def _render(result: ListFilesResult) -> str:
    prefix = "" if result.path == "." else f"{result.path}/"
    lines = [_line(entry, prefix) for entry in result.entries]
    if not lines:
        lines = [result.why_empty or f"{result.path}: nothing to list."]
    elif prefix:
        lines.insert(0, f"{prefix}:")
    # Git's and our own directories are never listed; models need not hear it each time.
    told = [item for item in result.left_out if item.source != BUILT_IN_SOURCE]
    count = result.left_out_count - (len(result.left_out) - len(told))
    if count:
        shown = ", ".join(f"{item.path.removeprefix(prefix)} ({item.rule})" for item in told[:8])
        more = f" and {count - 8} more" if count > 8 else ""
        lines.append(f"left out: {shown}{more}")
    if result.pagination.next_cursor:
        lines.append(f"more: cursor={result.pagination.next_cursor}")
    return "\n".join(lines)


def _line(entry: FileEntry, prefix: str) -> str:
    marks = {"directory": "/", "symlink": "@", "special": "="}
    return entry.path.removeprefix(prefix) + marks.get(entry.kind, "")


LIST_FILES = Operation(
    name=NAME,
    family="files",
    summary="List a directory, or all files that match a glob.",
    request_type=ListFilesRequest,
    result_type=ListFilesResult,
    effect=EffectClass.READ,
    plan=planned(_handle, _effects),
    render=_render,
    when_to_use=("You need file names.", "You need all files matching a glob such as `tests/**/*.py`."),
    when_not_to_use=("You look for text in files.", "You know the path already: use read_source."),
    examples=(
        Example("The repository root", {}),
        Example("All Python files under src", {"pattern": "src/**/*.py"}),
        Example("Two levels of one directory", {"path": "docs", "depth": 2}),
    ),
)
