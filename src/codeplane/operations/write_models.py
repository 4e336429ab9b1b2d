"""The request and result of `write_source`."""

import re
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from codeplane.operations.models import PATH_ALIASES, RARELY, Lenient, ListOfOne, PathText, Request, Result
from codeplane.operations.tool_list import SHORT_NAME

NAME = "write_source"
_MAX_CONTENT = 20_000_000
_UNFIT = re.compile("[\0\ud800-\udfff]")


class SourceEdit(Lenient):
    """One change of one file."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "path": PATH_ALIASES,
        "action": ("operation", "type", "kind"),
        "content": ("text", "file_text"),
        "new_content": ("new", "new_text", "new_string", "new_str", "replacement", "replace"),
        "expected_content": ("old", "old_content", "old_text", "old_string", "old_str", "expected"),
        "all": ("replace_all", "global"),
        "definition": ("symbol", "replace_definition"),
        "before": ("before_definition", "insert_before"),
        "after": ("after_definition", "insert_after"),
        "start_line": ("start", "from_line"),
        "end_line": ("end", "to_line"),
        "expected_file_sha256": ("file_sha256", "sha256", "expected_hash"),
    }
    PLAIN_ALIASES: ClassVar[frozenset[str]] = frozenset({"old", "new"})
    path: PathText
    action: Literal["create", "update", "delete"] = "update"
    content: str | None = Field(None, max_length=_MAX_CONTENT, description="create: the whole file.")
    expected_content: str | None = Field(
        None,
        max_length=_MAX_CONTENT,
        description="Text to replace, unless lines or a definition give it.",
        json_schema_extra={SHORT_NAME: "old"},
    )
    new_content: str | None = Field(None, max_length=_MAX_CONTENT, json_schema_extra={SHORT_NAME: "new"})
    all: bool = Field(False, description="Every occurrence.")
    count: int | None = Field(None, ge=1, description="Exact number of occurrences.")
    regex: bool = Field(False, description="old is RE2; \\1 is a group.")
    start_line: int | None = Field(None, ge=1, description="Before this call.")
    end_line: int | None = Field(None, ge=0, description="start_line - 1 inserts.")
    definition: str | None = Field(None, description="Replace this one, such as Class.method.")
    before: str | None = Field(None, description="Insert before this definition.", json_schema_extra=RARELY)
    after: str | None = Field(None, description="Insert after this definition.")
    expected_file_sha256: str | None = Field(
        None, description="As read_source gave it, or its beginning.", json_schema_extra=RARELY
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> "SourceEdit":
        for name in ("content", "new_content"):
            found = _UNFIT.search(getattr(self, name) or "")
            if found is not None:
                raise ValueError(f"{name} holds {found.group()!a}, which is not text")
        if self.action == "create" and self.content is None and self.new_content is None:
            raise ValueError("create needs `content`")
        if self.action == "create" and (self.start_line or self.expected_content):
            raise ValueError("create takes the whole content; use update to change a part")
        if self.action == "delete" and (self.content is not None or self.new_content is not None):
            raise ValueError("delete takes no content")
        if self.action == "update" and self.new_content is None and self.content is None:
            raise ValueError("update needs `new_content`")
        return self

    @model_validator(mode="after")
    def _place_makes_sense(self) -> "SourceEdit":
        if self.end_line is not None and self.start_line is None:
            raise ValueError("end_line needs start_line")
        if (self.all or self.count is not None or self.regex) and not self.expected_content:
            raise ValueError("`all`, `count` and `regex` need `expected_content`")
        places = [self.definition, self.before, self.after]
        if sum(one is not None for one in places) > 1 or (any(places) and self.start_line is not None):
            raise ValueError("give one of definition, before, after and lines")
        if any(places) and self.expected_content is not None:
            raise ValueError("definition, before and after take no `expected_content`")
        if self.start_line is not None and self.end_line is not None and self.end_line < self.start_line - 1:
            raise ValueError(f"end_line {self.end_line} is before start_line {self.start_line}")
        return self


class WriteSourceRequest(Request):
    """What to change."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"edits": ("edit", "changes", "files")}
    edits: Annotated[list[SourceEdit], ListOfOne, Field(max_length=200)] = Field(default_factory=list)
    patch: str | None = Field(
        None, max_length=_MAX_CONTENT, description="Instead of edits: unified diff or *** Begin Patch."
    )
    check: bool = Field(False, description="Then lint and test.")
    dry_run: bool = Field(False, description="Change nothing.", json_schema_extra=RARELY)
    allow_ignored: bool = Field(False, description="Also files that git ignores.", json_schema_extra=RARELY)
    break_hardlink: bool = Field(
        False, description="Also hard-linked files; only this name changes.", json_schema_extra=RARELY
    )

    @model_validator(mode="after")
    def _something_to_do(self) -> "WriteSourceRequest":
        if bool(self.edits) == (self.patch is not None):
            raise ValueError("send `edits`, or `patch`")
        return self


