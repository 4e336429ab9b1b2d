"""Seals show that the chain was not written, cut or replaced without the key.

Every row carries a seal, the HMAC of its number and hash, written in the row's own transaction. The key and the newest
sealed head live in the user state directory: `ledgers/<repository id>/key` and, because a repository can be copied
together with its ledger, one `head-<digest of the ledger's path>` for each place.

What is proven, given the key:

- Every row from `sealed_from` on was written by a holder of the key, in this order: a changed, inserted, forged or
  re-hashed row is named.
- All rows up to the sealed head are there: a cut tail or an older copy of the file is seen.

The head outside is written after the commit and while the write lock is held. A process that dies in between leaves a
head that is older than the chain. That is not an alarm: its rows carry their seals. Until the next row is appended, and
only then, cutting off exactly those rows would not be seen. A head is synchronised to disk with a durable row, at most
once a second and not with grouped rows of reads; the operating system writes the others out in its own time. So after a
loss of power, and only then, the rows of the last moments before it could be cut unseen.

Rows that another key sealed are foreign: another operating-system user appended them with a key of its own. They are
accepted only after the newest sealed head, or when one of our rows (`foreign_rows`) names them. They grant nothing.

What is not proven: anything against a program that can write the user state directory, because it can read the key.
A head that was also anchored in a git note that others have fetched shows that, too.
"""

import errno
import hmac
import json
import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from codeplane.core.clock import Clock, iso_from_ms
from codeplane.core.errors import CodePlaneError
from codeplane.core.hashing import sha256_bytes, sha256_text
from codeplane.core.logs import fields, get_logger

_log = get_logger(__name__)

SECRET_BYTES = 32
# The record of a head fits into one sector, so that it is replaced wholly or not at all.
HEAD_BYTES = 512
HEAD_VERSION = 1
ALARM_KIND = "seal_broken"
ANCHORED_KIND = "ledger_anchored"
FOREIGN_KIND = "foreign_rows"
_MAX_PLACE = 8192
_KEY_ID_LENGTH = 16
_SYNCHRONISED_FOR_SECONDS = 1.0
_WORD = re.compile(r"[A-Za-z0-9_-]+")
_SEAL = re.compile(r"[0-9a-f]{16}:[0-9a-f]{64}")


class AnchorState(Enum):
    """What the user state directory says about a ledger."""

    SEALED = "sealed"
    NEW = "new"
    MISSING = "missing"
    BROKEN = "broken"
    UNUSABLE = "unusable"


@dataclass(frozen=True, slots=True)
class SealKey:
    """The secret of one repository's ledger, and a name for it that gives nothing away."""

    secret: bytes = field(repr=False)
    key_id: str

    def sign(self, label: str, text: str) -> str:
        """Return the HMAC of a text; the label keeps a seal of one kind from passing for another."""
        message = f"codeplane-ledger-{label}-1\n{text}".encode()
        return hmac.digest(self.secret, message, "sha256").hex()


def seal_key(secret: bytes) -> SealKey:
    """Return a key with its name, which is the beginning of its digest."""
    return SealKey(secret, sha256_bytes(b"codeplane-ledger-key\n" + secret)[:_KEY_ID_LENGTH])


@dataclass(frozen=True, slots=True)
class RowSealer:
    """Seals the rows of one repository."""

    key: SealKey
    repo_id: str
    prefix: str

    def seal(self, seq: int, row_hash: str) -> str:
        """Return the seal of a row: the key's id and the HMAC over repository id, number and hash."""
        return self.prefix + self.key.sign("row", f"{self.repo_id}\n{seq}\n{row_hash}")


def row_sealer(key: SealKey, repo_id: str) -> RowSealer:
    """Return what seals rows with a key."""
    return RowSealer(key, repo_id, f"{key.key_id}:")


