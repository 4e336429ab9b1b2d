"""Every reference, bind and scope of a file, one array per field."""

import marshal
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from operator import sub
from typing import Final

from codeplane.index.facts.outline_storage import packed_numbers, reading_own_bytes, unpacked_values
from codeplane.index.facts.packing import packed, unpacked

# What a reference is linked to, besides an expression.
LOCAL: Final = 0  # its bind says everything there is to say
OF_EXPRESSION: Final = 1  # a member of something that is not a chain of names
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


# All fields but the names are numbers; positions are stored as distances.
_NUMBERS: Final = tuple(field.name for field in fields(Columns))[1:]


def encode_columns(columns: Columns) -> bytes:
    """Return the arrays as bytes."""
    starts = columns.starts
    distances = (starts[0], *map(sub, starts[1:], starts)) if starts else ()
    stored = [distances, *(getattr(columns, name) for name in _NUMBERS[1:])]
    return packed(marshal.dumps((columns.names, [(len(one), packed_numbers(one)) for one in stored])))


def decode_columns(blob: bytes) -> Columns:
    """Return the arrays from their bytes.

    Raises:
        CodePlaneError: INDEX_CORRUPT when they are none.
    """
    with reading_own_bytes():
        names, stored = marshal.loads(unpacked(blob))  # noqa: S302 - our own bytes, checked by their sum
        starts, *arrays = [unpacked_values(column, length) for length, column in stored]
        return Columns(names, list(accumulate(starts)), *arrays)


def names_of(connection: sqlite3.Connection, facts_id: int | None) -> str:
    """Return the identifiers of some stored facts with blanks between, empty when there are no such facts."""
    row = connection.execute("SELECT columns FROM facts WHERE facts_id = ?", (facts_id,)).fetchone()
    return " ".join(decode_columns(row[0]).names) if row is not None else ""
