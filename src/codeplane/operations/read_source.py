"""`read_source`: several files or line ranges in one call, with the hash that an edit needs."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.index.source_text import Piece, Wanted, open_source, read_piece
from codeplane.languages.catalog import language_of
from codeplane.languages.facts import DefinitionKind
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.edit_forms import definitions_in, find_definition, lines_of, n_decorator_lines
from codeplane.operations.file_access import check_readable, spend_read_budget, with_near_paths
from codeplane.operations.models import PATH_ALIASES, Lenient, ListOfOne, PathText, Request, Result, split_range
from codeplane.operations.operation import CallContext, Example, Operation, Plan

NAME = "read_source"
_MAX_LINE = 10**9
_MAX_OUTLINE = 200
# The number of lines of a large file that are shown with its outline.
_LINES_WITH_OUTLINE = 40
_OUTLINED = frozenset(
    {
        DefinitionKind.CLASS,
        DefinitionKind.INTERFACE,
        DefinitionKind.ENUM,
        DefinitionKind.FUNCTION,
        DefinitionKind.METHOD,
        DefinitionKind.STRUCT,
        DefinitionKind.TRAIT,
        DefinitionKind.HEADING,
    }
)


def _target_from_text(value: Any, info: ValidationInfo) -> Any:
    """Accept `a.py`, `a.py:10-20`, `a.py#L10-L20` and `a.py::Class.method` for a target."""
    if isinstance(value, str) and not value.lstrip().startswith("{"):
        path, _, symbol = value.partition("::")
        if symbol and path:
            return {"path": path, "symbol": symbol}
        return split_range(value, info) or {"path": value}
    if isinstance(value, dict) and isinstance(value.get("path"), str) and "start_line" not in value:
        found = split_range(value["path"], info)
        return {**value, **found} if found else value
    return value


class ReadTarget(Lenient):
    """One file, or a range of its lines."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "path": PATH_ALIASES,
        "start_line": ("start", "from", "offset", "line", "first_line"),
        "end_line": ("end", "to", "last_line"),
        "symbol": ("definition", "name"),
        "context": ("context_lines", "lines_around"),
    }
    path: PathText
    start_line: int | None = Field(None, ge=1, le=_MAX_LINE)
    end_line: int | None = Field(None, ge=1, le=_MAX_LINE)
    symbol: str | None = Field(None, max_length=500, description="A definition in the file, such as Class.method.")
    around: int | None = Field(None, ge=1, le=_MAX_LINE, description="A line to read with `context` lines around it.")
    context: int = Field(15, ge=0, le=1_000)

    @model_validator(mode="after")
    def _lines_in_order(self) -> "ReadTarget":
        if self.start_line and self.end_line and self.end_line < self.start_line:
            raise ValueError(f"end_line {self.end_line} is before start_line {self.start_line}")
        if sum(one is not None for one in (self.start_line, self.symbol, self.around)) > 1:
            raise ValueError("give one of start_line, symbol and around")
        return self

    @property
    def lines(self) -> tuple[int, int | None]:
        """Return the first and the last line that are asked for."""
        if self.around is not None:
            return max(1, self.around - self.context), self.around + self.context
        return self.start_line or 1, self.end_line


