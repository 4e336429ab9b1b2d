"""Our commit-graph: git uses it, answers stay the same, and whatever is wrong with it, it is left alone."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from codeplane.core.paths import RepoPath
from codeplane.git import commit_graph
from codeplane.git.blame import read_blame
from codeplane.git.commit_graph import NO_GRAPH, CommitGraph
from codeplane.git.history import FileQuery, read_file_history
from codeplane.git.pathspecs import pathspecs
from codeplane.git.repository import find_repository, run_git
from codeplane.git.revisions import resolve
from support.repositories import git, make_repository, write


def _long_history(root: Path, n_commits: int = 12) -> Path:
    make_repository(root, {"a.txt": "0\n", "b.txt": "0\n"})
    for number in range(n_commits):
        write(root, {"b.txt" if number % 3 else "a.txt": f"new {number}\n"})
        git(root, "commit", "-qam", f"change {number}")
    return root


def _graph(root: Path) -> CommitGraph:
    return CommitGraph(find_repository(root), root.parent / "history")


def _file_of(root: Path) -> Path:
    return root.parent / "history" / "info" / "commit-graph"


def _history_of(root: Path, graph: CommitGraph, name: str = "a.txt") -> list[str]:
    found = read_file_history(
        find_repository(root), FileQuery(resolve(root, "HEAD"), RepoPath(name), 100, follow=False), graph.environment()
    )
    return [change.commit.oid for change in found]


def _plain(root: Path, name: str = "a.txt") -> list[str]:
    return git(root, "log", "--format=%H", "--", name).split()


def _asks_filters(root: Path, graph: CommitGraph, tmp_path: Path) -> bool:
    trace = tmp_path / "trace"
    trace.unlink(missing_ok=True)
    around = {**graph.environment(), "GIT_TRACE2_EVENT": str(trace)}
    assert run_git(root, "log", *pathspecs((RepoPath("a.txt"),)), environment=around).returncode == 0
    return '"definitely_not"' in trace.read_text(encoding="utf-8")


@pytest.mark.parametrize("place", ["plain", 'we:ird "name\\', "ä ö"])
def test_git_finds_changed_paths_without_comparing_trees(tmp_path: Path, place: str) -> None:
    root = _long_history(tmp_path / place / "r")
    graph = _graph(root)
    assert graph.environment() == NO_GRAPH
    assert not _asks_filters(root, graph, tmp_path)
    assert graph.make()
    assert _asks_filters(root, graph, tmp_path)
    assert _history_of(root, graph) == _plain(root)
    assert not (root / ".git" / "objects" / "info" / "commit-graph").exists()


def test_it_is_used_also_where_the_repository_has_one_without_changed_paths(tmp_path: Path) -> None:
    root = _long_history(tmp_path / "r")
    git(root, "commit-graph", "write", "--reachable")
    graph = _graph(root)
    assert graph.make()
    assert _asks_filters(root, graph, tmp_path)
    assert _history_of(root, graph) == _plain(root)


def test_blame_runs_no_converter_of_the_repository(tmp_path: Path) -> None:
    root = _long_history(tmp_path / "r")
    write(root, {".gitattributes": "a.txt diff=loud\n"})
    git(root, "add", ".gitattributes")
    git(root, "commit", "-qm", "attributes")
    git(root, "config", "diff.loud.textconv", f"touch {tmp_path}/ran; cat")
    assert read_blame(root, resolve(root, "HEAD"), RepoPath("a.txt"), (1, 9))
    assert not (tmp_path / "ran").exists()


def test_histories_that_went_on_or_were_rewritten_are_right(tmp_path: Path) -> None:
    root = _long_history(tmp_path / "r")
    graph = _graph(root)
    assert graph.make()
    write(root, {"a.txt": "new\n"})
    git(root, "commit", "-qam", "later")
    assert _history_of(root, graph) == _plain(root)
    git(root, "reset", "-q", "--hard", "HEAD~5")
    write(root, {"a.txt": "other\n"})
    git(root, "commit", "-qam", "instead")
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "-q", "--prune=now")
    assert _history_of(root, graph) == _plain(root)
    assert graph.make()
    assert _history_of(root, graph) == _plain(root)


def test_what_is_behind_is_made_anew_and_takes_over_what_was_known(tmp_path: Path) -> None:
    root = _long_history(tmp_path / "r")
    graph = _graph(root)
    assert graph.make()
    before = _file_of(root).stat().st_size
    write(root, {"a.txt": "new\n"})
    git(root, "commit", "-qam", "later")
    assert graph.make()
    assert _file_of(root).stat().st_size > before
    assert sorted(path.name for path in _file_of(root).parents[1].iterdir()) == ["info"]
    assert _history_of(root, graph) == _plain(root)


def _flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize(
    "damage",
    [_flip, lambda data: data[:-1], lambda data: data[:100], lambda _: b"", lambda _: b"CGPH", lambda _: b"not one"],
    ids=["one bit", "one byte short", "cut off", "empty", "head only", "something else"],
)
def test_a_damaged_one_is_not_used_and_is_made_again(
    tmp_path: Path, damage: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = _long_history(tmp_path / "r")
    assert _graph(root).make()
    data = _file_of(root).read_bytes()
    _file_of(root).unlink()
    _file_of(root).write_bytes(damage(data))
    graph = _graph(root)
    assert graph.environment() == NO_GRAPH
    assert _history_of(root, graph) == _plain(root)
    _freshened(graph, monkeypatch)
    assert _file_of(root).read_bytes() == data
    assert graph.environment() != NO_GRAPH


def _freshened(graph: CommitGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit_graph, "_DELAY_SECONDS", 0.0)
    graph.freshen()
    for thread in threading.enumerate():
        if thread.name == "codeplane-commit-graph":
            thread.join(60)


def test_one_that_is_damaged_while_it_is_used_is_noticed(tmp_path: Path) -> None:
    root = _long_history(tmp_path / "r")
    graph = _graph(root)
    assert graph.make()
    assert graph.environment() != NO_GRAPH
    data = _file_of(root).read_bytes()
    _file_of(root).unlink()
    _file_of(root).write_bytes(_flip(data))
    assert graph.environment() == NO_GRAPH
    _file_of(root).unlink()
    assert graph.environment() == NO_GRAPH


@pytest.mark.parametrize(("age", "is_made"), [(0, False), (3600, False), (2 * 86_400, True), (-3600, True)])
def test_one_of_yesterday_is_made_again(
    tmp_path: Path, age: int, is_made: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = _long_history(tmp_path / "r")
    assert _graph(root).make()
    then = time.time() - age
    os.utime(_file_of(root), (then, then))
    before = _file_of(root).stat().st_ino
    _freshened(_graph(root), monkeypatch)
    assert (_file_of(root).stat().st_ino != before) is is_made


def test_replaced_commits_are_those_that_git_shows(tmp_path: Path) -> None:
    root = _long_history(tmp_path / "r")
    graph = _graph(root)
    assert graph.make()
    git(root, "replace", "HEAD~1", "HEAD~4")
    assert _history_of(root, graph) == _plain(root)
    graph.make()
    assert _history_of(root, graph) == _plain(root)


def test_a_shallow_clone_ends_where_it_ends(tmp_path: Path) -> None:
    origin = _long_history(tmp_path / "origin" / "r")
    root = tmp_path / "r"
    git(tmp_path, "clone", "-q", "--depth=4", origin.as_uri(), str(root))
    graph = _graph(root)
    assert not graph.make()
    assert _history_of(root, graph, "b.txt") == _plain(root, "b.txt")
    git(root, "fetch", "-q", "--unshallow")
    assert graph.make()
    assert _history_of(root, graph) == _plain(root)


def test_a_partial_clone_fetches_nothing_for_it(tmp_path: Path) -> None:
    origin = _long_history(tmp_path / "origin" / "r")
    git(origin, "config", "uploadpack.allowFilter", "true")
    root = tmp_path / "r"
    git(tmp_path, "clone", "-q", "--filter=tree:0", "--no-checkout", origin.as_uri(), str(root))
    before = git(root, "count-objects", "-v")
    assert not _graph(root).make()
    assert git(root, "count-objects", "-v") == before


def test_a_person_can_switch_it_off(tmp_path: Path) -> None:
    root = _long_history(tmp_path / "r")
    assert _graph(root).make()
    git(root, "config", "core.commitGraph", "false")
    assert not _asks_filters(root, _graph(root), tmp_path)
    assert not _graph(root).make()


def test_a_repository_without_commits_has_none(tmp_path: Path) -> None:
    root = tmp_path / "r"
    root.mkdir()
    git(root, "init", "-q")
    assert not _graph(root).make()
    assert _graph(root).environment() == NO_GRAPH


def test_another_hash_is_no_hindrance(tmp_path: Path) -> None:
    root = tmp_path / "r"
    root.mkdir()
    git(root, "init", "-q", "--object-format=sha256")
    _long_history(root)
    graph = _graph(root)
    assert graph.make()
    assert _asks_filters(root, graph, tmp_path)
    assert _history_of(root, graph) == _plain(root)


def test_a_linked_worktree_and_borrowed_objects_are_found(tmp_path: Path) -> None:
    origin = _long_history(tmp_path / "origin" / "r")
    root = tmp_path / "r"
    git(tmp_path, "clone", "-q", "--shared", str(origin), str(root))
    (root / ".git" / "objects" / "info" / "alternates").write_text("../../../origin/r/.git/objects\n", "utf-8")
    git(root, "worktree", "add", "-q", str(tmp_path / "linked"))
    for tree in (root, tmp_path / "linked"):
        graph = CommitGraph(find_repository(tree), tmp_path / "history")
        assert graph.make()
        assert _asks_filters(tree, graph, tmp_path)
        assert _history_of(tree, graph) == _plain(tree)


def test_only_one_process_makes_it_and_a_leftover_does_not_stay_in_the_way(tmp_path: Path) -> None:
    root = _long_history(tmp_path / "r")
    making = _file_of(root).parents[1] / "making"
    (making / "info").mkdir(parents=True)
    (making / "info" / "commit-graph.lock").write_text("left by a process that was killed", "utf-8")
    assert not _graph(root).make()
    assert making.is_dir()
    os.utime(making, (0, 0))
    assert _graph(root).make()
    assert not making.exists()


def test_several_at_once_leave_one_that_is_whole(tmp_path: Path) -> None:
    root = _long_history(tmp_path / "r")
    threads = [threading.Thread(target=_graph(root).make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert _graph(root).environment() != NO_GRAPH
    assert _history_of(root, _graph(root)) == _plain(root)


def test_where_nothing_can_be_written_there_is_none(tmp_path: Path) -> None:
    root = _long_history(tmp_path / "r")
    (tmp_path / "history").write_text("a file where the directory would be", "utf-8")
    graph = _graph(root)
    assert not graph.make()
    assert graph.environment() == NO_GRAPH
    assert _history_of(root, graph) == _plain(root)


def test_closing_ends_what_is_being_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = _long_history(tmp_path / "r")
    slow = tmp_path / "bin" / "nice"
    write(tmp_path, {"bin/nice": '#!/bin/sh\ntouch "$0.began"\nsleep 60\n'})
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(commit_graph, "_DELAY_SECONDS", 0.0)
    graph = _graph(root)
    graph.freshen()
    while not slow.with_name("nice.began").exists():
        time.sleep(0.01)
    graph.close()
    assert not (_file_of(root).parents[1] / "making").exists()
    assert not _file_of(root).exists()
    graph.freshen()
    assert not any(thread.name == "codeplane-commit-graph" for thread in threading.enumerate())


def test_whoever_is_gone_soon_makes_none(tmp_path: Path) -> None:
    root = _long_history(tmp_path / "r")
    graph = _graph(root)
    graph.freshen()
    graph.close()
    assert not _file_of(root).parents[1].exists()


def test_a_process_that_lives_long_makes_it_again_but_not_with_every_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = _long_history(tmp_path / "r")
    graph = _graph(root)
    _freshened(graph, monkeypatch)
    first = _file_of(root).stat().st_ino
    os.utime(_file_of(root), (0, 0))
    _freshened(graph, monkeypatch)
    assert _file_of(root).stat().st_ino == first
    monkeypatch.setattr(commit_graph, "_AGAIN_SECONDS", 0.0)
    _freshened(graph, monkeypatch)
    assert _file_of(root).stat().st_ino != first
