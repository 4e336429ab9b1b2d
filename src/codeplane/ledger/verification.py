"""Check the whole chain: every row, its seal, the checkpoint, and the end against what was sealed outside."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from codeplane.core.clock import iso_from_ms
from codeplane.ledger.checkpoint import Checkpoint, StoredCheckpoint, read_checkpoint
from codeplane.ledger.row_hash import GENESIS, HASHED_COLUMNS, row_hash
from codeplane.ledger.seals import (
    ALARM_KIND,
    ANCHORED_KIND,
    FOREIGN_KIND,
    Anchor,
    AnchorState,
    ChainEnd,
    Judgement,
    RowSealer,
    SealKey,
    is_foreign_seal,
    row_sealer,
)
from codeplane.store.sqlite import Database

# Made of constants.
ROWS_QUERY = f"SELECT {', '.join(HASHED_COLUMNS)}, hash, seal FROM events ORDER BY seq"  # noqa: S608
_SEQ = HASHED_COLUMNS.index("seq")
_PREV = HASHED_COLUMNS.index("prev_hash")
_KIND = HASHED_COLUMNS.index("kind")
_BODY = HASHED_COLUMNS.index("body")
_SESSION = HASHED_COLUMNS.index("session")
_SESSION_SEQ = HASHED_COLUMNS.index("session_seq")
_N_HASHED = len(HASHED_COLUMNS)
_ATTEMPTS = 3
_TELLING = frozenset({ALARM_KIND, ANCHORED_KIND})


@dataclass(frozen=True, slots=True)
class Verification:
    """What verifying the chain found; `first_bad_seq` is None when every row holds.

    `first_bad_seq` may be the number after the last row: then rows that had been sealed are missing there.
    `rows` counts the rows that hold; `notes` say in sentences what is and what is not proven. `is_evidence_missing`
    says that nothing worse was found than a ledger that was removed. `contradictions` name tables that say something
    else than the rows.
    """

    rows: int
    head: str
    first_bad_seq: int | None
    problem: str = ""
    anchor: AnchorState | None = None
    sealed_from: int | None = None
    sealed_to: int | None = None
    retired: Checkpoint | None = None
    notes: tuple[str, ...] = ()
    is_evidence_missing: bool = False
    contradictions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Witness:
    """A head that was kept elsewhere, such as in a git note; `problem` when it was found to be forged."""

    seq: int
    hash: str
    where: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Finding:
    seq: int
    problem: str


def verify_chain(database: Database, anchor: Anchor | None, witnesses: Sequence[Witness] = ()) -> Verification:
    """Recompute every hash and seal and name the first row that does not hold.

    Raises:
        CodePlaneError: the file cannot be read.
    """
    found = _verify_once(database, anchor, witnesses)
    # A first row that is being written between two looks makes an anchor seem to be missing.
    for _ in range(_ATTEMPTS):
        if anchor is None or found.anchor is AnchorState.SEALED:
            break
        found, before = _verify_once(database, anchor, witnesses), found
        if found == before:
            break
    return found


def _verify_once(database: Database, anchor: Anchor | None, witnesses: Sequence[Witness]) -> Verification:
    # Before the rows: a head is written after its rows were committed, so it is never newer than what is read next.
    files = anchor.read() if anchor is not None else None
    with database.read() as connection, snapshot(connection):
        end = chain_end(connection)
        stored = read_checkpoint(connection)
        judgement = anchor.judge(files, end) if anchor is not None and files is not None else None
        check = _Check(judgement, anchor.repo_id if anchor is not None else "", stored)
        check.checkpoint()
        check.rows(connection)
        check.end(end)
        for witness in witnesses:
            check.witness(witness, end)
    return check.result()


def first_problem(connection: sqlite3.Connection, key: SealKey, repo_id: str, limit: int) -> str | None:
    """Tell what is wrong with the rows up to `limit` or with the record of older ones, None when all of it verifies.

    Rows without the key's seal pass if their hashes hold, because they may be older than the key. What a writer has
    noticed already and put on record does not count again.
    """
    check = _Check(Judgement(AnchorState.SEALED, key), repo_id, read_checkpoint(connection), heeds_alarms=False)
    check.checkpoint()
    check.rows(connection, limit)
    found = check.result()
    return f"row {found.first_bad_seq}: {found.problem}" if found.first_bad_seq is not None else None


class _Check:
    """One pass over the chain; collects what is wrong and what is worth saying."""

    def __init__(
        self,
        judgement: Judgement | None,
        repo_id: str,
        stored: StoredCheckpoint | None,
        *,
        heeds_alarms: bool = True,
    ) -> None:
        self._judgement = judgement
        self._heeds_alarms = heeds_alarms
        self._repo_id = repo_id
        self._stored = stored
        self._checkpoint = stored.checkpoint if stored is not None else None
        self._findings: list[_Finding] = []
        self._notes: list[str] = []
        self._count = 0
        self._last_seq = 0
        self._head = GENESIS
        self._is_evidence_missing = False
        self._foreign: list[int] = []
        self._named: set[int] = set()

    @property
    def _key(self) -> SealKey | None:
        return self._judgement.key if self._judgement is not None else None

    def checkpoint(self) -> None:
        stored = self._stored
        if stored is None:
            return
        key = self._key
        is_forged = key is not None and self._is_keyed() and not stored.is_signed_by(key, self._repo_id)
        if stored.checkpoint is None or is_forged:
            self._findings.append(_Finding(1, "the record of retired rows was not made with the key"))
            if stored.checkpoint is None:
                return
        checkpoint = stored.checkpoint
        self._head, self._last_seq = checkpoint.hash, checkpoint.retired_to
        signature = "signed" if key is not None and self._is_keyed() else "its signature cannot be checked without key"
        if checkpoint.is_inherited:
            signature = "signed again after the key was lost, so only as true as it was found then"
        text = f"Rows 1 to {checkpoint.retired_to} were retired at {iso_from_ms(checkpoint.ts_ms)}, {signature}"
        self._notes.append(f"{text}; {len(checkpoint.kept)} of them are kept.")

    def _is_keyed(self) -> bool:
        """Tell whether the key is the one that sealed: a key without any head has sealed nothing yet."""
        judgement = self._judgement
        return judgement is not None and judgement.state not in {AnchorState.MISSING, AnchorState.NEW}

    def rows(self, connection: sqlite3.Connection, limit: int | None = None) -> None:
        try:
            self._walk(records(connection, limit))
        except sqlite3.OperationalError as error:
            if "decode" not in str(error).lower():
                raise
            self._count, self._head = 0, self._checkpoint.hash if self._checkpoint is not None else GENESIS
            self._last_seq = self._checkpoint.retired_to if self._checkpoint is not None else 0
            with _any_text(connection):
                self._walk(records(connection, limit))

    def _walk(self, records: Iterator[tuple[Any, ...]]) -> None:
        is_sealed = self._seal_check()
        retired_to = self._last_seq
        missing = dict(self._checkpoint.kept) if self._checkpoint is not None else {}
        numbers: dict[Any, int] = {}
        for record in records:
            seq, stored_hash = record[_SEQ], record[_N_HASHED]
            is_kept = seq <= retired_to
            problem = self._kept_problem(record, missing) if is_kept else self._link_problem(record)
            problem = problem or content_problem(record) or is_sealed(record)
            if not problem and not is_kept:
                problem = _session_problem(record, numbers, is_cut=retired_to > 0)
            if problem:
                self._findings.append(_Finding(seq, problem))
                return
            if self._is_foreign(record):
                self._foreign.append(seq)
            elif record[_KIND] == FOREIGN_KIND:
                self._named |= set(json.loads(record[_BODY])["rows"])
            elif record[_KIND] in _TELLING and self._heeds_alarms:
                self._heed(record)
            self._count += 1
            if not is_kept:
                self._last_seq, self._head = seq, stored_hash
        if missing:
            self._findings.append(_Finding(min(missing), "it was kept when its neighbours were retired, and is gone"))

    def _is_foreign(self, record: tuple[Any, ...]) -> bool:
        key, seal = self._key, record[_N_HASHED + 1]
        if key is None or self._judgement is None or not self._is_keyed():
            return False
        sealed_from = _sealed_from(self._judgement)
        is_required = sealed_from is not None and record[_SEQ] >= sealed_from
        return is_required and is_foreign_seal(seal, f"{key.key_id}:")

    def _kept_problem(self, record: tuple[Any, ...], missing: dict[int, str]) -> str:
        if missing.pop(record[_SEQ], None) != record[_N_HASHED]:
            return "it is not one of the rows that were kept"
        return ""

    def _link_problem(self, record: tuple[Any, ...]) -> str:
        if record[_SEQ] != self._last_seq + 1:
            return f"row {self._last_seq + 1} is missing"
        return "" if record[_PREV] == self._head else "it does not follow the row before"

    def _seal_check(self) -> Callable[[tuple[Any, ...]], str]:
        if self._key is None or self._judgement is None or not self._is_keyed():
            return lambda _record: ""
        return _sealed_by(row_sealer(self._key, self._repo_id), _sealed_from(self._judgement))

    def _heed(self, record: tuple[Any, ...]) -> None:
        """Take over what a writer noticed before it went on; its row is sealed like all others."""
        try:
            body = json.loads(record[_BODY])
            if record[_KIND] == ANCHORED_KIND:
                self._notes.append(f"Row {record[_SEQ]}: {body['note']}")
                self._lose(str(body.get("lost", "")))
                return
            first_bad, problem = int(body["first_bad_seq"]), str(body["problem"])
        except (ValueError, TypeError, KeyError, RecursionError):
            first_bad, problem = int(record[_SEQ]), "a writer noticed tampering"
        self._findings.append(_Finding(first_bad, f"{problem} (noticed when row {record[_SEQ]} was written)"))

    def _lose(self, lost: str) -> None:
        if lost:
            self._is_evidence_missing = True
            self._findings.append(_Finding(1, lost))

    def end(self, end: ChainEnd) -> None:
        judgement = self._judgement
        if judgement is None:
            self._notes.append("The ledger was read without its anchor: rows cut off at the end would not be seen.")
            return
        if judgement.state is AnchorState.BROKEN:
            self._findings.append(_Finding(judgement.first_bad_seq, judgement.problem))
        if judgement.state in {AnchorState.MISSING, AnchorState.UNUSABLE}:
            reason = f": {judgement.problem}" if judgement.problem else ""
            self._notes.append(
                f"The anchor in the user state directory is missing{reason}. Proven: each row follows from the one "
                "before it. Not proven: that no rows were cut off at the end, that this is not an older copy, and "
                "that the whole chain was not hashed again."
            )
        if judgement.note:
            self._notes.append(judgement.note)
        self._lose(judgement.lost)
        self._judge_foreign(judgement)
        head = judgement.head
        if judgement.state is AnchorState.SEALED and judgement.sealed_from > 1 and end.seq:
            self._notes.append(
                f"Rows before {judgement.sealed_from} are older than the anchor: they are proven by their hashes only."
            )
        if head is None or self._findings:
            return
        if head.seq == end.seq and head.rows != end.count():
            self._findings.append(_Finding(end.seq, f"{head.rows} rows were sealed, {end.count()} are there"))
        if head.seq < end.seq:
            self._notes.append(
                f"Rows {head.seq + 1} to {end.seq} carry seals but were not noted outside yet: cutting exactly them "
                "off would not be seen before the next row is appended."
            )

    def _judge_foreign(self, judgement: Judgement) -> None:
        if not self._foreign:
            return
        sealed_to = judgement.head.seq if judgement.head is not None else 0
        unknown = [seq for seq in self._foreign if seq <= sealed_to and seq not in self._named]
        if unknown:
            self._findings.append(_Finding(min(unknown), "its seal is not the key's"))
        which = ", ".join(map(str, self._foreign[:5])) + (" …" if len(self._foreign) > 5 else "")
        self._notes.append(
            f"{len(self._foreign)} rows carry the seal of another key ({which}). Foreign rows prove nothing and grant "
            "nothing."
        )

    def witness(self, witness: Witness, end: ChainEnd) -> None:
        if witness.problem:
            self._findings.append(_Finding(end.seq + 1, f"{witness.where}: {witness.problem}"))
        elif witness.seq > end.seq:
            problem = f"{witness.where} names row {witness.seq}, which is missing"
            self._findings.append(_Finding(end.seq + 1, problem))
        elif not end.holds(witness.seq, witness.hash):
            self._findings.append(_Finding(witness.seq, f"it is not the row that {witness.where} names"))

    def result(self) -> Verification:
        judgement = self._judgement
        found = Verification(self._count, self._head, None, retired=self._checkpoint, notes=tuple(self._notes))
        if judgement is not None:
            head = judgement.head
            found = replace(found, anchor=judgement.state, sealed_from=judgement.sealed_from or None)
            found = replace(found, sealed_to=head.seq if head is not None else None)
        if self._findings:
            first = min(self._findings, key=lambda finding: finding.seq)
            is_missing = self._is_evidence_missing and len(self._findings) == 1
            found = replace(found, first_bad_seq=first.seq, problem=first.problem, is_evidence_missing=is_missing)
        return found


def _sealed_from(judgement: Judgement) -> int | None:
    """Return from which row on seals are required; None when no head can be trusted about that."""
    if judgement.head is not None:
        return judgement.head.sealed_from
    return judgement.sealed_from or None


def _sealed_by(sealer: RowSealer, sealed_from: int | None) -> Callable[[tuple[Any, ...]], str]:
    seal, prefix = sealer.seal, sealer.prefix

    def problem(record: tuple[Any, ...]) -> str:
        seq, stored_hash, stored = record[_SEQ], record[_N_HASHED], record[_N_HASHED + 1]
        if stored == seal(seq, stored_hash):
            return ""
        is_required = sealed_from is not None and seq >= sealed_from
        if is_foreign_seal(stored, prefix):
            return ""
        if is_required and stored is None:
            return "it was appended without the key"
        if is_required or (isinstance(stored, str) and stored.startswith(prefix)):
            return "its seal is not the key's"
        return ""

    return problem


def content_problem(record: tuple[Any, ...]) -> str:
    """Tell whether a record's columns do not give its hash; empty when they do."""
    try:
        computed = row_hash(record[:_N_HASHED])
    except (TypeError, ValueError):
        return "its content cannot be read"
    return "" if computed == record[_N_HASHED] else "its content does not match its hash"


