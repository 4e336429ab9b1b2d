"""Outlines as bytes: rows are turned into columns, numbers into the narrowest arrays, positions into distances.

Written row by row they took more room than the text they describe.
"""

import marshal
import zlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from itertools import accumulate
from operator import add, sub
from typing import Any, Final

from codeplane.core.errors import CodePlaneError
from codeplane.index.facts.outline import Outline
from codeplane.languages.facts import Definition

_LEVEL: Final = 4
_START: Final = Definition._fields.index("start")
_END: Final = Definition._fields.index("end")
_NAME_START: Final = Definition._fields.index("name_start")
_TEXTS: Final = frozenset({"name", "lexical_path", "signature", "documentation", "owner"})
_TUPLES: Final = frozenset({"decorators", "bases"})
_NAME: Final = Definition._fields.index("name")
_PATH: Final = Definition._fields.index("lexical_path")
# What a column is full of that is kept by its length only: nothing, in the type of the field.
_DEFAULTS: Final = tuple(
    0 if name not in _TEXTS and name not in _TUPLES else "" if name in _TEXTS else () for name in Definition._fields
)
# What stands before a path that does not end with the name.
_WHOLE: Final = "\0"
_BY_COLUMN: Final = ("definition_rows", "lines", "siblings", "expressions", "expression_uses")
_AS_IT_IS: Final = tuple(field.name for field in fields(Outline) if field.name not in _BY_COLUMN)
_UNSIGNED: Final = (("B", 0xFF), ("H", 0xFFFF), ("I", 0xFFFFFFFF))
_SIGNED: Final = (("b", 0x7F), ("h", 0x7FFF), ("i", 0x7FFFFFFF))

# A column: the code and bytes of an array, or the values as they are.
_Column = tuple[str, bytes] | list[Any]


def encode_outline(outline: Outline) -> bytes:
    """Return an outline as bytes; zlib's checksum guards what `marshal` is given to read."""
    definitions = list(zip(*outline.definition_rows, strict=True))
    if definitions:
        starts = definitions[_START]
        definitions[_END] = tuple(map(sub, definitions[_END], starts))
        definitions[_NAME_START] = tuple(map(sub, definitions[_NAME_START], starts))
        definitions[_START] = _distances(starts)
        definitions[_PATH] = tuple(map(_without_name, definitions[_PATH], definitions[_NAME]))
    lines = list(zip(*outline.lines, strict=True))
    if lines:
        first, name_line, column, last = lines
        lines = [_distances(first), tuple(map(sub, name_line, first)), column, tuple(map(sub, last, first))]
    value = (
        [_column(one) if any(one) else len(one) for one in definitions],
        [_column(one) for one in lines],
        _column(outline.siblings),
        [_column(one) for one in zip(*outline.expressions, strict=True)],
        _column(outline.expression_uses),
        tuple(getattr(outline, name) for name in _AS_IT_IS),
    )
    return zlib.compress(marshal.dumps(value), _LEVEL)


def decode_outline(blob: bytes) -> Outline:
    """Return an outline from its bytes.

    Raises:
        CodePlaneError: INDEX_CORRUPT when they are no outline.
    """
    with reading_own_bytes():
        return _decoded(marshal.loads(zlib.decompress(blob)))  # noqa: S302 - our own bytes, checked by zlib


@contextmanager
def reading_own_bytes() -> Iterator[None]:
    """Tell bytes that are not what they should be as a damaged index, which is then built again."""
    try:
        yield
    except (zlib.error, ValueError, EOFError, TypeError, IndexError) as error:
        raise CodePlaneError("INDEX_CORRUPT", f"Stored facts cannot be read: {error}") from error


def _decoded(stored: Any) -> Outline:
    definitions = [
        [_DEFAULTS[number]] * one if isinstance(one, int) else _values(one) for number, one in enumerate(stored[0])
    ]
    if definitions:
        starts = definitions[_START] = list(accumulate(definitions[_START]))
        definitions[_END] = list(map(add, definitions[_END], starts))
        definitions[_NAME_START] = list(map(add, definitions[_NAME_START], starts))
        definitions[_PATH] = list(map(_with_name, definitions[_PATH], definitions[_NAME]))
    lines = [_values(one) for one in stored[1]]
    if lines:
        first = list(accumulate(lines[0]))
        lines = [first, list(map(add, lines[1], first)), lines[2], list(map(add, lines[3], first))]
    by_column = (
        list(zip(*definitions, strict=True)),
        list(zip(*lines, strict=True)),
        list(_values(stored[2])),
        list(zip(*[_values(one) for one in stored[3]], strict=True)),
        list(_values(stored[4])),
    )
    values: dict[str, Any] = dict(zip(_BY_COLUMN + _AS_IT_IS, (*by_column, *stored[5]), strict=True))
    return Outline(**values)


def _distances(values: Sequence[int]) -> tuple[int, ...]:
    """Return the first value and how far each is from the one before."""
    return values[0], *map(sub, values[1:], values)


def _without_name(path: str, name: str) -> str:
    return path[: len(path) - len(name)] if path.endswith(name) else _WHOLE + path


def _with_name(stored: str, name: str) -> str:
    return stored[1:] if stored.startswith(_WHOLE) else stored + name


def _column(values: Sequence[Any]) -> _Column:
    # By their own type: a flag is a number too, and must come back as a flag.
    if set(map(type, values)) != {int}:
        return list(values)
    low, high = min(values), max(values)
    for code, top in _SIGNED if low < 0 else _UNSIGNED:
        if high <= top and low >= -top:
            return code, array(code, values).tobytes()
    return list(values)


def _values(column: _Column) -> Sequence[Any]:
    return array(column[0], column[1]) if isinstance(column, tuple) else column
