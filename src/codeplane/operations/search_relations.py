"""The relation modes of `search`: callers, overrides, subclasses, implementations, importers, tests of a definition."""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import counted
from codeplane.index.call_sites import calls_among
from codeplane.index.dependents import computes_imports
from codeplane.index.facts.outline import NAME_START, PATH
from codeplane.index.facts.reader import FactFile, FactReader, Place
from codeplane.index.file_order import is_test_file
from codeplane.index.import_search import file_or_module
from codeplane.index.linking.stored_links import Tier
from codeplane.index.method_sets import go_implementations
from codeplane.index.reference_search import (
    ReferenceHit,
    Symbol,
    find_possible_references,
    find_references,
    hit_at,
    symbols_of,
)
from codeplane.index.relations import (
    TypeGraph,
    holder_of,
    importers,
    members_of,
    mixins_before,
    overridden,
    overrides,
    rust_impls,
    subclasses,
    type_graph,
)
from codeplane.index.symbol_search import Match, SymbolHit, innermost, symbol_at
from codeplane.index.text_search import TextQuery, find_lines
from codeplane.languages.facts import DefinitionKind, ReferenceRole
from codeplane.operations.operation import CallContext
from codeplane.operations.search_models import SearchHit, SearchRequest, SearchResult, SymbolInfo
from codeplane.operations.search_symbols import (
    MAX_AMBIGUOUS,
    MEANT,
    check_unchanged,
    explained,
    info_of,
    instead_of_references,
    page_answer,
    path_test,
    reference_hit,
    symbol_cursor,
    symbol_hit,
    symbols_meant,
)

_OF_FILES = frozenset({"importers", "tests_of"})
_MAX_NAMED = 3
_MAX_COUNTED = 300
_TYPES = frozenset(
    {DefinitionKind.CLASS, DefinitionKind.INTERFACE, DefinitionKind.ENUM, DefinitionKind.STRUCT, DefinitionKind.TRAIT}
)
_ABSTRACT = frozenset({DefinitionKind.INTERFACE, DefinitionKind.TRAIT})
_CALLABLE = frozenset({*_TYPES, DefinitionKind.FUNCTION, DefinitionKind.METHOD, DefinitionKind.MACRO})
_PROTOCOL = re.compile(r"\bProtocol\b")
_CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor"})
# Bases from outside that have nothing to override.
_WITHOUT_MEMBERS = frozenset({"ABC", "Generic", "Protocol", "object", "Object"})
# Ways to inherit or implement that the index does not follow.
_NOT_FOLLOWED = {
    "java": "Anonymous classes and lambdas are not listed.",
    "javascript": "Objects that only have the same members are not listed.",
    "typescript": "Objects that only have the same members are not listed.",
    "python": "Classes that are registered, made by calls, or only have the same members are not listed.",
    "rust": "Implementations by derive or other macros are not listed.",
}


@dataclass(slots=True)
class _Found:
    """The parts of an answer: the hits in order, and notes on what they are and what is missing."""

    hits: list[SearchHit] = field(default_factory=list)
    about: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Question:
    context: CallContext
    reader: FactReader
    request: SearchRequest
    accepts: Callable[[str], bool]

    @property
    def wants_all(self) -> bool:
        return self.request.certainty == "all"


def relations(context: CallContext, request: SearchRequest) -> SearchResult:
    """Answer how other definitions or files relate to the one that the query names."""
    index = context.workspace.index
    with index.facts() as reader:
        question = _Question(context, reader, request, path_test(context, request))
        file = _file_of(reader, request) if request.mode in _OF_FILES else None
        symbols: list[SymbolHit] = [] if file is not None else _matching_definitions(context, reader, request)
        if not symbols and file is None and request.mode in _OF_FILES:
            file = file_or_module(reader, request.query.strip())
        meant = symbols_of(reader, symbols)
        if file is None and (not meant or len(meant) > MAX_AMBIGUOUS):
            shown = [one.asked for one in meant]
            return explained(reader, request, instead_of_references(context, reader, request, shown))
        found = _Found()
        if file is not None:
            _OF_FILE[request.mode](question, file, found)
        for symbol in meant:
            _OF_SYMBOL[request.mode](question, symbol, found)
        return explained(reader, request, _page(question, found))


