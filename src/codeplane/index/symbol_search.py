"""Find definitions by name, forgiving case, form and small typing errors, and saying which it was."""

import itertools
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, NamedTuple

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts.file_view import FileView
from codeplane.index.facts.outline import (
    DOCUMENTATION,
    LAST_LINE,
    NAME,
    NAME_COLUMN,
    NAME_LINE,
    PATH,
    SIGNATURE,
    Op,
    Outline,
)
from codeplane.index.facts.queries import FactQueries
from codeplane.index.facts.reader import FactFile, FactReader, Place
from codeplane.index.file_order import file_rank
from codeplane.index.linking.stored_links import Target
from codeplane.index.symbol_names import folded, qualifier
from codeplane.languages.facts import NONE, DefinitionKind

# Where a definition was asked for by place: `path:line` or `path:line:column`.
_PLACE: Final = re.compile(r"^(?P<path>.+?):(?P<line>\d{1,9})(?::(?P<column>\d{1,9}))?$")
_UID: Final = re.compile(r"^[0-9a-f]{16}$")
_MIN_PART_LENGTH: Final = 3
_MIN_TYPO_LENGTH: Final = 4
_MAX_TYPO_LENGTH: Final = 60
_SEPARATORS: Final = re.compile(r"::|[.#/]")
_FIRST_KINDS: Final = (
    DefinitionKind.CLASS,
    DefinitionKind.INTERFACE,
    DefinitionKind.STRUCT,
    DefinitionKind.TRAIT,
    DefinitionKind.ENUM,
    DefinitionKind.FUNCTION,
    DefinitionKind.METHOD,
    DefinitionKind.PROPERTY,
)
_KIND_RANKS: Final = {kind: rank for rank, kind in enumerate(_FIRST_KINDS)}
# A named tuple made by its generated way takes twice as long, which shows for names with a thousand definitions.
_NEW: Final = tuple.__new__
_KINDS: Final = {int(kind): kind for kind in DefinitionKind}
_KIND_ALIASES: Final = {
    "func": "function",
    "fn": "function",
    "def": "function",
    "var": "variable",
    "const": "constant",
    "attribute": "variable",
    "type_alias": "type",
    "namespace": "module",
    "package": "module",
}


class Match(IntEnum):
    """How a name fits what was asked, the best first."""

    EXACT = 0
    FORM = 1
    INHERITED = 2
    PREFIX = 3
    PART = 4
    TYPO = 5

    @property
    def words(self) -> str:
        """Return what to say about it."""
        return {
            Match.EXACT: "exact",
            Match.FORM: "other case or form",
            Match.INHERITED: "inherited",
            Match.PREFIX: "begins with it",
            Match.PART: "contains it",
            Match.TYPO: "nearest spelling",
        }[self]


@dataclass(frozen=True, slots=True)
class SymbolScope:
    """Which definitions count."""

    kinds: frozenset[DefinitionKind] = frozenset()
    accepts_path: Callable[[str], bool] = lambda _path: True
    languages: frozenset[str] = frozenset()


class SymbolHit(NamedTuple):
    """A definition that was found; what its file's outline knows of it is read when it is asked for.

    Invariant: it may be used as long as its reader.
    """

    reader: FactReader
    file: FactFile
    number: int
    match: Match
    kind: DefinitionKind
    name: str

    @property
    def _outline(self) -> Outline:
        return self.reader.outline(self.file.facts_id or 0)

    @property
    def line(self) -> int:
        """Return the line of the name."""
        return int(self._outline.lines.column(NAME_LINE)[self.number])

    @property
    def column(self) -> int:
        """Return the column of the name in bytes, from 0."""
        return int(self._outline.lines.column(NAME_COLUMN)[self.number])

    @property
    def end_line(self) -> int:
        """Return the last line."""
        return int(self._outline.lines.column(LAST_LINE)[self.number])

    @property
    def lexical_path(self) -> str:
        """Return the dotted nesting."""
        return str(self._outline.definition_rows.column(PATH)[self.number])

    @property
    def signature(self) -> str:
        """Return parameters and bases as written."""
        return str(self._outline.definition_rows.column(SIGNATURE)[self.number])

    @property
    def documentation(self) -> str:
        """Return the first line of its documentation."""
        return str(self._outline.definition_rows.column(DOCUMENTATION)[self.number])

    @property
    def container(self) -> str:
        """Return the path of the enclosing definition, empty at the top of a file."""
        return self.lexical_path.rpartition(".")[0]


