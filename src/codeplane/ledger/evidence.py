"""Rows that may grant power: only those that the owner of the ledger sealed, in a chain without gaps since then.

Tables beside the chain are indexes. A decision that lets something through reads its rows here. Rows of other keys may
take power away, but they never give any.
"""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from codeplane.core.errors import CodePlaneError
from codeplane.ledger.chain import EventChain, LedgerRow
from codeplane.ledger.checkpoint import Checkpoint, read_checkpoint
from codeplane.ledger.row_hash import GENESIS, HASHED_COLUMNS
from codeplane.ledger.seals import ALARM_KIND, AnchorState, Judgement, RowSealer, is_foreign_seal, row_sealer
from codeplane.ledger.verification import chain_end, content_problem

# Made of constants.
_SELECT = f"SELECT {', '.join(HASHED_COLUMNS)}, hash, seal FROM events"  # noqa: S608
_N_HASHED = len(HASHED_COLUMNS)


@dataclass(frozen=True, slots=True)
class ProvenRow:
    """A row and whether the owner's key sealed exactly this content at this place."""

    row: LedgerRow
    is_ours: bool


class Evidence:
    """The ledger as one connection sees it, and the key that tells which rows count."""

    def __init__(self, chain: EventChain, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._judgement = _judged(chain, connection)
        key = self._judgement.key if self._judgement is not None else None
        repo_id = chain.sealer.anchor.repo_id if chain.sealer is not None else ""
        self._sealer: RowSealer | None = row_sealer(key, repo_id) if key is not None else None

    @property
    def has_key(self) -> bool:
        """Tell whether rows can be proven at all."""
        return self._sealer is not None

    def rows(self, condition: str, values: tuple[Any, ...]) -> Iterator[ProvenRow]:
        """Yield the rows that a condition selects; the caller writes the order into it."""
        for record in self._records(f"{_SELECT} WHERE {condition}", values):
            yield self._proven(record)

    def rows_since(self, row: LedgerRow | None) -> Iterator[ProvenRow]:
        """Yield every row after one that counts, or all rows, and check that none was removed, changed or put in.

        Raises:
            CodePlaneError: CHAIN_BROKEN.
        """
        start = row.seq if row is not None else 0
        last, head = start, row.hash if row is not None else GENESIS
        checkpoint = self._checkpoint()
        kept = dict(checkpoint.kept) if checkpoint is not None else {}
        if checkpoint is not None and checkpoint.retired_to > start:
            last, head = checkpoint.retired_to, checkpoint.hash
        for record in self._records(f"{_SELECT} WHERE seq > ? ORDER BY seq", (start,)):
            found = self._proven(record)
            seq, problem = found.row.seq, content_problem(record)
            is_kept = checkpoint is not None and seq <= checkpoint.retired_to
            is_linked = kept.get(seq) == found.row.hash if is_kept else (seq, found.row.prev_hash) == (last + 1, head)
            if problem or not is_linked or not self._may_follow(found) or found.row.kind == ALARM_KIND:
                raise _broken(f"row {seq} cannot be trusted")
            if not is_kept:
                last, head = seq, found.row.hash
            yield found
        if self._judgement is not None and self._judgement.state is AnchorState.BROKEN:
            raise _broken(self._judgement.problem)

    def check_since(self, row: LedgerRow) -> None:
        """Check that nothing was removed, changed or put in after a row; raises CHAIN_BROKEN."""
        for _ in self.rows_since(row):
            pass

    def _may_follow(self, found: ProvenRow) -> bool:
        """Tell whether a row may be in the chain: ours, older than the seals, or foreign, which grants nothing."""
        if found.is_ours or self._sealer is None or self._judgement is None:
            return True
        head = self._judgement.head
        sealed_from = head.sealed_from if head is not None else self._judgement.sealed_from
        is_older = found.row.seal is None and found.row.seq < sealed_from
        return is_older or is_foreign_seal(found.row.seal, self._sealer.prefix)

    def _checkpoint(self) -> Checkpoint | None:
        stored = read_checkpoint(self._connection)
        if stored is None:
            return None
        is_signed = self._sealer is None or stored.is_signed_by(self._sealer.key, self._sealer.repo_id)
        if stored.checkpoint is None or not is_signed:
            raise _broken("the record of retired rows was not made with the key")
        return stored.checkpoint

    def _proven(self, record: tuple[Any, ...]) -> ProvenRow:
        row = _row(record)
        is_sealed = self._sealer is not None and row.seal == self._sealer.seal(row.seq, row.hash)
        return ProvenRow(row, is_sealed and not content_problem(record))

    def _records(self, query: str, values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        cursor = self._connection.cursor()
        cursor.row_factory = None
        try:
            yield from cursor.execute(query, values)
        except sqlite3.OperationalError as error:
            if "decode" not in str(error).lower():
                raise
            raise _broken("a row is not text") from error


def _judged(chain: EventChain, connection: sqlite3.Connection) -> Judgement | None:
    """Return what the anchor says of the chain; None when this user does not own the ledger, so that no key counts."""
    if chain.sealer is None or not chain.sealer.anchor.is_owned():
        return None
    anchor = chain.sealer.anchor
    # Before the rows: the head outside is never newer than what is read next.
    files = anchor.read()
    return anchor.judge(files, chain_end(connection))


def _row(record: tuple[Any, ...]) -> LedgerRow:
    named = dict(zip(HASHED_COLUMNS, record, strict=False))
    try:
        body = json.loads(named["body"])
    except (ValueError, TypeError, RecursionError):
        body = {}
    named["body"] = body if isinstance(body, dict) else {}
    return LedgerRow(**named, hash=record[_N_HASHED], seal=record[_N_HASHED + 1])


def _broken(problem: str) -> CodePlaneError:
    return CodePlaneError(
        "CHAIN_BROKEN",
        f"The ledger does not prove this: {problem}.",
        hint="Ask a person to run `cpl ledger verify`, then to approve again or to run `cpl task reset`.",
    )
