"""Source text around search hits, so no read has to follow; every line is shown once."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_bytes
from codeplane.index.facts.outline import NAME, NAME_LINE, Outline
from codeplane.index.facts.reader import FactFile, FactReader
from codeplane.index.index_store import IndexedFile
from codeplane.index.reconcile import IndexState
from codeplane.index.symbol_search import innermost
from codeplane.languages.facts import DefinitionKind
from codeplane.operations.edit_forms import n_decorators_above
from codeplane.operations.file_access import spend_read_budget
from codeplane.operations.operation import CallContext
from codeplane.operations.search_models import CodePiece, SearchHit, SearchRequest, SearchResult

_CHARACTERS_PER_TOKEN = 4
# A definition up to this many lines is shown whole; a longer one is cut around its hits.
_SHORT = 30
_LINES_AROUND = 6
_LINES_AROUND_TOP_LEVEL = 3
# The beginning of a long definition that was asked for by name.
_HEAD = 40
_MAX_LINE = 400
# The most lines of a header, and of a docstring before it is cut.
_MAX_HEADER = 20
_LONG_DOCSTRING = 4
_CONTAINERS = frozenset(
    {
        DefinitionKind.CLASS,
        DefinitionKind.INTERFACE,
        DefinitionKind.ENUM,
        DefinitionKind.STRUCT,
        DefinitionKind.TRAIT,
        DefinitionKind.MODULE,
    }
)


def with_code(
    context: CallContext, reader: FactReader, request: SearchRequest, result: SearchResult, state: IndexState | None
) -> SearchResult:
    """Add the text around each hit, the first hits first, within the budget; the others stay lines.

    `state` is the state that the hits come from, None for the newest.
    """
    room = request.budget * _CHARACTERS_PER_TOKEN
    files: dict[str, _ShownFile] = {}
    hits = []
    for hit in result.results:
        file = files.get(hit.path) or _open_file(reader, hit.path, state)
        if file is None:
            hits.append(hit)
            continue
        wanted, end = _lines_for(file, hit, request, room)
        cost = file.cost_of(wanted)
        if cost > room and files:
            hits.append(hit)
            continue
        if cost > room:
            wanted = range(hit.line, hit.line + 1)
        files.setdefault(hit.path, file).add(hit.line, wanted, end)
        room = max(0, room - cost)
        hits.append(hit.model_copy(update={"snippet": None}))
    pieces = [piece for file in files.values() for piece in file.pieces()]
    spend_read_budget(context, sum(len(piece.content) for piece in pieces))
    context.seen.update({path: file.sha256 for path, file in files.items()})
    return result.model_copy(update={"results": hits, "code": pieces})


def defining_lines(reader: FactReader, paths: Iterable[str], name: str) -> frozenset[tuple[str, int]]:
    """Return the lines of these files that define a name."""
    found: set[tuple[str, int]] = set()
    for path in paths:
        file = reader.file_at(path)
        if file is not None and file.facts_id is not None:
            outline = reader.outline(file.facts_id)
            names = outline.definition_rows.column(NAME)
            found.update((path, row[NAME_LINE]) for own, row in zip(names, outline.lines, strict=True) if own == name)
    return frozenset(found)


@dataclass
class _ShownFile:
    """One file and which of its lines are shown."""

    path: str
    lines: Sequence[str]
    sha256: str
    outline: Outline | None
    shown: set[int] = field(default_factory=set)
    hits: set[int] = field(default_factory=set)
    ends: dict[int, int] = field(default_factory=dict)

    def cost_of(self, wanted: Iterable[int]) -> int:
        """Return the characters of the lines that are not shown yet."""
        return sum(len(self.lines[number - 1]) + 6 for number in wanted if number not in self.shown)

    def add(self, hit: int, wanted: Iterable[int], end: int) -> None:
        """Show these lines of something that continues to `end`; one of them is a hit."""
        wanted = {*wanted, hit}
        self.shown |= wanted
        self.hits.add(hit)
        self.ends[max(wanted)] = max(end, self.ends.get(max(wanted), 0))

    def pieces(self) -> list[CodePiece]:
        """Return the lines that are shown, each run of them as one piece; a gap of one line is filled."""
        numbers = sorted(self.shown)
        for one, following in itertools.pairwise(numbers.copy()):
            if following - one == 2:
                numbers.extend(range(one + 1, following))
        numbers.sort()
        pieces = []
        for _, run in itertools.groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
            own = [number for _, number in run]
            content = "\n".join(self.lines[number - 1] for number in own)
            found = [number for number in own if number in self.hits]
            end = self.ends.get(own[-1], 0)
            goes_on = end if end > own[-1] else None
            pieces.append(
                CodePiece(path=self.path, start_line=own[0], hits=found, content=content, goes_on_until=goes_on)
            )
        return pieces


def _open_file(reader: FactReader, path: str, state: IndexState | None) -> _ShownFile | None:
    file = reader.file_at(path) if state is None else fact_file(state.files[path])
    if file is None or file.text_id is None:
        return None
    try:
        data = reader.text(file)
    except CodePlaneError:
        return None
    lines = [_shortened(line.rstrip("\r")) for line in data.decode("utf-8", "replace").split("\n")]
    outline = reader.outline(file.facts_id) if file.facts_id is not None else None
    return _ShownFile(path, lines, sha256_bytes(data), outline)


def fact_file(file: IndexedFile) -> FactFile:
    """Return a file of some state in the form that a reader takes."""
    return FactFile(file.file_id, file.path, file.language, file.text_id, file.facts_id, file.unit_id, file.module)


def _shortened(line: str) -> str:
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 1]}…"


def _lines_for(file: _ShownFile, hit: SearchHit, request: SearchRequest, room: int) -> tuple[Iterable[int], int]:
    """Return the lines to show for one hit, and the last line of the definition that they are of."""
    if request.show == "lines":
        return _around(file, hit.line, request.context), 0
    number = _definition_around(file.outline, hit)
    if file.outline is None or number is None:
        return _around(file, hit.line, _LINES_AROUND_TOP_LEVEL), 0
    first, name_line, _, last = file.outline.lines[number]
    first -= _decorators_above(file, first)
    whole = [
        line
        for line in range(first, min(last, len(file.lines)) + 1)
        if line not in _docstring(file, name_line, last) or line == hit.line
    ]
    is_asked_for = hit.matched is not None and hit.line == name_line
    if len(whole) <= _SHORT or (is_asked_for and file.cost_of(whole) <= room // 2):
        return whole, last
    if is_asked_for:
        return (*whole[:_HEAD], *_member_lines(file.outline, number, whole[_HEAD:])), last
    if hit.line <= name_line:
        return whole[: 2 * _LINES_AROUND], last
    around = _around(file, hit.line, _LINES_AROUND)
    return (*range(first, name_line + 1), *(line for line in around if line in whole)), last


def _docstring(file: "_ShownFile", name_line: int, last: int) -> range:
    """Return the lines of a long docstring after its first one; they say little about the code but cost many tokens."""
    for start in range(name_line + 1, min(last, name_line + _MAX_HEADER, len(file.lines)) + 1):
        text = file.lines[start - 1].strip().lstrip("rbuRBU")
        quotes = text[:3]
        if quotes not in {'"""', "'''"}:
            continue
        if quotes in text[3:]:
            return range(0)
        end = next((line for line in range(start + 1, last + 1) if quotes in file.lines[line - 1]), start)
        return range(start + 1, end + 1) if end - start > _LONG_DOCSTRING else range(0)
    return range(0)


