"""A server that is told to end in the middle of edits: calls are answered, batches are whole, rows are complete."""

import fcntl
import http.client
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.hashing import sha256_bytes, sha256_text
from codeplane.ledger.chain import FINAL_KINDS, LedgerRow, RowFilter
from codeplane.workspace.places import UserPlaces
from codeplane.workspace.workspace import WorkspaceRequest, open_workspace
from surfaces.support_processes import (
    DEADLINE_SECONDS,
    HttpPeer,
    RawPeer,
    Sandbox,
    UpServer,
    error_of,
    make_repo,
    stdio_peer,
    up,
    wait_until,
)

pytestmark = pytest.mark.slow

N_ROUNDS = 4 * int(os.environ.get("CODEPLANE_SOAK", "1"))
N_CLIENTS = 3
N_FILES = 20
# `cpl` that waits at one place until it is released: where the third file of a batch gets its name, or where an
# update of the index begins to write.
_HELD = """
import os, sys, time
from itertools import count
from pathlib import Path
from codeplane.edit.disk import Disk
from codeplane.index.reconcile import Reconciler
from codeplane.surfaces import entry

marks, numbers = Path(os.environ["MARKS"]), count(1)
holder, name, number = {"putting": (Disk, "exchange", 3), "indexing": (Reconciler, "_apply", 1)}[os.environ["HELD"]]
real = getattr(holder, name)

def held(*arguments):
    if next(numbers) == number:
        (marks / "held").touch()
        deadline = time.monotonic() + 60
        while not (marks / "release").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
    return real(*arguments)

setattr(holder, name, held)
sys.argv[0] = "cpl"
sys.exit(entry.main())
"""
HELD_CPL = (sys.executable, "-c", _HELD)


@pytest.fixture
def edited(sandbox: Sandbox, tmp_path: Path) -> Path:
    """Return a repository with as many directories of files as there are clients."""
    files = {f"c{client}/f{n}.txt": "version 0\n" for client in range(N_CLIENTS) for n in range(N_FILES)}
    return make_repo(sandbox, tmp_path / "edited", files)


def batch(client: int, version: int) -> dict[str, Any]:
    """Return the call that brings one client's files from a version to the next."""
    old, new = f"version {version}\n", f"version {version + 1}\n"
    paths = [f"c{client}/f{number}.txt" for number in range(N_FILES)]
    return {"edits": [{"path": path, "expected_content": old, "new_content": new} for path in paths]}


def versions(root: Path, client: int = 0) -> list[int]:
    """Return which versions the files of one client have; nothing but these files may be there."""
    found = list((root / f"c{client}").iterdir())
    assert len(found) == N_FILES, found
    return sorted({int(path.read_text().split()[1]) for path in found})


@contextmanager
def rows_of(sandbox: Sandbox, root: Path) -> Iterator[tuple[LedgerRow, ...]]:
    """Give the rows of edits, oldest first, when no server runs; nothing is recovered by that."""
    user = UserPlaces(sandbox.home / "config" / "codeplane", sandbox.home / "state" / "codeplane", sandbox.run)
    with open_workspace(WorkspaceRequest(root, user=user)) as workspace:
        assert workspace.chain.open_calls() == ()
        assert workspace.chain.verify().first_bad_seq is None
        assert list(workspace.editor.records.unfinished()) == []
        kinds = ("begun", *FINAL_KINDS)
        rows = workspace.chain.rows(RowFilter(kinds=kinds, operation="write_source", limit=100_000))
        yield tuple(reversed(rows))


@dataclass(slots=True)
class Client:
    """One client that edits until it is cut off or refused.

    Invariant: `version` is the newest one that was acknowledged.
    """

    number: int
    version: int = 0
    refusals: list[str] = field(default_factory=list)
    lost: int = 0

    def edit(self, peer: RawPeer, barrier: threading.Barrier) -> None:
        barrier.wait(DEADLINE_SECONDS)
        while True:
            try:
                answer = peer.call("write_source", batch(self.number, self.version))
            except (OSError, http.client.HTTPException, ValueError, AssertionError):
                # The server has closed its doors.
                self.lost += 1
                return
            if answer["isError"]:
                self.refusals.append(error_of(answer))
                return
            self.version += 1


