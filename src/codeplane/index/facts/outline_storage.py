"""Outlines as bytes: rows are turned into columns, and columns of numbers into the narrowest arrays.

Written row by row they took more room than the text they describe. A column is decoded when it is first asked for:
most questions need a few fields of a few definitions.
"""

import marshal
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts.outline import Outline, Rows
from codeplane.index.facts.packing import PackingError, packed, unpacked
from codeplane.languages.facts import Definition

_HOLDS_NUMBERS: Final = tuple(
    name not in {"name", "lexical_path", "signature", "documentation", "owner", "decorators", "bases"}
    for name in Definition._fields
)
# First line, line of the name, column of the name, last line.
_N_LINE_COLUMNS: Final = 4
_BY_COLUMN: Final = ("definition_rows", "lines", "expression_columns", "expression_uses")
_AS_IT_IS: Final = tuple(field.name for field in fields(Outline) if field.name not in _BY_COLUMN)
_UNSIGNED: Final = (("B", 0xFF), ("H", 0xFFFF), ("I", 0xFFFFFFFF))
_SIGNED: Final = (("b", 0x7F), ("h", 0x7FFF), ("i", 0x7FFFFFFF))

# A column: the code and bytes of an array, or the values as they are; one value means a column full of it.
Column = tuple[str, bytes] | list[Any]


def encode_outline(outline: Outline) -> bytes:
    """Return an outline as bytes; the checksum of what is packed guards what `marshal` is given to read."""
    # Without definitions there are no columns either.
    definitions = zip(outline.definition_rows.columns(), _HOLDS_NUMBERS, strict=False)
    value = (
        len(outline.definition_rows),
        [packed_numbers(one) if is_number else _texts(one) for one, is_number in definitions],
        [packed_numbers(one) for one in outline.lines.columns()],
        [*map(packed_numbers, outline.expression_columns[:2]), *map(list, outline.expression_columns[2:])],
        packed_numbers(outline.expression_uses),
        tuple([getattr(outline, name) for name in _AS_IT_IS]),
    )
    return packed(marshal.dumps(value))


def decode_outline(blob: bytes) -> Outline:
    """Return an outline from its bytes.

    Raises:
        CodePlaneError: INDEX_CORRUPT when they are no outline.
    """
    with reading_own_bytes():
        stored = marshal.loads(unpacked(blob))  # noqa: S302 - our own bytes, checked by their sum
        length, definitions, lines, expressions, uses, rest = stored
        named: dict[str, Any] = dict(zip(_AS_IT_IS, rest, strict=True))
        n_expressions = named["n_expressions"]
        return Outline(
            definition_rows=_rows(definitions, len(Definition._fields), length),
            lines=_rows(lines, _N_LINE_COLUMNS, length),
            expression_columns=[unpacked_values(one, n_expressions) for one in expressions],
            expression_uses=unpacked_values(uses, n_expressions),
            **named,
        )


@contextmanager
def reading_own_bytes() -> Iterator[None]:
    """Tell bytes that are not what they should be as a damaged index, which is then built again."""
    try:
        yield
    except (PackingError, ValueError, EOFError, TypeError, IndexError) as error:
        raise CodePlaneError("INDEX_CORRUPT", f"Stored facts cannot be read: {error}") from error


def _rows(columns: Sequence[Column], n_columns: int, length: int) -> Rows:
    def column(_rows: Rows, number: int) -> Sequence[Any]:
        with reading_own_bytes():
            return unpacked_values(columns[number], length) if length else []

    return Rows(length, [None] * n_columns, column)


def _texts(values: Sequence[Any]) -> Column:
    first = values[0]
    return [first] if values.count(first) == len(values) else list(values)


def packed_numbers(values: Sequence[int]) -> Column:
    """Return numbers in the narrowest array that holds them; one value for a column full of it."""
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


def _wide_numbers(values: Sequence[int]) -> Column:
    low, high = min(values), max(values)
    for code, top in _SIGNED if low < 0 else _UNSIGNED:
        if high <= top and low >= -top:
            return code, array(code, values).tobytes()
    return list(values)


def unpacked_values(column: Column, length: int) -> Sequence[Any]:
    """Return the values of a stored column."""
    if isinstance(column, tuple):
        return array(column[0], column[1])
    return column * length if len(column) == 1 else column
