"""The index follows the files: what changed is seen, what did not costs nothing, damage heals and is said."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from codeplane.core.clock import SystemClock
from codeplane.core.errors import CodePlaneError
from codeplane.core.ids import RandomIds
from codeplane.index.repository_index import RepositoryIndex
from codeplane.index.sweep import Sweep
from codeplane.index.text_search import TextQuery, find_lines
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace
from support.repositories import git, write


@pytest.fixture
def indexed(repo: Path) -> Iterator[Workspace]:
    with _open(repo) as workspace:
        workspace.index.refresh()
        yield workspace


def _open(root: Path) -> Workspace:
    return open_workspace(WorkspaceRequest(root, (), SystemClock(), RandomIds()))


def _lines(index: RepositoryIndex, text: str) -> list[tuple[str, int]]:
    index.refresh()
    return [(hit.path, hit.line) for hit in find_lines(index.state(), TextQuery(text), None)]


def test_the_first_update_indexes_every_file(repo: Path) -> None:
    with _open(repo) as workspace:
        report = workspace.index.refresh()
        assert (report.epoch, set(report.added)) == (1, {"README.md", "src/app.py", "src/pkg/mod.py", "docs/guide.md"})


def test_nothing_changed_keeps_the_epoch(indexed: Workspace) -> None:
    report = indexed.index.refresh()
    assert (report.is_unchanged, report.epoch) == (True, 1)


def test_a_touched_file_is_not_a_change(indexed: Workspace) -> None:
    os.utime(indexed.root / "README.md", ns=(1, 1))
    report = indexed.index.refresh()
    assert (report.is_unchanged, report.epoch) == (True, 1)


def test_a_change_of_the_same_size_and_time_is_seen(indexed: Workspace) -> None:
    path = indexed.root / "docs" / "guide.md"
    before = path.stat()
    path.write_text("one\ntwo\nTHREE\n"[: before.st_size], encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert _lines(indexed.index, "THREE") == [("docs/guide.md", 3)]


def test_added_changed_and_removed_files_are_told_apart(indexed: Workspace) -> None:
    write(indexed.root, {"new.py": "x = 1\n", "README.md": "other\n"})
    (indexed.root / "docs" / "guide.md").unlink()
    report = indexed.index.refresh()
    assert (report.added, report.changed, report.removed) == (("new.py",), ("README.md",), ("docs/guide.md",))


def test_a_moved_file_is_told_as_renamed(indexed: Workspace) -> None:
    (indexed.root / "docs" / "guide.md").rename(indexed.root / "docs" / "manual.md")
    assert indexed.index.refresh().renamed == (("docs/guide.md", "docs/manual.md"),)


def test_a_changed_ignore_file_takes_files_out_and_in_again(indexed: Workspace) -> None:
    write(indexed.root, {".cplignore": "docs/\n"})
    assert _lines(indexed.index, "three") == []
    write(indexed.root, {".cplignore": "other/\n"})
    assert _lines(indexed.index, "three") == [("docs/guide.md", 3)]


def test_a_directory_that_becomes_tracked_is_no_longer_left_out(indexed: Workspace) -> None:
    write(indexed.root, {"build/tool.py": "needle = 1\n"})
    assert _lines(indexed.index, "needle") == []
    git(indexed.root, "add", "-f", "build/tool.py")
    assert _lines(indexed.index, "needle") == [("build/tool.py", 1)]


def test_switching_branches_back_and_forth_adds_no_text_twice(indexed: Workspace) -> None:
    git(indexed.root, "checkout", "-q", "-b", "other")
    write(indexed.root, {"src/app.py": "other = 1\n"})
    git(indexed.root, "commit", "-qam", "other")
    indexed.index.refresh()
    size = indexed.index.store.pack_size()
    git(indexed.root, "checkout", "-q", "-")
    indexed.index.refresh()
    git(indexed.root, "checkout", "-q", "other")
    assert _lines(indexed.index, "other = 1") == [("src/app.py", 1)]
    assert indexed.index.store.pack_size() == size


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"\x89PNG\0\0", "binary"), (b"caf\xe9\n", "not utf-8"), ("hi".encode("utf-16"), "utf-16")],
)
def test_a_file_whose_text_is_not_indexed_says_why(indexed: Workspace, content: bytes, problem: str) -> None:
    (indexed.root / "odd.dat").write_bytes(content)
    indexed.index.refresh()
    assert indexed.index.state().files["odd.dat"].problem == problem


def test_a_fifo_is_left_out_and_said(indexed: Workspace) -> None:
    os.mkfifo(indexed.root / "pipe")
    indexed.index.refresh()
    assert ("pipe", "not a regular file") in {(item.path, item.rule) for item in indexed.index.state().left_out}


def test_a_symlink_is_not_followed(indexed: Workspace) -> None:
    (indexed.root / "loop").symlink_to(".")
    assert _lines(indexed.index, "three") == [("docs/guide.md", 3)]


@pytest.mark.parametrize("damage", ["garbage", "empty pack", "no pack", "no database", "cut pages"])
def test_a_damaged_index_heals_itself(repo: Path, damage: str) -> None:
    with _open(repo) as workspace:
        workspace.index.refresh()
        private = workspace.places.private
    _damage(private, damage)
    with _open(repo) as workspace:
        assert _lines(workspace.index, "three") == [("docs/guide.md", 3)]
        assert bool(workspace.index.store.healed) == (damage != "no database")


def _damage(private: Path, damage: str) -> None:
    database, pack = private / "index.db", next(private.glob("text-*.pack"))
    if damage == "garbage":
        database.write_bytes(b"garbage" * 1000)
    elif damage == "empty pack":
        pack.write_bytes(b"")
    elif damage == "no pack":
        pack.unlink()
    elif damage == "no database":
        database.unlink()
    else:
        content = database.read_bytes()
        database.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))


def test_calls_that_arrive_together_share_sweeps(indexed: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    sweeper = indexed.index._reconciler._sweeper
    swept: list[int] = []
    started = threading.Barrier(9)
    sweep = sweeper.sweep

    def counted() -> Sweep:
        swept.append(1)
        return sweep()

    monkeypatch.setattr(sweeper, "sweep", counted)

    def call() -> None:
        started.wait()
        indexed.index.refresh()

    with indexed.index._reconciler._running, ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(call) for _ in range(8)]
        started.wait()
        # All eight wait for the update that is under way; whatever they then get began after they arrived.
        indexed.index._reconciler._running.release()
        for future in futures:
            future.result()
        indexed.index._reconciler._running.acquire()
    assert 1 <= len(swept) < 8


def test_another_process_that_published_is_noticed(indexed: Workspace) -> None:
    write(indexed.root, {"new.py": "needle\n"})
    with _open(indexed.root) as other:
        other.index.refresh()
    assert _lines(indexed.index, "needle") == [("new.py", 1)]


_CHILD = """
import os, signal, sys
from pathlib import Path
from codeplane.index import reconcile, structure, update
from codeplane.index.linking import update as linking
from codeplane.index.text_pack import PackWriter
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace
left = int(sys.argv[2])
def dying(function):
    def call(*arguments):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments)
    return call
