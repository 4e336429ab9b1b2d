"""Every reference, bind and scope of a file, one array per field."""

import sqlite3
import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import sub
from typing import Final

from codeplane.index.facts.outline_storage import reading_own_bytes
from codeplane.index.facts.packing import packed, unpacked

# What a reference is linked to, besides an expression.
LOCAL: Final = 0  # its bind says everything there is to say
OF_EXPRESSION: Final = 1  # a member of something that is no chain of names
OF_CALL: Final = 2  # the name of an argument or of a field in a literal
FIRST_EXPRESSION: Final = 3  # from here on: the number of an expression


@dataclass(slots=True)
class Columns:
    """The arrays of one file; NONE is stored as 0, everything else one higher, in the fields that allow NONE.

    References: `starts`, `name_numbers`, `reference_scopes`, `roles`, `links`, `bind_numbers` (0 for none).
    Binds: `bind_scopes`, `bind_names`, `bind_kinds`, `bind_targets` (0 for none), `bind_doubts`, `bind_reasons`.
    Scopes: `scope_kinds` (numbers of names), `scope_parents` (0 for none), `scope_starts`, `scope_ends`.
    """

    names: list[str]
    starts: Sequence[int]
    name_numbers: Sequence[int]
    reference_scopes: Sequence[int]
    roles: Sequence[int]
    links: Sequence[int]
    bind_numbers: Sequence[int]
    bind_scopes: Sequence[int]
    bind_names: Sequence[int]
    bind_kinds: Sequence[int]
    bind_targets: Sequence[int]
    bind_doubts: Sequence[int]
    bind_reasons: Sequence[int]
    scope_kinds: Sequence[int]
    scope_parents: Sequence[int]
    scope_starts: Sequence[int]
    scope_ends: Sequence[int]


_N_ARRAYS: Final = 16


def encode_columns(columns: Columns) -> bytes:
    """Return the arrays as bytes: names, then for each array its width and length, then their contents."""
    starts = columns.starts
    deltas = (starts[0], *map(sub, starts[1:], starts)) if starts else ()
    arrays = [
        _narrow(values)
        for values in (
            deltas,
            columns.name_numbers,
            columns.reference_scopes,
            columns.roles,
            columns.links,
            columns.bind_numbers,
            columns.bind_scopes,
            columns.bind_names,
            columns.bind_kinds,
            columns.bind_targets,
            columns.bind_doubts,
            columns.bind_reasons,
            columns.scope_kinds,
            columns.scope_parents,
            columns.scope_starts,
            columns.scope_ends,
        )
    ]
    names = "\n".join(columns.names).encode("utf-8", "surrogatepass")
    head = array("I", [len(names)])
    for width, data in arrays:
        head.extend((width, len(data) // width))
    return packed(b"".join([head.tobytes(), names, *[data for _, data in arrays]]))


def decode_columns(blob: bytes) -> Columns:
    """Return the arrays from their bytes.

    Raises:
        CodePlaneError: INDEX_CORRUPT when they are none.
    """
    with reading_own_bytes():
        return _decoded(unpacked(blob))


def _decoded(data: bytes) -> Columns:
    head = array("I", data[: 4 * (1 + 2 * _N_ARRAYS)])
    position = len(head) * 4
    names = data[position : position + head[0]].decode("utf-8", "surrogatepass").split("\n")
    position += head[0]
    arrays: list[Sequence[int]] = []
    for number in range(_N_ARRAYS):
        width, length = head[1 + 2 * number], head[2 + 2 * number]
        arrays.append(array(_CODES[width], data[position : position + width * length]))
        position += width * length
    return Columns(names, list(accumulate(arrays[0])), *arrays[1:])


def names_of(connection: sqlite3.Connection, facts_id: int | None) -> str:
    """Return the identifiers of some stored facts with blanks between, empty when there are no such facts."""
    row = connection.execute("SELECT columns FROM facts WHERE facts_id = ?", (facts_id,)).fetchone()
    return " ".join(decode_columns(row[0]).names) if row is not None else ""


_CODES: Final = {1: "B", 2: "H", 4: "I"}


def _narrow(values: Sequence[int]) -> tuple[int, bytes]:
    """Return the smallest array that holds the values, as its width and its bytes."""
    # Trying is faster than looking for the largest one first, and bytes are made three times as fast as arrays.
    try:
        return 1, bytes(values)
    except ValueError:
        return _wide(values)


def _wide(values: Sequence[int]) -> tuple[int, bytes]:
    try:
        return 2, struct.pack(f"{len(values)}H", *values)
    except struct.error:
        return 4, array("I", values).tobytes()
