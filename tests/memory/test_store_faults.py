"""The store after a kill, a full disk, parallel writers, damage and a newer schema."""

import os
import random
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeplane.core.clock import ManualClock
from codeplane.core.errors import CodePlaneError
from codeplane.core.processes import ProcessRequest, run_process
from codeplane.memory.experiences import Experience, add_tags, insert, record, revise
from codeplane.memory.retrieval import Question, find
from codeplane.memory.schema import MEMORY_SCHEMA
from codeplane.memory.store import MemoryStore, Writing, hash_of_row
from support.children import run_children
from support.effort import examples, repeated
from support.forks import run_forked

LESSON = Experience("effective", "Tools", "The job fails", "Restart it", "It works", "Known fault")

_WRITER = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
from codeplane.core.clock import SystemClock
from codeplane.memory.experiences import Experience, record
from codeplane.memory.store import MemoryStore

path, name, count, killed_at = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
store = MemoryStore(path, SystemClock(), None)
lesson = Experience("effective", "Tools", "", "Restart it", "It works", "Known fault")
n_statements = 0

def trace(_statement):
    global n_statements
    n_statements += 1
    if n_statements == killed_at:
        os.kill(os.getpid(), signal.SIGKILL)

if killed_at:
    store.database._writer.set_trace_callback(trace)
for number in range(count):
    with store.write() as writing:
        record(writing, replace(lesson, situation=f"{name}x{number} fails {name}y{number}"), force=True)
    print(f"{name}x{number}", flush=True)
