"""The sealed record of retired rows, so that the chain after them still verifies."""

import hmac
import json
import sqlite3
from dataclasses import dataclass, replace

from codeplane.core.canonical_json import canonical_text
from codeplane.ledger.seals import SealKey

_VERSION = 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is left of retired rows: the last one's number and hash, how many, and a digest over all of them.

    `kept` names the rows up to `retired_to` that are still there, by number and hash. `is_inherited` marks one whose
    first signature could not be checked when the key was lost.
    """

    repo_id: str
    retired_to: int
    hash: str
    rows: int
    digest: str
    ts_ms: int
    kept: tuple[tuple[int, str], ...] = ()
    is_inherited: bool = False

    def as_text(self) -> str:
        """Return the record as canonical JSON, which is what the seal covers."""
        return canonical_text(
            {
                "version": _VERSION,
                "repo_id": self.repo_id,
                "retired_to": self.retired_to,
                "hash": self.hash,
                "rows": self.rows,
                "digest": self.digest,
                "ts_ms": self.ts_ms,
                "kept": [list(pair) for pair in self.kept],
                "inherited": self.is_inherited,
            }
        )


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """The record as the file has it; `checkpoint` is None when it cannot be read."""

    text: str
    seal: str
    checkpoint: Checkpoint | None

    def is_signed_by(self, key: SealKey, repo_id: str) -> bool:
        """Tell whether the record is readable, of this ledger, and sealed with this key."""
        if self.checkpoint is None or self.checkpoint.repo_id != repo_id:
            return False
        return hmac.compare_digest(self.seal.encode("utf-8", "replace"), _seal(self.text, key).encode())


def read_checkpoint(connection: sqlite3.Connection) -> StoredCheckpoint | None:
    """Return the checkpoint of the ledger, None when no row was ever retired."""
    records = connection.execute("SELECT CAST(body AS BLOB), CAST(seal AS BLOB) FROM checkpoint").fetchall()
    if not records:
        return None
    # There is one at most; a second one was not written by CodePlane and makes all of them unreadable.
    text, seal = (_text(records[0][0]), _text(records[0][1])) if len(records) == 1 else ("", "")
    return StoredCheckpoint(text, seal, _parse(text))


def write_checkpoint(connection: sqlite3.Connection, checkpoint: Checkpoint, key: SealKey) -> None:
    """Put a checkpoint in the place of the one before, inside the caller's transaction."""
    text = checkpoint.as_text()
    connection.execute("INSERT OR REPLACE INTO checkpoint VALUES (1, ?, ?)", (text, _seal(text, key)))


def take_over(connection: sqlite3.Connection, key: SealKey) -> None:
    """Seal a checkpoint of a lost key again, marked as one that could not be checked."""
    stored = read_checkpoint(connection)
    if stored is not None and stored.checkpoint is not None:
        write_checkpoint(connection, replace(stored.checkpoint, is_inherited=True), key)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _seal(text: str, key: SealKey) -> str:
    return f"{key.key_id}:{key.sign('checkpoint', text)}"


def _parse(text: str) -> Checkpoint | None:
    try:
        document = json.loads(text)
        kept = tuple((seq, row_hash) for seq, row_hash in document["kept"])
        found = Checkpoint(
            repo_id=document["repo_id"],
            retired_to=document["retired_to"],
            hash=document["hash"],
            rows=document["rows"],
            digest=document["digest"],
            ts_ms=document["ts_ms"],
            kept=kept,
            is_inherited=document["inherited"],
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    numbers = (found.retired_to, found.rows, found.ts_ms, *(seq for seq, _ in kept))
    texts = (found.repo_id, found.hash, found.digest, *(row_hash for _, row_hash in kept))
    is_typed = all(type(number) is int for number in numbers) and all(type(item) is str for item in texts)
    return found if is_typed and document.get("version") == _VERSION else None
