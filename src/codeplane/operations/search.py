"""`search`: find lines of text, definitions and references in the indexed files."""

import itertools
import re
from collections import Counter
from dataclasses import replace
from typing import Any

from codeplane.core.canonical_json import digest
from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import counted
from codeplane.index.file_order import file_rank
from codeplane.index.ignore_rules import BUILT_IN_SOURCE, matcher_for_all
from codeplane.index.reconcile import IndexState
from codeplane.index.text_search import (
    LineHit,
    PageEnd,
    TextQuery,
    find_lines,
    find_lines_in,
    language_aliases,
    ordered_files,
    with_text_for_faults,
)
from codeplane.languages.catalog import language_of
from codeplane.ledger.effects import EffectClass
from codeplane.operations import search_symbols
from codeplane.operations.cursors import Position
from codeplane.operations.models import Pagination
from codeplane.operations.operation import CallContext, Example, Operation, planned
from codeplane.operations.search_code import defining_lines, with_code
from codeplane.operations.search_models import (
    NAME,
    RELATIONS,
    CodePiece,
    SearchHit,
    SearchRequest,
    SearchResult,
    SymbolInfo,
)

# How many files are ranked before the scope narrows them.
_RANKED = 200
# The most lines to count when a page does not hold all of them.
_MAX_COUNTED = 1_000
_OTHER_CASE_SCORE = 0.8
# The number of files with further hits to name.
_MAX_LISTED = 10


def _handle(context: CallContext, request: SearchRequest) -> SearchResult:
    _check_patterns(request.scope.paths)
    _check_languages(context, request.scope.languages)
    begun = context.workspace.clock.monotonic()
    ignored = search_symbols.ignored_files(context, request)
    if request.queries:
        asked = [request.model_copy(update={"query": query, "queries": []}) for query in dict.fromkeys(request.queries)]
        found = _joined([(one.query, _found(context, one, ignored)) for one in asked])
    else:
        found = _found(context, request, ignored)
    if request.show == "code" or request.context:
        with context.workspace.index.facts() as reader:
            state = context.workspace.index.state(found.epoch) if request.mode == "lexical" else None
            found = with_code(context, reader, request, found, state)
    elapsed = context.workspace.clock.monotonic() - begun
    return found.model_copy(
        update={"query_time_ms": round(elapsed * 1000), "ignored_files": _n_ignored(context, request, ignored)}
    )


def _found(context: CallContext, request: SearchRequest, ignored: frozenset[str]) -> SearchResult:
    """Answer one query."""
    if request.mode == "lexical":
        repaired = with_text_for_faults(request.query) if request.regex else None
        if repaired is not None:
            context.warnings.append(f"invalid expression; searched for `{repaired}`")
            request = request.model_copy(update={"query": repaired})
        return _lexical(context, request, ignored)
    if not request.query.strip():
        raise CodePlaneError("INVALID_ARGUMENTS", f"mode={request.mode} needs a name.")
    if request.mode == "references":
        return search_symbols.references(context, request)
    if request.mode in RELATIONS:
        # 20 ms of imports that only these modes need.
        from codeplane.operations.search_relations import relations  # noqa: PLC0415

        return relations(context, request)
    return search_symbols.definitions(context, request)


def _joined(parts: list[tuple[str, SearchResult]]) -> SearchResult:
    """Return the answers to several queries as one; each reports its number of hits, none has further pages."""
    hits: list[SearchHit] = []
    about = []
    files: dict[str, int] = {}
    for query, part in parts:
        hits.extend(hit.model_copy(update={"query": query}) for hit in part.results)
        for path, count in part.hits_per_file.items():
            files[path] = files.get(path, 0) + count
        about.append(f"`{query[:80]}`: {_how_many(part)}{f' {part.about}' if part.about else ''}")
    totals = [part.pagination.total_estimate for _, part in parts]
    total = sum(total for total in totals if total is not None) if None not in totals else None
    changed = {
        "results": hits,
        "hits_per_file": files,
        "about": "\n".join(about),
        "pagination": Pagination(total_estimate=total),
    }
    return parts[0][1].model_copy(update=changed)


