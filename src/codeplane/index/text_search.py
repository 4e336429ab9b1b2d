"""Find lines by literal text or regular expression, completely: every line that holds it, page by page.

Files are looked at in a fixed order (code, then tests, then the rest; by path) and the search stops when a page is
full, so that common words cost no more than rare ones.
"""

import mmap
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Final

from codeplane.core.clock import Clock, SystemClock
from codeplane.core.errors import CodePlaneError
from codeplane.index.ignore_rules import matcher_for_all
from codeplane.index.index_store import IndexedFile
from codeplane.index.reconcile import IndexState

SNIPPET_CHARACTERS = 160
# How long the search for one page of an expression may take.
TIME_LIMIT_S: Final = 15.0
_BOM: Final = b"\xef\xbb\xbf"
# RE2 cannot be stopped, and an expression that is too much for its automaton takes about 22 ns for each byte and
# instruction; pieces of this much work end within about half a second.
_WORK: Final = 25_000_000
_MAX_PIECE: Final = 1 << 18
_MAX_INSTRUCTIONS: Final = 100_000
_WORD: Final = r"\pL\pM\pN_"
_ESCAPE_OR_CLASS: Final = re.compile(r"\\[^n]|\[\^?\]?(?:\\.|[^\]\\])*\]")
_SYSTEM_CLOCK: Final = SystemClock()


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What to look for; a literal matches byte by byte unless `ignore_case`. Files in `without` are not searched."""

    text: str
    is_regex: bool = False
    ignore_case: bool = False
    whole_word: bool = False
    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LineHit:
    """One line that holds a match; the column counts characters from 0, `is_word` says it is a whole word."""

    path: str
    line: int
    column: int
    snippet: str
    is_word: bool = False


@dataclass(frozen=True, slots=True)
class PageEnd:
    """Where a page ended: the file and its last delivered line."""

    path: str
    line: int


def find_lines(
    state: IndexState, query: TextQuery, after: PageEnd | None, clock: Clock = _SYSTEM_CLOCK
) -> Iterator[LineHit]:
    """Yield every matching line after `after`, in the fixed order.

    Raises:
        CodePlaneError: INVALID_ARGUMENTS for a query that cannot be searched; TIMED_OUT for an expression that takes
            longer than TIME_LIMIT_S.
    """
    yield from _lines_of(state, _from(ordered_files(state, query), after), query, after, clock)


def find_lines_in(
    state: IndexState, file: IndexedFile, query: TextQuery, clock: Clock = _SYSTEM_CLOCK
) -> Iterator[LineHit]:
    """Yield every matching line of one file, whatever the scope of the query.

    Raises:
        CodePlaneError: as `find_lines`.
    """
    yield from _lines_of(state, (file,), query, None, clock)


def _lines_of(
    state: IndexState, files: Iterable[IndexedFile], query: TextQuery, after: PageEnd | None, clock: Clock
) -> Iterator[LineHit]:
    search = _searcher(query, clock)
    try:
        with state.pack.mapped(state.pack_size) as view:
            for file in files:
                if file.text_id is None:
                    continue
                first = after.line + 1 if after is not None and after.path == file.path else 1
                # A byte order mark does not belong to the first line.
                has_mark = view[file.offset : file.offset + len(_BOM)] == _BOM
                start = file.offset + (len(_BOM) if has_mark else 0)
                for line, column, text in search(view, start, file.offset + file.length):
                    if line >= first:
                        yield _line_hit(file.path, line, column, text, len(query.text))
    except (OSError, ValueError) as error:
        raise CodePlaneError("INDEX_CORRUPT", f"The index's text cannot be read: {error}") from error


def ordered_files(state: IndexState, query: TextQuery) -> tuple[IndexedFile, ...]:
    """Return the files in scope in the order in which they are searched."""
    languages = frozenset(query.languages)
    if not languages and not query.paths and not query.without:
        return state.in_order
    fits = matcher_for_all(query.paths)
    return tuple(
        file
        for file in state.in_order
        if file.path not in query.without and (not languages or file.language in languages) and fits(file.path)
    )


def _from(ordered: tuple[IndexedFile, ...], after: PageEnd | None) -> Iterator[IndexedFile]:
    if after is None:
        yield from ordered
        return
    position = next((i for i, file in enumerate(ordered) if file.path == after.path), None)
    if position is None:
        raise CodePlaneError("CURSOR_EXPIRED", "The file where the last page ended is no longer searched.")
    yield from ordered[position:]


_SIMPLER: Final = "Make it simpler (repetitions of repetitions cost most), or narrow scope.paths."
_Found = tuple[int, int, bytes]
_Search = Callable[["mmap.mmap | bytes", int, int], Iterator[_Found]]


def _searcher(query: TextQuery, clock: Clock) -> _Search:
    if not query.text:
        raise CodePlaneError("INVALID_ARGUMENTS", "`query` is empty.", hint="Give the text to look for.")
    if "\n" in query.text:
        hint = "Search for one of its lines; read_source shows the others."
        raise CodePlaneError("INVALID_ARGUMENTS", "`query` has more than one line.", hint=hint)
    if query.is_regex or query.ignore_case:
        return _regex_searcher(query, clock)
    needle = query.text.encode("utf-8")
    if query.whole_word:
        expression = _expression(query)
        return lambda view, start, end: _lines_with_word(view, needle, expression, start, end)
    return lambda view, start, end: _literal_lines(view, needle, start, end)


def _lines_with_word(
    view: "mmap.mmap | bytes", needle: bytes, expression: Any, start: int, end: int
) -> Iterator[_Found]:
    """Yield the lines that hold a text as a whole word; only those that hold it at all are looked at closely."""
    for line, _, text in _literal_lines(view, needle, start, end):
        match = expression.search(text)
        if match is not None:
            yield line, len(text[: match.start(1)].decode("utf-8", "replace")), text


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


def _regex_searcher(query: TextQuery, clock: Clock) -> _Search:
    expression = _expression(query)
    # A whole word is the first group of its expression, after the character before it.
    group = 1 if query.whole_word else 0
    step = min(_MAX_PIECE, _WORK // expression.programsize)
    deadline = clock.monotonic() + TIME_LIMIT_S

    def search(view: "mmap.mmap | bytes", start: int, end: int) -> Iterator[_Found]:
        line = 1
        for piece in _pieces(view, start, end, step):
            if not _ends_in_time(expression, piece, step, clock, deadline):
                raise CodePlaneError(
                    "TIMED_OUT", "The regular expression takes too long on these files.", hint=_SIMPLER
                )
            counted = position = 0
            # One match is enough for a line; an expression that fits nothing would match before every character.
            while position < len(piece) and (match := expression.search(piece, position)) is not None:
                at = match.start(group)
                if at == len(piece) and piece.endswith(b"\n"):
                    break
                line_start = piece.rfind(b"\n", 0, at) + 1
                line_end = piece.find(b"\n", at)
                text = piece[line_start : line_end if line_end >= 0 else len(piece)]
                line += piece.count(b"\n", counted, line_start)
                counted = line_start
                yield line, len(text[: at - line_start].decode("utf-8", "replace")), text
                position = line_start + len(text) + 1
            # Most files are one piece.
            line += piece.count(b"\n", counted) if end - start > step else 0

    return search


def _pieces(view: "mmap.mmap | bytes", start: int, end: int, step: int) -> Iterator[bytes]:
    """Yield whole lines together, about `step` bytes of them; a line that is longer comes alone or as the last."""
    if start < end <= start + step:
        yield view[start:end]
        return
    while start < end:
        line_end = view.find(b"\n", min(start + step, end) - 1, end)
        stop = end if line_end < 0 else line_end + 1
        yield view[start:stop]
        start = stop


def _ends_in_time(expression: Any, piece: bytes, step: int, clock: Clock, deadline: float) -> bool:
    """Tell whether a piece can be searched before the deadline; a very long line is tried on its beginning first."""
    now = clock.monotonic()
    if now <= deadline and len(piece) > 4 * step:
        expression.search(piece[:step])
        now += (clock.monotonic() - now) * len(piece) / step
    return now <= deadline


def with_text_for_faults(expression: str) -> str | None:
    """Return an expression whose alternatives that are not valid are plain text; None when that does not help.

    Agents write `load(|save(` for two calls.
    """
    import re2  # noqa: PLC0415 - as below.

    def is_valid(text: str) -> bool:
        options = re2.Options()
        options.log_errors = False
        try:
            re2.compile(text.encode(), options)
        except re2.error:
            return False
        return True

    if is_valid(expression):
        return None
    parts = [part if is_valid(part) else re2.escape(part) for part in expression.split("|")]
    repaired = "|".join(parts)
    return repaired if len(parts) > 1 and is_valid(repaired) else None


def _expression(query: TextQuery) -> Any:
    # 5 ms that questions about names do not need.
    import re2  # noqa: PLC0415

    pattern = query.text if query.is_regex else re2.escape(query.text)
    if query.is_regex and r"\n" in _ESCAPE_OR_CLASS.sub("", query.text):
        hint = "Search for one of the lines; read_source shows the others."
        raise CodePlaneError("INVALID_ARGUMENTS", "Expressions match inside one line; this one has a \\n.", hint=hint)
    if query.whole_word:
        # RE2's own word boundary knows ASCII letters only.
        pattern = f"(?:^|[^{_WORD}])({pattern})(?:[^{_WORD}]|$)"
    options = re2.Options()
    options.never_nl = True
    options.log_errors = False
    options.case_sensitive = not query.ignore_case
    options.max_mem = 64 << 20
    try:
        expression = re2.compile(f"(?m){pattern}".encode(), options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        hint = "The syntax is RE2: no look-around and no back-references."
        message = f"The regular expression is not valid: {reason.replace('(?m)', '', 1)}"
        raise CodePlaneError("INVALID_ARGUMENTS", message, hint=hint) from error
    if expression.programsize > _MAX_INSTRUCTIONS:
        message = f"The regular expression is too large: {expression.programsize} steps of {_MAX_INSTRUCTIONS}."
        raise CodePlaneError("INVALID_ARGUMENTS", message, hint="Repeat less, or smaller classes.")
    return expression


def _line_hit(path: str, line: int, column: int, text: bytes, length: int) -> LineHit:
    decoded = text.decode("utf-8", "replace").rstrip("\r")
    around = (decoded[column - 1 : column] if column else "", decoded[column + length : column + length + 1])
    is_word = not any(one.isalnum() or one == "_" for one in around)
    return LineHit(path, line, column, snippet_of(decoded, column), is_word)


def snippet_of(line: str, column: int) -> str:
    """Return a line, cut to what fits with the column in view; an ellipsis shows where something was cut."""
    stripped = line.strip()
    if len(stripped) <= SNIPPET_CHARACTERS:
        return stripped
    start = max(0, min(column - 40, len(line) - SNIPPET_CHARACTERS))
    cut = line[start : start + SNIPPET_CHARACTERS]
    if start > 0:
        cut = "…" + cut[1:]
    return (cut[:-1] + "…" if start + SNIPPET_CHARACTERS < len(line) else cut).strip()


@cache
def language_aliases() -> MappingProxyType[str, str]:
    """Return common short names of languages."""
    names = {"py": "python", "js": "javascript", "ts": "typescript", "rs": "rust", "md": "markdown", "sh": "shell"}
    return MappingProxyType({**names, "yml": "yaml", "c++": "cpp", "c#": "csharp", "golang": "go"})