"""


def _recorded(path: Path) -> set[str]:
    with closing(MemoryStore(path, ManualClock(), None)) as store, store.read() as connection:
        assert store.database.problems() == ()
        rows = connection.execute("SELECT * FROM experiences").fetchall()
        assert all(hash_of_row("experiences", row) == row["row_hash"] for row in rows)
        return {str(row["situation"]).split(" ", 1)[0] for row in rows}


def test_what_was_acknowledged_survives_a_kill_at_any_statement(tmp_path: Path) -> None:
    source = random.Random(5)
    for trial in range(repeated(6)):
        path = tmp_path / f"memory{trial}.db"
        MemoryStore(path, ManualClock(), None).close()
        command = (sys.executable, "-c", _WRITER, str(path), "a", "20", str(source.randrange(2, 200)))
        acknowledged = set(run_forked(command, cwd=tmp_path).stdout.split())
        assert acknowledged <= _recorded(path)
        assert len(_recorded(path)) <= len(acknowledged) + 1


def test_parallel_processes_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    MemoryStore(path, ManualClock(), None).close()
    names = ("a", "b", "c", "d")
    results = run_children([(sys.executable, "-c", _WRITER, str(path), name, "15", "0") for name in names], tmp_path)
    acknowledged = {line for result in results for line in result.stdout.split()}
    assert len(acknowledged) == 60
    assert acknowledged == _recorded(path)


def _record_and_fail(store: MemoryStore) -> None:
    with store.write() as writing:
        record(writing, LESSON)
        add_tags(writing, 99, ["x"])


def test_an_exception_rolls_the_whole_transaction_back(tmp_path: Path) -> None:
    with closing(MemoryStore(tmp_path / "memory.db", ManualClock(), None)) as store:
        with pytest.raises(CodePlaneError):
            _record_and_fail(store)
        with store.read() as connection:
            assert connection.execute("SELECT COUNT(*) FROM experiences").fetchone()[0] == 0
        assert store.generation() == 0


def test_a_damaged_file_is_an_error_and_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(b"this is not a database" * 100)
    with pytest.raises(CodePlaneError) as caught:
        MemoryStore(path, ManualClock(), None)
    assert caught.value.code == "STORE_CORRUPT"
    assert "aside" in caught.value.report().required_action
    assert path.read_bytes().startswith(b"this is not")


def test_a_newer_schema_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    MemoryStore(path, ManualClock(), None).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(CodePlaneError) as caught:
        MemoryStore(path, ManualClock(), None)
    assert caught.value.code == "MIGRATION_FAILED"


def test_an_older_schema_is_copied_before_it_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(MEMORY_SCHEMA.migrations[0] + "PRAGMA user_version = 1;")
    with closing(MemoryStore(path, ManualClock(), None)) as store, store.write() as writing:
        record(writing, LESSON)
    with closing(sqlite3.connect(tmp_path / "memory.db.v1.bak")) as backup:
        assert backup.execute("PRAGMA user_version").fetchone()[0] == 1


_STEPS = st.lists(st.sampled_from(("record", "tag", "revise", "forget")), min_size=1, max_size=12)


@examples(15)
@given(steps=_STEPS, seed=st.integers(0, 10**6))
def test_the_full_text_follows_every_change(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], seed: int
) -> None:
    source = random.Random(seed)
    path = tmp_path_factory.mktemp("memory") / "memory.db"
    with closing(MemoryStore(path, ManualClock(), None)) as store:
        for number, step in enumerate(steps):
            with store.write() as writing:
                _take(writing, step, number, source)
        with store.read() as connection:
            connection.execute("INSERT INTO experiences_fts (experiences_fts, rank) VALUES ('integrity-check', 1)")
            live = {int(row[0]) for row in connection.execute("SELECT id FROM experiences WHERE archived_at IS NULL")}
            found = find(connection, Question("job fails restart"), 100)
            assert {hit.id for hit in found.hits} == live


def _take(writing: Writing, step: str, number: int, source: random.Random) -> None:
    keys = [int(row[0]) for row in writing.connection.execute("SELECT id FROM experiences WHERE archived_at IS NULL")]
    key = source.choice(keys) if keys else 0
    if step == "record" or not keys:
        insert(writing, LESSON)
    elif step == "tag":
        add_tags(writing, key, [f"tag{number}"])
    elif step == "revise":
        revise(writing, key, {"outcome": f"Outcome {number}"}, "seen again")
    else:
        writing.connection.execute("PRAGMA defer_foreign_keys = ON")
        writing.update("experiences", key, archived_at=1, archive_reason="test")


_TELLER = """
import sys
from pathlib import Path
from codeplane.core.clock import ManualClock
from codeplane.memory.consolidation import consolidate
from codeplane.memory.context_pack import PackRequest, build_pack
from codeplane.memory.episodes import record_from_experience
from codeplane.memory.experiences import Experience, record
from codeplane.memory.settings import MemorySettings
from codeplane.memory.store import MemoryStore

store = MemoryStore(Path(sys.argv[1]), ManualClock(), None)
for number in range(12):
    word = ("alpha", "beta", "gamma")[number % 3]
    with store.write() as writing:
        texts = (f"The {word} job fails", f"Use {word} {number}", "Works", "Known")
        lesson = Experience("effective", "Tools", *texts, tags=(word, "job"))
        record_from_experience(writing, record(writing, lesson).id, lesson)
with store.write() as writing:
    consolidate(writing, "project", 1, MemorySettings())
with store.read() as connection:
    pack = build_pack(connection, PackRequest("alpha job fails", keys=("beta",), now_ms=ManualClock().now_ms()))
    print(pack.context_hash, *(row[0] for row in connection.execute("SELECT canonical_key FROM cells ORDER BY 1")))
"""


def test_every_process_makes_the_same_cells_and_the_same_pack(tmp_path: Path) -> None:
    outputs = set()
    for number in range(repeated(3)):
        request = ProcessRequest(
            (sys.executable, "-c", _TELLER, str(tmp_path / f"m{number}.db")),
            tmp_path,
            60,
            environment={**os.environ, "PYTHONHASHSEED": str(number)},
        )
        result = run_process(request)
        assert result.returncode == 0, result.stderr_text
        outputs.add(result.stdout_text)
    assert len(outputs) == 1
