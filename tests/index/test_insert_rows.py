"""Rows go into a table many at a time, and each of them once."""

import sqlite3
from contextlib import closing

import pytest

from codeplane.index.index_store import insert_rows


@pytest.mark.parametrize("n_rows", [0, 1, 31, 32, 33, 64, 100])
def test_every_row_is_inserted_once_and_in_order(n_rows: int) -> None:
    rows = [(number, f"name {number}") for number in range(n_rows)]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE kept (number INTEGER, name TEXT)")
        insert_rows(connection, "INSERT INTO kept", rows)
        assert connection.execute("SELECT number, name FROM kept ORDER BY rowid").fetchall() == rows


def test_of_rows_that_are_there_already_only_the_named_fields_change() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, name TEXT, since INTEGER)")
        on_conflict = "ON CONFLICT (number) DO UPDATE SET name = excluded.name"
        insert_rows(connection, "INSERT INTO kept", [(number, "old", 1) for number in range(20)], on_conflict)
        insert_rows(connection, "INSERT INTO kept", [(number, "new", 2) for number in range(40)], on_conflict)
        rows = connection.execute("SELECT name, since, COUNT(*) FROM kept GROUP BY 1, 2 ORDER BY 2").fetchall()
    assert rows == [("new", 1, 20), ("new", 2, 20)]