@dataclass(frozen=True, slots=True)
class SealedHead:
    """The newest row that was sealed: number, hash, rows in the file, time, and from which row on there are seals."""

    repo_id: str
    place: str
    seq: int
    hash: str
    rows: int
    ts_ms: int
    sealed_from: int
    key_id: str
    version: int = HEAD_VERSION
    mac: str = ""

    def unsigned_text(self) -> str:
        """Return the text that the HMAC covers: the record's JSON, keys in order, without `mac`."""
        return f'{{"hash":"{self.hash}","key_id":"{self.key_id}",{self._rest()}'

    def _rest(self) -> str:
        # Spelled out, because a general way to write JSON takes ten times as long and every append comes here.
        return (
            f'"place":"{self.place}","repo_id":"{self.repo_id}","rows":{self.rows},"sealed_from":{self.sealed_from},'
            f'"seq":{self.seq},"ts_ms":{self.ts_ms},"version":{self.version}}}'
        )

    def signed(self, key: SealKey) -> "SealedHead":
        """Return the head with its HMAC."""
        named = self if self.key_id == key.key_id else replace(self, key_id=key.key_id)
        return replace(named, mac=key.sign("head", named.unsigned_text()))

    def is_signed_by(self, key: SealKey) -> bool:
        """Tell whether the HMAC is the key's."""
        return hmac.compare_digest(self.mac.encode(), key.sign("head", self.unsigned_text()).encode())

    def as_text(self) -> str:
        """Return the record as one line of JSON."""
        return f'{{"hash":"{self.hash}","key_id":"{self.key_id}","mac":"{self.mac}",{self._rest()}'

    def as_bytes(self) -> bytes:
        """Return the record as it is in the file, padded to its fixed size."""
        return self.as_text().encode().ljust(HEAD_BYTES - 1) + b"\n"


def parse_head(data: bytes | str) -> SealedHead | None:
    """Return the head in a record, None when it is not one."""
    try:
        document = json.loads(data)
        head = SealedHead(**document)
    except (ValueError, TypeError, RecursionError):
        return None
    texts = (head.repo_id, head.place, head.hash, head.key_id, head.mac)
    numbers = (head.seq, head.rows, head.ts_ms, head.sealed_from, head.version)
    is_typed = all(type(text) is str and _WORD.fullmatch(text) for text in texts)
    is_typed = is_typed and all(type(number) is int for number in numbers)
    return head if is_typed and head.version == HEAD_VERSION else None


@dataclass(frozen=True, slots=True)
class ChainEnd:
    """The end of the chain as the file has it.

    `holds(seq, hash)` tells whether that row has that hash, or was retired; `count()` counts the rows in the file;
    `seals_after(seq)` returns number and seal of the rows that follow.
    """

    seq: int
    hash: str
    seal: str | None
    holds: Callable[[int, str], bool]
    count: Callable[[], int]
    seals_after: Callable[[int], list[tuple[int, str | None]]]


@dataclass(frozen=True, slots=True)
class PlacedHead:
    """The head of one place, as read from its file."""

    file: Path
    place: Path
    head: SealedHead | None