def test_sigterm_at_any_instant_leaves_whole_batches_complete_rows_and_answered_calls(
    sandbox: Sandbox, edited: Path, record_property: Callable[[str, object], None]
) -> None:
    clients = [Client(number) for number in range(N_CLIENTS)]
    chance = random.Random(4)
    for number in range(N_ROUNDS):
        with up(sandbox, edited) as server:
            code = _stop_while_editing(server, clients, (number + chance.random()) / N_ROUNDS * 0.5)
        assert code == 0
        assert [path for path in edited.rglob(".cpl-staged-*") if ".codeplane" not in path.parts] == []
        # No server has started since: nothing was left to recovery.
        assert [versions(edited, one.number) for one in clients] == [[one.version] for one in clients]
        with rows_of(sandbox, edited) as rows:
            _check_rows(rows, clients, edited)
    refusals = Counter(code for one in clients for code in one.refusals)
    record_property("ended", {**refusals, "lost": sum(one.lost for one in clients)})
    assert set(refusals) <= {"SERVER_SHUTTING_DOWN"}
    # Otherwise no call was in flight, and nothing was shown.
    assert refusals["SERVER_SHUTTING_DOWN"] >= N_ROUNDS


def _stop_while_editing(server: UpServer, clients: list[Client], after_seconds: float) -> int:
    barrier = threading.Barrier(N_CLIENTS + 1)
    threads = []
    for one in clients:
        peer = HttpPeer(server.port)
        peer.initialize()
        threads.append(threading.Thread(target=one.edit, args=(peer, barrier), daemon=True))
        threads[-1].start()
    barrier.wait(DEADLINE_SECONDS)
    # The instant is what is tried; nothing depends on how far the batches came.
    time.sleep(after_seconds)
    code = server.stop(signal.SIGTERM)
    for thread in threads:
        thread.join(DEADLINE_SECONDS)
    assert not any(thread.is_alive() for thread in threads)
    return code


def _check_rows(rows: tuple[LedgerRow, ...], clients: list[Client], root: Path) -> None:
    begun = Counter(row.call_id for row in rows if row.kind == "begun")
    ended = Counter(row.call_id for row in rows if row.kind != "begun" and row.call_id in begun)
    finished = [row for row in rows if row.kind == "finished"]
    assert begun == ended
    for one in clients:
        path = f"c{one.number}/f0.txt"
        told = [row.body["after"][path] for row in finished if path in row.body["after"]]
        assert told == [sha256_bytes(f"version {number}\n".encode()) for number in range(1, one.version + 1)]
    records = sorted(path.name for path in (root / ".codeplane" / "undo").glob("*"))
    assert records == sorted(f"{row.call_id}.done" for row in finished)


def _in_background(peer: RawPeer) -> tuple[threading.Thread, list[str]]:
    errors: list[str] = []

    def call() -> None:
        try:
            errors.append(error_of(peer.call("write_source", batch(0, 0))))
        except (OSError, http.client.HTTPException, ValueError, AssertionError) as error:
            errors.append(repr(error))

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    return thread, errors


def test_a_batch_that_is_being_put_in_place_at_sigterm_is_taken_back_and_answered(
    sandbox: Sandbox, edited: Path, tmp_path: Path
) -> None:
    with up(sandbox, edited, program=HELD_CPL, env={"MARKS": str(tmp_path), "HELD": "putting"}) as server:
        peer = HttpPeer(server.port)
        peer.initialize()
        thread, errors = _in_background(peer)
        wait_until((tmp_path / "held").exists, "two files are in place")
        assert versions_in_the_middle(edited) == [0, 1]
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: server.get("/ready").status == 503, "the server refuses new work")
        (tmp_path / "release").touch()
        code = server.process.wait(DEADLINE_SECONDS)
        thread.join(DEADLINE_SECONDS)

    assert (code, errors, versions(edited)) == (0, ["SERVER_SHUTTING_DOWN"], [0])
    with rows_of(sandbox, edited) as rows:
        assert [(row.kind, row.body.get("error")) for row in rows] == [
            ("begun", None), ("failed", "SERVER_SHUTTING_DOWN"),
        ]  # fmt: skip


def versions_in_the_middle(root: Path) -> list[int]:
    """Return the versions of the files, whatever else lies beside them."""
    return sorted({int(path.read_text().split()[1]) for path in (root / "c0").glob("f*.txt")})


