"""A server is killed in the middle of edits: the next one finds a whole tree, a true ledger and nothing left over."""

import http.client
import os
import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.hashing import sha256_bytes
from codeplane.ledger.chain import FINAL_KINDS, RowFilter
from codeplane.workspace.places import UserPlaces
from codeplane.workspace.workspace import Workspace, WorkspaceRequest, open_workspace
from surfaces.support_processes import (
    DEADLINE_SECONDS,
    HttpPeer,
    RawPeer,
    Sandbox,
    make_repo,
    stdio_peer,
    text_of,
    up,
)

pytestmark = pytest.mark.slow

# Of each kind of server.
N_KILLS = 3 * int(os.environ.get("CODEPLANE_SOAK", "1"))
N_UPDATED = 17
_OWN = {".git", ".codeplane", ".cplignore"}


@dataclass(slots=True)
class Editing:
    """One repository whose files are brought from version to version, in batches of twenty files.

    Invariant: `version` is the newest one that a server has acknowledged or recovery has decided on.
    """

    sandbox: Sandbox
    root: Path
    version: int = 0
    found: Counter[str] = field(default_factory=Counter)

    def batch(self, version: int) -> dict[str, Any]:
        """Return the call that leads from a version to the next: changes, a deletion, two files, a directory."""
        updated = [f"d{number % 3}/f{number}.txt" for number in range(N_UPDATED)]
        edits: list[dict[str, Any]] = [
            {"path": path, "expected_content": f"version {version}\n", "new_content": f"version {version + 1}\n"}
            for path in updated
        ]
        edits.append({"path": f"passing{version}.txt", "action": "delete"})
        edits.append({"path": f"passing{version + 1}.txt", "action": "create", "content": "here for one version\n"})
        edits.append({"path": f"made/{version + 1}/new.txt", "action": "create", "content": f"{version + 1}\n"})
        return {"edits": edits}

    def expected(self, version: int) -> dict[str, str]:
        """Return the whole tree of a version; a directory has no text."""
        updated = {f"d{number % 3}/f{number}.txt": f"version {version}\n" for number in range(N_UPDATED)}
        made = {f"made/{number}/new.txt": f"{number}\n" for number in range(1, version + 1)}
        files = {**updated, **made, f"passing{version}.txt": "here for one version\n"}
        directories = {str(above) for path in files for above in Path(path).parents} - {"."}
        return {**files, **dict.fromkeys(directories, "directory")}

    def tree(self) -> dict[str, str]:
        """Return everything that is in the tree but git's and CodePlane's own."""
        return {
            str(path.relative_to(self.root)): "directory" if path.is_dir() else path.read_text()
            for path in self.root.rglob("*")
            if not _OWN & set(path.relative_to(self.root).parts)
        }

    @contextmanager
    def opened(self) -> Iterator[Workspace]:
        """Open what is on record, beside the server that runs; nothing is recovered by that."""
        home = self.sandbox.home
        user = UserPlaces(home / "config" / "codeplane", home / "state" / "codeplane", self.sandbox.run)
        with open_workspace(WorkspaceRequest(self.root, user=user)) as workspace:
            yield workspace


@contextmanager
def _serving(editing: Editing, kind: str) -> Iterator[tuple["subprocess.Popen[Any]", RawPeer]]:
    """Run a server of the repository and a client of it."""
    if kind == "up":
        with up(editing.sandbox, editing.root) as server:
            http_peer = HttpPeer(server.port)
            http_peer.initialize()
            yield server.process, http_peer
    else:
        with stdio_peer(editing.sandbox, editing.root) as peer:
            peer.initialize()
            # The handshake is answered before the server is up; this is answered by the server.
            peer.request("resources/list")
            yield peer.process, peer


