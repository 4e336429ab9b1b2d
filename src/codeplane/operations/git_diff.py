"""`git_diff`: changed lines between commits, the index and the working tree, page by page."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, model_validator

from codeplane.core.errors import CodePlaneError
from codeplane.core.paths import RepoPath
from codeplane.core.printable import counted, printable_name
from codeplane.git.differences import Comparison, Difference, read_difference
from codeplane.git.history import merge_base
from codeplane.git.revisions import resolve, resolve_range
from codeplane.git.status import Status, read_status
from codeplane.ledger.effects import EffectClass, Effects
from codeplane.operations.cursors import Position
from codeplane.operations.git_status import check_known
from codeplane.operations.models import PATH_ALIASES, RARELY, ListOfOne, Pagination, PathText, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.operations.patches import (
    LARGE_ROOM,
    DiffFile,
    DiffStats,
    PageSize,
    Place,
    page_of,
    render_files,
    stats_of,
)
from codeplane.operations.semantic_diff import (
    SemanticDiffRequest,
    SemanticDiffResult,
    render_structural,
    structural_diff,
)
from codeplane.workspace.workspace import Workspace

NAME = "git_diff"
_MAX_UNTRACKED: Final = 50
_SHOWN_UNTRACKED: Final = 20
_MAX_OVERVIEW: Final = 50


class GitDiffRequest(Request):
    """What to compare."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "base": ("from", "ref", "commit", "old", "revision", "range"),
        "target": ("to", "head", "new"),
        "staged": ("cached",),
        "paths": ("path", "files", *PATH_ALIASES),
        "context_lines": ("context", "unified"),
    }
    base: str | None = Field(
        None, min_length=1, max_length=500, description="Old side: a ref, or `a..b`, `a...b`. Default: the index."
    )
    target: str | None = Field(None, min_length=1, max_length=500, description="New side.")
    staged: bool = Field(False, description="The index against HEAD.")
    paths: Annotated[list[PathText], ListOfOne, Field(max_length=500)] = Field(default_factory=list)
    view: Literal["text", "structural"] = Field(
        "text", description="structural: changed definitions, what breaks; base HEAD."
    )
    context_lines: int = Field(3, ge=0, le=1000, json_schema_extra=RARELY)
    limit: int | None = Field(
        None, ge=1, le=5000, description="Lines per answer; default about 8 kB.", json_schema_extra=RARELY
    )
    cursor: str | None = None

    @model_validator(mode="after")
    def _sides_fit(self) -> "GitDiffRequest":
        if self.staged and self.target is not None:
            raise ValueError("`staged` compares with the index; leave `target` out")
        if self.base is not None and ".." in self.base and (self.target is not None or self.staged):
            raise ValueError("`base` is a range already; leave `target` and `staged` out")
        return self


class GitDiffResult(Result):
    """The differences; the pages together are the whole."""

    compared: str = Field(description="Which sides.")
    files: list[DiffFile]
    stats: DiffStats
    overview: list[str] = Field(default_factory=list, description="On the first of several pages: every changed file.")
    untracked: list[str] = Field(default_factory=list, description="Untracked files; a diff never shows them.")
    untracked_count: int = 0
    staged_not_shown: int = Field(0, description="Staged changes that this comparison does not include.")
    structural: SemanticDiffResult | None = Field(None, description="With view=structural; then `files` is empty.")
    pagination: Pagination


@dataclass(frozen=True, slots=True)
class _Question:
    """What a page shows: the comparison, its description, where the page begins, and the whole difference."""

    comparison: Comparison
    words: str


def _effects(_workspace: Workspace, request: GitDiffRequest) -> Effects:
    return Effects(reads=tuple(RepoPath.parse(path) for path in request.paths))


def _handle(context: CallContext, request: GitDiffRequest) -> GitDiffResult:
    if request.view == "structural":
        return _structural(context, request)
    question = _question(context, request)
    root, position = context.workspace.root, context.position
    difference = read_difference(root, question.comparison)
    if position is not None and difference.digest != position.text("digest"):
        raise CodePlaneError("CURSOR_EXPIRED", "The compared content has changed since the first page.")
    size = PageSize(room=LARGE_ROOM, n_lines=request.limit) if request.limit is not None else PageSize()
    files, rest = page_of(root, context.workspace.ignore_rules(), difference, _place(position), size)
    status = _status(context, question) if request.cursor is None else None
    untracked = status.untracked if status is not None else ()
    return GitDiffResult(
        compared=question.words,
        files=files,
        stats=stats_of(difference),
        overview=_overview(difference) if rest is not None and request.cursor is None else [],
        untracked=[printable_name(name) for name in untracked[:_MAX_UNTRACKED]],
        untracked_count=len(untracked),
        staged_not_shown=len(status.staged) if status is not None and question.comparison.base is None else 0,
        pagination=Pagination(
            next_cursor=context.next_page(_rest(question, difference, rest)) if rest is not None else None,
            total_estimate=len(difference.files),
        ),
    )