@dataclass(frozen=True, slots=True)
class AnchorFiles:
    """What the user state directory held at one moment."""

    key: SealKey | None
    is_key_damaged: bool
    record: bytes | None
    elsewhere: tuple[PlacedHead, ...] = ()
    strangers: tuple[PlacedHead, ...] = ()
    error: OSError | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the anchor says about the end of the chain; `first_bad_seq` and `problem` for a broken one.

    `lost` tells of another ledger that was here and is gone.
    """

    state: AnchorState
    key: SealKey | None = None
    head: SealedHead | None = None
    sealed_from: int = 0
    problem: str = ""
    first_bad_seq: int = 0
    note: str = ""
    outlived: Path | None = None
    lost: str = ""


class Anchor:
    """The files of one ledger in the user state directory.

    Invariant: the key is written once and never changed; a head is only ever replaced by the head of a later row.
    """

    def __init__(
        self,
        directory: Path,
        repo_id: str,
        ledger: Path,
        home: str = "",
        new_secret: Callable[[], bytes] = lambda: secrets.token_bytes(SECRET_BYTES),
    ) -> None:
        self.repo_id = _file_name(repo_id)
        self._top = directory
        self._directory = directory / self.repo_id
        self._ledger = ledger.resolve()
        self._place = sha256_text(str(self._ledger))
        self._head_file = self._directory / f"head-{self._place[:16]}"
        self._key_file = self._directory / "key"
        # Which clone the ledger belongs to: another clone at the same place has no history to miss.
        self._home = home
        self._home_file = self._directory / f"home-{self._place[:16]}"
        # Beside the ledger: tells a ledger that was taken away from a directory that was cleared.
        self._mark = self._ledger.with_name("ledger.sealed")
        self._new_secret = new_secret

    def is_owned(self) -> bool:
        """Tell whether this process runs as the operating-system user who owns the ledger; only that key counts."""
        try:
            return self._ledger.stat().st_uid == os.geteuid()
        except OSError:
            return False

    def record(self) -> bytes | None:
        """Return the bytes of the sealed head, None when there is none or it cannot be read."""
        try:
            return _read_start(self._head_file, HEAD_BYTES)
        except OSError:
            return None

    def read(self) -> AnchorFiles:
        """Return everything that is known; the head is read first, so that it is not newer than the chain read next."""
        try:
            record = _settled(self._head_file)
            secret = _read_start(self._key_file, SECRET_BYTES + 1)
            key = seal_key(secret) if secret is not None and len(secret) == SECRET_BYTES else None
            is_key_damaged = secret is not None and key is None
            if record is not None:
                return AnchorFiles(key, is_key_damaged, record)
            elsewhere = tuple(_placed(path) for path in sorted(self._directory.glob("head-*")))
            strangers = [
                _placed(path)
                for path in sorted(self._top.glob(f"*/{self._head_file.name}"))
                if path.parent != self._directory and self._is_home_of(path)
            ]
        except OSError as error:
            return AnchorFiles(None, False, None, error=error)
        return AnchorFiles(key, is_key_damaged, None, elsewhere, tuple(strangers))

    def _is_home_of(self, head_file: Path) -> bool:
        """Tell whether a head at this place is of a ledger of this clone; of an unknown one it counts as that."""
        known = _read_start(head_file.with_name(self._home_file.name), HEAD_BYTES)
        return known is None or known == self._home.encode()

    def judge(self, files: AnchorFiles, end: ChainEnd) -> Judgement:
        """Compare what was sealed with the end of the chain."""
        if files.error is not None:
            return Judgement(AnchorState.UNUSABLE, problem=files.error.strerror or str(files.error))
        if files.record is not None:
            return self._judge_head(files, files.record, end)
        return self._judge_strangers(files, end) or self._judge_without_head(files, end)

    def _judge_head(self, files: AnchorFiles, record: bytes, end: ChainEnd) -> Judgement:
        key = files.key
        if key is None:
            return _broken(end.seq + 1, _KEY_DAMAGED if files.is_key_damaged else _KEY_REMOVED)
        head = parse_head(record[:HEAD_BYTES])
        is_ours = head is not None and (head.repo_id, head.place) == (self.repo_id, self._place)
        is_whole = head is not None and record == head.as_bytes() + os.fsencode(self._ledger)
        if head is None or not is_ours or not is_whole or not head.is_signed_by(key):
            return _broken(end.seq + 1, "the sealed head was changed, or the key was", key)
        if head.seq > end.seq:
            return replace(_broken(end.seq + 1, _missing_rows(end.seq, head), key), head=head)
        if not end.holds(head.seq, head.hash):
            problem = f"it is not the row that was sealed at {iso_from_ms(head.ts_ms)}"
            return replace(_broken(head.seq, problem, key), head=head)
        return Judgement(AnchorState.SEALED, key, head, head.sealed_from)

    def _judge_strangers(self, files: AnchorFiles, end: ChainEnd) -> Judgement | None:
        """Tell when another ledger was sealed at this place and this one was put there, or began there, instead.

        Where nothing of the other is left, evidence is missing: the row with which the next ledger begins says so. A
        person who clears a ledger has it forgotten here, too.
        """
        known = [item.head for item in files.strangers if item.head is not None]
        if not known:
            return None
        stranger = max(known, key=lambda head: head.ts_ms)
        which = f"{stranger.repo_id} with {stranger.seq} rows up to {iso_from_ms(stranger.ts_ms)}"
        if end.seq == 0 and self._marked() != stranger.repo_id:
            if files.key is not None or files.is_key_damaged:
                return None
            lost = f"the ledger that was sealed at this place is gone, and its seal with it: {which}"
            return Judgement(AnchorState.NEW, sealed_from=1, lost=lost)
        return _broken(1, f"the ledger that was sealed at this place, {which}, is not this one", files.key)

    def _judge_without_head(self, files: AnchorFiles, end: ChainEnd) -> Judgement:
        if files.key is None and (files.is_key_damaged or files.elsewhere):
            return _broken(end.seq + 1, _KEY_DAMAGED if files.is_key_damaged else _KEY_REMOVED)
        if files.key is not None and files.elsewhere:
            return _judge_elsewhere(files.key, files.elsewhere, end)
        if files.key is not None and (end.seal or "").startswith(files.key.key_id):
            return _broken(end.seq + 1, "the sealed head was removed", files.key)
        state = AnchorState.MISSING if end.seq else AnchorState.NEW
        return Judgement(state, files.key, sealed_from=end.seq + 1)

    def _marked(self) -> str:
        try:
            return self._mark.read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            return ""

    def is_exposed(self) -> bool:
        """Tell whether other users can read the key, so that its signatures prove nothing."""
        try:
            return bool(self._key_file.stat().st_mode & 0o077)
        except OSError:
            return False

    def keep_key(self) -> SealKey:
        """Return the key, making one where there is none; a damaged one is kept under another name.

        Raises:
            OSError: the user state directory cannot be used.
        """
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        secret = _read_start(self._key_file, SECRET_BYTES + 1)
        if secret is not None and len(secret) != SECRET_BYTES:
            self._key_file.replace(self._key_file.with_name(f"key.damaged-{secrets.token_hex(4)}"))
            secret = None
        if secret is None:
            _create(self._key_file, self._new_secret())
            secret = _read_start(self._key_file, SECRET_BYTES + 1)
        if secret is None or len(secret) != SECRET_BYTES:
            raise OSError(f"{self._key_file.name} cannot be kept")
        return seal_key(secret)

    def place_head(self, head: SealedHead, key: SealKey) -> SealedHead:
        """Write the first head of this place, synchronised to disk, and return it signed; raises OSError."""
        signed = replace(head, repo_id=self.repo_id, place=self._place).signed(key)
        _replace_file(self._head_file, signed.as_bytes() + os.fsencode(self._ledger))
        # The head counts; without the mark a ledger that is taken away is missing evidence, not an alarm.
        with suppress(OSError):
            self._mark.write_text(f"{self.repo_id}\n", encoding="ascii")
        if self._home:
            _replace_file(self._home_file, self._home.encode())
        return signed

    def move_head(self, head: SealedHead, *, is_durable: bool) -> None:
        """Put a later head in the place of the one before; raises OSError.

        One write into one sector of a file that stays: a killed writer has written all of it or nothing.
        """
        try:
            descriptor = os.open(self._head_file, os.O_WRONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            _replace_file(self._head_file, head.as_bytes() + os.fsencode(self._ledger))
            return
        try:
            os.pwrite(descriptor, head.as_bytes(), 0)
            if is_durable:
                _SYNCHRONISE(descriptor)
        finally:
            os.close(descriptor)


def was_sealed(directory: Path, ledger: Path, home: str) -> bool:
    """Tell whether a ledger was ever sealed at a place; nothing is written."""
    anchor = Anchor(directory, "none", ledger, home)
    return bool(anchor.read().strangers)


def forget_place(directory: Path, ledger: Path) -> None:
    """Forget that a ledger was sealed at a place, as a person wants it who clears it; raises OSError."""
    place = sha256_text(str(ledger.resolve()))[:16]
    for path in [*directory.glob(f"*/head-{place}"), *directory.glob(f"*/home-{place}")]:
        path.unlink(missing_ok=True)


class Sealer:
    """The writer's side: looks before rows are added, seals them, and moves the head outside after the commit.

    Invariant: only the holder of the ledger's write lock uses it. Rows that were changed or forged behind the writers'
    backs never get a seal; what only the head outside shows, such as a cut tail, is put on record by a row before the
    head moves on. After a look `is_taking_over` tells that what older keys signed cannot be
    checked any more.
    """

    def __init__(self, anchor: Anchor, clock: Clock) -> None:
        self.anchor = anchor
        self._clock = clock
        self._record: bytes | None = None
        self._head: SealedHead | None = None
        self._rows: RowSealer | None = None
        self._is_warned = False
        self._synchronised_at = float("-inf")
        self.is_taking_over = False

    def look(self, end: ChainEnd) -> tuple[tuple[str, dict[str, Any]], ...]:
        """Compare the file with what was sealed; return kind and body of rows that have to come first.

        Where the user state directory cannot be used at all, rows are appended without seals.

        Raises:
            CodePlaneError: DATABASE_UNAVAILABLE when it cannot be used at this moment, as with too many open files.
        """
        head = self._head
        if head is not None and (end.seq, end.hash) == (head.seq, head.hash) and self.anchor.record() == self._record:
            return ()
        self._head = self._record = self._rows = None
        self.is_taking_over = False
        files = self.anchor.read()
        judgement = self.anchor.judge(files, end)
        try:
            if files.error is not None:
                raise files.error
            return self._take_up(judgement, end)
        except OSError as error:
            self._head = self._rows = None
            reason = error.strerror or str(error)
            if error.errno in _PASSING:
                # Rows without a seal among sealed ones would look forged for ever.
                raise CodePlaneError("DATABASE_UNAVAILABLE", f"Rows cannot be sealed now: {reason}.") from error
            self._warn(reason)
            return ()

    def _take_up(self, judgement: Judgement, end: ChainEnd) -> tuple[tuple[str, dict[str, Any]], ...]:
        key = judgement.key or self.anchor.keep_key()
        head = judgement.head
        rows = head.rows if head is not None and head.seq == end.seq else end.count()
        sealed_from = (head.sealed_from if head is not None else judgement.sealed_from) or end.seq + 1
        self._rows = row_sealer(key, self.anchor.repo_id)
        is_lost = judgement.key is None or judgement.state is AnchorState.MISSING
        self.is_taking_over = is_lost and self.anchor.is_owned()
        if head is not None:
            self._head = replace(head, seq=end.seq, hash=end.hash, rows=rows)
        else:
            self._head = SealedHead("", "", end.seq, end.hash, rows, self._clock.now_ms(), sealed_from, key.key_id)
        if judgement.state is AnchorState.BROKEN:
            _log.error("the ledger was changed without its key", extra=fields(problem=judgement.problem))
            return ((ALARM_KIND, _alarm(judgement)),)
        if head is None:
            # Before the first row is sealed, so that no moment has sealed rows without a head.
            self._head = self.anchor.place_head(self._head, key)
        if judgement.outlived is not None:
            judgement.outlived.unlink(missing_ok=True)
        if judgement.state is AnchorState.MISSING:
            return ((ANCHORED_KIND, {"sealed_from": sealed_from, "note": _NO_ANCHOR}),)
        if judgement.lost:
            return (
                (ANCHORED_KIND, {"sealed_from": sealed_from, "note": "Evidence is missing.", "lost": judgement.lost}),
            )
        return self._foreign_rows(head, end) if head is not None and head.seq < end.seq else ()

    def _foreign_rows(self, head: SealedHead, end: ChainEnd) -> tuple[tuple[str, dict[str, Any]], ...]:
        """Return the row that names what other keys appended: from then on any other foreign seal is tampering."""
        prefix = self._rows.prefix if self._rows is not None else ""
        foreign = [seq for seq, seal in end.seals_after(head.seq) if is_foreign_seal(seal, prefix)]
        return ((FOREIGN_KIND, {"rows": foreign}),) if foreign else ()

    def seal(self, seq: int, row_hash: str) -> str | None:
        """Return the seal of a row, None when there is no key that could be used."""
        return self._rows.seal(seq, row_hash) if self._rows is not None else None

    @property
    def key(self) -> SealKey | None:
        """Return the key that rows are being sealed with, after a look."""
        return self._rows.key if self._rows is not None else None

    def move(self, seq: int, row_hash: str, rows_added: int, *, is_durable: bool) -> None:
        """Note the new head outside, after its rows were committed; a head that stays behind is not an alarm."""
        before, sealer = self._head, self._rows
        self._head = self._record = None
        if before is None or sealer is None:
            return
        head = replace(before, seq=seq, hash=row_hash, rows=before.rows + rows_added, ts_ms=self._clock.now_ms())
        try:
            if not before.mac:
                # Taken over, or broken before: the file is not this head's yet.
                head = self.anchor.place_head(head, sealer.key)
            else:
                head = head.signed(sealer.key)
                now = self._clock.monotonic()
                is_due = is_durable and not 0 <= now - self._synchronised_at < _SYNCHRONISED_FOR_SECONDS
                self._synchronised_at = now if is_due else self._synchronised_at
                self.anchor.move_head(head, is_durable=is_due)
        except OSError as error:
            self._warn(error.strerror or str(error))
            return
        self._head, self._record = head, head.as_bytes()

    def _warn(self, reason: str) -> None:
        if not self._is_warned:
            _log.warning("the ledger cannot be sealed", extra=fields(reason=reason))
        self._is_warned = True


_NO_ANCHOR = "No anchor was found for the rows before this one."
_KEY_REMOVED = "the key of the seals was removed"
_KEY_DAMAGED = "the key file is damaged"
# What may be over in a moment, unlike a directory that this process may not use.
_PASSING = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR, errno.EAGAIN, errno.EIO})
# macOS has no fdatasync; there fsync is all there is.
_SYNCHRONISE: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


def is_foreign_seal(seal: object, own_prefix: str) -> bool:
    """Tell whether a row carries the seal of another key: it proves nothing here and grants nothing."""
    return isinstance(seal, str) and _SEAL.fullmatch(seal) is not None and not seal.startswith(own_prefix)


def _broken(first_bad_seq: int, problem: str, key: SealKey | None = None) -> Judgement:
    return Judgement(AnchorState.BROKEN, key, problem=problem, first_bad_seq=first_bad_seq)


def _missing_rows(last_seq: int, head: SealedHead) -> str:
    which = f"row {head.seq} is" if head.seq == last_seq + 1 else f"rows {last_seq + 1} to {head.seq} are"
    return f"{which} missing: the ledger was sealed up to row {head.seq} at {iso_from_ms(head.ts_ms)}"


def _alarm(judgement: Judgement) -> dict[str, Any]:
    body: dict[str, Any] = {"problem": judgement.problem, "first_bad_seq": judgement.first_bad_seq}
    if judgement.head is not None:
        body |= {"sealed_seq": judgement.head.seq, "sealed_hash": judgement.head.hash}
    return body


def _judge_elsewhere(key: SealKey, elsewhere: tuple[PlacedHead, ...], end: ChainEnd) -> Judgement:
    """Judge a ledger that was sealed at other places only: it was moved or copied here, or cut on the way."""
    signed = [(item, item.head) for item in elsewhere if item.head is not None and item.head.is_signed_by(key)]
    signed.sort(key=lambda pair: pair[1].seq, reverse=True)
    for item, head in signed:
        if head.seq <= end.seq and end.holds(head.seq, head.hash):
            outlived = None if item.place.exists() else item.file
            return Judgement(AnchorState.SEALED, key, None, head.sealed_from, outlived=outlived)
    for item, head in signed:
        if item.place.exists():
            note = f"This ledger is a copy: the one it was copied from has rows up to {head.seq} of its own."
            return Judgement(AnchorState.SEALED, key, None, head.sealed_from, note=note)
    if not signed:
        return _broken(end.seq + 1, "the sealed head was changed, or the key was", key)
    newest = signed[0][1]
    if newest.seq > end.seq:
        return _broken(end.seq + 1, _missing_rows(end.seq, newest), key)
    return _broken(newest.seq, f"it is not the row that was sealed at {iso_from_ms(newest.ts_ms)}", key)


def _file_name(repo_id: str) -> str:
    """Return the id as it is when it can be a file's name; it comes from a file that anybody may have changed."""
    return repo_id if _WORD.fullmatch(repo_id) and len(repo_id) <= 64 else sha256_text(repo_id)


def _placed(path: Path) -> PlacedHead:
    data = _read_start(path, HEAD_BYTES + _MAX_PLACE) or b""
    return PlacedHead(path, Path(os.fsdecode(data[HEAD_BYTES:])), parse_head(data[:HEAD_BYTES]))


def _read_start(path: Path, n_bytes: int) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return os.read(descriptor, n_bytes)
    finally:
        os.close(descriptor)


def _settled(path: Path) -> bytes | None:
    """Read a head that another process may be writing at this moment: the same bytes twice."""
    data = _read_start(path, HEAD_BYTES + _MAX_PLACE)
    for _ in range(100):
        before, data = data, _read_start(path, HEAD_BYTES + _MAX_PLACE)
        if data == before:
            break
    return data


def _create(path: Path, data: bytes) -> None:
    """Write a file for the owner alone, wholly or not at all, unless the file exists already."""
    temporary = _write_beside(path, data)
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        return
    finally:
        temporary.unlink()
    _synchronise_directory(path.parent)


def _replace_file(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write_beside(path, data).replace(path)
    _synchronise_directory(path.parent)


def _write_beside(path: Path, data: bytes) -> Path:
    # Not `head-*`: a file left by a process that was killed must not look like a head.
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return temporary


def _synchronise_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