def _matching_definitions(context: CallContext, reader: FactReader, request: SearchRequest) -> list[SymbolHit]:
    """Return the definitions that the query names, as for references, of kinds that the mode is about."""
    hits = [hit for hit in symbols_meant(context, reader, request) if hit.match in MEANT]
    exact = [hit for hit in hits if hit.match is Match.EXACT]
    fitting = [hit for hit in exact or hits if hit.kind in _KINDS.get(request.mode, {hit.kind})]
    return fitting or exact or hits


_KINDS = {
    "callers": _CALLABLE,
    "subclasses": _TYPES,
    "implementations": _TYPES | {DefinitionKind.METHOD},
    "overrides": frozenset({DefinitionKind.METHOD, DefinitionKind.PROPERTY, DefinitionKind.FIELD}),
}


def _file_of(reader: FactReader, request: SearchRequest) -> FactFile | None:
    """Return the file that a query names by its path, or by the only path that ends with it."""
    query = request.query.strip().removeprefix("./")
    file = reader.file_at(query)
    if file is not None or "." not in query or "::" in query:
        return file
    rows = reader.connection.execute("SELECT path FROM files WHERE path LIKE ? LIMIT 2", (f"%/{query}",)).fetchall()
    return reader.file_at(rows[0][0]) if len(rows) == 1 else None


def _page(question: _Question, found: _Found) -> SearchResult:
    request, reader = question.request, question.reader
    context = question.context
    offset = context.position.number("offset") if context.position is not None else 0
    places = [[hit.path, hit.line, hit.column] for hit in found.hits]
    check_unchanged(context.position, [len(places), *places[:offset]])
    end = min(offset + request.limit, len(places))
    cursor = symbol_cursor(context, [len(places), *places[:end]], {"offset": end}) if len(places) > end else None
    hits = found.hits[offset:end]
    return page_answer(context.workspace.index.state(), reader, hits, cursor, "\n".join(found.about), len(places))


def _title(symbol: Symbol) -> str:
    asked = symbol.asked
    return f"{asked.kind.label} {asked.lexical_path}, {asked.file.path}:{asked.line}"


def _callers(question: _Question, symbol: Symbol, found: _Found) -> None:
    """Add the calls of a symbol, each with the definition it is in."""
    uses = list(find_references(question.reader, symbol, question.accepts, None))
    calls, n_unknown = _calls(question.reader, uses)
    found.hits += [_call_hit(question.reader, call, question.request) for call in calls]
    others = sum(one.role is not ReferenceRole.IMPORT for one in uses) - len(calls) - n_unknown
    found.about.append(f"{_title(symbol)}: {counted(len(calls), 'call')}")
    if others:
        found.about.append(
            f"{counted(others, 'other use')} (passed on, inherited, used as a type) not listed: mode=references."
        )
    if n_unknown:
        found.about.append(f"{counted(n_unknown, 'use')} whose syntax is not known not listed: mode=references.")
    most = None if question.wants_all else _MAX_COUNTED
    possible = list(itertools.islice(_possible_calls(question, symbol), most))
    if question.wants_all:
        found.hits += [_call_hit(question.reader, call, question.request) for call in possible]
        found.about.append(f"{counted(len(possible), 'more call')} of the name could not be resolved (marked ?).")
    elif possible:
        least = "at least " if len(possible) == _MAX_COUNTED else ""
        found.about.append(
            f"Not listed: {least}{counted(len(possible), 'call')} of the name that could not be resolved, such as on"
            " receivers of unknown type: certainty=all lists them."
        )
    _note_indirect_calls(question, symbol, found)


def _calls(reader: FactReader, uses: Iterable[ReferenceHit]) -> tuple[list[ReferenceHit], int]:
    """Return the calls among uses, and of how many uses the syntax is not known."""
    calls: list[ReferenceHit] = []
    n_unknown = 0
    for path, group in itertools.groupby(uses, key=lambda one: one.path):
        same = [one for one in group if one.role is not ReferenceRole.IMPORT]
        file = reader.file_at(path)
        called = calls_among(path, reader.text(file), [one.start for one in same]) if same and file else frozenset()
        if called is None:
            n_unknown += len(same)
        else:
            calls += [one for one in same if one.start in called]
    return calls, n_unknown


