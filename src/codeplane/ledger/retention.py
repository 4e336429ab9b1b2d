"""Retire old rows: a sealed checkpoint takes their place, and what must be kept stays."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from codeplane.core.clock import Clock, iso_from_ms
from codeplane.core.errors import CodePlaneError
from codeplane.ledger.budget_account import RESET_KIND, is_persons
from codeplane.ledger.chain import SYSTEM_SESSION, EventChain, LedgerRow, NewEvent, row_of_record
from codeplane.ledger.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from codeplane.ledger.row_hash import GENESIS
from codeplane.ledger.seals import ALARM_KIND, SealKey
from codeplane.ledger.tasks import RetentionSettings
from codeplane.ledger.verification import first_problem

RETIRED_KIND = "rows_retired"
_BUDGET_KINDS = frozenset({"begun", RESET_KIND, "task_closed"})
_DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Retirement:
    """What one round did: rows up to `retired_to` are gone, except those that had to be kept."""

    retired_to: int
    rows: int
    kept: int


def retire_rows(
    chain: EventChain, rule: RetentionSettings, clock: Clock, must_keep: Callable[[LedgerRow], bool]
) -> Retirement | None:
    """Retire one batch of rows that are older than the rule; None when there is none, or when no key can seal it.

    Always kept: alarms, the beginnings of calls and tasks that are not over, and of each working tree the row with the
    newest index epoch and the rows that its budget rests on. `must_keep` names the others, such as approvals, and is
    asked again in every round.

    Raises:
        CodePlaneError: CHAIN_BROKEN when a row that would go does not hold; nothing is retired then.
    """
    before_ms = clock.now_ms() - rule.days * _DAY_MS
    if chain.sealer is None or _last_old_row(chain, rule, before_ms) == 0:
        return None
    this = _Round(chain.sealer.anchor.repo_id, rule, before_ms, clock.now_ms(), must_keep)
    done: list[Retirement] = []

    def change(connection: sqlite3.Connection, key: SealKey | None) -> NewEvent | None:
        retirement = _retire(connection, key, this)
        if retirement is None:
            return None
        done.append(retirement)
        body = {"retired_to": retirement.retired_to, "rows": retirement.rows, "kept": retirement.kept}
        return NewEvent(RETIRED_KIND, SYSTEM_SESSION, {**body, "before": iso_from_ms(before_ms)})

    chain.append_after(change)
    return done[0] if done else None


@dataclass(frozen=True, slots=True)
class _Round:
    repo_id: str
    rule: RetentionSettings
    before_ms: int
    now_ms: int
    must_keep: Callable[[LedgerRow], bool]


def _last_old_row(chain: EventChain, rule: RetentionSettings, before_ms: int) -> int:
    with chain.database.read() as connection:
        return _limit(connection, rule, before_ms, _retired_to(connection))


def _retired_to(connection: sqlite3.Connection) -> int:
    stored = read_checkpoint(connection)
    return stored.checkpoint.retired_to if stored is not None and stored.checkpoint is not None else 0


def _limit(connection: sqlite3.Connection, rule: RetentionSettings, before_ms: int, retired_to: int) -> int:
    """Return the last row of the beginning that may go: all of it old, none of it of the newest tasks; 0 for none."""
    # A clock that ran backwards leaves old times behind young ones: the first young row is where it ends.
    query = "SELECT MIN(seq) FROM events WHERE ts_ms >= ? AND seq > ?"
    young = connection.execute(query, (before_ms, retired_to)).fetchone()[0]
    # The newest row always stays: the next one follows it.
    last = connection.execute("SELECT COALESCE(MAX(seq), 0) FROM events").fetchone()[0]
    query = (
        "SELECT MIN(first) FROM (SELECT MIN(seq) AS first FROM events WHERE task_id IS NOT NULL AND seq > ?"
        " GROUP BY task_id ORDER BY first DESC LIMIT ?)"
    )
    tasked = connection.execute(query, (retired_to, rule.tasks)).fetchone()[0] if rule.tasks else None
    limit = min(int(seq) - 1 for seq in (young, tasked, last) if seq is not None)
    limit = min(limit, retired_to + rule.batch)
    return limit if limit > retired_to else 0


def _retire(connection: sqlite3.Connection, key: SealKey | None, this: _Round) -> Retirement | None:
    stored = read_checkpoint(connection)
    before = stored.checkpoint if stored is not None else None
    limit = _limit(connection, this.rule, this.before_ms, before.retired_to if before is not None else 0)
    if key is None or limit == 0:
        return None
    problem = first_problem(connection, key, this.repo_id, limit)
    if problem is not None:
        raise CodePlaneError("CHAIN_BROKEN", f"Nothing was retired: {problem}.")
    rows = [row_of_record(record) for record in _records(connection, limit)]
    kept = _kept(connection, rows, this.must_keep)
    going = [row for row in rows if row.seq not in kept]
    checkpoint = Checkpoint(
        repo_id=this.repo_id,
        retired_to=limit,
        hash=rows[-1].hash,
        rows=len(going) + (before.rows if before is not None else 0),
        digest=_digest(before.digest if before is not None else GENESIS, going),
        ts_ms=this.now_ms,
        kept=tuple((row.seq, row.hash) for row in rows if row.seq in kept),
        is_inherited=before is not None and before.is_inherited,
    )
    connection.executemany("DELETE FROM events WHERE seq = ?", [(row.seq,) for row in going])
    write_checkpoint(connection, checkpoint, key)
    return Retirement(limit, len(going), len(checkpoint.kept))


def _records(connection: sqlite3.Connection, limit: int) -> list[sqlite3.Row]:
    return connection.execute("SELECT * FROM events WHERE seq <= ? ORDER BY seq", (limit,)).fetchall()


def _kept(
    connection: sqlite3.Connection, rows: Iterable[LedgerRow], must_keep: Callable[[LedgerRow], bool]
) -> set[int]:
    """Return the numbers of the rows that stay."""
    query = (
        "SELECT begun_seq FROM open_calls UNION "
        "SELECT seq FROM events WHERE kind = 'task_opened' AND task_id NOT IN"
        " (SELECT task_id FROM events WHERE kind = 'task_closed' AND task_id IS NOT NULL)"
    )
    kept = {int(record[0]) for record in connection.execute(query)}
    newest_epoch: dict[str, tuple[int, int]] = {}
    # The newest account of each working tree, and what has changed it since.
    query = "SELECT worktree, MAX(seq) FROM events WHERE kind IN ('begun', 'budget_reset') GROUP BY worktree"
    accounts = {str(worktree): int(seq) for worktree, seq in connection.execute(query)}
    for row in rows:
        if row.kind == ALARM_KIND or must_keep(row):
            kept.add(row.seq)
        if row.seq >= accounts.get(row.worktree, 0) and (row.kind in _BUDGET_KINDS or is_persons(row)):
            kept.add(row.seq)
        epoch = row.body.get("index_epoch")
        if isinstance(epoch, int):
            newest_epoch[row.worktree] = max(newest_epoch.get(row.worktree, (-1, 0)), (epoch, row.seq))
    return kept | {seq for _, seq in newest_epoch.values()}


def _digest(before: str, rows: Iterable[LedgerRow]) -> str:
    """Return the SHA-256 over the digest before and a line `number hash` for each row that goes."""
    digest = hashlib.sha256(f"{before}\n".encode())
    for row in rows:
        digest.update(f"{row.seq} {row.hash}\n".encode())
    return digest.hexdigest()