def _how_many(part: SearchResult) -> str:
    total = part.pagination.total_estimate
    if part.pagination.next_cursor is None:
        return f"{counted(len(part.results), 'hit')}."
    of = f" of {total}" if total is not None else ""
    return f"the first {len(part.results)}{of} hits; search for it alone to see more."


def _n_ignored(context: CallContext, request: SearchRequest, ignored: frozenset[str]) -> int:
    """Return how many files in scope were left out because git ignores them."""
    ignored -= search_symbols.OWN_RECORDS
    if not ignored:
        return 0
    in_scope = ordered_files(context.workspace.index.state(), _query(request, frozenset()))
    return sum(file.path in ignored for file in in_scope)


def _lexical(context: CallContext, request: SearchRequest, ignored: frozenset[str]) -> SearchResult:
    if request.scope.kinds:
        context.warnings.append("`kinds` does not apply to text lines; ignored")
    query = _query(request, ignored)
    index = context.workspace.index
    epoch, after = _place(context.position)
    state = index.state(epoch)
    if context.position is not None and "any_case" in context.position:
        query = replace(query, ignore_case=True)
    if epoch is not None and state.epoch != index.state().epoch:
        context.warnings.append(f"this page is of epoch {epoch}; the files have changed since")
    ranked_from = _ranked_from(context.position)
    hits = _found_lines(context, state, query, request, after if ranked_from is None else None)
    if not hits and after is None and not request.regex and not query.ignore_case:
        other_case = replace(query, ignore_case=True)
        hits = _found_lines(context, state, other_case, request, None)
        query = other_case if hits else query
    if not hits and after is None and not request.regex and len(request.query.split()) > 1:
        found = _ranked(context, state, query, request)
    elif _can_be_ranked(query, hits) and (ranked_from is not None or after is None):
        found = _best_first(context, state, query, request, hits)
    else:
        found = _result(context, state, query, request, hits)
    if request.enrichment != "none":
        with index.facts() as reader:
            # The lines may belong to an older page's state, and a newer one may have been published since.
            found = search_symbols.enriched(reader, request.enrichment, found, state)
    return found


def _can_be_ranked(query: TextQuery, hits: list[LineHit]) -> bool:
    """Tell whether to rank whole words first: for a name, if all its lines are known."""
    return query.text.isidentifier() and not query.is_regex and len(hits) < _MAX_COUNTED


def _best_first(
    context: CallContext, state: IndexState, query: TextQuery, request: SearchRequest, hits: list[LineHit]
) -> SearchResult:
    """Answer with the files that define the name first, then with other whole words, then with parts of words."""
    with context.workspace.index.facts() as reader:
        definers = {path for path in reader.files_defining(query.text) if file_rank(path, language_of(path)) == 0}
        defined = defining_lines(reader, definers, query.text) if request.show == "code" else frozenset()

    def rank(hit: LineHit) -> tuple[bool, bool, bool]:
        return not hit.is_word, (hit.path, hit.line) not in defined, hit.path not in definers

    ordered = sorted(hits, key=rank)
    start = _ranked_from(context.position) or 0
    if context.position is not None and start and context.position.text("before") != _stamp(ordered[:start]):
        raise CodePlaneError("CURSOR_EXPIRED", "The results of earlier pages have changed.")
    end = start + request.limit
    result = _result(context, state, query, request, ordered[start:end])
    if len(ordered) <= end:
        return result.model_copy(update={"pagination": Pagination(total_estimate=len(ordered))})
    place: dict[str, Any] = {"epoch": state.epoch, "ranked": end, "before": _stamp(ordered[:end])}
    if query.ignore_case and not request.ignore_case:
        place["any_case"] = True
    pages = Pagination(next_cursor=context.next_page(place), total_estimate=len(ordered))
    return result.model_copy(update={"pagination": pages, "hits_per_file": _per_file(ordered)})