def _possible_calls(question: _Question, symbol: Symbol) -> Iterator[ReferenceHit]:
    """Yield the calls of a symbol's name that could not be resolved."""
    state = question.context.workspace.index.state()
    lines = find_lines(state, TextQuery(symbol.asked.name, whole_word=True), None)
    for path in sorted({hit.path for hit in lines if question.accepts(hit.path)}):
        yield from _calls(question.reader, find_possible_references(question.reader, symbol, [path], None))[0]


def _call_hit(reader: FactReader, call: ReferenceHit, request: SearchRequest) -> SearchHit:
    hit = reference_hit(call, [], 0, request)
    return hit.model_copy(update={"symbol": _around(reader, call.path, call.line)})


def _around(reader: FactReader, path: str, line: int) -> SymbolInfo | None:
    """Return the definition around a line, by name."""
    file = reader.file_at(path)
    outline = reader.outline(file.facts_id) if file is not None and file.facts_id is not None else None
    number = innermost(outline, line) if outline is not None else None
    if outline is None or number is None:
        return None
    return info_of(outline, number).model_copy(update={"signature": None, "end_line": None})


def _note_indirect_calls(question: _Question, symbol: Symbol, found: _Found) -> None:
    asked = symbol.asked
    holder = holder_of(question.reader, asked)
    graph = type_graph(question.reader, asked.file.language) if holder is not None else None
    if graph is None or holder is None:
        return
    if asked.name in _CONSTRUCTORS:
        found.about.append("Calls of its class run it too: ask for callers of the class.")
        return
    above = overridden(question.reader, graph, asked, holder)
    if above:
        found.about.append(f"Calls of what it overrides may reach it too: {_places(question.reader, above)}.")


def _subclasses(question: _Question, symbol: Symbol, found: _Found) -> None:
    graph = _graph_of(question, symbol, found)
    if graph is None:
        return
    below = _types_below(question, graph, symbol, found)
    shown = [(place, steps) for place, steps in below.items() if _is_in(question, place)]
    found.hits += [_related(question, place, _steps_words(steps)) for place, steps in shown]
    n_direct = sum(steps == 1 for _, steps in shown)
    directly = f" ({n_direct} directly)" if n_direct < len(shown) else ""
    many = counted(len(shown), "subclass", "subclasses")
    found.about.insert(0, f"{_title(symbol)}: {many}{directly}")
    _add_unresolved(question, graph, symbol, below, found)


def _implementations(question: _Question, symbol: Symbol, found: _Found) -> None:
    if symbol.asked.kind not in _TYPES:
        _overrides(question, symbol, found)
        return
    graph = _graph_of(question, symbol, found)
    if graph is None:
        return
    language = symbol.asked.file.language
    if language == "go" and symbol.asked.kind is DefinitionKind.INTERFACE:
        _go_implementations(question, graph, symbol, found)
        return
    below = _types_below(question, graph, symbol, found)
    concrete = [
        (place, steps)
        for place, steps in below.items()
        if _is_in(question, place) and (hit := symbol_at(question.reader, *place)) is not None and _is_concrete(hit)
    ]
    found.hits += [_related(question, place, _steps_words(steps)) for place, steps in concrete]
    impls = list(_impl_hits(question, symbol)) if language == "rust" else []
    found.hits += impls
    found.about.insert(0, f"{_title(symbol)}: {counted(len(concrete) + len(impls), 'implementation')}")
    _add_unresolved(question, graph, symbol, below, found)
    if language in _NOT_FOLLOWED:
        found.about.append(_NOT_FOLLOWED[language])


def _is_concrete(hit: SymbolHit) -> bool:
    """Tell whether a type is not itself an interface, a trait or a protocol."""
    return hit.kind not in _ABSTRACT and not _PROTOCOL.search(hit.signature)


def _go_implementations(question: _Question, graph: TypeGraph, symbol: Symbol, found: _Found) -> None:
    """Add the types that have all methods of an interface."""
    own = (symbol.asked.file.file_id, symbol.asked.number)
    answer = go_implementations(question.reader, graph, own)
    if not answer.methods:
        found.about.append(f"{_title(symbol)} has no known methods; every type may implement it.")
        return
    doubtful = [*answer.other_signatures, *answer.may_embed] + (answer.sure if answer.unknown_parts else [])
    sure = [place for place in answer.sure if not answer.unknown_parts and _is_in(question, place)]
    found.hits += [_related(question, place, "has all its methods") for place in sure]
    found.about.append(f"{_title(symbol)}: {counted(len(sure), 'implementation')}, by T or *T")
    if answer.unknown_parts:
        found.about.append(f"It embeds {', '.join(answer.unknown_parts)} from outside: those methods are not checked.")
    doubtful = [place for place in doubtful if _is_in(question, place)]
    what = "type has its methods in part or in another form", "types have its methods in part or in another form"
    _add_doubtful(question, doubtful, what, "may have all its methods", found)