def find_symbols(
    reader: FactReader, query: str, scope: SymbolScope, names: Callable[[], bytes], *, parts_until: int
) -> list[SymbolHit]:
    """Return the definitions that a query means, the best first.

    A query is a name, a dotted path (`Class.method`), `path::Name.path`, `path:line[:column]` or a `def_uid`.
    Names that begin with or contain the query count too, as long as there are fewer than `parts_until` hits; the
    shortest come first. A near spelling counts only when nothing else does. `names` gives all folded names, one per
    line, as UTF-8: searched as text they would be encoded for every match.
    """
    placed = _by_place(reader, query)
    if placed is not None:
        return [hit for hit in placed if _is_in(hit, scope)]
    path, parts = _split(query)
    if not parts:
        return []
    hits = sorted(_named(reader, parts, path, scope, Match.EXACT, [folded(parts[-1])]), key=_order)
    if len(hits) < parts_until:
        for match, keys in _containing(folded(parts[-1]), names()):
            hits += sorted(_named(reader, parts, path, scope, match, keys), key=_order)
            if len(hits) >= parts_until:
                break
    if not hits and len(parts) > 1:
        hits = sorted(_inherited(reader, parts, path, scope), key=_order)
    if not hits:
        near = _near(folded(parts[-1]), names())
        hits = sorted(_named(reader, parts, path, scope, Match.TYPO, near), key=_order)
    return hits


def kinds_from(words: Iterable[str]) -> frozenset[DefinitionKind]:
    """Return kinds by their names.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS for a word that is not a kind.
    """
    found = set()
    for word in words:
        name = _KIND_ALIASES.get(word.lower(), word.lower())
        if name.upper() not in DefinitionKind.__members__:
            known = ", ".join(kind.label for kind in DefinitionKind)
            raise CodePlaneError("INVALID_ARGUMENTS", f"`{word[:40]}` is not a kind of symbol. Kinds: {known}.")
        found.add(DefinitionKind[name.upper()])
    return frozenset(found)


def symbol_at(reader: FactReader, file_id: int, number: int, match: Match = Match.EXACT) -> SymbolHit | None:
    """Return a definition by its place in the facts."""
    file = reader.file(file_id)
    if file is None or file.facts_id is None:
        return None
    return _hit(reader, file, number, match)


def _by_place(reader: FactReader, query: str) -> list[SymbolHit] | None:
    """Return what a query means that names a place or an identity, None when it is neither."""
    if _UID.match(query):
        queries = FactQueries(reader)
        place = queries.place_of(bytes.fromhex(query))
        hit = symbol_at(reader, *place) if place is not None else None
        if hit is not None:
            return [hit]
    found = _PLACE.match(query)
    file = reader.file_at(found["path"]) if found else None
    if found is None or file is None or file.facts_id is None:
        return None
    line, column = int(found["line"]), int(found["column"]) if found["column"] else None
    meant = _meant_at(reader, file, line, column)
    return [hit for place in meant if (hit := symbol_at(reader, *place)) is not None]


def _meant_at(reader: FactReader, file: FactFile, line: int, column: int | None) -> list[Place]:
    """Return the definitions named on a line, or under a column; else the innermost one around the line."""
    outline = reader.outline(file.facts_id or 0)
    named = [
        (file.file_id, number)
        for number, (_first, name_line, name_column, _last) in enumerate(outline.lines)
        if (name_line == line and column is None and number < outline.n_visible)
        or (name_line, name_column) == (line, column)
    ]
    if named:
        return named[:1] if column is None else named
    if column is not None:
        return _target_under(reader, file, line, column)
    around = innermost(outline, line)
    return [(file.file_id, around)] if around is not None else []


def _target_under(reader: FactReader, file: FactFile, line: int, column: int) -> list[Place]:
    view = FileView(reader, file)
    lines = view.text.split(b"\n")
    if line > len(lines):
        return []
    offset = sum(len(one) + 1 for one in lines[: line - 1]) + column
    for position, start in enumerate(view.columns.starts):
        name = view.columns.names[view.columns.name_numbers[position]]
        if start <= offset < start + len(name.encode()):
            _, target = view.meaning(position)
            return [target] if target is not None else []
    return []


