"""A workspace retires what nobody needs any more."""

from pathlib import Path

from codeplane.core.clock import ManualClock
from codeplane.ledger.chain import NewEvent, RowFilter
from support.doors import open_test_workspace

DAY_MS = 24 * 60 * 60 * 1000


def test_rows_that_are_too_old_go_unless_somebody_rests_on_them(repo: Path) -> None:
    clock = ManualClock()
    with open_test_workspace(repo, clock=clock) as workspace:
        workspace.row_keepers = (lambda row: row.kind == "approved",)
        for kind in ("finished", "approved", "finished"):
            workspace.chain.append(NewEvent(kind, "s", {}))
        clock.advance(20 * DAY_MS / 1000)
        workspace.chain.append(NewEvent("finished", "s", {"young": True}))
        assert workspace.retire_rows() >= 2
        kinds = [row.kind for row in workspace.chain.rows(RowFilter(session="s"))]
        assert kinds == ["finished", "approved"]
        assert workspace.chain.verify().first_bad_seq is None
        assert workspace.retire_rows() == 0


def test_how_long_rows_stay_can_be_configured(repo: Path) -> None:
    clock = ManualClock()
    with open_test_workspace(repo, clock=clock, overrides=("retention.days=30", "retention.tasks=0")) as workspace:
        workspace.chain.append(NewEvent("finished", "s", {}))
        clock.advance(20 * DAY_MS / 1000)
        assert workspace.retire_rows() == 0
        clock.advance(20 * DAY_MS / 1000)
        workspace.chain.append(NewEvent("finished", "s", {"young": True}))
        assert workspace.retire_rows() >= 1