class TextPosition(Result):
    """A place in the file before the call: line from 1, character from 0."""

    line: int
    char: int


class TextRange(Result):
    """From a place up to another."""

    start: TextPosition
    end: TextPosition


class AppliedEdit(Result):
    """One change inside a file."""

    range: TextRange
    new_lines: tuple[int, int] = Field(description="Where the new text is now.")
    new_text: str = Field(description="Cut after 2,000 characters.")
    semantic: bool = False
    symbol: str | None = None


class LineSpan(Result):
    """First and last line."""

    start_line: int
    end_line: int


class LineCorrection(Result):
    """The given lines, and where the expected text really was."""

    original: LineSpan
    corrected: LineSpan


class ChangedFile(Result):
    """The outcome for one file."""

    path: str
    action: Literal["created", "updated", "deleted"]
    old_hash: str | None = None
    new_hash: str | None = None
    file_sha256: str | None = Field(None, description="For the next edit; none if deleted.")
    insertions: int
    deletions: int
    line_ending: str
    edits: list[AppliedEdit] = Field(default_factory=list)
    line_corrections: list[LineCorrection] = Field(default_factory=list)
    symbols: list[str] = Field(default_factory=list)
    new_syntax_errors: list[int] = Field(default_factory=list, description="Lines that no longer parse.")
    real_path: str | None = Field(None, description="The target, if a symlink was edited through it.")
    diff: str | None = Field(None, description="The changed lines, if the call does not show them.")


class AffectedTest(Result):
    """A test file that the change may affect."""

    path: str
    confidence: str


class RepositoryState(Result):
    """The state of the repository after the call."""

    head: str | None
    index_epoch: int | None


class Delta(Result):
    """Everything that changed."""

    mutation_id: str
    repo_fingerprint: str
    files_changed: int
    insertions: int
    deletions: int
    files: list[ChangedFile]
    symbols_changed: list[str] = Field(default_factory=list)
    tests_affected: list[AffectedTest] = Field(default_factory=list)
    tests_confidence: str | None = Field(None, description="complete, or partial if tests may be missing.")
    tests_unknown: list[str] = Field(default_factory=list, description="The first reasons why tests may be missing.")


class Remaining(Result):
    """A replaced text that remains elsewhere."""

    text: str
    places: list[str] = Field(description="`path:line`, at most twenty.")


class WriteSourceResult(Result):
    """The result, or its preview."""

    applied: bool
    dry_run: bool
    delta: Delta
    repository: RepositoryState
    remaining: list[Remaining] = Field(default_factory=list, description="Where replaced texts remain.")
    broken: list[str] = Field(
        default_factory=list, description="References whose definition this change removed, as `path:line: text`."
    )
    check: str | None = Field(None, description="The verdict of `check`, if it was asked for.")
    summary: str
    display_to_user: str | None = None


def is_by_rule(edit: SourceEdit) -> bool:
    """Tell whether an edit does not itself show what it changes."""
    return edit.all or edit.regex or edit.count is not None


def names_definition(edit: SourceEdit) -> bool:
    """Tell whether an edit names the definition that it changes."""
    return (edit.definition or edit.before or edit.after) is not None


def new_text(edit: SourceEdit) -> str:
    """Return the new text of an edit."""
    return edit.new_content if edit.new_content is not None else edit.content or ""