def innermost(outline: Outline, line: int) -> int | None:
    """Return the innermost definition with a body around a line."""
    found: tuple[int, int] | None = None
    for number, (first, _name_line, _column, last) in enumerate(outline.lines):
        if first <= line <= last and last > first and (found is None or first >= found[0]):
            found = (first, number)
    return found[1] if found is not None else None


def _split(query: str) -> tuple[str, list[str]]:
    """Return the path before `::`, if any, and the parts of the name."""
    path, mark, name = query.partition("::")
    if mark and ("/" in path or "." in path):
        return path, [part for part in _SEPARATORS.split(name) if part]
    cleaned = query.strip().removesuffix("()")
    return "", [part for part in _SEPARATORS.split(cleaned) if part]


def _named(
    reader: FactReader, parts: list[str], path: str, scope: SymbolScope, match: Match, keys: Iterable[str]
) -> list[SymbolHit]:
    """Return the definitions with one of the folded names, inside of what the other parts name."""
    hits = []
    holders = _files_with(reader, parts[-2]) if len(parts) > 1 else None
    for file, number, kind_number, name in _rows(reader, keys):
        kind = _KINDS[kind_number]
        if (path and file.path != path) or not _accepts(scope, file, kind):
            continue
        if holders is not None and not path and file.file_id not in holders and not _names_file(file, parts[-2]):
            continue
        how = match
        if match is Match.EXACT and name != parts[-1]:
            how = Match.FORM
        hit = _NEW(SymbolHit, (reader, file, number, how, kind, name))
        if len(parts) == 1 or _is_inside(hit, parts, folded):
            hits.append(hit)
    return _nearest_containers(hits, parts, path)


def _files_with(reader: FactReader, name: str) -> frozenset[int]:
    """Return the files that define something of a name, in any form."""
    rows = reader.connection.execute("SELECT DISTINCT file_id FROM definitions WHERE folded = ?", (folded(name),))
    return frozenset(row[0] for row in rows)


def _names_file(file: FactFile, name: str) -> bool:
    """Tell whether a name may be a part of a file's module or path."""
    return folded(name) in folded(file.modules + "/" + file.path)


def _inherited(reader: FactReader, parts: list[str], path: str, scope: SymbolScope) -> list[SymbolHit]:
    """Return the member that a class takes from its nearest base that has it, as far as links know the bases."""
    holders = _named(reader, parts[:-1], path, SymbolScope(), Match.EXACT, [folded(parts[-2])])
    found: dict[Place, SymbolHit] = {}
    for holder in holders:
        waiting = [(holder.file.file_id, holder.number)]
        seen = set(waiting)
        while waiting:
            place = waiting.pop(0)
            file = reader.file(place[0])
            if file is None or file.facts_id is None:
                continue
            outline = reader.outline(file.facts_id)
            members = outline.members.get(place[1], {}).get(parts[-1], ())
            if members and _accepts(scope, file, DefinitionKind(outline.kinds[members[0]])):
                found[file.file_id, members[0]] = _hit(reader, file, members[0], Match.INHERITED)
                break
            resolution = reader.resolution(file.file_id)
            expressions = outline.base_expressions.get(place[1], ())
            known = [meant_by(file, outline, expression, resolution) for expression in expressions]
            bases = [base for base in known if base is not None and base not in seen]
            seen.update(bases)
            waiting.extend(bases)
    return list(found.values())


def meant_by(
    file: FactFile, outline: Outline, expression: int, resolution: "tuple[list[Target], array[int]]"
) -> Place | None:
    """Return the definition that an expression of a file means, None when that is not known."""
    if expression == NONE:
        return None
    op, operand, _ = outline.expression(expression)
    if op == Op.DEFINITION:
        return file.file_id, operand
    targets, numbers = resolution
    number = numbers[expression] if expression < len(numbers) else 0
    return targets[number - 1][:2] if number else None


def _nearest_containers(hits: list[SymbolHit], parts: list[str], path: str) -> list[SymbolHit]:
    """Keep the hits whose containers are written as asked, if there are any; after `path::` the whole path counts."""
    if path:
        whole = [hit for hit in hits if hit.lexical_path == ".".join(parts)]
    else:
        whole = [hit for hit in hits if len(parts) > 1 and _is_inside(hit, parts, str)]
    return whole or hits


def _rows(reader: FactReader, keys: Iterable[str]) -> Iterator[tuple[FactFile, int, int, str]]:
    for key in keys:
        rows = reader.connection.execute(
            "SELECT number, kind, name, file_id, path, language, text_id, facts_id, unit_id, module"
            " FROM definitions CROSS JOIN files USING (file_id) WHERE folded = ?",
            (key,),
        )
        for row in rows:
            yield _NEW(FactFile, row[3:]), row[0], row[1], row[2]


