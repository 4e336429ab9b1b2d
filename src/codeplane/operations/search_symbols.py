"""The symbol modes of `search`: definitions and references, and the definition around a line."""

import itertools
from collections.abc import Callable
from typing import Any, Final

from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import counted
from codeplane.govern.trace.files import MAP_FILE, TRACE_FILE
from codeplane.index.facts.outline import LAST_LINE, Outline
from codeplane.index.facts.queries import FactQueries
from codeplane.index.facts.reader import FactFile, FactReader
from codeplane.index.ignore_rules import matcher_for_all
from codeplane.index.import_search import count_importing_files, file_or_module, find_imports
from codeplane.index.linking.stored_links import Tier
from codeplane.index.reconcile import IndexState
from codeplane.index.reference_search import (
    ReferenceCount,
    ReferenceHit,
    Symbol,
    count_references,
    find_possible_references,
    find_references,
    symbols_of,
)
from codeplane.index.symbol_search import Match, SymbolHit, SymbolScope, find_symbols, innermost, kinds_from, symbol_at
from codeplane.index.text_search import TextQuery, find_lines, language_aliases, snippet_of
from codeplane.languages.facts import DefinitionKind
from codeplane.operations.cursors import Position
from codeplane.operations.models import Pagination
from codeplane.operations.operation import CallContext
from codeplane.operations.search_code import fact_file
from codeplane.operations.search_models import (
    SearchHit,
    SearchRequest,
    SearchResult,
    SymbolInfo,
)

# What CodePlane writes about the code is not the code.
OWN_RECORDS: Final = frozenset({TRACE_FILE, MAP_FILE})
MAX_SIGNATURE = 100
# With more definitions than this, listing them is the better answer to a references search.
MAX_AMBIGUOUS = 4
_MAX_SOURCE_LINES = {"function": 80, "class": 200}
_SCORES = {Match.EXACT: 1.0, Match.FORM: 0.9, Match.INHERITED: 0.8, Match.PREFIX: 0.7, Match.PART: 0.5, Match.TYPO: 0.3}
_TIER_SCORES = {Tier.PROVEN: 1.0, Tier.STRONG: 0.9, Tier.ANCHORED: 0.5}
MEANT = frozenset({Match.EXACT, Match.FORM, Match.INHERITED})
# Kinds often used through values of unknown type, module settings included.
_READ_BY_NAME = frozenset(
    {
        DefinitionKind.METHOD,
        DefinitionKind.PROPERTY,
        DefinitionKind.FIELD,
        DefinitionKind.CONSTANT,
        DefinitionKind.VARIABLE,
    }
)
_HAS_BODY = frozenset({DefinitionKind.FUNCTION, DefinitionKind.METHOD, DefinitionKind.PROPERTY})


def definitions(context: CallContext, request: SearchRequest) -> SearchResult:
    """Answer where a symbol is defined; mode `symbol` also takes names that only contain the query."""
    index = context.workspace.index
    with index.facts() as reader:
        position = context.position
        offset = position.number("offset") if position is not None else 0
        hits = symbols_meant(context, reader, request, offset + request.limit + 1)
        if request.mode == "definitions" and any(hit.match is Match.EXACT for hit in hits):
            hits = [hit for hit in hits if hit.match is Match.EXACT]
        check_unchanged(position, _hits_before(hits, offset))
        page = hits[offset : offset + request.limit]
        end = offset + len(page)
        cursor = symbol_cursor(context, _hits_before(hits, end), {"offset": end}) if len(hits) > end else None
        results = [symbol_hit(reader, hit, request) for hit in page]
        about = None if hits else _nothing_found(context, request)
        total = None if cursor and request.mode == "symbol" else len(hits)
        return explained(reader, request, page_answer(index.state(), reader, results, cursor, about, total))


