"""Records in rows of the ledger."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from codeplane.ledger.chain import EventChain, LedgerRow

# The field of a row's body that holds records, and the kind of rows that hold nothing else.
FIELD: Final = "trace"
TRACED_KIND: Final = "traced"
_MARK: Final = '"trace":['


@dataclass(frozen=True, slots=True)
class TracedRow:
    """The records of one row."""

    seq: int
    worktree: str
    records: tuple[dict[str, Any], ...]


def keeps_trace(row: LedgerRow) -> bool:
    """Tell whether a row is the truth behind lines of the trace, or the head of a segment."""
    return FIELD in row.body or row.kind == "trace_head"


def traced_rows(chain: EventChain, after: int = 0, worktree: str | None = None) -> Iterator[TracedRow]:
    """Yield the rows with records that follow a row, oldest first."""
    query = "SELECT seq, worktree, json_extract(body, '$.trace') FROM events WHERE seq > ? AND instr(body, ?)"
    values: list[Any] = [after, _MARK]
    if worktree is not None:
        query += " AND worktree = ?"
        values.append(worktree)
    with chain.database.read() as connection:
        for seq, tree, text in connection.execute(f"{query} ORDER BY seq", values):
            found = json.loads(text) if text is not None else None
            if isinstance(found, list):
                yield TracedRow(int(seq), str(tree), tuple(one for one in found if isinstance(one, dict)))