def _session_problem(record: tuple[Any, ...], numbers: dict[Any, int], *, is_cut: bool) -> str:
    session, number = record[_SESSION], record[_SESSION_SEQ]
    before = numbers.get(session)
    # Where older rows were retired, a session's first row may have any number.
    is_next = number == before + 1 if before is not None else number == 1 or is_cut
    numbers[session] = number
    return "" if is_next else "its place in the session is wrong"


def chain_end(connection: sqlite3.Connection) -> ChainEnd:
    """Return the end of the chain in the connection's transaction."""
    # As bytes: a text that is not UTF-8 must not keep the ledger from being judged.
    query = "SELECT seq, CAST(hash AS BLOB), CAST(seal AS BLOB) FROM events ORDER BY seq DESC LIMIT 1"
    last = connection.execute(query).fetchone()
    if last is not None:
        seq, end_hash, seal = int(last[0]), _text(last[1]), _text(last[2]) or None
    else:
        stored = read_checkpoint(connection)
        checkpoint = stored.checkpoint if stored is not None else None
        seq, end_hash = (checkpoint.retired_to, checkpoint.hash) if checkpoint is not None else (0, GENESIS)
        seal = None

    def holds(wanted: int, wanted_hash: str) -> bool:
        return _holds(connection, wanted, wanted_hash)

    def count() -> int:
        return int(connection.execute("SELECT COUNT(*) FROM events").fetchone()[0])

    def seals_after(wanted: int) -> list[tuple[int, str | None]]:
        query = "SELECT seq, CAST(seal AS BLOB) FROM events WHERE seq > ? ORDER BY seq"
        return [(int(found[0]), _text(found[1]) or None) for found in connection.execute(query, (wanted,))]

    return ChainEnd(seq, end_hash, seal, holds, count, seals_after)


