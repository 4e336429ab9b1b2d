"""What the sealed ledger costs, as ratios to a bare SQLite commit in the same run, and how long verifying takes.

    python bench/ledger.py [--rounds N] [--commits N] [--rows N]

The floor of appending is one row of the same size, committed alone with `synchronous=FULL` in WAL mode, by the same
number of processes; the goal is 3 times the floor. The floor of verifying is hashing the same bytes read from the same
file; the goal is 3 seconds for 100,000 rows.
"""

import argparse
import hashlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from codeplane.core.clock import SystemClock
from codeplane.ledger.chain import EventChain, NewEvent, open_ledger_database
from codeplane.ledger.row_hash import HASHED_COLUMNS
from codeplane.ledger.seals import Anchor, Sealer

BODY = {
    "effect": "write",
    "effects": {"reads": ["src/app/main.py"], "writes": ["src/app/main.py"], "refs": [], "commands": []},
    "arguments_digest": "ab" * 32,
    "arguments": {"path": "src/app/main.py", "old": "value = 1", "new": "value = 2", "dry_run": False},
    "surface": "mcp",
    "caller": "agent",
    "policy": "default",
    "duration_ms": 12,
    "index_epoch": 7,
    "changed_paths": ["src/app/main.py"],
    "diff_stats": {"files_changed": 1, "insertions": 1, "deletions": 1},
}
BARE_SCHEMA = "CREATE TABLE IF NOT EXISTS t (a INTEGER PRIMARY KEY, b TEXT)"


def open_chain(directory: Path) -> EventChain:
    """Return a sealed chain in a directory."""
    database, _ = open_ledger_database(directory / "ledger.db", SystemClock())
    sealer = Sealer(Anchor(directory / "state", "repo_bench", directory / "ledger.db"), SystemClock())
    return EventChain(database, SystemClock(), sealer)


def work(kind: str, directory: Path, n_commits: int, name: str) -> None:
    """Be one writer: say that all is ready, wait for the word, commit, end."""
    if kind == "sealed":
        chain = open_chain(directory)
        chain.last_seq()
        _wait_for_word()
        for number in range(n_commits):
            event = NewEvent("finished", f"s-{name}", BODY, f"req-{name}-{number}", "write_source", f"task-{name}")
            chain.append(event)
        chain.database.close()
        return
    connection = sqlite3.connect(directory / "bare.db", timeout=300, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    _wait_for_word()
    text = "x" * 1100
    for _ in range(n_commits):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t (b) VALUES (?)", (text,))
        connection.execute("COMMIT")
    connection.close()


def _wait_for_word() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


def commit_seconds(kind: str, n_writers: int, n_commits: int) -> float:
    """Return the seconds per commit when that many processes commit at the same time."""
    with tempfile.TemporaryDirectory(prefix="bench-ledger-") as name:
        directory = Path(name)
        with closing(sqlite3.connect(directory / "bare.db", isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(BARE_SCHEMA)
        open_chain(directory).database.close()
        argv = [sys.executable, __file__, "--work", kind, "--directory", name, "--commits", str(n_commits), "--name"]
        writers = [
            subprocess.Popen([*argv, str(i)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for i in range(n_writers)
        ]
        for writer in writers:
            if writer.stdout is None or writer.stdout.readline() != "ready\n":
                raise SystemExit("a writer did not start")
        started = time.perf_counter()
        for writer in writers:
            if writer.stdin is not None:
                writer.stdin.write("go\n")
                writer.stdin.flush()
        codes = [writer.wait() for writer in writers]
        seconds = time.perf_counter() - started
        for writer in writers:
            writer.communicate()
        if any(codes):
            raise SystemExit(f"a writer failed: {codes}")
        if kind == "sealed":
            _check(directory, n_writers * n_commits)
    return seconds / (n_writers * n_commits)


def _check(directory: Path, n_rows: int) -> None:
    chain = open_chain(directory)
    found = chain.verify()
    chain.database.close()
    if (found.first_bad_seq, found.rows) != (None, n_rows):
        raise SystemExit(f"the chain does not hold: {found}")


def verify_seconds(n_rows: int) -> tuple[float, float]:
    """Return the seconds for reading and hashing the bytes of a chain, and for verifying it."""
    with tempfile.TemporaryDirectory(prefix="bench-ledger-") as name:
        chain = open_chain(Path(name))
        for start in range(0, n_rows, 5000):
            events = (
                NewEvent("finished", f"s-{i % 20}", BODY, f"req-{i}", "write_source", f"task-{i % 40}")
                for i in range(start, min(start + 5000, n_rows))
            )
            chain.append(*events)
        floors, times = [], []
        for _ in range(3):
            started = time.perf_counter()
            _hash_all(chain)
            floors.append(time.perf_counter() - started)
            started = time.perf_counter()
            found = chain.verify()
            times.append(time.perf_counter() - started)
            if (found.first_bad_seq, found.rows) != (None, n_rows):
                raise SystemExit(f"the chain does not hold: {found}")
        chain.database.close()
    return statistics.median(floors), statistics.median(times)


def _hash_all(chain: EventChain) -> None:
    with chain.database.read() as connection:
        for record in connection.execute(f"SELECT {', '.join(HASHED_COLUMNS)} FROM events ORDER BY seq"):
            hashlib.sha256(record[0].encode()).hexdigest()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--commits", type=int, default=0)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--work", choices=("bare", "sealed"))
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--name", default="0")
    options = parser.parse_args()
    if options.work:
        work(options.work, options.directory, options.commits, options.name)
        return
    for n_writers, n_commits in ((1, options.commits or 600), (16, options.commits or 60)):
        pairs = [
            (commit_seconds("bare", n_writers, n_commits), commit_seconds("sealed", n_writers, n_commits))
            for _ in range(options.rounds)
        ]
        bare, sealed = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(
            f"append, {n_writers:2} writers: {sealed / bare:.2f} x a bare commit"
            f" ({sealed * 1e6:.0f} us against {bare * 1e6:.0f} us; goal 3)"
        )
    floor, seconds = verify_seconds(options.rows)
    print(
        f"verify {options.rows} rows: {seconds / floor:.2f} x reading and hashing the bodies"
        f" ({seconds:.2f} s; goal 3 s)"
    )


if __name__ == "__main__":
    main()