@pytest.mark.parametrize("kind", ["up", "mcp"])
def test_a_change_that_only_waits_for_its_files_at_sigterm_ends_at_once(
    sandbox: Sandbox, edited: Path, kind: str
) -> None:
    """The lock of one of its files is held by another process, for longer than the server would wait."""
    with _serving(sandbox, edited, kind) as (process, peer), _locked(edited, "c0/f7.txt"):
        thread, errors = _in_background(peer)
        wait_until(lambda: _has_begun(sandbox, edited), "the call has begun")
        process.send_signal(signal.SIGTERM)
        code = process.wait(DEADLINE_SECONDS)
        thread.join(DEADLINE_SECONDS)

    # The wait for a lock is twice as long as the grace period: who waited to its end would be cut off.
    assert code == 0
    # The process that `cpl mcp` ends is its client's own, and ends its output with it; the row tells the same.
    assert kind == "mcp" or errors == ["SERVER_SHUTTING_DOWN"]
    assert versions(edited) == [0]
    with rows_of(sandbox, edited) as rows:
        assert [row.body.get("error") for row in rows] == [None, "SERVER_SHUTTING_DOWN"]


@contextmanager
def _serving(sandbox: Sandbox, root: Path, kind: str) -> Iterator[tuple[Any, RawPeer]]:
    if kind == "up":
        with up(sandbox, root) as server:
            http_peer = HttpPeer(server.port)
            http_peer.initialize()
            yield server.process, http_peer
    else:
        with stdio_peer(sandbox, root) as peer:
            peer.initialize()
            yield peer.process, peer


@contextmanager
def _locked(root: Path, path: str) -> Iterator[None]:
    """Hold the lock of one file as another process would."""
    directory = root / ".codeplane" / "locks"
    directory.mkdir(parents=True, exist_ok=True)
    number = int(sha256_text(path.casefold())[:8], 16) % 1024
    with (directory / f"{number:03x}").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _has_begun(sandbox: Sandbox, root: Path) -> bool:
    user = UserPlaces(sandbox.home / "config" / "codeplane", sandbox.home / "state" / "codeplane", sandbox.run)
    with open_workspace(WorkspaceRequest(root, user=user)) as workspace:
        return bool(workspace.chain.open_calls())


def test_a_batch_that_outlives_the_grace_period_is_not_mixed_and_its_row_tells_the_truth(
    sandbox: Sandbox, edited: Path, tmp_path: Path
) -> None:
    """A system call hangs: the server gives up its role, and the next one must wait for the batch all the same."""
    held = {"MARKS": str(tmp_path), "HELD": "putting"}
    with up(sandbox, edited, "--set", "server.shutdown_grace_seconds=0.2", program=HELD_CPL, env=held) as server:
        peer = HttpPeer(server.port)
        peer.initialize()
        thread, _ = _in_background(peer)
        wait_until((tmp_path / "held").exists, "two files are in place")
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "server stopped" in server.stderr, "the server has given up its role")
        with up(sandbox, edited) as second:
            # It runs, and leaves alone what still belongs to the other one.
            wait_until(lambda: second.get("/ready").status == 200, "the server is ready")
            assert versions_in_the_middle(edited) == [0, 1]
            (tmp_path / "release").touch()
            assert server.process.wait(DEADLINE_SECONDS) == 0
            assert versions(edited) == [0]
            assert second.get("/operations?type=write_source&limit=1").json["results"][0]["kind"] == "failed"
            second.stop()
        thread.join(DEADLINE_SECONDS)

    with rows_of(sandbox, edited) as rows:
        assert [(row.kind, row.body.get("error")) for row in rows] == [
            ("begun", None), ("failed", "SERVER_SHUTTING_DOWN"),
        ]  # fmt: skip


def test_an_index_that_is_being_written_beyond_the_grace_period_is_not_thrown_away(
    sandbox: Sandbox, edited: Path, tmp_path: Path
) -> None:
    held = {"MARKS": str(tmp_path), "HELD": "indexing"}
    with up(sandbox, edited, "--set", "server.shutdown_grace_seconds=0.2", program=HELD_CPL, env=held) as server:
        wait_until((tmp_path / "held").exists, "the index is about to be written")
        server.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "server stopped" in server.stderr, "the server has given up its role")
        (tmp_path / "release").touch()
        code = server.process.wait(DEADLINE_SECONDS)

    assert (code, "built again" in server.stderr, "Traceback" in server.stderr) == (0, False, False)