def _around(file: _ShownFile, line: int, context: int) -> range:
    return range(max(1, line - context), min(len(file.lines), line + context) + 1)


def _definition_around(outline: Outline | None, hit: SearchHit) -> int | None:
    """Return the definition to show: the one found, the largest short one around the line, or the innermost."""
    if outline is None:
        return None
    if hit.matched is not None and hit.symbol is not None:
        for number, (_, name_line, _, _) in enumerate(outline.lines):
            if name_line == hit.line and outline.definition(number).name == hit.symbol.name:
                return number
    around = [
        (last - first, number)
        for number, (first, _, _, last) in enumerate(outline.lines)
        if first <= hit.line <= last and 0 < last - first < _SHORT
    ]
    return max(around)[1] if around else innermost(outline, hit.line)


def _member_lines(outline: Outline, container: int, rest: Sequence[int]) -> list[int]:
    """Return the lines on which a long class names its members, as an outline of what is not shown."""
    if outline.kinds[container] not in _CONTAINERS:
        return []
    depth = outline.definition(container).lexical_path.count(".") + 1
    return [
        name_line
        for number, (_, name_line, _, last) in enumerate(outline.lines)
        if name_line in rest and last > name_line and outline.definition(number).lexical_path.count(".") == depth
    ]


def _decorators_above(file: _ShownFile, first: int) -> int:
    return n_decorators_above(file.lines[:first])
