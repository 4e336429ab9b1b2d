"""Sealed ledgers in temporary directories, opened and closed as processes do it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from codeplane.core.clock import Clock, ManualClock
from codeplane.ledger.chain import EventChain, NewEvent, open_ledger_database
from codeplane.ledger.seals import Anchor, Sealer
from codeplane.ledger.verification import Verification, Witness

REPO_ID = "repo_sample"


@dataclass(frozen=True, slots=True)
class LedgerPlace:
    """Where a ledger and its user state directory are."""

    root: Path

    @property
    def ledger(self) -> Path:
        return self.root / "shared" / "ledger.db"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def anchor_directory(self) -> Path:
        return self.state / REPO_ID

    @property
    def key(self) -> Path:
        return self.anchor_directory / "key"

    @property
    def head(self) -> Path:
        (path,) = self.anchor_directory.glob("head-*")
        return path

    def files(self) -> dict[Path, bytes]:
        """Return every file with its content, as an attacker's copy or a test's memory."""
        return {path: path.read_bytes() for path in self.root.rglob("*") if path.is_file()}

    def restore(self, files: dict[Path, bytes]) -> None:
        """Make the files be what they were."""
        for path in [path for path in self.root.rglob("*") if path.is_file()]:
            path.unlink()
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def change(self, statement: str, *values: object) -> int:
        """Change the database behind CodePlane's back; return how many rows that met."""
        with closing(sqlite3.connect(self.ledger)) as connection, connection:
            return connection.execute(statement, values).rowcount


@contextmanager
def opened(place: LedgerPlace, clock: Clock | None = None) -> Iterator[EventChain]:
    """Open a ledger as a process does that starts, and close it."""
    clock = clock or ManualClock()
    database, _ = open_ledger_database(place.ledger, clock)
    chain = EventChain(database, clock)
    repo_id = chain.set_meta_once("repo_id", REPO_ID)
    chain.sealer = Sealer(Anchor(place.state, repo_id, place.ledger), clock)
    try:
        yield chain
        chain.flush()
    finally:
        database.close()


def verified(place: LedgerPlace, witnesses: tuple[Witness, ...] = ()) -> Verification:
    """Verify a ledger as a process does that starts."""
    with opened(place) as chain:
        return chain.verify(witnesses)


def event(number: int, kind: str = "finished", task_id: str | None = "task-1") -> NewEvent:
    """Return an event whose fields tell rows apart."""
    body = {"n": number, "duration_ms": number}
    return NewEvent(kind, f"s-{number % 3}", body, f"call-{number}", f"operation_{number}", task_id)


def fill(place: LedgerPlace, n_rows: int, clock: Clock | None = None, start: int = 1) -> None:
    """Append rows one by one, as changing calls do."""
    with opened(place, clock) as chain:
        for number in range(start, start + n_rows):
            chain.append(event(number))
