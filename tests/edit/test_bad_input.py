"""What may happen around an edit, and what a caller may send by mistake: nothing is lost, and the answer says what."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from codeplane.core.clock import ManualClock
from codeplane.core.errors import CodePlaneError
from codeplane.core.ids import RandomIds
from codeplane.edit.records import Record, State
from codeplane.ledger.chain import RowFilter
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from codeplane.workspace.workspace import Workspace
from edit.killing import snapshot
from edit.test_editor import Saboteur, editor_of, updates
from support.doors import call, error_of, open_test_workspace, result_of
from surfaces.support_processes import HttpPeer, make_repo, make_sandbox, send_http, stdio_peer, up

LARGE = 100_000_000
UPDATE = {"path": "README.md", "expected_content": "# Sample", "new_content": "# Changed"}


def change(door: Door, **more: Any) -> dict[str, Any]:
    """Make an edit that succeeds."""
    return result_of(call(door, "write_source", {"edits": [{**UPDATE, **more}]}))


@pytest.mark.parametrize("field", ["content", "new_content", "expected_content"])
def test_a_hundred_megabytes_are_refused_at_the_door_and_nothing_changes(
    door: Door, workspace: Workspace, field: str
) -> None:
    before = snapshot(workspace.root / "src")
    edit = {**UPDATE, field: "x" * LARGE}
    answer = call(door, "write_source", {"edits": [edit]})
    assert error_of(answer) in {"PAYLOAD_TOO_LARGE", "INVALID_ARGUMENTS"}
    # Neither the answer nor the record carries it.
    assert len(answer.text()) < 5_000
    assert (workspace.places.private / "ledger.db").stat().st_size < 1_000_000
    assert snapshot(workspace.root / "src") == before


@pytest.mark.slow
def test_a_hundred_megabytes_are_refused_by_a_server_that_goes_on(tmp_path: Path) -> None:
    edit = {**UPDATE, "new_content": "x" * LARGE}
    document = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "write_source"}}
    document["params"] = {"name": "write_source", "arguments": {"edits": [edit]}}
    line = json.dumps(document).encode()
    with make_sandbox(tmp_path) as sandbox:
        root = make_repo(sandbox, tmp_path / "sample")
        before = (root / "README.md").read_bytes()
        with up(sandbox, root) as server, stdio_peer(sandbox, root) as peer:
            http_peer = HttpPeer(server.port)
            http_peer.initialize()
            peer.initialize()
            try:
                status = send_http(server.port, "POST", "/mcp", http_peer.headers, line).status
            except OSError:
                # The rest of it was not even read.
                status = 413
            peer.send_raw(line + b"\n")
            refusal = peer.receive()
            is_well = [not one.call("write_source", {"edits": [UPDATE]})["isError"] for one in (http_peer,)]
            is_well.append(not peer.call("read_source", {"targets": ["README.md"]})["isError"])
        assert before.startswith(b"# Sample")
        assert (root / "README.md").read_bytes() == before.replace(b"# Sample", b"# Changed")
    assert (status, refusal["error"]["data"]["error"], is_well) == (413, "PAYLOAD_TOO_LARGE", [True, True])


def test_a_file_that_another_process_has_open_is_edited_and_that_process_reads_on(door: Door) -> None:
    path = door.workspace.root / "README.md"
    script = "import sys; file = open(sys.argv[1]); print(file.readline(), flush=True); input(); print(file.read())"
    argv = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "# Sample\n"
        change(door)
        rest, _ = reader.communicate("go on\n", timeout=30)
    assert path.read_text() == "# Changed\n\nA repository for tests.\n"
    assert rest.strip() == "A repository for tests."


def test_what_another_process_writes_through_its_open_descriptor_at_the_last_moment_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old a\n")
    with (tmp_path / "a").open("a") as held:

        def write() -> None:
            held.write("foreign\n")
            held.flush()

        editor = editor_of(tmp_path, Saboteur(1, write))
        with pytest.raises(CodePlaneError, match="changed meanwhile"):
            editor.apply("req_1", updates(editor, "a"))
        # The file has kept its place under the descriptor.
        held.write("more\n")
    assert snapshot(tmp_path) == {"a": "old a\nforeign\nmore\n"}


@pytest.mark.parametrize("at", [1, 2])
def test_a_file_that_turns_into_a_directory_at_the_last_moment_stops_the_batch(tmp_path: Path, at: int) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"old {name}\n")
    target = tmp_path / ("a" if at == 1 else "b")

    def turn() -> None:
        target.unlink()
        target.mkdir()
        (target / "inside").write_text("foreign\n")

    editor = editor_of(tmp_path, Saboteur(at, turn))
    with pytest.raises(CodePlaneError) as failure:
        editor.apply("req_1", updates(editor, "a", "b"))
    other = "b" if at == 1 else "a"
    assert snapshot(tmp_path) == {f"{target.name}/inside": "foreign\n", other: f"old {other}\n"}
    assert failure.value.code in {"STALE_FILE", "NOT_A_FILE"}
    assert list(editor.records.unfinished()) == []


@pytest.mark.parametrize("is_file_there", [True, False])
def test_a_directory_that_an_exchange_took_is_put_back_by_recovery(tmp_path: Path, is_file_there: bool) -> None:
    """The process died between the exchange and the look at what came out of it."""
    (tmp_path / "a").write_text("old a\n")
    editor = editor_of(tmp_path)
    record = Record("req_1", "main", tuple(updates(editor, "a")))
    editor.records.write(record, State.PENDING)
    (tmp_path / record.staged_name(0)).mkdir()
    (tmp_path / record.staged_name(0) / "inside").write_text("foreign\n")
    (tmp_path / "a").write_text("new a\n" if is_file_there else "later\n")
    recovery = editor.recover("req_1")
    assert recovery is not None
    assert recovery.conflicts == ("a",)
    kept = {"a/inside": "foreign\n"} if is_file_there else {"a": "later\n", "a.kept-req_1/inside": "foreign\n"}
    assert snapshot(tmp_path) == kept


def test_what_recovery_finds_to_be_a_directory_is_left_alone(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"old {name}\n")
    editor = editor_of(tmp_path)
    editor.records.write(Record("req_1", "main", tuple(updates(editor, "a", "b"))), State.PENDING)
    (tmp_path / "a").unlink()
    (tmp_path / "a").mkdir()
    recovery = editor.recover("req_1")
    assert recovery is not None
    assert (recovery.conflicts, (tmp_path / "a").is_dir(), snapshot(tmp_path)) == (("a",), True, {"b": "new b\n"})
    assert list(editor.records.unfinished()) == []


def test_a_name_that_differs_only_in_case_is_told(door: Door) -> None:
    answer = call(door, "write_source", {"edits": [{"path": "readme.md", "action": "create", "content": "x\n"}]})
    result_of(answer)
    assert [one for one in answer.meta.warnings if "`README.md`" in one and "case" in one]


def test_a_clock_that_runs_backwards_changes_nothing_for_edits_and_undo(door: Door, clock: ManualClock) -> None:
    first = change(door)["delta"]["mutation_id"]
    clock.advance(-86_400)
    second = change(door, expected_content="# Changed", new_content="# Changed again")["delta"]["mutation_id"]
    stale = call(door, "write_source", {"edits": [{**UPDATE, "expected_file_sha256": "0" * 64}]}, connection="another")
    assert stale.error is not None
    # The one that wrote last is named, although its time is not the latest.
    assert stale.error.details["changed_by"]["call"] == second
    for operation in (second, first):
        result_of(call(door, "undo", {"operation": operation}))
    assert (door.workspace.root / "README.md").read_text().startswith("# Sample\n")
    assert door.workspace.chain.verify().first_bad_seq is None


@contextmanager
def _locked_by_another_process(path: Path) -> Iterator[None]:
    script = (
        "import sys; from filelock import FileLock\n"
        "with FileLock(sys.argv[1]):\n    print('held', flush=True); sys.stdin.read()"
    )
    argv = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield
        holder.communicate(timeout=30)


def test_with_a_ledger_that_another_process_has_locked_nothing_is_changed(
    door: Door, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace.chain.database, "_lock_timeout", 0.2)
    with _locked_by_another_process(workspace.places.private / "ledger.db.lock"):
        answer = call(door, "write_source", {"edits": [UPDATE]})
    assert error_of(answer) == "STORE_BUSY"
    assert answer.error is not None
    assert answer.error.as_dict()["retryable"] is True
    assert (workspace.root / "README.md").read_text().startswith("# Sample\n")
    change(door)


def test_a_ledger_that_is_locked_after_the_files_are_in_place_gets_its_row_later(repo: Path) -> None:
    held = FileLock(repo / ".codeplane/ledger.db.lock", thread_local=False)

    def lock(step: str) -> None:
        if step == "work":
            held.acquire()

    with open_test_workspace(repo) as workspace:
        workspace.chain.database._lock_timeout = 0.2
        answer = call(Door(workspace, OPERATIONS, lock), "write_source", {"edits": [UPDATE]})
        held.release()
        # The files are changed, and the answer says both.
        assert result_of(answer)["applied"] is True
        assert [one for one in answer.meta.warnings if "append final failed" in one]
    with open_test_workspace(repo, ids=RandomIds()) as workspace:
        result_of(call(Door(workspace, OPERATIONS), "read_source", {"targets": ["README.md"]}, connection="c2"))
        rows = workspace.chain.rows(RowFilter(operation="write_source"))
        assert [row.kind for row in rows] == ["finished", "begun"]
        assert workspace.chain.open_calls() == ()


def test_an_index_that_cannot_be_brought_up_to_date_does_not_turn_a_change_that_happened_into_a_failure(
    door: Door, workspace: Workspace
) -> None:
    def busy() -> None:
        raise CodePlaneError("STORE_BUSY")

    workspace.refreshers = (busy,)
    answer = call(door, "write_source", {"edits": [UPDATE]})
    assert (workspace.root / "README.md").read_text().startswith("# Changed\n")
    rows = workspace.chain.rows(RowFilter(operation="write_source"))
    # Whoever is told of a failure tries again, or believes that nothing happened.
    assert (answer.error, rows[0].kind) == (None, "finished")