def _overrides(question: _Question, symbol: Symbol, found: _Found) -> None:
    reader, asked = question.reader, symbol.asked
    holder = holder_of(reader, asked)
    if holder is None:
        found.about.append(f"{_title(symbol)} is not a member of a class: nothing can override it.")
        return
    graph = _graph_of(question, symbol, found)
    if graph is None:
        return
    below = [(place, steps) for place, steps in overrides(reader, graph, asked, holder) if _is_in(question, place)]
    found.hits += [_related(question, place, _steps_words(steps)) for place, steps in below]
    impls = list(_impl_methods(question, symbol, holder)) if asked.file.language == "rust" else []
    found.hits += impls
    mixed = mixins_before(reader, graph, asked.name, holder) if asked.file.language == "python" else []
    for place, mixing in mixed:
        if _is_in(question, place):
            found.hits.append(_related(question, place, f"takes precedence in {_name_at(reader, mixing)}"))
    n_found = len(below) + len(impls)
    found.about.append(f"{_title(symbol)}: {counted(n_found, 'override')}")
    if mixed:
        found.about.append(f"{counted(len(mixed), 'more member')} of other bases take precedence in a subclass.")
    above = overridden(reader, graph, asked, holder)
    if above:
        found.about.append(f"It overrides {_places(reader, above)}.")
    known = (*graph.unresolved.get(holder, ()), *graph.outside.get(holder, ()))
    unknown = [text[:80] for text in known if text.rpartition(".")[2] not in _WITHOUT_MEMBERS]
    if unknown:
        found.about.append(f"{_name_at(reader, holder)} has bases whose members are not known: {', '.join(unknown)}.")
    _add_unresolved(question, graph, symbol, subclasses(graph, [holder]), found, asked.name)


def _graph_of(question: _Question, symbol: Symbol, found: _Found) -> TypeGraph | None:
    language = symbol.asked.file.language
    graph = type_graph(question.reader, language)
    if graph is None:
        found.about.append(f"{_title(symbol)}: bases of {language} classes are not known; search for its name as text.")
    return graph


def _types_below(question: _Question, graph: TypeGraph, symbol: Symbol, found: _Found) -> dict[Place, int]:
    below = subclasses(graph, symbol.targets)
    if symbol.asked.kind not in _TYPES:
        found.about.append(f"{symbol.asked.lexical_path} is a {symbol.asked.kind.label}, not a class.")
    kept = {}
    for place, steps in below.items():
        hit = symbol_at(question.reader, *place)
        if hit is not None and hit.kind in _TYPES:
            kept[place] = steps
    return kept


def _add_unresolved(
    question: _Question, graph: TypeGraph, symbol: Symbol, below: Iterable[Place], found: _Found, member: str = ""
) -> None:
    """Say which classes have a base that may be one of these, or list them when all are asked for.

    With a member, only classes count that have it themselves or in a subclass.
    """
    known = {*below, *symbol.targets}
    doubtful = [place for place in graph.unresolved if place not in known and _is_in(question, place)]
    if member:
        reader = question.reader
        doubtful = [
            place
            for place in doubtful
            if any(member in members_of(reader, one) for one in (place, *subclasses(graph, [place])))
        ]
    what = "class has a base that could not be resolved", "classes have a base that could not be resolved"
    _add_doubtful(question, doubtful, what, "a base could not be resolved", found)


def _add_doubtful(
    question: _Question, places: Sequence[Place], what: tuple[str, str], words: str, found: _Found
) -> None:
    if not places:
        return
    text = counted(len(places), *what)
    if question.wants_all:
        found.hits += [_related(question, place, f"may be: {words}", is_sure=False) for place in places]
        found.about.append(f"{text} (marked `may be`).")
    else:
        found.about.append(
            f"Possibly incomplete: {text}, such as {_places(question.reader, places[:1])}: certainty=all lists them."
        )