def references(context: CallContext, request: SearchRequest) -> SearchResult:
    """Answer what refers to a symbol; a name with many definitions is answered with the list of them."""
    index = context.workspace.index
    with index.facts() as reader:
        symbols = [hit for hit in symbols_meant(context, reader, request) if hit.match in MEANT]
        if any(hit.match is Match.EXACT for hit in symbols):
            symbols = [hit for hit in symbols if hit.match is Match.EXACT]
        imported = file_or_module(reader, request.query.strip()) if not symbols else None
        if imported is not None:
            return explained(reader, request, _imports_of(context, reader, request, imported))
        meant = symbols_of(reader, symbols)
        if not meant or len(meant) > MAX_AMBIGUOUS:
            shown = [one.asked for one in meant]
            return explained(reader, request, instead_of_references(context, reader, request, shown))
        accepts = path_test(context, request)
        counts = [count_references(reader, symbol, accepts) for symbol in meant]
        totals = [count.total for count in counts]
        after = _reference_place(context.position)
        check_unchanged(context.position, _references_before(reader, totals, after))
        found = _all_references(context, reader, request, meant, accepts, after)
        hits = list(itertools.islice(found, request.limit + 1))
        page = hits[: request.limit]
        cursor = None
        if len(hits) > request.limit:
            group, last = page[-1]
            cursor = _reference_cursor(context, reader, totals, (group, last.path, last.start))
        n_open = None
        if request.certainty == "all" or not all(count.total for count in counts):
            n_open = sum(1 for _ in _possible(context, reader, meant, accepts, None))
        results = [reference_hit(hit, meant, group, request) for group, hit in page]
        about = _about(reader, meant, counts, n_open, request)
        total = sum(count.total for count in counts) + (n_open or 0 if request.certainty == "all" else 0)
        return explained(reader, request, page_answer(index.state(), reader, results, cursor, about, total))


def _imports_of(context: CallContext, reader: FactReader, request: SearchRequest, file: FactFile) -> SearchResult:
    """Answer who imports a file."""
    place = _reference_place(context.position)
    n_files = count_importing_files(reader, file)
    check_unchanged(context.position, _references_before(reader, [n_files], place))
    found = find_imports(reader, file, path_test(context, request), place[1:] if place is not None else None)
    hits = list(itertools.islice(found, request.limit + 1))
    page = hits[: request.limit]
    cursor = None
    if len(hits) > request.limit:
        cursor = _reference_cursor(context, reader, [n_files], (0, page[-1].path, page[-1].start))
    about = f"{file.path}: imported by {_counted(n_files, 'file')}"
    if not file.modules:
        about = f"{file.path} is not a module that imports can be followed to."
    results = [reference_hit(hit, [], 0, request) for hit in page]
    return page_answer(context.workspace.index.state(), reader, results, cursor, about, None)


def enriched(reader: FactReader, enrichment: str, result: SearchResult, state: IndexState | None) -> SearchResult:
    """Name the definition around every hit; with `function` or `class` show its text too.

    Lines of a state use the stored facts of that state's texts, even if there is a newer state.
    """
    hits = []
    for hit in result.results:
        file = reader.file_at(hit.path) if state is None else fact_file(state.files[hit.path])
        hits.append(_enriched_hit(reader, enrichment, hit, file))
    return result.model_copy(update={"results": hits})


def explained(reader: FactReader, request: SearchRequest, result: SearchResult) -> SearchResult:
    """Return the result with the definition around each hit, if requested."""
    return result if request.enrichment == "none" else enriched(reader, request.enrichment, result, None)


def symbols_meant(context: CallContext, reader: FactReader, request: SearchRequest, wanted: int = 0) -> list[SymbolHit]:
    """Return the matching symbols; mode `symbol` adds names that only contain the query, up to the limit."""
    aliases = language_aliases()
    is_reference = request.mode not in {"symbol", "definitions"}
    scope = SymbolScope(
        kinds=kinds_from(request.scope.kinds),
        accepts_path=(_definition_test if is_reference else path_test)(context, request),
        languages=frozenset(aliases.get(name.lower(), name.lower()) for name in request.scope.languages),
    )
    index = context.workspace.index
    return find_symbols(
        reader,
        request.query.strip(),
        scope,
        lambda: index.symbol_names(reader),
        parts_until=wanted if request.mode == "symbol" else 0,
    )


