"""Plan the deletion of a file, a directory or a definition: who still refers to it, and what would go with it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tree_sitter import Node

from codeplane.core.errors import CodePlaneError
from codeplane.core.printable import counted
from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.outline import NAME_START
from codeplane.index.facts.reader import FactFile, FactReader, Place
from codeplane.index.impact import affected_tests
from codeplane.index.linking.stored_links import Tier
from codeplane.index.reference_search import (
    ReferenceHit,
    Symbol,
    find_possible_references,
    find_references,
    hit_at,
    symbols_of,
)
from codeplane.index.relations import ancestors, holder_of, type_graph
from codeplane.index.symbol_search import Match, SymbolHit, SymbolScope, find_symbols, symbol_at
from codeplane.languages.catalog import dialect_of, linking_rules
from codeplane.languages.facts import DefinitionKind, ReferenceRole
from codeplane.refactor.checking import Comparison
from codeplane.refactor.extents import Extent, extents_of
from codeplane.refactor.import_lists import removed_imports, removes_block
from codeplane.refactor.moved_tree import nodes_of, syntax_of
from codeplane.refactor.plan import BLOCKED, NEEDS_DECISION, Candidate, Draft, Edit, edit_at, without_overlap
from codeplane.refactor.proof import hashes_of
from codeplane.refactor.statements import Span, line_span, newline_of, tidy_cut, without_items
from codeplane.refactor.unused_imports import left_unused

_MAX_LISTED: Final = 200
_MAX_REASONS: Final = 20
_MAX_CANDIDATES: Final = 20
_EXPORT_LIST: Final = "__all__"
_HANDS_ON: Final = frozenset({ReferenceRole.IMPORT, ReferenceRole.EXPORT})
_SPECS: Final = frozenset({"const_spec", "var_spec", "type_spec", "variable_declarator"})


@dataclass(slots=True)
class _Deletion:
    """What goes: whole files, and spans of others by path; and what keeps it from going."""

    reader: FactReader
    subject: str
    files: frozenset[str] = frozenset()
    places: set[Place] = field(default_factory=set)
    spans: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))
    cuts: dict[str, dict[Span, str]] = field(default_factory=lambda: defaultdict(dict))
    reasons: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    hits: dict[Tier, list[ReferenceHit]] = field(default_factory=lambda: defaultdict(list))

    def covers(self, path: str, start: int) -> bool:
        """Tell whether a place is in what goes."""
        return path in self.files or any(first <= start < last for first, last in self.spans.get(path, ()))

    def text(self, path: str) -> bytes:
        """Return the text of a file."""
        file = self.reader.file_at(path)
        return self.reader.text(file) if file is not None and file.text_id is not None else b""

    def view(self, path: str) -> FileView | None:
        """Return the references of a file."""
        file = self.reader.file_at(path)
        return FileView(self.reader, file) if file is not None and file.facts_id is not None else None


def plan_delete(reader: FactReader, target: str) -> Draft:
    """Return the plan of a deletion, with every reference by how sure it is, importing files and affected tests.

    `target` is a file, a directory, `path::Name.path`, `path:line`, a `def_uid`, or a name that fits exactly one
    definition; several are the candidates of a draft that needs a decision.

    Raises:
        CodePlaneError: CONTENT_NOT_FOUND when nothing fits, INVALID_ARGUMENTS for what cannot be deleted by itself.
    """
    path = target.rstrip("/").removeprefix("./")
    rows = reader.connection.execute(
        "SELECT path FROM files WHERE path = ?1 OR substr(path, 1, length(?1) + 1) = ?1 || '/' ORDER BY path", (path,)
    ).fetchall()
    if rows:
        return _planned(_of_files(reader, path, [str(row[0]) for row in rows]), {})
    hits = find_symbols(reader, target, SymbolScope(), lambda: b"", parts_until=0)
    symbols = symbols_of(reader, [hit for hit in hits if hit.match is Match.EXACT])
    if not symbols:
        raise CodePlaneError("CONTENT_NOT_FOUND", f"No file, directory or definition is called {target[:80]}.")
    if len(symbols) > 1:
        found = tuple(_candidate(reader, one.asked) for one in symbols[:_MAX_CANDIDATES])
        why = f"{len(symbols)} definitions are called {target[:80]}; name one by path::Name."
        return Draft("delete", target, NEEDS_DECISION, reasons=(why,), candidates=found)
    hit = symbols[0].asked
    return _planned(_of_symbol(reader, symbols[0]), {hit.file.path: [hit.lexical_path]})


def _candidate(reader: FactReader, hit: SymbolHit) -> Candidate:
    uid = reader.uid(hit.file.file_id, hit.number)
    lines = reader.text(hit.file).split(b"\n")
    text = lines[hit.line - 1].decode("utf-8", "replace").strip()[:160]
    name = f"{hit.file.path}::{hit.lexical_path}"
    return Candidate(uid.hex() if uid else "", hit.file.path, hit.line, hit.kind.label, name, text)


def _of_files(reader: FactReader, subject: str, paths: list[str]) -> _Deletion:
    deletion = _Deletion(reader, subject, files=frozenset(paths))
    for path in paths:
        file = reader.file_at(path)
        if file is None or file.facts_id is None:
            continue
        outline = reader.outline(file.facts_id)
        deletion.places.update((file.file_id, number) for number in range(outline.n_visible))
    _find_module_imports(deletion)
    return deletion


def _find_module_imports(deletion: _Deletion) -> None:
    """Name the imports of the module itself: without it they fail, whatever they are used for."""
    connection = deletion.reader.connection
    modules = set()
    for path in deletion.files:
        row = connection.execute("SELECT module FROM files WHERE path = ?", (path,)).fetchone()
        parts = str(row[0]).split("\n") if row and row[0] else []
        # A package of several files is still there when one of them goes.
        for part in parts:
            like = (part, f"{part}\n%", f"%\n{part}")
            holders = connection.execute(
                "SELECT path FROM files WHERE module = ? OR module LIKE ? OR module LIKE ?", like
            ).fetchall()
            if all(str(one[0]) in deletion.files for one in holders):
                modules.add(part)
    for module in sorted(modules):
        rows = connection.execute(
            "SELECT path, facts_id, source FROM located JOIN files USING (file_id) WHERE located.module = ?", (module,)
        ).fetchall()
        for path, facts_id, source in rows:
            if path in deletion.files:
                continue
            for one in deletion.reader.outline(facts_id).import_rows:
                if one[1] == source and one[2] in {None, "*"}:
                    hit = hit_at(path, deletion.text(path), one[6], Tier.STRONG, ReferenceRole.REFERENCE)
                    deletion.hits[Tier.STRONG].append(hit)


def _of_symbol(reader: FactReader, symbol: Symbol) -> _Deletion:
    deletion = _Deletion(reader, f"{symbol.asked.file.path}::{symbol.asked.lexical_path}")
    deletion.warnings += _overridden(reader, symbol.asked)
    for file_id, numbers in _by_file(symbol.alternatives).items():
        file = reader.file(file_id)
        if file is None or file.facts_id is None:
            continue
        outline = reader.outline(file.facts_id)
        if any(number >= outline.n_visible for number in numbers):
            raise CodePlaneError("INVALID_ARGUMENTS", f"{deletion.subject} is local to a function; edit it there.")
        lexical = {outline.definition(number).lexical_path for number in numbers}
        same = [number for number in range(outline.n_visible) if outline.definition(number).lexical_path in lexical]
        text = reader.text(file)
        root = syntax_of(file.path, text)
        for extent in _joined(extents_of(root, text, outline, same), text):
            _cut_definition(deletion, file, root, extent, symbol.asked.name)
        starts = outline.definition_rows.column(NAME_START)
        deletion.places.update(
            (file_id, number) for number in range(outline.n_visible) if deletion.covers(file.path, int(starts[number]))
        )
    return deletion


def _overridden(reader: FactReader, hit: SymbolHit) -> Iterator[str]:
    """Yield what the definition overrides, or may: calls of that run this one without naming it."""
    holder = holder_of(reader, hit)
    graph = type_graph(reader, hit.file.language)
    if holder is None or graph is None:
        return
    for place in ancestors(graph, [holder]):
        members = reader.outline_of(place[0]).members.get(place[1], {}).get(hit.name, ())
        other = symbol_at(reader, place[0], members[0]) if members and place != holder else None
        if other is not None:
            yield f"It overrides {other.file.path}::{other.lexical_path}; calls of that may run it."
        outside = [*graph.outside.get(place, ()), *graph.unresolved.get(place, ())]
        if outside:
            yield f"Its type inherits from {', '.join(map(str, outside[:3]))}, which may call it."


def _joined(extents: list[Extent], text: bytes) -> list[Extent]:
    """Return extents with those as one that have nothing between them."""
    found: list[Extent] = []
    for one in extents:
        if found and not one.is_shared and not text[found[-1].end : one.start].strip():
            found[-1] = found[-1]._replace(end=one.end)
        else:
            found.append(one)
    return found


def _by_file(places: Iterable[Place]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for file_id, number in places:
        found[file_id].append(number)
    return found


def _cut_definition(deletion: _Deletion, file: FactFile, root: Node, extent: Extent, name: str) -> None:
    text, path = deletion.text(file.path), file.path
    if extent.is_shared:
        span = _part_of_group(extent.node, text, name)
        if span is None:
            line = edit_at(path, text, (extent.node.start_byte, extent.node.start_byte), "").line
            deletion.reasons.append(f"{path}:{line}: the statement defines other names, too")
            return
        deletion.spans[path].append(span)
        deletion.cuts[path][span] = ""
        return
    span = (extent.start, extent.end)
    deletion.spans[path].append(span)
    if removes_block(root, text, span):
        deletion.cuts[path][span] = _nothing(text, span)
    else:
        deletion.cuts[path][tidy_cut(text, *span)] = ""


def _nothing(text: bytes, span: Span) -> str:
    """Return the statement that does nothing, in place of what was in a block."""
    line = text[span[0] : span[1]]
    indent = line[: len(line) - len(line.lstrip(b" \t"))].decode()
    return f"{indent}pass{newline_of(text)}"


def _part_of_group(node: Node, text: bytes, name: str) -> Span | None:
    """Return what to cut of a statement that declares several names, None when that cannot be told."""
    specs = list(nodes_of(node, _SPECS))
    named = [one for one in specs if _names(one, text) == [name.encode()]]
    if len(named) != 1 or len(specs) < 2 or b"iota" in text[node.start_byte : node.end_byte]:
        return None
    spec = named[0]
    if spec.type == "variable_declarator":
        return next(iter(without_items(specs, {[one.id for one in specs].index(spec.id)}, text)), None)
    return line_span(text, spec.start_byte, spec.end_byte)


def _names(spec: Node, text: bytes) -> list[bytes]:
    return [text[one.start_byte : one.end_byte] for one in spec.children_by_field_name("name")]


def _planned(deletion: _Deletion, symbols: dict[str, list[str]]) -> Draft:
    reader = deletion.reader
    _find_references(deletion)
    blocking = [hit for tier in (Tier.PROVEN, Tier.STRONG) for hit in deletion.hits[tier] if hit.role not in _HANDS_ON]
    deletion.reasons += [f"{hit.path}:{hit.line}: still refers to it: {hit.snippet.strip()[:120]}" for hit in blocking]
    edits: tuple[Edit, ...] = ()
    if not deletion.reasons:
        _cut_imports(deletion)
        _cut_export_lists(deletion)
        edits = _edits(deletion)
        deletion.reasons += _differences(deletion, edits)
    changed = sorted({*deletion.files, *deletion.spans})
    tests = affected_tests(reader, changed, None, symbols)
    details = {
        "references": {tier.name.lower(): _listed(deletion.hits[tier]) for tier in Tier},
        "importing_files": sorted(
            {hit.path for hits in deletion.hits.values() for hit in hits if hit.role == ReferenceRole.IMPORT}
        ),
        "affected_tests": [one.path for one in tests.matches],
        "tests_confidence": tests.confidence,
    }
    if deletion.reasons:
        reasons = tuple(deletion.reasons[:_MAX_REASONS])
        more = len(deletion.reasons) - len(reasons)
        return Draft(
            "delete", deletion.subject, BLOCKED, details=details,
            reasons=(*reasons, f"and {more} more places") if more else reasons,
        )  # fmt: skip
    unsure = len(deletion.hits[Tier.ANCHORED]) + len(deletion.hits[Tier.UNKNOWN])
    if unsure:
        deletion.warnings.append(f"{counted(unsure, 'use')} of the name could not be resolved and may mean it.")
    touched = {*deletion.files, *(one.path for one in edits)}
    return Draft(
        "delete", deletion.subject, edits=edits, deletes=tuple(sorted(deletion.files)),
        warnings=tuple(deletion.warnings),
        details=details, hashes=hashes_of(reader, touched),
    )  # fmt: skip


def _listed(hits: list[ReferenceHit]) -> list[dict[str, Any]]:
    unique = {(hit.path, hit.start): hit for hit in hits}
    return [
        {"path": hit.path, "line": hit.line, "text": hit.snippet.strip()[:160], "role": hit.role.label.lower()}
        for _, hit in sorted(unique.items())[:_MAX_LISTED]
    ]


def _find_references(deletion: _Deletion) -> None:
    """Collect the references from outside of what goes, by tier."""
    reader = deletion.reader
    for place in sorted(deletion.places):
        hit = symbol_at(reader, *place)
        if hit is None or hit.kind == DefinitionKind.PARAMETER:
            continue
        for found in find_references(reader, Symbol(hit, (place,), ()), lambda _path: True, None):
            if not deletion.covers(found.path, found.start):
                deletion.hits[found.tier].append(found)
    if len(deletion.spans) == 1:
        place = min(deletion.places)
        asked = symbol_at(reader, *place)
        if asked is not None:
            symbol = Symbol(asked, (place,), ())
            for found in find_possible_references(reader, symbol, _paths_with(reader, asked), None):
                if not deletion.covers(found.path, found.start):
                    deletion.hits[found.tier].append(found)


def _paths_with(reader: FactReader, hit: SymbolHit) -> list[str]:
    """Return the files of the same language family whose text has the name."""
    rules, word = linking_rules(dialect_of(hit.file.path)), hit.name.encode()
    files = reader.files_with_facts(lambda language: linking_rules(language) is rules)
    return [file.path for file in files if word in reader.text(file)]


def _cut_imports(deletion: _Deletion) -> None:
    """Cut the imports that hand on what goes, and those that only it used."""
    paths = {hit.path for hits in deletion.hits.values() for hit in hits if hit.role in _HANDS_ON}
    for path in sorted(paths | deletion.spans.keys()):
        view = deletion.view(path)
        if view is None:
            continue
        gone = [
            *_handing_on(deletion, view),
            *(left_unused(deletion.reader, view, deletion.covers) if path in deletion.spans else ()),
        ]
        if not gone:
            continue
        root = syntax_of(path, view.text)
        for span in removed_imports(root, view.text, [view.outline.imported(number) for number in set(gone)]):
            deletion.cuts[path][span] = _nothing(view.text, span) if removes_block(root, view.text, span) else ""


def _handing_on(deletion: _Deletion, view: FileView) -> Iterator[int]:
    """Yield the imports of a file that mean what goes."""
    rows = view.outline.import_rows
    for position, start in enumerate(view.columns.starts):
        if view.columns.roles[position] not in _HANDS_ON or view.meaning(position)[1] not in deletion.places:
            continue
        yield from (number for number, row in enumerate(rows) if row[6] <= start < row[7] and row[2] not in {None, "*"})


def _cut_export_lists(deletion: _Deletion) -> None:
    """Cut the entries of lists of exported names whose definition or import goes."""
    for path in sorted({*deletion.spans, *deletion.cuts}):
        view = deletion.view(path)
        if view is None or not view.outline.export_rows:
            continue
        root = syntax_of(path, view.text)
        names = {
            str(row[1])
            for number, row in enumerate(view.outline.definition_rows)
            if row[6] == 0 and (view.file.file_id, number) in deletion.places
        }
        imports = map(view.outline.imported, range(len(view.outline.import_rows)))
        names |= {one.alias or one.imported_name or "" for one in imports if _is_cut(deletion, path, one.start)}
        for holder, items in _export_lists(root, view.text):
            gone = {number for number, (name, _) in enumerate(items) if name in names}
            nodes = [node for _, node in items]
            if gone and len(gone) == len(items):
                deletion.cuts[path][_emptied(holder, nodes, view.text)] = ""
            elif gone:
                deletion.cuts[path].update(dict.fromkeys(without_items(nodes, gone, view.text), ""))


def _is_cut(deletion: _Deletion, path: str, start: int) -> bool:
    return any(first <= start < last for first, last in deletion.cuts[path])


def _emptied(holder: Node, nodes: list[Node], text: bytes) -> Span:
    """Return what to cut of a list that loses all of its items."""
    if holder.type == "export_clause" and holder.parent is not None:
        return line_span(text, holder.parent.start_byte, holder.parent.end_byte)
    end = nodes[-1].end_byte
    return nodes[0].start_byte, end + (text[end : end + 1] == b",")


def _export_lists(root: Node, text: bytes) -> Iterator[tuple[Node, list[tuple[str, Node]]]]:
    """Yield the lists of exported names: `__all__`, and `export { a, b }`."""
    for node in nodes_of(root, frozenset({"assignment", "augmented_assignment", "export_clause"})):
        if node.type == "export_clause":
            source = node.parent.child_by_field_name("source") if node.parent is not None else None
            names = [(one.child_by_field_name("name"), one) for one in node.named_children]
            if source is None:
                yield node, [(text[n.start_byte : n.end_byte].decode(), one) for n, one in names if n is not None]
            continue
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or text[left.start_byte : left.end_byte].decode() != _EXPORT_LIST:
            continue
        strings = [one for one in right.named_children if one.type == "string"]
        yield right, [(text[one.start_byte : one.end_byte].decode().strip("\"'"), one) for one in strings]


def _edits(deletion: _Deletion) -> tuple[Edit, ...]:
    why = "goes with what is deleted"
    return without_overlap(
        edit_at(path, deletion.text(path), span, new, why=why, anchor=-1)
        for path, cuts in deletion.cuts.items()
        for span, new in cuts.items()
    )


def _differences(deletion: _Deletion, edits: tuple[Edit, ...]) -> list[str]:
    paths = sorted({*deletion.files, *(one.path for one in edits)})
    languages: dict[object, str] = {}
    for path in paths:
        rules = linking_rules(dialect_of(path))
        if rules is not None:
            languages.setdefault(rules, dialect_of(path))
    found = []
    for language in languages.values():
        comparison = Comparison(deletion.reader, language, edits, (), deletion.files)
        found += [str(one) for one in comparison.differences()]
        found += [f"{path}: would no longer parse" for path in comparison.new_errors()]
    return found
