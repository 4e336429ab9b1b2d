"""Find lines by literal text or regular expression, completely: every line that holds it, page by page.

Files are looked at in a fixed order (code, then tests, then the rest; by path) and the search stops when a page is
full, so that common words cost no more than rare ones.
"""

import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import re2

from codeplane.core.errors import CodePlaneError
from codeplane.index.ignore_rules import matcher_for
from codeplane.index.index_store import IndexedFile
from codeplane.index.reconcile import IndexState

SNIPPET_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What to look for; a literal matches byte by byte unless `ignore_case`."""

    text: str
    is_regex: bool = False
    ignore_case: bool = False
    whole_word: bool = False
    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LineHit:
    """One line that holds a match; the column counts characters from 0."""

    path: str
    line: int
    column: int
    snippet: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page ended: the file and its last delivered line."""

    path: str
    line: int


def find_lines(state: IndexState, query: TextQuery, after: Place | None) -> Iterator[LineHit]:
    """Yield every matching line after `after`, in the fixed order.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS for a query that cannot be searched.
    """
    search = _searcher(query)
    ordered = ordered_files(state, query)
    try:
        with state.pack.mapped(state.pack_size) as view:
            for file in _from(ordered, after):
                if file.text_id is None:
                    continue
                extent = state.texts[file.text_id].extent
                first = after.line + 1 if after is not None and after.path == file.path else 1
                for line, column, text in search(view, extent.offset, extent.end):
                    if line >= first:
                        yield LineHit(file.path, line, column, _snippet(text, column))
    except (OSError, ValueError) as error:
        raise CodePlaneError("INDEX_CORRUPT", f"The index's text cannot be read: {error}") from error


def ordered_files(state: IndexState, query: TextQuery) -> tuple[IndexedFile, ...]:
    """Return the files in scope in the order in which they are searched."""
    matchers = [matcher_for(pattern) for pattern in query.paths]
    languages = frozenset(query.languages)
    if not languages and not matchers:
        return state.in_order
    return tuple(
        file
        for file in state.in_order
        if (not languages or file.language in languages)
        and (not matchers or any(matches(file.path) for matches in matchers))
    )


def _from(ordered: tuple[IndexedFile, ...], after: Place | None) -> Iterator[IndexedFile]:
    if after is None:
        yield from ordered
        return
    position = next((i for i, file in enumerate(ordered) if file.path == after.path), None)
    if position is None:
        raise CodePlaneError("CURSOR_EXPIRED", "The file where the last page ended is no longer searched.")
    yield from ordered[position:]


_Found = tuple[int, int, bytes]
_Search = Callable[["mmap.mmap | bytes", int, int], Iterator[_Found]]


def _searcher(query: TextQuery) -> _Search:
    if not query.text:
        raise CodePlaneError("INVALID_ARGUMENTS", "`query` is empty.", hint="Give the text to look for.")
    if "\n" in query.text:
        hint = "Search for one of its lines; read_source shows the others."
        raise CodePlaneError("INVALID_ARGUMENTS", "`query` has more than one line.", hint=hint)
    if query.is_regex or query.ignore_case or query.whole_word:
        return _regex_searcher(query)
    needle = query.text.encode("utf-8")
    return lambda view, start, end: _literal_lines(view, needle, start, end)


def _literal_lines(view: "mmap.mmap | bytes", needle: bytes, start: int, end: int) -> Iterator[_Found]:
    """Yield line number, column and text of each line that holds the needle, once per line."""
    position = view.find(needle, start, end)
    line, counted = 1, start
    while position >= 0:
        line += view[counted:position].count(b"\n")
        line_start = max(view.rfind(b"\n", start, position) + 1, start)
        line_end = view.find(b"\n", position, end)
        line_end = end if line_end < 0 else line_end
        text = view[line_start:line_end]
        yield line, len(text[: position - line_start].decode("utf-8", "replace")), text
        counted = position
        position = view.find(needle, line_end, end)


def _regex_searcher(query: TextQuery) -> _Search:
    expression = _expression(query)

    def search(view: "mmap.mmap | bytes", start: int, end: int) -> Iterator[_Found]:
        data = view[start:end]
        line, counted, last = 1, 0, -1
        for match in expression.finditer(data):
            position = match.start()
            line += data.count(b"\n", counted, position)
            counted = position
            line_start = data.rfind(b"\n", 0, position) + 1
            if line_start == last or (position == len(data) and not data[line_start:]):
                continue
            last = line_start
            line_end = data.find(b"\n", position)
            text = data[line_start : line_end if line_end >= 0 else len(data)]
            yield line, len(text[: position - line_start].decode("utf-8", "replace")), text

    return search


def _expression(query: TextQuery) -> Any:
    pattern = query.text if query.is_regex else re2.escape(query.text)
    if query.whole_word:
        pattern = rf"\b(?:{pattern})\b"
    options = re2.Options()
    options.never_nl = True
    options.log_errors = False
    options.case_sensitive = not query.ignore_case
    options.max_mem = 64 << 20
    try:
        return re2.compile(f"(?m){pattern}".encode(), options)
    except re2.error as error:
        reason = str(error.args[0] if error.args else error)
        hint = "The syntax is RE2: no look-around and no back-references."
        message = f"The regular expression is not valid: {reason}"
        raise CodePlaneError("INVALID_ARGUMENTS", message, hint=hint) from error


def _snippet(text: bytes, column: int) -> str:
    """Return the line, cut to what fits, with the match in view."""
    line = text.decode("utf-8", "replace").rstrip("\r")
    stripped = line.strip()
    if len(stripped) <= SNIPPET_CHARACTERS:
        return stripped
    start = max(0, min(column - 40, len(line) - SNIPPET_CHARACTERS))
    return line[start : start + SNIPPET_CHARACTERS].strip()


@cache
def language_aliases() -> MappingProxyType[str, str]:
    """Return common short names of languages."""
    names = {"py": "python", "js": "javascript", "ts": "typescript", "rs": "rust", "md": "markdown", "sh": "shell"}
    return MappingProxyType({**names, "yml": "yaml", "c++": "cpp", "c#": "csharp", "golang": "go"})