def ignored_files(context: CallContext, request: SearchRequest) -> frozenset[str]:
    """Return the files that are not searched because git ignores them, and CodePlane's own records of the code.

    None when the caller wants them too, the records also when the scope names them.
    """
    if request.include_ignored:
        return frozenset()
    own = frozenset() if OWN_RECORDS & frozenset(request.scope.paths) else OWN_RECORDS
    try:
        return context.workspace.ignored_files(context.workspace.index.state()) | own
    except CodePlaneError as error:
        context.warnings.append(f"files ignored by git were searched too: {error.message}")
        return own


def path_test(context: CallContext, request: SearchRequest) -> Callable[[str], bool]:
    """Return which files may hold hits: those in scope that git does not ignore."""
    fits = matcher_for_all(request.scope.paths)
    ignored = ignored_files(context, request)
    return lambda path: path not in ignored and fits(path)


def _definition_test(context: CallContext, request: SearchRequest) -> Callable[[str], bool]:
    """Return which files may define what references are asked of: one that the query names, or any not ignored."""
    ignored = ignored_files(context, request)
    return lambda path: path not in ignored or request.query.strip().startswith(f"{path}:")


def _all_references(
    context: CallContext,
    reader: FactReader,
    request: SearchRequest,
    symbols: list[Symbol],
    accepts: Callable[[str], bool],
    after: tuple[int, str, int] | None,
) -> "itertools.chain[tuple[int, ReferenceHit]]":
    """Chain the references of each symbol and, with certainty=all, the possible uses."""

    def sure(group: int, symbol: Symbol) -> Any:
        start = after[1:] if after is not None and after[0] == group else None
        return ((group, hit) for hit in find_references(reader, symbol, accepts, start))

    first = after[0] if after is not None else 0
    parts = [sure(group, symbol) for group, symbol in enumerate(symbols) if group >= first]
    if request.certainty == "all":
        parts.append(_possible(context, reader, symbols, accepts, after))
    return itertools.chain(*parts)


def _possible(
    context: CallContext,
    reader: FactReader,
    symbols: list[Symbol],
    accepts: Callable[[str], bool],
    after: tuple[int, str, int] | None,
) -> Any:
    """Yield the uses of the name that could not be resolved, from the files that hold the word."""
    group = len(symbols)
    name = symbols[0].asked.name
    start = after[1:] if after is not None and after[0] == group else None
    state = context.workspace.index.state()
    lines = find_lines(state, TextQuery(name, whole_word=True), None)
    paths = sorted({hit.path for hit in lines if accepts(hit.path)})
    yield from ((group, hit) for hit in find_possible_references(reader, symbols[0], paths, start))


def instead_of_references(
    context: CallContext, reader: FactReader, request: SearchRequest, symbols: list[SymbolHit]
) -> SearchResult:
    """Answer a references search that matches no single definition."""
    state = context.workspace.index.state()
    if not symbols:
        near = symbols_meant(context, reader, request)[: request.limit]
        results = [symbol_hit(reader, hit, request) for hit in near]
        about = _nothing_found(context, request)
        return page_answer(state, reader, results, None, about if not near else f"{about} Near names:", len(near))
    shown = symbols[: request.limit]
    results = [symbol_hit(reader, hit, request) for hit in shown]
    example = f"{shown[0].file.path}::{shown[0].lexical_path}"
    about = (
        f"`{request.query[:60]}` has {len(symbols)} definitions; search for one of them, as in query={example}"
        + (f" (the first {len(shown)} are listed)" if len(shown) < len(symbols) else "")
        + ":"
    )
    return page_answer(state, reader, results, None, about, len(symbols))


def _nothing_found(context: CallContext, request: SearchRequest) -> str:
    state = context.workspace.index.state()
    without = sum(file.facts_id is None and file.text_id is not None for file in state.files.values())
    where = " in this scope" if request.scope.paths or request.scope.languages or request.scope.kinds else ""
    text = f"No definition of `{request.query[:60]}`{where} in {len(state.files) - without} files with symbols."
    if without:
        text += f" {without} more files are indexed as text only: a plain text search finds it there."
    return text