def _stamp(hits: list[LineHit]) -> str:
    return digest([[hit.path, hit.line] for hit in hits])[:8]


def _ranked_from(position: Position | None) -> int | None:
    """Return where a later page of a ranked answer begins; None for the first page and for others."""
    return position.number("ranked") if position is not None and "ranked" in position else None


def _found_lines(
    context: CallContext, state: IndexState, query: TextQuery, request: SearchRequest, after: PageEnd | None
) -> list[LineHit]:
    """Return the lines of a page, and on the first page those after it too, so they can be counted."""
    most = request.limit + 1 if after is not None or request.regex else max(request.limit + 1, _MAX_COUNTED)
    return list(itertools.islice(find_lines(state, query, after, context.workspace.clock), most))


def _ranked(context: CallContext, state: IndexState, query: TextQuery, request: SearchRequest) -> SearchResult:
    """Answer a text that no line contains with the files that contain all its words."""
    result = _result(context, state, query, request, [])
    in_scope = {file.path: file for file in ordered_files(state, query)}
    words = TextQuery(_any_word(request.query), is_regex=True, ignore_case=True)
    found: list[SearchHit] = []
    for path in _best_files(context, request.query):
        if path in in_scope and len(found) < request.limit:
            line = next(find_lines_in(state, in_scope[path], words, context.workspace.clock), None)
            if line is not None:
                found.append(_hit(line, with_snippet=request.include_snippets))
    if not found:
        return result
    hits = [hit.model_copy(update={"score": 0.5, "match_type": "fuzzy"}) for hit in found]
    about = "No line contains this text as written; files that contain all its words, best first:"
    return result.model_copy(update={"results": hits, "about": about})


def _best_files(context: CallContext, query: str) -> list[str]:
    """Return the files that rank best; none for a query without words, for which no line is the whole answer."""
    if not any(character.isalnum() for character in query):
        return []
    try:
        return [hit.path for hit in context.workspace.index.lexical_search(query, _RANKED)]
    except CodePlaneError as error:
        # It is still known that no line contains the text.
        context.warnings.append(f"files that contain the words separately are not listed: {error.message}")
        return []


def _any_word(query: str) -> str:
    return "|".join(re.escape(word) for word in sorted(set(query.replace('"', " ").split()), key=len, reverse=True))


def _query(request: SearchRequest, without: frozenset[str]) -> TextQuery:
    aliases = language_aliases()
    return TextQuery(
        request.query,
        is_regex=request.regex,
        ignore_case=request.ignore_case,
        whole_word=request.whole_word,
        paths=tuple(request.scope.paths),
        languages=tuple(aliases.get(name.lower(), name.lower()) for name in request.scope.languages),
        without=without,
    )


def _check_patterns(patterns: list[str]) -> None:
    for pattern in patterns:
        try:
            matcher_for_all([pattern])
        except ValueError as error:
            raise CodePlaneError("INVALID_ARGUMENTS", f"The path pattern `{pattern[:80]}` matches nothing.") from error


def _check_languages(context: CallContext, names: list[str]) -> None:
    """Report a language without files; otherwise finding nothing would look like an answer."""
    if not names:
        return
    aliases = language_aliases()
    present = {file.language for file in context.workspace.index.state().files.values()}
    for name in names:
        if aliases.get(name.lower(), name.lower()) not in present:
            context.warnings.append(f"no file here has the language `{name[:40]}`; there are {_listed(present)}")


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _place(position: Position | None) -> tuple[int | None, PageEnd | None]:
    if position is None:
        return None, None
    if "ranked" in position:
        return position.number("epoch"), None
    return position.number("epoch"), PageEnd(position.text("path"), position.number("line"))


