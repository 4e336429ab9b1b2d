"""One SQLite file shared by threads and processes: nothing is lost, and every failure has a code."""

import sqlite3
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from codeplane.core.errors import CodePlaneError
from codeplane.store.sqlite import Database, Schema
from support.children import run_children

NOTES = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
SCHEMA = Schema("notes", (NOTES,))


def _open(path: Path, schema: Schema = SCHEMA) -> Database:
    return Database(path, schema, durable=False)


def _add(database: Database, text: str) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO notes (text) VALUES (?)", (text,))


def _add_and_fail(database: Database) -> None:
    with database.write() as connection:
        connection.execute("INSERT INTO notes (text) VALUES ('lost')")
        raise KeyError


def _texts(database: Database) -> list[str]:
    with database.read() as connection:
        return [row["text"] for row in connection.execute("SELECT text FROM notes ORDER BY id")]


def _code(path: Path, schema: Schema = SCHEMA) -> str:
    with pytest.raises(CodePlaneError) as caught:
        _open(path, schema)
    return caught.value.code


def test_a_new_file_gets_every_migration_in_order(tmp_path: Path) -> None:
    database = _open(tmp_path / "n.db", Schema("notes", (NOTES, "ALTER TABLE notes ADD COLUMN extra TEXT;")))
    with database.write() as connection:
        connection.execute("INSERT INTO notes (text, extra) VALUES ('a', 'b')")
        assert connection.execute("PRAGMA user_version").fetchone()[0] == 2
    database.close()


def test_an_older_file_gets_only_the_missing_migrations_and_keeps_its_rows(tmp_path: Path) -> None:
    old = _open(tmp_path / "n.db")
    _add(old, "kept")
    old.close()
    database = _open(tmp_path / "n.db", Schema("notes", (NOTES, "ALTER TABLE notes ADD COLUMN extra TEXT;")))
    assert _texts(database) == ["kept"]
    database.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    old = _open(tmp_path / "n.db")
    _add(old, "kept")
    old.close()
    broken = Schema("notes", (NOTES, "ALTER TABLE notes ADD COLUMN extra TEXT; SELECT nonsense FROM nowhere;"))
    assert _code(tmp_path / "n.db", broken) == "QUERY_FAILED"
    database = _open(tmp_path / "n.db")
    assert _texts(database) == ["kept"]
    database.close()


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    newer = _open(tmp_path / "n.db", Schema("notes", (NOTES, "CREATE TABLE more (id INTEGER);")))
    newer.close()
    assert _code(tmp_path / "n.db") == "MIGRATION_FAILED"


@pytest.mark.parametrize("content", [b"this is no database " * 300, b"SQLite format 3\0" + b"\xff" * 8176])
def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "n.db").write_bytes(content)
    assert _code(tmp_path / "n.db") == "STORE_CORRUPT"


def test_damage_inside_the_file_is_found_by_the_check(tmp_path: Path) -> None:
    database = _open(tmp_path / "n.db")
    for i in range(200):
        _add(database, f"{i}" * 200)
    database.close()
    content = bytearray((tmp_path / "n.db").read_bytes())
    content[3 * 4096 : 4 * 4096] = b"\xff" * 4096
    (tmp_path / "n.db").write_bytes(bytes(content))
    damaged = _open(tmp_path / "n.db")
    assert damaged.problems()
    damaged.close()


def test_a_sound_file_has_no_problems(tmp_path: Path) -> None:
    database = _open(tmp_path / "n.db")
    _add(database, "a")
    assert database.problems() == ()
    database.close()


def test_an_exception_in_a_transaction_undoes_all_of_it(tmp_path: Path) -> None:
    database = _open(tmp_path / "n.db")
    _add(database, "before")
    with pytest.raises(KeyError):
        _add_and_fail(database)
    _add(database, "after")
    assert _texts(database) == ["before", "after"]
    database.close()


def test_a_full_disk_is_said_and_what_was_committed_stays(tmp_path: Path) -> None:
    database = _open(tmp_path / "n.db")
    _add(database, "kept")
    with database.write() as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages + 1}")
    with pytest.raises(CodePlaneError) as caught:
        _add(database, "x" * 50_000)
    assert caught.value.code == "DISK_FULL"
    assert _texts(database) == ["kept"]
    database.close()