def _about(
    reader: FactReader,
    symbols: list[Symbol],
    counts: list[ReferenceCount],
    n_open: int | None,
    request: SearchRequest,
) -> str:
    """Say what the references point to, how many there are, and what is not included."""
    lines = [
        f"{symbol.asked.kind.label} {symbol.asked.lexical_path}, {symbol.asked.file.path}:{symbol.asked.line}"
        f"{_other_definitions(reader, symbol)}: {_counted_references(count)}"
        for symbol, count in zip(symbols, counts, strict=True)
    ]
    if request.certainty == "all":
        lines.append(f"{_counted(n_open or 0, 'more use')} of the name could not be resolved (marked ?).")
    elif n_open:
        lines.append(f"{_counted(n_open, 'use')} of the name could not be resolved: certainty=all lists them.")
    elif n_open is None and any(symbol.asked.kind in _READ_BY_NAME for symbol in symbols):
        lines.append("Uses on receivers of unknown type are not included: certainty=all adds them.")
    return "\n".join(lines)


def _other_definitions(reader: FactReader, symbol: Symbol) -> str:
    """Return where the alternatives of a symbol are defined, in brackets; empty when there are none."""
    own = (symbol.asked.file.file_id, symbol.asked.number)
    hits = [hit for place in symbol.alternatives if place != own and (hit := symbol_at(reader, *place)) is not None]
    shown = [f"{hit.file.path}:{hit.line}" for hit in hits[:MAX_AMBIGUOUS]]
    rest = [f"{len(hits) - len(shown)} more"] if len(hits) > len(shown) else []
    return f" (also {', '.join(shown + rest)})" if hits else ""


def _counted_references(count: ReferenceCount) -> str:
    imports = f" ({counted(count.imports, 'import')})" if count.imports else ""
    return _counted(count.total, "reference") + imports