PackWriter.append = dying(PackWriter.append)
update.write_files = dying(update.write_files)
update.extract_here = dying(update.extract_here)
structure.assign_units = dying(structure.assign_units)
structure.definition_entries = dying(structure.definition_entries)
structure.write_meta = dying(structure.write_meta)
linking.encode_resolution = dying(linking.encode_resolution)
linking.forget_links = dying(linking.forget_links)
reconcile.write_meta = dying(reconcile.write_meta)
open_workspace(WorkspaceRequest(Path(sys.argv[1]))).index.refresh()
"""


@pytest.mark.slow
@pytest.mark.parametrize("steps", range(10))
def test_a_build_that_was_killed_is_completed_by_the_next(repo: Path, steps: int) -> None:
    died = subprocess.run([sys.executable, "-c", _CHILD, str(repo), str(steps)], check=False, timeout=60)
    with _open(repo) as workspace:
        assert _lines(workspace.index, "three") == [("docs/guide.md", 3)]
        assert len(workspace.index.state().files) == 4
    assert died.returncode == (-signal.SIGKILL)


def test_a_full_disk_keeps_the_old_epoch(indexed: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    write(indexed.root, {"new.py": "needle\n"})

    def full(*_arguments: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("codeplane.index.update.write_files", full)
        with pytest.raises(CodePlaneError, match="full"):
            indexed.index.refresh()
    assert indexed.index.store.epoch() == 1
    assert _lines(indexed.index, "needle") == [("new.py", 1)]


def test_the_next_process_decides_no_path_again(indexed: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    write(indexed.root, {"build/out.txt": "x\n", ".env": "x\n"})
    indexed.index.refresh()
    left_out = indexed.index.state().left_out
    with _open(indexed.root) as other:
        decided: list[str] = []
        monkeypatch.setattr(
            "codeplane.index.sweep.Sweeper._decide", lambda _self, name, *_rest, **_more: decided.append(name)
        )
        other.index.refresh()
        assert (decided, other.index.state().left_out) == ([], left_out)


def test_an_ignore_file_that_changed_between_processes_is_seen(indexed: Workspace) -> None:
    write(indexed.root, {".cplignore": "docs/\n"})
    with _open(indexed.root) as other:
        assert _lines(other.index, "three") == []


def test_an_index_removed_under_a_running_process_is_built_again(indexed: Workspace) -> None:
    for path in [*indexed.places.private.glob("index.db*"), *indexed.places.private.glob("text-*.pack")]:
        path.unlink()
    write(indexed.root, {"new.py": "needle\n"})
    assert _lines(indexed.index, "needle") == [("new.py", 1)]
    assert _lines(indexed.index, "three") == [("docs/guide.md", 3)]


def test_an_index_replaced_by_another_process_is_taken_as_it_is(indexed: Workspace) -> None:
    for path in [*indexed.places.private.glob("index.db*"), *indexed.places.private.glob("text-*.pack")]:
        path.unlink()
    with _open(indexed.root) as other:
        other.index.refresh()
        write(indexed.root, {"new.py": "needle\n"})
        assert _lines(indexed.index, "needle") == [("new.py", 1)]
        assert _lines(other.index, "needle") == [("new.py", 1)]


def test_an_old_state_never_reads_the_text_of_another_index(indexed: Workspace) -> None:
    state = indexed.index.state()
    for path in [*indexed.places.private.glob("index.db*"), *indexed.places.private.glob("text-*.pack")]:
        path.unlink()
    write(indexed.root, {"aaa.py": "other text first\n" * 50})
    with _open(indexed.root) as other:
        other.index.refresh()
        with pytest.raises(CodePlaneError, match="cannot be read"):
            list(find_lines(state, TextQuery("three"), None))
