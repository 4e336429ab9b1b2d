"""`search`: find lines of text in the indexed files; symbols and references join with the structural facts."""

import itertools
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError
from codeplane.index.ignore_rules import BUILT_IN_SOURCE, matcher_for
from codeplane.index.reconcile import IndexState
from codeplane.index.text_search import LineHit, Place, TextQuery, find_lines, language_aliases, ordered_files
from codeplane.ledger.effects import EffectClass
from codeplane.operations.cursors import make_cursor, read_cursor
from codeplane.operations.models import Lenient, ListOfOne, Pagination, Request, Result
from codeplane.operations.operation import CallContext, Example, Operation, no_effects

NAME = "search"
_TextList = Annotated[list[str], ListOfOne]


class SearchScope(Lenient):
    """Where to look."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"paths": ("path", "include", "glob"), "languages": ("language",)}
    paths: _TextList = Field(default_factory=list, description="Globs as in .gitignore.")
    languages: _TextList = Field(default_factory=list)
    kinds: _TextList = Field(default_factory=list, description="Symbol kinds.")


class SearchRequest(Request):
    """What to look for."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"query": ("pattern", "text", "q"), "limit": ("max_results",)}
    query: str = Field(max_length=10_000, description="Text to find, exactly as written.")
    mode: Literal["lexical", "symbol", "references", "definitions"] = "lexical"
    scope: SearchScope = Field(default_factory=SearchScope)
    regex: bool = Field(False, description="query is an RE2 expression.")
    ignore_case: bool = False
    whole_word: bool = False
    limit: int = Field(20, ge=1, le=100)
    cursor: str | None = Field(None, description="Goes on where the last answer was cut.")
    include_snippets: bool = Field(True, description="Show the line of each hit.")
    enrichment: Literal["none", "minimal", "standard", "function", "class"] = "none"


class SearchHit(Result):
    """One line."""

    path: str
    line: int
    column: int
    snippet: str | None = None
    score: float
    match_type: Literal["exact", "fuzzy", "semantic"]


class SearchResult(Result):
    """A page of hits."""

    results: list[SearchHit]
    pagination: Pagination
    epoch: int
    files_searched: int
    not_searched: dict[str, int] = Field(description="Files in scope whose text is not indexed, by reason.")


def _handle(context: CallContext, request: SearchRequest) -> SearchResult:
    if request.mode != "lexical":
        hint = f'Until then: search {{"query": "{request.query[:40]}", "whole_word": true}}'
        raise CodePlaneError("NOT_AVAILABLE_YET", f"mode={request.mode} needs the structural facts.", hint=hint)
    _check_patterns(request.scope.paths)
    if request.scope.kinds or request.enrichment != "none":
        context.warnings.append("`kinds` and `enrichment` need symbols, which do not exist yet; they were not used")
    query = _query(request)
    index = context.workspace.index
    epoch, after = _place(request)
    state = index.state(epoch)
    if epoch is not None and state.epoch != index.state().epoch:
        context.warnings.append(f"this page is of epoch {epoch}; the files have changed since")
    hits = list(itertools.islice(find_lines(state, query, after), request.limit + 1))
    return _result(state, query, request, hits)


def _query(request: SearchRequest) -> TextQuery:
    aliases = language_aliases()
    return TextQuery(
        request.query,
        is_regex=request.regex,
        ignore_case=request.ignore_case,
        whole_word=request.whole_word,
        paths=tuple(request.scope.paths),
        languages=tuple(aliases.get(name.lower(), name.lower()) for name in request.scope.languages),
    )


def _check_patterns(patterns: list[str]) -> None:
    for pattern in patterns:
        try:
            matcher_for(pattern)
        except ValueError as error:
            raise CodePlaneError("INVALID_ARGUMENTS", f"The path pattern `{pattern[:80]}` selects nothing.") from error


def _question(request: SearchRequest) -> str:
    """Return what binds a cursor to its question; page size and snippets may change from page to page."""
    asked = request.model_dump(mode="json", exclude={"cursor", "limit", "include_snippets"})
    return digest(asked)[:16]


def _place(request: SearchRequest) -> tuple[int | None, Place | None]:
    if request.cursor is None:
        return None, None
    state: dict[str, Any] = read_cursor(NAME, request.cursor)
    if state.get("question") != _question(request):
        raise CodePlaneError("CURSOR_INVALID", "The cursor belongs to another query.")
    return int(state["epoch"]), Place(str(state["path"]), int(state["line"]))


def _result(state: IndexState, query: TextQuery, request: SearchRequest, hits: list[LineHit]) -> SearchResult:
    page = hits[: request.limit]
    cursor = None
    if len(hits) > request.limit:
        last = page[-1]
        place = {"epoch": state.epoch, "path": last.path, "line": last.line, "question": _question(request)}
        cursor = make_cursor(NAME, place)
    searched = ordered_files(state, query)
    problems: dict[str, int] = {}
    for file in searched:
        if file.problem:
            problems[file.problem] = problems.get(file.problem, 0) + 1
    for item in state.left_out:
        if item.source != BUILT_IN_SOURCE and not query.languages:
            reason = f"left out by {item.rule}"
            problems[reason] = problems.get(reason, 0) + 1
    return SearchResult(
        results=[_hit(hit, with_snippet=request.include_snippets) for hit in page],
        pagination=Pagination(next_cursor=cursor, total_estimate=None if cursor or request.cursor else len(page)),
        epoch=state.epoch,
        files_searched=len(searched) - sum(bool(file.problem) for file in searched),
        not_searched=dict(sorted(problems.items())),
    )


def _hit(hit: LineHit, *, with_snippet: bool) -> SearchHit:
    return SearchHit(
        path=hit.path,
        line=hit.line,
        column=hit.column,
        snippet=hit.snippet if with_snippet else None,
        score=1.0,
        match_type="exact",
    )


def _render(result: SearchResult) -> str:
    lines: list[str] = []
    for path, hits in itertools.groupby(result.results, key=lambda hit: hit.path):
        lines.append(path)
        lines.extend(f" {hit.line}: {hit.snippet}" if hit.snippet is not None else f" {hit.line}" for hit in hits)
    if not result.results:
        lines.append(f"No line in {result.files_searched} files.")
        lines.extend(f"not searched: {count} {reason}" for reason, count in result.not_searched.items())
    if result.pagination.next_cursor:
        lines.append(f"more: cursor={result.pagination.next_cursor}")
    return "\n".join(lines)


SEARCH = Operation(
    name=NAME,
    family="search",
    summary="Find every line that holds a text (or regex). Complete, never stale; use it instead of grep.",
    request_type=SearchRequest,
    result_type=SearchResult,
    effect=EffectClass.READ,
    effects=no_effects,
    handler=_handle,
    render=_render,
    when_to_use=("You look for a word, a message or a piece of code.", "You need every line that holds it."),
    when_not_to_use=("You know the file: use read_source.", "You need file names only: use list_files."),
    examples=(
        Example("Every line with a name", {"query": "QuerySet"}),
        Example("A regex in some files", {"query": "def get_\\w+", "regex": True, "scope": {"paths": ["src/**/*.py"]}}),
        Example(
            "In one language, any case", {"query": "todo", "ignore_case": True, "scope": {"languages": ["python"]}}
        ),
    ),
    profiles=frozenset({"core"}),
    reads_index=True,
)