def _counted(count: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def symbol_hit(reader: FactReader, hit: SymbolHit, request: SearchRequest) -> SearchHit:
    """Return a definition as a hit."""
    uid = FactQueries(reader).target_uid(hit.file.file_id, hit.number)
    return SearchHit(
        path=hit.file.path,
        line=hit.line,
        column=hit.column,
        snippet=_line_of(reader, hit) if request.include_snippets else None,
        symbol=_info(hit, uid),
        score=_SCORES[hit.match],
        match_type="exact" if hit.match is Match.EXACT else "fuzzy",
        matched=hit.match.words,
    )


def _line_of(reader: FactReader, hit: SymbolHit) -> str:
    line = reader.text(hit.file).split(b"\n")[hit.line - 1]
    return snippet_of(line.decode("utf-8", "replace").rstrip("\r"), hit.column)


def _info(hit: SymbolHit, uid: str | None) -> SymbolInfo:
    return SymbolInfo(
        name=hit.name,
        kind=hit.kind.label,
        container=hit.container or None,
        signature=_shortened(hit.signature),
        def_uid=uid,
        end_line=hit.end_line,
    )


def info_of(outline: Outline, number: int) -> SymbolInfo:
    """Return what an outline says of one of its definitions."""
    one = outline.definition(number)
    return SymbolInfo(
        name=one.name,
        kind=one.kind.label,
        container=one.lexical_path.rpartition(".")[0] or None,
        signature=_shortened(one.signature),
        end_line=outline.lines.column(LAST_LINE)[number],
    )


def _shortened(signature: str) -> str | None:
    return (signature if len(signature) <= MAX_SIGNATURE else signature[: MAX_SIGNATURE - 1] + "…") or None


def reference_hit(hit: ReferenceHit, symbols: list[Symbol], group: int, request: SearchRequest) -> SearchHit:
    """Return a reference as a hit; with several symbols it names its own."""
    symbol = symbols[group].asked if len(symbols) > 1 and group < len(symbols) else None
    snippet = snippet_of(hit.snippet.rstrip("\r"), hit.column)
    tier = Tier(hit.tier).name
    return SearchHit(
        path=hit.path,
        line=hit.line,
        column=hit.column,
        snippet=snippet if request.include_snippets else None,
        symbol=SymbolInfo(name=symbol.name, kind=symbol.kind.label, container=symbol.container or None)
        if symbol is not None
        else None,
        score=_TIER_SCORES[hit.tier],
        match_type="exact" if tier != "ANCHORED" else "fuzzy",
        tier=tier,
        role=hit.role.label.lower(),
    )


def _enriched_hit(reader: FactReader, enrichment: str, hit: SearchHit, file: FactFile | None) -> SearchHit:
    if file is None or file.facts_id is None:
        return hit
    outline = reader.outline(file.facts_id)
    number = _around(outline, enrichment, hit.line)
    if number is None:
        return hit
    info = info_of(outline, number)
    if enrichment == "minimal":
        info = info.model_copy(update={"signature": None, "end_line": None})
    if enrichment in _MAX_SOURCE_LINES:
        first, _, _, last = outline.lines[number]
        lines = reader.text(file).decode("utf-8", "replace").split("\n")[first - 1 : last]
        cut = _MAX_SOURCE_LINES[enrichment]
        shown = lines[:cut] + ([f"… {len(lines) - cut} more lines"] if len(lines) > cut else [])
        info = info.model_copy(update={"source": "\n".join(shown)})
    if hit.symbol is not None and hit.matched is not None:
        info = hit.symbol.model_copy(update={"source": info.source})
    return hit.model_copy(update={"symbol": info})


def _around(outline: Outline, enrichment: str, line: int) -> int | None:
    """Return the definition to show for a line: the innermost one, or the innermost of the kind that is asked for."""
    wanted = _HAS_BODY if enrichment == "function" else {DefinitionKind.CLASS} if enrichment == "class" else None
    if wanted is not None:
        around = [
            (first, one)
            for one, (first, _name, _column, last) in enumerate(outline.lines)
            if first <= line <= last and outline.kinds[one] in wanted and last > first
        ]
        if around:
            return max(around)[1]
    return innermost(outline, line)


def _reference_place(position: Position | None) -> tuple[int, str, int] | None:
    if position is None:
        return None
    return position.number("group"), position.text("path"), position.number("start")


def check_unchanged(position: Position | None, before: list[Any]) -> None:
    """Refuse to continue when the results of earlier pages have changed; other changes do not matter."""
    if position is not None and position.text("before") != _digest(before):
        hint = "Search again without the cursor."
        raise CodePlaneError("CURSOR_EXPIRED", "The results of earlier pages have changed.", hint=hint)


def _hits_before(hits: list[SymbolHit], end: int) -> list[Any]:
    return [[hit.file.path, hit.file.text_id, hit.number] for hit in hits[:end]]


def _references_before(reader: FactReader, totals: list[int], after: tuple[int, str, int] | None) -> list[Any]:
    """Return what a page of references depends on: their number, and the file in which it begins."""
    file = reader.file_at(after[1]) if after is not None else None
    return [*totals, file.text_id if file is not None else None]


def _reference_cursor(context: CallContext, reader: FactReader, totals: list[int], place: tuple[int, str, int]) -> str:
    group, path, start = place
    before = _references_before(reader, totals, place)
    return symbol_cursor(context, before, {"group": group, "path": path, "start": start})


def _digest(before: list[Any]) -> str:
    return digest(before)[:12]


def symbol_cursor(context: CallContext, before: list[Any], place: dict[str, Any]) -> str:
    """Return a cursor for the page after what was shown."""
    return context.next_page({"before": _digest(before), **place})


def page_answer(
    state: IndexState,
    reader: FactReader,
    results: list[SearchHit],
    cursor: str | None,
    about: str | None,
    total: int | None,
) -> SearchResult:
    """Return a page of hits; an empty one says which files have no symbols."""
    problems: dict[str, int] = {}
    if not results:
        rows = reader.connection.execute(
            "SELECT facts.problem, count(*) FROM files JOIN facts USING (facts_id) WHERE facts.problem <> '' GROUP BY 1"
        )
        problems = {f"no symbols: {row[0]}": row[1] for row in rows}
    return SearchResult(
        results=results,
        pagination=Pagination(next_cursor=cursor, total_estimate=total),
        query_time_ms=0,
        epoch=reader.epoch,
        about=about,
        files_searched=state.n_with_facts,
        not_searched=dict(sorted(problems.items())),
    )