class ReadSourceRequest(Request):
    """What to read."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"targets": ("target", "paths", "files", "path", *PATH_ALIASES)}
    targets: Annotated[
        list[Annotated[ReadTarget, BeforeValidator(_target_from_text, json_schema_input_type=str | ReadTarget)]],
        ListOfOne,
        Field(min_length=1, max_length=50, description="Such as `a.py`, `a.py:10-20` or `a.py::Class.method`."),
    ] = Field(default_factory=list)
    cursor: str | None = Field(None, description="From a cut answer.")

    @model_validator(mode="before")
    @classmethod
    def _lines_beside_one_path(cls, data: Any, info: ValidationInfo) -> Any:
        """Accept `path, start_line, end_line` side by side, which means one target."""
        if not isinstance(data, dict):
            return data
        names = {*PATH_ALIASES, "path", "targets"}
        line_names = {"start_line", "end_line", *ReadTarget.ALIASES["start_line"], *ReadTarget.ALIASES["end_line"]}
        path = next((data[name] for name in sorted(names) if isinstance(data.get(name), str)), None)
        lines = {key: value for key, value in data.items() if key in line_names}
        if path is not None and isinstance(data.get("limit"), int):
            data = dict(data)
            first = next((value for value in lines.values() if isinstance(value, int)), 1)
            lines |= {"start_line": first, "end_line": first + data.pop("limit") - 1}
            lines = {key: lines[key] for key in ("start_line", "end_line")}
            data = {key: value for key, value in data.items() if key not in line_names}
        if path is None or not lines:
            return data
        rest = {key: value for key, value in data.items() if key not in lines and key not in names}
        if info.context is not None:
            info.context.note("path and lines were read as one target")
        return {**rest, "targets": [{"path": path, **lines}]}

    @model_validator(mode="after")
    def _something_to_read(self) -> "ReadSourceRequest":
        if not self.targets:
            raise ValueError("`targets` is missing")
        return self


class SourceFile(Result):
    """One piece of source."""

    path: str
    content: str
    language: str
    line_count: int = Field(description="Lines in the whole file.")
    range: tuple[int, int] = Field(description="First and last line returned.")
    file_sha256: str = Field(description="Of the whole file's raw bytes.")
    encoding: str
    line_endings: str = Field(description="lf, crlf, mixed or none; content uses \\n.")
    notes: list[str] = Field(default_factory=list)
    outline: list[str] = Field(default_factory=list, description="Lines and names of a cut file.")


class ReadProblem(Result):
    """A target that could not be read."""

    path: str
    error: str
    message: str
    required_action: str


class ReadSourceResult(Result):
    """What was read."""

    resource_kind: Literal["source"] = "source"
    delivery: Literal["inline"] = "inline"
    files: list[SourceFile]
    problems: list[ReadProblem] = Field(default_factory=list)
    cursor: str | None = None
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class _Rest:
    """What is left to read: a target and, if it was cut, where it continues and in which content."""

    path: str
    first: int
    last: int | None
    offset: int | None = None
    inside_line: bool = False
    sha256: str | None = None
    symbol: str | None = None


def _plan(context: CallContext, request: ReadSourceRequest) -> Plan[ReadSourceResult]:
    rests = _remaining_targets(context, request)
    reads = tuple(RepoPath.parse(item.path) for item in rests if _is_path(item.path))
    return Plan(lambda: _work(context, list(rests)), Effects(reads=reads))


def _is_path(text: str) -> bool:
    try:
        RepoPath.parse(text)
    except CodePlaneError:
        return False
    return True


def _remaining_targets(context: CallContext, request: ReadSourceRequest) -> tuple[_Rest, ...]:
    if context.position is None:
        return tuple(_Rest(t.path, *t.lines, symbol=t.symbol) for t in request.targets)
    try:
        return tuple(_Rest(*item) for item in context.position.items("rest"))
    except TypeError as error:
        raise CodePlaneError("CURSOR_INVALID") from error


def _work(context: CallContext, rests: list[_Rest]) -> ReadSourceResult:
    settings = context.workspace.settings.reads
    reader = _Reader(context, settings.range_bytes, settings.page_bytes)
    later = []
    while rests and reader.room > 0:
        context.check_cancelled()
        first = rests.pop(0)
        rest = reader.read(first)
        if rest is first:
            # The rest of this answer is too short for one line; the next answer starts with it.
            rests.insert(0, rest)
            break
        if rest is not None:
            # The other targets come first: the rest of a large file is often not wanted.
            later.append(rest)
    return _result(context, reader, [*rests, *later])


def _result(context: CallContext, reader: "_Reader", rests: Sequence[_Rest]) -> ReadSourceResult:
    if not reader.files and not rests and len(reader.errors) == 1:
        raise reader.errors[0]
    n_bytes = sum(len(file.content.encode("utf-8")) for file in reader.files)
    spend_read_budget(context, n_bytes)
    context.seen.update({file.path: file.file_sha256 for file in reader.files})
    problems = [
        ReadProblem(path=path, error=error.code, message=error.message, required_action=error.hint)
        for path, error in zip(reader.failed_paths, reader.errors, strict=True)
    ]
    rows = [[r.path, r.first, r.last, r.offset, r.inside_line, r.sha256, r.symbol] for r in rests]
    cursor = context.next_page({"rest": rows}) if rows else None
    return ReadSourceResult(files=reader.files, problems=problems, cursor=cursor, has_more=bool(rests))


class _Reader:
    """Reads targets until the answer is full.

    Invariant: `errors` and `failed_paths` have the same length; every target ends in files, in errors or in the rest.
    """

    def __init__(self, context: CallContext, room: int, page: int) -> None:
        self.room = room
        self._page = page
        self.files: list[SourceFile] = []
        self.errors: list[CodePlaneError] = []
        self.failed_paths: list[str] = []
        self._workspace = context.workspace
        self._root = context.workspace.root
        self._rules = context.workspace.ignore_rules()

    def read(self, rest: _Rest) -> _Rest | None:
        """Read one target and return what remains of it; the target itself when nothing of it fits."""
        asked = rest
        try:
            path = RepoPath.parse(rest.path)
            check_readable(self._rules, path)
            rest = self._located(path, rest)
            room = self.room if rest.last is not None else min(self.room, self._page)
            piece = read_piece(self._root, path, Wanted(rest.first, rest.last, room, rest.offset, rest.inside_line))
            _check_unchanged(path, piece, rest)
            if piece.ends_inside_line and self.files:
                return asked
        except CodePlaneError as error:
            self.errors.append(with_near_paths(self._workspace, rest.path, error))
            self.failed_paths.append(rest.path)
            return None
        outline = self._outline(path, piece, rest)
        if outline and piece.last_line > _LINES_WITH_OUTLINE:
            # The outline tells what to ask for; later lines cost tokens only when they are requested.
            piece = read_piece(self._root, path, Wanted(1, _LINES_WITH_OUTLINE, room))
        self.files.append(_source_file(path, piece, rest, outline))
        self.room -= max(len(piece.text.encode("utf-8")), 1)
        if outline and piece.next_offset is None:
            return _Rest(rest.path, piece.last_line + 1, None, sha256=piece.sha256)
        if piece.next_offset is None or piece.next_line is None:
            return None
        return _Rest(rest.path, piece.next_line, rest.last, piece.next_offset, piece.ends_inside_line, piece.sha256)

    def _located(self, path: RepoPath, rest: _Rest) -> _Rest:
        """Return the lines of a definition."""
        if rest.symbol is None:
            return rest
        data = self._bytes(path)
        one = find_definition(path, data, definitions_in(self._workspace, path.text, data), rest.symbol)
        first, last = lines_of(data, one)
        return _Rest(rest.path, first - n_decorator_lines(data, first, one), last)

    def _outline(self, path: RepoPath, piece: Piece, rest: _Rest) -> list[str]:
        """Return the definitions of a large file that is read from its start; members are indented."""
        is_start = rest.last is None and rest.offset is None and rest.first == 1
        if not is_start or piece.next_offset is None or piece.encoding not in {"utf-8", "utf-8-sig"}:
            return []
        data = self._bytes(path)
        outline = [
            f"{'-'.join(map(str, lines_of(data, one)))} {' ' * one.lexical_path.count('.')}{one.name}"
            for one in definitions_in(self._workspace, path.text, data)
            if one.kind in _OUTLINED and one.lexical_path.count(".") <= 1
        ]
        return outline[:_MAX_OUTLINE]

    def _bytes(self, path: RepoPath) -> bytes:
        with os.fdopen(open_source(self._root, path), "rb") as file:
            return file.read()


def _check_unchanged(path: RepoPath, piece: Piece, rest: _Rest) -> None:
    if rest.sha256 is not None and piece.sha256 != rest.sha256:
        raise CodePlaneError("FILE_CHANGED", f"{path} changed since the first part was read.")


def _source_file(path: RepoPath, piece: Piece, rest: _Rest, outline: list[str]) -> SourceFile:
    return SourceFile(
        path=path.text,
        content=piece.text,
        language=language_of(path.text),
        line_count=piece.line_count,
        range=(piece.first_line, piece.last_line),
        file_sha256=piece.sha256,
        encoding=piece.encoding,
        line_endings=piece.line_endings,
        notes=_notes(piece, rest),
        outline=outline,
    )


def _notes(piece: Piece, rest: _Rest) -> list[str]:
    notes = []
    if piece.size == 0:
        notes.append("the file is empty")
    if rest.last is not None and rest.last > piece.line_count and piece.size:
        notes.append(f"the file ends at line {piece.line_count}")
    if piece.encoding == "utf-8-sig":
        notes.append("the file starts with a byte order mark, which is not shown")
    elif piece.encoding.startswith("utf-16"):
        notes.append(f"the file is {piece.encoding}; it is shown as text")
    elif piece.encoding == "not utf-8":
        notes.append("bytes that are not UTF-8 are shown as \\xNN")
    if piece.line_endings in {"crlf", "mixed"}:
        notes.append(f"line endings are {piece.line_endings}; they are shown as \\n")
    if piece.size and not piece.ends_with_newline and piece.last_line == piece.line_count and piece.next_offset is None:
        notes.append("no newline at the end of the file")
    if piece.starts_inside_line:
        notes.append(f"continues inside line {piece.first_line}")
    if piece.ends_inside_line:
        notes.append(f"line {piece.last_line} is longer than one answer and is cut")
    return notes


def _render(result: ReadSourceResult) -> str:
    parts = [_render_file(file) for file in result.files]
    parts.extend(f"{item.path}: {item.error}: {item.message} {item.required_action}" for item in result.problems)
    if result.cursor:
        parts.append(f"more: cursor={result.cursor}")
    return "\n".join(parts)


def _render_file(file: SourceFile) -> str:
    first, last = file.range
    head = f"{file.path} lines {first}-{last} of {file.line_count} sha256={file.file_sha256[:12]}"
    notes = "".join(f"\n({note})" for note in file.notes)
    body = file.content.removesuffix("\n")
    if not file.content:
        return head + notes
    numbered = "\n".join(f"{first + i}\t{line}" for i, line in enumerate(body.split("\n")))
    outline = "".join(f"\n {line}" for line in file.outline)
    return f"{head}{notes}{outline}\n{numbered}"


READ_SOURCE = Operation(
    name=NAME,
    family="files",
    summary="Read files or line ranges, several in one call, with each file's sha256.",
    request_type=ReadSourceRequest,
    result_type=ReadSourceResult,
    effect=EffectClass.READ,
    plan=_plan,
    render=_render,
    when_to_use=("You need source text and know the path.", "You need several places at once: send all targets."),
    when_not_to_use=("You do not know the place: use search.", "You need one whole large file: use read_file_full."),
    examples=(
        Example("One file", {"targets": [{"path": "src/app.py"}]}),
        Example("A range and a method at once", {"targets": ["README.md:1-20", "src/app.py::App.run"]}),
    ),
    profiles=frozenset({"classic", "core"}),
)
