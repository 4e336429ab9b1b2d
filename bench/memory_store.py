"""How fast memory answers and records, and what many clients do to it.

Questions are asked of stores with 100,000 and more made experiences; recording is compared with a bare durable commit
of the same bytes in the same run; several processes record at once for some seconds, then every row is looked for.
"""

import argparse
import multiprocessing
import random
import sqlite3
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from codeplane.core.clock import SystemClock
from codeplane.memory.experiences import Experience, record
from codeplane.memory.retrieval import Question, find
from codeplane.memory.store import MemoryStore

_LESSON = Experience("effective", "Process", "", "", "It worked.", "Seen before.")


def _words(source: random.Random, n: int) -> str:
    """Return words that are as unevenly common as those of a language."""
    return " ".join(f"word{int(source.paretovariate(0.35)) % 60_000}" for _ in range(n))


def _fill(path: Path, n_rows: int) -> MemoryStore:
    source = random.Random(1)
    store = MemoryStore(path, SystemClock(), None)
    with store.database.write() as connection:
        connection.executemany(
            "INSERT INTO experiences (type, domain, situation, approach, outcome, reasoning, created_at, updated_at,"
            " content_hash, paths) VALUES ('effective', 'Process', ?, ?, '', '', ?, 0, '', ?)",
            (
                (_words(source, 12), _words(source, 15), 1_700_000_000_000 + i, f'["src/m{i % 5000}.py"]')
                for i in range(n_rows)
            ),
        )
    return store


def questions(n_rows: int, n_questions: int) -> None:
    """Print the time of a question in a store of this size."""
    with tempfile.TemporaryDirectory() as directory:
        store = _fill(Path(directory) / "memory.db", n_rows)
        source = random.Random(2)
        times = []
        with store.read() as connection:
            for _ in range(n_questions):
                question = Question(
                    _words(source, 12), (f"src/m{source.randrange(5000)}.py",), now_ms=1_800_000_000_000
                )
                begun = time.perf_counter()
                find(connection, question, 10)
                times.append((time.perf_counter() - begun) * 1000)
        store.close()
    times.sort()
    p50, p95 = times[len(times) // 2], times[int(len(times) * 0.95)]
    print(f"{n_rows} experiences: question p50 {p50:.1f} ms, p95 {p95:.1f} ms")


def recording(n_records: int) -> None:
    """Print what recording costs beside a bare durable commit."""
    with tempfile.TemporaryDirectory() as directory:
        bare = sqlite3.connect(Path(directory) / "bare.db", isolation_level=None)
        bare.execute("PRAGMA journal_mode=WAL")
        bare.execute("PRAGMA synchronous=FULL")
        bare.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)")
        store = MemoryStore(Path(directory) / "memory.db", SystemClock(), None)
        source = random.Random(3)
        times: dict[str, list[float]] = {"bare": [], "record": []}
        for _ in range(n_records):
            lesson = replace(_LESSON, situation=_words(source, 12), approach=_words(source, 15))
            begun = time.perf_counter()
            bare.execute("INSERT INTO t (body) VALUES (?)", (lesson.text,))
            times["bare"].append(time.perf_counter() - begun)
            begun = time.perf_counter()
            with store.write() as writing:
                record(writing, lesson)
            times["record"].append(time.perf_counter() - begun)
        bare.close()
        store.close()
    medians = {name: sorted(all_)[len(all_) // 2] * 1000 for name, all_ in times.items()}
    ratio = medians["record"] / medians["bare"]
    print(f"record {medians['record']:.2f} ms, bare durable commit {medians['bare']:.2f} ms: {ratio:.2f} times")


def _client(path: Path, number: int, seconds: float, recorded: "multiprocessing.Queue[tuple[int, list[str]]]") -> None:
    store = MemoryStore(path, SystemClock(), None)
    source = random.Random(number)
    names: list[str] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        name = f"client{number}case{len(names)}"
        with store.write() as writing:
            record(writing, replace(_LESSON, situation=f"{name} {_words(source, 8)}", approach=_words(source, 8)))
        names.append(name)
    store.close()
    recorded.put((number, names))


def clients(n_clients: int, seconds: float) -> None:
    """Let processes record at once; print how many rows are there and how many are lost."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "memory.db"
        MemoryStore(path, SystemClock(), None).close()
        recorded: multiprocessing.Queue[tuple[int, list[str]]] = multiprocessing.Queue()
        workers = [
            multiprocessing.Process(target=_client, args=(path, number, seconds, recorded))
            for number in range(n_clients)
        ]
        for worker in workers:
            worker.start()
        names = {name for _ in workers for name in recorded.get(timeout=seconds + 120)[1]}
        for worker in workers:
            worker.join()
        store = MemoryStore(path, SystemClock(), None)
        with store.read() as connection:
            found = {str(row[0]).split(" ", 1)[0] for row in connection.execute("SELECT situation FROM experiences")}
        problems = store.database.problems()
        store.close()
    failed = sum(worker.exitcode != 0 for worker in workers)
    n_lost = len(names - found)
    print(f"{n_clients} clients, {seconds:g} s: {len(names)} recorded, {n_lost} lost, {failed} failed, {problems}")


def main() -> int:
    """Run all three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000], help="sizes of the stores")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--records", type=int, default=300)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    recording(arguments.records)
    for n_rows in arguments.rows:
        questions(n_rows, arguments.questions)
    clients(arguments.clients, arguments.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