def _holds(connection: sqlite3.Connection, seq: int, wanted_hash: str) -> bool:
    if seq == 0:
        return wanted_hash == GENESIS
    record = connection.execute("SELECT CAST(hash AS BLOB) FROM events WHERE seq = ?", (seq,)).fetchone()
    if record is not None:
        return _text(record[0]) == wanted_hash
    stored = read_checkpoint(connection)
    checkpoint = stored.checkpoint if stored is not None else None
    if checkpoint is None or seq > checkpoint.retired_to:
        return False
    return seq < checkpoint.retired_to or checkpoint.hash == wanted_hash


def _text(data: bytes | None) -> str:
    return data.decode("utf-8", "replace") if data is not None else ""


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Let everything that is read in the block come from one moment."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def records(connection: sqlite3.Connection, limit: int | None = None) -> Iterator[tuple[Any, ...]]:
    """Yield the values of `HASHED_COLUMNS`, the hash and the seal of each row up to `limit`, oldest first."""
    cursor = connection.cursor()
    # Plain tuples: a quarter faster over a long chain.
    cursor.row_factory = None
    for record in cursor.execute(ROWS_QUERY):
        if limit is not None and record[_SEQ] > limit:
            return
        yield record


@contextmanager
def _any_text(connection: sqlite3.Connection) -> Iterator[None]:
    """Read texts that are not UTF-8, so that the row that holds them can be named."""
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        connection.text_factory = str