def test_a_writer_that_cannot_get_the_lock_is_told_that_the_store_is_busy(tmp_path: Path) -> None:
    database = Database(tmp_path / "n.db", SCHEMA, durable=False, lock_timeout=0.01)
    with FileLock(f"{tmp_path}/n.db.lock"), pytest.raises(CodePlaneError) as caught:
        _add(database, "a")
    assert caught.value.code == "STORE_BUSY"
    database.close()


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    database = _open(tmp_path / "n.db")
    _add(database, "committed")
    with database.write() as connection:
        connection.execute("INSERT INTO notes (text) VALUES ('not yet')")
        assert _texts(database) == ["committed"]
    assert _texts(database) == ["committed", "not yet"]
    database.close()


def test_a_missing_directory_is_created(tmp_path: Path) -> None:
    database = _open(tmp_path / "a" / "b" / "n.db")
    _add(database, "a")
    assert _texts(database) == ["a"]
    database.close()


def test_a_directory_that_cannot_be_created_makes_the_database_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    assert _code(tmp_path / "file" / "n.db") == "DATABASE_UNAVAILABLE"


def test_a_directory_in_place_of_the_file_makes_the_database_unavailable(tmp_path: Path) -> None:
    (tmp_path / "n.db").mkdir()
    assert _code(tmp_path / "n.db") == "DATABASE_UNAVAILABLE"


def test_a_file_that_vanished_gives_readers_a_code_and_not_a_raw_error(tmp_path: Path) -> None:
    database = _open(tmp_path / "d" / "n.db")
    (tmp_path / "d").rename(tmp_path / "elsewhere")
    with pytest.raises(CodePlaneError) as caught:
        _texts(database)
    assert caught.value.code == "DATABASE_UNAVAILABLE"
    database.close()


def test_a_read_only_connection_gives_a_code(tmp_path: Path) -> None:
    database = _open(tmp_path / "n.db")
    with database.write() as connection:
        connection.execute("PRAGMA query_only=ON")
    with pytest.raises(CodePlaneError) as caught:
        _add(database, "a")
    assert caught.value.code == "DATABASE_UNAVAILABLE"
    database.close()


def test_a_wrong_query_gives_a_code(tmp_path: Path) -> None:
    database = _open(tmp_path / "n.db")
    with pytest.raises(CodePlaneError) as caught, database.read() as connection:
        connection.execute("SELECT nothing FROM nowhere")
    assert caught.value.code == "QUERY_FAILED"
    database.close()


def test_connections_are_closed_with_the_database(tmp_path: Path) -> None:
    database = _open(tmp_path / "n.db")
    with database.read() as connection:
        database.close()
    with pytest.raises(sqlite3.ProgrammingError):
        connection.execute("SELECT 1")


_WRITER = """
import sys
from pathlib import Path
from codeplane.store.sqlite import Database, Schema
schema = Schema("notes", ("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);",))
database = Database(Path(sys.argv[1]), schema, durable=False)
for i in range(100):
    with database.write() as connection:
        # Reading before writing would lose numbers if two writers overlapped.
        last = connection.execute("SELECT COALESCE(MAX(id), 0) FROM notes").fetchone()[0]
        connection.execute("INSERT INTO notes VALUES (?, ?)", (last + 1, sys.argv[2]))
database.close()
"""


@pytest.mark.slow
def test_processes_writing_in_parallel_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "n.db")
    run_children([(sys.executable, "-c", _WRITER, path, name) for name in ("a", "b", "c")], tmp_path)
    database = _open(tmp_path / "n.db")
    texts = _texts(database)
    assert [texts.count(name) for name in ("a", "b", "c")] == [100, 100, 100]
    database.close()


def test_writing_into_a_file_that_was_deleted_is_refused(tmp_path: Path) -> None:
    database = Database(tmp_path / "x.db", Schema("x", ("CREATE TABLE t (a);",)), durable=False)
    (tmp_path / "x.db").unlink()
    with pytest.raises(CodePlaneError) as caught, database.write() as connection:
        connection.execute("INSERT INTO t VALUES (1)")
    database.close()
    assert caught.value.code == "DATABASE_UNAVAILABLE"