@pytest.mark.parametrize("kind", ["up", "mcp"])
def test_a_server_killed_at_any_instant_leaves_no_mixed_tree_and_no_change_without_a_row(
    sandbox: Sandbox, tmp_path: Path, kind: str, record_property: Callable[[str, object], None]
) -> None:
    editing = Editing(sandbox, tmp_path / "edited")
    make_repo(sandbox, editing.root, _files_only(editing.expected(0)))
    with _serving(editing, kind) as (process, peer):
        window = sum(_acknowledged(editing, peer) for _ in range(2))
        process.kill()
    chance = random.Random(kind)
    for number in range(N_KILLS):
        with _serving(editing, kind) as (process, peer):
            _check(editing, peer)
            answers = _kill_while_editing(editing, process, peer, (number + chance.random()) / N_KILLS * window)
        assert [text_of(answer) for answer in answers if answer["isError"]] == []
        editing.version += len(answers)
        editing.found[_left_by_the_kill(editing)] += 1
    with _serving(editing, kind) as (_, peer):
        _check(editing, peer)
        _check_undo(editing, peer)
    record_property("killed", dict(editing.found))
    # Otherwise no kill met a batch, and nothing was shown.
    assert editing.found.total() - editing.found["nothing begun"] >= max(N_KILLS // 10, 1), editing.found


def _files_only(tree: dict[str, str]) -> dict[str, str]:
    return {path: text for path, text in tree.items() if text != "directory"}


def _acknowledged(editing: Editing, peer: RawPeer) -> float:
    """Make one batch; return how long it took."""
    begun = time.monotonic()
    answer = peer.call("write_source", editing.batch(editing.version))
    assert not answer["isError"], answer
    editing.version += 1
    return time.monotonic() - begun


def _kill_while_editing(
    editing: Editing, process: "subprocess.Popen[Any]", peer: RawPeer, after_seconds: float
) -> list[dict[str, Any]]:
    """Send one batch after the other until the server is killed; return the answers that came."""
    answers: list[dict[str, Any]] = []
    sending = threading.Event()

    def edit() -> None:
        while True:
            call = editing.batch(editing.version + len(answers))
            sending.set()
            try:
                answer = peer.call("write_source", call)
            except (OSError, http.client.HTTPException, ValueError, AssertionError):
                # The server is gone; whether this batch happened is seen in the tree.
                return
            answers.append(answer)

    thread = threading.Thread(target=edit, daemon=True)
    thread.start()
    assert sending.wait(DEADLINE_SECONDS)
    # The instant is what is tried; nothing depends on how far the batch came.
    time.sleep(after_seconds)
    process.kill()
    process.wait(DEADLINE_SECONDS)
    thread.join(DEADLINE_SECONDS)
    assert not thread.is_alive()
    return answers


def _left_by_the_kill(editing: Editing) -> str:
    """Return how far the last batch had come, for the record."""
    for mark in (editing.root / ".codeplane" / "owners").glob("*"):
        # Young ones are left alone by the next server.
        os.utime(mark, (0, 0))
    with editing.opened() as workspace:
        n_open = len(workspace.chain.open_calls())
        unfinished = [state.value for _, state in workspace.editor.records.unfinished()]
    if not n_open:
        return "nothing begun"
    if not unfinished:
        return "applied" if editing.tree() == editing.expected(editing.version + 1) else "begun"
    is_mixed = editing.tree() not in (editing.expected(editing.version), editing.expected(editing.version + 1))
    return unfinished[0] + (", mixed" if is_mixed else "")


def _check(editing: Editing, peer: RawPeer) -> None:
    """Make sure that a new server has put everything in order."""
    tree = editing.tree()
    is_next = tree == editing.expected(editing.version + 1)
    assert is_next or tree == editing.expected(editing.version)
    editing.version += is_next
    with editing.opened() as workspace:
        assert workspace.chain.open_calls() == ()
        assert workspace.chain.verify().first_bad_seq is None
        kinds = ("begun", *FINAL_KINDS)
        rows = workspace.chain.rows(RowFilter(kinds=kinds, operation="write_source", limit=10_000))
        begun = Counter(row.call_id for row in rows if row.kind == "begun")
        ended = Counter(row.call_id for row in rows if row.kind != "begun")
        finished = [row for row in rows if row.kind == "finished"]
    assert begun == ended
    assert set(ended.values()) <= {1}
    told = [row.body["after"]["d0/f0.txt"] for row in reversed(finished)]
    assert told == [sha256_bytes(f"version {number}\n".encode()) for number in range(1, editing.version + 1)]
    records = sorted(path.name for path in (editing.root / ".codeplane" / "undo").iterdir())
    assert records == sorted(f"{row.call_id}.done" for row in finished)
    # The server that runs has changed nothing yet, so every mark of life would be a dead one's.
    assert list((editing.root / ".codeplane" / "owners").glob("*")) == []
    answer = peer.call("search", {"query": f"version {editing.version}", "limit": 50})
    assert not answer["isError"], answer
    assert text_of(answer).count(".txt") >= N_UPDATED, text_of(answer)


def _check_undo(editing: Editing, peer: RawPeer) -> None:
    """Make sure that what recovery decided on can be taken back like everything else."""
    with editing.opened() as workspace:
        newest = workspace.chain.rows(RowFilter(kinds=("finished",), operation="write_source", limit=1))[0]
    assert not peer.call("undo", {"operation": newest.call_id})["isError"]
    assert editing.tree() == editing.expected(editing.version - 1)