def _result(
    context: CallContext, state: IndexState, query: TextQuery, request: SearchRequest, hits: list[LineHit]
) -> SearchResult:
    page = hits[: request.limit]
    cursor = None
    is_other_case = query.ignore_case and not request.ignore_case
    if len(hits) > request.limit:
        last = page[-1]
        place: dict[str, Any] = {"epoch": state.epoch, "path": last.path, "line": last.line}
        if is_other_case:
            place["any_case"] = True
        cursor = context.next_page(place)
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
        results=[_hit(hit, with_snippet=request.include_snippets, is_other_case=is_other_case) for hit in page],
        pagination=Pagination(next_cursor=cursor, total_estimate=_total(request, hits, cursor)),
        query_time_ms=0,
        epoch=state.epoch,
        about="No line contains this text in this case; lines that match in another case:" if is_other_case else None,
        hits_per_file=_per_file(hits) if cursor is not None else {},
        files_searched=len(searched) - sum(bool(file.problem) for file in searched),
        not_searched=dict(sorted(problems.items())),
    )


def _per_file(hits: list[LineHit]) -> dict[str, int]:
    """Return how many lines each file has, the file of the best hit first."""
    files: dict[str, int] = {}
    for hit in hits:
        files[hit.path] = files.get(hit.path, 0) + 1
    return files


def _total(request: SearchRequest, hits: list[LineHit], cursor: str | None) -> int | None:
    """Return the number of lines, None when not all were counted."""
    is_counted = cursor is None or (not request.regex and len(hits) < _MAX_COUNTED)
    return len(hits) if is_counted and request.cursor is None else None


def _hit(hit: LineHit, *, with_snippet: bool, is_other_case: bool = False) -> SearchHit:
    return SearchHit(
        path=hit.path,
        line=hit.line,
        column=hit.column,
        snippet=hit.snippet if with_snippet else None,
        score=_OTHER_CASE_SCORE if is_other_case else 1.0,
        match_type="fuzzy" if is_other_case else "exact",
    )


def _render(result: SearchResult) -> str:
    lines: list[str] = [result.about] if result.about else []
    lines.extend(_code_lines(result.code))
    marked = {(piece.path, line) for piece in result.code for line in piece.hits}
    rest = [hit for hit in result.results if (hit.path, hit.line) not in marked]
    if rest and result.code:
        lines.append(f"{counted(len(rest), 'more hit')}, not shown as code (`budget` allows more):")
    lines.extend(_hit_lines(rest))
    if not result.results and not result.about:
        lines.append(f"No line in {counted(result.files_searched, 'file')}.")
    if not result.results:
        lines.extend(f"not searched: {count} {reason}" for reason, count in result.not_searched.items())
    if result.ignored_files:
        many = counted(result.ignored_files, "file")
        lines.append(f"{many} ignored by git not searched: `include_ignored: true` adds them.")
    if result.pagination.next_cursor:
        total = result.pagination.total_estimate
        of = f"{len(result.results)} of {total} are shown; " if total is not None else ""
        lines.append(f"{of}more: cursor={result.pagination.next_cursor}")
    lines.extend(_left_out(result))
    return "\n".join(lines)


def _hit_lines(results: list[SearchHit]) -> list[str]:
    lines: list[str] = []
    for route, group in itertools.groupby(results, key=_route):
        if route is not None:
            lines.append(f"{route}:")
            lines.extend(f" {hit.path}" + (f":{hit.line}" if hit.line > 1 else "") for hit in group)
            continue
        lines.extend(_lines_by_file(list(group)))
    return lines


def _route(hit: SearchHit) -> str | None:
    """Return how a whole-file hit relates to the query; such files are listed together."""
    is_whole = hit.symbol is not None and hit.symbol.kind in {"import", "test file"} and hit.tier is None
    return hit.matched if is_whole else None


def _lines_by_file(results: list[SearchHit]) -> list[str]:
    lines: list[str] = []
    for (path, query), of_file in itertools.groupby(results, key=lambda hit: (hit.path, hit.query)):
        hits = list(of_file)
        if all(hit.tier is None and hit.symbol is not None and hit.matched is not None for hit in hits):
            lines.extend(_symbol_line(hit) for hit in hits)
            continue
        lines.append(path + (f"  (`{query[:40]}`)" if query else ""))
        for _, group in itertools.groupby(hits, key=lambda hit: (hit.line, hit.tier, hit.symbol)):
            same = list(group)
            columns = f"  (columns {', '.join(str(hit.column) for hit in same)})" if len(same) > 1 else ""
            lines.append(_line(same[0]) + columns)
    return lines


