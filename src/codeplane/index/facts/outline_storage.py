"""Outlines as bytes: rows are turned into columns, numbers into the narrowest arrays, positions into distances.

Written row by row they took more room than the text they describe. A column is decoded when it is first asked for:
most questions need a few fields of a few definitions.
"""

import marshal
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from itertools import accumulate, chain
from operator import add, sub
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts.outline import END, LAST_LINE, NAME, NAME_LINE, NAME_START, PATH, START, Outline, Rows
from codeplane.index.facts.packing import PackingError, packed, unpacked
from codeplane.languages.facts import Definition

_HOLDS_NUMBERS: Final = tuple(
    name not in {"name", "lexical_path", "signature", "documentation", "owner", "decorators", "bases"}
    for name in Definition._fields
)
_FROM_START: Final = frozenset({END, NAME_START})
# Of the columns of lines: first line, line of the name, column of the name, last line.
_N_LINE_COLUMNS: Final = 4
_FROM_FIRST_LINE: Final = frozenset({NAME_LINE, LAST_LINE})
# What stands before a path that does not end with the name.
_WHOLE: Final = "\0"
_BY_COLUMN: Final = ("definition_rows", "lines", "expression_columns", "expression_uses")
_AS_IT_IS: Final = tuple(field.name for field in fields(Outline) if field.name not in _BY_COLUMN)
_UNSIGNED: Final = (("B", 0xFF), ("H", 0xFFFF), ("I", 0xFFFFFFFF))
_SIGNED: Final = (("b", 0x7F), ("h", 0x7FFF), ("i", 0x7FFFFFFF))

# A column: the code and bytes of an array, or the values as they are; one value stands for a column full of it.
_Column = tuple[str, bytes] | list[Any]


class _Joined(Sequence[Any]):
    """Two columns made into one where it is asked for: most questions are about one row."""

    __slots__ = ("_first", "_join", "_second")

    def __init__(self, join: Callable[[Any, Any], Any], first: Sequence[Any], second: Sequence[Any]) -> None:
        self._join = join
        self._first = first
        self._second = second

    def __len__(self) -> int:
        return len(self._first)

    def __getitem__(self, number: Any) -> Any:
        return self._join(self._first[number], self._second[number])

    def __iter__(self) -> Iterator[Any]:
        return map(self._join, self._first, self._second)


def encode_outline(outline: Outline) -> bytes:
    """Return an outline as bytes; the checksum of what is packed guards what `marshal` is given to read."""
    n_visible = outline.n_visible
    definitions = outline.definition_rows.columns()
    value = (
        len(outline.definition_rows),
        _stored_definitions([one[:n_visible] for one in definitions]),
        _stored_definitions([one[n_visible:] for one in definitions]),
        _stored_lines(outline.lines),
        [*map(_numbers, outline.expression_columns[:2]), *map(list, outline.expression_columns[2:])],
        _numbers(outline.expression_uses),
        tuple([getattr(outline, name) for name in _AS_IT_IS]),
    )
    return packed(marshal.dumps(value))


def _stored_definitions(columns: list[Sequence[Any]]) -> list[_Column]:
    """Return the columns of definitions; the local ones apart, because most of their columns hold one value only."""
    if not columns or not columns[0]:
        return []
    starts = columns[START]
    columns[END] = tuple(map(sub, columns[END], starts))
    columns[NAME_START] = tuple(map(sub, columns[NAME_START], starts))
    columns[START] = _distances(starts)
    columns[PATH] = tuple(map(_without_name, columns[PATH], columns[NAME]))
    return [_numbers(one) if is_number else _texts(one) for one, is_number in zip(columns, _HOLDS_NUMBERS, strict=True)]


def _stored_lines(rows: Rows) -> list[_Column]:
    if not rows:
        return []
    first, name_line, column, last = rows.columns()
    parts = (_distances(first), tuple(map(sub, name_line, first)), column, tuple(map(sub, last, first)))
    return [_numbers(one) for one in parts]


def decode_outline(blob: bytes) -> Outline:
    """Return an outline from its bytes.

    Raises:
        CodePlaneError: INDEX_CORRUPT when they are no outline.
    """
    with reading_own_bytes():
        return _decoded(marshal.loads(unpacked(blob)))  # noqa: S302 - our own bytes, checked by their sum


@contextmanager
def reading_own_bytes() -> Iterator[None]:
    """Tell bytes that are not what they should be as a damaged index, which is then built again."""
    try:
        yield
    except (PackingError, ValueError, EOFError, TypeError, IndexError) as error:
        raise CodePlaneError("INDEX_CORRUPT", f"Stored facts cannot be read: {error}") from error


def _decoded(stored: Any) -> Outline:
    length, visible, local, lines, expressions, uses, rest = stored
    named: dict[str, Any] = dict(zip(_AS_IT_IS, rest, strict=True))
    n_visible, n_expressions = named["n_visible"], named["n_expressions"]
    groups = [(columns, size) for columns, size in ((visible, n_visible), (local, length - n_visible)) if size]

    def definitions_column(rows: Rows, number: int) -> Sequence[Any]:
        with reading_own_bytes():
            parts = [_values(columns[number], size) for columns, size in groups]
            if number == START:
                parts = [list(accumulate(one)) for one in parts]
            values = parts[0] if len(parts) == 1 else list(chain.from_iterable(parts))
            if number in _FROM_START:
                return _Joined(add, values, rows.column(START))
            return _Joined(_with_name, values, rows.column(NAME)) if number == PATH else values

    def lines_column(rows: Rows, number: int) -> Sequence[int]:
        with reading_own_bytes():
            values = _values(lines[number], length) if lines else []
            if number == 0:
                return list(accumulate(values))
            return _Joined(add, values, rows.column(0)) if number in _FROM_FIRST_LINE else values

    return Outline(
        definition_rows=Rows(length, [None] * len(Definition._fields), definitions_column),
        lines=Rows(length, [None] * _N_LINE_COLUMNS, lines_column),
        expression_columns=[_values(one, n_expressions) for one in expressions],
        expression_uses=_values(uses, n_expressions),
        **named,
    )


def _distances(values: Sequence[int]) -> tuple[int, ...]:
    """Return the first value and how far each is from the one before."""
    return values[0], *map(sub, values[1:], values)


def _without_name(path: str, name: str) -> str:
    return path[: len(path) - len(name)] if path.endswith(name) else _WHOLE + path


def _with_name(stored: str, name: str) -> str:
    return stored[1:] if stored.startswith(_WHOLE) else stored + name


def _texts(values: Sequence[Any]) -> _Column:
    first = values[0]
    return [first] if values.count(first) == len(values) else list(values)


def _numbers(values: Sequence[int]) -> _Column:
    if not values:
        return []
    first = values[0]
    if values.count(first) == len(values):
        return [int(first)]
    try:
        # Most are small; bytes are made three times as fast as arrays.
        return "B", bytes(values)
    except ValueError:
        return _wide_numbers(values)


def _wide_numbers(values: Sequence[int]) -> _Column:
    low, high = min(values), max(values)
    for code, top in _SIGNED if low < 0 else _UNSIGNED:
        if high <= top and low >= -top:
            return code, array(code, values).tobytes()
    return list(values)


def _values(column: _Column, length: int) -> Sequence[Any]:
    if isinstance(column, tuple):
        return array(column[0], column[1])
    return column * length if len(column) == 1 else column
