"""A server brings its index up to date beside everything else."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from codeplane.core.errors import CodePlaneError
from codeplane.surfaces.server.indexing import BackgroundIndexing
from codeplane.workspace.workspace import Workspace
from support.doors import open_test_workspace

Progress = Callable[[int, int], None]


@pytest.fixture
def workspace(repo: Path) -> Iterator[Workspace]:
    with open_test_workspace(repo) as opened:
        yield opened


def test_it_begins_once_however_often_it_is_told_to(workspace: Workspace) -> None:
    indexing = BackgroundIndexing(workspace)
    for _ in range(3):
        indexing.start()
    assert indexing.wait() is None
    assert workspace.index.n_refreshes == 1


def test_one_that_is_stopped_before_it_began_never_begins(workspace: Workspace) -> None:
    indexing = BackgroundIndexing(workspace)
    indexing.stop()
    indexing.start()
    assert indexing.wait() is None
    assert workspace.index_epoch() is None


def test_one_that_is_stopped_on_its_way_ends_without_complaint(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_begun, is_stopped = threading.Event(), threading.Event()

    def refresh(progress: Progress) -> None:
        has_begun.set()
        assert is_stopped.wait(30)
        progress(1, 2)
        raise AssertionError("it goes on although it was stopped")

    monkeypatch.setattr(workspace, "refresh_index", refresh)
    indexing = BackgroundIndexing(workspace)
    indexing.start()
    assert has_begun.wait(30)
    indexing.stop()
    is_stopped.set()
    assert indexing.wait() is None


def test_an_update_that_a_call_waits_for_is_not_stopped(workspace: Workspace) -> None:
    indexing = BackgroundIndexing(workspace)
    indexing.stop()
    indexing._tell(600, 1000)
    assert indexing._last_step == 60


def test_what_goes_wrong_is_told(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refresh(_progress: Progress) -> None:
        raise CodePlaneError("DISK_FULL", "No room is left.")

    monkeypatch.setattr(workspace, "refresh_index", refresh)
    indexing = BackgroundIndexing(workspace)
    indexing.start()
    error = indexing.wait()
    assert error is not None
    assert error.code == "DISK_FULL"
