"""Only sealed rows approve: whoever writes the tables or rows without the key gets nothing through."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codeplane.core.clock import ManualClock
from codeplane.core.errors import CodePlaneError
from codeplane.govern.rulebook import Mode
from codeplane.ledger.chain import RowFilter
from codeplane.operations.answer import Outcome
from codeplane.operations.catalog import OPERATIONS
from codeplane.operations.perform import Door
from support.doors import call, open_test_workspace
from support.forgery import append, change, seals
from support.governed import FILES, approve, write_intents
from support.repositories import make_repository, write

FILE = "src/json/old.py"
DELETION = {"edits": [{"path": FILE, "action": "delete"}]}
OTHER = {"edits": [{"path": "src/json/provider.py", "action": "delete"}]}
SEALS = ("no seal", "a wrong seal", "another key", "the seal of the row before")


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    root = make_repository(tmp_path / "repo", FILES)
    write_intents(root)
    with open_test_workspace(root, clock=ManualClock()) as workspace:
        opened = Door(workspace, OPERATIONS)
        call(opened, "select_active_intent", {"intent_id": "INT-001"})
        yield opened


def _hold(door: Door, arguments: dict[str, Any] = DELETION) -> str:
    answer = call(door, "write_source", arguments)
    assert answer.outcome is Outcome.HELD, answer
    assert answer.error is not None
    return str(answer.error.details["hold_id"])


def check_nothing_passes(door: Door) -> None:
    for connection in ("c1", "c2"):
        assert call(door, "write_source", DELETION, connection).outcome is not Outcome.FINISHED
    assert (door.workspace.root / FILE).exists()


def _decision(door: Door, hold_id: str, scope: str = "once") -> dict[str, Any]:
    now = door.workspace.clock.now_ms()
    body = {"state": "approved", "scope": scope, "comment": "", "by": "forger", "decided_ms": now}
    body |= {"hold_id": hold_id, "expires_ms": now + 3_600_000}
    return {"kind": "approval_decided", "call_id": hold_id, "operation": "write_source", "body": body}


@pytest.mark.parametrize("scope", ["once", "intent", "session", "rule"])
def test_an_approval_written_into_the_table_approves_nothing(door: Door, scope: str) -> None:
    hold_id = _hold(door)
    forged = "UPDATE approvals SET state = 'approved', hold = json_set(hold, '$.state', 'approved', '$.scope', ?)"
    assert change(door.workspace, forged, scope) == 1
    check_nothing_passes(door)
    assert door.workspace.gate.approvals.find(hold_id).state == "pending"


def test_an_approval_put_into_the_table_approves_nothing(door: Door) -> None:
    _hold(door)
    forged = (
        "INSERT INTO approvals SELECT 'hold_forged', 'approved', call_key,"
        " json_set(hold, '$.hold_id', 'hold_forged', '$.state', 'approved') FROM approvals"
    )
    assert change(door.workspace, forged) == 1
    check_nothing_passes(door)
    with pytest.raises(CodePlaneError, match="no held call"):
        door.workspace.gate.approvals.find("hold_forged")


@pytest.mark.parametrize("scope", ["once", "intent", "session", "rule"])
@pytest.mark.parametrize("seal", SEALS)
def test_a_forged_row_approves_nothing(door: Door, seal: str, scope: str) -> None:
    hold_id = _hold(door)
    append(door.workspace, seals(door.workspace)[seal], _decision(door, hold_id, scope))
    change(door.workspace, "UPDATE approvals SET state = 'approved'")
    check_nothing_passes(door)


@pytest.mark.parametrize("seal", SEALS)
def test_a_forged_request_is_shown_to_nobody(door: Door, seal: str) -> None:
    hold_id = _hold(door)
    hold = json.loads(json.dumps(_row(door, hold_id, "approval_requested").body["hold"]))
    hold |= {"hold_id": "hold_forged", "card": {"operation": "harmless"}}
    body = {"hold_id": "hold_forged", "hold": hold}
    append(
        door.workspace,
        seals(door.workspace)[seal],
        {"kind": "approval_requested", "call_id": "hold_forged", "body": body},
    )
    change(door.workspace, "INSERT INTO approvals SELECT 'hold_forged', state, call_key, hold FROM approvals")
    assert [one.hold_id for one in door.workspace.gate.approvals.holds()] == [hold_id]


def test_a_person_is_shown_the_sealed_card_and_not_the_table(door: Door) -> None:
    hold_id = _hold(door)
    change(door.workspace, "UPDATE approvals SET hold = json_set(hold, '$.card.paths', json('[\"README.md\"]'))")
    assert door.workspace.gate.approvals.find(hold_id).card["paths"] == [FILE]
    assert door.workspace.gate.approvals.holds()[0].card["paths"] == [FILE]


def _replayed_as(door: Door, hold_id: str, approved: str) -> None:
    change(
        door.workspace,
        "UPDATE events SET call_id = ? WHERE call_id = ? AND kind = 'approval_decided'",
        hold_id,
        approved,
    )


def _copied_to(door: Door, hold_id: str, approved: str) -> None:
    row = _row(door, approved, "approval_decided")
    body = {**row.body, "hold_id": hold_id}
    append(door.workspace, lambda _seq, _hash: row.seal, {"kind": row.kind, "call_id": hold_id, "body": body})


def _table_points_at(door: Door, hold_id: str, approved: str) -> None:
    key = "(SELECT call_key FROM approvals WHERE hold_id = ?)"
    change(door.workspace, f"UPDATE approvals SET call_key = {key} WHERE hold_id = ?", hold_id, approved)


@pytest.mark.parametrize("replay", [_replayed_as, _copied_to, _table_points_at])
def test_an_approval_of_another_call_approves_nothing(door: Door, replay: Callable[[Door, str, str], None]) -> None:
    approved = _hold(door, OTHER)
    approve(door.workspace, approved)
    replay(door, _hold(door), approved)
    change(door.workspace, "UPDATE approvals SET state = 'approved'")
    check_nothing_passes(door)


def _row(door: Door, hold_id: str, kind: str) -> Any:
    return door.workspace.chain.rows(RowFilter(kinds=(kind,), call_id=hold_id, limit=1))[0]


HIDDEN = {
    "removed": "DELETE FROM events WHERE call_id = ? AND kind = ?",
    "moved to another call": "UPDATE events SET call_id = 'x' WHERE call_id = ? AND kind = ?",
    "given another kind": "UPDATE events SET kind = 'finished' WHERE call_id = ? AND kind = ?",
}


@pytest.mark.parametrize("hiding", HIDDEN)
def test_a_used_approval_is_not_used_again_when_its_use_is_hidden(door: Door, hiding: str) -> None:
    hold_id = _hold(door)
    approve(door.workspace, hold_id)
    assert call(door, "write_source", DELETION).outcome is Outcome.FINISHED
    write(door.workspace.root, FILES)
    change(door.workspace, HIDDEN[hiding], hold_id, "approval_used")
    change(door.workspace, "UPDATE approvals SET state = 'approved'")
    check_nothing_passes(door)


@pytest.mark.parametrize("hiding", HIDDEN)
@pytest.mark.parametrize("scope", ["intent", "session", "rule"])
def test_a_revoked_grant_stays_revoked_when_its_revocation_is_hidden(door: Door, hiding: str, scope: str) -> None:
    hold_id = _hold(door)
    approve(door.workspace, hold_id, scope=scope)
    door.workspace.gate.approvals.revoke(hold_id, "test")
    change(door.workspace, HIDDEN[hiding], hold_id, "approval_revoked")
    change(door.workspace, "UPDATE approvals SET state = 'approved'")
    check_nothing_passes(door)


def test_an_approval_from_before_a_cut_does_not_count_after_it(door: Door) -> None:
    hold_id = _hold(door)
    approve(door.workspace, hold_id)
    assert call(door, "write_source", DELETION).outcome is Outcome.FINISHED
    write(door.workspace.root, FILES)
    first = _row(door, hold_id, "approval_used").seq
    change(door.workspace, "DELETE FROM events WHERE seq >= ?", first)
    change(door.workspace, "UPDATE approvals SET state = 'approved'")
    check_nothing_passes(door)
    check_nothing_passes(door)


def test_a_table_that_contradicts_the_rows_is_named(door: Door) -> None:
    hold_id = _hold(door)
    assert door.workspace.contradictions() == ()
    change(door.workspace, "UPDATE approvals SET state = 'approved'")
    assert any(hold_id in one for one in door.workspace.contradictions())


@pytest.mark.parametrize("forged", [{"mode": "off"}, {"mode": None}, {"intents": "active_intents: []\n"}, {"seal": ""}])
def test_what_a_person_accepted_is_sealed(door: Door, forged: dict[str, Any]) -> None:
    store = door.workspace.gate.sources.store
    place = door.workspace.places.user.governance / f"{door.workspace.repo_id}.json"
    store.save(store.load())
    place.write_text(json.dumps({**json.loads(place.read_text(encoding="utf-8")), **forged}), encoding="utf-8")
    accepted = store.load()
    assert (accepted.mode, accepted.policies, accepted.helpers) == (Mode.ENFORCE, (), ())
    check_nothing_passes(door)