def _containing(key: str, names: bytes) -> Iterator[tuple[Match, list[str]]]:
    """Yield the names that begin with a key, then those that hold it, in groups of one length, the shortest first.

    One or two letters are in nearly every name, so a short key has to be at the beginning.
    """
    data = _data(key)
    if not data or b"\n" in data:
        return
    for match, find in ((Match.PREFIX, _beginning), (Match.PART, _holding)):
        if match is Match.PART and len(key) < _MIN_PART_LENGTH:
            return
        found = [one.decode("utf-8", "surrogatepass") for one in find(data, names)]
        for _, group in itertools.groupby(sorted(found, key=lambda one: (len(one), one)), key=len):
            yield match, list(group)


def _beginning(data: bytes, names: bytes) -> Iterator[bytes]:
    """Yield the names that begin with some bytes and go on."""
    at = -1 if names.startswith(data) else names.find(b"\n" + data)
    while at >= 0 or names.startswith(data, at + 1):
        end = _end_of_line(names, at + 1)
        if end > at + 1 + len(data):
            yield names[at + 1 : end]
        at = names.find(b"\n" + data, end)
        if at < 0:
            return


def _holding(data: bytes, names: bytes) -> Iterator[bytes]:
    """Yield the names that hold some bytes further on, and do not begin with them."""
    at = names.find(data)
    while at >= 0:
        begin, end = names.rfind(b"\n", 0, at) + 1, _end_of_line(names, at)
        if begin < at:
            yield names[begin:end]
        at = names.find(data, end)


def _end_of_line(names: bytes, at: int) -> int:
    end = names.find(b"\n", at)
    return end if end >= 0 else len(names)


def _near(key: str, names: bytes) -> list[str]:
    """Return the names one typing error away: a letter more, less, other, or two exchanged."""
    if not _MIN_TYPO_LENGTH <= len(key) <= _MAX_TYPO_LENGTH:
        return []
    letters = [re.escape(_data(letter)) for letter in key]
    forms = set()
    for i in range(len(letters) + 1):
        before, after = b"".join(letters[:i]), letters[i:]
        forms.add(before + b"." + b"".join(after))
        if after:
            forms.add(before + b"".join(after[1:]))
            forms.add(before + b"." + b"".join(after[1:]))
        if len(after) > 1:
            forms.add(before + after[1] + after[0] + b"".join(after[2:]))
    return sorted(_matching(b"(?m)^(?:" + b"|".join(sorted(forms)) + b")$", names))


def _matching(form: bytes, names: bytes) -> set[str]:
    # 5 ms that only a mistyped name needs.
    import re2  # noqa: PLC0415

    expression: Any = re2.compile(form)
    return {found.group().decode("utf-8", "surrogatepass") for found in expression.finditer(names)}


def _data(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _is_inside(hit: SymbolHit, parts: list[str], spelled: Callable[[str], str]) -> bool:
    """Tell whether the parts before the name are the end of its path, module and file included."""
    whole = [*re.split(r"[./]", qualifier(hit.file.modules, hit.file.path)), *hit.lexical_path.split(".")]
    wanted = [spelled(part) for part in parts[:-1]]
    return [spelled(part) for part in whole[:-1]][-len(wanted) :] == wanted


def _accepts(scope: SymbolScope, file: FactFile, kind: DefinitionKind) -> bool:
    if scope.kinds and kind not in scope.kinds:
        return False
    if scope.languages and file.language not in scope.languages:
        return False
    return scope.accepts_path(file.path)


def _is_in(hit: SymbolHit, scope: SymbolScope) -> bool:
    return _accepts(scope, hit.file, hit.kind)


def _hit(reader: FactReader, file: FactFile, number: int, match: Match) -> SymbolHit:
    outline = reader.outline(file.facts_id or 0)
    name = outline.definition_rows.column(NAME)[number]
    return SymbolHit(reader, file, number, match, DefinitionKind(outline.kinds[number]), name)


def _order(hit: SymbolHit) -> tuple[int, int, int, int, str, int]:
    rank = file_rank(hit.file.path, hit.file.language)
    return hit.match, rank, len(hit.name), _KIND_RANKS.get(hit.kind, len(_FIRST_KINDS)), hit.file.path, hit.number