def _impl_hits(question: _Question, symbol: Symbol) -> Iterator[SearchHit]:
    """Yield the Rust `impl` blocks of a trait."""
    for file, text, start, name, _ in _impls(question, symbol):
        yield _line_hit(question, file, text, start, SymbolInfo(name=name, kind="impl"), f"impl {symbol.asked.name}")


def _impl_methods(question: _Question, symbol: Symbol, holder: Place) -> Iterator[SearchHit]:
    """Yield the methods of that name in the Rust `impl` blocks of a trait."""
    trait = symbol_at(question.reader, *holder)
    for one in symbols_of(question.reader, [trait] if trait is not None else []):
        for file, _text, start, name, end in _impls(question, one):
            outline = question.reader.outline(file.facts_id or 0)
            rows = outline.definition_rows
            for number, (path, at) in enumerate(zip(rows.column(PATH), rows.column(NAME_START), strict=True)):
                is_method = outline.kinds[number] in {DefinitionKind.METHOD, DefinitionKind.FUNCTION}
                if start <= at < end and is_method and path.rpartition(".")[2] == symbol.asked.name:
                    yield _related(question, (file.file_id, number), f"impl for {name}")


def _impls(question: _Question, trait: Symbol) -> Iterator[tuple[FactFile, bytes, int, str, int]]:
    uses = find_references(question.reader, trait, question.accepts, None)
    for path, group in itertools.groupby(uses, key=lambda one: one.path):
        file = question.reader.file_at(path)
        if file is not None and file.facts_id is not None:
            text = question.reader.text(file)
            for start, name, end in rust_impls(path, text, [one.start for one in group]):
                yield file, text, start, name, end


def _importers_of_file(question: _Question, file: FactFile, found: _Found) -> None:
    if not file.modules:
        found.about.append(f"{file.path} is not a module that imports can be followed to.")
        return
    _add_importers(question, file, None, file.path, found)


def _importers_of_symbol(question: _Question, symbol: Symbol, found: _Found) -> None:
    for file_id, group in itertools.groupby(sorted(symbol.targets), key=lambda place: place[0]):
        file = question.reader.file(file_id)
        if file is not None:
            _add_importers(question, file, frozenset(number for _, number in group), _title(symbol), found)


def _add_importers(
    question: _Question, file: FactFile, numbers: frozenset[int] | None, title: str, found: _Found
) -> None:
    reader = question.reader
    rows = [one for one in importers(reader, file, numbers) if question.accepts(one.path)]
    rows.sort(key=lambda one: (one.through, one.path, one.start))
    for row in rows:
        importing = reader.file_at(row.path)
        if importing is not None:
            words = f"through {', '.join(row.through)}" if row.through else "directly"
            info = SymbolInfo(name=row.name, kind="import")
            found.hits.append(_line_hit(question, importing, reader.text(importing), row.start, info, words))
    n_through = len({row.path for row in rows if row.through} - {row.path for row in rows if not row.through})
    files = counted(len({row.path for row in rows}), "file")
    found.about.append(f"{title}: imported by {files}" + (f", {n_through} of them from a re-export" * bool(n_through)))
    computing = _computed_imports(question)
    if computing:
        files = counted(len(computing), "file")
        doubt = f"Possibly incomplete: {files} import by a computed name, such as {computing[0]}."
        found.about[:] = [*(line for line in found.about if line != doubt), doubt]


def _computed_imports(question: _Question) -> list[str]:
    rows = question.reader.connection.execute("SELECT path, facts_id FROM files WHERE facts_id IS NOT NULL").fetchall()
    flagged = question.reader.flagged("computed imports", [row[1] for row in rows], computes_imports)
    return sorted(path for path, facts_id in rows if facts_id in flagged)


def _tests_of_file(question: _Question, file: FactFile, found: _Found) -> None:
    _add_tests(question, file, (), file.path, found)


def _tests_of_symbol(question: _Question, symbol: Symbol, found: _Found) -> None:
    """Add the tests that refer to a definition, then those that depend on its file."""
    uses = find_references(question.reader, symbol, lambda path: is_test_file(path) and question.accepts(path), None)
    seen: set[tuple[str, str]] = set()
    for use in uses:
        info = _around(question.reader, use.path, use.line)
        key = (use.path, f"{info.container}.{info.name}" if info is not None else "")
        if info is None or use.role is ReferenceRole.IMPORT or key in seen:
            continue
        seen.add(key)
        hit = reference_hit(use, [], 0, question.request)
        found.hits.append(hit.model_copy(update={"symbol": info, "matched": "refers to it", "tier": None}))
    found.about.append(f"{_title(symbol)}: {counted(len(seen), 'test')} refer to it.")
    _add_tests(question, symbol.asked.file, {path for path, _ in seen}, _title(symbol), found, symbol.asked.name)


