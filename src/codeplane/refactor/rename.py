"""Plan a rename: everything that is proved to name the symbol, questions for what may, and documentation."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.outline import NAME_START, PATH
from codeplane.index.facts.reader import FactReader
from codeplane.index.linking.stored_links import Step, Tier
from codeplane.index.reference_search import Symbol, reference_positions, symbols_of
from codeplane.index.relations import ancestors, subclasses, type_graph
from codeplane.index.symbol_search import Match, SymbolHit, SymbolScope, find_symbols, symbol_at
from codeplane.languages.catalog import linking_rules
from codeplane.languages.facts import BindTarget, DefinitionKind
from codeplane.refactor.checking import Comparison
from codeplane.refactor.documentation import LEVELS, documentation_sites
from codeplane.refactor.family import family_of
from codeplane.refactor.move import plan_move
from codeplane.refactor.naming import check_new_name, is_special
from codeplane.refactor.plan import (
    BLOCKED,
    CODE,
    DOCS,
    NEEDS_DECISION,
    QUESTION,
    READY,
    Candidate,
    Draft,
    Edit,
    FileMove,
    edit_at,
)
from codeplane.refactor.proof import hashes_of
from codeplane.refactor.settings import ContextDefaults, RefactorSettings
from codeplane.refactor.sites import Renaming, code_sites, notebook_words, questions

RENAME: Final = "rename"
_PLACE: Final = re.compile(r"^(?P<path>[^:]+):(?P<line>\d{1,9})(?::(?P<column>\d{1,9}))?$")
_MANGLED: Final = re.compile(r"^__(?!.*__$)")
_TYPES: Final = frozenset(
    {DefinitionKind.CLASS, DefinitionKind.INTERFACE, DefinitionKind.ENUM, DefinitionKind.STRUCT, DefinitionKind.TRAIT}
)
# Languages in which a file is called like the class it holds.
_FOLLOWING: Final = frozenset({"java", "typescript"})
_MAX_SHOWN: Final = 10
# What generators write into the first lines of a file.
_GENERATED: Final = re.compile(rb"(?i)do not edit|@generated|\bcode generated\b|\bauto-?generated\b")
_HEADER_BYTES: Final = 400


@dataclass(frozen=True, slots=True)
class RenameRequest:
    """What to rename; `at` narrows a name to a place (`path:line[:column]`)."""

    symbol: str
    new_name: str
    at: str = ""
    context_id: str = ""
    include_docs: bool = False
    force_syntactic: bool = False


@dataclass(frozen=True, slots=True)
class Ground:
    """What planners work on: the facts, the files that contain a word, the names of all definitions, and settings.

    `files_below` lists files and symlinks at or below a path, `clean_paths` tells which of some paths git tracks
    unchanged, `digest_of` gives the digest of a file as it is on disk.
    """

    reader: FactReader
    files_with: Callable[[str], list[str]]
    names: Callable[[], bytes]
    is_ignored: Callable[[str], bool]
    settings: RefactorSettings
    defaults: ContextDefaults
    files_below: Callable[[str], list[str]] = lambda _path: []
    clean_paths: Callable[[Iterable[str]], frozenset[str]] = lambda _paths: frozenset()
    digest_of: Callable[[str], str] = lambda _path: ""


def plan_rename(ground: Ground, request: RenameRequest) -> Draft:
    """Return the plan of a rename.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS for a bad name; CONTENT_NOT_FOUND when nothing is called so;
            REFACTOR_CONFLICT when the new name would change what code means; REFACTOR_DIVERGENCE.
    """
    alias = _alias_at(ground.reader, request)
    if alias is not None:
        return _plan_alias(ground, request, *alias)
    found = find_targets(ground, request.symbol, request.at, request.context_id)
    if not found:
        raise nothing_named(ground, request.symbol)
    if len(found) > 1:
        return undecided(ground, RENAME, request.symbol, found)
    hit = _renamable(ground.reader, found[0].asked)
    check_new_name(hit.file.language, hit.name, request.new_name)
    if is_special(hit.file.language, hit.name):
        message = f"`{hit.name}` has a meaning to {hit.file.language}; it cannot be renamed."
        raise CodePlaneError("REFACTOR_CONFLICT", message, details={"path": hit.file.path, "line": hit.line})
    renaming = Renaming(ground.reader, hit, family_of(ground.reader, hit), request.new_name)
    return _planned(ground, request, renaming)


def _planned(ground: Ground, request: RenameRequest, renaming: Renaming) -> Draft:
    code = code_sites(renaming)
    taken = frozenset((one.path, one.start) for one in code)
    asked = [*questions(renaming, ground.files_with, taken), *notebook_words(renaming, ground.files_with)]
    if request.force_syntactic:
        asked += _every_word(ground, renaming, taken | {(one.path, one.start) for one in asked})
    docs = documentation_sites(renaming, ground.files_with, ground.settings.doc_sweep)
    known = taken | {(one.path, one.start) for one in asked}
    texts = [one for one in docs if (one.path, one.start) not in known]
    edits, ignored = _without_ignored(ground, [*code, *asked, *texts])
    edits = _with_chosen_docs(ground, request, edits)
    moves, imports = _following_file(renaming)
    edits += imports
    sure = [one for one in edits if one.group == CODE and one.confidence == ""]
    _check(ground, renaming, sure, moves, frozenset((one.path, one.start) for one in (*asked, *ignored)))
    status, reasons = _status(ground, request, renaming, sure)
    warnings = _warnings(ground, renaming, asked)
    if ignored:
        shown = ", ".join(sorted({one.path for one in ignored})[:3])
        warnings.append(f"git ignores {shown}: not changed")
    return Draft(
        kind=RENAME,
        subject=f"{renaming.hit.file.path}::{renaming.hit.lexical_path}",
        status=status,
        edits=tuple(edits),
        moves=moves,
        reasons=tuple(reasons),
        candidates=(_candidate(ground.reader, renaming.hit),) if status != READY else (),
        warnings=tuple(warnings),
        details={
            "old_name": renaming.old,
            "new_name": renaming.new,
            "kind": renaming.hit.kind.label,
            "contexts": contexts_of(ground.reader, {one.path for one in edits}),
        },
        hashes=hashes_of(ground.reader, [*(one.path for one in edits), *(one.source for one in moves)]),
    )


def find_targets(ground: Ground, symbol: str, at: str = "", context_id: str = "") -> list[Symbol]:
    """Return the symbols that a request names."""
    reader = ground.reader
    hits = _at_place(ground, symbol, at) if at else _named(ground, symbol)
    hits = [hit for hit in hits if hit.match is Match.EXACT]
    if context_id:
        wanted = _units(reader, context_id)
        hits = [hit for hit in hits if hit.file.unit_id in wanted]
    # Two definitions that share the token of their name, such as a parameter that is also a field, are one answer.
    tokens = {(hit.file.file_id, hit.line, hit.column): hit for hit in reversed(hits)}
    return symbols_of(reader, reversed(tokens.values()))


def _named(ground: Ground, symbol: str) -> list[SymbolHit]:
    hits = find_symbols(ground.reader, symbol.strip(), SymbolScope(), ground.names, parts_until=0)
    path, mark, name = symbol.strip().partition("::")
    file = ground.reader.file_at(path) if mark and not hits else None
    if file is None or file.facts_id is None:
        return hits
    # Names inside functions are not in the table of definitions.
    paths = ground.reader.outline(file.facts_id).definition_rows.column(PATH)
    found = [symbol_at(ground.reader, file.file_id, number) for number, one in enumerate(paths) if one == name]
    return [hit for hit in found if hit is not None]


def _at_place(ground: Ground, symbol: str, at: str) -> list[SymbolHit]:
    """Return what a name means at a line: what is defined there, or what is used there."""
    place = _PLACE.match(at.strip())
    file = ground.reader.file_at(place["path"]) if place is not None else None
    if place is None or file is None or file.facts_id is None:
        raise CodePlaneError("INVALID_ARGUMENTS", f"`{at[:120]}` is not a place. Send path:line or path:line:column.")
    if place["column"] is not None:
        return _named(ground, at)
    name = re.split(r"::|\.", symbol)[-1]
    view = FileView(ground.reader, file)
    line = int(place["line"])
    starts = [0, *(match.end() for match in re.finditer(rb"\n", view.text)), len(view.text) + 1]
    if line >= len(starts):
        return []
    wanted = range(starts[line - 1], starts[line])
    found: dict[tuple[int, int], SymbolHit] = {}
    for position, start in enumerate(view.columns.starts):
        if start in wanted and view.columns.names[view.columns.name_numbers[position]] == name:
            target = view.meaning(position)[1] or _defined_at(view, start)
            hit = symbol_at(ground.reader, *target) if target is not None else None
            if hit is not None and target is not None:
                found[target] = hit
    return list(found.values())


def _defined_at(view: FileView, start: int) -> tuple[int, int] | None:
    starts = view.outline.definition_rows.column(NAME_START)
    return next(((view.file.file_id, number) for number, one in enumerate(starts) if one == start), None)


def _units(reader: FactReader, context_id: str) -> set[int]:
    rows = reader.connection.execute("SELECT unit_id, context_id, family, root FROM units").fetchall()
    found = {
        row[0]
        for row in rows
        if context_id in {row[1], row[3], f"{row[2]}:{row[3]}"} or (context_id == "." and not row[3])
    }
    if not found:
        known = ", ".join(sorted(f"{row[2]}:{row[3]}" for row in rows))
        raise CodePlaneError("INVALID_ARGUMENTS", f"There is no context `{context_id[:60]}`. Contexts: {known[:300]}.")
    return found


def nothing_named(ground: Ground, symbol: str) -> CodePlaneError:
    """Return the error for a name that nothing has, with near names."""
    near = find_symbols(ground.reader, symbol.strip(), SymbolScope(), ground.names, parts_until=3)[:5]
    hint = (
        "Near: " + ", ".join(f"{hit.file.path}::{hit.lexical_path}" for hit in near)
        if near
        else ("Send path::Name, path:line, path:line:column, or a def_uid.")
    )
    return CodePlaneError("CONTENT_NOT_FOUND", f"No definition is called `{symbol[:120]}`.", hint=hint)


def undecided(ground: Ground, kind: str, symbol: str, found: list[Symbol]) -> Draft:
    """Return the answer to a name that several definitions have."""
    contexts = {one.asked.file.unit_id for one in found}
    paths = {one.asked.lexical_path for one in found}
    modules = {one.asked.file.modules for one in found}
    is_divergent = len(contexts) == len(found) > 1 and len(paths) == 1 and len(modules) == 1 and modules != {""}
    if is_divergent and ground.defaults.divergence_behavior == "fail":
        views = [f"{one.asked.file.path}:{one.asked.line}" for one in found[: ground.defaults.max_parallel_contexts]]
        message = (
            f"{len(found)} contexts define `{symbol[:80]}` as the same name of the same module: {', '.join(views)}."
        )
        raise CodePlaneError("REFACTOR_DIVERGENCE", message, details={"views": views})
    return Draft(
        kind=kind,
        subject=symbol,
        status=NEEDS_DECISION,
        reasons=(f"{len(found)} definitions are called `{symbol[:80]}`",),
        candidates=tuple(_candidate(ground.reader, one.asked) for one in found),
        details={"contexts": contexts_of(ground.reader, [one.asked.file.path for one in found])},
    )


def contexts_of(reader: FactReader, paths: Iterable[str]) -> list[str]:
    """Return the contexts that own some files, by family and root."""
    units = {file.unit_id for path in paths if (file := reader.file_at(path)) is not None}
    rows = reader.connection.execute("SELECT unit_id, family, root FROM units ORDER BY family, root")
    return [f"{family}:{root}" for unit_id, family, root in rows if unit_id in units]


def _candidate(reader: FactReader, hit: SymbolHit) -> Candidate:
    uid = reader.uid(hit.file.file_id, hit.number)
    text = reader.text(hit.file).split(b"\n")[hit.line - 1].decode("utf-8", "replace").strip()[:160]
    place = f"{hit.file.path}:{hit.line}:{hit.column}"
    return Candidate(
        uid.hex() if uid is not None else place, hit.file.path, hit.line, hit.kind.label, hit.lexical_path, text
    )


def _renamable(reader: FactReader, hit: SymbolHit) -> SymbolHit:
    """Return the definition to rename: for a Java constructor its class."""
    path = hit.lexical_path
    if (
        hit.file.language == "java"
        and hit.kind is DefinitionKind.METHOD
        and hit.container.rpartition(".")[2] == hit.name
    ):
        outline = reader.outline_of(hit.file.file_id)
        for number, one in enumerate(outline.definition_rows.column(PATH)):
            if one == path.rpartition(".")[0] and DefinitionKind(outline.kinds[number]) in _TYPES:
                return symbol_at(reader, hit.file.file_id, number) or hit
    return hit


def _every_word(ground: Ground, renaming: Renaming, taken: frozenset[tuple[str, int]]) -> list[Edit]:
    """Return every other occurrence of the word in files of the language, as questions."""
    found = []
    word = re.compile(rb"(?<!\w)" + re.escape(renaming.old.encode()) + rb"(?!\w)")
    for path in ground.files_with(renaming.old):
        file = ground.reader.file_at(path)
        if file is None or file.language != renaming.hit.file.language or file.text_id is None:
            continue
        text = ground.reader.text(file)
        for match in word.finditer(text):
            if (path, match.start()) not in taken:
                more = {"group": QUESTION, "tier": Tier.UNKNOWN, "why": "the same word", "settle": "read the place"}
                found.append(edit_at(path, text, match.span(), renaming.new, **more))
    return found


def _without_ignored(ground: Ground, edits: Iterable[Edit]) -> tuple[list[Edit], list[Edit]]:
    """Return the edits of files that git does not ignore, and the others."""
    kept: list[Edit] = []
    ignored: list[Edit] = []
    for one in edits:
        (ignored if ground.is_ignored(one.path) else kept).append(one)
    return kept, ignored


def _with_chosen_docs(ground: Ground, request: RenameRequest, edits: list[Edit]) -> list[Edit]:
    """Put documentation hits of enough confidence into the default group when they are wanted."""
    sweep = ground.settings.doc_sweep
    if not (request.include_docs or sweep.auto_apply):
        return edits
    enough = LEVELS[: LEVELS.index(sweep.min_confidence) + 1]
    return [replace(one, group=CODE) if one.group == DOCS and one.confidence in enough else one for one in edits]


def _following_file(renaming: Renaming) -> tuple[tuple[FileMove, ...], list[Edit]]:
    """Return the move of a Java or TypeScript file that is called like its class, and the imports that follow it."""
    hit = renaming.hit
    folder, name = posixpath.split(hit.file.path)
    stem, ending = posixpath.splitext(name)
    if hit.file.language not in _FOLLOWING or hit.kind not in _TYPES or hit.container or stem != hit.name:
        return (), []
    target = posixpath.join(folder, renaming.new + ending)
    if hit.file.language == "java":
        return (FileMove(hit.file.path, target),), []
    try:
        moved = plan_move(renaming.reader, hit.file.path, target)
    except CodePlaneError as error:
        hint = "Rename the file first, or choose another name."
        raise CodePlaneError(
            "REFACTOR_CONFLICT", f"{hit.file.path} cannot follow: {error.message}", hint=hint
        ) from error
    return moved.moves, [one for one in moved.edits if one.group == CODE]


def _check(
    ground: Ground,
    renaming: Renaming,
    edits: list[Edit],
    moves: tuple[FileMove, ...],
    asked: frozenset[tuple[str, int]],
) -> None:
    """Refuse a plan that would change what any reference means.

    Raises:
        CodePlaneError: REFACTOR_CONFLICT with the places.
    """
    problems = [*_member_clashes(renaming), *_visibility_clashes(renaming, edits)]
    taken = [move.target for move in moves if ground.reader.file_at(move.target) is not None]
    problems += [f"{path} exists already" for path in taken]
    if not problems:
        comparison = Comparison(ground.reader, renaming.hit.file.language, edits, moves)
        words = frozenset({renaming.old, renaming.new})
        problems = [str(one) for one in comparison.differences(words, asked)]
        problems += [f"{path}: would no longer parse" for path in comparison.new_errors()]
    if problems:
        message = f"`{renaming.old}` cannot become `{renaming.new}`: {'; '.join(problems[:3])}."
        raise CodePlaneError("REFACTOR_CONFLICT", message, details={"places": problems[:_MAX_SHOWN]})


def _member_clashes(renaming: Renaming) -> list[str]:
    """Return the members of the same types, or of types above and below, that have the new name already."""
    reader, holder = renaming.reader, renaming.family.holder
    graph = type_graph(reader, renaming.hit.file.language) if holder is not None else None
    if graph is None or holder is None or renaming.is_local:
        return []
    problems = []
    for place in [holder, *ancestors(graph, [holder]), *subclasses(graph, [holder])]:
        outline = reader.outline_of(place[0])
        owner = symbol_at(reader, *place)
        path = outline.definition_rows.column(PATH)[place[1]]
        numbers = [
            *outline.members.get(place[1], {}).get(renaming.new, ()),
            *outline.owned.get(path, {}).get(renaming.new, ()),
        ]
        if numbers and owner is not None and not _is_overload(renaming, outline.kinds[numbers[0]]):
            line = outline.lines[numbers[0]][1]
            problems.append(f"{owner.file.path}:{line}: {owner.lexical_path} has a member `{renaming.new}`")
    return problems


def _is_overload(renaming: Renaming, kind: int) -> bool:
    rules = linking_rules(renaming.hit.file.language)
    is_method = kind == DefinitionKind.METHOD and renaming.hit.kind is DefinitionKind.METHOD
    return rules is not None and rules.choose_method is not None and is_method


def _visibility_clashes(renaming: Renaming, edits: list[Edit]) -> list[str]:
    """Return the places that could no longer see the symbol under its new name."""
    hit, old, new = renaming.hit, renaming.old, renaming.new
    if hit.file.language == "go" and old[:1].isupper() and not new[:1].isupper() and not renaming.is_local:
        folder = posixpath.dirname(hit.file.path)
        return [f"{one.path}:{one.line}: in another package" for one in edits if posixpath.dirname(one.path) != folder]
    if hit.file.language == "python" and _MANGLED.match(new) and renaming.is_member:
        start, end = hit_extent(renaming)
        return [
            f"{one.path}:{one.line}: outside of the class, where `{new}` is private"
            for one in edits
            if one.path != hit.file.path or not start <= one.start < end
        ]
    return []


def hit_extent(renaming: Renaming) -> tuple[int, int]:
    """Return where the type of a member starts and ends."""
    holder = renaming.family.holder
    if holder is None:
        return 0, 1 << 62
    row = renaming.reader.outline_of(holder[0]).definition(holder[1])
    return row.start, row.end


def _status(ground: Ground, request: RenameRequest, renaming: Renaming, edits: list[Edit]) -> tuple[str, list[str]]:
    if request.force_syntactic:
        return READY, []
    blocks = list(dict.fromkeys([*renaming.family.blocks, *_unreadable(ground, renaming, edits)]))
    if blocks:
        return BLOCKED, blocks[:_MAX_SHOWN]
    doubts = [] if renaming.old.startswith("_") else list(dict.fromkeys(renaming.family.doubts))
    path = renaming.hit.file.path
    if _GENERATED.search(ground.reader.text(renaming.hit.file)[:_HEADER_BYTES]):
        doubts.insert(0, f"{path} is generated: its generator would write the old name again")
    return (NEEDS_DECISION if doubts else READY), doubts[:_MAX_SHOWN]


def _unreadable(ground: Ground, renaming: Renaming, edits: list[Edit]) -> Iterator[str]:
    """Yield why files cannot be trusted or changed."""
    if ground.is_ignored(renaming.hit.file.path):
        yield f"git ignores {renaming.hit.file.path}, which defines it"
    for path in dict.fromkeys(one.path for one in edits):
        file = ground.reader.file_at(path)
        if file is not None and file.facts_id is not None and ground.reader.outline(file.facts_id).quality[1]:
            yield f"{path} has syntax errors; its facts may be incomplete"


def _warnings(ground: Ground, renaming: Renaming, asked: list[Edit]) -> list[str]:
    language = renaming.hit.file.language
    if linking_rules(language) is not None or renaming.is_local:
        return []
    others = [path for path in ground.files_with(renaming.old) if path != renaming.hit.file.path]
    if not others or asked:
        return []
    text = f"{language} names are not followed between files; {len(others)} other files contain the word"
    return [f"{text}: force_syntactic lists them"]


def _alias_at(reader: FactReader, request: RenameRequest) -> tuple[FileView, int] | None:
    """Return the bind of an import alias that a request names by its place."""
    place = _PLACE.match((request.at or request.symbol).strip())
    file = reader.file_at(place["path"]) if place is not None and place["column"] is not None else None
    if place is None or file is None or file.facts_id is None:
        return None
    view = FileView(reader, file)
    lines = view.text.split(b"\n")
    line = int(place["line"])
    offset = sum(len(one) + 1 for one in lines[: line - 1]) + int(place["column"])
    for position, start in enumerate(view.columns.starts):
        bind = view.columns.bind_numbers[position] - 1
        if start != offset or bind < 0 or view.columns.bind_kinds[bind] != BindTarget.IMPORT:
            continue
        row = view.outline.import_rows[view.columns.bind_targets[bind] - 1]
        if row[3] and view.columns.names[view.columns.name_numbers[position]] == row[3]:
            return view, bind
    return None


def _plan_alias(ground: Ground, request: RenameRequest, view: FileView, bind: int) -> Draft:
    """Plan the rename of an import alias: the word of its file, and imports of it by others."""
    columns = view.columns
    number = columns.bind_targets[bind] - 1
    old, new = str(view.outline.import_rows[number][3]), request.new_name
    check_new_name(view.file.language, old, new)
    edits = {(one.path, one.start): one for one in _words_of_bind(view, bind, old, new)}
    for one in _uses_through(ground.reader, view, number, old, new):
        edits.setdefault((one.path, one.start), one)
    for one in _imports_of_name(ground, view, old, new):
        edits.setdefault((one.path, one.start), one)
    found = list(edits.values())
    comparison = Comparison(ground.reader, view.file.language, found)
    problems = [str(one) for one in comparison.differences(frozenset({old, new}))]
    problems += [f"{path}: would no longer parse" for path in comparison.new_errors()]
    if problems:
        message = f"`{old}` cannot become `{new}`: {'; '.join(problems[:3])}."
        raise CodePlaneError("REFACTOR_CONFLICT", message, details={"places": problems[:_MAX_SHOWN]})
    return Draft(
        kind=RENAME,
        subject=f"{view.file.path}::{old}",
        edits=tuple(found),
        details={"old_name": old, "new_name": new, "kind": "alias"},
        hashes=hashes_of(ground.reader, [one.path for one in found]),
    )


def _words_of_bind(view: FileView, bind: int, old: str, new: str) -> list[Edit]:
    """Return the edits of a name that an import binds; of `x as x` only the alias."""
    columns = view.columns
    row = view.outline.import_rows[columns.bind_targets[bind] - 1]
    length = len(old.encode())
    starts = [
        start
        for position, start in enumerate(columns.starts)
        if columns.bind_numbers[position] - 1 == bind and columns.names[columns.name_numbers[position]] == old
    ]
    inside = [start for start in starts if row[6] <= start < row[7]]
    # Without an alias the only word is the imported name itself.
    skipped = inside[:-1] if row[3] else []
    return [
        edit_at(view.file.path, view.text, (start, start + length), new, why="alias")
        for start in starts
        if start not in skipped
    ]


def _imports_of_name(ground: Ground, view: FileView, old: str, new: str) -> list[Edit]:
    """Return the imports of a name from a file, their uses, and the imports from those files in turn.

    Links say nothing of a name whose definition is outside of the repository.
    """
    found: list[Edit] = []
    waiting, seen = [view.file], {view.file.file_id}
    while waiting:
        module = waiting.pop().modules.split("\n")[0]
        rows = (
            ground.reader.connection.execute(
                "SELECT file_id, source FROM located WHERE name = ? OR module = ?", (module, module)
            ).fetchall()
            if module
            else []
        )
        for file_id, source in rows:
            file = ground.reader.file(file_id)
            if file is None or file.facts_id is None or file_id in seen:
                continue
            other = FileView(ground.reader, file)
            edits = _imported_words(other, source, old, new)
            found += edits
            seen.add(file_id)
            if edits and any(row[1] == source and row[2] == old and not row[3] for row in other.outline.import_rows):
                waiting.append(file)
    return found


def _imported_words(view: FileView, source: str, old: str, new: str) -> list[Edit]:
    columns, found = view.columns, []
    for number, row in enumerate(view.outline.import_rows):
        if row[1] != source or row[2] != old:
            continue
        if row[3]:
            at = next((one for one in columns.starts if row[6] <= one < row[7]), None)
            if at is not None and view.text[at : at + len(old.encode())] == old.encode():
                found.append(
                    edit_at(view.file.path, view.text, (at, at + len(old.encode())), new, why="import of the alias")
                )
            continue
        for bind, target in enumerate(columns.bind_targets):
            if columns.bind_kinds[bind] == BindTarget.IMPORT and target - 1 == number:
                found += _words_of_bind(view, bind, old, new)
    return found


def _uses_through(reader: FactReader, view: FileView, number: int, old: str, new: str) -> list[Edit]:
    """Return the uses in other files that reach a definition through an alias of this one."""
    targets, _ = reader.resolution(view.file.file_id)
    found: list[Edit] = []
    for target in {
        one[:2] for one in targets if any(step == (Step.IMPORT, view.file.file_id, number) for step in one.chain)
    }:
        hit = symbol_at(reader, *target)
        if hit is None:
            continue
        for other, position, tier in reference_positions(reader, Symbol(hit, (target,), ()), lambda _path: True, None):
            link = other.target(position)
            start = other.columns.starts[position]
            is_through = link is not None and any(step[1:] == (view.file.file_id, number) for step in link.chain)
            name = other.columns.names[other.columns.name_numbers[position]]
            if other.file.path != view.file.path and is_through and tier <= Tier.STRONG and name == old:
                found.append(
                    edit_at(
                        other.file.path,
                        other.text,
                        (start, start + len(old.encode())),
                        new,
                        tier=tier,
                        why="import of the alias",
                    )
                )
    return found
