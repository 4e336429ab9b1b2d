"""The index in a hostile world: killed, damaged, full disks, files that change while they are read, odd names.

A test marked as an expected failure describes a fault that is known and not mended yet.
"""

import errno
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from io import FileIO
from pathlib import Path
from typing import Any

import pytest
import tantivy

from codeplane.core.clock import SystemClock
from codeplane.core.errors import CodePlaneError
from codeplane.core.ids import RandomIds
from codeplane.index import extraction, lexical_index, reconcile, update
from codeplane.index.extraction import ExtractionJob, ExtractionPool
from codeplane.index.ignore_rules import matcher_for
from codeplane.index.scan import Scan, Tree, scan
from codeplane.index.text_pack import PackWriter
from codeplane.index.text_search import TextQuery, find_lines
from codeplane.index.tree_reader import TreeReader
from codeplane.languages import parsing
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace
from index.facts_dump import dump_facts
from support.doors import call, error_of, result_of
from support.repositories import git, make_repository, write

FILES: dict[str, str | bytes] = {
    "pyproject.toml": "[project]\nname = 'p'\n",
    "p/__init__.py": "from .a import alpha\n",
    "p/a.py": "def alpha():\n    return 1\n\n\nclass Base:\n    def run(self):\n        return alpha()\n",
    "p/b.py": "from p import alpha\nfrom p.a import Base\n\n\nclass B(Base):\n    def go(self): return self.run()\n",
    "docs/guide.md": "one\ntwo\nthree\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a small package in a repository."""
    return make_repository(tmp_path / "repo", FILES)


@pytest.fixture
def indexed(root: Path) -> Iterator[Workspace]:
    """Return its workspace with the index built."""
    with opened(root) as workspace:
        workspace.index.refresh()
        yield workspace


def opened(root: Path) -> Workspace:
    """Open a workspace with real time and ids."""
    return open_workspace(WorkspaceRequest(root, (), SystemClock(), RandomIds()))


def lines(workspace: Workspace, text: str) -> list[tuple[str, int]]:
    """Return where a text stands after an update."""
    workspace.index.refresh()
    return [(hit.path, hit.line) for hit in find_lines(workspace.index.state(), TextQuery(text), None)]


def facts_of(root: Path) -> dict[str, list[str]]:
    """Return everything that the next process knows of a tree."""
    with opened(root) as workspace:
        workspace.index.refresh()
        return dump_facts(workspace)


def facts_of_cold_build(root: Path) -> dict[str, list[str]]:
    """Return everything that an index built anew knows of a tree."""
    shutil.rmtree(root / ".codeplane", ignore_errors=True)
    return facts_of(root)


def _rank(root: Path) -> None:
    """Build the index with its ranked text."""
    with opened(root) as workspace:
        workspace.index.lexical_search("alpha", 5)


def left_out(workspace: Workspace) -> dict[str, str]:
    """Return what is left out and why."""
    return {item.path: item.rule for item in workspace.index.state().left_out}


def after_scan(monkeypatch: pytest.MonkeyPatch, action: Callable[[], None]) -> None:
    """Let something happen once, between the listing of the files and their reading."""

    def scanned(tree: Tree, before: Scan | None) -> Scan:
        found = scan(tree, before)
        monkeypatch.setattr(reconcile, "scan", scan)
        action()
        return found

    monkeypatch.setattr(reconcile, "scan", scanned)


# Death and concurrency.

_CHILD = """
import sys
from pathlib import Path
from codeplane.index import update
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace
update.MANY_BYTES = int(sys.argv[2])
workspace = open_workspace(WorkspaceRequest(Path(sys.argv[1])))
print("go", flush=True)
for _ in range(int(sys.argv[3])):
    workspace.index.refresh()
    workspace.index.lexical_search("alpha", 5)
"""


def _child(root: Path, many_bytes: int, rounds: int = 1) -> "subprocess.Popen[bytes]":
    argv = [sys.executable, "-c", _CHILD, str(root), str(many_bytes), str(rounds)]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
    assert child.stdout is not None
    child.stdout.readline()
    return child


def _killed_after(child: "subprocess.Popen[bytes]", seconds: float) -> None:
    with child:
        # The moment is what is tried; nothing depends on how far the child came.
        time.sleep(seconds)
        os.killpg(child.pid, signal.SIGKILL)


def _ring(n_files: int, note: str) -> dict[str, str | bytes]:
    """Return modules that import each other in a ring."""
    return {
        f"p/m{i}.py": f"# {note}\nfrom p.m{(i + 1) % n_files} import f{(i + 1) % n_files}\n\n\n"
        + f"def f{i}(alpha):\n    return f{(i + 1) % n_files}(alpha)\n" * (1 + i % 5)
        for i in range(n_files)
    }


@pytest.mark.slow
@pytest.mark.parametrize("many_bytes", [1, 10**9], ids=["workers", "alone"])
def test_builds_and_updates_that_are_killed_end_with_the_facts_of_a_cold_build(tmp_path: Path, many_bytes: int) -> None:
    moments = random.Random(f"kill {many_bytes}")
    root = make_repository(tmp_path / "repo", {"p/__init__.py": "", **_ring(40, "first")})
    for _ in range(2):
        _killed_after(_child(root, many_bytes), moments.uniform(0.0, 0.6))
    survived = facts_of(root)
    assert facts_of_cold_build(root) == survived
    for number in range(2):
        write(root, _ring(40 - 5 * number, f"edit {number}"))
        (root / "p" / f"m{39 - number}.py").unlink()
        _killed_after(_child(root, many_bytes), moments.uniform(0.0, 0.5))
    survived = facts_of(root)
    with opened(root) as workspace:
        workspace.index.refresh()
        assert len(workspace.index.lexical_search("alpha", 100)) == 38
    assert facts_of_cold_build(root) == survived


@pytest.mark.slow
def test_two_processes_and_edits_meanwhile_end_with_the_facts_of_a_cold_build(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {"p/__init__.py": "", **_ring(30, "first")})
    children = [_child(root, 10**9, rounds=25) for _ in range(2)]
    number = 0
    while any(child.poll() is None for child in children):
        number += 1
        write(root, {f"p/m{number % 30}.py": f"from p.m1 import f1\n\n\ndef f{number % 30}():\n    return {number}\n"})
    for child in children:
        with child:
            assert child.returncode == 0
    survived = facts_of(root)
    assert facts_of_cold_build(root) == survived


def test_two_workspaces_that_update_in_turn_end_with_the_facts_of_a_cold_build(root: Path) -> None:
    with opened(root) as one, opened(root) as two:
        for number, workspace in enumerate([one, two, one, one, two, one, two, two]):
            write(root, {"p/a.py": f"{FILES['p/a.py']!s}\n\ndef beta{number}():\n    return alpha()\n"})
            if number % 3 == 2:
                write(root, {f"p/n{number}.py": f"from p.a import beta{number}\nbeta{number}()\n"})
            workspace.index.refresh()
        one.index.refresh()
        survived = dump_facts(one)
    assert facts_of_cold_build(root) == survived


def test_two_processes_may_both_find_the_ranked_index_missing(
    indexed: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(indexed.root) as other:
        other.index.refresh()
        real = lexical_index._documents

        def documents(*arguments: Any) -> Any:
            # A thread, because the other one may have to wait until this one is ready.
            thread = threading.Thread(target=other.index.lexical_search, args=("alpha", 5), daemon=True)
            thread.start()
            thread.join(0.3)
            yield from real(*arguments)

        monkeypatch.setattr(lexical_index, "_documents", documents)
        assert len(indexed.index.lexical_search("alpha", 5)) == 3


def test_nobody_who_waited_is_told_that_a_failed_update_was_fresh(
    indexed: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(indexed.root, {"new.py": "needle\n"})
    told: list[bool] = []
    waiting = threading.Semaphore(0)

    def full(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def ask() -> None:
        waiting.release()
        try:
            indexed.index.refresh()
        except (CodePlaneError, OSError):
            return
        told.append("new.py" in indexed.index.state().files)

    monkeypatch.setattr(PackWriter, "append", full)
    with ThreadPoolExecutor(4) as pool:
        with indexed.index._reconciler._running:
            futures = [pool.submit(ask) for _ in range(4)]
            for _ in futures:
                waiting.acquire()
            # All have said that they come; most have taken their number by then, and nothing depends on how many.
            time.sleep(0.3)
        for future in futures:
            future.result()
    assert told == []


def test_jobs_are_answered_when_no_process_can_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_process(*_arguments: object) -> None:
        raise CodePlaneError("INTERNAL_ERROR", "Resource temporarily unavailable")

    monkeypatch.setattr(extraction, "WorkerProcess", no_process)
    with closing(ExtractionPool(tmp_path / "pack")) as pool:
        _, answers = pool._answered(None, [ExtractionJob(0, "python", 0, 1)])
    assert [answer.problem for answer in answers if answer is not None] == [extraction.CRASHED]


@pytest.mark.slow
def test_modules_that_lie_in_the_private_directory_are_not_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository that is cloned may bring a `.codeplane` directory of its own."""
    marker = root / "was-run"
    write(root, {".codeplane/hashlib.py": f"open({str(marker)!r}, 'w').close()\n"})
    monkeypatch.setattr(update, "MANY_BYTES", 1)
    with opened(root) as workspace:
        workspace.index.refresh()
    assert not marker.exists()


# Full disks.


def _full(*_arguments: object, **_more: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("target", ["append", "flush"])
def test_a_full_disk_under_the_pack_is_said_and_keeps_the_old_epoch(
    indexed: Workspace, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    door = Door(indexed, OPERATIONS)
    write(indexed.root, {"new.py": "needle = 1\n"})
    with monkeypatch.context() as patch:
        patch.setattr(PackWriter, target, _full)
        assert error_of(call(door, "search", {"query": "needle"})) == "DISK_FULL"
        assert indexed.index.store.epoch() == 1
    assert [hit["path"] for hit in result_of(call(door, "search", {"query": "needle"}))["results"]] == ["new.py"]
    survived = dump_facts(indexed)
    assert facts_of_cold_build(indexed.root) == survived


def test_a_database_that_may_not_grow_is_said_and_keeps_the_old_epoch(indexed: Workspace) -> None:
    door = Door(indexed, OPERATIONS)
    writer = indexed.index.store.database._writer
    n_pages = writer.execute("PRAGMA page_count").fetchone()[0]
    writer.execute(f"PRAGMA max_page_count={n_pages + 2}")
    body = "".join(f"def needle_{number}(argument):\n    return argument\n" for number in range(120))
    write(indexed.root, {f"p/n{number}.py": f"# {number}\n{body}" for number in range(5)})
    assert error_of(call(door, "search", {"query": "needle"})) == "DISK_FULL"
    assert indexed.index.store.epoch() == 1
    writer.execute("PRAGMA max_page_count=100000000")
    assert len(result_of(call(door, "search", {"query": "needle_7(", "limit": 50}))["results"]) == 5
    survived = dump_facts(indexed)
    assert facts_of_cold_build(indexed.root) == survived


def test_a_ranked_index_that_cannot_be_written_is_said_and_built_later(
    indexed: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(indexed.root, {"new.py": "def needle():\n    return alpha\n"})
    (indexed.root / "docs" / "guide.md").unlink()

    def broken(*_arguments: object, **_more: object) -> None:
        raise ValueError("An error occurred in a thread: 'An index writer was killed.'")

    with monkeypatch.context() as patch:
        patch.setattr(lexical_index, "_write", broken)
        assert lines(indexed, "needle") == [("new.py", 1)]
        with pytest.raises(CodePlaneError, match="could not be written"):
            indexed.index.lexical_search("needle", 5)
    assert [hit.path for hit in indexed.index.lexical_search("needle", 5)] == ["new.py"]
    assert len(list((indexed.places.private / "tantivy").glob("gen-*"))) == 1


def test_a_pointer_that_cannot_be_written_leaves_no_generation_behind(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.write_text

    def full(self: Path, *arguments: Any, **more: Any) -> int:
        return _full() if self.suffix == ".pointer" else real(self, *arguments, **more)  # type: ignore[func-returns-value, return-value]

    with opened(root) as workspace:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "write_text", full)
            with pytest.raises(CodePlaneError, match="could not be written"):
                workspace.index.lexical_search("alpha", 5)
            assert list((workspace.places.private / "tantivy").glob("gen-*")) == []
        assert len(workspace.index.lexical_search("alpha", 5)) == 3


# Damage.


def _overwrite(path: Path, start: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(start)
        file.write(data)


def _cut_database(private: Path) -> None:
    database = private / "index.db"
    os.truncate(database, database.stat().st_size // 2 + 17)


def _garbage_in_wal(private: Path) -> None:
    (private / "index.db-wal").write_bytes(random.Random("wal").randbytes(50_000))


def _wal_of_another(private: Path) -> None:
    other = private / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (a)")
        connection.commit()
        shutil.copy(private / "other.db-wal", private / "index.db-wal")
    connection.close()


def _cut_pack(private: Path) -> None:
    pack = next(private.glob("text-*.pack"))
    os.truncate(pack, pack.stat().st_size - 5)


def _pack_is_directory(private: Path) -> None:
    pack = next(private.glob("text-*.pack"))
    pack.unlink()
    pack.mkdir()


@pytest.mark.parametrize(
    "damage",
    [
        _cut_database,
        _garbage_in_wal,
        _wal_of_another,
        _cut_pack,
        pytest.param(_pack_is_directory),
    ],
)
def test_damage_to_the_stored_files_is_healed(root: Path, damage: Callable[[Path], None]) -> None:
    expected = facts_of(root)
    damage(root / ".codeplane")
    write(root, {"new.py": "needle\n"})
    with opened(root) as workspace:
        assert lines(workspace, "three") == [("docs/guide.md", 3)]
        assert lines(workspace, "needle") == [("new.py", 1)]
        (root / "new.py").unlink()
        workspace.index.refresh()
        assert dump_facts(workspace) == expected


def test_garbage_in_the_pack_is_never_shown_as_text(root: Path) -> None:
    facts_of(root)
    pack = next((root / ".codeplane").glob("text-*.pack"))
    pack.write_bytes(b"x" * pack.stat().st_size)
    with opened(root) as workspace:
        assert lines(workspace, "three") == [("docs/guide.md", 3)]


def _statement(text: str) -> Callable[[Path], None]:
    def run(private: Path) -> None:
        connection = sqlite3.connect(private / "index.db")
        connection.executescript(text)
        connection.close()

    return run


@pytest.mark.parametrize(
    "damage",
    [
        _statement("DROP TABLE definitions"),
        _statement("DROP TABLE meta"),
        _statement("UPDATE meta SET value = 'x' WHERE key IN ('epoch', 'pack_size')"),
        _statement("UPDATE meta SET value = 'x' WHERE key = 'left_out'"),
        _statement("UPDATE facts SET outline = randomblob(50), columns = randomblob(50)"),
    ],
    ids=["no definitions", "no meta", "no numbers", "no decisions", "no facts"],
)
def test_a_database_that_is_sound_but_senseless_is_built_again(root: Path, damage: Callable[[Path], None]) -> None:
    facts_of(root)
    damage(root / ".codeplane")
    write(root, {"p/c.py": "from p.a import alpha\nalpha()\n"})
    with opened(root) as workspace:
        door = Door(workspace, OPERATIONS)
        found = result_of(call(door, "search", {"query": "alpha", "mode": "references"}))["results"]
        assert ("p/c.py", 2) in {(hit["path"], hit["line"]) for hit in found}


def test_a_pack_that_is_cut_under_a_running_process_is_built_again(indexed: Workspace) -> None:
    next(indexed.places.private.glob("text-*.pack")).write_bytes(b"")
    write(indexed.root, {"new.py": "needle\n"})
    door = Door(indexed, OPERATIONS)
    assert [hit["path"] for hit in result_of(call(door, "search", {"query": "needle"}))["results"]] == ["new.py"]


def test_a_cut_pack_is_noticed_when_nothing_else_changed(indexed: Workspace) -> None:
    pack = next(indexed.places.private.glob("text-*.pack"))
    pack.unlink()
    assert lines(indexed, "three") == [("docs/guide.md", 3)]
    assert "text file is missing or cut" in indexed.index.store.healed


def test_an_index_that_is_built_again_in_a_running_process_answers_with_its_own_facts(indexed: Workspace) -> None:
    door = Door(indexed, OPERATIONS)

    def places() -> dict[str, list[str]]:
        found = {}
        for name in ("alpha", "Base", "B", "zero"):
            hits = result_of(call(door, "search", {"query": name, "mode": "definitions"}))["results"]
            found[name] = [f"{hit['path']}:{hit['line']} {hit['symbol']['name']}" for hit in hits]
        return found

    before = places()
    for path in [*indexed.places.private.glob("index.db*"), *indexed.places.private.glob("text-*.pack")]:
        path.unlink()
    write(indexed.root, {"a_first.py": "\n\ndef zero():\n    pass\n"})
    assert places() == {**before, "zero": ["a_first.py:3 zero"]}


@pytest.mark.parametrize(
    "pointer",
    [b"", b".", b"..", b"/", b"gen-nowhere", b"../../docs", b"\xff\xfe", b"gen-\0", b"g" * 5000],
)
def test_a_pointer_to_nothing_or_to_elsewhere_is_replaced(root: Path, pointer: bytes) -> None:
    _rank(root)
    (root / ".codeplane" / "tantivy" / "current").write_bytes(pointer)
    with opened(root) as workspace:
        assert workspace.index._reconciler.lexical.size_bytes() == 0
        workspace.index.refresh()
        assert len(workspace.index.lexical_search("alpha", 5)) == 3
        assert len(list((root / ".codeplane" / "tantivy").glob("gen-*"))) == 1


def test_a_directory_in_the_place_of_the_pointer_is_replaced(root: Path) -> None:
    _rank(root)
    (root / ".codeplane" / "tantivy" / "current").unlink()
    write(root, {".codeplane/tantivy/current/file": "x"})
    with opened(root) as workspace:
        workspace.index.refresh()
        assert len(workspace.index.lexical_search("alpha", 5)) == 3


def test_a_generation_that_is_a_link_is_neither_used_nor_emptied(root: Path, tmp_path: Path) -> None:
    _rank(root)
    directory = root / ".codeplane" / "tantivy"
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(next(directory.glob("gen-*")), elsewhere)
    n_files = len(list(elsewhere.iterdir()))
    (directory / "gen-link").symlink_to(elsewhere)
    (directory / "current").write_text("gen-link", encoding="utf-8")
    write(root, {"new.py": "needle\n"})
    with opened(root) as workspace:
        workspace.index.refresh()
        assert [hit.path for hit in workspace.index.lexical_search("needle", 5)] == ["new.py"]
    assert len(list(elsewhere.iterdir())) == n_files
    assert not (directory / "gen-link").is_symlink()


@pytest.mark.parametrize("fields", [{"path": "epoch\0"}, {"path": "epoch\0", "epoch": "word"}, {"other": "x"}])
def test_a_ranked_index_of_another_schema_is_built_again(root: Path, fields: dict[str, str]) -> None:
    _rank(root)
    builder = tantivy.SchemaBuilder()
    for name in ("path", "epoch", "other"):
        builder.add_text_field(name, stored=True, tokenizer_name="raw", index_option="basic")
    directory = root / ".codeplane" / "tantivy" / "gen-other"
    directory.mkdir()
    writer = tantivy.Index(builder.build(), str(directory)).writer()
    writer.add_document(tantivy.Document(**fields))
    writer.commit()
    writer.wait_merging_threads()
    (directory.parent / "current").write_text("gen-other", encoding="utf-8")
    write(root, {"new.py": "alpha = 1\n"})
    with opened(root) as workspace:
        workspace.index.refresh()
        assert len(workspace.index.lexical_search("alpha", 9)) == 4


@pytest.mark.slow
def test_damaged_ranked_files_are_built_again_whatever_they_say(root: Path, tmp_path: Path) -> None:
    write(root, {f"w/w{number}.py": f"def word_{number}():\n    return alpha\n" for number in range(30)})
    _rank(root)
    shutil.copytree(root / ".codeplane", tmp_path / "kept")
    chance = random.Random("ranked")
    for _ in range(16):
        shutil.rmtree(root / ".codeplane")
        shutil.copytree(tmp_path / "kept", root / ".codeplane")
        victim = chance.choice(sorted((root / ".codeplane" / "tantivy").glob("gen-*/*.[a-z]*")))
        content = victim.read_bytes()
        damaged = [b"", content[: len(content) // 2], chance.randbytes(len(content)), content[:-3] + b"\0\0\0"]
        victim.write_bytes(chance.choice(damaged))
        with opened(root) as workspace:
            workspace.index.refresh()
            # Some damage is seen only while searching; it is said once, and the next question finds a new index.
            with suppress(CodePlaneError):
                workspace.index.lexical_search("alpha", 100)
            found = workspace.index.lexical_search("alpha", 100)
            assert len(found) == 33, victim.name


# Files that change while they are read.


def _change_while_reading(monkeypatch: pytest.MonkeyPatch, name: str, change: Callable[[], None]) -> None:
    """Let a file change once, after its first four bytes were read."""
    real_read, real_content = TreeReader.read, TreeReader._content
    reading: list[str] = []

    class Torn(FileIO):
        def read(self, size: int | None = -1, /) -> Any:
            if reading[-1] != name:
                return super().read(size)
            reading.append("done")
            start = super().read(4)
            change()
            return start

    def read(self: TreeReader, path: str) -> tuple[bytes | None, str]:
        if "done" not in reading:
            reading.append(path)
        return real_read(self, path)

    def content(self: TreeReader, file: FileIO, size: int) -> tuple[bytes | None, str]:
        with Torn(os.dup(file.fileno()), "rb") as torn:
            return real_content(self, torn, size)

    monkeypatch.setattr(TreeReader, "read", read)
    monkeypatch.setattr(TreeReader, "_content", content)


@pytest.mark.parametrize("change", ["replaced", "grown", "cut", "removed"])
def test_a_file_that_changes_while_it_is_read_is_right_at_the_next_question(
    indexed: Workspace, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    path = indexed.root / "p" / "torn.py"
    write(indexed.root, {"p/torn.py": "first_needle = 1\nsecond_needle = 2\n"})

    def act() -> None:
        if change == "replaced":
            (path.parent / "other").write_text("def other_needle():\n    pass\n", encoding="utf-8")
            (path.parent / "other").replace(path)
        elif change == "grown":
            with path.open("a", encoding="utf-8") as file:
                file.write("third_needle = 3\n" * 3)
        elif change == "cut":
            os.truncate(path, 2)
        else:
            path.unlink()

    _change_while_reading(monkeypatch, "p/torn.py", act)
    indexed.index.refresh()
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    expected = [("p/torn.py", number) for number, line in enumerate(text.split("\n"), start=1) if "needle" in line]
    assert lines(indexed, "needle") == expected
    survived = dump_facts(indexed)
    assert facts_of_cold_build(indexed.root) == survived


def test_a_file_that_never_stops_growing_is_read_up_to_the_limit(tmp_path: Path) -> None:
    class Endless(FileIO):
        def read(self, size: int | None = -1, /) -> Any:
            return b"x" * min(size or 0, 1000)

    (tmp_path / "file").write_bytes(b"x")
    with TreeReader(tmp_path, 10_000) as reader, Endless(tmp_path / "file", "rb") as endless:
        data, problem = reader._content(endless, 1)
        assert (len(data or b""), problem) == (10_001, "")


@pytest.mark.parametrize("becomes", ["directory", "fifo", "socket", "link", "link to a secret", "link out", "nothing"])
def test_a_file_that_became_something_else_since_it_was_listed_is_gone(
    indexed: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, becomes: str
) -> None:
    write(indexed.root, {"p/swapped.py": "needle = 1\n", ".env": "KEY=needle\n"})
    (tmp_path / "outside.py").write_text("needle = 1\n", encoding="utf-8")
    path = indexed.root / "p" / "swapped.py"

    def swap() -> None:
        path.unlink()
        if becomes == "directory":
            path.mkdir()
        elif becomes == "fifo":
            os.mkfifo(path)
        elif becomes == "socket":
            _make_socket(path)
        elif becomes.startswith("link"):
            targets = {"link": "a.py", "link to a secret": "../.env", "link out": f"{tmp_path}/outside.py"}
            path.symlink_to(targets[becomes])

    after_scan(monkeypatch, swap)
    assert lines(indexed, "needle") == []
    assert lines(indexed, "def alpha") == [("p/a.py", 1)]


def _make_socket(path: Path) -> None:
    # The path of a socket may have about a hundred bytes only.
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


def test_a_directory_that_became_a_link_since_it_was_listed_is_not_entered(
    indexed: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write(indexed.root, {"q/one.py": "x = 1\n"})
    write(tmp_path, {"outside/one.py": "needle = 1\n"})

    def swap() -> None:
        shutil.rmtree(indexed.root / "q")
        (indexed.root / "q").symlink_to(tmp_path / "outside")

    after_scan(monkeypatch, swap)
    assert lines(indexed, "needle") == []
    assert "q/one.py" not in indexed.index.state().files


def test_a_file_that_vanishes_while_it_is_listed_takes_no_other_with_it(
    indexed: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(indexed.root, {f"many/f{number}.py": "needle = 1\n" for number in range(20)})
    assert len(lines(indexed, "needle")) == 20
    real = os.lstat

    def lstat(location: str) -> os.stat_result:
        if str(location).endswith("many/f7.py"):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return real(location)

    monkeypatch.setattr(os, "lstat", lstat)
    assert len(lines(indexed, "needle")) == 19
    assert "many" not in left_out(indexed)


@pytest.mark.parametrize("error", [errno.EIO, errno.EMFILE, errno.ENOMEM])
def test_a_file_that_could_not_be_read_once_is_tried_again(
    root: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    real = TreeReader.read

    def read(self: TreeReader, path: str) -> tuple[bytes | None, str]:
        return (None, f"unreadable: {os.strerror(error)}") if path == "docs/guide.md" else real(self, path)

    # Otherwise the file is read again only because it was written a moment ago.
    monkeypatch.setattr(reconcile, "RACY_NS", -(10**18))
    with opened(root) as workspace:
        with monkeypatch.context() as patch:
            patch.setattr(TreeReader, "read", read)
            assert lines(workspace, "three") == []
            assert "unreadable" in workspace.index.state().files["docs/guide.md"].problem
        assert lines(workspace, "three") == [("docs/guide.md", 3)]


# What can stand in a tree.


def test_special_files_and_links_are_left_alone(indexed: Workspace, tmp_path: Path) -> None:
    write(tmp_path, {"outside/file.py": "needle = 1\n"})
    special = indexed.root / "special"
    special.mkdir()
    _make_socket(special / "socket")
    os.mkfifo(special / "fifo")
    (special / "loop").symlink_to("loop")
    (special / "up").symlink_to("..")
    (special / "out").symlink_to(tmp_path / "outside")
    (special / "file.py").symlink_to(tmp_path / "outside" / "file.py")
    (special / "dangling").symlink_to("nowhere")
    expected = {"special/socket", "special/fifo"}
    if os.geteuid() == 0:
        os.mknod(special / "zero", 0o666 | 0o020000, os.makedev(1, 5))
        expected.add("special/zero")
    assert lines(indexed, "needle") == []
    assert lines(indexed, "three") == [("docs/guide.md", 3)]
    assert {path for path, rule in left_out(indexed).items() if rule == "not a regular file"} == expected


def test_every_odd_name_is_indexed_or_named(indexed: Workspace) -> None:
    odd = [
        b"-rf", b"--help.py", b"new\nline.py", b"tab\t.py", b"bad\xff.py", b"x" * 255, b" space .py", b"'quote\".py",
        b"$(id).py", b"back\\slash.py", "\u202e.py".encode(), b"a:b.py", b"%2e%2e.py", b"*.py", b"[a].py", b"!a.py",
        b"#a.py",
    ]  # fmt: skip
    for name in odd:
        Path(os.fsdecode(os.fsencode(indexed.root) + b"/" + name)).write_bytes(b"needle = 1\n")
    found = {path for path, _ in lines(indexed, "needle")}
    named = {path for path, rule in left_out(indexed).items() if "not a repository path" in rule}
    assert found == {os.fsdecode(name) for name in odd} - {"new\nline.py", "tab\t.py", "bad\udcff.py", "back\\slash.py"}
    assert named == {"new\\x0aline.py", "tab\\x09.py", "bad\\xff.py", "back\\slash.py"}
    # The next process takes the decisions over.
    with opened(indexed.root) as other:
        assert {path for path, _ in lines(other, "needle")} == found
        assert {path for path, rule in left_out(other).items() if "not a repository path" in rule} == named


@pytest.mark.parametrize("directory", ["e\u0301", "\u00e9"])
@pytest.mark.parametrize("name", ["u\u0308.py", "\u00fc.py"])
def test_names_in_either_form_of_unicode_are_indexed(indexed: Workspace, directory: str, name: str) -> None:
    write(indexed.root, {f"{directory}/{name}": "needle = 1\n"})
    assert lines(indexed, "needle") == [("\u00e9/\u00fc.py", 1)]
    write(indexed.root, {f"{directory}/{name}": "x = 1\nneedle = 1\n"})
    assert lines(indexed, "needle") == [("\u00e9/\u00fc.py", 2)]


def test_two_names_that_are_one_path_are_not_mixed_up(indexed: Workspace) -> None:
    write(indexed.root, {"\u00e9.py": "composed = 1\n", "e\u0301.py": "decomposed = 1\n"})
    lines(indexed, "composed")
    # Some file systems take them for one name.
    are_two = {"\u00e9.py", "e\u0301.py"} <= {path.name for path in indexed.root.iterdir()}
    assert not are_two or any("\u0301" in path or "\u00e9" in path for path in left_out(indexed))


def test_a_change_of_case_only_is_a_rename(indexed: Workspace) -> None:
    (indexed.root / "p" / "a.py").rename(indexed.root / "p" / "A.py")
    report = indexed.index.refresh()
    assert report.renamed == (("p/a.py", "p/A.py"),)
    assert lines(indexed, "def alpha") == [("p/A.py", 1)]
    assert indexed.index.refresh().is_unchanged
    survived = dump_facts(indexed)
    assert facts_of_cold_build(indexed.root) == survived


def test_a_directory_becomes_a_file_and_a_directory_again(indexed: Workspace) -> None:
    place = indexed.root / "p"
    content = (place / "a.py").read_text(encoding="utf-8")
    before = dump_facts(indexed)
    for _ in range(2):
        shutil.rmtree(place)
        place.write_text("needle\n", encoding="utf-8")
        assert lines(indexed, "needle") == [("p", 1)]
        assert lines(indexed, "def alpha") == []
        place.unlink()
        write(indexed.root, FILES)
        assert lines(indexed, "def alpha") == [("p/a.py", 1)]
    assert (place / "a.py").read_text(encoding="utf-8") == content
    assert dump_facts(indexed) == before


def test_a_rebase_ends_with_the_facts_of_a_cold_build(indexed: Workspace) -> None:
    root = indexed.root
    git(root, "checkout", "-q", "-b", "topic")
    for number in range(3):
        write(root, {f"p/t{number}.py": f"from p.a import alpha\n\n\ndef t{number}():\n    return alpha()\n"})
        git(root, "add", "-A")
        git(root, "commit", "-qm", f"topic {number}")
    git(root, "checkout", "-q", "main")
    write(root, {"p/a.py": "# moved down\n" + str(FILES["p/a.py"])})
    git(root, "commit", "-qam", "main goes on")
    indexed.index.refresh()
    git(root, "rebase", "-q", "main", "topic")
    assert lines(indexed, "def alpha") == [("p/a.py", 2)]
    assert len(lines(indexed, "return alpha()")) == 4
    survived = dump_facts(indexed)
    assert facts_of_cold_build(root) == survived


@pytest.mark.parametrize(
    ("content", "needle", "expected"),
    [
        (b"\xef\xbb\xbfneedle = 1\n", "needle", [(1, 0)]),
        (b"a = 1\r\nneedle = 1\r\n", "needle", [(2, 0)]),
        (b"a = 1\rneedle = 1\r", "needle", [(1, 6)]),
        (b"x = 1\n" * 2000 + b"needle = '\0'\n", "needle", [(2001, 0)]),
        (b"needle", "needle", [(1, 0)]),
        (b"\n\n\nneedle\x0b\x0c\x1c\xc2\x85\xe2\x80\xa8needle\n", "needle", [(4, 0)]),
    ],
    ids=["byte order mark", "crlf", "lone cr", "late nul", "no newline", "odd separators"],
)
def test_lines_are_counted_as_git_counts_them(
    indexed: Workspace, content: bytes, needle: str, expected: list[tuple[int, int]]
) -> None:
    (indexed.root / "odd.py").write_bytes(content)
    indexed.index.refresh()
    for query in (TextQuery(needle), TextQuery(f"^.*?{needle}", is_regex=True)):
        found = list(find_lines(indexed.index.state(), query, None))
        assert [hit.line for hit in found] == [line for line, _ in expected]
    exact = find_lines(indexed.index.state(), TextQuery(needle, whole_word=True), None)
    assert [(hit.line, hit.column) for hit in exact] == expected


_DEEP: dict[str, bytes] = {
    "deep.py": b"def late(): pass\nx = " + b"(" * 5000 + b")" * 5000 + b"\n",
    "deep2.py": b"def late(): pass\nx = " + b"lambda: " * 5000 + b"1\n",
    "deep3.py": b"".join(b" " * number + b"class A:\n" for number in range(2500)) + b" " * 2500 + b"late = 1\n",
    "deep.js": b"function late() {}\nx = " + b"[" * 5000 + b"]" * 5000 + b"\n",
    "deep2.js": b"function f(){" * 5000 + b"}" * 5000 + b"\n",
    "deep.ts": b"function late() {}\nlet x: " + b"Array<" * 5000 + b"number" + b">" * 5000 + b"\n",
    "deep.tsx": b"function late() {}\nlet x = " + b"<a>" * 5000 + b"</a>" * 5000 + b"\n",
    "deep.go": b"package p\nfunc late() {}\nvar x = " + b"(" * 5000 + b"1" + b")" * 5000 + b"\n",
    "deep.rs": b"fn late() {}\nmod a { " * 5000 + b"}" * 5000 + b"\n",
    "Deep.java": b"class A { void late() {} " * 5000 + b"}" * 5000 + b"\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(_DEEP))
def test_deep_nesting_is_indexed_or_named_and_harms_no_other_file(root: Path, name: str) -> None:
    (root / name).write_bytes(_DEEP[name])
    with opened(root) as workspace:
        workspace.index.refresh()
        with workspace.index.facts() as reader:
            rows = reader.connection.execute("SELECT path, facts.problem FROM files JOIN facts USING (facts_id)")
            problems = dict(row for row in rows if row[0] == name)
        assert problems[name] in {"", parsing.TIMED_OUT, parsing.TOO_DEEP}
        door = Door(workspace, OPERATIONS)
        assert result_of(call(door, "search", {"query": "alpha", "mode": "references"}))["results"] != []


def test_a_file_whose_parsing_takes_too_long_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "TIME_LIMIT_S", -1.0)
    with opened(root) as workspace:
        door = Door(workspace, OPERATIONS)
        result = result_of(call(door, "search", {"query": "alpha", "mode": "definitions"}))
        assert result["results"] == []
        assert any("timed out" in reason for reason in result["not_searched"])
        assert len(result_of(call(door, "search", {"query": "def alpha"}))["results"]) == 1


def test_a_language_that_is_not_known_is_searched_as_text(indexed: Workspace) -> None:
    write(indexed.root, {"main.zig": "pub fn needle() void {}\n", "noext": "needle\n"})
    door = Door(indexed, OPERATIONS)
    assert len(result_of(call(door, "search", {"query": "needle"}))["results"]) == 2
    answer = call(door, "search", {"query": "needle", "mode": "definitions"})
    assert "indexed as text only" in answer.text()


def test_a_glob_of_many_stars_ends() -> None:
    assert not matcher_for("*a" * 12 + "*b")("a" * 200)


def test_kept_decisions_are_plain_data(indexed: Workspace) -> None:
    """What the next process takes over is read with `json`, whatever names the tree holds."""
    Path(os.fsdecode(os.fsencode(indexed.root) + b"/bad\xff\n.py")).write_bytes(b"x")
    indexed.index.refresh()
    with opened(indexed.root) as other:
        other.index.refresh()
        _, _, listings = json.loads(other.index.store.meta("scan"))
    shown = [one[0] for one in listings[""][1].values() if one and one[0].startswith("bad")]
    assert shown == ["bad\\xff\\x0a.py"]