def _code_lines(pieces: list[CodePiece]) -> list[str]:
    """Return numbered lines by file; a colon marks a hit, an ellipsis a gap."""
    lines = []
    for path, of_file in itertools.groupby(pieces, key=lambda piece: piece.path):
        lines.append(path)
        for number, piece in enumerate(of_file):
            lines.extend(["…"] if number and not lines[-1].startswith("… until") else [])
            for line, text in enumerate(piece.content.split("\n"), piece.start_line):
                lines.append(f"{line}{':' if line in piece.hits else ''}\t{text}".rstrip())
            lines.extend([f"… until {piece.goes_on_until}"] if piece.goes_on_until else [])
    return lines


def _left_out(result: SearchResult) -> list[str]:
    """Say which files have more hits than are shown, if the answer is one of many pages."""
    if not result.pagination.next_cursor:
        return []
    shown = Counter(hit.path for hit in result.results)
    left = {path: count - shown[path] for path, count in result.hits_per_file.items() if count > shown[path]}
    if not left:
        return []
    named = [f"{path} {count}" for path, count in itertools.islice(left.items(), _MAX_LISTED)]
    rest = [f"{counted(len(left) - len(named), 'more file')}"] if len(left) > len(named) else []
    return [f"left out: {', '.join(named + rest)}"]


def _line(hit: SearchHit) -> str:
    mark = "?" if hit.tier == "ANCHORED" else ""
    text = f" {hit.line}{mark}: {hit.snippet}" if hit.snippet is not None else f" {hit.line}{mark}"
    if hit.symbol is not None:
        text += f"  [{_named(hit.symbol)}]"
        if hit.symbol.source:
            text += "\n" + hit.symbol.source
    return text


def _symbol_line(hit: SearchHit) -> str:
    symbol = hit.symbol
    if symbol is None:
        return f"{hit.path}:{hit.line}"
    ending = f"-{symbol.end_line}" if symbol.end_line and symbol.end_line != hit.line else ""
    how = f"  ({hit.matched})" if hit.matched not in {None, "exact"} else ""
    text = f"{hit.path}:{hit.line}{ending} {symbol.kind} {_named(symbol)}{how}"
    return f"{text}\n{symbol.source}" if symbol.source else text


def _named(symbol: SymbolInfo) -> str:
    name = f"{symbol.container}.{symbol.name}" if symbol.container else symbol.name
    signature = symbol.signature or ""
    return f"{name} {signature}" if signature[:1].isalpha() else name + signature


SEARCH = Operation(
    name=NAME,
    family="search",
    summary="Find text, symbol definitions, references and relations; optionally with code.",
    request_type=SearchRequest,
    result_type=SearchResult,
    effect=EffectClass.READ,
    plan=planned(_handle),
    render=_render,
    when_to_use=(
        "You need every line that contains a word, message or piece of code.",
        "You want to know where a name is defined (mode=definitions) or used (mode=references, callers).",
        "You need relations: overrides, subclasses, implementations, importers, tests_of.",
    ),
    when_not_to_use=("You know the file: use read_source.", "You need file names only: use list_files."),
    examples=(
        Example("Every line with a name", {"query": "QuerySet"}),
        Example("Where it is defined", {"query": "QuerySet.filter", "mode": "definitions"}),
        Example("What refers to it", {"query": "src/query.py::QuerySet", "mode": "references"}),
        Example("Several names with their code", {"queries": ["load", "save"], "mode": "definitions", "show": "code"}),
        Example("A regex in some files", {"query": "def get_\\w+", "regex": True, "scope": {"paths": ["src/**/*.py"]}}),
        Example(
            "In one language, any case", {"query": "todo", "ignore_case": True, "scope": {"languages": ["python"]}}
        ),
    ),
    profiles=frozenset({"classic", "core"}),
    reads_index=True,
)
