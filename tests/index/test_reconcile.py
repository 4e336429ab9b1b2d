"""The index follows the files: what changed is seen, what did not costs nothing, damage heals and is said."""

import os
import shutil
import signal
import sqlite3
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from codeplane.core.clock import SystemClock
from codeplane.core.errors import CodePlaneError
from codeplane.core.ids import RandomIds
from codeplane.index import reconcile
from codeplane.index.facts.encoded import EncodedFacts, encode_facts
from codeplane.index.repository_index import RepositoryIndex
from codeplane.index.scan import Scan, Tree, scan
from codeplane.index.text_search import TextQuery, find_lines
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.dispatch import dispatch
from codeplane.operations.perform import Door
from codeplane.surfaces.cli.call_command import cli_caller
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace
from index.facts_dump import dump_facts
from support.forks import run_forked
from support.repositories import git, make_repository, write


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


def test_calls_that_arrive_together_share_scans(indexed: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    scanned: list[int] = []
    started = threading.Barrier(9)

    def counted(tree: Tree, before: Scan | None) -> Scan:
        scanned.append(1)
        return scan(tree, before)

    monkeypatch.setattr(reconcile, "scan", counted)

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
    assert 1 <= len(scanned) < 8


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
update._row = dying(update._row)
update.encode_facts = dying(update.encode_facts)
structure.assign_units = dying(structure.assign_units)
structure.named_definitions = dying(structure.named_definitions)
structure.write_meta = dying(structure.write_meta)
linking.encode_resolution = dying(linking.encode_resolution)
linking.forget_links = dying(linking.forget_links)
reconcile.write_meta = dying(reconcile.write_meta)
open_workspace(WorkspaceRequest(Path(sys.argv[1]))).index.refresh()
"""


@pytest.mark.slow
@pytest.mark.parametrize("steps", range(10))
def test_a_build_that_was_killed_is_completed_by_the_next(repo: Path, steps: int) -> None:
    died = run_forked([sys.executable, "-c", _CHILD, str(repo), str(steps)])
    with _open(repo) as workspace:
        assert _lines(workspace.index, "three") == [("docs/guide.md", 3)]
        assert len(workspace.index.state().files) == 4
    assert died.returncode == (-signal.SIGKILL)


def test_a_full_disk_keeps_the_old_epoch(indexed: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    write(indexed.root, {"new.py": "needle\n"})

    def full(*_arguments: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("codeplane.index.update._row", full)
        with pytest.raises(CodePlaneError, match="full"):
            indexed.index.refresh()
    assert indexed.index.store.epoch() == 1
    assert _lines(indexed.index, "needle") == [("new.py", 1)]


def test_the_next_process_decides_no_path_again(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repo, {"build/out.txt": "x\n", ".env": "x\n"})
    with _open(repo) as first:
        first.index.refresh()
        left_out = first.index.state().left_out
    with _open(repo) as other:
        decided: list[str] = []
        monkeypatch.setattr("codeplane.index.scan._decide", lambda _root, name, *_rest, **_more: decided.append(name))
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


def test_files_of_a_checked_out_submodule_are_indexed_and_follow_its_head(repo: Path, tmp_path: Path) -> None:
    inner = make_repository(tmp_path / "inner", {"build/tracked.py": "marked_inside = 1\n"})
    git(repo, "submodule", "--quiet", "add", str(inner), "vendor/sub")
    with _open(repo) as workspace:
        assert _lines(workspace.index, "marked_inside") == [("vendor/sub/build/tracked.py", 1)]
        write(inner, {"build/tracked.py": "\nmarked_inside = 2\n"})
        git(inner, "commit", "--quiet", "-am", "later")
        git(repo / "vendor/sub", "pull", "--quiet", str(inner), "main")
        assert _lines(workspace.index, "marked_inside") == [("vendor/sub/build/tracked.py", 2)]
        git(repo, "submodule", "--quiet", "deinit", "--force", "vendor/sub")
        assert _lines(workspace.index, "marked_inside") == []


def test_what_git_begins_to_track_is_seen_at_once(indexed: Workspace) -> None:
    write(indexed.root, {"build/made.py": "hidden_here = 1\n"})
    assert _lines(indexed.index, "hidden_here") == []
    git(indexed.root, "add", "--force", "build/made.py")
    assert _lines(indexed.index, "hidden_here") == [("build/made.py", 1)]
    with _open(indexed.root) as later:
        assert _lines(later.index, "hidden_here") == [("build/made.py", 1)]
    git(indexed.root, "rm", "--quiet", "--cached", "build/made.py")
    with _open(indexed.root) as last:
        assert _lines(last.index, "hidden_here") == []
    assert _lines(indexed.index, "hidden_here") == []


def test_epochs_of_a_deleted_index_go_on_above_the_last_one_in_the_ledger(repo: Path) -> None:
    with _open(repo) as workspace:
        door = Door(workspace, OPERATIONS)
        for number in range(3):
            write(repo, {"src/app.py": f"x = {number}\n"})
            answer = dispatch(door, "search", {"query": "x"}, cli_caller(workspace))
        assert answer.meta.index_epoch == 3
    shutil.rmtree(repo / ".codeplane" / "tantivy", ignore_errors=True)
    for path in (repo / ".codeplane").glob("index.db*"):
        path.unlink()
    with _open(repo) as workspace:
        assert workspace.index.refresh().epoch == 4


def test_a_new_worktree_begins_with_the_index_of_the_main_tree(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _open(repo) as workspace:
        workspace.index.refresh()
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "side")
    write(tmp_path / "linked", {"src/app.py": "only_here = 1\n"})
    extracted = []

    def spy(source: bytes, dialect: str, *_known: object) -> EncodedFacts | None:
        extracted.append(source)
        return encode_facts(source, dialect)

    monkeypatch.setattr("codeplane.index.update.encode_facts", spy)
    with _open(tmp_path / "linked") as linked:
        report = linked.index.refresh()
        assert (linked.index.was_seeded, report.changed, report.added) == (True, ("src/app.py",), ())
        assert extracted == [b"only_here = 1\n"]
        assert _lines(linked.index, "only_here") == [("src/app.py", 1)]
        assert linked.index.lexical_search("only_here", 5)[0].path == "src/app.py"
        seeded = dump_facts(linked)
    with _open(repo) as workspace:
        assert _lines(workspace.index, "only_here") == []
    shutil.rmtree(tmp_path / "linked" / ".codeplane")
    for path in (repo / ".codeplane").glob("index.db*"):
        path.unlink()
    with _open(tmp_path / "linked") as cold:
        cold.index.refresh()
        assert not cold.index.was_seeded
        assert dump_facts(cold) == seeded


@pytest.mark.parametrize("damage", ["cut pack", "no pack", "no database", "broken ranked text"])
def test_a_worktree_whose_main_tree_has_a_damaged_index_builds_its_own(repo: Path, tmp_path: Path, damage: str) -> None:
    with _open(repo) as workspace:
        workspace.index.refresh()
    private = repo / ".codeplane"
    pack = next(private.glob("text-*.pack"))
    if damage == "cut pack":
        pack.write_bytes(pack.read_bytes()[:-5])
    elif damage == "no pack":
        pack.unlink()
    elif damage == "no database":
        (private / "index.db").write_bytes(b"not a database")
    else:
        for path in (private / "tantivy").rglob("*.idx"):
            # Not in place: the file may still be mapped.
            path.unlink()
            path.write_bytes(b"")
    git(repo, "worktree", "add", "--quiet", str(tmp_path / "linked"), "-b", "side")
    with _open(tmp_path / "linked") as linked:
        linked.index.refresh()
        assert _lines(linked.index, "line_7 =") == [("src/app.py", 7)]
        assert linked.index.lexical_search("line_7", 5)


def test_an_index_of_mostly_unused_text_is_built_again(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with _open(repo) as workspace:
        workspace.index.refresh()
        cold_size = workspace.index.state().pack_size
        for number in range(8):
            write(repo, {"src/app.py": f"value_{number} = 0\n" * 20})
            workspace.index.refresh()
        grown = dump_facts(workspace)
    monkeypatch.setattr("codeplane.index.index_store.MAX_UNUSED_BYTES", 0)
    with _open(repo) as workspace:
        report = workspace.index.refresh()
        assert (report.epoch, "no longer in use" in report.healed) == (10, True)
        assert workspace.index.state().pack_size <= cold_size
        assert dump_facts(workspace) == grown


@pytest.mark.parametrize(
    "kept",
    [
        "",
        "nonsense",
        "[]",
        '[["", ""], {}, []]',
        '[["", ""], {}, {"src/": [1, 2]}]',
        '[["", ""], {}, {"src/": ["x", {}, false]}]',
        '[["", ""], {}, {"none/": null}]',
        '[["", ""], {"a": 1}, {}]',
        '[["overlay", ""], {}, {"x/y/": [[1, 2, 3, 4, 5, 6], {"f.py": 0}, false]}]',
        '[["overlay", ""], {}, {"../": [null, {"f.py": 0}, false]}]',
        '[["overlay", ""], {}, {"src/": [null, {"../f.py": 0}, false]}]',
        '[["overlay", ""], {}, {"src/": [null, {"..": [1]}, false]}]',
    ],
)
def test_a_kept_scan_that_makes_no_sense_hides_nothing(tmp_path: Path, kept: str) -> None:
    root = make_repository(tmp_path / "repo", {"src/a.py": "x = 1\n", "left.pyc": b"\0"})
    with open_workspace(WorkspaceRequest(root)) as workspace:
        workspace.index.refresh()
        workspace.index.store.set_meta({"scan": kept})
    write(root, {"src/b.py": "y = 1\n"})
    with open_workspace(WorkspaceRequest(root)) as workspace:
        workspace.index.refresh()
        assert {"src/a.py", "src/b.py"} <= workspace.index.state().files.keys()


def test_a_file_that_comes_between_two_processes_is_found(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repo", {"src/deep/a.py": "x = 1\n", "other/b.py": "y = 1\n"})
    for number in range(3):
        with open_workspace(WorkspaceRequest(root)) as workspace:
            # As if the directories had been as they are for long, so that they are trusted.
            reconciler = workspace.index._reconciler
            reconciler._tree = replace(reconciler._tree, now_ns=lambda: 1 << 62)
            workspace.index.refresh()
            assert len(workspace.index.state().files) >= 2 + 2 * number
        write(root, {f"src/deep/n{number}.py": "z = 1\n", f"new{number}/c.py": "w = 1\n"})
