"""The state of the code that a memory is about: hashes of files and definitions, to tell later whether they changed."""

from collections.abc import Iterable

from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_text
from codeplane.core.paths import RepoPath
from codeplane.index.source_text import Wanted, read_piece
from codeplane.index.symbol_search import Match, SymbolScope, find_symbols
from codeplane.workspace.workspace import Workspace

MAX_DEFINITIONS = 20
MAX_BYTES = 1_000_000
_SYMBOL_MARK = "::"


def code_hashes(workspace: Workspace, paths: Iterable[str], symbols: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the hash of every file and definition that exists; symbols have the key `::name`."""
    files = {path: found for path in paths if (found := _file_hash(workspace, path)) is not None}
    wanted = [symbol.strip() for symbol in symbols if symbol.strip()]
    definitions = {
        f"{_SYMBOL_MARK}{one}": found for one in wanted if (found := _symbol_hash(workspace, one)) is not None
    }
    return tuple(sorted((files | definitions).items()))


def stale_places(workspace: Workspace, recorded: Iterable[tuple[str, str]]) -> list[str]:
    """Return what a memory is about and is no longer as it was: `src/a.py changed`, `parse gone`.

    A file counts only where no definition is named: files change all the time.
    """
    known = dict(recorded)
    symbols = {place: value for place, value in known.items() if place.startswith(_SYMBOL_MARK)}
    found: list[str] = []
    for place, before in sorted((symbols or known).items()):
        name = place.removeprefix(_SYMBOL_MARK)
        now = _symbol_hash(workspace, name) if place.startswith(_SYMBOL_MARK) else _file_hash(workspace, name)
        if now != before:
            found.append(f"{name} {'gone' if now is None else 'changed'}")
    return found


def _file_hash(workspace: Workspace, path: str) -> str | None:
    try:
        return workspace.working_hash(RepoPath.parse(path).text)
    except CodePlaneError:
        return None


def _symbol_hash(workspace: Workspace, symbol: str) -> str | None:
    """Return one hash over all definitions that a name means exactly."""
    with workspace.index.facts() as reader:
        hits = find_symbols(reader, symbol, SymbolScope(), lambda: b"", parts_until=0)
        exact = [hit for hit in hits if hit.match in {Match.EXACT, Match.FORM}][:MAX_DEFINITIONS]
        texts = sorted(f"{hit.file.path}\n{_lines(workspace, hit.file.path, hit.line, hit.end_line)}" for hit in exact)
    return sha256_text("\x00".join(texts)) if texts else None


def _lines(workspace: Workspace, path: str, first: int, last: int) -> str:
    try:
        piece = read_piece(workspace.root, RepoPath.known(path), Wanted(first, last, MAX_BYTES))
    except CodePlaneError:
        return ""
    return piece.text.replace("\r\n", "\n")
