"""`list_files`: what is in a directory, and what is left out by which rule."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath, resolve_inside
from codeplane.index.discovery import Entry, LeftOut, walk
from codeplane.index.ignore_rules import matcher_for
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.cursors import make_cursor, read_cursor
from codeplane.operations.models import PATH_ALIASES, Pagination, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation
from codeplane.workspace.workspace import Workspace

NAME = "list_files"
_LEFT_OUT_SHOWN = 20


class ListFilesRequest(Request):
    """Where to look and what to keep."""

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
    cursor: str | None = Field(None, description="Goes on where the last answer was cut.")

    @field_validator("pattern")
    @classmethod
    def _selects_something(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                matcher_for(value)
            except ValueError as error:
                raise ValueError("the pattern selects nothing") from error
        return value


class FileEntry(Result):
    """One file, directory or link."""

    path: str
    kind: Literal["file", "directory", "symlink", "special"]
    size: int | None = Field(None, description="Bytes, for files.")


class LeftOutEntry(Result):
    """Something that is there but not listed."""

    path: str
    rule: str
    source: str = Field(description="Where the rule stands.")


class ListFilesResult(Result):
    """The listing."""

    path: str
    entries: list[FileEntry]
    left_out: list[LeftOutEntry] = Field(description="The first of what is left out in the part that was walked.")
    left_out_count: int
    pagination: Pagination


def _effects(_workspace: Workspace, request: ListFilesRequest) -> Effects:
    return Effects(reads=(RepoPath.parse(request.path),))


def _handle(context: CallContext, request: ListFilesRequest) -> ListFilesResult:
    start = _directory(context.workspace, request)
    found = walk(context.workspace.root, start, context.workspace.ignore_rules(), _depth(request))
    left_out: list[LeftOut] = []
    wanted = _selected(found, request, left_out, context)
    if request.cursor is not None:
        after = tuple(read_cursor(NAME, request.cursor)["after"])
        wanted = itertools.dropwhile(lambda entry: _key(entry.path) <= after, wanted)
    page = list(itertools.islice(wanted, request.limit + 1))
    entries = page[: request.limit]
    next_cursor = make_cursor(NAME, {"after": list(_key(entries[-1].path))}) if len(page) > request.limit else None
    return ListFilesResult(
        path=start.text,
        entries=[_entry(entry) for entry in entries],
        left_out=[LeftOutEntry(path=i.path, rule=i.rule, source=i.source) for i in left_out[:_LEFT_OUT_SHOWN]],
        left_out_count=len(left_out),
        pagination=Pagination(next_cursor=next_cursor, total_estimate=None),
    )


def _directory(workspace: Workspace, request: ListFilesRequest) -> RepoPath:
    start = RepoPath.parse(request.path)
    location = resolve_inside(workspace.root, start)
    if not location.exists():
        raise CodePlaneError("FILE_NOT_FOUND", f"There is no directory {start}.", details={"path": start.text})
    if not location.is_dir():
        raise CodePlaneError("NOT_A_DIRECTORY", f"{start} is a file.", details={"path": start.text})
    rule = workspace.ignore_rules().exclusion(start, is_directory=True)
    if rule is not None and rule.kind.value != "soft":
        details = {"path": start.text, "rule": rule.line, "source": rule.source}
        raise CodePlaneError(
            "FILE_IGNORED", f"{start} is kept out by the rule `{rule.line}` ({rule.source}).", details=details
        )
    return start


def _depth(request: ListFilesRequest) -> int | None:
    if request.depth is not None:
        return request.depth
    return None if request.pattern else 1


def _selected(
    found: Iterable[Entry | LeftOut], request: ListFilesRequest, left_out: list[LeftOut], context: CallContext
) -> Iterator[Entry]:
    """Yield what the pattern selects and collect what is left out on the way."""
    matches = matcher_for(request.pattern) if request.pattern else None
    for number, item in enumerate(found):
        if number % 512 == 0:
            context.check_cancelled()
        if isinstance(item, LeftOut):
            left_out.append(item)
        elif matches is None or (item.kind != "directory" and matches(item.path.text)):
            yield item


def _key(path: RepoPath) -> tuple[str, ...]:
    return path.parts


def _entry(entry: Entry) -> FileEntry:
    values: dict[str, Any] = {"path": entry.path.text, "kind": entry.kind}
    return FileEntry(**values, size=entry.size if entry.kind == "file" else None)


def _render(result: ListFilesResult) -> str:
    lines = [_line(entry) for entry in result.entries] or [f"{result.path}: nothing to list."]
    if result.left_out_count:
        shown = ", ".join(f"{item.path} ({item.rule})" for item in result.left_out[:8])
        more = f" and {result.left_out_count - 8} more" if result.left_out_count > 8 else ""
        lines.append(f"left out: {shown}{more}")
    if result.pagination.next_cursor:
        lines.append(f"more: cursor={result.pagination.next_cursor}")
    return "\n".join(lines)


def _line(entry: FileEntry) -> str:
    marks = {"directory": "/", "symlink": "@", "special": "="}
    return entry.path + marks.get(entry.kind, "")


LIST_FILES = Operation(
    name=NAME,
    family="files",
    summary="List a directory, or all files that match a glob.",
    request_type=ListFilesRequest,
    result_type=ListFilesResult,
    effect=EffectClass.READ,
    effects=_effects,
    handler=_handle,
    render=_render,
    when_to_use=("You need file names.", "You need every file that matches a glob such as `tests/**/*.py`."),
    when_not_to_use=("You look for text in files.", "You know the path already: use read_source."),
    examples=(
        Example("The repository root", {}),
        Example("All Python files under src", {"pattern": "src/**/*.py"}),
        Example("Two levels of one directory", {"path": "docs", "depth": 2}),
    ),
)
