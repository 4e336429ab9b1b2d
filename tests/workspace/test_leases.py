"""Who is writing where at this moment."""

from pathlib import Path

from codeplane.ledger.chain import NewEvent
from support.doors import open_test_workspace


def test_a_call_in_flight_shows_its_paths_its_session_and_since_when(repo: Path) -> None:
    with open_test_workspace(repo) as workspace:
        assert workspace.leases() == []
        body = {"effects": {"writes": ["a.py"], "deletes": ["b.py"]}}
        workspace.chain.begin_call(NewEvent("begun", "s-1", body, "req_1", "write_source", "task_1"), "own_1")
        lease = workspace.leases()[0]
        assert lease["paths"] == ["a.py", "b.py"]
        assert (lease["session"], lease["task"], lease["call"]) == ("s-1", "task_1", "req_1")
        assert str(lease["since"]).endswith("Z")
        workspace.chain.end_call(NewEvent("finished", "s-1", {}, "req_1", "write_source", "task_1"))
        assert workspace.leases() == []


def test_what_undo_keeps_is_counted(repo: Path) -> None:
    with open_test_workspace(repo) as workspace:
        assert workspace.undo_summary()["batches"] == 0