def _structural(context: CallContext, request: GitDiffRequest) -> GitDiffResult:
    """Return the semantic diff; without a base the last commit is the old side, so that staged changes count."""
    context.fresh_index()
    asked = SemanticDiffRequest(base=request.base or "HEAD", target=request.target, paths=request.paths)
    found = structural_diff(context, asked, staged=request.staged)
    return GitDiffResult(
        compared=f"{found.base} -> {found.target}",
        files=[],
        stats=DiffStats(files_changed=found.files_analyzed, insertions=0, deletions=0),
        structural=found,
        pagination=found.pagination,
    )


def _overview(difference: Difference) -> list[str]:
    """Return the changed files with their numbers of changed lines."""
    changes = [file.change for file in difference.files[:_MAX_OVERVIEW]]
    return [
        f"{printable_name(one.path)} {'binary' if one.is_binary else f'+{one.insertions} -{one.deletions}'}"
        for one in changes
    ]


def _question(context: CallContext, request: GitDiffRequest) -> _Question:
    """Return what is compared; refs stay those of the first page, even if they moved since."""
    paths, position = tuple(RepoPath.parse(path) for path in request.paths), context.position
    if position is not None:
        base, target = (position.oid(side) if side in position else None for side in ("base", "target"))
        words = position.text("words")
    else:
        base, target, words = _sides(context.workspace, request)
    if position is None and target is None and paths:
        check_known(context.workspace, paths)
    comparison = Comparison(base, target, request.staged, paths, request.context_lines)
    return _Question(comparison, words)


def _sides(workspace: Workspace, request: GitDiffRequest) -> tuple[str | None, str | None, str]:
    """Return both sides resolved, and what is compared in words."""
    root = workspace.root
    span = resolve_range(root, request.base) if request.base is not None else None
    if span is not None:
        words = f"{span.base[:12]} -> {span.tip[:12]}"
        if not span.is_symmetric:
            return span.base, span.tip, words
        base = merge_base(root, span.base, span.tip)
        if base is None:
            raise CodePlaneError("GIT_UNRELATED")
        return base, span.tip, f"merge base {base[:12]} -> {span.tip[:12]}"
    base = resolve(root, request.base) if request.base is not None else None
    if request.staged:
        old = f"{request.base} ({base[:12]})" if base is not None else "HEAD"
        return base, None, f"{old} -> index (staged)"
    if request.target is None:
        old = f"{request.base} ({base[:12]})" if base is not None else "index"
        return base, None, f"{old} -> working tree"
    target = resolve(root, request.target)
    if base is None:
        # Two commits are compared; the one without a name is HEAD.
        base = resolve(root, "HEAD")
    return base, target, f"{request.base or 'HEAD'} ({base[:12]}) -> {request.target} ({target[:12]})"


def _status(context: CallContext, question: _Question) -> Status | None:
    """Return what a comparison with the working tree leaves out: staged and untracked files."""
    comparison = question.comparison
    if comparison.staged or comparison.target is not None:
        return None
    return read_status(context.workspace.repository, comparison.paths)


def _place(position: Position | None) -> Place:
    try:
        return Place.parse(position.items("place")) if position is not None else Place()
    except (TypeError, ValueError) as error:
        raise CodePlaneError("CURSOR_INVALID") from error


def _rest(question: _Question, difference: Difference, rest: Place) -> dict[str, Any]:
    comparison = question.comparison
    sides = {"base": comparison.base, "target": comparison.target}
    return {**sides, "words": question.words, "digest": difference.digest, "place": rest.as_list()}


def _render(result: GitDiffResult) -> str:
    if result.structural is not None:
        return render_structural(result.structural)
    stats = result.stats
    lines = [f"{result.compared}: {counted(stats.files_changed, 'file')}, +{stats.insertions} -{stats.deletions}"]
    lines.extend(f" {line}" for line in result.overview)
    lines.extend(render_files(result.files))
    if not stats.files_changed:
        lines[0] = f"{result.compared}: no differences"
    if result.staged_not_shown:
        lines.append(f"staged but not shown: {result.staged_not_shown} (use staged=true, or base=HEAD for both)")
    if result.untracked:
        shown = ", ".join(result.untracked[:_SHOWN_UNTRACKED])
        more = result.untracked_count - min(len(result.untracked), _SHOWN_UNTRACKED)
        lines.append(f"untracked: {shown}" + (f" and {more} more" if more else ""))
    if result.pagination.next_cursor:
        lines.append(f"more: cursor={result.pagination.next_cursor}")
    return "\n".join(lines)


GIT_DIFF = Operation(
    name=NAME,
    family="git",
    summary="Changed lines: working tree, staged, or between two refs.",
    request_type=GitDiffRequest,
    result_type=GitDiffResult,
    effect=EffectClass.READ,
    plan=planned(_handle, _effects),
    render=_render,
    when_to_use=("You want to see what changed before a commit.", "You compare two branches, tags or commits."),
    when_not_to_use=("You only need names of changed files: use git_status.",),
    examples=(
        Example("What is not staged", {}),
        Example("Everything since the last commit, in one directory", {"base": "HEAD", "paths": ["src"]}),
        Example("What a branch adds", {"base": "main...feature"}),
        Example("What the changes mean: definitions, breaking or not, callers", {"view": "structural"}),
    ),
    profiles=frozenset({"classic", "core"}),
)
