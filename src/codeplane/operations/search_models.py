"""The request and result of `search`."""

import itertools
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, model_validator

from codeplane.operations.models import RARELY, Lenient, ListOfOne, Pagination, Request, Result

NAME = "search"
MAX_QUERY = 10_000
# The modes that `search_relations` answers.
RELATIONS = frozenset({"callers", "overrides", "subclasses", "implementations", "importers", "tests_of"})
_TextList = Annotated[list[str], ListOfOne]


class SearchScope(Lenient):
    """Where to look."""

    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {"paths": ("path", "include", "glob"), "languages": ("language",)}
    paths: _TextList = Field(default_factory=list, description="Globs; `!` excludes.")
    languages: _TextList = Field(default_factory=list, json_schema_extra=RARELY)
    kinds: _TextList = Field(default_factory=list, description="Symbol kinds.", json_schema_extra=RARELY)


class SearchRequest(Request):
    """What to look for."""

    PAGE_FIELDS: ClassVar[frozenset[str]] = frozenset({"limit", "include_snippets"})
    ALIASES: ClassVar[dict[str, tuple[str, ...]]] = {
        "query": ("pattern", "text", "q"),
        "queries": ("patterns",),
        "limit": ("max_results",),
        "context": ("context_lines",),
        "budget": ("max_tokens", "token_budget"),
    }
    query: str = Field(
        "",
        max_length=MAX_QUERY,
        description="Exact text; in other modes a name, Class.method, path::Name, path:line:column or a file.",
    )
    queries: _TextList = Field(default_factory=list, max_length=20, description="Several, instead of query.")
    mode: Literal[
        "lexical",
        "symbol",
        "references",
        "definitions",
        "callers",
        "overrides",
        "subclasses",
        "implementations",
        "importers",
        "tests_of",
    ] = "lexical"
    scope: SearchScope = Field(default_factory=SearchScope)
    regex: bool = Field(False, description="RE2.")
    ignore_case: bool = False
    whole_word: bool = Field(False, json_schema_extra=RARELY)
    certainty: Literal["sure", "all"] = Field("sure", description="all: also possible matches.")
    show: Literal["lines", "code"] = Field("lines", description="code: definitions around the hits; no read needed.")
    context: int = Field(0, ge=0, le=50, description="Lines around each hit.")
    budget: int = Field(2_500, ge=100, le=20_000, description="Tokens of code.", json_schema_extra=RARELY)
    limit: int = Field(20, ge=1, le=100, description="At most 100.")
    cursor: str | None = Field(None, description="From a cut answer.")
    include_snippets: bool = Field(True, description="Show the line of each hit.", json_schema_extra=RARELY)
    enrichment: Literal["none", "minimal", "standard", "function", "class"] = Field("none", json_schema_extra=RARELY)
    include_ignored: bool = Field(
        False, description="Also files that git ignores, and CodePlane's own trace.", json_schema_extra=RARELY
    )

    @model_validator(mode="before")
    @classmethod
    def _list_of_queries(cls, data: Any) -> Any:
        """Accept a list where one query is expected."""
        if isinstance(data, dict) and isinstance(data.get("query"), list) and "queries" not in data:
            return {**{key: value for key, value in data.items() if key != "query"}, "queries": data["query"]}
        return data

    @model_validator(mode="after")
    def _one_or_several(self) -> "SearchRequest":
        if self.queries and (self.query or self.cursor):
            raise ValueError("give `queries` alone, or `query` with its cursor")
        if not self.query and not self.queries:
            raise ValueError("`query` is missing")
        if any(not query or len(query) > MAX_QUERY for query in self.queries):
            raise ValueError(f"each of `queries` has 1 to {MAX_QUERY:,} characters")
        return self

    @model_validator(mode="before")
    @classmethod
    def _scope_beside_the_query(cls, data: Any, info: ValidationInfo) -> Any:
        """Accept `scope` fields beside the query, where other search tools have them."""
        if not isinstance(data, dict) or "scope" in data:
            return data
        names = {*SearchScope.model_fields, *itertools.chain.from_iterable(SearchScope.ALIASES.values())}
        scope = {key: value for key, value in data.items() if key in names}
        if not scope:
            return data
        if info.context is not None:
            info.context.note(f"{', '.join(f'`{name}`' for name in scope)} was read as part of `scope`")
        return {"scope": scope, **{key: value for key, value in data.items() if key not in scope}}


class SymbolInfo(Result):
    """A definition, or the one around a line."""

    name: str
    kind: str
    container: str | None = None
    signature: str | None = None
    def_uid: str | None = None
    end_line: int | None = None
    source: str | None = Field(None, description="Its text, with enrichment function or class.")


class SearchHit(Result):
    """One line."""

    path: str
    line: int
    column: int
    snippet: str | None = None
    symbol: SymbolInfo | None = None
    score: float = Field(description="Confidence: 1 exact or proven, less for other case, form or doubt.")
    match_type: Literal["exact", "fuzzy", "semantic"]
    matched: str | None = Field(None, description="How a symbol matches the query or relates to it.")
    tier: Literal["PROVEN", "STRONG", "ANCHORED"] | None = None
    role: Literal["reference", "definition", "import", "export"] | None = Field(None, description="Of a reference.")
    query: str | None = Field(None, description="Which of several queries found it.")


class CodePiece(Result):
    """Consecutive lines of one file; each line is in one piece only."""

    path: str
    start_line: int
    hits: list[int] = Field(description="The lines with hits.")
    content: str
    goes_on_until: int | None = Field(None, description="The last line of a definition that is cut here.")


class SearchResult(Result):
    """A page of hits."""

    results: list[SearchHit]
    code: list[CodePiece] = Field(default_factory=list, description="With show=code or context; best files first.")
    hits_per_file: dict[str, int] = Field(
        default_factory=dict, description="Hits per file, as far as they were counted."
    )
    pagination: Pagination
    query_time_ms: int
    epoch: int
    about: str | None = Field(None, description="What the references point to, and what is not included.")
    files_searched: int
    ignored_files: int = Field(0, description="Files in scope not searched because git ignores them.")
    not_searched: dict[str, int] = Field(description="Files in scope whose text is not indexed, by reason.")