def _add_tests(
    question: _Question, file: FactFile, known: Iterable[str], title: str, found: _Found, name: str = ""
) -> None:
    """Add the test files that depend on a file, by the mechanism that tells which tests an edit affects."""
    # 9 ms that only this mode needs.
    from codeplane.index.impact import HIGH, affected_tests  # noqa: PLC0415

    answer = affected_tests(question.reader, [file.path], None, {file.path: {name}} if name else {})
    matches = [one for one in answer.matches if one.path not in set(known) and question.accepts(one.path)]
    # A test that uses the file need not use this definition.
    sure = [one for one in matches if one.confidence == HIGH and not name]
    shown = matches if question.wants_all else sure
    for one in shown:
        test = question.reader.file_at(one.path)
        if test is not None:
            info = SymbolInfo(name=one.path.rpartition("/")[2], kind="test file")
            hit = _line_hit(question, test, question.reader.text(test), 0, info, one.reason)
            found.hits.append(hit if one in sure else hit.model_copy(update={"score": 0.5, "match_type": "fuzzy"}))
    if not name:
        found.about.append(f"{title}: {counted(len(sure), 'test file')} use it.")
    if len(matches) > len(sure):
        listed = "follow" if question.wants_all else "are not listed: certainty=all lists them"
        found.about.append(f"{counted(len(matches) - len(sure), 'more test file')} depend on {file.path} and {listed}.")
    if answer.unknown_hops or answer.unresolved_files:
        hops = [*answer.unknown_hops, *(f"{path} is not a module" for path in answer.unresolved_files)]
        more = f" and {len(hops) - _MAX_NAMED} more" if len(hops) > _MAX_NAMED else ""
        found.about.append(f"Possibly incomplete: {'; '.join(hops[:_MAX_NAMED])}{more}.")


def _is_in(question: _Question, place: Place) -> bool:
    file = question.reader.file(place[0])
    return file is not None and question.accepts(file.path)


def _related(question: _Question, place: Place, words: str, *, is_sure: bool = True) -> SearchHit:
    found = symbol_at(question.reader, *place)
    if found is None:
        raise CodePlaneError("INDEX_CORRUPT", "A definition that a class refers to is missing from the index.")
    hit = symbol_hit(question.reader, found, question.request)
    doubt = {} if is_sure else {"score": 0.5, "match_type": "fuzzy"}
    return hit.model_copy(update={"matched": words, **doubt})


def _line_hit(question: _Question, file: FactFile, text: bytes, start: int, info: SymbolInfo, words: str) -> SearchHit:
    hit = hit_at(file.path, text, start, Tier.STRONG, ReferenceRole.IMPORT)
    found = reference_hit(hit, [], 0, question.request)
    role = "import" if info.kind == "import" else None
    return found.model_copy(update={"symbol": info, "matched": words, "tier": None, "role": role})


def _steps_words(steps: int) -> str:
    return "directly" if steps == 1 else f"{steps} steps below"


def _name_at(reader: FactReader, place: Place) -> str:
    hit = symbol_at(reader, *place)
    return hit.lexical_path if hit is not None else "?"


def _places(reader: FactReader, places: Sequence[Place]) -> str:
    """Return some definitions by name and line."""
    hits = [hit for place in places[:_MAX_NAMED] if (hit := symbol_at(reader, *place)) is not None]
    more = [f"{len(places) - _MAX_NAMED} more"] if len(places) > _MAX_NAMED else []
    return ", ".join([*(f"{hit.lexical_path} ({hit.file.path}:{hit.line})" for hit in hits), *more])


_OF_FILE = {"importers": _importers_of_file, "tests_of": _tests_of_file}
_OF_SYMBOL = {
    "callers": _callers,
    "implementations": _implementations,
    "importers": _importers_of_symbol,
    "overrides": _overrides,
    "subclasses": _subclasses,
    "tests_of": _tests_of_symbol,
}
